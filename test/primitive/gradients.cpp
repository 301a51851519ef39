// The laws of primitives that compute gradients: each agrees with the sum over the definition's products, for several
// images at once, gives the same bits whatever the executor, and writes nothing but its result. And the law that lets
// forward primitives stand for the gradient of the input: a rotated convolution is that gradient.
#include "../quick.hpp"
#include "laws.hpp"

#include <doctest/doctest.h>
#include <primsel/kernels/primitive_table.hpp>
#include <primsel/primitive/rotated.hpp>
#include <primsel/primitive/training.hpp>
#include <primsel/train/policies.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

namespace gradients {
namespace {

namespace ps = primsel;
using Layouts = ps::AllLayouts;

/// All gradients, one that no list has among them, and the forward primitives that take a whole batch.
[[nodiscard]] std::vector<ps::PrimitiveEntry> tested() {
    std::vector<ps::PrimitiveEntry> entries =
        laws::chosen(ps::make_kernels<ps::TrainingPrimitives, ps::default_arch, Layouts>().primitives,
                     ps::concatenate<ps::TypeList<ps::Indirect, ps::Winograd<2, 3, 16>, ps::Winograd<4, 3, 16>>,
                                     ps::GradientPrimitives>{});
    const ps::Kernels other =
        ps::make_kernels<ps::TypeList<ps::WinogradWeightGradient<2, 3>>, ps::default_arch, Layouts>();
    entries.insert(entries.end(), other.primitives.begin(), other.primitives.end());
    const std::vector<ps::PrimitiveEntry> vertical =
        laws::chosen(laws::all_primitives().primitives, ps::TypeList<ps::Winograd<3, 3, 1>>{});
    entries.insert(entries.end(), vertical.begin(), vertical.end());
    return entries;
}

/// Images and the gradient of the result, in chw, and the gradients that the definition leads to.
struct Problem {
    Problem(ps::ConvShape const& s, int count)
        : shape(s),
          images(static_cast<std::size_t>(count)),
          x(images * s.in_shape().size()),
          dy(images * s.out_shape().size()),
          kernel(s.kernel_size()),
          y(dy.size()),
          dx(x.size()),
          dw(kernel.size()) {
        std::mt19937 bits(1);
        std::normal_distribution<float> normal;
        for (auto* data : {&x, &dy, &kernel}) {
            for (float& value : *data) value = normal(bits);
        }
        for (std::size_t image = 0; image < images; ++image) add(image);
    }

    [[nodiscard]] std::vector<double> const& exact(ps::Pass pass) const {
        return pass == ps::Pass::forward ? y : pass == ps::Pass::input_gradient ? dx : dw;
    }

    ps::ConvShape shape;
    std::size_t images;
    std::vector<float> x, dy, kernel;
    std::vector<double> y, dx, dw;

private:
    void add(std::size_t image) {
        ps::ConvShape const& s = shape;
        for (int k = 0; k < s.k; ++k) {
            for (int oh = 0; oh < s.out_h(); ++oh) {
                for (int ow = 0; ow < s.out_w(); ++ow) add_products(image, k, oh, ow);
            }
        }
    }
    void add_products(std::size_t image, int k, int oh, int ow) {
        ps::ConvShape const& s = shape;
        const std::size_t to = image * s.out_shape().size() + ps::chw::offset(s.out_shape(), {k, oh, ow});
        for (int c = 0; c < s.group_c(); ++c) {
            for (int tap = 0; tap < s.taps(); ++tap) {
                const int h = oh * s.stride_h - s.pad_top + tap / s.fw * s.dilation_h,
                          w = ow * s.stride_w - s.pad_left + tap % s.fw * s.dilation_w;
                if (h < 0 || h >= s.h || w < 0 || w >= s.w) continue;
                const std::size_t from = image * s.in_shape().size() +
                                         ps::chw::offset(s.in_shape(), {k / s.group_k() * s.group_c() + c, h, w});
                const std::size_t by = static_cast<std::size_t>((k * s.group_c() + c) * s.taps() + tap);
                const double value = x[from], weight = kernel[by], gradient = dy[to];
                y[to] += value * weight;
                dx[from] += gradient * weight;
                dw[by] += gradient * value;
            }
        }
    }
};

/// Images of chw in a layout, or back.
template <class Value>
std::vector<Value> laid_out(std::vector<Value> const& from, ps::Shape shape, laws::LayoutFacts const& layout,
                            bool back = false) {
    std::vector<Value> to(from.size());
    for (std::size_t image = 0; image < from.size() / shape.size(); ++image) {
        for (int c = 0; c < shape.c; ++c) {
            for (int h = 0; h < shape.h; ++h) {
                for (int w = 0; w < shape.w; ++w) {
                    const std::size_t chw = image * shape.size() + ps::chw::offset(shape, {c, h, w}),
                                      other = image * shape.size() + layout.offset(shape, {c, h, w});
                    to[back ? chw : other] = from[back ? other : chw];
                }
            }
        }
    }
    return to;
}

/// The result of a primitive on the problem, in chw; empty where it wrote beyond its result or to what it reads.
template <class Executor>
std::vector<float> result_of(ps::PrimitiveEntry const& entry, laws::List const& list, Problem const& p,
                             Executor executor) {
    ps::ConvShape const& s = p.shape;
    auto const& in = list.layouts[entry.in_layout];
    const bool weights = entry.pass == ps::Pass::weight_gradient, back = entry.pass == ps::Pass::input_gradient;
    const auto copy = [](std::vector<float> const& values, std::size_t shift) {
        auto guarded = std::make_unique<laws::Guarded>(values.size(), laws::Watch::heap, shift);
        std::ranges::copy(values, guarded->data());
        guarded->seal();
        return guarded;
    };
    const auto x = copy(laid_out(p.x, s.in_shape(), in), 1), dy = copy(laid_out(p.dy, s.out_shape(), in), 3);
    laws::Guarded packed(weights ? 0 : entry.packed_bytes(s) / sizeof(float), laws::Watch::heap, 0);
    if (!weights) entry.pack(s, p.kernel.data(), packed.data());
    packed.seal();
    laws::Guarded scratch(entry.scratch_bytes(s, executor.concurrency(), static_cast<int>(p.images)) / sizeof(float),
                          laws::Watch::heap, 0);
    laws::Guarded dst(p.exact(entry.pass).size(), laws::Watch::zones, 5);
    entry.run(s, {.src = back ? dy->data() : x->data(),
                  .gradient = weights ? dy->data() : nullptr,
                  .images = static_cast<int>(p.images),
                  .weights = packed.data(),
                  .dst = dst.data(),
                  .scratch = scratch.data(),
                  .executor = executor});
    if (!dst.intact() || !x->intact() || !dy->intact() || !packed.intact() || !scratch.intact()) return {};
    std::vector<float> result(dst.span().begin(), dst.span().end());
    if (weights) return result;
    return laid_out(result, back ? s.in_shape() : s.out_shape(), list.layouts[entry.out_layout], true);
}

double largest_error(std::vector<float> const& result, std::vector<double> const& exact) {
    double squares = 0, largest = 0;
    for (std::size_t i = 0; i < exact.size(); ++i) {
        squares += exact[i] * exact[i];
        const double error = std::abs(exact[i] - static_cast<double>(result[i]));
        if (!(error <= largest)) largest = error;
    }
    return squares == 0 ? largest : largest / std::sqrt(squares / static_cast<double>(exact.size()));
}

}  // namespace

TEST_CASE("gradients are those of the definition, the same for any executor, and nothing else is written") {
    const std::vector<ps::PrimitiveEntry> entries = tested();
    const laws::List list = laws::make_list(entries, Layouts{});
    std::vector<std::size_t> runs(list.primitives.size(), 0);
    std::size_t number = 0;
    for (ps::ConvShape const& s : laws::odd_shapes()) {
        if (s.operations() > 2e6) continue;
        const Problem problem(s, ++number % 3 == 0 ? 3 : 1);
        for (std::size_t i = 0; i < list.primitives.size(); ++i) {
            ps::PrimitiveEntry const& entry = list.primitives[i];
            if (!entry.supports(s)) continue;
            ++runs[i];
            CAPTURE(entry.id);
            const std::string shape = ps::to_string(s, static_cast<int>(problem.images));
            CAPTURE(shape);
            const std::vector<float> result = result_of(entry, list, problem, ps::Sequential{});
            REQUIRE(result.size() == problem.exact(entry.pass).size());
            CHECK(largest_error(result, problem.exact(entry.pass)) <= entry.error_bound);
            const std::vector<float> again = result_of(entry, list, problem, laws::Backwards{});
            REQUIRE(again.size() == result.size());
            CHECK(std::memcmp(again.data(), result.data(), result.size() * sizeof(float)) == 0);
        }
    }
    for (std::size_t i = 0; i < runs.size(); ++i) {
        CAPTURE(list.primitives[i].id);
        CHECK(runs[i] >= (quick() ? 4U : 20U));
        CHECK(list.primitives[i].whole_batch);
    }
}

TEST_CASE("a turned kernel is packed from where the other lies, and panels by any executor") {
    const ps::Kernels kernels = ps::make_kernels<ps::TrainingPrimitives, ps::default_arch, Layouts>();
    std::vector<std::size_t> runs(kernels.primitives.size(), 0);
    for (ps::ConvShape s : laws::odd_shapes()) {
        if (s.kernel_size() > 100000) continue;
        const ps::ConvShape other{.c = s.k, .k = s.c, .fh = s.fh, .fw = s.fw, .groups = s.groups};
        std::vector<float> kernel(s.kernel_size()), rotated(kernel.size());
        for (std::size_t i = 0; i < kernel.size(); ++i) kernel[i] = static_cast<float>(i + 1);
        ps::rotate_kernel(other, kernel.data(), rotated.data());
        for (std::size_t i = 0; i < runs.size(); ++i) {
            ps::PrimitiveEntry const& entry = kernels.primitives[i];
            if (entry.pass != ps::Pass::forward || !entry.supports(s)) continue;
            ++runs[i];
            CAPTURE(entry.id);
            CAPTURE(ps::to_string(s));
            const std::size_t size = entry.packed_bytes(s) / sizeof(float);
            std::vector<float> packed(size, -1.0F), from_turned(size, -1.0F), again(size, -1.0F);
            laws::Backwards backwards;
            entry.pack(s, rotated.data(), packed.data());
            entry.repack(s, {kernel.data(), true}, from_turned.data(), backwards);
            entry.repack(s, {rotated.data()}, again.data(), backwards);
            CHECK(packed == from_turned);
            CHECK(packed == again);
        }
    }
    for (std::size_t i = 0; i < runs.size(); ++i) {
        CAPTURE(kernels.primitives[i].id);
        if (kernels.primitives[i].pass == ps::Pass::forward) CHECK(runs[i] >= 4);
    }
}

TEST_CASE("the gradient of the input is the turned convolution, and turning twice changes nothing") {
    std::size_t count = 0;
    for (ps::ConvShape const& s : laws::odd_shapes()) {
        if (!ps::rotates(s) || s.operations() > 5e5) continue;
        ++count;
        const ps::ConvShape t = ps::rotated(s);
        REQUIRE(t.valid());
        CHECK(t.out_shape() == s.in_shape());
        CHECK(ps::rotated(t) == s);
        const Problem problem(s, 1);
        std::vector<float> kernel(s.kernel_size()), back(s.kernel_size());
        ps::rotate_kernel(s, problem.kernel.data(), kernel.data());
        ps::rotate_kernel(t, kernel.data(), back.data());
        CHECK(back == problem.kernel);
        std::vector<float> dx(problem.x.size());
        ps::reference_convolution(t, problem.dy.data(), kernel.data(), nullptr, nullptr, {}, dx.data());
        CHECK(largest_error(dx, problem.dx) < 1e-6);
    }
    CHECK(count > 10);
    CHECK(ps::rotates({.h = 5, .w = 5, .stride_h = 2}).reason() == "needs stride 1");
    CHECK(ps::rotates({.h = 5, .w = 5, .pad_top = 1}).reason() == "needs a padding smaller than the kernel");
}

}  // namespace gradients
