// How `primsel train` trains: by options, or by a file of them.
#pragma once

#include <primsel/prune/schedule.hpp>
#include <primsel/train.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace cli {

namespace ps = primsel;

enum class Rule { sgd, adam, adamw };
enum class Rate { constant, cosine, step, exponential };

/// The optimiser that the options name.
struct AnyOptimizer {
    Rule rule = Rule::sgd;
    ps::Sgd sgd{};

    [[nodiscard]] std::size_t state_per_weight() const noexcept;
    void step(std::span<float> weights, std::span<const float> gradient, std::span<float> state, double learning_rate,
              std::int64_t number, double weight_decay) const noexcept;
};
/// The schedule that the options name.
struct AnyRate {
    Rate rate = Rate::cosine;
    ps::StepDecay decay{};
    ps::Exponential exponential{};
    /// The factor of a pruning schedule.
    ps::prune::ScheduledRate scheduled{};

    double operator()(double base, std::int64_t step, std::int64_t total, std::int64_t per_epoch) const;
};

struct Recipe {
    ps::TrainingOptions training;
    AnyOptimizer optimizer;
    AnyRate schedule;
    double warmup = 0, label_smoothing = 0;
    ps::Augment augment;
};

/// The options of a recipe, and --recipe, whose file may set any option that the command has and the command line does
/// not give.
void add_recipe(CLI::App& command, Recipe& recipe);
/// Throws CLI::ValidationError for an option of the recipe that would do nothing with the others.
void refuse_idle(CLI::App const& command, Recipe const& recipe);
/// The parts of a recipe that decide the bits of a training, beside those that a trainer knows.
[[nodiscard]] std::string text_of(Recipe const& recipe, ps::Normalise const& normalise);

}  // namespace cli
