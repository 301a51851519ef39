#pragma once

#include <primsel/layer/reshape.hpp>
#include <primsel/tensor/dims.hpp>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::prune::detail {

/// Describes an AsStrided layer that moves whole channels, or elements within channels, such as depth-to-space,
/// space-to-depth and shuffles. The channels are split into axes. One axis may get shorter: all channels at one
/// position along it are kept or removed together.
class ChannelWalk {
public:
    /// Nothing if the layer moves elements in another way.
    [[nodiscard]] static std::optional<ChannelWalk> of(AsStridedParams const& params, Shape const& input) {
        ChannelWalk walk{params, input.c, static_cast<std::ptrdiff_t>(input.pixels())};
        if (!walk.split() || !walk.choose()) return std::nullopt;
        return walk;
    }

    /// The number of positions along the axis that may get shorter.
    [[nodiscard]] std::size_t positions() const { return static_cast<std::size_t>(axes_[thin_].extent); }
    /// The position along the axis of a channel of the input.
    [[nodiscard]] std::size_t position_read(std::size_t channel) const {
        const auto step = static_cast<std::size_t>(axes_[thin_].stride / pixels_);
        return channel / step % positions();
    }
    /// The position along the axis of a channel of the result.
    [[nodiscard]] std::size_t position_made(std::size_t channel) const {
        std::size_t behind = 1;
        for (std::size_t i = thin_ + 1; i < made_; ++i) behind *= static_cast<std::size_t>(axes_[i].extent);
        return channel / behind % positions();
    }
    /// The layer with `left` positions along the axis.
    [[nodiscard]] AsStridedParams with(int left) const {
        AsStridedParams result = params_;
        result.dims = {};
        result.strides = {};
        const Axis thin = axes_[thin_];
        for (std::size_t i = 0; i < axes_.size(); ++i) {
            const bool beyond = is_of_channels(axes_[i]) && axes_[i].stride > thin.stride;
            result.strides[i] = beyond ? axes_[i].stride / thin.extent * left : axes_[i].stride;
            result.dims.push_back(i == thin_ ? left : axes_[i].extent);
        }
        result.shape.c = params_.shape.c / thin.extent * left;
        return result;
    }

private:
    struct Axis {
        int extent = 1;
        std::ptrdiff_t stride = 0;
    };

    ChannelWalk(AsStridedParams const& params, int channels, std::ptrdiff_t pixels)
        : params_(params), channels_(channels), pixels_(pixels) {}

    [[nodiscard]] bool is_of_channels(Axis const& axis) const { return axis.stride >= pixels_; }

    /// Splits the dimensions into axes that either step from channel to channel or stay within one; the first `made_`
    /// are those of the result's channels. Returns whether that is possible.
    [[nodiscard]] bool split() {
        for (std::size_t i = 0; i < params_.dims.rank(); ++i) {
            Axis axis{params_.dims[i], params_.strides[i]};
            if (axis.extent == 1) continue;
            const std::ptrdiff_t within = axis.stride > 0 && pixels_ % axis.stride == 0 ? pixels_ / axis.stride : 0;
            if (within > 1 && axis.extent > within && axis.extent % within == 0) {
                axes_.push_back({static_cast<int>(axis.extent / within), pixels_});
                axis.extent = static_cast<int>(within);
            }
            axes_.push_back(axis);
        }
        int made = 1;
        while (made_ < axes_.size() && made < params_.shape.c) {
            Axis& axis = axes_[made_];
            const int rest = params_.shape.c / made;
            if (params_.shape.c % made != 0) return false;
            if (axis.extent > rest) {
                if (axis.extent % rest != 0) return false;
                const Axis inner{axis.extent / rest, axis.stride};
                axis = {rest, axis.stride * inner.extent};
                axes_.insert(axes_.begin() + static_cast<std::ptrdiff_t>(made_) + 1, inner);
            }
            made *= axes_[made_++].extent;
        }
        return made == params_.shape.c && axes_.size() <= Dims::max_rank;
    }
    /// Chooses the axis that may get shorter. Returns whether there is one and every channel is read once.
    [[nodiscard]] bool choose() {
        std::ptrdiff_t lowest = params_.offset, highest = params_.offset;
        std::vector<Axis> channels;
        std::size_t best = axes_.size();
        for (std::size_t i = 0; i < axes_.size(); ++i) {
            Axis const& axis = axes_[i];
            if (!is_of_channels(axis)) {
                (axis.stride < 0 ? lowest : highest) += (axis.extent - 1) * axis.stride;
                continue;
            }
            if (axis.stride % pixels_ != 0) return false;
            channels.push_back(axis);
            if (i < made_ && (best == axes_.size() || axis.extent > axes_[best].extent)) best = i;
        }
        if (best == axes_.size() || lowest < 0 || highest >= pixels_) return false;
        std::ranges::sort(channels, {}, &Axis::stride);
        std::ptrdiff_t next = pixels_;
        for (Axis const& axis : channels) {
            if (axis.stride != next) return false;
            next *= axis.extent;
        }
        thin_ = best;
        return next == channels_ * pixels_;
    }

    AsStridedParams params_;
    std::ptrdiff_t channels_, pixels_;
    std::vector<Axis> axes_;
    std::size_t made_ = 0, thin_ = 0;
};

}  // namespace primsel::inline PRIMSEL_ABI::prune::detail
