#include <primsel/op/all.hpp>
#include <primsel/op/int8.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace ps = primsel;

namespace int8_ops {

using Bytes = std::vector<std::uint8_t>;
constexpr ps::TensorRange range{0.05F, 100}, other_range{0.02F, 3};

/// The images of an op in hwc_u8. What is behind the channels of a pixel differs everywhere.
struct Images {
    ps::Shape shape;
    ps::TensorRange from;
    Bytes bytes;

    Images(ps::Shape of, ps::TensorRange with, int batch, std::size_t seed)
        : shape(of), from(with), bytes(static_cast<std::size_t>(batch) * ps::hwc_u8::size(of)) {
        for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::uint8_t>((i * 89 + seed * 31) % 256);
    }
    [[nodiscard]] int at(std::size_t image, int c, int h, int w) const {
        return bytes[image * ps::hwc_u8::size(shape) + ps::hwc_u8::offset(shape, {c, h, w})];
    }
};

int byte_of(float scaled, ps::TensorRange const& to, ps::Clamp clamp = {}) {
    const ps::ToBytes bounds(to, clamp);
    return static_cast<int>(std::nearbyint(std::fmin(std::fmax(scaled, bounds.low), bounds.high))) + to.zero_point;
}
/// A product that is rounded to a float.
[[gnu::noinline]] float rounded(float a, float b) {
    const volatile float product = a * b;
    return product;
}
float value_of(int byte, ps::TensorRange const& of) {
    return rounded(static_cast<float>(byte - of.zero_point), of.scale);
}

/// Runs the op and counts the elements that differ from expected(image, c, h, w).
template <class Params, class Expected>
void check(Params const& params, std::vector<Images> const& inputs, ps::TensorRange to, int batch,
           Expected const& expected, ps::Clamp clamp = {}) {
    ps::Sequential here;
    std::vector<ps::Shape> shapes;
    std::vector<ps::TensorRange> ranges;
    // Buffers of floats, with a canary behind each.
    std::vector<std::vector<float>> buffers;
    std::vector<const float*> src;
    for (Images const& images : inputs) {
        shapes.push_back(images.shape), ranges.push_back(images.from);
        buffers.emplace_back(images.bytes.size() / 4);
        std::memcpy(buffers.back().data(), images.bytes.data(), images.bytes.size());
    }
    for (auto const& buffer : buffers) src.push_back(buffer.data());
    const ps::Shape out = params.output(shapes);
    const std::size_t size = ps::hwc_u8::size(out) * static_cast<std::size_t>(batch);
    std::vector<float> dst(size / 4 + 1, 777.0F);
    const auto run = [&](float* to_dst) {
        ps::OpIn<Params, ps::hwc_u8>::template run<ps::default_arch>(params, {.src = src,
                                                                              .src_shape = shapes,
                                                                              .dst = to_dst,
                                                                              .dst_shape = out,
                                                                              .batch = batch,
                                                                              .clamp = clamp,
                                                                              .executor = here,
                                                                              .src_range = ranges,
                                                                              .dst_range = to});
    };
    const auto wrong = [&](const float* result) {
        const auto* const bytes = reinterpret_cast<const std::uint8_t*>(result);
        std::size_t count = 0;
        for (std::size_t image = 0; image < static_cast<std::size_t>(batch); ++image) {
            for (int c = 0; c < out.c; ++c) {
                for (int h = 0; h < out.h; ++h) {
                    for (int w = 0; w < out.w; ++w) {
                        const std::size_t at = image * ps::hwc_u8::size(out) + ps::hwc_u8::offset(out, {c, h, w});
                        count += bytes[at] == expected(image, c, h, w) ? 0U : 1U;
                    }
                }
            }
        }
        return count;
    };
    CAPTURE(to_string(shapes[0]));
    run(dst.data());
    CHECK(wrong(dst.data()) == 0);
    CHECK(dst.back() == 777.0F);
    if constexpr (requires { ps::OpIn<Params, ps::hwc_u8>::in_place; }) {
        run(buffers[0].data());
        CHECK(wrong(buffers[0].data()) == 0);
    }
}

const ps::Shape shapes[] = {{1, 1, 1},  {3, 5, 7},  {8, 4, 3},  {16, 4, 6},
                            {17, 3, 9}, {40, 7, 5}, {64, 2, 3}, {70, 6, 6}};

void check_pool(ps::PoolParams const& pool, Images const& src, ps::TensorRange to, int batch) {
    check(pool, {src}, to, batch, [&](std::size_t image, int c, int oh, int ow) {
        int most = 0, sum = 0, inside = 0, counted = 0;
        for (int fh = 0; fh < pool.window.h; ++fh) {
            for (int fw = 0; fw < pool.window.w; ++fw) {
                const int h = oh * pool.stride.h - pool.padding.top + fh * pool.dilation.h,
                          w = ow * pool.stride.w - pool.padding.left + fw * pool.dilation.w;
                counted += h < src.shape.h + pool.padding.bottom && w < src.shape.w + pool.padding.right ? 1 : 0;
                if (h < 0 || h >= src.shape.h || w < 0 || w >= src.shape.w) continue;
                const int byte = src.at(image, c, h, w);
                most = std::max(most, byte), sum += byte - src.from.zero_point, ++inside;
            }
        }
        if (pool.kind == ps::PoolKind::max) {
            return src.from == to ? most : byte_of(value_of(most, src.from) * (1 / to.scale), to);
        }
        const float count = static_cast<float>(pool.count_include_pad ? counted : inside);
        return byte_of(static_cast<float>(sum) * (src.from.scale * (1 / to.scale) / count), to);
    });
}

TEST_CASE("pools of bytes are those of the definition") {
    for (ps::Shape const& shape : shapes) {
        for (const ps::PoolKind kind : {ps::PoolKind::max, ps::PoolKind::average}) {
            for (const ps::TensorRange to : {range, other_range}) {
                const Images src(shape, range, 2, 5);
                for (const bool counts : {false, true}) {
                    std::vector<ps::PoolParams> pools(4, ps::PoolParams{.kind = kind, .count_include_pad = counts});
                    pools[0].window = pools[0].stride = ps::Extent{1};
                    pools[1].window = ps::Extent{3}, pools[1].padding = {1, 1, 1, 1}, pools[1].ceil_mode = true;
                    pools[2].window = ps::Extent{2, 3}, pools[2].stride = ps::Extent{1},
                    pools[2].padding = {1, 0, 2, 1};
                    pools[3].window = ps::Extent{3}, pools[3].padding = {1, 1, 1, 1}, pools[3].dilation = ps::Extent{2};
                    for (ps::PoolParams const& pool : pools) {
                        if (pool.check(std::vector{shape}) == ps::Fault::none) check_pool(pool, src, to, 2);
                    }
                }
                check(ps::GlobalPoolParams{kind}, {src}, to, 2, [&](std::size_t image, int c, int, int) {
                    int most = 0, sum = 0;
                    for (int h = 0; h < shape.h; ++h) {
                        for (int w = 0; w < shape.w; ++w) {
                            most = std::max(most, src.at(image, c, h, w));
                            sum += src.at(image, c, h, w) - range.zero_point;
                        }
                    }
                    if (kind == ps::PoolKind::max) {
                        return to == range ? most : byte_of(value_of(most, range) * (1 / to.scale), to);
                    }
                    const auto pixels = static_cast<float>(shape.pixels());
                    return byte_of(static_cast<float>(sum) * (range.scale * (1 / to.scale) / pixels), to);
                });
            }
        }
    }
}

TEST_CASE("sums of bytes of different ranges are those of the definition") {
    for (ps::Shape const& shape : shapes) {
        const std::vector<Images> inputs{{shape, range, 3, 1}, {shape, other_range, 3, 2}, {shape, range, 3, 4}};
        for (const ps::Clamp clamp : {ps::Clamp{}, ps::relu6_clamp}) {
            const ps::TensorRange to{0.07F, 80};
            check(
                ps::AddParams{}, inputs, to, 3,
                [&](std::size_t image, int c, int h, int w) {
                    float sum = 0;
                    for (Images const& images : inputs) {
                        sum += rounded(static_cast<float>(images.at(image, c, h, w) - images.from.zero_point),
                                       images.from.scale * (1 / to.scale));
                    }
                    return byte_of(sum, to, clamp);
                },
                clamp);
        }
    }
}

TEST_CASE("concatenations of bytes copy, and convert where ranges differ") {
    for (ps::Shape const& shape : shapes) {
        for (const ps::Axis axis : {ps::Axis::c, ps::Axis::h, ps::Axis::w}) {
            ps::Shape other = shape;
            extent(other, axis) += 2;
            const std::vector<Images> inputs{{shape, range, 2, 1}, {other, other_range, 2, 2}, {shape, range, 2, 3}};
            check(ps::ConcatParams{axis}, inputs, range, 2, [&](std::size_t image, int c, int h, int w) {
                int at = axis == ps::Axis::c ? c : axis == ps::Axis::h ? h : w;
                std::size_t input = 0;
                while (at >= extent(inputs[input].shape, axis)) at -= extent(inputs[input++].shape, axis);
                (axis == ps::Axis::c ? c : axis == ps::Axis::h ? h : w) = at;
                const int byte = inputs[input].at(image, c, h, w);
                return input == 1 ? byte_of(value_of(byte, other_range) * (1 / range.scale), range) : byte;
            });
        }
    }
}

TEST_CASE("an activation of bytes is that of floats, rounded once") {
    ps::Sequential here;
    for (ps::Shape const& shape : shapes) {
        for (const ps::ActivationKind kind : {ps::ActivationKind::relu, ps::ActivationKind::sigmoid,
                                              ps::ActivationKind::hard_swish, ps::ActivationKind::silu}) {
            const ps::ActivationParams params{.kind = kind};
            const Images src(shape, range, 2, 9);
            check(params, {src}, other_range, 2, [&](std::size_t image, int c, int h, int w) {
                const float value = value_of(src.at(image, c, h, w), range), *const from = &value;
                const ps::Shape one{1, 1, 1};
                float result = 0;
                ps::Op<ps::ActivationParams>::run<ps::default_arch, ps::hwc>(
                    params,
                    {.src = {&from, 1}, .src_shape = {&one, 1}, .dst = &result, .dst_shape = one, .executor = here});
                return byte_of(result * (1 / other_range.scale), other_range);
            });
        }
    }
}

}  // namespace int8_ops
