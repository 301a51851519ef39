// Gradient checkpointing: layers of the forward pass are computed again where the backward pass needs them, in the
// place of being kept. Chen et al., "Training Deep Nets with Sublinear Memory Cost", 2016; which layers, their cost
// decides.
#pragma once

#include <primsel/core/error.hpp>
#include <primsel/engine/fit.hpp>
#include <primsel/network/graph.hpp>
#include <primsel/network/graph_editor.hpp>
#include <primsel/train/detail/kept_results.hpp>
#include <primsel/train/training_graph.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

/// Returns the step with the layers that `again` marks, all before `backward`, recomputed just before the first layer
/// from `backward` on that reads them. A recomputed layer has the original's name with again_suffix, and the original's
/// weights under that name.
[[nodiscard]] inline Graph recompute(Graph const& step, std::size_t backward, std::vector<bool> const& again) {
    GraphEditor editor(step);
    std::vector<std::size_t> copy(step.size());
    const auto replaced = [&](std::vector<std::size_t> inputs) {
        for (std::size_t& input : inputs) {
            if (input < backward && again[input]) input = copy[input];
        }
        return inputs;
    };
    for (std::size_t i = 0; i < backward; ++i) {
        if (!again[i]) continue;
        copy[i] = editor.insert(step[i].name + std::string(again_suffix), step[i].layer, replaced(step[i].inputs));
        editor.set_epilogue(copy[i], step[i].epilogue);
    }
    for (std::size_t i = backward; i < step.size(); ++i) editor.rewire(i, replaced(step[i].inputs));
    editor.remove_unneeded();
    Graph result = editor.graph();
    auto trainable = step.trainable();
    for (std::size_t i = 0; i < backward; ++i) {
        if (!again[i]) continue;
        for (std::string const& weight : step.trainable()) {
            if (weight.starts_with(step[i].name + '.'))
                trainable.insert(step[i].name + std::string(again_suffix) + weight.substr(step[i].name.size()));
        }
    }
    result.set_trainable(std::move(trainable));
    return result;
}

/// A step and its plan.
struct PlannedStep {
    Graph graph;
    Plan plan;
};

/// Returns the step and a plan whose arena takes at most max_arena bytes. While the arena is larger, more layers are
/// recomputed: first those with the least cost per byte saved. make(graph) plans; `backward` names the first layer of
/// the backward pass. Throws error, with the smallest arena found, if no such plan is found.
template <class Make>
[[nodiscard]] PlannedStep fitting_step(Graph const& step, std::string_view backward, Kernels const& kernels,
                                       Make const& make, std::size_t workers, std::size_t max_arena) {
    PlannedStep result{step, make(step)};
    std::size_t bytes = arena_bytes(step, kernels, result.plan, workers), smallest = bytes;
    if (bytes <= max_arena) return result;
    const std::size_t first = step.find(backward);
    train::detail::KeptResults kept(step, first, result.plan, make_schedule(step, kernels, result.plan, workers));
    for (;;) {
        const std::size_t expected = kept.most_bytes(), over = bytes - max_arena;
        if (expected <= over || !kept.reduce(expected - over)) {
            fail("train: no step found needs at most ", max_arena, " bytes of arena; the smallest needs ", smallest);
        }
        result.graph = recompute(step, first, kept.again());
        result.plan = make(result.graph);
        bytes = arena_bytes(result.graph, kernels, result.plan, workers);
        smallest = std::min(smallest, bytes);
        if (bytes <= max_arena) return result;
    }
}

/// Returns, for each layer of `step`, whether the plan recomputes it. Only layers before `backward` can be.
[[nodiscard]] inline std::vector<bool> recomputed_in(Plan const& plan, Graph const& step, std::size_t backward) {
    std::vector<bool> again(step.size(), false);
    for (std::size_t i = 0; i < backward; ++i) {
        again[i] = std::ranges::find(plan.layers, step[i].name + std::string(again_suffix), &PlannedLayer::name) !=
                   plan.layers.end();
    }
    return again;
}

/// Seconds of a plan that go to recomputed layers.
[[nodiscard]] inline double recomputing_seconds(Plan const& plan) {
    double seconds = 0;
    for (PlannedLayer const& layer : plan.layers) {
        if (layer.name.ends_with(again_suffix)) seconds += layer.seconds;
    }
    return seconds;
}

}  // namespace primsel::inline PRIMSEL_ABI
