#pragma once

#include <primsel/core/flush_subnormals.hpp>
#include <primsel/core/number_text.hpp>
#include <primsel/core/statistics.hpp>
#include <primsel/core/timer.hpp>
#include <primsel/core/work.hpp>
#include <primsel/engine/program.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

/// A step of a run. Times in seconds; begin and end count from the start of the run.
struct TracedStep {
    std::string layer;  ///< of a change of layout: the layer whose result changes its layout
    /// A primitive's id, those of layers in strips, a kind of layer, "epilogue" for the bias and activation after a
    /// primitive that does not fuse them, or a change of layout, "chw -> hwc".
    std::string computed_by;
    /// By the plan. A convolution's prediction includes its epilogue, which has none of its own.
    double predicted = 0;
    /// Operations, by the direct algorithm for a convolution; and bytes that must be read and written: images and
    /// weights.
    double operations = 0, bytes = 0;
    /// The type of the factors in its products.
    Precision precision = Precision::float32;
    double begin = 0, end = 0;
    /// The median over all runs of what it took.
    double median = 0;

    [[nodiscard]] double seconds() const { return end - begin; }
};

/// A block of a step that a worker ran, with its begin and end in seconds.
struct TracedBlock {
    std::size_t step = 0, worker = 0;
    double begin = 0, end = 0;
};

/// When each step of a run ran, and which worker ran what of it: of several runs, that of the median time.
struct Trace {
    std::size_t workers = 0;
    std::vector<TracedStep> steps;
    /// By worker, and of each worker by time. A step that is not split into blocks has none: the caller runs it.
    std::vector<TracedBlock> blocks;
    /// Predicted for the whole, and measured.
    double predicted = 0, seconds = 0;
};

/// An executor that notes when each block ran and on which worker, and leaves the work to another. Room for the notes
/// is booked before the run: what does not fit is counted and not noted.
class TracingExecutor {
public:
    explicit TracingExecutor(ExecutorRef executor) : executor_(executor), lanes_(executor.concurrency()) {}

    [[nodiscard]] std::size_t concurrency() const noexcept { return executor_.concurrency(); }
    void parallel_for(std::size_t blocks, BlockFunction function) noexcept {
        executor_.parallel_for(blocks, [this, function](std::size_t block, std::size_t worker) {
            const double begin = timer_.seconds();
            function(block, worker);
            Lane& lane = lanes_[worker];
            ++lane.count;
            if (lane.blocks.size() < lane.blocks.capacity()) {
                lane.blocks.push_back({step_, worker, begin, timer_.seconds()});
            }
        });
    }

    void begin_run() noexcept { executor_.begin_run(); }
    void end_run() noexcept { executor_.end_run(); }

    /// Counts what parallel_for runs to this step from now on.
    void begin_step(std::size_t step) noexcept { step_ = step; }
    /// The blocks that all workers ran since the last restart.
    [[nodiscard]] std::size_t count() const noexcept {
        std::size_t count = 0;
        for (Lane const& lane : lanes_) count += lane.count;
        return count;
    }
    /// Forgets all notes, books room for so many on each worker, and starts the clock anew.
    void restart(std::size_t blocks) {
        for (Lane& lane : lanes_) {
            lane.blocks.clear();
            lane.blocks.reserve(blocks);
            lane.count = 0;
        }
        timer_.restart();
    }
    /// The seconds since the last restart.
    [[nodiscard]] double seconds() const { return timer_.seconds(); }
    [[nodiscard]] std::vector<TracedBlock> blocks() const {
        std::vector<TracedBlock> all;
        for (Lane const& lane : lanes_) all.insert(all.end(), lane.blocks.begin(), lane.blocks.end());
        return all;
    }

private:
    /// A cache line of its own: every worker writes to its lane.
    struct alignas(alignment) Lane {
        std::vector<TracedBlock> blocks;
        std::size_t count = 0;
    };
    ExecutorRef executor_;
    std::vector<Lane> lanes_;
    Timer timer_;
    std::size_t step_ = 0;
};

namespace engine::detail {

/// The primitive or op of each step of a plan, and its predicted time.
[[nodiscard]] inline std::vector<TracedStep> describe_steps(Graph const& graph, Kernels const& kernels,
                                                            Plan const& plan, std::size_t workers) {
    std::vector<TracedStep> described;
    std::vector<bool> told(plan.transforms.size(), false);
    const Schedule schedule = make_schedule(graph, kernels, plan, workers);
    const double parts = static_cast<double>(schedule.parts);
    for (ScheduledStep const& step : schedule.steps) {
        TracedStep& next = described.emplace_back();
        next.layer = graph[step.node].name;
        const double images = described.size() <= schedule.single ? parts : graph.batch();
        next.bytes = images * static_cast<double>(activations(step)) + static_cast<double>(weights(step));
        if (const auto* in_strips = std::get_if<StripsStep>(&step.work)) {
            for (ScheduledConv const& conv : in_strips->convs) {
                next.operations += images * conv.shape.operations();
                next.computed_by += (next.computed_by.empty() ? "" : ", ") + std::string(conv.primitive->id);
                next.precision = conv.primitive->precision;
            }
            next.computed_by = join("strips of ", in_strips->rows, " rows: ", next.computed_by);
            for (PlannedStrips const& strips : plan.strips) {
                if (strips.layers.back() == next.layer) next.predicted = strips.seconds;
            }
        } else if (const auto* by = std::get_if<ConvStep>(&step.work)) {
            next.operations = images * by->conv.shape.operations();
            next.computed_by = by->conv.primitive->id;
            next.precision = by->conv.primitive->precision;
            next.predicted = plan.layers[step.node].seconds;
        } else if (step.is<EpilogueStep>()) {
            next.computed_by = "epilogue";
        } else if (const auto* of_op = std::get_if<OpStep>(&step.work)) {
            next.computed_by = of_op->op->id.empty() ? layer_kind(graph[step.node].layer) : of_op->op->id;
            next.precision = of_op->op->precision;
            next.predicted = plan.layers[step.node].seconds;
        } else if (const auto* change = std::get_if<TransformStep>(&step.work)) {
            const auto index = static_cast<std::size_t>(change->transform - kernels.transforms.data());
            const std::string_view from = kernels.layouts[index / kernels.layouts.size()].name,
                                   to = kernels.layouts[index % kernels.layouts.size()].name;
            next.computed_by = join(from, " -> ", to);
            for (std::size_t i = 0; i < plan.transforms.size(); ++i) {
                PlannedTransform const& planned = plan.transforms[i];
                if (told[i] || planned.writer != next.layer || planned.from != from || planned.to != to) continue;
                next.predicted = planned.seconds;
                told[i] = true;
                break;
            }
        }
    }
    if (schedule.single == 0) return described;
    // Those that take one image, again for each further image.
    const auto batch = static_cast<std::size_t>(graph.batch()) / schedule.parts;
    const auto single = described.begin() + static_cast<std::ptrdiff_t>(schedule.single);
    for (auto step = described.begin(); step != single; ++step) step->predicted /= static_cast<double>(batch);
    std::vector<TracedStep> all;
    for (std::size_t image = 0; image < batch; ++image) all.insert(all.end(), described.begin(), single);
    all.insert(all.end(), single, described.end());
    return all;
}

}  // namespace engine::detail

/// The graph, kernels and plan that a program was made of.
struct ProgramParts {
    Graph const& graph;
    Kernels const& kernels;
    Plan const& plan;
};

/// Runs a program, made of these parts, once to warm up and `runs` times to be timed. srcs and dsts as for
/// Program::run. What it costs: two readings of the clock a block. Throws error for no runs.
[[nodiscard]] inline Trace trace_run(Program& program, ProgramParts const& parts, std::span<const float* const> srcs,
                                     std::span<float* const> dsts, ExecutorRef executor, std::size_t runs = 1) {
    if (runs == 0) fail("trace: no runs");
    TracingExecutor tracing(executor);
    Trace trace{.workers = executor.concurrency(),
                .steps = engine::detail::describe_steps(parts.graph, parts.kernels, parts.plan, executor.concurrency()),
                .blocks = {},
                .predicted = parts.plan.total_seconds};
    if (trace.steps.size() != program.steps()) {
        fail("trace: the plan has ", trace.steps.size(), " steps, the program ", program.steps());
    }
    program.run(srcs, dsts, tracing);
    // The number of blocks is the same in every run; which worker takes them is not.
    const std::size_t blocks = tracing.count();
    struct Run {
        double seconds = 0;
        std::vector<std::pair<double, double>> steps;
        std::vector<TracedBlock> blocks;
    };
    std::vector<Run> all(runs);
    for (Run& run : all) {
        run.steps.resize(trace.steps.size());
        tracing.restart(blocks);
        const RunScope scope(tracing);
        const FlushSubnormals flushing;
        program.bind(srcs, dsts);
        for (std::size_t i = 0; i < trace.steps.size(); ++i) {
            tracing.begin_step(i);
            run.steps[i].first = tracing.seconds();
            program.run_step(i, tracing);
            run.steps[i].second = tracing.seconds();
        }
        run.seconds = tracing.seconds();
        run.blocks = tracing.blocks();
    }
    for (std::size_t i = 0; i < trace.steps.size(); ++i) {
        std::vector<double> seconds;
        for (Run const& run : all) seconds.push_back(run.steps[i].second - run.steps[i].first);
        trace.steps[i].median = median(std::move(seconds));
    }
    const auto middle = all.begin() + static_cast<std::ptrdiff_t>(runs / 2);
    std::ranges::nth_element(all, middle, {}, &Run::seconds);
    trace.seconds = middle->seconds;
    trace.blocks = std::move(middle->blocks);
    for (std::size_t i = 0; i < trace.steps.size(); ++i) {
        trace.steps[i].begin = middle->steps[i].first, trace.steps[i].end = middle->steps[i].second;
    }
    return trace;
}

namespace engine::detail {

/// Writes a Trace as Chrome trace events: to_chrome_trace below.
class ChromeTrace {
public:
    [[nodiscard]] std::string text(Trace const& trace) {
        text_ = "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n";
        name("process_name", measured, 0, "measured");
        name("process_name", predicted, 0, "predicted by the plan");
        name("thread_name", measured, 0, "steps");
        for (std::size_t i = 0; i < trace.workers; ++i) name("thread_name", measured, i + 1, join("thread ", i));
        name("thread_name", predicted, 0, "steps");
        double planned = 0;
        for (TracedStep const& step : trace.steps) {
            add(step, measured, 0, step.begin, step.end);
            if (step.predicted > 0) add(step, predicted, 0, planned, planned + step.predicted);
            planned += step.predicted;
        }
        for (TracedBlock const& block : trace.blocks) {
            add(trace.steps[block.step], measured, block.worker + 1, block.begin, block.end);
        }
        text_.erase(text_.size() - 2, 1);  // the last comma
        return std::move(text_) + "]}\n";
    }

private:
    static constexpr int measured = 1, predicted = 2;  // numbers of processes

    void quote(std::string_view string) {
        text_ += '"';
        for (const char c : string) {
            if (c == '"' || c == '\\') {
                (text_ += '\\') += c;
            } else if (static_cast<unsigned char>(c) < 0x20) {
                char code[8];
                std::snprintf(code, sizeof(code), "\\u%04x", static_cast<unsigned>(c));
                text_ += code;
            } else {
                text_ += c;
            }
        }
        text_ += '"';
    }
    void number(double value) { text_ += core::fixed_text(value, 3); }
    void name(std::string_view what, int process, std::size_t thread, std::string_view name) {
        text_ += join("{\"ph\":\"M\",\"name\":\"", what, "\",\"pid\":", process, ",\"tid\":", thread,
                      ",\"args\":{\"name\":");
        quote(name);
        text_ += "}},\n";
    }
    void add(TracedStep const& step, int process, std::size_t thread, double begin, double end) {
        text_ += "{\"ph\":\"X\",\"name\":";
        quote(step.layer);
        text_ += join(",\"pid\":", process, ",\"tid\":", thread, ",\"ts\":");
        number(begin * 1e6);
        text_ += ",\"dur\":";
        number((end - begin) * 1e6);
        text_ += ",\"args\":{\"computed_by\":";
        quote(step.computed_by);
        text_ += ",\"predicted_ms\":";
        number(step.predicted * 1e3);
        text_ += ",\"measured_ms\":";
        number(step.seconds() * 1e3);
        if (step.operations > 0) {
            text_ += ",\"gflops\":";
            number(step.operations / step.seconds() * 1e-9);
        }
        text_ += "}},\n";
    }

    std::string text_;
};

}  // namespace engine::detail

/// The trace as JSON that chrome://tracing and ui.perfetto.dev show: the process "measured" with a lane for the steps
/// and one for each thread's blocks; the process "predicted" with what the plan predicted, end to end. Every event
/// names what computed it, the predicted and measured milliseconds of its step, and a convolution's GFLOP/s, counting
/// the operations of the direct algorithm. Names are taken to be UTF-8.
[[nodiscard]] inline std::string to_chrome_trace(Trace const& trace) {
    return engine::detail::ChromeTrace().text(trace);
}

}  // namespace primsel::inline PRIMSEL_ABI
