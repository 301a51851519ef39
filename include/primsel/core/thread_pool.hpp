// Needs the system's threads: with a C library that keeps them apart (glibc before 2.34), compile and link with
// -pthread.
#pragma once

#include <primsel/core/error.hpp>
#include <primsel/core/executor.hpp>
#include <primsel/core/own_process.hpp>

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

namespace core::detail {

/// Tens of nanoseconds during which a waiting core leaves the memory alone.
inline void pause() noexcept {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("isb" ::: "memory");  // most cores take no time at all over `yield`
#endif
}

/// Waits a little for a condition; when in vain, lets other threads have the core.
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

/// The library's own threads: the caller's, which is worker 0, and threads - 1 more, started once. During a run they
/// wait for work in a loop, for waking a thread takes as long as a small layer; when it ends they go to sleep. A
/// parallel_for outside a run is a run of its own; RunScope makes many runs one.
///
/// Every worker has a share of the blocks, the same part of them in every call, so that it finds in its cache what it
/// wrote before; who is done takes over blocks of the others. Nobody waits for a thread that has not woken up yet.
///
/// One caller at a time, and no parallel_for within a block. In a child of fork, which has none of the threads, the
/// caller's runs all blocks.
class ThreadPool {
public:
    /// As many as the machine runs at a time.
    ThreadPool() : ThreadPool(std::thread::hardware_concurrency() == 0 ? 1 : std::thread::hardware_concurrency()) {}
    /// The caller's thread and threads - 1 more. Throws error for 0, and if the system refuses so many.
    explicit ThreadPool(std::size_t threads) : state_(std::make_unique<State>(threads)) {
        if (threads == 0) fail("thread pool: 0 threads; the caller's is the first");
        state_->start();
    }

    [[nodiscard]] std::size_t concurrency() const noexcept { return state_->shares.size(); }
    /// Handles of the pool's own threads, which are all workers but the first: for pinning, for example.
    [[nodiscard]] std::vector<std::thread::native_handle_type> native_handles() const {
        std::vector<std::thread::native_handle_type> handles;
        if (!state_->process.is_this()) return handles;
        for (std::thread& thread : state_->threads) handles.push_back(thread.native_handle());
        return handles;
    }
    void parallel_for(std::size_t blocks, BlockFunction function) noexcept {
        if (concurrency() == 1 || blocks <= 1 || blocks > Share::most || !state_->process.is_this()) {
            return Sequential{}.parallel_for(blocks, function);
        }
        begin_run();
        state_->parallel_for(blocks, function);
        end_run();
    }
    void begin_run() noexcept { state_->begin_run(); }
    void end_run() noexcept { state_->end_run(); }

private:
    /// Two cache lines of its own, for processors fetch lines in pairs.
    static constexpr std::size_t apart = 128;

    /// The blocks of one worker that nobody has taken yet. Whoever takes one may read the function, which stays until
    /// all blocks are done: before that the caller writes no share again.
    class alignas(apart) Share {
    public:
        static constexpr std::size_t most = std::numeric_limits<std::uint32_t>::max();

        void give(std::size_t first, std::size_t last, BlockFunction function) noexcept {
            function_ = function;
            range_.store(std::uint64_t{first} << 32 | last, std::memory_order_release);
        }
        [[nodiscard]] bool empty() const noexcept { return empty(range_.load(std::memory_order_relaxed)); }
        /// Runs blocks until none is left: their number. The owner takes the first ones, the others the last ones.
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

        // The first one in the upper half, the end in the lower: both change at once.
        std::atomic<std::uint64_t> range_ = 0;
        std::optional<BlockFunction> function_;
    };

    enum class Phase : int { asleep, running, stopped };

    /// Where it is does not change, for the threads know it.
    struct State {
        explicit State(std::size_t threads) : shares(threads) {}
        State(State const&) = delete;
        State& operator=(State const&) = delete;
        ~State() {
            if (!process.is_this()) {
                for (std::thread& thread : threads) core::forget(thread);
                return;
            }
            phase.store(Phase::stopped);
            phase.notify_all();
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
            if (depth++ > 0 || threads.empty() || !process.is_this()) return;
            phase.store(Phase::running);
            phase.notify_all();
        }
        void end_run() noexcept {
            if (--depth == 0 && !threads.empty()) phase.store(Phase::asleep, std::memory_order_relaxed);
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
                const Phase now = phase.load(std::memory_order_relaxed);
                if (now == Phase::stopped) return;
                if (now == Phase::asleep) {
                    phase.wait(now);
                    continue;
                }
                if (const std::size_t count = work(worker); count > 0) {
                    done.fetch_add(count, std::memory_order_release);
                }
                core::detail::spin_until([this, worker] {
                    return !shares[worker].empty() || phase.load(std::memory_order_relaxed) != Phase::running;
                });
            }
        }

        /// Its own share, then what is left of the others'.
        [[nodiscard]] std::size_t work(std::size_t worker) noexcept {
            std::size_t count = shares[worker].run(worker, true);
            for (std::size_t i = worker + 1; i < shares.size(); ++i) count += shares[i].run(worker, false);
            for (std::size_t i = 0; i < worker; ++i) count += shares[i].run(worker, false);
            return count;
        }

        std::vector<Share> shares;
        std::vector<std::thread> threads;
        core::OwnProcess process;
        // The caller's alone: open runs, and how many blocks others ran or are running since the beginning.
        alignas(apart) std::size_t depth = 0;
        std::size_t elsewhere = 0;
        alignas(apart) std::atomic<Phase> phase = Phase::asleep;
        // The number of those blocks that are done.
        alignas(apart) std::atomic<std::size_t> done = 0;
    };

    std::unique_ptr<State> state_;
};

}  // namespace primsel::inline PRIMSEL_ABI
