// Planning and running, behind functions that are compiled once.
#pragma once

#include "model.hpp"

#include <primsel/core/thread_pool.hpp>
#include <primsel/core/timer.hpp>
#include <primsel/engine/program.hpp>
#include <primsel/measure/calibrate.hpp>
#include <primsel/plan/plan.hpp>
#include <primsel/plan/precision_planner.hpp>
#include <primsel/prune/prune_to.hpp>
#include <primsel/prune/sensitivity.hpp>

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace cli {

/// Every primitive there is.
[[nodiscard]] ps::Kernels kernels();
/// Those that train.
[[nodiscard]] ps::Kernels training_kernels();
/// Those for the model: a network, or a step of training.
[[nodiscard]] ps::Kernels kernels_of(Model const& model);
/// This core's clock at the moment over the one that costs predict for.
[[nodiscard]] double relative_clock();
/// The compiler's name and version.
[[nodiscard]] std::string compiler();

/// Prices and solves, or reads the plan that was saved. Threads count where the arena is bounded. Throws error.
[[nodiscard]] ps::Plan plan_for(Model const& model, PlanningOptions const& options, std::size_t threads);

/// The error of the results for some images when a layer alone runs in less than floats, for each layer and type.
[[nodiscard]] ps::LayerErrors measure_layer_errors(Model const& model, PlanningOptions const& options,
                                                   std::size_t threads, std::span<const float> images);
/// The plans of all budgets, the most precise first (ps::PrecisionPlanner::curve). Throws error.
[[nodiscard]] std::vector<ps::PrecisionPlan> precision_curve(Model const& model, PlanningOptions const& options,
                                                             ps::LayerErrors const& errors, std::size_t threads);

/// Loads the network that the options name, or a step of its training: one that fits into the arena that they allow.
[[nodiscard]] Model load_to_plan(Options const& options);

/// Corrects the costs for options.calibration_seconds, and by what is known already; keeps what it learned.
[[nodiscard]] ps::measure::CalibratedPlan calibrate(Model const& model, PlanningOptions const& options,
                                                    std::size_t threads, ps::measure::Calibration& calibration);

/// A plan to compare with, or why there is none.
struct Rival {
    std::string name;
    ps::Plan plan;
    std::string refusal;
};
/// The plan, greedy, and each family wherever it can.
[[nodiscard]] std::vector<Rival> rivals_of(Model const& model, PlanningOptions const& options, std::size_t threads);

/// The plan, and those that other costs lead to: "analytical", "FILE", or calibrated for two seconds "analytical+2".
[[nodiscard]] std::vector<Rival> rivals_of(Model const& model, PlanningOptions const& options, std::size_t threads,
                                           std::vector<std::string> const& against);

/// Filters that go, by what the costs predict and, where it was measured, by the sensitivity; the solver is one that
/// solves. Throws error as ps::prune::prune_to and ps::prune::MeasuredLoss do.
[[nodiscard]] ps::prune::PrunedTo prune_to(ps::Graph const& graph, ps::prune::Coupling const& coupling,
                                           std::vector<ps::prune::Ranking> const& rankings,
                                           PlanningOptions const& options, ps::prune::PruneTarget const& target,
                                           std::span<const ps::prune::SensitivityPoint> sensitivity = {});
/// Predicts the seconds of a run of a network. Costs are loaded, and measured, once for all that it is called with;
/// threads may share it. Throws error.
using SecondsPredictor = std::function<double(ps::Graph const&)>;
[[nodiscard]] SecondsPredictor seconds_predictor(PlanningOptions const& options);

struct CostsEntry {
    std::string name, description;
};
[[nodiscard]] std::vector<CostsEntry> list_costs();
[[nodiscard]] std::vector<CostsEntry> list_solvers();

/// A plan ready to run, with room for its inputs and outputs.
class Session {
public:
    /// Throws error, also when there is not enough memory for the arena.
    Session(Model const& model, ps::Plan const& plan, std::size_t threads);

    void run() noexcept { program_.run(srcs_, dsts_, executor_); }

    /// In the order of the model's.
    [[nodiscard]] std::span<float> input(std::size_t i) { return inputs_[i]; }
    [[nodiscard]] std::span<const float> output(std::size_t i) const { return outputs_[i]; }
    [[nodiscard]] std::size_t inputs() const { return inputs_.size(); }
    [[nodiscard]] std::size_t outputs() const { return outputs_.size(); }
    /// The same standard normal values for the same seed.
    void fill_randomly(std::size_t input, unsigned seed);

    [[nodiscard]] ps::Program& program() { return program_; }
    [[nodiscard]] std::span<const float* const> srcs() const { return srcs_; }
    [[nodiscard]] std::span<float* const> dsts() const { return dsts_; }
    [[nodiscard]] ps::ThreadPool& executor() { return executor_; }
    /// Spent making it.
    [[nodiscard]] double prepare_seconds() const { return prepare_seconds_; }

private:
    ps::Timer timer_;
    ps::ThreadPool executor_;
    ps::Program program_;
    std::vector<std::vector<float>> inputs_, outputs_;
    std::vector<const float*> srcs_;
    std::vector<float*> dsts_;
    double prepare_seconds_ = 0;
};

}  // namespace cli
