// The networks that are compared.
#pragma once

#include "paper.hpp"

#include <primsel/dynamic.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace reproduce {

/// A network, its parts that run, and its weights.
struct Subject {
    std::string name;
    ps::Graph graph;
    std::vector<ps::dynamic::Configuration> configurations;
    ps::Weights weights;
};

/// Table II's network, undivided, with this many channels in each convolution, for images of this many rows and
/// columns.
[[nodiscard]] ps::Graph table_2_graph(int width = 64, int pixels = 32);
/// Any network in groups, with random weights. Channels that they do not divide are rounded up.
[[nodiscard]] Subject in_groups(std::string name, ps::Graph const& graph, int groups, std::uint32_t seed = 1);
/// Table II's network, nested by channels.
[[nodiscard]] Subject by_channels(std::string name);
[[nodiscard]] Subject named(Subject of, std::string name);
/// As a network that only runs as a whole.
[[nodiscard]] Subject only_last(Subject of);
/// This share of the filters less, those with the least L1 norm, of the layers that have any which may go.
[[nodiscard]] Subject pruned(Subject const& whole, double share);

/// The kilobytes of the weights as floats.
[[nodiscard]] double kilobytes(Subject const& subject);

}  // namespace reproduce
