#pragma once

#include <primsel/network/graph.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::train::detail {

/// The graph as training takes it: dense layers are convolutions whose kernel is as large as the image, so that all
/// that is known of convolutions holds for them, and those on rows are products; normalisations by statistics of an
/// image are the means, differences and quotients that they consist of; a flatten that only dense layers read is gone,
/// and so is a softmax at the end, or its logarithm. Names and weights stay.
class TrainingForm {
public:
    explicit TrainingForm(Graph const& graph) : graph_(graph), readers_(graph.size()) {
        for (std::size_t i = 0; i < graph.size(); ++i) {
            for (const std::size_t input : graph[i].inputs) readers_[input].push_back(i);
        }
    }

    [[nodiscard]] Graph run() const {
        check();
        Graph result(graph_.batch());
        std::vector<std::size_t> at(graph_.size(), 0);
        const std::size_t last = result_node();
        for (std::size_t i = 0; i < graph_.size(); ++i) {
            Node const& node = graph_[i];
            std::vector<std::size_t> inputs;
            for (const std::size_t input : node.inputs) inputs.push_back(at[input]);
            if (std::holds_alternative<FlattenParams>(node.layer) && only_dense_reads(i)) {
                at[i] = inputs[0];
            } else if (const auto* dense = std::get_if<DenseParams>(&node.layer)) {
                const Shape in = result[inputs[0]].shape;
                const ConvParams conv{.k = dense->k, .kernel = Extent{in.h, in.w}, .bias = dense->bias};
                at[i] = result.add(node.name, conv, inputs);
            } else if (const auto* rows = std::get_if<DenseRowsParams>(&node.layer)) {
                at[i] = add_products(result, node.name, *rows, inputs[0]);
            } else if (const auto* norm = std::get_if<StandardizeParams>(&node.layer)) {
                at[i] = add_standardized(result, node.name, *norm, inputs);
            } else {
                at[i] = result.add(node.name, node.layer, inputs);
            }
            if (i == last) break;
        }
        result.set_shared(graph_.shared());
        return result;
    }

private:
    /// Adds a dense layer on rows as a product with a matrix and a sum.
    static std::size_t add_products(Graph& graph, std::string const& name, DenseRowsParams const& rows,
                                    std::size_t input) {
        const auto parameter = [&](const char* weight, Shape shape) {
            return graph.add(name + weight, ConstantParams{.shape = shape, .parameter = true}, {});
        };
        const std::size_t matrix = parameter(".weight", {.c = 1, .h = graph[input].shape.w, .w = rows.k});
        if (!rows.bias) return graph.add(name, MatMulParams{}, {input, matrix});
        const std::size_t product = graph.add(name + "/product", MatMulParams{}, {input, matrix});
        return graph.add(name, BinaryParams{BinaryKind::add},
                         {product, parameter(".bias", {.c = 1, .h = 1, .w = rows.k})});
    }
    /// Adds the layers of which simplify makes a normalisation by statistics of an image. The last has its name.
    static std::size_t add_standardized(Graph& graph, std::string const& name, StandardizeParams const& norm,
                                        std::vector<std::size_t> const& inputs) {
        const Shape whole = graph[inputs[0]].shape;
        int left = 1 + (norm.groups > 1 ? 1 : 0) + (norm.scales ? 1 : 0) + (norm.shifts ? 1 : 0);
        // The last step is called as the layer.
        const auto step = [&](const char* suffix, AnyLayer layer, std::vector<std::size_t> of) {
            return graph.add(name + suffix, std::move(layer), std::move(of));
        };
        const auto last = [&](const char* suffix, AnyLayer layer, std::vector<std::size_t> of) {
            return step(--left == 0 ? "" : suffix, std::move(layer), std::move(of));
        };
        const auto mean = [&](std::string const& of, std::size_t at) {
            // A group is a channel of one row.
            const bool along[] = {norm.along_c && norm.groups == 1, norm.along_h, norm.along_w};
            for (const Axis axis : {Axis::c, Axis::h, Axis::w}) {
                if (!along[static_cast<std::size_t>(axis)] || extent(graph[at].shape, axis) == 1) continue;
                constexpr const char* names[] = {"/c", "/h", "/w"};
                at = graph.add(name + of + names[static_cast<std::size_t>(axis)], ReduceParams{ReduceKind::mean, axis},
                               {at});
            }
            return at;
        };
        std::size_t x = inputs[0];
        if (norm.groups > 1) {
            const Shape grouped{.c = norm.groups, .h = whole.c / norm.groups * whole.h, .w = whole.w};
            x = step("/groups", ReshapeParams{grouped}, {x});
        }
        if (norm.centres) x = step("/centred", BinaryParams{BinaryKind::subtract}, {x, mean("/mean", x)});
        const std::size_t square = step("/square", BinaryParams{BinaryKind::multiply}, {x, x});
        const std::size_t safe =
            step("/variance", ScaleParams{.known = true, .shift = norm.epsilon}, {mean("/mean square", square)});
        const std::size_t deviation = step("/deviation", ActivationParams{ActivationKind::sqrt}, {safe});
        std::size_t result = last("/quotient", BinaryParams{BinaryKind::divide}, {x, deviation});
        if (norm.groups > 1) result = last("/together", ReshapeParams{whole}, {result});
        if (norm.scales) result = last("/scaled", BinaryParams{BinaryKind::multiply}, {result, inputs[1]});
        if (norm.shifts) result = last("/shifted", BinaryParams{BinaryKind::add}, {result, inputs.back()});
        return result;
    }
    void check() const {
        for (Node const& node : graph_.nodes()) {
            if (node.epilogue != Epilogue{}) {
                fail("train: layer ", node.name,
                     " has others fused into it; train the graph as it was before simplify");
            }
        }
        (void)graph_.input();
        (void)graph_.output_node();
    }
    /// The result that is trained: not a softmax nor its logarithm, which the loss knows of.
    [[nodiscard]] std::size_t result_node() const {
        const std::size_t output = graph_.output_node();
        if (std::holds_alternative<SoftmaxParams>(graph_[output].layer)) return graph_[output].inputs[0];
        return before_log_softmax(output).value_or(output);
    }
    /// The node of which another is the logarithm of the softmax, as ONNX files are imported: (x - max x) - log sum
    /// exp(x - max x).
    [[nodiscard]] std::optional<std::size_t> before_log_softmax(std::size_t node) const {
        const auto below = [this](std::size_t i) -> std::optional<std::pair<std::size_t, std::size_t>> {
            const auto* binary = std::get_if<BinaryParams>(&graph_[i].layer);
            if (binary == nullptr || binary->kind != BinaryKind::subtract) return std::nullopt;
            return std::pair{unshaped(graph_[i].inputs[0]), unshaped(graph_[i].inputs[1])};
        };
        const auto reduces = [this](std::size_t i, ReduceKind kind) {
            const auto* reduce = std::get_if<ReduceParams>(&graph_[i].layer);
            return reduce != nullptr && reduce->kind == kind;
        };
        const auto is = [this](std::size_t i, ActivationKind kind) {
            const auto* activation = std::get_if<ActivationParams>(&graph_[i].layer);
            return activation != nullptr && activation->kind == kind;
        };
        const auto outer = below(unshaped(node));
        if (!outer || !is(outer->second, ActivationKind::log)) return std::nullopt;
        const std::size_t sum = input_of(outer->second);
        if (!reduces(sum, ReduceKind::sum)) return std::nullopt;
        const std::size_t terms = input_of(sum);
        if (!is(terms, ActivationKind::exp) || input_of(terms) != outer->first) return std::nullopt;
        const auto inner = below(outer->first);
        if (!inner || !reduces(inner->second, ReduceKind::max) || input_of(inner->second) != inner->first) {
            return std::nullopt;
        }
        return inner->first;
    }
    [[nodiscard]] std::size_t input_of(std::size_t node) const { return unshaped(graph_[node].inputs[0]); }
    /// The source of a chain of reshapes.
    [[nodiscard]] std::size_t unshaped(std::size_t node) const {
        while (std::holds_alternative<ReshapeParams>(graph_[node].layer) ||
               std::holds_alternative<FlattenParams>(graph_[node].layer)) {
            node = graph_[node].inputs[0];
        }
        return node;
    }
    /// Whether dense layers alone read it, at once or after layers that work element by element.
    [[nodiscard]] bool only_dense_reads(std::size_t node) const {
        if (readers_[node].empty()) return false;
        return std::ranges::all_of(readers_[node], [&](std::size_t reader) {
            AnyLayer const& layer = graph_[reader].layer;
            if (std::holds_alternative<DenseParams>(layer)) return true;
            const bool elementwise =
                std::holds_alternative<DropoutParams>(layer) || std::holds_alternative<ActivationParams>(layer);
            return elementwise && only_dense_reads(reader);
        });
    }

    Graph const& graph_;
    std::vector<std::vector<std::size_t>> readers_;
};

[[nodiscard]] inline Graph training_form(Graph const& graph) { return TrainingForm(graph).run(); }

}  // namespace primsel::inline PRIMSEL_ABI::train::detail
