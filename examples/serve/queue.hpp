// Requests that wait for a worker.
#pragma once

#include "network.hpp"

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <future>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace serve {

using Clock = std::chrono::steady_clock;

/// The results of a request and the times that it took.
struct Done {
    std::vector<Result> results;
    double waited_seconds = 0, ran_seconds = 0;
};

struct Job {
    Images images;
    Clock::time_point accepted = Clock::now();
    std::promise<Done> done;
};

/// A queue of bounded length.
class JobQueue {
public:
    /// `most`: how many jobs may wait.
    explicit JobQueue(std::size_t most) : most_(most) {}
    /// Returns whether there is room for the job.
    [[nodiscard]] bool push(std::unique_ptr<Job> job) {
        const std::scoped_lock lock(mutex_);
        if (jobs_.size() >= most_) return false;
        jobs_.push_back(std::move(job));
        changed_.notify_one();
        return true;
    }
    /// Waits for a job; null when the queue is closed and empty.
    [[nodiscard]] std::unique_ptr<Job> pop() {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return closed_ || !jobs_.empty(); });
        if (jobs_.empty()) return nullptr;
        auto job = std::move(jobs_.front());
        jobs_.pop_front();
        return job;
    }
    void close() {
        const std::scoped_lock lock(mutex_);
        closed_ = true;
        changed_.notify_all();
    }
    [[nodiscard]] std::size_t size() const {
        const std::scoped_lock lock(mutex_);
        return jobs_.size();
    }

private:
    std::size_t most_;
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<std::unique_ptr<Job>> jobs_;
    bool closed_ = false;
};

}  // namespace serve
