// Sizes of tensors of any rank, outermost first, and what the library makes of them.
#pragma once

#include <primsel/core/error.hpp>
#include <primsel/network/weights.hpp>
#include <primsel/tensor/dims.hpp>
#include <primsel/tensor/shape.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::onnx {

/// Extents, positions or strides along the axes of a tensor.
using Sizes = std::vector<std::int64_t>;

/// A tensor computed at run time has no more elements than this, and no more axes than Dims::max_rank.
inline constexpr std::int64_t largest_tensor = std::numeric_limits<int>::max();

/// Elements of a tensor that is computed at run time. Throws error when it is empty or too large.
[[nodiscard]] inline std::int64_t elements(Sizes const& dims) {
    if (dims.size() > Dims::max_rank) {
        fail("a tensor of ", dims.size(), " dimensions; at most ", Dims::max_rank, " are supported");
    }
    std::int64_t count = 1;
    for (const std::int64_t dim : dims) {
        if (dim == 0) fail("a tensor of ", to_string(dims), " has no elements; an empty batch cannot run");
        if (dim < 0) fail("a tensor of ", to_string(dims), " elements");
        if (dim > largest_tensor / count) fail("a tensor of ", to_string(dims), " elements is too large");
        count *= dim;
    }
    return count;
}
/// The product of some of the extents of a tensor for which elements() found no fault.
[[nodiscard]] inline int product(Sizes const& dims, std::size_t first, std::size_t last) {
    std::int64_t count = 1;
    for (std::size_t axis = first; axis < last; ++axis) count *= dims[axis];
    return static_cast<int>(count);
}

/// The number, if it lies between the two others. Throws error, naming it.
[[nodiscard]] inline int bounded(std::int64_t value, std::int64_t low, std::int64_t high, std::string_view what) {
    if (value < low || value > high) {
        fail(what, " of ", value, " is outside of what is supported, ", low, " to ", high);
    }
    return static_cast<int>(value);
}

/// The position of an axis that may be counted from the end. Throws error.
[[nodiscard]] inline std::size_t axis_index(std::int64_t axis, std::size_t rank) {
    const auto signed_rank = static_cast<std::int64_t>(rank);
    if (axis < -signed_rank || axis >= signed_rank) fail("axis ", axis, " of a tensor of ", rank, " dimensions");
    return static_cast<std::size_t>(axis < 0 ? axis + signed_rank : axis);
}
/// The positions of several axes, ascending. Throws error when one is there twice.
[[nodiscard]] inline std::vector<std::size_t> axis_indices(Sizes const& axes, std::size_t rank) {
    std::vector<std::size_t> indices;
    for (const std::int64_t axis : axes) indices.push_back(axis_index(axis, rank));
    std::ranges::sort(indices);
    if (std::ranges::adjacent_find(indices) != indices.end()) fail("an axis is given twice");
    return indices;
}

/// Distances between neighbours along each axis of a row-major tensor. Throws error when they overflow, as they can in
/// an empty tensor.
[[nodiscard]] inline Sizes row_major(Sizes const& dims) {
    Sizes strides(dims.size());
    std::int64_t stride = 1;
    for (std::size_t axis = dims.size(); axis-- > 0;) {
        strides[axis] = stride;
        if (__builtin_mul_overflow(stride, std::max<std::int64_t>(dims[axis], 1), &stride)) {
            fail("impossibly large dimensions ", to_string(dims));
        }
    }
    return strides;
}

/// Some elements of a row-major tensor in another order: element (i0, i1, ...) is element offset + i0 * strides[0] +
/// i1 * strides[1] + ... of it.
struct Strided {
    Sizes dims, strides;
    std::int64_t offset = 0;
};

/// The extents with ones before them, up to a rank.
[[nodiscard]] inline Sizes padded_to(Sizes const& dims, std::size_t rank) {
    Sizes result(rank - std::min(rank, dims.size()), 1);
    result.insert(result.end(), dims.begin(), dims.end());
    return result;
}
/// The extents of the result of an elementwise operation, by numpy's rules. Throws error.
[[nodiscard]] inline Sizes broadcast(Sizes const& a, Sizes const& b) {
    const std::size_t rank = std::max(a.size(), b.size());
    Sizes result = padded_to(a, rank);
    const Sizes other = padded_to(b, rank);
    for (std::size_t axis = 0; axis < rank; ++axis) {
        if (result[axis] != other[axis] && result[axis] != 1 && other[axis] != 1) {
            fail("tensors of ", to_string(a), " and ", to_string(b), " cannot be broadcast together");
        }
        if (result[axis] == 1) result[axis] = other[axis];
    }
    return result;
}
/// Where the elements of a broadcast result lie in an operand. Throws error when the operand does not broadcast to it.
[[nodiscard]] inline Strided expansion(Sizes const& dims, Sizes const& to) {
    if (broadcast(dims, to) != to) fail("a tensor of ", to_string(dims), " cannot be broadcast to ", to_string(to));
    const Sizes padded = padded_to(dims, to.size());
    Strided result{to, row_major(padded)};
    for (std::size_t axis = 0; axis < to.size(); ++axis) {
        if (padded[axis] == 1) result.strides[axis] = 0;
    }
    return result;
}
[[nodiscard]] inline Strided permutation(Sizes const& dims, std::vector<std::size_t> const& order) {
    const Sizes strides = row_major(dims);
    Strided result;
    for (const std::size_t axis : order) {
        result.dims.push_back(dims[axis]);
        result.strides.push_back(strides[axis]);
    }
    return result;
}

}  // namespace primsel::inline PRIMSEL_ABI::onnx
