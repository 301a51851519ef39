#pragma once

#include <primsel/layer/all.hpp>

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

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
/// Tensors of the same input that differ only in where they begin, one after the other; nothing if no strides lead from
/// one beginning to the next.
[[nodiscard]] inline std::optional<AsStridedParams> concatenated(AsStridedParams const& first,
                                                                 std::vector<std::ptrdiff_t> begins) {
    AsStridedParams result = first;
    result.shape.c *= static_cast<int>(begins.size());
    // Takes equal steps for the innermost axis, then looks at the beginnings of what that covers.
    while (begins.size() > 1) {
        const std::ptrdiff_t step = begins[1] - begins[0];
        std::size_t extent = 1;
        while (extent < begins.size() && begins[extent] - begins[extent - 1] == step) ++extent;
        if (begins.size() % extent != 0 || result.dims.rank() == Dims::max_rank) return std::nullopt;
        std::vector<std::ptrdiff_t> rest;
        for (std::size_t i = 0; i < begins.size(); ++i) {
            if (begins[i] != begins[i - i % extent] + static_cast<std::ptrdiff_t>(i % extent) * step)
                return std::nullopt;
            if (i % extent == 0) rest.push_back(begins[i]);
        }
        Dims dims{static_cast<int>(extent)};
        for (const int inner : result.dims) dims.push_back(inner);
        for (std::size_t axis = result.dims.rank(); axis > 0; --axis) result.strides[axis] = result.strides[axis - 1];
        result.strides[0] = step;
        result.dims = dims;
        begins = std::move(rest);
    }
    return result;
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
