#pragma once

#include <primsel/core/statistics.hpp>
#include <primsel/core/timer.hpp>
#include <primsel/engine/program.hpp>
#include <primsel/forecast/detail/child_process.hpp>
#include <primsel/forecast/engine_forecast.hpp>
#include <primsel/machine/measure_machine.hpp>
#include <primsel/network/prepare.hpp>

#include <cstddef>
#include <limits>
#include <optional>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::forecast {

struct MeasureOptions {
    /// true: measures a training step with momentum, including the update. false: measures an inference run.
    bool training = false;
    /// The number of timed runs, after one untimed warm-up. Must be at least 1.
    std::size_t runs = 5;
    /// A network whose forecast exceeds this is not run. The measuring process may allocate at most 1.5 times this.
    std::size_t max_bytes = std::numeric_limits<std::size_t>::max();
};

/// The outcome of measuring a network.
struct NetworkMeasurement {
    enum class Outcome { measured, too_large, failed };
    Outcome outcome = Outcome::failed;
    /// Forecast by the plan, and measured: the median, at the clock for which the plan predicts (relative_clock).
    double predicted_seconds = 0, seconds = 0;
    /// Forecast by the plan; what engine or trainer say that they hold; and by how much the process grew at its
    /// largest.
    std::size_t forecast_bytes = 0, held_bytes = 0, resident_bytes = 0;
};

namespace detail {

/// The answer of the process that measures.
struct MeasuredRun {
    double seconds = 0;
    std::size_t held = 0, resident = 0;
};

/// The median of timed calls, behind one that is not: what they take at the clock at which the machine was measured.
[[nodiscard]] double median_seconds(std::size_t runs, auto const& run) {
    Machine const& machine = this_machine<>();
    run();
    std::vector<double> seconds;
    double before = relative_clock<>(machine);
    for (std::size_t i = 0; i < runs; ++i) {
        const Timer timer;
        run();
        const double taken = timer.seconds(), after = relative_clock<>(machine);
        seconds.push_back(taken * (before + after) / 2);
        before = after;
    }
    return median(std::move(seconds));
}

[[nodiscard]] inline MeasuredRun measure_inference(Graph const& graph, Weights const& weights,
                                                   std::vector<float> const& images, std::size_t runs) {
    const std::size_t before = peak_resident_bytes();
    const Graph simple = simplify(graph);
    const Kernels kernels = policy_kernels<DefaultPolicies>();
    const Plan plan = Predict<>().plan<DefaultPolicies>(simple, kernels, 1);
    Program program(simple, kernels, plan, weights, 1);
    std::vector<float> result(program.out_floats(0));
    Sequential here;
    MeasuredRun of{.held = program.arena_bytes() + program.weight_bytes()};
    of.seconds = median_seconds(runs, [&] { program.run(images.data(), result.data(), here); });
    of.resident = peak_resident_bytes() - before;
    return of;
}

[[nodiscard]] inline MeasuredRun measure_training(Graph const& graph, Weights const& weights,
                                                  std::vector<float> const& images, std::size_t runs) {
    const std::size_t before = peak_resident_bytes();
    Trainer<Graph> trainer(graph, weights, {.batch = graph.batch()}, {.optimizer = {.momentum = 0.9}});
    const std::vector<float> labels(static_cast<std::size_t>(graph.batch()), 0.0F);
    MeasuredRun of{.held = trainer.memory_bytes()};
    of.seconds = median_seconds(runs, [&] { (void)trainer.step(images, labels, 1e-4); });
    of.resident = peak_resident_bytes() - before;
    return of;
}

}  // namespace detail

/// Runs the network, or steps of its training, on one thread with random weights and measures time and memory, in a
/// process of its own. Throws error where it cannot be planned or differentiated.
[[nodiscard]] inline NetworkMeasurement measure_network(Graph const& graph, MeasureOptions const& options = {}) {
    if (options.runs < 1) fail("forecast: a measurement of no runs");
    const EngineForecast forecast = options.training
                                        ? forecast_training(graph, {.batch = graph.batch()}, {.momentum = 0.9})
                                        : forecast_inference(graph);
    NetworkMeasurement result{.predicted_seconds = forecast.seconds, .forecast_bytes = forecast.memory.total()};
    if (result.forecast_bytes > options.max_bytes) {
        result.outcome = NetworkMeasurement::Outcome::too_large;
        return result;
    }
    // Made here: what the process inherits is not counted as its growth.
    const Weights weights = random_weights(graph);
    std::vector<float> images(static_cast<std::size_t>(graph.batch()) * graph[graph.input()].shape.size());
    for (std::size_t i = 0; i < images.size(); ++i) images[i] = static_cast<float>(i * 31 % 97) / 97.0F - 0.5F;
    const auto work = [&] {
        return options.training ? detail::measure_training(graph, weights, images, options.runs)
                                : detail::measure_inference(graph, weights, images, options.runs);
    };
    detail::return_freed_memory();
    constexpr std::size_t unbounded = std::numeric_limits<std::size_t>::max();
    const std::size_t most = options.max_bytes > unbounded / 2 ? unbounded : options.max_bytes / 2 * 3;
    if (const std::optional<detail::MeasuredRun> of = detail::in_child(work, most)) {
        result.outcome = NetworkMeasurement::Outcome::measured;
        result.seconds = of->seconds, result.held_bytes = of->held, result.resident_bytes = of->resident;
    }
    return result;
}

}  // namespace primsel::inline PRIMSEL_ABI::forecast
