// Convolutions that are computed together in strips, against the same by themselves.
#include "../allocations.hpp"
#include "../threads.hpp"

#include <primsel/kernels/extern_kernels.hpp>
#include <primsel/primsel.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

namespace ps = primsel;

namespace {

using ByRows = ps::TypeList<ps::DirectHwc, ps::Indirect, ps::DepthwiseHwc, ps::GroupedHwc>;
struct Policies : ps::DefaultPolicies {
    using primitives = ByRows;
};
const ps::Kernels by_rows = ps::make_kernels<ByRows, ps::default_arch, ps::AllLayouts>();

int number(std::mt19937& bits, int low, int high) { return std::uniform_int_distribution(low, high)(bits); }

ps::ConvParams any_conv(std::mt19937& bits, ps::Shape input) {
    ps::ConvParams conv{.k = number(bits, 1, 40), .bias = bits() % 2 == 0};
    conv.kernel = ps::Extent{number(bits, 1, 4), number(bits, 1, 4)};
    conv.padding = {conv.kernel.h / 2, conv.kernel.w / 2};
    if (bits() % 4 == 0) conv.stride = ps::Extent{number(bits, 1, 3), number(bits, 1, 3)};
    if (bits() % 6 == 0) conv.dilation = 2;
    if (bits() % 3 == 0) conv.groups = conv.k = input.c;
    if (bits() % 4 == 0) conv.padding.top = 0;
    return conv;
}

/// A few convolutions, each of which reads the one before it and may add what the first one reads; then something that
/// reads the last.
ps::Graph any_graph(std::mt19937& bits, int batch) {
    for (;;) {
        ps::Graph graph(batch);
        graph.add("image", ps::InputParams{{number(bits, 1, 20), number(bits, 5, 30), number(bits, 5, 30)}}, {});
        graph.add("before", ps::ActivationParams{}, {0});
        const std::size_t convs = 2 + bits() % 5;
        bool good = true;
        for (std::size_t i = 0; i < convs && good; ++i) {
            ps::ConvParams conv = any_conv(bits, graph[graph.size() - 1].shape);
            if (bits() % 3 == 0) {  // one that can add to what came before
                conv = {.k = graph[1].shape.c, .kernel = 3, .padding = 1};
            }
            const std::vector<ps::Shape> shapes{graph[graph.size() - 1].shape};
            good = ps::check(conv, shapes) == ps::Fault::none;
            if (!good) break;
            graph.add("conv" + std::to_string(i), conv, {graph.size() - 1});
            if (graph[graph.size() - 1].shape == graph[1].shape && bits() % 2 == 0) {
                graph.add("sum" + std::to_string(i), ps::AddParams{}, {graph.size() - 1, 1});
            }
            if (bits() % 2 == 0) graph.add("relu" + std::to_string(i), ps::ActivationParams{}, {graph.size() - 1});
        }
        if (!good) continue;
        const std::size_t last = graph.size() - 1;
        if (bits() % 2 == 0) {  // a part of a concatenation
            graph.add("other", ps::ConvParams{.k = 5}, {last});
            graph.add("third", ps::ConvParams{.k = 3}, {last});
            graph.add("concat", ps::ConcatParams{}, {last + 1, last + 2});
        }
        return ps::simplify(graph);
    }
}

/// Any division of the plan's layers into strips that may be.
void divide(ps::Plan& plan, ps::Graph const& graph, std::mt19937& bits) {
    const std::vector<std::size_t> readers = graph.uses();
    for (std::size_t i = 0; i < graph.size();) {
        std::vector<std::string> names;
        const std::size_t wanted = 1 + bits() % ps::most_strip_layers;
        std::size_t at = i;
        while (at < graph.size() && names.size() < wanted && ps::joins_strips(graph, by_rows, plan.layers[at], at)) {
            names.push_back(graph[at].name);
            ++at;
            if (!ps::read_by_next(graph, at - 1, readers)) break;
        }
        if (names.size() > 1) plan.strips.push_back({names, number(bits, 1, graph[at - 1].shape.h), 0.001});
        i = std::max(at, i + 1);
    }
}

std::vector<float> result_of(ps::Graph const& graph, ps::Plan const& plan, ps::Weights const& weights,
                             std::size_t workers) {
    ps::Program program(graph, by_rows, plan, weights, workers);
    std::vector<float> src(program.in_floats()), dst(program.out_floats(), NAN), again(program.out_floats(), NAN);
    for (std::size_t i = 0; i < src.size(); ++i) src[i] = static_cast<float>(i * 7919 % 23) / 11 - 1;
    ps::CallerPool pool(workers, laws::Threads{});
    program.run(src.data(), dst.data(), pool);
    ps::Sequential here;
    const std::size_t before = scratch::allocations;
    program.run(src.data(), again.data(), here);
    CHECK(scratch::allocations == before);
    CHECK(dst == again);
    return dst;
}

}  // namespace

TEST_CASE("strips: the same bits as layer by layer, whatever the rows, batch and threads") {
    std::mt19937 bits(17);
    std::size_t strips = 0;
    for (int repetition = 0; repetition < 120; ++repetition) {
        const ps::Graph graph = any_graph(bits, 1 + repetition % 3);
        const ps::Weights weights = ps::random_weights(graph);
        ps::Analytical model(ps::Machine{});
        ps::Plan plan = ps::make_plan(graph, by_rows, model, ps::ExactPbqp{}, {.strips = false});
        const std::vector<float> apart = result_of(graph, plan, weights, 1);
        divide(plan, graph, bits);
        strips += plan.strips.size();
        CAPTURE(graph);
        CAPTURE(plan);
        for (const std::size_t workers : {std::size_t{1}, std::size_t{2}, std::size_t{3}}) {
            CHECK(result_of(graph, plan, weights, workers) == apart);
        }
    }
    CHECK(strips > 60);
}

TEST_CASE("strips: an engine takes them where images are large, and needs less memory") {
    ps::Graph graph;
    graph.add("image", ps::InputParams{{8, 160, 160}}, {});
    graph.add("expand", ps::ConvParams{.k = 48, .bias = true}, {0});
    graph.add("depthwise", ps::ConvParams{.k = 48, .kernel = 3, .padding = 1, .groups = 48}, {1});
    graph.add("project", ps::ConvParams{.k = 8}, {2});
    graph.add("sum", ps::AddParams{}, {3, 0});
    const ps::Graph simple = ps::simplify(graph);
    const ps::Weights weights = ps::random_weights(simple);
    // A machine on which it is far from L2 to L3.
    const ps::Analytical model(ps::Machine{.fma_flops = 1e11,
                                           .half_flops = 5e10,
                                           .matmul_flops = 9e10,
                                           .vector_flops = 5e10,
                                           .scalar_flops = 1e9,
                                           .bandwidth = {1e11, 1e11, 1e11, 5e9, 5e9}});
    ps::Engine<ps::Graph, Policies> together(simple, weights, ps::Predict(model)),
        apart(simple, weights, ps::Predict(model, ps::ExactPbqp{}, ps::PlanOptions{.strips = false}));
    REQUIRE(together.plan().strips.size() == 1);
    CHECK(together.plan().strips[0].layers.front() == "expand");
    CHECK(together.plan().strips[0].layers.size() == 3);
    CHECK(apart.plan().strips.empty());
    CHECK(2 * ps::arena_bytes(simple, by_rows, together.plan(), 1) < ps::arena_bytes(simple, by_rows, apart.plan(), 1));
    CHECK(together.plan().total_seconds < apart.plan().total_seconds);
    std::vector<float> src(graph[0].shape.size(), 0.5F), one(src.size()), other(src.size());
    together.run(src, one);
    apart.run(src, other);
    CHECK(one == other);
}

TEST_CASE("strips: a plan that does not fit is refused, with the reason") {
    ps::Graph graph;
    graph.add("image", ps::InputParams{{8, 16, 16}}, {});
    graph.add("a", ps::ConvParams{.k = 8, .kernel = 3, .padding = 1}, {0});
    graph.add("b", ps::ConvParams{.k = 8, .kernel = 3, .padding = 1}, {1});
    graph.add("c", ps::ConvParams{.k = 8, .kernel = 3, .padding = 1}, {2});
    const ps::Weights weights = ps::random_weights(graph);
    ps::Analytical model(ps::Machine{});
    const ps::Plan plan = ps::make_plan(graph, by_rows, model, ps::ExactPbqp{});
    REQUIRE(plan.strips.empty());
    const auto error_of = [&](std::vector<ps::PlannedStrips> strips) -> std::string {
        ps::Plan other = plan;
        other.strips = std::move(strips);
        try {
            const ps::Program program(graph, by_rows, other, weights, 1);
        } catch (ps::error const& error) {
            return error.what();
        }
        return "";
    };
    CHECK(error_of({{{"a", "b", "c"}, 4, 0}}) == "");
    CHECK(error_of({{{"a"}, 4, 0}}) == "plan: layers a to a cannot be computed in strips: they are 1");
    CHECK(error_of({{{}, 4, 0}}) == "plan: layers  to  cannot be computed in strips: they are 0");
    CHECK(error_of({{{"a", "c"}, 4, 0}}) ==
          "plan: layers a to c cannot be computed in strips: they do not follow each other");
    CHECK(error_of({{{"c", "d"}, 4, 0}}) == "plan: layers c to d cannot be computed in strips: they are not there");
    CHECK(error_of({{{"a", "b"}, 0, 0}}) == "plan: layers a to b cannot be computed in strips: 0 rows of 16");
    CHECK(error_of({{{"a", "b"}, 17, 0}}) == "plan: layers a to b cannot be computed in strips: 17 rows of 16");
    CHECK(error_of({{{"a", "b"}, 4, 0}, {{"b", "c"}, 4, 0}}) ==
          "plan: layers b to c cannot be computed in strips: b is in others");
    CHECK(error_of({{{"image", "a"}, 4, 0}}).find("image by ") != std::string::npos);
}
