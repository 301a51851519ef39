// The error of a network's result for each layer that computes in less than floats, on images like those that it will
// see.
#pragma once

#include <primsel/core/executor.hpp>
#include <primsel/core/finite.hpp>
#include <primsel/engine/policies.hpp>
#include <primsel/engine/program.hpp>
#include <primsel/network/simplify.hpp>
#include <primsel/pbqp/exact.hpp>
#include <primsel/plan/precision_planner.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

/// Returns the sum of the squared differences over the sum of the expected values' squares; where these are all zero,
/// 0 for equal values and infinity for others.
[[nodiscard]] inline double relative_squared_error(std::span<const float> values, std::span<const float> expected) {
    double differences = 0, squares = 0;
    for (std::size_t i = 0; i < expected.size(); ++i) {
        const auto value = static_cast<double>(values[i]), right = static_cast<double>(expected[i]);
        differences += (value - right) * (value - right);
        squares += right * right;
    }
    return differences == 0 ? 0 : differences / squares;
}

namespace engine::detail {

/// All results of a plan for some images, one after another.
[[nodiscard]] inline std::vector<float> results_for(Graph const& graph, Kernels const& kernels, Plan const& plan,
                                                    Weights const& weights, std::span<const float> images,
                                                    ExecutorRef executor) {
    Program program(graph, kernels, plan, weights, executor.concurrency(), executor);
    const std::size_t batch = program.in_floats();
    if (images.empty() || images.size() % batch != 0) {
        fail("layer errors: ", images.size(), " values are no images of ", program.in_shapes()[0], " in batches of ",
             program.batch());
    }
    std::vector<std::vector<float>> results;
    std::vector<float*> dsts;
    for (std::size_t i = 0; i < program.out_shapes().size(); ++i) {
        dsts.push_back(results.emplace_back(program.out_floats(i)).data());
    }
    std::vector<float> all;
    for (std::size_t at = 0; at < images.size(); at += batch) {
        const float* const src = images.data() + at;
        program.run(std::span(&src, 1), dsts, executor);
        for (std::vector<float> const& result : results) all.insert(all.end(), result.begin(), result.end());
    }
    return all;
}

}  // namespace engine::detail

/// Measures, for each layer of a (simplified) graph and each type below float32 that it can run in, the error
/// (LayerError) of the network's results for some images when that layer alone runs in that type. A convolution rounds
/// what it reads and its weights; another layer also its result. images: one after another, as many as a batch or a
/// multiple. Runs the network once for each layer and type, and calls tick(runs made, runs in all) after each. A type
/// with which a result is not finite is left out. Throws error if the graph has not one input or its results in floats
/// are not finite, and as make_plan and Program do.
template <CostModel Model, class Tick>
[[nodiscard]] LayerErrors measure_layer_errors(Graph const& graph, Weights const& weights,
                                               std::span<const float> images, Kernels const& kernels, Model& model,
                                               ExecutorRef executor, Tick const& tick) {
    (void)graph.input();
    const bool ranged = std::ranges::any_of(graph.nodes(), [](Node const& node) { return node.range.known(); });
    const PrecisionPlanner planner(graph, kernels, model, ExactPbqp{},
                                   {.precision = ranged ? Precision::int8 : Precision::bf16,
                                    .strips = false,
                                    .workers = executor.concurrency(),
                                    .keep_candidates = false});
    std::vector<Precision> precisions(graph.size(), Precision::float32);
    const auto results = [&] {
        return engine::detail::results_for(graph, kernels, planner.exactly(precisions), weights, images, executor);
    };
    const std::vector<float> expected = results();
    if (!std::ranges::all_of(expected, [](float value) { return is_finite(value); })) {
        fail("layer errors: the network's results for these images are not finite in floats");
    }
    struct MeasuredRun {
        std::size_t layer;
        Precision precision;
    };
    std::vector<MeasuredRun> runs;
    for (std::size_t i = 0; i < graph.size(); ++i) {
        for (const Precision precision : {Precision::bf16, Precision::int8}) {
            if (planner.runs_in(i, precision)) runs.push_back({i, precision});
        }
    }
    LayerErrors errors;
    for (std::size_t done = 0; done < runs.size(); ++done) {
        auto const& [layer, precision] = runs[done];
        precisions[layer] = precision;
        const double error = relative_squared_error(results(), expected);
        precisions[layer] = Precision::float32;
        LayerError& own = errors[graph[layer].name];
        if (is_finite(error)) (precision == Precision::bf16 ? own.bf16 : own.int8) = error;
        tick(done + 1, runs.size());
    }
    return errors;
}

/// The same for a network as it is written, with the kernels and costs of policies such as LowPrecision.
template <class Policies>
[[nodiscard]] LayerErrors measure_layer_errors(Graph const& graph, Weights const& weights,
                                               std::span<const float> images) {
    typename Policies::cost_model model;
    typename Policies::executor executor;
    return measure_layer_errors(simplify(graph), weights, images, policy_kernels<Policies>(), model, executor,
                                [](std::size_t, std::size_t) {});
}

}  // namespace primsel::inline PRIMSEL_ABI
