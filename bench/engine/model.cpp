// Engines that share a model: time and memory of several of them, and the time until images of a new size are answered.
#include <primsel/engine/model.hpp>
#include <primsel/kernels/extern_kernels.hpp>
#include <primsel/primsel.hpp>

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <deque>
#include <random>
#include <span>
#include <string>
#include <vector>

#include <unistd.h>

namespace ps = primsel;

namespace {

double resident_bytes() {
    std::FILE* const file = std::fopen("/proc/self/statm", "r");
    unsigned long pages = 0;
    if (file != nullptr && std::fscanf(file, "%*u %lu", &pages) != 1) pages = 0;
    if (file != nullptr) std::fclose(file);
    return static_cast<double>(pages) * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

/// A model of the network and the engines over it.
struct Served {
    explicit Served(std::string const& net)
        : graph(ps::zoo::graph(net)),
          model(graph, ps::random_weights(graph)),
          image(graph[graph.input()].shape.size()) {}

    void run(ps::ModelEngine<>& engine) {
        image.resize(engine.program().in_floats(), 0.5F);
        result.resize(engine.program().out_floats());
        engine.run(std::span(image).first(engine.program().in_floats()), result);
    }

    ps::Graph graph;
    ps::Model<> model;
    std::vector<float> image, result;
};

/// Several engines, each of which has run once: the time to make the last one, and the memory of all.
void engines(benchmark::State& state, std::string const& net) {
    const auto count = static_cast<std::size_t>(state.range(0));
    for (auto _ : state) {
        const double before = resident_bytes();
        Served served(net);
        const double own = resident_bytes();
        std::deque<ps::ModelEngine<>> all;
        double seconds = 0, arenas = 0;
        for (std::size_t i = 0; i < count; ++i) {
            const ps::Timer timer;
            all.emplace_back(served.model);
            seconds = timer.seconds();
            served.run(all.back());
            arenas += static_cast<double>(all.back().arena_bytes());
        }
        state.SetIterationTime(seconds);
        state.counters["weights_MB"] = static_cast<double>(served.model.weight_bytes()) * 1e-6;
        state.counters["arenas_MB"] = arenas * 1e-6;
        state.counters["resident_MB"] = (resident_bytes() - before) * 1e-6;
        state.counters["of_network_MB"] = (own - before) * 1e-6;  // the graph and its weights as they were given
    }
}

/// Images of a size that was not there before: planning, packing and one run.
void new_size(benchmark::State& state, std::string const& net) {
    Served served(net);
    ps::ModelEngine<> engine(served.model);
    std::mt19937 bits(1);
    std::uniform_int_distribution<int> sizes(96, 320);
    double use = 0, plan = 0, first = 0, second = 0, most = 0, found = 0, of_found = 0;
    for (auto _ : state) {
        const std::size_t packed = served.model.packed()->counts().packed;
        const ps::RunSize size{1, sizes(bits), sizes(bits)};
        ps::Timer timer;
        (void)served.model.at(size);
        plan += timer.seconds();
        engine.use(size);
        use += timer.seconds();
        served.run(engine);
        const double answered = timer.seconds();
        first += answered;
        if (served.model.packed()->counts().packed == packed) ++found, of_found += answered;
        timer.restart();
        engine.use(size);
        served.run(engine);
        second += timer.seconds();
        most = std::max(most, resident_bytes());
    }
    const auto mean = [&](double seconds) { return seconds * 1e3 / static_cast<double>(state.iterations()); };
    state.counters["plan_ms"] = mean(plan);
    state.counters["ready_ms"] = mean(use);
    state.counters["first_ms"] = mean(first);
    state.counters["second_ms"] = mean(second);
    // Sizes for which nothing had to be packed, and the time until their first answer.
    state.counters["found"] = found;
    state.counters["found_first_ms"] = found > 0 ? of_found * 1e3 / found : 0;
    state.counters["most_resident_MB"] = most * 1e-6;
    state.counters["weights_MB"] = static_cast<double>(served.model.weight_bytes()) * 1e-6;
}

/// Random sizes and batches on one engine, each result compared with that of an engine for this size alone.
void right_results(benchmark::State& state, std::string const& net) {
    Served served(net);
    ps::ModelEngine<> engine(served.model);
    std::mt19937 bits(1);
    std::uniform_int_distribution<int> sizes(33, 256), batches(1, 3);
    std::normal_distribution<float> normal;
    double wrong = 0, most = 0, most_weights = 0, most_arena = 0;
    std::vector<float> expected;
    for (auto _ : state) {
        const ps::RunSize size{batches(bits), sizes(bits), sizes(bits)};
        engine.use(size);
        served.image.resize(engine.program().in_floats());
        for (float& value : served.image) value = normal(bits);
        served.run(engine);
        most = std::max(most, resident_bytes());
        most_weights = std::max(most_weights, static_cast<double>(served.model.weight_bytes()));
        most_arena = std::max(most_arena, static_cast<double>(engine.arena_bytes()));
        const ps::Graph graph = ps::resized(ps::with_batch(served.graph, size.batch), {3, size.height, size.width});
        ps::Engine<ps::Graph> alone(graph, served.model.weights(), served.model.at(size)->plan);
        expected.resize(served.result.size());
        alone.run(served.image, expected);
        if (std::memcmp(expected.data(), served.result.data(), expected.size() * sizeof(float)) != 0) ++wrong;
    }
    state.counters["wrong"] = wrong;
    state.counters["most_resident_MB"] = most * 1e-6;  // with the engine alone that went before
    state.counters["most_weights_MB"] = most_weights * 1e-6;
    state.counters["most_arena_MB"] = most_arena * 1e-6;
}

BENCHMARK_CAPTURE(engines, mobilenet_v2, "mobilenet_v2")
    ->RangeMultiplier(2)
    ->Range(1, 8)
    ->UseManualTime()
    ->Iterations(1);
BENCHMARK_CAPTURE(engines, resnet50, "resnet50")->RangeMultiplier(2)->Range(1, 8)->UseManualTime()->Iterations(1);
BENCHMARK_CAPTURE(new_size, mobilenet_v2, "mobilenet_v2")->Iterations(1000)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(right_results, mobilenet_v2, "mobilenet_v2")->Iterations(1000)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(new_size, resnet50, "resnet50")->Iterations(100)->Unit(benchmark::kMillisecond);

}  // namespace
