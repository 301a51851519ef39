#pragma once

#include <primsel/core/error.hpp>
#include <primsel/core/finite.hpp>
#include <primsel/train/training_options.hpp>

#include <cstdint>
#include <limits>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::dynamic {

/// How a network is trained configuration by configuration (Xun et al. 2019, sections III-B and IV-A).
struct IncrementalOptions {
    /// Options of each step: its epochs, learning rate and so on. Each step and attempt draws from a seed of its own.
    TrainingOptions training = {};
    /// The layers behind the groups, which all configurations have in common, learn at each step so much slower than at
    /// the one before.
    double dense_rate = 0.5;
    /// By how much each step after the first is to raise the accuracy of validation above that of the step before.
    double target = 0;
    /// How often a step is done at most, until it meets the target; then the best of all attempts is taken.
    int attempts = 3;
    /// How much accuracy of validation earlier configurations may lose below what they had when they were trained. A
    /// model that loses more is taken only where there is no other.
    double most_loss = std::numeric_limits<double>::infinity();
};

/// The results of an epoch of a step.
struct IncrementalEpoch {
    /// The configuration that is trained, and how often it has been begun.
    int configuration = 1, attempt = 1;
    EpochReport epoch{};
    /// Accuracies of the configurations before it, with the weights as they are now.
    std::vector<double> earlier_accuracies = {};
    /// Whether it is the model that the next step would begin with until now.
    bool seed = false;
};

/// A step that is done.
struct Increment {
    int configuration = 1, attempts = 1;
    /// Accuracies of all configurations up to this one, with the weights that it ended with.
    std::vector<double> accuracies = {};
    bool target_met = true, limit_kept = true;
};

/// Throws error, saying which, when an option is impossible.
inline void check_incremental_options(IncrementalOptions const& options) {
    check_training_options(options.training);
    if (options.training.epochs < 1) fail("incremental: ", options.training.epochs, " epochs train nothing");
    if (is_nan(options.dense_rate) || !(options.dense_rate >= 0))
        fail("incremental: impossible rate of dense layers ", options.dense_rate);
    if (is_nan(options.target) || !(options.target >= -1 && options.target <= 1))
        fail("incremental: impossible target ", options.target);
    if (options.attempts < 1) fail("incremental: impossible number of attempts ", options.attempts);
    if (is_nan(options.most_loss) || !(options.most_loss >= 0))
        fail("incremental: impossible loss of accuracy ", options.most_loss);
    if (!options.training.fixed.empty()) fail("incremental: which values stay is not for the options to say");
}

}  // namespace primsel::inline PRIMSEL_ABI::dynamic
