#pragma once

#include <primsel/layer/option.hpp>
#include <primsel/tensor/dims.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <ratio>

namespace primsel::inline PRIMSEL_ABI {

/// Flattens the image in chw order. Output: (c * h * w) x 1 x 1.
struct FlattenParams {
    [[nodiscard]] static constexpr std::string_view name() { return "flatten"; }
    static constexpr void each_field(auto const&) {}
    [[nodiscard]] constexpr Fault check(std::span<const Shape> inputs) const {
        if (inputs.size() != 1) return Fault::wrong_input_count;
        const Shape in = inputs[0];
        return bounded_product({in.c, in.h, in.w}) <= max_extent ? Fault::none : Fault::too_large;
    }
    [[nodiscard]] constexpr Shape output(std::span<const Shape> inputs) const {
        return {.c = inputs[0].c * inputs[0].h * inputs[0].w, .h = 1, .w = 1};
    }
    friend constexpr bool operator==(FlattenParams const&, FlattenParams const&) = default;
};

/// Gives the elements, in chw order, another shape with the same number of elements.
struct ReshapeParams {
    Shape shape;

    [[nodiscard]] static constexpr std::string_view name() { return "reshape"; }
    constexpr void each_field(auto const& visit) const { visit("shape", shape); }
    [[nodiscard]] constexpr Fault check(std::span<const Shape> inputs) const {
        if (inputs.size() != 1) return Fault::wrong_input_count;
        if (!impossible().empty()) return Fault::impossible_parameter;
        if (!within_bounds(shape)) return Fault::too_large;
        return shape.size() == inputs[0].size() ? Fault::none : Fault::shapes_differ;
    }
    [[nodiscard]] constexpr std::string_view impossible() const {
        return layer::detail::is_size(shape) ? "" : "each extent of the shape must be from 1 to 2^29";
    }
    [[nodiscard]] constexpr Shape output(std::span<const Shape>) const { return shape; }
    friend constexpr bool operator==(ReshapeParams const&, ReshapeParams const&) = default;
};

/// Some elements of the input in another order: element (i0, i1, ...) of a tensor of the given extents is element
/// offset + i0 * strides[0] + i1 * strides[1] + ... of the input in chw order. Any transpose, broadcast, and slice with
/// steps is one of these, and so is depth-to-space.
struct AsStridedParams {
    /// The tensor's extents, outermost first; their product is the number of elements of the shape.
    Dims dims;
    std::array<std::ptrdiff_t, Dims::max_rank> strides{};
    std::ptrdiff_t offset = 0;
    /// The shape of the result.
    Shape shape;

    [[nodiscard]] static constexpr std::string_view name() { return "as_strided"; }
    constexpr void each_field(auto const& visit) const {
        visit("dims", dims), visit("strides", strides), visit("offset", offset), visit("shape", shape);
    }
    [[nodiscard]] constexpr Fault check(std::span<const Shape> inputs) const {
        if (inputs.size() != 1) return Fault::wrong_input_count;
        if (!impossible().empty()) return Fault::impossible_parameter;
        if (!within_bounds(shape)) return Fault::too_large;
        if (offset < 0 || offset > max_floats) return Fault::slice_outside;
        std::int64_t lowest = offset, highest = offset, elements = 1;
        for (std::size_t axis = 0; axis < dims.rank(); ++axis) {
            elements = bounded_product({elements, dims[axis]});
            if (dims[axis] == 1) continue;
            const std::int64_t most = max_floats / (dims[axis] - 1);
            if (strides[axis] > most || strides[axis] < -most) return Fault::slice_outside;
            const std::int64_t reach = (dims[axis] - 1) * strides[axis];
            (reach < 0 ? lowest : highest) += reach;
        }
        if (lowest < 0 || highest >= static_cast<std::int64_t>(inputs[0].size())) return Fault::slice_outside;
        return elements == static_cast<std::int64_t>(shape.size()) ? Fault::none : Fault::shapes_differ;
    }
    [[nodiscard]] constexpr std::string_view impossible() const {
        if (!layer::detail::is_size(shape)) return "each extent of the shape must be from 1 to 2^29";
        for (const int extent : dims) {
            if (!layer::detail::is_size(extent)) return "each of the dims must be from 1 to 2^29";
        }
        return "";
    }
    [[nodiscard]] constexpr Shape output(std::span<const Shape>) const { return shape; }
    friend constexpr bool operator==(AsStridedParams const&, AsStridedParams const&) = default;
};

/// Dropout: the identity at inference. In a training step it sets each element to 0 with probability `rate`.
struct DropoutParams {
    float rate = 0.5F;

    [[nodiscard]] static constexpr std::string_view name() { return "dropout"; }
    constexpr void each_field(auto const& visit) const { visit("rate", rate); }
    [[nodiscard]] constexpr Fault check(std::span<const Shape> inputs) const {
        if (inputs.size() != 1) return Fault::wrong_input_count;
        return impossible().empty() ? Fault::none : Fault::impossible_parameter;
    }
    [[nodiscard]] constexpr std::string_view impossible() const {
        return rate >= 0.0F && rate <= 1.0F ? "" : "the rate must be from 0 to 1";
    }
    [[nodiscard]] constexpr Shape output(std::span<const Shape> inputs) const { return inputs[0]; }
    friend constexpr bool operator==(DropoutParams const&, DropoutParams const&) = default;
};

enum class PadMode { constant, reflect, edge };

/// Pads the image with a constant value, by reflection at its first and last pixels (which are not repeated), or by
/// repeating them. front and back are channels added before the first and after the last; only constant mode has them.
struct PadParams {
    Padding padding{};
    float value = 0.0F;
    PadMode mode = PadMode::constant;
    int front = 0, back = 0;

    [[nodiscard]] static constexpr std::string_view name() { return "pad"; }
    constexpr void each_field(auto const& visit) const {
        visit("padding", padding), visit("value", value), visit("mode", mode), visit("front", front),
            visit("back", back);
    }
    [[nodiscard]] constexpr Fault check(std::span<const Shape> inputs) const {
        if (inputs.size() != 1) return Fault::wrong_input_count;
        if (!impossible().empty()) return Fault::impossible_parameter;
        if (!within_bounds(std::int64_t{inputs[0].c} + front + back, layer::detail::padded_h(inputs[0], padding),
                           layer::detail::padded_w(inputs[0], padding))) {
            return Fault::too_large;
        }
        if (mode == PadMode::constant) return Fault::none;
        const bool beyond = padding.top >= inputs[0].h || padding.bottom >= inputs[0].h ||
                            padding.left >= inputs[0].w || padding.right >= inputs[0].w;
        return mode == PadMode::reflect && beyond ? Fault::padding_exceeds_input : Fault::none;
    }
    [[nodiscard]] constexpr std::string_view impossible() const {
        if (!layer::detail::is_size_or_0(padding)) return "the padding must be from 0 to 2^29";
        if (!layer::detail::is_size_or_0(front) || !layer::detail::is_size_or_0(back)) {
            return "the channels in front and at the back must be from 0 to 2^29";
        }
        return mode != PadMode::constant && (front > 0 || back > 0)
                   ? "channels in front and at the back must be 0 unless padding with a constant"
                   : "";
    }
    [[nodiscard]] constexpr Shape output(std::span<const Shape> inputs) const {
        return {.c = inputs[0].c + front + back,
                .h = inputs[0].h + padding.top + padding.bottom,
                .w = inputs[0].w + padding.left + padding.right};
    }
    friend constexpr bool operator==(PadParams const&, PadParams const&) = default;
};

/// Channel shuffle of ShuffleNet (Zhang et al. 2018): channels as groups x rest, transposed.
struct ChannelShuffleParams {
    int groups = 2;

    [[nodiscard]] static constexpr std::string_view name() { return "channel_shuffle"; }
    constexpr void each_field(auto const& visit) const { visit("groups", groups); }
    [[nodiscard]] constexpr Fault check(std::span<const Shape> inputs) const {
        if (inputs.size() != 1) return Fault::wrong_input_count;
        if (!impossible().empty()) return Fault::impossible_parameter;
        return inputs[0].c % groups != 0 ? Fault::groups_do_not_divide : Fault::none;
    }
    [[nodiscard]] constexpr std::string_view impossible() const {
        return layer::detail::is_size(groups) ? "" : "the groups must be from 1 to 2^29";
    }
    [[nodiscard]] constexpr Shape output(std::span<const Shape> inputs) const { return inputs[0]; }
    friend constexpr bool operator==(ChannelShuffleParams const&, ChannelShuffleParams const&) = default;
};

/// The elements [first, last) along an axis.
struct SliceParams {
    int first = 0, last = 1;
    Axis axis = Axis::c;

    [[nodiscard]] static constexpr std::string_view name() { return "slice"; }
    constexpr void each_field(auto const& visit) const {
        visit("first", first), visit("last", last), visit("axis", axis);
    }
    [[nodiscard]] constexpr Fault check(std::span<const Shape> inputs) const {
        if (inputs.size() != 1) return Fault::wrong_input_count;
        return first < 0 || last <= first || last > extent(inputs[0], axis) ? Fault::slice_outside : Fault::none;
    }
    [[nodiscard]] constexpr Shape output(std::span<const Shape> inputs) const {
        Shape shape = inputs[0];
        extent(shape, axis) = last - first;
        return shape;
    }
    friend constexpr bool operator==(SliceParams const&, SliceParams const&) = default;
};

/// How a pixel of the result is computed: as the nearest pixel of the input, or as a weighted sum of the two (linear)
/// or four (cubic) nearest ones along each axis.
enum class ResizeMode { nearest, linear, cubic };
/// Where pixel x of the result lies in the input, with scale = input size / result size:
/// - half_pixel: (x + 0.5) * scale - 0.5;
/// - pytorch_half_pixel: the same, but 0 where the result has one pixel;
/// - align_corners: x * (input size - 1) / (result size - 1);
/// - asymmetric: x * scale;
/// - affine: offset + x * scale, where offset and scale are given: a part of the image, or a place between others;
/// - half_pixel_symmetric: half_pixel, moved so that the middles of both images are one where the scale is given.
enum class ResizeCoordinates {
    half_pixel,
    pytorch_half_pixel,
    align_corners,
    asymmetric,
    affine,
    half_pixel_symmetric,
};
/// How a position between two pixels is rounded to the nearest pixel.
enum class ResizeRounding { round_prefer_floor, round_prefer_ceil, floor, ceil };

/// Resizes each channel to another height and width, as ONNX's Resize.
struct ResizeParams {
    Extent size;
    ResizeMode mode = ResizeMode::nearest;
    ResizeCoordinates coordinates = ResizeCoordinates::half_pixel;
    ResizeRounding rounding = ResizeRounding::round_prefer_floor;
    /// Input size / result size, for a file whose scale factor gives the result's size only after rounding. 0: computed
    /// from the sizes, except in affine coordinates. align_corners needs none.
    float scale_h = 0.0F, scale_w = 0.0F;
    /// The coefficient a of a cubic resize (Keys, "Cubic convolution interpolation for digital image processing",
    /// 1981).
    float cubic_coefficient = -0.75F;
    /// In a cubic resize, pixels outside the image have no weight and the others share it. Otherwise the first and last
    /// pixels stand for those outside.
    bool exclude_outside = false;
    /// In a linear or cubic resize to fewer pixels, the kernel is as many times wider as the input is larger, so that
    /// every pixel of the input has a weight.
    bool antialias = false;
    /// The place of the first pixel of the result in affine coordinates.
    float offset_h = 0.0F, offset_w = 0.0F;

    [[nodiscard]] static constexpr std::string_view name() { return "resize"; }
    constexpr void each_field(auto const& visit) const {
        visit("size", size), visit("mode", mode), visit("coordinates", coordinates), visit("rounding", rounding),
            visit("scale_h", scale_h), visit("scale_w", scale_w), visit("cubic_coefficient", cubic_coefficient),
            visit("exclude_outside", exclude_outside), visit("antialias", antialias), visit("offset_h", offset_h),
            visit("offset_w", offset_w);
    }
    [[nodiscard]] constexpr Fault check(std::span<const Shape> inputs) const {
        if (inputs.size() != 1) return Fault::wrong_input_count;
        if (!impossible().empty()) return Fault::impossible_parameter;
        // Wider kernels than the image would only repeat its first and last pixels.
        const auto exceeds = [](float scale, int extent) { return static_cast<double>(scale) > extent; };
        if (antialias && (exceeds(scale_h, inputs[0].h) || exceeds(scale_w, inputs[0].w))) {
            return Fault::kernel_exceeds_input;
        }
        return within_bounds(inputs[0].c, size.h, size.w) ? Fault::none : Fault::too_large;
    }
    [[nodiscard]] constexpr std::string_view impossible() const {
        if (!layer::detail::is_size(size)) return "the height and width of the result must be from 1 to 2^29";
        const bool scales = scale_h >= 0.0F && scale_w >= 0.0F && is_finite(scale_h) && is_finite(scale_w);
        if (!scales) return "the scales must be finite and not negative";
        if (!is_finite(offset_h) || !is_finite(offset_w)) return "the offsets must be finite";
        if (antialias && mode == ResizeMode::nearest) return "antialiasing needs a linear or cubic resize";
        return is_finite(cubic_coefficient) ? "" : "the cubic coefficient must be finite";
    }
    [[nodiscard]] constexpr Shape output(std::span<const Shape> inputs) const {
        return {.c = inputs[0].c, .h = size.h, .w = size.w};
    }
    friend constexpr bool operator==(ResizeParams const&, ResizeParams const&) = default;
};

namespace layer {
struct Flatten {
    static constexpr FlattenParams params{};
};
/// Dropout with probability Rate, a std::ratio, in training; the identity at inference.
template <class Rate = std::ratio<1, 2>>
struct DropoutOf {
    static constexpr DropoutParams params{as_float<Rate>};
};
using Dropout = DropoutOf<>;
template <Padding padding>
struct ZeroPad {
    static constexpr PadParams params{padding, 0.0F};
};
/// A border of one value, a std::ratio.
template <Padding padding, class Value>
struct ConstantPad {
    static constexpr PadParams params{padding, as_float<Value>};
};
/// A border that mirrors the image at its first and last pixels, which are not repeated.
template <Padding padding>
struct ReflectPad {
    static constexpr PadParams params{.padding = padding, .mode = PadMode::reflect};
};
/// A border that repeats the image's first and last pixels.
template <Padding padding>
struct ReplicatePad {
    static constexpr PadParams params{.padding = padding, .mode = PadMode::edge};
};
/// Channels of zeros before the first and after the last.
template <int front, int back>
struct ChannelPad {
    static constexpr PadParams params{.front = front, .back = back};
};
template <int groups>
struct ChannelShuffle {
    static constexpr ChannelShuffleParams params{groups};
};
/// The channels [first, last), or those rows (Axis::h) or columns (Axis::w).
template <int first, int last, Axis axis = Axis::c>
struct Slice {
    static constexpr SliceParams params{first, last, axis};
};
/// Gives the elements, in chw order, the shape C x H x W.
template <int C, int H, int W>
struct Reshape {
    static constexpr ReshapeParams params{Shape{.c = C, .h = H, .w = W}};
};
/// Resizes the image to a height and width, as PyTorch's interpolate. Options: Bilinear (default: the nearest pixel),
/// AlignCorners (only with Bilinear).
template <Extent size, class... Options>
struct Resize {
private:
    static constexpr void apply(ResizeParams& params, Bilinear) {
        params.mode = ResizeMode::linear;
        if (params.coordinates == ResizeCoordinates::asymmetric) params.coordinates = ResizeCoordinates::half_pixel;
    }
    static constexpr void apply(ResizeParams& params, AlignCorners) {
        params.coordinates = ResizeCoordinates::align_corners;
    }
    template <class Other>
    static constexpr void apply(ResizeParams&, Other) {
        static_assert(sizeof(Other) == 0,
                      "primsel: Resize and Upsample have no such option; they have Bilinear and AlignCorners: see "
                      "docs/layer/layers.md");
    }

public:
    static constexpr ResizeParams params = [] {
        ResizeParams result{
            .size = size, .coordinates = ResizeCoordinates::asymmetric, .rounding = ResizeRounding::floor};
        (apply(result, Options{}), ...);
        static_assert((std::same_as<Options, Bilinear> || ...) || !(std::same_as<Options, AlignCorners> || ...),
                      "primsel: AlignCorners goes with Bilinear: see docs/layer/layers.md");
        return result;
    }();
};
}  // namespace layer

}  // namespace primsel::inline PRIMSEL_ABI
