// Tensors one after the other, and borders around them.
#pragma once

#include <primsel/onnx/detail/gather.hpp>
#include <primsel/onnx/detail/slice.hpp>
#include <primsel/onnx/detail/window.hpp>

#include <array>

namespace primsel::inline PRIMSEL_ABI::onnx {

namespace detail {
[[nodiscard]] inline OnnxTensor concat_constants(Call const& call, std::size_t axis, Sizes const& dims) {
    const OnnxTensor& first = call.constant(0, "part");
    const std::size_t outer = count_of({dims.begin(), dims.begin() + static_cast<std::ptrdiff_t>(axis)});
    return map_elements(first, dims, [&]<class T>(std::span<const T>) {
        std::vector<T> dst = call.build.constants.make<T>(count_of(dims));
        auto at = dst.begin();
        for (std::size_t row = 0; row < outer && !dst.empty(); ++row) {
            for (std::size_t i = 0; i < call.input_count(); ++i) {
                OnnxTensor const& part = call.constant(i, "part");
                if (part.is_float() != first.is_float()) fail("its parts differ in type");
                std::span<const T> src;
                if constexpr (std::is_same_v<T, float>)
                    src = part.floats;
                else
                    src = part.integers;
                const std::size_t size = src.size() / outer;
                at = std::copy_n(src.begin() + static_cast<std::ptrdiff_t>(row * size), size, at);
            }
        }
        return dst;
    });
}
}  // namespace detail

/// The parts one after the other along an axis; their other extents are equal.
inline Operand emit_concat(Builder& build, std::vector<Operand> const& parts, std::size_t axis) {
    std::vector<std::size_t> inputs;
    AxisView along{};
    Sizes dims = parts[0].dims;
    dims[axis] = 0;
    for (Operand const& part : parts) {
        along = build.view_along(part.dims, axis);
        inputs.push_back(build.view(part, along.shape));
        dims[axis] += part.dims[axis];
    }
    return build.operand(build.emit(ConcatParams{along.axis}, std::move(inputs)), std::move(dims));
}

inline void translate_concat(Call& call) {
    if (call.input_count() == 0) fail("no inputs");
    if (call.opset() >= 4 && !call.has_attribute("axis")) fail("without an axis");
    const std::int64_t given_axis = call.integer("axis", 1);
    Sizes dims = call.dims(0);
    const std::size_t axis = axis_index(given_axis, dims.size());
    for (std::size_t i = 1; i < call.input_count(); ++i) {
        Sizes other = call.dims(i);
        if (other.size() != dims.size()) fail("tensors of ", to_string(dims), " and ", to_string(other));
        std::int64_t sum = 0;
        if (__builtin_add_overflow(dims[axis], other[axis], &sum)) fail("impossibly large");
        other[axis] = dims[axis];
        if (other != dims) fail("tensors of ", to_string(dims), " and ", to_string(call.dims(i)));
        dims[axis] = sum;
    }
    if (call.input_count() == 1) return call.pass();
    if (call.all_known()) return call.give(detail::concat_constants(call, axis, dims));
    // Exporters write parts without elements.
    std::vector<std::size_t> parts;
    for (std::size_t i = 0; i < call.input_count(); ++i) {
        if (call.dims(i)[axis] != 0) parts.push_back(i);
    }
    if (parts.size() == 1) return call.pass(parts[0]);
    (void)elements(dims);
    const std::size_t image_axis = call.build.image_axis(given_axis, dims.size());
    std::vector<Operand> operands;
    for (const std::size_t i : parts) operands.push_back(call.operand(i));
    call.give(emit_concat(call.build, operands, image_axis));
}

namespace detail {

struct Border {
    Sizes before, after;
};
/// Reads the border of all axes.
[[nodiscard]] inline Border read_border(Call const& call) {
    const std::size_t rank = call.rank(0);
    const Sizes pads = call.opset() >= 11  ? call.integers(1, "padding")
                       : call.opset() >= 2 ? call.integers("pads", {})
                                           : call.integers("paddings", {});
    std::vector<std::size_t> axes(rank);
    std::iota(axes.begin(), axes.end(), std::size_t{0});
    if (call.has(3)) {
        const Sizes given = call.integers(3, "axes");
        (void)axis_indices(given, rank);
        axes.clear();
        for (const std::int64_t axis : given) axes.push_back(axis_index(axis, rank));
    }
    if (pads.size() != 2 * axes.size()) fail(pads.size(), " values of padding for ", axes.size(), " axes");
    Border border{Sizes(rank, 0), Sizes(rank, 0)};
    for (std::size_t i = 0; i < axes.size(); ++i) {
        border.before[axes[i]] = bounded(pads[i], -largest_tensor, largest_padding, "a padding");
        border.after[axes[i]] = bounded(pads[axes.size() + i], -largest_tensor, largest_padding, "a padding");
    }
    return border;
}
/// Takes away the pixels of negative padding.
inline Operand crop(Builder& build, Operand src, Border& border) {
    std::vector<Range> ranges;
    for (std::size_t axis = 0; axis < src.dims.size(); ++axis) {
        const std::int64_t before = std::max<std::int64_t>(0, -border.before[axis]),
                           after = std::max<std::int64_t>(0, -border.after[axis]);
        ranges.push_back({before, std::max<std::int64_t>(0, src.dims[axis] - before - after), 1});
        border.before[axis] = std::max<std::int64_t>(0, border.before[axis]);
        border.after[axis] = std::max<std::int64_t>(0, border.after[axis]);
    }
    return emit_slice(build, std::move(src), ranges);
}
inline void add_border(PadParams& params, Axis axis, std::int64_t before, std::int64_t after) {
    (axis == Axis::c   ? params.front
     : axis == Axis::h ? params.padding.top
                       : params.padding.left) = static_cast<int>(before);
    (axis == Axis::c   ? params.back
     : axis == Axis::h ? params.padding.bottom
                       : params.padding.right) = static_cast<int>(after);
}

}  // namespace detail

inline Operand emit_pad(Builder& build, Operand src, Sizes const& before, Sizes const& after, PadMode mode,
                        float value) {
    Sizes dims = src.dims;
    PadParams all{.padding = {}, .value = value, .mode = mode, .front = 0, .back = 0};
    bool at_once = true, any = false;
    std::array<bool, 3> used{};
    for (std::size_t axis = 0; axis < dims.size(); ++axis) {
        dims[axis] += before[axis] + after[axis];
        if (before[axis] == 0 && after[axis] == 0) continue;
        any = true;
        const AxisView along = build.view_along(src.dims, axis);
        const bool is_own = along.shape == build.shape_of(src.dims);
        bool& is_used = used[static_cast<std::size_t>(along.axis)];
        at_once = at_once && is_own && !is_used && (mode == PadMode::constant || along.axis != Axis::c);
        is_used = true;
        detail::add_border(all, along.axis, before[axis], after[axis]);
    }
    (void)elements(dims);
    if (!any) return src;
    if (at_once) return build.apply(all, src, dims);
    // Borders along one axis after the other, each as the rows of a matrix of whatever lies behind it.
    for (std::size_t axis = 0; axis < dims.size(); ++axis) {
        if (before[axis] == 0 && after[axis] == 0) continue;
        PadParams params{.padding = {}, .value = value, .mode = mode, .front = 0, .back = 0};
        detail::add_border(params, Axis::h, before[axis], after[axis]);
        const std::size_t rank = src.dims.size();
        const Shape shape{.c = product(src.dims, 0, axis),
                          .h = product(src.dims, axis, axis + 1),
                          .w = product(src.dims, axis + 1, rank)};
        const std::size_t input = build.view(src, shape), node = build.emit(params, {input});
        Sizes padded = src.dims;
        padded[axis] = dims[axis];
        src = build.operand(node, std::move(padded));
    }
    return src;
}

namespace detail {
/// Goes on with the first pixels after the last ones, and the other way round, as often as it takes.
inline Operand emit_wrapped(Builder& build, Operand src, Border const& border) {
    for (std::size_t axis = 0; axis < src.dims.size(); ++axis) {
        const std::int64_t dim = src.dims[axis], before = border.before[axis], after = border.after[axis];
        if (before == 0 && after == 0) continue;
        (void)elements(src.dims);
        Sizes dims = src.dims;
        dims[axis] += before + after;
        (void)elements(dims);
        if (before <= dim && after <= dim) {
            Sizes indices;
            for (std::int64_t i = -before; i < dim + after; ++i) indices.push_back((i + dim) % dim);
            src = emit_gather(build, src, axis, indices, std::move(dims));
            continue;
        }
        // All of it several times, then a part of that.
        const std::int64_t first = (dim - before % dim) % dim, times = (first + dims[axis] + dim - 1) / dim;
        const Sizes strides = row_major(src.dims);
        Strided places;
        std::vector<Range> ranges;
        for (std::size_t i = 0; i < src.dims.size(); ++i) {
            if (i == axis) places.dims.push_back(times), places.strides.push_back(0);
            places.dims.push_back(src.dims[i]), places.strides.push_back(strides[i]);
            ranges.push_back(i == axis ? Range{first, dims[axis], 1} : Range{0, src.dims[i], 1});
        }
        Sizes repeated = src.dims;
        repeated[axis] = times * dim;
        src = emit_slice(build, build.strided(src, places, std::move(repeated)), ranges);
    }
    return src;
}
/// Mirrors at the first and last pixels, as often as it takes: a layer mirrors no more than there is. One pixel is
/// repeated, as in numpy.
inline Operand emit_reflected(Builder& build, Operand src, Border border) {
    const Sizes dims = src.dims;
    for (bool any = true; any;) {
        any = false;
        Border now{Sizes(dims.size(), 0), Sizes(dims.size(), 0)}, repeated = now;
        for (std::size_t axis = 0; axis < dims.size(); ++axis) {
            // Every mirror but the last is a pixel from which the original has the same pixels on both sides.
            const std::int64_t span = dims[axis] - 1;
            const auto take = [&](std::int64_t& rest, std::int64_t& part) {
                const std::int64_t most = src.dims[axis] - 1;
                part = span == 0 || rest <= most ? rest : most / span * span;
                rest -= part;
                any = any || rest > 0;
            };
            take(border.before[axis], (span == 0 ? repeated : now).before[axis]);
            take(border.after[axis], (span == 0 ? repeated : now).after[axis]);
        }
        src = emit_pad(build, std::move(src), now.before, now.after, PadMode::reflect, 0.0F);
        src = emit_pad(build, std::move(src), repeated.before, repeated.after, PadMode::edge, 0.0F);
    }
    return src;
}
}  // namespace detail

inline void translate_pad(Call& call) {
    const std::string_view name = call.text("mode", "constant");
    const bool wraps = name == "wrap";
    if (name != "constant" && name != "reflect" && name != "edge" && !wraps) fail("mode ", name, " is unknown");
    const float value = call.opset() < 11                   ? call.real("value", 0.0F)
                        : name == "constant" && call.has(2) ? call.scalar(2, "value")
                                                            : 0.0F;
    detail::Border border = detail::read_border(call);
    Operand src = call.operand(0);
    if (!call.build.is_whole()) {
        if (border.before[0] != 0 || border.after[0] != 0) throw MixesImages{"it pads the axis of the images"};
        border.before.erase(border.before.begin());
        border.after.erase(border.after.begin());
    }
    src = detail::crop(call.build, std::move(src), border);
    if (wraps) return call.give(detail::emit_wrapped(call.build, std::move(src), border));
    if (name == "reflect") return call.give(detail::emit_reflected(call.build, std::move(src), std::move(border)));
    const PadMode mode = name == "edge" ? PadMode::edge : PadMode::constant;
    call.give(emit_pad(call.build, std::move(src), border.before, border.after, mode, value));
}

}  // namespace primsel::inline PRIMSEL_ABI::onnx
