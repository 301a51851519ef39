// Batches of which each thread runs images of its own: the bits of one thread, whatever the batch and the threads; the
// plan takes this where the model says that it is faster.
#include "../allocations.hpp"

#include <primsel/core/thread_pool.hpp>
#include <primsel/kernels/extern_kernels.hpp>
#include <primsel/plan/plan_file.hpp>
#include <primsel/plan/reprice.hpp>
#include <primsel/primsel.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace engine_apart_tests {

namespace ps = primsel;

namespace {

/// Two inputs and two results, of which one counts elements of the whole batch, a constant, and steps that take one
/// image as well as steps that take all.
ps::Graph branching(int batch) {
    ps::Graph graph(batch);
    const std::size_t image = graph.add("image", ps::InputParams{{3, 40, 40}}, {});
    const std::size_t other = graph.add("other", ps::InputParams{{16, 5, 5}}, {});
    const std::size_t offset = graph.add("offset", ps::ConstantParams{{16, 5, 5}}, {});
    const std::size_t stem = graph.add("stem", ps::ConvParams{.k = 16, .kernel = 3, .padding = 1}, {image});
    const std::size_t small = graph.add("small", ps::PoolParams{.window = 8, .stride = 8}, {stem});
    const std::size_t wide = graph.add("wide", ps::ConvParams{.k = 96, .kernel = 3, .padding = 1}, {small});
    const std::size_t back = graph.add("back", ps::ConvParams{.k = 16, .kernel = 3, .padding = 1}, {wide});
    const std::size_t sum = graph.add("sum", ps::AddParams{}, {back, other});
    const std::size_t moved = graph.add("moved", ps::AddParams{}, {sum, offset});
    const std::size_t scores = graph.add("scores", ps::DenseParams{.k = 10, .bias = true}, {moved});
    const std::size_t places = graph.add("places", ps::MaxPoolIndicesParams{}, {stem});
    graph.set_outputs({scores, places});
    return graph;
}

struct Results {
    std::vector<float> scores, places;
    friend bool operator==(Results const&, Results const&) = default;
};
Results run(ps::Program& program, ps::ExecutorRef executor) {
    std::array<std::vector<float>, 2> images;
    unsigned state = 7;
    for (std::size_t i = 0; i < 2; ++i) {
        images[i].resize(program.in_floats(i));
        for (float& value : images[i])
            value = static_cast<float>((state = state * 1664525U + 1013904223U) >> 8) / (1U << 23) - 1.0F;
    }
    Results results{std::vector<float>(program.out_floats(0)), std::vector<float>(program.out_floats(1))};
    const std::array<const float*, 2> srcs{images[0].data(), images[1].data()};
    const std::array<float*, 2> dsts{results.scores.data(), results.places.data()};
    CHECK(scratch::allocated_by([&] { program.run(srcs, dsts, executor); }) == 0);
    return results;
}

TEST_CASE("images apart have the bits of one thread, for any batch and number of threads") {
    const ps::Kernels kernels = ps::Engine<ps::Graph>::kernels();
    const ps::Weights weights = ps::random_weights(branching(1));
    for (const int batch : {2, 3, 4, 6}) {
        const ps::Graph graph = ps::simplify(branching(batch));
        ps::Plan plan = ps::Predict<>().plan<ps::DefaultPolicies>(graph, kernels, 1);
        ps::Program alone(graph, kernels, plan, weights, 1);
        ps::Sequential here;
        const Results expected = run(alone, here);
        plan.images_apart = true;
        for (const std::size_t threads : {1U, 2U, 3U, 4U}) {
            CAPTURE(batch);
            CAPTURE(threads);
            ps::Program apart(graph, kernels, plan, weights, threads);
            const std::size_t parts = ps::parts_of_batch(graph, threads);
            CHECK(apart.parts() == parts);
            ps::ThreadPool pool(threads);
            CHECK(run(apart, pool) == expected);
            CHECK(run(apart, here) == expected);
            if (parts == 1) continue;
            const ps::Program part(
                ps::part_of_batch(graph, parts), kernels,
                [&] {
                    ps::Plan own = plan;
                    own.key = ps::make_key(ps::part_of_batch(graph, parts), kernels);
                    return own;
                }(),
                weights, 1);
            CHECK(apart.arena_bytes() == parts * part.arena_bytes());
            CHECK(apart.weight_bytes() <= alone.weight_bytes());
            ps::Program moved = std::move(apart);
            CHECK(run(moved, pool) == expected);
        }
    }
}

/// Seconds of every layer: those of an image on one thread over the speed that threads have which share it, or each of
/// which runs images of its own.
struct Speeds {
    static constexpr std::string_view name = "speeds";
    double shared = 1, apart = 1;
    template <class Query>
    void predict(ps::Kernels const&, std::span<const Query> queries, std::span<double> seconds) const {
        for (std::size_t i = 0; i < queries.size(); ++i) {
            ps::RunContext const& run = queries[i].run;
            seconds[i] = 1e-6 * run.batch / (run.threads > 1 ? shared : run.apart > 1 ? apart : 1);
        }
    }
};

TEST_CASE(
    "a plan lets threads run images of their own unless sharing is predicted to be clearly faster, or there is no "
    "room") {
    const ps::Kernels kernels = ps::Engine<ps::Graph>::kernels();
    const ps::Graph graph = ps::simplify(branching(4));
    const auto plan_with = [&](Speeds speeds, std::size_t threads, ps::PlanOptions const& options = {}) {
        return ps::make_fitting_plan(graph, kernels, speeds, ps::ExactPbqp{}, options, threads);
    };
    for (const Speeds speeds : {Speeds{1.5, 0.8}, Speeds{1.5, 0.7}, Speeds{2, 0.9}, Speeds{2, 0.8}, Speeds{1.8, 0.5}}) {
        for (const std::size_t threads : {1U, 2U}) {
            const ps::Plan plan = plan_with(speeds, threads);
            CHECK(plan.images_apart ==
                  (threads == 2 && 2 * speeds.apart * ps::engine::detail::sharing_doubt > speeds.shared));
            Speeds model = speeds;
            CHECK(ps::reprice(plan, graph, kernels, model, threads) == doctest::Approx(plan.total_seconds));
            CHECK(ps::parse_plan("plan", ps::to_string(ps::to_json(plan))) == plan);
            CHECK(plan.bound_seconds <= plan.total_seconds);
        }
    }
    const std::size_t bytes = ps::arena_bytes(graph, kernels, plan_with({1.5, 1}, 2), 2);
    const ps::Plan small = plan_with({1.5, 1}, 2, {.max_arena = bytes - 1});
    CHECK_FALSE(small.images_apart);
    CHECK(ps::arena_bytes(graph, kernels, small, 2) < bytes);
}

}  // namespace

}  // namespace engine_apart_tests
