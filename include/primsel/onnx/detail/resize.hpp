#pragma once

#include <primsel/core/finite.hpp>
#include <primsel/onnx/detail/call.hpp>
#include <primsel/onnx/detail/join.hpp>
#include <primsel/onnx/detail/slice.hpp>
#include <primsel/onnx/detail/window.hpp>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace primsel::inline PRIMSEL_ABI::onnx {

namespace detail {

/// How one axis of a tensor is resized.
struct ResizedAxis {
    std::int64_t in = 1, out = 1;
    /// Result size / input size where the size is the rounded product; 0: the ratio of the sizes.
    float factor = 0.0F;
    /// In affine coordinates, the place of the first pixel and the way to the next.
    float offset = 0.0F, step = 1.0F;
    /// The pixels [first, last) of the result lie in the image, those of a part of it by tf_crop_and_resize.
    std::int64_t first = 0, last = out;
    bool flips = false;

    [[nodiscard]] double inverse() const {
        return factor == 0.0F ? static_cast<double>(in) / static_cast<double>(out) : 1 / static_cast<double>(factor);
    }
    /// Whether pixels stay where they are. A factor may move them even where it leaves the size as it is.
    [[nodiscard]] bool stays() const {
        return in == out && factor == 0.0F && offset == 0.0F && step == 1.0F && first == 0 && last == out && !flips;
    }
};
using ResizedAxes = std::vector<ResizedAxis>;

[[nodiscard]] inline ResizedAxes unchanged(Sizes const& dims) {
    ResizedAxes axes;
    for (const std::int64_t dim : dims) axes.push_back({.in = dim, .out = dim, .last = dim});
    return axes;
}
inline void scale_by(ResizedAxis& axis, float factor) {
    const double exact = static_cast<double>(axis.in) * static_cast<double>(factor);
    if (is_nan(exact) || !(exact >= 1.0) || exact > static_cast<double>(largest_image)) fail("a scale of ", factor);
    axis.out = axis.last = static_cast<std::int64_t>(std::floor(exact));
    if (std::floor(exact) != exact) axis.factor = factor;
}
inline void scale_by(ResizedAxes& axes, std::span<const float> factors, std::vector<std::size_t> const& named) {
    if (factors.size() != named.size()) fail(factors.size(), " scales for ", named.size(), " axes");
    for (std::size_t i = 0; i < named.size(); ++i) scale_by(axes[named[i]], factors[i]);
}
/// keeps: the largest size with the tensor's ratios within the sizes ("not_larger"), or the smallest around them.
inline void scale_to(ResizedAxes& axes, Sizes const& sizes, std::vector<std::size_t> const& named,
                     std::string_view keeps) {
    if (sizes.size() != named.size()) fail(sizes.size(), " sizes for ", named.size(), " axes");
    std::optional<double> scale;
    for (std::size_t i = 0; i < named.size(); ++i) {
        ResizedAxis& axis = axes[named[i]];
        axis.out = axis.last = bounded(sizes[i], 1, largest_image, "a size");
        if (axis.in == 0) fail("on a tensor without elements");
        const double own = static_cast<double>(axis.out) / static_cast<double>(axis.in);
        if (keeps == "not_larger") scale = std::min(scale.value_or(own), own);
        if (keeps == "not_smaller") scale = std::max(scale.value_or(own), own);
    }
    if (keeps != "stretch" && keeps != "not_larger" && keeps != "not_smaller")
        fail("keep_aspect_ratio_policy ", keeps, " is unknown");
    for (const std::size_t i : named) {
        if (!scale) break;
        const double exact = *scale * static_cast<double>(axes[i].in);
        axes[i].out = axes[i].last =
            bounded(static_cast<std::int64_t>(std::floor(std::min(exact, 1e18) + 0.5)), 1, largest_image, "a size");
        // The scale of all, also where a size is rounded.
        if (static_cast<double>(axes[i].out) != exact) axes[i].factor = static_cast<float>(*scale);
    }
}

[[nodiscard]] inline ResizeMode read_mode(Call const& call) {
    const std::string_view mode = call.text("mode", "nearest");
    if (mode == "nearest") return ResizeMode::nearest;
    if (mode == "linear" || mode == "bilinear") return ResizeMode::linear;
    if (mode == "cubic" && call.opset() >= 11) return ResizeMode::cubic;
    fail("mode ", mode, " is unknown");
}
/// A part of the image, from start to end as shares of its length; the pixels of the result that lie outside it.
inline void take_part(ResizedAxis& axis, float start, float end) {
    if (!is_finite(start) || !is_finite(end)) fail("a part from ", start, " to ", end);
    const double length = static_cast<double>(axis.in - 1), from = static_cast<double>(start) * length,
                 to = static_cast<double>(end) * length;
    double offset = axis.out > 1 ? from : (from + to) / 2,
           step = axis.out > 1 ? (to - from) / static_cast<double>(axis.out - 1) : 1;
    // A place that only rounding puts outside is inside.
    const double margin = 1e-6 * static_cast<double>(axis.in);
    const auto is_inside = [&](std::int64_t x) {
        const double place = offset + static_cast<double>(x) * step;
        return place >= -margin && place <= length + margin;
    };
    axis.first = 0, axis.last = axis.out;
    while (axis.first < axis.last && !is_inside(axis.first)) ++axis.first;
    while (axis.last > axis.first && !is_inside(axis.last - 1)) --axis.last;
    // Places ascend; those of a flipped part are computed from the other end.
    axis.flips = step < 0;
    if (axis.flips) offset = to, step = -step;
    axis.offset = static_cast<float>(offset), axis.step = static_cast<float>(step);
}
/// Reads where pixels lie. Parts of the tensor are those of axes in the order in which they are named.
[[nodiscard]] inline ResizeCoordinates read_coordinates(Call const& call, ResizedAxes& axes,
                                                        std::vector<std::size_t> const& named) {
    const std::string_view name = call.text("coordinate_transformation_mode", "half_pixel");
    const auto affine = [&](auto const& place) {
        for (const std::size_t i : named) place(axes[i]);
        return ResizeCoordinates::affine;
    };
    if (name == "half_pixel") return ResizeCoordinates::half_pixel;
    if (name == "pytorch_half_pixel") return ResizeCoordinates::pytorch_half_pixel;
    if (name == "asymmetric") return ResizeCoordinates::asymmetric;
    if (name == "align_corners") {
        // From the first pixel to the last one of the rounded size.
        for (ResizedAxis& axis : axes) axis.factor = 0.0F;
        return ResizeCoordinates::align_corners;
    }
    if (name == "half_pixel_symmetric") {
        if (std::ranges::all_of(axes, [](ResizedAxis const& axis) { return axis.factor == 0.0F; }))
            return ResizeCoordinates::half_pixel;
        return ResizeCoordinates::half_pixel_symmetric;
    }
    if (name == "tf_half_pixel_for_nn") {
        if (read_mode(call) == ResizeMode::nearest) return ResizeCoordinates::half_pixel;
        return affine([](ResizedAxis& axis) {
            axis.offset = static_cast<float>(axis.inverse() / 2), axis.step = static_cast<float>(axis.inverse());
        });
    }
    if (name == "tf_crop_and_resize") {
        const std::span<const float> parts = call.floats(1, "region of interest").floats;
        if (parts.size() != 2 * named.size()) fail("a region of ", parts.size(), " values for ", named.size(), " axes");
        std::size_t i = 0;
        return affine([&](ResizedAxis& axis) { take_part(axis, parts[i], parts[named.size() + i]), ++i; });
    }
    fail("coordinate_transformation_mode ", name, " is unknown");
}
[[nodiscard]] inline ResizeRounding read_rounding(Call const& call) {
    const std::string_view name = call.text("nearest_mode", "round_prefer_floor");
    if (name == "round_prefer_floor") return ResizeRounding::round_prefer_floor;
    if (name == "round_prefer_ceil") return ResizeRounding::round_prefer_ceil;
    if (name == "floor") return ResizeRounding::floor;
    if (name == "ceil") return ResizeRounding::ceil;
    fail("nearest_mode ", name, " is unknown");
}

/// The rounding that gives the same pixel of a place half a pixel before: (x + 0.5) * scale is that far beyond
/// half_pixel.
[[nodiscard]] inline ResizeRounding half_a_pixel_on(ResizeRounding rounding) {
    if (rounding == ResizeRounding::floor) return ResizeRounding::round_prefer_ceil;
    if (rounding == ResizeRounding::round_prefer_floor) return ResizeRounding::ceil;
    fail("coordinate_transformation_mode tf_half_pixel_for_nn goes with nearest_mode floor or round_prefer_floor only");
}

/// Emits a resize of one or two axes of an image of three, of which the others stay. null: it stays.
inline std::size_t emit_resize(Builder& build, std::size_t input, ResizeParams params, const ResizedAxis* down,
                               const ResizedAxis* across) {
    const Shape in = build.graph()[input].shape;
    const bool affine = params.coordinates == ResizeCoordinates::affine;
    const auto set = [&](const ResizedAxis* axis, int extent, int& size, float& scale, float& offset) {
        size = axis == nullptr ? extent : static_cast<int>(axis->out);
        scale = affine ? (axis == nullptr ? 1.0F : axis->step)
                       : (axis == nullptr || axis->factor == 0.0F ? 0.0F : 1.0F / axis->factor);
        offset = axis == nullptr ? 0.0F : axis->offset;
    };
    set(down, in.h, params.size.h, params.scale_h, params.offset_h);
    set(across, in.w, params.size.w, params.scale_w, params.offset_w);
    return build.emit(params, {input});
}
/// Emits the resize of an image along all axes: along the last two at once, along others one after the other.
inline Operand emit_resize(Builder& build, Operand src, ResizeParams const& params, ResizedAxes const& axes) {
    const std::size_t rank = axes.size();
    const auto moved = [&](std::size_t axis) { return axes[axis].stays() ? nullptr : &axes[axis]; };
    for (std::size_t axis = 0; axis < rank; ++axis) {
        if (axes[axis].stays()) continue;
        const int outer = product(src.dims, 0, axis), inner = product(src.dims, axis + 1, rank),
                  extent = static_cast<int>(axes[axis].in);
        Sizes dims = src.dims;
        dims[axis] = axes[axis].out;
        std::size_t node = 0;
        if (axis + 2 == rank) {
            const std::size_t image = build.view(src, {.c = outer, .h = extent, .w = static_cast<int>(dims[axis + 1])});
            node = emit_resize(build, image, params, moved(axis), moved(axis + 1));
            dims[axis + 1] = axes[axis + 1].out;
        } else if (axis + 1 == rank) {
            const Shape own = build.shape_of(src.dims), row{.c = outer, .h = 1, .w = extent};
            node = emit_resize(build, build.view(src, own.w == extent ? own : row), params, nullptr, moved(axis));
        } else {
            const std::size_t image = build.view(src, {.c = outer, .h = extent, .w = inner});
            node = emit_resize(build, image, params, moved(axis), nullptr);
        }
        src = build.operand(node, std::move(dims));
        if (axis + 2 == rank) break;
    }
    return src;
}

inline void give_resized(Call& call, ResizeParams const& params, ResizedAxes axes) {
    Sizes dims;
    for (ResizedAxis const& axis : axes) dims.push_back(axis.out);
    (void)elements(dims);
    Builder& build = call.build;
    const float outside = call.real("extrapolation_value", 0.0F);
    if (std::ranges::any_of(axes, [](ResizedAxis const& axis) { return axis.first == axis.last; }))
        return call.give(build.constants.splat(std::move(dims), OnnxType::float32, outside));
    if (!build.is_whole()) {
        if (axes.empty() || !axes[0].stays()) throw MixesImages{"it resizes the axis of the images"};
        axes.erase(axes.begin());
    }
    Operand result = emit_resize(build, call.operand(0), params, axes);
    std::vector<Range> ranges;
    Sizes before, after;
    for (ResizedAxis const& axis : axes) {
        const std::int64_t count = axis.last - axis.first;
        ranges.push_back(axis.flips ? Range{axis.out - 1 - axis.first, count, -1} : Range{axis.first, count, 1});
        before.push_back(axis.first), after.push_back(axis.out - axis.last);
    }
    result = emit_slice(build, std::move(result), ranges);
    call.give(emit_pad(build, std::move(result), before, after, PadMode::constant, outside));
}

}  // namespace detail

/// Upsample, and Resize of opset 10.
inline void translate_upsample(Call& call) {
    const ResizeParams params{.size = {},
                              .mode = detail::read_mode(call),
                              .coordinates = ResizeCoordinates::asymmetric,
                              .rounding = ResizeRounding::floor};
    detail::ResizedAxes axes = detail::unchanged(call.dims(0));
    std::vector<std::size_t> all(axes.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    if (call.opset() < 9) {
        const auto* scales = call.attribute("scales", AttributeType::floats);
        if (scales == nullptr) fail("without scales");
        detail::scale_by(axes, scales->floats, all);
    } else {
        detail::scale_by(axes, call.floats(1, "scales").floats, all);
    }
    detail::give_resized(call, params, std::move(axes));
}

inline void translate_resize(Call& call) {
    if (call.opset() < 11) return translate_upsample(call);
    Sizes const& dims = call.dims(0);
    std::vector<std::size_t> named(dims.size());
    std::iota(named.begin(), named.end(), std::size_t{0});
    if (call.has_attribute("axes")) {
        const Sizes given = call.integers("axes", {});
        (void)axis_indices(given, dims.size());
        named.clear();
        for (const std::int64_t axis : given) named.push_back(axis_index(axis, dims.size()));
    }
    // An empty list of scales stands for none.
    const bool has_scales = call.has(2) && call.dims(2) != Sizes{0};
    if (!has_scales && !call.has(3)) fail("without scales and sizes");
    detail::ResizedAxes axes = detail::unchanged(dims);
    if (has_scales)
        detail::scale_by(axes, call.floats(2, "scales").floats, named);
    else
        detail::scale_to(axes, call.integers(3, "sizes"), named, call.text("keep_aspect_ratio_policy", "stretch"));
    const bool has_factors =
        std::ranges::any_of(axes, [](detail::ResizedAxis const& axis) { return axis.factor != 0.0F; });
    ResizeParams params{.size = {},
                        .mode = detail::read_mode(call),
                        .coordinates = detail::read_coordinates(call, axes, named),
                        .rounding = detail::read_rounding(call),
                        .antialias = call.integer("antialias", 0) != 0};
    if (params.antialias && has_factors && params.coordinates == ResizeCoordinates::affine) {
        fail("antialiasing by a scale that is rounded does not go with coordinate_transformation_mode ",
             call.text("coordinate_transformation_mode", "half_pixel"));
    }
    if (params.mode == ResizeMode::cubic) params.cubic_coefficient = call.real("cubic_coeff_a", -0.75F);
    if (params.mode == ResizeMode::cubic || params.antialias)
        params.exclude_outside = call.integer("exclude_outside", 0) != 0;
    const std::string_view name = call.text("coordinate_transformation_mode", "half_pixel");
    if (params.mode == ResizeMode::nearest && name == "tf_half_pixel_for_nn")
        params.rounding = detail::half_a_pixel_on(params.rounding);
    detail::give_resized(call, params, std::move(axes));
}

}  // namespace primsel::inline PRIMSEL_ABI::onnx
