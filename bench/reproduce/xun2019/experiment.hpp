// Trains networks, judges their configurations and times them.
#pragma once

#include "images.hpp"
#include "paper.hpp"

#include <primsel/core/thread_pool.hpp>
#include <primsel/dynamic.hpp>
#include <primsel/train.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace reproduce {

struct Options {
    std::string data = "/usr/share/datasets/fashion-mnist", out = "xun2019";
    std::int64_t epochs = 2;
    std::size_t images = 0, test_images = 0;
    double learning_rate = 0.01, dense_rate = 0.5, target = 0;
    int attempts = 2, runs = 200;
    std::uint64_t seed = 1;
    bool untrained = false, compare = false;
};

struct TrainingRecipe : ps::DefaultTraining {
    using executor = ps::Sequential;
};
struct Threaded : ps::DefaultPolicies {
    using executor = ps::ThreadPool;
};

/// A network, its parts that run, and its weights.
struct Subject {
    std::string name;
    ps::Graph graph;
    std::vector<ps::Configuration> configurations;
    ps::Weights weights;
};

/// Of one configuration on the test images. `spread` is the standard deviation over the classes.
struct Judged {
    double accuracy = 0, spread = 0, least = 0, most = 0, confidence = 0;
};
/// Median seconds of an image.
struct Timed {
    std::vector<double> one_thread, two_threads;
};

/// Trains configuration by configuration; goes on from the file where it was interrupted.
void train_incrementally(Subject& subject, Options const& options);
/// Trains all of the network at once, for as many epochs as the steps of the other have together.
void train_at_once(Subject& subject, Options const& options);
[[nodiscard]] std::vector<Judged> judge(Subject const& subject, Options const& options);
[[nodiscard]] Timed time_of(Subject const& subject, Options const& options);

/// Bytes of the weights as floats, of all of them and of what a configuration has.
[[nodiscard]] std::size_t bytes_of(ps::Weights const& weights);

/// Nanoseconds of use(), of so many calls that each change the configuration.
struct Switching {
    double median = 0, worst = 0, first_run = 0, later_run = 0;
};
[[nodiscard]] Switching switching_of(Subject const& subject, std::size_t calls);

}  // namespace reproduce
