#pragma once

#include <primsel/core/error.hpp>
#include <primsel/core/visit.hpp>
#include <primsel/network/graph.hpp>

#include <concepts>
#include <cstddef>
#include <string>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::dynamic::detail {

/// Layers that treat each group of channels as they treat all of them, so dividing the channels leaves them as they
/// are.
template <class Params>
concept WorksInGroups =
    std::same_as<Params, BatchNormParams> || std::same_as<Params, ScaleParams> ||
    std::same_as<Params, ActivationParams> || std::same_as<Params, LrnParams> || std::same_as<Params, PoolParams> ||
    std::same_as<Params, GlobalPoolParams> || std::same_as<Params, DropoutParams> ||
    std::same_as<Params, ResizeParams> || std::same_as<Params, AddParams> || std::same_as<Params, BinaryParams> ||
    std::same_as<Params, ConcatParams> || std::same_as<Params, FlattenParams> || std::same_as<Params, ReduceParams> ||
    std::same_as<Params, ChannelShuffleParams> || std::same_as<Params, InputParams>;

/// Makes layers with one of `parts` equal shares of their channels. Throws error, naming the layer, if `parts` does not
/// divide its channels and `round` is false, or if the layer mixes channels in a way that cannot be divided.
class DividedLayer {
public:
    DividedLayer(Graph const& graph, int parts, bool round) : graph_(graph), parts_(parts), round_(round) {
        mark_divided();
    }

    [[nodiscard]] AnyLayer operator()(std::size_t layer) const {
        return core::visit([&](auto const& params) { return divide(layer, params); }, graph_[layer].layer);
    }

private:
    /// Marks layers with divided channels: those behind a convolution or dense layer, and constants that are combined
    /// with such results.
    void mark_divided() {
        divided_.assign(graph_.size(), false);
        for (std::size_t i = 0; i < graph_.size(); ++i) {
            divided_[i] = makes_channels(graph_[i].layer);
            for (const std::size_t input : graph_[i].inputs) divided_[i] = divided_[i] || divided_[input];
        }
        for (std::size_t i = 0; i < graph_.size(); ++i) {
            const auto is_constant = [&](std::size_t node) {
                return std::holds_alternative<ConstantParams>(graph_[node].layer);
            };
            bool meets_divided = false;
            for (const std::size_t input : graph_[i].inputs) meets_divided = meets_divided || divided_[input];
            for (const std::size_t input : graph_[i].inputs) {
                if (is_constant(input) && meets_divided) divided_[input] = graph_[input].shape.c > 1;
            }
        }
    }
    [[nodiscard]] static bool makes_channels(AnyLayer const& layer) {
        return std::holds_alternative<ConvParams>(layer) || std::holds_alternative<DenseParams>(layer) ||
               std::holds_alternative<ConvTransposeParams>(layer);
    }
    [[nodiscard]] bool reads_divided(std::size_t layer) const { return divided_[graph_[layer].inputs.at(0)]; }
    [[nodiscard]] int input_channels(std::size_t layer) const { return graph_[graph_[layer].inputs.at(0)].shape.c; }

    /// The number of channels in one share.
    [[nodiscard]] int share(std::size_t layer, int channels, const char* what) const {
        if (channels % parts_ == 0) return channels / parts_;
        if (round_) return (channels + parts_ - 1) / parts_;
        fail("grouped: layer ", graph_[layer].name, " (", layer_kind(graph_[layer].layer), ") has ", channels, ' ',
             what, ", which ", parts_, " groups do not divide");
    }

    template <class Conv>
    [[nodiscard]] AnyLayer divide_conv(std::size_t layer, Conv conv) const {
        const bool depthwise = conv.groups > 1 && conv.groups == input_channels(layer);
        if (depthwise && reads_divided(layer)) {
            const int multiple = conv.k / conv.groups;
            conv.groups = share(layer, conv.groups, "channels");
            conv.k = conv.groups * multiple;
            return conv;
        }
        conv.k = share(layer, conv.k, "kernels");
        // The convolution's own groups are divided if `parts` divides them; otherwise each share has as many groups, of
        // fewer channels.
        if (conv.groups > 1 && reads_divided(layer) && conv.groups % parts_ == 0) conv.groups /= parts_;
        return conv;
    }
    [[nodiscard]] AnyLayer divide(std::size_t layer, ConvParams const& conv) const { return divide_conv(layer, conv); }
    [[nodiscard]] AnyLayer divide(std::size_t layer, ConvTransposeParams const& conv) const {
        return divide_conv(layer, conv);
    }
    [[nodiscard]] AnyLayer divide(std::size_t layer, DenseParams dense) const {
        dense.k = share(layer, dense.k, "outputs");
        return dense;
    }
    [[nodiscard]] AnyLayer divide(std::size_t layer, ConstantParams constant) const {
        if (divided_[layer]) constant.shape.c = share(layer, constant.shape.c, "channels");
        return constant;
    }
    [[nodiscard]] AnyLayer divide(std::size_t layer, ReshapeParams reshape) const {
        if (reads_divided(layer)) reshape.shape.c = share(layer, reshape.shape.c, "channels");
        return reshape;
    }
    [[nodiscard]] AnyLayer divide(std::size_t layer, PadParams pad) const {
        if (!reads_divided(layer)) return pad;
        pad.front = share(layer, pad.front, "channels in front");
        pad.back = share(layer, pad.back, "channels behind");
        return pad;
    }
    [[nodiscard]] AnyLayer divide(std::size_t layer, SliceParams slice) const {
        if (slice.axis != Axis::c || !reads_divided(layer)) return slice;
        slice.first = share(layer, slice.first, "channels before it");
        slice.last = share(layer, slice.last, "channels up to its end");
        return slice;
    }
    [[nodiscard]] AnyLayer divide(std::size_t layer, SoftmaxParams const& softmax) const {
        if (softmax.axis != Axis::c || !reads_divided(layer)) return softmax;
        refuse(layer);
    }
    [[nodiscard]] AnyLayer divide(std::size_t layer, OwnLayerParams const& own) const {
        if (own.channel_wise() || !reads_divided(layer)) return own;
        refuse(layer);
    }
    template <WorksInGroups Params>
    [[nodiscard]] AnyLayer divide(std::size_t, Params const& params) const {
        return params;
    }
    template <class Params>
    [[nodiscard]] AnyLayer divide(std::size_t layer, Params const&) const {
        refuse(layer);
    }
    [[noreturn]] void refuse(std::size_t layer) const {
        fail("grouped: layer ", graph_[layer].name, " (", layer_kind(graph_[layer].layer),
             ") mixes channels in a way that cannot be divided into groups");
    }

    Graph const& graph_;
    int parts_;
    bool round_;
    std::vector<bool> divided_;  // layers whose result has a share of its channels
};

}  // namespace primsel::inline PRIMSEL_ABI::dynamic::detail
