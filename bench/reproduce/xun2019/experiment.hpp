// Trains networks and judges their configurations.
#pragma once

#include "images.hpp"
#include "networks.hpp"

#include <primsel/train.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace reproduce {

struct Options {
    std::string data = "/usr/share/datasets/fashion-mnist", out = "xun2019";
    /// The folder of CIFAR-10's files; empty: Fashion-MNIST is trained with.
    std::string cifar;
    /// Channels of each convolution, and the size of the images that are trained with: 32, or 16 by means of 2 x 2
    /// pixels.
    int width = 64, pixels = 32;
    /// The epochs of each step, and of a training at once; 0: as many as all steps have together.
    std::int64_t epochs = 2, epochs_at_once = 3;
    std::size_t images = 0, test_images = 0;
    double learning_rate = 0.02, dense_rate = 0.5, target = 0;
    int attempts = 2, runs = 200;
    std::uint64_t seed = 1;
    std::vector<std::uint64_t> seeds{1, 2, 3};
    /// Seconds that another process comes and goes.
    double competing = 30;
    bool untrained = false, compare = false;
    /// Trains this network alone and ends.
    std::string only;
};

struct TrainingRecipe : ps::DefaultTraining {
    using executor = ps::Sequential;
};

/// The results of one configuration on the test images. `spread` is the standard deviation over the classes.
struct Judged {
    double accuracy = 0, spread = 0, least = 0, most = 0, confidence = 0;
};

/// Trains configuration by configuration; goes on from the file where it was interrupted.
void train_incrementally(Subject& subject, Options const& options);
/// Trains all of the network at once.
void train_at_once(Subject& subject, Options const& options);
[[nodiscard]] std::vector<Judged> judge(Subject const& subject, Options const& options);

}  // namespace reproduce
