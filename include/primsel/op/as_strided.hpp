#pragma once

#include <primsel/layer/reshape.hpp>
#include <primsel/op/detail/copy.hpp>
#include <primsel/op/detail/walk.hpp>
#include <primsel/op/op.hpp>

#include <algorithm>
#include <concepts>

namespace primsel::inline PRIMSEL_ABI {

template <>
struct Op<AsStridedParams> {
    static constexpr bool in_place = false;

    [[nodiscard]] static double operations(AsStridedParams const&, std::span<const Shape>, Shape) { return 0; }

    template <class Arch, StridedLayout L>
        requires std::same_as<L, chw>
    static void run(AsStridedParams const& params, OpArgs const& args) noexcept {
        detail::Walk<1, Dims::max_rank + 1> axes;
        axes.add(static_cast<std::size_t>(args.batch), {static_cast<std::ptrdiff_t>(args.src_shape[0].size())});
        for (std::size_t i = 0; i < params.dims.rank(); ++i) {
            axes.add(static_cast<std::size_t>(params.dims[i]), {params.strides[i]});
        }
        const std::size_t floats = axes.row_floats();
        const std::ptrdiff_t step = axes.row_step()[0];
        axes.for_each_row(args.executor, [=, src = args.src[0] + params.offset, dst = args.dst](
                                             std::size_t row, auto const& at, detail::Part part) {
            const float* from = src + at[0];
            float* to = dst + row * floats;
            if (step == 1) return detail::copy_part<Arch>(from, to, floats, part);
            const std::size_t last = floats * (part.index + 1) / part.count;
            for (std::size_t i = floats * part.index / part.count; i < last; ++i) {
                to[i] = from[static_cast<std::ptrdiff_t>(i) * step];
            }
        });
    }
};

}  // namespace primsel::inline PRIMSEL_ABI
