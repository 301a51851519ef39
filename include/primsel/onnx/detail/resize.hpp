#pragma once

#include <primsel/core/finite.hpp>
#include <primsel/onnx/detail/call.hpp>
#include <primsel/onnx/detail/window.hpp>

#include <cmath>

namespace primsel::inline PRIMSEL_ABI::onnx {

namespace detail {

/// The size of the result along each axis, and the factor that leads there (0: the ratio of the sizes).
struct Scaling {
    Sizes dims;
    std::vector<float> factors;
};
[[nodiscard]] inline Scaling scale_by(Sizes const& dims, std::span<const float> factors,
                                      std::vector<std::size_t> const& axes) {
    Scaling scaling{dims, std::vector<float>(dims.size(), 0.0F)};
    if (factors.size() != axes.size()) fail(factors.size(), " scales for ", axes.size(), " axes");
    for (std::size_t i = 0; i < axes.size(); ++i) {
        const double exact = static_cast<double>(dims[axes[i]]) * static_cast<double>(factors[i]);
        if (is_nan(exact) || !(exact >= 1.0) || exact > static_cast<double>(largest_image))
            fail("a scale of ", factors[i]);
        scaling.dims[axes[i]] = static_cast<std::int64_t>(std::floor(exact));
        if (std::floor(exact) != exact) scaling.factors[axes[i]] = factors[i];
    }
    return scaling;
}
[[nodiscard]] inline Scaling scale_to(Sizes const& dims, Sizes const& sizes, std::vector<std::size_t> const& axes) {
    Scaling scaling{dims, std::vector<float>(dims.size(), 0.0F)};
    if (sizes.size() != axes.size()) fail(sizes.size(), " sizes for ", axes.size(), " axes");
    for (std::size_t i = 0; i < axes.size(); ++i) {
        scaling.dims[axes[i]] = bounded(sizes[i], 1, largest_image, "a size");
    }
    return scaling;
}

[[nodiscard]] inline ResizeMode read_mode(Call const& call) {
    const std::string_view mode = call.text("mode", "nearest");
    if (mode == "nearest") return ResizeMode::nearest;
    if (mode == "linear" || mode == "bilinear") return ResizeMode::linear;
    if (mode == "cubic" && call.opset() >= 11) return ResizeMode::cubic;
    fail("mode ", mode, " is unknown");
}
/// (x + 0.5) * scale: half a pixel beyond half_pixel.
[[nodiscard]] inline bool is_tf_half_pixel(Call const& call) {
    return call.text("coordinate_transformation_mode", "half_pixel") == "tf_half_pixel_for_nn";
}
[[nodiscard]] inline ResizeCoordinates read_coordinates(Call const& call, bool has_factors) {
    const std::string_view name = call.text("coordinate_transformation_mode", "half_pixel");
    if (name == "half_pixel") return ResizeCoordinates::half_pixel;
    // The same, unless the size is a rounded one.
    if (name == "half_pixel_symmetric" && !has_factors) return ResizeCoordinates::half_pixel;
    if (name == "pytorch_half_pixel") return ResizeCoordinates::pytorch_half_pixel;
    if (name == "align_corners") return ResizeCoordinates::align_corners;
    if (name == "asymmetric") return ResizeCoordinates::asymmetric;
    if (is_tf_half_pixel(call) && read_mode(call) == ResizeMode::nearest) return ResizeCoordinates::half_pixel;
    fail("coordinate_transformation_mode ", name, " is not supported");
}
[[nodiscard]] inline ResizeRounding read_rounding(Call const& call) {
    const std::string_view name = call.text("nearest_mode", "round_prefer_floor");
    if (name == "round_prefer_floor") return ResizeRounding::round_prefer_floor;
    if (name == "round_prefer_ceil") return ResizeRounding::round_prefer_ceil;
    if (name == "floor") return ResizeRounding::floor;
    if (name == "ceil") return ResizeRounding::ceil;
    fail("nearest_mode ", name, " is unknown");
}

/// The rounding that gives the same pixel of a place half a pixel before.
[[nodiscard]] inline ResizeRounding half_a_pixel_on(ResizeRounding rounding) {
    if (rounding == ResizeRounding::floor) return ResizeRounding::round_prefer_ceil;
    if (rounding == ResizeRounding::round_prefer_floor) return ResizeRounding::ceil;
    fail("coordinate_transformation_mode tf_half_pixel_for_nn goes with nearest_mode floor or round_prefer_floor only");
}

inline void give_resized(Call& call, ResizeParams params, Scaling const& scaling) {
    Sizes const& from = call.dims(0);
    const std::size_t rank = from.size();
    // A factor may move pixels even where it leaves the size as it is.
    const auto stays = [&](std::size_t axis) {
        return from[axis] == scaling.dims[axis] && scaling.factors[axis] == 0.0F;
    };
    for (std::size_t axis = 0; axis + 2 < rank; ++axis) {
        if (!stays(axis)) fail("only the last two axes can be resized");
    }
    (void)elements(scaling.dims);
    if (rank < 2) fail("on a tensor of ", rank, " dimensions");
    if (rank < 3 && !call.build.is_whole()) throw MixesImages{"it resizes the axis of the images"};
    const Operand src = call.operand(0);
    // [n, c, l] is an image of one row; of others the last two axes are one.
    const bool is_line = rank == 3 && stays(1);
    const auto end = [](auto const& values, std::size_t i) { return values[values.size() - i]; };
    const Shape image{.c = product(src.dims, 0, src.dims.size() - 2),
                      .h = static_cast<int>(end(src.dims, 2)),
                      .w = static_cast<int>(end(src.dims, 1))};
    const auto inverse = [](float factor) { return factor == 0.0F ? 0.0F : 1.0F / factor; };
    params.size = {is_line ? 1 : static_cast<int>(end(scaling.dims, 2)), static_cast<int>(end(scaling.dims, 1))};
    if (!is_line) params.scale_h = inverse(end(scaling.factors, 2));
    params.scale_w = inverse(end(scaling.factors, 1));
    const std::size_t input = is_line ? call.build.view(src) : call.build.view(src, image);
    call.give(call.build.operand(call.build.emit(params, {input}), call.build.image_dims(scaling.dims)));
}

[[nodiscard]] inline std::vector<std::size_t> all_axes(std::size_t rank) {
    std::vector<std::size_t> axes;
    for (std::size_t axis = 0; axis < rank; ++axis) axes.push_back(axis);
    return axes;
}

}  // namespace detail

/// Upsample, and Resize of opset 10.
inline void translate_upsample(Call& call) {
    const ResizeParams params{.size = {},
                              .mode = detail::read_mode(call),
                              .coordinates = ResizeCoordinates::asymmetric,
                              .rounding = ResizeRounding::floor};
    const auto axes = detail::all_axes(call.rank(0));
    if (call.opset() < 9) {
        const auto* scales = call.attribute("scales", AttributeType::floats);
        if (scales == nullptr) fail("without scales");
        return detail::give_resized(call, params, detail::scale_by(call.dims(0), scales->floats, axes));
    }
    const std::span<const float> scales = call.floats(1, "scales").floats;
    detail::give_resized(call, params, detail::scale_by(call.dims(0), scales, axes));
}

inline void translate_resize(Call& call) {
    if (call.opset() < 11) return translate_upsample(call);
    Sizes const& dims = call.dims(0);
    if (call.integer("antialias", 0) != 0) fail("antialiasing is not supported");
    if (call.text("keep_aspect_ratio_policy", "stretch") != "stretch") fail("its size depends on the aspect ratio");
    auto axes = detail::all_axes(dims.size());
    if (call.has_attribute("axes")) {
        const Sizes given = call.integers("axes", {});
        (void)axis_indices(given, dims.size());
        axes.clear();
        for (const std::int64_t axis : given) axes.push_back(axis_index(axis, dims.size()));
    }
    // An empty list of scales stands for none.
    const bool has_scales = call.has(2) && call.dims(2) != Sizes{0};
    if (!has_scales && !call.has(3)) fail("without scales and sizes");
    const detail::Scaling scaling = has_scales ? detail::scale_by(dims, call.floats(2, "scales").floats, axes)
                                               : detail::scale_to(dims, call.integers(3, "sizes"), axes);
    bool has_factors = false;
    for (const float factor : scaling.factors) has_factors = has_factors || factor != 0.0F;
    ResizeParams params{.size = {},
                        .mode = detail::read_mode(call),
                        .coordinates = detail::read_coordinates(call, has_factors),
                        .rounding = detail::read_rounding(call)};
    if (params.mode == ResizeMode::cubic) {
        params.cubic_coefficient = call.real("cubic_coeff_a", -0.75F);
        params.exclude_outside = call.integer("exclude_outside", 0) != 0;
    }
    if (params.mode == ResizeMode::nearest && detail::is_tf_half_pixel(call)) {
        params.rounding = detail::half_a_pixel_on(params.rounding);
    }
    detail::give_resized(call, params, scaling);
}

}  // namespace primsel::inline PRIMSEL_ABI::onnx
