#pragma once

#include <primsel/core/finite.hpp>
#include <primsel/core/statistics.hpp>
#include <primsel/core/visit.hpp>
#include <primsel/engine/fit.hpp>
#include <primsel/engine/predict.hpp>
#include <primsel/measure/calibration.hpp>
#include <primsel/measure/measured.hpp>
#include <primsel/measure/profiler.hpp>
#include <primsel/measure/refine.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::measure {

namespace detail {

/// The earlier measurements that say most about a graph: all of its own convolutions, then the latest of others; as
/// many as are learned from within a fraction of a second.
[[nodiscard]] inline std::vector<learn::Sample> relevant_samples(std::vector<learn::Sample> const& samples,
                                                                 Graph const& graph) {
    constexpr std::size_t most = 400;
    std::vector<ConvShape> own;
    for (std::size_t i = 0; i < graph.size(); ++i) {
        if (std::holds_alternative<ConvParams>(graph[i].layer)) own.push_back(conv_shape_of(graph, i));
    }
    std::vector<learn::Sample> latest_first(samples.rbegin(), samples.rend());
    const auto others = std::stable_partition(
        latest_first.begin(), latest_first.end(),
        [&](learn::Sample const& sample) { return std::ranges::find(own, sample.shape) != own.end(); });
    const auto own_count = static_cast<std::size_t>(others - latest_first.begin());
    latest_first.resize(std::min(latest_first.size(), std::max(own_count, most)));
    return latest_first;
}

/// Tells a model what is known already; the latest time of each.
template <CostModel Model>
void learn_samples(Corrected<Model>& model, Kernels const& kernels, std::vector<learn::Sample> const& latest_first) {
    std::vector<ConvQuery> queries;
    std::vector<double> seconds;
    for (learn::Sample const& sample : latest_first) {
        const auto primitive = kernels.find_if_any(sample.primitive);
        if (!primitive || !kernels.primitives[*primitive].supports(sample.shape)) continue;
        const ConvQuery query{sample.shape, *primitive};
        const bool twice = std::ranges::any_of(queries, [&](ConvQuery const& other) {
            return other.primitive == query.primitive && other.shape == query.shape;
        });
        if (twice) continue;
        queries.push_back(query);
        seconds.push_back(sample.seconds);
    }
    model.learn(kernels, queries, seconds);
    model.update();
}

/// Names of what was asked, for as long as its answer holds.
[[nodiscard]] inline std::string name_of(Kernels const& kernels, TransformQuery const& query) {
    return join(kernels.layouts[query.from].name, "-to-", kernels.layouts[query.to].name, ' ', to_string(query.shape),
                " x ", query.run.batch);
}
[[nodiscard]] inline std::string name_of(Kernels const& kernels, OpQuery const& query) {
    network::Fingerprint print;
    print.add(query.layer->index());
    core::visit([&](auto const& params) { print.add(params); }, *query.layer);
    for (Shape const& shape : query.inputs) print.add(shape);
    return join(layer_kind(*query.layer), ' ', print.text(), " x ", query.run.batch, ' ',
                kernels.layouts[query.layout].name);
}

/// Predicts convolutions by another model, and times layout transforms and other layers: those with the shortest
/// predicted time first, for `seconds` seconds per kind. Predictions of what was not timed are multiplied by the median
/// of measured / predicted.
template <CostModel Model>
class WithMeasuredLayers {
public:
    static constexpr std::string_view name = Model::name;

    WithMeasuredLayers(Model& model, Profiler<>& profiler, Calibration& calibration, double seconds)
        : model_(&model), profiler_(&profiler), calibration_(&calibration), left_{seconds, seconds} {}

    void predict(Kernels const& kernels, std::span<const ConvQuery> queries, std::span<double> seconds) {
        model_->predict(kernels, queries, seconds);
    }
    void predict(Kernels const& kernels, std::span<const TransformQuery> queries, std::span<double> seconds) {
        answer(kernels, queries, seconds, left_[0]);
    }
    void predict(Kernels const& kernels, std::span<const OpQuery> queries, std::span<double> seconds) {
        answer(kernels, queries, seconds, left_[1]);
    }

private:
    [[nodiscard]] double time(Kernels const&, TransformQuery const& query) {
        return query.run.batch * profiler_->transform(query.shape, query.from, query.to);
    }
    [[nodiscard]] double time(Kernels const& kernels, OpQuery const& query) {
        double seconds = 0;
        measured_.predict(kernels, std::span(&query, 1), std::span(&seconds, 1));
        return seconds;
    }

    template <class Query>
    void answer(Kernels const& kernels, std::span<const Query> queries, std::span<double> seconds, double& left) {
        model_->predict(kernels, queries, seconds);
        std::vector<std::size_t> quickest(queries.size());
        for (std::size_t i = 0; i < quickest.size(); ++i) quickest[i] = i;
        std::ranges::stable_sort(quickest, [&](std::size_t a, std::size_t b) { return seconds[a] < seconds[b]; });
        std::vector<double> factors;
        std::vector<std::size_t> unknown;
        for (const std::size_t i : quickest) {
            const std::string asked = name_of(kernels, queries[i]);
            double known = calibration_->find(asked);
            if (!(known > 0) && left > 0) {
                const Timer timer;
                known = time(kernels, queries[i]);
                left -= timer.seconds();
                if (known > 0) calibration_->add(asked, known);
            }
            if (!(known > 0)) {
                unknown.push_back(i);
                continue;
            }
            if (seconds[i] > 0) factors.push_back(known / seconds[i]);
            seconds[i] = known;
        }
        if (factors.empty()) return;
        const double usual = median(std::move(factors));
        for (const std::size_t i : unknown) seconds[i] *= usual;
    }

    Model* model_;
    Profiler<>* profiler_;
    Calibration* calibration_;
    Measured measured_;
    double left_[2];
};

/// A model that measurements on one thread correct, for several: in the proportion that another one predicts.
template <CostModel Model, CostModel Uncorrected>
class ScaledToThreads {
public:
    static constexpr std::string_view name = Model::name;

    ScaledToThreads(Model& model, Uncorrected& uncorrected) : model_(&model), uncorrected_(&uncorrected) {}

    template <class Query>
    void predict(Kernels const& kernels, std::span<const Query> queries, std::span<double> seconds) {
        std::vector<Query> one(queries.begin(), queries.end());
        for (Query& query : one) query.run.threads = query.run.apart = 1;
        model_->predict(kernels, std::span<const Query>(one), seconds);
        scale_to_threads(*uncorrected_, kernels, queries, seconds);
    }

private:
    Model* model_;
    Uncorrected* uncorrected_;
};

}  // namespace detail

/// A plan, and how measurements changed it.
struct CalibratedPlan {
    Plan plan;
    std::vector<RefineStep> steps;
    /// Whether no further measurement seemed to pay.
    bool settled = false;
    /// Measurements that were known from before.
    std::size_t known = 0;
};

struct CalibrateOptions {
    /// How long to measure.
    double seconds = 2;
    std::size_t workers = 1;
    PlanOptions plan = {};
};

/// Returns a plan from predictions that measurements correct: those in `calibration`, and new ones (see refine), which
/// are added to it. Throws error if options.seconds is negative or not a number, and as make_fitting_plan does.
template <CostModel Model, Solver S>
[[nodiscard]] CalibratedPlan make_calibrated_plan(Graph const& graph, Kernels const& kernels, Model& model,
                                                  S const& solver, Calibration& calibration,
                                                  CalibrateOptions const& options = {}) {
    const double seconds = options.seconds;
    if (is_nan(seconds) || !(seconds >= 0))
        fail("calibrate: for ", seconds, " seconds; it must be a number that is not negative");
    const Timer timer;
    // All times are for the speed that the machine had when the first was taken.
    Profiler<> profiler(kernels, {.runs = 9,
                                  .accuracy = 0.02,
                                  .seconds = 0.1,
                                  .max_bytes = std::numeric_limits<std::size_t>::max(),
                                  .learn_seconds = 0.02});
    constexpr const char* reference = "reference";
    if (const double nominal = calibration.find(reference); nominal > 0) {
        profiler.set_nominal(nominal);
    } else {
        calibration.add(reference, profiler.nominal());
    }
    detail::WithMeasuredLayers<Model> timed(model, profiler, calibration, 0.15 * seconds);
    Corrected corrected(kernels, timed);
    const std::vector<learn::Sample> known = detail::relevant_samples(calibration.samples(), graph);
    detail::learn_samples(corrected, kernels, known);
    const auto measure = [&](ConvQuery const& query) {
        const Timer spent;
        Measurement result{.seconds = profiler.convolution(query.shape, query.primitive)};
        calibration.add({query.shape, std::string(kernels.primitives[query.primitive].id), result.seconds});
        result.spent = spent.seconds();
        return result;
    };
    // Times of one thread are measured and kept.
    PlanOptions alone = options.plan;
    alone.workers = 1;
    Refinement refined =
        refine(graph, kernels, corrected, solver, measure, {.seconds = seconds - timer.seconds()}, alone);
    detail::ScaledToThreads scaled(corrected, model);
    CalibratedPlan result{.plan = make_fitting_plan(graph, kernels, scaled, solver, options.plan, options.workers),
                          .steps = std::move(refined.steps),
                          .settled = refined.settled,
                          .known = known.size()};
    result.plan.cost_model = join(Model::name, ", calibrated");
    return result;
}

/// A planner for engines: `Engine<Net> engine(weights, Calibrate<CalibrationFile>{.seconds = 2})` measures for about
/// two seconds what could change its plan. CalibrationFile (measure/calibration_file.hpp) keeps the times in the user's
/// cache directory: the next engine on this machine begins with it, whichever its network, and measures only what is
/// left. A plain Calibration keeps nothing. Model and solver that are left out are those of the policies.
template <std::derived_from<Calibration> Kept = Calibration, class Model = OfPolicies, class S = OfPolicies>
struct Calibrate {
    double seconds = 2;
    PlanOptions options = {};
    [[no_unique_address]] Model model = {};
    [[no_unique_address]] S solver = {};

    template <class Policies>
    [[nodiscard]] Plan plan(Graph const& graph, Kernels const& kernels, std::size_t workers) const {
        auto own_model = engine::model_of<Policies>(model);
        Kept calibration(kernels);
        Plan plan = make_calibrated_plan(graph, kernels, own_model, engine::solver_of<Policies>(solver), calibration,
                                         {.seconds = seconds, .workers = workers, .plan = options})
                        .plan;
        if constexpr (requires { calibration.write(); }) calibration.write();
        return plan;
    }
};

}  // namespace primsel::inline PRIMSEL_ABI::measure
