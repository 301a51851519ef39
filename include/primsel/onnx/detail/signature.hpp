// The inputs and results of a model as its file states them.
#pragma once

#include <primsel/onnx/detail/tensor.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

/// An input or result of a model.
struct OnnxValueInfo {
    std::string name;
    /// As at run time: all images, row-major.
    std::vector<std::int64_t> dims;
    /// At run time every value is a float; this is what the model says it is.
    OnnxType type = OnnxType::float32;
    /// The name of the first dimension where the file leaves that open; empty where it has no name.
    std::optional<std::string> open_batch{};
    /// The names of further dimensions that the file leaves open, by their places; empty where they have none.
    std::map<std::size_t, std::string> open_sizes{};

    friend bool operator==(OnnxValueInfo const&, OnnxValueInfo const&) = default;
};

/// How a file looks from outside. Export writes it again, so that the new file can take the place of the old one.
struct OnnxSignature {
    /// In the order of the graph's inputs and outputs. Tensors without elements, those with an extent of 0, are not
    /// computed: they are no inputs, and as an output one has a single element in the graph, which means nothing.
    std::vector<OnnxValueInfo> inputs, outputs;
    /// Inputs of the file that no result needs. A dimension of -1 is open.
    std::vector<OnnxValueInfo> unread;
    /// The properties that a producer added, such as the names of classes.
    std::vector<std::pair<std::string, std::string>> metadata;

    friend bool operator==(OnnxSignature const&, OnnxSignature const&) = default;
};

}  // namespace primsel::inline PRIMSEL_ABI
