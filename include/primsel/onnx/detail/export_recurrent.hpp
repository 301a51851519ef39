// Recurrent layers as LSTM, GRU and RNN of one direction each.
#pragma once

#include <primsel/network/prepare.hpp>
#include <primsel/onnx/detail/gate_functions.hpp>
#include <primsel/onnx/detail/layer_writer.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::onnx {

namespace detail {

/// Whether a dense layer on rows is the part of a recurrent layer's operator that meets the inputs: only that layer
/// reads it.
[[nodiscard]] inline bool is_part_of_recurrent(Graph const& graph, std::size_t position) {
    Node const& node = graph[position];
    if (!std::holds_alternative<DenseRowsParams>(node.layer) || node.epilogue.changes_result()) return false;
    if (std::ranges::count(graph.outputs(), position) != 0) return false;
    std::size_t readers = 0;
    bool is_first = false;
    for (Node const& reader : graph.nodes()) {
        const auto count = static_cast<std::size_t>(std::ranges::count(reader.inputs, position));
        if (count == 0) continue;
        readers += count;
        is_first = std::holds_alternative<RecurrentParams>(reader.layer) && reader.inputs[0] == position;
    }
    return readers == 1 && is_first;
}

/// The weights W, as gates x inputs, and biases of the inputs.
struct InputWeights {
    std::size_t source;
    std::int64_t inputs;
    std::vector<float> weights, bias;
};
/// Those of the dense layer before, or products that are taken as they are.
[[nodiscard]] inline InputWeights input_weights(LayerWriter& layer) {
    const std::size_t before = layer.node().inputs[0];
    const auto width = static_cast<std::size_t>(layer.in_shape().w);
    if (!is_part_of_recurrent(layer.graph(), before)) {
        InputWeights result{before, static_cast<std::int64_t>(width), std::vector<float>(width * width), {}};
        for (std::size_t i = 0; i < width; ++i) result.weights[i * width + i] = 1.0F;
        return result;
    }
    Node const& dense = layer.graph()[before];
    const PreparedWeights prepared = prepare_weights(dense, layer.weights());
    const std::size_t inputs = prepared.kernel.size() / width;
    InputWeights result{dense.inputs[0], static_cast<std::int64_t>(inputs), std::vector<float>(width * inputs),
                        std::vector<float>(prepared.bias.begin(), prepared.bias.end())};
    primsel::network::transpose_into(prepared.kernel.data(), inputs, width, result.weights.data());
    return result;
}

[[nodiscard]] inline Attributes recurrent_attributes(RecurrentParams const& p, std::int64_t hidden) {
    Attributes attributes{whole("hidden_size", hidden),
                          {"direction", std::string_view(p.reverse ? "reverse" : "forward")}};
    std::vector<std::string_view> names;
    std::vector<float> alpha, beta;
    const GateFunction functions[] = {p.f, p.g, p.h};
    for (std::size_t i = 0; i < (p.kind == RecurrentKind::lstm ? 3U : p.kind == RecurrentKind::gru ? 2U : 1U); ++i) {
        GateFunctionName const& entry = gate_functions[static_cast<std::size_t>(functions[i])];
        names.push_back(entry.name);
        if (entry.parameters > 0) alpha.push_back(p.alpha[i]);
        if (entry.parameters > 1) beta.push_back(p.beta[i]);
    }
    attributes.push_back({"activations", names});
    if (!alpha.empty()) attributes.push_back({"activation_alpha", alpha});
    if (!beta.empty()) attributes.push_back({"activation_beta", beta});
    if (is_finite(p.clip)) attributes.push_back({"clip", p.clip});
    if (p.couples_gates) attributes.push_back(whole("input_forget", 1));
    if (p.resets_product) attributes.push_back(whole("linear_before_reset", 1));
    return attributes;
}

}  // namespace detail

/// The operator has the sequences of all images side by side.
inline void write_layer(LayerWriter& layer, RecurrentParams const& p) {
    const Shape in = layer.in_shape();
    const std::int64_t width = in.w, hidden = p.hidden(in);
    const auto [source, inputs, w, w_bias] = detail::input_weights(layer);
    const auto of_all_images = [&](std::size_t position) {
        const std::string image = layer.image_of(position);
        return layer.value(position).varies ? image : layer.for_each_image(image, false);
    };
    const std::string x =
        layer.reshape(layer.step("Transpose", {of_all_images(source)}, {{"perm", Ints{1, 0, 2, 3}}}), Ints{-1, inputs});
    const PreparedWeights prepared = prepare_weights(layer.node(), layer.weights());
    Names names{x, layer.floats("W", {1, width, inputs}, w),
                layer.weight("weight", {1, width, hidden}, prepared.kernel)};
    std::vector<float> bias = w_bias;
    bias.resize(static_cast<std::size_t>(2 * width));
    std::ranges::copy(prepared.bias, bias.begin() + width);
    const bool has_bias = !w_bias.empty() || !prepared.bias.empty();
    names.push_back(has_bias ? layer.floats("B", {1, 2 * width}, bias) : "");

    std::size_t at = 1;
    const auto next = [&](bool is_there) { return is_there ? layer.node().inputs[at++] : std::size_t{0}; };
    const std::size_t start = next(p.starts_h), start_cell = next(p.starts_cell), lengths = next(p.has_lengths),
                      peepholes = next(p.has_peepholes);
    const auto reshaped = [&](std::string const& tensor, std::string_view suffix, Ints const& dims) {
        return layer.step("Reshape", {tensor, layer.ints(suffix, dims)});
    };
    names.push_back(!p.has_lengths ? ""
                                   : layer.step("Cast", {reshaped(of_all_images(lengths), "sequences", {-1})},
                                                {{"to", cast_to(DataType::int32)}}));
    names.push_back(p.starts_h ? reshaped(of_all_images(start), "initial_h", {1, -1, hidden}) : "");
    if (p.kind == RecurrentKind::lstm) {
        names.push_back(p.starts_cell ? reshaped(of_all_images(start_cell), "initial_c", {1, -1, hidden}) : "");
        if (p.has_peepholes && layer.value(peepholes).varies && layer.batch() != 1) {
            layer.refuse("its peepholes differ from image to image");
        }
        names.push_back(p.has_peepholes ? reshaped(layer.image_of(peepholes), "P", {1, 3 * hidden}) : "");
    }
    while (names.back().empty()) names.pop_back();

    const std::string_view op = p.kind == RecurrentKind::lstm ? "LSTM" : p.kind == RecurrentKind::gru ? "GRU" : "RNN";
    Names results{layer.step(op, std::move(names), detail::recurrent_attributes(p, hidden))};
    if (p.gives_last || p.gives_cell) results.push_back(layer.unique("/Y_h"));
    if (p.gives_cell) results.push_back(layer.unique("/Y_c"));
    layer.last_outputs() = results;
    Names parts;
    const auto add = [&](bool is_there, std::size_t i) {
        if (is_there) parts.push_back(layer.reshape(results[i], Ints{-1, in.h, hidden}));
    };
    add(p.gives_all, 0), add(p.gives_last, 1), add(p.gives_cell, 2);
    if (parts.size() > 1) parts = {layer.step("Concat", parts, {whole("axis", 0)})};
    layer.step("Transpose", parts, {{"perm", Ints{1, 0, 2, 3}}});
}

}  // namespace primsel::inline PRIMSEL_ABI::onnx
