#include <primsel/kernels/extern_kernels.hpp>
#include <primsel/primsel.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <span>
#include <string>
#include <string_view>

namespace ps = primsel;

namespace {

/// The more scratch, the cheaper: the cheapest plan is far from the smallest, whatever runs the test.
class ScratchIsCheap {
public:
    static constexpr std::string_view name = "scratch-is-cheap";

    void predict(ps::Kernels const& kernels, std::span<const ps::ConvQuery> queries, std::span<double> seconds) const {
        for (std::size_t i = 0; i < queries.size(); ++i) {
            ps::PrimitiveEntry const& primitive = kernels.primitives[queries[i].primitive];
            seconds[i] = 1.0 / (1.0 + static_cast<double>(primitive.scratch_bytes(queries[i].shape, 1, 1)));
        }
    }
    template <class Query>
    void predict(ps::Kernels const&, std::span<const Query>, std::span<double> seconds) const {
        std::fill(seconds.begin(), seconds.end(), 1e-7);
    }
};

struct ScratchPolicies : ps::DefaultPolicies {
    using cost_model = ScratchIsCheap;
};

const ps::Kernels kernels = ps::make_kernels<ps::DefaultPrimitives, ps::default_arch, ps::AllLayouts>();

ps::Plan fitting(ps::Graph const& graph, std::size_t max_arena, std::size_t workers = 1) {
    ScratchIsCheap model;
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
            seconds = plan.total_seconds, bound = bytes - bytes / 20, ++found;
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
    ps::Engine<ps::Graph, ScratchPolicies> free(graph, weights);
    const std::size_t bound = free.program().arena_bytes() - 1;
    ps::Engine<ps::Graph, ScratchPolicies> bounded(graph, weights, {.max_arena = bound});
    CHECK(bounded.program().arena_bytes() <= bound);
    std::vector<float> image(free.in_shape().size(), 0.5F), a(10), b(10);
    free.run(image, a);
    bounded.run(image, b);
    for (std::size_t i = 0; i < 10; ++i) CHECK(a[i] == doctest::Approx(b[i]).epsilon(1e-3));
}
