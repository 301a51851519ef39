// A network with its weights, wherever it comes from.
#pragma once

#include "options.hpp"

#include <primsel/io/npy.hpp>
#include <primsel/io/onnx/tensor.hpp>
#include <primsel/network/graph.hpp>
#include <primsel/network/weights.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace cli {

namespace ps = primsel;

/// An input or output as the user knows it.
struct Port {
    std::string name;
    /// All images at once.
    std::vector<std::int64_t> dims;
    ps::NpyType type = ps::NpyType::float32;
};

/// Values for an input: for the one of that name, or without one for the next that has none.
struct GivenInput {
    std::string name;
    std::string file;
    ps::OnnxTensor tensor;
};

struct Model {
    std::string name;
    ps::Graph graph, simplified;
    ps::Weights weights;
    /// In the order of the graph's.
    std::vector<Port> inputs, outputs;
    double load_seconds = 0;
};

/// Reads an .onnx file, or takes a network of the zoo with weights of a file or random ones. Inputs that are given fill
/// in what a file leaves open: dimensions, and whatever it must know to be read, such as weights and shapes that it
/// expects as inputs; the latter are no longer among the model's. Throws error.
[[nodiscard]] Model load_model(ModelOptions const& options, std::vector<GivenInput> const& given = {});

/// One of all networks that there are by name.
struct ListedNetwork {
    std::string name;
    ps::Shape input;
    /// Learned values, and multiply-adds of convolutions and dense layers for one image.
    double parameters, operations;
};
[[nodiscard]] std::vector<ListedNetwork> list_networks();

}  // namespace cli
