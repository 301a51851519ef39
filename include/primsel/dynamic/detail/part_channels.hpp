#pragma once

#include <primsel/core/error.hpp>
#include <primsel/network/graph.hpp>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <variant>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::dynamic::detail {

/// The channels 0 to count - 1.
[[nodiscard]] inline std::vector<std::size_t> first_channels(int count) {
    std::vector<std::size_t> channels(static_cast<std::size_t>(count));
    std::iota(channels.begin(), channels.end(), std::size_t{0});
    return channels;
}

/// Finds the channels of the whole network's layer that a sub-network's layer computes. The call operators take the
/// parameters of the sub-network's layer.
struct PartChannels {
    using Channels = std::vector<std::size_t>;

    Graph const& whole;
    Graph const& part;
    /// The layer's positions in the two graphs.
    std::size_t in_whole, in_part;
    /// For each earlier layer of the part, its channels.
    std::vector<Channels> const& of;

    [[nodiscard]] int count() const { return part[in_part].shape.c; }
    [[nodiscard]] Channels const& input(std::size_t place = 0) const { return of[part[in_part].inputs[place]]; }
    [[nodiscard]] Shape whole_input() const { return whole[whole[in_whole].inputs[0]].shape; }

    Channels operator()(ConvParams const& conv) const {
        const int whole_groups = std::get<ConvParams>(whole[in_whole].layer).groups;
        if (whole_groups == 1 || whole_groups != whole_input().c) return first_channels(count());
        // A depthwise convolution has the channels of its input.
        return repeated(input(), static_cast<std::size_t>(conv.k / conv.groups));
    }
    Channels operator()(DenseParams const&) const { return first_channels(count()); }
    Channels operator()(ConcatParams const& concat) const {
        if (concat.axis != Axis::c) return (*this).other();
        Channels channels;
        std::size_t offset = 0, place = 0;
        for (const std::size_t whole_input : whole[in_whole].inputs) {
            std::vector<std::size_t> const& inputs = part[in_part].inputs;
            if (place < inputs.size() && part[inputs[place]].name == whole[whole_input].name) {
                for (const std::size_t channel : input(place)) channels.push_back(offset + channel);
                ++place;
            }
            offset += static_cast<std::size_t>(whole[whole_input].shape.c);
        }
        if (channels.size() != static_cast<std::size_t>(count())) refuse();
        return channels;
    }
    Channels operator()(FlattenParams const&) const { return repeated(input(), whole_input().pixels()); }
    Channels operator()(ReshapeParams const& reshape) const {
        const bool flattens = reshape.shape.pixels() == 1 && whole[in_whole].shape.pixels() == 1;
        return flattens ? repeated(input(), whole_input().pixels()) : (*this).other();
    }
    Channels operator()(AddParams const&) const { return of_same(); }
    Channels operator()(BinaryParams const&) const { return of_same(); }
    template <class Params>
    Channels operator()(Params const&) const {
        return other();
    }

private:
    /// The channels that all inputs have. An input with one channel is broadcast to those of the others.
    [[nodiscard]] Channels of_same() const {
        const Channels* most = &input();
        for (std::size_t place = 1; place < part[in_part].inputs.size(); ++place) {
            Channels const& next = input(place);
            if (most->size() > 1 && next.size() > 1 && next != *most) refuse();
            if (next.size() > most->size()) most = &next;
        }
        return *most;
    }
    /// Channel c becomes channels c * times to c * times + times - 1.
    [[nodiscard]] static Channels repeated(Channels const& channels, std::size_t times) {
        Channels all;
        for (const std::size_t channel : channels) {
            for (std::size_t i = 0; i < times; ++i) all.push_back(channel * times + i);
        }
        return all;
    }
    /// All channels of the whole layer, or those of the input if the layer keeps channels as they are.
    [[nodiscard]] Channels other() const {
        if (count() == whole[in_whole].shape.c) return first_channels(count());
        const bool keeps = !part[in_part].inputs.empty() && input().size() == static_cast<std::size_t>(count()) &&
                           whole_input().c == whole[in_whole].shape.c;
        if (keeps) return input();
        if (part[in_part].inputs.empty()) return first_channels(count());
        refuse();
    }
    [[noreturn]] void refuse() const {
        fail("configuration: layer ", part[in_part].name, " (", layer_kind(part[in_part].layer),
             "): which of the channels it has cannot be told");
    }
};

}  // namespace primsel::inline PRIMSEL_ABI::dynamic::detail
