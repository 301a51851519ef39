// The law of everything that sums: its error does not grow with the number of terms.
#include "laws.hpp"

#include <doctest/doctest.h>
#include <primsel/core/executor.hpp>
#include <primsel/core/simd.hpp>
#include <primsel/op/batch_sums.hpp>
#include <primsel/op/dense.hpp>
#include <primsel/op/global_pool.hpp>
#include <primsel/op/matmul.hpp>
#include <primsel/op/pool.hpp>
#include <primsel/op/reduce.hpp>
#include <primsel/op/softmax.hpp>
#include <primsel/op/softmax_gradient.hpp>
#include <primsel/tensor/layout.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace {

namespace ps = primsel;
using ps::Axis;
using Arch = ps::default_arch;

/// Half a unit in the last place of a float, relative to it: what rounding the exact sum costs.
constexpr double half_unit = 1.0 / (1 << 24);

std::vector<int> lengths() {
    if (quick()) return {1, 7, 100, 4097};
    return {1, 7, 100, 4097, 1 << 16, 1 << 20, 1 << 22};
}

/// Numbers spread evenly from mean - 1 to mean + 1.
std::vector<float> numbers(std::size_t count, float mean) {
    std::vector<float> result(count);
    std::uint32_t state = 12345;
    for (float& value : result) {
        state = state * 1664525U + 1013904223U;
        value = mean + static_cast<float>(state >> 8U) / static_cast<float>(1U << 23U) - 1.0F;
    }
    return result;
}

/// An op's result on one image, in layout L all along.
template <class L, class Params>
std::vector<float> run(Params const& params, std::vector<ps::Shape> const& shapes,
                       std::vector<std::vector<float>> const& inputs, float const* packed = nullptr) {
    REQUIRE(params.check(shapes) == ps::Fault::none);
    std::vector<const float*> src;
    for (std::vector<float> const& input : inputs) src.push_back(input.data());
    const ps::Shape output = params.output(shapes);
    std::vector<float> dst(output.size());
    ps::Sequential executor;
    ps::OpEntry const& op = laws::entry_of<L>(params);
    std::vector<float> scratch;
    if (op.scratch_bytes != nullptr) scratch.resize(op.scratch_bytes(params, shapes, 1) / sizeof(float));
    op.run(params, {.src = src,
                    .src_shape = shapes,
                    .dst = dst.data(),
                    .dst_shape = output,
                    .batch = 1,
                    .weights = packed,
                    .scratch = scratch.data(),
                    .executor = executor});
    return dst;
}

/// `lines` lines of `length` elements along an axis, and where they lie in layout L.
struct Lines {
    Axis axis;
    int length, lines;
    [[nodiscard]] ps::Shape shape() const {
        if (axis == Axis::c) return {length, 1, lines};
        return axis == Axis::h ? ps::Shape{lines, length, 1} : ps::Shape{lines, 1, length};
    }
    template <class L>
    [[nodiscard]] std::size_t at(int line, int i) const {
        if (axis == Axis::c) return L::offset(shape(), {i, 0, line});
        return L::offset(shape(), axis == Axis::h ? ps::Coord{line, i, 0} : ps::Coord{line, 0, i});
    }
};

struct Exact {
    double sum = 0, magnitudes = 0;
    void add(double term) { sum += term, magnitudes += std::abs(term); }
};

/// The largest error of sums over the lines, in half units of the sums of magnitudes: term(place) is one term of a
/// line, the results are in the lines' order.
template <class L, class F>
double worst(Lines const& of, std::vector<float> const& results, double divisor, F const& term) {
    double error = 0;
    for (int line = 0; line < of.lines; ++line) {
        Exact exact;
        for (int i = 0; i < of.length; ++i) exact.add(term(of.at<L>(line, i)));
        const double got = static_cast<double>(results[static_cast<std::size_t>(line)]) * divisor;
        error = std::max(error, std::abs(got - exact.sum) / exact.magnitudes / half_unit);
    }
    return error;
}

template <class F>
void in_each_layout(F const& f) {
    {
        INFO("chw");
        f.template operator()<ps::chw>();
    }
    {
        INFO("hcw");
        f.template operator()<ps::hcw>();
    }
    INFO("hwc");
    f.template operator()<ps::hwc>();
}

/// Calls f(lines) with few and many lines of each length along each axis.
template <class F>
void for_lines(F const& f) {
    for (const int length : lengths()) {
        for (const int lines : {1, 3, 21, 70}) {
            if (quick() && lines == 21) continue;
            if (static_cast<double>(lines) * length > (1 << 22) && lines > 1) continue;
            for (const Axis axis : {Axis::c, Axis::h, Axis::w}) {
                if (axis == Axis::c && length > ps::max_extent) continue;
                CAPTURE(length);
                CAPTURE(lines);
                CAPTURE(static_cast<int>(axis));
                f(Lines{axis, length, lines});
            }
        }
    }
}

TEST_CASE("sums and means of reductions keep their digits at any length") {
    for_lines([](Lines const& of) {
        for (const float mean : {0.0F, 1.0F, 1000.0F}) {
            const std::vector<float> x = numbers(of.shape().size(), mean);
            in_each_layout([&]<class L>() {
                const auto term = [&](std::size_t at) { return static_cast<double>(x[at]); };
                const auto result = [&](ps::ReduceKind kind) {
                    return run<L>(ps::ReduceParams{kind, of.axis}, {of.shape()}, {x});
                };
                CHECK(worst<L>(of, result(ps::ReduceKind::sum), 1, term) <= 6);
                CHECK(worst<L>(of, result(ps::ReduceKind::mean), of.length, term) <= 6);
            });
        }
    });
}

TEST_CASE("average pools keep their digits at any size of image") {
    for_lines([](Lines const& of) {
        if (of.axis == Axis::c) return;
        const std::vector<float> x = numbers(of.shape().size(), 1.0F);
        ps::PoolParams pool{.window = {of.shape().h, of.shape().w}, .stride = 1};
        pool.kind = ps::PoolKind::average;
        in_each_layout([&]<class L>() {
            const auto term = [&](std::size_t at) { return static_cast<double>(x[at]); };
            const ps::GlobalPoolParams global{ps::PoolKind::average};
            CHECK(worst<L>(of, run<L>(global, {of.shape()}, {x}), of.length, term) <= 8);
            CHECK(worst<L>(of, run<L>(pool, {of.shape()}, {x}), of.length, term) <= 8);
        });
    });
}

TEST_CASE("pools of wide and high windows keep their digits") {
    for (const int size : {5, 33, 100, 600}) {
        for (const int stride : {1, 2, 3}) {
            for (const int dilation : {1}) {
                if (dilation == 2 && size > 100) continue;
                const int side = size * dilation + 7;
                const ps::Shape shape{2, side, side};
                const std::vector<float> x = numbers(shape.size(), 1000.0F);
                ps::PoolParams pool{.window = size, .stride = stride, .dilation = dilation};
                pool.kind = ps::PoolKind::average;
                const ps::Shape out = pool.output(std::vector{shape});
                CAPTURE(size);
                CAPTURE(stride);
                CAPTURE(dilation);
                in_each_layout([&]<class L>() {
                    const std::vector<float> y = run<L>(pool, {shape}, {x});
                    for (const ps::Coord at : {ps::Coord{0, 0, 0}, ps::Coord{1, out.h - 1, out.w - 1}}) {
                        Exact exact;
                        for (int h = 0; h < size; ++h) {
                            for (int w = 0; w < size; ++w) {
                                const ps::Coord from{at.c, at.h * stride + h * dilation, at.w * stride + w * dilation};
                                exact.add(static_cast<double>(x[L::offset(shape, from)]));
                            }
                        }
                        const double want = exact.sum / (size * size), got = y[L::offset(out, at)];
                        CHECK(std::abs(got - want) <= 8 * half_unit * want);
                    }
                });
            }
        }
    }
}

TEST_CASE("softmax and its gradient keep their digits at any length") {
    for_lines([](Lines const& of) {
        const std::vector<float> x = numbers(of.shape().size(), 0.0F), dy = numbers(of.shape().size(), 1.0F);
        in_each_layout([&]<class L>() {
            const std::vector<float> y = run<L>(ps::SoftmaxParams{of.axis}, {of.shape()}, {x});
            const std::vector<float> dx =
                run<L>(ps::SoftmaxGradientParams{{of.axis}}, {of.shape(), of.shape()}, {y, dy});
            double error = 0, gradient_error = 0;
            for (int line = 0; line < of.lines; ++line) {
                Exact powers, products;
                for (int i = 0; i < of.length; ++i) {
                    const std::size_t at = of.at<L>(line, i);
                    powers.add(std::exp(static_cast<double>(x[at])));
                    products.add(static_cast<double>(y[at]) * static_cast<double>(dy[at]));
                }
                for (int i = 0; i < of.length; i += 1 + of.length / 10) {
                    const std::size_t at = of.at<L>(line, i);
                    const double want = std::exp(static_cast<double>(x[at])) / powers.sum;
                    error = std::max(error, std::abs(static_cast<double>(y[at]) - want) / want / half_unit);
                    const double slope = y[at] * (static_cast<double>(dy[at]) - products.sum);
                    const double scale = static_cast<double>(y[at]) * (1 + products.magnitudes) * half_unit;
                    gradient_error = std::max(gradient_error, std::abs(static_cast<double>(dx[at]) - slope) / scale);
                }
            }
            CHECK(error <= 12);
            CHECK(gradient_error <= 8);
        });
    });
}

TEST_CASE("statistics of a batch keep their digits at any number of pixels, whatever the mean") {
    for_lines([](Lines const& of) {
        if (of.axis == Axis::c) return;
        for (const float mean : {0.0F, 1.0F, 1000.0F, 10000.0F}) {
            if (quick() && mean > 0 && mean < 10000) continue;
            const std::vector<float> x = numbers(of.shape().size(), mean);
            in_each_layout([&]<class L>() {
                const std::vector<float> y = run<L>(ps::BatchStatisticsParams{}, {of.shape()}, {x}),
                                         sums = run<L>(ps::ChannelSumParams{}, {of.shape()}, {x});
                const auto term = [&](std::size_t at) { return static_cast<double>(x[at]); };
                CHECK(worst<L>(of, y, of.length, term) <= 2);
                CHECK(worst<L>(of, sums, 1, term) <= 16);
                double error = 0;
                for (int line = 0; line < of.lines; ++line) {
                    Exact all, squares;
                    for (int i = 0; i < of.length; ++i) all.add(term(of.at<L>(line, i)));
                    const double centre = all.sum / of.length;
                    for (int i = 0; i < of.length; ++i) squares.add(std::pow(term(of.at<L>(line, i)) - centre, 2));
                    const double want = squares.sum / of.length, got = y[static_cast<std::size_t>(of.lines + line)];
                    error = std::max(error, want == 0 ? got : std::abs(got - want) / want / half_unit);
                }
                CHECK(error <= 16);
            });
        }
    });
}

TEST_CASE("products of matrices and dense layers keep their digits at any depth") {
    for (const int depth : lengths()) {
        for (const auto& sides : {std::pair{1, 1}, {1, 3}, {7, 70}, {13, 70}}) {
            const int m = sides.first, n = sides.second;
            if (static_cast<double>(depth) * n > (1 << 22)) continue;
            for (const float mean : {0.0F, 1.0F}) {
                CAPTURE(depth);
                CAPTURE(n);
                const auto of_a = static_cast<std::size_t>(m), of_b = static_cast<std::size_t>(n),
                           count = static_cast<std::size_t>(depth);
                const std::vector<float> a = numbers(of_a * count, mean), b = numbers(count * of_b, 1.0F);
                const auto error = [&](std::vector<float> const& c, std::size_t inner, std::size_t outer) {
                    double result = 0;
                    for (std::size_t i = 0; i < of_a; ++i) {
                        for (std::size_t j = 0; j < of_b; ++j) {
                            Exact exact;
                            for (std::size_t d = 0; d < count; ++d) {
                                exact.add(static_cast<double>(a[i * count + d]) *
                                          static_cast<double>(b[d * inner + j * outer]));
                            }
                            const double got = c[i * of_b + j];
                            result = std::max(result, std::abs(got - exact.sum) / exact.magnitudes / half_unit);
                        }
                    }
                    return result;
                };
                const auto product = run<ps::chw>(ps::MatMulParams{}, {{1, m, depth}, {1, depth, n}}, {a, b});
                CHECK(error(product, of_b, 1) <= 24);
                // The dense layer's kernel has the weights of an output side by side.
                const ps::Shape image =
                    depth > ps::max_extent ? ps::Shape{1, depth / 1024, 1024} : ps::Shape{depth, 1, 1};
                const ps::DenseParams dense{.k = n, .bias = false};
                std::vector<float> packed(ps::Op<ps::DenseParams>::packed_floats(dense, image));
                ps::Op<ps::DenseParams>::pack<ps::chw>(dense, image, {.kernel = b, .bias = {}}, packed.data());
                std::vector<float> images(of_a * of_b);
                std::vector<const float*> src{a.data()};
                ps::Sequential executor;
                laws::entry_of<ps::chw>(dense).run(dense, {.src = src,
                                                           .src_shape = std::vector{image},
                                                           .dst = images.data(),
                                                           .dst_shape = {n, 1, 1},
                                                           .batch = m,
                                                           .weights = packed.data(),
                                                           .executor = executor});
                CHECK(error(images, 1, count) <= 32);
            }
        }
    }
}

}  // namespace
