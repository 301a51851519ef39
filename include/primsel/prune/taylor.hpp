#pragma once

#include <primsel/core/error.hpp>
#include <primsel/network/graph.hpp>
#include <primsel/network/weights.hpp>
#include <primsel/prune/criterion.hpp>
#include <primsel/prune/detail/ranked_rows.hpp>
#include <primsel/train/batches.hpp>
#include <primsel/train/data.hpp>
#include <primsel/train/differentiate.hpp>
#include <primsel/train/loss.hpp>
#include <primsel/train/parameters.hpp>
#include <primsel/train/policies.hpp>
#include <primsel/train/training_step.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::prune {

/// The change of the loss, to first order, if a filter is removed: the absolute sum of its results times their
/// gradients over a batch, averaged over batches (Molchanov et al., Pruning convolutional neural networks for resource
/// efficient inference, 2017, equation 8). taylor() measures it. Throws error, naming the layer, if it was not
/// measured, or if channels that it reads are ranked instead of its filters.
struct Taylor {
    std::map<std::string, std::vector<double>, std::less<>> of_layers;

    void operator()(Filters const& filters, std::span<double> scores) const {
        const auto found = of_layers.find(filters.layer);
        if (found == of_layers.end()) fail("prune: no gradients were taken of layer ", filters.layer);
        if (found->second.size() != scores.size()) {
            fail("prune: layer ", filters.layer, " has gradients of ", found->second.size(), " filters, not of ",
                 scores.size());
        }
        std::ranges::copy(found->second, scores.begin());
    }
};
static_assert(Criterion<Taylor>);

namespace detail {

/// Adds to sum i the products of weights and gradients in row i, or in column i if the weight is transposed.
inline void add_products(std::span<const float> values, std::span<const float> gradients, bool transposed,
                         std::span<double> sums) {
    const std::size_t size = values.size() / sums.size();
    for (std::size_t i = 0; i < values.size(); ++i) {
        sums[transposed ? i % sums.size() : i / size] +=
            static_cast<double>(values[i]) * static_cast<double>(gradients[i]);
    }
}

}  // namespace detail

/// Measures the criterion on up to `batches` batches of images in the source's order; a batch has as many images as the
/// graph's. A filter's results are linear in its weights, so the sum of its results times their gradients equals that
/// of its weights and bias times theirs. If a batch norm follows, the batch norm's weights and results are used. Throws
/// error as differentiate does, and if the images do not fit the network.
template <class Policies = DefaultTraining, DataSource Source, Loss L = SoftmaxCrossEntropy>
[[nodiscard]] Taylor taylor(Graph const& graph, Weights const& weights, Source const& source,
                            Normalise const& normalise = {}, std::size_t batches = 16, L const& loss = {}) {
    check_fits("prune", source, graph[graph.input()].shape, graph[graph.output_node()].shape.size());
    Parameters parameters(graph, weights);
    TrainingStep<Policies> step(differentiate(graph), parameters, Predict<>{}, {});
    std::map<std::string, const TrainedWeight*, std::less<>> trained;
    for (TrainedWeight const& weight : step.trained()) trained.emplace(weight.name, &weight);
    const std::vector<std::size_t> uses = graph.uses();
    const auto owners = weight_owners(graph);
    Taylor result;
    std::size_t taken = 0;
    Batches<Source> images(source, {.batch = graph.batch(), .shuffle = false, .epochs = 1}, normalise);
    for (Batch batch = images.next(); batch.count > 0 && taken < batches; batch = images.next(), ++taken) {
        step.run(batch.images, batch.labels, loss);
        for (std::size_t i = 0; i < graph.size(); ++i) {
            if (!detail::makes_channels(graph, i)) continue;
            std::vector<double> sums(static_cast<std::size_t>(graph[i].shape.c), 0.0);
            std::string const& judged = graph[detail::norm_behind(graph, i, uses).value_or(i)].name;
            for (const std::string_view part : {".weight", ".bias"}) {
                const std::string name = judged + std::string(part);
                const auto owner = owners.find(name);
                const bool shared = owner != owners.end();
                const auto found = trained.find(shared ? owner->second.name : name);
                if (found == trained.end()) continue;
                TrainedWeight const& weight = *found->second;
                if (name == graph[i].name + ".weight" && detail::has_rows_of_channels(graph[i].layer)) {
                    detail::add_products(detail::by_columns(graph, i, weight.values),
                                         detail::by_columns(graph, i, weight.gradient), false, sums);
                } else {
                    detail::add_products(weight.values, weight.gradient, shared && owner->second.transposed, sums);
                }
            }
            std::vector<double>& scores = result.of_layers[graph[i].name];
            scores.resize(sums.size(), 0.0);
            for (std::size_t k = 0; k < sums.size(); ++k) scores[k] += std::abs(sums[k]);
        }
    }
    for (auto& [layer, scores] : result.of_layers) {
        for (double& score : scores) score /= static_cast<double>(taken);
    }
    return result;
}

}  // namespace primsel::inline PRIMSEL_ABI::prune
