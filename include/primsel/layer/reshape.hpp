#pragma once

#include <primsel/layer/layer.hpp>

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

/// Does nothing when a trained network runs.
struct DropoutParams {
    [[nodiscard]] static constexpr std::string_view name() { return "dropout"; }
    [[nodiscard]] constexpr Fault check(std::span<const Shape> inputs) const {
        return inputs.size() == 1 ? Fault::none : Fault::wrong_input_count;
    }
    [[nodiscard]] constexpr Shape output(std::span<const Shape> inputs) const { return inputs[0]; }
    friend constexpr bool operator==(DropoutParams const&, DropoutParams const&) = default;
};

/// A constant border.
struct PadParams {
    Padding padding{};
    float value = 0.0F;

    [[nodiscard]] static constexpr std::string_view name() { return "pad"; }
    [[nodiscard]] constexpr Fault check(std::span<const Shape> inputs) const {
        if (inputs.size() != 1) return Fault::wrong_input_count;
        return padding.negative() ? Fault::impossible_parameter : Fault::none;
    }
    [[nodiscard]] constexpr Shape output(std::span<const Shape> inputs) const {
        return {.c = inputs[0].c,
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

/// The channels [first, last).
struct SliceParams {
    int first = 0, last = 1;

    [[nodiscard]] static constexpr std::string_view name() { return "slice"; }
    [[nodiscard]] constexpr Fault check(std::span<const Shape> inputs) const {
        if (inputs.size() != 1) return Fault::wrong_input_count;
        return first < 0 || last <= first || last > inputs[0].c ? Fault::slice_outside : Fault::none;
    }
    [[nodiscard]] constexpr Shape output(std::span<const Shape> inputs) const {
        return {.c = last - first, .h = inputs[0].h, .w = inputs[0].w};
    }
    friend constexpr bool operator==(SliceParams const&, SliceParams const&) = default;
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
