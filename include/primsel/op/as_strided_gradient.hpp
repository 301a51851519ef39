#pragma once

#include <primsel/layer/gradient.hpp>
#include <primsel/op/detail/blocks.hpp>
#include <primsel/op/op.hpp>
#include <primsel/tensor/layout.hpp>

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>

namespace primsel::inline PRIMSEL_ABI {

/// Adds the elements of dy in their order, image by image.
template <>
struct Op<AsStridedGradientParams> {
    static constexpr bool in_place = false;

    template <class Arch, StridedLayout L>
    [[nodiscard]] static OpCounts work(AsStridedGradientParams const&, std::span<const Shape> inputs, Shape output) {
        return op::element_counts<L>(static_cast<double>(inputs[0].size()), inputs, output);
    }

    template <class Arch, StridedLayout L>
        requires std::same_as<L, chw>
    static void run(AsStridedGradientParams const& params, OpArgs const& args) noexcept {
        const std::size_t from = args.src_shape[0].size(), to = args.dst_shape.size();
        op::detail::for_ranges(args.executor, static_cast<std::size_t>(args.batch), from + to,
                               [=, &params, src = args.src[0], dst = args.dst](std::size_t first, std::size_t last) {
                                   for (std::size_t image = first; image < last; ++image) {
                                       std::fill_n(dst + image * to, to, 0.0F);
                                       add(params.strided, src + image * from, from, dst + image * to);
                                   }
                               });
    }

private:
    static void add(AsStridedParams const& strided, const float* src, std::size_t count, float* dst) noexcept {
        const std::size_t rank = strided.dims.rank(), outer = rank == 0 ? 0 : rank - 1;
        const std::size_t row = rank == 0 ? 1 : static_cast<std::size_t>(strided.dims[outer]);
        const std::ptrdiff_t step = rank == 0 ? 0 : strided.strides[outer];
        std::array<int, Dims::max_rank> place{};
        std::ptrdiff_t at = strided.offset;
        for (const float* const end = src + count; src != end; src += row) {
            float* const to = dst + at;
            for (std::size_t i = 0; i < row; ++i) to[static_cast<std::ptrdiff_t>(i) * step] += src[i];
            for (std::size_t axis = outer; axis-- > 0;) {
                at += strided.strides[axis];
                if (++place[axis] < strided.dims[axis]) break;
                at -= strided.strides[axis] * strided.dims[axis];
                place[axis] = 0;
            }
        }
    }
};

}  // namespace primsel::inline PRIMSEL_ABI
