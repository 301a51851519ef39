#pragma once

#include <primsel/layer/all.hpp>

#include <cstddef>

namespace primsel::inline PRIMSEL_ABI::network::detail {

/// The same elements with as few axes as can be.
[[nodiscard]] inline AsStridedParams merge_axes(AsStridedParams const& params) {
    AsStridedParams result = params;
    result.dims = {};
    result.strides = {};
    for (std::size_t axis = 0; axis < params.dims.rank(); ++axis) {
        if (params.dims[axis] == 1) continue;
        const std::size_t rank = result.dims.rank();
        if (rank > 0 && result.strides[rank - 1] == params.dims[axis] * params.strides[axis]) {
            result.dims[rank - 1] *= params.dims[axis];
            result.strides[rank - 1] = params.strides[axis];
        } else {
            result.strides[rank] = params.strides[axis];
            result.dims.push_back(params.dims[axis]);
        }
    }
    if (result.dims.rank() == 0) {
        result.dims.push_back(1);
        result.strides[0] = 1;
    }
    return result;
}
/// Whether elements stay in their order, in another shape.
[[nodiscard]] inline bool is_reshape(AsStridedParams const& params, Shape input) {
    return params.offset == 0 && params.dims == Dims{static_cast<int>(params.shape.size())} && params.strides[0] == 1 &&
           params.shape.size() == input.size();
}
/// The groups of the channel shuffle that this is; 0 if it is none.
[[nodiscard]] inline int shuffled_groups(AsStridedParams const& params, Shape input) {
    if (params.shape != input || params.offset != 0 || params.dims.rank() < 2) return 0;
    const int groups = params.dims[1];
    if (groups < 2 || input.c % groups != 0 || params.dims[0] != input.c / groups) return 0;
    const auto pixels = static_cast<std::ptrdiff_t>(input.pixels());
    const bool swapped = params.strides[0] == pixels && params.strides[1] == params.dims[0] * pixels;
    const bool whole = pixels == 1 ? params.dims.rank() == 2
                                   : params.dims.rank() == 3 && params.dims[2] == pixels && params.strides[2] == 1;
    return swapped && whole ? groups : 0;
}

}  // namespace primsel::inline PRIMSEL_ABI::network::detail
