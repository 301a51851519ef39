#pragma once

#include <primsel/core/error.hpp>
#include <primsel/core/own_process.hpp>
#include <primsel/search/queue.hpp>

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

namespace primsel::inline PRIMSEL_ABI::search {

/// Options of a worker.
struct WorkOptions {
    std::string name = "worker";
    /// Seconds between two renewals of a lease while a trial is done; 0: none.
    double renew_seconds = 0;
    /// Seconds without a trial after which the worker returns.
    double patience = 1e9;
};

/// Options of drive().
struct DriveOptions {
    /// The number of trials that wait or are done at the same time.
    std::size_t ahead = 1;
    /// Seconds without a result after which the queue is asked for trials that were set aside, and all trials under way
    /// are put again, in case the queue lost them.
    double wait_seconds = 5;
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
        if (!process_.is_this()) {
            core::forget(mutex_), core::forget(over_), core::forget(thread_);
            return;
        }
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
    core::OwnProcess process_;
    std::thread thread_;
};

}  // namespace detail

/// Takes messages from the queue and works on them until stop() returns true or none comes for options.patience
/// seconds. result_of(lease) returns the result's text; if it throws error, the message is set aside with that reason.
/// Returns the number of results that counted.
template <Queue Q, class Function, class Stop>
std::size_t work_off(Q& queue, WorkOptions const& options, Function&& result_of, Stop const& stop) {
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
        std::string result;
        try {
            const detail::LeaseKeeper<Q> keeper(queue, *lease, options.renew_seconds);
            result = result_of(*lease);
        } catch (error const& fault) {
            queue.set_aside(*lease, fault.what());
            continue;
        }
        counted += queue.finish(*lease, result) ? 1 : 0;
    }
    return counted;
}

}  // namespace primsel::inline PRIMSEL_ABI::search
