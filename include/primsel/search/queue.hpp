#pragma once

#include <primsel/core/error.hpp>
#include <primsel/core/finite.hpp>

#include <algorithm>
#include <chrono>
#include <concepts>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::search {

/// A trial that is handed out: its number and message, the worker that holds it, and the lease's id.
struct Lease {
    std::uint64_t number = 0;
    std::string message, worker, id;
};
/// The result of a trial, in the order in which results came in.
struct QueuedResult {
    std::uint64_t number = 0;
    std::string message;
};
/// A message that was no trial, with the reason; without a number if it had none.
struct SetAside {
    std::optional<std::uint64_t> number{};
    std::string message, reason;
};

/// Hands trials, or parts of other work, to workers and takes results back. Nothing is lost and nothing counts twice.
/// If a worker does not renew its lease in time, its trial is handed out again. The queue does not read the messages.
///
///     put(number, message)         adds a trial; does nothing if the number is known
///     take(worker, seconds)        a trial; waits up to `seconds` for one, then returns nothing
///     renew(lease)                 starts the lease's time anew; false if the trial is done or another has it
///     finish(lease, result)        true for the first result of a number; later ones return false and are dropped
///     set_aside(lease, reason)     keeps a message that is no trial from being handed out again
///     next_result(seconds)         each result once, from the first on for each new queue object
///     aside()                      all messages that were set aside
template <class Q>
concept Queue = requires(Q queue, std::uint64_t number, std::string const& text, Lease const& lease, double seconds) {
    queue.put(number, text);
    { queue.take(text, seconds) } -> std::same_as<std::optional<Lease>>;
    { queue.renew(lease) } -> std::same_as<bool>;
    { queue.finish(lease, text) } -> std::same_as<bool>;
    queue.set_aside(lease, text);
    { queue.next_result(seconds) } -> std::same_as<std::optional<QueuedResult>>;
    { queue.aside() } -> std::same_as<std::vector<SetAside>>;
};

/// A queue between the threads of a program. The constructor throws error unless the lease's seconds are positive.
class LocalQueue {
public:
    explicit LocalQueue(double lease_seconds = 3600) : lease_(lease_seconds) {
        if (is_nan(lease_seconds) || !(lease_seconds > 0)) fail("queue: a lease of ", lease_seconds, " s");
    }

    void put(std::uint64_t number, std::string const& message) {
        const std::scoped_lock lock(mutex_);
        trials_.try_emplace(number, Trial{message, {}, {}, 0, State::waiting});
        changed_.notify_all();
    }
    [[nodiscard]] std::optional<Lease> take(std::string const& worker, double seconds) {
        std::unique_lock lock(mutex_);
        const Clock::time_point until = after(seconds);
        for (;;) {
            const Clock::time_point now = Clock::now();
            Clock::time_point next = until;
            for (auto& [number, trial] : trials_) {
                if (trial.state == State::done) continue;
                if (trial.state == State::waiting || trial.until <= now) {
                    trial.state = State::taken, trial.worker = worker, trial.until = after(lease_.count());
                    return Lease{number, trial.message, worker, std::to_string(++trial.times)};
                }
                next = std::min(next, trial.until);
            }
            if (now >= until) return std::nullopt;
            changed_.wait_until(lock, next);
        }
    }
    [[nodiscard]] bool renew(Lease const& lease) {
        const std::scoped_lock lock(mutex_);
        Trial* const trial = held(lease);
        if (trial == nullptr) return false;
        trial->until = after(lease_.count());
        return true;
    }
    /// If a trial was handed out again, the first result counts.
    [[nodiscard]] bool finish(Lease const& lease, std::string const& result) {
        const std::scoped_lock lock(mutex_);
        const auto found = trials_.find(lease.number);
        if (found == trials_.end() || found->second.state == State::done) return false;
        found->second.state = State::done;
        results_.push_back({lease.number, result});
        changed_.notify_all();
        return true;
    }
    void set_aside(Lease const& lease, std::string const& reason) {
        const std::scoped_lock lock(mutex_);
        const auto found = trials_.find(lease.number);
        if (found == trials_.end() || found->second.state == State::done) return;
        found->second.state = State::done;
        aside_.push_back({lease.number, found->second.message, reason});
    }
    [[nodiscard]] std::optional<QueuedResult> next_result(double seconds) {
        std::unique_lock lock(mutex_);
        changed_.wait_until(lock, after(seconds), [&] { return read_ < results_.size(); });
        if (read_ == results_.size()) return std::nullopt;
        return results_[read_++];
    }
    [[nodiscard]] std::vector<SetAside> aside() {
        const std::scoped_lock lock(mutex_);
        return aside_;
    }

private:
    using Clock = std::chrono::steady_clock;
    enum class State { waiting, taken, done };
    struct Trial {
        std::string message, worker;
        Clock::time_point until;
        std::uint64_t times = 0;
        State state = State::waiting;
    };

    [[nodiscard]] static Clock::time_point after(double seconds) {
        return Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                  std::chrono::duration<double>(std::clamp(seconds, 0.0, 1e8)));
    }
    [[nodiscard]] Trial* held(Lease const& lease) {
        const auto found = trials_.find(lease.number);
        const bool is_held = found != trials_.end() && found->second.state == State::taken &&
                             std::to_string(found->second.times) == lease.id;
        return is_held ? &found->second : nullptr;
    }

    std::chrono::duration<double> lease_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::map<std::uint64_t, Trial> trials_;
    std::vector<QueuedResult> results_;
    std::vector<SetAside> aside_;
    std::size_t read_ = 0;
};

}  // namespace primsel::inline PRIMSEL_ABI::search
