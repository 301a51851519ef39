#pragma once

#include <primsel/core/error.hpp>
#include <primsel/network/graph.hpp>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <variant>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::dynamic::detail {

/// The first so many channels, or some of their shares.
[[nodiscard]] inline std::vector<std::size_t> first_channels(int count) {
    std::vector<std::size_t> channels(static_cast<std::size_t>(count));
    std::iota(channels.begin(), channels.end(), std::size_t{0});
    return channels;
}

/// Which channels of a layer's result a part of the network has.
struct PartChannels {
    using Channels = std::vector<std::size_t>;

    Graph const& whole;
    Graph const& part;
    /// The layer's positions.
    std::size_t in_whole, in_part;
    /// The channels of the part's layers before it.
    std::vector<Channels> const& of;

    [[nodiscard]] int count() const { return part[in_part].shape.c; }
    [[nodiscard]] Channels const& input(std::size_t place = 0) const { return of[part[in_part].inputs[place]]; }
    [[nodiscard]] Shape whole_input() const { return whole[whole[in_whole].inputs[0]].shape; }

    Channels operator()(ConvParams const& conv) const {
        const int whole_groups = std::get<ConvParams>(whole[in_whole].layer).groups;
        if (whole_groups == 1 || whole_groups != whole_input().c) return first_channels(count());
        // A depthwise one goes with its input.
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
    /// The channels of inputs that have the same ones, or of a single input that meets all.
    [[nodiscard]] Channels of_same() const {
        const Channels* most = &input();
        for (std::size_t place = 1; place < part[in_part].inputs.size(); ++place) {
            Channels const& next = input(place);
            if (most->size() > 1 && next.size() > 1 && next != *most) refuse();
            if (next.size() > most->size()) most = &next;
        }
        return *most;
    }
    /// Each channel as so many.
    [[nodiscard]] static Channels repeated(Channels const& channels, std::size_t times) {
        Channels all;
        for (const std::size_t channel : channels) {
            for (std::size_t i = 0; i < times; ++i) all.push_back(channel * times + i);
        }
        return all;
    }
    /// All that the whole layer has, or those of the input.
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
