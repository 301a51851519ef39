#include <primsel/cost/extern_kernels.hpp>
#include <primsel/primsel.hpp>

#include <doctest/doctest.h>

#include <string>

namespace ps = primsel;

namespace {

/// Of one machine, whatever runs the test: with the costs of a slow one the cheapest plan may be the smallest too.
struct FixedCosts : ps::Analytical {
    FixedCosts()
        : ps::Analytical({.gemm_flops = 110e9,
                          .vector_flops = 50e9,
                          .scalar_flops = 3e9,
                          .bandwidth = {180e9, 110e9, 90e9, 60e9, 18e9}}) {}
};

struct FixedPolicies : ps::DefaultPolicies {
    using cost_model = FixedCosts;
};

const ps::Kernels kernels = ps::make_kernels<ps::DefaultPrimitives, ps::default_arch, ps::AllLayouts>();

ps::Plan fitting(ps::Graph const& graph, std::size_t max_arena, std::size_t workers = 1) {
    FixedCosts model;
    return ps::make_fitting_plan(graph, kernels, model, ps::ExactPbqp{}, {.max_arena = max_arena}, workers);
}

}  // namespace

TEST_CASE("a bound on the arena is kept, down to one that nothing fits") {
    const ps::Graph graph = ps::simplify(ps::zoo::ResNet18Of<97, 10>::graph());
    const ps::Plan free = fitting(graph, ps::PlanOptions{}.max_arena);
    const std::size_t whole = ps::arena_bytes(graph, kernels, free, 1);
    CHECK(fitting(graph, whole).layers == free.layers);

    double seconds = free.total_seconds;
    std::size_t bound = whole - 1, found = 0;
    std::string message;
    for (int i = 0; i < 200 && message.empty(); ++i) {
        try {
            const ps::Plan plan = fitting(graph, bound);
            const std::size_t bytes = ps::arena_bytes(graph, kernels, plan, 1);
            CHECK(bytes <= bound);
            CHECK(plan.total_seconds >= free.total_seconds);
            seconds = plan.total_seconds, bound = bytes - 1, ++found;
        } catch (ps::error const& error) {
            message = error.what();
        }
    }
    CHECK(found > 0);
    CHECK(seconds > free.total_seconds);
    CHECK(message.find("plan: no plan found needs at most " + std::to_string(bound) +
                       " bytes of arena; the smallest "
                       "needs ") == 0);
}

TEST_CASE("what was refused for its room says so") {
    const ps::Graph graph = ps::simplify(ps::zoo::ResNet18Of<97, 10>::graph());
    const std::size_t whole = ps::arena_bytes(graph, kernels, fitting(graph, ps::PlanOptions{}.max_arena), 1);
    const ps::Plan plan = fitting(graph, whole - 1);
    CHECK_FALSE(plan.optimal);
    CHECK(fitting(graph, whole).optimal);
    std::string refusals;
    for (ps::PlannedLayer const& layer : plan.layers) {
        for (ps::Candidate const& candidate : layer.candidates) refusals += candidate.refusal + '\n';
    }
    CHECK(refusals.find("the arena would exceed " + std::to_string(whole - 1) + " bytes") != std::string::npos);
}

TEST_CASE("an engine of a bounded arena gives the same result in less room") {
    const ps::Graph graph = ps::zoo::ResNet18Of<97, 10>::graph();
    const ps::Weights weights = ps::random_weights(graph);
    ps::Engine<ps::Graph, FixedPolicies> free(graph, weights);
    const std::size_t bound = free.program().arena_bytes() - 1;
    ps::Engine<ps::Graph, FixedPolicies> bounded(graph, weights, {.max_arena = bound});
    CHECK(bounded.program().arena_bytes() <= bound);
    std::vector<float> image(free.in_shape().size(), 0.5F), a(10), b(10);
    free.run(image, a);
    bounded.run(image, b);
    for (std::size_t i = 0; i < 10; ++i) CHECK(a[i] == doctest::Approx(b[i]).epsilon(1e-3));
}
