// A step of training, and what it takes more time in less memory: arena / whole is the share of the arena that is left
// (train/recompute.hpp). Compare shares of one run: bench_train_step --benchmark_enable_random_interleaving=true
#include <benchmark/benchmark.h>
#include <primsel/network/resized.hpp>
#include <primsel/network/zoo.hpp>
#include <primsel/train/trainer.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace {

namespace ps = primsel;

struct Recipe : ps::DefaultTraining {
    using learning_rate = ps::Constant;
};
using Trainer = ps::Trainer<ps::Graph, Recipe>;

struct Case {
    const char* net;
    int size, batch;
};

void step(benchmark::State& state, Case const& of, int percent) {
    const ps::Graph graph = ps::resized(ps::zoo::graph(of.net, of.batch), {3, of.size, of.size});
    const ps::Weights weights = ps::random_weights(graph);
    const std::size_t whole = Trainer(graph, weights, {.batch = of.batch}).arena_bytes();
    const auto most = whole / 100 * static_cast<std::size_t>(percent);
    try {
        Trainer trainer(graph, weights, {.batch = of.batch, .max_arena = most});
        const auto batch = static_cast<std::size_t>(of.batch);
        std::vector<float> images(batch * graph[graph.input()].shape.size());
        for (std::size_t i = 0; i < images.size(); ++i) images[i] = static_cast<float>(i % 97) / 97.0F;
        const std::vector<float> labels(batch, 1.0F);
        (void)trainer.step(images, labels, 1e-3);  // warms up
        for (auto _ : state) benchmark::DoNotOptimize(trainer.step(images, labels, 1e-3));
        state.SetItemsProcessed(state.iterations() * of.batch);
        state.counters["arena_MB"] = static_cast<double>(trainer.arena_bytes()) / 1e6;
        state.counters["predicted_ms"] = trainer.plan().total_seconds * 1e3;
        state.counters["arena/whole"] = static_cast<double>(trainer.arena_bytes()) / static_cast<double>(whole);
    } catch (ps::error const& refusal) {
        state.SkipWithError(refusal.what());
    }
}

const bool registered = [] {
    for (Case const& of :
         {Case{"resnet18", 64, 32}, {"resnet56", 32, 32}, {"mobilenet_v2", 64, 32}, {"squeezenet1_1", 128, 16}}) {
        for (const int percent : {100, 80, 60, 50, 40}) {
            const std::string name = ps::join("step/", of.net, '/', of.size, "/batch:", of.batch, "/arena:", percent);
            benchmark::RegisterBenchmark(name.c_str(), [of, percent](benchmark::State& state) {
                step(state, of, percent);
            })->Unit(benchmark::kMillisecond);
        }
    }
    return true;
}();

}  // namespace
