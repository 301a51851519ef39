#pragma once

#include <primsel/core/error.hpp>
#include <primsel/engine/kernels_for.hpp>
#include <primsel/engine/policies.hpp>
#include <primsel/engine/predict.hpp>
#include <primsel/engine/program.hpp>
#include <primsel/network/simplify.hpp>
#include <primsel/train/batches.hpp>
#include <primsel/train/data.hpp>
#include <primsel/train/metrics.hpp>

#include <cstddef>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

/// Returns the Metrics of a network on the images of a source; the weights do not change. The network has one input and
/// one result per class for each image. It runs graph.batch() images at once. Throws error if the images or their
/// classes do not fit the network.
template <class Policies = DefaultPolicies, DataSource Source>
[[nodiscard]] Metrics judge(Graph const& graph, Weights const& weights, Source const& source,
                            Normalise const& normalise = {}, typename Policies::executor run_on = {}) {
    const Graph simple = simplify(graph);
    const Kernels kernels = policy_kernels<Policies, CompileAll>();
    const std::size_t workers = run_on.concurrency();
    const Plan plan = Predict<>().template plan<Policies>(simple, kernels, workers);
    Program program(simple, kernels, plan, weights, workers);
    const std::size_t results = program.out_floats(0) / static_cast<std::size_t>(graph.batch());
    if (source.shape() != graph[graph.input()].shape || static_cast<std::size_t>(source.classes()) > results) {
        fail("judge: images of ", to_string(source.shape()), " and ", source.classes(), " classes; the network takes ",
             to_string(graph[graph.input()].shape), " and has ", results, " results");
    }
    std::vector<float> values(program.out_floats(0));
    Metrics metrics(static_cast<int>(results));
    Batches<Source> batches(source, evaluation_batches(graph.batch()), normalise);
    for (Batch batch = batches.next(); batch.count > 0; batch = batches.next()) {
        program.run(batch.images.data(), values.data(), run_on);
        metrics.add(values, batch.labels);
    }
    return metrics;
}

}  // namespace primsel::inline PRIMSEL_ABI
