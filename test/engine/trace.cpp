#include <primsel/engine/trace.hpp>
#include <primsel/show/trace_svg.hpp>

#include "../core/executor.hpp"
#include "../threads.hpp"
#include "../xml_fault.hpp"

#include <doctest/doctest.h>
#include <primsel/io/json.hpp>
#include <primsel/kernels/extern_kernels.hpp>
#include <primsel/primsel.hpp>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace ps = primsel;

namespace {

const ps::Kernels all_kernels = ps::make_kernels<ps::AllPrimitives, ps::default_arch, ps::AllLayouts>();

/// Two convolutions in primitives of opposite layouts, so that layouts change, one with a pass of its own for its bias.
struct Traced {
    ps::Graph graph;
    ps::Plan plan;
    std::vector<float> src, dst, again;
    ps::Trace trace;

    explicit Traced(ps::ExecutorRef executor, std::string const& primitive = {}) {
        graph.add("image", ps::InputParams{{8, 20, 20}}, {});
        graph.add("first", ps::ConvParams{.k = 16, .kernel = 3, .padding = 1, .bias = true}, {0});
        graph.add("pool", ps::PoolParams{ps::PoolKind::max, 2, 2}, {1});
        graph.add("second", ps::ConvParams{.k = 8, .kernel = 3, .padding = 1, .bias = true}, {2});
        ps::Analytical model(ps::Machine{});
        plan = ps::make_plan(graph, all_kernels, model, ps::ExactPbqp{}, {.primitive = primitive});
        ps::Program program(graph, all_kernels, plan, ps::random_weights(graph), executor.concurrency());
        src.resize(program.in_floats());
        for (std::size_t i = 0; i < src.size(); ++i) src[i] = static_cast<float>(i % 17) - 8.0F;
        dst.resize(program.out_floats());
        again.resize(program.out_floats());
        program.run(src.data(), again.data(), executor);
        const float* in = src.data();
        float* out = dst.data();
        trace = ps::trace_run(program, {graph, all_kernels, plan}, std::span(&in, 1), std::span(&out, 1), executor);
    }
};

void check(Traced const& traced, std::size_t workers) {
    ps::Trace const& trace = traced.trace;
    CHECK(traced.dst == traced.again);
    CHECK(trace.workers == workers);
    double now = 0, predicted = 0;
    for (ps::TracedStep const& step : trace.steps) {
        CHECK(step.begin >= now);
        CHECK(step.end >= step.begin);
        now = step.end;
        predicted += step.predicted;
    }
    CHECK(trace.seconds >= now);
    CHECK(predicted == doctest::Approx(traced.plan.total_seconds));
    CHECK(trace.predicted == traced.plan.total_seconds);
    std::vector<double> busy_until(workers, 0.0);
    for (ps::TracedBlock const& block : trace.blocks) {
        REQUIRE(block.step < trace.steps.size());
        REQUIRE(block.worker < workers);
        CHECK(block.begin >= trace.steps[block.step].begin);
        CHECK(block.end <= trace.steps[block.step].end);
        CHECK(block.begin >= busy_until[block.worker]);  // one after the other
        busy_until[block.worker] = block.end;
    }
}

}  // namespace

TEST_CASE("of several runs, each step has the median of its times, and the run of the median time is kept whole") {
    ps::Sequential sequential;
    Traced traced(sequential);
    ps::Program program(traced.graph, all_kernels, traced.plan, ps::random_weights(traced.graph), 1);
    const float* in = traced.src.data();
    float* out = traced.dst.data();
    const auto run = [&](std::size_t runs) {
        return ps::trace_run(program, {traced.graph, all_kernels, traced.plan}, std::span(&in, 1), std::span(&out, 1),
                             sequential, runs);
    };
    for (const std::size_t runs : {1U, 2U, 7U}) {
        traced.trace = run(runs);
        check(traced, 1);
        for (ps::TracedStep const& step : traced.trace.steps) {
            CHECK(step.median > 0);
            if (runs == 1) CHECK(step.median == step.seconds());
        }
    }
    CHECK_THROWS_WITH_AS((void)run(0), "trace: no runs", ps::error);
}

TEST_CASE("steps in a row, blocks within their steps, predictions that add up to the plan's") {
    ps::Sequential sequential;
    ps::CallerPool pool(3, laws::Threads{});
    for (const std::string primitive : {"", "direct-hwc", "winograd-4x4-3x3-vec-16"}) {
        CAPTURE(primitive);
        const Traced alone(sequential, primitive), together(pool, primitive);
        check(alone, 1);
        check(together, 3);
        CHECK(alone.dst == together.dst);
        CHECK(!alone.trace.blocks.empty());
        // Winograd of few tiles cuts each of its phases where there are threads.
        if (primitive == "direct-hwc") CHECK(alone.trace.blocks.size() == together.trace.blocks.size());
    }
}

TEST_CASE("each step names its layer and what computes it") {
    ps::Sequential sequential;
    bool any_epilogue = false, any_transform = false;
    for (ps::PrimitiveEntry const& entry : all_kernels.primitives) {
        if (!entry.supports({.c = 8, .k = 16, .h = 20, .w = 20, .fh = 3, .fw = 3, .pad_top = 1})) continue;
        CAPTURE(entry.id);
        const Traced traced(sequential, std::string(entry.id));
        check(traced, 1);
        std::map<std::string, std::vector<std::string>> by_layer;
        for (ps::TracedStep const& step : traced.trace.steps) by_layer[step.layer].push_back(step.computed_by);
        const auto has = [&](std::string const& layer, std::string_view what) {
            return std::ranges::find(by_layer[layer], what) != by_layer[layer].end();
        };
        CHECK(has("first", traced.plan.layer("first").primitive));
        CHECK(has("pool", "max_pool"));
        CHECK(has("second", traced.plan.layer("second").primitive));
        for (ps::PlannedTransform const& transform : traced.plan.transforms) {
            CHECK(has(transform.writer, transform.from + " -> " + transform.to));
            any_transform = true;
        }
        if (traced.plan.layer("first").primitive == entry.id) {
            CHECK(has("first", "epilogue") == !entry.fuses_epilogue);
            any_epilogue = any_epilogue || !entry.fuses_epilogue;
        }
    }
    CHECK(any_epilogue);
    CHECK(any_transform);
}

TEST_CASE("a tracing executor is an executor") {
    ps::CallerPool pool(3, laws::Threads{});
    ps::TracingExecutor tracing(pool);
    tracing.restart(10);
    laws::check_executor(tracing);
}

TEST_CASE("the executor notes no more than there is room for, and counts the rest") {
    ps::Sequential sequential;
    ps::TracingExecutor tracing(sequential);
    tracing.restart(2);
    tracing.begin_step(5);
    std::size_t ran = 0;
    tracing.parallel_for(7, [&](std::size_t, std::size_t) { ++ran; });
    CHECK(ran == 7);
    CHECK(tracing.count() == 7);
    REQUIRE(tracing.blocks().size() == 2);
    CHECK(tracing.blocks()[1].step == 5);
    tracing.restart(7);
    CHECK(tracing.count() == 0);
    CHECK(tracing.blocks().empty());
}

TEST_CASE("chrome trace events: JSON with a lane a thread, measured beside predicted") {
    ps::CallerPool pool(2, laws::Threads{});
    Traced traced(pool);
    traced.trace.steps[0].layer = "a \"name\" \\ with \n a break";
    const std::string text = ps::to_chrome_trace(traced.trace);
    const ps::JsonCursor root = ps::parse_json("trace", text);
    std::map<std::pair<std::int64_t, std::int64_t>, std::size_t> events;  // (process, lane) -> how many
    std::size_t lanes = 0;
    double predicted = 0;
    for (ps::JsonCursor const& event : root["traceEvents"].elements()) {
        if (event["ph"].string() == "M") {
            if (event["name"].string() == "thread_name") ++lanes;
            continue;
        }
        CHECK(event["ph"].string() == "X");
        CHECK(event["ts"].number() >= 0);
        CHECK(event["dur"].number() >= 0);
        CHECK(event["args"]["measured_ms"].number() >= 0);
        ++events[{event["pid"].integer(), event["tid"].integer()}];
        if (event["pid"].integer() == 2) predicted += event["dur"].number();
    }
    CHECK(lanes == 1 + 2 + 1);
    CHECK(events[{1, 0}] == traced.trace.steps.size());
    CHECK(events[{1, 1}] + events[{1, 2}] == traced.trace.blocks.size());
    CHECK(predicted == doctest::Approx(traced.trace.predicted * 1e6).epsilon(0.01));
    CHECK(text.find("a \\\"name\\\" \\\\ with \\u000a a break") != std::string::npos);
}

TEST_CASE("the picture of a trace is XML with a bar for each step in both lanes") {
    ps::Sequential executor;
    Traced traced(executor);
    traced.trace.steps[0].layer = "a <name> & \"more\"";
    const std::string text = ps::show::to_svg(traced.trace, {.operations = 1e11, .bytes = 1e10});
    CHECK(xml_fault(text) == "");
    std::size_t bars = 0;
    for (std::size_t at = text.find("<g>"); at != std::string::npos; at = text.find("<g>", at + 1)) ++bars;
    CHECK(bars == 2 * traced.trace.steps.size());
    for (ps::TracedStep const& step : traced.trace.steps) {
        CHECK(step.bytes > 0);
        CHECK(text.find(ps::show::xml_text(step.computed_by)) != std::string::npos);
    }
    CHECK(text.find("a &lt;name&gt; &amp; ") != std::string::npos);
    CHECK_THROWS_WITH_AS((void)ps::show::to_svg(traced.trace, {}), "trace: a picture needs the limits of the machine",
                         ps::error);
}

TEST_CASE("a program of another plan is an error") {
    ps::Graph one, other;
    one.add("image", ps::InputParams{{1, 4, 4}}, {});
    one.add("relu", ps::ActivationParams{}, {0});
    other.add("image", ps::InputParams{{1, 4, 4}}, {});
    other.add("relu", ps::ActivationParams{}, {0});
    other.add("sigmoid", ps::ActivationParams{ps::ActivationKind::sigmoid}, {1});
    ps::Analytical model(ps::Machine{});
    ps::Sequential sequential;
    const ps::Plan plan = ps::make_plan(one, all_kernels, model, ps::ExactPbqp{}),
                   longer = ps::make_plan(other, all_kernels, model, ps::ExactPbqp{});
    ps::Program program(one, all_kernels, plan, ps::Weights(), 1);
    CHECK_THROWS_AS((void)ps::trace_run(program, {other, all_kernels, longer}, {}, {}, sequential), ps::error);
}
