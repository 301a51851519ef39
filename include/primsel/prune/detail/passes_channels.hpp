#pragma once

#include <primsel/network/graph.hpp>
#include <primsel/prune/detail/channel_sets.hpp>
#include <primsel/prune/detail/channel_walk.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::prune::detail {

/// Layers that treat each channel independently of the others.
template <class Params>
concept KeepsChannels =
    std::same_as<Params, BatchNormParams> || std::same_as<Params, ScaleParams> ||
    std::same_as<Params, ActivationParams> || std::same_as<Params, PoolParams> ||
    std::same_as<Params, GlobalPoolParams> || std::same_as<Params, DropoutParams> ||
    std::same_as<Params, ResizeParams> || std::same_as<Params, TopKParams> || std::same_as<Params, DenseRowsParams>;

/// A convolution or its transpose.
template <class Params>
concept Convolves = std::same_as<Params, ConvParams> || std::same_as<Params, ConvTransposeParams>;

/// Whether the convolution of `c` channels has a group for each channel.
template <Convolves Params>
[[nodiscard]] constexpr bool is_depthwise(Params const& conv, int c) {
    return conv.groups == c;
}

/// Gives the channels of a layer's result, as those of its inputs or as new ones, and joins channels that the layer
/// couples.
struct PassesChannels {
    Graph const& graph;
    std::size_t at;
    /// The channels of each earlier layer.
    std::vector<std::vector<std::size_t>> const& of;
    ChannelSets& sets;

    using Channels = std::vector<std::size_t>;

    [[nodiscard]] Channels const& input(std::size_t place = 0) const { return of[graph[at].inputs[place]]; }
    [[nodiscard]] Shape input_shape(std::size_t place = 0) const { return graph[graph[at].inputs[place]].shape; }
    [[nodiscard]] std::string reason(std::string_view why) const {
        return join("layer ", graph[at].name, " (", layer_kind(graph[at].layer), ") ", why);
    }
    void join_all(Channels const& a, Channels const& b) const {
        for (std::size_t i = 0; i < a.size(); ++i) sets.join(a[i], b[i]);
    }
    /// Joins channel i of each of `parts` equal parts.
    void join_parts(Channels const& channels, int parts) const {
        const std::size_t size = channels.size() / static_cast<std::size_t>(parts);
        for (std::size_t i = size; i < channels.size(); ++i) sets.join(channels[i % size], channels[i]);
    }
    void fix_inputs(std::string const& why) const {
        for (const std::size_t input : graph[at].inputs) {
            for (const std::size_t channel : of[input]) sets.fix(channel, why);
        }
    }

    Channels operator()(InputParams const& image) const { return sets.add_many(image.shape.c, reason("is the image")); }
    Channels operator()(ConstantParams const& constant) const { return sets.add_many(constant.shape.c); }
    template <Convolves Params>
    Channels operator()(Params const& conv) const {
        if (conv.groups == 1) return sets.add_many(conv.k);
        if (is_depthwise(conv, input_shape().c)) {
            Channels channels;
            for (const std::size_t channel : input())
                channels.insert(channels.end(), static_cast<std::size_t>(conv.k / conv.groups), channel);
            return channels;
        }
        Channels channels = sets.add_many(conv.k);
        join_parts(input(), conv.groups);
        join_parts(channels, conv.groups);
        return channels;
    }
    Channels operator()(DenseParams const& dense) const { return sets.add_many(dense.k); }
    template <KeepsChannels Params>
    Channels operator()(Params const&) const {
        return input();
    }
    Channels operator()(LrnParams const&) const {
        fix_inputs(reason("normalises each by its neighbours"));
        return input();
    }
    Channels operator()(AddParams const&) const {
        for (std::size_t place = 1; place < graph[at].inputs.size(); ++place) join_all(input(), input(place));
        return input();
    }
    Channels operator()(ConcatParams const& concat) const {
        Channels channels = input();
        for (std::size_t place = 1; place < graph[at].inputs.size(); ++place) {
            if (concat.axis == Axis::c) {
                channels.insert(channels.end(), input(place).begin(), input(place).end());
            } else {
                join_all(channels, input(place));
            }
        }
        return channels;
    }
    Channels operator()(FlattenParams const&) const { return regrouped(); }
    Channels operator()(ReshapeParams const&) const { return regrouped(); }
    Channels operator()(AsStridedParams const& strided) const {
        const auto walk = ChannelWalk::of(strided, input_shape());
        if (!walk || walk->positions() == 1) return other("moves elements from channel to channel");
        std::vector<std::size_t> first(walk->positions(), input().size());
        for (std::size_t c = 0; c < input().size(); ++c) {
            std::size_t& at = first[walk->position_read(c)];
            at = std::min(at, c);
            sets.join(input()[at], input()[c]);
        }
        Channels channels;
        for (std::size_t c = 0; c < static_cast<std::size_t>(strided.shape.c); ++c) {
            channels.push_back(input()[first[walk->position_made(c)]]);
        }
        return channels;
    }
    /// The same elements in the same order, in other channels: channels that share an element are joined.
    [[nodiscard]] Channels regrouped() const {
        if (graph[at].shape.c == 1 && input().size() > 1) {
            const std::string why = reason("makes one channel of all");
            fix_inputs(why);
            return {sets.add(why)};
        }
        const std::size_t read = input_shape().pixels(), made = graph[at].shape.pixels();
        Channels channels;
        for (std::size_t c = 0; c < static_cast<std::size_t>(graph[at].shape.c); ++c) {
            const std::size_t first = c * made / read, last = ((c + 1) * made - 1) / read;
            for (std::size_t i = first; i < last; ++i) sets.join(input()[i], input()[i + 1]);
            channels.push_back(input()[first]);
        }
        return channels;
    }
    Channels operator()(PadParams const& pad) const {
        Channels channels = sets.add_many(pad.front);
        channels.insert(channels.end(), input().begin(), input().end());
        const Channels behind = sets.add_many(pad.back);
        channels.insert(channels.end(), behind.begin(), behind.end());
        return channels;
    }
    Channels operator()(ChannelShuffleParams const& shuffle) const {
        join_parts(input(), shuffle.groups);
        const auto groups = static_cast<std::size_t>(shuffle.groups);
        const std::size_t size = input().size() / groups;
        Channels channels;
        for (std::size_t i = 0; i < input().size(); ++i) channels.push_back(input()[i % groups * size + i / groups]);
        return channels;
    }
    Channels operator()(SliceParams const& slice) const {
        if (slice.axis != Axis::c) return input();
        return {input().begin() + slice.first, input().begin() + slice.last};
    }
    Channels operator()(BinaryParams const&) const { return channel_by_channel(); }
    Channels operator()(MatMulParams const&) const { return channel_by_channel(); }
    Channels operator()(OwnLayerParams const& own) const {
        const auto as_many = [&](std::size_t node) { return graph[node].shape.c == graph[at].shape.c; };
        if (!own.channel_wise() || !std::ranges::all_of(graph[at].inputs, as_many))
            return other("is the user's own and not channel_wise");
        for (std::size_t place = 1; place < graph[at].inputs.size(); ++place) join_all(input(), input(place));
        return input();
    }
    Channels operator()(ReduceParams const& reduce) const { return reduce.axis == Axis::c ? other() : input(); }
    Channels operator()(SoftmaxParams const& softmax) const { return softmax.axis == Axis::c ? other() : input(); }
    /// Channel i of the result is made of channel i of both inputs. A single channel is broadcast to all of the other
    /// input's.
    [[nodiscard]] Channels channel_by_channel() const {
        if (input(0).size() == input(1).size()) {
            join_all(input(0), input(1));
            return input(0);
        }
        const std::size_t single = input(0).size() == 1 ? 0 : 1;
        sets.fix(input(single)[0], reason("reads it beside every channel"));
        return input(1 - single);
    }
    template <class Params>
    Channels operator()(Params const&) const {
        return other();
    }
    [[nodiscard]] Channels other(std::string_view what = "mixes channels in a way that none can be left out of") const {
        const std::string why = reason(what);
        fix_inputs(why);
        return sets.add_many(graph[at].shape.c, why);
    }
};

}  // namespace primsel::inline PRIMSEL_ABI::prune::detail
