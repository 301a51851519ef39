#pragma once

#include <primsel/network/prepare.hpp>
#include <primsel/network/weight_specs.hpp>
#include <primsel/onnx/detail/replace_tensors.hpp>
#include <primsel/onnx/import.hpp>

#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

/// The bytes of a model's file with other values for its weights, as training leaves them: nodes, names, inputs,
/// outputs and versions stay as they are. `model` is what parse_onnx gave for `file` with these options. The new file
/// holds all elements itself, those of other files too; each property of `metadata` replaces one of its key. Nothing
/// where a weight has no float32 tensor of the file to itself: for instance one that was computed from several, or of
/// which layers that were trained apart share one; to_onnx writes such a network anew.
/// Throws error for weights that do not fit the graph, and for what cannot be read.
[[nodiscard]] inline std::optional<std::string> replace_onnx_weights(
    std::string const& name, SharedBytes const& file, OnnxModel const& model, Weights const& weights,
    OnnxOptions const& options = {}, std::string const& folder = "",
    std::vector<std::pair<std::string, std::string>> const& metadata = {}) {
    check_weights(model.graph, weights);
    std::map<std::string, std::vector<float>, std::less<>> values;
    for (auto const& [weight, tensor] : weights) {
        const auto origin = model.origins.find(weight);
        if (origin == model.origins.end()) continue;
        std::vector<float> floats(tensor.values.size());
        tensor.values.read(0, floats);
        if (origin->second.transposed) {
            std::vector<float> rotated(floats.size());
            const std::size_t rows = network::matrix_rows(tensor.dims);
            network::transpose_into(floats.data(), rows, floats.size() / rows, rotated.data());
            floats = std::move(rotated);
        }
        values.try_emplace(origin->second.tensor, std::move(floats));
    }
    onnx::ExternalData external(folder);
    std::string text;
    try {
        text = onnx::replace_tensors(file.text(), values, metadata, external);
    } catch (protozero::exception const& fault) {
        fail(name, ": not an ONNX model: ", std::string_view(fault.what()));
    }
    // Reading the new file finds every other reader of a tensor.
    const SharedBytes written{std::as_bytes(std::span(text)), {}};
    try {
        const OnnxModel again = parse_onnx(name, written, options, folder);
        for (auto const& [weight, tensor] : again.weights) {
            if (!network::same_values(tensor, weights.at(weight), false)) return std::nullopt;
        }
    } catch (error const&) {
        return std::nullopt;
    }
    return text;
}

}  // namespace primsel::inline PRIMSEL_ABI
