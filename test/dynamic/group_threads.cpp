// Threads that take groups each: the same bits as one thread, whatever the configuration and the number of threads;
// what runs at the same time shares no bytes of the arena; parts that need each other are never taken apart.
#include "../allocations.hpp"
#include "../threads.hpp"
#include "networks.hpp"

#include <doctest/doctest.h>
#include <primsel/core/executor.hpp>
#include <primsel/core/thread_pool.hpp>
#include <primsel/dynamic/dynamic_engine.hpp>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <optional>
#include <variant>
#include <vector>

namespace dynamic {
namespace {

template <class E>
struct RunOn : ps::DefaultPolicies {
    using executor = E;
};
using Pool = RunOn<ps::ThreadPool>;

constexpr std::size_t any_size = std::numeric_limits<std::size_t>::max();

template <class Policies>
std::vector<std::vector<float>> results_of(ps::dynamic::DynamicEngine<Policies>& engine,
                                           std::vector<float> const& image) {
    std::vector<std::vector<float>> all;
    for (int c = 1; c <= engine.count(); ++c) {
        engine.use(c);
        all.emplace_back(engine.out_shape().size() * static_cast<std::size_t>(engine.batch()));
        engine.run(image, all.back());
    }
    return all;
}

TEST_CASE("groups side by side give the bits of one thread, in every configuration and for any number of threads") {
    for (auto const& network : in_four_groups()) {
        CAPTURE(network.name);
        ps::Graph const& graph = network.graph;
        const ps::Weights weights = ps::random_weights(graph, 7);
        const std::vector<ps::dynamic::Configuration> parts = ps::dynamic::configurations(graph);
        const ps::JointPlans plans = ps::dynamic::plan_configurations<Pool>(parts);
        const std::vector<float> image = image_of(graph);
        ps::dynamic::DynamicEngine<> alone(graph, weights, parts, plans);
        const std::vector<std::vector<float>> expected = results_of(alone, image);
        for (std::size_t threads = 1; threads <= 4; ++threads) {
            CAPTURE(threads);
            ps::dynamic::DynamicEngine<Pool> groups(graph, weights, parts, plans, ps::ThreadPool(threads),
                                                    ps::dynamic::GroupThreads::take_groups);
            CHECK(results_of(groups, image) == expected);
            for (std::size_t c = 1; c <= 4; ++c) {
                CHECK(groups.side_by_side(static_cast<int>(c)) == (threads == 1 || c == 1 ? 0 : std::min(threads, c)));
            }
        }
        ps::dynamic::DynamicEngine<Pool> layers(graph, weights, parts, plans, ps::ThreadPool(3),
                                                ps::dynamic::GroupThreads::share_layers);
        ps::dynamic::DynamicEngine<Pool> faster(graph, weights, parts, plans, ps::ThreadPool(2));
        for (int c = 1; c <= 4; ++c) CHECK(layers.side_by_side(c) == 0);
        CHECK(results_of(layers, image) == expected);
        CHECK(results_of(faster, image) == expected);
    }
}

/// Where a tensor lies in the arena, and in which steps of the order it is used.
struct Placed {
    std::size_t begin, end, first, last;
};

/// No two tensors share bytes where both may be in use: in the same lane, or outside, from the first use to the last;
/// in different lanes always.
void check_room(ps::Schedule const& schedule, ps::Arrangement const& arranged) {
    const std::size_t begin = arranged.lanes.front(), end = arranged.lanes.back();
    const auto lane = [&](std::size_t at) {
        const auto next = std::ranges::upper_bound(arranged.lanes, at);
        return at < begin || at >= end ? 0 : next - arranged.lanes.begin();
    };
    std::vector<Placed> placed;
    for (std::size_t i = 0; i < schedule.lifetimes.size(); ++i) {
        Placed tensor{arranged.layout.offsets[i], 0, any_size, 0};
        std::size_t bytes = schedule.lifetimes[i].bytes;
        for (std::size_t at = 0; at < arranged.order.size(); ++at) {
            ps::ScheduledStep const& step = schedule.steps[arranged.order[at]];
            const std::size_t id = schedule.callers() + i;
            const bool scratch = step.scratch() == id;
            if (!scratch && step.dst != id && step.residual() != id && std::ranges::count(step.src, id) == 0) continue;
            if (scratch && lane(at) > 0) {
                auto const& conv = std::get<ps::ConvStep>(step.work).conv;
                bytes = conv.primitive->scratch_bytes(conv.shape, 1, 1);
            }
            tensor.first = std::min(tensor.first, at), tensor.last = at;
        }
        if (bytes == 0) continue;
        // A tensor that leaves a lane, or comes to it, is alive as long as any lane runs.
        const bool crosses = lane(tensor.first) != lane(tensor.last);
        if (crosses && tensor.last >= begin) tensor.last = std::max(tensor.last, end - 1);
        if (crosses && tensor.first < end) tensor.first = std::min(tensor.first, begin);
        tensor.end = tensor.begin + bytes;
        CHECK(tensor.end <= arranged.layout.bytes);
        placed.push_back(tensor);
    }
    for (Placed const& a : placed) {
        for (Placed const& b : placed) {
            if (&a == &b) continue;
            const bool in_lanes = lane(a.first) > 0 && lane(b.first) > 0 && lane(a.first) != lane(b.first);
            const bool together = (a.first <= b.last && b.first <= a.last) || in_lanes;
            if (together) CHECK((a.end <= b.begin || b.end <= a.begin));
        }
    }
}

TEST_CASE("groups that run side by side share no bytes of the arena") {
    const ps::Kernels kernels = ps::policy_kernels<ps::DefaultPolicies>();
    for (auto const& network : in_four_groups()) {
        CAPTURE(network.name);
        const ps::Graph graph = ps::simplify(network.graph);
        const ps::Plan plan = ps::Predict<>().plan<ps::DefaultPolicies>(graph, kernels, 4);
        const ps::Schedule schedule = ps::make_schedule(graph, kernels, plan, 4);
        for (const std::size_t groups : {4U, 3U, 2U}) {
            for (std::size_t lanes = 2; lanes <= groups; ++lanes) {
                const std::vector<std::size_t> lane_of = ps::dynamic::detail::lanes_of_groups(graph, groups, lanes);
                const auto arranged = ps::arrange(schedule, lane_of);
                REQUIRE(arranged);
                REQUIRE(arranged->lane_count() == lanes);
                std::vector<std::size_t> all = arranged->order;
                std::ranges::sort(all);
                CHECK(all == ps::arrange(schedule).order);
                for (std::size_t lane = 1; lane <= lanes; ++lane) {
                    for (std::size_t at = arranged->lanes[lane - 1]; at < arranged->lanes[lane]; ++at) {
                        CHECK(lane_of[schedule.steps[arranged->order[at]].node] == lane);
                    }
                }
                check_room(schedule, *arranged);
            }
        }
    }
}

TEST_CASE("an arena that would be too large for groups side by side leaves them layer by layer") {
    const ps::Graph graph = ps::zoo::AlexNetCifar::graph();
    const ps::Weights weights = ps::random_weights(graph, 7);
    const std::vector<ps::dynamic::Configuration> parts = ps::dynamic::configurations(graph);
    const ps::JointPlans plans = ps::dynamic::plan_configurations<Pool>(parts);
    ps::dynamic::DynamicEngine<Pool> layers(graph, weights, parts, plans, ps::ThreadPool(2),
                                            ps::dynamic::GroupThreads::share_layers);
    ps::dynamic::DynamicEngine<Pool> groups(graph, weights, parts, plans, ps::ThreadPool(2),
                                            ps::dynamic::GroupThreads::take_groups);
    REQUIRE(groups.memory().arena > layers.memory().arena);
    ps::dynamic::DynamicEngine<Pool> small(graph, weights, parts, plans, ps::ThreadPool(2),
                                           ps::dynamic::GroupThreads::take_groups, layers.memory().arena);
    CHECK(small.memory().arena == layers.memory().arena);
    CHECK(small.side_by_side(4) == 0);
    CHECK(groups.memory().weights == layers.memory().weights);
}

/// With the layers in these lanes.
std::optional<ps::Arrangement> arranged(ps::Graph const& graph, std::vector<std::size_t> const& lanes) {
    const ps::Kernels kernels = ps::policy_kernels<ps::DefaultPolicies>();
    const ps::Plan plan = ps::Predict<>().plan<ps::DefaultPolicies>(graph, kernels, 2);
    return ps::arrange(ps::make_schedule(graph, kernels, plan, 2), lanes);
}

TEST_CASE("parts that need each other are not taken apart") {
    ps::Graph chain;
    const std::size_t image = chain.add("image", ps::InputParams{{4, 8, 8}}, {});
    const std::size_t a = chain.add("a", ps::ConvParams{.k = 8, .kernel{1}}, {image});
    const std::size_t b = chain.add("b", ps::ConvParams{.k = 8, .kernel{1}}, {image});
    const std::size_t c = chain.add("c", ps::ConvParams{.k = 8, .kernel{1}}, {a});
    chain.add("concat", ps::ConcatParams{}, {b, c});
    CHECK(arranged(chain, {0, 1, 2, 1, 0}));
    CHECK_FALSE(arranged(chain, {0, 1, 2, 2, 0}));  // c reads a, which another lane computes
    CHECK_FALSE(arranged(chain, {0, 0, 0, 0, 0}));

    // The last reader of a result may overwrite it; not while another lane reads it.
    ps::Graph stem;
    const std::size_t input = stem.add("image", ps::InputParams{{4, 8, 8}}, {});
    const std::size_t first = stem.add("stem", ps::PoolParams{}, {input});
    const std::size_t pooled = stem.add("group1.pool", ps::PoolParams{}, {first});
    const std::size_t other = stem.add("group2.relu", ps::ActivationParams{}, {first});
    const std::size_t end = stem.add("group2.pool", ps::PoolParams{}, {other});
    stem.add("concat", ps::ConcatParams{}, {pooled, end});
    CHECK_FALSE(arranged(stem, {0, 0, 1, 2, 2, 0}));
    CHECK(arranged(stem, {0, 0, 1, 1, 1, 0}));
}

/// Two workers, both of which are the caller's thread, so that what they allocate is counted.
struct InTurns {
    template <class Task>
    void operator()(std::size_t n, Task const& task) const noexcept {
        for (std::size_t i = n; i-- > 0;) task(i);
    }
};

TEST_CASE("running groups side by side allocates nothing") {
    using InTurnsPool = ps::CallerPool<InTurns>;
    const ps::Graph graph = ps::dynamic::grouped(Plain::graph(), 4);
    ps::dynamic::DynamicEngine<RunOn<InTurnsPool>> engine(
        graph, ps::random_weights(graph, 7),
        ps::dynamic::DynamicOptions{.threads = ps::dynamic::GroupThreads::take_groups}, InTurnsPool(2, {}));
    REQUIRE(engine.side_by_side(3) == 2);
    const std::vector<float> image = image_of(graph);
    std::vector<float> result(engine.out_shape().size());
    CHECK(scratch::allocated_by([&] {
              for (int i = 0; i < 40; ++i) {
                  engine.use(1 + i * 3 % 4);
                  engine.run(image, result);
              }
          }) == 0);
}

}  // namespace
}  // namespace dynamic
