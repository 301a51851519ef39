// Needs the system's threads: where the C library keeps them in a library of their own (glibc before 2.34), compile and
// link with -pthread.
#pragma once

#include <primsel/core/error.hpp>
#include <primsel/core/executor.hpp>
#include <primsel/core/own_process.hpp>
#include <primsel/core/usable_threads.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <system_error>
#include <thread>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

namespace core {

/// Pauses a waiting core for tens of nanoseconds without access to memory.
inline void pause() noexcept {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("isb" ::: "memory");  // on most cores `yield` takes no time at all
#endif
}

}  // namespace core

namespace core::detail {

/// Waits a short time for a condition; if it does not come true, yields the core to other threads.
template <class Condition>
bool spin_until(Condition const& condition) noexcept {
    for (int i = 0; i < 1024; ++i) {
        if (condition()) return true;
        pause();
    }
    std::this_thread::yield();
    return false;
}

}  // namespace core::detail

/// The library's own thread pool: the calling thread, which is worker 0, and threads - 1 more, started once. During a
/// run the threads wait for work in a loop, because waking a thread takes as long as a small layer. They sleep after
/// the run. A parallel_for outside a run is a run of its own; RunScope joins many runs into one.
///
/// Every worker has a share of the blocks, the same in every call, so that it finds in its cache what it wrote before.
/// A worker without blocks takes some of the others'. Nobody waits for a thread that has not woken up yet.
///
/// Several threads may call at a time, for example engines that share the pool: while the threads are busy with one
/// caller's blocks, the others run theirs alone. In a child of fork, which has none of the threads, the calling thread
/// runs all blocks.
class ThreadPool {
public:
    /// Uses as many threads as the process can run at a time.
    ThreadPool() : ThreadPool(usable_threads().count()) {}
    /// Uses the calling thread and threads - 1 more. Throws error for 0, and if the system cannot start them.
    explicit ThreadPool(std::size_t threads) : state_(std::make_unique<State>(threads)) {
        if (threads == 0) fail("thread pool: 0 threads; the caller's is the first");
        state_->start();
    }

    [[nodiscard]] std::size_t concurrency() const noexcept { return state_->shares.size(); }
    /// Returns the native handles of the pool's own threads, which are all workers but the first, e.g. for pinning.
    [[nodiscard]] std::vector<std::thread::native_handle_type> native_handles() const {
        std::vector<std::thread::native_handle_type> handles;
        if (!state_->process.is_this()) return handles;
        for (std::thread& thread : state_->threads) handles.push_back(thread.native_handle());
        return handles;
    }
    void parallel_for(std::size_t blocks, BlockFunction function) noexcept {
        if (concurrency() == 1 || blocks <= 1 || blocks > Share::most || !state_->process.is_this() ||
            state_->busy.exchange(true, std::memory_order_acquire)) {
            return Sequential{}.parallel_for(blocks, function);
        }
        const bool outside_runs = state_->runs.load(std::memory_order_relaxed) == 0;
        if (outside_runs) begin_run();
        state_->parallel_for(blocks, function);
        if (outside_runs) end_run();
        state_->busy.store(false, std::memory_order_release);
    }
    void begin_run() noexcept { state_->begin_run(); }
    void end_run() noexcept { state_->end_run(); }

private:
    /// Bytes between shared variables: two cache lines, since processors fetch lines in pairs.
    static constexpr std::size_t apart = 128;

    /// The blocks of one worker that are not taken yet. A worker that takes a block may read the function, which stays
    /// valid until all blocks are done: the caller rewrites no share before.
    class alignas(apart) Share {
    public:
        static constexpr std::size_t most = std::numeric_limits<std::uint32_t>::max();

        void give(std::size_t first, std::size_t last, BlockFunction function) noexcept {
            function_ = function;
            range_.store(std::uint64_t{first} << 32 | last, std::memory_order_release);
        }
        [[nodiscard]] bool empty() const noexcept { return empty(range_.load(std::memory_order_relaxed)); }
        /// Runs blocks until none is left and returns their number. The owner takes the first ones, other workers the
        /// last ones.
        [[nodiscard]] std::size_t run(std::size_t worker, bool owner) noexcept {
            std::size_t count = 0;
            std::uint64_t range = range_.load(std::memory_order_relaxed);
            while (!empty(range)) {
                const std::uint64_t rest = owner ? range + (std::uint64_t{1} << 32) : range - 1;
                if (!range_.compare_exchange_weak(range, rest, std::memory_order_acquire, std::memory_order_relaxed)) {
                    continue;
                }
                (*function_)(owner ? first(range) : last(rest), worker);
                ++count;
                range = range_.load(std::memory_order_relaxed);
            }
            return count;
        }

    private:
        [[nodiscard]] static std::size_t first(std::uint64_t range) noexcept { return range >> 32; }
        [[nodiscard]] static std::size_t last(std::uint64_t range) noexcept { return range & most; }
        [[nodiscard]] static bool empty(std::uint64_t range) noexcept { return first(range) == last(range); }

        // The first block in the upper half, the end in the lower half: one atomic change updates both.
        std::atomic<std::uint64_t> range_ = 0;
        std::optional<BlockFunction> function_;
    };

    /// In place of the number of open runs: the threads end.
    static constexpr int stopped = -1;

    /// The state that the threads refer to; its address never changes.
    struct State {
        explicit State(std::size_t threads) : shares(threads) {}
        State(State const&) = delete;
        State& operator=(State const&) = delete;
        ~State() {
            if (!process.is_this()) {
                for (std::thread& thread : threads) core::forget(thread);
                return;
            }
            runs.store(stopped);
            runs.notify_all();
            for (std::thread& thread : threads) thread.join();
        }

        void start() try {
            threads.reserve(shares.size() - 1);
            while (threads.size() + 1 < shares.size()) {
                threads.emplace_back([this, worker = threads.size() + 1] { serve(worker); });
            }
        } catch (std::system_error const& refusal) {
            fail("thread pool: cannot start thread ", threads.size() + 2, " of ", shares.size(), ": ", refusal.what());
        }

        void begin_run() noexcept {
            if (threads.empty() || !process.is_this()) return;
            if (runs.fetch_add(1) == 0) runs.notify_all();
        }
        void end_run() noexcept {
            if (threads.empty() || !process.is_this()) return;
            runs.fetch_sub(1, std::memory_order_relaxed);
        }

        void parallel_for(std::size_t blocks, BlockFunction function) noexcept {
            const std::size_t parts = blocks < shares.size() ? blocks : shares.size();
            for (std::size_t i = parts; i-- > 0;) {
                shares[i].give(blocks * i / parts, blocks * (i + 1) / parts, function);
            }
            elsewhere += blocks - work(0);
            while (!core::detail::spin_until([this] { return done.load(std::memory_order_acquire) == elsewhere; })) {
            }
        }

        void serve(std::size_t worker) noexcept {
            for (;;) {
                const int open = runs.load(std::memory_order_relaxed);
                if (open == stopped) return;
                if (open == 0) {
                    runs.wait(open);
                    continue;
                }
                if (const std::size_t count = work(worker); count > 0) {
                    done.fetch_add(count, std::memory_order_release);
                }
                core::detail::spin_until(
                    [this, worker] { return !shares[worker].empty() || runs.load(std::memory_order_relaxed) <= 0; });
            }
        }

        /// Runs the worker's own share, then blocks left in others' shares. Returns the number of blocks.
        [[nodiscard]] std::size_t work(std::size_t worker) noexcept {
            std::size_t count = shares[worker].run(worker, true);
            for (std::size_t i = worker + 1; i < shares.size(); ++i) count += shares[i].run(worker, false);
            for (std::size_t i = 0; i < worker; ++i) count += shares[i].run(worker, false);
            return count;
        }

        std::vector<Share> shares;
        std::vector<std::thread> threads;
        core::OwnProcess process;
        // Whether a caller has the threads; used only by callers, as the number of blocks that other threads were given
        // so far.
        alignas(apart) std::atomic<bool> busy = false;
        std::size_t elsewhere = 0;
        // The number of open runs. The threads sleep while it is 0.
        alignas(apart) std::atomic<int> runs = 0;
        // The number of those blocks that are done.
        alignas(apart) std::atomic<std::size_t> done = 0;
    };

    std::unique_ptr<State> state_;
};

}  // namespace primsel::inline PRIMSEL_ABI
