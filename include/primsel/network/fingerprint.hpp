#pragma once

#include <primsel/core/visit.hpp>
#include <primsel/network/graph.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

namespace network {

/// FNV-1a, 64 bits, of numbers and texts.
class Fingerprint {
public:
    void add(std::uint64_t value) {
        for (int shift = 0; shift < 64; shift += 8) byte(static_cast<std::uint8_t>(value >> shift));
    }
    void add(std::string_view text) {
        for (const char c : text) byte(static_cast<std::uint8_t>(c));
        byte(0xff);
    }
    template <class T>
        requires std::integral<T> || std::is_enum_v<T>
    void add(T value) {
        add(static_cast<std::uint64_t>(value));
    }
    void add(float value) { add(std::bit_cast<std::uint32_t>(value)); }
    void add(Extent value) { add(value.h), add(value.w); }
    void add(Padding value) { add(value.top), add(value.bottom), add(value.left), add(value.right); }
    void add(Clamp value) { add(value.low), add(value.high); }
    void add(Shape value) { add(value.c), add(value.h), add(value.w); }

    void add(Dims const& value) {
        add(value.rank());
        for (std::size_t axis = 0; axis < value.rank(); ++axis) add(value[axis]);
    }
    template <class T, std::size_t n>
    void add(std::array<T, n> const& values) {
        for (T const& value : values) add(value);
    }
    /// The usual momentum adds nothing: only training reads it.
    void add(BatchNormParams const& params) {
        add(params.epsilon);
        if (params.momentum != BatchNormParams{}.momentum) add(params.momentum);
    }
    /// trains_weight and trains_bias add nothing: they do not change what is computed.
    void add(ScaleParams const& params) { add(params.known), add(params.factor), add(params.shift); }
    void add(OwnLayerParams const& params) {
        add(params.name());
        params.each_field([this](std::string_view name, std::string_view value) { add(name), add(value); });
    }
    template <LayerParams P>
    void add(P const& params) {
        params.each_field([this](std::string_view, auto const& value) { this->add(value); });
    }

    [[nodiscard]] std::uint64_t value() const { return hash_; }
    [[nodiscard]] std::string text() const {
        std::string digits(16, '0');
        for (std::size_t i = 0; i < 16; ++i) digits[i] = "0123456789abcdef"[(hash_ >> (60 - 4 * i)) & 15];
        return digits;
    }

private:
    void byte(std::uint8_t value) { hash_ = (hash_ ^ value) * 0x100000001b3ULL; }
    std::uint64_t hash_ = 0xcbf29ce484222325ULL;
};

}  // namespace network

/// Returns a 64-bit FNV-1a hash as sixteen hexadecimal digits. It covers the batch, the names, parameters, inputs and
/// epilogues of the layers, known ranges, and the outputs. It ignores weights and which of them are trainable or
/// shared.
[[nodiscard]] inline std::string fingerprint(Graph const& graph) {
    network::Fingerprint print;
    print.add(graph.batch());
    for (Node const& node : graph.nodes()) {
        print.add(node.name);
        print.add(node.layer.index());
        core::visit([&](auto const& params) { print.add(params); }, node.layer);
        print.add(node.inputs.size());
        for (const std::size_t input : node.inputs) print.add(input);
        print.add(node.epilogue.residual), print.add(node.epilogue.clamp);
        if (TensorRange const& summand = node.epilogue.summand; summand.known()) {
            print.add(summand.scale), print.add(summand.zero_point);
        }
        if (node.epilogue.kernel != KernelPart{}) {
            print.add(node.epilogue.kernel.whole), print.add(node.epilogue.kernel.first);
        }
        if (node.range.known()) print.add(node.range.scale), print.add(node.range.zero_point);
        print.add(node.epilogue.folded.size());
        for (Folded const& folded : node.epilogue.folded) {
            print.add(folded.name);
            print.add(folded.layer.index());
            if (folded.repeat != 1) print.add(folded.repeat);
            core::visit([&](auto const& params) { print.add(params); }, folded.layer);
        }
    }
    for (const std::size_t output : graph.outputs()) print.add(output);
    return print.text();
}

namespace network::detail {

/// A hash of everything that a node's result depends on, but for names and weights.
[[nodiscard]] inline std::uint64_t structure_of(Node const& node, std::vector<std::uint64_t> inputs) {
    Fingerprint print;
    AnyLayer layer = node.layer;
    // A sum is commutative. A folded layer counts as a bias.
    if (std::holds_alternative<AddParams>(layer)) std::ranges::sort(inputs);
    if (auto* conv = std::get_if<ConvParams>(&layer)) conv->bias |= !node.epilogue.folded.empty();
    if (auto* dense = std::get_if<DenseParams>(&layer)) dense->bias |= !node.epilogue.folded.empty();
    print.add(layer.index());
    core::visit([&](auto const& params) { print.add(params); }, layer);
    print.add(node.epilogue.residual), print.add(node.epilogue.clamp);
    if (TensorRange const& summand = node.epilogue.summand; summand.known()) {
        print.add(summand.scale), print.add(summand.zero_point);
    }
    print.add(node.shape);
    for (const std::uint64_t input : inputs) print.add(input);
    return print.value();
}

}  // namespace network::detail

/// Returns a hash as sixteen hexadecimal digits that is equal for graphs of the same layers, connected alike. Layer
/// names, the order of the layers, and whether a bias is the layer's own or was folded into it make no difference.
[[nodiscard]] inline std::string structure(Graph const& graph) {
    std::vector<std::uint64_t> nodes;
    for (Node const& node : graph.nodes()) {
        std::vector<std::uint64_t> inputs;
        for (const std::size_t input : node.inputs) inputs.push_back(nodes[input]);
        nodes.push_back(network::detail::structure_of(node, std::move(inputs)));
    }
    network::Fingerprint print;
    print.add(graph.batch());
    for (const std::size_t output : graph.outputs()) print.add(nodes[output]);
    std::ranges::sort(nodes);  // a layer that stands twice is not one that is read twice
    for (const std::uint64_t node : nodes) print.add(node);
    return print.text();
}

}  // namespace primsel::inline PRIMSEL_ABI
