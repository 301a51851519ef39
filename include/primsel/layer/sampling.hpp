// Layers that read an image at computed places.
#pragma once

#include <primsel/layer/pool.hpp>
#include <primsel/layer/reshape.hpp>

namespace primsel::inline PRIMSEL_ABI {

/// The value of a place outside the image: 0, that of the nearest pixel of the border, or that of the image mirrored
/// at its borders, again and again.
enum class SamplePadding { zeros, border, reflection };

/// Reads the first input, c x h x w, at the places in the second: ONNX's GridSample. The second input has the places of
/// a x b pixels in its rows, (a * groups) x b x 2: x along the width, then y. Output: c x a x b. If the image is a
/// volume, its h are `depth` slices of h / depth rows, and places have a third number, z. Channels are divided into
/// groups; each has a places of its own.
struct GridSampleParams {
    /// Linear and cubic means are those of ResizeParams, with a coefficient of -0.75. A nearest pixel halfway between
    /// two is the even one.
    ResizeMode mode = ResizeMode::linear;
    SamplePadding padding = SamplePadding::zeros;
    /// -1 and 1 are the middles of the first and last pixels. Otherwise they are the image's borders.
    bool align_corners = false;
    /// Places are counted in pixels, from the middle of the first.
    bool pixels = false;
    /// Slices of a volume; 0: an image.
    int depth = 0;
    int groups = 1;

    [[nodiscard]] static constexpr std::string_view name() { return "grid_sample"; }
    constexpr void each_field(auto const& visit) const {
        visit("mode", mode), visit("padding", padding), visit("align_corners", align_corners), visit("pixels", pixels),
            visit("depth", depth), visit("groups", groups);
    }
    [[nodiscard]] constexpr Fault check(std::span<const Shape> inputs) const {
        if (inputs.size() != 2) return Fault::wrong_input_count;
        if (!impossible().empty()) return Fault::impossible_parameter;
        if (inputs[1].w != (depth > 0 ? 3 : 2)) return Fault::shapes_differ;
        if (depth > 0 && inputs[0].h % depth != 0) return Fault::shapes_differ;
        if (inputs[0].c % groups != 0 || inputs[1].c % groups != 0) return Fault::groups_do_not_divide;
        // Pixels of an image are counted in 32 bits.
        if (bounded_product({inputs[0].h, inputs[0].w}) > max_extent) return Fault::too_large;
        return within_bounds(output(inputs)) ? Fault::none : Fault::too_large;
    }
    [[nodiscard]] constexpr std::string_view impossible() const {
        if (!layer::detail::is_size(groups)) return "the groups must be from 1 to 2^29";
        if (!layer::detail::is_size_or_0(depth)) return "the depth must be from 0 to 2^29";
        return depth > 0 && mode == ResizeMode::cubic ? "a volume has no cubic means" : "";
    }
    [[nodiscard]] constexpr Shape output(std::span<const Shape> inputs) const {
        return {.c = inputs[0].c, .h = inputs[1].c / groups, .w = inputs[1].h};
    }
    friend constexpr bool operator==(GridSampleParams const&, GridSampleParams const&) = default;
};

/// Pools boxes of images to one size (He et al. 2017): ONNX's RoiAlign. Inputs: images, (images * c) x h x w; the
/// corners (x, y, x, y) of n boxes, 1 x n x 4; the number of the image of each, n elements. Output: (n * c) x size. A
/// bin of the result is the mean of linear samples within it, or the largest of the weighted pixels that such samples
/// are sums of. Samples more than a pixel outside are 0. So is a box that names no image, or reaches 2^31 pixels.
struct RoiAlignParams {
    Extent size{1};
    PoolKind kind = PoolKind::average;
    int images = 1;
    /// Samples of a bin along each axis; 0: one a pixel of the image, rounded up.
    int samples = 0;
    /// The image's size / the size in which boxes are measured.
    float scale = 1.0F;
    /// The middle of the first pixel is at 0.5. Otherwise it is at 0, and boxes are at least one pixel wide.
    bool half_pixel = true;

    [[nodiscard]] static constexpr std::string_view name() { return "roi_align"; }
    constexpr void each_field(auto const& visit) const {
        visit("size", size), visit("kind", kind), visit("images", images), visit("samples", samples),
            visit("scale", scale), visit("half_pixel", half_pixel);
    }
    [[nodiscard]] constexpr Fault check(std::span<const Shape> inputs) const {
        if (inputs.size() != 3) return Fault::wrong_input_count;
        if (!impossible().empty()) return Fault::impossible_parameter;
        const Shape boxes = inputs[1];
        if (boxes.c != 1 || boxes.w != 4 || inputs[2].size() != static_cast<std::size_t>(boxes.h)) {
            return Fault::shapes_differ;
        }
        if (inputs[0].c % images != 0) return Fault::groups_do_not_divide;
        return within_bounds(std::int64_t{inputs[0].c} / images * boxes.h, size.h, size.w) ? Fault::none
                                                                                           : Fault::too_large;
    }
    [[nodiscard]] constexpr std::string_view impossible() const {
        if (!layer::detail::is_size(size)) return "the height and width of the result must be from 1 to 2^29";
        if (!layer::detail::is_size(images)) return "the images must be from 1 to 2^29";
        if (samples < 0 || samples > 1024) return "the samples of a bin must be from 0 to 1024";
        return is_finite(scale) ? "" : "the scale must be finite";
    }
    [[nodiscard]] constexpr Shape output(std::span<const Shape> inputs) const {
        return {.c = inputs[0].c / images * inputs[1].h, .h = size.h, .w = size.w};
    }
    friend constexpr bool operator==(RoiAlignParams const&, RoiAlignParams const&) = default;
};

}  // namespace primsel::inline PRIMSEL_ABI
