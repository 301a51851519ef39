// A network with its weights, wherever it comes from.
#pragma once

#include "options.hpp"

#include <primsel/io/npy.hpp>
#include <primsel/network/graph.hpp>
#include <primsel/network/weights.hpp>
#include <primsel/onnx/detail/signature.hpp>
#include <primsel/plan/plan_options.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {
struct OnnxExportOptions;
}

namespace cli {

namespace ps = primsel;

/// An input as the network declares it, before it is loaded.
struct DeclaredInput {
    std::string name;
    /// All images at once; nothing for a dimension that is left open, no shape at all where even their number is.
    std::optional<std::vector<std::optional<std::int64_t>>> dims;
    ps::OnnxType type = ps::OnnxType::float32;
    /// Whether the file has a value for it, which another may replace.
    bool has_default = false;
};

/// A network that has been found and not yet loaded.
struct Source {
    ModelOptions options;
    /// The graph of a network of the zoo.
    ps::Graph graph;
    /// The model of an .onnx file.
    std::optional<ps::SharedBytes> file;
    std::vector<DeclaredInput> inputs;
};

/// Throws error for a file that cannot be read and a name that no network has.
[[nodiscard]] Source open_model(ModelOptions const& options);

/// Whether its weights are random: those of a network by name, where no others are given.
[[nodiscard]] bool has_random_weights(ModelOptions const& options);

/// Says that weights of a file are not used, because they are of the network before it is divided into groups.
void warn_of_undivided(ModelOptions const& options);

/// Its layers, without weights for a network by name. Throws error as load_model does.
[[nodiscard]] ps::Graph graph_of(Source const& source);

/// Values for the input of that name; `file` is what errors call them.
struct GivenInput {
    std::string name;
    std::string file;
    ps::OnnxTensor tensor;
};

/// An input or output as the user knows it.
struct Port {
    std::string name;
    /// All images at once.
    std::vector<std::int64_t> dims;
    ps::NpyType type = ps::NpyType::float32;
};

struct Model {
    std::string name;
    ps::Graph graph, simplified;
    ps::Weights weights;
    /// In the order of the graph's.
    std::vector<Port> inputs, outputs;
    /// The signature of an .onnx file, for a file that is written in its place.
    ps::OnnxSignature signature{};
    double load_seconds = 0;
    /// For a step of training, the first layer of the backward pass: the input that takes the gradient of the result.
    /// Empty for a network that runs.
    std::string backward{};
    /// The bounds on layers' precision that are in the file of ranges.
    std::vector<ps::LayerPrecision> layer_precisions{};
};

/// Reads the network, with weights of its file, of another or random ones. Inputs that are given fix the sizes that an
/// .onnx file leaves open; those that it must know to be read, such as weights and shapes, and those of integers become
/// constants and are no inputs any more. Throws error.
[[nodiscard]] Model load_model(Source const& source, std::vector<GivenInput> const& given);
[[nodiscard]] Model load_model(ModelOptions const& options);

/// Adds the ranges and bounds of a file of `primsel quantise`. Throws error where it is of another network.
void add_ranges(Model& model, std::string const& file);

/// Runs so many images at once where neither the options nor the file say how many.
void set_default_batch(Model& model, ModelOptions const& from, int batch);

/// With these properties in place of those of their keys.
[[nodiscard]] ps::OnnxSignature with_metadata(ps::OnnxSignature signature,
                                              std::vector<std::pair<std::string, std::string>> const& metadata);
/// The network as an ONNX file with other weights. That of a network from a file is the file but for their values,
/// where each has a tensor of its own there, or else written anew; `from` says which it was. Throws error.
[[nodiscard]] std::string onnx_of(Model const& model, ModelOptions const& from, ps::Weights const& weights,
                                  std::vector<std::pair<std::string, std::string>> const& metadata);

/// The network written anew as an ONNX file. Heights, widths and lengths that its file leaves open stay open if the new
/// file is the same, byte for byte, when the network is loaded with other sizes: `load` loads it as `model` was made.
/// Throws error.
[[nodiscard]] std::string onnx_of_any_size(Model const& model, ModelOptions const& from,
                                           ps::OnnxExportOptions const& options,
                                           std::function<Model(ModelOptions const&)> const& load);

/// One of all networks that there are by name.
struct ListedNetwork {
    std::string name;
    ps::Shape input;
    /// Learned values, and multiply-adds of convolutions and dense layers for one image.
    double parameters, operations;
};
[[nodiscard]] std::vector<ListedNetwork> list_networks();

}  // namespace cli
