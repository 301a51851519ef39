#pragma once

#include <primsel/core/error.hpp>
#include <primsel/network/graph.hpp>
#include <primsel/prune/detail/channel_sets.hpp>
#include <primsel/prune/detail/passes_channels.hpp>

#include <cstddef>
#include <string>
#include <variant>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

/// A channel of a layer's result.
struct Channel {
    std::size_t node = 0, channel = 0;
    friend bool operator==(Channel const&, Channel const&) = default;
};

/// Channels that stay or go together.
struct CoupledChannels {
    std::vector<Channel> channels;
    /// Why they must stay; empty where they may go.
    std::string fixed;
};

/// Which channels of a network are coupled to which: where two results are added, channel i of one goes with channel i
/// of the other; what a depthwise convolution or a batch norm makes of a channel goes with it. A channel that goes
/// takes the filter that makes it, and of every consumer the kernels that read it. Throws error, naming the layer,
/// where simplify has fused layers: prune first, and simplify then.
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
            of_.push_back(std::visit(pass, node.layer));
        }
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
    /// The number of each channel's group, of a layer's result.
    [[nodiscard]] std::vector<std::size_t> const& groups_of(std::size_t node) const { return of_[node]; }

private:
    static constexpr std::size_t none = static_cast<std::size_t>(-1);
    std::vector<std::vector<std::size_t>> of_;
    std::vector<CoupledChannels> groups_;
};

}  // namespace primsel::inline PRIMSEL_ABI
