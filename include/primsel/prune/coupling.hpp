#pragma once

#include <primsel/core/error.hpp>
#include <primsel/core/visit.hpp>
#include <primsel/network/graph.hpp>
#include <primsel/network/weight_specs.hpp>
#include <primsel/prune/detail/channel_sets.hpp>
#include <primsel/prune/detail/passes_channels.hpp>

#include <cstddef>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <variant>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::prune {

/// A channel of a layer's result: the layer's position in the graph, and the channel's number.
struct Channel {
    std::size_t node = 0, channel = 0;
    friend bool operator==(Channel const&, Channel const&) = default;
};

/// A group of channels that stay or are removed together.
struct CoupledChannels {
    std::vector<Channel> channels;
    /// Why they must stay; empty if they may be removed.
    std::string fixed;
};

/// Finds the channels of a network that must be removed together. Where two results are added, channel i of one belongs
/// to channel i of the other. A channel belongs to the result that a depthwise convolution or a batch norm makes of it.
/// Layers that share a weight lose the same channels. Removing a channel removes the filter that makes it, and the
/// kernels of all consumers that read it. Throws error, naming the layer, if simplify() has fused layers: prune first,
/// then simplify.
class Coupling {
public:
    explicit Coupling(Graph const& graph) {
        detail::ChannelSets sets;
        of_.reserve(graph.size());
        for (std::size_t i = 0; i < graph.size(); ++i) {
            Node const& node = graph[i];
            if (node.epilogue != Epilogue{}) {
                fail("prune: layer ", node.name, " has others fused into it; prune first, and simplify then");
            }
            detail::PassesChannels pass{graph, i, of_, sets};
            of_.push_back(core::visit(pass, node.layer));
        }
        join_shared(graph, sets);
        for (const std::size_t output : graph.outputs()) {
            for (const std::size_t channel : of_[output]) sets.fix(channel, "they are the network's result");
        }
        std::vector<std::size_t> numbers(sets.size(), none);
        for (std::size_t i = 0; i < of_.size(); ++i) {
            for (std::size_t c = 0; c < of_[i].size(); ++c) {
                const std::size_t root = sets.root(of_[i][c]);
                if (numbers[root] == none) {
                    numbers[root] = groups_.size();
                    groups_.push_back({{}, sets.fixed(root)});
                }
                of_[i][c] = numbers[root];
                groups_[numbers[root]].channels.push_back({i, c});
            }
        }
    }

    [[nodiscard]] std::vector<CoupledChannels> const& groups() const { return groups_; }
    /// For each channel of a layer's result, the number of its group.
    [[nodiscard]] std::vector<std::size_t> const& groups_of(std::size_t node) const { return of_[node]; }

private:
    using Channels = std::vector<std::size_t>;

    /// Couples layers that share a weight: they make the same channels and, if it is a kernel, read the same.
    void join_shared(Graph const& graph, detail::ChannelSets& sets) const {
        const auto owners = weight_owners(graph);
        if (owners.empty()) return;
        std::map<std::string, std::size_t, std::less<>> layer_of;
        std::set<std::string, std::less<>> vectors;
        for (std::size_t i = 0; i < graph.size(); ++i) {
            for (WeightSpec const& spec : weight_specs(graph, graph[i])) {
                layer_of.emplace(spec.name, i);
                if (spec.dims.size() == 1) vectors.insert(spec.name);
            }
        }
        for (auto const& [name, owner] : owners) {
            const std::size_t a = layer_of.at(owner.name), b = layer_of.at(name);
            const bool constants = std::holds_alternative<ConstantParams>(graph[a].layer) &&
                                   std::holds_alternative<ConstantParams>(graph[b].layer);
            if (vectors.contains(name) || constants) {
                join_all(sets, of_[a], of_[b], name);
            } else if (has_rows(graph[a].layer) && has_rows(graph[b].layer)) {
                join_all(sets, of_[a], owner.transposed ? columns(graph, b) : of_[b], name);
                join_all(sets, columns(graph, a), owner.transposed ? of_[b] : columns(graph, b), name);
            } else {
                for (const std::size_t layer : {a, b}) {
                    fix(sets, of_[layer], name);
                    for (const std::size_t input : graph[layer].inputs) fix(sets, of_[input], name);
                }
            }
        }
    }
    /// Whether a kernel has a row for each channel that the layer makes.
    [[nodiscard]] static bool has_rows(AnyLayer const& layer) {
        return std::holds_alternative<ConvParams>(layer) || std::holds_alternative<DenseParams>(layer);
    }
    /// The channels that a kernel's columns read.
    [[nodiscard]] Channels columns(Graph const& graph, std::size_t layer) const {
        const std::size_t input = graph[layer].inputs[0];
        if (!std::holds_alternative<DenseParams>(graph[layer].layer)) return of_[input];
        Channels each;
        for (const std::size_t channel : of_[input]) each.insert(each.end(), graph[input].shape.pixels(), channel);
        return each;
    }
    static void join_all(detail::ChannelSets& sets, Channels const& a, Channels const& b, std::string const& weight) {
        if (a.size() != b.size()) {
            fix(sets, a, weight), fix(sets, b, weight);
            return;
        }
        for (std::size_t i = 0; i < a.size(); ++i) sets.join(a[i], b[i]);
    }
    static void fix(detail::ChannelSets& sets, Channels const& channels, std::string const& weight) {
        for (const std::size_t channel : channels) {
            sets.fix(channel, join("a layer of another form shares the weight ", weight));
        }
    }

    static constexpr std::size_t none = static_cast<std::size_t>(-1);
    std::vector<std::vector<std::size_t>> of_;
    std::vector<CoupledChannels> groups_;
};

}  // namespace primsel::inline PRIMSEL_ABI::prune
