#pragma once

#include <primsel/layer/pool.hpp>
#include <primsel/op/detail/rows.hpp>
#include <primsel/op/detail/window.hpp>
#include <primsel/op/op.hpp>

#include <algorithm>
#include <span>

namespace primsel::inline PRIMSEL_ABI {

namespace detail {

template <class Arch, class Reduction>
void pool(PoolParams const& params, OpArgs const& args, Strides from, Strides to) noexcept {
    const Shape in = args.src_shape[0], out = args.dst_shape;
    const PoolAxis down{
        in.h, params.window.h, params.stride.h, params.padding.top, params.padding.bottom, params.count_include_pad};
    const PoolAxis across{
        in.w, params.window.w, params.stride.w, params.padding.left, params.padding.right, params.count_include_pad};
    for_rows(args.executor, args.batch, out, to, [=, src = args.src[0], dst = args.dst](RowRange const& range) {
        constexpr int several = 16;
        OutputRow rows[several];
        for (int begin = 0; begin < range.count; begin += several) {
            const int count = std::min(several, range.count - begin);
            for (int i = 0; i < count; ++i) {
                const Coord at = range[begin + i];
                const auto c = static_cast<std::size_t>(at.c), h = static_cast<std::size_t>(at.h);
                const auto first = static_cast<std::size_t>(down.first(at.h));
                rows[i] = {.window = {src + range.image * in.size() + c * from.c + first * from.h,
                                      static_cast<std::size_t>(down.last(at.h)) - first, from.h},
                           .counted = static_cast<float>(down.counted(at.h)),
                           .dst = dst + range.image * out.size() + c * to.c + h * to.h};
            }
            const std::span<const OutputRow> some(rows, static_cast<std::size_t>(count));
            if (from.w == 1) {
                pool_columns<Arch, Reduction>(across, some, out.w);
            } else {
                for (OutputRow const& row : some) pool_pixels<Arch, Reduction>(across, row, from.w, from.w, out.w);
            }
        }
    });
}

}  // namespace detail

/// A NaN in the window wins over every maximum, as in PyTorch.
template <>
struct Op<PoolParams> {
    static constexpr bool in_place = false;

    [[nodiscard]] static double operations(PoolParams const& params, std::span<const Shape>, Shape output) {
        return static_cast<double>(params.window.h) * params.window.w * static_cast<double>(output.size());
    }

    template <class Arch, StridedLayout L>
    static void run(PoolParams const& params, OpArgs const& args) noexcept {
        const Strides from = L::strides(args.src_shape[0]), to = L::strides(args.dst_shape);
        if (params.kind == PoolKind::max) {
            detail::pool<Arch, detail::Maximum>(params, args, from, to);
        } else {
            detail::pool<Arch, detail::Average>(params, args, from, to);
        }
    }
};

}  // namespace primsel::inline PRIMSEL_ABI
