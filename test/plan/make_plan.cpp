#include <primsel/plan/make_plan.hpp>
#include <primsel/plan/make_plans.hpp>

#include "../quick.hpp"
#include "fakes.hpp"
#include "random_graphs.hpp"

#include <doctest/doctest.h>
#include <primsel/network/simplify.hpp>
#include <primsel/pbqp/exact.hpp>
#include <primsel/pbqp/greedy.hpp>

#include <algorithm>
#include <limits>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ps = primsel;
using fakes::chw, fakes::hcw, fakes::hwc;

namespace {

/// A way to run a layer: the layouts and the seconds.
struct Way {
    std::size_t in, out;
    double seconds;
};

/// The least total of all assignments, tried one by one: every layer's seconds, and every copy of a tensor in another
/// layout once, however many read it.
class EveryAssignment {
public:
    EveryAssignment(ps::Graph const& graph, ps::Kernels const& kernels, fakes::HashedCosts const& costs)
        : graph_(graph), kernels_(kernels), ask_(graph, kernels), costs_(costs) {
        for (std::size_t i = 0; i < graph.size(); ++i) ways_.push_back(ways(i));
        choice_.resize(graph.size());
    }
    [[nodiscard]] double assignments() const {
        double product = 1;
        for (auto const& ways : ways_) product *= static_cast<double>(ways.size());
        return product;
    }
    double least(std::size_t from = 0) {
        if (from == graph_.size()) return total();
        double best = std::numeric_limits<double>::infinity();
        for (choice_[from] = 0; choice_[from] < ways_[from].size(); ++choice_[from]) {
            best = std::min(best, least(from + 1));
        }
        return best;
    }

private:
    [[nodiscard]] std::vector<Way> ways(std::size_t i) const {
        ps::Node const& node = graph_[i];
        if (std::holds_alternative<ps::InputParams>(node.layer)) return {{0, 0, 0.0}};
        std::vector<Way> result;
        const auto* conv = std::get_if<ps::ConvParams>(&node.layer);
        if (conv == nullptr) {
            const bool constant = std::holds_alternative<ps::ConstantParams>(node.layer);
            for (std::size_t layout = 0; layout < kernels_.layouts.size(); ++layout) {
                if (!constant && kernels_.op(node.layer, layout).run == nullptr) continue;
                result.push_back(
                    {layout, layout, constant ? 0.0 : costs_.op(node.layer, node.shape, layout, ask_.context(i))});
            }
            return result;
        }
        const ps::ConvShape shape = ps::conv_shape_of(*conv, graph_[node.inputs[0]].shape);
        for (std::size_t p = 0; p < kernels_.primitives.size(); ++p) {
            ps::PrimitiveEntry const& entry = kernels_.primitives[p];
            if (!entry.supports(shape)) continue;
            double seconds = costs_.conv(shape, entry.id, ask_.conv(i, p).run);
            const bool bare = !conv->bias && !node.epilogue.changes_result();
            if (!entry.fuses_epilogue && !bare)
                seconds += costs_.op(node.layer, node.shape, entry.out_layout, ask_.context(i));
            result.push_back({entry.in_layout, entry.out_layout, seconds});
        }
        return result;
    }
    [[nodiscard]] double total() const {
        double sum = 0;
        std::set<std::pair<std::size_t, std::size_t>> copies;  // (writer, layout)
        const auto copy = [&](std::size_t writer, std::size_t layout, bool result = false) {
            const std::size_t from = ways_[writer][choice_[writer]].out;
            if (kernels_.same_placement(graph_[writer].shape, from, layout)) return;
            // A result is a copy of its own.
            if (result || copies.emplace(writer, layout).second) {
                sum += costs_.transform(graph_[writer].shape, from, layout, ask_.transform(writer, from, layout).run);
            }
        };
        for (std::size_t i = 0; i < graph_.size(); ++i) {
            Way const& way = ways_[i][choice_[i]];
            sum += way.seconds;
            const bool conv = std::holds_alternative<ps::ConvParams>(graph_[i].layer);
            for (std::size_t position = 0; position < graph_[i].inputs.size(); ++position) {
                copy(graph_[i].inputs[position], conv && position == 1 ? way.out : way.in);
            }
        }
        for (const std::size_t output : graph_.outputs()) copy(output, 0, true);
        return sum;
    }

    ps::Graph const& graph_;
    ps::Kernels const& kernels_;
    ps::Questions ask_;
    fakes::HashedCosts const& costs_;
    std::vector<std::vector<Way>> ways_;
    std::vector<std::size_t> choice_;
};

double sum_of(ps::Plan const& plan) {
    double sum = 0;
    for (ps::PlannedLayer const& layer : plan.layers) sum += layer.seconds;
    for (ps::PlannedTransform const& transform : plan.transforms) sum += transform.seconds;
    return sum;
}

const std::vector<ps::PrimitiveEntry> some{
    fakes::primitive("plain", chw, chw, {.fuses_epilogue = false}),
    fakes::primitive("plain-again", chw, chw),
    fakes::primitive("turn", chw, hwc, {.supports = &fakes::only_stride_1}),
    fakes::primitive("pixels", hwc, hwc, {.supports = &fakes::only_3x3, .family = ps::Family::wino3}),
    fakes::primitive("rows", hcw, hwc, {.family = ps::Family::mec, .fuses_epilogue = false}),
};

ps::Graph one_conv(ps::ConvParams const& params) {
    ps::Graph graph;
    graph.add("image", ps::InputParams{{4, 9, 9}}, {});
    graph.add("the-layer", params, {0});
    return graph;
}

std::string error_of(ps::Graph const& graph, ps::Kernels const& kernels, ps::PlanOptions const& options = {}) {
    try {
        fakes::HashedCosts costs(1);
        (void)ps::make_plan(graph, kernels, costs, ps::ExactPbqp{}, options);
    } catch (ps::error const& error) {
        return error.what();
    }
    return {};
}

}  // namespace

TEST_CASE("no assignment is cheaper than the plan: tried one by one on random graphs") {
    const ps::Kernels kernels = fakes::kernels(some);
    int tried = 0, shared = 0;
    const unsigned graphs = quick() ? 100 : 400;
    for (unsigned seed = 0; seed < graphs; ++seed) {
        CAPTURE(seed);
        random_graphs::Maker maker(seed);
        const ps::Graph graph =
            ps::simplify(maker.make(static_cast<std::size_t>(maker.number(2, 8)), 1, seed % 3 != 0));
        fakes::HashedCosts costs(seed, seed % 2 == 0 ? 0.4 : 1.5);
        EveryAssignment every(graph, kernels, costs);
        if (every.assignments() > 20'000) continue;
        ++tried;
        const ps::Plan plan = ps::make_plan(graph, kernels, costs, ps::ExactPbqp{});
        const ps::Plan greedy = ps::make_plan(graph, kernels, costs, ps::GreedyPbqp{});
        CHECK(plan.optimal);
        CHECK(plan.total_seconds == doctest::Approx(every.least()).epsilon(1e-9));
        CHECK(plan.total_seconds == doctest::Approx(sum_of(plan)).epsilon(1e-12));
        CHECK(plan.total_seconds <= greedy.total_seconds * (1 + 1e-12));
        CHECK(greedy.total_seconds == doctest::Approx(sum_of(greedy)).epsilon(1e-12));
        const std::vector<std::size_t> readers = graph.uses();
        shared += std::ranges::any_of(readers, [](std::size_t n) { return n > 1; }) ? 1 : 0;
    }
    CHECK(tried > (quick() ? 20 : 150));
    CHECK(shared > (quick() ? 5 : 50));
}

TEST_CASE("readers that want the same layout share one copy") {
    const std::vector<ps::PrimitiveEntry> pixels{fakes::primitive("pixels", hwc, hwc)};
    ps::Graph graph;
    const auto image = graph.add("image", ps::InputParams{{4, 9, 9}}, {});
    const auto a = graph.add("a", ps::ConvParams{.k = 2}, {image});
    const auto b = graph.add("b", ps::ConvParams{.k = 2}, {image});
    graph.add("both", ps::ConcatParams{}, {a, b});
    graph.add("c", ps::ConvParams{.k = 3}, {graph.size() - 1});
    fakes::HashedCosts costs(5, 1000);  // a change of layout is to be avoided
    const ps::Kernels kernels = fakes::kernels(pixels);
    const ps::Plan plan = ps::make_plan(graph, kernels, costs, ps::ExactPbqp{});
    REQUIRE(plan.transforms.size() == 2);
    const ps::RunContext run = ps::Questions(graph, kernels).transform(image, chw, hwc).run;
    CHECK(plan.transforms[0] ==
          ps::PlannedTransform{"image", "a", "4x9x9", "chw", "hwc", costs.transform({4, 9, 9}, chw, hwc, run)});
    CHECK(plan.transforms[1] ==
          ps::PlannedTransform{"c", "", "3x9x9", "hwc", "chw", costs.transform({3, 9, 9}, hwc, chw)});
    CHECK(plan.layer("both").in_layout == "hwc");
    CHECK(plan.total_seconds == doctest::Approx(sum_of(plan)));
}

TEST_CASE("what places a tensor alike needs no change of layout") {
    const std::vector<ps::PrimitiveEntry> pixels{fakes::primitive("pixels", hwc, hwc)};
    ps::Graph graph;
    graph.add("image", ps::InputParams{{1, 9, 9}}, {});  // one channel: chw and hwc agree
    graph.add("conv", ps::ConvParams{.k = 2, .kernel = {9, 9}}, {0});
    fakes::HashedCosts costs(1);
    CHECK(ps::make_plan(graph, fakes::kernels(pixels), costs, ps::ExactPbqp{}).transforms.empty());
}

TEST_CASE("a layer that nothing computes: its name, its shape and everybody's reason") {
    const std::vector<ps::PrimitiveEntry> picky{
        fakes::primitive("tiles", hwc, hwc, {.supports = &fakes::only_3x3}),
        fakes::primitive("shifts", chw, chw, {.supports = &fakes::only_stride_1})};
    const std::string message = error_of(one_conv({.k = 2, .kernel = 5, .stride = 2}), fakes::kernels(picky));
    CHECK(message ==
          "plan: no primitive can compute layer the-layer (4x9x9 -> 2x3x3, 5x5, stride 2x2)\n"
          "  tiles: needs a 3x3 kernel\n"
          "  shifts: needs stride 1");
    CHECK(error_of(one_conv({.k = 2, .kernel = 5}), fakes::kernels(picky)).empty());

    const std::string too_strict = error_of(one_conv({.k = 2}), fakes::kernels(some), {.max_error = 1e-6});
    CHECK(too_strict.find("plain: its error bound exceeds the allowed error") != std::string::npos);
    CHECK(too_strict.find("pixels: needs a 3x3 kernel") != std::string::npos);
}

TEST_CASE("a layout in which an op or a convolution's bias does not run is none for it") {
    ps::Kernels kernels = fakes::kernels(some);
    std::vector<ps::LayoutEntry> layouts(kernels.layouts.begin(), kernels.layouts.end());
    const auto no_ops = []() -> ps::OpTable const& {
        static constexpr ps::OpTable none{};
        return none;
    };
    layouts[chw].ops = no_ops, layouts[chw].epilogue = nullptr;
    kernels.layouts = layouts;
    fakes::HashedCosts costs(3);

    ps::Graph graph = one_conv({.k = 2, .stride = 2});
    graph.add("relu", ps::ActivationParams{}, {1});
    const ps::Plan plan = ps::make_plan(graph, kernels, costs, ps::ExactPbqp{});
    CHECK(plan.layer("relu").in_layout != "chw");
    const auto candidate = [&](ps::Plan const& of, std::string_view id) {
        return *std::ranges::find(of.layer("the-layer").candidates, id, &ps::Candidate::primitive);
    };
    CHECK(candidate(plan, "plain").refusal ==
          "it must add bias and activation itself, as elements of its layout are no floats");
    CHECK(candidate(plan, "plain").seconds == 0);
    CHECK(candidate(plan, "plain-again").refusal.empty());
    const ps::Graph bare = one_conv({.k = 2, .stride = 2, .bias = false});
    CHECK(candidate(ps::make_plan(bare, kernels, costs, ps::ExactPbqp{}), "plain").refusal.empty());
    // The primitive that was asked for cannot compute the layer, so another stands in for it.
    const ps::Plan uniform = ps::make_plan(graph, kernels, costs, ps::ExactPbqp{}, {.primitive = "plain"});
    CHECK(uniform.layer("the-layer").primitive != "plain");

    layouts[hcw].ops = layouts[hwc].ops = no_ops;
    kernels.layouts = layouts;
    CHECK(error_of(graph, kernels) == "plan: layer relu (relu) runs in none of the layouts");
}

TEST_CASE("a uniform plan of a primitive that is not there is an error that names those that are") {
    CHECK(error_of(one_conv({.k = 2}), fakes::kernels(some), {.primitive = "plane"}) ==
          "kernels: no primitive is named plane; there are plain, plain-again, turn, pixels, rows");
}

TEST_CASE("of equal layouts the cheapest is chosen, and the pass for bias and clamp is paid for") {
    fakes::HashedCosts costs(7);
    const std::vector<ps::PrimitiveEntry> two{fakes::primitive("fused", chw, chw),
                                              fakes::primitive("bare", chw, chw, {.fuses_epilogue = false})};
    for (const bool bias : {false, true}) {
        const ps::Graph graph = one_conv({.k = 2, .kernel = 3, .bias = bias});
        const ps::Plan plan = ps::make_plan(graph, fakes::kernels(two), costs, ps::ExactPbqp{});
        const ps::ConvShape shape = ps::conv_shape_of(std::get<ps::ConvParams>(graph[1].layer), {4, 9, 9});
        const ps::Kernels kernels = fakes::kernels(two);
        const ps::Questions ask(graph, kernels);
        const double fused = costs.conv(shape, "fused", ask.conv(1, 0).run),
                     pass = costs.op(graph[1].layer, graph[1].shape, chw, ask.context(1));
        const double bare = costs.conv(shape, "bare", ask.conv(1, 1).run) + (bias ? pass : 0);
        CHECK(plan.layer("the-layer").seconds == std::min(fused, bare));
        CHECK(plan.layer("the-layer").primitive == (fused < bare ? "fused" : "bare"));
        CHECK(plan.layer("the-layer").candidates[0].seconds == std::min(fused, bare));
        CHECK(plan.layer("the-layer").candidates[1].seconds == std::max(fused, bare));
    }
}

TEST_CASE("a plan says what it was made for and by whom") {
    fakes::HashedCosts costs(1);
    const ps::Kernels kernels = fakes::kernels(some);
    const ps::Graph graph = one_conv({.k = 2});
    const ps::Plan plan = ps::make_plan(graph, kernels, costs, ps::GreedyPbqp{});
    CHECK(plan.key == ps::PlanKey{ps::fingerprint(graph), ps::fingerprint(kernels), PRIMSEL_VERSION,
                                  std::string(kernels.arch), ps::cpu_name()});
    CHECK(plan.cost_model == "hashed");
    CHECK(plan.solver == "greedy");
    CHECK_FALSE(plan.optimal);
    CHECK(plan.predict_seconds > 0);
    CHECK(plan.layers[0].kind == "input");
    CHECK(plan.layers[0].shape == "4x9x9");
    CHECK(plan.layers[1].shape == "4x9x9 -> 2x9x9, 1x1");
}

namespace {

/// Counts the questions that it answers by hashes.
struct Counting {
    static constexpr std::string_view name = "counting";
    fakes::HashedCosts costs{3};
    std::size_t asked = 0;

    template <class Query>
    void predict(ps::Kernels const& kernels, std::span<const Query> queries, std::span<double> seconds) {
        asked += queries.size();
        costs.predict(kernels, queries, seconds);
    }
};

ps::Graph chain(int convs, bool with_last_clamped = false) {
    ps::Graph graph;
    graph.add("image", ps::InputParams{{4, 9, 9}}, {});
    for (int i = 0; i < convs; ++i) {
        graph.add(ps::join("conv-", i), ps::ConvParams{.k = 4, .kernel = 3, .padding = 1}, {graph.size() - 1});
    }
    if (with_last_clamped) graph.add("clamp", ps::ActivationParams{}, {graph.size() - 1});
    return ps::simplify(graph);
}

}  // namespace

TEST_CASE("layers that differ in their names alone are asked for once, and are answered alike") {
    const ps::Kernels kernels = fakes::kernels(some);
    const auto asked = [&](ps::Graph const& graph, ps::PlanOptions const& options = {}) {
        Counting model;
        (void)ps::make_plan(graph, kernels, model, ps::ExactPbqp{}, options);
        return model.asked;
    };
    CHECK(asked(chain(2)) == asked(chain(1)));
    CHECK(asked(chain(9)) == asked(chain(1)));
    CHECK(asked(chain(9, true)) > asked(chain(9)));  // the last has a pass behind some primitives
    CHECK(asked(chain(9, true)) == asked(chain(2, true)));

    Counting model;
    const ps::PlanOptions refusing{.refused = {{"conv-3", "plain-again", "not here"}}};
    CHECK(asked(chain(9), refusing) > asked(chain(9)));
    const ps::Plan plan = ps::make_plan(chain(9), kernels, model, ps::ExactPbqp{}, refusing);
    for (int i = 0; i < 9; ++i) {
        CAPTURE(i);
        std::vector<ps::Candidate> const& candidates = plan.layer(ps::join("conv-", i)).candidates;
        const auto refused = std::ranges::find(candidates, "not here", &ps::Candidate::refusal);
        CHECK((refused != candidates.end()) == (i == 3));
        if (i != 3) CHECK(candidates == plan.layer("conv-0").candidates);
    }
}

TEST_CASE("a plan without candidates is the same plan") {
    const ps::Kernels kernels = fakes::kernels(some);
    Counting model;
    ps::Plan with = ps::make_plan(chain(5, true), kernels, model, ps::ExactPbqp{}),
             without = ps::make_plan(chain(5, true), kernels, model, ps::ExactPbqp{}, {.keep_candidates = false});
    CHECK_FALSE(with.layer("conv-1").candidates.empty());
    for (ps::PlannedLayer& layer : with.layers) layer.candidates.clear();
    CHECK(with.layers == without.layers);
    CHECK(with.transforms == without.transforms);
    CHECK(with.total_seconds == without.total_seconds);
}

// --- solvers and cost models that answer what is no answer

namespace {

/// Chooses alternative `which` of every node, whatever there is, and leaves out the last `missing` nodes.
struct Stubborn {
    static constexpr std::string_view name = "stubborn";
    std::size_t which = 0, missing = 0;
    [[nodiscard]] ps::PbqpSolution solve(ps::PbqpProblem const& problem) const {
        return {.choice = std::vector<std::size_t>(problem.node_count() - missing, which), .cost = 1};
    }
};

/// Answers one question of each kind as it is told to, and all others by hashes.
struct Odd {
    static constexpr std::string_view name = "odd";
    double conv = 1, transform = 1, op = 1;
    std::string_view primitive = {};  // of which conv is the answer; empty: of all

    void predict(ps::Kernels const& kernels, std::span<const ps::ConvQuery> queries, std::span<double> seconds) const {
        fakes::HashedCosts(1).predict(kernels, queries, seconds);
        for (std::size_t i = 0; i < queries.size(); ++i) {
            if (primitive.empty() || kernels.primitives[queries[i].primitive].id == primitive) seconds[i] = conv;
        }
    }
    void predict(ps::Kernels const&, std::span<const ps::TransformQuery>, std::span<double> seconds) const {
        std::ranges::fill(seconds, transform);
    }
    void predict(ps::Kernels const&, std::span<const ps::OpQuery>, std::span<double> seconds) const {
        std::ranges::fill(seconds, op);
    }
};

constexpr double infinite = std::numeric_limits<double>::infinity(),
                 not_a_number = std::numeric_limits<double>::quiet_NaN();

/// image -> conv -> softmax, whose result conv's sum with it reads too.
ps::Graph forked() {
    ps::Graph graph = one_conv({.k = 4, .kernel = 3, .padding = 1, .bias = false});
    graph.add("softmax", ps::SoftmaxParams{}, {1});
    graph.add("sum", ps::AddParams{}, {1, 2});
    return graph;
}

template <class Model, class Solver>
std::string error_with(Model model, Solver const& solver, ps::Graph const& graph = forked()) {
    const ps::Kernels kernels = fakes::kernels(some);
    try {
        (void)ps::make_plan(graph, kernels, model, solver);
    } catch (ps::error const& error) {
        return error.what();
    }
    return {};
}

}  // namespace

TEST_CASE("a solver's choice is checked, and the error names solver and layer") {
    CHECK(error_with(Odd{}, Stubborn{}).empty());
    CHECK(error_with(Odd{}, Stubborn{99}) ==
          "plan: solver stubborn chose alternative 99 for layer image, which has 1, from 0 on");
    CHECK(error_with(Odd{}, Stubborn{0, 1}) ==
          "plan: solver stubborn chose 4 alternatives for a problem of 5 nodes, one for each layer and each set of "
          "copies");
}

TEST_CASE("a cost model's answer is checked, and the error names model, layer and what was asked") {
    CHECK(error_with(Odd{.conv = not_a_number}, ps::ExactPbqp{}) ==
          "plan: cost model odd predicts nan seconds for primitive plain on layer the-layer (4x9x9 -> 4x9x9, 3x3, pad "
          "1)");
    CHECK(error_with(Odd{.conv = -1, .primitive = "rows"}, ps::ExactPbqp{})
              .starts_with("plan: cost model odd predicts -1 seconds for primitive rows on layer the-layer ("));
    CHECK(
        error_with(Odd{.conv = -infinite}, ps::ExactPbqp{}).starts_with("plan: cost model odd predicts -inf seconds"));
    CHECK(error_with(Odd{.op = not_a_number}, ps::ExactPbqp{}) ==
          "plan: cost model odd predicts nan seconds for layer softmax (softmax -> 4x9x9) in layout chw");
    CHECK(error_with(Odd{.transform = not_a_number}, ps::ExactPbqp{}) ==
          "plan: cost model odd predicts nan seconds for changing 4x9x9, the result of layer image, from layout chw to "
          "hcw");
}

TEST_CASE("what a cost model has no price for is not taken") {
    const ps::Kernels kernels = fakes::kernels(some);
    Odd model{.conv = infinite, .transform = infinite, .primitive = "plain"};
    const ps::Plan plan = ps::make_plan(forked(), kernels, model, ps::ExactPbqp{});
    CHECK(plan.transforms.empty());
    CHECK(plan.layer("the-layer").primitive == "plain-again");
    CHECK(plan.total_seconds < infinite);
    ps::Candidate const& last = plan.layer("the-layer").candidates.back();
    CHECK(last.primitive == "plain");
    CHECK(last.refusal == "the cost model has no price for it");
    CHECK(error_with(Odd{.conv = infinite}, ps::ExactPbqp{}).find("turn: the cost model has no price for it") !=
          std::string::npos);
    CHECK(error_with(Odd{.op = infinite}, ps::ExactPbqp{}) ==
          "plan: layer softmax (softmax) runs in none of the layouts for which cost model odd has a price");
    // Only rows can be bought, which reads hcw, and images come in chw.
    const std::vector<ps::PrimitiveEntry> rows{some.back()};
    Odd stuck{.transform = infinite};
    CHECK_THROWS_WITH_AS((void)ps::make_plan(forked(), fakes::kernels(rows), stuck, ps::ExactPbqp{}),
                         "plan: solver exact found no plan that is allowed: cost model odd has no price for changing "
                         "4x9x9, the result of layer image, from layout chw to hcw",
                         ps::error);
}

TEST_CASE("options that mean nothing are refused") {
    const ps::Kernels kernels = fakes::kernels(some);
    const ps::Graph graph = one_conv({.k = 4, .kernel = 3});
    CHECK(error_of(graph, kernels, {.max_error = not_a_number}) ==
          "plan: max_error is nan; it must be a number that is not negative");
    CHECK(error_of(graph, kernels, {.max_error = -1e-3}).starts_with("plan: max_error is -0.001"));
    CHECK(error_of(graph, kernels, {.max_error = 0}).find("its error bound exceeds") != std::string::npos);
    CHECK(error_of(graph, kernels, {.family = ps::Family::mec, .primitive = "pixels"}) ==
          "plan: primitive pixels is of family wino3, not mec");
    CHECK(error_of(graph, kernels, {.family = ps::Family::wino3, .primitive = "pixels"}).empty());
    CHECK(error_of(graph, kernels, {.refused = {{"the-layer", "plane", ""}}})
              .starts_with("kernels: no primitive is named plane; there are plain, "));
    CHECK(error_of(graph, kernels, {.refused = {{"layer", "plain", ""}}}) == "graph: no layer is named layer");
}

namespace {

/// Notes how many bytes a run is said to read.
struct NotedRuns {
    static constexpr std::string_view name = "noted";
    std::set<double> run_bytes = {};
    std::vector<ps::ConvQuery> convs = {};

    void predict(ps::Kernels const&, std::span<const ps::ConvQuery> queries, std::span<double> seconds) {
        convs.insert(convs.end(), queries.begin(), queries.end());
        std::ranges::fill(seconds, 1.0);
    }
    void predict(ps::Kernels const&, std::span<const ps::OpQuery> queries, std::span<double> seconds) {
        for (ps::OpQuery const& query : queries) run_bytes.insert(query.run.weight_reuse_bytes);
        std::ranges::fill(seconds, 1.0);
    }
    void predict(ps::Kernels const&, std::span<const ps::TransformQuery>, std::span<double> seconds) {
        std::ranges::fill(seconds, 1.0);
    }
};

}  // namespace

TEST_CASE("a run's bytes are those of all weights and the largest layer's images; of graphs together, the largest's") {
    const auto made = [](int channels) {
        ps::Graph graph(2);
        graph.add("image", ps::InputParams{{16, 8, 8}}, {});
        graph.add("conv", ps::ConvParams{.k = channels, .kernel = {3, 3}, .padding = {1, 1, 1, 1}}, {0});
        return graph;
    };
    const ps::Graph small = made(4), large = made(16);
    const ps::Kernels kernels = ps::make_kernels<ps::AllPrimitives, ps::default_arch, ps::AllLayouts>();
    const auto by_hand = [](double channels) { return 4 * (channels * 16 * 9 + 2 * 64 * (16 + channels)); };
    NotedRuns alone, together;
    (void)ps::make_plan(small, kernels, alone, ps::ExactPbqp{});
    const auto least = [](NotedRuns const& noted) {
        const auto reuse = [](ps::ConvQuery const& query) { return query.run.weight_reuse_bytes; };
        return reuse(std::ranges::min(noted.convs, {}, reuse));
    };
    CHECK(alone.run_bytes == std::set{by_hand(4)});
    CHECK(least(alone) == by_hand(4));
    (void)ps::make_plans(std::vector<ps::PlannedGraph>{{small}, {large}}, kernels, together, ps::ExactPbqp{});
    CHECK(together.run_bytes == std::set{by_hand(16)});
    CHECK(least(together) == by_hand(16));
    for (ps::ConvQuery const& query : together.convs)
        CHECK(query.run.weight_reuse_operations == 2 * 2.0 * 64 * 16 * 16 * 9);
}

TEST_CASE("a run's bytes, where kernels grow as they are packed, are those of all kernels that are alike") {
    ps::Graph graph;
    graph.add("image", ps::InputParams{{16, 8, 8}}, {});
    graph.add("conv", ps::ConvParams{.k = 32, .kernel = 3, .padding = 1}, {0});  // fills vectors
    graph.add("alike", ps::ConvParams{.k = 16, .kernel = 3, .padding = 1}, {1});
    graph.add("pointwise", ps::ConvParams{.k = 8}, {2});
    const ps::Kernels kernels = ps::make_kernels<ps::AllPrimitives, ps::default_arch, ps::AllLayouts>();
    NotedRuns noted;
    (void)ps::make_plan(graph, kernels, noted, ps::ExactPbqp{});
    const double three = 4 * (16 * 32 + 32 * 16) * 9, one = 4 * 16 * 8, images = 4 * 64 * (16 + 32);
    double most = 0;
    for (ps::ConvQuery const& query : noted.convs) {
        const auto packed = static_cast<double>(kernels.primitives[query.primitive].packed_bytes(query.shape));
        const double growth = std::max(1.0, packed / (4.0 * static_cast<double>(query.shape.kernel_size())));
        CHECK(query.run.weight_reuse_bytes ==
              doctest::Approx((query.shape.fh == 3 ? growth * three + one : three + growth * one) + images));
        if (kernels.primitives[query.primitive].id == "winograd-2x2-3x3") most = std::max(most, growth);
    }
    CHECK(most == doctest::Approx(16.0 / 9));
}
