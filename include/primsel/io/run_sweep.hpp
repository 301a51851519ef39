#pragma once

#include <primsel/core/error.hpp>
#include <primsel/io/trial_log.hpp>
#include <primsel/search/queue.hpp>
#include <primsel/search/sweep_run.hpp>
#include <primsel/search/try_trial.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

struct WorkOptions {
    std::string name = "worker";
    /// How often the queue is told that the worker is alive while a trial takes its time; 0: never.
    double renew_seconds = 0;
    /// Without a trial for so long, the worker goes home.
    double patience = 1e9;
};

namespace detail {

/// Renews a lease until it is gone.
template <Queue Q>
class LeaseKeeper {
public:
    LeaseKeeper(Q& queue, Lease const& lease, double seconds) {
        if (!(seconds > 0)) return;
        thread_ = std::thread([this, &queue, &lease, seconds] {
            std::unique_lock lock(mutex_);
            const std::chrono::duration<double> time(seconds);
            while (!over_.wait_for(lock, time, [this] { return is_over_; })) {
                try {
                    if (!queue.renew(lease)) return;
                } catch (error const&) {  // the queue is away; its own calls say so
                }
            }
        });
    }
    LeaseKeeper(LeaseKeeper const&) = delete;
    LeaseKeeper& operator=(LeaseKeeper const&) = delete;
    ~LeaseKeeper() {
        {
            const std::scoped_lock lock(mutex_);
            is_over_ = true;
        }
        over_.notify_all();
        if (thread_.joinable()) thread_.join();
    }

private:
    std::mutex mutex_;
    std::condition_variable over_;
    bool is_over_ = false;
    std::thread thread_;
};

}  // namespace detail

/// Takes trials of the sweep from the queue and has them done, as try_trial says, until stop() says so or none comes
/// for a while. What is no trial of the sweep is set aside. Returns how many trials counted.
template <Queue Q, class Function, class Stop>
std::size_t work(Sweep const& sweep, Q& queue, WorkOptions const& options, Function&& function, Stop const& stop) {
    constexpr double poll_seconds = 0.1;
    std::size_t counted = 0;
    double idle = 0;
    while (!stop() && idle < options.patience) {
        const std::optional<Lease> lease = queue.take(options.name, poll_seconds);
        if (!lease) {
            idle += poll_seconds;
            continue;
        }
        idle = 0;
        std::optional<TrialTask> task;
        try {
            task = parse_task("message", lease->message, sweep.space);
            if (task->number != lease->number) fail("message: is trial ", task->number, ", not ", lease->number);
        } catch (error const& fault) {
            queue.set_aside(*lease, fault.what());
            continue;
        }
        std::string result;
        {
            const detail::LeaseKeeper<Q> keeper(queue, *lease, options.renew_seconds);
            result = line_of(sweep.space, try_trial(sweep, *task, function));
        }
        counted += queue.finish(*lease, result) ? 1 : 0;
    }
    return counted;
}

struct DriveOptions {
    /// So many trials wait or are done at once.
    std::size_t ahead = 1;
    /// After so long without a result the queue is asked for trials that were set aside, and given all that are under
    /// way once more, which it has unless it lost them.
    double wait_seconds = 5;
};

namespace detail {

/// What a queue brought back, into run and log; false where it changes nothing.
template <Searcher S>
bool take_result(SweepRun<S>& run, TrialLog& log, QueuedResult const& result) {
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
    if (!run.add(trial)) return false;
    log.add(std::move(trial));
    return true;
}
/// Trials that nobody could read failed.
template <Searcher S, Queue Q>
bool take_aside(SweepRun<S>& run, TrialLog& log, Q& queue) {
    bool any = false;
    for (SetAside const& aside : queue.aside()) {
        const auto task = run.under_way().find(aside.number);
        if (task == run.under_way().end()) continue;
        Trial trial{.number = aside.number, .point = task->second.point, .seed = task->second.seed};
        trial.failure = aside.reason;
        run.add(trial);
        log.add(std::move(trial));
        any = true;
    }
    return any;
}

}  // namespace detail

/// Hands the trials of a sweep to workers, through a queue, and logs each result as it comes; report(run) after each.
/// The run must have begun with the log's trials. Results that the queue still has of before count, once. Returns when
/// the budget is used up and nothing is under way.
template <Searcher S, Queue Q, class Report>
void drive(SweepRun<S>& run, TrialLog& log, Q& queue, DriveOptions const& options, Report const& report) {
    while (const std::optional<QueuedResult> before = queue.next_result(0)) {
        if (detail::take_result(run, log, *before)) report(std::as_const(run));
    }
    for (;;) {
        while (run.under_way().size() < std::max<std::size_t>(options.ahead, 1)) {
            const std::optional<TrialTask> task = run.next();
            if (!task) break;
            queue.put(task->number, line_of(run.sweep().space, *task));
        }
        if (run.under_way().empty()) return;
        if (const std::optional<QueuedResult> result = queue.next_result(options.wait_seconds)) {
            if (detail::take_result(run, log, *result)) report(std::as_const(run));
            continue;
        }
        if (detail::take_aside(run, log, queue)) report(std::as_const(run));
        for (auto const& [number, task] : run.under_way()) queue.put(number, line_of(run.sweep().space, task));
    }
}

/// A sweep within this program, by so many threads: it goes on from the log. function as try_trial says, called by
/// several threads at once where there are several; report(run) after each trial. Throws error where the log cannot be
/// written; whatever report throws ends the sweep as if it had been killed.
template <Searcher S, class Function, class Report>
SweepRun<S> run_sweep(Sweep const& sweep, S searcher, TrialLog& log, std::size_t threads, Function&& function,
                      Report const& report) {
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
        drive(run, log, queue, {.ahead = threads}, report);
    } catch (...) {
        end();
        throw;
    }
    end();
    return run;
}

}  // namespace primsel::inline PRIMSEL_ABI
