#pragma once

#include <primsel/core/statistics.hpp>
#include <primsel/core/timer.hpp>
#include <primsel/engine/program.hpp>
#include <primsel/pbqp/exact.hpp>
#include <primsel/pbqp/greedy.hpp>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

/// A plan and the median of its measured times.
struct ComparedPlan {
    std::string name;
    Plan plan;
    double seconds = 0;
};

/// The plan, greedy (each layer's own cheapest primitive, whatever the changes of layout cost) and, for each family
/// that can compute something, the uniform plan that uses the family wherever it can and im2 where it cannot.
template <CostModel Model>
[[nodiscard]] std::vector<ComparedPlan> rival_plans(Graph const& simplified, Kernels const& kernels, Model& model) {
    std::vector<ComparedPlan> plans;
    plans.push_back({"plan", make_plan(simplified, kernels, model, ExactPbqp{})});
    plans.push_back({"greedy", make_plan(simplified, kernels, model, GreedyPbqp{})});
    std::vector<Family> families;
    for (PrimitiveEntry const& entry : kernels.primitives) {
        if (std::ranges::find(families, entry.family) == families.end()) families.push_back(entry.family);
    }
    for (const Family family : families) {
        Plan plan = make_plan(simplified, kernels, model, ExactPbqp{}, {.family = family});
        const bool used = std::ranges::any_of(plan.layers, [&](PlannedLayer const& layer) {
            const auto primitive = kernels.find_if_any(layer.primitive);
            return primitive && kernels.primitives[*primitive].family == family;
        });
        if (used) plans.push_back({"uniform " + std::string(to_string_view(family)), std::move(plan)});
    }
    return plans;
}

/// Runs the plans in turns, `rounds` times each, and stores each one's median. Of two runs one after the other the
/// second counts: the first finds the caches as another plan left them.
inline void time_plans(std::vector<ComparedPlan>& plans, Graph const& simplified, Kernels const& kernels,
                       Weights const& weights, ExecutorRef executor, std::size_t rounds) {
    std::vector<std::unique_ptr<Program>> programs;
    for (ComparedPlan const& plan : plans) {
        programs.push_back(std::make_unique<Program>(simplified, kernels, plan.plan, weights, executor.concurrency()));
    }
    std::vector<float> src(programs[0]->in_floats()), dst(programs[0]->out_floats());
    for (std::size_t i = 0; i < src.size(); ++i) src[i] = static_cast<float>((i * 2654435761U >> 16) & 255U) / 255.0F;
    std::vector<std::vector<double>> seconds(plans.size());
    for (std::size_t round = 0; round < rounds; ++round) {
        for (std::size_t i = 0; i < plans.size(); ++i) {
            programs[i]->run(src.data(), dst.data(), executor);
            const Timer timer;
            programs[i]->run(src.data(), dst.data(), executor);
            seconds[i].push_back(timer.seconds());
        }
    }
    for (std::size_t i = 0; i < plans.size(); ++i) plans[i].seconds = median(std::move(seconds[i]));
}

}  // namespace primsel::inline PRIMSEL_ABI
