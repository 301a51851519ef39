#include "session.hpp"

#include "learned_costs.hpp"
#include "progress.hpp"
#include "text.hpp"

#include <primsel/core/normal.hpp>
#include <primsel/cost/analytical.hpp>
#include <primsel/cost/semi_empirical.hpp>
#include <primsel/engine/f16_weights.hpp>
#include <primsel/engine/low_precision.hpp>
#include <primsel/engine/measure_layer_errors.hpp>
#include <primsel/engine/policies.hpp>
#include <primsel/kernels/extern_kernels.hpp>
#include <primsel/measure/calibrate.hpp>
#include <primsel/measure/calibration_file.hpp>
#include <primsel/measure/machine_file.hpp>
#include <primsel/measure/measured.hpp>
#include <primsel/network/simplify.hpp>
#include <primsel/pbqp/exact.hpp>
#include <primsel/pbqp/greedy.hpp>
#include <primsel/plan/plan_file.hpp>
#include <primsel/prune/measured_loss.hpp>
#include <primsel/train/differentiate.hpp>
#include <primsel/train/parameters.hpp>
#include <primsel/train/recompute.hpp>

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <string_view>
#include <utility>

namespace cli {
namespace {

/// Whichever model --costs names, so that planning is compiled once.
class Costs {
public:
    static constexpr std::string_view name = "costs";  // the plan gets the model's

    explicit Costs(std::string const& model)
        : model_(model.empty() ? ps::DefaultPolicies::cost_model::name : std::string_view(model)) {
        for (CostsEntry const& entry : list_costs()) {
            if (model_ == entry.name) return;
        }
        struct stat status {};
        if (::stat(model_.c_str(), &status) != 0) {
            std::vector<std::string> names;
            for (CostsEntry const& entry : list_costs()) {
                if (entry.name != "FILE") names.push_back(entry.name);
            }
            ps::fail("--costs ", model_, ": neither a cost model nor a file; ", did_you_mean(model_, names),
                     "there are ", list_of_names(names));
        }
        learned_.emplace(model_);
    }
    template <class Query>
    void predict(ps::Kernels const& kernels, std::span<const Query> queries, std::span<double> seconds) {
        if (learned_) return learned_->predict(kernels, queries, seconds);
        if (model_ == ps::Analytical::name) return analytical_.predict(kernels, queries, seconds);
        if (model_ == ps::SemiEmpiricalCosts::name) return semi_empirical_.predict(kernels, queries, seconds);
        Progress progress("timing candidates", queries.size());
        for (std::size_t i = 0; i < queries.size(); ++i) {
            measured_.predict(kernels, queries.subspan(i, 1), seconds.subspan(i, 1));
            progress.tick();
        }
    }
    [[nodiscard]] std::string const& model() const { return model_; }

private:
    std::string model_;
    ps::Analytical analytical_;
    ps::SemiEmpiricalCosts semi_empirical_;
    ps::measure::Measured measured_;
    std::optional<LearnedCosts> learned_;
};

/// Whichever solver --solver names.
struct AnySolver {
    static constexpr std::string_view name = "solver";  // the plan gets the solver's
    std::string_view chosen;

    [[nodiscard]] ps::PbqpSolution solve(ps::PbqpProblem const& problem) const {
        if (chosen == ps::ReductionPbqp::name) return ps::ReductionPbqp{}.solve(problem);
        if (chosen == ps::GreedyPbqp::name) return ps::GreedyPbqp{}.solve(problem);
        return ps::ExactPbqp{}.solve(problem);
    }
};

/// A uniform plan's options, for a family or a primitive. Throws error when it names neither.
void make_uniform(std::string const& id, ps::PlanOptions& options) {
    std::vector<std::string> families, ids;
    for (ps::PrimitiveEntry const& entry : kernels().primitives) {
        const std::string family(to_string_view(entry.family));
        if (family == id) {
            options.family = entry.family;
            return;
        }
        if (entry.id == id) options.primitive = id;
        if (entry.id == id && !ps::allows(options.precision, entry.precision)) {
            ps::fail("--solver uniform:", id, ": it rounds to ", to_string_view(entry.precision), "; add --precision ",
                     to_string_view(entry.precision));
        }
        if (std::ranges::find(families, family) == families.end()) families.push_back(family);
        ids.emplace_back(entry.id);
    }
    if (options.primitive.empty()) {
        std::vector<std::string> names = families;
        names.insert(names.end(), ids.begin(), ids.end());
        ps::fail("--solver uniform:", id, ": no family or primitive is named so; ", did_you_mean(id, names),
                 "families: ", list_of_names(families), "; primitives: ", list_of_names(ids));
    }
}

ps::PlanOptions plan_options(PlanningOptions const& bounds) {
    return {.precision = bounds.precision,
            .max_error = bounds.max_error,
            .exact_support = bounds.exact_support,
            .max_arena = bounds.max_arena,
            .strips = bounds.strips,
            .images_apart = bounds.images_apart};
}

ps::measure::CalibratedPlan solve(Model const& model, Costs& costs, std::string const& solver,
                                  PlanningOptions const& bounds, std::size_t threads,
                                  ps::measure::Calibration* calibration = nullptr) {
    ps::PlanOptions options = plan_options(bounds);
    // Layers of a step of training have no ranges.
    if (model.backward.empty()) {
        options.layer_precisions = model.layer_precisions;
        options.f16_weights = ps::layers_of_f16_weights(model.simplified, model.weights);
    }
    constexpr std::string_view uniform = "uniform:";
    if (solver.starts_with(uniform)) make_uniform(solver.substr(uniform.size()), options);
    const AnySolver any{solver.starts_with(uniform) ? ps::ExactPbqp::name : std::string_view(solver)};
    ps::measure::CalibratedPlan result;
    const ps::Kernels all = kernels_of(model);
    if (calibration != nullptr) {
        result = ps::measure::make_calibrated_plan(
            model.simplified, all, costs, any, *calibration,
            {.seconds = bounds.calibration_seconds, .workers = threads, .plan = options});
    } else {
        result.plan = ps::make_fitting_plan(model.simplified, all, costs, any, options, threads);
    }
    // The path of a file need not be text, as what a plan says must be.
    result.plan.cost_model = ps::printable(costs.model()) + (calibration == nullptr ? "" : ", calibrated");
    result.plan.solver = solver;
    // The best of the uniform plans, which proves nothing of all plans.
    if (solver.starts_with(uniform)) result.plan.optimal = false;
    return result;
}

/// In words, what the plan was made for that is not as here; empty where all is.
std::string difference(ps::PlanKey const& plan, ps::PlanKey const& here) {
    std::string text;
    const auto add = [&text](auto const&... parts) { text += ps::join(text.empty() ? "" : ", ", parts...); };
    if (plan.network != here.network) add("for another network, or other sizes or another batch of it");
    if (plan.version != here.version) add("by version ", plan.version, " of the library (this is ", here.version, ')');
    if (plan.arch != here.arch) add("for the instruction set ", plan.arch, " (this is ", here.arch, ')');
    if (plan.cpu != here.cpu) add("for the processor ", plan.cpu, " (this is ", here.cpu, ')');
    if (plan.primitives != here.primitives) add("from another list of primitives");
    return text;
}

/// Throws error, naming the file, unless it is a plan for this model, program and processor.
ps::Plan read_plan_for(Model const& model, std::string const& path, std::size_t threads) {
    ps::Plan plan = ps::read_plan(path);
    const std::string other = difference(plan.key, ps::make_key(model.simplified, kernels_of(model)));
    if (!other.empty()) ps::fail(path, ": is no plan for ", model.name, " here: it was made ", other);
    try {
        (void)ps::arena_bytes(model.simplified, kernels_of(model), plan, threads);
    } catch (ps::error const& reason) {
        ps::fail(path, ": is no plan for ", model.name, ": ", reason.what());
    }
    return plan;
}

ps::Plan plan_for(Model const& model, Costs& costs, PlanningOptions const& options, std::size_t threads) {
    if (!options.plan.empty()) return read_plan_for(model, options.plan, threads);
    if (options.calibration_seconds <= 0) return solve(model, costs, options.solver, options, threads).plan;
    ps::measure::CalibrationFile calibration(kernels());
    ps::Plan plan = solve(model, costs, options.solver, options, threads, &calibration).plan;
    calibration.write();
    return plan;
}

/// The network becomes a step of its training.
void make_step(Model& model, PlanningOptions const& options, std::size_t threads) {
    const ps::Graph network = model.graph;
    const ps::TrainingGraph step = ps::differentiate(network);
    model.backward = step.gradient;
    model.graph = step.graph;
    model.simplified = ps::simplify(step.graph);
    if (!options.plan.empty()) {
        const std::size_t backward = model.simplified.find(step.gradient);
        const auto again = ps::recomputed_in(ps::read_plan(options.plan), model.simplified, backward);
        model.simplified = ps::recompute(model.simplified, backward, again);
    } else if (options.max_arena != PlanningOptions{}.max_arena) {
        Costs costs(options.costs);
        PlanningOptions unbounded = options;
        unbounded.max_arena = PlanningOptions{}.max_arena;
        Model candidate = model;
        const auto make = [&](ps::Graph const& graph) {
            candidate.simplified = graph;
            return solve(candidate, costs, options.solver, unbounded, threads).plan;
        };
        model.simplified =
            ps::fitting_step(model.simplified, step.gradient, training_kernels(), make, threads, options.max_arena)
                .graph;
    }
    ps::Parameters parameters(network, model.weights);
    model.weights = parameters.complete(model.simplified, step.seed).view();
    model.inputs.push_back({step.gradient, {model.graph.batch(), 1, 1, 1}});
}

/// Memory is promised more freely than it is there: what cannot be there is refused before it is asked for.
ps::Plan const& within_memory(Model const& model, ps::Plan const& plan, std::size_t threads) {
    const std::size_t needed = ps::arena_bytes(model.simplified, kernels_of(model), plan, threads);
    const auto memory =
        static_cast<std::size_t>(::sysconf(_SC_PHYS_PAGES)) * static_cast<std::size_t>(::sysconf(_SC_PAGE_SIZE));
    if (needed > memory) {
        ps::fail(model.name, ": its arena takes ", needed, " bytes; this machine has ", memory, " of memory");
    }
    return plan;
}

}  // namespace

ps::Kernels kernels_of(Model const& model) { return model.backward.empty() ? kernels() : training_kernels(); }
ps::Kernels kernels() {
    ps::Kernels all = ps::make_kernels<ps::EveryPrimitive, ps::default_arch, ps::EveryLayout>();
    all.machine = &ps::measure::KeptSpeeds<ps::MeasuredInAllPrecisions>::speeds<ps::default_arch>;
    return all;
}
double relative_clock() { return ps::relative_clock<ps::default_arch>(kernels().machine(1)); }
std::string compiler() {
#if defined(__clang__)
    return "clang " __clang_version__;
#else
    return "gcc " __VERSION__;
#endif
}

ps::Plan plan_for(Model const& model, PlanningOptions const& options, std::size_t threads) {
    const auto has_range = [](ps::Node const& node) { return node.range.known(); };
    if (options.precision == ps::Precision::int8 && options.plan.empty() &&
        std::ranges::none_of(model.simplified.nodes(), has_range)) {
        warn(model.name +
             ": has no ranges (primsel quantise): in 8 bits are at most the weights of dense layers; what these read "
             "and write, and all other layers, stay in float32 or bf16");
    }
    Costs costs(options.costs);
    return plan_for(model, costs, options, threads);
}

ps::LayerErrors measure_layer_errors(Model const& model, PlanningOptions const& options, std::size_t threads,
                                     std::span<const float> images) {
    Costs costs(options.costs);
    ps::ThreadPool executor(threads);
    Progress progress("measuring layers' errors");
    const auto tick = [&](std::size_t done, std::size_t all) {
        if (done == 1) progress.expect(all);
        progress.tick();
    };
    return ps::measure_layer_errors(model.simplified, model.weights, images, kernels(), costs, executor, tick);
}
std::vector<ps::PrecisionPlan> precision_curve(Model const& model, PlanningOptions const& options,
                                               ps::LayerErrors const& errors, std::size_t threads) {
    if (options.solver.starts_with("uniform:"))
        ps::fail("--solver ", options.solver, ": is none to choose precisions by");
    Costs costs(options.costs);
    ps::PlanOptions plan = plan_options(options);
    plan.workers = threads;
    plan.keep_candidates = false;
    const ps::Kernels all = kernels();
    return ps::PrecisionPlanner(model.simplified, all, costs, AnySolver{options.solver}, plan).curve(errors);
}

Model load_to_plan(Options const& options) {
    ModelOptions from = options.model;
    from.trains = options.training;
    Model model = load_model(from);
    if (options.training) make_step(model, options.planning, options.threads);
    return model;
}

ps::measure::CalibratedPlan calibrate(Model const& model, PlanningOptions const& options, std::size_t threads,
                                      ps::measure::Calibration& calibration) {
    Costs costs(options.costs);
    return solve(model, costs, options.solver, options, threads, &calibration);
}

std::vector<Rival> rivals_of(Model const& model, PlanningOptions const& options, std::size_t threads) {
    Costs costs(options.costs);  // one for all: what has been measured is remembered
    std::vector<Rival> rivals;
    rivals.push_back({"plan", plan_for(model, costs, options, threads), ""});
    std::vector<std::string> solvers{"greedy"};
    for (ps::PrimitiveEntry const& entry : kernels().primitives) {
        std::string solver = "uniform:" + std::string(to_string_view(entry.family));
        if (std::ranges::find(solvers, solver) == solvers.end()) solvers.push_back(std::move(solver));
    }
    for (std::string const& solver : solvers) {
        try {
            rivals.push_back({solver, solve(model, costs, solver, options, threads).plan, ""});
        } catch (ps::error const& reason) {
            rivals.push_back({solver, {}, reason.what()});
            continue;
        }
        const bool used = std::ranges::any_of(rivals.back().plan.layers, [&](ps::PlannedLayer const& layer) {
            const auto primitive = kernels().find_if_any(layer.primitive);
            return primitive && solver == ps::join("uniform:", to_string_view(kernels().primitives[*primitive].family));
        });
        if (solver != "greedy" && !used) rivals.back().refusal = "can compute none of the layers";
    }
    return rivals;
}

std::vector<Rival> rivals_of(Model const& model, PlanningOptions const& options, std::size_t threads,
                             std::vector<std::string> const& against) {
    std::vector<Rival> rivals{{"plan", plan_for(model, options, threads), ""}};
    for (std::string const& name : against) {
        // Names of files may have a plus in them that stands before no number.
        const std::size_t plus = name.rfind('+');
        double seconds = 0;
        const bool calibrated = plus != std::string::npos &&
                                ps::read_number(std::string_view(name).substr(plus + 1), seconds) && seconds > 0;
        PlanningOptions other = options;
        other.costs = calibrated ? name.substr(0, plus) : name;
        other.calibration_seconds = seconds;
        Costs costs(other.costs);
        ps::measure::Calibration fresh(kernels());  // what a user's cache holds would be of no interest
        rivals.push_back(
            {name, solve(model, costs, options.solver, other, threads, calibrated ? &fresh : nullptr).plan, ""});
    }
    return rivals;
}

ps::prune::PrunedTo prune_to(ps::Graph const& graph, ps::prune::Coupling const& coupling,
                             std::vector<ps::prune::Ranking> const& rankings, PlanningOptions const& options,
                             ps::prune::PruneTarget const& target,
                             std::span<const ps::prune::SensitivityPoint> sensitivity) {
    if (options.solver.starts_with("uniform:")) ps::fail("--solver ", options.solver, ": is none to prune by");
    Costs costs(options.costs);
    ps::prune::PruneTarget planned = target;
    planned.plan = plan_options(options);
    const auto by = [&](auto const& loss) {
        return ps::prune::prune_to(graph, {coupling, rankings}, kernels(), costs, AnySolver{options.solver}, planned,
                                   loss);
    };
    return sensitivity.empty() ? by(ps::prune::LogarithmicLoss{}) : by(ps::prune::MeasuredLoss(sensitivity));
}
SecondsPredictor seconds_predictor(PlanningOptions const& options) {
    if (options.solver.starts_with("uniform:")) ps::fail("--solver ", options.solver, ": is none to prune by");
    const auto costs = std::make_shared<Costs>(options.costs);
    const auto mutex = std::make_shared<std::mutex>();
    return [costs, mutex, options, all = kernels()](ps::Graph const& graph) {
        const std::scoped_lock lock(*mutex);
        return ps::prune::predicted_seconds(graph, all, *costs, AnySolver{options.solver}, plan_options(options));
    };
}

std::vector<CostsEntry> list_costs() {
    std::vector<CostsEntry> result;
    result.push_back({"analytical", "computed from the machine's peak and bandwidths in a millisecond"});
    result.push_back({std::string(ps::SemiEmpiricalCosts::name),
                      "analytical, with coefficients fitted to times of several machines and instruction sets"});
    result.push_back({"measured", "every candidate is timed here and now, on one thread; takes seconds to minutes"});
    result.push_back({"FILE", "a model that `primsel fit` wrote: learned from a profile; takes milliseconds"});
    for (CostsEntry& entry : result) {
        if (entry.name == ps::DefaultPolicies::cost_model::name) entry.description += "; the default";
    }
    return result;
}
std::vector<CostsEntry> list_solvers() {
    return {{"exact", "reductions, then branch and bound: proven optimal unless that takes too long"},
            {"reduction", "reductions with a heuristic where none is exact"},
            {"greedy", "each layer's own cheapest primitive, whatever the changes of layout cost"},
            {"uniform:ID", "one primitive, or one family, wherever it can; im2 where it cannot"}};
}

Session::Session(Model const& model, ps::Plan const& plan, std::size_t threads)
    : executor_(threads),
      program_(model.simplified, kernels_of(model), within_memory(model, plan, threads), model.weights, threads,
               executor_) {
    for (std::size_t i = 0; i < program_.in_shapes().size(); ++i) {
        inputs_.emplace_back(program_.in_floats(i));
        srcs_.push_back(inputs_.back().data());
    }
    for (std::size_t i = 0; i < program_.out_shapes().size(); ++i) {
        outputs_.emplace_back(program_.out_floats(i));
        dsts_.push_back(outputs_.back().data());
    }
    prepare_seconds_ = timer_.seconds();
}

void Session::fill_randomly(std::size_t input, unsigned seed) {
    std::mt19937 bits(seed + static_cast<unsigned>(input));
    ps::core::Normal normal;
    for (float& value : inputs_[input]) value = normal(bits);
}

}  // namespace cli
