// Engines that share a model, against engines of their own.
#include "../allocations.hpp"
#include "../error_of.hpp"
#include "../quick.hpp"

#include <primsel/engine/model.hpp>
#include <primsel/primsel.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

namespace engine_model_tests {

namespace ps = primsel;
using namespace ps::layer;

namespace {

using tests::error_of;

struct Policies : ps::DefaultPolicies {
    using primitives = ps::TypeList<ps::DirectHwc, ps::DirectChwHwc, ps::DepthwiseHwc, ps::DirectSum2d>;
};
struct Pooled : Policies {
    using executor = ps::ThreadPool;
};
struct Shared : Policies {
    using executor = ps::ExecutorRef;
};

struct AnySize : ps::Network<Input<3, 24, 24>, Conv<12, 3>, BatchNorm, Relu, Conv<12, 3, Groups<12>>, Relu, MaxPool<2>,
                             Conv<20, 1>, Relu, GlobalAvgPool, Dense<7>> {};
struct OneSize : ps::Network<Input<2, 8, 8>, Conv<4, 3>, Relu, Dense<5>> {};

std::vector<float> random_values(std::size_t count, unsigned seed) {
    std::mt19937 bits(seed);
    std::uniform_real_distribution<float> values(-1, 1);
    std::vector<float> result(count);
    for (float& value : result) value = values(bits);
    return result;
}
ps::RunSize any_size(std::mt19937& bits) {
    const auto number = [&](int low, int high) { return std::uniform_int_distribution(low, high)(bits); };
    return {.batch = number(1, 3), .height = number(5, 40), .width = number(5, 40)};
}

template <class Engine>
std::vector<float> results_of(Engine& engine, std::vector<float> const& images) {
    std::vector<float> results(engine.program().out_floats());
    engine.run(images, results);
    return results;
}
/// The results of an engine that knows no other size.
std::vector<float> alone(ps::Model<Policies> const& model, ps::RunSize size, std::vector<float> const& images) {
    const ps::Graph graph = ps::resized(ps::with_batch(model.graph(), size.batch), {3, size.height, size.width});
    ps::Engine<ps::Graph, Policies> engine(graph, model.weights(), model.at(size)->plan);
    return results_of(engine, images);
}
bool same_bits(std::vector<float> const& a, std::vector<float> const& b) {
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

ps::Model<Policies> make_model(std::size_t plans = 64) {
    const ps::Graph graph = AnySize::graph();
    return {graph, ps::random_weights(graph), {}, plans};
}

TEST_CASE("ModelEngine: images of any size, in any order, as an engine of that size alone computes them") {
    const ps::Model<Policies> model = make_model(3);
    for (const std::size_t sizes : {1U, 2U, 5U}) {
        ps::ModelEngine<Policies> engine(model, {}, sizes);
        CHECK(engine.size() == ps::RunSize{1, 24, 24});
        std::mt19937 bits(static_cast<unsigned>(sizes));
        std::vector<ps::RunSize> seen;
        for (int i = 0; i < 12; ++i) {
            const ps::RunSize size = i % 3 == 2 ? seen[bits() % seen.size()] : any_size(bits);
            seen.push_back(size);
            CAPTURE(size.batch);
            CAPTURE(size.height);
            CAPTURE(size.width);
            engine.use(size);
            CHECK(engine.size() == size);
            CHECK(engine.in_shapes()[0] == ps::Shape{3, size.height, size.width});
            const auto images = random_values(engine.program().in_floats(), static_cast<unsigned>(i));
            CHECK(same_bits(results_of(engine, images), alone(model, size, images)));
            CHECK(engine.arena_bytes() >= engine.program().arena_bytes());
        }
    }
}

TEST_CASE("ModelEngine: weights are in memory once, while somebody uses them") {
    const ps::Model<Policies> model = make_model();
    CHECK(model.weight_bytes() == 0);
    {
        std::optional<ps::ModelEngine<Policies>> one(std::in_place, model);
        const std::size_t bytes = model.weight_bytes();
        CHECK(bytes > 0);
        CHECK(bytes <= one->program().weight_bytes());
        ps::ModelEngine<Policies> two(model), three(model);
        three.use({3, 24, 24});
        CHECK(model.weight_bytes() == bytes);
        one.reset();
        CHECK(model.weight_bytes() == bytes);
        const auto images = random_values(two.program().in_floats(), 1);
        CHECK(same_bits(results_of(two, images), alone(model, model.size(), images)));
    }
    CHECK(model.weight_bytes() == 0);
}

TEST_CASE("ModelEngine: what one engine has packed no other packs, of whatever size") {
    const ps::Graph graph = AnySize::graph();
    const ps::Weights weights = ps::random_weights(graph);
    const std::vector<ps::RunSize> sizes{{1, 24, 24}, {1, 30, 17}, {2, 9, 40}, {3, 40, 40}};
    for (const char* primitive : {"direct-hwc", "direct-sum2d"}) {
        const ps::Model<Policies> model(graph, weights, {.primitive = primitive});
        ps::ModelEngine<Policies> first(model);
        const std::size_t packed = model.packed()->counts().packed, bytes = model.weight_bytes();
        CHECK(packed == 4);  // three convolutions and a dense layer
        CHECK(model.packed()->counts().packing_seconds > 0);
        ps::ModelEngine<Policies> second(model, {}, 2);
        for (ps::RunSize const& size : sizes) {
            for (ps::ModelEngine<Policies>* engine : {&first, &second}) {
                engine->use(size);
                const auto images = random_values(engine->program().in_floats(), 1);
                CHECK(same_bits(results_of(*engine, images), alone(model, size, images)));
                CHECK(engine->program().weight_bytes() == first.program().weight_bytes());
            }
        }
        CHECK(model.packed()->counts().packed == packed);
        CHECK(model.packed()->counts().found == packed * (2 * sizes.size() - 1));
        CHECK(model.weight_bytes() == bytes);
    }
}

/// Layers that resize an image, and ops that pack weights of their own.
struct Upscaling : ps::Network<Input<3, 24, 24>, Conv<16, 3, NoBias>, Relu, Conv<16, 3, Groups<16>, NoBias>,
                               ConvTranspose<24, 4, Stride<2>>, Relu, ConvTranspose<2, 3>, GlobalAvgPool, Dense<7>> {};
/// Sequences of 12 steps, as many as an image has rows.
ps::Graph sequences() {
    ps::Graph graph;
    const std::size_t image = graph.add("image", ps::InputParams{{12, 3, 10}}, {});
    const std::size_t rows = graph.add("rows", ps::DenseRowsParams{.k = 24}, {image});
    graph.add("gru", ps::RecurrentParams{.kind = ps::RecurrentKind::gru}, {rows});
    return graph;
}

TEST_CASE("Model: whatever sizes images have, no weights are packed twice") {
    for (const bool recurrent : {false, true}) {
        const ps::Graph graph = recurrent ? sequences() : Upscaling::graph();
        const ps::Weights weights = ps::random_weights(graph);
        // One primitive for all sizes: what two pack may be equal, and is kept once.
        const ps::Model<Policies> model(graph, weights, {.primitive = "direct-sum2d"}, 64, std::size_t{1} << 30);
        ps::ModelEngine<Policies> engine(model);
        std::mt19937 bits(3);
        std::size_t sizes = quick() ? 100 : 1000;
        for (std::size_t i = 0; i < sizes; ++i) {
            ps::RunSize size = any_size(bits);
            if (i % 10 == 0) size.height = 40, size.width = 1;  // in columns, which ops may exchange with rows
            if (recurrent) size.width = 10;
            engine.use(size);
            CHECK(model.packed()->counts().packed_bytes == model.weight_bytes());
        }
        CHECK(model.packed()->counts().evicted == 0);
    }
}

TEST_CASE("Model: spare weights stay within their bound, those released last") {
    const ps::Graph graph = AnySize::graph();
    const ps::Weights weights = ps::random_weights(graph);
    std::size_t all = 0;
    {
        const ps::Model<Policies> model(graph, weights);
        const ps::ModelEngine<Policies> engine(model);
        all = model.weight_bytes();
    }
    for (const std::size_t bound : {std::size_t{0}, all / 2, all}) {
        const ps::Model<Policies> model(graph, weights, {}, 64, bound);
        for (int i = 0; i < 3; ++i) {
            ps::ModelEngine<Policies> engine(model);
            CHECK(model.weight_bytes() == all);
            const auto images = random_values(engine.program().in_floats(), 1);
            CHECK(same_bits(results_of(engine, images), alone(model, model.size(), images)));
        }
        CHECK(model.weight_bytes() <= bound);
        CHECK(model.packed()->spare_bytes() == model.weight_bytes());
        const auto counts = model.packed()->counts();
        CHECK((counts.found == 0) == (bound == 0));
        CHECK((counts.packed == 4) == (bound == all));
        CHECK((counts.evicted == 0) == (bound != all / 2));
    }
}

TEST_CASE("ModelEngine: after many sizes it holds no more than after a few, and a ready size allocates nothing") {
    const ps::Model<Policies> model = make_model(4);
    ps::ModelEngine<Policies> engine(model, {}, 3);
    std::mt19937 bits(1);
    std::size_t most_weights = 0, most_arena = 0, weights = 0, arena = 0;
    const ps::RunSize largest{3, 40, 40};
    engine.use(largest);
    const std::size_t bound = engine.arena_bytes();
    for (int i = 0; i < 60; ++i) {
        engine.use(any_size(bits));
        weights = model.weight_bytes(), arena = engine.arena_bytes();
        if (i < 30) most_weights = std::max(most_weights, weights);
        most_arena = std::max(most_arena, arena);
    }
    // Each of three sizes may choose other primitives, and no more.
    CHECK(weights <= 2 * most_weights);
    CHECK(most_arena <= 2 * bound);
    for (int i = 0; i < 3; ++i) engine.use({1, 5 + i, 5});
    CHECK(engine.arena_bytes() < bound);  // the large ones are forgotten
    const auto images = random_values(3 * 5 * 5, 1);
    std::vector<float> results(engine.program().out_floats());
    CHECK(scratch::allocated_by([&] {
              engine.use({1, 5, 5});
              engine.run(images, results);
          }) == 0);
}

TEST_CASE("ModelEngine: engines on several threads, of several sizes at a time") {
    const ps::Model<Policies> model = make_model(2);
    std::vector<ps::RunSize> sizes;
    std::vector<std::vector<float>> images, expected;
    std::mt19937 bits(5);
    for (unsigned i = 0; i < 5; ++i) {
        sizes.push_back(any_size(bits));
        const ps::RunSize size = sizes.back();
        images.push_back(random_values(static_cast<std::size_t>(3 * size.batch * size.height * size.width), i));
        expected.push_back(alone(model, size, images.back()));
    }
    std::atomic<int> wrong = 0;
    std::vector<std::thread> threads;
    for (std::size_t t = 0; t < 4; ++t) {
        threads.emplace_back([&, t] {
            ps::ModelEngine<Policies> engine(model, {}, 2);
            for (std::size_t i = 0; i < 12; ++i) {
                const std::size_t at = (t + i * (t + 1)) % sizes.size();
                engine.use(sizes[at]);
                if (!same_bits(results_of(engine, images[at]), expected[at])) ++wrong;
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    CHECK(wrong == 0);
    CHECK(model.weight_bytes() == 0);
}

TEST_CASE("ModelEngine: engines that run at the same time on one pool") {
    const ps::Graph graph = AnySize::graph();
    const ps::Weights weights = ps::random_weights(graph);
    const ps::Model<Shared> model(graph, weights);
    ps::ThreadPool pool(3);
    const auto images = random_values(3 * 24 * 24, 1);
    ps::ModelEngine<Shared> first(model, pool);
    const std::vector<float> expected = results_of(first, images);
    std::atomic<int> wrong = 0;
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t) {
        threads.emplace_back([&] {
            ps::ModelEngine<Shared> engine(model, pool);
            for (int i = 0; i < 20; ++i) {
                if (!same_bits(results_of(engine, images), expected)) ++wrong;
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    CHECK(wrong == 0);
    ps::Engine<ps::Graph, Pooled> own(graph, weights, model.at(model.size(), 3)->plan, ps::ThreadPool(2));
    CHECK(same_bits(results_of(own, images), expected));
}

TEST_CASE("ModelEngine: a child of fork runs what was ready and what is new, without the threads of the pool") {
    const ps::Graph graph = AnySize::graph();
    const ps::Model<Shared> model(graph, ps::random_weights(graph));
    ps::ThreadPool pool(3);
    const ps::RunSize fresh{2, 9, 31};
    const auto images = random_values(3 * 24 * 24, 1), others = random_values(2 * 3 * 9 * 31, 2);
    ps::ModelEngine<Shared> engine(model, pool), other(model, pool);
    other.use(fresh);
    const std::vector<float> expected = results_of(engine, images), of_others = results_of(other, others);
    const pid_t child = ::fork();
    if (child == 0) {
        bool right = same_bits(results_of(engine, images), expected);
        engine.use(fresh);
        right = right && same_bits(results_of(engine, others), of_others);
        ::_exit(right ? 0 : 1);
    }
    int status = -1;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(status == 0);
    CHECK(same_bits(results_of(engine, images), expected));
}

TEST_CASE("Model: sizes and graphs that it refuses leave it as it was") {
    const ps::Model<Policies> model = make_model();
    ps::ModelEngine<Policies> engine(model);
    const auto images = random_values(3 * 24 * 24, 1);
    const std::vector<float> before = results_of(engine, images);
    CHECK(error_of([&] { engine.use({0, 24, 24}); }) == "model: 0 images of 24x24");
    CHECK(error_of([&] { engine.use({1, 24, -3}); }) == "model: 1 images of 24x-3");
    CHECK_FALSE(error_of([&] { engine.use({1, 1, 1}); }).empty());  // nothing is left after the pooling
    CHECK_FALSE(error_of([&] { engine.use({1 << 30, 1 << 15, 1 << 15}); }).empty());
    CHECK(engine.size() == model.size());
    CHECK(same_bits(results_of(engine, images), before));

    const ps::Graph fixed = OneSize::graph();
    const ps::Model<Policies> one(fixed, ps::random_weights(fixed));
    ps::ModelEngine<Policies> batches(one);
    batches.use({4, 8, 8});
    CHECK(batches.program().batch() == 4);
    CHECK(error_of([&] { batches.use({1, 9, 8}); }).find("weight") != std::string::npos);
    CHECK(error_of([&] { (void)ps::Model<Policies>(fixed, ps::Weights()); }).find("missing") != std::string::npos);
    CHECK(error_of([&] { (void)ps::Model<Policies>(fixed, ps::random_weights(fixed), {}, 0); }) ==
          "model: 0 plans to remember; it needs one");
    CHECK(error_of([&] { (void)ps::ModelEngine<Policies>(one, {}, 0); }) ==
          "model: an engine for 0 sizes; it needs one");
}

}  // namespace

}  // namespace engine_model_tests
