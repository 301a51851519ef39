#pragma once

#include <primsel/layer/gradient.hpp>
#include <primsel/op/detail/copy.hpp>
#include <primsel/op/detail/elements.hpp>
#include <primsel/op/op.hpp>

#include <algorithm>
#include <cstddef>

namespace primsel::inline PRIMSEL_ABI {

template <>
struct Op<SliceGradientParams> {
    static constexpr bool in_place = false;

    [[nodiscard]] static double operations(SliceGradientParams const&, std::span<const Shape>, Shape) { return 0; }

    template <class Arch, StridedLayout L>
    static void run(SliceGradientParams const& params, OpArgs const& args) noexcept {
        const SliceParams& slice = params.slice;
        place<Arch>(static_cast<std::size_t>(slice.first), static_cast<std::size_t>(slice.last - slice.first),
                    detail::axis_view<L>(args.dst_shape, args.batch, slice.axis), args);
    }

private:
    template <class Arch>
    static void place(std::size_t first, std::size_t count, detail::AxisView view, OpArgs const& args) noexcept {
        const std::size_t row_floats = view.count * view.inner, begin = first * view.inner, floats = count * view.inner;
        const float* src = args.src[0];
        float* dst = args.dst;
        detail::for_row_parts(args.executor, view.outer, row_floats, [=](std::size_t row, detail::Part part) {
            // Of this part: zeros up to `from`, the slice's up to `to`, zeros up to `last`.
            const std::size_t at = row_floats * part.index / part.count;
            const std::size_t last = row_floats * (part.index + 1) / part.count;
            const std::size_t from = std::clamp(begin, at, last), to = std::clamp(begin + floats, at, last);
            float* row_dst = dst + row * row_floats;
            std::fill(row_dst + at, row_dst + from, 0.0F);
            if (from < to) detail::copy_floats<Arch>(src + row * floats + (from - begin), row_dst + from, to - from);
            std::fill(row_dst + to, row_dst + last, 0.0F);
        });
    }
};

}  // namespace primsel::inline PRIMSEL_ABI
