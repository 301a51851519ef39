#pragma once

#include <primsel/engine/schedule.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

/// Bytes of the arena that a plan needs with so many workers.
[[nodiscard]] inline std::size_t arena_bytes(Graph const& graph, Kernels const& kernels, Plan const& plan,
                                             std::size_t workers) {
    return place_buffers(make_schedule(graph, kernels, plan, workers)).bytes;
}

namespace engine::detail {

/// The step at which the most bytes of the arena are alive.
[[nodiscard]] inline std::size_t fullest_step(Schedule const& schedule) {
    std::vector<std::size_t> alive(schedule.steps.size(), 0);
    for (Lifetime const& lifetime : schedule.lifetimes) {
        for (std::size_t step = lifetime.first; step <= lifetime.last && step < alive.size(); ++step) {
            alive[step] += round_up_bytes(lifetime.bytes);
        }
    }
    return static_cast<std::size_t>(std::ranges::max_element(alive) - alive.begin());
}

/// The convolutions whose choice of primitive the bytes alive at a step depend on: whose scratch they are, or whose
/// wish for a layout made a copy. The largest first.
[[nodiscard]] inline std::vector<std::size_t> responsible(Schedule const& schedule, Graph const& graph,
                                                          std::size_t at) {
    std::vector<std::pair<std::size_t, std::size_t>> found;  // bytes, node
    const auto alive = [&](std::size_t tensor) {
        if (tensor == no_tensor || tensor < schedule.callers()) return std::size_t{0};
        Lifetime const& lifetime = schedule.lifetimes[tensor - schedule.callers()];
        return lifetime.first <= at && at <= lifetime.last ? lifetime.bytes : 0;
    };
    const auto blame = [&](std::size_t node, std::size_t bytes) {
        if (bytes > 0 && std::holds_alternative<ConvParams>(graph[node].layer)) found.emplace_back(bytes, node);
    };
    for (ScheduledStep const& step : schedule.steps) {
        blame(step.node, alive(step.scratch()));
        if (!step.is<TransformStep>()) continue;
        // The one who wrote it in another layout, and those who read the copy.
        blame(step.node, alive(step.dst));
        for (ScheduledStep const& reader : schedule.steps) {
            if (reader.residual() == step.dst || std::ranges::find(reader.src, step.dst) != reader.src.end()) {
                blame(reader.node, alive(step.dst));
            }
        }
    }
    std::ranges::stable_sort(found, [](auto const& a, auto const& b) { return a.first > b.first; });
    std::vector<std::size_t> nodes;
    for (auto const& [bytes, node] : found) nodes.push_back(node);
    return nodes;
}

/// The factor by which threads that share layers must be predicted to be faster than threads that run images of their
/// own: those took 1.0 to 1.6 times as long as predicted, these 0.99 to 1.12 times
/// (bench/results/2026-11-30-servers.md). Whoever shares waits for the slowest at the end of every loop.
inline constexpr double sharing_doubt = 1.15;

/// A plan by which workers share each layer, within options.max_arena.
template <CostModel Model, Solver S>
[[nodiscard]] Plan shared_fitting_plan(Graph const& graph, Kernels const& kernels, Model& model, S const& solver,
                                       PlanOptions options, std::size_t workers) {
    options.workers = workers;
    Plan plan = make_plan(graph, kernels, model, solver, options);
    if (options.max_arena == PlanOptions{}.max_arena) return plan;
    std::size_t smallest = PlanOptions{}.max_arena;
    const std::size_t given = options.refused.size();
    const double bound = plan.bound_seconds;
    for (;;) {
        const Schedule schedule = make_schedule(graph, kernels, plan, workers);
        const std::size_t bytes = place_buffers(schedule).bytes;
        if (bytes <= options.max_arena) {
            // A cheaper plan may fit, had others been refused.
            if (options.refused.size() > given) plan.optimal = false, plan.bound_seconds = bound;
            return plan;
        }
        smallest = std::min(smallest, bytes);
        const std::size_t step = engine::detail::fullest_step(schedule);
        std::optional<std::size_t> refused;
        for (const std::size_t node : engine::detail::responsible(schedule, graph, step)) {
            const auto left = std::ranges::count_if(
                plan.layers[node].candidates, [](Candidate const& candidate) { return candidate.refusal.empty(); });
            if (left > 1) {
                refused = node;
                break;
            }
        }
        if (!refused) {
            fail("plan: no plan found needs at most ", options.max_arena, " bytes of arena; the smallest needs ",
                 smallest, ", and is fullest at layer ", graph[schedule.steps[step].node].name);
        }
        options.refused.push_back({graph[*refused].name, plan.layers[*refused].primitive,
                                   "the arena would exceed " + std::to_string(options.max_arena) + " bytes"});
        const double predict_seconds = plan.predict_seconds, solve_seconds = plan.solve_seconds;
        plan = make_plan(graph, kernels, model, solver, options);
        plan.predict_seconds += predict_seconds;
        plan.solve_seconds += solve_seconds;
    }
}

}  // namespace engine::detail

/// make_plan within options.max_arena: as long as the arena is too large, the primitive that fills it most where it is
/// fullest is refused to its layer, and the rest solved anew. Throws error when nothing is left to refuse, and says how
/// small the arena became. The result need not be the cheapest that fits: who is refused is chosen greedily. Threads
/// share each layer, or run images of a batch apart if that fits and sharing is not predicted to be clearly faster.
template <CostModel Model, Solver S>
[[nodiscard]] Plan make_fitting_plan(Graph const& graph, Kernels const& kernels, Model& model, S const& solver,
                                     PlanOptions options, std::size_t workers) {
    Plan plan = engine::detail::shared_fitting_plan(graph, kernels, model, solver, options, workers);
    const std::size_t parts = parts_of_batch(graph, workers);
    if (parts == 1 || !options.images_apart) return plan;
    options.workers = 1, options.apart = parts;
    Plan apart = make_plan(part_of_batch(graph, parts), kernels, model, solver, options);
    apart.key = plan.key, apart.images_apart = true;
    apart.predict_seconds += plan.predict_seconds, apart.solve_seconds += plan.solve_seconds;
    plan.predict_seconds = apart.predict_seconds, plan.solve_seconds = apart.solve_seconds;
    const bool faster = apart.total_seconds < engine::detail::sharing_doubt * plan.total_seconds;
    if (faster && arena_bytes(graph, kernels, apart, workers) <= options.max_arena) return apart;
    return plan;
}

}  // namespace primsel::inline PRIMSEL_ABI
