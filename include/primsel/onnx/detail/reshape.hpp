// Operators that give the same elements under other extents or in another order.
#pragma once

#include <primsel/onnx/detail/call.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::onnx {

namespace detail {

/// The first input under other extents.
inline void reshape_to(Call& call, Sizes dims) {
    if (const OnnxTensor* known = call.known(0)) return call.give(with_dims(*known, std::move(dims)));
    if (elements(dims) != elements(call.dims(0))) {
        fail("a tensor of ", to_string(call.dims(0)), " cannot be reshaped to ", to_string(dims));
    }
    const Operand src = call.operand(0);
    call.give(call.build.reshape(src, call.build.image_dims(dims)));
}

}  // namespace detail

inline void translate_reshape(Call& call) {
    Sizes dims =
        call.opset() < 5 && call.has_attribute("shape") ? call.integers("shape", {}) : call.integers(1, "shape");
    Sizes const& from = call.dims(0);
    const bool zero_copies = call.integer("allowzero", 0) == 0;
    std::size_t open = dims.size();
    std::int64_t known = 1;
    for (std::size_t axis = 0; axis < dims.size(); ++axis) {
        if (dims[axis] == 0 && zero_copies) {
            if (axis >= from.size()) fail("its shape copies axis ", axis, " of ", to_string(from));
            dims[axis] = from[axis];
        }
        if (dims[axis] == -1) {
            if (open != dims.size()) fail("its shape has two open dimensions");
            open = axis;
        } else if (dims[axis] < 0 || __builtin_mul_overflow(known, dims[axis], &known)) {
            fail("its shape, ", to_string(dims), ", is impossible");
        }
    }
    if (open != dims.size()) {
        const auto count = static_cast<std::int64_t>(count_of(from));
        if (known == 0 || count % known != 0) {
            fail("a tensor of ", to_string(from), " cannot be reshaped to ", to_string(dims));
        }
        dims[open] = count / known;
    }
    detail::reshape_to(call, std::move(dims));
}

inline void translate_flatten(Call& call) {
    Sizes const& from = call.dims(0);
    const std::int64_t axis = call.integer("axis", 1), rank = static_cast<std::int64_t>(from.size());
    if (axis < -rank || axis > rank) fail("axis ", axis, " of a tensor of ", rank, " dimensions");
    const auto split = from.begin() + (axis < 0 ? axis + rank : axis);
    detail::reshape_to(call, {static_cast<std::int64_t>(count_of({from.begin(), split})),
                              static_cast<std::int64_t>(count_of({split, from.end()}))});
}

inline void translate_squeeze(Call& call) {
    Sizes const& from = call.dims(0);
    Sizes dims;
    const bool has_input = call.opset() >= 13 && call.has(1);
    if (has_input || call.has_attribute("axes")) {
        const auto axes = axis_indices(has_input ? call.integers(1, "axes") : call.integers("axes", {}), from.size());
        for (std::size_t axis = 0; axis < from.size(); ++axis) {
            const bool drops = std::ranges::binary_search(axes, axis);
            if (drops && from[axis] != 1) fail("axis ", axis, " of ", to_string(from), " cannot be squeezed");
            if (!drops) dims.push_back(from[axis]);
        }
    } else {
        for (const std::int64_t dim : from) {
            if (dim != 1) dims.push_back(dim);
        }
    }
    detail::reshape_to(call, std::move(dims));
}

inline void translate_unsqueeze(Call& call) {
    Sizes const& from = call.dims(0);
    const Sizes axes = call.opset() >= 13 ? call.integers(1, "axes") : call.integers("axes", {});
    const std::size_t rank = from.size() + axes.size();
    const auto added = axis_indices(axes, rank);
    Sizes dims;
    auto next = from.begin();
    for (std::size_t axis = 0; axis < rank; ++axis) {
        dims.push_back(std::ranges::binary_search(added, axis) ? 1 : *next++);
    }
    detail::reshape_to(call, std::move(dims));
}

/// Whether elements of a tensor move when its axes come in another order: not where only axes of one element do.
[[nodiscard]] inline bool moves(Sizes const& dims, std::vector<std::size_t> const& axes) {
    std::size_t last = 0;
    for (const std::size_t axis : axes) {
        if (dims[axis] == 1) continue;
        if (axis < last) return true;
        last = axis;
    }
    return false;
}
/// Returns a tensor with its axes in another order.
[[nodiscard]] inline Operand transposed(Builder& build, Operand const& src, std::vector<std::size_t> const& axes) {
    const Strided places = permutation(src.dims, axes);
    return moves(src.dims, axes) ? build.strided(src, places) : build.reshape(src, places.dims);
}

namespace detail {
/// An image seen as a tensor of more axes, these in another order, and that as an image again.
inline void regroup(Call& call, Sizes factors, std::vector<std::size_t> order, Sizes dims) {
    if (call.build.is_whole()) {
        factors.insert(factors.begin(), call.dims(0)[0]);
        dims.insert(dims.begin(), call.dims(0)[0]);
        for (std::size_t& axis : order) ++axis;
        order.insert(order.begin(), 0);
    }
    call.give(call.build.strided(call.operand(0), permutation(factors, order), std::move(dims)));
}
}  // namespace detail

inline void translate_depth_to_space(Call& call) {
    Sizes const& dims = call.dims(0);
    if (dims.size() != 4) fail("on a tensor of ", dims.size(), " dimensions");
    const std::int64_t b = bounded(call.integer("blocksize", 0), 1, 1 << 15, "a block size"), c = dims[1] / (b * b);
    if (c < 1 || dims[1] % (b * b) != 0) fail("blocks of ", b, " x ", b, " of ", dims[1], " channels");
    const std::string_view mode = call.text("mode", "DCR");
    if (mode != "DCR" && mode != "CRD") fail("mode ", mode, " is unknown");
    const Sizes result{c, dims[2] * b, dims[3] * b};
    if (mode == "DCR") return detail::regroup(call, {b, b, c, dims[2], dims[3]}, {2, 3, 0, 4, 1}, result);
    detail::regroup(call, {c, b, b, dims[2], dims[3]}, {0, 3, 1, 4, 2}, result);
}
inline void translate_space_to_depth(Call& call) {
    Sizes const& dims = call.dims(0);
    if (dims.size() != 4) fail("on a tensor of ", dims.size(), " dimensions");
    const std::int64_t b = bounded(call.integer("blocksize", 0), 1, 1 << 15, "a block size");
    if (dims[2] % b != 0 || dims[3] % b != 0) fail("blocks of ", b, " x ", b, " of ", to_string(dims));
    const std::string_view mode = call.text("mode", "DCR");
    if (mode != "DCR" && mode != "CRD") fail("mode ", mode, " is unknown");
    const std::int64_t h = dims[2] / b, w = dims[3] / b;
    const Sizes result{dims[1] * b * b, h, w};
    if (mode == "DCR") return detail::regroup(call, {dims[1], h, b, w, b}, {2, 4, 0, 1, 3}, result);
    detail::regroup(call, {dims[1], h, b, w, b}, {0, 2, 4, 1, 3}, result);
}

}  // namespace primsel::inline PRIMSEL_ABI::onnx
