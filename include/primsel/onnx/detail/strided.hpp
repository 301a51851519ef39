#pragma once

#include <primsel/layer/reshape.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <numeric>
#include <optional>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::onnx {

/// The elements of an AsStridedParams as a box cut out of the input under another shape, its axes reordered, and
/// repeated.
struct StridedBox {
    struct Slice {
        std::int64_t axis, start, end, step;
    };
    /// The input's shape.
    std::vector<std::int64_t> view;
    /// Slices of the axes whose elements are not all taken in order.
    std::vector<Slice> slices;
    /// The axes in the result's order; then come those of one element.
    std::vector<std::int64_t> order;
    /// Where something repeats: the extents with 1 for repeated axes, and these with their number.
    std::vector<std::int64_t> single, repeats;
};

/// Nothing where there is no such box, as for windows that overlap.
[[nodiscard]] inline std::optional<StridedBox> strided_box(AsStridedParams const& params, std::int64_t size) {
    std::vector<std::size_t> axes;  // those that walk, the longest strides first
    StridedBox box;
    bool repeats = false;
    std::int64_t lowest = params.offset;
    for (std::size_t i = 0; i < params.dims.rank(); ++i) {
        const bool repeated = params.strides[i] == 0;
        repeats |= repeated && params.dims[i] > 1;
        box.single.push_back(repeated ? 1 : params.dims[i]);
        box.repeats.push_back(params.dims[i]);
        if (repeated || params.dims[i] == 1) continue;
        axes.push_back(i);
        lowest += std::min<std::int64_t>(0, (params.dims[i] - 1) * params.strides[i]);
    }
    if (!repeats) box.single.clear(), box.repeats.clear();
    std::ranges::stable_sort(
        axes, [&](std::size_t a, std::size_t b) { return std::abs(params.strides[a]) > std::abs(params.strides[b]); });

    // Axis after axis, the input is split where the axis steps, and the rest of `lowest` is where the next ones start.
    std::vector<std::int64_t> place(params.dims.rank(), -1);
    std::int64_t room = size;
    const auto cut = [&](std::int64_t extent, std::int64_t count, std::int64_t start, std::int64_t step, bool back) {
        const auto axis = static_cast<std::int64_t>(box.view.size());
        const std::int64_t last = start + (count - 1) * step;
        box.view.push_back(extent);
        if (last >= extent) return false;
        if (count == extent && !back) return true;
        if (back) {
            // Before the first element is the end of an axis counted from its start: -1 would be the last.
            box.slices.push_back({axis, last, start == 0 ? -extent - 1 : start - 1, -step});
        } else {
            box.slices.push_back({axis, start, last + 1, step});
        }
        return true;
    };
    for (const std::size_t i : axes) {
        const std::int64_t stride = std::abs(static_cast<std::int64_t>(params.strides[i]));
        const std::int64_t unit = std::gcd(stride, room);
        place[i] = static_cast<std::int64_t>(box.view.size());
        if (!cut(room / unit, params.dims[i], lowest / unit, stride / unit, params.strides[i] < 0)) return std::nullopt;
        lowest %= unit, room = unit;
    }
    if (room > 1 || box.view.empty()) {
        if (!cut(room, 1, lowest, 1, false)) return std::nullopt;
    }
    for (const std::int64_t axis : place) {
        if (axis >= 0) box.order.push_back(axis);
    }
    if (box.view.size() > box.order.size()) box.order.push_back(static_cast<std::int64_t>(box.view.size()) - 1);
    return box;
}

/// Where each element of the result lies in the input.
[[nodiscard]] inline std::vector<std::int64_t> strided_indices(AsStridedParams const& params) {
    std::vector<std::int64_t> indices{params.offset};
    for (std::size_t axis = 0; axis < params.dims.rank(); ++axis) {
        std::vector<std::int64_t> next;
        next.reserve(indices.size() * static_cast<std::size_t>(params.dims[axis]));
        for (const std::int64_t index : indices) {
            for (std::int64_t i = 0; i < params.dims[axis]; ++i) next.push_back(index + i * params.strides[axis]);
        }
        indices = std::move(next);
    }
    return indices;
}

}  // namespace primsel::inline PRIMSEL_ABI::onnx
