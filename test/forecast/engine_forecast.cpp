// Forecasts of our own engines equal what they then hold: to the byte where engines say so, and to what the system
// gives the process for a training.
#include "../instrumented.hpp"

#include <doctest/doctest.h>
#include <primsel/engine/engine.hpp>
#include <primsel/engine/program.hpp>
#include <primsel/forecast/engine_forecast.hpp>
#include <primsel/network/network.hpp>
#include <primsel/train/trainer.hpp>

#include <unistd.h>

#include <cmath>
#include <cstddef>
#include <cstdio>
#include <vector>

namespace forecast_engines {
namespace {

namespace ps = primsel;
using namespace ps::layer;  // NOLINT(google-build-using-namespace): layers, as networks are written

struct Small : ps::Network<Input<3, 16, 16>, Named<"a", Conv<8, 3, Pad<1>>>, Named<"n", BatchNorm>, Relu, MaxPool<2>,
                           Named<"b", Conv<12, 3>>, Relu, Flatten, Named<"d", Dense<5>>> {};

std::size_t apart(std::size_t a, std::size_t b) { return a > b ? a - b : b - a; }

TEST_CASE("the memory of a training is forecast to what its trainer holds") {
    for (const int batch : {1, 6}) {
        for (const bool frozen : {false, true}) {
            ps::TrainingOptions options{.batch = batch};
            if (frozen) options.groups = {{"a.*", 0}};
            const ps::Graph graph = Small::graph(batch);
            const ps::Sgd momentum{.momentum = 0.9};
            const ps::forecast::EngineForecast forecast = ps::forecast::forecast_training(graph, options, momentum);
            ps::Trainer<ps::Graph> trainer(graph, ps::random_weights(graph), options, {.optimizer = momentum});
            CAPTURE(frozen);
            CHECK(apart(forecast.memory.arena, trainer.arena_bytes()) < 64);
            CHECK(forecast.memory.packed == trainer.weight_bytes());
            CHECK(apart(forecast.memory.total(), trainer.memory_bytes()) <= trainer.memory_bytes() / 100 + 256);
            CHECK(forecast.seconds - forecast.update_seconds == doctest::Approx(trainer.plan().total_seconds));
            CHECK(forecast.update_seconds > 0);
        }
    }
    // In parts: what is added up is there, too.
    const ps::forecast::EngineForecast whole = ps::forecast::forecast_training(Small::graph(2), {.batch = 2}),
                                       parts =
                                           ps::forecast::forecast_training(Small::graph(2), {.batch = 6, .part = 2});
    CHECK(parts.memory.optimizer > whole.memory.optimizer);
    CHECK(parts.seconds - parts.update_seconds == doctest::Approx(3 * (whole.seconds - whole.update_seconds)));
}

/// The bytes of this process in memory; 0 where the system does not say.
std::size_t resident_bytes() {
    std::FILE* file = std::fopen("/proc/self/statm", "r");
    if (file == nullptr) return 0;
    unsigned long all = 0, resident = 0;
    const int read = std::fscanf(file, "%lu %lu", &all, &resident);
    std::fclose(file);
    return read == 2 ? resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)) : 0;
}

struct Wide : ps::Network<Input<3, 64, 64>, Conv<32, 3, Pad<1>>, BatchNorm, Relu, Conv<32, 3, Pad<1>>, BatchNorm, Relu,
                          MaxPool<2>, Conv<64, 3, Pad<1>>, Relu, GlobalAvgPool, Dense<5>> {};

TEST_CASE("a training takes the memory that was forecast, within 1 % and 5 MiB") {
    constexpr int batch = 16;
    const auto graph = Wide::graph(batch);
    const ps::Weights weights = ps::random_weights(graph);
    const ps::Sgd momentum{.momentum = 0.9};
    const ps::TrainingOptions options{.batch = batch};
    const std::vector<float> images(std::size_t{batch} * 3 * 64 * 64, 0.5F), targets(batch, 1.0F);
    const std::size_t expected = ps::forecast::forecast_training(graph, options, momentum).memory.total();
    REQUIRE(expected > std::size_t{40} << 20U);
    const std::size_t before = resident_bytes();
    if (before == 0) return;
    ps::Trainer<ps::Graph> trainer(graph, weights, options, {.optimizer = momentum});
    trainer.step(images, targets, 0.01);
    const std::size_t taken = resident_bytes() - before;
    CAPTURE(expected);
    CAPTURE(taken);
#if !defined(PRIMSEL_TEST_INSTRUMENTED)  // sanitizers' allocators keep what was freed, and room around what was not
    CHECK(apart(expected, taken) <= expected / 100 + (std::size_t{5} << 20U));
#endif
}

TEST_CASE("the memory of an engine is forecast to the byte") {
    for (const int batch : {1, 4}) {
        const ps::Graph graph = Small::graph(batch), simple = ps::simplify(graph);
        const ps::forecast::EngineForecast forecast = ps::forecast::forecast_inference(graph);
        const ps::Kernels kernels = ps::policy_kernels<ps::DefaultPolicies>();
        const ps::Plan plan = ps::Predict<>().plan<ps::DefaultPolicies>(simple, kernels, 1);
        const ps::Program program(simple, kernels, plan, ps::random_weights(graph), 1);
        CHECK(apart(forecast.memory.arena, program.arena_bytes()) < 64);
        CHECK(forecast.memory.packed == program.weight_bytes());
    }
}

TEST_CASE("the memory of weights that layers share is forecast once") {
    struct Net : ps::Network<Input<8, 16, 16>, Named<"a", Conv<8, 3, Pad<1>>>, Relu, Named<"b", Conv<8, 3, Pad<1>>>,
                             Relu, MaxPool<2>, Flatten, Named<"in", Dense<20>>, Tanh, Named<"out", Dense<512>>> {};
    ps::Graph graph = Net::graph();
    graph.set_shared({{"a.weight", {"kernel"}},
                      {"b.weight", {"kernel"}},
                      {"a.bias", {"bias"}},
                      {"b.bias", {"bias"}},
                      {"in.weight", {"matrix"}},
                      {"out.weight", {"matrix", true}}});
    const ps::forecast::EngineForecast inference = ps::forecast::forecast_inference(graph);
    CHECK(inference.memory.packed == ps::Engine<ps::Graph>(graph, ps::random_weights(graph)).program().weight_bytes());
    ps::TrainingOptions options{.batch = 1};
    const ps::forecast::EngineForecast training = ps::forecast::forecast_training(graph, options);
    const ps::Trainer<ps::Graph> trainer(graph, ps::random_weights(graph), options);
    CHECK(training.memory.packed == trainer.weight_bytes());
    CHECK(apart(training.memory.total(), trainer.memory_bytes()) <= trainer.memory_bytes() / 100 + 256);
}

TEST_CASE("a few runs correct a forecast, and say how far it may be off") {
    const std::vector<double> runs{2.1, 2.0, 2.2};
    const ps::forecast::Estimate by = ps::forecast::corrected_by(1, runs);
    CHECK(by.value == 2.1);
    CHECK(by.deviation == doctest::Approx(1.4826 * 1.2533 * 0.1 / std::sqrt(3.0)));
    const std::vector<double> one{1.5};
    CHECK(ps::forecast::corrected_by(1, one).deviation == 0.25);
    CHECK_THROWS_AS((void)ps::forecast::corrected_by(1, {}), ps::error);
}

}  // namespace
}  // namespace forecast_engines
