#include <primsel/plan/reprice.hpp>

#include "fakes.hpp"
#include "random_graphs.hpp"

#include <doctest/doctest.h>
#include <primsel/network/simplify.hpp>
#include <primsel/pbqp/exact.hpp>

#include <string>
#include <vector>

namespace repricing {

namespace ps = primsel;
using fakes::chw, fakes::hwc;

namespace {

const std::vector<ps::PrimitiveEntry> primitives{
    fakes::primitive("here", chw, chw), fakes::primitive("there", hwc, hwc),
    fakes::primitive("across", chw, hwc, {.fuses_epilogue = false}), fakes::primitive("back", hwc, chw)};

}  // namespace

TEST_CASE("the model that made a plan says the same again; another says no less than its own best plan takes") {
    const ps::Kernels kernels = fakes::kernels(primitives);
    for (unsigned seed = 0; seed < 50; ++seed) {
        CAPTURE(seed);
        const ps::Graph graph = ps::simplify(random_graphs::Maker(seed).make(8));
        fakes::HashedCosts costs(seed), others(seed + 1000);
        const ps::Plan plan = ps::make_plan(graph, kernels, costs, ps::ExactPbqp{});
        const ps::Plan best = ps::make_plan(graph, kernels, others, ps::ExactPbqp{});
        CHECK(ps::reprice(plan, graph, kernels, costs) == doctest::Approx(plan.total_seconds));
        CHECK(ps::reprice(plan, graph, kernels, others) >= best.total_seconds * (1 - 1e-12));
    }
}

TEST_CASE("a plan of another network or of other kernels is refused") {
    const ps::Kernels kernels = fakes::kernels(primitives);
    fakes::HashedCosts costs(1);
    const ps::Graph graph = ps::simplify(random_graphs::Maker(1).make(8, 1, true)),
                    other = ps::simplify(random_graphs::Maker(2).make(9));
    ps::Plan plan = ps::make_plan(graph, kernels, costs, ps::ExactPbqp{});
    CHECK_THROWS_AS((void)ps::reprice(plan, other, kernels, costs), ps::error);
    const ps::Kernels fewer = fakes::kernels(std::span(primitives).first(1));
    for (ps::PlannedLayer& layer : plan.layers) {
        if (!layer.primitive.empty()) layer.primitive = "there";
    }
    bool convolutions = false;
    for (ps::PlannedLayer const& layer : plan.layers) convolutions = convolutions || !layer.primitive.empty();
    REQUIRE(convolutions);
    CHECK_THROWS_WITH_AS((void)ps::reprice(plan, graph, fewer, costs),
                         doctest::Contains("uses there, which is not among the kernels"), ps::error);
}

}  // namespace repricing
