#pragma once

#include <primsel/core/finite.hpp>
#include <primsel/core/visit.hpp>
#include <primsel/cost/cost_model.hpp>
#include <primsel/kernels/kernels.hpp>
#include <primsel/network/graph.hpp>
#include <primsel/plan/conv_shape_of.hpp>
#include <primsel/plan/questions.hpp>
#include <primsel/prune/detail/passes_channels.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <map>
#include <span>
#include <utility>
#include <variant>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::prune::detail {

/// A layer with other numbers of channels, the shapes of its inputs, and that of its result.
struct ThinLayer {
    AnyLayer layer;
    std::vector<Shape> inputs;
    Shape output;
};
/// `counts`: the channels that are left of each layer's result.
[[nodiscard]] inline ThinLayer thin_layer(Graph const& graph, std::size_t i, std::span<const int> counts) {
    Node const& node = graph[i];
    ThinLayer thin{node.layer, graph.input_shapes(i), node.shape};
    thin.output.c = counts[i];
    for (std::size_t place = 0; place < node.inputs.size(); ++place) thin.inputs[place].c = counts[node.inputs[place]];
    const auto set = [&]<class Params>(Params& layer) {
        if constexpr (Convolves<Params>) {
            if (layer.groups > 1 && is_depthwise(layer, graph[node.inputs[0]].shape.c)) layer.groups = thin.inputs[0].c;
        }
        if constexpr (Convolves<Params> || std::same_as<Params, DenseParams>) layer.k = counts[i];
    };
    core::visit(set, thin.layer);
    return thin;
}

/// The number of channels of each layer's result.
[[nodiscard]] inline std::vector<int> channels_of(Graph const& graph) {
    std::vector<int> channels;
    for (Node const& node : graph.nodes()) channels.push_back(node.shape.c);
    return channels;
}

/// The predicted seconds of a layer by its cheapest primitive, whatever the layouts around it. The model is asked once
/// for each pair of input and output channels.
template <CostModel Model>
class LayerPrices {
public:
    LayerPrices(Graph const& graph, Kernels const& kernels, Model& model)
        : graph_(graph), kernels_(kernels), questions_(graph, kernels), model_(model), known_(graph.size()) {}

    [[nodiscard]] double operator()(std::size_t i, std::span<const int> counts) {
        int read = 0;
        for (const std::size_t input : graph_[i].inputs) read += counts[input];
        const auto [place, is_new] = known_[i].try_emplace({read, counts[i]}, 0.0);
        if (is_new) place->second = ask(thin_layer(graph_, i, counts), questions_.context(i));
        return place->second;
    }

private:
    [[nodiscard]] double ask(ThinLayer const& thin, RunContext const& run) {
        std::vector<double> seconds;
        if (const auto* conv = std::get_if<ConvParams>(&thin.layer)) {
            const ConvShape shape = conv_shape_of(*conv, thin.inputs[0]);
            std::vector<ConvQuery> queries;
            for (std::size_t p = 0; p < kernels_.primitives.size(); ++p) {
                PrimitiveEntry const& entry = kernels_.primitives[p];
                if (entry.pass == Pass::forward && entry.supports(shape)) queries.push_back({shape, p, run});
            }
            seconds.resize(queries.size());
            model_.predict(kernels_, std::span<const ConvQuery>(queries), std::span(seconds));
        } else {
            std::vector<OpQuery> queries;
            for (std::size_t layout = 0; layout < kernels_.layouts.size(); ++layout) {
                if (kernels_.op(thin.layer, layout).run == nullptr) continue;
                queries.push_back({&thin.layer, thin.inputs, thin.output, layout, run});
            }
            seconds.resize(queries.size());
            model_.predict(kernels_, std::span<const OpQuery>(queries), std::span(seconds));
        }
        const auto least = std::ranges::min_element(seconds);
        return least == seconds.end() || !is_finite(*least) ? 0 : *least;
    }

    Graph const& graph_;
    Kernels const& kernels_;
    Questions questions_;
    Model& model_;
    std::vector<std::map<std::pair<int, int>, double>> known_;
};

}  // namespace primsel::inline PRIMSEL_ABI::prune::detail
