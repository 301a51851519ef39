// peers/primsel_training_worker NET SIZE BATCH THREADS [--weights F.safetensors --images X.npy --labels Y.npy]
//
// primsel among what training.py compares: makes a step of training of a zoo network for SIZE x SIZE images and says so
// in the line `ready {...}`; then each line of the standard input is answered by the seconds of a step. With weights
// and images, it prints the losses of steps through those images instead, a batch after another.
#include "probe.hpp"

#include <primsel/core/thread_pool.hpp>
#include <primsel/io/safetensors.hpp>
#include <primsel/network/resized.hpp>
#include <primsel/network/zoo.hpp>
#include <primsel/train.hpp>
#include <primsel/train/npy_images.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <iostream>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace {

namespace ps = primsel;

struct Recipe : ps::DefaultTraining {
    using learning_rate = ps::Constant;
    using executor = ps::ThreadPool;
};
using Trainer = ps::Trainer<ps::Graph, Recipe>;

/// Each library would drop other elements.
ps::Graph without_dropout(ps::Graph const& graph) {
    ps::Graph result(graph.batch());
    for (std::size_t i = 0; i < graph.size(); ++i) {
        ps::Node const& node = graph[i];
        const bool drops = std::holds_alternative<ps::DropoutParams>(node.layer);
        result.add(node.name, drops ? ps::AnyLayer(ps::DropoutParams{0.0F}) : node.layer, node.inputs, node.epilogue);
    }
    return result;
}

constexpr double learning_rate = 0.01;
// Where losses are compared: the less weights move, the less differences of rounding grow.
constexpr double small_rate = 1e-3;

void print_losses(Trainer& trainer, ps::LabelledImages const& data, std::size_t batch) {
    std::vector<float> images(batch * data.shape().size()), labels(batch);
    for (std::size_t first = 0; first + batch <= data.size(); first += batch) {
        for (std::size_t i = 0; i < batch; ++i) {
            data.read(first + i, images.data() + i * data.shape().size());
            labels[i] = static_cast<float>(data.label(first + i));
        }
        std::printf("%.9g\n", trainer.step(images, labels, small_rate));
    }
}

/// Memory of this process that is no file's.
double held_bytes() {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);) {
        if (line.starts_with("RssAnon:")) return 1024 * std::atof(line.c_str() + 8);
    }
    return 0;
}

void answer(Trainer& trainer, std::size_t floats, std::size_t batch, double held_before) {
    std::vector<float> images(floats), labels(batch);
    for (std::size_t i = 0; i < floats; ++i) images[i] = static_cast<float>(i * 7919 % 1000) / 500.0F - 1.0F;
    for (std::size_t i = 0; i < batch; ++i) labels[i] = static_cast<float>(i % 10);
    trainer.step(images, labels, learning_rate);
    std::printf(
        "ready {\"arena_bytes\": %zu, \"memory_bytes\": %zu, \"images_bytes\": %zu, \"held_bytes\": %.0f, "
        "\"predicted\": "
        "%.9g}\n",
        trainer.arena_bytes(), trainer.memory_bytes(), floats * sizeof(float), held_bytes() - held_before,
        trainer.plan().total_seconds);
    std::fflush(stdout);
    for (std::string line; std::getline(std::cin, line);) {
        const ps::Timer timer;
        trainer.step(images, labels, learning_rate);
        std::printf("%.9g\n", timer.seconds());
        std::fflush(stdout);
    }
}

void run(int argc, char** argv) {
    if (argc != 5 && argc != 11) {
        ps::fail("primsel_training_worker NET SIZE BATCH THREADS [--weights F --images X.npy --labels Y.npy]");
    }
    const int size = std::atoi(argv[2]), batch = std::atoi(argv[3]);
    const auto threads = static_cast<std::size_t>(std::atoi(argv[4]));
    const ps::Graph network = ps::zoo::graph(argv[1], batch);
    const ps::Graph resized = ps::resized(network, {network[network.input()].shape.c, size, size});
    const ps::Graph graph = argc == 5 ? resized : without_dropout(resized);
    const ps::Weights weights = argc == 5 ? ps::random_weights(graph, 1) : ps::read_safetensors(argv[6]);
    const double held_before = held_bytes();
    Trainer trainer(graph, weights, {.batch = batch, .weight_decay = 5e-4}, {.optimizer = {.momentum = 0.9}},
                    ps::ThreadPool(threads));
    const auto images = static_cast<std::size_t>(batch);
    if (argc == 5) return answer(trainer, images * graph[graph.input()].shape.size(), images, held_before);
    print_losses(trainer, ps::read_npy_images(argv[8], argv[10]), images);
}

}  // namespace

int main(int argc, char** argv) try { run(argc, argv); } catch (std::exception const& reason) {
    std::fprintf(stderr, "primsel_training_worker: %s\n", reason.what());
    return 1;
}
