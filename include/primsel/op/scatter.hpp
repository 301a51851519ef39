#pragma once

#include <primsel/core/finite.hpp>
#include <primsel/layer/detection.hpp>
#include <primsel/op/detail/blocks.hpp>
#include <primsel/op/op.hpp>
#include <primsel/tensor/layout.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>

namespace primsel::inline PRIMSEL_ABI {

/// Each strip of columns is copied, and then changed in the order of the changes: no two threads change one element.
template <>
struct Op<ScatterParams> {
    static constexpr bool in_place = false;

    template <class Arch, StridedLayout L>
    [[nodiscard]] static OpCounts work(ScatterParams const&, std::span<const Shape> inputs, Shape output) {
        const double strips = static_cast<double>(strips_of(output)), changes = inputs[2].c,
                     size = static_cast<double>(inputs[2].size());
        return {.scalars = 4 * strips * changes + size,
                .rows = strips * (output.c + changes),
                .bytes = 8.0 * static_cast<double>(output.size()) + 12.0 * size};
    }

    template <class Arch, StridedLayout L>
        requires std::same_as<L, chw>
    static void run(ScatterParams const& params, OpArgs const& args) noexcept {
        const Shape shape = args.dst_shape;
        const std::size_t c = static_cast<std::size_t>(shape.c), inner = shape.size() / c, n = args.src_shape[1].size(),
                          strips = strips_of(shape);
        op::detail::for_ranges(args.executor, static_cast<std::size_t>(args.batch) * strips,
                               std::min(inner, strip) * (c + n),
                               [&params, &args, c, inner, n, strips](std::size_t first, std::size_t last) {
                                   for (std::size_t item = first; item < last; ++item) {
                                       const std::size_t image = item / strips, begin = item % strips * strip,
                                                         columns = std::min(strip, inner - begin);
                                       const float* const src = args.src[0] + image * c * inner + begin;
                                       float* const dst = args.dst + image * c * inner + begin;
                                       for (std::size_t i = 0; i < c; ++i)
                                           std::copy_n(src + i * inner, columns, dst + i * inner);
                                       for (std::size_t i = 0; i < n; ++i) {
                                           const float at = args.src[1][image * n + i];
                                           if (!(at > -1.0F && at < static_cast<float>(c))) continue;
                                           change(params.kind, columns, args.src[2] + (image * n + i) * inner + begin,
                                                  dst + static_cast<std::size_t>(at) * inner);
                                       }
                                   }
                               });
    }

private:
    template <class>
    friend struct Op;  // its gradient
    static constexpr std::size_t strip = 512;
    [[nodiscard]] static std::size_t strips_of(Shape const& shape) {
        return (shape.size() / static_cast<std::size_t>(shape.c) + strip - 1) / strip;
    }

    static void change(ScatterKind kind, std::size_t count, const float* src, float* dst) noexcept {
        switch (kind) {
            case ScatterKind::replace:
                std::copy_n(src, count, dst);
                break;
            case ScatterKind::add:
                for (std::size_t i = 0; i < count; ++i) dst[i] += src[i];
                break;
            case ScatterKind::multiply:
                for (std::size_t i = 0; i < count; ++i) dst[i] *= src[i];
                break;
            case ScatterKind::maximum:
                for (std::size_t i = 0; i < count; ++i) {
                    if (src[i] > dst[i] || is_nan(src[i])) dst[i] = src[i];
                }
                break;
            case ScatterKind::minimum:
                for (std::size_t i = 0; i < count; ++i) {
                    if (src[i] < dst[i] || is_nan(src[i])) dst[i] = src[i];
                }
                break;
        }
    }
};

}  // namespace primsel::inline PRIMSEL_ABI
