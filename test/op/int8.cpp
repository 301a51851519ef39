#include "narrow_laws.hpp"

#include <primsel/op/int8.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace int8_ops {

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
                    for (ps::PoolParams const& pool : narrow_laws::pools(kind, counts)) {
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
                laws::entry_of<ps::hwc>(params).run(
                    params,
                    {.src = {&from, 1}, .src_shape = {&one, 1}, .dst = &result, .dst_shape = one, .executor = here});
                return byte_of(result * (1 / other_range.scale), other_range);
            });
        }
    }
}

}  // namespace int8_ops
