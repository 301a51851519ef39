// A dynamic engine: each configuration gives the bits of an engine for it alone; changing it allocates nothing; weights
// are packed once; what agreeing costs is what the plans say.
#include "../allocations.hpp"
#include "../threads.hpp"
#include "networks.hpp"

#include <doctest/doctest.h>
#include <primsel/core/executor.hpp>
#include <primsel/dynamic/dynamic_engine.hpp>
#include <primsel/dynamic/nested.hpp>
#include <primsel/pbqp/brute_force.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dynamic {
namespace {

template <class Policies>
std::vector<float> run_in(ps::dynamic::DynamicEngine<Policies>& engine, int configuration,
                          std::vector<float> const& image) {
    std::vector<float> result(engine.out_shape().size() * static_cast<std::size_t>(engine.batch()));
    engine.use(configuration);
    engine.run(image, result);
    return result;
}

void check_configurations(ps::Graph const& graph, std::vector<ps::dynamic::Configuration> const& configurations) {
    const ps::Weights weights = ps::random_weights(graph, 7);
    ps::dynamic::DynamicEngine<> engine(graph, weights, configurations);
    const std::vector<float> image = image_of(graph);
    REQUIRE(engine.count() == static_cast<int>(configurations.size()));
    CHECK(engine.in_use() == engine.count());
    std::vector<std::vector<float>> expected;
    for (int c = 1; c <= engine.count(); ++c) {
        ps::dynamic::Configuration const& part = configurations[static_cast<std::size_t>(c) - 1];
        ps::Engine<ps::Graph> alone(part.graph, ps::dynamic::configuration_weights(graph, weights, part),
                                    engine.plan(c));
        expected.emplace_back(alone.out_shape().size() * static_cast<std::size_t>(alone.batch()));
        alone.run(image, expected.back());
    }
    // In an order in which each follows each.
    for (const int c : {4, 1, 2, 1, 3, 4, 2, 4, 3, 2, 3, 1, 4}) {
        CAPTURE(c);
        CHECK(run_in(engine, c, image) == expected[static_cast<std::size_t>(c) - 1]);
        CHECK(engine.in_use() == c);
    }
    CHECK(engine.plans().price() >= -1e-9);
    CHECK(engine.memory().arena <= engine.memory().separate_arenas);
    CHECK(engine.memory().weights <= engine.memory().separate_weights);
}

TEST_CASE("each configuration gives the bits of an engine for it alone") {
    for (auto const& network : in_four_groups()) {
        CAPTURE(network.name);
        ps::Graph const& graph = network.graph;
        check_configurations(graph, ps::dynamic::configurations(graph));
    }
    for (ps::Graph const& graph : {Plain::graph(), Gate::graph(), ps::zoo::AlexNetCifar::graph(2)}) {
        CAPTURE(graph.size());
        check_configurations(graph, ps::dynamic::nested(graph, 4));
    }
}

TEST_CASE("groups are packed once, and of the dense layer only what differs") {
    const ps::Graph graph = ps::zoo::AlexNetCifar::graph();
    const ps::dynamic::DynamicEngine<> engine(graph, ps::random_weights(graph, 7));
    std::size_t dense = 0, whole = 0;
    for (int c = 1; c <= 4; ++c) {
        for (std::size_t i = 0; i < engine.graph(c).size(); ++i) {
            ps::Node const& node = engine.graph(c)[i];
            if (ps::dynamic::group_number(node.name) == 0) continue;
            ps::PlannedLayer const& here = engine.plan(c).layers[i];
            ps::PlannedLayer const& in_all = engine.plan(4).layer(node.name);
            if (!std::holds_alternative<ps::ConvParams>(node.layer)) continue;
            CHECK(here.primitive == in_all.primitive);
            CHECK(here.in_layout == in_all.in_layout);
        }
    }
    dense = engine.weight_bytes("fc6");
    whole = engine.program(4).weight_bytes();
    CHECK(engine.memory().weights >= whole);
    CHECK(engine.memory().weights - whole <= dense);
}

TEST_CASE("changing the configuration and running it allocate nothing") {
    const ps::Graph graph = ps::dynamic::grouped(Plain::graph(), 4);
    ps::dynamic::DynamicEngine<> engine(graph, ps::random_weights(graph, 7));
    const std::vector<float> image = image_of(graph);
    std::vector<float> result(engine.out_shape().size());
    CHECK(noexcept(engine.use(1)));
    CHECK(noexcept(engine.run(image, result)));
    CHECK(scratch::allocated_by([&] {
              for (int i = 0; i < 40; ++i) {
                  engine.use(1 + i * 3 % 4);
                  engine.run(image, result);
              }
          }) == 0);
}

struct OnThreads : ps::DefaultPolicies {
    using executor = ps::CallerPool<laws::Threads>;
};

TEST_CASE("the same bits for any number of threads of one plan") {
    const ps::Graph graph = ps::zoo::AlexNetCifar::graph();
    const ps::Weights weights = ps::random_weights(graph, 7);
    const std::vector<ps::dynamic::Configuration> parts = ps::dynamic::configurations(graph);
    const ps::JointPlans plans = ps::dynamic::plan_configurations<OnThreads>(parts);
    const std::vector<float> image = image_of(graph);
    ps::dynamic::DynamicEngine<OnThreads> one(graph, weights, parts, plans, ps::CallerPool<laws::Threads>(1, {}));
    ps::dynamic::DynamicEngine<OnThreads> three(graph, weights, parts, plans, ps::CallerPool<laws::Threads>(3, {}));
    for (const int c : {1, 2, 4}) CHECK(run_in(one, c, image) == run_in(three, c, image));
}

/// A model of a machine on which every thread makes a layer longer.
struct SlowerByThreads {
    static constexpr std::string_view name = "slower by threads";
    template <class Query>
    void predict(ps::Kernels const&, std::span<const Query> queries, std::span<double> seconds) const {
        for (std::size_t i = 0; i < queries.size(); ++i) seconds[i] = 1e-6 * queries[i].run.threads;
    }
};
struct Priced : OnThreads {
    using cost_model = SlowerByThreads;
};

TEST_CASE("an engine plans for the threads of its executor") {
    const ps::Graph graph = ps::dynamic::grouped(Plain::graph(), 2);
    const ps::Weights weights = ps::random_weights(graph, 7);
    const auto seconds = [&](std::size_t threads) {
        const ps::dynamic::DynamicEngine<Priced> engine(graph, weights, {}, ps::CallerPool<laws::Threads>(threads, {}));
        return engine.plans().seconds;
    };
    CHECK(seconds(1) > 0);
    CHECK(seconds(3) == doctest::Approx(3 * seconds(1)));
    const ps::dynamic::DynamicEngine<Priced> apart(graph, weights, {.threads = ps::dynamic::GroupThreads::take_groups},
                                                   ps::CallerPool<laws::Threads>(3, {}));
    CHECK(apart.plans().seconds == doctest::Approx(seconds(1)));
}

/// Prices that are drawn, so that graphs disagree; the same for equal questions.
struct Drawn {
    static constexpr std::string_view name = "drawn";
    template <class Query>
    void predict(ps::Kernels const&, std::span<const Query> queries, std::span<double> seconds) {
        for (std::size_t i = 0; i < queries.size(); ++i)
            seconds[i] = 1e-6 * static_cast<double>(1 + drawn(queries[i]) % 97);
    }
    static unsigned drawn(ps::ConvQuery const& query) {
        return static_cast<unsigned>(query.primitive * 7919 +
                                     static_cast<std::size_t>(query.shape.c * 31 + query.shape.k));
    }
    static unsigned drawn(ps::OpQuery const& query) {
        return static_cast<unsigned>(query.layout * 104'729 +
                                     static_cast<std::size_t>(query.inputs.size() + query.output.size() * 17));
    }
    static unsigned drawn(ps::TransformQuery const& query) {
        return static_cast<unsigned>(query.from * 613 + query.to * 271) + static_cast<unsigned>(query.shape.size());
    }
};

TEST_CASE("plans together cost what their parts cost, and never less than each alone") {
    const ps::Graph graph = ps::dynamic::grouped(Plain::graph(), 2);
    const std::vector<ps::dynamic::Configuration> parts = ps::dynamic::configurations(graph);
    for (const std::vector<double>& uses : {std::vector<double>{1, 1}, {10, 1}, {1, 30}}) {
        const ps::JointPlans plans =
            ps::dynamic::plan_configurations<ps::DefaultPolicies>(parts, {.uses = uses}, Drawn{}, ps::ExactPbqp{});
        CHECK(plans.optimal);
        const double all = uses[0] + uses[1];
        const double seconds = (uses[0] * plans.plans[0].total_seconds + uses[1] * plans.plans[1].total_seconds) / all;
        CHECK(plans.seconds == doctest::Approx(seconds));
        CHECK(plans.seconds >= plans.separate_seconds - 1e-12);
        for (std::size_t i = 0; i < 2; ++i) {
            Drawn model;
            const ps::Plan alone = ps::make_plan(ps::simplify(parts[i].graph),
                                                 ps::policy_kernels<ps::DefaultPolicies>(), model, ps::ExactPbqp{});
            CHECK(plans.plans[i].total_seconds >= alone.total_seconds - 1e-12);
            CHECK(plans.plans[i].bound_seconds == doctest::Approx(alone.total_seconds));
        }
    }
}

TEST_CASE("what a dynamic engine cannot be made of") {
    const ps::Graph graph = ps::dynamic::grouped(Plain::graph(), 2);
    const ps::Weights weights = ps::random_weights(graph, 7);
    CHECK_THROWS_WITH_AS(ps::dynamic::DynamicEngine<>(graph, weights, {.uses = {1, 2, 3}}),
                         "dynamic: 3 uses for 2 configurations", ps::error);
    CHECK_THROWS_WITH_AS(ps::dynamic::DynamicEngine<>(graph, weights, {.uses = {1, 0}}), doctest::Contains("is used 0"),
                         ps::error);
    CHECK_THROWS_WITH_AS(ps::dynamic::DynamicEngine<>(graph, weights, {.plan = {.max_arena = 64}}),
                         doctest::Contains("more than the 64 allowed"), ps::error);
    CHECK_THROWS_WITH_AS(ps::dynamic::DynamicEngine<>(graph, weights, std::vector<ps::dynamic::Configuration>{}),
                         doctest::Contains("no configurations"), ps::error);
    CHECK_THROWS_WITH_AS(ps::dynamic::DynamicEngine<>(Plain::graph(), ps::random_weights(Plain::graph())),
                         doctest::Contains("the network has no groups"), ps::error);
}

}  // namespace
}  // namespace dynamic
