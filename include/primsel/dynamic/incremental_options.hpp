#pragma once

#include <primsel/core/error.hpp>
#include <primsel/core/finite.hpp>
#include <primsel/train/training_options.hpp>

#include <cstdint>
#include <limits>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::dynamic {

/// Options of an IncrementalTrainer (Xun et al. 2019, sections III-B and IV-A).
struct IncrementalOptions {
    /// Options of each step: epochs, learning rate and so on. Each step and attempt derives a seed of its own from this
    /// one. `fixed` must be empty.
    TrainingOptions training = {};
    /// The factor of the learning rate, from each step to the next, of the layers behind the groups, which belong to
    /// all sub-networks; at least 0.
    double dense_rate = 0.5;
    /// The least gain in validation accuracy of each step over the step before it, from -1 to 1.
    double target = 0;
    /// The most attempts of a step to meet the target; then the best model of all attempts is taken. At least 1.
    int attempts = 3;
    /// The most validation accuracy that an earlier sub-network may lose against the end of its own step. A model that
    /// loses more is taken only if there is no other.
    double most_loss = std::numeric_limits<double>::infinity();
};

/// The results of an epoch of a step.
struct IncrementalEpoch {
    /// The number of the sub-network that is trained, and of the attempt; both count from 1.
    int configuration = 1, attempt = 1;
    EpochReport epoch{};
    /// Validation accuracies of the sub-networks before it, with the present weights.
    std::vector<double> earlier_accuracies = {};
    /// Whether this is the best model of the step so far, with which the next step would begin.
    bool seed = false;
};

/// The outcome of a finished step.
struct Increment {
    /// The number of the sub-network that was trained, and the attempts that it took.
    int configuration = 1, attempts = 1;
    /// Validation accuracies of sub-networks 1 to `configuration`, with the weights that the step ended with.
    std::vector<double> accuracies = {};
    /// Whether the step met its target, and whether no earlier sub-network lost more than `most_loss`.
    bool target_met = true, limit_kept = true;
};

/// Throws error, naming the option, if one is out of its range.
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
