#pragma once

#include <primsel/core/thread_pool.hpp>
#include <primsel/network/prepare.hpp>
#include <primsel/train.hpp>

#include <optional>
#include <utility>

namespace fashion {

struct Recipe : primsel::DefaultTraining {
    using learning_rate = primsel::Warmup<primsel::Cosine>;
    using executor = primsel::ThreadPool;
};
using Trainer = primsel::Trainer<primsel::Graph, Recipe>;

/// Images at once.
inline constexpr int batch = 128;

/// A trainer of the network, whose batch is `batch`, from random weights, with this learning rate; with the plan of a
/// checkpoint, if there is one.
inline Trainer make_trainer(primsel::Graph const& graph, int epochs, unsigned seed, unsigned threads, double rate = 0.2,
                            std::optional<primsel::Plan> plan = {}) {
    return Trainer(graph, primsel::random_weights(graph, seed),
                   {.batch = batch, .epochs = epochs, .learning_rate = rate, .weight_decay = 5e-4, .seed = seed},
                   {.optimizer = {.momentum = 0.9, .nesterov = true},
                    .loss = {.label_smoothing = 0.05F},
                    .learning_rate = {.epochs = 0.25 * epochs},
                    .plan = std::move(plan)},
                   primsel::ThreadPool(threads));
}

/// The changes to images while training.
inline constexpr primsel::Augment augment{.flip = true, .crop = 2};

}  // namespace fashion
