#include <primsel/engine/trace.hpp>
#include <primsel/io/json.hpp>
#include <primsel/io/settings.hpp>
#include <primsel/learn/dataset_file.hpp>
#include <primsel/plan/plan_file.hpp>
#include <primsel/plan/print.hpp>
#include <primsel/show/dot.hpp>
#include <primsel/show/trace_svg.hpp>

#include <doctest/doctest.h>

#include <sstream>
#include <string>
#include <vector>

#include "../other_locale.hpp"

namespace ps = primsel;

namespace {

/// The texts that the library writes of a plan and a trace of 1473.25 ms.
std::vector<std::string> every_text() {
    ps::Graph graph;
    const std::size_t image = graph.add("image", ps::InputParams{{1473, 3, 1473}}, {});
    graph.add("relu", ps::ActivationParams{}, {image});
    ps::Plan plan;
    plan.cost_model = "model", plan.solver = "exact";
    for (const char* name : {"image", "relu"}) {
        ps::PlannedLayer& layer = plan.layers.emplace_back();
        layer.name = name, layer.kind = "relu", layer.shape = "1473x3x1473", layer.seconds = 1.47325;
    }
    plan.total_seconds = 1.47325, plan.bound_seconds = 1.2, plan.predict_seconds = 1.5, plan.solve_seconds = 2.5;
    ps::Trace trace;
    trace.workers = 1473;
    trace.steps.push_back({.layer = "relu",
                           .computed_by = "relu",
                           .predicted = 1.47325,
                           .operations = 1473.25e9,
                           .bytes = 1e9,
                           .begin = 0.5,
                           .end = 1.97325});
    trace.predicted = trace.seconds = 1.47325;
    std::ostringstream printed;
    printed << plan << graph;
    return {printed.str(),
            plan.explain("relu"),
            plan.optimality(),
            ps::to_string(ps::to_json(plan)),
            ps::to_chrome_trace(trace),
            ps::show::to_svg(trace, ps::show::Limits{1e12, 1e11}),
            ps::show::to_dot(plan, graph),
            ps::to_string(ps::Json(ps::Json::Object{{"number", 1473.25}, {"integer", 1473}}))};
}

}  // namespace

TEST_CASE("what is written and read is the same in every locale") {
    const std::vector<std::string> plain = every_text();
    const tests::OtherLocale locale;
    std::ostringstream differs;
    differs << 1473.25;
    REQUIRE(differs.str() == "1.473,25");
    const std::vector<std::string> other = every_text();
    REQUIRE(other.size() == plain.size());
    for (std::size_t i = 0; i < plain.size(); ++i) CHECK(other[i] == plain[i]);
    CHECK(ps::parse_json("f", "[1473.25, 1473]")[0].number() == 1473.25);
}
