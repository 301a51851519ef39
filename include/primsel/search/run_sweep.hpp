#pragma once

#include <primsel/core/error.hpp>
#include <primsel/search/measure_trials.hpp>
#include <primsel/search/queue.hpp>
#include <primsel/search/sweep_run.hpp>
#include <primsel/search/trial_log.hpp>
#include <primsel/search/try_trial.hpp>
#include <primsel/search/work_off.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::search {

/// Takes trials of the sweep from the queue and does them, as try_trial, until stop() returns true or none comes for
/// options.patience seconds. A message that is no trial of the sweep is set aside. Returns the number of results that
/// counted.
template <Queue Q, class Function, class Stop>
std::size_t work(Sweep const& sweep, Q& queue, WorkOptions const& options, Function&& function, Stop const& stop) {
    const auto result_of = [&](Lease const& lease) {
        const TrialTask task = parse_task("message", lease.message, sweep.space);
        if (task.number != lease.number) fail("message: is trial ", task.number, ", not ", lease.number);
        return line_of(sweep.space, try_trial(sweep, task, function));
    };
    return work_off(queue, options, result_of, stop);
}

namespace detail {

/// Adds a finished trial to run and log. One that is among the best is measured first.
template <Searcher S, class Measure>
bool take_trial(SweepRun<S>& run, TrialLog& log, Trial trial, Measure& measure) {
    if (!run.add(trial)) return false;
    if (run.is_last_promising()) {
        if (std::optional<TrialMeasurement> measured = measure(trial)) run.measure_last(std::move(*measured));
    }
    log.add(run.trials().back());
    return true;
}

/// Adds a result of the queue to run and log. Returns false if it changes nothing.
template <Searcher S, class Measure>
bool take_result(SweepRun<S>& run, TrialLog& log, QueuedResult const& result, Measure& measure) {
    Trial trial;
    try {
        trial = parse_trial("result", result.message, run.sweep().space);
        if (trial.number != result.number) fail("result: is trial ", trial.number, ", not ", result.number);
    } catch (error const& fault) {
        const auto task = run.under_way().find(result.number);
        if (task == run.under_way().end()) {
            run.skip(result.number);
            return false;
        }
        trial = {.number = result.number, .point = task->second.point, .seed = task->second.seed};
        trial.failure = fault.what();
    }
    return take_trial(run, log, std::move(trial), measure);
}
/// Adds trials whose messages were set aside as failed ones. Returns whether there were any.
template <Searcher S, Queue Q>
bool take_aside(SweepRun<S>& run, TrialLog& log, Q& queue) {
    bool any = false;
    for (SetAside const& aside : queue.aside()) {
        if (!aside.number) continue;
        const auto task = run.under_way().find(*aside.number);
        if (task == run.under_way().end()) continue;
        Trial trial{.number = *aside.number, .point = task->second.point, .seed = task->second.seed};
        trial.failure = aside.reason;
        run.add(trial);
        log.add(std::move(trial));
        any = true;
    }
    return any;
}

}  // namespace detail

/// Hands the trials of a sweep to workers through a queue, logs each result as it comes, and calls report(run) after
/// each. The run must have begun with the log's trials. Results of an earlier run that the queue still has count.
/// Returns when the budget is used up and nothing is under way.
///
/// measure(trial) returns an optional TrialMeasurement. It is called for each finished trial that is among the best so
/// far. The log keeps its result, and the run judges by it as SweepRun::measure_last does.
template <Searcher S, Queue Q, class Report, class Measure = NotMeasured>
void drive(SweepRun<S>& run, TrialLog& log, Q& queue, DriveOptions const& options, Report const& report,
           Measure measure = {}) {
    while (const std::optional<QueuedResult> before = queue.next_result(0)) {
        if (detail::take_result(run, log, *before, measure)) report(std::as_const(run));
    }
    for (;;) {
        while (run.under_way().size() < std::max<std::size_t>(options.ahead, 1)) {
            const std::optional<TrialTask> task = run.next();
            if (!task) break;
            queue.put(task->number, line_of(run.sweep().space, *task));
        }
        if (run.under_way().empty()) return;
        if (const std::optional<QueuedResult> result = queue.next_result(options.wait_seconds)) {
            if (detail::take_result(run, log, *result, measure)) report(std::as_const(run));
            continue;
        }
        if (detail::take_aside(run, log, queue)) report(std::as_const(run));
        for (auto const& [number, task] : run.under_way()) queue.put(number, line_of(run.sweep().space, task));
    }
}

/// Runs a sweep in this program with `threads` threads, and continues from the log. `function` is as for try_trial, and
/// is called by several threads at once if there are several. report(run) is called after each trial; `measure` is as
/// for drive. With one thread nothing else runs during a measurement. Throws error if the log cannot be written. An
/// exception of report ends the sweep as if it had been killed.
template <Searcher S, class Function, class Report, class Measure = NotMeasured>
SweepRun<S> run_sweep(Sweep const& sweep, S searcher, TrialLog& log, std::size_t threads, Function&& function,
                      Report const& report, Measure measure = {}) {
    threads = std::max<std::size_t>(threads, 1);
    SweepRun<S> run(sweep, std::move(searcher), log.trials());
    LocalQueue queue(1e8);  // who works here is gone when the program is
    std::atomic<bool> over = false;
    std::vector<std::thread> workers;
    const auto end = [&] {
        over = true;
        for (std::thread& worker : workers) worker.join();
    };
    for (std::size_t i = 0; i < threads; ++i) {
        workers.emplace_back(
            [&, i] { (void)work(sweep, queue, {.name = std::to_string(i)}, function, [&] { return over.load(); }); });
    }
    try {
        drive(run, log, queue, {.ahead = threads}, report, std::move(measure));
    } catch (...) {
        end();
        throw;
    }
    end();
    return run;
}

}  // namespace primsel::inline PRIMSEL_ABI::search
