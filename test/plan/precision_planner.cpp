// Precisions within error budgets, on kernels and costs that exist only for planning.
#include "random_graphs.hpp"

#include <primsel/pbqp/exact.hpp>
#include <primsel/plan/precision_planner.hpp>
#include <primsel/plan/print.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ps = primsel;

namespace precision_planner_tests {

using enum ps::Precision;

ps::Support any(ps::ConvShape const&) { return ps::Support::yes(); }
bool dense(ps::Shape) { return true; }
std::size_t size_of(ps::Shape shape) { return shape.size(); }
ps::OpTable const& ops() {
    static const ps::OpTable table = [] {
        ps::OpTable all{};
        for (ps::OpEntry& op : all) op.run = [](ps::AnyLayer const&, ps::OpArgs const&) noexcept {};
        return all;
    }();
    return table;
}
ps::LayoutEntry layout(std::string_view name, std::size_t bytes, bool needs_range = false) {
    ps::LayoutEntry entry{};
    entry.name = name, entry.element_bytes = bytes, entry.needs_range = needs_range;
    entry.size = &size_of, entry.dense = &dense, entry.ops = &ops;
    return entry;
}
ps::PrimitiveEntry primitive(std::string_view id, std::size_t in, std::size_t out, ps::Precision precision) {
    ps::PrimitiveEntry entry{};
    entry.packed_bytes = [](ps::ConvShape const& shape) { return sizeof(float) * shape.kernel_size(); };
    entry.id = id, entry.in_layout = in, entry.out_layout = out, entry.precision = precision;
    entry.supports = &any, entry.family = ps::Family::direct, entry.fuses_epilogue = true;
    return entry;
}
const std::array<ps::LayoutEntry, 4> layouts{layout("floats", 4), layout("turned", 4), layout("halves", 2),
                                             layout("bytes", 1, true)};
const std::array<ps::PrimitiveEntry, 9> primitives{
    primitive("a", 0, 0, float32), primitive("b", 0, 1, float32),    primitive("c", 1, 0, float32),
    primitive("half", 0, 0, bf16), primitive("to-half", 0, 2, bf16), primitive("halves", 2, 2, bf16),
    primitive("byte", 1, 0, int8), primitive("to-byte", 0, 3, int8), primitive("bytes", 3, 3, int8),
};
ps::Kernels kernels() {
    static const std::vector<ps::TransformEntry> transforms = [] {
        std::vector<ps::TransformEntry> all(layouts.size() * layouts.size());
        for (std::size_t from = 0; from < layouts.size(); ++from) {
            for (std::size_t to = 0; to < layouts.size(); ++to) {
                all[from * layouts.size() + to].same_placement =
                    from == to ? +[](ps::Shape) { return true; } : +[](ps::Shape) { return false; };
            }
        }
        return all;
    }();
    return {.primitives = primitives, .layouts = layouts, .transforms = transforms, .arch = "none"};
}

/// Seconds between 0 and 1 that have nothing to do with each other. Changes of layout are cheaper.
struct Costs {
    static constexpr std::string_view name = "hashed";
    unsigned seed;

    [[nodiscard]] double hash(std::string const& text) const {
        std::seed_seq words{static_cast<unsigned>(std::hash<std::string>{}(text)), seed};
        std::mt19937 bits(words);
        return std::uniform_real_distribution<double>(0, 1)(bits);
    }
    void predict(ps::Kernels const& all, std::span<const ps::ConvQuery> queries, std::span<double> seconds) const {
        for (std::size_t i = 0; i < queries.size(); ++i) {
            seconds[i] = hash(ps::join(to_string(queries[i].shape), all.primitives[queries[i].primitive].id));
        }
    }
    void predict(ps::Kernels const&, std::span<const ps::TransformQuery> queries, std::span<double> seconds) const {
        for (std::size_t i = 0; i < queries.size(); ++i) {
            seconds[i] = 0.3 * hash(ps::join(queries[i].shape, ' ', queries[i].from, ' ', queries[i].to));
        }
    }
    void predict(ps::Kernels const&, std::span<const ps::OpQuery> queries, std::span<double> seconds) const {
        for (std::size_t i = 0; i < queries.size(); ++i) {
            seconds[i] = hash(ps::join(ps::layer_kind(*queries[i].layer), queries[i].output, ' ', queries[i].layout));
        }
    }
};

ps::Graph graph_of(unsigned seed, std::size_t layers) {
    ps::Graph graph = random_graphs::Maker(seed).make(layers, 1, true);
    for (std::size_t i = 0; i < graph.size(); ++i) graph.set_range(i, ps::range_of(-1, 1));
    return graph;
}
ps::LayerErrors errors_of(ps::Graph const& graph, unsigned seed) {
    std::mt19937 bits(seed);
    std::uniform_real_distribution<double> share(0, 1);
    ps::LayerErrors errors;
    for (ps::Node const& node : graph.nodes()) {
        if (node.inputs.empty()) continue;
        const double bf16_error = 1e-4 * share(bits);
        errors[node.name] = {.bf16 = bf16_error, .int8 = bf16_error + 1e-3 * share(bits)};
    }
    return errors;
}
constexpr double unbounded = std::numeric_limits<double>::infinity();

/// An assignment of precisions to all layers, and its fastest plan.
struct Assignment {
    double seconds, error;
};
template <class Planner>
std::vector<Assignment> all_assignments(Planner const& planner, ps::Graph const& graph, ps::LayerErrors const& errors) {
    std::vector<Assignment> all;
    std::vector<ps::Precision> precisions(graph.size(), float32);
    const auto add = [&](auto const& self, std::size_t layer, double error) -> void {
        if (layer == graph.size()) {
            all.push_back({planner.exactly(precisions).total_seconds, error});
            return;
        }
        for (const ps::Precision precision : {float32, bf16, int8}) {
            if (!planner.runs_in(layer, precision)) continue;
            precisions[layer] = precision;
            self(self, layer + 1, error + (precision == float32 ? 0 : *errors.at(graph[layer].name).in(precision)));
        }
    };
    add(add, 0, 0.0);
    return all;
}
/// The corners of the lower left convex hull, by error: Andrew's monotone chain.
std::vector<Assignment> hull_of(std::vector<Assignment> points) {
    std::ranges::sort(points, {}, [](Assignment const& each) { return std::pair(each.error, each.seconds); });
    std::vector<Assignment> hull;
    for (Assignment const& point : points) {
        if (!hull.empty() && point.seconds >= hull.back().seconds - 1e-12) continue;
        while (hull.size() > 1) {
            auto const &a = hull[hull.size() - 2], &b = hull.back();
            if ((b.seconds - a.seconds) * (point.error - a.error) < (point.seconds - a.seconds) * (b.error - a.error)) {
                break;
            }
            hull.pop_back();
        }
        hull.push_back(point);
    }
    return hull;
}
bool near(double a, double b) { return std::abs(a - b) <= 1e-9 * (std::abs(a) + std::abs(b)) + 1e-15; }

TEST_CASE("precision planner: the curve is the convex hull of all assignments, and budgets take its corners") {
    std::size_t corners = 0, above = 0;
    for (unsigned seed = 0; seed < 12; ++seed) {
        CAPTURE(seed);
        const ps::Graph graph = graph_of(seed, 5);
        const ps::LayerErrors errors = errors_of(graph, seed);
        Costs costs{seed};
        const ps::Kernels all_kernels = kernels();
        const ps::PlanOptions options{.precision = int8};
        const ps::PrecisionPlanner planner(graph, all_kernels, costs, ps::ExactPbqp{}, options);
        const std::vector<Assignment> all = all_assignments(planner, graph, errors);
        const std::vector<Assignment> hull = hull_of(all);
        const std::vector<ps::PrecisionPlan> curve = planner.curve(errors);
        REQUIRE(curve.size() == hull.size());
        corners += hull.size();
        for (std::size_t i = 0; i < hull.size(); ++i) {
            CHECK(near(curve[i].squared_error, hull[i].error));
            CHECK(near(curve[i].plan.total_seconds, hull[i].seconds));
            CHECK(near(curve[i].error() * curve[i].error(), hull[i].error));
            if (i > 0) CHECK(curve[i].plan.total_seconds < curve[i - 1].plan.total_seconds);
        }
        // A plan costs what its precisions cost.
        for (ps::PrecisionPlan const& point : curve) {
            CHECK(near(planner.exactly(point.precisions).total_seconds, point.plan.total_seconds));
        }
        std::vector<double> budgets{0, 1e-7, 1e-5, 3e-5, 1e-4, 3e-4, 1e-3, unbounded};
        for (Assignment const& corner : hull) budgets.push_back(corner.error * (1 + 1e-9));
        for (const double budget : budgets) {
            CAPTURE(budget);
            double best = unbounded, corner = unbounded;
            for (Assignment const& each : all) {
                if (each.error <= budget) best = std::min(best, each.seconds);
            }
            for (Assignment const& each : hull) {
                if (each.error <= budget) corner = std::min(corner, each.seconds);
            }
            const ps::PrecisionPlan plan = planner.within(errors, budget);
            CHECK(plan.squared_error <= budget);
            CHECK(near(plan.plan.total_seconds, corner));
            CHECK(plan.plan.bound_seconds <= best * (1 + 1e-9));
            if (plan.plan.optimal) CHECK(near(plan.plan.total_seconds, best));
            above += best < corner * (1 - 1e-9) ? 1U : 0U;
        }
        CHECK(planner.within(errors, 0).plan.total_seconds == doctest::Approx(hull.front().seconds));
        // Without a budget it is the fastest plan of the ordinary planner.
        const ps::Plan fastest = ps::make_plan(graph, all_kernels, costs, ps::ExactPbqp{}, options);
        CHECK(near(planner.within(errors, unbounded).plan.total_seconds, fastest.total_seconds));
        const ps::Plan floats = ps::make_plan(graph, all_kernels, costs, ps::ExactPbqp{});
        CHECK(near(planner.within(errors, 0).plan.total_seconds, floats.total_seconds));
    }
    // Neither the law of the curve nor that of the bounds is empty.
    CHECK(corners > 30);
    CHECK(above > 0);
}

TEST_CASE("precision planner: a layer without an error stays out of a type, and bounds keep a new plan to the choice") {
    const ps::Graph graph = graph_of(3, 6);
    Costs costs{3};
    const ps::Kernels all_kernels = kernels();
    const ps::PlanOptions options{.precision = int8};
    const ps::PrecisionPlanner planner(graph, all_kernels, costs, ps::ExactPbqp{}, options);
    const ps::PrecisionPlan unknown = planner.within({}, unbounded);
    CHECK(std::ranges::count(unknown.precisions, float32) == static_cast<std::ptrdiff_t>(graph.size()));
    ps::LayerErrors errors = errors_of(graph, 3);
    for (auto& [name, error] : errors) error.int8.reset();
    for (const ps::Precision precision : planner.within(errors, unbounded).precisions) CHECK(precision != int8);

    errors = errors_of(graph, 3);
    for (ps::PrecisionPlan const& point : planner.curve(errors)) {
        ps::PlanOptions bounded = options;
        bounded.layer_precisions = ps::layer_precisions(graph, point.precisions, errors);
        const ps::Plan again = ps::make_plan(graph, all_kernels, costs, ps::ExactPbqp{}, bounded);
        CHECK(again.total_seconds <= point.plan.total_seconds * (1 + 1e-9));
        for (std::size_t i = 0; i < graph.size(); ++i) {
            ps::PlannedLayer const& layer = again.layers[i];
            const auto own = std::max(layouts[all_kernels.find_layout(layer.in_layout)].precision,
                                      layouts[all_kernels.find_layout(layer.out_layout)].precision);
            CHECK(own <= point.precisions[i]);
            if (!layer.primitive.empty()) {
                CHECK(primitives[all_kernels.find(layer.primitive)].precision <= point.precisions[i]);
            }
            if (layer.primitive.empty() || point.precisions[i] != float32) continue;
            CHECK(again.explain(layer.name)
                      .find("within the error budget the layer stays in float32; its error alone: ") !=
                  std::string::npos);
        }
    }
    ps::PlanOptions wrong = options;
    wrong.layer_precisions = {{"nobody", float32, ""}};
    CHECK_THROWS_WITH_AS((void)ps::make_plan(graph, all_kernels, costs, ps::ExactPbqp{}, wrong),
                         doctest::Contains("no layer is named nobody"), ps::error);
    for (const double budget : {-1e-9, std::numeric_limits<double>::quiet_NaN()}) {
        CHECK_THROWS_WITH_AS((void)planner.within(errors, budget), doctest::Contains("the error budget is"), ps::error);
    }
}

}  // namespace precision_planner_tests
