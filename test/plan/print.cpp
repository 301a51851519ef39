#include <primsel/plan/print.hpp>

#include <doctest/doctest.h>

#include <sstream>
#include <string>

namespace ps = primsel;

namespace {

ps::Plan printed_plan() {
    ps::Plan plan;
    plan.cost_model = "analytical", plan.solver = "exact", plan.optimal = true;
    plan.layers = {{.name = "input",
                    .kind = "input",
                    .shape = "3x8x8",
                    .primitive = "",
                    .in_layout = "chw",
                    .out_layout = "chw",
                    .seconds = 0,
                    .candidates = {}},
                   {.name = "conv1",
                    .kind = "conv",
                    .shape = "3x8x8 -> 4x8x8, 3x3, pad 1",
                    .primitive = "pixels",
                    .in_layout = "hwc",
                    .out_layout = "hwc",
                    .seconds = 0.0125,
                    .candidates = {{"pixels", 0.0125, ""}, {"plain", 0.5, ""}, {"short-one", 0, "needs a 1x1 kernel"}}},
                   {.name = "relu1",
                    .kind = "relu",
                    .shape = "4x8x8",
                    .primitive = "",
                    .in_layout = "hwc",
                    .out_layout = "hwc",
                    .seconds = 1e-6,
                    .candidates = {}}};
    plan.transforms = {{"input", "conv1", "3x8x8", "chw", "hwc", 2e-6}, {"relu1", "", "4x8x8", "hwc", "chw", 3e-6}};
    plan.total_seconds = 0.012506;
    plan.predict_seconds = 0.0015, plan.solve_seconds = 0.0001;
    plan.key.arch = "avx2";
    return plan;
}

}  // namespace

TEST_CASE("a plan prints as a table with the changes of layout where they happen") {
    std::ostringstream out;
    out << printed_plan();
    CHECK(out.str() ==
          "layer      shape                       primitive  layouts     ms\n"
          "input      3x8x8                       input      chw         0.000\n"
          "  (input)  3x8x8                       transform  chw -> hwc  0.002\n"
          "conv1      3x8x8 -> 4x8x8, 3x3, pad 1  pixels     hwc         12.500\n"
          "relu1      4x8x8                       relu       hwc         0.001\n"
          "  (relu1)  4x8x8                       transform  hwc -> chw  0.003\n"
          "total 12.506 ms predicted by analytical, proven optimal by exact; predicted in 1.500 ms, solved in 0.100 "
          "ms; for avx2\n");
    ps::Plan other = printed_plan();
    other.optimal = false, other.layers[1].out_layout = "chw";
    out.str("");
    out << other;
    CHECK(out.str().find("pixels     hwc -> chw  12.500\n") != std::string::npos);
    CHECK(out.str().find(", not proven optimal by exact;") != std::string::npos);
    other.strips = {{{"conv1", "relu1"}, 4, 0.0005}};
    out.str("");
    out << other;
    CHECK(out.str().find("  (from conv1 on)                              strips of 4 rows  together    0.500\n") !=
          std::string::npos);
    other.strips.push_back({});  // of no layers: nothing to print
    CHECK_NOTHROW(out << other);
    other.bound_seconds = other.total_seconds / 1.009;
    CHECK(other.optimality() == "within 0.9 % of optimal");
}

TEST_CASE("explain shows each candidate's cost or refusal, the chosen one marked") {
    CHECK(printed_plan().explain("conv1") ==
          "conv1: conv 3x8x8 -> 4x8x8, 3x3, pad 1\n"
          "  *  pixels     12.500 ms\n"
          "     plain      500.000 ms\n"
          "     short-one  needs a 1x1 kernel\n");
    CHECK(printed_plan().explain("relu1") == "relu1: relu 4x8x8\n  runs in hwc; nothing to choose but its layout\n");
}

TEST_CASE("a layer that is not there is an error that names it and those that are") {
    CHECK_THROWS_WITH_AS((void)printed_plan().explain("conv2"),
                         "plan: no layer is named conv2; there are input, conv1, relu1", ps::error);
    CHECK_THROWS_WITH_AS((void)printed_plan().layer(""), "plan: no layer is named ; there are input, conv1, relu1",
                         ps::error);
}

TEST_CASE("names from a file are printed without what a terminal would obey") {
    ps::Plan plan = printed_plan();
    plan.layers[1].name = "conv\x1b[2J\n1";
    plan.cost_model = "a\rmodel", plan.solver = "\xff";
    std::ostringstream out;
    out << plan;
    CHECK(out.str().find("conv\\x1b[2J\\n1") != std::string::npos);
    CHECK(out.str().find("predicted by a\\x0dmodel, proven optimal by \\xff;") != std::string::npos);
    CHECK(plan.explain(plan.layers[1].name).starts_with("conv\\x1b[2J\\n1: conv 3x8x8"));
}
