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

struct WorkOptions {
    std::string name = "worker";
    /// How often the queue is told that the worker is alive while what it does takes its time; 0: never.
    double renew_seconds = 0;
    /// With nothing to do for so long, the worker goes home.
    double patience = 1e9;
};

struct DriveOptions {
    /// The number of trials that wait or are done at once.
    std::size_t ahead = 1;
    /// After so long without a result the queue is asked for trials that were set aside, and given all that are under
    /// way once more, which it has unless it lost them.
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

/// Takes from the queue what is to be done and has it done, until stop() says so or nothing comes for a while.
/// result_of(lease) is the text that goes back; where it throws error, the message is set aside for that reason.
/// Returns how many results counted.
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
