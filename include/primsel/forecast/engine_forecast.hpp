#pragma once

#include <primsel/core/statistics.hpp>
#include <primsel/core/visit.hpp>
#include <primsel/engine/kernels_for.hpp>
#include <primsel/engine/predict.hpp>
#include <primsel/forecast/network_model.hpp>
#include <primsel/network/prepare.hpp>
#include <primsel/network/simplify.hpp>
#include <primsel/train/differentiate.hpp>
#include <primsel/train/policies.hpp>
#include <primsel/train/recompute.hpp>
#include <primsel/train/trainer.hpp>
#include <primsel/train/training_options.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <variant>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::forecast {

/// Bytes that an engine or trainer of this library holds; the images and the caller's results come on top.
struct MemoryForecast {
    std::size_t arena = 0;
    /// Weights in the form in which kernels read them.
    std::size_t packed = 0;
    /// For a training: the weights, the results of a step (gradients among them), and the optimiser's state.
    std::size_t weights = 0, results = 0, optimizer = 0;

    [[nodiscard]] std::size_t total() const { return arena + packed + weights + results + optimizer; }
};

/// Time and memory of a run or a step of training, from its plan alone: nothing is measured, and no memory is taken.
struct EngineForecast {
    double seconds = 0;
    MemoryForecast memory;
    /// The part of the seconds that the optimiser's update takes: the bytes that it moves, at the machine's bandwidth.
    double update_seconds = 0;
};

namespace detail {

/// Counts the bytes that a Program packs.
class PackedBytes {
public:
    explicit PackedBytes(Graph const& graph) : graph_(graph), owners_(weight_owners(graph)) {}

    /// The bytes of a step: none for a kernel that an earlier step packed in the same way.
    [[nodiscard]] std::size_t of(ScheduledStep const& step) {
        if (const auto* strips = std::get_if<StripsStep>(&step.work)) {
            std::size_t bytes = 0;
            for (ScheduledConv const& conv : strips->convs) bytes += of(conv, false);
            return bytes;
        }
        if (const auto* conv = std::get_if<ConvStep>(&step.work)) return of(conv->conv, conv->packed != no_tensor);
        const auto* op = std::get_if<OpStep>(&step.work);
        if (op == nullptr || op->op->packed_bytes == nullptr) return 0;
        Node const& node = graph_[step.node];
        const std::size_t packed = op->op->packed_bytes(node.layer, step.src_shapes[0]);
        return is_new(node.name + ".weight", op->op, packed) ? packed : 0;
    }

private:
    [[nodiscard]] std::size_t of(ScheduledConv const& conv, bool each_run_packs) {
        if (conv.primitive->pass == Pass::weight_gradient) return 0;
        Node const& node = graph_[conv.node];
        const bool in_place = !graph_.trainable().empty() && node.epilogue.folded.empty();
        if (in_place && each_run_packs) return 0;
        const std::size_t packed = conv.primitive->packed_bytes(conv.shape);
        if (!is_new(conv.kernel, conv.primitive, packed)) return 0;
        const bool own = core::visit(
            [](auto const& layer) {
                if constexpr (requires { layer.bias; }) return static_cast<bool>(layer.bias);
                return false;
            },
            node.layer);
        const bool bias = !in_place && (own || !node.epilogue.folded.empty());
        return packed + (bias ? static_cast<std::size_t>(node.shape.c) * sizeof(float) : 0);
    }
    [[nodiscard]] bool is_new(std::string const& weight, const void* how, std::size_t bytes) {
        if (!graph_.shared().contains(weight)) return true;
        const auto owner = owners_.find(weight);
        const WeightOwner of = owner == owners_.end() ? WeightOwner{weight} : owner->second;
        return packed_.emplace(of.name, of.transposed, how, bytes).second;
    }

    Graph const& graph_;
    std::map<std::string, WeightOwner, std::less<>> owners_;
    std::set<std::tuple<std::string, bool, const void*, std::size_t>> packed_;
};
/// Bytes that a Program packs, and of constants in the layout in which they are read.
[[nodiscard]] inline std::size_t packed_bytes(Graph const& graph, Kernels const& kernels, Schedule const& schedule) {
    std::size_t bytes = 0;
    for (StoredConstant const& constant : schedule.constants) {
        bytes += static_cast<std::size_t>(graph.batch()) *
                 kernels.layouts[constant.layout].image_bytes(graph[constant.node].shape);
    }
    PackedBytes packed(graph);
    for (ScheduledStep const& step : schedule.steps) bytes += packed.of(step);
    return bytes;
}
[[nodiscard]] inline std::size_t floats_of(WeightSpec const& spec) {
    std::size_t floats = 1;
    for (const std::int64_t extent : spec.dims) floats *= static_cast<std::size_t>(extent);
    return floats;
}

}  // namespace detail

/// The forecast of a run of an engine of the graph's batch. Throws error as planning does.
template <class Policies = DefaultPolicies>
[[nodiscard]] EngineForecast forecast_inference(Graph const& graph, std::size_t workers = 1) {
    const Graph simple = simplify(graph);
    const Kernels kernels = policy_kernels<Policies>();
    const Plan plan = Predict<>().template plan<Policies>(simple, kernels, workers);
    const Schedule schedule = make_schedule(simple, kernels, plan, workers);
    return {plan.total_seconds,
            {.arena = place_buffers(schedule).bytes, .packed = detail::packed_bytes(simple, kernels, schedule)}};
}

/// The forecast of a step of a Trainer with these options. Throws error as the trainer would. The time of the loss, a
/// few passes over the results, is not in it.
template <class Policies = DefaultTraining>
[[nodiscard]] EngineForecast forecast_training(Graph const& graph, TrainingOptions const& options,
                                               typename Policies::optimizer const& optimizer = {},
                                               std::size_t workers = 1) {
    check_training_options(options);
    const train::TrainsGroups trains{options.groups};
    const TrainingGraph step = differentiate(graph, trains);
    const Kernels kernels = policy_kernels<Policies, CompileTraining>();
    const auto make = [&](Graph const& of) { return Predict<>().template plan<Policies>(of, kernels, workers); };
    const PlannedStep planned =
        fitting_step(simplify(step.graph), step.gradient, kernels, make, workers, options.max_arena);
    const Schedule schedule = make_schedule(planned.graph, kernels, planned.plan, workers);
    const auto images = static_cast<std::size_t>(graph.batch());

    std::size_t weights = 0, trained = 0, results = 0;
    const auto owners = weight_owners(graph);
    for (WeightSpec const& spec : weight_specs(graph)) {
        const auto owner = owners.find(spec.name);
        if (owner == owners.end() || owner->second.transposed) weights += detail::floats_of(spec);
    }
    for (Node const& node : planned.graph.nodes()) {
        const bool made = std::holds_alternative<ParameterParams>(node.layer) &&
                          (node.name.ends_with(running_suffix) || node.name.ends_with(zero_suffix));
        if (made) weights += node.shape.size();
    }
    if (!step.seed.empty()) weights += 2;
    std::size_t summed = 0;  // gradients of shared weights
    for (WeightSpec const& spec : own_weight_specs(graph)) {
        const std::size_t floats = detail::floats_of(spec);
        std::size_t parts = 0;
        bool transposed = false;
        for (WeightGradient const& of : step.weights) {
            if (of.weight != spec.name) continue;
            ++parts, transposed = of.transposed;
        }
        if (parts > 0) trained += floats;
        if (parts > 1 || transposed) summed += floats;
    }
    for (const std::size_t output : planned.graph.outputs()) {
        Node const& node = planned.graph[output];
        results += (of_batch(node.layer) ? 1 : images) * kernels.layouts[0].size(node.shape);
    }
    results += images * kernels.layouts[0].size(planned.graph[planned.graph.inputs()[1]].shape) + summed;
    const std::size_t sums = options.parts() > 1 ? trained : 0;
    // The gradient is read, weights and what is remembered of each are read and written.
    const auto floats = static_cast<double>(trained), states = static_cast<double>(optimizer.state_per_weight());
    const double update = floats * sizeof(float) * (3 + 2 * states) /
                          kernels.machine(1).bandwidth_for(floats * sizeof(float) * (2 + states));
    return {planned.plan.total_seconds * options.parts() + update,
            {.arena = place_buffers(schedule).bytes,
             .packed = detail::packed_bytes(planned.graph, kernels, schedule),
             .weights = weights * sizeof(float),
             .results = results * sizeof(float),
             .optimizer = (trained * optimizer.state_per_weight() + sums) * sizeof(float)},
            update};
}

/// A forecast of seconds, corrected by a few real runs: their median. The deviation is that of the median, from the
/// runs' spread; with one run there is no spread, and half of what it corrects is taken.
/// Throws error where nothing was measured.
[[nodiscard]] inline Estimate corrected_by(double expected, std::span<const double> measured) {
    if (measured.empty() || !(expected > 0)) fail("forecast: nothing to correct by");
    const double middle = median({measured.begin(), measured.end()});
    if (measured.size() == 1) return {middle, 0.5 * std::abs(middle - expected)};
    std::vector<double> apart;
    for (const double seconds : measured) apart.push_back(std::abs(seconds - middle));
    // 1.4826 and 1.2533 for normal errors: from the median of distances to a deviation, and to that of a median.
    return {middle, 1.4826 * 1.2533 * median(apart) / std::sqrt(static_cast<double>(measured.size()))};
}

}  // namespace primsel::inline PRIMSEL_ABI::forecast
