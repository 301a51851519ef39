#pragma once

#include <primsel/io/safetensors.hpp>
#include <primsel/network/network.hpp>
#include <primsel/network/prepare.hpp>

#include <string>

namespace primsel::inline PRIMSEL_ABI {

/// Reads the weights of a network from a safetensors file. Of weights that the graph shares, one is enough. Throws
/// error, naming the file and every weight that is missing, of a wrong shape or unknown to the network.
[[nodiscard]] inline Weights read_weights(std::string const& path, Graph const& graph) {
    Weights weights = with_shared(graph, read_safetensors(path));
    check_weights(graph, weights);
    return weights;
}
template <NetworkType Net>
[[nodiscard]] Weights read_weights(std::string const& path) {
    return read_weights(path, Net::graph());
}

}  // namespace primsel::inline PRIMSEL_ABI
