#pragma once

#include <primsel/layer/pool.hpp>
#include <primsel/op/detail/rows.hpp>
#include <primsel/op/detail/window.hpp>
#include <primsel/op/op.hpp>

namespace primsel::inline PRIMSEL_ABI {

namespace detail {

template <class Arch, class Reduction>
void pool(PoolParams const& params, OpArgs const& args, Strides from, Strides to) noexcept {
    const Shape in = args.src_shape[0], out = args.dst_shape;
    const PoolAxis down{
        in.h, params.window.h, params.stride.h, params.padding.top, params.padding.bottom, params.count_include_pad};
    const PoolAxis across{
        in.w, params.window.w, params.stride.w, params.padding.left, params.padding.right, params.count_include_pad};
    for_rows(args.executor, args.batch, out, to, [=, src = args.src[0], dst = args.dst](auto image, int c, int h) {
        const auto channel = static_cast<std::size_t>(c), first = static_cast<std::size_t>(down.first(h));
        const WindowRows rows{src + image * in.size() + channel * from.c + first * from.h,
                              static_cast<std::size_t>(down.last(h)) - first, from.h};
        float* to_row = dst + image * out.size() + channel * to.c + static_cast<std::size_t>(h) * to.h;
        const auto counted = static_cast<float>(down.counted(h));
        if (from.w == 1) {
            pool_columns<Arch, Reduction>(across, rows, counted, to_row, out.w);
        } else {
            pool_pixels<Arch, Reduction>(across, rows, counted, from.w, from.w, to_row, out.w);
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
