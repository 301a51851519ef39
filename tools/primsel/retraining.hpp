// Some more epochs for a network that lost filters.
#pragma once

#include "labelled_images.hpp"

#include <primsel/prune/surgery.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>

namespace cli {

struct Retraining {
    std::int64_t epochs = 1;
    double learning_rate = 0.01;
    std::uint64_t seed = 1;
    std::size_t threads = 1;
};

/// The weights of the last epoch; the graph's batch is what an update is made by. After each epoch goes_on(epoch,
/// accuracy), epochs counted from 1, says whether there is a next one.
[[nodiscard]] ps::Weights retrain(ps::prune::Pruned const& network, Retraining const& how, AnyImages const& images,
                                  AnyImages const& validation, ps::Normalise const& normalise,
                                  std::function<bool(std::int64_t, double)> const& goes_on);

}  // namespace cli
