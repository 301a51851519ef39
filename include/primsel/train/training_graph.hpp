#pragma once

#include <primsel/network/graph.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

/// Suffix of the name of a recomputed layer (train/recompute.hpp).
inline constexpr std::string_view again_suffix = "/again";
/// Ends the name of a parameter: the running means, then variances, of a batch norm that keeps them though layers
/// before it are trained.
inline constexpr std::string_view running_suffix = "/running";
/// Ends the name of a parameter of means of 0, then variances of 1: a scale is a normalisation by them.
inline constexpr std::string_view identity_suffix = "/identity";
/// Ends the name of a parameter that is zero.
inline constexpr std::string_view zero_suffix = "/zero";

/// The place of a trained weight's gradient: `offset` floats into result `result` of the graph. A weight that several
/// layers share has several entries; its gradient is their sum.
struct WeightGradient {
    std::string weight;
    std::size_t result = 0, offset = 0;
    /// Whether this is the gradient of the transposed weight.
    bool transposed = false;
};

/// A batch norm whose statistics (c means, then c variances of this batch) are a result of the graph.
struct BatchNormStatistics {
    std::string layer;
    std::size_t result = 0;
    /// Values of a channel in a batch.
    std::size_t values = 0;
    /// How far an update moves the running statistics towards those of its batch, unless the options say it.
    double momentum = 0.1;
};

/// A step of training as a graph, but for the loss and the update. Inputs: the images, then the gradient of the loss
/// with respect to the result. Results: the network's, then what `weights` and `batch_norms` say.
struct TrainingGraph {
    Graph graph;
    std::vector<WeightGradient> weights;
    std::vector<BatchNormStatistics> batch_norms;
    /// The layers before this one are the forward pass; it is the input that takes the gradient of the result.
    std::string gradient;
    /// The parameter that dropout reads, two numbers below 2^24 that change with each step; empty where nothing does.
    std::string seed;
};

}  // namespace primsel::inline PRIMSEL_ABI
