// Some more epochs for a network that lost filters, or that loses them meanwhile.
#pragma once

#include "labelled_images.hpp"
#include "recipe.hpp"

#include <primsel/prune/schedule.hpp>
#include <primsel/prune/surgery.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace cli {

struct Retraining {
    Recipe recipe;
    /// The schedule that prunes the network while it is trained, or nothing. Its rates stand in place of the recipe's
    /// schedule.
    std::optional<ps::prune::PruningSchedule> pruning{};
    std::size_t threads = 1;
};

/// The network with the weights of the last epoch, without the filters that were pruned. After each epoch
/// goes_on(epoch, accuracy), epochs counted from 1, says whether there is a next one.
[[nodiscard]] ps::prune::Pruned retrain(ps::prune::Pruned const& network, Retraining const& how,
                                        AnyImages const& images, AnyImages const& validation,
                                        ps::Normalise const& normalise,
                                        std::function<bool(std::int64_t, double)> const& goes_on);

/// Throws error, beginning with the schedule's file, for a pruner that acts in no epoch of the training; warns of one
/// that would go on after it.
void check_pruners(std::string const& file, ps::prune::PruningSchedule const& schedule, std::int64_t epochs);
/// Has the schedule's rates, if it has any, decide the recipe's learning rate. Throws error, beginning with the
/// schedule's file, if `given` says that the recipe's own schedule was asked for and it is not constant.
void take_rates(std::string const& file, ps::prune::PruningSchedule const& schedule, Recipe& recipe, bool given);

}  // namespace cli
