// Laws of every engine, on small versions of every network of the zoo: the definition's result, the same bits whatever
// the threads, no allocation in run().
#include "../allocations.hpp"
#include "../network/evaluate.hpp"
#include "../quick.hpp"
#include "../threads.hpp"

#include <primsel/kernels/extern_kernels.hpp>
#include <primsel/primsel.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <string>
#include <vector>

namespace ps = primsel;

namespace {

using namespace ps::layer;

using Engine = ps::Engine<ps::Graph>;

struct Case {
    std::string name;
    ps::Graph graph;
};

/// Blocks of MobileNetV3, EfficientNet and ConvNeXt, and the other types that are several layers of a graph each.
template <int c, class Activation>
using Mobile = Residual<Conv<2 * c, 1, NoBias>, BatchNorm, Activation, Conv<2 * c, 5, Groups<2 * c>, NoBias>, BatchNorm,
                        Activation, SqueezeExcite<2 * c, c / 2, Relu, HardSigmoid<>>, Conv<c, 1, NoBias>, BatchNorm>;
struct Composed : ps::Network<Input<3, 21, 21>, Conv<8, 3, Stride<2>>, HardSwish, Named<"v3", Mobile<8, HardSwish>>,
                              Named<"efficient", Mobile<8, Silu>>,
                              Named<"next", Residual<Conv<8, 7, Groups<8>>, Named<"norm", LayerNorm<>>, Conv<16, 1>,
                                                     GeluTanh, Conv<8, 1>, LayerScale<"layer_scale", 8>>>,
                              Named<"up", ConvTranspose<8, 4, Stride<2>, Pad<1>>>, Named<"act", PRelu<8>>, PRelu<>,
                              Named<"group", GroupNorm<2>>, InstanceNorm<>, PixelShuffle<2>, Upsample<2, Bilinear>,
                              ReflectPad<1>, MaxPool<3, Dilation<2>, Stride<2>>, ScaleBy<std::ratio<3>, std::ratio<-1>>,
                              Flatten, Dense<5>, ScaleBy<std::ratio<2>>> {};

std::vector<Case> networks(int batch) {
    using namespace ps::zoo;
    return {{"alexnet", AlexNetOf<63, 10>::graph(batch)},
            {"vgg11", Vgg11Of<32, 10>::graph(batch)},
            {"googlenet", GoogLeNetOf<33, 10>::graph(batch)},
            {"resnet18", ResNet18Of<37, 10>::graph(batch)},
            {"composed", Composed::graph(batch)}};
}

std::vector<float> images(ps::Graph const& graph) {
    std::vector<float> values(static_cast<std::size_t>(graph.batch()) * graph[graph.input()].shape.size());
    unsigned state = 7;
    for (float& value : values)
        value = static_cast<float>((state = state * 1664525U + 1013904223U) >> 8) / (1U << 23) - 1.0F;
    return values;
}

std::vector<float> result_of(Engine& engine, std::vector<float> const& src) {
    std::vector<float> dst(static_cast<std::size_t>(engine.batch()) * engine.out_shape().size());
    engine.run(src, dst);
    return dst;
}

/// The largest difference over the RMS of the exact values.
double error(std::vector<float> const& values, std::vector<double> const& exact) {
    double worst = 0, squares = 0;
    for (std::size_t i = 0; i < exact.size(); ++i) {
        worst = std::max(worst, std::abs(static_cast<double>(values[i]) - exact[i]));
        squares += exact[i] * exact[i];
    }
    return worst / std::sqrt(squares / static_cast<double>(exact.size()));
}

// Learned costs lose where they were not learned: they are for those who ask for them.
static_assert(std::same_as<ps::DefaultPolicies::cost_model, ps::SemiEmpiricalCosts>);

}  // namespace

TEST_CASE("the plan, greedy and every uniform plan compute what the unsimplified network means") {
    std::size_t turn = 0;
    for (Case const& network : networks(2)) {
        CAPTURE(network.name);
        const ps::Weights weights = ps::random_weights(network.graph, 5);
        const std::vector<float> src = images(network.graph);
        const ps::Shape in = network.graph[network.graph.input()].shape;
        std::vector<double> exact;
        for (std::size_t image = 0; image < 2; ++image) {
            evaluate::Image one(in);
            std::copy_n(src.data() + image * in.size(), in.size(), one.data.begin());
            const std::vector<double> result = evaluate::graph(network.graph, one, weights).data;
            exact.insert(exact.end(), result.begin(), result.end());
        }
        const ps::Graph simplified = ps::simplify(network.graph);
        ps::Analytical model(ps::Machine{});
        ps::Sequential sequential;
        for (ps::ComparedPlan const& rival : ps::rival_plans(simplified, Engine::kernels(), model)) {
            if (quick() && turn++ % 7 != 0) continue;
            CAPTURE(rival.name);
            ps::Program program(simplified, Engine::kernels(), rival.plan, weights, 1);
            std::vector<float> dst(exact.size());
            program.run(src.data(), dst.data(), sequential);
            CHECK(error(dst, exact) < 1e-4);
        }
    }
}

TEST_CASE("the same bits on every call and for every number of threads, and run() allocates nothing") {
    for (Case const& network : networks(1)) {
        CAPTURE(network.name);
        const ps::Weights weights = ps::random_weights(network.graph);
        const std::vector<float> src = images(network.graph);
        Engine engine{network.graph, weights};
        const std::vector<float> once = result_of(engine, src);
        std::vector<float> again(once.size());
        const std::size_t before = scratch::allocations;
        engine.run(src, again);
        CHECK(scratch::allocations == before);
        CHECK(again == once);
        const ps::Graph simplified = ps::simplify(network.graph);
        for (const std::size_t threads : {std::size_t{2}, std::size_t{3}}) {
            ps::CallerPool pool(threads, laws::Threads{});
            ps::Program program(simplified, Engine::kernels(), engine.plan(), weights, threads);
            program.run(src.data(), again.data(), pool);
            CHECK(again == once);
            ps::ThreadPool own(threads);
            for (int run = 0; run < 3; ++run) {
                std::ranges::fill(again, 0.0F);
                const std::size_t allocations = scratch::allocations;
                program.run(src.data(), again.data(), own);
                CHECK(scratch::allocations == allocations);
                CHECK(again == once);
            }
        }
        Engine moved = std::move(engine);
        CHECK(result_of(moved, src) == once);
    }
}

TEST_CASE("the caller's image stays as it is, whatever runs in place") {
    ps::Graph graph;
    const auto input = graph.add("input", ps::InputParams{{3, 5, 7}}, {});
    const auto relu = graph.add("relu", ps::ActivationParams{}, {input});
    const auto swish = graph.add("swish", ps::ActivationParams{ps::ActivationKind::hard_swish}, {relu});
    graph.add("add", ps::AddParams{}, {swish, relu, input});
    const ps::Weights weights;
    const std::vector<float> src = images(graph), copy = src;
    Engine engine{graph, weights};
    const std::vector<float> dst = result_of(engine, src);
    CHECK(src == copy);
    for (std::size_t i = 0; i < dst.size(); ++i) {
        const float x = src[i], r = x > 0 ? x : 0;
        CHECK(dst[i] == doctest::Approx(r * std::min(r + 3, 6.0F) / 6 + r + x));
    }
}

TEST_CASE("an engine takes a plan that was made before, and no other") {
    const ps::Graph graph = ps::zoo::ResNet18Of<37, 10>::graph();
    const ps::Weights weights = ps::random_weights(graph);
    Engine engine{graph, weights};
    Engine same{graph, weights, engine.plan()};
    const std::vector<float> src = images(graph);
    CHECK(result_of(same, src) == result_of(engine, src));

    const auto refuses = [&](ps::Plan const& plan, const char* what) {
        CHECK_THROWS_WITH_AS((Engine{graph, weights, plan}), doctest::Contains(what), ps::error);
    };
    ps::Plan plan = engine.plan();
    plan.key.cpu = "another";
    refuses(plan, "processor");
    plan = engine.plan();
    plan.key.version = "0.0.0";
    refuses(plan, "library version");
    plan = engine.plan();
    plan.key.network = "0";
    refuses(plan, "network");
    plan = engine.plan();
    plan.key.primitives = "0";
    refuses(plan, "list of primitives");
    plan = engine.plan();
    plan.key.arch = "another";
    refuses(plan, "instruction set");
    plan = engine.plan();
    plan.layers[1].primitive = "none";
    refuses(plan, "unknown primitive");
}

TEST_CASE("weights that do not fit are all named") {
    const ps::Graph graph = ps::zoo::ResNet18Of<37, 10>::graph();
    ps::Weights wrong;
    wrong.add("conv1.weight", {1}, {0.0F});
    wrong.add("surprise", {1}, {0.0F});
    CHECK_THROWS_WITH_AS((Engine{graph, wrong}), doctest::Contains("wrong shape: conv1.weight"), ps::error);
    CHECK_THROWS_WITH_AS((Engine{graph, wrong}), doctest::Contains("missing: fc.bias"), ps::error);
    CHECK_THROWS_WITH_AS((Engine{graph, wrong}), doctest::Contains("not in the network: surprise"), ps::error);
}

TEST_CASE("buffers that are alive together do not overlap") {
    unsigned state = 3;
    const auto random = [&](std::size_t below) { return ((state = state * 1664525U + 1013904223U) >> 8) % below; };
    for (int round = 0; round < 200; ++round) {
        std::vector<ps::Lifetime> buffers;
        std::size_t sum = 0;
        for (std::size_t i = 0; i < 20; ++i) {
            const std::size_t first = random(30);
            buffers.push_back({random(4000), first, first + random(6)});
            sum += ps::round_up_bytes(buffers.back().bytes);
        }
        const ps::ArenaLayout layout = ps::place_buffers(buffers);
        CHECK(layout.bytes <= sum);
        std::size_t most = 0;
        for (std::size_t step = 0; step < 40; ++step) {
            std::size_t alive = 0;
            for (ps::Lifetime const& buffer : buffers) {
                if (buffer.first <= step && step <= buffer.last) alive += ps::round_up_bytes(buffer.bytes);
            }
            most = std::max(most, alive);
        }
        CHECK(layout.bytes >= most);
        CHECK(static_cast<double>(layout.bytes) <= 1.3 * static_cast<double>(most));
        for (std::size_t i = 0; i < buffers.size(); ++i) {
            CHECK(layout.offsets[i] + buffers[i].bytes <= layout.bytes);
            CHECK(layout.offsets[i] % ps::alignment == 0);
            for (std::size_t j = 0; j < i; ++j) {
                if (buffers[i].last < buffers[j].first || buffers[j].last < buffers[i].first) continue;
                CHECK((layout.offsets[i] + buffers[i].bytes <= layout.offsets[j] ||
                       layout.offsets[j] + buffers[j].bytes <= layout.offsets[i]));
            }
        }
    }
}
