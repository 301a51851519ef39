#pragma once

#include <primsel/layer/layer.hpp>
#include <primsel/tensor/dims.hpp>

#include <array>
#include <cstddef>

namespace primsel::inline PRIMSEL_ABI {

/// The image as one vector of channels, in chw order.
struct FlattenParams {
    [[nodiscard]] static constexpr std::string_view name() { return "flatten"; }
    [[nodiscard]] constexpr Fault check(std::span<const Shape> inputs) const {
        return inputs.size() == 1 ? Fault::none : Fault::wrong_input_count;
    }
    [[nodiscard]] constexpr Shape output(std::span<const Shape> inputs) const {
        return {.c = inputs[0].c * inputs[0].h * inputs[0].w, .h = 1, .w = 1};
    }
    friend constexpr bool operator==(FlattenParams const&, FlattenParams const&) = default;
};

/// The same elements, in chw order, under another shape.
struct ReshapeParams {
    Shape shape;

    [[nodiscard]] static constexpr std::string_view name() { return "reshape"; }
    [[nodiscard]] constexpr Fault check(std::span<const Shape> inputs) const {
        if (inputs.size() != 1) return Fault::wrong_input_count;
        if (shape.c < 1 || shape.h < 1 || shape.w < 1) return Fault::impossible_parameter;
        return shape.size() == inputs[0].size() ? Fault::none : Fault::shapes_differ;
    }
    [[nodiscard]] constexpr Shape output(std::span<const Shape>) const { return shape; }
    friend constexpr bool operator==(ReshapeParams const&, ReshapeParams const&) = default;
};

/// Some elements of the input in another order: element (i0, i1, ...) of a tensor of the given extents is element
/// offset + i0 * strides[0] + i1 * strides[1] + ... of the input in chw order. Any transpose, broadcast, and slice with
/// steps is one of these, and so is depth-to-space.
struct AsStridedParams {
    /// Extents as they are walked; together as many elements as the shape.
    Dims dims;
    std::array<std::ptrdiff_t, Dims::max_rank> strides{};
    std::ptrdiff_t offset = 0;
    /// Of the result.
    Shape shape;

    [[nodiscard]] static constexpr std::string_view name() { return "as_strided"; }
    [[nodiscard]] constexpr Fault check(std::span<const Shape> inputs) const {
        if (inputs.size() != 1) return Fault::wrong_input_count;
        if (shape.c < 1 || shape.h < 1 || shape.w < 1) return Fault::impossible_parameter;
        std::ptrdiff_t lowest = offset, highest = offset;
        for (std::size_t axis = 0; axis < dims.rank(); ++axis) {
            if (dims[axis] < 1) return Fault::impossible_parameter;
            const std::ptrdiff_t reach = (dims[axis] - 1) * strides[axis];
            (reach < 0 ? lowest : highest) += reach;
        }
        if (lowest < 0 || highest >= static_cast<std::ptrdiff_t>(inputs[0].size())) return Fault::slice_outside;
        return dims.size() == shape.size() ? Fault::none : Fault::shapes_differ;
    }
    [[nodiscard]] constexpr Shape output(std::span<const Shape>) const { return shape; }
    friend constexpr bool operator==(AsStridedParams const&, AsStridedParams const&) = default;
};

/// Does nothing when a trained network runs.
struct DropoutParams {
    [[nodiscard]] static constexpr std::string_view name() { return "dropout"; }
    [[nodiscard]] constexpr Fault check(std::span<const Shape> inputs) const {
        return inputs.size() == 1 ? Fault::none : Fault::wrong_input_count;
    }
    [[nodiscard]] constexpr Shape output(std::span<const Shape> inputs) const { return inputs[0]; }
    friend constexpr bool operator==(DropoutParams const&, DropoutParams const&) = default;
};

enum class PadMode { constant, reflect, edge };

/// A border: a value, or the image mirrored at its first and last pixels (which are not repeated), or these repeated.
/// front and back are channels before the first and after the last; with a constant only.
struct PadParams {
    Padding padding{};
    float value = 0.0F;
    PadMode mode = PadMode::constant;
    int front = 0, back = 0;

    [[nodiscard]] static constexpr std::string_view name() { return "pad"; }
    [[nodiscard]] constexpr Fault check(std::span<const Shape> inputs) const {
        if (inputs.size() != 1) return Fault::wrong_input_count;
        if (padding.negative() || front < 0 || back < 0) return Fault::impossible_parameter;
        if (mode == PadMode::constant) return Fault::none;
        if (front > 0 || back > 0) return Fault::impossible_parameter;
        const bool beyond = padding.top >= inputs[0].h || padding.bottom >= inputs[0].h ||
                            padding.left >= inputs[0].w || padding.right >= inputs[0].w;
        return mode == PadMode::reflect && beyond ? Fault::padding_exceeds_input : Fault::none;
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
    [[nodiscard]] constexpr Fault check(std::span<const Shape> inputs) const {
        if (inputs.size() != 1) return Fault::wrong_input_count;
        if (groups < 1) return Fault::impossible_parameter;
        return inputs[0].c % groups != 0 ? Fault::groups_do_not_divide : Fault::none;
    }
    [[nodiscard]] constexpr Shape output(std::span<const Shape> inputs) const { return inputs[0]; }
    friend constexpr bool operator==(ChannelShuffleParams const&, ChannelShuffleParams const&) = default;
};

/// The elements [first, last) along an axis.
struct SliceParams {
    int first = 0, last = 1;
    Axis axis = Axis::c;

    [[nodiscard]] static constexpr std::string_view name() { return "slice"; }
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

enum class ResizeMode { nearest, linear };
/// Where pixel x of the result lies in the input, with scale = input size / result size:
/// - half_pixel: (x + 0.5) * scale - 0.5;
/// - pytorch_half_pixel: the same, but 0 where the result has one pixel;
/// - align_corners: x * (input size - 1) / (result size - 1);
/// - asymmetric: x * scale.
enum class ResizeCoordinates { half_pixel, pytorch_half_pixel, align_corners, asymmetric };
/// Which pixel is nearest to a place between two.
enum class ResizeRounding { round_prefer_floor, round_prefer_ceil, floor, ceil };

/// The image in another size, as ONNX's Resize: each channel by itself. Without antialiasing.
struct ResizeParams {
    Extent size;
    ResizeMode mode = ResizeMode::nearest;
    ResizeCoordinates coordinates = ResizeCoordinates::half_pixel;
    ResizeRounding rounding = ResizeRounding::round_prefer_floor;
    /// Input size / result size where a file gives a factor that leads to a size only after rounding; 0: of the sizes.
    float scale_h = 0.0F, scale_w = 0.0F;

    [[nodiscard]] static constexpr std::string_view name() { return "resize"; }
    [[nodiscard]] constexpr Fault check(std::span<const Shape> inputs) const {
        if (inputs.size() != 1) return Fault::wrong_input_count;
        return size.h < 1 || size.w < 1 || !(scale_h >= 0.0F) || !(scale_w >= 0.0F) ? Fault::impossible_parameter
                                                                                    : Fault::none;
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
struct Dropout {
    static constexpr DropoutParams params{};
};
template <Padding padding>
struct ZeroPad {
    static constexpr PadParams params{padding, 0.0F};
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
template <int first, int last>
struct Slice {
    static constexpr SliceParams params{first, last};
};
}  // namespace layer

}  // namespace primsel::inline PRIMSEL_ABI
