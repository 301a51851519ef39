// primsel in one header, generated from include/primsel/ by scripts/amalgamate.py: do not edit.
// SPDX-License-Identifier: MIT
#pragma once
#ifdef PRIMSEL_VERSION
#error "primsel: the single header is the whole library; include it alone, or the headers of include/ alone"
#endif
// primsel/primsel.hpp
// The whole library but for the opt-in headers: core/openmp.hpp, primitive/gemm_eigen.hpp, network/boost_graph.hpp,
// tune/calibrate.hpp and what learns cost models.

// primsel/core/thread_pool.hpp
// Needs the system's threads: with a C library that keeps them apart (glibc before 2.34), compile and link with
// -pthread.

// primsel/core/error.hpp

// primsel/core/config.hpp
// All of primsel's macros live here.

#ifdef PRIMSEL_SINGLE_INCLUDE
#error "primsel: the single header is the whole library; include it alone, or the headers of include/ alone"
#endif

#define PRIMSEL_VERSION_MAJOR 0
#define PRIMSEL_VERSION_MINOR 1
#define PRIMSEL_VERSION_PATCH 0
#define PRIMSEL_VERSION "0.1.0"

// The instruction set that this translation unit is compiled for, as a name. It becomes part of every symbol (see
// PRIMSEL_ABI), so that translation units compiled for different instruction sets may be linked into one program.
#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__)
#define PRIMSEL_ARCH_NAME avx512
#elif defined(__AVX2__) && defined(__FMA__)
#define PRIMSEL_ARCH_NAME avx2
#elif defined(__AVX__)
#define PRIMSEL_ARCH_NAME avx
#elif defined(__SSE4_2__)
#define PRIMSEL_ARCH_NAME sse4_2
#elif defined(__SSE2__)
#define PRIMSEL_ARCH_NAME sse2
#elif defined(__aarch64__)
#define PRIMSEL_ARCH_NAME neon64
#else
#error "primsel: this instruction set is not supported yet (x86-64 and aarch64 are)"
#endif

#ifdef PRIMSEL_EXTERN_KERNELS
#define PRIMSEL_DETAIL_PASTE(a, b, c, d) v##a##_##b##_##c##_##d##_extern
#else
#define PRIMSEL_DETAIL_PASTE(a, b, c, d) v##a##_##b##_##c##_##d
#endif
#define PRIMSEL_DETAIL_ABI(a, b, c, d) PRIMSEL_DETAIL_PASTE(a, b, c, d)
// The inline namespace of everything: the version, the instruction set, and whether kernels are compiled elsewhere
// (engine/instantiate.hpp), e.g. v0_1_0_avx512.
#define PRIMSEL_ABI \
    PRIMSEL_DETAIL_ABI(PRIMSEL_VERSION_MAJOR, PRIMSEL_VERSION_MINOR, PRIMSEL_VERSION_PATCH, PRIMSEL_ARCH_NAME)

// Unroll the following loop completely: register tiles live in registers only if every index is a constant. Or two
// steps of it, to halve what the loop itself costs.
#if defined(__clang__)
#define PRIMSEL_UNROLL _Pragma("clang loop unroll(full)")
#define PRIMSEL_UNROLL_TWICE _Pragma("clang loop unroll_count(2)")
#else
#define PRIMSEL_UNROLL _Pragma("GCC unroll 64")
#define PRIMSEL_UNROLL_TWICE _Pragma("GCC unroll 2")
#endif

#define PRIMSEL_INLINE inline __attribute__((always_inline))
#define PRIMSEL_NOINLINE __attribute__((noinline))
#define PRIMSEL_RESTRICT __restrict__

#include <concepts>
#include <stdexcept>
#include <string>
#include <string_view>

namespace primsel::inline PRIMSEL_ABI {

/// Everything that set-up throws: the message names the file, the layer and the shapes involved. run() never throws.
class error : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

namespace detail {
inline void append(std::string& text, std::string_view part) { text += part; }
inline void append(std::string& text, char part) { text += part; }
template <std::integral T>
void append(std::string& text, T part) {
    text += std::to_string(part);
}
template <std::floating_point T>
void append(std::string& text, T part) {
    text += std::to_string(part);
}
template <class T>
    requires requires(T const& part) {
        { to_string(part) } -> std::convertible_to<std::string>;
    }
void append(std::string& text, T const& part) {
    text += to_string(part);
}
}  // namespace detail

/// The parts, one after the other, as text: strings, characters, numbers and whatever has a to_string.
template <class... Parts>
[[nodiscard]] std::string join(Parts const&... parts) {
    std::string text;
    (detail::append(text, parts), ...);
    return text;
}

/// Throws an error whose message is the joined parts.
template <class... Parts>
[[noreturn]] void fail(Parts const&... parts) {
    throw error(join(parts...));
}

}  // namespace primsel::inline PRIMSEL_ABI
// primsel/core/executor.hpp

#include <atomic>
#include <concepts>
#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>

namespace primsel::inline PRIMSEL_ABI {

/// A reference to a callable `void(std::size_t block, std::size_t worker)`: two pointers, no allocation. The callable
/// must outlive it.
class BlockFunction {
public:
    template <class F>
        requires(!std::same_as<std::remove_cvref_t<F>, BlockFunction> && std::invocable<F&, std::size_t, std::size_t>)
    // NOLINTNEXTLINE(google-explicit-constructor): a lambda is meant to convert
    BlockFunction(F&& function)
        : object_(const_cast<void*>(static_cast<const void*>(std::addressof(function)))),
          call_([](void* object, std::size_t block, std::size_t worker) {
              (*static_cast<std::remove_reference_t<F>*>(object))(block, worker);
          }) {}
    void operator()(std::size_t block, std::size_t worker) const { call_(object_, block, worker); }

private:
    void* object_;
    void (*call_)(void*, std::size_t, std::size_t);
};

/// Runs independent blocks of work. `parallel_for(n, f)` calls f(block, worker) exactly once for each block < n, in any
/// order and on any thread, and returns when all are done; two calls that overlap in time have different workers, and
/// worker < concurrency(). Neither may throw or allocate: run() calls them.
///
/// An executor may also have begin_run() and end_run(), both noexcept: they stand round the calls of one run, between
/// which threads are better kept awake.
///
/// A minimal model:
///     struct Mine {
///         std::size_t concurrency() const noexcept { return 1; }
///         void parallel_for(std::size_t n, primsel::BlockFunction f) noexcept { while (n-- > 0) f(n, 0); }
///     };
template <class E>
concept Executor = requires(E executor, std::size_t blocks, BlockFunction function) {
    { executor.concurrency() } noexcept -> std::convertible_to<std::size_t>;
    { executor.parallel_for(blocks, function) } noexcept;
};

/// Everything on the calling thread, in order.
struct Sequential {
    [[nodiscard]] std::size_t concurrency() const noexcept { return 1; }
    void parallel_for(std::size_t blocks, BlockFunction function) noexcept {
        for (std::size_t block = 0; block < blocks; ++block) function(block, 0);
    }
};

/// The caller's thread pool: `bulk(n, task)` calls task(0), ..., task(n - 1), on threads of its choice, and returns
/// when all have returned. Blocks are handed out one by one, so that a slow thread takes fewer.
template <class Bulk>
class CallerPool {
public:
    CallerPool(std::size_t threads, Bulk bulk) : threads_(threads == 0 ? 1 : threads), bulk_(std::move(bulk)) {}

    [[nodiscard]] std::size_t concurrency() const noexcept { return threads_; }
    void parallel_for(std::size_t blocks, BlockFunction function) noexcept {
        if (threads_ == 1 || blocks <= 1) return Sequential{}.parallel_for(blocks, function);
        std::atomic<std::size_t> next = 0;
        bulk_(threads_ < blocks ? threads_ : blocks, [&next, blocks, function](std::size_t worker) {
            for (std::size_t block = next++; block < blocks; block = next++) function(block, worker);
        });
    }

private:
    std::size_t threads_;
    Bulk bulk_;
};

/// A reference to any executor, so that a kernel is compiled once and not once per executor.
class ExecutorRef {
public:
    template <Executor E>
        requires(!std::same_as<E, ExecutorRef>)
    // NOLINTNEXTLINE(google-explicit-constructor): an executor is meant to convert
    ExecutorRef(E& executor) noexcept
        : object_(std::addressof(executor)),
          concurrency_(executor.concurrency()),
          parallel_for_([](void* object, std::size_t blocks, BlockFunction function) noexcept {
              static_cast<E*>(object)->parallel_for(blocks, function);
          }) {
        if constexpr (
            requires { executor.begin_run(); } || requires { executor.end_run(); }) {
            static_assert(noexcept(executor.begin_run())&& noexcept(executor.end_run()),
                          "primsel: begin_run and end_run of an executor may not throw; see docs/core/executor.md");
            begin_run_ = [](void* object) noexcept { static_cast<E*>(object)->begin_run(); };
            end_run_ = [](void* object) noexcept { static_cast<E*>(object)->end_run(); };
        }
    }

    [[nodiscard]] std::size_t concurrency() const noexcept { return concurrency_; }
    void parallel_for(std::size_t blocks, BlockFunction function) const noexcept {
        parallel_for_(object_, blocks, function);
    }
    /// Nothing, for an executor that has none.
    void begin_run() const noexcept {
        if (begin_run_ != nullptr) begin_run_(object_);
    }
    void end_run() const noexcept {
        if (end_run_ != nullptr) end_run_(object_);
    }

private:
    void* object_;
    std::size_t concurrency_;
    void (*parallel_for_)(void*, std::size_t, BlockFunction) noexcept;
    void (*begin_run_)(void*) noexcept = nullptr;
    void (*end_run_)(void*) noexcept = nullptr;
};

/// A run, for the executor: as long as this lives. Within one, runs are part of it: held over many, it keeps threads
/// awake from one to the next.
class RunScope {
public:
    explicit RunScope(ExecutorRef executor) noexcept : executor_(executor) { executor_.begin_run(); }
    RunScope(RunScope const&) = delete;
    RunScope& operator=(RunScope const&) = delete;
    ~RunScope() { executor_.end_run(); }

private:
    ExecutorRef executor_;
};

}  // namespace primsel::inline PRIMSEL_ABI

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

namespace detail {

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

}  // namespace detail

/// The library's own threads: the caller's, which is worker 0, and threads - 1 more, started once. During a run they
/// wait for work in a loop, for waking a thread takes as long as a small layer; when it ends they go to sleep. A
/// parallel_for outside a run is a run of its own; RunScope makes many runs one.
///
/// Every worker has a share of the blocks, the same part of them in every call, so that it finds in its cache what it
/// wrote before; who is done takes over blocks of the others. Nobody waits for a thread that has not woken up yet.
///
/// One caller at a time, and no parallel_for within a block.
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
    void parallel_for(std::size_t blocks, BlockFunction function) noexcept {
        if (concurrency() == 1 || blocks <= 1 || blocks > Share::most) {
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
            if (depth++ > 0 || threads.empty()) return;
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
            while (!detail::spin_until([this] { return done.load(std::memory_order_acquire) == elsewhere; })) {
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
                detail::spin_until([this, worker] {
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
        // The caller's alone: open runs, and how many blocks others ran or are running since the beginning.
        alignas(apart) std::size_t depth = 0;
        std::size_t elsewhere = 0;
        alignas(apart) std::atomic<Phase> phase = Phase::asleep;
        // Of those blocks, how many are done.
        alignas(apart) std::atomic<std::size_t> done = 0;
    };

    std::unique_ptr<State> state_;
};

}  // namespace primsel::inline PRIMSEL_ABI
// primsel/engine/compare.hpp

// primsel/core/statistics.hpp

#include <algorithm>
#include <cstddef>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

/// The middle one of some values, the upper one of two: a value that was there. 0 where there is none.
[[nodiscard]] inline double median(std::vector<double> values) {
    if (values.empty()) return 0;
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::ranges::nth_element(values, middle);
    return *middle;
}

/// The value at a share (0 to 1) of the way through sorted values, between neighbours in proportion: at 0.5 the mean of
/// the two in the middle of an even number. 0 where there is none.
[[nodiscard]] inline double quantile(std::vector<double> values, double share) {
    if (values.empty()) return 0;
    std::ranges::sort(values);
    const double at = share * static_cast<double>(values.size() - 1);
    const auto below = static_cast<std::size_t>(at), above = std::min(below + 1, values.size() - 1);
    return values[below] + (at - static_cast<double>(below)) * (values[above] - values[below]);
}

}  // namespace primsel::inline PRIMSEL_ABI
// primsel/core/timer.hpp

#include <chrono>

namespace primsel::inline PRIMSEL_ABI {

/// Seconds since it was made or last restarted.
class Timer {
public:
    [[nodiscard]] double seconds() const { return std::chrono::duration<double>(clock::now() - start_).count(); }
    void restart() { start_ = clock::now(); }

private:
    using clock = std::chrono::steady_clock;
    clock::time_point start_ = clock::now();
};

}  // namespace primsel::inline PRIMSEL_ABI
// primsel/engine/program.hpp

// primsel/core/aligned_buffer.hpp

#include <cstddef>
#include <cstdint>
#include <limits>
#include <new>
#include <span>
#include <utility>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace primsel::inline PRIMSEL_ABI {

/// A cache line, and the widest vector there is.
inline constexpr std::size_t alignment = 64;

/// Floats rounded up to whole cache lines.
[[nodiscard]] constexpr std::size_t round_up_floats(std::size_t floats) {
    constexpr std::size_t line = alignment / sizeof(float);
    return (floats + line - 1) / line * line;
}

/// Bytes rounded up to whole cache lines.
[[nodiscard]] constexpr std::size_t round_up_bytes(std::size_t bytes) {
    return (bytes + alignment - 1) / alignment * alignment;
}

/// Bytes of so many floats; the most that there are, where the number does not fit size_t.
[[nodiscard]] constexpr std::size_t bytes_of_floats(std::size_t floats) {
    constexpr std::size_t most = std::numeric_limits<std::size_t>::max();
    return floats > most / sizeof(float) ? most : floats * sizeof(float);
}
/// As few floats as hold so many bytes.
[[nodiscard]] constexpr std::size_t floats_for_bytes(std::size_t bytes) {
    return bytes / sizeof(float) + (bytes % sizeof(float) != 0 ? 1 : 0);
}

/// Owns uninitialised floats, aligned to a cache line. Buffers of 2 MiB and more are aligned to a huge page and ask
/// the kernel for huge pages: the kernels walk them with long strides, and a TLB miss costs as much as ten FMAs.
class AlignedBuffer {
public:
    AlignedBuffer() = default;
    /// Throws std::bad_alloc, also when the size in bytes does not fit size_t.
    explicit AlignedBuffer(std::size_t floats) : floats_(floats), align_(alignment) {
        if (floats == 0) return;
        if (floats > std::numeric_limits<std::size_t>::max() / (2 * sizeof(float))) throw std::bad_alloc();
        constexpr std::size_t huge_page = std::size_t{2} << 20;
        const std::size_t bytes = round_up_floats(floats) * sizeof(float);
        if (bytes >= huge_page) align_ = huge_page;
        data_ = static_cast<float*>(::operator new(bytes, std::align_val_t{align_}));
#if defined(__linux__)
        if (bytes >= huge_page) madvise(data_, bytes / huge_page * huge_page, MADV_HUGEPAGE);
#endif
    }
    AlignedBuffer(AlignedBuffer&& other) noexcept
        : data_(std::exchange(other.data_, nullptr)), floats_(std::exchange(other.floats_, 0)), align_(other.align_) {}
    AlignedBuffer& operator=(AlignedBuffer&& other) noexcept {
        std::swap(data_, other.data_);
        std::swap(floats_, other.floats_);
        std::swap(align_, other.align_);
        return *this;
    }
    ~AlignedBuffer() {
        if (data_ != nullptr) ::operator delete(data_, std::align_val_t{align_});
    }

    [[nodiscard]] float* data() noexcept { return data_; }
    [[nodiscard]] const float* data() const noexcept { return data_; }
    [[nodiscard]] std::size_t size() const noexcept { return floats_; }
    [[nodiscard]] std::span<float> span() noexcept { return {data_, floats_}; }
    [[nodiscard]] std::span<const float> span() const noexcept { return {data_, floats_}; }

private:
    float* data_ = nullptr;
    std::size_t floats_ = 0;
    std::size_t align_ = alignment;
};

}  // namespace primsel::inline PRIMSEL_ABI
// primsel/engine/schedule.hpp

// primsel/engine/arena.hpp

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

/// A buffer of so many bytes that must keep its contents from step `first` to step `last`, both included.
struct Lifetime {
    std::size_t bytes = 0;
    std::size_t first = 0, last = 0;
};

/// Where each buffer lies in one arena, in bytes, aligned to cache lines.
struct ArenaLayout {
    std::vector<std::size_t> offsets;
    std::size_t bytes = 0;
};

namespace detail {

/// The most bytes that are alive at a time: no arena is smaller.
[[nodiscard]] inline std::size_t most_alive(std::span<const Lifetime> buffers) {
    std::size_t most = 0;
    for (Lifetime const& at : buffers) {  // the sum grows only where a life begins
        std::size_t alive = 0;
        for (Lifetime const& other : buffers) {
            if (other.first <= at.first && at.first <= other.last) alive += round_up_bytes(other.bytes);
        }
        most = std::max(most, alive);
    }
    return most;
}

using Weight = std::pair<std::size_t, std::size_t>;

/// Positions, of equal weights the first one first.
[[nodiscard]] inline std::vector<std::size_t> heaviest_first(std::span<const Weight> weights) {
    std::vector<std::size_t> order(weights.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::sort(order, [&](std::size_t a, std::size_t b) {
        return weights[a] != weights[b] ? weights[a] > weights[b] : a < b;
    });
    return order;
}

/// Each buffer in its turn goes to the smallest gap that holds it.
[[nodiscard]] inline ArenaLayout place_in_order(std::span<const Lifetime> buffers,
                                                std::vector<std::size_t> const& order) {
    ArenaLayout layout{std::vector<std::size_t>(buffers.size(), 0), 0};
    std::vector<std::size_t> placed;  // by offset
    for (const std::size_t i : order) {
        const std::size_t size = round_up_bytes(buffers[i].bytes);
        std::size_t best = 0, best_gap = static_cast<std::size_t>(-1), end = 0;
        bool found = false;
        for (const std::size_t j : placed) {
            if (buffers[j].last < buffers[i].first || buffers[i].last < buffers[j].first) continue;
            const std::size_t begin = layout.offsets[j];
            if (begin >= end + size && begin - end < best_gap) best = end, best_gap = begin - end, found = true;
            end = std::max(end, begin + round_up_bytes(buffers[j].bytes));
        }
        layout.offsets[i] = found ? best : end;
        layout.bytes = std::max(layout.bytes, layout.offsets[i] + size);
        const auto position =
            std::ranges::upper_bound(placed, layout.offsets[i], {}, [&](std::size_t j) { return layout.offsets[j]; });
        placed.insert(position, i);
    }
    return layout;
}

}  // namespace detail

/// Buffers that live at the same time do not overlap; others may share room. The smallest of the layouts that come of
/// placing first the largest, those that live longest, that weigh most by both, that begin first, and that end last;
/// the first that is as small as can be ends the search.
[[nodiscard]] inline ArenaLayout place(std::span<const Lifetime> buffers) {
    const std::size_t least = detail::most_alive(buffers);
    const auto steps = [&](std::size_t i) { return buffers[i].last - buffers[i].first + 1; };
    const auto placed_by = [&](auto const& weight) {
        std::vector<detail::Weight> weights(buffers.size());
        for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = weight(i);
        return detail::place_in_order(buffers, detail::heaviest_first(weights));
    };
    ArenaLayout best = placed_by([&](std::size_t i) { return detail::Weight(buffers[i].bytes, 0); });
    const auto improve = [&](auto const& weight) {
        if (best.bytes == least) return;
        if (ArenaLayout other = placed_by(weight); other.bytes < best.bytes) best = std::move(other);
    };
    improve([&](std::size_t i) { return detail::Weight(steps(i), buffers[i].bytes); });
    improve([&](std::size_t i) { return detail::Weight(steps(i) * buffers[i].bytes, 0); });
    improve([&](std::size_t i) { return detail::Weight(~buffers[i].first, 0); });
    improve([&](std::size_t i) { return detail::Weight(buffers[i].last, 0); });
    return best;
}

}  // namespace primsel::inline PRIMSEL_ABI
// primsel/plan/make_plan.hpp

// primsel/cost/cost_model.hpp

// primsel/kernels/kernels.hpp

// primsel/core/clamp.hpp

#include <limits>

namespace primsel::inline PRIMSEL_ABI {

/// What a layer may do to its result before storing it: hold it between two bounds. ReLU is [0, inf), ReLU6 [0, 6];
/// without an activation the bounds are infinite and the value passes unchanged.
struct Clamp {
    float low = -std::numeric_limits<float>::infinity();
    float high = std::numeric_limits<float>::infinity();
    /// Whether it changes anything.
    [[nodiscard]] constexpr bool bounded() const { return *this != Clamp{}; }
    friend constexpr bool operator==(Clamp const&, Clamp const&) = default;
};
inline constexpr Clamp relu_clamp{0.0F, std::numeric_limits<float>::infinity()};
inline constexpr Clamp relu6_clamp{0.0F, 6.0F};

}  // namespace primsel::inline PRIMSEL_ABI
// primsel/kernels/machine.hpp

#include <array>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <string>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace primsel::inline PRIMSEL_ABI {

/// The speeds of one core of a machine with one instruction set.
struct Machine {
    double gemm_flops = 1e10;    ///< multiply-adds in registers, two operations each, per second: the peak
    double product_flops = 9e9;  ///< the same of a product of cached matrices (SimdGemm)
    double vector_flops = 5e9;   ///< vector operations on cached data per second
    double scalar_flops = 1e9;   ///< scalar operations per second
    static constexpr std::array<double, 5> working_sets{16e3, 128e3, 768e3, 6e6, 96e6};
    /// Bytes read and written per second, for each working set in bytes.
    std::array<double, 5> bandwidth{5e10, 4e10, 3e10, 2e10, 1e10};

    /// Interpolated between the measured working sets, on a logarithmic scale.
    [[nodiscard]] double bandwidth_for(double bytes) const {
        if (bytes <= working_sets.front()) return bandwidth.front();
        for (std::size_t i = 1; i < working_sets.size(); ++i) {
            if (bytes > working_sets[i]) continue;
            const double at = std::log(bytes / working_sets[i - 1]) / std::log(working_sets[i] / working_sets[i - 1]);
            return bandwidth[i - 1] + at * (bandwidth[i] - bandwidth[i - 1]);
        }
        return bandwidth.back();
    }
};

/// The processor's name as it gives it ("Intel(R) Xeon(R) ..."); the architecture where it gives none.
[[nodiscard]] inline std::string cpu_name() {
#if defined(__x86_64__)
    unsigned registers[12] = {};
    for (unsigned i = 0; i < 3; ++i) {
        if (__get_cpuid(0x80000002U + i, &registers[4 * i], &registers[4 * i + 1], &registers[4 * i + 2],
                        &registers[4 * i + 3]) == 0) {
            return "x86-64";
        }
    }
    char text[sizeof(registers) + 1] = {};
    std::memcpy(text, registers, sizeof(registers));
    std::string name(text);
    name.erase(0, name.find_first_not_of(' '));
    name.erase(name.find_last_not_of(' ') + 1);
    return name;
#else
    return "aarch64";
#endif
}

}  // namespace primsel::inline PRIMSEL_ABI
// primsel/layer/all.hpp
// Every kind of layer, and the variant that holds any of them.

// primsel/layer/activation.hpp

// primsel/layer/layer.hpp

// primsel/tensor/shape.hpp

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>

namespace primsel::inline PRIMSEL_ABI {

/// The extents of one image: channels, height, width.
struct Shape {
    int c = 1, h = 1, w = 1;

    [[nodiscard]] constexpr std::size_t size() const {
        return static_cast<std::size_t>(c) * static_cast<std::size_t>(h) * static_cast<std::size_t>(w);
    }
    [[nodiscard]] constexpr std::size_t pixels() const {
        return static_cast<std::size_t>(h) * static_cast<std::size_t>(w);
    }
    friend constexpr bool operator==(Shape const&, Shape const&) = default;
};

/// The one bound on sizes. No extent of a tensor with its padding, no size among a layer's parameters, no number of
/// pixels under a kernel or window and none of values that an element sums over exceeds max_extent: a few of them add
/// up within an int. No tensor, all images of a batch together, and nothing that a layer makes on its way exceeds
/// max_floats: small multiples of it, in bytes, fit a size_t. Each layer's check and Graph::add refuse what is larger.
inline constexpr int max_extent = 1 << 29;
inline constexpr std::int64_t max_floats = std::int64_t{1} << 45;

/// The product of factors that are not negative; max_floats + 1 where it is larger than max_floats.
[[nodiscard]] constexpr std::int64_t bounded_product(std::initializer_list<std::int64_t> factors) {
    std::int64_t product = 1;
    for (const std::int64_t factor : factors) {
        if (factor == 0) return 0;
        product = product > max_floats / factor ? max_floats + 1 : product * factor;
    }
    return product;
}
/// Whether extents of at least 1 keep to the bound.
[[nodiscard]] constexpr bool within_bounds(std::int64_t c, std::int64_t h, std::int64_t w) {
    return c <= max_extent && h <= max_extent && w <= max_extent && bounded_product({c, h, w}) <= max_floats;
}
[[nodiscard]] constexpr bool within_bounds(Shape const& shape) { return within_bounds(shape.c, shape.h, shape.w); }

/// A place in a Shape.
struct Coord {
    int c = 0, h = 0, w = 0;
    friend constexpr bool operator==(Coord const&, Coord const&) = default;
};

/// The axes of a Shape.
enum class Axis { c, h, w };

[[nodiscard]] constexpr int extent(Shape const& shape, Axis axis) {
    return axis == Axis::c ? shape.c : axis == Axis::h ? shape.h : shape.w;
}
[[nodiscard]] constexpr int& extent(Shape& shape, Axis axis) {
    return axis == Axis::c ? shape.c : axis == Axis::h ? shape.h : shape.w;
}

/// "3x224x224": channels x height x width.
[[nodiscard]] inline std::string to_string(Shape const& shape) {
    return std::to_string(shape.c) + 'x' + std::to_string(shape.h) + 'x' + std::to_string(shape.w);
}

}  // namespace primsel::inline PRIMSEL_ABI

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <ratio>
#include <span>
#include <string_view>

namespace primsel::inline PRIMSEL_ABI {

/// What can be wrong with a layer on its inputs. One enumeration, so that a Network<...> can say it with static_assert
/// and a graph from a file with an error.
enum class Fault {
    none,
    wrong_input_count,
    impossible_parameter,
    kernel_exceeds_input,
    groups_do_not_divide,
    shapes_differ,
    sizes_differ,
    slice_outside,
    padding_exceeds_kernel,
    padding_exceeds_input,
    too_large,
};

[[nodiscard]] constexpr std::string_view message(Fault fault) {
    switch (fault) {
        case Fault::none:
            return "";
        case Fault::wrong_input_count:
            return "wrong number of inputs";
        case Fault::impossible_parameter:
            return "a parameter is impossible (a size below 1, a negative padding, ...)";
        case Fault::kernel_exceeds_input:
            return "the kernel is larger than the padded input";
        case Fault::groups_do_not_divide:
            return "the groups do not divide the channels";
        case Fault::shapes_differ:
            return "the inputs differ in shape";
        case Fault::sizes_differ:
            return "the inputs differ in size along another axis than that of the concatenation";
        case Fault::slice_outside:
            return "the slice lies outside the input";
        case Fault::padding_exceeds_kernel:
            return "the padding is larger than the pooling window";
        case Fault::padding_exceeds_input:
            return "the padding mirrors more than the input has";
        case Fault::too_large:
            return "a size is beyond the library's bounds (2^29 for an extent or for pixels under a kernel, 2^45 "
                   "floats for what a layer needs)";
    }
    return "";
}

/// What the values of a weight may be. A variance is positive where no epsilon is added to it. Scales and shifts may be
/// infinite (masks are), and constants whatever they are.
enum class WeightValues { finite, not_negative, positive, not_nan, any };

/// The dimensions of a weight, in PyTorch's order.
using WeightDims = std::initializer_list<std::int64_t>;

/// The run-time parameters of a kind of layer: a plain constexpr value.
/// - name: the kind, in the field's lower-case term ("conv", "max_pool");
/// - check(inputs): what is wrong with these input shapes;
/// - output(inputs): the output shape, where check found nothing;
/// - each_field(visit): visit(name, value) for every parameter, in the order of their declarations: what prints, stores
///   or compares layers need not know their kinds;
/// - each_weight(input, visit), where there are weights: visit(name, WeightDims, WeightValues) for every weight of the
///   layer on this (first) input. A weight "bias" of the layer "conv1" is called "conv1.bias", one without name
///   "conv1";
/// - impossible(), where check may find an impossible parameter: which, and what it must be; "" where none is.
template <class P>
concept LayerParams = std::equality_comparable<P> && requires(P const& params, std::span<const Shape> inputs) {
    { params.name() } -> std::convertible_to<std::string_view>;
    { params.check(inputs) } -> std::same_as<Fault>;
    { params.output(inputs) } -> std::same_as<Shape>;
    params.each_field([](std::string_view, auto const&) {});
};

/// A std::ratio as a number: clang 15 to 17 take no float as a template argument.
template <class Ratio>
inline constexpr float as_float = static_cast<float>(static_cast<double>(Ratio::num) / static_cast<double>(Ratio::den));

/// Height and width of a kernel, window, stride or dilation: 3 means 3x3.
struct Extent {
    int h = 1, w = 1;
    constexpr Extent() = default;
    // NOLINTNEXTLINE(google-explicit-constructor): Conv<64, 3> reads better than Conv<64, Extent{3, 3}>
    constexpr Extent(int both) : h(both), w(both) {}
    constexpr Extent(int height, int width) : h(height), w(width) {}
    friend constexpr bool operator==(Extent const&, Extent const&) = default;
};

/// Zeros around an image: one number for all sides, two for top-and-bottom and left-and-right, or all four.
struct Padding {
    int top = 0, bottom = 0, left = 0, right = 0;
    constexpr Padding() = default;
    // NOLINTNEXTLINE(google-explicit-constructor)
    constexpr Padding(int all) : top(all), bottom(all), left(all), right(all) {}
    constexpr Padding(int vertical, int horizontal)
        : top(vertical), bottom(vertical), left(horizontal), right(horizontal) {}
    constexpr Padding(int t, int b, int l, int r) : top(t), bottom(b), left(l), right(r) {}
    friend constexpr bool operator==(Padding const&, Padding const&) = default;
    [[nodiscard]] constexpr bool negative() const { return top < 0 || bottom < 0 || left < 0 || right < 0; }
};

namespace detail {

[[nodiscard]] constexpr bool is_finite(float value) {
    return value >= std::numeric_limits<float>::lowest() && value <= std::numeric_limits<float>::max();
}
/// Whether a parameter is a size.
[[nodiscard]] constexpr bool is_size(int value) { return value >= 1 && value <= max_extent; }
[[nodiscard]] constexpr bool is_size(Extent value) { return is_size(value.h) && is_size(value.w); }
[[nodiscard]] constexpr bool is_size(Shape const& value) {
    return is_size(value.c) && is_size(value.h) && is_size(value.w);
}
/// Whether a parameter is a size or 0.
[[nodiscard]] constexpr bool is_size_or_0(int value) { return value >= 0 && value <= max_extent; }
[[nodiscard]] constexpr bool is_size_or_0(Padding const& value) {
    return is_size_or_0(value.top) && is_size_or_0(value.bottom) && is_size_or_0(value.left) &&
           is_size_or_0(value.right);
}

/// The impossible one among the parameters of what walks over an image.
[[nodiscard]] constexpr std::string_view impossible_window(Extent stride, Padding const& padding, Extent dilation) {
    if (!is_size(stride)) return "the stride must be from 1 to 2^29";
    if (!is_size_or_0(padding)) return "the padding must be from 0 to 2^29";
    if (!is_size(dilation)) return "the dilation must be from 1 to 2^29";
    return "";
}
/// Rows or columns that a kernel or window reaches over.
[[nodiscard]] constexpr std::int64_t dilated(int size, int dilation) { return (std::int64_t{size} - 1) * dilation + 1; }
[[nodiscard]] constexpr std::int64_t padded_h(Shape const& shape, Padding const& padding) {
    return std::int64_t{shape.h} + padding.top + padding.bottom;
}
[[nodiscard]] constexpr std::int64_t padded_w(Shape const& shape, Padding const& padding) {
    return std::int64_t{shape.w} + padding.left + padding.right;
}
/// Whether an image keeps to the bounds with which a kernel or window slides over so many rows and columns of it.
[[nodiscard]] constexpr bool pixels_within_bounds(int c, std::int64_t h, std::int64_t w) {
    return within_bounds(c, h, w) && bounded_product({h, w}) <= max_extent;
}
/// Whether a convolution that slides over so many rows and columns keeps to the bounds: its kernel, and what it makes
/// on its way, which is at most a patch or products for each pixel. A stride beyond the image counts as if the image
/// were as large, for so are the parts into which strides divide it.
[[nodiscard]] constexpr bool conv_within_bounds(int c, int k, int groups, Extent kernel, Extent stride, std::int64_t h,
                                                std::int64_t w) {
    const std::int64_t channels = std::max(c, k);
    h = std::max<std::int64_t>(h, stride.h), w = std::max<std::int64_t>(w, stride.w);
    if (!pixels_within_bounds(std::max(c, k), h, w)) return false;
    return bounded_product({channels, kernel.h, kernel.w}) <= max_extent &&
           bounded_product({k, c / groups, kernel.h, kernel.w}) <= max_floats &&
           bounded_product({channels, h, w, kernel.h, kernel.w}) <= max_floats;
}

}  // namespace detail

}  // namespace primsel::inline PRIMSEL_ABI

namespace primsel::inline PRIMSEL_ABI {

enum class ActivationKind {
    relu,
    relu6,
    leaky_relu,
    sigmoid,
    hard_swish,
    elu,
    hard_sigmoid,
    tanh,
    clip,
    sqrt,
    exp,
    log,
    abs,
    sign,
    floor,
    ceil,
    round,
    truncate,
    erf,
    softplus,
    power,
    sin,
    cos,
    tan,
    asin,
    acos,
    atan,
    sinh,
    cosh,
    asinh,
    acosh,
    atanh,
};

/// An elementwise function. What alpha and beta are:
/// - leaky_relu: the slope below zero;
/// - elu: alpha * (exp(x) - 1) below zero;
/// - hard_sigmoid: alpha * x + beta, held between 0 and 1;
/// - clip: the lowest and the highest value;
/// - power: the exponent.
/// round takes the even one of two neighbours that are as near; softplus is log(1 + exp(x)).
struct ActivationParams {
    ActivationKind kind = ActivationKind::relu;
    float alpha = 0.0F, beta = 0.0F;

    [[nodiscard]] constexpr std::string_view name() const {
        constexpr std::string_view names[] = {
            "relu",  "relu6",    "leaky_relu", "sigmoid",  "hard_swish", "elu",   "hard_sigmoid", "tanh",
            "clip",  "sqrt",     "exp",        "log",      "abs",        "sign",  "floor",        "ceil",
            "round", "truncate", "erf",        "softplus", "power",      "sin",   "cos",          "tan",
            "asin",  "acos",     "atan",       "sinh",     "cosh",       "asinh", "acosh",        "atanh",
        };
        return names[static_cast<std::size_t>(kind)];
    }
    constexpr void each_field(auto const& visit) const {
        visit("kind", kind), visit("alpha", alpha), visit("beta", beta);
    }
    [[nodiscard]] constexpr Fault check(std::span<const Shape> inputs) const {
        return inputs.size() == 1 ? Fault::none : Fault::wrong_input_count;
    }
    [[nodiscard]] constexpr Shape output(std::span<const Shape> inputs) const { return inputs[0]; }
    friend constexpr bool operator==(ActivationParams const&, ActivationParams const&) = default;
};

namespace layer {
struct Relu {
    static constexpr ActivationParams params{ActivationKind::relu};
};
struct Relu6 {
    static constexpr ActivationParams params{ActivationKind::relu6};
};
struct Sigmoid {
    static constexpr ActivationParams params{ActivationKind::sigmoid};
};
/// x * min(max(x + 3, 0), 6) / 6
struct HardSwish {
    static constexpr ActivationParams params{ActivationKind::hard_swish};
};
struct Tanh {
    static constexpr ActivationParams params{ActivationKind::tanh};
};
struct Sqrt {
    static constexpr ActivationParams params{ActivationKind::sqrt};
};
/// Held between Low and High; both are std::ratio.
template <class Low, class High>
struct Clip {
    static constexpr ActivationParams params{ActivationKind::clip, as_float<Low>, as_float<High>};
};
/// Alpha * (exp(x) - 1) below zero; Alpha is a std::ratio.
template <class Alpha = std::ratio<1>>
struct Elu {
    static constexpr ActivationParams params{ActivationKind::elu, as_float<Alpha>};
};
/// Slope * x + Offset, held between 0 and 1; both are std::ratio.
template <class Slope = std::ratio<1, 6>, class Offset = std::ratio<1, 2>>
struct HardSigmoid {
    static constexpr ActivationParams params{ActivationKind::hard_sigmoid, as_float<Slope>, as_float<Offset>};
};
/// Slope * x below zero; Slope is a std::ratio.
template <class Slope = std::ratio<1, 100>>
struct LeakyRelu {
    static constexpr ActivationParams params{ActivationKind::leaky_relu, as_float<Slope>};
};
}  // namespace layer

}  // namespace primsel::inline PRIMSEL_ABI
// primsel/layer/combine.hpp

namespace primsel::inline PRIMSEL_ABI {

/// The sum of two or more inputs of one shape.
struct AddParams {
    [[nodiscard]] static constexpr std::string_view name() { return "add"; }
    static constexpr void each_field(auto const&) {}
    [[nodiscard]] constexpr Fault check(std::span<const Shape> inputs) const {
        if (inputs.size() < 2) return Fault::wrong_input_count;
        for (Shape const& shape : inputs) {
            if (shape != inputs[0]) return Fault::shapes_differ;
        }
        return Fault::none;
    }
    [[nodiscard]] constexpr Shape output(std::span<const Shape> inputs) const { return inputs[0]; }
    friend constexpr bool operator==(AddParams const&, AddParams const&) = default;
};

/// The inputs one after the other along an axis.
struct ConcatParams {
    Axis axis = Axis::c;

    [[nodiscard]] static constexpr std::string_view name() { return "concat"; }
    constexpr void each_field(auto const& visit) const { visit("axis", axis); }
    [[nodiscard]] constexpr Fault check(std::span<const Shape> inputs) const {
        if (inputs.empty()) return Fault::wrong_input_count;
        for (Shape shape : inputs) {
            extent(shape, axis) = extent(inputs[0], axis);
            if (shape != inputs[0]) return Fault::sizes_differ;
        }
        std::int64_t sum = 0;
        for (Shape const& shape : inputs) sum += extent(shape, axis);
        if (sum > max_extent) return Fault::too_large;
        return within_bounds(output(inputs)) ? Fault::none : Fault::too_large;
    }
    [[nodiscard]] constexpr Shape output(std::span<const Shape> inputs) const {
        Shape sum = inputs[0];
        for (Shape const& shape : inputs.subspan(1)) extent(sum, axis) += extent(shape, axis);
        return sum;
    }
    friend constexpr bool operator==(ConcatParams const&, ConcatParams const&) = default;
};

enum class BinaryKind {
    add,
    subtract,
    multiply,
    divide,
    prelu,
    power,
    minimum,
    maximum,
    modulo,
    remainder,
    equal,
    greater,
    greater_or_equal,
    keep,
};

/// An elementwise function of two inputs a and b. Along each of c, h and w they are equally long, or one of them has a
/// single element there that meets all of the other's.
/// - prelu: a where a >= 0, a * b elsewhere;
/// - power: a to the b-th;
/// - minimum, maximum: NaN where either is;
/// - modulo, remainder: what a division leaves, with the sign of b and of a;
/// - equal, greater, greater_or_equal: 1 where a is so beside b, 0 elsewhere;
/// - keep: b where a is not 0, 0 elsewhere, whatever b is there.
struct BinaryParams {
    BinaryKind kind = BinaryKind::add;

    [[nodiscard]] constexpr std::string_view name() const {
        constexpr std::string_view names[] = {"broadcast_add", "subtract", "multiply",         "divide", "prelu",
                                              "power",         "minimum",  "maximum",          "modulo", "remainder",
                                              "equal",         "greater",  "greater_or_equal", "keep"};
        return names[static_cast<std::size_t>(kind)];
    }
    constexpr void each_field(auto const& visit) const { visit("kind", kind); }
    [[nodiscard]] constexpr Fault check(std::span<const Shape> inputs) const {
        if (inputs.size() != 2) return Fault::wrong_input_count;
        for (const Axis axis : {Axis::c, Axis::h, Axis::w}) {
            const int a = extent(inputs[0], axis), b = extent(inputs[1], axis);
            if (a != b && a != 1 && b != 1) return Fault::shapes_differ;
        }
        return within_bounds(output(inputs)) ? Fault::none : Fault::too_large;
    }
    [[nodiscard]] constexpr Shape output(std::span<const Shape> inputs) const {
        const Shape a = inputs[0], b = inputs[1];
        return {.c = a.c == 1 ? b.c : a.c, .h = a.h == 1 ? b.h : a.h, .w = a.w == 1 ? b.w : a.w};
    }
    friend constexpr bool operator==(BinaryParams const&, BinaryParams const&) = default;
};

/// Matrix products: of each h x w matrix of the first input, one a channel, with that of the second. An input with one
/// channel meets all of the other's.
struct MatMulParams {
    [[nodiscard]] static constexpr std::string_view name() { return "matmul"; }
    static constexpr void each_field(auto const&) {}
    [[nodiscard]] constexpr Fault check(std::span<const Shape> inputs) const {
        if (inputs.size() != 2) return Fault::wrong_input_count;
        const Shape a = inputs[0], b = inputs[1];
        if (a.w != b.h || (a.c != b.c && a.c != 1 && b.c != 1)) return Fault::shapes_differ;
        return within_bounds(output(inputs)) ? Fault::none : Fault::too_large;
    }
    [[nodiscard]] constexpr Shape output(std::span<const Shape> inputs) const {
        const Shape a = inputs[0], b = inputs[1];
        return {.c = a.c == 1 ? b.c : a.c, .h = a.h, .w = b.w};
    }
    friend constexpr bool operator==(MatMulParams const&, MatMulParams const&) = default;
};

}  // namespace primsel::inline PRIMSEL_ABI
// primsel/layer/conv.hpp

// primsel/layer/option.hpp
// The options of layer types: Conv<64, 3, Stride<2>, NoBias>.

namespace primsel::inline PRIMSEL_ABI::layer {

template <Extent value>
struct Stride {};
template <Padding value>
struct Pad {};
template <Extent value>
struct Dilation {};
template <int value>
struct Groups {};
/// Rows and columns of a transposed convolution's result beyond the last that it reaches.
template <Extent value>
struct OutputPad {};
/// No bias: a batch norm follows.
struct NoBias {};
/// Pooling rounds its output size up.
struct CeilMode {};
/// Average pooling divides by the pixels inside the image only.
struct ExcludePad {};
/// Resizing takes weighted means of the four pixels around a place, rather than the nearest.
struct Bilinear {};
/// Resizing puts the corners of the result on those of the image.
struct AlignCorners {};

}  // namespace primsel::inline PRIMSEL_ABI::layer

namespace primsel::inline PRIMSEL_ABI {

/// A two-dimensional convolution of k kernels (cross-correlation, as in every framework). Weights: `<name>.weight`, of
/// k x c/groups x h x w, and `<name>.bias`, of k.
struct ConvParams {
    int k = 1;
    Extent kernel{1};
    Extent stride{1};
    Padding padding{};
    Extent dilation{1};
    int groups = 1;
    bool bias = true;

    [[nodiscard]] static constexpr std::string_view name() { return "conv"; }
    constexpr void each_field(auto const& visit) const {
        visit("k", k), visit("kernel", kernel), visit("stride", stride), visit("padding", padding),
            visit("dilation", dilation), visit("groups", groups), visit("bias", bias);
    }
    constexpr void each_weight(Shape const& input, auto const& visit) const {
        visit("weight", WeightDims{k, input.c / groups, kernel.h, kernel.w}, WeightValues::finite);
        if (bias) visit("bias", WeightDims{k}, WeightValues::finite);
    }
    [[nodiscard]] constexpr Fault check(std::span<const Shape> inputs) const {
        if (inputs.size() != 1) return Fault::wrong_input_count;
        if (!impossible().empty()) return Fault::impossible_parameter;
        if (inputs[0].c % groups != 0 || k % groups != 0) return Fault::groups_do_not_divide;
        const std::int64_t h = detail::padded_h(inputs[0], padding), w = detail::padded_w(inputs[0], padding);
        if (span_h() > h || span_w() > w) return Fault::kernel_exceeds_input;
        return detail::conv_within_bounds(inputs[0].c, k, groups, kernel, stride, h, w) ? Fault::none
                                                                                        : Fault::too_large;
    }
    [[nodiscard]] constexpr std::string_view impossible() const {
        if (!detail::is_size(k)) return "k, the number of kernels, must be from 1 to 2^29";
        if (!detail::is_size(kernel)) return "the kernel's height and width must be from 1 to 2^29";
        if (!detail::is_size(groups)) return "the groups must be from 1 to 2^29";
        return detail::impossible_window(stride, padding, dilation);
    }
    [[nodiscard]] constexpr Shape output(std::span<const Shape> inputs) const {
        return {.c = k,
                .h = static_cast<int>((detail::padded_h(inputs[0], padding) - span_h()) / stride.h + 1),
                .w = static_cast<int>((detail::padded_w(inputs[0], padding) - span_w()) / stride.w + 1)};
    }
    friend constexpr bool operator==(ConvParams const&, ConvParams const&) = default;

private:
    [[nodiscard]] constexpr std::int64_t span_h() const { return detail::dilated(kernel.h, dilation.h); }
    [[nodiscard]] constexpr std::int64_t span_w() const { return detail::dilated(kernel.w, dilation.w); }
};

/// The transpose of a convolution with k kernels (its gradient with respect to its input). Weights: `<name>.weight`, of
/// c x k/groups x h x w, and `<name>.bias`, of k.
struct ConvTransposeParams {
    int k = 1;
    Extent kernel{1};
    Extent stride{1};
    /// Taken away from the result.
    Padding padding{};
    Extent dilation{1};
    /// Rows and columns of the result beyond the last that the transpose reaches.
    int extra_h = 0, extra_w = 0;
    int groups = 1;
    bool bias = true;

    [[nodiscard]] static constexpr std::string_view name() { return "conv_transpose"; }
    constexpr void each_field(auto const& visit) const {
        visit("k", k), visit("kernel", kernel), visit("stride", stride), visit("padding", padding),
            visit("dilation", dilation), visit("extra_h", extra_h), visit("extra_w", extra_w), visit("groups", groups),
            visit("bias", bias);
    }
    constexpr void each_weight(Shape const& input, auto const& visit) const {
        visit("weight", WeightDims{input.c, k / groups, kernel.h, kernel.w}, WeightValues::finite);
        if (bias) visit("bias", WeightDims{k}, WeightValues::finite);
    }
    [[nodiscard]] constexpr Fault check(std::span<const Shape> inputs) const {
        if (inputs.size() != 1) return Fault::wrong_input_count;
        if (!impossible().empty()) return Fault::impossible_parameter;
        if (inputs[0].c % groups != 0 || k % groups != 0) return Fault::groups_do_not_divide;
        const std::int64_t h = whole_h(inputs[0]), w = whole_w(inputs[0]);
        if (h - padding.top - padding.bottom < 1 || w - padding.left - padding.right < 1) {
            return Fault::kernel_exceeds_input;
        }
        return detail::conv_within_bounds(inputs[0].c, k, groups, kernel, stride, h, w) ? Fault::none
                                                                                        : Fault::too_large;
    }
    [[nodiscard]] constexpr std::string_view impossible() const {
        if (!detail::is_size_or_0(extra_h) || !detail::is_size_or_0(extra_w)) {
            return "the extra rows and columns must be from 0 to 2^29";
        }
        return ConvParams{
            .k = k, .kernel = kernel, .stride = stride, .padding = padding, .dilation = dilation, .groups = groups}
            .impossible();
    }
    [[nodiscard]] constexpr Shape output(std::span<const Shape> inputs) const {
        return {.c = k,
                .h = static_cast<int>(whole_h(inputs[0]) - padding.top - padding.bottom),
                .w = static_cast<int>(whole_w(inputs[0]) - padding.left - padding.right)};
    }
    friend constexpr bool operator==(ConvTransposeParams const&, ConvTransposeParams const&) = default;

private:
    /// Rows and columns before the padding is taken away.
    [[nodiscard]] constexpr std::int64_t whole_h(Shape const& in) const {
        return (std::int64_t{in.h} - 1) * stride.h + detail::dilated(kernel.h, dilation.h) + extra_h;
    }
    [[nodiscard]] constexpr std::int64_t whole_w(Shape const& in) const {
        return (std::int64_t{in.w} - 1) * stride.w + detail::dilated(kernel.w, dilation.w) + extra_w;
    }
};

namespace layer {

/// K kernels of the given size. Options: Stride<2>, Pad<1>, Dilation<2>, Groups<32>, NoBias. Without Pad, the padding
/// is half the (dilated) kernel, so that an odd kernel at stride 1 keeps the image size.
template <int K, Extent kernel, class... Options>
struct Conv {
private:
    template <Extent value>
    static constexpr void apply(ConvParams& params, bool&, Stride<value>) {
        params.stride = value;
    }
    template <Padding value>
    static constexpr void apply(ConvParams& params, bool& padded, Pad<value>) {
        params.padding = value, padded = true;
    }
    template <Extent value>
    static constexpr void apply(ConvParams& params, bool&, Dilation<value>) {
        params.dilation = value;
    }
    template <int value>
    static constexpr void apply(ConvParams& params, bool&, Groups<value>) {
        params.groups = value;
    }
    static constexpr void apply(ConvParams& params, bool&, NoBias) { params.bias = false; }
    template <class Other>
    static constexpr void apply(ConvParams&, bool&, Other) {
        static_assert(sizeof(Other) == 0,
                      "primsel: Conv has no such option; it has Stride, Pad, Dilation, Groups and NoBias: see "
                      "docs/layer/layers.md");
    }

public:
    static constexpr ConvParams params = [] {
        ConvParams result{.k = K, .kernel = kernel};
        bool padded = false;
        (apply(result, padded, Options{}), ...);
        if (!padded) {
            result.padding = Padding{(kernel.h - 1) * result.dilation.h / 2, (kernel.w - 1) * result.dilation.w / 2};
        }
        return result;
    }();
};

/// The transpose of a convolution, as PyTorch's ConvTranspose2d. Options: Stride<2>, Pad<1> (default: 0), OutputPad<1>,
/// Dilation<2>, Groups<32>, NoBias.
template <int K, Extent kernel, class... Options>
struct ConvTranspose {
private:
    template <Extent value>
    static constexpr void apply(ConvTransposeParams& params, Stride<value>) {
        params.stride = value;
    }
    template <Padding value>
    static constexpr void apply(ConvTransposeParams& params, Pad<value>) {
        params.padding = value;
    }
    template <Extent value>
    static constexpr void apply(ConvTransposeParams& params, OutputPad<value>) {
        params.extra_h = value.h, params.extra_w = value.w;
    }
    template <Extent value>
    static constexpr void apply(ConvTransposeParams& params, Dilation<value>) {
        params.dilation = value;
    }
    template <int value>
    static constexpr void apply(ConvTransposeParams& params, Groups<value>) {
        params.groups = value;
    }
    static constexpr void apply(ConvTransposeParams& params, NoBias) { params.bias = false; }
    template <class Other>
    static constexpr void apply(ConvTransposeParams&, Other) {
        static_assert(sizeof(Other) == 0,
                      "primsel: ConvTranspose has no such option; it has Stride, Pad, OutputPad, Dilation, Groups and "
                      "NoBias: see docs/layer/layers.md");
    }

public:
    static constexpr ConvTransposeParams params = [] {
        ConvTransposeParams result{.k = K, .kernel = kernel};
        (apply(result, Options{}), ...);
        return result;
    }();
};

}  // namespace layer

}  // namespace primsel::inline PRIMSEL_ABI
// primsel/layer/dense.hpp

namespace primsel::inline PRIMSEL_ABI {

/// A fully connected layer of k outputs. Weights: `<name>.weight`, of k x (c * h * w) in chw order, and `<name>.bias`,
/// of k. An image is read as it is: no flatten is needed before it.
struct DenseParams {
    int k = 1;
    bool bias = true;

    [[nodiscard]] static constexpr std::string_view name() { return "dense"; }
    constexpr void each_field(auto const& visit) const { visit("k", k), visit("bias", bias); }
    constexpr void each_weight(Shape const& input, auto const& visit) const {
        visit("weight", WeightDims{k, static_cast<std::int64_t>(input.size())}, WeightValues::finite);
        if (bias) visit("bias", WeightDims{k}, WeightValues::finite);
    }
    [[nodiscard]] constexpr Fault check(std::span<const Shape> inputs) const {
        if (!impossible().empty()) return Fault::impossible_parameter;
        if (inputs.size() != 1) return Fault::wrong_input_count;
        const Shape in = inputs[0];
        if (bounded_product({in.c, in.h, in.w}) > max_extent) return Fault::too_large;
        return bounded_product({k, in.c, in.h, in.w}) <= max_floats ? Fault::none : Fault::too_large;
    }
    [[nodiscard]] constexpr std::string_view impossible() const {
        return detail::is_size(k) ? "" : "k, the number of outputs, must be from 1 to 2^29";
    }
    [[nodiscard]] constexpr Shape output(std::span<const Shape>) const { return {.c = k, .h = 1, .w = 1}; }
    friend constexpr bool operator==(DenseParams const&, DenseParams const&) = default;
};

namespace layer {
/// Options: NoBias.
template <int K, class... Options>
struct Dense {
private:
    static constexpr void apply(DenseParams& params, NoBias) { params.bias = false; }
    template <class Other>
    static constexpr void apply(DenseParams&, Other) {
        static_assert(sizeof(Other) == 0, "primsel: Dense has no such option; it has NoBias: see docs/layer/layers.md");
    }

public:
    static constexpr DenseParams params = [] {
        DenseParams result{.k = K};
        (apply(result, Options{}), ...);
        return result;
    }();
};
}  // namespace layer

}  // namespace primsel::inline PRIMSEL_ABI
// primsel/layer/detection.hpp

namespace primsel::inline PRIMSEL_ABI {

/// Of boxes that overlap, the one with the best score, class by class: ONNX's NonMaxSuppression. Inputs: the corners
/// (y, x, y, x) of boxes, images x boxes x 4, and their scores, images x classes x boxes. Output: 1 x rows x 3 with a
/// row of image, class and box for each box that stays, by image, by class, the best scores first, of equal scores the
/// first box first. How many stay is known only at run time; the rows are as many as there can be, images * classes *
/// min(boxes_per_class, boxes), and those behind the last box are -1, -1, -1. A box whose score is NaN never stays.
struct NonMaxSuppressionParams {
    int boxes_per_class = 1;
    /// A box goes where intersection / union with a better one that stays is larger.
    float iou_threshold = 0.0F;
    /// A box goes where its score is not larger. Minus infinity: none does.
    float score_threshold = -std::numeric_limits<float>::infinity();
    /// The boxes are given as centre x, centre y, width, height.
    bool centers = false;

    [[nodiscard]] static constexpr std::string_view name() { return "non_max_suppression"; }
    constexpr void each_field(auto const& visit) const {
        visit("boxes_per_class", boxes_per_class), visit("iou_threshold", iou_threshold),
            visit("score_threshold", score_threshold), visit("centers", centers);
    }
    [[nodiscard]] constexpr Fault check(std::span<const Shape> inputs) const {
        if (inputs.size() != 2) return Fault::wrong_input_count;
        if (!impossible().empty()) return Fault::impossible_parameter;
        const Shape boxes = inputs[0], scores = inputs[1];
        if (boxes.w != 4 || boxes.c != scores.c || boxes.h != scores.w) return Fault::shapes_differ;
        // Positions are floats.
        if (boxes.h > 1 << 24 || rows(scores) > max_extent) return Fault::too_large;
        return within_bounds(output(inputs)) ? Fault::none : Fault::too_large;
    }
    [[nodiscard]] constexpr std::string_view impossible() const {
        if (!detail::is_size(boxes_per_class)) return "the boxes of a class must be from 1 to 2^29";
        if (!(iou_threshold >= 0.0F && iou_threshold <= 1.0F))
            return "the threshold of the overlap must be from 0 to 1";
        return score_threshold == score_threshold ? "" : "the threshold of the scores must be a number";
    }
    [[nodiscard]] constexpr Shape output(std::span<const Shape> inputs) const {
        return {.c = 1, .h = static_cast<int>(rows(inputs[1])), .w = 3};
    }
    /// The most boxes that stay in a class.
    [[nodiscard]] constexpr int kept(Shape const& scores) const { return std::min(boxes_per_class, scores.w); }
    friend constexpr bool operator==(NonMaxSuppressionParams const&, NonMaxSuppressionParams const&) = default;

private:
    [[nodiscard]] constexpr std::int64_t rows(Shape const& scores) const {
        return bounded_product({scores.c, scores.h, kept(scores)});
    }
};

/// Rows of each channel of the first input, c x h x w, by their positions, the elements of the second, of which there
/// may be any number n, in any shape: c x n x w. Fractions are cut off. Zeros where there is no such row, or NaN.
struct GatherParams {
    /// -1 is the last row, -2 the one before, and so on; if not, there are no such rows.
    bool from_end = true;

    [[nodiscard]] static constexpr std::string_view name() { return "gather"; }
    constexpr void each_field(auto const& visit) const { visit("from_end", from_end); }
    [[nodiscard]] constexpr Fault check(std::span<const Shape> inputs) const {
        if (inputs.size() != 2) return Fault::wrong_input_count;
        if (bounded_product({inputs[1].c, inputs[1].h, inputs[1].w}) > max_extent) return Fault::too_large;
        return within_bounds(output(inputs)) ? Fault::none : Fault::too_large;
    }
    [[nodiscard]] constexpr Shape output(std::span<const Shape> inputs) const {
        return {.c = inputs[0].c, .h = static_cast<int>(inputs[1].size()), .w = inputs[0].w};
    }
    friend constexpr bool operator==(GatherParams const&, GatherParams const&) = default;
};

}  // namespace primsel::inline PRIMSEL_ABI
// primsel/layer/input.hpp

namespace primsel::inline PRIMSEL_ABI {

struct InputParams {
    Shape shape;

    [[nodiscard]] static constexpr std::string_view name() { return "input"; }
    constexpr void each_field(auto const& visit) const { visit("shape", shape); }
    [[nodiscard]] constexpr Fault check(std::span<const Shape> inputs) const {
        if (!inputs.empty()) return Fault::wrong_input_count;
        if (!impossible().empty()) return Fault::impossible_parameter;
        return within_bounds(shape) ? Fault::none : Fault::too_large;
    }
    [[nodiscard]] constexpr std::string_view impossible() const {
        return detail::is_size(shape) ? "" : "each extent of the shape must be from 1 to 2^29";
    }
    [[nodiscard]] constexpr Shape output(std::span<const Shape>) const { return shape; }
    friend constexpr bool operator==(InputParams const&, InputParams const&) = default;
};

/// Values that are the same for every image. Weight: `<name>.value`, of c x h x w; that of a parameter is `<name>`, as
/// a module's own parameters are named in PyTorch.
struct ConstantParams {
    Shape shape;
    bool parameter = false;

    [[nodiscard]] static constexpr std::string_view name() { return "constant"; }
    constexpr void each_field(auto const& visit) const { visit("shape", shape), visit("parameter", parameter); }
    /// The weight is called as the layer where it is trained, `<name>.value` where it is given.
    [[nodiscard]] constexpr std::string_view weight_name() const { return parameter ? "" : "value"; }
    constexpr void each_weight(Shape const&, auto const& visit) const {
        visit(weight_name(), WeightDims{shape.c, shape.h, shape.w},
              parameter ? WeightValues::finite : WeightValues::any);
    }
    [[nodiscard]] constexpr Fault check(std::span<const Shape> inputs) const {
        return InputParams{shape}.check(inputs);
    }
    [[nodiscard]] constexpr std::string_view impossible() const { return InputParams{shape}.impossible(); }
    [[nodiscard]] constexpr Shape output(std::span<const Shape>) const { return shape; }
    friend constexpr bool operator==(ConstantParams const&, ConstantParams const&) = default;
};

namespace layer {
/// The image: channels, height, width.
template <int C, int H, int W>
struct Input {
    static constexpr InputParams params{Shape{.c = C, .h = H, .w = W}};
};
/// Trained values that are the same for every image, one branch of a Sum or Product. Weight: `<name>`, of c x h x w.
template <int C, int H = 1, int W = 1>
struct Parameter {
    static constexpr ConstantParams params{.shape = {.c = C, .h = H, .w = W}, .parameter = true};
};
}  // namespace layer

}  // namespace primsel::inline PRIMSEL_ABI
// primsel/layer/norm.hpp

namespace primsel::inline PRIMSEL_ABI {

/// Batch normalisation with running statistics: (x - mean) / sqrt(variance + epsilon) * weight + bias, per channel.
/// Weights: `<name>.weight`, `.bias`, `.running_mean`, `.running_var`, each of c.
struct BatchNormParams {
    float epsilon = 1e-5F;

    [[nodiscard]] static constexpr std::string_view name() { return "batch_norm"; }
    constexpr void each_field(auto const& visit) const { visit("epsilon", epsilon); }
    constexpr void each_weight(Shape const& input, auto const& visit) const {
        const WeightValues variances = epsilon > 0.0F ? WeightValues::not_negative : WeightValues::positive;
        visit("weight", WeightDims{input.c}, WeightValues::finite);
        visit("bias", WeightDims{input.c}, WeightValues::finite);
        visit("running_mean", WeightDims{input.c}, WeightValues::finite);
        visit("running_var", WeightDims{input.c}, variances);
    }
    [[nodiscard]] constexpr Fault check(std::span<const Shape> inputs) const {
        if (!impossible().empty()) return Fault::impossible_parameter;
        return inputs.size() == 1 ? Fault::none : Fault::wrong_input_count;
    }
    [[nodiscard]] constexpr std::string_view impossible() const {
        return epsilon >= 0.0F && detail::is_finite(epsilon) ? "" : "epsilon must be finite and not negative";
    }
    [[nodiscard]] constexpr Shape output(std::span<const Shape> inputs) const { return inputs[0]; }
    friend constexpr bool operator==(BatchNormParams const&, BatchNormParams const&) = default;
};

/// x * weight + bias, per channel. Weights: `<name>.weight` and `<name>.bias`, each of c; none where the numbers are
/// known, which are then those of all channels.
struct ScaleParams {
    bool known = false;
    float factor = 1.0F, shift = 0.0F;

    [[nodiscard]] static constexpr std::string_view name() { return "scale"; }
    constexpr void each_field(auto const& visit) const {
        visit("known", known), visit("factor", factor), visit("shift", shift);
    }
    constexpr void each_weight(Shape const& input, auto const& visit) const {
        if (known) return;
        visit("weight", WeightDims{input.c}, WeightValues::not_nan);
        visit("bias", WeightDims{input.c}, WeightValues::not_nan);
    }
    [[nodiscard]] constexpr Fault check(std::span<const Shape> inputs) const {
        return inputs.size() == 1 ? Fault::none : Fault::wrong_input_count;
    }
    [[nodiscard]] constexpr Shape output(std::span<const Shape> inputs) const { return inputs[0]; }
    friend constexpr bool operator==(ScaleParams const&, ScaleParams const&) = default;
};

/// Local response normalisation across channels (Krizhevsky et al. 2012, section 3.3, with alpha divided by size as in
/// every framework): x / (k + alpha / size * sum of squares over `size` neighbouring channels) ^ beta. The window
/// reaches size / 2 channels back and (size - 1) / 2 ahead, as in PyTorch.
struct LrnParams {
    int size = 5;
    float alpha = 1e-4F;
    float beta = 0.75F;
    float k = 1.0F;

    [[nodiscard]] static constexpr std::string_view name() { return "lrn"; }
    constexpr void each_field(auto const& visit) const {
        visit("size", size), visit("alpha", alpha), visit("beta", beta), visit("k", k);
    }
    [[nodiscard]] constexpr Fault check(std::span<const Shape> inputs) const {
        if (!impossible().empty()) return Fault::impossible_parameter;
        return inputs.size() == 1 ? Fault::none : Fault::wrong_input_count;
    }
    [[nodiscard]] constexpr std::string_view impossible() const {
        if (!detail::is_size(size)) return "the size must be from 1 to 2^29";
        return detail::is_finite(alpha) && detail::is_finite(beta) && detail::is_finite(k)
                   ? ""
                   : "alpha, beta and k must be finite";
    }
    [[nodiscard]] constexpr Shape output(std::span<const Shape> inputs) const { return inputs[0]; }
    friend constexpr bool operator==(LrnParams const&, LrnParams const&) = default;
};

/// exp(x) over its sum along an axis: of each pixel's channels, unless told otherwise.
struct SoftmaxParams {
    Axis axis = Axis::c;

    [[nodiscard]] static constexpr std::string_view name() { return "softmax"; }
    constexpr void each_field(auto const& visit) const { visit("axis", axis); }
    [[nodiscard]] constexpr Fault check(std::span<const Shape> inputs) const {
        return inputs.size() == 1 ? Fault::none : Fault::wrong_input_count;
    }
    [[nodiscard]] constexpr Shape output(std::span<const Shape> inputs) const { return inputs[0]; }
    friend constexpr bool operator==(SoftmaxParams const&, SoftmaxParams const&) = default;
};

namespace layer {
/// Epsilon is a std::ratio.
template <class Epsilon>
struct BatchNormWith {
    static constexpr BatchNormParams params{as_float<Epsilon>};
};
using BatchNorm = BatchNormWith<std::ratio<1, 100'000>>;
struct Scale {
    static constexpr ScaleParams params{};
};
/// x * Factor + Shift; both are std::ratio.
template <class Factor, class Shift = std::ratio<0>>
struct ScaleBy {
    static constexpr ScaleParams params{.known = true, .factor = as_float<Factor>, .shift = as_float<Shift>};
};
template <int size = 5, class Alpha = std::ratio<1, 10'000>, class Beta = std::ratio<3, 4>, class K = std::ratio<1>>
struct Lrn {
    static constexpr LrnParams params{size, as_float<Alpha>, as_float<Beta>, as_float<K>};
};
/// Of each pixel's channels, unless told otherwise.
template <Axis axis>
struct SoftmaxAlong {
    static constexpr SoftmaxParams params{axis};
};
using Softmax = SoftmaxAlong<Axis::c>;
}  // namespace layer

}  // namespace primsel::inline PRIMSEL_ABI
// primsel/layer/pool.hpp

namespace primsel::inline PRIMSEL_ABI {

enum class PoolKind { max, average };

/// Pooling over a window of each channel. Padding counts as minus infinity for max, and as zeros for average (which
/// divides by the whole window, or by its pixels inside the image where count_include_pad is false; what ceil_mode
/// adds beyond the padding is never counted). As PyTorch's MaxPool2d and AvgPool2d.
struct PoolParams {
    PoolKind kind = PoolKind::max;
    Extent window{2};
    Extent stride{2};
    Padding padding{};
    bool ceil_mode = false;
    bool count_include_pad = true;
    Extent dilation{1};

    [[nodiscard]] constexpr std::string_view name() const {
        return kind == PoolKind::max ? "max_pool" : "average_pool";
    }
    constexpr void each_field(auto const& visit) const {
        visit("kind", kind), visit("window", window), visit("stride", stride), visit("padding", padding),
            visit("ceil_mode", ceil_mode), visit("count_include_pad", count_include_pad), visit("dilation", dilation);
    }
    [[nodiscard]] constexpr Fault check(std::span<const Shape> inputs) const {
        if (inputs.size() != 1) return Fault::wrong_input_count;
        if (!impossible().empty()) return Fault::impossible_parameter;
        // A window wholly in the padding would have no maximum.
        if (padding.top >= span_h() || padding.bottom >= span_h() || padding.left >= span_w() ||
            padding.right >= span_w()) {
            return Fault::padding_exceeds_kernel;
        }
        // Rounding up, a window may reach beyond the padded input by less than a stride.
        const std::int64_t h = detail::padded_h(inputs[0], padding), w = detail::padded_w(inputs[0], padding);
        const int spare_h = ceil_mode ? stride.h - 1 : 0, spare_w = ceil_mode ? stride.w - 1 : 0;
        if (span_h() > h + spare_h || span_w() > w + spare_w) return Fault::kernel_exceeds_input;
        return detail::pixels_within_bounds(inputs[0].c, h, w) ? Fault::none : Fault::too_large;
    }
    [[nodiscard]] constexpr std::string_view impossible() const {
        if (!detail::is_size(window)) return "the window's height and width must be from 1 to 2^29";
        return detail::impossible_window(stride, padding, dilation);
    }
    [[nodiscard]] constexpr Shape output(std::span<const Shape> inputs) const {
        return {.c = inputs[0].c,
                .h = extent(inputs[0].h, span_h(), stride.h, padding.top, padding.bottom),
                .w = extent(inputs[0].w, span_w(), stride.w, padding.left, padding.right)};
    }
    friend constexpr bool operator==(PoolParams const&, PoolParams const&) = default;

private:
    [[nodiscard]] constexpr std::int64_t span_h() const { return detail::dilated(window.h, dilation.h); }
    [[nodiscard]] constexpr std::int64_t span_w() const { return detail::dilated(window.w, dilation.w); }
    [[nodiscard]] constexpr int extent(std::int64_t in, std::int64_t size, int step, int before, int after) const {
        const std::int64_t room = in + before + after - size;
        std::int64_t out = (ceil_mode ? room + step - 1 : room) / step + 1;
        // The last window must start inside the image or its leading padding.
        if (ceil_mode && (out - 1) * step >= in + before) --out;
        return static_cast<int>(out);
    }
};

/// Where the maxima of a max pooling lie: the offset of each, as a float, in the whole batch of inputs in chw order.
struct MaxPoolIndicesParams {
    PoolParams pool;

    [[nodiscard]] static constexpr std::string_view name() { return "max_pool_indices"; }
    constexpr void each_field(auto const& visit) const { visit("pool", pool); }
    [[nodiscard]] constexpr Fault check(std::span<const Shape> inputs) const {
        return pool.kind == PoolKind::max ? pool.check(inputs) : Fault::impossible_parameter;
    }
    [[nodiscard]] constexpr std::string_view impossible() const {
        return pool.kind == PoolKind::max ? pool.impossible() : "the pooling must be max pooling";
    }
    [[nodiscard]] constexpr Shape output(std::span<const Shape> inputs) const { return pool.output(inputs); }
    friend constexpr bool operator==(MaxPoolIndicesParams const&, MaxPoolIndicesParams const&) = default;
};

/// Pooling over the whole image: one value a channel.
struct GlobalPoolParams {
    PoolKind kind = PoolKind::average;

    [[nodiscard]] constexpr std::string_view name() const {
        return kind == PoolKind::max ? "global_max_pool" : "global_average_pool";
    }
    constexpr void each_field(auto const& visit) const { visit("kind", kind); }
    [[nodiscard]] constexpr Fault check(std::span<const Shape> inputs) const {
        return inputs.size() == 1 ? Fault::none : Fault::wrong_input_count;
    }
    [[nodiscard]] constexpr Shape output(std::span<const Shape> inputs) const {
        return {.c = inputs[0].c, .h = 1, .w = 1};
    }
    friend constexpr bool operator==(GlobalPoolParams const&, GlobalPoolParams const&) = default;
};

enum class ReduceKind { mean, sum, max, arg_max };

/// One value for all elements along an axis. arg_max: the position of the first of those that are largest; NaN is
/// passed over.
struct ReduceParams {
    ReduceKind kind = ReduceKind::mean;
    Axis axis = Axis::c;

    [[nodiscard]] constexpr std::string_view name() const {
        constexpr std::string_view names[] = {"reduce_mean", "reduce_sum", "reduce_max", "arg_max"};
        return names[static_cast<std::size_t>(kind)];
    }
    constexpr void each_field(auto const& visit) const { visit("kind", kind), visit("axis", axis); }
    [[nodiscard]] constexpr Fault check(std::span<const Shape> inputs) const {
        return inputs.size() == 1 ? Fault::none : Fault::wrong_input_count;
    }
    [[nodiscard]] constexpr Shape output(std::span<const Shape> inputs) const {
        Shape shape = inputs[0];
        primsel::extent(shape, axis) = 1;
        return shape;
    }
    friend constexpr bool operator==(ReduceParams const&, ReduceParams const&) = default;
};

/// The k largest (or smallest) elements of each row, in their order, or their positions in the row. Of equal elements,
/// the first comes first; NaN comes after all others.
struct TopKParams {
    int k = 1;
    bool largest = true, positions = false;

    [[nodiscard]] constexpr std::string_view name() const { return positions ? "top_k_positions" : "top_k"; }
    constexpr void each_field(auto const& visit) const {
        visit("k", k), visit("largest", largest), visit("positions", positions);
    }
    [[nodiscard]] constexpr Fault check(std::span<const Shape> inputs) const {
        if (inputs.size() != 1) return Fault::wrong_input_count;
        return k < 1 || k > inputs[0].w ? Fault::impossible_parameter : Fault::none;
    }
    [[nodiscard]] constexpr Shape output(std::span<const Shape> inputs) const {
        return {.c = inputs[0].c, .h = inputs[0].h, .w = k};
    }
    friend constexpr bool operator==(TopKParams const&, TopKParams const&) = default;
};

namespace layer {

namespace detail {
template <PoolKind kind, Extent window, class... Options>
struct Pool {
private:
    template <Extent value>
    static constexpr void apply(PoolParams& params, Stride<value>) {
        params.stride = value;
    }
    template <Padding value>
    static constexpr void apply(PoolParams& params, Pad<value>) {
        params.padding = value;
    }
    template <Extent value>
    static constexpr void apply(PoolParams& params, Dilation<value>)
        requires(kind == PoolKind::max)
    {
        params.dilation = value;
    }
    static constexpr void apply(PoolParams& params, CeilMode) { params.ceil_mode = true; }
    static constexpr void apply(PoolParams& params, ExcludePad)
        requires(kind == PoolKind::average)
    {
        params.count_include_pad = false;
    }
    template <class Other>
    static constexpr void apply(PoolParams&, Other) {
        static_assert(sizeof(Other) == 0 || kind != PoolKind::max,
                      "primsel: MaxPool has no such option; it has Stride, Pad, Dilation and CeilMode: see "
                      "docs/layer/layers.md");
        static_assert(sizeof(Other) == 0 || kind != PoolKind::average,
                      "primsel: AveragePool has no such option; it has Stride, Pad, CeilMode and ExcludePad: see "
                      "docs/layer/layers.md");
    }

public:
    static constexpr PoolParams params = [] {
        PoolParams result{.kind = kind, .window = window, .stride = window};
        (apply(result, Options{}), ...);
        return result;
    }();
};
}  // namespace detail

/// Options: Stride<...> (default: the window), Pad<...> (default: 0), Dilation<...>, CeilMode.
template <Extent window, class... Options>
struct MaxPool : detail::Pool<PoolKind::max, window, Options...> {};
/// Options: Stride<...> (default: the window), Pad<...> (default: 0), CeilMode, ExcludePad.
template <Extent window, class... Options>
struct AveragePool : detail::Pool<PoolKind::average, window, Options...> {};
struct GlobalAvgPool {
    static constexpr GlobalPoolParams params{PoolKind::average};
};
struct GlobalMaxPool {
    static constexpr GlobalPoolParams params{PoolKind::max};
};
/// The mean, sum or maximum along one axis.
template <ReduceKind kind, Axis axis>
struct Reduce {
    static constexpr ReduceParams params{kind, axis};
};

}  // namespace layer

}  // namespace primsel::inline PRIMSEL_ABI
// primsel/layer/reshape.hpp

// primsel/tensor/dims.hpp

#include <array>
#include <cstddef>
#include <initializer_list>
#include <string>

namespace primsel::inline PRIMSEL_ABI {

/// The extents of a tensor of any rank up to max_rank, outermost first. Elements lie row-major: the last axis is that
/// of neighbours.
class Dims {
public:
    static constexpr std::size_t max_rank = 8;

    constexpr Dims() = default;
    /// At most max_rank extents; whoever has more checks before.
    constexpr Dims(std::initializer_list<int> extents) {
        for (const int extent : extents) push_back(extent);
    }
    constexpr void push_back(int extent) { extents_[rank_++] = extent; }

    [[nodiscard]] constexpr std::size_t rank() const { return rank_; }
    [[nodiscard]] constexpr int operator[](std::size_t axis) const { return extents_[axis]; }
    [[nodiscard]] constexpr int& operator[](std::size_t axis) { return extents_[axis]; }
    [[nodiscard]] constexpr const int* begin() const { return extents_.data(); }
    [[nodiscard]] constexpr const int* end() const { return extents_.data() + rank_; }
    /// Elements; 1 without axes.
    [[nodiscard]] constexpr std::size_t size() const {
        std::size_t size = 1;
        for (const int extent : *this) size *= static_cast<std::size_t>(extent);
        return size;
    }
    friend constexpr bool operator==(Dims const&, Dims const&) = default;

private:
    std::array<int, max_rank> extents_{};  // 0 beyond the rank
    std::size_t rank_ = 0;
};

/// "2x3x4"; "scalar" without axes.
[[nodiscard]] inline std::string to_string(Dims const& dims) {
    std::string text;
    for (const int extent : dims) {
        if (!text.empty()) text += 'x';
        text += std::to_string(extent);
    }
    return text.empty() ? "scalar" : text;
}

}  // namespace primsel::inline PRIMSEL_ABI

#include <array>
#include <concepts>
#include <cstddef>

namespace primsel::inline PRIMSEL_ABI {

/// The image as one vector of channels, in chw order.
struct FlattenParams {
    [[nodiscard]] static constexpr std::string_view name() { return "flatten"; }
    static constexpr void each_field(auto const&) {}
    [[nodiscard]] constexpr Fault check(std::span<const Shape> inputs) const {
        if (inputs.size() != 1) return Fault::wrong_input_count;
        const Shape in = inputs[0];
        return bounded_product({in.c, in.h, in.w}) <= max_extent ? Fault::none : Fault::too_large;
    }
    [[nodiscard]] constexpr Shape output(std::span<const Shape> inputs) const {
        return {.c = inputs[0].c * inputs[0].h * inputs[0].w, .h = 1, .w = 1};
    }
    friend constexpr bool operator==(FlattenParams const&, FlattenParams const&) = default;
};

/// The same elements, in chw order, under another shape.
struct ReshapeParams {
    Shape shape;

    [[nodiscard]] static constexpr std::string_view name() { return "reshape"; }
    constexpr void each_field(auto const& visit) const { visit("shape", shape); }
    [[nodiscard]] constexpr Fault check(std::span<const Shape> inputs) const {
        if (inputs.size() != 1) return Fault::wrong_input_count;
        if (!impossible().empty()) return Fault::impossible_parameter;
        if (!within_bounds(shape)) return Fault::too_large;
        return shape.size() == inputs[0].size() ? Fault::none : Fault::shapes_differ;
    }
    [[nodiscard]] constexpr std::string_view impossible() const {
        return detail::is_size(shape) ? "" : "each extent of the shape must be from 1 to 2^29";
    }
    [[nodiscard]] constexpr Shape output(std::span<const Shape>) const { return shape; }
    friend constexpr bool operator==(ReshapeParams const&, ReshapeParams const&) = default;
};

/// Some elements of the input in another order: element (i0, i1, ...) of a tensor of the given extents is element
/// offset + i0 * strides[0] + i1 * strides[1] + ... of the input in chw order. Any transpose, broadcast, and slice with
/// steps is one of these, and so is depth-to-space.
struct AsStridedParams {
    /// Extents as they are walked; together as many elements as the shape.
    Dims dims;
    std::array<std::ptrdiff_t, Dims::max_rank> strides{};
    std::ptrdiff_t offset = 0;
    /// Of the result.
    Shape shape;

    [[nodiscard]] static constexpr std::string_view name() { return "as_strided"; }
    constexpr void each_field(auto const& visit) const {
        visit("dims", dims), visit("strides", strides), visit("offset", offset), visit("shape", shape);
    }
    [[nodiscard]] constexpr Fault check(std::span<const Shape> inputs) const {
        if (inputs.size() != 1) return Fault::wrong_input_count;
        if (!impossible().empty()) return Fault::impossible_parameter;
        if (!within_bounds(shape)) return Fault::too_large;
        if (offset < 0 || offset > max_floats) return Fault::slice_outside;
        std::int64_t lowest = offset, highest = offset, elements = 1;
        for (std::size_t axis = 0; axis < dims.rank(); ++axis) {
            elements = bounded_product({elements, dims[axis]});
            if (dims[axis] == 1) continue;
            const std::int64_t most = max_floats / (dims[axis] - 1);
            if (strides[axis] > most || strides[axis] < -most) return Fault::slice_outside;
            const std::int64_t reach = (dims[axis] - 1) * strides[axis];
            (reach < 0 ? lowest : highest) += reach;
        }
        if (lowest < 0 || highest >= static_cast<std::int64_t>(inputs[0].size())) return Fault::slice_outside;
        return elements == static_cast<std::int64_t>(shape.size()) ? Fault::none : Fault::shapes_differ;
    }
    [[nodiscard]] constexpr std::string_view impossible() const {
        if (!detail::is_size(shape)) return "each extent of the shape must be from 1 to 2^29";
        for (const int extent : dims) {
            if (!detail::is_size(extent)) return "each of the dims must be from 1 to 2^29";
        }
        return "";
    }
    [[nodiscard]] constexpr Shape output(std::span<const Shape>) const { return shape; }
    friend constexpr bool operator==(AsStridedParams const&, AsStridedParams const&) = default;
};

/// Does nothing when a trained network runs.
struct DropoutParams {
    [[nodiscard]] static constexpr std::string_view name() { return "dropout"; }
    static constexpr void each_field(auto const&) {}
    [[nodiscard]] constexpr Fault check(std::span<const Shape> inputs) const {
        return inputs.size() == 1 ? Fault::none : Fault::wrong_input_count;
    }
    [[nodiscard]] constexpr Shape output(std::span<const Shape> inputs) const { return inputs[0]; }
    friend constexpr bool operator==(DropoutParams const&, DropoutParams const&) = default;
};

enum class PadMode { constant, reflect, edge };

/// A border: a value, or the image mirrored at its first and last pixels (which are not repeated), or these repeated.
/// front and back are channels before the first and after the last; with a constant only.
struct PadParams {
    Padding padding{};
    float value = 0.0F;
    PadMode mode = PadMode::constant;
    int front = 0, back = 0;

    [[nodiscard]] static constexpr std::string_view name() { return "pad"; }
    constexpr void each_field(auto const& visit) const {
        visit("padding", padding), visit("value", value), visit("mode", mode), visit("front", front),
            visit("back", back);
    }
    [[nodiscard]] constexpr Fault check(std::span<const Shape> inputs) const {
        if (inputs.size() != 1) return Fault::wrong_input_count;
        if (!impossible().empty()) return Fault::impossible_parameter;
        if (!within_bounds(std::int64_t{inputs[0].c} + front + back, detail::padded_h(inputs[0], padding),
                           detail::padded_w(inputs[0], padding))) {
            return Fault::too_large;
        }
        if (mode == PadMode::constant) return Fault::none;
        const bool beyond = padding.top >= inputs[0].h || padding.bottom >= inputs[0].h ||
                            padding.left >= inputs[0].w || padding.right >= inputs[0].w;
        return mode == PadMode::reflect && beyond ? Fault::padding_exceeds_input : Fault::none;
    }
    [[nodiscard]] constexpr std::string_view impossible() const {
        if (!detail::is_size_or_0(padding)) return "the padding must be from 0 to 2^29";
        if (!detail::is_size_or_0(front) || !detail::is_size_or_0(back)) {
            return "the channels in front and at the back must be from 0 to 2^29";
        }
        return mode != PadMode::constant && (front > 0 || back > 0)
                   ? "channels in front and at the back must be 0 unless padding with a constant"
                   : "";
    }
    [[nodiscard]] constexpr Shape output(std::span<const Shape> inputs) const {
        return {.c = inputs[0].c + front + back,
                .h = inputs[0].h + padding.top + padding.bottom,
                .w = inputs[0].w + padding.left + padding.right};
    }
    friend constexpr bool operator==(PadParams const&, PadParams const&) = default;
};

/// Channel shuffle of ShuffleNet (Zhang et al. 2018): channels as groups x rest, transposed.
struct ChannelShuffleParams {
    int groups = 2;

    [[nodiscard]] static constexpr std::string_view name() { return "channel_shuffle"; }
    constexpr void each_field(auto const& visit) const { visit("groups", groups); }
    [[nodiscard]] constexpr Fault check(std::span<const Shape> inputs) const {
        if (inputs.size() != 1) return Fault::wrong_input_count;
        if (!impossible().empty()) return Fault::impossible_parameter;
        return inputs[0].c % groups != 0 ? Fault::groups_do_not_divide : Fault::none;
    }
    [[nodiscard]] constexpr std::string_view impossible() const {
        return detail::is_size(groups) ? "" : "the groups must be from 1 to 2^29";
    }
    [[nodiscard]] constexpr Shape output(std::span<const Shape> inputs) const { return inputs[0]; }
    friend constexpr bool operator==(ChannelShuffleParams const&, ChannelShuffleParams const&) = default;
};

/// The elements [first, last) along an axis.
struct SliceParams {
    int first = 0, last = 1;
    Axis axis = Axis::c;

    [[nodiscard]] static constexpr std::string_view name() { return "slice"; }
    constexpr void each_field(auto const& visit) const {
        visit("first", first), visit("last", last), visit("axis", axis);
    }
    [[nodiscard]] constexpr Fault check(std::span<const Shape> inputs) const {
        if (inputs.size() != 1) return Fault::wrong_input_count;
        return first < 0 || last <= first || last > extent(inputs[0], axis) ? Fault::slice_outside : Fault::none;
    }
    [[nodiscard]] constexpr Shape output(std::span<const Shape> inputs) const {
        Shape shape = inputs[0];
        extent(shape, axis) = last - first;
        return shape;
    }
    friend constexpr bool operator==(SliceParams const&, SliceParams const&) = default;
};

enum class ResizeMode { nearest, linear };
/// Where pixel x of the result lies in the input, with scale = input size / result size:
/// - half_pixel: (x + 0.5) * scale - 0.5;
/// - pytorch_half_pixel: the same, but 0 where the result has one pixel;
/// - align_corners: x * (input size - 1) / (result size - 1);
/// - asymmetric: x * scale.
enum class ResizeCoordinates { half_pixel, pytorch_half_pixel, align_corners, asymmetric };
/// Which pixel is nearest to a place between two.
enum class ResizeRounding { round_prefer_floor, round_prefer_ceil, floor, ceil };

/// The image in another size, as ONNX's Resize: each channel by itself. Without antialiasing.
struct ResizeParams {
    Extent size;
    ResizeMode mode = ResizeMode::nearest;
    ResizeCoordinates coordinates = ResizeCoordinates::half_pixel;
    ResizeRounding rounding = ResizeRounding::round_prefer_floor;
    /// Input size / result size where a file gives a factor that leads to a size only after rounding; 0: of the sizes.
    float scale_h = 0.0F, scale_w = 0.0F;

    [[nodiscard]] static constexpr std::string_view name() { return "resize"; }
    constexpr void each_field(auto const& visit) const {
        visit("size", size), visit("mode", mode), visit("coordinates", coordinates), visit("rounding", rounding),
            visit("scale_h", scale_h), visit("scale_w", scale_w);
    }
    [[nodiscard]] constexpr Fault check(std::span<const Shape> inputs) const {
        if (inputs.size() != 1) return Fault::wrong_input_count;
        if (!impossible().empty()) return Fault::impossible_parameter;
        return within_bounds(inputs[0].c, size.h, size.w) ? Fault::none : Fault::too_large;
    }
    [[nodiscard]] constexpr std::string_view impossible() const {
        if (!detail::is_size(size)) return "the height and width of the result must be from 1 to 2^29";
        const bool scales =
            scale_h >= 0.0F && scale_w >= 0.0F && detail::is_finite(scale_h) && detail::is_finite(scale_w);
        return scales ? "" : "the scales must be finite and not negative";
    }
    [[nodiscard]] constexpr Shape output(std::span<const Shape> inputs) const {
        return {.c = inputs[0].c, .h = size.h, .w = size.w};
    }
    friend constexpr bool operator==(ResizeParams const&, ResizeParams const&) = default;
};

namespace layer {
struct Flatten {
    static constexpr FlattenParams params{};
};
struct Dropout {
    static constexpr DropoutParams params{};
};
template <Padding padding>
struct ZeroPad {
    static constexpr PadParams params{padding, 0.0F};
};
/// A border of one value, a std::ratio.
template <Padding padding, class Value>
struct ConstantPad {
    static constexpr PadParams params{padding, as_float<Value>};
};
/// A border that mirrors the image at its first and last pixels, which are not repeated.
template <Padding padding>
struct ReflectPad {
    static constexpr PadParams params{.padding = padding, .mode = PadMode::reflect};
};
/// A border that repeats the image's first and last pixels.
template <Padding padding>
struct ReplicatePad {
    static constexpr PadParams params{.padding = padding, .mode = PadMode::edge};
};
/// Channels of zeros before the first and after the last.
template <int front, int back>
struct ChannelPad {
    static constexpr PadParams params{.front = front, .back = back};
};
template <int groups>
struct ChannelShuffle {
    static constexpr ChannelShuffleParams params{groups};
};
/// The channels [first, last), or so many rows (Axis::h) or columns (Axis::w).
template <int first, int last, Axis axis = Axis::c>
struct Slice {
    static constexpr SliceParams params{first, last, axis};
};
/// The same elements, in chw order, as C x H x W.
template <int C, int H, int W>
struct Reshape {
    static constexpr ReshapeParams params{Shape{.c = C, .h = H, .w = W}};
};
/// The image in another size, as PyTorch's interpolate. Options: Bilinear (default: the nearest pixel), AlignCorners.
template <Extent size, class... Options>
struct Resize {
private:
    static constexpr void apply(ResizeParams& params, Bilinear) {
        params.mode = ResizeMode::linear;
        if (params.coordinates == ResizeCoordinates::asymmetric) params.coordinates = ResizeCoordinates::half_pixel;
    }
    static constexpr void apply(ResizeParams& params, AlignCorners) {
        params.coordinates = ResizeCoordinates::align_corners;
    }
    template <class Other>
    static constexpr void apply(ResizeParams&, Other) {
        static_assert(sizeof(Other) == 0,
                      "primsel: Resize and Upsample have no such option; they have Bilinear and AlignCorners: see "
                      "docs/layer/layers.md");
    }

public:
    static constexpr ResizeParams params = [] {
        ResizeParams result{
            .size = size, .coordinates = ResizeCoordinates::asymmetric, .rounding = ResizeRounding::floor};
        (apply(result, Options{}), ...);
        static_assert((std::same_as<Options, Bilinear> || ...) || !(std::same_as<Options, AlignCorners> || ...),
                      "primsel: AlignCorners goes with Bilinear: see docs/layer/layers.md");
        return result;
    }();
};
}  // namespace layer

}  // namespace primsel::inline PRIMSEL_ABI

#include <string_view>
#include <variant>

namespace primsel::inline PRIMSEL_ABI {

/// The parameters of any layer.
using AnyLayer =
    std::variant<InputParams, ConvParams, PoolParams, GlobalPoolParams, ActivationParams, LrnParams, BatchNormParams,
                 ScaleParams, DenseParams, SoftmaxParams, AddParams, ConcatParams, FlattenParams, DropoutParams,
                 PadParams, ChannelShuffleParams, SliceParams, ConstantParams, ReshapeParams, AsStridedParams,
                 BinaryParams, MatMulParams, ReduceParams, ResizeParams, MaxPoolIndicesParams, ConvTransposeParams,
                 TopKParams, NonMaxSuppressionParams, GatherParams>;

[[nodiscard]] constexpr std::string_view kind(AnyLayer const& layer) {
    return std::visit([](auto const& params) { return std::string_view(params.name()); }, layer);
}

}  // namespace primsel::inline PRIMSEL_ABI
// primsel/op/op_args.hpp

#include <cstddef>
#include <span>

namespace primsel::inline PRIMSEL_ABI {

/// What an op works on. Every tensor is a batch of images, one after the other, all in the op's one layout.
struct OpArgs {
    std::span<const float* const> src;
    std::span<const Shape> src_shape;
    float* dst = nullptr;
    Shape dst_shape;
    int batch = 1;
    /// Where the first of them stands among all images of a run, which may come one by one.
    std::size_t first_image = 0;
    /// What pack wrote; null for an op without weights.
    const float* weights = nullptr;
    /// Of the result; only for dense layers and sums.
    Clamp clamp{};
    ExecutorRef executor;
};

/// The weights of a layer as they are stored: the kernel of dense is k x (c * h * w) in chw order; of batch norm and
/// scale it is the factor of each channel, with the shift as bias. An absent bias is empty; whoever fills this has
/// checked the sizes.
struct OpWeights {
    std::span<const float> kernel;
    std::span<const float> bias;
};

}  // namespace primsel::inline PRIMSEL_ABI
// primsel/primitive/conv_args.hpp

// primsel/primitive/conv_shape.hpp

#include <compare>
#include <cstddef>
#include <string>

namespace primsel::inline PRIMSEL_ABI {

/// Everything that decides how a convolution may be computed and what it costs: the one description used everywhere.
/// The kernel is k x c/groups x fh x fw; the input one image of c x h x w. How many there are, queries say.
struct ConvShape {
    int c = 1, k = 1;
    int h = 1, w = 1;
    int fh = 1, fw = 1;
    int stride_h = 1, stride_w = 1;
    int pad_top = 0, pad_bottom = 0, pad_left = 0, pad_right = 0;
    int dilation_h = 1, dilation_w = 1;
    int groups = 1;

    /// Rows and columns of the input that one output element depends on.
    [[nodiscard]] constexpr int span_h() const { return (fh - 1) * dilation_h + 1; }
    [[nodiscard]] constexpr int span_w() const { return (fw - 1) * dilation_w + 1; }
    [[nodiscard]] constexpr int padded_h() const { return h + pad_top + pad_bottom; }
    [[nodiscard]] constexpr int padded_w() const { return w + pad_left + pad_right; }
    [[nodiscard]] constexpr int out_h() const { return (padded_h() - span_h()) / stride_h + 1; }
    [[nodiscard]] constexpr int out_w() const { return (padded_w() - span_w()) / stride_w + 1; }
    [[nodiscard]] constexpr int group_c() const { return c / groups; }
    [[nodiscard]] constexpr int group_k() const { return k / groups; }

    [[nodiscard]] constexpr Shape in_shape() const { return {.c = c, .h = h, .w = w}; }
    [[nodiscard]] constexpr Shape out_shape() const { return {.c = k, .h = out_h(), .w = out_w()}; }
    [[nodiscard]] constexpr std::size_t in_pixels() const { return in_shape().pixels(); }
    [[nodiscard]] constexpr std::size_t out_pixels() const { return out_shape().pixels(); }
    [[nodiscard]] constexpr int taps() const { return fh * fw; }
    /// Values that each output element sums over.
    [[nodiscard]] constexpr int depth() const { return taps() * group_c(); }
    [[nodiscard]] constexpr std::size_t kernel_size() const {
        return static_cast<std::size_t>(k) * static_cast<std::size_t>(depth());
    }

    [[nodiscard]] constexpr bool strided() const { return stride_h != 1 || stride_w != 1; }
    [[nodiscard]] constexpr bool dilated() const { return dilation_h != 1 || dilation_w != 1; }
    [[nodiscard]] constexpr bool padded() const {
        return pad_top != 0 || pad_bottom != 0 || pad_left != 0 || pad_right != 0;
    }
    /// Whether the shape describes a convolution at all.
    [[nodiscard]] constexpr bool valid() const {
        return c > 0 && k > 0 && h > 0 && w > 0 && fh > 0 && fw > 0 && stride_h > 0 && stride_w > 0 && pad_top >= 0 &&
               pad_bottom >= 0 && pad_left >= 0 && pad_right >= 0 && dilation_h > 0 && dilation_w > 0 && groups > 0 &&
               c % groups == 0 && k % groups == 0 && span_h() <= padded_h() && span_w() <= padded_w();
    }
    /// Floating-point operations of the direct algorithm for an image: two for each multiply-add.
    [[nodiscard]] constexpr double operations() const { return 2.0 * static_cast<double>(out_pixels()) * k * depth(); }
    /// In some order.
    friend constexpr auto operator<=>(ConvShape const&, ConvShape const&) = default;
};

/// "64x56x56 -> 64x56x56, 3x3" and whatever is not usual: strides, paddings, dilation, groups.
[[nodiscard]] inline std::string to_string(ConvShape const& s) {
    const auto pair = [](int a, int b) { return std::to_string(a) + 'x' + std::to_string(b); };
    std::string text = to_string(s.in_shape()) + " -> " + to_string(s.out_shape()) + ", " + pair(s.fh, s.fw);
    if (s.strided()) text += ", stride " + pair(s.stride_h, s.stride_w);
    if (s.padded()) {
        text += ", pad " + std::to_string(s.pad_top);
        if (s.pad_bottom != s.pad_top || s.pad_left != s.pad_top || s.pad_right != s.pad_top) {
            text += ',' + std::to_string(s.pad_bottom) + ',' + std::to_string(s.pad_left) + ',' +
                    std::to_string(s.pad_right);
        }
    }
    if (s.dilated()) text += ", dilation " + pair(s.dilation_h, s.dilation_w);
    if (s.groups != 1) text += ", groups " + std::to_string(s.groups);
    return text;
}
/// The same of so many images.
[[nodiscard]] inline std::string to_string(ConvShape const& s, int batch) {
    return to_string(s) + (batch == 1 ? "" : ", batch " + std::to_string(batch));
}

}  // namespace primsel::inline PRIMSEL_ABI

#include <cstddef>
#include <string_view>

namespace primsel::inline PRIMSEL_ABI {

/// The families of papers' table 6 (Mulder et al. 2020), and `other` for what they do not have.
enum class Family { direct, im2, kn2, wino3, wino5, conv_1x1, mec, other };

[[nodiscard]] constexpr std::string_view to_string_view(Family family) {
    constexpr std::string_view names[] = {"direct", "im2", "kn2", "wino3", "wino5", "conv-1x1", "mec", "other"};
    return names[static_cast<std::size_t>(family)];
}

/// Yes, or no with a reason that a user can read ("needs stride 1").
class Support {
public:
    [[nodiscard]] static constexpr Support yes() { return Support(nullptr); }
    /// The reason must be a string literal.
    [[nodiscard]] static constexpr Support no(const char* reason) { return Support(reason); }

    constexpr explicit operator bool() const { return reason_ == nullptr; }
    /// Empty for yes.
    [[nodiscard]] constexpr std::string_view reason() const { return reason_ == nullptr ? "" : reason_; }

private:
    constexpr explicit Support(const char* reason) : reason_(reason) {}
    const char* reason_;
};

/// What a primitive works on: one image, and what the convolution does to its result,
/// dst = clamp(conv(src) + bias + residual).
struct ConvArgs {
    const float* src = nullptr;
    /// As pack wrote them.
    const float* weights = nullptr;
    /// k values, or null.
    const float* bias = nullptr;
    /// Laid out as dst, or null. Never overlaps dst.
    const float* residual = nullptr;
    Clamp clamp{};
    float* dst = nullptr;
    /// Floats from a pixel of dst to the next, where they are not k: only for primitives with strided_output, and
    /// without a residual.
    std::size_t dst_stride = 0;
    /// scratch_floats floats, aligned to a cache line.
    float* scratch = nullptr;
    ExecutorRef executor;

    [[nodiscard]] std::size_t pixel_stride(ConvShape const& shape) const {
        return dst_stride != 0 ? dst_stride : static_cast<std::size_t>(shape.k);
    }
};

}  // namespace primsel::inline PRIMSEL_ABI
// primsel/primitive/work.hpp

#include <array>
#include <cstddef>

namespace primsel::inline PRIMSEL_ABI {

/// Which of the machine's speeds bounds the arithmetic of a phase.
enum class Rate {
    gemm,       ///< register-tiled multiply-adds: near the FMA peak
    registers,  ///< vector additions and multiplications of what registers hold
    vector,     ///< vector arithmetic on streamed data
    scalar,     ///< one element at a time
};

/// One step of an algorithm, as a roofline sees it.
struct Phase {
    Rate rate = Rate::vector;
    double operations = 0;   ///< those really executed, padding of tiles and vectors included
    double bytes = 0;        ///< read and written
    double working_set = 0;  ///< bytes that are touched again and again: decides which memory level feeds the phase
};

/// What a primitive does for one image: up to six phases, one after the other. An analytical cost model prices it.
struct Work {
    std::array<Phase, 6> phases{};
    std::size_t count = 0;

    constexpr Work& add(Phase const& phase) {
        phases[count++] = phase;
        return *this;
    }
    [[nodiscard]] constexpr auto begin() const { return phases.begin(); }
    [[nodiscard]] constexpr auto end() const { return phases.begin() + static_cast<std::ptrdiff_t>(count); }
    /// Another's phases, each gone through `times` times on the same working set.
    constexpr Work& append(Work const& other, double times) {
        for (Phase phase : other) {
            phase.operations *= times;
            phase.bytes *= times;
            add(phase);
        }
        return *this;
    }
};

}  // namespace primsel::inline PRIMSEL_ABI

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

namespace primsel::inline PRIMSEL_ABI {

/// A primitive compiled for one Arch, behind function pointers: what planning and execution know of it.
struct PrimitiveEntry {
    std::string_view id;
    Family family;
    /// Positions in the list of layouts.
    std::size_t in_layout, out_layout;
    bool fuses_epilogue, strided_output;
    double error_bound;
    Support (*supports)(ConvShape const&);
    // Null where supports says no to every shape.
    std::size_t (*scratch_bytes)(ConvShape const&, std::size_t workers) = nullptr;
    std::size_t (*packed_bytes)(ConvShape const&) = nullptr;
    void (*pack)(ConvShape const&, const float* kernel, float* dst) = nullptr;
    /// One image.
    void (*run)(ConvShape const&, ConvArgs const&) noexcept = nullptr;
    Work (*work)(ConvShape const&) = nullptr;
};

/// An op compiled for one Arch and layout, behind function pointers. Null pointers: run where there is no such op (an
/// input, a constant, a convolution), not in this layout or not compiled, and pack where it has no weights.
struct OpEntry {
    bool in_place = false;
    double (*operations)(AnyLayer const&, std::span<const Shape>, Shape) = nullptr;
    void (*run)(AnyLayer const&, OpArgs const&) noexcept = nullptr;
    std::size_t (*packed_bytes)(AnyLayer const&, Shape) = nullptr;
    void (*pack)(AnyLayer const&, Shape, OpWeights const&, float*) = nullptr;
};

/// One entry for each alternative of AnyLayer, in its order.
using OpTable = std::array<OpEntry, std::variant_size_v<AnyLayer>>;

/// A layout and what runs in it.
struct LayoutEntry {
    std::string_view name;
    std::size_t element_bytes;
    /// Elements of an image, padding included.
    std::size_t (*size)(Shape);
    OpTable const& (*ops)();
    /// Stores values that come in chw order.
    void (*from_chw)(Shape, const float* src, float* dst, ExecutorRef) noexcept;
    /// What follows a convolution that fuses nothing; null in a layout that is not strided.
    void (*epilogue)(Shape, int batch, float* data, const float* bias, const float* residual, Clamp,
                     ExecutorRef) noexcept;

    [[nodiscard]] std::size_t image_bytes(Shape shape) const { return size(shape) * element_bytes; }
};

/// The change from one layout to another.
struct TransformEntry {
    void (*run)(Shape, const float* src, float* dst, ExecutorRef) noexcept;
    /// Whether both place every element of the shape alike, so that nothing need run.
    bool (*same_placement)(Shape);
    Work (*work)(Shape);
};

namespace detail {
template <class Entry>
[[nodiscard]] std::optional<std::size_t> position_of(std::span<const Entry> entries, std::string_view Entry::*key,
                                                     std::string_view wanted) {
    for (std::size_t i = 0; i < entries.size(); ++i) {
        if (entries[i].*key == wanted) return i;
    }
    return std::nullopt;
}
template <class Entry>
[[noreturn]] void fail_to_find(std::string_view what, std::string_view wanted, std::span<const Entry> entries,
                               std::string_view Entry::*key) {
    std::string known;
    for (Entry const& entry : entries) known += (known.empty() ? "" : ", ") + std::string(entry.*key);
    fail("kernels: no ", what, " is named ", wanted, "; there are ", known);
}
}  // namespace detail

/// Everything that a plan may choose from, compiled for one Arch. Primitives, layouts and layout pairs are known by
/// their positions.
struct Kernels {
    std::span<const PrimitiveEntry> primitives;
    std::span<const LayoutEntry> layouts;
    std::span<const TransformEntry> transforms;
    std::string_view arch;
    /// The speeds of the machine with that Arch, measured at the first call.
    Machine const& (*machine)() = nullptr;

    /// The position of a primitive. Throws error, saying which there are, where there is none of that id.
    [[nodiscard]] std::size_t find(std::string_view id) const {
        if (const auto found = find_if_any(id)) return *found;
        detail::fail_to_find("primitive", id, primitives, &PrimitiveEntry::id);
    }
    [[nodiscard]] std::optional<std::size_t> find_if_any(std::string_view id) const {
        return detail::position_of(primitives, &PrimitiveEntry::id, id);
    }
    /// The position of a layout. Throws error, saying which there are, where there is none of that name.
    [[nodiscard]] std::size_t find_layout(std::string_view name) const {
        if (const auto found = find_layout_if_any(name)) return *found;
        detail::fail_to_find("layout", name, layouts, &LayoutEntry::name);
    }
    [[nodiscard]] std::optional<std::size_t> find_layout_if_any(std::string_view name) const {
        return detail::position_of(layouts, &LayoutEntry::name, name);
    }

    [[nodiscard]] TransformEntry const& transform(std::size_t from, std::size_t to) const {
        return transforms[from * layouts.size() + to];
    }
    [[nodiscard]] bool same_placement(Shape shape, std::size_t from, std::size_t to) const {
        return transform(from, to).same_placement(shape);
    }
    /// The op of a layer in a layout.
    [[nodiscard]] OpEntry const& op(AnyLayer const& layer, std::size_t layout) const {
        return layouts[layout].ops()[layer.index()];
    }
};

}  // namespace primsel::inline PRIMSEL_ABI

#include <concepts>
#include <cstddef>
#include <span>
#include <string_view>

namespace primsel::inline PRIMSEL_ABI {

/// What would this primitive take for this convolution (all images of the batch, without bias and activation)?
struct ConvQuery {
    ConvShape shape;
    std::size_t primitive;
    int batch = 1;
};
/// What would changing a tensor from one layout to another take?
struct TransformQuery {
    Shape shape;
    int batch;
    std::size_t from, to;
};
/// What would this other layer take in this layout? A ConvParams layer stands for the pass that adds its bias and its
/// residual, the second input where there is one, and clamps, after a primitive that does not.
struct OpQuery {
    AnyLayer const* layer;
    std::span<const Shape> inputs;
    Shape output;
    int batch;
    std::size_t layout;
};

/// Predicts seconds. Each call answers a batch of questions of one kind, seconds[i] for queries[i]: >= 0, or infinite
/// where the model has no price, which forbids it. May throw error, as set-up may.
template <class M>
concept CostModel =
    requires(M& model, Kernels const& kernels, std::span<const ConvQuery> convs,
             std::span<const TransformQuery> transforms, std::span<const OpQuery> ops, std::span<double> seconds) {
        { M::name } -> std::convertible_to<std::string_view>;
        model.predict(kernels, convs, seconds);
        model.predict(kernels, transforms, seconds);
        model.predict(kernels, ops, seconds);
    };

}  // namespace primsel::inline PRIMSEL_ABI
// primsel/pbqp/solver.hpp

// primsel/pbqp/problem.hpp

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

/// The cost of each pair of alternatives of two nodes, row-major. Infinity forbids a pair.
struct PbqpMatrix {
    std::size_t rows = 0, columns = 0;
    std::vector<double> values;

    [[nodiscard]] double operator()(std::size_t row, std::size_t column) const {
        return values[row * columns + column];
    }
    friend bool operator==(PbqpMatrix const&, PbqpMatrix const&) = default;
};

/// Partitioned Boolean quadratic programming (Hames and Scholz 2006): every node takes one of its alternatives, at a
/// cost; every edge costs what its matrix has for the two alternatives taken. Costs are >= 0 or infinite.
class PbqpProblem {
public:
    struct Edge {
        std::size_t u, v;
        std::size_t matrix;  ///< rows: alternatives of u; columns: of v
    };

    /// Returns the node's number. Throws error when there is no alternative or a cost is negative or not a number.
    std::size_t add_node(std::vector<double> costs) {
        if (costs.empty()) fail("pbqp: node ", nodes_.size(), " has no alternatives");
        check(costs, "node ", nodes_.size());
        nodes_.push_back(std::move(costs));
        return nodes_.size() - 1;
    }
    /// Equal matrices are stored once; returns the number of the stored one.
    std::size_t add_matrix(PbqpMatrix matrix) {
        if (matrix.values.size() != matrix.rows * matrix.columns) {
            fail("pbqp: ", matrix.values.size(), " values for a matrix of ", matrix.rows, "x", matrix.columns);
        }
        check(matrix.values, "matrix ", matrices_.size());
        const std::uint64_t key = hash(matrix);
        const auto [first, last] = pool_.equal_range(key);
        for (auto it = first; it != last; ++it) {
            if (matrices_[it->second] == matrix) return it->second;
        }
        pool_.emplace(key, matrices_.size());
        matrices_.push_back(std::move(matrix));
        return matrices_.size() - 1;
    }
    /// Edges between the same two nodes add up. Throws error when the matrix does not fit the nodes.
    void add_edge(std::size_t u, std::size_t v, std::size_t matrix) {
        if (u >= nodes_.size() || v >= nodes_.size() || matrix >= matrices_.size()) {
            fail("pbqp: edge ", u, "-", v, " with matrix ", matrix, " names what is not there");
        }
        if (u == v) fail("pbqp: node ", u, " has an edge to itself");
        PbqpMatrix const& m = matrices_[matrix];
        if (m.rows != nodes_[u].size() || m.columns != nodes_[v].size()) {
            fail("pbqp: edge ", u, "-", v, " needs a matrix of ", nodes_[u].size(), "x", nodes_[v].size(), ", not ",
                 m.rows, "x", m.columns);
        }
        edges_.push_back({u, v, matrix});
    }
    void add_edge(std::size_t u, std::size_t v, PbqpMatrix matrix) { add_edge(u, v, add_matrix(std::move(matrix))); }

    [[nodiscard]] std::size_t node_count() const { return nodes_.size(); }
    [[nodiscard]] std::vector<double> const& costs(std::size_t node) const { return nodes_[node]; }
    [[nodiscard]] std::vector<Edge> const& edges() const { return edges_; }
    [[nodiscard]] PbqpMatrix const& matrix(std::size_t number) const { return matrices_[number]; }
    [[nodiscard]] std::size_t matrix_count() const { return matrices_.size(); }

    /// The cost of an assignment: one alternative a node.
    [[nodiscard]] double cost(std::span<const std::size_t> choice) const {
        double sum = 0;
        for (std::size_t node = 0; node < nodes_.size(); ++node) sum += nodes_[node][choice[node]];
        for (Edge const& edge : edges_) sum += matrices_[edge.matrix](choice[edge.u], choice[edge.v]);
        return sum;
    }

private:
    static void check(std::vector<double> const& costs, std::string_view what, std::size_t number) {
        for (const double cost : costs) {
            if (!(cost >= 0)) fail("pbqp: ", what, number, " has the impossible cost ", cost);
        }
    }
    [[nodiscard]] static std::uint64_t hash(PbqpMatrix const& matrix) {
        std::uint64_t hash = matrix.rows * 31 + matrix.columns;
        for (const double value : matrix.values) {
            hash = (hash ^ std::bit_cast<std::uint64_t>(value + 0.0)) * 0x9e3779b97f4a7c15ULL;
            hash ^= hash >> 29;
        }
        return hash;
    }

    std::vector<std::vector<double>> nodes_;
    std::vector<Edge> edges_;
    std::vector<PbqpMatrix> matrices_;
    std::unordered_multimap<std::uint64_t, std::size_t> pool_;
};

}  // namespace primsel::inline PRIMSEL_ABI
// primsel/pbqp/solution.hpp

#include <cstddef>
#include <limits>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

/// An assignment and how it was found.
struct PbqpSolution {
    /// The alternative of each node.
    std::vector<std::size_t> choice;
    /// Infinite when the solver found no assignment that is allowed.
    double cost = std::numeric_limits<double>::infinity();
    /// Whether it is proven that no assignment is cheaper (but for rounding, a part in 10^12).
    bool optimal = false;
    /// No assignment costs less: `cost` where that is proven, 0 where nothing is known.
    double bound = 0;
    /// How often each reduction was applied, and how many alternatives of a core node branch and bound tried.
    std::size_t r0 = 0, ri = 0, rii = 0, rn = 0, branches = 0;

    /// How far above the optimum the cost may be, at most: 0.01 is one per cent. Infinite where nothing is known.
    [[nodiscard]] double gap() const { return optimal ? 0.0 : cost / bound - 1; }
    [[nodiscard]] bool feasible() const { return cost < std::numeric_limits<double>::infinity(); }
};

}  // namespace primsel::inline PRIMSEL_ABI

#include <concepts>
#include <string_view>

namespace primsel::inline PRIMSEL_ABI {

/// Assigns an alternative to every node of a problem, at the least cost it can find, and says whether that is proven to
/// be the least. Deterministic: of equals the lower number wins.
///
/// A minimal model:
///     struct First {
///         static constexpr std::string_view name = "first";
///         primsel::PbqpSolution solve(primsel::PbqpProblem const& problem) const {
///             std::vector<std::size_t> choice(problem.node_count(), 0);
///             return {.choice = choice, .cost = problem.cost(choice)};
///         }
///     };
template <class S>
concept Solver = requires(S const& solver, PbqpProblem const& problem) {
    { S::name } -> std::convertible_to<std::string_view>;
    { solver.solve(problem) } -> std::same_as<PbqpSolution>;
};

}  // namespace primsel::inline PRIMSEL_ABI
// primsel/plan/conv_shape_of.hpp

// primsel/network/graph.hpp

// primsel/network/epilogue.hpp

#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

/// An affine layer that simplify has folded into the convolution or dense layer before it: its weights are multiplied
/// in when the weights are prepared.
struct Folded {
    std::string name;
    std::variant<BatchNormParams, ScaleParams> layer;
    friend bool operator==(Folded const&, Folded const&) = default;
};

/// What is done to a layer's result before it is stored, in the order of the members. simplify fuses it from the layers
/// that follow; epilogue_parts tells which layers may have which part.
struct Epilogue {
    /// In the order in which they apply.
    std::vector<Folded> folded{};
    /// The layer's last input is added to the result.
    bool residual = false;
    Clamp clamp{};
    friend bool operator==(Epilogue const&, Epilogue const&) = default;
};

/// Which parts of an epilogue a kind of layer may have: convolutions all, dense layers all but a residual, sums a
/// clamp.
struct EpilogueParts {
    bool folded = false, residual = false, clamp = false;
};
[[nodiscard]] constexpr EpilogueParts epilogue_parts(AnyLayer const& layer) {
    const bool conv = std::holds_alternative<ConvParams>(layer), dense = std::holds_alternative<DenseParams>(layer);
    return {
        .folded = conv || dense, .residual = conv, .clamp = conv || dense || std::holds_alternative<AddParams>(layer)};
}

namespace detail {

/// The first part of the epilogue that the layer may not have, in words; empty when there is none.
[[nodiscard]] inline std::string_view excess(Epilogue const& epilogue, EpilogueParts may) {
    if (epilogue.residual && !may.residual) return "a residual";
    if (epilogue.clamp.bounded() && !may.clamp) return "a clamp";
    return epilogue.folded.empty() || may.folded ? "" : "folded layers";
}

}  // namespace detail

}  // namespace primsel::inline PRIMSEL_ABI

#include <cstddef>
#include <iosfwd>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

[[nodiscard]] inline Fault check(AnyLayer const& layer, std::span<const Shape> inputs) {
    return std::visit([&](auto const& params) { return params.check(inputs); }, layer);
}
/// What a fault means for the layer: of an impossible parameter, which one it is; and the shape that the layer asks
/// for.
[[nodiscard]] inline std::string message(AnyLayer const& layer, Fault fault) {
    std::string text(message(fault));
    if (fault != Fault::impossible_parameter && fault != Fault::too_large) return text;
    std::visit(
        [&]<class Params>([[maybe_unused]] Params const& params) {
            if constexpr (requires { params.impossible(); }) {
                if (fault == Fault::impossible_parameter) text = params.impossible();
            }
            if constexpr (requires { params.shape; }) text += join("; the shape is ", params.shape);
        },
        layer);
    return text;
}
[[nodiscard]] inline Shape output(AnyLayer const& layer, std::span<const Shape> inputs) {
    return std::visit([&](auto const& params) { return params.output(inputs); }, layer);
}

/// A layer in its place: its name (which is also that of its weights), its inputs and its output shape.
struct Node {
    std::string name;
    AnyLayer layer;
    /// Positions in the graph, all before this one's.
    std::vector<std::size_t> inputs;
    Shape shape;
    Epilogue epilogue;
    friend bool operator==(Node const&, Node const&) = default;
};

/// What to compute: layers in an order in which they can run. The only intermediate representation; a plain value. Its
/// results are those of some of its nodes: the last, unless told otherwise.
class Graph {
public:
    /// Images that run together, all through the graph.
    explicit Graph(int batch = 1) : batch_(batch) {
        if (batch < 1) fail("graph: impossible batch ", batch);
    }

    /// Appends a layer and returns its position. Throws error, naming the layer and the shapes, when the name is taken,
    /// the layer does not fit its inputs, or cannot have such an epilogue.
    std::size_t add(std::string name, AnyLayer layer, std::vector<std::size_t> inputs, Epilogue epilogue = {}) {
        std::vector<Shape> shapes;
        for (const std::size_t input : inputs) {
            if (input >= nodes_.size()) fail("graph: layer ", name, " reads a layer that does not come before it");
            shapes.push_back(nodes_[input].shape);
        }
        const std::string_view excess = detail::excess(epilogue, epilogue_parts(layer));
        if (!excess.empty()) fail("graph: layer ", name, " (", kind(layer), ") cannot have ", excess);
        // What the layer itself reads.
        std::span<const Shape> own(shapes);
        if (epilogue.residual && !own.empty()) own = own.first(own.size() - 1);
        Fault fault = primsel::check(layer, own);
        if (fault == Fault::none && epilogue.residual && shapes.back() != output(layer, own))
            fault = Fault::shapes_differ;
        const bool batched = fault == Fault::none && too_large(output(layer, own));
        if (batched) fault = Fault::too_large;
        if (fault != Fault::none) {
            std::string list;
            for (Shape const& shape : shapes) list += (list.empty() ? "" : ", ") + to_string(shape);
            fail("graph: layer ", name, " (", kind(layer), ") on ", list.empty() ? "nothing" : list, ": ",
                 message(layer, fault), batched ? join(", in a batch of ", batch_) : "");
        }
        if (!positions_.emplace(name, nodes_.size()).second) fail("graph: two layers are named ", name);
        const Shape shape = output(layer, own);
        nodes_.push_back({std::move(name), std::move(layer), std::move(inputs), shape, std::move(epilogue)});
        return nodes_.size() - 1;
    }

    [[nodiscard]] std::vector<Node> const& nodes() const { return nodes_; }
    [[nodiscard]] Node const& operator[](std::size_t position) const { return nodes_[position]; }
    [[nodiscard]] std::size_t size() const { return nodes_.size(); }
    [[nodiscard]] int batch() const { return batch_; }

    /// Position of the layer. Throws error when there is none.
    [[nodiscard]] std::size_t find(std::string_view name) const {
        const auto found = positions_.find(std::string(name));
        if (found == positions_.end()) fail("graph: no layer is named ", name);
        return found->second;
    }
    /// Positions of the inputs, in their order.
    [[nodiscard]] std::vector<std::size_t> inputs() const {
        std::vector<std::size_t> inputs;
        for (std::size_t i = 0; i < nodes_.size(); ++i) {
            if (std::holds_alternative<InputParams>(nodes_[i].layer)) inputs.push_back(i);
        }
        return inputs;
    }
    /// Positions of the nodes whose results are the graph's, in the order of the results. Throws error when there are
    /// no layers.
    [[nodiscard]] std::vector<std::size_t> outputs() const {
        if (!outputs_.empty()) return outputs_;
        if (nodes_.empty()) fail("graph: no layers");
        return {nodes_.size() - 1};
    }
    /// Throws error when there are none, or a position that no layer has.
    void set_outputs(std::vector<std::size_t> outputs) {
        if (outputs.empty()) fail("graph: no outputs");
        for (const std::size_t output : outputs) {
            if (output >= nodes_.size()) fail("graph: an output of a layer that is not there");
        }
        outputs_ = std::move(outputs);
    }
    /// The position of the one image. Throws error when the graph has not exactly one input.
    [[nodiscard]] std::size_t input() const {
        const std::vector<std::size_t> all = inputs();
        if (all.empty()) fail("graph: no input");
        if (all.size() > 1) fail("graph: two inputs, ", nodes_[all[0]].name, " and ", nodes_[all[1]].name);
        return all[0];
    }
    /// The position of the one result. Throws error when the graph has several.
    [[nodiscard]] std::size_t output_node() const {
        const std::vector<std::size_t> all = outputs();
        if (all.size() > 1) fail("graph: two outputs, ", nodes_[all[0]].name, " and ", nodes_[all[1]].name);
        return all[0];
    }
    /// How many inputs read each node; each result of the graph counts as read once more.
    [[nodiscard]] std::vector<std::size_t> uses() const {
        std::vector<std::size_t> uses(nodes_.size(), 0);
        for (Node const& node : nodes_) {
            for (const std::size_t input : node.inputs) ++uses[input];
        }
        if (nodes_.empty()) return uses;
        for (const std::size_t output : outputs()) ++uses[output];
        return uses;
    }
    [[nodiscard]] std::vector<Shape> input_shapes(std::size_t position) const {
        std::vector<Shape> shapes;
        for (const std::size_t input : nodes_[position].inputs) shapes.push_back(nodes_[input].shape);
        return shapes;
    }

    friend bool operator==(Graph const& a, Graph const& b) {
        if (a.batch_ != b.batch_ || a.nodes_ != b.nodes_) return false;
        return a.nodes_.empty() || a.outputs() == b.outputs();
    }

private:
    /// All images of the batch together.
    [[nodiscard]] bool too_large(Shape const& shape) const {
        return bounded_product({batch_, shape.c, shape.h, shape.w}) > max_floats;
    }

    int batch_;
    std::vector<Node> nodes_;
    std::vector<std::size_t> outputs_;  // empty: the last node
    std::unordered_map<std::string, std::size_t> positions_;
};

/// A line a layer: name, kind, inputs, output shape.
inline std::ostream& operator<<(std::ostream& out, Graph const& graph) {
    for (Node const& node : graph.nodes()) {
        out << node.name << ": " << kind(node.layer);
        const char* separator = "(";
        for (const std::size_t input : node.inputs) {
            out << separator << graph[input].name;
            separator = ", ";
        }
        out << (node.inputs.empty() ? "" : ")") << " -> " << to_string(node.shape) << '\n';
    }
    return out;
}

}  // namespace primsel::inline PRIMSEL_ABI

#include <cstddef>
#include <variant>

namespace primsel::inline PRIMSEL_ABI {

/// A convolution layer on an input, as primitives know it.
[[nodiscard]] constexpr ConvShape conv_shape_of(ConvParams const& conv, Shape input) {
    return {.c = input.c,
            .k = conv.k,
            .h = input.h,
            .w = input.w,
            .fh = conv.kernel.h,
            .fw = conv.kernel.w,
            .stride_h = conv.stride.h,
            .stride_w = conv.stride.w,
            .pad_top = conv.padding.top,
            .pad_bottom = conv.padding.bottom,
            .pad_left = conv.padding.left,
            .pad_right = conv.padding.right,
            .dilation_h = conv.dilation.h,
            .dilation_w = conv.dilation.w,
            .groups = conv.groups};
}
/// That of a layer of a graph, which must be a convolution.
[[nodiscard]] inline ConvShape conv_shape_of(Graph const& graph, std::size_t conv) {
    return conv_shape_of(std::get<ConvParams>(graph[conv].layer), graph[graph[conv].inputs[0]].shape);
}

}  // namespace primsel::inline PRIMSEL_ABI
// primsel/plan/detail/formulation.hpp

// primsel/plan/detail/pricing.hpp

// primsel/plan/plan.hpp

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

/// What a plan was made for. A plan is good for nothing else: other weights are fine, another network, primitive list,
/// library or processor is not.
struct PlanKey {
    std::string network;     ///< fingerprint of the simplified graph
    std::string primitives;  ///< fingerprint of the primitives and layouts
    std::string version;     ///< of the library
    std::string arch;        ///< instruction set
    std::string cpu;         ///< the processor's name
    friend bool operator==(PlanKey const&, PlanKey const&) = default;
};

/// One way to compute a convolution: its predicted seconds, or the reason why it is not one.
struct Candidate {
    std::string primitive;
    double seconds = 0;
    std::string refusal;
    friend bool operator==(Candidate const&, Candidate const&) = default;
};

/// A layer of the plan.
struct PlannedLayer {
    std::string name;
    std::string kind;
    /// Input and output extents, and for a convolution all that its cost depends on.
    std::string shape;
    /// Empty for a layer that is not a convolution.
    std::string primitive;
    std::string in_layout, out_layout;
    double seconds = 0;
    /// The cheapest first, then the refused; empty for a layer that is not a convolution.
    std::vector<Candidate> candidates;
    friend bool operator==(PlannedLayer const&, PlannedLayer const&) = default;
};

/// A change of layout between two layers; `reader` is empty for the network's result.
struct PlannedTransform {
    std::string writer, reader;
    std::string shape;
    std::string from, to;
    double seconds = 0;
    friend bool operator==(PlannedTransform const&, PlannedTransform const&) = default;
};

/// Which primitive and layout each layer uses, and why. A plain value: print it, explain it, save it.
class Plan {
public:
    PlanKey key;
    std::string cost_model, solver;
    std::vector<PlannedLayer> layers;
    std::vector<PlannedTransform> transforms;
    /// Predicted, for one run.
    double total_seconds = 0;
    /// Whether no cheaper assignment exists, as far as the predictions are right.
    bool optimal = false;
    /// No assignment is predicted to take less; 0 where nothing is known of that.
    double bound_seconds = 0;
    /// Spent making it.
    double predict_seconds = 0, solve_seconds = 0;

    /// Throws error when no layer has the name, and says which have.
    [[nodiscard]] PlannedLayer const& layer(std::string_view name) const {
        std::string names;
        for (PlannedLayer const& layer : layers) {
            if (layer.name == name) return layer;
            names += (names.empty() ? "" : ", ") + layer.name;
        }
        fail("plan: no layer is named ", name, "; there are ", names);
    }
    /// What is known of how good the solution is, in words: "proven optimal", "within 0.9 % of optimal", ...
    [[nodiscard]] std::string optimality() const;
    /// Every candidate of a layer with its predicted cost or refusal, as a table. Throws error as layer does.
    [[nodiscard]] std::string explain(std::string_view name) const;

    friend bool operator==(Plan const&, Plan const&) = default;
};

}  // namespace primsel::inline PRIMSEL_ABI
// primsel/plan/plan_options.hpp

#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

/// A primitive that a layer must not use, and why.
struct Refused {
    std::string layer, primitive, reason;
};

/// What a plan may use.
struct PlanOptions {
    /// A uniform plan: only primitives of this family; where none of them can compute the layer, im2, which can compute
    /// any.
    std::optional<Family> family = std::nullopt;
    /// The same with a single primitive.
    std::string primitive = {};
    /// The largest error bound (relative to the RMS of a layer's output) that a primitive may have.
    double max_error = std::numeric_limits<double>::infinity();
    /// The largest arena in bytes: whoever packs and books sees to it (engine/fit.hpp).
    std::size_t max_arena = std::numeric_limits<std::size_t>::max();
    std::vector<Refused> refused = {};
};

}  // namespace primsel::inline PRIMSEL_ABI

#include <algorithm>
#include <cstddef>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

namespace detail {

/// One way to run a node: a primitive with its layouts, or an op in a layout.
struct Alternative {
    std::size_t primitive = 0;
    std::size_t in_layout = 0, out_layout = 0;
    double seconds = 0;
};

/// Whether a pass of its own must add bias and residual and clamp after the primitive.
[[nodiscard]] inline bool needs_pass(PrimitiveEntry const& entry, Node const& node) {
    const bool epilogue = std::get<ConvParams>(node.layer).bias || node.epilogue != Epilogue{};
    return epilogue && !entry.fuses_epilogue;
}

/// The questions to a cost model and its answers, all of a kind at once.
template <CostModel Model>
class Pricing {
public:
    Pricing(Graph const& graph, Kernels const& kernels, Model& model, PlanOptions const& options)
        : graph_(graph), kernels_(kernels), options_(options), alternatives(graph.size()), candidates(graph.size()) {
        check_options();
        check_refused();
        ask();
        conv_seconds_.resize(convs_.size());
        op_seconds_.resize(ops_.size());
        transform_seconds_.resize(transforms_.size());
        model.predict(kernels, std::span<const ConvQuery>(convs_), std::span(conv_seconds_));
        model.predict(kernels, std::span<const OpQuery>(ops_), std::span(op_seconds_));
        model.predict(kernels, std::span<const TransformQuery>(transforms_), std::span(transform_seconds_));
        answer();
    }

    /// Seconds of the change of layout of a node's result; 0 where nothing need move.
    [[nodiscard]] double transform_seconds(std::size_t node, std::size_t from, std::size_t to) const {
        const Shape shape = graph_[node].shape;
        if (kernels_.same_placement(shape, from, to)) return 0;
        return transform_seconds_[transform_index_.at({shape.c, shape.h, shape.w, from, to})];
    }

private:
    Graph const& graph_;
    Kernels const& kernels_;
    PlanOptions const& options_;

public:
    /// The ways to run each node that are worth considering: of those with the same layouts only the cheapest.
    std::vector<std::vector<Alternative>> alternatives;
    std::vector<std::vector<Candidate>> candidates;

private:
    static constexpr double infinite = std::numeric_limits<double>::infinity();

    void check_options() const {
        if (!(options_.max_error >= 0)) {
            fail("plan: max_error is ", options_.max_error, "; it must be a number that is not negative");
        }
        if (options_.primitive.empty()) return;
        PrimitiveEntry const& entry = kernels_.primitives[kernels_.find(options_.primitive)];
        if (options_.family && entry.family != *options_.family) {
            fail("plan: primitive ", options_.primitive, " is of family ", to_string_view(entry.family), ", not ",
                 to_string_view(*options_.family));
        }
    }
    void check_refused() const {
        for (Refused const& refused : options_.refused) {
            (void)graph_.find(refused.layer);
            (void)kernels_.find(refused.primitive);
        }
    }
    /// Throws error, saying what was asked, unless the answer is a cost; an infinite one says that there is no price.
    template <class... What>
    [[nodiscard]] static double priced(double seconds, What const&... what) {
        if (!(seconds >= 0)) fail("plan: cost model ", Model::name, " predicts ", seconds, " seconds for ", what...);
        return seconds;
    }
    void check_transforms() const {
        for (std::size_t i = 0; i < transforms_.size(); ++i) {
            if (transform_seconds_[i] >= 0) continue;
            TransformQuery const& query = transforms_[i];
            const auto node = std::ranges::find(graph_.nodes(), query.shape, &Node::shape);
            (void)priced(transform_seconds_[i], "changing ", query.shape, ", the result of layer ", node->name,
                         ", from layout ", kernels_.layouts[query.from].name, " to ", kernels_.layouts[query.to].name);
        }
    }
    /// How far a primitive is from what was asked for: 0 is that itself, 1 what stands in for it, 2 anything else.
    [[nodiscard]] int distance(PrimitiveEntry const& entry) const {
        const bool wanted = (!options_.family || entry.family == *options_.family) &&
                            (options_.primitive.empty() || entry.id == options_.primitive);
        return wanted ? 0 : entry.family == Family::im2 ? 1 : 2;
    }
    [[nodiscard]] std::string refusal(PrimitiveEntry const& entry, Node const& node, ConvShape const& shape,
                                      int nearest) const {
        if (const Support support = entry.supports(shape); !support) return std::string(support.reason());
        if (entry.error_bound > options_.max_error) return "its error bound exceeds the allowed error";
        if (needs_pass(entry, node) && kernels_.layouts[entry.out_layout].epilogue == nullptr) {
            return "its layout has no bias and activation";
        }
        for (Refused const& refused : options_.refused) {
            if (refused.layer == node.name && refused.primitive == entry.id) return refused.reason;
        }
        return distance(entry) > nearest ? "not asked for" : "";
    }
    void ask() {
        input_shapes_.reserve(graph_.size());
        for (std::size_t i = 0; i < graph_.size(); ++i) {
            Node const& node = graph_[i];
            input_shapes_.push_back(graph_.input_shapes(i));
            for (std::size_t from = 0; from < kernels_.layouts.size(); ++from) {
                for (std::size_t to = 0; to < kernels_.layouts.size(); ++to) {
                    if (kernels_.same_placement(node.shape, from, to)) continue;
                    const auto key = std::tuple{node.shape.c, node.shape.h, node.shape.w, from, to};
                    if (!transform_index_.emplace(key, transforms_.size()).second) continue;
                    transforms_.push_back({node.shape, graph_.batch(), from, to});
                }
            }
            if (std::holds_alternative<ConvParams>(node.layer)) {
                const ConvShape shape = conv_shape_of(graph_, i);
                int nearest = 2;
                for (PrimitiveEntry const& entry : kernels_.primitives) {
                    if (refusal(entry, node, shape, 2).empty()) nearest = std::min(nearest, distance(entry));
                }
                for (std::size_t p = 0; p < kernels_.primitives.size(); ++p) {
                    std::string reason = refusal(kernels_.primitives[p], node, shape, nearest);
                    if (reason.empty()) convs_.push_back({shape, p, graph_.batch()});
                    candidates[i].push_back({std::string(kernels_.primitives[p].id), 0, std::move(reason)});
                }
            }
            for (std::size_t layout = 0; layout < kernels_.layouts.size(); ++layout) {
                ops_.push_back({&node.layer, input_shapes_[i], node.shape, graph_.batch(), layout});
            }
        }
    }

    void answer() {
        check_transforms();
        std::size_t conv = 0;
        const std::size_t layouts = kernels_.layouts.size();
        for (std::size_t i = 0; i < graph_.size(); ++i) {
            Node const& node = graph_[i];
            const auto op_seconds = [&](std::size_t layout) {
                return priced(op_seconds_[i * layouts + layout], "layer ", node.name, " (", kind(node.layer), " -> ",
                              node.shape, ") in layout ", kernels_.layouts[layout].name);
            };
            if (std::holds_alternative<InputParams>(node.layer)) {
                alternatives[i].push_back({});  // images come in the first layout
            } else if (std::holds_alternative<ConstantParams>(node.layer)) {
                // Stored in whichever is wanted.
                for (std::size_t layout = 0; layout < layouts; ++layout) {
                    alternatives[i].push_back({0, layout, layout, 0.0});
                }
            } else if (std::holds_alternative<ConvParams>(node.layer)) {
                for (std::size_t p = 0; p < candidates[i].size(); ++p) {
                    Candidate& candidate = candidates[i][p];
                    if (!candidate.refusal.empty()) continue;
                    PrimitiveEntry const& entry = kernels_.primitives[p];
                    candidate.seconds = conv_seconds_[conv++];
                    if (!(candidate.seconds >= 0)) {
                        (void)priced(candidate.seconds, "primitive ", entry.id, " on layer ", node.name, " (",
                                     to_string(conv_shape_of(graph_, i), graph_.batch()), ")");
                    }
                    if (needs_pass(entry, node)) candidate.seconds += op_seconds(entry.out_layout);
                    if (candidate.seconds == infinite) {
                        candidate.seconds = 0;
                        candidate.refusal = "the cost model has no price for it";
                        continue;
                    }
                    consider(alternatives[i], {p, entry.in_layout, entry.out_layout, candidate.seconds});
                }
                if (alternatives[i].empty()) fail_for(node, i);
                sort(candidates[i]);
            } else {
                bool runs = false;
                for (std::size_t layout = 0; layout < layouts; ++layout) {
                    if (kernels_.op(node.layer, layout).run == nullptr) continue;
                    runs = true;
                    const double seconds = op_seconds(layout);
                    if (seconds < infinite) alternatives[i].push_back({0, layout, layout, seconds});
                }
                if (alternatives[i].empty()) {
                    fail("plan: layer ", node.name, " (", kind(node.layer), ") runs in none of the layouts",
                         runs ? join(" for which cost model ", Model::name, " has a price") : "");
                }
            }
        }
    }

    static void consider(std::vector<Alternative>& known, Alternative const& next) {
        for (Alternative& other : known) {
            if (other.in_layout != next.in_layout || other.out_layout != next.out_layout) continue;
            if (next.seconds < other.seconds) other = next;
            return;
        }
        known.push_back(next);
    }
    static void sort(std::vector<Candidate>& list) {
        std::vector<std::tuple<bool, double, std::size_t>> order;  // refused, seconds, place
        for (Candidate const& candidate : list) {
            const bool refused = !candidate.refusal.empty();
            order.emplace_back(refused, refused ? 0 : candidate.seconds, order.size());
        }
        std::ranges::sort(order);
        std::vector<Candidate> sorted;
        for (auto const& [refused, seconds, place] : order) sorted.push_back(std::move(list[place]));
        list = std::move(sorted);
    }
    [[noreturn]] void fail_for(Node const& node, std::size_t i) const {
        std::string reasons;
        for (Candidate const& candidate : candidates[i])
            reasons += "\n  " + candidate.primitive + ": " + candidate.refusal;
        fail("plan: no primitive can compute layer ", node.name, " (",
             to_string(conv_shape_of(graph_, i), graph_.batch()), ")", reasons);
    }

    std::vector<std::vector<Shape>> input_shapes_;
    std::vector<ConvQuery> convs_;
    std::vector<OpQuery> ops_;
    std::vector<TransformQuery> transforms_;
    std::vector<double> conv_seconds_, op_seconds_, transform_seconds_;
    std::map<std::tuple<int, int, int, std::size_t, std::size_t>, std::size_t> transform_index_;
};

}  // namespace detail

}  // namespace primsel::inline PRIMSEL_ABI

#include <algorithm>
#include <cstddef>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

namespace detail {

/// The layout in which a node reads its input at `position`: a convolution's residual is laid out as its result.
[[nodiscard]] inline std::size_t read_layout(Node const& node, std::size_t position, std::size_t in_layout,
                                             std::size_t out_layout) {
    return node.epilogue.residual && position + 1 == node.inputs.size() ? out_layout : in_layout;
}

/// A node's input that another node's result fills.
struct Reading {
    std::size_t reader, position;
};

/// Nodes are layers, alternatives their layout pairs, edges the changes of layout between them; results must leave in
/// the first layout. Readers that want the same layout share one copy: for a result with several readers a node of
/// its own chooses in which layouts it is there for them.
template <class Prices>
class Formulation {
public:
    Formulation(Graph const& graph, Prices const& prices) : graph_(graph), prices_(prices) {
        std::vector<std::vector<Reading>> readings(graph.size());
        const std::vector<std::size_t> outputs = graph.outputs();
        for (std::size_t i = 0; i < graph.size(); ++i) {
            std::vector<double> costs;
            for (Alternative const& way : prices.alternatives[i]) {
                const auto results = static_cast<double>(std::ranges::count(outputs, i));
                costs.push_back(way.seconds +
                                (results > 0 ? results * prices.transform_seconds(i, way.out_layout, 0) : 0));
            }
            problem.add_node(std::move(costs));
            for (std::size_t position = 0; position < graph[i].inputs.size(); ++position) {
                readings[graph[i].inputs[position]].push_back({i, position});
            }
        }
        for (std::size_t writer = 0; writer < graph.size(); ++writer) {
            if (readings[writer].size() == 1) add_edge(writer, readings[writer][0]);
            if (readings[writer].size() > 1) add_copies(writer, readings[writer]);
        }
    }

    /// Its first nodes are the graph's.
    PbqpProblem problem;

    /// Throws error, naming solver and layer, unless the solution takes one of the alternatives of each node. Whether
    /// the copies that it takes serve their readers does not matter: a plan makes those that its layers need.
    void check(PbqpSolution const& solution, std::string_view solver) const {
        const std::vector<std::size_t>& choice = solution.choice;
        if (choice.size() != problem.node_count()) {
            fail("plan: solver ", solver, " chose ", choice.size(), " alternatives for a problem of ",
                 problem.node_count(), " nodes, one for each layer and each set of copies");
        }
        for (std::size_t node = 0; node < choice.size(); ++node) {
            const std::size_t count = problem.costs(node).size();
            if (choice[node] >= count) {
                fail("plan: solver ", solver, " chose alternative ", choice[node], " for ", name_of(node),
                     ", which has ", count, ", from 0 on");
            }
        }
    }

private:
    static constexpr double infinite = std::numeric_limits<double>::infinity();

    [[nodiscard]] std::string name_of(std::size_t node) const {
        if (node < graph_.size()) return join("layer ", graph_[node].name);
        return join("the copies of the result of layer ", graph_[copied_[node - graph_.size()]].name);
    }
    [[nodiscard]] std::size_t layout_of(Reading const& reading, Alternative const& way) const {
        return read_layout(graph_[reading.reader], reading.position, way.in_layout, way.out_layout);
    }
    void add_edge(std::size_t writer, Reading const& reading) {
        auto const &from = prices_.alternatives[writer], &to = prices_.alternatives[reading.reader];
        std::vector<double> costs;
        for (Alternative const& write : from) {
            for (Alternative const& read : to) {
                costs.push_back(prices_.transform_seconds(writer, write.out_layout, layout_of(reading, read)));
            }
        }
        problem.add_edge(writer, reading.reader, PbqpMatrix{from.size(), to.size(), std::move(costs)});
    }
    void add_copies(std::size_t writer, std::vector<Reading> const& readings) {
        std::vector<std::size_t> layouts;
        for (Reading const& reading : readings) {
            for (Alternative const& way : prices_.alternatives[reading.reader]) {
                layouts.push_back(layout_of(reading, way));
            }
        }
        std::ranges::sort(layouts);
        layouts.erase(std::ranges::unique(layouts).begin(), layouts.end());
        // An alternative is a set of layouts: bit i of its number plus one stands for layouts[i].
        const std::size_t sets = (std::size_t{1} << layouts.size()) - 1;
        const auto contains = [](std::size_t set, std::size_t i) { return (((set + 1) >> i) & 1U) != 0; };
        const std::size_t copies = problem.add_node(std::vector<double>(sets, 0.0));
        copied_.push_back(writer);

        std::vector<double> costs;
        for (Alternative const& write : prices_.alternatives[writer]) {
            for (std::size_t set = 0; set < sets; ++set) {
                double seconds = 0;
                for (std::size_t i = 0; i < layouts.size(); ++i) {
                    if (contains(set, i)) seconds += prices_.transform_seconds(writer, write.out_layout, layouts[i]);
                }
                costs.push_back(seconds);
            }
        }
        problem.add_edge(writer, copies, PbqpMatrix{prices_.alternatives[writer].size(), sets, std::move(costs)});
        for (Reading const& reading : readings) {
            auto const& to = prices_.alternatives[reading.reader];
            std::vector<double> allowed;
            for (std::size_t set = 0; set < sets; ++set) {
                for (Alternative const& read : to) {
                    const auto i = std::ranges::find(layouts, layout_of(reading, read)) - layouts.begin();
                    allowed.push_back(contains(set, static_cast<std::size_t>(i)) ? 0.0 : infinite);
                }
            }
            problem.add_edge(copies, reading.reader, PbqpMatrix{sets, to.size(), std::move(allowed)});
        }
    }

    Graph const& graph_;
    Prices const& prices_;
    std::vector<std::size_t> copied_;  // whose results the nodes after the graph's are the copies of
};

}  // namespace detail

}  // namespace primsel::inline PRIMSEL_ABI
// primsel/plan/fingerprint.hpp

// primsel/network/fingerprint.hpp

#include <algorithm>
#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

namespace detail {

/// FNV-1a, 64 bits, of numbers and texts.
class Fingerprint {
public:
    void add(std::uint64_t value) {
        for (int shift = 0; shift < 64; shift += 8) byte(static_cast<std::uint8_t>(value >> shift));
    }
    void add(std::string_view text) {
        for (const char c : text) byte(static_cast<std::uint8_t>(c));
        byte(0xff);
    }
    template <class T>
        requires std::integral<T> || std::is_enum_v<T>
    void add(T value) {
        add(static_cast<std::uint64_t>(value));
    }
    void add(float value) { add(std::bit_cast<std::uint32_t>(value)); }
    void add(Extent value) { add(value.h), add(value.w); }
    void add(Padding value) { add(value.top), add(value.bottom), add(value.left), add(value.right); }
    void add(Clamp value) { add(value.low), add(value.high); }
    void add(Shape value) { add(value.c), add(value.h), add(value.w); }

    void add(Dims const& value) {
        add(value.rank());
        for (std::size_t axis = 0; axis < value.rank(); ++axis) add(value[axis]);
    }
    template <class T, std::size_t n>
    void add(std::array<T, n> const& values) {
        for (T const& value : values) add(value);
    }
    template <LayerParams P>
    void add(P const& params) {
        params.each_field([this](std::string_view, auto const& value) { this->add(value); });
    }

    [[nodiscard]] std::uint64_t value() const { return hash_; }
    [[nodiscard]] std::string text() const {
        std::string digits(16, '0');
        for (std::size_t i = 0; i < 16; ++i) digits[i] = "0123456789abcdef"[(hash_ >> (60 - 4 * i)) & 15];
        return digits;
    }

private:
    void byte(std::uint8_t value) { hash_ = (hash_ ^ value) * 0x100000001b3ULL; }
    std::uint64_t hash_ = 0xcbf29ce484222325ULL;
};

}  // namespace detail

/// Sixteen hexadecimal digits that differ for graphs that differ in anything but their weights.
[[nodiscard]] inline std::string fingerprint(Graph const& graph) {
    detail::Fingerprint print;
    print.add(graph.batch());
    for (Node const& node : graph.nodes()) {
        print.add(node.name);
        print.add(node.layer.index());
        std::visit([&](auto const& params) { print.add(params); }, node.layer);
        print.add(node.inputs.size());
        for (const std::size_t input : node.inputs) print.add(input);
        print.add(node.epilogue.residual), print.add(node.epilogue.clamp);
        print.add(node.epilogue.folded.size());
        for (Folded const& folded : node.epilogue.folded) {
            print.add(folded.name);
            print.add(folded.layer.index());
            std::visit([&](auto const& params) { print.add(params); }, folded.layer);
        }
    }
    for (const std::size_t output : graph.outputs()) print.add(output);
    return print.text();
}

namespace detail {

/// A hash of everything that a node's result depends on, but for names and weights.
[[nodiscard]] inline std::uint64_t structure_of(Node const& node, std::vector<std::uint64_t> inputs) {
    Fingerprint print;
    AnyLayer layer = node.layer;
    // Sums do not mind the order; what is folded shows as a bias.
    if (std::holds_alternative<AddParams>(layer)) std::ranges::sort(inputs);
    if (auto* conv = std::get_if<ConvParams>(&layer)) conv->bias |= !node.epilogue.folded.empty();
    if (auto* dense = std::get_if<DenseParams>(&layer)) dense->bias |= !node.epilogue.folded.empty();
    print.add(layer.index());
    std::visit([&](auto const& params) { print.add(params); }, layer);
    print.add(node.epilogue.residual), print.add(node.epilogue.clamp);
    print.add(node.shape);
    for (const std::uint64_t input : inputs) print.add(input);
    return print.value();
}

}  // namespace detail

/// Sixteen hexadecimal digits that are the same for graphs that compute the same function of their weights in the same
/// layers, whatever the layers are called, in whichever order they stand, and whether a bias is their own or was folded
/// into them.
[[nodiscard]] inline std::string structure(Graph const& graph) {
    std::vector<std::uint64_t> nodes;
    for (Node const& node : graph.nodes()) {
        std::vector<std::uint64_t> inputs;
        for (const std::size_t input : node.inputs) inputs.push_back(nodes[input]);
        nodes.push_back(detail::structure_of(node, std::move(inputs)));
    }
    detail::Fingerprint print;
    print.add(graph.batch());
    for (const std::size_t output : graph.outputs()) print.add(nodes[output]);
    std::ranges::sort(nodes);  // a layer that stands twice is not one that is read twice
    for (const std::uint64_t node : nodes) print.add(node);
    return print.text();
}

}  // namespace primsel::inline PRIMSEL_ABI

#include <string>

namespace primsel::inline PRIMSEL_ABI {

/// Sixteen hexadecimal digits of what a plan may choose from.
[[nodiscard]] inline std::string fingerprint(Kernels const& kernels) {
    detail::Fingerprint print;
    for (PrimitiveEntry const& entry : kernels.primitives)
        print.add(entry.id), print.add(entry.in_layout), print.add(entry.out_layout);
    for (LayoutEntry const& layout : kernels.layouts) print.add(layout.name);
    return print.text();
}

}  // namespace primsel::inline PRIMSEL_ABI

#include <cstddef>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <variant>

namespace primsel::inline PRIMSEL_ABI {

[[nodiscard]] inline PlanKey make_key(Graph const& graph, Kernels const& kernels) {
    return {fingerprint(graph), fingerprint(kernels), PRIMSEL_VERSION, std::string(kernels.arch), cpu_name()};
}

/// Prices every way to run every layer of a (simplified) graph and solves for the cheapest whole, changes of layout
/// included. Images come and results go in the kernels' first layout. Throws error when a layer cannot be computed at
/// all, with each primitive's reason; when the options name a layer or primitive that is not there or bound the error
/// by what is no bound; when the model's answer is no cost; and when the solver's is no choice, or a forbidden one.
template <CostModel Model, Solver S>
[[nodiscard]] Plan make_plan(Graph const& graph, Kernels const& kernels, Model& model, S const& solver,
                             PlanOptions const& options = {}) {
    Plan plan;
    plan.key = make_key(graph, kernels);
    plan.cost_model = Model::name;
    plan.solver = S::name;
    Timer timer;
    const detail::Pricing<Model> prices(graph, kernels, model, options);
    plan.predict_seconds = timer.seconds();
    timer.restart();
    const detail::Formulation formulation(graph, prices);
    const PbqpSolution solution = solver.solve(formulation.problem);
    formulation.check(solution, S::name);
    plan.solve_seconds = timer.seconds();
    plan.optimal = solution.optimal;
    plan.bound_seconds = solution.bound;

    std::map<std::pair<std::size_t, std::size_t>, bool> moved;
    const auto move = [&](std::size_t writer, std::size_t from, std::size_t to, std::string const& reader) {
        if (kernels.same_placement(graph[writer].shape, from, to)) return;
        // Readers that want the same layout share one copy; a result is one of its own.
        if (!reader.empty() && !moved.emplace(std::pair{writer, to}, true).second) return;
        const double seconds = prices.transform_seconds(writer, from, to);
        if (seconds == std::numeric_limits<double>::infinity()) {
            fail("plan: solver ", S::name, " found no plan that is allowed: cost model ", Model::name,
                 " has no price for changing ", graph[writer].shape, ", the result of layer ", graph[writer].name,
                 ", from layout ", kernels.layouts[from].name, " to ", kernels.layouts[to].name);
        }
        plan.transforms.push_back({graph[writer].name, reader, to_string(graph[writer].shape),
                                   std::string(kernels.layouts[from].name), std::string(kernels.layouts[to].name),
                                   seconds});
        plan.total_seconds += seconds;
    };
    const auto chosen = [&](std::size_t i) { return prices.alternatives[i][solution.choice[i]]; };
    for (std::size_t i = 0; i < graph.size(); ++i) {
        Node const& node = graph[i];
        const detail::Alternative way = chosen(i);
        for (std::size_t position = 0; position < node.inputs.size(); ++position) {
            const std::size_t writer = node.inputs[position];
            move(writer, chosen(writer).out_layout, detail::read_layout(node, position, way.in_layout, way.out_layout),
                 node.name);
        }
        PlannedLayer layer{.name = node.name,
                           .kind = std::string(kind(node.layer)),
                           .shape = to_string(node.shape),
                           .primitive = {},
                           .in_layout = std::string(kernels.layouts[way.in_layout].name),
                           .out_layout = std::string(kernels.layouts[way.out_layout].name),
                           .seconds = way.seconds,
                           .candidates = prices.candidates[i]};
        if (std::holds_alternative<ConvParams>(node.layer)) {
            layer.primitive = kernels.primitives[way.primitive].id;
            layer.shape = to_string(conv_shape_of(graph, i), graph.batch());
        }
        plan.layers.push_back(std::move(layer));
        plan.total_seconds += way.seconds;
    }
    for (const std::size_t output : graph.outputs()) move(output, chosen(output).out_layout, 0, "");
    return plan;
}

}  // namespace primsel::inline PRIMSEL_ABI
// primsel/tensor/layout.hpp

// primsel/core/type_list.hpp

#include <cstddef>
#include <type_traits>

namespace primsel::inline PRIMSEL_ABI {

/// A list of types, as a value of its own: `with` appends, `without` removes, `index_of` finds.
template <class... Ts>
struct TypeList {
    static constexpr std::size_t size = sizeof...(Ts);

    template <class... More>
    using with = TypeList<Ts..., More...>;

    template <class T>
    static constexpr bool contains = (std::is_same_v<T, Ts> || ...);

    /// Position of the first T; size when there is none.
    template <class T>
    static constexpr std::size_t index_of = [] {
        std::size_t index = 0;
        (void)((std::is_same_v<T, Ts> || (++index, false)) || ...);
        return index;
    }();

    template <template <class...> class To>
    using apply = To<Ts...>;

private:
    template <class... Kept>
    struct Filter {
        template <class T, bool keep>
        using add = std::conditional_t<keep, Filter<Kept..., T>, Filter>;
        using list = TypeList<Kept...>;
    };
    template <class Kept, class Removed, class... Rest>
    struct Without {
        using type = Kept;
    };
    template <class Kept, class Removed, class First, class... Rest>
    struct Without<Kept, Removed, First, Rest...>
        : Without<typename Kept::template add<First, !Removed::template contains<First>>, Removed, Rest...> {};

public:
    template <class... Removed>
    using without = typename Without<Filter<>, TypeList<Removed...>, Ts...>::type::list;
};

template <class T>
inline constexpr bool is_type_list = false;
template <class... Ts>
inline constexpr bool is_type_list<TypeList<Ts...>> = true;

/// The lists, one after the other.
template <class... Lists>
struct Concatenate;
template <class... Ts>
struct Concatenate<TypeList<Ts...>> {
    using type = TypeList<Ts...>;
};
template <class... Ts, class... Us, class... Rest>
struct Concatenate<TypeList<Ts...>, TypeList<Us...>, Rest...> : Concatenate<TypeList<Ts..., Us...>, Rest...> {};
template <class... Lists>
using concatenate = typename Concatenate<Lists...>::type;

}  // namespace primsel::inline PRIMSEL_ABI

#include <concepts>
#include <cstddef>
#include <string_view>

namespace primsel::inline PRIMSEL_ABI {

/// Where the element (c, h, w) of an image of a Shape lies. A layout is an empty type:
/// - name: constexpr, and unique among the layouts used together;
/// - size(shape): elements that an image occupies, padding included;
/// - offset(shape, coord): injective into [0, size(shape)).
/// It may have a type `element`; without one, elements are floats.
///
/// chw, hcw and hwc below model it; so may a blocked layout of the user's (docs/tensor/layout.md).
template <class L>
concept Layout = requires(Shape shape, Coord coord) {
    { L::name } -> std::convertible_to<std::string_view>;
    { L::size(shape) } -> std::same_as<std::size_t>;
    { L::offset(shape, coord) } -> std::same_as<std::size_t>;
};

namespace detail {

template <class L>
struct ElementOf {
    using type = float;
};
template <class L>
    requires requires { typename L::element; }
struct ElementOf<L> {
    using type = typename L::element;
};

}  // namespace detail

/// What images in a layout consist of.
template <class L>
using element_of = typename detail::ElementOf<L>::type;

namespace detail {

template <class List>
inline constexpr bool distinct_names = true;
template <class First, class... Rest>
inline constexpr bool distinct_names<TypeList<First, Rest...>> =
    ((std::string_view(First::name) != std::string_view(Rest::name)) && ...) && distinct_names<TypeList<Rest...>>;

template <class List>
inline constexpr bool all_layouts = false;
template <class... L>
inline constexpr bool all_layouts<TypeList<L...>> = (Layout<L> && ...);
template <class List>
inline constexpr bool floats_first = true;
template <class First, class... Rest>
inline constexpr bool floats_first<TypeList<First, Rest...>> = std::same_as<element_of<First>, float>;
template <class List>
concept NamedLayouts = all_layouts<List> && distinct_names<List>;
template <class List>
concept SoundLayouts = NamedLayouts<List> && floats_first<List>;

/// Says where layouts are listed that a type is none, that two have one name, or that the first is not of floats.
template <class List>
struct CheckLayouts {
    static_assert(all_layouts<List>, "primsel: a type among the layouts is not a Layout; see docs/tensor/layout.md");
    static_assert(!all_layouts<List> || NamedLayouts<List>,
                  "primsel: two of the layouts have the same name; see docs/tensor/layout.md");
    static_assert(floats_first<List>,
                  "primsel: images come and results go in the first of the layouts, which must be of floats");
    static constexpr bool value = true;
};

}  // namespace detail

/// Floats between neighbours along each axis.
struct Strides {
    std::size_t c = 0, h = 0, w = 0;
    friend constexpr bool operator==(Strides const&, Strides const&) = default;
};

/// A layout of floats without padding whose offset is linear in c, h and w. The non-convolution layers run in these.
template <class L>
concept StridedLayout = Layout<L> && std::same_as<element_of<L>, float> && requires(Shape shape) {
    { L::strides(shape) } -> std::same_as<Strides>;
};

namespace detail {
template <class L>
struct Strided {
    [[nodiscard]] static constexpr std::size_t size(Shape shape) { return shape.size(); }
    [[nodiscard]] static constexpr std::size_t offset(Shape shape, Coord at) {
        const Strides s = L::strides(shape);
        return static_cast<std::size_t>(at.c) * s.c + static_cast<std::size_t>(at.h) * s.h +
               static_cast<std::size_t>(at.w) * s.w;
    }
};
}  // namespace detail

/// Channels, then rows, then columns: PyTorch's contiguous format.
struct chw : detail::Strided<chw> {
    static constexpr std::string_view name = "chw";
    [[nodiscard]] static constexpr Strides strides(Shape shape) {
        return {shape.pixels(), static_cast<std::size_t>(shape.w), 1};
    }
};

/// Rows of channels of columns.
struct hcw : detail::Strided<hcw> {
    static constexpr std::string_view name = "hcw";
    [[nodiscard]] static constexpr Strides strides(Shape shape) {
        const auto w = static_cast<std::size_t>(shape.w);
        return {w, w * static_cast<std::size_t>(shape.c), 1};
    }
};

/// Pixels of channels: PyTorch's channels-last format.
struct hwc : detail::Strided<hwc> {
    static constexpr std::string_view name = "hwc";
    [[nodiscard]] static constexpr Strides strides(Shape shape) {
        const auto c = static_cast<std::size_t>(shape.c);
        return {1, c * static_cast<std::size_t>(shape.w), c};
    }
};

using AllLayouts = TypeList<chw, hcw, hwc>;

/// Whether layout L says itself how images come to it from another: `L::transform_from(Other{}, shape, src, dst,
/// executor)`, which may assume nothing of dst and must zero its padding.
template <class L, class Other>
concept TransformsFrom = requires(Shape shape, const float* src, float* dst, ExecutorRef executor) {
    { L::transform_from(Other{}, shape, src, dst, executor) } noexcept;
};
/// Whether it says how images leave it: `L::transform_to(Other{}, shape, src, dst, executor)`.
template <class L, class Other>
concept TransformsTo = requires(Shape shape, const float* src, float* dst, ExecutorRef executor) {
    { L::transform_to(Other{}, shape, src, dst, executor) } noexcept;
};

/// Whether two layouts place every element of the shape alike, as all do for 1x1 images: changing from one to the other
/// is then free.
template <Layout From, Layout To>
[[nodiscard]] constexpr bool same_placement(Shape shape) {
    if constexpr (std::same_as<From, To>) return true;
    if constexpr (StridedLayout<From> && StridedLayout<To>) {
        const Strides a = From::strides(shape), b = To::strides(shape);
        return (shape.c == 1 || a.c == b.c) && (shape.h == 1 || a.h == b.h) && (shape.w == 1 || a.w == b.w);
    }
    return false;
}

}  // namespace primsel::inline PRIMSEL_ABI

#include <algorithm>
#include <cstddef>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

/// One call of a kernel. Tensors are known by their positions in the Schedule.
struct Step {
    static constexpr std::size_t none = std::numeric_limits<std::size_t>::max();
    enum class Kind { conv, epilogue, op, transform };

    Kind kind = Kind::op;
    /// The node whose result it computes, or changes the layout of.
    std::size_t node = 0;
    ConvShape shape{};  // of one image
    PrimitiveEntry const* primitive = nullptr;
    LayoutEntry const* layout = nullptr;
    OpEntry const* op = nullptr;
    TransformEntry const* transform = nullptr;
    AnyLayer layer{};
    std::vector<std::size_t> src{};
    std::vector<Shape> src_shapes{};
    Shape dst_shape{};
    std::size_t dst = none, residual = none, scratch = none;
    std::size_t dst_image = 0;  // bytes from image to image
    // In floats: where a part of a concatenation begins, and from pixel to pixel of it; 0: all of dst.
    std::size_t dst_offset = 0, dst_stride = 0;
    bool bias = false;
    Clamp clamp{};
};

/// A constant of the network in the layout in which it is read.
struct StoredConstant {
    std::size_t tensor, node, layout;
};

/// A plan as steps in a row. The first tensors are the caller's: the images, then the results; those after them have a
/// lifetime each, constants one of no bytes.
///
/// Of a batch, the first `single` steps take one image after another, from the first of them to the last; the other
/// steps take all images each.
struct Schedule {
    std::size_t inputs = 0, outputs = 0, single = 0;
    std::vector<Step> steps;
    std::vector<Lifetime> lifetimes;
    /// Bytes from image to image of each tensor; 0 of those that hold what belongs to one image or to all.
    std::vector<std::size_t> image_bytes;
    std::vector<StoredConstant> constants;

    [[nodiscard]] std::size_t callers() const { return inputs + outputs; }
    [[nodiscard]] std::size_t tensors() const { return callers() + lifetimes.size(); }
};

namespace detail {

/// Bytes that a step reads and writes of one image, were they all floats and without padding.
[[nodiscard]] inline std::size_t activations(Step const& step) {
    std::size_t elements = step.dst_shape.size();
    for (Shape const& shape : step.src_shapes) elements += shape.size();
    return elements * sizeof(float);
}
/// Bytes of its weights.
[[nodiscard]] inline std::size_t weights(Step const& step) {
    if (step.kind == Step::Kind::conv) return step.primitive->packed_bytes(step.shape);
    const bool has_weights = step.kind == Step::Kind::op && step.op->packed_bytes != nullptr;
    return has_weights ? step.op->packed_bytes(step.layer, step.src_shapes[0]) : 0;
}

class Scheduler {
public:
    Scheduler(Graph const& graph, Kernels const& kernels, Plan const& plan, std::size_t workers)
        : graph_(graph),
          kernels_(kernels),
          plan_(plan),
          workers_(workers),
          outputs_(graph.outputs()),
          tensor_(graph.size(), Step::none),
          in_layout_(graph.size()),
          out_layout_(graph.size()),
          last_reader_(last_readers(graph)),
          readers_(graph.size()) {
        for (Node const& node : graph.nodes()) {
            for (const std::size_t input : node.inputs) ++readers_[input];
        }
    }

    [[nodiscard]] Schedule schedule() {
        if (plan_.layers.size() != graph_.size())
            fail("plan: ", plan_.layers.size(), " layers for a graph of ", graph_.size());
        result_.inputs = graph_.inputs().size();
        result_.outputs = outputs_.size();
        for (const std::size_t input : graph_.inputs()) result_.image_bytes.push_back(bytes(input, 0));
        for (const std::size_t output : outputs_) result_.image_bytes.push_back(bytes(output, 0));
        for (std::size_t i = 0; i < graph_.size(); ++i) read_plan(i);
        for (std::size_t i = 0; i < graph_.size(); ++i) find_parts(i);
        std::size_t inputs = 0;
        for (std::size_t i = 0; i < graph_.size(); ++i) {
            if (std::holds_alternative<InputParams>(graph_[i].layer)) {
                if (out_layout_[i] != 0) {
                    fail("plan: layer ", graph_[i].name, " is an image in ", plan_.layers[i].out_layout,
                         "; images come in ", kernels_.layouts[0].name);
                }
                tensor_[i] = inputs++;
            } else if (std::holds_alternative<ConstantParams>(graph_[i].layer)) {
                tensor_[i] = book(0);
                result_.constants.push_back({tensor_[i], i, out_layout_[i]});
            } else if (tensor_[i] == Step::none) {
                add_layer(i);
            }
        }
        for (std::size_t output = 0; output < outputs_.size(); ++output) deliver(output);
        divide_batch();
        return std::move(result_);
    }

private:
    void read_plan(std::size_t i) {
        Node const& node = graph_[i];
        PlannedLayer const& planned = plan_.layers[i];
        if (planned.name != node.name) fail("plan: layer ", planned.name, " stands where the graph has ", node.name);
        in_layout_[i] = find_layout(planned.in_layout, node.name);
        out_layout_[i] = find_layout(planned.out_layout, node.name);
    }
    /// A concatenation of channels in hwc is no step of its own where all of its inputs are convolutions that nobody
    /// else reads and whose primitives can write their channels where they belong.
    void find_parts(std::size_t i) {
        const auto* concat = std::get_if<ConcatParams>(&graph_[i].layer);
        if (concat == nullptr || concat->axis != Axis::c || last_reader_[i] == Step::none) return;
        const bool in_hwc = kernels_.layouts[in_layout_[i]].name == hwc::name && in_layout_[i] == out_layout_[i];
        if (!in_hwc || !std::ranges::all_of(graph_[i].inputs, [&](std::size_t input) { return writes_part(input, i); }))
            return;
        std::size_t first = 0;
        for (const std::size_t input : graph_[i].inputs) {
            parts_[input] = {i, first};
            first += static_cast<std::size_t>(graph_[input].shape.c);
        }
    }
    [[nodiscard]] bool writes_part(std::size_t node, std::size_t concat) const {
        const bool conv = std::holds_alternative<ConvParams>(graph_[node].layer);
        if (!conv || graph_[node].epilogue.residual || out_layout_[node] != in_layout_[concat]) return false;
        PrimitiveEntry const& primitive = find_primitive(plan_.layers[node]);
        return primitive.strided_output && primitive.fuses_epilogue && readers_[node] == 1 &&
               std::ranges::find(outputs_, node) == outputs_.end();
    }

    [[nodiscard]] std::size_t find_layout(std::string_view name, std::string_view layer) const {
        if (const auto found = kernels_.find_layout_if_any(name)) return *found;
        fail("plan: layer ", layer, " uses an unknown layout, ", name);
    }
    [[nodiscard]] PrimitiveEntry const& find_primitive(PlannedLayer const& layer) const {
        if (const auto found = kernels_.find_if_any(layer.primitive)) return kernels_.primitives[*found];
        fail("plan: layer ", layer.name, " uses an unknown primitive, ", layer.primitive);
    }
    /// Bytes of one image of a node's result.
    [[nodiscard]] std::size_t bytes(std::size_t node, std::size_t layout) const {
        LayoutEntry const& entry = kernels_.layouts[layout];
        const Shape shape = graph_[node].shape;
        const std::size_t elements = entry.size(shape);
        if (elements < shape.size() || elements > most_elements) {
            fail("plan: layout ", entry.name, " keeps ", shape, ", the result of layer ", graph_[node].name, ", in ",
                 elements, " elements");
        }
        return elements * entry.element_bytes;
    }
    /// No layout and no primitive needs more (see max_floats); a size that wrapped around is nearly always beyond it.
    static constexpr std::size_t most_elements = static_cast<std::size_t>(max_floats) << 10;

    /// A tensor of the arena, alive from the step that writes it, the next one, to the last that reads it.
    std::size_t book(std::size_t bytes, std::size_t image_bytes = 0) {
        result_.lifetimes.push_back({bytes, result_.steps.size(), result_.steps.size()});
        result_.image_bytes.push_back(image_bytes);
        return result_.tensors() - 1;
    }
    /// The same for a step's result; of one image until the batch is divided.
    std::size_t book(Step const& step) { return book(step.dst_image, step.dst_image); }
    void use(std::size_t tensor) {
        if (tensor < result_.callers() || tensor == Step::none) return;
        Lifetime& lifetime = result_.lifetimes[tensor - result_.callers()];
        lifetime.last = std::max(lifetime.last, result_.steps.size());
    }
    void add(Step step) {
        for (const std::size_t src : step.src) use(src);
        use(step.residual);
        use(step.dst);
        result_.steps.push_back(std::move(step));
    }
    [[nodiscard]] Step change_of_layout(std::size_t node, std::size_t to) const {
        return {.kind = Step::Kind::transform,
                .node = node,
                .transform = &kernels_.transform(out_layout_[node], to),
                .src = {tensor_[node]},
                .src_shapes = {graph_[node].shape},
                .dst_shape = graph_[node].shape,
                .dst_image = bytes(node, to)};
    }
    /// The tensor that holds a node's result in a layout, changing it if need be.
    [[nodiscard]] std::size_t read(std::size_t node, std::size_t layout) {
        if (kernels_.same_placement(graph_[node].shape, out_layout_[node], layout)) return tensor_[node];
        const auto [found, fresh] = copies_.try_emplace({node, layout}, Step::none);
        if (!fresh) return found->second;
        Step step = change_of_layout(node, layout);
        found->second = step.dst = book(step);
        add(std::move(step));
        return found->second;
    }

    void add_layer(std::size_t i) {
        Node const& node = graph_[i];
        Step step{.node = i,
                  .layout = &kernels_.layouts[out_layout_[i]],
                  .layer = node.layer,
                  .src_shapes = graph_.input_shapes(i),
                  .dst_shape = node.shape,
                  .dst_image = bytes(i, out_layout_[i]),
                  .clamp = node.epilogue.clamp};
        for (std::size_t position = 0; position < node.inputs.size(); ++position) {
            const std::size_t from =
                read(node.inputs[position], read_layout(node, position, in_layout_[i], out_layout_[i]));
            if (node.epilogue.residual && position + 1 == node.inputs.size())
                step.residual = from;
            else
                step.src.push_back(from);
        }
        if (std::holds_alternative<ConvParams>(node.layer))
            add_conv(std::move(step));
        else
            add_op(std::move(step));
    }

    /// Where a node's result goes: to the caller where it can leave as it is.
    [[nodiscard]] std::size_t destination(Step const& step) {
        const auto output = std::ranges::find(outputs_, step.node);
        if (output != outputs_.end() && kernels_.same_placement(step.dst_shape, out_layout_[step.node], 0)) {
            return result_.inputs + static_cast<std::size_t>(output - outputs_.begin());
        }
        return book(step);
    }

    void add_conv(Step step) {
        Node const& node = graph_[step.node];
        auto const& conv = std::get<ConvParams>(node.layer);
        PlannedLayer const& planned = plan_.layers[step.node];
        PrimitiveEntry const& primitive = find_primitive(planned);
        step.kind = Step::Kind::conv;
        step.primitive = &primitive;
        step.shape = conv_shape_of(conv, step.src_shapes[0]);
        step.bias = conv.bias || !node.epilogue.folded.empty();
        const bool layouts_fit = kernels_.layouts[primitive.in_layout].name == planned.in_layout &&
                                 kernels_.layouts[primitive.out_layout].name == planned.out_layout;
        if (const Support support = primitive.supports(step.shape); !support || !layouts_fit) {
            fail("plan: layer ", node.name, ": ", primitive.id, " cannot compute ", to_string(step.shape), " ",
                 planned.in_layout, " -> ", planned.out_layout, ": ", support ? "wrong layouts" : support.reason());
        }
        if (const auto part = parts_.find(step.node); part != parts_.end()) {
            auto const& [concat, first] = part->second;
            step.dst_image = bytes(concat, out_layout_[concat]);
            step.dst_offset = first;
            step.dst_stride = static_cast<std::size_t>(graph_[concat].shape.c);
            if (tensor_[concat] == Step::none) tensor_[concat] = book(step);
            step.dst = tensor_[concat];
        } else {
            step.dst = tensor_[step.node] = destination(step);
        }
        const std::size_t scratch = primitive.scratch_bytes(step.shape, workers_);
        if (scratch > most_elements * sizeof(float)) {
            fail("plan: layer ", node.name, ": primitive ", primitive.id, " asks for ", scratch,
                 " bytes of scratch to compute ", to_string(step.shape));
        }
        if (scratch > 0) {
            step.scratch = book(scratch);
        }
        if (primitive.fuses_epilogue) return add(std::move(step));
        Step epilogue = step;
        epilogue.kind = Step::Kind::epilogue;
        epilogue.src.clear();
        epilogue.scratch = Step::none;
        step.bias = false;
        step.residual = Step::none;
        step.clamp = {};
        add(std::move(step));
        if (epilogue.bias || epilogue.residual != Step::none || epilogue.clamp != Clamp{}) {
            if (epilogue.layout->epilogue == nullptr) {
                fail("plan: layer ", node.name, ": no bias and activation in layout ", planned.out_layout);
            }
            add(std::move(epilogue));
        }
    }

    void add_op(Step step) {
        PlannedLayer const& planned = plan_.layers[step.node];
        step.op = &kernels_.op(step.layer, in_layout_[step.node]);
        if (step.op->run == nullptr || planned.in_layout != planned.out_layout) {
            fail("plan: layer ", planned.name, " (", planned.kind, ") cannot run ", planned.in_layout, " -> ",
                 planned.out_layout);
        }
        step.dst = tensor_[step.node] = may_overwrite(step) ? step.src[0] : destination(step);
        add(std::move(step));
    }
    /// In place where nobody reads the input later.
    [[nodiscard]] bool may_overwrite(Step const& step) const {
        const std::size_t src = step.src[0], input = graph_[step.node].inputs[0];
        if (!step.op->in_place || src < result_.callers() || tensor_[input] != src) return false;
        const bool leaves = std::ranges::find(outputs_, step.node) != outputs_.end();
        const bool constant =
            std::ranges::find(result_.constants, src, &StoredConstant::tensor) != result_.constants.end();
        return !leaves && !constant && last_reader_[input] == step.node && std::ranges::count(step.src, src) == 1 &&
               step.src_shapes[0].size() == step.dst_shape.size();
    }

    /// A result that is not where the caller wants it: changes its layout, or copies it.
    void deliver(std::size_t output) {
        const std::size_t node = outputs_[output], dst = result_.inputs + output;
        if (tensor_[node] == dst) return;
        Step step = change_of_layout(node, 0);
        step.dst = dst;
        add(std::move(step));
    }

    /// Image after image, activations stay in the caches but weights come from memory again for each; all images at
    /// once, it is the other way round. The first steps of a network have large images and the last ones large weights:
    /// divided where the fewest bytes come again and again. What the first steps leave to the others is kept of all
    /// images, for as long as the first steps last.
    void divide_batch() {
        const auto batch = static_cast<std::size_t>(graph_.batch());
        if (batch == 1) return;
        std::size_t again = 0;
        for (Step const& step : result_.steps) again += activations(step);
        for (std::size_t i = 0, least = again; i < result_.steps.size(); ++i) {
            again += weights(result_.steps[i]);
            again -= activations(result_.steps[i]);
            if (again <= least) {
                least = again;
                result_.single = i + 1;
            }
        }
        for (std::size_t i = 0; i < result_.lifetimes.size(); ++i) {
            Lifetime& lifetime = result_.lifetimes[i];
            std::size_t& image = result_.image_bytes[result_.callers() + i];
            if (lifetime.last < result_.single) {
                image = 0;
            } else if (image > 0) {
                lifetime.bytes = batch * image;
                if (lifetime.first < result_.single) lifetime.first = 0;
            }
        }
    }
    [[nodiscard]] static std::vector<std::size_t> last_readers(Graph const& graph) {
        std::vector<std::size_t> last(graph.size(), Step::none);
        for (std::size_t i = 0; i < graph.size(); ++i) {
            for (const std::size_t input : graph[i].inputs) last[input] = i;
        }
        for (const std::size_t output : graph.outputs()) last[output] = Step::none;
        return last;
    }

    Graph const& graph_;
    Kernels const& kernels_;
    Plan const& plan_;
    std::size_t workers_;
    std::vector<std::size_t> outputs_;
    std::vector<std::size_t> tensor_, in_layout_, out_layout_, last_reader_, readers_;
    struct Part {
        std::size_t concat, first;
    };
    std::map<std::size_t, Part> parts_;  // convolutions that write a part of a concatenation, from channel first on
    std::map<std::pair<std::size_t, std::size_t>, std::size_t> copies_;  // (node, layout) -> tensor
    Schedule result_;
};

}  // namespace detail

/// The steps of a plan, for so many workers. Throws error when the plan does not fit the graph and kernels.
[[nodiscard]] inline Schedule make_schedule(Graph const& graph, Kernels const& kernels, Plan const& plan,
                                            std::size_t workers) {
    return detail::Scheduler(graph, kernels, plan, workers).schedule();
}

}  // namespace primsel::inline PRIMSEL_ABI
// primsel/network/prepare.hpp

// primsel/network/weights.hpp

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

/// A named array of floats, row-major. Copies share the values.
struct WeightTensor {
    std::vector<std::int64_t> dims;
    std::span<const float> values;
    /// Keeps the values alive: a file's buffer, a vector, or nothing for values that live elsewhere.
    std::shared_ptr<const void> owner;
};

/// A mapped file whose bytes are values of weights.
struct WeightFile {
    /// Throws error, naming the file, when it was changed since it was mapped.
    std::function<void()> check_unchanged;
    /// Gives back the memory of bytes, if they are the file's, until they are read again.
    std::function<void(std::span<const std::byte>)> release;
};

/// "64x3x3x3"; "scalar" without dimensions.
[[nodiscard]] inline std::string to_string(std::vector<std::int64_t> const& dims) {
    if (dims.empty()) return "scalar";
    std::string text;
    for (const std::int64_t dim : dims) {
        if (!text.empty()) text += 'x';
        text += std::to_string(dim);
    }
    return text;
}

/// The weights of a network by name, in the order of their names. Copying is cheap.
class Weights {
public:
    Weights() = default;
    /// `source`: what errors call them, as a rule the path of their file.
    explicit Weights(std::string source) : source_(std::move(source)) {}

    [[nodiscard]] std::string const& source() const { return source_; }
    void set_source(std::string source) { source_ = std::move(source); }

    /// Values are bytes of this file.
    void add_file(WeightFile file) { files_.push_back(std::move(file)); }
    /// Throws error, naming the file, when one was changed since it was mapped.
    void check_unchanged() const {
        for (WeightFile const& file : files_) file.check_unchanged();
    }
    /// These values are not needed for now: those of a mapped file take no memory until they are read again.
    void release(std::span<const float> values) const {
        for (WeightFile const& file : files_) file.release(std::as_bytes(values));
    }

    /// Throws error when the name is taken or the values do not fill the dimensions.
    void add(std::string const& name, WeightTensor tensor) {
        for (const std::int64_t dim : tensor.dims) {
            if (dim < 0) fail("weight ", name, ": impossible dimensions ", to_string(tensor.dims));
        }
        if (!fills(tensor.values.size(), tensor.dims)) {
            fail("weight ", name, ": ", tensor.values.size(), " values cannot fill ", to_string(tensor.dims));
        }
        if (!tensors_.emplace(name, std::move(tensor)).second) fail("weight ", name, ": given twice");
    }
    void add(std::string const& name, std::vector<std::int64_t> dims, std::vector<float> values) {
        auto owner = std::make_shared<const std::vector<float>>(std::move(values));
        const std::span<const float> view(*owner);
        add(name, WeightTensor{std::move(dims), view, std::move(owner)});
    }

    [[nodiscard]] const WeightTensor* find(std::string_view name) const {
        const auto found = tensors_.find(name);
        return found == tensors_.end() ? nullptr : &found->second;
    }
    /// Throws error when there is none, naming it.
    [[nodiscard]] WeightTensor const& at(std::string_view name) const {
        const WeightTensor* tensor = find(name);
        if (tensor == nullptr) fail("weight ", name, ": missing");
        return *tensor;
    }
    [[nodiscard]] std::size_t size() const { return tensors_.size(); }
    [[nodiscard]] auto begin() const { return tensors_.begin(); }
    [[nodiscard]] auto end() const { return tensors_.end(); }

private:
    /// Divides rather than multiplies: a product of hostile dimensions would wrap around.
    [[nodiscard]] static bool fills(std::size_t count, std::vector<std::int64_t> const& dims) {
        if (std::ranges::find(dims, 0) != dims.end()) return count == 0;
        for (const std::int64_t dim : dims) {
            if (count % static_cast<std::size_t>(dim) != 0) return false;
            count /= static_cast<std::size_t>(dim);
        }
        return count == 1;
    }

    std::string source_ = "weights";
    std::vector<WeightFile> files_;
    std::map<std::string, WeightTensor, std::less<>> tensors_;
};

}  // namespace primsel::inline PRIMSEL_ABI

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

/// The name and dimensions of a weight that a graph needs.
struct WeightSpec {
    std::string name;
    std::vector<std::int64_t> dims;
    WeightValues values = WeightValues::finite;
};

namespace detail {
using AffineLayer = decltype(Folded::layer);

/// Whether no value is NaN or infinite: in one pass that compilers vectorise, for at start-up it reads all weights.
[[nodiscard]] inline bool all_finite(std::span<const float> values) {
    constexpr std::size_t lanes = 16;
    constexpr std::uint32_t magnitude = 0x7fffffff, infinite = 0x7f800000;
    std::array<std::uint32_t, lanes> largest{}, bits{};
    const std::size_t whole = values.size() / lanes * lanes;
    for (std::size_t i = 0; i < whole; i += lanes) {
        std::memcpy(bits.data(), values.data() + i, sizeof(bits));
        for (std::size_t lane = 0; lane < lanes; ++lane) {
            largest[lane] = std::max(largest[lane], bits[lane] & magnitude);
        }
    }
    for (const float value : values.subspan(whole)) {
        largest[0] = std::max(largest[0], std::bit_cast<std::uint32_t>(value) & magnitude);
    }
    return *std::max_element(largest.begin(), largest.end()) < infinite;
}

/// What is wrong with a value; "" where nothing is.
[[nodiscard]] inline std::string_view fault_of(float value, WeightValues values) {
    if (values == WeightValues::any) return "";
    if (std::isnan(value)) return "not a number";
    if (values == WeightValues::not_nan) return "";
    if (std::isinf(value)) return "not finite";
    if (values == WeightValues::not_negative && value < 0.0F) return "negative variance";
    if (values == WeightValues::positive && value <= 0.0F) return "variance without epsilon that is not positive";
    return "";
}

/// "[3, 0, 1, 2]": the place of a value of so many dimensions.
[[nodiscard]] inline std::string place_of(std::size_t at, std::vector<std::int64_t> const& dims) {
    std::string text;
    for (std::size_t i = dims.size(); i-- > 0;) {
        const auto dim = static_cast<std::size_t>(dims[i]);
        text.insert(0, (i == 0 ? "" : ", ") + std::to_string(at % dim));
        at /= dim;
    }
    return '[' + text + ']';
}

/// Of the first value that the weight may not have: a line, or nothing.
[[nodiscard]] inline std::string value_fault(WeightSpec const& spec, std::span<const float> values) {
    const bool variance = spec.values == WeightValues::not_negative || spec.values == WeightValues::positive;
    if (spec.values == WeightValues::any || (!variance && all_finite(values))) return "";
    for (std::size_t i = 0; i < values.size(); ++i) {
        const std::string_view fault = fault_of(values[i], spec.values);
        if (!fault.empty()) return join("\n  ", fault, ": ", spec.name, place_of(i, spec.dims), " is ", values[i]);
    }
    return "";
}

/// The name of a layer's weight in the network.
[[nodiscard]] inline std::string weight_name(std::string const& layer, std::string_view weight) {
    return weight.empty() ? layer : layer + '.' + std::string(weight);
}

}  // namespace detail

/// The name of a constant's weight.
[[nodiscard]] inline std::string constant_weight(Node const& node) {
    return detail::weight_name(node.name, std::get<ConstantParams>(node.layer).weight_name());
}

/// All weights that the graph needs, by name and in PyTorch's dimensions; layers folded by simplify included.
[[nodiscard]] inline std::vector<WeightSpec> weight_specs(Graph const& graph) {
    std::vector<WeightSpec> specs;
    const auto add_weights_of = [&](std::string const& name, Shape const& input, auto const& layer) {
        const auto add = [&](std::string_view weight, WeightDims dims, WeightValues values) {
            specs.push_back({detail::weight_name(name, weight), dims, values});
        };
        if constexpr (requires { layer.each_weight(input, add); }) layer.each_weight(input, add);
    };
    for (Node const& node : graph.nodes()) {
        const Shape input = node.inputs.empty() ? Shape{} : graph[node.inputs[0]].shape;
        std::visit([&](auto const& layer) { add_weights_of(node.name, input, layer); }, node.layer);
        for (Folded const& folded : node.epilogue.folded) {
            std::visit([&](auto const& layer) { add_weights_of(folded.name, node.shape, layer); }, folded.layer);
        }
    }
    return specs;
}

namespace detail {
/// Whether a weight has the dimensions that are needed. A constant's c x h x w may lack ones at the end, as PyTorch's
/// parameters of a value a channel do.
[[nodiscard]] inline bool same_extents(std::span<const std::int64_t> a, std::span<const std::int64_t> b) {
    if (b.size() != 3) return std::ranges::equal(a, b);
    while (!a.empty() && a.back() == 1) a = a.first(a.size() - 1);
    while (!b.empty() && b.back() == 1) b = b.first(b.size() - 1);
    return std::ranges::equal(a, b);
}
}  // namespace detail

/// Throws error when a weight is missing or misshapen, when one of its values would make every result NaN or infinite
/// (see WeightValues), or when there are weights that the graph does not know: all of them in one message, which names
/// the weights' source.
inline void check_weights(Graph const& graph, Weights const& weights) {
    std::string faults;
    std::size_t known = 0;
    std::map<std::string, bool> names;
    for (WeightSpec const& spec : weight_specs(graph)) {
        names.emplace(spec.name, true);
        const WeightTensor* tensor = weights.find(spec.name);
        if (tensor == nullptr) {
            faults += "\n  missing: " + spec.name + " (" + to_string(spec.dims) + ")";
        } else if (!detail::same_extents(tensor->dims, spec.dims)) {
            faults += "\n  wrong shape: " + spec.name + " is " + to_string(tensor->dims) + ", the layer needs " +
                      to_string(spec.dims);
        } else if (const std::string fault = detail::value_fault(spec, tensor->values); !fault.empty()) {
            faults += fault;
        } else {
            ++known;
        }
    }
    for (auto const& [name, tensor] : weights) {
        if (!names.contains(name)) faults += "\n  not in the network: " + name + " (" + to_string(tensor.dims) + ")";
    }
    if (!faults.empty()) fail(weights.source(), ": ", known, " of ", names.size(), " weights fit the network", faults);
}

/// The kernel and bias of a layer, with whatever simplify folded into it multiplied in; bias is empty when there is
/// none. Where nothing changes the layer's weights they are not copied, and must live as long.
class PreparedWeights {
public:
    std::span<const float> kernel, bias;

    PreparedWeights(std::span<const float> the_kernel, std::span<const float> the_bias)
        : kernel(the_kernel), bias(the_bias) {}
    PreparedWeights(std::vector<float> the_kernel, std::vector<float> the_bias)
        : kernel_(std::move(the_kernel)), bias_(std::move(the_bias)) {
        kernel = kernel_, bias = bias_;
    }
    PreparedWeights(PreparedWeights&&) = default;
    PreparedWeights& operator=(PreparedWeights&&) = default;

private:
    std::vector<float> kernel_, bias_;
};

namespace detail {

/// The factor and shift of each channel of a batch norm or scale.
inline void affine(std::string const& name, AffineLayer const& layer, std::size_t c, Weights const& weights,
                   std::vector<double>& factor, std::vector<double>& shift) {
    const auto* batch_norm = std::get_if<BatchNormParams>(&layer);
    const auto* known = std::get_if<ScaleParams>(&layer);
    if (known != nullptr && known->known) {
        factor.assign(c, static_cast<double>(known->factor));
        shift.assign(c, static_cast<double>(known->shift));
        return;
    }
    const auto scale = weights.at(name + ".weight").values, bias = weights.at(name + ".bias").values;
    factor.assign(scale.begin(), scale.end());
    shift.assign(bias.begin(), bias.end());
    if (batch_norm == nullptr) return;
    const auto mean = weights.at(name + ".running_mean").values, variance = weights.at(name + ".running_var").values;
    for (std::size_t i = 0; i < factor.size(); ++i) {
        factor[i] /= std::sqrt(static_cast<double>(variance[i]) + static_cast<double>(batch_norm->epsilon));
        shift[i] -= static_cast<double>(mean[i]) * factor[i];
    }
}

}  // namespace detail

/// The weights of one node of a graph, for which check_weights has found no fault.
[[nodiscard]] inline PreparedWeights prepare_weights(Node const& node, Weights const& weights) {
    std::vector<double> factor, shift;
    const auto k = static_cast<std::size_t>(node.shape.c);
    const auto alone = [&](detail::AffineLayer const& layer) {
        detail::affine(node.name, layer, k, weights, factor, shift);
        return PreparedWeights{std::vector<float>(factor.begin(), factor.end()),
                               std::vector<float>(shift.begin(), shift.end())};
    };
    if (const auto* batch_norm = std::get_if<BatchNormParams>(&node.layer)) return alone(*batch_norm);
    if (const auto* scale = std::get_if<ScaleParams>(&node.layer)) return alone(*scale);
    if (std::holds_alternative<ConstantParams>(node.layer)) {
        return {weights.at(constant_weight(node)).values, std::span<const float>()};
    }
    const std::span<const float> kernel = weights.at(node.name + ".weight").values;
    const WeightTensor* own_bias = weights.find(node.name + ".bias");
    const std::span<const float> bias = own_bias == nullptr ? std::span<const float>() : own_bias->values;
    if (node.epilogue.folded.empty()) return {kernel, bias};

    const std::size_t depth = kernel.size() / k;
    std::vector<double> factors(k, 1.0), shifts(bias.begin(), bias.end());
    shifts.resize(k, 0.0);
    for (Folded const& folded : node.epilogue.folded) {
        detail::affine(folded.name, folded.layer, k, weights, factor, shift);
        for (std::size_t i = 0; i < k; ++i) {
            factors[i] *= factor[i];
            shifts[i] = shifts[i] * factor[i] + shift[i];
        }
    }
    std::vector<float> scaled(kernel.size());
    for (std::size_t i = 0; i < k; ++i) {
        for (std::size_t j = i * depth; j < (i + 1) * depth; ++j) {
            scaled[j] = static_cast<float>(static_cast<double>(kernel[j]) * factors[i]);
        }
    }
    return {std::move(scaled), std::vector<float>(shifts.begin(), shifts.end())};
}

/// Seeded weights for every layer of the graph: normal kernels that keep the variance of their input (He et al. 2015),
/// small biases, batch-norm statistics near 0 and 1. The same on every machine with the same standard library.
[[nodiscard]] inline Weights random_weights(Graph const& graph, std::uint32_t seed = 1) {
    std::mt19937 bits(seed);
    std::normal_distribution<float> normal;
    Weights weights;
    for (WeightSpec const& spec : weight_specs(graph)) {
        std::size_t size = 1, depth = 1;
        for (std::size_t i = 0; i < spec.dims.size(); ++i) {
            size *= static_cast<std::size_t>(spec.dims[i]);
            if (i > 0) depth *= static_cast<std::size_t>(spec.dims[i]);
        }
        const bool kernel = spec.dims.size() > 1, variance = spec.name.ends_with(".running_var");
        const bool around_one = variance || (!kernel && spec.name.ends_with(".weight"));
        const float scale = kernel ? std::sqrt(2.0F / static_cast<float>(depth)) : 0.1F;
        std::vector<float> values(size);
        for (float& value : values) {
            value = normal(bits) * scale + (around_one ? 1.0F : 0.0F);
            if (variance) value = std::max(value, 0.5F);
        }
        weights.add(spec.name, spec.dims, std::move(values));
    }
    return weights;
}

}  // namespace primsel::inline PRIMSEL_ABI

#include <algorithm>
#include <cstddef>
#include <new>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

/// A plan made executable: weights packed, arena booked, steps in a row. run only executes.
class Program {
public:
    /// Throws error when the plan was made for something else than the graph and kernels, or the weights do not fit or
    /// their file was changed since it was read.
    Program(Graph const& graph, Kernels const& kernels, Plan const& plan, Weights const& weights, std::size_t workers)
        : batch_(graph.batch()) {
        check_key(plan.key, make_key(graph, kernels));
        check_weights(graph, weights);
        for (const std::size_t input : graph.inputs()) in_shapes_.push_back(graph[input].shape);
        for (const std::size_t output : graph.outputs()) out_shapes_.push_back(graph[output].shape);
        for (Shape const& shape : in_shapes_) in_floats_.push_back(batch_floats(kernels.layouts[0], shape));
        for (Shape const& shape : out_shapes_) out_floats_.push_back(batch_floats(kernels.layouts[0], shape));

        Schedule schedule = make_schedule(graph, kernels, plan, workers);
        const ArenaLayout layout = place(schedule.lifetimes);
        arena_ = allocate(layout.bytes, "the arena");
        single_ = schedule.single;
        image_bytes_ = schedule.image_bytes;
        tensors_.assign(schedule.callers(), nullptr);
        for (const std::size_t offset : layout.offsets) tensors_.push_back(further(arena_.data(), offset));
        for (StoredConstant const& constant : schedule.constants) {
            tensors_[constant.tensor] = store(graph[constant.node], kernels.layouts[constant.layout], weights);
        }
        const float* bias = nullptr;
        for (Step& step : schedule.steps) {
            names_.push_back(graph[step.node].name);
            steps_.push_back(pack(std::move(step), graph, weights, bias));
        }
        weights.check_unchanged();
    }

    /// srcs: a batch of images of each input in the first layout; dsts: room for as many of each result. None may
    /// overlap.
    void run(std::span<const float* const> srcs, std::span<float* const> dsts, ExecutorRef executor) noexcept {
        const RunScope scope(executor);
        bind(srcs, dsts);
        for (std::size_t step = 0; step < steps(); ++step) run_step(step, executor);
    }
    /// For a network of one input and one result.
    void run(const float* src, float* dst, ExecutorRef executor) noexcept {
        run(std::span(&src, 1), std::span(&dst, 1), executor);
    }

    [[nodiscard]] int batch() const { return batch_; }
    [[nodiscard]] std::vector<Shape> const& in_shapes() const { return in_shapes_; }
    [[nodiscard]] std::vector<Shape> const& out_shapes() const { return out_shapes_; }
    /// Of all images of an input and of a result in the first layout.
    [[nodiscard]] std::size_t in_floats(std::size_t input = 0) const { return in_floats_[input]; }
    [[nodiscard]] std::size_t out_floats(std::size_t output = 0) const { return out_floats_[output]; }
    [[nodiscard]] std::size_t arena_bytes() const { return arena_.size() * sizeof(float); }
    [[nodiscard]] std::size_t weight_bytes() const { return weight_bytes_; }
    /// Steps of a run: those that take one image count once for each image of a batch.
    [[nodiscard]] std::size_t steps() const { return steps_.size() + single_ * (static_cast<std::size_t>(batch_) - 1); }

    /// What each step computes: a layer's name, or that of the layer whose result changes its layout.
    [[nodiscard]] std::string const& step_name(std::size_t step) const { return names_[position(step)]; }
    [[nodiscard]] Step::Kind step_kind(std::size_t step) const { return steps_[position(step)].step.kind; }
    /// Runs one step alone, for a profiler; all steps in order are a run.
    void run_step(std::size_t step, ExecutorRef executor) noexcept {
        const bool one_image = step < singles();
        run(steps_[position(step)], one_image ? step / single_ : 0, one_image ? 1 : batch_, executor);
    }
    void bind(std::span<const float* const> srcs, std::span<float* const> dsts) noexcept {
        // No step writes to an image.
        for (std::size_t i = 0; i < srcs.size(); ++i) tensors_[i] = const_cast<float*>(srcs[i]);
        for (std::size_t i = 0; i < dsts.size(); ++i) tensors_[in_shapes_.size() + i] = dsts[i];
    }

private:
    struct PackedStep {
        Step step;
        const float* weights = nullptr;
        const float* bias = nullptr;
        std::vector<const float*> src_data{};  // filled in at each run
    };

    /// Steps of a run that take one image, of all images.
    [[nodiscard]] std::size_t singles() const { return single_ * static_cast<std::size_t>(batch_); }
    [[nodiscard]] std::size_t position(std::size_t step) const {
        return step < singles() ? step % single_ : step - singles() + single_;
    }

    static void check_key(PlanKey const& plan, PlanKey const& here) {
        const auto compare = [](std::string_view what, std::string const& its, std::string const& ours) {
            if (its != ours) fail("plan: made for another ", what, ": ", its, ", here ", ours);
        };
        compare("library version", plan.version, here.version);
        compare("instruction set", plan.arch, here.arch);
        compare("processor", plan.cpu, here.cpu);
        compare("list of primitives", plan.primitives, here.primitives);
        compare("network", plan.network, here.network);
    }
    [[nodiscard]] std::size_t batch_floats(LayoutEntry const& layout, Shape const& shape) const {
        return static_cast<std::size_t>(batch_) * layout.size(shape);
    }
    /// Throws error, saying what for, when the system has no such room.
    template <class... What>
    [[nodiscard]] static AlignedBuffer allocate(std::size_t bytes, What const&... what) try {
        return AlignedBuffer(floats_for_bytes(bytes));
    } catch (std::bad_alloc const&) {
        fail("engine: no memory for ", what..., ", ", bytes, " bytes");
    }
    /// Room for a layer's weights that lasts as long as the program.
    float* keep(std::size_t bytes, Node const& node) {
        weight_bytes_ += bytes;
        return kept_.emplace_back(allocate(bytes, "the weights of layer ", node.name)).data();
    }

    [[nodiscard]] float* store(Node const& node, LayoutEntry const& layout, Weights const& weights) {
        const std::size_t image = layout.image_bytes(node.shape), images = static_cast<std::size_t>(batch_);
        float* all = keep(images * image, node);
        Sequential here;
        for (std::size_t i = 0; i < images; ++i) {
            layout.from_chw(node.shape, weights.at(constant_weight(node)).values.data(), further(all, i * image), here);
        }
        return all;
    }

    /// last_bias: that of the convolution packed last, which the epilogue after it adds.
    [[nodiscard]] PackedStep pack(Step step, Graph const& graph, Weights const& weights, const float*& last_bias) {
        PackedStep result{std::move(step)};
        Step const& packed = result.step;
        result.src_data.resize(packed.src.size());
        Node const& node = graph[packed.node];
        if (packed.kind == Step::Kind::conv) {
            const PreparedWeights prepared = prepare_weights(node, weights);
            float* kernel = keep(packed.primitive->packed_bytes(packed.shape), node);
            packed.primitive->pack(packed.shape, prepared.kernel.data(), kernel);
            weights.release(prepared.kernel);
            result.weights = kernel;
            if (!prepared.bias.empty()) {
                float* bias = keep(bytes_of_floats(prepared.bias.size()), node);
                std::ranges::copy(prepared.bias, bias);
                last_bias = bias;
            }
        } else if (packed.kind == Step::Kind::op && packed.op->packed_bytes != nullptr) {
            const PreparedWeights prepared = prepare_weights(node, weights);
            float* kernel = keep(packed.op->packed_bytes(node.layer, packed.src_shapes[0]), node);
            packed.op->pack(node.layer, packed.src_shapes[0], {prepared.kernel, prepared.bias}, kernel);
            weights.release(prepared.kernel);
            result.weights = kernel;
        }
        if (packed.bias) result.bias = last_bias;
        return result;
    }

    /// So many bytes further on. Kernels take pointers to floats, whatever a layout's elements are.
    [[nodiscard]] static float* further(float* data, std::size_t bytes) noexcept {
        return reinterpret_cast<float*>(reinterpret_cast<std::byte*>(data) + bytes);
    }
    /// Where the data of an image begins.
    [[nodiscard]] float* at(std::size_t tensor, std::size_t image) const noexcept {
        return further(tensors_[tensor], image * image_bytes_[tensor]);
    }
    /// Of so many images from `first` on.
    void run(PackedStep& packed, std::size_t first, int images, ExecutorRef executor) noexcept {
        Step const& step = packed.step;
        const std::size_t end = first + static_cast<std::size_t>(images);
        float* dst = at(step.dst, first);
        const float* residual = step.residual == Step::none ? nullptr : at(step.residual, first);
        if (step.kind == Step::Kind::conv) {
            for (std::size_t image = first; image < end; ++image) {
                step.primitive->run(step.shape,
                                    {.src = at(step.src[0], image),
                                     .weights = packed.weights,
                                     .bias = packed.bias,
                                     .residual = residual == nullptr ? nullptr : at(step.residual, image),
                                     .clamp = step.clamp,
                                     .dst = at(step.dst, image) + step.dst_offset,
                                     .dst_stride = step.dst_stride,
                                     .scratch = step.scratch == Step::none ? nullptr : tensors_[step.scratch],
                                     .executor = executor});
            }
        } else if (step.kind == Step::Kind::epilogue) {
            step.layout->epilogue(step.dst_shape, images, dst, packed.bias, residual, step.clamp, executor);
        } else if (step.kind == Step::Kind::transform) {
            for (std::size_t image = first; image < end; ++image) {
                step.transform->run(step.dst_shape, at(step.src[0], image), at(step.dst, image), executor);
            }
        } else {
            for (std::size_t i = 0; i < step.src.size(); ++i) packed.src_data[i] = at(step.src[i], first);
            step.op->run(step.layer, {.src = packed.src_data,
                                      .src_shape = step.src_shapes,
                                      .dst = dst,
                                      .dst_shape = step.dst_shape,
                                      .batch = images,
                                      .first_image = first,
                                      .weights = packed.weights,
                                      .clamp = step.clamp,
                                      .executor = executor});
        }
    }

    int batch_;
    std::vector<Shape> in_shapes_, out_shapes_;
    std::vector<std::size_t> in_floats_, out_floats_;
    std::vector<PackedStep> steps_;
    std::vector<std::string> names_;
    std::vector<float*> tensors_;
    std::vector<std::size_t> image_bytes_;
    std::size_t single_ = 0;
    AlignedBuffer arena_;
    std::vector<AlignedBuffer> kept_;
    std::size_t weight_bytes_ = 0;
};

}  // namespace primsel::inline PRIMSEL_ABI
// primsel/pbqp/exact.hpp

// primsel/pbqp/detail/dual.hpp
// A lower bound of what any assignment costs, and the alternatives that no assignment better than a known one takes.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::detail {

/// Costs moved between nodes and edges such that every assignment costs what it did, and as much as possible becomes a
/// constant that none can avoid: the bound. Moved in sweeps over the nodes, each of which shares out what it has among
/// the edges to come (sequential tree-reweighted message passing; Kolmogorov 2006 and 2015). On a chain one sweep is
/// exact.
class Dual {
public:
    explicit Dual(PbqpProblem const& problem) : problem_(problem), edges_of_(problem.node_count()) {
        for (std::size_t node = 0; node < problem.node_count(); ++node) costs_.push_back(problem.costs(node));
        for (PbqpProblem::Edge const& edge : problem.edges()) {
            edges_of_[edge.u].push_back(edges_.size());
            edges_of_[edge.v].push_back(edges_.size());
            edges_.push_back({edge.u, edge.v, problem.matrix(edge.matrix)});
        }
        for (Edge const& edge : edges_) sweep_work_ += 8 * edge.costs.values.size();
    }

    /// There and back once. Alternatives with which every assignment costs `limit` or more are struck out. Returns the
    /// better of the two assignments that the sweeps suggest.
    std::vector<std::size_t> sweep(double limit) {
        std::vector<std::size_t> there = pass(true, limit), back = pass(false, limit);
        return problem_.cost(there) < problem_.cost(back) ? there : back;
    }

    /// No assignment of those that are left costs less. Infinite when none is left.
    [[nodiscard]] double bound() const { return bound_; }
    /// The same of those with this alternative; infinite where it is struck out.
    [[nodiscard]] double bound(std::size_t node, std::size_t alternative) const {
        return bound_ + costs_[node][alternative];
    }
    /// How many alternatives are not struck out, of all nodes together.
    [[nodiscard]] std::size_t left() const {
        std::size_t left = 0;
        for (auto const& costs : costs_) left += static_cast<std::size_t>(std::ranges::count_if(costs, possible));
        return left;
    }
    /// Costs that a sweep looks at.
    [[nodiscard]] std::size_t sweep_work() const { return sweep_work_; }
    /// Brings all that a node's edges charge for its alternatives to the node.
    void collect(std::size_t node) {
        for (const std::size_t e : edges_of_[node]) pull(edges_[e], node);
        const double least = std::ranges::min(costs_[node]);
        bound_ += least;
        if (!possible(least)) return;
        for (double& cost : costs_[node]) cost -= least;
    }

private:
    struct Edge {
        std::size_t u, v;
        PbqpMatrix costs;
    };
    [[nodiscard]] static bool possible(double cost) { return cost < std::numeric_limits<double>::infinity(); }

    /// Takes from each of the node's alternatives what the edge charges for it at least, and adds that to `costs`.
    static void pull(Edge& edge, std::size_t node, std::vector<double>& costs) {
        const std::size_t rows = edge.costs.rows, columns = edge.costs.columns;
        const bool of_rows = edge.u == node;
        const std::size_t count = of_rows ? rows : columns, pairs = of_rows ? columns : rows;
        const std::size_t step = of_rows ? columns : 1, across = of_rows ? 1 : columns;
        for (std::size_t i = 0; i < count; ++i) {
            double* const first = edge.costs.values.data() + i * step;
            double least = first[0];
            for (std::size_t j = 1; j < pairs; ++j) least = std::min(least, first[j * across]);
            costs[i] += least;
            if (least == 0 || !possible(least)) continue;
            for (std::size_t j = 0; j < pairs; ++j) first[j * across] -= least;
        }
    }
    void pull(Edge& edge, std::size_t node) { pull(edge, node, costs_[node]); }
    void push(Edge& edge, std::size_t node, double share) {
        const bool of_rows = edge.u == node;
        for (std::size_t i = 0; i < edge.costs.rows; ++i) {
            for (std::size_t j = 0; j < edge.costs.columns; ++j) {
                edge.costs.values[i * edge.costs.columns + j] += share * costs_[node][of_rows ? i : j];
            }
        }
    }

    std::vector<std::size_t> pass(bool forwards, double limit) {
        const std::size_t count = costs_.size();
        std::vector<std::size_t> choice(count, 0);
        std::vector<double> given_earlier;
        for (std::size_t i = 0; i < count && possible(bound_); ++i) {
            const std::size_t node = forwards ? i : count - 1 - i;
            const auto later = [&](std::size_t e) {
                const std::size_t other = edges_[e].u == node ? edges_[e].v : edges_[e].u;
                return forwards ? other > node : other < node;
            };
            // What the alternatives cost beside the choices that were made, and at best beside those to come.
            given_earlier = costs_[node];
            std::size_t to_come = 0;
            for (const std::size_t e : edges_of_[node]) {
                Edge& edge = edges_[e];
                if (later(e)) {
                    ++to_come;
                    std::vector<double> least(given_earlier.size(), 0.0);
                    pull(edge, node, least);
                    for (std::size_t a = 0; a < least.size(); ++a) {
                        given_earlier[a] += least[a];
                        costs_[node][a] += least[a];
                    }
                } else {
                    for (std::size_t a = 0; a < given_earlier.size(); ++a) {
                        given_earlier[a] +=
                            edge.u == node ? edge.costs(a, choice[edge.v]) : edge.costs(choice[edge.u], a);
                    }
                }
            }
            choice[node] = static_cast<std::size_t>(std::ranges::min_element(given_earlier) - given_earlier.begin());
            collect(node);
            if (!possible(bound_)) break;
            for (double& cost : costs_[node]) {
                if (bound_ + cost >= limit) cost = std::numeric_limits<double>::infinity();
            }
            if (!possible(std::ranges::min(costs_[node]))) {
                bound_ = std::numeric_limits<double>::infinity();
                break;
            }
            const std::size_t before = edges_of_[node].size() - to_come;
            const double share = 1.0 / static_cast<double>(std::max<std::size_t>({before, to_come, 1}));
            for (const std::size_t e : edges_of_[node]) {
                if (later(e)) push(edges_[e], node, share);
            }
            const double kept = to_come >= before && to_come > 0 ? 0.0 : 1.0 - share * static_cast<double>(to_come);
            for (double& cost : costs_[node]) {
                if (possible(cost)) cost *= kept;
            }
        }
        return choice;
    }

    PbqpProblem const& problem_;
    std::vector<std::vector<double>> costs_;
    std::vector<Edge> edges_;
    std::vector<std::vector<std::size_t>> edges_of_;
    double bound_ = 0;
    std::size_t sweep_work_ = 0;
};

}  // namespace primsel::inline PRIMSEL_ABI::detail
// primsel/pbqp/detail/elimination.hpp
// Exact elimination of nodes with any number of neighbours, where the tables that this takes stay small.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <list>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::detail {

/// In which order nodes go, and what that takes: `work`, costs that are added up; `entries`, of all tables together.
struct EliminationOrder {
    std::vector<std::size_t> nodes;
    double work = 0, entries = 0;
};

/// Greedy: next goes the node whose table would be smallest. Gives up, with infinite work, beyond max_work.
[[nodiscard]] inline EliminationOrder elimination_order(PbqpProblem const& problem, double max_work) {
    const std::size_t count = problem.node_count();
    std::vector<std::vector<std::size_t>> adjacent(count);
    const auto connect = [&](std::size_t u, std::size_t v) {
        const auto place = std::ranges::lower_bound(adjacent[u], v);
        if (place == adjacent[u].end() || *place != v) adjacent[u].insert(place, v);
    };
    for (PbqpProblem::Edge const& edge : problem.edges()) connect(edge.u, edge.v), connect(edge.v, edge.u);
    const auto table = [&](std::size_t node) {
        double entries = 1;
        for (const std::size_t other : adjacent[node]) entries *= static_cast<double>(problem.costs(other).size());
        return entries;
    };
    std::vector<double> entries(count);
    for (std::size_t node = 0; node < count; ++node) entries[node] = table(node);

    EliminationOrder order;
    std::vector<bool> gone(count, false);
    while (order.nodes.size() < count) {
        std::size_t next = count;
        for (std::size_t node = 0; node < count; ++node) {
            if (!gone[node] && (next == count || entries[node] < entries[next])) next = node;
        }
        gone[next] = true;
        order.nodes.push_back(next);
        const std::vector<std::size_t> neighbours = std::move(adjacent[next]);
        order.entries += entries[next];
        order.work += entries[next] * static_cast<double>(problem.costs(next).size() * (neighbours.size() + 1));
        if (!(order.work <= max_work)) return {{}, std::numeric_limits<double>::infinity(), order.entries};
        for (const std::size_t node : neighbours) {
            std::erase(adjacent[node], next);
            for (const std::size_t other : neighbours) {
                if (other != node) connect(node, other);
            }
        }
        for (const std::size_t node : neighbours) entries[node] = table(node);
    }
    return order;
}

/// Dynamic programming over an order (bucket elimination; Dechter 1999): each node in turn is replaced by a table that
/// has its cheapest answer to every combination of its neighbours' alternatives.
class Elimination {
public:
    Elimination(PbqpProblem const& problem, std::vector<std::size_t> const& order)
        : problem_(problem), order_(order), position_(problem.node_count()), buckets_(problem.node_count()) {
        for (std::size_t i = 0; i < order.size(); ++i) position_[order[i]] = i;
        for (PbqpProblem::Edge const& edge : problem.edges()) {
            PbqpMatrix const& matrix = problem.matrix(edge.matrix);
            add({{edge.u, edge.v}, {matrix.columns, 1}, &matrix.values});
        }
    }

    /// The cheapest choice of all.
    [[nodiscard]] std::vector<std::size_t> solve() {
        std::vector<Answers> answers;
        for (const std::size_t node : order_) answers.push_back(eliminate(node));
        std::vector<std::size_t> choice(problem_.node_count(), 0);
        for (std::size_t i = order_.size(); i-- > 0;) {
            std::size_t place = 0;
            for (const std::size_t other : answers[i].scope) {
                place = place * problem_.costs(other).size() + choice[other];
            }
            choice[order_[i]] = answers[i].best[place];
        }
        return choice;
    }

private:
    /// Costs of the alternatives of some nodes together; `strides`: how far apart a node's alternatives are.
    struct Table {
        std::vector<std::size_t> scope, strides;
        std::vector<double> const* values;
    };
    /// What a node takes, by what the nodes of `scope` have taken.
    struct Answers {
        std::vector<std::size_t> scope;
        std::vector<std::uint32_t> best;
    };

    /// To the bucket of the node of its scope that goes first.
    void add(Table table) {
        const std::size_t first = *std::ranges::min_element(
            table.scope, [&](std::size_t a, std::size_t b) { return position_[a] < position_[b]; });
        buckets_[first].push_back(std::move(table));
    }

    [[nodiscard]] Answers eliminate(std::size_t node) {
        std::vector<Table> const tables = std::move(buckets_[node]);
        Answers answers;
        for (Table const& table : tables) {
            for (const std::size_t other : table.scope) {
                if (other != node && std::ranges::find(answers.scope, other) == answers.scope.end()) {
                    answers.scope.push_back(other);
                }
            }
        }
        std::vector<std::size_t> sizes;
        std::size_t entries = 1;
        for (const std::size_t other : answers.scope) {
            sizes.push_back(problem_.costs(other).size());
            entries *= sizes.back();
        }
        // For each table, how far its place moves with each node of the scope, and with this node.
        std::vector<std::vector<std::size_t>> steps(tables.size(), std::vector<std::size_t>(sizes.size(), 0));
        std::vector<std::size_t> own(tables.size(), 0), place(tables.size(), 0);
        for (std::size_t t = 0; t < tables.size(); ++t) {
            for (std::size_t n = 0; n < tables[t].scope.size(); ++n) {
                if (tables[t].scope[n] == node) {
                    own[t] = tables[t].strides[n];
                } else {
                    const auto at = std::ranges::find(answers.scope, tables[t].scope[n]) - answers.scope.begin();
                    steps[t][static_cast<std::size_t>(at)] = tables[t].strides[n];
                }
            }
        }
        std::vector<double> result(entries), sums;
        answers.best.resize(entries);
        std::vector<std::size_t> digits(sizes.size(), 0);
        for (std::size_t entry = 0; entry < entries; ++entry) {
            sums = problem_.costs(node);
            for (std::size_t t = 0; t < tables.size(); ++t) {
                double const* const values = tables[t].values->data() + place[t];
                for (std::size_t a = 0; a < sums.size(); ++a) sums[a] += values[a * own[t]];
            }
            const auto least = std::ranges::min_element(sums);
            result[entry] = *least;
            answers.best[entry] = static_cast<std::uint32_t>(least - sums.begin());
            // The next combination: the last node of the scope moves fastest.
            for (std::size_t d = sizes.size(); d-- > 0;) {
                const bool carry = ++digits[d] == sizes[d];
                const std::size_t back = carry ? sizes[d] - 1 : 0;
                for (std::size_t t = 0; t < tables.size(); ++t) {
                    place[t] = carry ? place[t] - back * steps[t][d] : place[t] + steps[t][d];
                }
                if (!carry) break;
                digits[d] = 0;
            }
        }
        if (!sizes.empty()) {
            std::vector<std::size_t> strides(sizes.size(), 1);
            for (std::size_t d = sizes.size() - 1; d-- > 0;) strides[d] = strides[d + 1] * sizes[d + 1];
            results_.push_back(std::move(result));
            add({answers.scope, std::move(strides), &results_.back()});
        }
        return answers;
    }

    PbqpProblem const& problem_;
    std::vector<std::size_t> const& order_;
    std::vector<std::size_t> position_;  // of each node in the order
    std::vector<std::vector<Table>> buckets_;
    std::list<std::vector<double>> results_;
};

}  // namespace primsel::inline PRIMSEL_ABI::detail
// primsel/pbqp/reduce.hpp

// primsel/pbqp/detail/reducer.hpp
// A problem that is taken apart node by node, and put together again in reverse order.

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::detail {

inline constexpr std::size_t no_edge = std::numeric_limits<std::size_t>::max();

/// The lowest position of the smallest value.
[[nodiscard]] inline std::size_t cheapest(std::span<const double> costs) {
    return static_cast<std::size_t>(std::ranges::min_element(costs) - costs.begin());
}

class Reducer {
public:
    explicit Reducer(PbqpProblem const& problem)
        : adjacent_(problem.node_count()), queued_(problem.node_count(), false) {
        costs_.reserve(problem.node_count());
        for (std::size_t node = 0; node < problem.node_count(); ++node) costs_.push_back(problem.costs(node));
        alive_.assign(problem.node_count(), true);
        left_ = problem.node_count();
        for (PbqpProblem::Edge const& edge : problem.edges()) {
            // The problem outlives its reducer: its matrices are not copied.
            connect(edge.u, edge.v, Matrix(Matrix(), &problem.matrix(edge.matrix)));
        }
        for (std::size_t node = costs_.size(); node-- > 0;) queue(node);
    }

    /// R0, RI and RII as long as they apply. What is left is the core: every node has three neighbours or more.
    void reduce() {
        while (!queue_.empty()) {
            const std::size_t node = queue_.back();
            queue_.pop_back();
            queued_[node] = false;
            if (!alive_[node] || adjacent_[node].size() > 2) continue;
            if (adjacent_[node].size() == 2)
                reduce_two(node);
            else if (adjacent_[node].size() == 1)
                reduce_one(node);
            else
                reduce_none(node);
        }
    }

    /// RN: the node that has the most neighbours takes what is locally cheapest.
    void reduce_many() {
        std::size_t most = no_edge;
        for (std::size_t node = 0; node < costs_.size(); ++node) {
            if (alive_[node] && (most == no_edge || adjacent_[node].size() > adjacent_[most].size())) most = node;
        }
        ++counts.rn;
        fix(most, cheapest(local_costs(most)));
    }

    /// The node takes the alternative for good.
    void fix(std::size_t node, std::size_t alternative) {
        spent_ += costs_[node][alternative];
        steps_.push_back({node, {no_edge, no_edge}, {}, {}, alternative});
        while (!adjacent_[node].empty()) {
            const std::size_t edge = adjacent_[node].back();
            const std::size_t other = opposite(edge, node);
            for (std::size_t j = 0; j < costs_[other].size(); ++j) costs_[other][j] += at(edge, node, alternative, j);
            disconnect(edge);
        }
        remove(node);
    }

    [[nodiscard]] bool done() const { return left_ == 0; }
    /// The cost that no choice in what is left can change: that of the nodes that went without a neighbour to charge.
    [[nodiscard]] double spent() const { return spent_; }

    /// For each alternative of a node, its cost and the least that each neighbour adds.
    [[nodiscard]] std::vector<double> local_costs(std::size_t node) const {
        std::vector<double> costs = costs_[node];
        for (const std::size_t edge : adjacent_[node]) {
            const std::size_t other = opposite(edge, node);
            for (std::size_t i = 0; i < costs.size(); ++i) {
                double least = std::numeric_limits<double>::infinity();
                for (std::size_t j = 0; j < costs_[other].size(); ++j) {
                    least = std::min(least, at(edge, node, i, j) + costs_[other][j]);
                }
                costs[i] += least;
            }
        }
        return costs;
    }

    /// The core as a problem of its own; `nodes` are its nodes here.
    [[nodiscard]] PbqpProblem core(std::vector<std::size_t>& nodes) const {
        PbqpProblem core;
        std::vector<std::size_t> number(costs_.size(), 0);
        for (std::size_t node = 0; node < costs_.size(); ++node) {
            if (!alive_[node]) continue;
            number[node] = core.add_node(costs_[node]);
            nodes.push_back(node);
        }
        for (std::size_t edge = 0; edge < edges_.size(); ++edge) {
            if (edges_[edge].matrix == nullptr) continue;
            core.add_edge(number[edges_[edge].u], number[edges_[edge].v], *edges_[edge].matrix);
        }
        return core;
    }

    /// Undoes every step: `choice` holds the core's alternatives, if there is one, and gets all others.
    void propagate(std::vector<std::size_t>& choice) const {
        choice.resize(costs_.size(), 0);
        for (std::size_t i = steps_.size(); i-- > 0;) {
            Step const& step = steps_[i];
            if (step.alternative != no_edge) {
                choice[step.node] = step.alternative;
                continue;
            }
            std::vector<double> costs = costs_[step.node];
            for (std::size_t n = 0; n < 2 && step.neighbours[n] != no_edge; ++n) {
                for (std::size_t a = 0; a < costs.size(); ++a) {
                    const std::size_t b = choice[step.neighbours[n]];
                    costs[a] += step.transposed[n] ? (*step.matrices[n])(b, a) : (*step.matrices[n])(a, b);
                }
            }
            choice[step.node] = cheapest(costs);
        }
    }

    PbqpSolution counts;  ///< only its counters are used

private:
    using Matrix = std::shared_ptr<const PbqpMatrix>;
    struct Edge {
        std::size_t u, v;
        Matrix matrix;           ///< null once it is gone
        std::size_t at_u, at_v;  ///< positions in the nodes' lists
    };
    /// A node that is gone, and what it needs to choose once its neighbours have chosen; or its alternative.
    struct Step {
        std::size_t node;
        std::array<std::size_t, 2> neighbours;
        std::array<Matrix, 2> matrices;
        std::array<bool, 2> transposed;
        std::size_t alternative = no_edge;
    };

    [[nodiscard]] std::size_t opposite(std::size_t edge, std::size_t node) const {
        return edges_[edge].u == node ? edges_[edge].v : edges_[edge].u;
    }
    /// The cost of alternative i of `node` with alternative j of its neighbour.
    [[nodiscard]] double at(std::size_t edge, std::size_t node, std::size_t i, std::size_t j) const {
        return edges_[edge].u == node ? (*edges_[edge].matrix)(i, j) : (*edges_[edge].matrix)(j, i);
    }

    void queue(std::size_t node) {
        if (queued_[node] || adjacent_[node].size() > 2) return;
        queued_[node] = true;
        queue_.push_back(node);
    }
    void remove(std::size_t node) {
        alive_[node] = false;
        --left_;
    }

    void connect(std::size_t u, std::size_t v, Matrix matrix) {
        auto const& shorter = adjacent_[u].size() < adjacent_[v].size() ? adjacent_[u] : adjacent_[v];
        for (const std::size_t edge : shorter) {
            if (edges_[edge].u == u && edges_[edge].v == v) return merge(edge, *matrix, false);
            if (edges_[edge].u == v && edges_[edge].v == u) return merge(edge, *matrix, true);
        }
        edges_.push_back({u, v, std::move(matrix), adjacent_[u].size(), adjacent_[v].size()});
        adjacent_[u].push_back(edges_.size() - 1);
        adjacent_[v].push_back(edges_.size() - 1);
    }
    void merge(std::size_t edge, PbqpMatrix const& matrix, bool transposed) {
        auto sum = std::make_shared<PbqpMatrix>(*edges_[edge].matrix);
        for (std::size_t i = 0; i < sum->rows; ++i) {
            for (std::size_t j = 0; j < sum->columns; ++j) {
                sum->values[i * sum->columns + j] += transposed ? matrix(j, i) : matrix(i, j);
            }
        }
        edges_[edge].matrix = std::move(sum);
    }
    void disconnect(std::size_t edge) {
        drop(edges_[edge].u, edges_[edge].at_u);
        drop(edges_[edge].v, edges_[edge].at_v);
        edges_[edge].matrix = nullptr;
        queue(edges_[edge].u);
        queue(edges_[edge].v);
    }
    void drop(std::size_t node, std::size_t position) {
        auto& list = adjacent_[node];
        list[position] = list.back();
        list.pop_back();
        if (position == list.size()) return;
        Edge& moved = edges_[list[position]];
        (moved.u == node ? moved.at_u : moved.at_v) = position;
    }
    [[nodiscard]] Step step_for(std::size_t node) const {
        Step step{node, {no_edge, no_edge}, {}, {}, no_edge};
        for (std::size_t n = 0; n < adjacent_[node].size(); ++n) {
            Edge const& edge = edges_[adjacent_[node][n]];
            step.neighbours[n] = opposite(adjacent_[node][n], node);
            step.matrices[n] = edge.matrix;
            step.transposed[n] = edge.v == node;
        }
        return step;
    }

    /// R0: a node without edges.
    void reduce_none(std::size_t node) {
        ++counts.r0;
        spent_ += costs_[node][cheapest(costs_[node])];
        steps_.push_back(step_for(node));
        remove(node);
    }

    /// RI: a leaf's cheapest answer to each alternative of its neighbour becomes that alternative's cost.
    void reduce_one(std::size_t node) {
        ++counts.ri;
        const std::size_t edge = adjacent_[node][0], other = opposite(edge, node);
        for (std::size_t j = 0; j < costs_[other].size(); ++j) {
            double least = std::numeric_limits<double>::infinity();
            for (std::size_t i = 0; i < costs_[node].size(); ++i) {
                least = std::min(least, costs_[node][i] + at(edge, node, i, j));
            }
            costs_[other][j] += least;
        }
        steps_.push_back(step_for(node));
        disconnect(edge);
        remove(node);
    }

    /// RII: a node between two others becomes an edge between them.
    void reduce_two(std::size_t node) {
        ++counts.rii;
        const std::size_t e = adjacent_[node][0], f = adjacent_[node][1];
        const std::size_t y = opposite(e, node), z = opposite(f, node);
        auto delta = std::make_shared<PbqpMatrix>(
            PbqpMatrix{costs_[y].size(), costs_[z].size(), std::vector<double>(costs_[y].size() * costs_[z].size())});
        for (std::size_t j = 0; j < delta->rows; ++j) {
            for (std::size_t k = 0; k < delta->columns; ++k) {
                double least = std::numeric_limits<double>::infinity();
                for (std::size_t i = 0; i < costs_[node].size(); ++i) {
                    least = std::min(least, costs_[node][i] + at(e, node, i, j) + at(f, node, i, k));
                }
                delta->values[j * delta->columns + k] = least;
            }
        }
        steps_.push_back(step_for(node));
        disconnect(e);
        disconnect(f);
        remove(node);
        connect(y, z, std::move(delta));
        queue(y);
        queue(z);
    }

    std::vector<std::vector<double>> costs_;
    std::vector<std::vector<std::size_t>> adjacent_;  // edges of each node
    std::vector<Edge> edges_;
    std::vector<bool> alive_, queued_;
    std::vector<std::size_t> queue_;
    std::vector<Step> steps_;
    std::size_t left_ = 0;
    double spent_ = 0;
};

[[nodiscard]] inline PbqpSolution finish(PbqpProblem const& problem, Reducer const& reducer,
                                         std::vector<std::size_t> choice, bool optimal) {
    PbqpSolution solution = reducer.counts;
    reducer.propagate(choice);
    solution.cost = problem.cost(choice);
    solution.choice = std::move(choice);
    solution.optimal = optimal;
    solution.bound = optimal ? solution.cost : 0;
    return solution;
}

}  // namespace primsel::inline PRIMSEL_ABI::detail

namespace primsel::inline PRIMSEL_ABI {

/// The reductions of Scholz and Eckstein (2002; Hames and Scholz 2006): R0, RI and RII keep the optimum; where none of
/// them applies, RN takes the locally cheapest alternative of the node with most neighbours. Linear in the number of
/// nodes for chains and all other series-parallel graphs, which need no RN: the solution is then optimal.
struct ReductionPbqp {
    static constexpr std::string_view name = "reduction";

    [[nodiscard]] PbqpSolution solve(PbqpProblem const& problem) const {
        detail::Reducer reducer(problem);
        reducer.reduce();
        while (!reducer.done()) {
            reducer.reduce_many();
            reducer.reduce();
        }
        const bool optimal = reducer.counts.rn == 0;
        return detail::finish(problem, reducer, {}, optimal);
    }
};

}  // namespace primsel::inline PRIMSEL_ABI

#include <algorithm>
#include <numeric>
#include <utility>

namespace primsel::inline PRIMSEL_ABI {

/// Proven optimal, unless that takes too long; then the best found, and a bound of how much better another could be.
///
/// The exact reductions come first. Over the core that is left, dynamic programming where its tables are small; else a
/// lower bound (see detail::Dual) strikes out alternatives that cannot be in a better assignment, which lets more
/// reductions apply; and where that ends, branch and bound.
struct ExactPbqp {
    static constexpr std::string_view name = "exact";
    /// How many costs may be looked at beyond the reductions, for each node of the problem: about a nanosecond each. By
    /// this and not by a clock, so that equal problems have equal solutions.
    std::size_t work_per_node = 50'000;
    /// Of the tables of dynamic programming together, 12 bytes each.
    std::size_t max_entries = 2'000'000;

    [[nodiscard]] PbqpSolution solve(PbqpProblem const& problem) const {
        detail::Reducer reducer(problem);
        reducer.reduce();
        if (reducer.done()) return detail::finish(problem, reducer, {}, true);

        std::vector<std::size_t> nodes;
        const PbqpProblem core = reducer.core(nodes);
        const double work = static_cast<double>(work_per_node) * static_cast<double>(problem.node_count());
        Search search{core, work, static_cast<double>(max_entries), ReductionPbqp{}.solve(core)};
        const double bound = std::min(search.branch(core, 0), search.best.cost);
        std::vector<std::size_t> choice(problem.node_count(), 0);
        for (std::size_t i = 0; i < nodes.size(); ++i) choice[nodes[i]] = search.best.choice[i];
        PbqpSolution solution = detail::finish(problem, reducer, std::move(choice), bound >= search.limit());
        if (!solution.optimal) solution.bound = std::min(reducer.spent() + bound, solution.cost);
        solution.branches = search.branches;
        return solution;
    }

private:
    /// Depth first, of what is left of the core on the way down.
    struct Search {
        /// A part of the problem above it: some alternatives of each node, or all; then reduced. What is left are the
        /// nodes of its core, ascending.
        struct Level {
            std::vector<std::vector<std::size_t>> kept;
            detail::Reducer reducer;
            std::vector<std::size_t> nodes;
        };

        PbqpProblem const& root;
        double work, max_entries;
        PbqpSolution best;
        std::size_t branches = 0;
        std::vector<Level const*> path{};
        std::vector<std::vector<PbqpProblem::Edge const*>> edges_of{};

        /// Assignments that cost as much as this are no better than the best, but for rounding.
        [[nodiscard]] double limit() const { return best.cost - 1e-12 * (best.cost < infinite ? best.cost : 0.0); }

        /// `spent`: what the choices made so far cost, apart from what they add to the problem that is left. Returns
        /// what no assignment of it that is better than the best costs less than.
        double branch(PbqpProblem const& problem, double spent) {
            const detail::EliminationOrder order = detail::elimination_order(problem, work);
            work -= static_cast<double>(problem.node_count() * problem.node_count());
            if (order.work <= work && order.entries <= max_entries) {
                work -= order.work;
                const std::vector<std::size_t> choice = detail::Elimination(problem, order.nodes).solve();
                offer(choice);
                return spent + problem.cost(choice);
            }
            detail::Dual dual(problem);
            const std::size_t whole = dual.left();
            sweep(dual, whole, spent);
            const double bound = spent + dual.bound();
            if (bound >= limit() || work <= 0) return bound;
            if (dual.left() < whole) return std::max(bound, branch_restricted(problem, dual, spent));

            const std::size_t node = busiest(problem);
            dual.collect(node);
            std::vector<std::size_t> alternatives(problem.costs(node).size());
            std::iota(alternatives.begin(), alternatives.end(), std::size_t{0});
            std::ranges::sort(alternatives, {}, [&](std::size_t a) { return std::pair(dual.bound(node, a), a); });
            double least = infinite;
            for (const std::size_t alternative : alternatives) {
                const double at_least = spent + dual.bound(node, alternative);
                if (at_least >= limit()) break;
                if (work <= 0) return std::min(least, at_least);
                ++branches;
                work -= static_cast<double>(dual.sweep_work());
                Level level{{}, detail::Reducer(problem), {}};
                level.reducer.fix(node, alternative);
                least = std::min(least, std::max(at_least, descend(level, spent)));
            }
            return least;
        }

        /// Raises the bound as long as that is worth it: until enough is struck out to start again with less, or little
        /// changes.
        void sweep(detail::Dual& dual, std::size_t whole, double spent) {
            double last = 0;
            for (int sweeps = 0; work > 0; ++sweeps) {
                work -= static_cast<double>(dual.sweep_work());
                offer(dual.sweep(limit() - spent));
                const double gap = limit() - spent - dual.bound();
                if (gap <= 0 || dual.left() * 4 < whole * 3) return;
                if (sweeps % 8 == 7) {
                    if (dual.bound() - last < 0.05 * gap) return;
                    last = dual.bound();
                }
            }
        }

        /// With the alternatives that are left alone.
        double branch_restricted(PbqpProblem const& problem, detail::Dual const& dual, double spent) {
            std::vector<std::vector<std::size_t>> kept(problem.node_count());
            PbqpProblem part;
            for (std::size_t node = 0; node < problem.node_count(); ++node) {
                std::vector<double> costs;
                for (std::size_t a = 0; a < problem.costs(node).size(); ++a) {
                    if (!(dual.bound(node, a) < infinite)) continue;
                    kept[node].push_back(a);
                    costs.push_back(problem.costs(node)[a]);
                }
                part.add_node(std::move(costs));
            }
            for (PbqpProblem::Edge const& edge : problem.edges()) {
                PbqpMatrix matrix{kept[edge.u].size(), kept[edge.v].size(), {}};
                for (const std::size_t i : kept[edge.u]) {
                    for (const std::size_t j : kept[edge.v]) {
                        matrix.values.push_back(problem.matrix(edge.matrix)(i, j));
                    }
                }
                part.add_edge(edge.u, edge.v, std::move(matrix));
            }
            Level level{std::move(kept), detail::Reducer(part), {}};
            return descend(level, spent);
        }

        /// Reduces, and goes on with what is left.
        double descend(Level& level, double spent) {
            level.reducer.reduce();
            path.push_back(&level);
            double least = spent + level.reducer.spent();
            if (level.reducer.done())
                offer({});
            else
                least = branch(level.reducer.core(level.nodes), least);
            path.pop_back();
            return least;
        }

        /// An assignment of the problem at the end of the path: made one of the whole core, and better where a change
        /// of one node makes it so.
        void offer(std::vector<std::size_t> choice) {
            for (std::size_t i = path.size(); i-- > 0;) {
                Level const& level = *path[i];
                std::vector<std::size_t> outer(level.nodes.empty() ? 0 : level.nodes.back() + 1, 0);
                for (std::size_t n = 0; n < level.nodes.size(); ++n) outer[level.nodes[n]] = choice[n];
                level.reducer.propagate(outer);
                for (std::size_t n = 0; n < level.kept.size(); ++n) outer[n] = level.kept[n][outer[n]];
                choice = std::move(outer);
            }
            improve(choice);
            const double cost = root.cost(choice);
            if (cost < best.cost) best.cost = cost, best.choice = std::move(choice);
        }
        /// Each node in turn takes what is cheapest beside its neighbours.
        void improve(std::vector<std::size_t>& choice) {
            if (edges_of.empty()) {
                edges_of.resize(root.node_count());
                for (PbqpProblem::Edge const& edge : root.edges()) {
                    edges_of[edge.u].push_back(&edge), edges_of[edge.v].push_back(&edge);
                }
            }
            std::vector<double> costs;
            for (bool changed = true; changed && work > 0;) {
                changed = false;
                for (std::size_t node = 0; node < choice.size(); ++node) {
                    costs = root.costs(node);
                    for (PbqpProblem::Edge const* edge : edges_of[node]) {
                        PbqpMatrix const& matrix = root.matrix(edge->matrix);
                        const bool of_rows = edge->u == node;
                        const std::size_t other = choice[of_rows ? edge->v : edge->u];
                        for (std::size_t a = 0; a < costs.size(); ++a) {
                            costs[a] += of_rows ? matrix(a, other) : matrix(other, a);
                        }
                    }
                    const std::size_t cheapest = detail::cheapest(costs);
                    work -= static_cast<double>(costs.size() * (edges_of[node].size() + 1));
                    if (!(costs[cheapest] < costs[choice[node]])) continue;
                    choice[node] = cheapest;
                    changed = true;
                }
            }
        }

        [[nodiscard]] static std::size_t busiest(PbqpProblem const& problem) {
            std::vector<std::size_t> degree(problem.node_count(), 0);
            for (PbqpProblem::Edge const& edge : problem.edges()) ++degree[edge.u], ++degree[edge.v];
            return static_cast<std::size_t>(std::ranges::max_element(degree) - degree.begin());
        }

        static constexpr double infinite = std::numeric_limits<double>::infinity();
    };
};

}  // namespace primsel::inline PRIMSEL_ABI
// primsel/pbqp/greedy.hpp

#include <algorithm>
#include <cmath>

namespace primsel::inline PRIMSEL_ABI {

/// A baseline: every node takes its own cheapest alternative, as if there were no edges.
struct GreedyPbqp {
    static constexpr std::string_view name = "greedy";

    [[nodiscard]] PbqpSolution solve(PbqpProblem const& problem) const {
        PbqpSolution solution;
        for (std::size_t node = 0; node < problem.node_count(); ++node) {
            auto const& costs = problem.costs(node);
            solution.choice.push_back(static_cast<std::size_t>(std::ranges::min_element(costs) - costs.begin()));
        }
        solution.cost = problem.cost(solution.choice);
        solution.optimal = problem.edges().empty();
        solution.bound = solution.optimal ? solution.cost : 0;
        return solution;
    }
};

/// A baseline: every node takes the same alternative, or its own cheapest where it has none of that number or may not
/// take it.
struct UniformPbqp {
    static constexpr std::string_view name = "uniform";
    std::size_t alternative = 0;

    [[nodiscard]] PbqpSolution solve(PbqpProblem const& problem) const {
        PbqpSolution solution = GreedyPbqp{}.solve(problem);
        for (std::size_t node = 0; node < problem.node_count(); ++node) {
            auto const& costs = problem.costs(node);
            if (alternative < costs.size() && std::isfinite(costs[alternative])) solution.choice[node] = alternative;
        }
        solution.cost = problem.cost(solution.choice);
        solution.optimal = false, solution.bound = 0;
        return solution;
    }
};

}  // namespace primsel::inline PRIMSEL_ABI

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

/// A plan and the median of its measured times.
struct ComparedPlan {
    std::string name;
    Plan plan;
    double seconds = 0;
};

/// The plan, greedy (each layer's own cheapest primitive, whatever the changes of layout cost) and, for each family
/// that can compute something, the uniform plan that uses the family wherever it can and im2 where it cannot.
template <CostModel Model>
[[nodiscard]] std::vector<ComparedPlan> rival_plans(Graph const& simplified, Kernels const& kernels, Model& model) {
    std::vector<ComparedPlan> plans;
    plans.push_back({"plan", make_plan(simplified, kernels, model, ExactPbqp{})});
    plans.push_back({"greedy", make_plan(simplified, kernels, model, GreedyPbqp{})});
    std::vector<Family> families;
    for (PrimitiveEntry const& entry : kernels.primitives) {
        if (std::ranges::find(families, entry.family) == families.end()) families.push_back(entry.family);
    }
    for (const Family family : families) {
        Plan plan = make_plan(simplified, kernels, model, ExactPbqp{}, {.family = family});
        const bool used = std::ranges::any_of(plan.layers, [&](PlannedLayer const& layer) {
            const auto primitive = kernels.find_if_any(layer.primitive);
            return primitive && kernels.primitives[*primitive].family == family;
        });
        if (used) plans.push_back({"uniform " + std::string(to_string_view(family)), std::move(plan)});
    }
    return plans;
}

/// Runs every plan once to warm up, then `rounds` times in turns, and stores each one's median.
inline void time_plans(std::vector<ComparedPlan>& plans, Graph const& simplified, Kernels const& kernels,
                       Weights const& weights, ExecutorRef executor, std::size_t rounds) {
    std::vector<std::unique_ptr<Program>> programs;
    for (ComparedPlan const& plan : plans) {
        programs.push_back(std::make_unique<Program>(simplified, kernels, plan.plan, weights, executor.concurrency()));
    }
    std::vector<float> src(programs[0]->in_floats()), dst(programs[0]->out_floats());
    for (std::size_t i = 0; i < src.size(); ++i) src[i] = static_cast<float>((i * 2654435761U >> 16) & 255U) / 255.0F;
    std::vector<std::vector<double>> seconds(plans.size());
    for (std::size_t round = 0; round <= rounds; ++round) {
        for (std::size_t i = 0; i < plans.size(); ++i) {
            const Timer timer;
            programs[i]->run(src.data(), dst.data(), executor);
            if (round > 0) seconds[i].push_back(timer.seconds());
        }
    }
    for (std::size_t i = 0; i < plans.size(); ++i) plans[i].seconds = median(std::move(seconds[i]));
}

}  // namespace primsel::inline PRIMSEL_ABI
// primsel/engine/engine.hpp

// primsel/engine/kernels_for.hpp

// primsel/kernels/compiled.hpp

#include <cstddef>

namespace primsel::inline PRIMSEL_ABI {

/// Which kernels of a list are compiled: primitives by type, ops by the position of their layer in AnyLayer. Tables
/// keep a place for those that are not, which support nothing. Here: all of them. KernelsFor (engine/kernels_for.hpp)
/// has those that a Network type can use.
struct CompileAll {
    template <class Primitive>
    static constexpr bool primitive = true;
    [[nodiscard]] static constexpr bool layer(std::size_t) { return true; }
};

}  // namespace primsel::inline PRIMSEL_ABI
// primsel/network/network.hpp

// primsel/layer/compose.hpp
// What network types are put together with: layers one after the other, beside each other, and by a name.

// primsel/core/fixed_string.hpp

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

namespace primsel::inline PRIMSEL_ABI {

/// A string that may be a template argument: Named<"stem", ...>. N counts the terminating zero.
template <std::size_t N>
struct FixedString {
    char text[N] = {};

    constexpr FixedString() = default;
    // NOLINTNEXTLINE(google-explicit-constructor): a literal is meant to convert
    constexpr FixedString(const char (&literal)[N]) { std::copy_n(literal, N, text); }

    [[nodiscard]] constexpr std::string_view view() const { return {text, N - 1}; }
    // NOLINTNEXTLINE(google-explicit-constructor)
    constexpr operator std::string_view() const { return view(); }
};

template <std::size_t N, std::size_t M>
constexpr auto operator+(FixedString<N> const& left, FixedString<M> const& right) {
    FixedString<N + M - 1> sum;
    std::copy_n(left.text, N - 1, sum.text);
    std::copy_n(right.text, M, sum.text + N - 1);
    return sum;
}
template <std::size_t N, std::size_t M>
constexpr auto operator+(FixedString<N> const& left, const char (&right)[M]) {
    return left + FixedString<M>(right);
}

/// A number in decimal, e.g. for `winograd-4x4-3x3`.
template <unsigned value>
constexpr auto fixed_decimal() {
    constexpr std::size_t digits = [] {
        std::size_t count = 1;
        for (unsigned rest = value; rest >= 10; rest /= 10) ++count;
        return count;
    }();
    FixedString<digits + 1> text;
    unsigned rest = value;
    for (std::size_t i = digits; i-- > 0; rest /= 10) text.text[i] = static_cast<char>('0' + rest % 10);
    return text;
}

}  // namespace primsel::inline PRIMSEL_ABI

namespace primsel::inline PRIMSEL_ABI::layer {

/// Layers one after the other.
template <class... Layers>
struct Path {};
/// The sum of branches that all read the same input; each is a layer or a Path. An empty Path is the input itself.
template <class... Branches>
struct Sum {};
/// The channels of the branches, one after the other.
template <class... Branches>
struct Concat {};
/// An elementwise function of two branches. Along each of c, h and w they are equally long, or one of them has a single
/// element there that meets all of the other's.
template <BinaryKind kind, class... Branches>
struct Binary {};
/// The product of two branches.
template <class... Branches>
using Product = Binary<BinaryKind::multiply, Branches...>;
/// The layers' result plus their input (He et al. 2016).
template <class... Layers>
using Residual = Sum<Path<Layers...>, Path<>>;
/// The input times the layers' result, which may have a single element a channel or a pixel: squeeze-and-excite (Hu et
/// al. 2018), and functions such as x * sigmoid(x).
template <class... Layers>
using Gated = Product<Path<>, Path<Layers...>>;
/// A name for a layer, or a prefix for the names of the layers in a Path, Sum, Concat or Product: `stem`,
/// `block.conv1`. Without one, layers are named by their kind and count: `conv1`, `conv2`; so are sums: `sum1.conv1`.
/// An empty name is no prefix: the layers inside are named as those around them.
template <FixedString name, class Layer>
struct Named {};
/// Layers that make one together. The last bears the name of the whole, those before it are named inside: `norm`,
/// `norm.reduce_mean1`. Without a name, it is named by its kind and count.
template <FixedString kind, class Last, class... Before>
struct Whole {};

}  // namespace primsel::inline PRIMSEL_ABI::layer
// primsel/layer/composite.hpp
// Layer types that are made of others: what one of PyTorch's modules computes takes several layers of the graph.

#include <cstddef>
#include <ratio>
#include <type_traits>

namespace primsel::inline PRIMSEL_ABI::layer {

namespace detail {

/// (x - mean) / sqrt(variance + Epsilon) along an axis.
template <Axis axis, class Epsilon>
using Normalized =
    Path<Binary<BinaryKind::subtract, Path<>, Reduce<ReduceKind::mean, axis>>,
         Binary<BinaryKind::divide, Path<>,
                Path<Product<Path<>, Path<>>, Reduce<ReduceKind::mean, axis>, ScaleBy<std::ratio<1>, Epsilon>, Sqrt>>>;

/// What stands in the place of a layer whose groups do not divide the channels says so: it has the same fault.
template <int groups, Shape in, class Layer>
using IfGroupsDivide =
    std::conditional_t<(groups > 0 && in.c % (groups > 0 ? groups : 1) == 0), Layer, ChannelShuffle<groups>>;

/// The same over groups of channels and all pixels.
template <int groups, class Epsilon, Shape in>
using NormalizedGroups =
    IfGroupsDivide<groups, in,
                   Path<Reshape<groups, static_cast<int>(in.size()) / (groups > 0 ? groups : 1), 1>,
                        Normalized<Axis::h, Epsilon>, Reshape<in.c, in.h, in.w>>>;

template <int factor, Shape in>
struct PixelShuffleOf {
    static constexpr AsStridedParams params = [] {
        const int r = factor, c = in.c / (r * r);
        const std::ptrdiff_t pixels = std::ptrdiff_t{in.h} * in.w;
        return AsStridedParams{.dims = {c, in.h, r, in.w, r},
                               .strides = {r * r * pixels, in.w, r * pixels, 1, pixels},
                               .offset = 0,
                               .shape = {.c = c, .h = in.h * r, .w = in.w * r}};
    }();
};

}  // namespace detail

/// x * sigmoid(x) (Ramachandran et al. 2017), also known as swish.
using Silu = Gated<Sigmoid>;

/// The approximation of x * (cumulative normal distribution of x) by a tanh (Hendrycks and Gimpel 2016): PyTorch's
/// GELU(approximate="tanh"). Written as x * sigmoid(2 * sqrt(2 / pi) * (x + 0.044715 * x^3)), which is the same.
using GeluTanh = Gated<Gated<Product<Path<>, Path<>>,
                             ScaleBy<std::ratio<71'354'816, 1'000'000'000>, std::ratio<1'595'769'122, 1'000'000'000>>>,
                       Sigmoid>;

namespace detail {
template <class Kind>
struct Erf {
    static constexpr ActivationParams params{Kind::erf};
};
}  // namespace detail
/// x * cumulative normal distribution of x (Hendrycks and Gimpel 2016), by the error function: PyTorch's GELU(). Only
/// where the error function is a kind of activation.
template <class Kind = ActivationKind>
    requires requires { Kind::erf; }
using Gelu = Gated<ScaleBy<std::ratio<707'106'781, 1'000'000'000>>, detail::Erf<Kind>,
                   ScaleBy<std::ratio<1, 2>, std::ratio<1, 2>>>;

/// Slope * x below zero, with one trained slope for all channels, or with one for each of them. Weight:
/// `<name>.weight`, of as many.
template <int slopes = 1>
using PRelu = Binary<BinaryKind::prelu, Path<>, Named<"weight", Parameter<slopes>>>;

/// x times a trained factor a channel (Touvron et al. 2021). Weight: `<name>`, of channels x 1 x 1.
template <FixedString name, int channels>
using LayerScale = Named<"", Product<Path<>, Named<name, Parameter<channels>>>>;

/// A gate for each channel, worked out from the channels' means by two 1x1 convolutions named fc1 and fc2 (Hu et al.
/// 2018): x * Gate(fc2(Activation(fc1(mean of x)))).
template <int channels, int squeezed, class Activation = Relu, class Gate = Sigmoid>
using SqueezeExcite =
    Gated<GlobalAvgPool, Named<"fc1", Conv<squeezed, 1>>, Activation, Named<"fc2", Conv<channels, 1>>, Gate>;

/// Of each pixel's channels (Ba et al. 2016): (x - mean) / sqrt(variance + Epsilon) * weight + bias. Weights:
/// `<name>.weight` and `<name>.bias`, each of c. Epsilon is a std::ratio.
template <class Epsilon = std::ratio<1, 100'000>>
using LayerNorm = Whole<"layer_norm", Scale, detail::Normalized<Axis::c, Epsilon>>;

/// The same over each channel's pixels, without weights, as PyTorch's InstanceNorm2d is unless told otherwise; a Scale
/// after it has those of affine=True.
template <class Epsilon = std::ratio<1, 100'000>>
struct InstanceNorm {
    template <Shape in>
    using expansion = detail::NormalizedGroups<in.c, Epsilon, in>;
    static constexpr bool expands = true;
};

namespace detail {
template <int groups, class Epsilon>
struct GroupsOnly {
    template <Shape in>
    using expansion = NormalizedGroups<groups, Epsilon, in>;
    static constexpr bool expands = true;
};
}  // namespace detail
/// The same over so many groups of channels and all pixels (Wu and He 2018). Weights as LayerNorm.
template <int groups, class Epsilon = std::ratio<1, 100'000>>
using GroupNorm = Whole<"group_norm", Scale, detail::GroupsOnly<groups, Epsilon>>;

/// The image so many times as high and wide, as PyTorch's Upsample. Options as Resize.
template <Extent factor, class... Options>
struct Upsample {
    template <Shape in>
    using expansion = Resize<Extent{in.h * factor.h, in.w* factor.w}, Options...>;
    static constexpr bool expands = true;
};

/// Blocks of so many rows and columns in place of factor * factor channels (Shi et al. 2016), as PyTorch's
/// PixelShuffle.
template <int factor>
struct PixelShuffle {
    template <Shape in>
    using expansion = detail::IfGroupsDivide<factor * factor, in, detail::PixelShuffleOf<factor, in>>;
    static constexpr bool expands = true;
};

}  // namespace primsel::inline PRIMSEL_ABI::layer
// primsel/network/detail/sound.hpp

namespace primsel::inline PRIMSEL_ABI {

namespace detail {

/// Parameters by the names that they have in all kinds of layers.
enum class Parameter {
    none,
    shape,
    channels,
    kernel,
    stride,
    dilation,
    groups,
    padding,
    output_padding,
    size,
    epsilon,
    other
};

/// The parameter because of which check says that one is impossible.
template <class Params>
constexpr Parameter culprit(Params const& p) {
    [[maybe_unused]] constexpr auto small = [](Extent extent) { return extent.h < 1 || extent.w < 1; };
    if constexpr (requires { p.shape.c; }) {
        if (p.shape.c < 1 || p.shape.h < 1 || p.shape.w < 1) return Parameter::shape;
    }
    if constexpr (
        requires { p.k < 1; } && !requires { p.alpha; }) {
        if (p.k < 1) return Parameter::channels;
    }
    if constexpr (requires { small(p.kernel); }) {
        if (small(p.kernel)) return Parameter::kernel;
    }
    if constexpr (requires { small(p.window); }) {
        if (small(p.window)) return Parameter::kernel;
    }
    if constexpr (requires { small(p.stride); }) {
        if (small(p.stride)) return Parameter::stride;
    }
    if constexpr (requires { small(p.dilation); }) {
        if (small(p.dilation)) return Parameter::dilation;
    }
    if constexpr (requires { p.groups < 1; }) {
        if (p.groups < 1) return Parameter::groups;
    }
    if constexpr (requires { p.padding.negative(); }) {
        if (p.padding.negative()) return Parameter::padding;
    }
    if constexpr (requires { p.front < 0 || p.back < 0; }) {
        if (p.front < 0 || p.back < 0) return Parameter::padding;
    }
    if constexpr (requires { p.extra_h < 0 || p.extra_w < 0; }) {
        if (p.extra_h < 0 || p.extra_w < 0) return Parameter::output_padding;
    }
    if constexpr (requires { Extent(p.size); }) {
        if (small(Extent(p.size))) return Parameter::size;
    }
    if constexpr (requires { p.epsilon >= 0; }) {
        if (!(p.epsilon >= 0)) return Parameter::epsilon;
    }
    return Parameter::other;
}

template <class L>
inline constexpr bool is_binary = false;
template <BinaryKind kind, class... Branches>
inline constexpr bool is_binary<layer::Binary<kind, Branches...>> = true;

/// Says at compile time, at the network that has it, what is wrong with a layer.
template <class Layer, Fault fault, Parameter culprit = Parameter::other>
struct Sound {
    static constexpr Parameter wrong = fault == Fault::impossible_parameter ? culprit : Parameter::none;
    static_assert(fault != Fault::wrong_input_count, "primsel: this layer has the wrong number of inputs");
    static_assert(wrong != Parameter::shape, "primsel: a shape's channels, height or width are below 1");
    static_assert(wrong != Parameter::channels, "primsel: this layer's output channels are below 1");
    static_assert(wrong != Parameter::kernel, "primsel: this layer's kernel or window is below 1");
    static_assert(wrong != Parameter::stride, "primsel: this layer's stride is below 1");
    static_assert(wrong != Parameter::dilation, "primsel: this layer's dilation is below 1");
    static_assert(wrong != Parameter::groups, "primsel: this layer's groups are below 1");
    static_assert(wrong != Parameter::padding, "primsel: this layer's padding is negative");
    static_assert(wrong != Parameter::output_padding, "primsel: this layer's output padding is negative");
    static_assert(wrong != Parameter::size, "primsel: this layer's size is below 1");
    static_assert(wrong != Parameter::epsilon, "primsel: this layer's epsilon is negative");
    static_assert(wrong != Parameter::other, "primsel: this layer has an impossible parameter");
    static_assert(fault != Fault::kernel_exceeds_input, "primsel: this layer's kernel is larger than its padded input");
    static_assert(fault != Fault::groups_do_not_divide, "primsel: this layer's groups do not divide the channels");
    static_assert(fault != Fault::shapes_differ || is_binary<Layer>,
                  "primsel: the branches that are added here differ in shape");
    static_assert(fault != Fault::shapes_differ || !is_binary<Layer>,
                  "primsel: the branches that meet here differ where neither has a single element");
    static_assert(fault != Fault::sizes_differ, "primsel: the branches concatenated here differ in height or width");
    static_assert(fault != Fault::slice_outside, "primsel: this slice lies outside the input");
    static_assert(fault != Fault::padding_exceeds_kernel, "primsel: this padding is larger than the pooling window");
    static_assert(fault != Fault::padding_exceeds_input, "primsel: this padding mirrors more than the input has");
    static_assert(fault != Fault::too_large, "primsel: this layer's sizes are beyond the library's bounds");
    static constexpr bool value = fault == Fault::none;
};

}  // namespace detail

}  // namespace primsel::inline PRIMSEL_ABI
// primsel/network/detail/tape.hpp

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <string_view>
#include <type_traits>

namespace primsel::inline PRIMSEL_ABI {

namespace detail {

template <class L>
concept Leaf = requires { L::params; };
/// What a layer is made of may depend on its input's shape: expansion<shape> is a layer, or several.
template <class L>
concept Expanding = requires { requires L::expands; };

/// One instruction of those that add a network's layers to a graph. A network type is recorded as data at compile time,
/// so that it costs its user no code.
struct TapeMark {
    enum class Kind {
        layer,          // reads the layer before it; without a name, it is named by its kind and count
        source,         // the same, but reads nothing
        enter,          // the names that follow begin with this one
        enter_counted,  // the same, with a count
        leave,
        whole,   // leaves, and reads the layer before it under the name that it leaves
        fork,    // the first branch begins after the layer before it
        branch,  // a branch ends; the next begins where the first did
        join,    // a layer that reads the ends of the branches
    };
    Kind kind = Kind::layer;
    std::string_view name{};
    const AnyLayer* layer = nullptr;
    /// Of a layer that reads one other.
    Shape input{};
};

/// Counts steps, and keeps them if there is room.
struct Tape {
    TapeMark* room = nullptr;
    std::size_t size = 0;

    constexpr void add(TapeMark const& step) {
        if (room != nullptr) room[size] = step;
        ++size;
    }
};

template <class L>
inline constexpr AnyLayer any_layer{L::params};

template <class L>
struct IsLayer {
    static_assert(Leaf<L>, "primsel: this type is not a layer");
    static constexpr bool value = Leaf<L>;
};

/// How a layer type changes a shape at compile time, and what it adds to a graph. Its name may be empty.
template <class L>
struct Describe {
    template <Shape in>
    static constexpr Shape out = IsLayer<L>::value ? in : Shape{};
    template <Shape in>
    static constexpr void record(Tape&, std::string_view = {}) {}
};

/// A shape on its way through the layers of a Path: a fold, since a recursion would name each rest of a long Path.
template <Shape shape>
struct Through {
    static constexpr Shape result = shape;
};
template <Shape in, class L>
constexpr auto operator>>(Through<in>, std::type_identity<L>) {
    return Through<Describe<L>::template out<in>>{};
}
/// The same, with what the layers add to a graph.
template <Shape shape>
struct Recorder {
    Tape& tape;
};
template <Shape in, class L>
constexpr auto operator>>(Recorder<in> recorder, std::type_identity<L>) {
    Describe<L>::template record<in>(recorder.tape);
    return Recorder<Describe<L>::template out<in>>{recorder.tape};
}

template <Leaf L>
struct Describe<L> {
    /// A constant reads nothing.
    static constexpr bool is_source = std::same_as<std::remove_cvref_t<decltype(L::params)>, ConstantParams>;
    template <Shape in>
    static constexpr Shape out = [] {
        constexpr std::array<Shape, is_source ? 0 : 1> inputs = [] {
            std::array<Shape, is_source ? 0 : 1> result{};
            std::ranges::fill(result, in);
            return result;
        }();
        if constexpr (Sound<L, L::params.check(inputs), culprit(L::params)>::value)
            return L::params.output(inputs);
        else
            return in;
    }();
    template <Shape in>
    static constexpr void record(Tape& tape, std::string_view name = {}) {
        tape.add({is_source ? TapeMark::Kind::source : TapeMark::Kind::layer, name, &any_layer<L>, in});
    }
};

template <Expanding L>
struct Describe<L> {
    template <Shape in>
    static constexpr Shape out = Describe<typename L::template expansion<in>>::template out<in>;
    template <Shape in>
    static constexpr void record(Tape& tape, std::string_view name = {}) {
        Describe<typename L::template expansion<in>>::template record<in>(tape, name);
    }
};

template <FixedString name, class L>
struct Describe<layer::Named<name, L>> {
    template <Shape in>
    static constexpr Shape out = Describe<L>::template out<in>;
    /// Named twice, the outer name is a prefix.
    template <Shape in>
    static constexpr void record(Tape& tape, std::string_view outer = {}) {
        if (!outer.empty()) tape.add({TapeMark::Kind::enter, outer});
        Describe<L>::template record<in>(tape, name.view());
        if (!outer.empty()) tape.add({TapeMark::Kind::leave});
    }
};

/// Without a name of its own, a Path shares the names around it.
template <class... Layers>
struct Describe<layer::Path<Layers...>> {
    template <Shape in>
    static constexpr Shape out = decltype((Through<in>{} >> ... >> std::type_identity<Layers>{}))::result;
    template <Shape in>
    static constexpr void record(Tape& tape, std::string_view name = {}) {
        if (!name.empty()) tape.add({TapeMark::Kind::enter, name});
        (void)(Recorder<in>{tape} >> ... >> std::type_identity<Layers>{});
        if (!name.empty()) tape.add({TapeMark::Kind::leave});
    }
};

template <FixedString kind, class Last, class... Before>
struct Describe<layer::Whole<kind, Last, Before...>> {
    static_assert(Leaf<Last>);
    template <Shape in>
    static constexpr Shape out = Describe<layer::Path<Before..., Last>>::template out<in>;
    template <Shape in>
    static constexpr void record(Tape& tape, std::string_view name = {}) {
        if (name.empty())
            tape.add({TapeMark::Kind::enter_counted, kind.view()});
        else
            tape.add({TapeMark::Kind::enter, name});
        Describe<layer::Path<Before...>>::template record<in>(tape);
        tape.add({TapeMark::Kind::whole, {}, &any_layer<Last>, Describe<layer::Path<Before...>>::template out<in>});
    }
};

struct Added {
    static constexpr AddParams params{};
    static constexpr std::string_view scope = "sum";
};
struct Joined {
    static constexpr ConcatParams params{};
    static constexpr std::string_view scope = "concat";
};
template <BinaryKind kind>
struct Combined {
    static constexpr BinaryParams params{kind};
    static constexpr std::string_view scope = kind == BinaryKind::multiply ? "product" : params.name();
};
template <class Whole, class Joint, class... Branches>
struct DescribeBranches {
    template <Shape in>
    static constexpr Shape out = [] {
        constexpr std::array<Shape, sizeof...(Branches)> shapes{Describe<Branches>::template out<in>...};
        if constexpr (Sound<Whole, Joint::params.check(shapes)>::value)
            return Joint::params.output(shapes);
        else
            return in;
    }();
    template <Shape in>
    static constexpr void record(Tape& tape) {
        tape.add({TapeMark::Kind::enter_counted, Joint::scope});
        branches<in>(tape, Joint::params.name());
        tape.add({TapeMark::Kind::leave});
    }
    template <Shape in>
    static constexpr void record(Tape& tape, std::string_view name) {
        if (name.empty()) return branches<in>(tape, {});
        tape.add({TapeMark::Kind::enter, name});
        branches<in>(tape, Joint::params.name());
        tape.add({TapeMark::Kind::leave});
    }

private:
    template <Shape in>
    static constexpr void branches(Tape& tape, std::string_view name) {
        tape.add({TapeMark::Kind::fork});
        ((Describe<Branches>::template record<in>(tape), tape.add({TapeMark::Kind::branch})), ...);
        tape.add({TapeMark::Kind::join, name, &any_layer<Joint>});
    }
};
template <class... Branches>
struct Describe<layer::Sum<Branches...>> : DescribeBranches<layer::Sum<Branches...>, Added, Branches...> {};
template <class... Branches>
struct Describe<layer::Concat<Branches...>> : DescribeBranches<layer::Concat<Branches...>, Joined, Branches...> {};
template <BinaryKind kind, class... Branches>
struct Describe<layer::Binary<kind, Branches...>>
    : DescribeBranches<layer::Binary<kind, Branches...>, Combined<kind>, Branches...> {};

}  // namespace detail

}  // namespace primsel::inline PRIMSEL_ABI
// primsel/network/detail/tape_names.hpp

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

namespace detail {

/// A name where it counts only whether another is the same: FNV-1a, 64 bits.
struct NameHash {
    std::uint64_t value = 0xcbf29ce484222325ULL;
    constexpr NameHash& operator+=(std::string_view text) {
        for (const char c : text) value = (value ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
        return *this;
    }
};

/// Where layers are named: with a prefix, and with a count for each kind. Text is a std::string, or
/// what there is in its place at compile time.
template <class Text>
class Scope {
public:
    constexpr Scope() = default;
    constexpr explicit Scope(Text name) : own(name), prefix_(std::move(name)) { prefix_ += "."; }

    /// Of the scope itself.
    Text own;

    [[nodiscard]] constexpr Text named(std::string_view name) const {
        Text result = prefix_;
        result += name;
        return result;
    }
    [[nodiscard]] constexpr Text next(std::string_view kind) {
        Text result = named(kind);
        char digits[10];
        std::size_t first = 10;
        for (int rest = ++count(kind); rest > 0; rest /= 10) digits[--first] = static_cast<char>('0' + rest % 10);
        result += std::string_view(digits + first, 10 - first);
        return result;
    }

private:
    constexpr int& count(std::string_view kind) {
        for (auto& [counted, so_far] : counts_) {
            if (counted == kind) return so_far;
        }
        return counts_.emplace_back(kind, 0).second;
    }

    Text prefix_;
    std::vector<std::pair<std::string_view, int>> counts_;
};

/// Calls back with the name of each layer that the steps add, in order.
template <class Text, class Function>
constexpr void each_name(std::span<const TapeMark> steps, Function const& function) {
    std::vector<Scope<Text>> scopes(1);
    for (TapeMark const& step : steps) {
        switch (step.kind) {
            case TapeMark::Kind::layer:
            case TapeMark::Kind::source:
            case TapeMark::Kind::join:
                function(step.name.empty() ? scopes.back().next(kind(*step.layer)) : scopes.back().named(step.name));
                break;
            case TapeMark::Kind::enter:
                scopes.push_back(Scope<Text>(scopes.back().named(step.name)));
                break;
            case TapeMark::Kind::enter_counted:
                scopes.push_back(Scope<Text>(scopes.back().next(step.name)));
                break;
            case TapeMark::Kind::whole:
                function(scopes.back().own);
                scopes.pop_back();
                break;
            case TapeMark::Kind::leave:
                scopes.pop_back();
                break;
            case TapeMark::Kind::fork:
            case TapeMark::Kind::branch:
                break;
        }
    }
}

inline constexpr std::size_t no_name = static_cast<std::size_t>(-1);

/// The first among the layers that the steps add whose name one before it has, or the graph's input.
constexpr std::size_t first_name_taken(std::span<const TapeMark> steps) {
    // A hash table, twice as large as it need be: sorting takes a compiler several times as long.
    const std::size_t slots = std::bit_ceil(2 * (steps.size() + 1));
    std::vector<std::uint64_t> names(slots, 0);
    const auto add = [&](NameHash name) {
        std::size_t slot = name.value & (slots - 1);
        for (; names[slot] != 0; slot = (slot + 1) & (slots - 1)) {
            if (names[slot] == name.value) return false;
        }
        names[slot] = name.value;
        return true;
    };
    add(NameHash{} += "input");
    std::size_t at = 0, first = no_name;
    each_name<NameHash>(steps, [&](NameHash name) {
        if (!add(name) && first == no_name) first = at;
        ++at;
    });
    return first;
}
/// The beginning of a name, to print: g++ 12 has no std::string at compile time.
struct NameText {
    char text[256] = {};
    std::size_t size = 0;
    constexpr NameText& operator+=(std::string_view more) {
        const std::size_t room = std::min(more.size(), sizeof(text) - size);
        std::copy_n(more.begin(), room, text + size);
        size += room;
        return *this;
    }
};
constexpr NameText name_at(std::span<const TapeMark> steps, std::size_t position) {
    NameText result;
    std::size_t at = 0;
    each_name<NameText>(steps, [&](NameText const& name) {
        if (at++ == position) result = name;
    });
    return result;
}
template <std::size_t size>
constexpr FixedString<size + 1> fixed(NameText const& name) {
    FixedString<size + 1> result;
    std::copy_n(name.text, size, result.text);
    return result;
}
/// Says which name it is.
template <FixedString name>
struct NameTaken {
    static_assert(sizeof(name) == 0, "primsel: two layers of this network have the same name, that of this NameTaken");
    static constexpr bool value = false;
};

}  // namespace detail

}  // namespace primsel::inline PRIMSEL_ABI

#include <array>
#include <concepts>
#include <cstddef>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

namespace detail {

/// The parameters of an Input; of what is none, those of some image.
template <class In>
inline constexpr InputParams input_of{};
template <class In>
    requires std::same_as<std::remove_cvref_t<decltype(In::params)>, InputParams>
inline constexpr InputParams input_of<In> = In::params;

/// Adds the layers of the steps to a graph, the first of which reads its last layer.
inline void add_steps(Graph& graph, std::span<const TapeMark> steps) {
    struct Fork {
        std::size_t begin;
        std::vector<std::size_t> ends;
    };
    std::vector<std::string> names;
    each_name<std::string>(steps, [&](std::string name) { names.push_back(std::move(name)); });
    std::size_t last = graph.output_node(), at = 0;
    std::vector<Fork> forks;
    const auto add = [&](TapeMark const& step, std::vector<std::size_t> inputs) {
        last = graph.add(std::move(names[at++]), *step.layer, std::move(inputs));
    };
    for (TapeMark const& step : steps) {
        switch (step.kind) {
            case TapeMark::Kind::layer:
            case TapeMark::Kind::whole:
                add(step, {last});
                break;
            case TapeMark::Kind::source:
                add(step, {});
                break;
            case TapeMark::Kind::enter:
            case TapeMark::Kind::enter_counted:
            case TapeMark::Kind::leave:
                break;
            case TapeMark::Kind::fork:
                forks.push_back({last, {}});
                break;
            case TapeMark::Kind::branch:
                forks.back().ends.push_back(std::exchange(last, forks.back().begin));
                break;
            case TapeMark::Kind::join:
                add(step, std::move(forks.back().ends));
                forks.pop_back();
                break;
        }
    }
}

}  // namespace detail

/// A network as a type: an Input and the layers that follow. Name it with a struct of your own, which keeps symbols and
/// error messages short:
///     struct Tiny : primsel::Network<Input<3, 32, 32>, Conv<64, 3>, Relu, GlobalAvgPool, Dense<10>> {};
/// A layer that does not fit is a compile-time error there.
template <class In, class... Layers>
struct Network {
    static_assert(
        requires { requires std::same_as<std::remove_cvref_t<decltype(In::params)>, InputParams>; },
        "primsel: a Network begins with an Input<channels, height, width>");
    static_assert(detail::Sound<In, detail::input_of<In>.check({}), detail::culprit(detail::input_of<In>)>::value);

    static constexpr Shape input_shape = detail::input_of<In>.shape;
    static constexpr Shape output_shape = detail::Describe<layer::Path<Layers...>>::template out<input_shape>;
    // Members of templates are worked out when they are used: use it here, so that a wrong layer is found here.
    static_assert(output_shape.size() > 0);

    /// The same as a value, for so many images at once.
    [[nodiscard]] static Graph graph(int batch = 1) {
        Graph graph(batch);
        graph.add("input", detail::input_of<In>, {});
        detail::add_steps(graph, steps);
        return graph;
    }

    /// Calls function(layer, shape of its input) with each layer but the input, at compile time too. Where branches
    /// join, the shape is empty.
    template <class Function>
    static constexpr void each_layer(Function const& function) {
        for (detail::TapeMark const& step : steps) {
            if (step.layer != nullptr) function(*step.layer, step.input);
        }
    }

private:
    static constexpr auto steps = [] {
        constexpr auto size = [] {
            detail::Tape tape;
            detail::Describe<layer::Path<Layers...>>::template record<input_shape>(tape);
            return tape.size;
        }();
        std::array<detail::TapeMark, size> result;
        detail::Tape tape{result.data()};
        detail::Describe<layer::Path<Layers...>>::template record<input_shape>(tape);
        return result;
    }();
    static constexpr bool names_differ = [] {
        constexpr std::size_t taken = detail::first_name_taken(steps);
        if constexpr (taken == detail::no_name) {
            return true;
        } else {
            constexpr detail::NameText name = detail::name_at(steps, taken);
            return detail::NameTaken<detail::fixed<name.size>(name)>::value;
        }
    }();
    // The name is said by then.
    static_assert(names_differ || true);
};

/// A type that describes a network: whatever inherits from Network.
template <class N>
concept NetworkType = requires {
    { N::graph(1) } -> std::same_as<Graph>;
    { N::input_shape } -> std::convertible_to<Shape>;
    { N::output_shape } -> std::convertible_to<Shape>;
};

}  // namespace primsel::inline PRIMSEL_ABI
// primsel/network/simplify.hpp

// primsel/network/detail/simplifier.hpp

// primsel/network/detail/reordering.hpp

#include <cstddef>

namespace primsel::inline PRIMSEL_ABI::detail {

/// The same elements with as few axes as can be.
[[nodiscard]] inline AsStridedParams merge_axes(AsStridedParams const& params) {
    AsStridedParams result = params;
    result.dims = {};
    result.strides = {};
    for (std::size_t axis = 0; axis < params.dims.rank(); ++axis) {
        if (params.dims[axis] == 1) continue;
        const std::size_t rank = result.dims.rank();
        if (rank > 0 && result.strides[rank - 1] == params.dims[axis] * params.strides[axis]) {
            result.dims[rank - 1] *= params.dims[axis];
            result.strides[rank - 1] = params.strides[axis];
        } else {
            result.strides[rank] = params.strides[axis];
            result.dims.push_back(params.dims[axis]);
        }
    }
    if (result.dims.rank() == 0) {
        result.dims.push_back(1);
        result.strides[0] = 1;
    }
    return result;
}
/// Whether elements stay in their order, in another shape.
[[nodiscard]] inline bool is_reshape(AsStridedParams const& params, Shape input) {
    return params.offset == 0 && params.dims == Dims{static_cast<int>(params.shape.size())} && params.strides[0] == 1 &&
           params.shape.size() == input.size();
}
/// The groups of the channel shuffle that this is; 0 if it is none.
[[nodiscard]] inline int shuffled_groups(AsStridedParams const& params, Shape input) {
    if (params.shape != input || params.offset != 0 || params.dims.rank() < 2) return 0;
    const int groups = params.dims[1];
    if (groups < 2 || input.c % groups != 0 || params.dims[0] != input.c / groups) return 0;
    const auto pixels = static_cast<std::ptrdiff_t>(input.pixels());
    const bool swapped = params.strides[0] == pixels && params.strides[1] == params.dims[0] * pixels;
    const bool whole = pixels == 1 ? params.dims.rank() == 2
                                   : params.dims.rank() == 3 && params.dims[2] == pixels && params.strides[2] == 1;
    return swapped && whole ? groups : 0;
}

}  // namespace primsel::inline PRIMSEL_ABI::detail
// primsel/network/graph_editor.hpp

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

/// A copy of a graph to change: layers are replaced, removed, inserted and rewired, and graph() builds what has come of
/// it, with all the checks of Graph::add. Layers are known by numbers that never change: those of the graph are their
/// positions in it, new ones follow. See docs/network/graph_editor.md.
class GraphEditor {
public:
    explicit GraphEditor(Graph const& graph)
        : nodes_(graph.nodes()),
          readers_(graph.size()),
          removed_(graph.size(), false),
          outputs_(graph.size() == 0 ? std::vector<std::size_t>{} : graph.outputs()),
          batch_(graph.batch()) {
        for (std::size_t i = 0; i < nodes_.size(); ++i) link(i);
    }

    /// Layers that there are or were.
    [[nodiscard]] std::size_t size() const { return nodes_.size(); }
    /// The layer as it is now. Its shape is that of the graph it came from, and no shape at all for a new layer:
    /// graph() infers them. Throws error where there is no such layer, or no longer.
    [[nodiscard]] Node const& operator[](std::size_t layer) const { return nodes_[known(layer)]; }
    [[nodiscard]] bool removed(std::size_t layer) const { return layer < removed_.size() && removed_[layer]; }
    [[nodiscard]] std::vector<std::size_t> const& outputs() const { return outputs_; }
    /// The layers that read this one, in the order of their numbers; twice if they read it twice.
    [[nodiscard]] std::vector<std::size_t> readers(std::size_t layer) const {
        std::vector<std::size_t> readers = readers_[known(layer)];
        std::ranges::sort(readers);
        return readers;
    }
    [[nodiscard]] bool is_output(std::size_t layer) const {
        return std::ranges::find(outputs_, known(layer)) != outputs_.end();
    }
    /// How many inputs read it; each result of the graph counts as read once more.
    [[nodiscard]] std::size_t uses(std::size_t layer) const {
        return readers_[known(layer)].size() + static_cast<std::size_t>(std::ranges::count(outputs_, layer));
    }

    /// Another layer of the same name in the same place, with the same inputs and epilogue.
    void replace(std::size_t layer, AnyLayer by) { nodes_[known(layer)].layer = std::move(by); }
    /// Another epilogue. Its residual, if it has one, is the last of the layer's inputs: rewire goes along with it.
    void set_epilogue(std::size_t layer, Epilogue epilogue) { nodes_[known(layer)].epilogue = std::move(epilogue); }
    /// A new layer that nobody reads yet.
    std::size_t insert(std::string name, AnyLayer layer, std::vector<std::size_t> inputs) {
        for (const std::size_t input : inputs) (void)known(input);
        nodes_.push_back({std::move(name), std::move(layer), std::move(inputs), {}, {}});
        readers_.emplace_back();
        removed_.push_back(false);
        link(nodes_.size() - 1);
        return nodes_.size() - 1;
    }
    /// A new layer that reads this one; all that read this one, and the result that it may be, read the new one
    /// instead.
    std::size_t insert_after(std::size_t layer, std::string name, AnyLayer added) {
        (void)known(layer);
        const std::size_t next = insert(std::move(name), std::move(added), {});
        redirect(layer, next);
        rewire(next, {layer});
        return next;
    }
    /// A new layer between this one and the input that it reads at that place.
    std::size_t insert_before(std::size_t layer, std::size_t place, std::string name, AnyLayer added) {
        const std::size_t before = insert(std::move(name), std::move(added), {input_at(layer, place)});
        rewire(layer, place, before);
        return before;
    }
    /// The layer reads another one at that place.
    void rewire(std::size_t layer, std::size_t place, std::size_t source) {
        (void)input_at(layer, place);
        (void)known(source);
        unlink(layer);
        nodes_[layer].inputs[place] = source;
        link(layer);
    }
    /// As many inputs as are listed, in their order.
    void rewire(std::size_t layer, std::vector<std::size_t> inputs) {
        for (const std::size_t input : inputs) (void)known(input);
        unlink(known(layer));
        nodes_[layer].inputs = std::move(inputs);
        link(layer);
    }
    /// All that read the first layer, results included, read the second.
    void replace_readers(std::size_t of, std::size_t by) { redirect(known(of), known(by)); }
    /// Takes a layer out: all that read it read its one input. Throws error, naming it, where it has none or several,
    /// unless nobody reads it.
    void remove(std::size_t layer) {
        Node const& node = nodes_[known(layer)];
        if (uses(layer) > 0) {
            if (node.inputs.size() != 1) {
                fail("graph editor: layer ", node.name, " is read, and has not one input to read in its place but ",
                     node.inputs.size());
            }
            redirect(layer, node.inputs[0]);
        }
        unlink(layer);
        removed_[layer] = true;
    }
    /// Takes out what no result needs.
    void remove_unneeded() {
        std::vector<std::size_t> unread;
        for (std::size_t i = 0; i < nodes_.size(); ++i) {
            if (!removed_[i] && uses(i) == 0) unread.push_back(i);
        }
        while (!unread.empty()) {
            const std::size_t layer = unread.back();
            unread.pop_back();
            if (removed_[layer]) continue;
            remove(layer);
            for (const std::size_t input : nodes_[layer].inputs) {
                if (uses(input) == 0) unread.push_back(input);
            }
        }
    }
    /// Throws error when there are none.
    void set_outputs(std::vector<std::size_t> outputs) {
        if (outputs.empty()) fail("graph editor: no outputs");
        for (const std::size_t output : outputs) (void)known(output);
        outputs_ = std::move(outputs);
    }

    /// The graph as it is now, of the same batch: those listed first, the others in the old order, and what a layer
    /// reads always before it. Throws error as Graph::add does, and where layers read each other in a circle.
    [[nodiscard]] Graph graph(std::span<const std::size_t> first = {}) const {
        Build build{Graph(batch_), std::vector<std::size_t>(nodes_.size(), 0),
                    std::vector<State>(nodes_.size(), State::waiting)};
        for (const std::size_t layer : first) place(known(layer), build);
        for (std::size_t i = 0; i < nodes_.size(); ++i) {
            if (!removed_[i]) place(i, build);
        }
        if (outputs_.empty()) return std::move(build.graph);
        std::vector<std::size_t> outputs;
        for (const std::size_t output : outputs_) outputs.push_back(build.position[output]);
        build.graph.set_outputs(std::move(outputs));
        return std::move(build.graph);
    }

private:
    enum class State { waiting, entered, placed };
    struct Build {
        Graph graph;
        std::vector<std::size_t> position;
        std::vector<State> state;
    };

    /// The layer after all that it reads. Without recursion: networks may be as deep as they like.
    void place(std::size_t last, Build& build) const {
        std::vector<std::size_t> stack{last};
        while (!stack.empty()) {
            const std::size_t layer = stack.back();
            if (build.state[layer] == State::placed) {
                stack.pop_back();
                continue;
            }
            build.state[layer] = State::entered;
            const std::size_t depth = stack.size();
            Node const& node = nodes_[layer];
            for (std::size_t place = node.inputs.size(); place-- > 0;) {
                const std::size_t input = node.inputs[place];
                if (build.state[input] == State::entered) {
                    fail("graph editor: layer ", node.name, " reads ", nodes_[input].name, ", which depends on it");
                }
                if (build.state[input] == State::waiting) stack.push_back(input);
            }
            if (stack.size() > depth) continue;
            std::vector<std::size_t> inputs;
            for (const std::size_t input : node.inputs) inputs.push_back(build.position[input]);
            build.position[layer] = build.graph.add(node.name, node.layer, std::move(inputs), node.epilogue);
            build.state[layer] = State::placed;
            stack.pop_back();
        }
    }
    [[nodiscard]] std::size_t known(std::size_t layer) const {
        if (layer >= nodes_.size()) fail("graph editor: there is no layer ", layer, " of ", nodes_.size());
        if (removed_[layer]) fail("graph editor: layer ", nodes_[layer].name, " was removed");
        return layer;
    }
    [[nodiscard]] std::size_t input_at(std::size_t layer, std::size_t place) const {
        Node const& node = nodes_[known(layer)];
        if (place >= node.inputs.size()) {
            fail("graph editor: layer ", node.name, " has ", node.inputs.size(), " inputs, and no input ", place);
        }
        return node.inputs[place];
    }
    void redirect(std::size_t from, std::size_t to) {
        if (from == to) return;
        for (const std::size_t reader : readers_[from]) {
            std::ranges::replace(nodes_[reader].inputs, from, to);
            readers_[to].push_back(reader);
        }
        readers_[from].clear();
        std::ranges::replace(outputs_, from, to);
    }
    /// The layer is among the readers of its inputs, or no longer.
    void link(std::size_t layer) {
        for (const std::size_t input : nodes_[layer].inputs) readers_[input].push_back(layer);
    }
    void unlink(std::size_t layer) {
        for (const std::size_t input : nodes_[layer].inputs) std::erase(readers_[input], layer);
    }

    std::vector<Node> nodes_;
    std::vector<std::vector<std::size_t>> readers_;  // in any order
    std::vector<bool> removed_;
    std::vector<std::size_t> outputs_;
    int batch_;
};

}  // namespace primsel::inline PRIMSEL_ABI

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>
#include <variant>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::detail {

/// One pass of simplify: from the first layer to the last, each is tried with every rule until none applies. A rule
/// that applies says so.
class Simplifier {
public:
    explicit Simplifier(Graph const& graph) : edit_(graph), parts_(graph.size()) {}

    [[nodiscard]] Graph run() {
        for (std::size_t i = 0; i < edit_.size(); ++i) {
            while (!edit_.removed(i) && (drop_identity(i) || plain_pool(i) || reorder(i) || fold_affine(i) ||
                                         fuse_pad(i) || join_concats(i) || fuse_add(i) || fuse_clamp(i))) {
            }
        }
        return edit_.graph();
    }

private:
    template <class Params>
    [[nodiscard]] Params const* as(std::size_t i) const {
        return std::get_if<Params>(&edit_[i].layer);
    }
    [[nodiscard]] bool read_once(std::size_t i) const { return edit_.uses(i) == 1; }
    [[nodiscard]] std::size_t first_input(std::size_t i) const { return edit_[i].inputs[0]; }
    [[nodiscard]] Shape shape(std::size_t i) const { return edit_[i].shape; }
    [[nodiscard]] Shape input_shape(std::size_t i) const { return shape(first_input(i)); }

    /// Whether the layer is read once and may still be given a clamp, and so whatever comes before that.
    [[nodiscard]] bool open(std::size_t i) const {
        Node const& node = edit_[i];
        return epilogue_parts(node.layer).clamp && !node.epilogue.clamp.bounded() && read_once(i);
    }

    [[nodiscard]] bool is_identity(std::size_t i) const {
        if (edit_[i].inputs.size() != 1) return false;
        if (as<DropoutParams>(i) || as<ConcatParams>(i)) return true;
        if (as<FlattenParams>(i) || as<ReshapeParams>(i)) return input_shape(i) == shape(i) || only_flat_reads(i);
        if (auto* pad = as<PadParams>(i)) return pad->padding == Padding{} && pad->front == 0 && pad->back == 0;
        if (as<SliceParams>(i) || as<GlobalPoolParams>(i)) return input_shape(i) == shape(i);
        if (auto* shuffle = as<ChannelShuffleParams>(i)) return shuffle->groups == 1 || shuffle->groups == shape(i).c;
        if (auto* pool = as<PoolParams>(i)) {
            return pool->window == Extent{1} && pool->stride == Extent{1} && pool->padding == Padding{};
        }
        return false;
    }
    /// Whether all that read the layer take the elements in chw order, whatever the shape.
    [[nodiscard]] bool only_flat_reads(std::size_t i) const {
        if (edit_.is_output(i)) return false;
        return std::ranges::all_of(edit_.readers(i), [this](std::size_t reader) {
            if (as<DropoutParams>(reader)) return only_flat_reads(reader);
            return as<DenseParams>(reader) || as<ReshapeParams>(reader) || as<AsStridedParams>(reader);
        });
    }
    /// A result must stay one: an identity there goes only if its input is not read elsewhere.
    bool drop_identity(std::size_t i) {
        if (!is_identity(i)) return false;
        const std::size_t before = first_input(i);
        const bool stays = !read_once(before) || as<InputParams>(before) || shape(before) != shape(i);
        if (edit_.is_output(i) && stays) return false;
        edit_.remove(i);
        return true;
    }

    /// Of several parameters for the same pooling the plainest; a window as large as the image is global pooling.
    bool plain_pool(std::size_t i) {
        if (auto* indices = as<MaxPoolIndicesParams>(i); indices != nullptr && !indices->pool.count_include_pad) {
            MaxPoolIndicesParams plain = *indices;
            plain.pool.count_include_pad = true;
            edit_.replace(i, plain);
            return true;
        }
        if (as<PoolParams>(i) == nullptr) return false;
        const Shape input = input_shape(i);
        PoolParams pool = *as<PoolParams>(i), floor = pool;
        floor.ceil_mode = false;
        if (floor.check({&input, 1}) == Fault::none && floor.output({&input, 1}) == shape(i)) pool = floor;
        const bool nothing_beyond = pool.padding == Padding{} && !pool.ceil_mode;
        if (pool.kind == PoolKind::max || nothing_beyond) pool.count_include_pad = true;
        const bool global = pool.window == Extent{input.h, input.w} && pool.padding == Padding{} &&
                            pool.dilation == Extent{1} && shape(i).pixels() == 1;
        if (!global && pool == *as<PoolParams>(i)) return false;
        edit_.replace(i, global ? AnyLayer(GlobalPoolParams{pool.kind}) : AnyLayer(pool));
        return true;
    }

    /// Reorderings of elements: one in place of two, and by their names where they have one.
    bool reorder(std::size_t i) {
        if (as<ReshapeParams>(i)) return join_reshape(i);
        if (as<AsStridedParams>(i) == nullptr) return false;
        const AsStridedParams strided = *as<AsStridedParams>(i), merged = merge_axes(strided);
        if (merged != strided) {
            edit_.replace(i, merged);
            return true;
        }
        if (is_reshape(strided, input_shape(i))) {
            edit_.replace(i, ReshapeParams{strided.shape});
            return true;
        }
        const int groups = shuffled_groups(strided, input_shape(i));
        if (groups > 0) edit_.replace(i, ChannelShuffleParams{groups});
        return groups > 0;
    }
    /// A reshape of reordered elements is in how they are reordered.
    bool join_reshape(std::size_t i) {
        const std::size_t before = first_input(i);
        if (as<AsStridedParams>(before) == nullptr || !read_once(before)) return false;
        AsStridedParams joined = *as<AsStridedParams>(before);
        joined.shape = shape(i);
        edit_.replace(i, joined);
        edit_.rewire(i, edit_[before].inputs);
        edit_.remove(before);
        return true;
    }

    bool fold_affine(std::size_t i) {
        Folded folded{edit_[i].name, {}};
        if (auto* batch_norm = as<BatchNormParams>(i))
            folded.layer = *batch_norm;
        else if (auto* scale = as<ScaleParams>(i))
            folded.layer = *scale;
        else
            return false;
        const std::size_t before = first_input(i);
        Epilogue epilogue = edit_[before].epilogue;
        if (!open(before) || !epilogue_parts(edit_[before].layer).folded || epilogue.residual) return false;
        epilogue.folded.push_back(std::move(folded));
        edit_.set_epilogue(before, std::move(epilogue));
        edit_.remove(i);
        return true;
    }

    /// A border of zeros becomes the convolution's or average pooling's own.
    bool fuse_pad(std::size_t i) {
        auto* conv = as<ConvParams>(i);
        auto* pool = as<PoolParams>(i);
        if (conv == nullptr && (pool == nullptr || pool->kind != PoolKind::average)) return false;
        const std::size_t before = first_input(i);
        auto* pad = as<PadParams>(before);
        const bool border = pad != nullptr && pad->mode == PadMode::constant && pad->front == 0 && pad->back == 0;
        if (!border || pad->value != 0.0F || !read_once(before)) return false;
        if (conv != nullptr) {
            ConvParams padded = *conv;
            padded.padding = sum(padded.padding, pad->padding);
            edit_.replace(i, padded);
        } else {
            if (!pool->count_include_pad && pool->padding != Padding{}) return false;
            PoolParams padded = *pool;
            padded.count_include_pad = true;
            padded.padding = sum(padded.padding, pad->padding);
            const Shape input = input_shape(before);
            if (padded.check({&input, 1}) != Fault::none) return false;
            edit_.replace(i, padded);
        }
        edit_.remove(before);
        return true;
    }
    [[nodiscard]] static Padding sum(Padding const& a, Padding const& b) {
        return {a.top + b.top, a.bottom + b.bottom, a.left + b.left, a.right + b.right};
    }

    /// Concatenations within concatenations: one that nobody else reads is taken apart, and one that begins as an
    /// earlier one does reads that one.
    bool join_concats(std::size_t i) {
        if (as<ConcatParams>(i) == nullptr) return false;
        return take_apart(i) || share_beginning(i);
    }
    bool take_apart(std::size_t i) {
        std::vector<std::size_t> inputs = edit_[i].inputs;
        for (auto at = inputs.begin(); at != inputs.end(); ++at) {
            const std::size_t inner = *at;
            auto* other = as<ConcatParams>(inner);
            if (other == nullptr || other->axis != as<ConcatParams>(i)->axis || !read_once(inner)) continue;
            at = inputs.erase(at);
            inputs.insert(at, edit_[inner].inputs.begin(), edit_[inner].inputs.end());
            edit_.rewire(i, std::move(inputs));
            edit_.remove(inner);
            return true;
        }
        return false;
    }
    bool share_beginning(std::size_t i) {
        const Axis axis = as<ConcatParams>(i)->axis;
        std::vector<std::size_t> inputs = edit_[i].inputs;
        parts_[i].clear();
        for (const std::size_t input : inputs) {
            for (const std::size_t part : parts_of(input, axis)) parts_[i].push_back(part);
        }
        std::size_t longest = i, length = parts_of(inputs[0], axis).size();
        for (std::size_t j = 0; j < i; ++j) {
            if (edit_.removed(j) || as<ConcatParams>(j) == nullptr || as<ConcatParams>(j)->axis != axis) continue;
            auto const& begin = parts_[j];
            if (begin.size() > length && begin.size() < parts_[i].size() &&
                std::equal(begin.begin(), begin.end(), parts_[i].begin())) {
                longest = j, length = begin.size();
            }
        }
        if (longest == i) return false;
        std::size_t covered = 0, count = 0;
        while (covered < length) covered += parts_of(inputs[count++], axis).size();
        if (covered != length) return false;
        inputs.erase(inputs.begin() + 1, inputs.begin() + static_cast<std::ptrdiff_t>(count));
        inputs[0] = longest;
        edit_.rewire(i, std::move(inputs));
        return true;
    }
    /// What is concatenated along the axis in the end: the inputs of inputs, as far as they are concatenations.
    [[nodiscard]] std::span<const std::size_t> parts_of(std::size_t const& i, Axis axis) const {
        auto* concat = as<ConcatParams>(i);
        if (concat == nullptr || concat->axis != axis) return {&i, 1};
        return parts_[i];
    }

    /// One of the two summands is a convolution that nobody else reads: it adds the other to its result. The later one,
    /// so that the other is there by then.
    bool fuse_add(std::size_t i) {
        if (as<AddParams>(i) == nullptr || edit_[i].inputs.size() != 2) return false;
        const std::size_t earlier = std::min(edit_[i].inputs[0], edit_[i].inputs[1]);
        const std::size_t later = std::max(edit_[i].inputs[0], edit_[i].inputs[1]);
        return earlier != later && (add_within(later, earlier, i) || add_within(earlier, later, i));
    }
    bool add_within(std::size_t conv, std::size_t other, std::size_t add) {
        Epilogue epilogue = edit_[conv].epilogue;
        if (!open(conv) || !epilogue_parts(edit_[conv].layer).residual || epilogue.residual) return false;
        epilogue.residual = true;
        epilogue.clamp = edit_[add].epilogue.clamp;
        edit_.set_epilogue(conv, std::move(epilogue));
        edit_.replace_readers(add, conv);
        edit_.remove(add);
        edit_.rewire(conv, {first_input(conv), other});
        return true;
    }

    bool fuse_clamp(std::size_t i) {
        auto* activation = as<ActivationParams>(i);
        if (activation == nullptr || !open(first_input(i))) return false;
        Epilogue epilogue = edit_[first_input(i)].epilogue;
        if (activation->kind == ActivationKind::relu)
            epilogue.clamp = relu_clamp;
        else if (activation->kind == ActivationKind::relu6)
            epilogue.clamp = relu6_clamp;
        else if (activation->kind == ActivationKind::clip)
            epilogue.clamp = {activation->alpha, activation->beta};
        else
            return false;
        edit_.set_epilogue(first_input(i), std::move(epilogue));
        edit_.remove(i);
        return true;
    }

    GraphEditor edit_;
    std::vector<std::vector<std::size_t>> parts_;  // of the concatenations so far
};

}  // namespace primsel::inline PRIMSEL_ABI::detail

#include <cstddef>

namespace primsel::inline PRIMSEL_ABI {

namespace detail {

/// Whether simplify may turn a layer of one kind into another kind; both are positions in AnyLayer.
[[nodiscard]] constexpr bool simplify_makes(std::size_t from, std::size_t to) {
    constexpr std::size_t pool = AnyLayer(PoolParams{}).index(), global_pool = AnyLayer(GlobalPoolParams{}).index(),
                          strided = AnyLayer(AsStridedParams{}).index(), reshape = AnyLayer(ReshapeParams{}).index(),
                          shuffle = AnyLayer(ChannelShuffleParams{}).index();
    return (from == pool && to == global_pool) || (from == strided && (to == reshape || to == shuffle));
}

}  // namespace detail

/// The same function in fewer layers: identities are dropped (dropout, a flatten that only dense layers read, ...),
/// reorderings of elements are joined and known again as reshape or channel shuffle, batch norm and scale fold into the
/// convolution or dense layer before them, zero padding becomes that of the convolution or average pooling, a
/// concatenation of concatenations is taken apart or shared, and the sum of a convolution with something else, as well
/// as ReLU, ReLU6 and clip, become part of the layer before them. Needs no weights.
[[nodiscard]] inline Graph simplify(Graph const& graph) {
    Graph result = graph;
    // Once one layer is gone, another may have become an identity; each pass but the last removes some.
    for (std::size_t before = graph.size() + 1; result.size() < before;) {
        before = result.size();
        result = detail::Simplifier(result).run();
    }
    return result;
}

}  // namespace primsel::inline PRIMSEL_ABI

#include <array>
#include <cstddef>
#include <type_traits>
#include <variant>

namespace primsel::inline PRIMSEL_ABI {

namespace detail {

/// A network type that says at compile time what its layers are.
template <class Net>
concept ListsLayers = requires { Net::each_layer([](AnyLayer const&, Shape) {}); };

template <class Net>
consteval auto layers_of() {
    std::array<bool, std::variant_size_v<AnyLayer>> has{};
    Net::each_layer([&](AnyLayer const& layer, Shape) {
        has[layer.index()] = true;
        for (std::size_t other = 0; other < has.size(); ++other) {
            if (simplify_makes(layer.index(), other)) has[other] = true;
        }
    });
    return has;
}

/// Whether the primitive supports any convolution of the network; true where it cannot say so at compile time.
template <class Net, class P>
consteval bool supports_any() {
    if constexpr (requires { typename std::bool_constant<(P::supports(ConvShape{}), true)>; }) {
        bool any = false;
        Net::each_layer([&](AnyLayer const& layer, Shape input) {
            if (const auto* conv = std::get_if<ConvParams>(&layer)) {
                any = any || static_cast<bool>(P::supports(conv_shape_of(*conv, input)));
            }
        });
        return any;
    } else {
        return true;
    }
}

/// Ops of the network's kinds of layers, and primitives that support one of its convolutions.
template <class Net>
struct CompileFor {
    template <class Primitive>
    static constexpr bool primitive = supports_any<Net, Primitive>();
    [[nodiscard]] static constexpr bool layer(std::size_t kind) { return layers[kind]; }

private:
    static constexpr auto layers = layers_of<Net>();
};

template <class Net>
struct ChooseKernels {
    using type = CompileAll;
};
#ifndef PRIMSEL_EXTERN_KERNELS
template <ListsLayers Net>
struct ChooseKernels<Net> {
    using type = CompileFor<Net>;
};
#endif

}  // namespace detail

/// The kernels that an engine compiles: those that its Network type can use; all of them for a Graph, and wherever
/// PRIMSEL_EXTERN_KERNELS takes them from elsewhere.
template <class Net>
using KernelsFor = typename detail::ChooseKernels<Net>::type;

}  // namespace primsel::inline PRIMSEL_ABI
// primsel/engine/policies.hpp

// primsel/core/simd.hpp
// The door to xsimd: everything else takes its vectors from here.

#include <concepts>
#include <cstddef>
#include <string_view>
#include <type_traits>
#include <utility>

// g++ 12 takes the undefined operand of its own unmasked AVX-512 intrinsics for an uninitialised value.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <xsimd/xsimd.hpp>
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

namespace primsel::inline PRIMSEL_ABI {

/// The instruction set of this translation unit.
using default_arch = xsimd::default_arch;

/// An instruction set that this translation unit may use: one of xsimd's tags.
template <class A>
concept InstructionSet = requires {
    { A::name() } -> std::convertible_to<std::string_view>;
    requires A::supported();
} && xsimd::types::has_simd_register<float, A>::value;

/// A vector of floats of the Arch.
template <class Arch>
using Floats = xsimd::batch<float, Arch>;

template <class Arch>
inline constexpr int lanes = static_cast<int>(Floats<Arch>::size);

/// How many vector registers the Arch has.
template <class Arch>
inline constexpr int registers =
#if defined(__aarch64__)
    32;
#else
    lanes<Arch> == 16 ? 32 : 16;
#endif

/// a * b + c with one rounding, where the hardware has it.
template <class Arch>
PRIMSEL_INLINE Floats<Arch> fma(Floats<Arch> const& a, Floats<Arch> const& b, Floats<Arch> const& c) {
#if defined(__AVX512F__)
    // xsimd 8.1 multiplies and adds here, and clang does not contract that.
    if constexpr (lanes<Arch> == 16) return Floats<Arch>(_mm512_fmadd_ps(a, b, c));
#endif
    return xsimd::fma(a, b, c);
}

/// The larger of the two; b where one is NaN.
template <class Arch>
PRIMSEL_INLINE Floats<Arch> max(Floats<Arch> const& a, Floats<Arch> const& b) {
#if defined(__AVX512F__)
    // The unmasked intrinsics make g++ 12 warn of an uninitialised value at every use.
    if constexpr (lanes<Arch> == 16) return Floats<Arch>(_mm512_maskz_max_ps(0xffff, a, b));
#endif
    return xsimd::max(a, b);
}
/// The smaller of the two; b where one is NaN.
template <class Arch>
PRIMSEL_INLINE Floats<Arch> min(Floats<Arch> const& a, Floats<Arch> const& b) {
#if defined(__AVX512F__)
    if constexpr (lanes<Arch> == 16) return Floats<Arch>(_mm512_maskz_min_ps(0xffff, a, b));
#endif
    return xsimd::min(a, b);
}

/// The natural logarithm.
template <class Arch>
PRIMSEL_INLINE Floats<Arch> log(Floats<Arch> const& x) {
    if constexpr (lanes<Arch> == 16) {
#if defined(__AVX512F__)
        // The same steps on the first AVX-512's integers: how xsimd 8.1 chooses between those of later ones does not
        // compile with g++ -O0, where intrinsics are macros.
        using First = xsimd::batch<float, xsimd::avx512f>;
        return Floats<Arch>(__m512(xsimd::log(First(__m512(x)))));
#endif
    } else {
        return xsimd::log(x);
    }
}

template <class Arch>
PRIMSEL_INLINE Floats<Arch> load(const float* src) {
    return Floats<Arch>::load_unaligned(src);
}
template <class Arch>
PRIMSEL_INLINE void store(float* dst, Floats<Arch> const& value) {
    value.store_unaligned(dst);
}
template <class Arch>
PRIMSEL_INLINE Floats<Arch> broadcast(float value) {
    return Floats<Arch>(value);
}

/// value held between low and high; NaN stays NaN.
template <class Arch>
PRIMSEL_INLINE Floats<Arch> clamp(Floats<Arch> const& value, Floats<Arch> const& low, Floats<Arch> const& high) {
    return min<Arch>(high, max<Arch>(low, value));
}
PRIMSEL_INLINE float clamp(float value, float low, float high) {
    const float raised = value < low ? low : value;
    return raised > high ? high : raised;
}

/// Of each run of `size` lanes, which divides their number, the one at position `at` in all of them.
template <class Arch, int size, int at>
PRIMSEL_INLINE Floats<Arch> repeat_lane(Floats<Arch> const& x) {
    static_assert(lanes<Arch> % size == 0 && at < size);
    const typename Floats<Arch>::register_type all = x;
    return [&]<int... lane>(std::integer_sequence<int, lane...>) {
        return Floats<Arch>(__builtin_shufflevector(all, all, (lane / size * size + at)...));
    }(std::make_integer_sequence<int, lanes<Arch>>{});
}

/// The four-lane vector that every supported instruction set has.
using FourFloats = xsimd::make_sized_batch_t<float, 4>;

/// Four rows become four columns.
PRIMSEL_INLINE void transpose(FourFloats& r0, FourFloats& r1, FourFloats& r2, FourFloats& r3) {
    const FourFloats a = xsimd::zip_lo(r0, r2), b = xsimd::zip_hi(r0, r2);
    const FourFloats c = xsimd::zip_lo(r1, r3), d = xsimd::zip_hi(r1, r3);
    r0 = xsimd::zip_lo(a, c), r1 = xsimd::zip_hi(a, c);
    r2 = xsimd::zip_lo(b, d), r3 = xsimd::zip_hi(b, d);
}

}  // namespace primsel::inline PRIMSEL_ABI
// primsel/cost/semi_empirical.hpp

// primsel/cost/analytical.hpp

#include <algorithm>
#include <optional>
#include <string_view>
#include <variant>

namespace primsel::inline PRIMSEL_ABI {

/// What the time of an op is made of, in seconds: the traffic and the arithmetic of an image, of which the longer
/// bounds it, and the traffic of its weights.
struct OpTerms {
    double memory = 0, arithmetic = 0, weights = 0;
};

/// What the time of a convolution is made of, in seconds: its matrix products, its other steps, its weights' way from
/// memory, its calls; all of it so many times.
struct ConvTerms {
    double products = 0, rest = 0, weights = 0, calls = 0, times = 1;
};

/// The roofline (Williams et al. 2009) of each step of each primitive: the larger of its arithmetic at the speed that
/// bounds it and its traffic at the speed of the memory level that holds its working set; and what its steps do not
/// hide of the time to read its weights from memory. Nothing to train. The machine's few figures are those of the
/// kernels' Arch, measured once, unless others are given.
class Analytical {
public:
    static constexpr std::string_view name = "analytical";

    Analytical() = default;
    explicit Analytical(Machine const& machine) : machine_(machine) {}

    void predict(Kernels const& kernels, std::span<const ConvQuery> queries, std::span<double> seconds) const {
        Machine const& machine = machine_of(kernels);
        for (std::size_t i = 0; i < queries.size(); ++i) {
            auto const& primitive = kernels.primitives[queries[i].primitive];
            ConvShape const& shape = queries[i].shape;
            const ConvTerms of =
                terms(machine, primitive.work(shape), primitive.packed_bytes(shape), shape, queries[i].batch);
            // Fetching the weights ahead hides about half of the shorter of reading and computing.
            const double compute = of.products + of.rest + of.calls;
            seconds[i] = of.times * (compute + of.weights - 0.5 * std::min(compute, of.weights));
        }
    }
    void predict(Kernels const& kernels, std::span<const TransformQuery> queries, std::span<double> seconds) const {
        Machine const& machine = machine_of(kernels);
        for (std::size_t i = 0; i < queries.size(); ++i) {
            TransformQuery const& query = queries[i];
            double sum = overhead;
            for (Phase const& phase : kernels.transform(query.from, query.to).work(query.shape)) {
                sum += phase_seconds(machine, phase);
            }
            seconds[i] = query.batch * sum;
        }
    }
    void predict(Kernels const& kernels, std::span<const OpQuery> queries, std::span<double> seconds) const {
        for (std::size_t i = 0; i < queries.size(); ++i) {
            OpQuery const& query = queries[i];
            const OpTerms parts = terms(kernels, query);
            seconds[i] = overhead + query.batch * std::max(parts.memory, parts.arithmetic) + parts.weights;
        }
    }
    /// Of a primitive that does this work for an image and reads packed weights of so many bytes, on such a machine.
    [[nodiscard]] static ConvTerms terms(Machine const& machine, Work const& work, std::size_t packed_bytes,
                                         ConvShape const& shape, int batch = 1) {
        // The other layers of a network have pushed the weights out of the caches. Of a batch, a network takes all
        // images at once (see Schedule) where weights are larger than images, and then reads the weights once.
        const std::size_t images = sizeof(float) * (shape.in_shape().size() + shape.out_shape().size());
        const double together = packed_bytes < images ? 1 : batch;
        ConvTerms result{.weights = static_cast<double>(packed_bytes) / machine.bandwidth.back(),
                         .calls = together * overhead,
                         .times = batch / together};
        for (Phase const& phase : work) {
            (phase.rate == Rate::gemm ? result.products : result.rest) += together * phase_seconds(machine, phase);
        }
        return result;
    }
    [[nodiscard]] ConvTerms terms(Kernels const& kernels, ConvQuery const& query) const {
        auto const& primitive = kernels.primitives[query.primitive];
        return terms(machine_of(kernels), primitive.work(query.shape), primitive.packed_bytes(query.shape), query.shape,
                     query.batch);
    }
    /// Of an op; of a convolution, of the pass that adds its bias and what comes after.
    [[nodiscard]] OpTerms terms(Kernels const& kernels, OpQuery const& query) const {
        Machine const& machine = machine_of(kernels);
        const auto size = static_cast<double>(query.output.size());
        if (std::holds_alternative<ConvParams>(*query.layer)) {
            const double bytes = 4 * (query.inputs.size() > 1 ? 3 : 2) * size;
            return {.memory = bytes / machine.bandwidth_for(bytes), .arithmetic = size / machine.vector_flops};
        }
        OpEntry const& op = kernels.op(*query.layer, query.layout);
        const double operations =
            op.operations != nullptr ? op.operations(*query.layer, query.inputs, query.output) : size;
        if (op.in_place && operations == 0) return {};  // the same elements under another name or shape
        double bytes = 4 * size, weights = 0;
        for (Shape const& shape : query.inputs) bytes += 4 * static_cast<double>(shape.size());
        if (op.packed_bytes != nullptr) {
            weights = static_cast<double>(op.packed_bytes(*query.layer, query.inputs[0]));
        }
        return {.memory = bytes / machine.bandwidth_for(bytes),
                .arithmetic = operations / machine.vector_flops,
                .weights = weights / machine.bandwidth_for(4 * weights)};
    }

private:
    /// Calling a kernel and starting its loops.
    static constexpr double overhead = 1e-6;

    [[nodiscard]] Machine const& machine_of(Kernels const& kernels) const {
        if (machine_) return *machine_;
        if (kernels.machine == nullptr)
            fail("analytical: these kernels have no machine, which make_kernels gives them");
        return kernels.machine();
    }
    [[nodiscard]] static double phase_seconds(Machine const& machine, Phase const& phase) {
        return std::max(phase.operations / flops(machine, phase.rate),
                        phase.bytes / machine.bandwidth_for(phase.working_set));
    }
    [[nodiscard]] static double flops(Machine const& machine, Rate rate) {
        switch (rate) {
            case Rate::gemm:
                return machine.product_flops;
            case Rate::registers:
                // One operation where a multiply-add makes two, and four fifths of that: Winograd's transforms.
                return 0.4 * machine.gemm_flops;
            case Rate::vector:
                return machine.vector_flops;
            case Rate::scalar:
                break;
        }
        return machine.scalar_flops;
    }

    std::optional<Machine> machine_;
};

}  // namespace primsel::inline PRIMSEL_ABI
// primsel/cost/conv_coefficients.hpp

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <string_view>

namespace primsel::inline PRIMSEL_ABI {

/// What a primitive takes: a sum of what Analytical knows of it (ConvTerms), with coefficients that measurements
/// taught. They are near 1 wherever the roofline is right, and so mean the same on any machine and for any instruction
/// set.
struct ConvCoefficients {
    /// Its matrix products, its other steps, its weights' way from memory, its calls.
    static constexpr std::size_t terms = 4;
    using Terms = std::array<double, terms>;
    /// Of a primitive that nothing is known of.
    static constexpr Terms usual{1, 1, 0.7, 1.5};

    std::string_view primitive;
    Terms values{};  // none negative
};

[[nodiscard]] constexpr ConvCoefficients::Terms as_terms(ConvTerms const& of) {
    return {of.products, of.rest, of.weights, of.calls};
}

/// What convolutions take by coefficients that are sorted by their primitives. What has none, as Analytical says, and
/// so grouped convolutions, which profiles do not have: their steps are of other proportions.
inline void predict_convolutions(std::span<const ConvCoefficients> coefficients, Analytical const& analytical,
                                 Kernels const& kernels, std::span<const ConvQuery> queries,
                                 std::span<double> seconds) {
    analytical.predict(kernels, queries, seconds);
    for (std::size_t i = 0; i < queries.size(); ++i) {
        if (queries[i].shape.groups > 1) continue;
        const std::string_view id = kernels.primitives[queries[i].primitive].id;
        const auto found = std::ranges::lower_bound(coefficients, id, {}, &ConvCoefficients::primitive);
        if (found == coefficients.end() || found->primitive != id) continue;
        const ConvTerms of = analytical.terms(kernels, queries[i]);
        const ConvCoefficients::Terms terms = as_terms(of);
        double sum = 0;
        for (std::size_t j = 0; j < terms.size(); ++j) sum += found->values[j] * terms[j];
        seconds[i] = of.times * sum;
    }
}

}  // namespace primsel::inline PRIMSEL_ABI
// primsel/cost/op_coefficients.hpp

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <string_view>
#include <variant>

namespace primsel::inline PRIMSEL_ABI {

/// What an op takes in a layout: a sum of what Analytical knows of it (OpTerms) and of the rows that its loops run
/// over, with coefficients that measurements taught. The op "conv" is the pass that adds bias and activation to a
/// convolution.
struct OpCoefficients {
    /// A call, an image's traffic and arithmetic, the weights' traffic, and a row of values that follow each other.
    static constexpr std::size_t terms = 5;
    using Terms = std::array<double, terms>;

    std::string_view op, layout;
    Terms values{};  // none negative
};

[[nodiscard]] inline OpCoefficients::Terms op_terms(Analytical const& analytical, Kernels const& kernels,
                                                    OpQuery const& query) {
    const OpTerms parts = analytical.terms(kernels, query);
    const bool pass = std::holds_alternative<ConvParams>(*query.layer),
               by_pixel = kernels.layouts[query.layout].name == hwc::name;
    const auto rows_of = [&](Shape const& shape) {
        return static_cast<double>(by_pixel ? shape.pixels()
                                            : static_cast<std::size_t>(shape.c) * static_cast<std::size_t>(shape.h));
    };
    double rows = rows_of(query.output);
    if (!pass && !query.inputs.empty()) rows = std::max(rows, rows_of(query.inputs[0]));
    return {1, query.batch * parts.memory, query.batch * parts.arithmetic, parts.weights, query.batch * rows};
}

/// Ops in layouts that have no coefficients take what Analytical says.
inline void predict_ops(std::span<const OpCoefficients> fitted, Analytical const& analytical, Kernels const& kernels,
                        std::span<const OpQuery> queries, std::span<double> seconds) {
    analytical.predict(kernels, queries, seconds);
    for (std::size_t i = 0; i < queries.size(); ++i) {
        const std::string_view op = kind(*queries[i].layer), layout = kernels.layouts[queries[i].layout].name;
        const auto found = std::ranges::find_if(
            fitted, [&](OpCoefficients const& entry) { return entry.op == op && entry.layout == layout; });
        if (found == fitted.end()) continue;
        const OpCoefficients::Terms parts = op_terms(analytical, kernels, queries[i]);
        if (parts[1] + parts[2] + parts[3] == 0) continue;  // nothing is done
        double sum = 0;
        for (std::size_t j = 0; j < OpCoefficients::terms; ++j) sum += found->values[j] * parts[j];
        // Coefficients were learned from the layers of some networks: never far below what the machine can do.
        seconds[i] = std::max(sum, 0.1 * std::max(parts[1], parts[2]));
    }
}

}  // namespace primsel::inline PRIMSEL_ABI
// primsel/cost/pretrained/convs.hpp
// Written by `primsel pretrain --convolutions`; not to be edited.
// clang-format off

namespace primsel::inline PRIMSEL_ABI::pretrained {

/// A ConvModel.
struct convs {
    static constexpr ConvCoefficients convolutions[] = {
        {"conv-1x1-gemm-ab-ik", {1.023, 1.448, 1.471, 1.563}},
        {"conv-1x1-gemm-ab-ki", {1.062, 1.013, 0.09554, 1.773}},
        {"conv-1x1-gemm-abt-ik", {1.06, 1.682, 2.085, 1.707}},
        {"conv-1x1-gemm-abt-ki", {1.044, 1.551, 0.2342, 1.837}},
        {"conv-1x1-gemm-atb-ik", {1.048, 1.457, 1.419, 1.256}},
        {"conv-1x1-gemm-atb-ki", {1.083, 0.8585, 1.279, 1.491}},
        {"conv-1x1-gemm-atbt-ik", {1.084, 1.707, 2.066, 1.372}},
        {"conv-1x1-gemm-atbt-ki", {1.062, 1.283, 1.477, 1.501}},
        {"direct-hwc", {1.011, 1.079, 0.04898, 1.693}},
        {"direct-sum2d", {1, 0.2888, 1.03, 1.559}},
        {"im2col-copy-self-ab-ki", {1.121, 2.07, 1.422, 1.982}},
        {"im2col-copy-self-atb-ik", {1.16, 2.263, 2.308, 1.777}},
        {"im2col-copy-self-atb-ki", {1.162, 1.742, 2.853, 1.735}},
        {"im2col-copy-self-atbt-ik", {1.152, 2.763, 2.865, 1.775}},
        {"im2col-copy-short-ab-ki", {1.101, 2.459, 1.634, 1.953}},
        {"im2col-copy-short-atb-ik", {1.145, 2.875, 2.333, 1.859}},
        {"im2col-copy-short-atb-ki", {1.156, 2.03, 2.838, 1.759}},
        {"im2col-copy-short-atbt-ik", {1.163, 3.011, 2.675, 1.841}},
        {"im2col-scan-ab-ki", {1.061, 1.598, 0.4936, 1.718}},
        {"im2col-scan-atb-ik", {1.133, 1.528, 1.466, 1.447}},
        {"im2col-scan-atb-ki", {1.123, 1.527, 1.523, 1.483}},
        {"im2col-scan-atbt-ik", {1.116, 1.624, 2.098, 1.509}},
        {"im2row-copy-short-ab-ik", {1.038, 1.261, 1.546, 1.616}},
        {"im2row-copy-short-abt-ik", {1.055, 1.826, 2.14, 1.672}},
        {"im2row-copy-short-abt-ki", {1.039, 1.662, 0.1635, 1.927}},
        {"im2row-copy-short-atbt-ki", {1.076, 1.458, 1.35, 1.533}},
        {"im2row-scan-ab-ik", {1.174, 3.214, 1.115, 1.582}},
        {"im2row-scan-abt-ik", {1.167, 3.24, 1.29, 1.606}},
        {"im2row-scan-abt-ki", {1.139, 3.16, 0.8566, 1.659}},
        {"im2row-scan-atbt-ki", {1.314, 2.973, 1.831, 1.524}},
        {"im2win", {1.406, 1.319, 0.8294, 1.576}},
        {"indirect", {1.002, 2.448, 0.1647, 1.755}},
        {"kn2col", {1.007, 1.14, 1.998, 1.306}},
        {"kn2col-as", {1.007, 1.064, 2.025, 1.416}},
        {"kn2row", {1.065, 1.908, 0.4087, 1.802}},
        {"kn2row-aa-ab", {1.181, 2.316, 0.7455, 1.992}},
        {"kn2row-aa-abt", {1.148, 2.402, 0.7365, 1.987}},
        {"kn2row-aa-atb", {1.227, 1.957, 1.294, 1.957}},
        {"kn2row-aa-atbt", {1.194, 2.046, 1.181, 1.949}},
        {"kn2row-as", {1.057, 1.828, 0.2691, 1.763}},
        {"mec-col", {1.326, 3.172, 0.6196, 1.908}},
        {"mec-row-partition", {1.024, 1.225, 0.4053, 1.732}},
        {"winograd-2-3", {1.058, 0.4434, 0.314, 1.56}},
        {"winograd-2-3-vec-4", {1.058, 1.065, 0.2853, 1.57}},
        {"winograd-2-3-vec-8", {1.072, 1.235, 0.2264, 1.567}},
        {"winograd-2-5", {0.9867, 0.3486, 0.5648, 1.502}},
        {"winograd-2-5-vec-4", {1.003, 0.8717, 0.5487, 1.504}},
        {"winograd-2-5-vec-8", {1.047, 1.017, 0.4447, 1.507}},
        {"winograd-2x2-3x3", {1.146, 0.1798, 0.572, 1.54}},
        {"winograd-2x2-3x3-vec-16", {0.9542, 1.164, 0.659, 1.537}},
        {"winograd-2x2-3x3-vec-4", {1.056, 0.302, 0.6546, 1.569}},
        {"winograd-2x2-3x3-vec-8", {1.02, 0.5433, 0.6647, 1.566}},
        {"winograd-2x2-5x5", {1.332, 0.1559, 0.84, 1.504}},
        {"winograd-2x2-5x5-vec-16", {0.9892, 0.7518, 0.7975, 1.495}},
        {"winograd-2x2-5x5-vec-4", {1.174, 0.2066, 0.7867, 1.506}},
        {"winograd-2x2-5x5-vec-8", {1.084, 0.3481, 0.7796, 1.504}},
        {"winograd-3-3", {1.099, 0.3841, 0.03691, 1.543}},
        {"winograd-3-3-vec-4", {1.064, 0.9294, 0.01563, 1.548}},
        {"winograd-3-3-vec-8", {1.072, 1.226, 0, 1.566}},
        {"winograd-3-5", {0.9856, 0.3283, 0.3759, 1.499}},
        {"winograd-3-5-vec-4", {0.9821, 0.8895, 0.3712, 1.504}},
        {"winograd-3-5-vec-8", {1.053, 1.035, 0.4015, 1.511}},
        {"winograd-3x3-3x3", {1.183, 0.2529, 0.2427, 1.563}},
        {"winograd-3x3-3x3-vec-16", {0.9688, 1.012, 0.3886, 1.532}},
        {"winograd-3x3-3x3-vec-4", {1.118, 0.268, 0.2165, 1.604}},
        {"winograd-3x3-3x3-vec-8", {1.07, 0.4435, 0.306, 1.597}},
        {"winograd-3x3-5x5", {1.351, 0.1524, 0.5997, 1.503}},
        {"winograd-3x3-5x5-vec-16", {0.9431, 0.8817, 0.4646, 1.495}},
        {"winograd-3x3-5x5-vec-4", {1.241, 0.2057, 0.5612, 1.507}},
        {"winograd-3x3-5x5-vec-8", {1.15, 0.3716, 0.5366, 1.506}},
        {"winograd-4x4-3x3", {1.325, 0.2721, 0.4495, 1.54}},
        {"winograd-4x4-3x3-vec-16", {1.127, 1.116, 0.5287, 1.555}},
        {"winograd-4x4-3x3-vec-4", {1.218, 0.3586, 0.4653, 1.563}},
        {"winograd-4x4-3x3-vec-8", {1.191, 0.5199, 0.4706, 1.568}},
        {"winograd-4x4-5x5", {1.326, 0.14, 0.5241, 1.509}},
        {"winograd-4x4-5x5-vec-16", {0.9368, 0.9489, 0.3763, 1.508}},
        {"winograd-4x4-5x5-vec-4", {1.242, 0.2101, 0.46, 1.518}},
        {"winograd-4x4-5x5-vec-8", {1.048, 0.4073, 0.3669, 1.519}},
        {"winograd-6x6-3x3-vec-16", {1.05, 1.006, 0.3951, 1.528}},
    };
};

}  // namespace primsel::inline PRIMSEL_ABI::pretrained
// primsel/cost/pretrained/ops_avx2.hpp
// Written by `primsel pretrain`; not to be edited.
// clang-format off

#include <string_view>

namespace primsel::inline PRIMSEL_ABI::pretrained {

/// An OpModel.
struct ops_avx2 {
    static constexpr std::string_view arch = "fma3+avx2";
    static constexpr std::string_view compiler = "gcc 12.2.0";
    static constexpr std::string_view cpu = "Intel Xeon";
    static constexpr std::string_view version = "0.1.0";
    static constexpr OpCoefficients ops[] = {
        {"average_pool", "chw", {0, 0.8577, 1.596, 0, 4.865e-09}},
        {"average_pool", "hcw", {0, 1.096, 1.463, 0, 3.802e-09}},
        {"average_pool", "hwc", {0, 0.5002, 0.4335, 0, 1.286e-09}},
        {"batch_norm", "chw", {5.26e-07, 1.185, 0, 21.54, 1.953e-10}},
        {"batch_norm", "hcw", {1.582e-06, 0.857, 0.3544, 39.12, 9.073e-10}},
        {"batch_norm", "hwc", {3.447e-07, 0.9681, 0.46, 5.181, 0}},
        {"channel_shuffle", "chw", {2.676e-07, 0.7887, 0, 0, 4.686e-10}},
        {"channel_shuffle", "hcw", {6.02e-07, 0.7575, 0, 0, 1.216e-09}},
        {"channel_shuffle", "hwc", {1.411e-06, 3.407, 0, 0, 1.743e-08}},
        {"concat", "chw", {0, 1.235, 0, 0, 0}},
        {"concat", "hcw", {0, 1.151, 0, 0, 0}},
        {"concat", "hwc", {0, 1.132, 0, 0, 1.893e-09}},
        {"conv", "chw", {1.629e-07, 0.2756, 1.252, 0, 8.092e-10}},
        {"conv", "hcw", {0, 0.1003, 1.402, 0, 4.913e-09}},
        {"conv", "hwc", {1.144e-07, 0.112, 2.359, 0, 0}},
        {"dense", "chw", {0, 0, 0.8757, 0.722, 0}},
        {"dense", "hcw", {0, 7.729, 0.2943, 0.9087, 1.363e-09}},
        {"dense", "hwc", {6.312e-08, 28.84, 0.1501, 0.9636, 0}},
        {"global_average_pool", "chw", {2.234e-08, 0, 0, 0, 2.959e-09}},
        {"global_average_pool", "hcw", {0, 0, 0, 0, 3.985e-09}},
        {"global_average_pool", "hwc", {2.129e-08, 0.1263, 0.6954, 0, 1.45e-10}},
        {"max_pool", "chw", {2.925e-07, 0.6612, 1.224, 0, 4.715e-09}},
        {"max_pool", "hcw", {4.037e-07, 0.6362, 1.272, 0, 3.66e-09}},
        {"max_pool", "hwc", {0, 0.4026, 0.8404, 0, 1.814e-09}},
        {"relu", "chw", {0, 1.161, 0, 0, 0}},
        {"relu", "hcw", {0, 1.159, 0, 0, 0}},
        {"relu", "hwc", {0, 1.159, 0, 0, 0}},
        {"slice", "chw", {0, 0.8282, 0, 0, 1.093e-13}},
        {"slice", "hcw", {1.438e-07, 0.6831, 0, 0, 1.167e-11}},
        {"slice", "hwc", {2.269e-08, 0.7574, 0, 0, 7.662e-10}},
    };
};

}  // namespace primsel::inline PRIMSEL_ABI::pretrained
// primsel/cost/pretrained/ops_avx512.hpp
// Written by `primsel pretrain`; not to be edited.
// clang-format off

#include <string_view>

namespace primsel::inline PRIMSEL_ABI::pretrained {

/// An OpModel.
struct ops_avx512 {
    static constexpr std::string_view arch = "avx512bw";
    static constexpr std::string_view compiler = "gcc 12.2.0";
    static constexpr std::string_view cpu = "Intel Xeon";
    static constexpr std::string_view version = "0.1.0";
    static constexpr OpCoefficients ops[] = {
        {"average_pool", "chw", {0, 0.01001, 1.894, 0, 6.073e-09}},
        {"average_pool", "hcw", {0, 0.1971, 1.912, 0, 5.016e-09}},
        {"average_pool", "hwc", {0, 0.6754, 0.3676, 0, 8.681e-10}},
        {"batch_norm", "chw", {0, 1.135, 0.183, 0, 1.894e-10}},
        {"batch_norm", "hcw", {2.408e-06, 1.027, 0.2859, 145.8, 3.283e-11}},
        {"batch_norm", "hwc", {3.368e-07, 1.211, 0, 2.324, 0}},
        {"channel_shuffle", "chw", {1.113e-07, 0.7554, 0, 0, 7.123e-10}},
        {"channel_shuffle", "hcw", {3.15e-07, 1.086, 0, 0, 8.597e-10}},
        {"channel_shuffle", "hwc", {1.458e-06, 3.74, 0, 0, 2.336e-09}},
        {"concat", "chw", {7.98e-08, 1.224, 0, 0, 2.012e-11}},
        {"concat", "hcw", {0, 1.128, 0, 0, 0}},
        {"concat", "hwc", {0, 1.112, 0, 0, 1.925e-09}},
        {"conv", "chw", {2.075e-07, 0.4246, 0.4422, 0, 9.336e-10}},
        {"conv", "hcw", {0, 0.2047, 0, 0, 1.038e-08}},
        {"conv", "hwc", {2.656e-07, 0.3067, 1.451, 0, 1.198e-10}},
        {"dense", "chw", {1.207e-07, 24.07, 0, 1.276, 0}},
        {"dense", "hcw", {7.344e-08, 32.49, 0, 1.072, 0}},
        {"dense", "hwc", {7.101e-08, 0, 0, 1.021, 3.728e-08}},
        {"global_average_pool", "chw", {0, 0, 0, 0, 4.56e-09}},
        {"global_average_pool", "hcw", {0, 0, 0, 0, 5.504e-09}},
        {"global_average_pool", "hwc", {0, 0.7232, 0, 0, 6.376e-09}},
        {"max_pool", "chw", {0, 0.6253, 0.9445, 0, 5.575e-09}},
        {"max_pool", "hcw", {2.606e-08, 0.6062, 1.002, 0, 4.874e-09}},
        {"max_pool", "hwc", {0, 0.6607, 0.4207, 0, 1.645e-09}},
        {"relu", "chw", {4.889e-08, 1.186, 0, 0, 2.915e-11}},
        {"relu", "hcw", {9.078e-08, 1.189, 0, 0, 1.74e-11}},
        {"relu", "hwc", {2.323e-07, 1.18, 0, 0, 0}},
        {"slice", "chw", {0, 0.8688, 0, 0, 4.853e-12}},
        {"slice", "hcw", {5.19e-09, 0.7553, 0, 0, 4.187e-11}},
        {"slice", "hwc", {0, 0.9037, 0, 0, 6.643e-10}},
    };
};

}  // namespace primsel::inline PRIMSEL_ABI::pretrained
// primsel/cost/pretrained/ops_sse4_2.hpp
// Written by `primsel pretrain`; not to be edited.
// clang-format off

#include <string_view>

namespace primsel::inline PRIMSEL_ABI::pretrained {

/// An OpModel.
struct ops_sse4_2 {
    static constexpr std::string_view arch = "sse4.2";
    static constexpr std::string_view compiler = "gcc 12.2.0";
    static constexpr std::string_view cpu = "Intel Xeon";
    static constexpr std::string_view version = "0.1.0";
    static constexpr OpCoefficients ops[] = {
        {"average_pool", "chw", {1.087e-05, 1.775, 1.701, 0, 7.741e-09}},
        {"average_pool", "hcw", {1.201e-05, 1.99, 1.646, 0, 6.803e-09}},
        {"average_pool", "hwc", {0, 0.5369, 0.5079, 0, 1.392e-09}},
        {"batch_norm", "chw", {1.846e-06, 0.2281, 0.97, 110.7, 2.255e-10}},
        {"batch_norm", "hcw", {1.208e-05, 0.4761, 0, 1226, 5.407e-09}},
        {"batch_norm", "hwc", {0, 0.08768, 1.544, 0, 4.159e-09}},
        {"channel_shuffle", "chw", {1.998e-07, 0.7451, 0, 0, 1.329e-09}},
        {"channel_shuffle", "hcw", {1.502e-06, 0, 0, 0, 6.837e-09}},
        {"channel_shuffle", "hwc", {1.569e-06, 3.65, 0, 0, 3.611e-09}},
        {"concat", "chw", {2.256e-07, 0.9776, 0, 0, 2.784e-10}},
        {"concat", "hcw", {4.211e-07, 0.9576, 0, 0, 2.251e-10}},
        {"concat", "hwc", {1.931e-06, 0.985, 0, 0, 9.071e-09}},
        {"conv", "chw", {1.135e-07, 0.1274, 1.681, 0, 2.011e-09}},
        {"conv", "hcw", {0, 0.1056, 2.294, 0, 5.797e-09}},
        {"conv", "hwc", {2.32e-07, 0.1462, 3.025, 0, 2.636e-10}},
        {"dense", "chw", {0, 0, 0.366, 0.8803, 0}},
        {"dense", "hcw", {0, 0, 0.3286, 0.8543, 0}},
        {"dense", "hwc", {5.973e-09, 0, 0.2987, 0.8623, 0}},
        {"global_average_pool", "chw", {0, 0, 0, 0, 3.432e-09}},
        {"global_average_pool", "hcw", {0, 5.894, 0, 0, 4.822e-09}},
        {"global_average_pool", "hwc", {0, 0, 0.8434, 0, 0}},
        {"max_pool", "chw", {0, 0.4974, 1.678, 0, 1.082e-08}},
        {"max_pool", "hcw", {0, 0.5175, 1.568, 0, 1.059e-08}},
        {"max_pool", "hwc", {9.703e-08, 0.2302, 1.092, 0, 6.403e-10}},
        {"relu", "chw", {0, 0.4035, 1.458, 0, 0}},
        {"relu", "hcw", {0, 0.3896, 1.491, 0, 0}},
        {"relu", "hwc", {0, 0.3917, 1.488, 0, 0}},
        {"slice", "chw", {2.021e-07, 0.8621, 0, 0, 0}},
        {"slice", "hcw", {3.533e-07, 0.827, 0, 0, 0}},
        {"slice", "hwc", {0, 1.272, 0, 0, 3.099e-09}},
    };
};

}  // namespace primsel::inline PRIMSEL_ABI::pretrained

#include <algorithm>
#include <concepts>
#include <span>
#include <string_view>

namespace primsel::inline PRIMSEL_ABI {

/// What `primsel pretrain --ops` writes into a header: coefficients that were fitted to the times of kernels of one
/// Arch.
template <class M>
concept OpModel = requires {
    { M::arch } -> std::convertible_to<std::string_view>;
    std::span<const OpCoefficients>(M::ops);
};

/// What `primsel pretrain --convolutions` writes into a header: coefficients that were fitted to the times of
/// primitives on several machines and for several instruction sets, sorted by the primitives' ids.
template <class M>
concept ConvModel = requires { std::span<const ConvCoefficients>(M::convolutions); };

/// The terms of Analytical, of this machine's speeds, with coefficients fitted to what was measured at the factory: for
/// convolutions by the first of Models that has some, for other layers by the first that is of the kernels' Arch. What
/// has none, and changes of layout, as Analytical says.
template <class... Models>
    requires((ConvModel<Models> || OpModel<Models>) && ...)
class SemiEmpirical {
public:
    static constexpr std::string_view name = "semi-empirical";

    SemiEmpirical() = default;
    explicit SemiEmpirical(Machine const& machine) : analytical_(machine) {}

    void predict(Kernels const& kernels, std::span<const ConvQuery> queries, std::span<double> seconds) const {
        predict_convolutions(convolutions(), analytical_, kernels, queries, seconds);
    }
    void predict(Kernels const& kernels, std::span<const TransformQuery> queries, std::span<double> seconds) const {
        analytical_.predict(kernels, queries, seconds);
    }
    void predict(Kernels const& kernels, std::span<const OpQuery> queries, std::span<double> seconds) const {
        predict_ops(ops(kernels.arch), analytical_, kernels, queries, seconds);
    }

private:
    template <class M>
    [[nodiscard]] static std::span<const ConvCoefficients> convolutions_of() {
        if constexpr (ConvModel<M>) {
            static_assert(std::ranges::is_sorted(M::convolutions, {}, &ConvCoefficients::primitive));
            return M::convolutions;
        }
        return {};
    }
    [[nodiscard]] static std::span<const ConvCoefficients> convolutions() {
        std::span<const ConvCoefficients> result;
        static_cast<void>(((result = convolutions_of<Models>(), !result.empty()) || ...));
        return result;
    }
    template <class M>
    [[nodiscard]] static std::span<const OpCoefficients> ops_of(std::string_view arch) {
        if constexpr (OpModel<M>) {
            if (arch == M::arch) return M::ops;
        }
        return {};
    }
    [[nodiscard]] static std::span<const OpCoefficients> ops([[maybe_unused]] std::string_view arch) {
        std::span<const OpCoefficients> result;
        static_cast<void>(((result = ops_of<Models>(arch), !result.empty()) || ...));
        return result;
    }

    Analytical analytical_;
};

/// With the coefficients that come with the library.
using SemiEmpiricalCosts =
    SemiEmpirical<pretrained::convs, pretrained::ops_avx512, pretrained::ops_avx2, pretrained::ops_sse4_2>;

}  // namespace primsel::inline PRIMSEL_ABI
// primsel/fwd.hpp
// Names without their definitions.

namespace primsel::inline PRIMSEL_ABI {

class error;
struct Shape;
struct Coord;
struct ConvShape;
class Graph;
class Weights;
class Plan;
class PbqpProblem;
struct PbqpSolution;
struct DefaultPolicies;
template <class Net, class Policies = DefaultPolicies>
class Engine;

}  // namespace primsel::inline PRIMSEL_ABI
// primsel/kernels/extern_kernels.hpp
// For programs that define PRIMSEL_EXTERN_KERNELS: the kernels of the library's lists are compiled in one translation
// unit, which includes engine/instantiate.hpp. AllPrimitives must be instantiated there too, where they are used:
//     template primsel::Kernels
//     primsel::make_kernels<primsel::AllPrimitives, primsel::default_arch, primsel::AllLayouts>();

// primsel/kernels/make_kernels.hpp

// primsel/kernels/measure_machine.hpp

// primsel/primitive/gemm_simd.hpp

// primsel/primitive/detail/panel.hpp
// Matrices packed into the panels that a register tile reads.

// primsel/primitive/detail/tile.hpp
// The register tile: what every fast multiplication in this room comes down to.

// primsel/core/cache_sizes.hpp

namespace primsel::inline PRIMSEL_ABI {

/// What the library takes L2 to hold, in floats: a megabyte. Whatever is cut to stay there takes a part of it, found by
/// measurements; blocks, and with them the bits of results, must not depend on the processor.
inline constexpr int l2_floats = 256 << 10;

}  // namespace primsel::inline PRIMSEL_ABI

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <type_traits>
#include <utility>

namespace primsel::inline PRIMSEL_ABI::detail {

/// C = A B for rows of A and one panel of B, then the epilogue.
///
/// Rows of A lie a_stride apart; after every row_length of them, as many as an output row of the image has, the next
/// begins row_step after the last one began. The depth is walked as outer x inner x run, so that A may be an image in
/// place: `run` neighbours, then inner_step floats on to the next tap of a kernel row, then outer_step floats on to the
/// next kernel row. B is a panel: for each step of the depth, as many floats as the panel is wide, padded with zeros to
/// whole vectors.
struct TileArgs {
    const float* a = nullptr;
    /// Floats between rows of A, where its columns are neighbours; between columns, where its rows are (transposed).
    std::size_t a_stride = 0;
    int row_length = std::numeric_limits<int>::max();
    std::size_t row_step = 0;
    int outer = 1, inner = 1, run = 0;
    std::size_t outer_step = 0, inner_step = 0;
    const float* b = nullptr;
    /// The end of the memory behind b that later products will read, prefetched into L2 during this one. Null: none.
    const float* fetch_end = nullptr;
    float* c = nullptr;
    std::size_t c_stride = 0;
    /// Columns of C that exist: at most the width of the panel.
    int columns = 0;
    bool accumulate = false;
    const float* row_bias = nullptr;
    const float* column_bias = nullptr;
    /// Laid out as C.
    const float* residual = nullptr;
    Clamp clamp{};
};

/// Vectors side by side in a full panel.
template <class Arch>
inline constexpr int panel_vectors = registers<Arch> == 32 ? 4 : 2;
template <class Arch>
inline constexpr int panel_width = panel_vectors<Arch> * lanes<Arch>;

/// Rows of the largest tile that is `vectors` wide: its accumulators, a row of B and an element of A fit the vector
/// registers, a pointer a row the general ones. What counts besides is how few loads and instructions a multiply-add
/// needs: 10 loads for 24 in a tile of 6 x 4 vectors, 16 for 28 in one of 14 x 2.
template <class Arch, int vectors>
inline constexpr int most_rows = vectors == panel_vectors<Arch> ? 6 : 8;
template <class Arch>
inline constexpr int tile_rows = most_rows<Arch, panel_vectors<Arch>>;

/// The epilogue of columns [first, t.columns) of a tile, element by element: the same operations in the same order as
/// the vectors', so that the bits do not depend on where a column lies. Not inlined: once is enough for all tiles.
PRIMSEL_NOINLINE inline void finish_edge(TileArgs const& t, const float* sums, int rows, int first) noexcept {
    const int width = t.columns - first;
    for (int row = 0; row < rows; ++row) {
        float* c = t.c + static_cast<std::size_t>(row) * t.c_stride;
        for (int i = 0; i < width; ++i) {
            const int column = first + i;
            float value = sums[row * static_cast<int>(alignment / sizeof(float)) + i];
            if (t.accumulate) value += c[column];
            if (t.row_bias != nullptr) value += t.row_bias[row];
            if (t.column_bias != nullptr) value += t.column_bias[column];
            if (t.residual != nullptr) {
                value += t.residual[static_cast<std::size_t>(row) * t.c_stride + static_cast<std::size_t>(column)];
            }
            c[column] = primsel::clamp(value, t.clamp.low, t.clamp.high);
        }
    }
}

template <class Arch, int rows, int vectors>
PRIMSEL_INLINE void finish(TileArgs const& t, Floats<Arch> (&sums)[rows][vectors]) noexcept {
    const int whole = t.columns / lanes<Arch>;
    if (whole < vectors && t.columns > whole * lanes<Arch>) {
        constexpr int line = static_cast<int>(alignment / sizeof(float));
        alignas(alignment) float buffer[rows * line];
        PRIMSEL_UNROLL
        for (int v = 0; v < vectors; ++v) {
            if (v != whole) continue;
            PRIMSEL_UNROLL
            for (int row = 0; row < rows; ++row) store<Arch>(buffer + row * line, sums[row][v]);
        }
        finish_edge(t, buffer, rows, whole * lanes<Arch>);
    }
    // One pass over the tile for each part that there is: a test within the passes would multiply the code.
    const auto each = [&](auto const& change) {
        PRIMSEL_UNROLL
        for (int v = 0; v < vectors; ++v) {
            if (v >= whole) break;
            PRIMSEL_UNROLL
            for (int row = 0; row < rows; ++row) {
                change(sums[row][v], row, static_cast<std::size_t>(row) * t.c_stride, v * lanes<Arch>);
            }
        }
    };
    using V = Floats<Arch>;
    if (t.accumulate) each([&](V& sum, int, std::size_t offset, int at) { sum += load<Arch>(t.c + offset + at); });
    if (t.row_bias != nullptr)
        each([&](V& sum, int row, std::size_t, int) { sum += broadcast<Arch>(t.row_bias[row]); });
    if (t.column_bias != nullptr)
        each([&](V& sum, int, std::size_t, int at) { sum += load<Arch>(t.column_bias + at); });
    if (t.residual != nullptr) {
        each([&](V& sum, int, std::size_t offset, int at) { sum += load<Arch>(t.residual + offset + at); });
    }
    if (t.clamp.bounded()) {
        const auto low = broadcast<Arch>(t.clamp.low), high = broadcast<Arch>(t.clamp.high);
        each([&](V& sum, int, std::size_t, int) { sum = clamp<Arch>(sum, low, high); });
    }
    each([&](V& sum, int, std::size_t offset, int at) { store<Arch>(t.c + offset + at, sum); });
}

/// Memory to fetch into L2, so many floats a step of the depth.
struct Fetch {
    const float* at;
    std::size_t step;
};

/// A's columns are neighbours; its rows begin at rows_of_a.
template <class Arch, int rows, int vectors>
void tile(TileArgs const& t, const float* const* rows_of_a, Fetch fetch) noexcept {
    constexpr int width = vectors * lanes<Arch>;
    Floats<Arch> sums[rows][vectors];
    PRIMSEL_UNROLL
    for (int row = 0; row < rows; ++row) {
        PRIMSEL_UNROLL
        for (int v = 0; v < vectors; ++v) sums[row][v] = broadcast<Arch>(0.0F);
    }
    const float* b = t.b;
    for (int outer = 0; outer < t.outer; ++outer) {
        for (int inner = 0; inner < t.inner; ++inner) {
            const std::size_t offset =
                static_cast<std::size_t>(outer) * t.outer_step + static_cast<std::size_t>(inner) * t.inner_step;
            const float* a[rows];
            PRIMSEL_UNROLL
            for (int row = 0; row < rows; ++row) a[row] = rows_of_a[row] + offset;
            PRIMSEL_UNROLL_TWICE
            for (std::ptrdiff_t step = 0; step < t.run; ++step) {
                Floats<Arch> row_of_b[vectors];
                PRIMSEL_UNROLL
                for (int v = 0; v < vectors; ++v) row_of_b[v] = load<Arch>(b + v * lanes<Arch>);
                b += width;
                __builtin_prefetch(fetch.at, 0, 2);
                fetch.at += fetch.step;
                PRIMSEL_UNROLL
                for (int row = 0; row < rows; ++row) {
                    const auto element = broadcast<Arch>(a[row][step]);
                    PRIMSEL_UNROLL
                    for (int v = 0; v < vectors; ++v) sums[row][v] = fma<Arch>(element, row_of_b[v], sums[row][v]);
                }
            }
        }
    }
    finish<Arch>(t, sums);
}

/// A is stored transposed: its rows are neighbours.
template <class Arch, int rows, int vectors>
void tile_transposed(TileArgs const& t) noexcept {
    constexpr int width = vectors * lanes<Arch>;
    Floats<Arch> sums[rows][vectors];
    PRIMSEL_UNROLL
    for (int row = 0; row < rows; ++row) {
        PRIMSEL_UNROLL
        for (int v = 0; v < vectors; ++v) sums[row][v] = broadcast<Arch>(0.0F);
    }
    const float* a = t.a;
    const float* b = t.b;
    for (int step = 0; step < t.run; ++step) {
        Floats<Arch> row_of_b[vectors];
        PRIMSEL_UNROLL
        for (int v = 0; v < vectors; ++v) row_of_b[v] = load<Arch>(b + v * lanes<Arch>);
        b += width;
        PRIMSEL_UNROLL
        for (int row = 0; row < rows; ++row) {
            const auto element = broadcast<Arch>(a[row]);
            PRIMSEL_UNROLL
            for (int v = 0; v < vectors; ++v) sums[row][v] = fma<Arch>(element, row_of_b[v], sums[row][v]);
        }
        a += t.a_stride;
    }
    finish<Arch>(t, sums);
}

using TileKernel = void (*)(TileArgs const&, const float* const*, Fetch) noexcept;

/// kernel[rows - 1], for 1 to most_rows rows.
template <class Arch, int vectors>
inline constexpr auto tile_kernels = []<int... i>(std::integer_sequence<int, i...>) {
    return std::array<TileKernel, sizeof...(i)>{&tile<Arch, i + 1, vectors>...};
}(std::make_integer_sequence<int, most_rows<Arch, vectors>>{});

/// Calls work(integral_constant) with how many vectors a panel of `width` floats has.
template <class Arch, int vectors = panel_vectors<Arch>, class Work>
PRIMSEL_INLINE void with_vectors(int width, Work const& work) {
    if constexpr (vectors == 1) {
        work(std::integral_constant<int, 1>{});
    } else {
        if (width == vectors * lanes<Arch>) return work(std::integral_constant<int, vectors>{});
        with_vectors<Arch, vectors - 1>(width, work);
    }
}

/// Rows [first, last) of A times one panel, in tiles as even as they can be: an image of 49 rows is 4 x 6 + 5 x 5, not
/// 8 x 6 + 1.
template <class Arch, int vectors>
void multiply_rows(TileArgs t, int first, int last) noexcept {
    constexpr int most = most_rows<Arch, vectors>;
    const int rows = last - first, tiles = (rows + most - 1) / most;
    t.c += static_cast<std::size_t>(first) * t.c_stride;
    if (t.row_bias != nullptr) t.row_bias += first;
    if (t.residual != nullptr) t.residual += static_cast<std::size_t>(first) * t.c_stride;
    int column = first % t.row_length;
    const float* row_of_image = t.a + static_cast<std::size_t>(first / t.row_length) * t.row_step;
    const float* next = row_of_image + static_cast<std::size_t>(column) * t.a_stride;
    const float* rows_of_a[most];
    // Each tile fetches its share of as much as it reads.
    const std::size_t depth = static_cast<std::size_t>(t.outer * t.inner * t.run);
    const float* const end = t.b + depth * static_cast<std::size_t>(vectors * lanes<Arch>);
    Fetch fetch{t.b, 0};
    if (t.fetch_end > end) {
        const std::size_t width = std::min(static_cast<std::size_t>(t.fetch_end - end) / depth,
                                           static_cast<std::size_t>(vectors * lanes<Arch>));
        fetch = {end, width / static_cast<std::size_t>(tiles)};
    }
    for (int i = 0; i < tiles; ++i) {
        const int count = rows / tiles + (i < rows % tiles ? 1 : 0);
        for (int row = 0; row < count; ++row) {
            rows_of_a[row] = next;
            next += t.a_stride;
            if (++column == t.row_length) {
                row_of_image += t.row_step;
                next = row_of_image;
                column = 0;
            }
        }
        tile_kernels<Arch, vectors>[static_cast<std::size_t>(count - 1)](t, rows_of_a, fetch);
        fetch.at += fetch.step * depth;
        t.c += static_cast<std::size_t>(count) * t.c_stride;
        if (t.row_bias != nullptr) t.row_bias += count;
        if (t.residual != nullptr) t.residual += static_cast<std::size_t>(count) * t.c_stride;
    }
}

/// Floats of a panel that stay in L2 beside as many that are fetched.
inline constexpr int part_floats = l2_floats / 16 * 3;

/// Rows [first, last) of A times one panel that is `width` floats wide. A panel too large for L2 is taken in parts, the
/// sums of which meet in C; however many rows there are, so that the bits do not depend on how rows are shared out.
template <class Arch>
void multiply_panel(TileArgs const& t, int first, int last, int width) noexcept {
    with_vectors<Arch>(width, [&]<int vectors>(std::integral_constant<int, vectors>) {
        const int depth = t.outer * t.inner * t.run, parts = (depth * width + part_floats - 1) / part_floats;
        if (parts < 2) return multiply_rows<Arch, vectors>(t, first, last);
        TileArgs part = t;
        int* const split = t.outer > 1 ? &part.outer : t.inner > 1 ? &part.inner : &part.run;
        const std::size_t step = t.outer > 1 ? t.outer_step : t.inner > 1 ? t.inner_step : 1;
        const int whole = *split, size = (whole + parts - 1) / parts;
        for (int begin = 0; begin < whole; begin += size) {
            const bool last_part = begin + size >= whole;
            *split = last_part ? whole - begin : size;
            part.a = t.a + static_cast<std::size_t>(begin) * step;
            part.accumulate = t.accumulate || begin > 0;
            part.row_bias = last_part ? t.row_bias : nullptr;
            part.column_bias = last_part ? t.column_bias : nullptr;
            part.residual = last_part ? t.residual : nullptr;
            part.clamp = last_part ? t.clamp : Clamp{};
            multiply_rows<Arch, vectors>(part, first, last);
            part.b += static_cast<std::size_t>(part.outer * part.inner * part.run) * static_cast<std::size_t>(width);
        }
    });
}

/// The same for an A that is stored transposed. Fewer kernels: full tiles, then halves, pairs and single rows.
template <class Arch>
void multiply_panel_transposed(TileArgs t, int rows, int width) noexcept {
    with_vectors<Arch>(width, [&]<int vectors>(std::integral_constant<int, vectors>) {
        constexpr int most = most_rows<Arch, vectors>;
        const auto run = [&]<int count>(std::integral_constant<int, count>) {
            for (; rows >= count; rows -= count) {
                tile_transposed<Arch, count, vectors>(t);
                t.a += count;
                t.c += static_cast<std::size_t>(count) * t.c_stride;
                if (t.row_bias != nullptr) t.row_bias += count;
                if (t.residual != nullptr) t.residual += static_cast<std::size_t>(count) * t.c_stride;
            }
        };
        run(std::integral_constant<int, most>{});
        run(std::integral_constant<int, most / 2>{});
        run(std::integral_constant<int, 2>{});
        run(std::integral_constant<int, 1>{});
    });
}

}  // namespace primsel::inline PRIMSEL_ABI::detail
// primsel/primitive/gemm.hpp

#include <concepts>
#include <cstddef>

namespace primsel::inline PRIMSEL_ABI {

/// A matrix that somebody else owns, by the floats between neighbours down a column and along a row. One of the two is
/// 1: row-major or, with them exchanged, stored transposed.
struct MatrixView {
    const float* data = nullptr;
    std::size_t row_stride = 0;
    std::size_t column_stride = 1;
};

[[nodiscard]] constexpr MatrixView row_major(const float* data, std::size_t stride) { return {data, stride, 1}; }
/// The transpose of a row-major matrix whose rows are `stride` floats apart.
[[nodiscard]] constexpr MatrixView transposed(const float* data, std::size_t stride) { return {data, 1, stride}; }

/// C = A B, or C += A B; then C = clamp(C + bias + residual). A is m x k, B is k x n, C is m x n and row-major with
/// c_stride floats between rows; C overlaps neither A nor B.
struct GemmArgs {
    int m = 0, n = 0, k = 0;
    MatrixView a;
    MatrixView b;
    float* c = nullptr;
    std::size_t c_stride = 0;
    bool accumulate = false;
    /// A value a row of C, or null; and a value a column, or null.
    const float* row_bias = nullptr;
    const float* column_bias = nullptr;
    /// Laid out as C, or null.
    const float* residual = nullptr;
    Clamp clamp{};
    /// scratch_floats floats.
    float* scratch = nullptr;
    ExecutorRef executor;
};

/// A matrix multiplication: an empty type with
/// - id: its name, a FixedString, which the ids of primitives that multiply with it end in;
/// - scratch_floats<Arch>(m, n, k, workers): room that run needs;
/// - run<Arch>(args): noexcept, no allocation, the same bits whatever the executor;
/// - work<Arch>(m, n, k): what it does, for the analytical cost model.
/// SimdGemm (gemm_simd.hpp) and EigenGemm (gemm_eigen.hpp) model it.
template <class G>
concept Gemm = requires(GemmArgs const& args, int size, std::size_t workers) {
    FixedString("-") + G::id;
    { G::template scratch_floats<default_arch>(size, size, size, workers) } -> std::same_as<std::size_t>;
    { G::template run<default_arch>(args) } noexcept;
    { G::template work<default_arch>(size, size, size) } -> std::same_as<Work>;
};

struct SimdGemm;

namespace detail {
/// The end of the id of a primitive that multiplies with G: "-eigen"; nothing for the library's own.
template <class G>
inline constexpr auto gemm_suffix = [] {
    if constexpr (std::same_as<G, SimdGemm>)
        return FixedString("");
    else
        return FixedString("-") + G::id;
}();
}  // namespace detail

}  // namespace primsel::inline PRIMSEL_ABI
// primsel/tensor/transpose.hpp

#include <algorithm>
#include <cstddef>

namespace primsel::inline PRIMSEL_ABI {

/// dst[column][row] = src[row][column] of three rows, such as the planes of a colour image: four columns at a time,
/// each store's fourth float overwritten by the next.
inline void interleave_three(const float* PRIMSEL_RESTRICT src, std::size_t src_stride, float* PRIMSEL_RESTRICT dst,
                             std::size_t first, std::size_t last) {
    std::size_t column = first;
    for (; column + 4 < last; column += 4) {
        FourFloats r0 = FourFloats::load_unaligned(src + column);
        FourFloats r1 = FourFloats::load_unaligned(src + src_stride + column);
        FourFloats r2 = FourFloats::load_unaligned(src + 2 * src_stride + column);
        FourFloats r3 = r2;
        transpose(r0, r1, r2, r3);
        r0.store_unaligned(dst + 3 * column);
        r1.store_unaligned(dst + 3 * column + 3);
        r2.store_unaligned(dst + 3 * column + 6);
        r3.store_unaligned(dst + 3 * column + 9);
    }
    for (; column < last; ++column) {
        for (std::size_t row = 0; row < 3; ++row) dst[3 * column + row] = src[row * src_stride + column];
    }
}

/// dst[column][row] = src[row][column] for columns [first, last): a matrix of `rows` rows, src_stride and dst_stride
/// floats apart. Four by four in registers; blocks of 16 columns, so that the lines of dst being written stay in L1.
inline void transpose_columns(const float* PRIMSEL_RESTRICT src, std::size_t src_stride, float* PRIMSEL_RESTRICT dst,
                              std::size_t dst_stride, std::size_t rows, std::size_t first, std::size_t last) {
    if (rows == 3 && dst_stride == 3) return interleave_three(src, src_stride, dst, first, last);
    constexpr std::size_t block = 16;
    for (std::size_t begin = first; begin < last; begin += block) {
        const std::size_t end = std::min(begin + block, last);
        std::size_t row = 0;
        for (; row + 4 <= rows; row += 4) {
            const float* s = src + row * src_stride;
            std::size_t column = begin;
            for (; column + 4 <= end; column += 4) {
                FourFloats r0 = FourFloats::load_unaligned(s + column);
                FourFloats r1 = FourFloats::load_unaligned(s + src_stride + column);
                FourFloats r2 = FourFloats::load_unaligned(s + 2 * src_stride + column);
                FourFloats r3 = FourFloats::load_unaligned(s + 3 * src_stride + column);
                transpose(r0, r1, r2, r3);
                float* d = dst + column * dst_stride + row;
                r0.store_unaligned(d);
                r1.store_unaligned(d + dst_stride);
                r2.store_unaligned(d + 2 * dst_stride);
                r3.store_unaligned(d + 3 * dst_stride);
            }
            for (; column < end; ++column) {
                for (std::size_t i = 0; i < 4; ++i) dst[column * dst_stride + row + i] = s[i * src_stride + column];
            }
        }
        for (; row < rows; ++row) {
            for (std::size_t column = begin; column < end; ++column) {
                dst[column * dst_stride + row] = src[row * src_stride + column];
            }
        }
    }
}

}  // namespace primsel::inline PRIMSEL_ABI

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace primsel::inline PRIMSEL_ABI::detail {

/// n rounded up to what its panels hold: whole vectors.
template <class Arch>
[[nodiscard]] constexpr int padded_columns(int n) {
    return (n + lanes<Arch> - 1) / lanes<Arch> * lanes<Arch>;
}
/// Columns of the panel that starts at column `first` of n: the full width, or the vectors that the rest fills.
template <class Arch>
[[nodiscard]] constexpr int panel_columns(int first, int n) {
    return std::min(panel_width<Arch>, padded_columns<Arch>(n - first));
}
template <class Arch>
[[nodiscard]] constexpr int panel_count(int n) {
    return (n + panel_width<Arch> - 1) / panel_width<Arch>;
}
/// Floats of a k x n matrix in panels.
template <class Arch>
[[nodiscard]] constexpr std::size_t packed_size(int k, int n) {
    return static_cast<std::size_t>(k) * static_cast<std::size_t>(padded_columns<Arch>(n));
}

/// Packs `columns` columns of b, from column `first`, into a panel of `width`: dst[row][column], zeros beyond.
inline void pack_panel(MatrixView const& b, int k, int first, int columns, int width, float* dst) noexcept {
    const auto rows = static_cast<std::size_t>(k), count = static_cast<std::size_t>(columns),
               step = static_cast<std::size_t>(width);
    const float* src = b.data + static_cast<std::size_t>(first) * b.column_stride;
    if (b.column_stride == 1) {
        for (std::size_t row = 0; row < rows; ++row) {
            std::memcpy(dst + row * step, src + row * b.row_stride, count * sizeof(float));
        }
    } else {
        transpose_columns(src, b.column_stride, dst, step, count, 0, rows);
    }
    if (columns < width) {
        for (std::size_t row = 0; row < rows; ++row) std::fill(dst + row * step + count, dst + (row + 1) * step, 0.0F);
    }
}

/// All of b, k x n, panel after panel: packed_size floats.
template <class Arch>
void pack_panels(MatrixView const& b, int k, int n, float* dst) noexcept {
    for (int first = 0; first < n; first += panel_width<Arch>) {
        const int width = panel_columns<Arch>(first, n);
        pack_panel(b, k, first, std::min(width, n - first), width, dst);
        dst += static_cast<std::size_t>(k) * static_cast<std::size_t>(width);
    }
}

/// Rows [first_row, last_row) and the columns of panel `panel` of C, for a B packed in panels. `whole` holds A, C and
/// the epilogue of the whole product, and how A's depth is walked; its b and columns are filled in here.
template <class Arch>
void multiply_one_panel(TileArgs const& whole, int first_row, int last_row, int n, const float* packed,
                        int panel) noexcept {
    const int first = panel * panel_width<Arch>, width = panel_columns<Arch>(first, n);
    TileArgs t = whole;
    t.b = packed + static_cast<std::size_t>(whole.outer * whole.inner * whole.run) * static_cast<std::size_t>(first);
    t.c += first;
    t.columns = std::min(width, n - first);
    if (t.column_bias != nullptr) t.column_bias += first;
    if (t.residual != nullptr) t.residual += first;
    multiply_panel<Arch>(t, first_row, last_row, width);
}
template <class Arch>
void multiply_panels(TileArgs const& whole, int first_row, int last_row, int n, const float* packed) noexcept {
    for (int panel = 0; panel < panel_count<Arch>(n); ++panel) {
        multiply_one_panel<Arch>(whole, first_row, last_row, n, packed, panel);
    }
}

/// Rows of A that are multiplied with every panel before the next rows: few enough for L2, a multiple of the tile.
template <class Arch>
inline constexpr int block_rows = 96 / tile_rows<Arch> * tile_rows<Arch>;

}  // namespace primsel::inline PRIMSEL_ABI::detail

namespace primsel::inline PRIMSEL_ABI {

/// primsel's own matrix multiplication: register tiles over panels of B. It packs B at every call; the smaller of the
/// two ways round: all of B at first where it has fewer columns than A has rows, otherwise panel by panel.
struct SimdGemm {
    static constexpr FixedString id = "simd";

    template <class Arch>
    [[nodiscard]] static std::size_t scratch_floats(int m, int n, int k, std::size_t workers) {
        if (pack_at_first(m, n)) return detail::packed_size<Arch>(k, n);
        return workers * panel_floats<Arch>(k);
    }

    template <class Arch>
    static void run(GemmArgs const& args) noexcept {
        if (pack_at_first(args.m, args.n)) {
            run_by_rows<Arch>(args);
        } else {
            run_by_panels<Arch>(args);
        }
    }

    template <class Arch>
    [[nodiscard]] static Work work(int m, int n, int k) {
        const double rows = m, columns = detail::padded_columns<Arch>(n), depth = k;
        const double packed = 4.0 * depth * columns, a = 4.0 * rows * depth, c = 4.0 * rows * n;
        return Work{}
            .add({.rate = Rate::vector, .operations = 0, .bytes = 2 * packed, .working_set = packed})
            .add({.rate = Rate::gemm,
                  .operations = 2 * rows * columns * depth,
                  .bytes = a + packed + 2 * c,
                  .working_set = a + packed + c});
    }

private:
    [[nodiscard]] static constexpr bool pack_at_first(int m, int n) { return n <= m; }
    template <class Arch>
    [[nodiscard]] static constexpr std::size_t panel_floats(int k) {
        return round_up_floats(static_cast<std::size_t>(k) * static_cast<std::size_t>(detail::panel_width<Arch>));
    }

    [[nodiscard]] static detail::TileArgs tile_args(GemmArgs const& args) {
        const bool a_transposed = args.a.column_stride != 1;
        return {.a = args.a.data,
                .a_stride = a_transposed ? args.a.column_stride : args.a.row_stride,
                .run = args.k,
                .c = args.c,
                .c_stride = args.c_stride,
                .accumulate = args.accumulate,
                .row_bias = args.row_bias,
                .column_bias = args.column_bias,
                .residual = args.residual,
                .clamp = args.clamp};
    }

    /// Columns [first, first + columns) of C, for rows [begin, end), from a packed panel.
    template <class Arch>
    static void run_panel(GemmArgs const& args, int begin, int end, int first, const float* panel) noexcept {
        const auto row = static_cast<std::size_t>(begin), column = static_cast<std::size_t>(first);
        const int width = detail::panel_columns<Arch>(first, args.n);
        detail::TileArgs t = tile_args(args);
        t.a += row * args.a.row_stride;
        t.b = panel;
        t.c += row * args.c_stride + column;
        t.columns = width < args.n - first ? width : args.n - first;
        if (t.row_bias != nullptr) t.row_bias += row;
        if (t.column_bias != nullptr) t.column_bias += column;
        if (t.residual != nullptr) t.residual += row * args.c_stride + column;
        if (args.a.column_stride == 1) {
            detail::multiply_panel<Arch>(t, 0, end - begin, width);
        } else {
            detail::multiply_panel_transposed<Arch>(t, end - begin, width);
        }
    }

    template <class Arch>
    static void run_by_rows(GemmArgs const& args) noexcept {
        constexpr int width = detail::panel_width<Arch>, rows = detail::block_rows<Arch>;
        const auto depth = static_cast<std::size_t>(args.k);
        const auto panels = static_cast<std::size_t>(detail::panel_count<Arch>(args.n));
        args.executor.parallel_for(panels, [&args, depth](std::size_t panel, std::size_t) {
            const int first = static_cast<int>(panel) * width;
            const int columns = detail::panel_columns<Arch>(first, args.n);
            detail::pack_panel(args.b, args.k, first, std::min(columns, args.n - first), columns,
                               args.scratch + static_cast<std::size_t>(first) * depth);
        });
        const auto blocks = static_cast<std::size_t>((args.m + rows - 1) / rows);
        args.executor.parallel_for(blocks, [&args, depth](std::size_t block, std::size_t) {
            const int begin = static_cast<int>(block) * rows, end = std::min(begin + rows, args.m);
            for (int first = 0; first < args.n; first += width) {
                run_panel<Arch>(args, begin, end, first, args.scratch + static_cast<std::size_t>(first) * depth);
            }
        });
    }

    template <class Arch>
    static void run_by_panels(GemmArgs const& args) noexcept {
        const auto panels = static_cast<std::size_t>(detail::panel_count<Arch>(args.n));
        args.executor.parallel_for(panels, [&args](std::size_t panel, std::size_t worker) {
            const int first = static_cast<int>(panel) * detail::panel_width<Arch>;
            const int columns = detail::panel_columns<Arch>(first, args.n);
            float* packed = args.scratch + worker * panel_floats<Arch>(args.k);
            detail::pack_panel(args.b, args.k, first, std::min(columns, args.n - first), columns, packed);
            run_panel<Arch>(args, 0, args.m, first, packed);
        });
    }
};

}  // namespace primsel::inline PRIMSEL_ABI

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <utility>

namespace primsel::inline PRIMSEL_ABI {

namespace detail {

/// Runs `work` (which does `amount` of something) for about so many seconds, once at least; amount per second, best of
/// the repetitions: the system may take the processor away in the middle of one.
template <class Work>
double best_rate(double seconds, double amount, Work const& work) {
    double best = 0;
    const Timer whole;
    for (int done = 0; done < 1 || whole.seconds() < seconds; ++done) {
        const Timer timer;
        work();
        best = std::max(best, amount / std::max(timer.seconds(), 1e-9));
    }
    return best;
}

/// Multiply-adds in independent chains. Indices instead of loops: the sums must stay in registers however little the
/// compiler optimises, and differ, lest it compute one of them only. Not inlined: within a caller's loop g++ 12 made a
/// third less of it.
template <class Arch, std::size_t... i>
[[gnu::noinline]] void multiply_add(int rounds, std::index_sequence<i...>) {
    static volatile float factor_source = 0.999F;
    const auto factor = broadcast<Arch>(factor_source), term = broadcast<Arch>(0.001F);
    Floats<Arch> sum[]{broadcast<Arch>(factor_source + static_cast<float>(i))...};
    for (int round = 0; round < rounds; ++round) ((sum[i] = fma<Arch>(sum[i], factor, term)), ...);
    alignas(alignment) float kept[lanes<Arch>];
    Floats<Arch> all = broadcast<Arch>(0.0F);
    ((all += sum[i]), ...);
    store<Arch>(kept, all);
    volatile float used = kept[0];
    (void)used;
}
/// This core's FMA peak over about so many seconds: the best of many short stretches.
template <class Arch>
double measure_fma(double seconds) {
    constexpr int chains = 12, rounds = 20'000;
    return best_rate(seconds, 2.0 * chains * rounds * lanes<Arch>,
                     [&] { multiply_add<Arch>(rounds, std::make_index_sequence<chains>{}); });
}

/// What the matrix product of a mid-sized layer reaches: 196 pixels, 192 channels to 192, all within L2.
template <class Arch>
double measure_product() {
    constexpr int m = 196, n = 192, k = 192;
    AlignedBuffer a(std::size_t{m} * k), b(std::size_t{k} * n), c(std::size_t{m} * n),
        scratch(SimdGemm::scratch_floats<Arch>(m, n, k, 1));
    std::fill_n(a.data(), a.size(), 0.5F);
    std::fill_n(b.data(), b.size(), 0.25F);
    Sequential executor;
    return best_rate(0.001, 2.0 * m * n * k, [&] {
        SimdGemm::run<Arch>({.m = m,
                             .n = n,
                             .k = k,
                             .a = row_major(a.data(), k),
                             .b = row_major(b.data(), n),
                             .c = c.data(),
                             .c_stride = n,
                             .scratch = scratch.data(),
                             .executor = executor});
        volatile float used = c.data()[0];
        (void)used;
    });
}

template <class Arch>
double measure_vector() {
    constexpr std::size_t count = 2048;
    AlignedBuffer a(count), b(count);
    std::fill_n(a.data(), count, 1.0F);
    std::fill_n(b.data(), count, 0.5F);
    return best_rate(0.0005, 2.0 * count, [&] {
        for (std::size_t i = 0; i < count; i += static_cast<std::size_t>(lanes<Arch>)) {
            store<Arch>(b.data() + i,
                        fma<Arch>(load<Arch>(a.data() + i), broadcast<Arch>(0.5F), load<Arch>(b.data() + i)));
        }
    });
}

/// A gather with a bounds test for each element, as the scanning primitives do.
inline double measure_scalar() {
    constexpr int count = 4096;
    AlignedBuffer a(count), b(count);
    std::fill_n(a.data(), std::size_t{count}, 1.0F);
    volatile int limit = count - 3;
    return best_rate(0.0005, count, [&] {
        const int end = limit;
        for (int i = 0; i < count; ++i) {
            const int from = i - 3 + (i & 1);
            b.data()[i] = from >= 0 && from < end ? a.data()[from] : 0.0F;
        }
        volatile float used = b.data()[count / 2];
        (void)used;
    });
}

inline double measure_bandwidth(double working_set, float* src, float* dst) {
    const auto bytes = static_cast<std::size_t>(working_set / 2);
    return best_rate(0.0007, 2.0 * static_cast<double>(bytes), [&] {
        std::memcpy(dst, src, bytes);
        volatile float used = dst[bytes / sizeof(float) / 2];
        (void)used;
    });
}

template <class Arch>
Machine measure_machine() {
    // The largest working set is not touched in full: a window beyond every cache is enough.
    const std::size_t floats = (std::size_t{24} << 20) / sizeof(float);
    AlignedBuffer src(floats), dst(floats);
    // Pages that were never written would all be the one page of zeros.
    std::memset(src.data(), 1, floats * sizeof(float));
    // In rounds, of which the best counts: what shares this core's units disturbs for milliseconds on end, and so all
    // of one measurement but rarely the same one three times.
    Machine machine{.gemm_flops = 0, .product_flops = 0, .vector_flops = 0, .scalar_flops = 0, .bandwidth = {}};
    const auto raise = [](double& best, double rate) { best = std::max(best, rate); };
    for (int round = 0; round < 3; ++round) {
        raise(machine.gemm_flops, measure_fma<Arch>(0.001));
        raise(machine.product_flops, measure_product<Arch>());
        raise(machine.vector_flops, measure_vector<Arch>());
        raise(machine.scalar_flops, measure_scalar());
        for (std::size_t i = 0; i < machine.bandwidth.size(); ++i) {
            const double window = std::min(Machine::working_sets[i], 2.0 * static_cast<double>(floats * sizeof(float)));
            raise(machine.bandwidth[i], measure_bandwidth(window, src.data(), dst.data()));
        }
    }
    for (std::size_t i = 1; i < machine.bandwidth.size(); ++i) {
        machine.bandwidth[i] = std::min(machine.bandwidth[i], machine.bandwidth[i - 1]);
    }
    return machine;
}

}  // namespace detail

/// This machine, measured when first asked for (in some 40 ms) and then remembered.
template <class Arch = default_arch>
[[nodiscard]] Machine const& this_machine() {
    static const Machine machine = detail::measure_machine<Arch>();
    return machine;
}

}  // namespace primsel::inline PRIMSEL_ABI
// primsel/kernels/op_table.hpp

// primsel/op/all.hpp
// Every op, and the check that every kind of layer but input, constant and convolution has one.

// primsel/op/activation.hpp

// primsel/op/detail/elements.hpp
// Ops that take each element, or each element and its channel, by itself.

// primsel/op/detail/blocks.hpp
// How ops cut their work: by the shape alone, never by the number of threads.

#include <algorithm>
#include <cstddef>

namespace primsel::inline PRIMSEL_ABI::detail {

/// Floats of a block: enough that handing it out costs nothing beside moving it, few enough to stay in L2.
inline constexpr std::size_t block_floats = l2_floats / 16;

/// Calls f(first, last) for ranges that make up [0, count); an item stands for item_floats floats of work.
template <class F>
void for_ranges(ExecutorRef executor, std::size_t count, std::size_t item_floats, F const& f) noexcept {
    const std::size_t items = std::max(block_floats / std::max(item_floats, std::size_t{1}), std::size_t{1});
    executor.parallel_for((count + items - 1) / items, [&f, items, count](std::size_t block, std::size_t) {
        f(block * items, std::min((block + 1) * items, count));
    });
}

}  // namespace primsel::inline PRIMSEL_ABI::detail
// primsel/op/detail/vectors.hpp
// Vectors that are partly outside. The ends of rows take the same arithmetic as their middle, in lanes that are masked
// off, so that no result depends on where in a row its element lies.

#include <algorithm>
#include <cstddef>

namespace primsel::inline PRIMSEL_ABI::detail {

#if defined(__AVX__)
/// AVX's mask of the lanes below n.
PRIMSEL_INLINE __m256i first_lanes(std::size_t n) {
    alignas(64) static constexpr int ones_then_zeros[16] = {-1, -1, -1, -1, -1, -1, -1, -1};
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(ones_then_zeros + 8 - n));
}
#endif

/// The first n floats at src, or as many as a vector holds; the lanes beyond n are fill, and nothing there is read.
template <class Arch>
PRIMSEL_INLINE Floats<Arch> load_up_to(const float* src, std::size_t n, float fill = 0.0F) {
    constexpr std::size_t width = lanes<Arch>;
    if (n >= width) return load<Arch>(src);
#if defined(__AVX512F__)
    if constexpr (width == 16) {
        return Floats<Arch>(_mm512_mask_loadu_ps(_mm512_set1_ps(fill), static_cast<__mmask16>((1U << n) - 1), src));
    }
#endif
#if defined(__AVX__)
    if constexpr (width == 8) {
        const __m256i mask = first_lanes(n);
        const __m256 loaded = _mm256_maskload_ps(src, mask);
        return Floats<Arch>(_mm256_blendv_ps(_mm256_set1_ps(fill), loaded, _mm256_castsi256_ps(mask)));
    }
#endif
    alignas(64) float padded[width];
    for (std::size_t i = 0; i < width; ++i) padded[i] = i < n ? src[i] : fill;
    return load<Arch>(padded);
}

/// Stores the first n lanes, or all where n is more.
template <class Arch>
PRIMSEL_INLINE void store_up_to(float* dst, Floats<Arch> const& value, std::size_t n) {
    constexpr std::size_t width = lanes<Arch>;
    if (n >= width) return store<Arch>(dst, value);
#if defined(__AVX512F__)
    if constexpr (width == 16) return _mm512_mask_storeu_ps(dst, static_cast<__mmask16>((1U << n) - 1), value);
#endif
#if defined(__AVX__)
    if constexpr (width == 8) return _mm256_maskstore_ps(dst, first_lanes(n), value);
#endif
    alignas(64) float all[width];
    store<Arch>(all, value);
    for (std::size_t i = 0; i < n; ++i) dst[i] = all[i];
}

/// Elements at, at + 1, ... of a row of n; those outside the row, on either side, are fill.
template <class Arch>
PRIMSEL_INLINE Floats<Arch> load_around(const float* row, std::ptrdiff_t at, std::ptrdiff_t n, float fill) {
    constexpr std::ptrdiff_t width = lanes<Arch>;
    if (at >= 0) {
        const std::ptrdiff_t first = std::min(at, n);
        return load_up_to<Arch>(row + first, static_cast<std::size_t>(n - first), fill);
    }
    const std::ptrdiff_t before = std::min(-at, width), inside = std::min(n, width - before);
#if defined(__AVX512F__)
    if constexpr (width == 16) {
        const auto mask = static_cast<__mmask16>(((1U << inside) - 1) << before);
        return Floats<Arch>(_mm512_mask_expandloadu_ps(_mm512_set1_ps(fill), mask, row));
    }
#endif
    alignas(64) float padded[width];
    for (std::ptrdiff_t i = 0; i < width; ++i) padded[i] = i >= before && i < before + inside ? row[i - before] : fill;
    return load<Arch>(padded);
}

/// 0, 1, 2, ...
template <class Arch>
PRIMSEL_INLINE Floats<Arch> first_integers() {
    alignas(64) static constexpr float integers[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    static_assert(lanes<Arch> <= 16);
    return load<Arch>(integers);
}

/// All lanes as one: f of the two halves, and so on.
template <class Arch, class F>
PRIMSEL_INLINE float fold_lanes(Floats<Arch> const& value, F const& f) {
    alignas(64) float lane[lanes<Arch>];
    store<Arch>(lane, value);
    PRIMSEL_UNROLL
    for (int half = lanes<Arch> / 2; half > 0; half /= 2) {
        PRIMSEL_UNROLL
        for (int i = 0; i < half; ++i) lane[i] = f(lane[i], lane[i + half]);
    }
    return lane[0];
}

/// f of each pair of lanes: for functions that have no vectors.
template <class Arch, class F>
Floats<Arch> lane_by_lane(Floats<Arch> const& a, Floats<Arch> const& b, F const& f) noexcept {
    alignas(64) float left[lanes<Arch>], right[lanes<Arch>];
    store<Arch>(left, a);
    store<Arch>(right, b);
    for (int i = 0; i < lanes<Arch>; ++i) left[i] = f(left[i], right[i]);
    return load<Arch>(left);
}

/// sqrt(x), rounded correctly.
template <class Arch>
PRIMSEL_INLINE Floats<Arch> square_root(Floats<Arch> const& x) {
#if defined(__aarch64__)
    return Floats<Arch>(vsqrtq_f32(x));  // xsimd 8.1 multiplies by an estimate of 1 / sqrt(x), which fails at infinity
#else
    return xsimd::sqrt(x);
#endif
}

/// 1 / sqrt(x) but for the last two bits, for finite x above the subnormals: the hardware's estimate and Newton's
/// steps.
template <class Arch>
PRIMSEL_INLINE Floats<Arch> reciprocal_sqrt(Floats<Arch> const& x) {
    using V = Floats<Arch>;
    const V half = x * V(0.5F);
    const auto refine = [&half](V const& root) { return root * fma<Arch>(half * root, -root, V(1.5F)); };
    V root(0.0F);
    if constexpr (lanes<Arch> == 16) {
#if defined(__AVX512F__)
        root = V(_mm512_maskz_rsqrt14_ps(0xffff, x));  // xsimd 8.1 has an instruction of the Xeon Phi here
#endif
    } else {
        root = xsimd::rsqrt(x);
    }
#if defined(__aarch64__)
    root = refine(root);  // an estimate of eight bits only
#endif
    return refine(root);
}

/// Of the 2 * lanes elements of a and b, one after the other, those with even index go to a, the others to b.
template <class Arch>
PRIMSEL_INLINE void split_even_odd(Floats<Arch>& a, Floats<Arch>& b) {
    const Floats<Arch> left = a, right = b;
#if defined(__AVX512F__)
    if constexpr (lanes<Arch> == 16) {
        const __m512i even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
        const __m512i odd = _mm512_add_epi32(even, _mm512_set1_epi32(1));
        a = Floats<Arch>(_mm512_permutex2var_ps(left, even, right));
        b = Floats<Arch>(_mm512_permutex2var_ps(left, odd, right));
    }
#endif
#if defined(__AVX__)
    if constexpr (lanes<Arch> == 8) {
        const __m256 low = _mm256_permute2f128_ps(left, right, 0x20), high = _mm256_permute2f128_ps(left, right, 0x31);
        a = Floats<Arch>(_mm256_shuffle_ps(low, high, 0x88));
        b = Floats<Arch>(_mm256_shuffle_ps(low, high, 0xDD));
    }
#endif
    if constexpr (lanes<Arch> == 4) {
        const Floats<Arch> low = xsimd::zip_lo(left, right), high = xsimd::zip_hi(left, right);
        a = xsimd::zip_lo(low, high);
        b = xsimd::zip_hi(low, high);
    }
}

/// Element index[i] - first of a vector in lane i, for as many indices as a vector has lanes: some processors' gathers
/// are slower than loads one by one.
template <class Arch>
PRIMSEL_INLINE Floats<Arch> permuted(Floats<Arch> const& value, const int* index, int first) {
#if defined(__AVX512F__)
    if constexpr (lanes<Arch> == 16) {
        const __m512i from = _mm512_sub_epi32(_mm512_loadu_si512(index), _mm512_set1_epi32(first));
        return Floats<Arch>(_mm512_maskz_permutexvar_ps(0xffff, from, value));
    }
#endif
#if defined(__AVX2__)
    if constexpr (lanes<Arch> == 8) {
        const __m256i from = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(index));
        return Floats<Arch>(_mm256_permutevar8x32_ps(value, _mm256_sub_epi32(from, _mm256_set1_epi32(first))));
    }
#endif
    alignas(64) float all[lanes<Arch>], lane[lanes<Arch>];
    store<Arch>(all, value);
    for (int i = 0; i < lanes<Arch>; ++i) lane[i] = all[index[i] - first];
    return load<Arch>(lane);
}

/// src[index[i] - begin] in lane i, of `size` elements. The indices do not descend.
template <class Arch>
PRIMSEL_INLINE Floats<Arch> pick(const float* src, const int* index, int begin, int size) {
    const int first = index[0];
    if (index[lanes<Arch> - 1] - first < lanes<Arch>) {
        const auto n = static_cast<std::size_t>(begin + size - first);
        return permuted<Arch>(load_up_to<Arch>(src + (first - begin), n), index, first);
    }
    alignas(64) float lane[lanes<Arch>];
    for (int i = 0; i < lanes<Arch>; ++i) lane[i] = src[index[i] - begin];
    return load<Arch>(lane);
}

/// The larger, or NaN where either is NaN.
template <class Arch>
PRIMSEL_INLINE Floats<Arch> max_or_nan(Floats<Arch> const& a, Floats<Arch> const& b) {
#if defined(__aarch64__)
    return max<Arch>(a, b);
#else
    // x86's max returns its second operand if either is NaN.
#if defined(__AVX512F__)
    if constexpr (lanes<Arch> == 16) {
        return Floats<Arch>(_mm512_mask_max_ps(b, _mm512_cmp_ps_mask(b, b, _CMP_ORD_Q), b, a));
    }
#endif
    // Of the two orders one returns the NaN, and a NaN with further bits set is still one.
    return max<Arch>(a, b) | max<Arch>(b, a);
#endif
}

}  // namespace primsel::inline PRIMSEL_ABI::detail

#include <cstddef>

namespace primsel::inline PRIMSEL_ABI::detail {

/// Calls f(at, n) for vectors that make up `count` floats: at is the vector's offset, n how many of its lanes count
/// (n may exceed the lanes).
template <class Arch, class F>
void for_elements(ExecutorRef executor, std::size_t count, F const& f) noexcept {
    for_ranges(executor, count, 1, [&f](std::size_t first, std::size_t last) {
        const F each = f;  // a copy of one's own stays in registers, whatever dst points to
        for (std::size_t at = first; at < last; at += lanes<Arch>) each(at, last - at);
    });
}

/// A batch of images as [outer][count][inner], where count is the extent of one axis: all strided layouts are the axes
/// in some order. Of the channels, inner is h * w for chw, w for hcw, 1 for hwc.
struct AxisView {
    std::size_t outer, count, inner;
};

template <StridedLayout L>
[[nodiscard]] constexpr AxisView axis_view(Shape shape, int batch, Axis axis) {
    const Strides strides = L::strides(shape);
    const auto count = static_cast<std::size_t>(extent(shape, axis));
    const std::size_t inner = axis == Axis::c ? strides.c : axis == Axis::h ? strides.h : strides.w;
    return {static_cast<std::size_t>(batch) * shape.size() / (count * inner), count, inner};
}

template <StridedLayout L>
[[nodiscard]] constexpr AxisView channel_view(Shape shape, int batch) {
    return axis_view<L>(shape, batch, Axis::c);
}

/// Calls f(at, n, of_channel) for vectors that make up the view: at and n as above, of_channel[i] the i-th value of
/// each lane's channel. table: the first value of all channels, then the second, ...
template <class Arch, std::size_t values, class F>
void for_channel_elements(ExecutorRef executor, AxisView view, const float* table, F const& f) noexcept {
    using V = Floats<Arch>;
    constexpr std::size_t width = lanes<Arch>;
    if (view.inner > 1) {
        const std::size_t channels = view.count, inner = view.inner;
        for_ranges(executor, view.outer * channels, inner, [=, &f](std::size_t first, std::size_t last) {
            const F each = f;
            for (std::size_t row = first, c = first % channels; row < last; ++row) {
                V of_channel[values];
                for (std::size_t v = 0; v < values; ++v) of_channel[v] = V(table[v * channels + c]);
                for (std::size_t i = 0; i < inner; i += width) each(row * inner + i, inner - i, of_channel);
                c = c + 1 == channels ? 0 : c + 1;
            }
        });
        return;
    }
    const auto pixels = [&f, executor](std::size_t begin, std::size_t count, std::size_t channels, const float* row) {
        for_ranges(executor, count, channels, [=, &f](std::size_t first, std::size_t last) {
            const F each = f;
            for (std::size_t pixel = first; pixel < last; ++pixel) {
                for (std::size_t c = 0; c < channels; c += width) {
                    const std::size_t n = channels - c;
                    V of_channel[values];
                    for (std::size_t v = 0; v < values; ++v) {
                        of_channel[v] = load_up_to<Arch>(row + v * channels + c, n);
                    }
                    each(begin + pixel * channels + c, n, of_channel);
                }
            }
        });
    };
    // A few channels would leave most lanes empty: `width` pixels of c channels are one of c * width.
    constexpr std::size_t few = 32;
    std::size_t done = 0;
    if (view.count < few && view.count % width != 0 && view.outer >= width) {
        const std::size_t channels = view.count * width;
        float wide[values * few * width];
        for (std::size_t i = 0; i < values * channels; ++i) wide[i] = table[i / channels * view.count + i % view.count];
        done = view.outer / width * width;
        pixels(0, done / width, channels, wide);
    }
    pixels(done * view.count, view.outer - done, view.count, table);
}

}  // namespace primsel::inline PRIMSEL_ABI::detail
// primsel/op/op.hpp

#include <concepts>
#include <cstddef>

namespace primsel::inline PRIMSEL_ABI {

/// The kernel of one kind of non-convolution layer: a specialisation of Op for its parameters. All members are static:
/// - constexpr bool in_place: dst may be src[0]; otherwise dst overlaps no src;
/// - double operations(params, span of input shapes, output shape): floating-point operations for one image, for the
///   cost models;
/// - void run<Arch, L>(params, args): for each of the strided layouts, or where constrained for some, chw among them;
///   noexcept, no allocation, the same bits whatever
///   the executor. The shapes are those of the layer: params.check found no fault in them.
/// An op with weights also has
/// - std::size_t packed_floats(params, input shape): the room that pack needs;
/// - void pack<L>(params, input shape, weights, dst): for the same L as run, but for any Arch; fills all of dst.
template <class Params>
struct Op;

/// Whether the op has weights.
template <class Params>
inline constexpr bool has_weights = requires(Params const& params, Shape shape) {
    { Op<Params>::packed_floats(params, shape) } -> std::same_as<std::size_t>;
};

}  // namespace primsel::inline PRIMSEL_ABI

#include <cmath>

namespace primsel::inline PRIMSEL_ABI {

template <>
struct Op<ActivationParams> {
    static constexpr bool in_place = true;

    [[nodiscard]] static double operations(ActivationParams const& params, std::span<const Shape>, Shape output) {
        return operations_each(params) * static_cast<double>(output.size());
    }

    template <class Arch, StridedLayout L>
    static void run(ActivationParams const& params, OpArgs const& args) noexcept {
        elements<Arch>(params, args);
    }

private:
    static double operations_each(ActivationParams const& params) {
        switch (params.kind) {
            case ActivationKind::relu:
            case ActivationKind::abs:
            case ActivationKind::floor:
            case ActivationKind::ceil:
            case ActivationKind::round:
            case ActivationKind::truncate:
                return 1;
            case ActivationKind::relu6:
            case ActivationKind::leaky_relu:
            case ActivationKind::clip:
                return 2;
            case ActivationKind::hard_sigmoid:
            case ActivationKind::sign:
                return 4;
            case ActivationKind::hard_swish:
                return 5;
            case ActivationKind::sqrt:
                return 10;
            case ActivationKind::sigmoid:
            case ActivationKind::elu:
            case ActivationKind::tanh:
            case ActivationKind::exp:
            case ActivationKind::log:
                return 20;
            case ActivationKind::erf:
            case ActivationKind::softplus:
                return 40;
            case ActivationKind::power:
                return is_product(params.alpha) ? 2 : 300;
            default:  // element by element
                return 300;
        }
    }
    static bool is_product(float exponent) { return exponent == 2.0F || exponent == 3.0F; }

    template <class Arch>
    static void elements(ActivationParams const& params, OpArgs const& args) noexcept {
        using V = Floats<Arch>;
        const auto each = [&args](auto const& function) {
            const float* src = args.src[0];
            float* dst = args.dst;
            detail::for_elements<Arch>(args.executor, args.dst_shape.size() * static_cast<std::size_t>(args.batch),
                                       [=](std::size_t at, std::size_t n) {
                                           const V x = detail::load_up_to<Arch>(src + at, n);
                                           detail::store_up_to<Arch>(dst + at, function(x), n);
                                       });
        };
        const auto held = [&each](Clamp bounds) {
            each([low = V(bounds.low), high = V(bounds.high)](V const& x) { return clamp<Arch>(x, low, high); });
        };
        switch (params.kind) {
            case ActivationKind::relu:
                return held(relu_clamp);
            case ActivationKind::relu6:
                return held(relu6_clamp);
            case ActivationKind::leaky_relu:
                return each([slope = V(params.alpha)](V const& x) { return xsimd::select(x < V(0.0F), x * slope, x); });
            case ActivationKind::sigmoid:
                return each([](V const& x) { return V(1.0F) / (V(1.0F) + xsimd::exp(-x)); });
            case ActivationKind::elu:
                return each([alpha = V(params.alpha)](V const& x) {
                    return xsimd::select(x < V(0.0F), alpha * xsimd::expm1(x), x);
                });
            case ActivationKind::hard_sigmoid:
                return each([slope = V(params.alpha), offset = V(params.beta)](V const& x) {
                    return clamp<Arch>(fma<Arch>(slope, x, offset), V(0.0F), V(1.0F));
                });
            case ActivationKind::tanh:
                return each([](V const& x) { return xsimd::tanh(x); });
            case ActivationKind::clip:
                return held({params.alpha, params.beta});
            case ActivationKind::sqrt:
                return each([](V const& x) { return detail::square_root<Arch>(x); });
            case ActivationKind::hard_swish:
                return each([](V const& x) { return x * clamp<Arch>(x + V(3.0F), V(0.0F), V(6.0F)) * V(1.0F / 6.0F); });
            case ActivationKind::exp:
                return each([](V const& x) { return xsimd::exp(x); });
            case ActivationKind::log:
                return each([](V const& x) { return log<Arch>(x); });
            case ActivationKind::abs:
                return each([](V const& x) { return xsimd::abs(x); });
            case ActivationKind::sign:
                return each([](V const& x) {
                    const V below = xsimd::select(x < V(0.0F), V(-1.0F), x);
                    return xsimd::select(x > V(0.0F), V(1.0F), below);
                });
            case ActivationKind::floor:
                return each([](V const& x) { return xsimd::floor(x); });
            case ActivationKind::ceil:
                return each([](V const& x) { return xsimd::ceil(x); });
            case ActivationKind::round:
                return each([](V const& x) { return xsimd::nearbyint(x); });
            case ActivationKind::truncate:
                return each([](V const& x) { return xsimd::trunc(x); });
            case ActivationKind::erf:
                return each([](V const& x) { return xsimd::erf(x); });
            case ActivationKind::softplus:
                // Neither exp overflows nor is 1 lost beside it.
                return each(
                    [](V const& x) { return max<Arch>(V(0.0F), x) + xsimd::log1p(xsimd::exp(-xsimd::abs(x))); });
            case ActivationKind::power:
                if (params.alpha == 2.0F) return each([](V const& x) { return x * x; });
                if (params.alpha == 3.0F) return each([](V const& x) { return x * x * x; });
                return each([exponent = params.alpha](V const& x) {
                    return detail::lane_by_lane<Arch>(x, V(exponent), [](float a, float b) { return std::pow(a, b); });
                });
            default:
                // Rare in networks: element by element.
                return each([function = scalar(params.kind)](V const& x) {
                    return detail::lane_by_lane<Arch>(x, x, [=](float a, float) { return function(a); });
                });
        }
    }

    using Scalar = float (*)(float);
    static Scalar scalar(ActivationKind kind) noexcept {
        switch (kind) {
            case ActivationKind::sin:
                return [](float x) { return std::sin(x); };
            case ActivationKind::cos:
                return [](float x) { return std::cos(x); };
            case ActivationKind::tan:
                return [](float x) { return std::tan(x); };
            case ActivationKind::asin:
                return [](float x) { return std::asin(x); };
            case ActivationKind::acos:
                return [](float x) { return std::acos(x); };
            case ActivationKind::atan:
                return [](float x) { return std::atan(x); };
            case ActivationKind::sinh:
                return [](float x) { return std::sinh(x); };
            case ActivationKind::cosh:
                return [](float x) { return std::cosh(x); };
            case ActivationKind::asinh:
                return [](float x) { return std::asinh(x); };
            case ActivationKind::acosh:
                return [](float x) { return std::acosh(x); };
            default:
                return [](float x) { return std::atanh(x); };
        }
    }
};

}  // namespace primsel::inline PRIMSEL_ABI
// primsel/op/affine.hpp

#include <algorithm>

namespace primsel::inline PRIMSEL_ABI {

namespace detail {

template <class Arch>
void run_affine(AxisView view, OpArgs const& args) noexcept {
    const float* src = args.src[0];
    float* dst = args.dst;
    for_channel_elements<Arch, 2>(args.executor, view, args.weights,
                                  [=](std::size_t at, std::size_t n, const Floats<Arch>* of_channel) {
                                      const Floats<Arch> x = load_up_to<Arch>(src + at, n);
                                      store_up_to<Arch>(dst + at, fma<Arch>(x, of_channel[0], of_channel[1]), n);
                                  });
}

/// x * factor + shift, per channel. Packed: the factors of all channels, then the shifts.
template <class Params>
struct AffineOp {
    static constexpr bool in_place = true;

    [[nodiscard]] static double operations(Params const&, std::span<const Shape>, Shape output) {
        return 2 * static_cast<double>(output.size());
    }

    [[nodiscard]] static std::size_t packed_floats(Params const&, Shape input) {
        return 2 * static_cast<std::size_t>(input.c);
    }

    template <StridedLayout L>
    static void pack(Params const&, Shape input, OpWeights const& weights, float* dst) {
        float* shifts = std::ranges::copy(weights.kernel, dst).out;
        std::fill_n(shifts, input.c, 0.0F);
        std::ranges::copy(weights.bias, shifts);
    }

    template <class Arch, StridedLayout L>
    static void run(Params const&, OpArgs const& args) noexcept {
        run_affine<Arch>(channel_view<L>(args.dst_shape, args.batch), args);
    }
};

}  // namespace detail

/// Batch normalisation as one factor and one shift a channel: whoever reads the weights works them out from mean,
/// variance, weight and bias.
template <>
struct Op<BatchNormParams> : detail::AffineOp<BatchNormParams> {};

template <>
struct Op<ScaleParams> : detail::AffineOp<ScaleParams> {};

}  // namespace primsel::inline PRIMSEL_ABI
// primsel/op/as_strided.hpp

// primsel/op/detail/copy.hpp
// Copies in bulk, for the ops that only move elements.

#include <cstddef>

namespace primsel::inline PRIMSEL_ABI::detail {

/// The index-th of `count` equal parts of something.
struct Part {
    std::size_t index, count;
};

/// dst[i] = src[i]: rows are often too short for the call of memcpy.
template <class Arch>
PRIMSEL_INLINE void copy_floats(const float* src, float* dst, std::size_t floats) {
    for (std::size_t i = 0; i < floats; i += lanes<Arch>) {
        store_up_to<Arch>(dst + i, load_up_to<Arch>(src + i, floats - i), floats - i);
    }
}

/// The part of src[0, floats).
template <class Arch>
PRIMSEL_INLINE void copy_part(const float* src, float* dst, std::size_t floats, Part part) {
    const std::size_t first = part.count == 1 ? 0 : floats * part.index / part.count;
    const std::size_t last = part.count == 1 ? floats : floats * (part.index + 1) / part.count;
    copy_floats<Arch>(src + first, dst + first, last - first);
}

/// Calls f(row, part) for each row of the given floats and each of its parts: one, unless the row is too long for a
/// block.
template <class F>
void for_row_parts(ExecutorRef executor, std::size_t rows, std::size_t row_floats, F const& f) noexcept {
    const std::size_t parts = (row_floats + block_floats - 1) / block_floats;
    for_ranges(executor, rows * parts, row_floats / parts, [&f, parts](std::size_t first, std::size_t last) {
        std::size_t row = first / parts, part = first % parts;
        for (std::size_t item = first; item < last; ++item) {
            f(row, Part{part, parts});
            if (++part == parts) part = 0, ++row;
        }
    });
}

}  // namespace primsel::inline PRIMSEL_ABI::detail
// primsel/op/detail/walk.hpp
// Several tensors walked together, each with strides of its own.

#include <array>
#include <cstddef>

namespace primsel::inline PRIMSEL_ABI::detail {

/// The axes of a dense tensor, outermost first, and how far a step along each moves in every one of `tensors` others.
/// The last axis is a row; there is always one, if only of one element.
template <std::size_t tensors, std::size_t max_rank>
class Walk {
public:
    using Offsets = std::array<std::ptrdiff_t, tensors>;

    /// The next axis inwards. One of a single element is left out; one that goes on where the one around it steps
    /// becomes one with it.
    void add(std::size_t extent, Offsets const& step) {
        if (extent == 1) return;
        if (rank_ > 0 && goes_on(extent, step)) {
            extents_[rank_ - 1] *= extent;
            steps_[rank_ - 1] = step;
            return;
        }
        extents_[rank_] = extent;
        steps_[rank_++] = step;
    }

    [[nodiscard]] std::size_t rank() const { return rank_; }
    [[nodiscard]] std::size_t extent(std::size_t axis) const { return extents_[axis]; }
    [[nodiscard]] Offsets const& step(std::size_t axis) const { return steps_[axis]; }
    [[nodiscard]] std::size_t row_floats() const { return rank_ == 0 ? 1 : extents_[rank_ - 1]; }
    /// Of the row, from one element to the next.
    [[nodiscard]] Offsets row_step() const { return rank_ == 0 ? Offsets{} : steps_[rank_ - 1]; }
    [[nodiscard]] std::size_t rows() const {
        std::size_t rows = 1;
        for (std::size_t axis = 0; axis + 1 < rank_; ++axis) rows *= extents_[axis];
        return rows;
    }

    /// Calls f(row, offsets of its first element, part) for every row and part of it. An element of a row stands for
    /// element_floats floats of work.
    template <class F>
    void for_each_row(ExecutorRef executor, F const& f, std::size_t element_floats = 1) const noexcept {
        const std::size_t floats = row_floats() * element_floats, parts = (floats + block_floats - 1) / block_floats;
        for_ranges(executor, rows() * parts, floats / parts, [this, parts, &f](std::size_t first, std::size_t last) {
            std::array<std::size_t, max_rank> place{};
            Offsets at{};
            for (std::size_t rest = first / parts, axis = rank_ < 2 ? 0 : rank_ - 1; axis-- > 0;) {
                place[axis] = rest % extents_[axis];
                rest /= extents_[axis];
                move(at, axis, static_cast<std::ptrdiff_t>(place[axis]));
            }
            std::size_t row = first / parts, part = first % parts;
            for (std::size_t item = first; item < last; ++item) {
                f(row, at, Part{part, parts});
                if (++part < parts) continue;
                part = 0, ++row;
                for (std::size_t axis = rank_ < 2 ? 0 : rank_ - 1; axis-- > 0;) {
                    move(at, axis, 1);
                    if (++place[axis] < extents_[axis]) break;
                    move(at, axis, -static_cast<std::ptrdiff_t>(extents_[axis]));
                    place[axis] = 0;
                }
            }
        });
    }

private:
    [[nodiscard]] bool goes_on(std::size_t extent, Offsets const& step) const {
        for (std::size_t i = 0; i < tensors; ++i) {
            if (steps_[rank_ - 1][i] != step[i] * static_cast<std::ptrdiff_t>(extent)) return false;
        }
        return true;
    }
    void move(Offsets& at, std::size_t axis, std::ptrdiff_t count) const {
        for (std::size_t i = 0; i < tensors; ++i) at[i] += steps_[axis][i] * count;
    }

    std::size_t rank_ = 0;
    std::array<std::size_t, max_rank> extents_{};
    std::array<Offsets, max_rank> steps_{};
};

}  // namespace primsel::inline PRIMSEL_ABI::detail

#include <algorithm>
#include <concepts>

namespace primsel::inline PRIMSEL_ABI {

/// Rows of neighbours are copied; where another axis than the last is that of the input's neighbours, the two are
/// transposed.
template <>
struct Op<AsStridedParams> {
    static constexpr bool in_place = false;

    [[nodiscard]] static double operations(AsStridedParams const&, std::span<const Shape>, Shape) { return 0; }

    template <class Arch, StridedLayout L>
        requires std::same_as<L, chw>
    static void run(AsStridedParams const& params, OpArgs const& args) noexcept {
        Axes axes;
        axes.add(static_cast<std::size_t>(args.batch), {static_cast<std::ptrdiff_t>(args.src_shape[0].size())});
        for (std::size_t i = 0; i < params.dims.rank(); ++i) {
            axes.add(static_cast<std::size_t>(params.dims[i]), {params.strides[i]});
        }
        const float* src = args.src[0] + params.offset;
        const std::ptrdiff_t step = axes.row_step()[0];
        if (step > 1) {
            for (std::size_t axis = 0; axis + 1 < axes.rank(); ++axis) {
                if (axes.step(axis)[0] == 1) return transposed(axes, axis, src, args.dst, args.executor);
            }
        }
        const std::size_t floats = axes.row_floats();
        axes.for_each_row(args.executor,
                          [=, dst = args.dst](std::size_t row, Axes::Offsets const& at, detail::Part part) {
                              const float* from = src + at[0];
                              float* to = dst + row * floats;
                              if (step == 1) return detail::copy_part<Arch>(from, to, floats, part);
                              const std::size_t last = floats * (part.index + 1) / part.count;
                              for (std::size_t i = floats * part.index / part.count; i < last; ++i) {
                                  to[i] = from[static_cast<std::ptrdiff_t>(i) * step];
                              }
                          });
    }

private:
    static constexpr std::size_t max_rank = Dims::max_rank + 1;
    using Axes = detail::Walk<1, max_rank>;

    /// The input's neighbours lie along `columns`, the result's along the last axis.
    static void transposed(Axes const& axes, std::size_t columns, const float* src, float* dst,
                           ExecutorRef executor) noexcept {
        const std::size_t last = axes.rank() - 1, rows = axes.extent(last);
        std::array<std::size_t, max_rank> dst_step;
        dst_step[last] = 1;
        for (std::size_t axis = last; axis-- > 0;) dst_step[axis] = dst_step[axis + 1] * axes.extent(axis + 1);
        detail::Walk<2, max_rank> walk;
        const auto add = [&](std::size_t axis) {
            walk.add(axes.extent(axis), {axes.step(axis)[0], static_cast<std::ptrdiff_t>(dst_step[axis])});
        };
        for (std::size_t axis = 0; axis < last; ++axis) {
            if (axis != columns) add(axis);
        }
        add(columns);
        const std::size_t count = walk.row_floats(), src_step = static_cast<std::size_t>(axes.step(last)[0]);
        walk.for_each_row(
            executor,
            [=, step = dst_step[columns]](std::size_t, auto const& at, detail::Part part) {
                transpose_columns(src + at[0], src_step, dst + at[1], step, rows, count * part.index / part.count,
                                  count * (part.index + 1) / part.count);
            },
            rows);
    }
};

}  // namespace primsel::inline PRIMSEL_ABI
// primsel/op/binary.hpp

#include <array>
#include <cmath>
#include <utility>

namespace primsel::inline PRIMSEL_ABI {

/// Along a row each input has neighbours, or one element for all: equal shapes are one row, and so is each channel
/// where the other input has one element a channel.
template <>
struct Op<BinaryParams> {
    static constexpr bool in_place = true;

    [[nodiscard]] static double operations(BinaryParams const& params, std::span<const Shape>, Shape output) {
        const double each = params.kind == BinaryKind::power       ? 300
                            : params.kind == BinaryKind::modulo    ? 60
                            : params.kind == BinaryKind::remainder ? 60
                                                                   : 1;
        return each * static_cast<double>(output.size());
    }

    template <class Arch, StridedLayout L>
    static void run(BinaryParams const& params, OpArgs const& args) noexcept {
        binary<Arch>(
            params.kind, args,
            axes(args, L::strides(args.dst_shape), L::strides(args.src_shape[0]), L::strides(args.src_shape[1])),
            detail::channel_view<L>(args.dst_shape, 1));
    }

private:
    using Axes = detail::Walk<2, 4>;

    static Axes axes(OpArgs const& args, Strides const& dst, Strides const& a, Strides const& b) {
        struct One {
            int extent;
            std::size_t dst, a, b;
        };
        const Shape out = args.dst_shape, of_a = args.src_shape[0], of_b = args.src_shape[1];
        const auto step = [](int extent, std::size_t stride) { return extent == 1 ? 0 : stride; };
        std::array<One, 3> order{{{out.c, dst.c, step(of_a.c, a.c), step(of_b.c, b.c)},
                                  {out.h, dst.h, step(of_a.h, a.h), step(of_b.h, b.h)},
                                  {out.w, dst.w, step(of_a.w, a.w), step(of_b.w, b.w)}}};
        const auto outer_first = [&order](std::size_t i, std::size_t j) {
            if (order[i].dst < order[j].dst) std::swap(order[i], order[j]);
        };
        outer_first(0, 1), outer_first(1, 2), outer_first(0, 1);
        Axes result;
        const auto add = [&result](int extent, std::size_t a_step, std::size_t b_step) {
            result.add(static_cast<std::size_t>(extent),
                       {static_cast<std::ptrdiff_t>(a_step), static_cast<std::ptrdiff_t>(b_step)});
        };
        add(args.batch, of_a.size(), of_b.size());
        for (One const& axis : order) add(axis.extent, axis.a, axis.b);
        return result;
    }

    template <class Arch>
    static void binary(BinaryKind kind, OpArgs const& args, Axes const& axes, detail::AxisView image) noexcept {
        using V = Floats<Arch>;
        switch (kind) {
            case BinaryKind::add:
                return any<Arch>(kind, args, axes, image, [](V const& a, V const& b) { return a + b; });
            case BinaryKind::subtract:
                return any<Arch>(kind, args, axes, image, [](V const& a, V const& b) { return a - b; });
            case BinaryKind::multiply:
                return any<Arch>(kind, args, axes, image, [](V const& a, V const& b) { return a * b; });
            case BinaryKind::divide:
                return any<Arch>(kind, args, axes, image, [](V const& a, V const& b) { return a / b; });
            case BinaryKind::prelu:
                return any<Arch>(kind, args, axes, image,
                                 [](V const& a, V const& b) { return xsimd::select(a >= V(0.0F), a, a * b); });
            case BinaryKind::minimum:
                return rows<Arch>(args, axes, [](V const& a, V const& b) { return -detail::max_or_nan<Arch>(-a, -b); });
            case BinaryKind::maximum:
                return rows<Arch>(args, axes, [](V const& a, V const& b) { return detail::max_or_nan<Arch>(a, b); });
            case BinaryKind::equal:
                return rows<Arch>(args, axes, [](V const& a, V const& b) { return truth<Arch>(a == b); });
            case BinaryKind::greater:
                return rows<Arch>(args, axes, [](V const& a, V const& b) { return truth<Arch>(a > b); });
            case BinaryKind::greater_or_equal:
                return rows<Arch>(args, axes, [](V const& a, V const& b) { return truth<Arch>(a >= b); });
            case BinaryKind::keep:
                return rows<Arch>(args, axes,
                                  [](V const& a, V const& b) { return xsimd::select(a == V(0.0F), V(0.0F), b); });
            case BinaryKind::power:
            case BinaryKind::modulo:
            case BinaryKind::remainder:
                return rows<Arch>(args, axes, [function = scalar(kind)](V const& a, V const& b) {
                    return detail::lane_by_lane<Arch>(a, b, function);
                });
        }
    }

    template <class Arch, class Mask>
    static Floats<Arch> truth(Mask const& mask) {
        return xsimd::select(mask, Floats<Arch>(1.0F), Floats<Arch>(0.0F));
    }

    using Scalar = float (*)(float, float);
    static Scalar scalar(BinaryKind kind) noexcept {
        if (kind == BinaryKind::power) return [](float a, float b) { return std::pow(a, b); };
        if (kind == BinaryKind::remainder) return [](float a, float b) { return std::fmod(a, b); };
        return [](float a, float b) {
            const float rest = std::fmod(a, b);
            return rest != 0.0F && (rest < 0.0F) != (b < 0.0F) ? rest + b : rest;
        };
    }

    template <class Arch, class F>
    static void any(BinaryKind kind, OpArgs const& args, Axes const& axes, detail::AxisView image,
                    F const& f) noexcept {
        const bool commutes = kind == BinaryKind::add || kind == BinaryKind::multiply;
        const Shape of_channels{args.dst_shape.c, 1, 1};
        const bool few = image.inner == 1 && image.count > 1 && image.count < 32 && image.outer >= lanes<Arch>;
        if (few && args.src_shape[0] == args.dst_shape && args.src_shape[1] == of_channels) {
            few_channels<Arch>(args, image, args.src[0], args.src[1], f);
        } else if (few && commutes && args.src_shape[1] == args.dst_shape && args.src_shape[0] == of_channels) {
            few_channels<Arch>(args, image, args.src[1], args.src[0], f);
        } else {
            rows<Arch>(args, axes, f);
        }
    }

    /// One element a channel, where a pixel's channels are neighbours but too few for rows of their own.
    template <class Arch, class F>
    static void few_channels(OpArgs const& args, detail::AxisView image, const float* src, const float* of_channels,
                             F const& f) noexcept {
        float* dst = args.dst;
        for (int n = 0; n < args.batch; ++n) {
            detail::for_channel_elements<Arch, 1>(
                args.executor, image, of_channels,
                [=](std::size_t at, std::size_t count, const Floats<Arch>* of_channel) {
                    detail::store_up_to<Arch>(dst + at, f(detail::load_up_to<Arch>(src + at, count), *of_channel),
                                              count);
                });
            src += args.dst_shape.size(), dst += args.dst_shape.size(), of_channels += image.count;
        }
    }

    template <class Arch, class F>
    static void rows(OpArgs const& args, Axes const& axes, F const& f) noexcept {
        const std::size_t floats = axes.row_floats();
        const bool one_a = axes.row_step()[0] == 0, one_b = axes.row_step()[1] == 0;
        const float *src_a = args.src[0], *src_b = args.src[1];
        axes.for_each_row(
            args.executor, [=, dst = args.dst](std::size_t row, Axes::Offsets const& at, detail::Part part) {
                const std::size_t first = floats * part.index / part.count;
                const std::size_t n = floats * (part.index + 1) / part.count - first;
                const float* a = src_a + at[0] + (one_a ? 0 : first);
                const float* b = src_b + at[1] + (one_b ? 0 : first);
                float* to = dst + row * floats + first;
                if (one_a) {
                    each<Arch>(b, to, n, [&f, one = Floats<Arch>(*a)](auto const& x) { return f(one, x); });
                } else if (one_b) {
                    each<Arch>(a, to, n, [&f, one = Floats<Arch>(*b)](auto const& x) { return f(x, one); });
                } else {
                    for (std::size_t i = 0; i < n; i += lanes<Arch>) {
                        const auto x = detail::load_up_to<Arch>(a + i, n - i);
                        detail::store_up_to<Arch>(to + i, f(x, detail::load_up_to<Arch>(b + i, n - i)), n - i);
                    }
                }
            });
    }

    template <class Arch, class F>
    static void each(const float* src, float* dst, std::size_t n, F const& f) {
        for (std::size_t i = 0; i < n; i += lanes<Arch>) {
            detail::store_up_to<Arch>(dst + i, f(detail::load_up_to<Arch>(src + i, n - i)), n - i);
        }
    }
};

}  // namespace primsel::inline PRIMSEL_ABI
// primsel/op/combine.hpp

namespace primsel::inline PRIMSEL_ABI {

/// The inputs are summed in their order.
template <>
struct Op<AddParams> {
    static constexpr bool in_place = true;

    [[nodiscard]] static double operations(AddParams const&, std::span<const Shape> inputs, Shape output) {
        return static_cast<double>(inputs.size() - 1) * static_cast<double>(output.size());
    }

    template <class Arch, StridedLayout L>
    static void run(AddParams const&, OpArgs const& args) noexcept {
        add<Arch>(args);
    }

private:
    template <class Arch>
    static void add(OpArgs const& args) noexcept {
        using V = Floats<Arch>;
        const std::size_t count = args.dst_shape.size() * static_cast<std::size_t>(args.batch);
        const float *first = args.src[0], *second = args.src[1];
        float* dst = args.dst;
        const V low(args.clamp.low), high(args.clamp.high);
        detail::for_elements<Arch>(
            args.executor, count, [=, rest = args.src.subspan(2)](std::size_t at, std::size_t n) {
                V sum = detail::load_up_to<Arch>(first + at, n) + detail::load_up_to<Arch>(second + at, n);
                for (const float* src : rest) sum += detail::load_up_to<Arch>(src + at, n);
                detail::store_up_to<Arch>(dst + at, clamp<Arch>(sum, low, high), n);
            });
    }
};

template <>
struct Op<ConcatParams> {
    static constexpr bool in_place = false;

    [[nodiscard]] static double operations(ConcatParams const&, std::span<const Shape>, Shape) { return 0; }

    template <class Arch, StridedLayout L>
    static void run(ConcatParams const& params, OpArgs const& args) noexcept {
        concat<Arch>(params.axis, detail::axis_view<L>(args.dst_shape, args.batch, params.axis), args);
    }

private:
    template <class Arch>
    static void concat(Axis axis, detail::AxisView view, OpArgs const& args) noexcept {
        const std::size_t row = view.count * view.inner;
        detail::for_row_parts(args.executor, view.outer, row,
                              [&args, axis, view, row](std::size_t i, detail::Part part) {
                                  float* dst = args.dst + i * row;
                                  for (std::size_t input = 0; input < args.src.size(); ++input) {
                                      const std::size_t floats =
                                          static_cast<std::size_t>(extent(args.src_shape[input], axis)) * view.inner;
                                      detail::copy_part<Arch>(args.src[input] + i * floats, dst, floats, part);
                                      dst += floats;
                                  }
                              });
    }
};

}  // namespace primsel::inline PRIMSEL_ABI
// primsel/op/conv_transpose.hpp

#include <algorithm>
#include <concepts>
#include <numeric>

namespace primsel::inline PRIMSEL_ABI {

/// Every output is the sum of the taps that reach it: tap (i, j) takes row (y + top - i * dilation) / stride of the
/// input to row y, where that is whole. Columns of the result that are a stride apart take neighbouring columns of the
/// input by the same taps, so that they are computed together. Packed: blocks of eight of a group's outputs (of four or
/// one, where it has no more), each the biases, then for each tap and input channel the block's weights.
template <>
struct Op<ConvTransposeParams> {
    static constexpr bool in_place = false;

    [[nodiscard]] static double operations(ConvTransposeParams const& params, std::span<const Shape> inputs, Shape) {
        return 2.0 * params.k / params.groups * params.kernel.h * params.kernel.w *
               static_cast<double>(inputs[0].size());
    }

    [[nodiscard]] static std::size_t packed_floats(ConvTransposeParams const& params, Shape input) {
        const Sizes sizes(params, input);
        return sizes.groups * sizes.blocks * sizes.block_floats();
    }

    template <StridedLayout L>
        requires std::same_as<L, chw>
    static void pack(ConvTransposeParams const& params, Shape input, OpWeights const& weights, float* dst) {
        const Sizes sizes(params, input);
        for (std::size_t group = 0; group < sizes.groups; ++group) {
            for (std::size_t first = 0; first < sizes.k; first += sizes.block) {
                const auto each = [&](auto const& value) {
                    for (std::size_t i = first; i < first + sizes.block; ++i) *dst++ = i < sizes.k ? value(i) : 0.0F;
                };
                each([&](std::size_t k) { return weights.bias.empty() ? 0.0F : weights.bias[group * sizes.k + k]; });
                for (std::size_t tap = 0; tap < sizes.taps; ++tap) {
                    for (std::size_t c = group * sizes.c; c < (group + 1) * sizes.c; ++c) {
                        each([&](std::size_t k) { return weights.kernel[(c * sizes.k + k) * sizes.taps + tap]; });
                    }
                }
            }
        }
    }

    template <class Arch, StridedLayout L>
        requires std::same_as<L, chw>
    static void run(ConvTransposeParams const& params, OpArgs const& args) noexcept {
        rows<Arch>(params, args);
    }

private:
    /// Channels and outputs of a group, and how the outputs are packed.
    struct Sizes {
        std::size_t groups, c, k, taps, block, blocks;
        Sizes(ConvTransposeParams const& params, Shape input)
            : groups(static_cast<std::size_t>(params.groups)),
              c(static_cast<std::size_t>(input.c) / groups),
              k(static_cast<std::size_t>(params.k) / groups),
              taps(static_cast<std::size_t>(params.kernel.h) * static_cast<std::size_t>(params.kernel.w)),
              block(k == 1   ? 1
                    : k <= 4 ? 4
                             : 8),
              blocks((k + block - 1) / block) {}
        [[nodiscard]] std::size_t block_floats() const { return block * (1 + taps * c); }
    };

    template <class Arch>
    static void rows(ConvTransposeParams const& params, OpArgs const& args) noexcept {
        const Sizes sizes(params, args.src_shape[0]);
        const std::size_t h = static_cast<std::size_t>(args.dst_shape.h), blocks = sizes.groups * sizes.blocks;
        const std::size_t row_floats = static_cast<std::size_t>(args.dst_shape.w) * sizes.block * sizes.taps * sizes.c;
        detail::for_ranges(args.executor, static_cast<std::size_t>(args.batch) * blocks * h, row_floats / 4,
                           [=, &params, &args](std::size_t first, std::size_t last) {
                               for (std::size_t item = first; item < last; ++item) {
                                   const std::size_t row = item / blocks, block = item % blocks;
                                   const Row of_block(params, args, sizes, row / h, block, static_cast<int>(row % h));
                                   if (sizes.block == 1) {
                                       columns<Arch, 1>(of_block);
                                   } else if (sizes.block == 4) {
                                       columns<Arch, 4>(of_block);
                                   } else {
                                       columns<Arch, 8>(of_block);
                                   }
                               }
                           });
    }

    /// The taps along one axis that reach an output: first, first + step, ..., of which some may lie outside the input.
    struct Taps {
        int first = 0, step;
        Taps(int place, int count, int stride, int dilation) : step(stride / std::gcd(stride, dilation)) {
            while (first < count && (place - first * dilation) % stride != 0) ++first;
        }
    };

    /// A row of the outputs of a block.
    struct Row {
        ConvTransposeParams const& params;
        Shape in, out;
        std::size_t channels, used;
        const float *src, *weights;
        float* dst;
        int y;
        Taps taps;

        Row(ConvTransposeParams const& p, OpArgs const& args, Sizes const& sizes, std::size_t image, std::size_t block,
            int row)
            : params(p),
              in(args.src_shape[0]),
              out(args.dst_shape),
              channels(sizes.c),
              y(row + p.padding.top),
              taps(y, p.kernel.h, p.stride.h, p.dilation.h) {
            const std::size_t group = block / sizes.blocks, k = block % sizes.blocks * sizes.block;
            used = std::min(sizes.block, sizes.k - k);
            src = args.src[0] + image * in.size() + group * sizes.c * in.pixels();
            weights = args.weights + block * sizes.block_floats();
            dst = args.dst + image * out.size() + (group * sizes.k + k) * out.pixels() +
                  static_cast<std::size_t>(row) * static_cast<std::size_t>(out.w);
        }
    };

    template <class Arch, std::size_t block>
    static void columns(Row const& row) noexcept {
        constexpr int width = lanes<Arch>;
        constexpr bool two = 2 * block + 2 < registers<Arch>;
        const int stride = row.params.stride.w;
        for (int phase = 0; phase < std::min(stride, row.out.w); ++phase) {
            const int count = (row.out.w - phase + stride - 1) / stride;
            int begin = 0;
            if constexpr (two) {
                for (; count - begin > width; begin += 2 * width) {
                    tile<Arch, block, 2>(row, phase, begin, count - begin);
                }
            }
            for (; begin < count; begin += width) tile<Arch, block, 1>(row, phase, begin, count - begin);
        }
    }

    /// Up to `count` columns phase + (begin + i) * stride.
    template <class Arch, std::size_t block, std::size_t vectors>
    static void tile(Row const& row, int phase, int begin, int count) noexcept {
        using V = Floats<Arch>;
        constexpr int width = lanes<Arch>;
        ConvTransposeParams const& p = row.params;
        V sum[block][vectors];
        PRIMSEL_UNROLL
        for (std::size_t k = 0; k < block; ++k) {
            PRIMSEL_UNROLL
            for (std::size_t v = 0; v < vectors; ++v) sum[k][v] = V(row.weights[k]);
        }
        const std::size_t tap_floats = row.channels * block, plane = row.in.pixels();
        const int place = phase + p.padding.left, n = row.in.w;
        const Taps across(place, p.kernel.w, p.stride.w, p.dilation.w);
        for (int i = row.taps.first; i < p.kernel.h; i += row.taps.step) {
            const int from = row.y - i * p.dilation.h;
            if (from < 0 || from / p.stride.h >= row.in.h) continue;
            for (int j = across.first; j < p.kernel.w; j += across.step) {
                const int at = (place - j * p.dilation.w) / p.stride.w + begin;
                if (at >= n || at + static_cast<int>(vectors) * width <= 0) continue;
                const float* weights = row.weights + block + static_cast<std::size_t>(i * p.kernel.w + j) * tap_floats;
                const float* src = row.src + static_cast<std::size_t>(from / p.stride.h * n);
                if (at >= 0 && at + static_cast<int>(vectors) * width <= n) {
                    add_tap<Arch, block, vectors>(sum, weights, row.channels, src + at, plane,
                                                  [](const float* x, int v) { return load<Arch>(x + v * width); });
                } else {
                    add_tap<Arch, block, vectors>(sum, weights, row.channels, src, plane,
                                                  [at, n](const float* line, int v) {
                                                      return detail::load_around<Arch>(line, at + v * width, n, 0.0F);
                                                  });
                }
            }
        }
        for (std::size_t k = 0; k < row.used; ++k) {
            float* dst = row.dst + k * row.out.pixels();
            PRIMSEL_UNROLL
            for (std::size_t v = 0; v < vectors; ++v) {
                put<Arch>(sum[k][v], dst + phase, p.stride.w, begin + static_cast<int>(v) * width,
                          count - static_cast<int>(v) * width);
            }
        }
    }

    /// load_x(src, v): vector v of the input's columns, src being of its first channel and plane what is between two.
    template <class Arch, std::size_t block, std::size_t vectors, class Load>
    static PRIMSEL_INLINE void add_tap(Floats<Arch> (&sum)[block][vectors], const float* weights, std::size_t channels,
                                       const float* src, std::size_t plane, Load const& load_x) noexcept {
        using V = Floats<Arch>;
        V local[block][vectors];  // in registers
        PRIMSEL_UNROLL
        for (std::size_t k = 0; k < block; ++k) {
            PRIMSEL_UNROLL
            for (std::size_t v = 0; v < vectors; ++v) local[k][v] = sum[k][v];
        }
        for (std::size_t c = 0; c < channels; ++c, src += plane, weights += block) {
            V x[vectors];
            PRIMSEL_UNROLL
            for (std::size_t v = 0; v < vectors; ++v) x[v] = load_x(src, static_cast<int>(v));
            PRIMSEL_UNROLL
            for (std::size_t k = 0; k < block; ++k) {
                const V weight(weights[k]);
                PRIMSEL_UNROLL
                for (std::size_t v = 0; v < vectors; ++v) local[k][v] = fma<Arch>(x[v], weight, local[k][v]);
            }
        }
        PRIMSEL_UNROLL
        for (std::size_t k = 0; k < block; ++k) {
            PRIMSEL_UNROLL
            for (std::size_t v = 0; v < vectors; ++v) sum[k][v] = local[k][v];
        }
    }

    template <class Arch>
    static void put(Floats<Arch> const& value, float* dst, int stride, int begin, int count) noexcept {
        if (count <= 0) return;
        if (stride == 1) return detail::store_up_to<Arch>(dst + begin, value, static_cast<std::size_t>(count));
        alignas(64) float lane[lanes<Arch>];
        store<Arch>(lane, value);
        for (int i = 0; i < std::min(count, lanes<Arch>); ++i) dst[(begin + i) * stride] = lane[i];
    }
};

}  // namespace primsel::inline PRIMSEL_ABI
// primsel/op/dense.hpp

#include <algorithm>

namespace primsel::inline PRIMSEL_ABI {

/// Packed: panels of 32 outputs (16 in the last, where those are enough), each the biases, then for each element of the
/// image in its layout's order the weights of the panel's outputs. One image streams them once; several share what is
/// loaded. Every sum runs over blocks of the image in the same order, whatever the batch.
template <>
struct Op<DenseParams> {
    static constexpr bool in_place = false;

    [[nodiscard]] static double operations(DenseParams const& params, std::span<const Shape> inputs, Shape) {
        return 2.0 * params.k * static_cast<double>(inputs[0].size());
    }

    [[nodiscard]] static std::size_t packed_floats(DenseParams const& params, Shape input) {
        return (static_cast<std::size_t>(params.k) + half - 1) / half * half * (input.size() + 1);
    }

    template <StridedLayout L>
    static void pack(DenseParams const& params, Shape input, OpWeights const& weights, float* dst) {
        const auto k = static_cast<std::size_t>(params.k);
        const std::size_t depth = input.size();
        const auto h = static_cast<std::size_t>(input.h), w = static_cast<std::size_t>(input.w);
        const Strides strides = L::strides(input);
        for (std::size_t begin = 0; begin < k; begin += panel) {
            const std::size_t width = panel_width(k - begin), used = std::min(width, k - begin);
            std::fill_n(dst, width, 0.0F);
            if (!weights.bias.empty()) std::copy_n(weights.bias.data() + begin, used, dst);
            dst += width;
            if (used < width) std::fill_n(dst, depth * width, 0.0F);
            const float* src = weights.kernel.data() + begin * depth;
            const Even even = evenly<L>(input);
            for (std::size_t from = 0; from < depth; from += even.count) {
                const std::size_t row = from / w, channel = row / h;
                const std::size_t to = channel * strides.c + row % h * strides.h + from % w * strides.w;
                transpose_columns(src + from, depth, dst + to * width, even.step * width, used, 0, even.count);
            }
            dst += depth * width;
        }
    }

    template <class Arch, StridedLayout L>
    static void run(DenseParams const& params, OpArgs const& args) noexcept {
        panels<Arch>(params, args);
    }

private:
    /// How many elements of an image, a row at least, follow one another at one step in the layout: they are packed
    /// together.
    struct Even {
        std::size_t count, step;
    };
    template <StridedLayout L>
    [[nodiscard]] static Even evenly(Shape input) {
        const Strides strides = L::strides(input);
        const auto c = static_cast<std::size_t>(input.c), pixels = input.pixels(),
                   w = static_cast<std::size_t>(input.w);
        if (pixels == 1) return {c, strides.c};
        if (strides.h != w * strides.w) return {w, strides.w};
        return {strides.c == pixels * strides.w ? c * pixels : pixels, strides.w};
    }

    static constexpr std::size_t panel = 32, half = 16;
    static constexpr std::size_t panel_width(std::size_t outputs) { return outputs > half ? panel : half; }

    /// Elements of an image at a time: their part of a panel stays in L2 for all images of the batch, and short sums
    /// lose less to rounding.
    static constexpr std::size_t block = 512;

    template <class Arch>
    static void panels(DenseParams const& params, OpArgs const& args) noexcept {
        const auto k = static_cast<std::size_t>(params.k);
        const std::size_t count = (k + panel - 1) / panel;
        args.executor.parallel_for(count, [&params, &args, k](std::size_t i, std::size_t) {
            const std::size_t begin = i * panel, width = panel_width(k - begin);
            const float* weights = args.weights + begin * (args.src_shape[0].size() + 1);
            if (width == panel) {
                one_panel<Arch, panel>(params, args, begin, weights);
            } else {
                one_panel<Arch, half>(params, args, begin, weights);
            }
        });
    }

    template <class Arch, std::size_t width>
    static void one_panel(DenseParams const& params, OpArgs const& args, std::size_t begin,
                          const float* weights) noexcept {
        constexpr std::size_t vectors = width / lanes<Arch>;
        constexpr std::size_t several = std::clamp<std::size_t>((registers<Arch> - 4) / vectors, 1, 4);
        const std::size_t depth = args.src_shape[0].size(), k = static_cast<std::size_t>(params.k);
        const auto batch = static_cast<std::size_t>(args.batch);
        const float* bias = weights;
        weights += width;
        for (std::size_t from = 0; from < depth; from += block) {
            const std::size_t count = std::min(block, depth - from);
            const Block part{.src = args.src[0] + from,
                             .depth = depth,
                             .count = count,
                             .weights = weights,
                             .bias = from == 0 ? bias : nullptr,
                             .dst = args.dst + begin,
                             .k = k,
                             .outputs = std::min(width, k - begin),
                             .clamp = from + count == depth ? args.clamp : Clamp{}};
            std::size_t image = 0;
            for (; image + several <= batch; image += several) add_block<Arch, width, several>(part, image);
            for (; image < batch; ++image) add_block<Arch, width, 1>(part, image);
            weights += count * width;
        }
    }

    /// `count` elements of each image, their part of a panel, and where the panel's outputs go. A bias starts the sums;
    /// without one they go on from dst.
    struct Block {
        const float* src;
        std::size_t depth, count;
        const float *weights, *bias;
        float* dst;
        std::size_t k, outputs;
        Clamp clamp;
    };

    template <class Arch, std::size_t width, std::size_t images>
    static void add_block(Block const& block, std::size_t image) noexcept {
        using V = Floats<Arch>;
        constexpr std::size_t vectors = width / lanes<Arch>;
        const float* src = block.src + image * block.depth;
        float* dst = block.dst + image * block.k;
        const float* weights = block.weights;
        V sum[images][vectors];
        PRIMSEL_UNROLL
        for (std::size_t n = 0; n < images; ++n) {
            PRIMSEL_UNROLL
            for (std::size_t v = 0; v < vectors; ++v) sum[n][v] = V(0.0F);
        }
        for (std::size_t i = 0; i < block.count; ++i, weights += width) {
            V row[vectors];
            PRIMSEL_UNROLL
            for (std::size_t v = 0; v < vectors; ++v) row[v] = load<Arch>(weights + v * lanes<Arch>);
            PRIMSEL_UNROLL
            for (std::size_t n = 0; n < images; ++n) {
                const V x(src[n * block.depth + i]);
                PRIMSEL_UNROLL
                for (std::size_t v = 0; v < vectors; ++v) sum[n][v] = fma<Arch>(x, row[v], sum[n][v]);
            }
        }
        const V low(block.clamp.low), high(block.clamp.high);
        PRIMSEL_UNROLL
        for (std::size_t n = 0; n < images; ++n) {
            PRIMSEL_UNROLL
            for (std::size_t v = 0; v < vectors; ++v) {
                const std::size_t at = v * lanes<Arch>;
                if (at >= block.outputs) break;
                float* to = dst + n * block.k + at;
                const V before = block.bias != nullptr ? load<Arch>(block.bias + at)
                                                       : detail::load_up_to<Arch>(to, block.outputs - at);
                detail::store_up_to<Arch>(to, clamp<Arch>(before + sum[n][v], low, high), block.outputs - at);
            }
        }
    }
};

}  // namespace primsel::inline PRIMSEL_ABI
// primsel/op/epilogue.hpp

namespace primsel::inline PRIMSEL_ABI {

namespace detail {

template <class Arch, bool has_residual>
void add_and_clamp(AxisView view, float* data, const float* bias, const float* residual, Clamp bounds,
                   ExecutorRef executor) noexcept {
    using V = Floats<Arch>;
    const auto finish = [=, low = V(bounds.low), high = V(bounds.high)](std::size_t at, std::size_t n, V sum) {
        if constexpr (has_residual) sum += load_up_to<Arch>(residual + at, n);
        store_up_to<Arch>(data + at, clamp<Arch>(sum, low, high), n);
    };
    if (bias != nullptr) {
        for_channel_elements<Arch, 1>(executor, view, bias, [=](std::size_t at, std::size_t n, const V* of_channel) {
            finish(at, n, load_up_to<Arch>(data + at, n) + of_channel[0]);
        });
    } else {
        for_elements<Arch>(executor, view.outer * view.count * view.inner,
                           [=](std::size_t at, std::size_t n) { finish(at, n, load_up_to<Arch>(data + at, n)); });
    }
}

}  // namespace detail

/// What follows a convolution that fuses nothing: data = clamp(data + bias[c] + residual), for a batch of images of the
/// shape in layout L. bias has c values; residual lies as data does; either may be null. The same bits whatever the
/// executor.
template <class Arch, StridedLayout L>
void apply_epilogue(Shape shape, int batch, float* data, const float* bias, const float* residual, Clamp clamp,
                    ExecutorRef executor) noexcept {
    const auto view = detail::channel_view<L>(shape, batch);
    if (bias == nullptr && residual == nullptr && clamp == Clamp{}) return;
    if (residual != nullptr) {
        detail::add_and_clamp<Arch, true>(view, data, bias, residual, clamp, executor);
    } else {
        detail::add_and_clamp<Arch, false>(view, data, bias, residual, clamp, executor);
    }
}

}  // namespace primsel::inline PRIMSEL_ABI
// primsel/op/gather.hpp

#include <algorithm>
#include <concepts>

namespace primsel::inline PRIMSEL_ABI {

template <>
struct Op<GatherParams> {
    static constexpr bool in_place = false;

    [[nodiscard]] static double operations(GatherParams const&, std::span<const Shape>, Shape) { return 0; }

    template <class Arch, StridedLayout L>
        requires std::same_as<L, chw>
    static void run(GatherParams const& params, OpArgs const& args) noexcept {
        const Shape in = args.src_shape[0];
        const auto c = static_cast<std::size_t>(in.c), h = static_cast<std::size_t>(in.h),
                   w = static_cast<std::size_t>(in.w), n = args.src_shape[1].size();
        const std::size_t rows = static_cast<std::size_t>(args.batch) * c * n;
        detail::for_ranges(args.executor, rows, w, [&params, &args, c, h, w, n](std::size_t first, std::size_t last) {
            for (std::size_t row = first; row < last; ++row) {
                const std::size_t channel = row / n;
                const float position = args.src[1][channel / c * n + row % n];
                const std::size_t at = place(params, static_cast<double>(position), h);
                float* dst = args.dst + row * w;
                if (at == h) {
                    std::fill_n(dst, w, 0.0F);
                } else {
                    std::copy_n(args.src[0] + (channel * h + at) * w, w, dst);
                }
            }
        });
    }

private:
    /// `count` where there is none, as for NaN, which compares as false.
    static std::size_t place(GatherParams const& params, double position, std::size_t count) noexcept {
        const auto size = static_cast<double>(count);
        if (position > -1 && position < size) return static_cast<std::size_t>(position);
        if (!params.from_end || !(position <= -1 && position > -size - 1)) return count;
        return count - static_cast<std::size_t>(-position);
    }
};

}  // namespace primsel::inline PRIMSEL_ABI
// primsel/op/global_pool.hpp

// primsel/op/detail/window.hpp
// Pooling one row of windows.

#include <algorithm>
#include <cstddef>
#include <limits>
#include <span>

namespace primsel::inline PRIMSEL_ABI::detail {

struct Maximum {
    static constexpr bool averages = false;
    static constexpr float identity = -std::numeric_limits<float>::infinity();
    template <class Arch>
    static PRIMSEL_INLINE Floats<Arch> apply(Floats<Arch> const& a, Floats<Arch> const& b) {
        return max_or_nan<Arch>(a, b);
    }
    static float apply(float a, float b) { return a > b || a != a ? a : b; }
};

/// The sum, which whoever knows the number of elements divides by it.
struct Average {
    static constexpr bool averages = true;
    static constexpr float identity = 0.0F;
    template <class Arch>
    static PRIMSEL_INLINE Floats<Arch> apply(Floats<Arch> const& a, Floats<Arch> const& b) {
        return a + b;
    }
    static float apply(float a, float b) { return a + b; }
};

/// The windows along one axis of an image.
struct PoolAxis {
    std::ptrdiff_t in, size, step, before, after;
    bool count_pad;

    [[nodiscard]] std::ptrdiff_t begin(std::ptrdiff_t out) const { return out * step - before; }
    /// The part inside the image: [first, last).
    [[nodiscard]] std::ptrdiff_t first(std::ptrdiff_t out) const { return std::max(begin(out), std::ptrdiff_t{0}); }
    [[nodiscard]] std::ptrdiff_t last(std::ptrdiff_t out) const { return std::min(begin(out) + size, in); }
    /// What an average divides by.
    [[nodiscard]] std::ptrdiff_t counted(std::ptrdiff_t out) const {
        return count_pad ? std::min(begin(out) + size, in + after) - begin(out) : last(out) - first(out);
    }
    /// The same for outputs out, out + 1, ..., in floats, which are exact here.
    template <class Arch>
    [[nodiscard]] PRIMSEL_INLINE Floats<Arch> counted_from(std::ptrdiff_t out) const {
        using V = Floats<Arch>;
        const V start =
            fma<Arch>(first_integers<Arch>(), V(static_cast<float>(step)), V(static_cast<float>(begin(out))));
        const V stop =
            min<Arch>(start + V(static_cast<float>(size)), V(static_cast<float>(count_pad ? in + after : in)));
        return stop - (count_pad ? start : max<Arch>(start, V(0.0F)));
    }
};

/// The rows of a window: `count` of them, stride floats apart.
struct WindowRows {
    const float* src;
    std::size_t count, stride;
    [[nodiscard]] const float* operator[](std::size_t row) const { return src + row * stride; }
};

/// Rows of one channel whose columns are neighbours, as one number; the sum of an average.
template <class Arch, class Reduction>
float reduce_rows(WindowRows rows, std::size_t columns) noexcept {
    using V = Floats<Arch>;
    constexpr std::size_t width = lanes<Arch>, several = 4;
    V sum[several] = {V(Reduction::identity), V(Reduction::identity), V(Reduction::identity), V(Reduction::identity)};
    for (std::size_t y = 0; y < rows.count; ++y) {
        const float* row = rows[y];
        std::size_t x = 0;
        for (; x + several * width <= columns; x += several * width) {
            PRIMSEL_UNROLL
            for (std::size_t i = 0; i < several; ++i) {
                sum[i] = Reduction::template apply<Arch>(sum[i], load<Arch>(row + x + i * width));
            }
        }
        for (; x < columns; x += width) {
            const V rest = load_up_to<Arch>(row + x, columns - x, Reduction::identity);
            sum[0] = Reduction::template apply<Arch>(sum[0], rest);
        }
    }
    sum[0] = Reduction::template apply<Arch>(sum[0], sum[1]);
    sum[2] = Reduction::template apply<Arch>(sum[2], sum[3]);
    return fold_lanes<Arch>(Reduction::template apply<Arch>(sum[0], sum[2]),
                            [](float a, float b) { return Reduction::apply(a, b); });
}

/// Windows of columns at, at + step, ... as one vector, of which n lanes count.
template <class Arch, class Reduction>
PRIMSEL_INLINE Floats<Arch> reduce_columns(PoolAxis const& axis, const float* at, std::ptrdiff_t n) {
    using V = Floats<Arch>;
    constexpr std::ptrdiff_t width = lanes<Arch>;
    V sum(Reduction::identity);
    if (axis.step == 1) {
        for (std::ptrdiff_t j = 0; j < axis.size; ++j) sum = Reduction::template apply<Arch>(sum, load<Arch>(at + j));
    } else if (axis.step == 2) {
        for (std::ptrdiff_t j = 0; j < axis.size; j += 2) {
            V even = load<Arch>(at + j), odd = load<Arch>(at + j + width);
            split_even_odd<Arch>(even, odd);
            sum = Reduction::template apply<Arch>(sum, even);
            if (j + 1 < axis.size) sum = Reduction::template apply<Arch>(sum, odd);
        }
    } else {
        for (std::ptrdiff_t j = 0; j < axis.size; ++j) {
            alignas(64) float lane[width];
            for (std::ptrdiff_t i = 0; i < width; ++i) lane[i] = i < n ? at[i * axis.step + j] : Reduction::identity;
            sum = Reduction::template apply<Arch>(sum, load<Arch>(lane));
        }
    }
    return sum;
}

/// A row of outputs and the input rows of its windows.
struct OutputRow {
    WindowRows window;
    /// What an average divides by, along the other axis.
    float counted;
    float* dst;
};

/// One row of outputs, one by one: for windows of any width.
template <class Arch, class Reduction>
void pool_wide_columns(PoolAxis const& axis, OutputRow const& row, std::ptrdiff_t outputs) noexcept {
    for (std::ptrdiff_t out = 0; out < outputs; ++out) {
        const WindowRows window{row.window.src + axis.first(out), row.window.count, row.window.stride};
        const auto columns = static_cast<std::size_t>(axis.last(out) - axis.first(out));
        const float sum = reduce_rows<Arch, Reduction>(window, columns);
        row.dst[out] = Reduction::averages ? sum / (row.counted * static_cast<float>(axis.counted(out))) : sum;
    }
}

/// Rows of outputs where columns are neighbours.
template <class Arch, class Reduction>
void pool_columns(PoolAxis const& axis, std::span<const OutputRow> all, std::ptrdiff_t outputs) noexcept {
    using V = Floats<Arch>;
    constexpr std::ptrdiff_t width = lanes<Arch>, room = 2048;
    const std::ptrdiff_t piece = std::min((room - axis.size) / axis.step + 1, outputs);
    if (axis.size > room / 2) {
        for (OutputRow const& row : all) pool_wide_columns<Arch, Reduction>(axis, row, outputs);
        return;
    }
    // First the input rows of each window become one, with the padding around it; then its columns. Several rows at a
    // time: what was just stored cannot be loaded elsewhere at once.
    alignas(64) float combined[room + 5 * width];
    for (std::ptrdiff_t out = 0; out < outputs; out += piece) {
        const std::ptrdiff_t count = std::min(piece, outputs - out);
        const std::ptrdiff_t begin = axis.begin(out), end = axis.begin(out + count - 1) + axis.size;
        const std::ptrdiff_t first = axis.first(out), last = std::min(end, axis.in), pitch = end - begin;
        const auto several = static_cast<std::size_t>(room / pitch);
        for (std::span<const OutputRow> rest = all; !rest.empty();) {
            const std::span<const OutputRow> rows = rest.first(std::min(several, rest.size()));
            rest = rest.subspan(rows.size());
            float* to = combined;
            for (OutputRow const& row : rows) {
                for (std::ptrdiff_t x = begin; x < first; x += width) {
                    store<Arch>(to + (x - begin), V(Reduction::identity));
                }
                const WindowRows window = row.window;
                for (std::ptrdiff_t x = first; x < last; x += width) {
                    const auto n = static_cast<std::size_t>(last - x);
                    const float* src = window.src + x;
                    V sum = load_up_to<Arch>(src, n, Reduction::identity);
                    for (std::size_t y = 1; y < window.count; ++y) {
                        src += window.stride;
                        sum = Reduction::template apply<Arch>(sum, load_up_to<Arch>(src, n, Reduction::identity));
                    }
                    store<Arch>(to + (x - begin), sum);
                }
                for (std::ptrdiff_t x = last; x < end; x += width) {
                    store<Arch>(to + (x - begin), V(Reduction::identity));
                }
                to += pitch;
            }
            for (std::ptrdiff_t i = 0; i < 4; ++i) store<Arch>(to + i * width, V(Reduction::identity));
            const float* from = combined;
            for (OutputRow const& row : rows) {
                for (std::ptrdiff_t i = 0; i < count; i += width) {
                    V sum = reduce_columns<Arch, Reduction>(axis, from + i * axis.step, count - i);
                    if constexpr (Reduction::averages) sum = sum / (V(row.counted) * axis.counted_from<Arch>(out + i));
                    store_up_to<Arch>(row.dst + out + i, sum, static_cast<std::size_t>(count - i));
                }
                from += pitch;
            }
        }
    }
}

/// One row of outputs where channels are neighbours, and pixels `pixel` floats apart in src and dst.
template <class Arch, class Reduction>
void pool_pixels(PoolAxis const& axis, OutputRow const& row, std::size_t pixel, std::size_t channels,
                 std::ptrdiff_t outputs) noexcept {
    using V = Floats<Arch>;
    constexpr std::size_t width = lanes<Arch>, several = 4;
    for (std::ptrdiff_t out = 0; out < outputs; ++out) {
        const auto first = static_cast<std::size_t>(axis.first(out)), last = static_cast<std::size_t>(axis.last(out));
        float* to = row.dst + static_cast<std::size_t>(out) * pixel;
        const V divisor(row.counted * static_cast<float>(axis.counted(out)));
        const auto finish = [&](V const& sum) {
            if constexpr (Reduction::averages) return sum / divisor;
            return sum;
        };
        std::size_t c = 0;
        for (; c + several * width <= channels; c += several * width) {
            V sum[several] = {V(Reduction::identity), V(Reduction::identity), V(Reduction::identity),
                              V(Reduction::identity)};
            for (std::size_t y = 0; y < row.window.count; ++y) {
                for (std::size_t x = first; x < last; ++x) {
                    const float* src = row.window[y] + x * pixel + c;
                    PRIMSEL_UNROLL
                    for (std::size_t i = 0; i < several; ++i) {
                        sum[i] = Reduction::template apply<Arch>(sum[i], load<Arch>(src + i * width));
                    }
                }
            }
            PRIMSEL_UNROLL
            for (std::size_t i = 0; i < several; ++i) store<Arch>(to + c + i * width, finish(sum[i]));
        }
        for (; c < channels; c += width) {
            V sum(Reduction::identity);
            for (std::size_t y = 0; y < row.window.count; ++y) {
                for (std::size_t x = first; x < last; ++x) {
                    const V value = load_up_to<Arch>(row.window[y] + x * pixel + c, channels - c);
                    sum = Reduction::template apply<Arch>(sum, value);
                }
            }
            store_up_to<Arch>(to + c, finish(sum), channels - c);
        }
    }
}

}  // namespace primsel::inline PRIMSEL_ABI::detail

#include <algorithm>

namespace primsel::inline PRIMSEL_ABI {

namespace detail {

template <class Arch, class Reduction>
void global_pool(OpArgs const& args, Strides from) noexcept {
    const Shape in = args.src_shape[0];
    const auto channels = static_cast<std::size_t>(in.c), images = static_cast<std::size_t>(args.batch);
    const auto h = static_cast<std::size_t>(in.h), w = static_cast<std::size_t>(in.w);
    const float* src = args.src[0];
    float* dst = args.dst;
    if (from.w != 1) {
        const PoolAxis axis{in.w, in.w, 1, 0, 0, false};
        const std::size_t group = 4 * lanes<Arch>, groups = (channels + group - 1) / group;
        for_ranges(args.executor, images * groups, group * in.pixels(), [=](std::size_t first, std::size_t last) {
            for (std::size_t item = first; item < last; ++item) {
                const std::size_t image = item / groups, c = item % groups * group;
                const OutputRow row{.window = {src + image * in.size() + c, h, from.h},
                                    .counted = static_cast<float>(in.h),
                                    .dst = dst + image * channels + c};
                pool_pixels<Arch, Reduction>(axis, row, channels, std::min(group, channels - c), 1);
            }
        });
        return;
    }
    const bool whole = from.h == w;  // the rows of a channel are neighbours too
    for_ranges(args.executor, images * channels, in.pixels(), [=](std::size_t first, std::size_t last) {
        std::size_t image = first / channels, c = first % channels;
        for (std::size_t item = first; item < last; ++item) {
            const float* channel = src + image * in.size() + c * from.c;
            const float total = whole ? reduce_rows<Arch, Reduction>({channel, 1, 0}, in.pixels())
                                      : reduce_rows<Arch, Reduction>({channel, h, from.h}, w);
            dst[item] = Reduction::averages ? total / static_cast<float>(in.pixels()) : total;
            if (++c == channels) c = 0, ++image;
        }
    });
}

}  // namespace detail

/// A NaN in the image wins over every maximum.
template <>
struct Op<GlobalPoolParams> {
    static constexpr bool in_place = false;

    [[nodiscard]] static double operations(GlobalPoolParams const&, std::span<const Shape> inputs, Shape) {
        return static_cast<double>(inputs[0].size());
    }

    template <class Arch, StridedLayout L>
    static void run(GlobalPoolParams const& params, OpArgs const& args) noexcept {
        const Strides from = L::strides(args.src_shape[0]);
        if (params.kind == PoolKind::max) {
            detail::global_pool<Arch, detail::Maximum>(args, from);
        } else {
            detail::global_pool<Arch, detail::Average>(args, from);
        }
    }
};

}  // namespace primsel::inline PRIMSEL_ABI
// primsel/op/lrn.hpp

#include <algorithm>
#include <limits>

namespace primsel::inline PRIMSEL_ABI {

namespace detail {

/// x / (k + alpha * squares) ^ beta. three_quarters: beta is 3/4, as in every published network.
template <class Arch, bool three_quarters>
class LrnFormula {
    using V = Floats<Arch>;

public:
    explicit LrnFormula(LrnParams const& params)
        : alpha_(params.alpha / static_cast<float>(params.size)), k_(params.k), minus_beta_(-params.beta) {}

    PRIMSEL_INLINE V operator()(V const& x, V const& squares) const {
        // Kept in the range of normal numbers: zero over zero is zero here.
        const V base = clamp<Arch>(fma<Arch>(squares, alpha_, k_), V(std::numeric_limits<float>::min()),
                                   V(std::numeric_limits<float>::max()));
        if constexpr (three_quarters) {
            const V root = reciprocal_sqrt<Arch>(base);
            return x * root * (root * reciprocal_sqrt<Arch>(root));
        } else {
            return x * xsimd::exp(minus_beta_ * log<Arch>(base));
        }
    }

private:
    V alpha_, k_, minus_beta_;
};

/// The channels of a pixel are neighbours.
template <class Arch, class Formula>
void lrn_pixel(Formula const& formula, std::ptrdiff_t back, std::ptrdiff_t ahead, std::ptrdiff_t channels,
               const float* src, float* dst) noexcept {
    for (std::ptrdiff_t c = 0; c < channels; c += lanes<Arch>) {
        const auto n = static_cast<std::size_t>(channels - c);
        Floats<Arch> squares(0.0F);
        const auto add = [&squares](Floats<Arch> const& x) { squares = fma<Arch>(x, x, squares); };
        if (c >= back && c + lanes<Arch> + ahead <= channels) {
            for (std::ptrdiff_t i = c - back; i <= c + ahead; ++i) add(load<Arch>(src + i));
        } else {
            for (std::ptrdiff_t i = c - back; i <= c + ahead; ++i) add(load_around<Arch>(src, i, channels, 0.0F));
        }
        store_up_to<Arch>(dst + c, formula(load_up_to<Arch>(src + c, n), squares), n);
    }
}

/// Pixels are neighbours, and their channels `inner` floats apart.
template <class Arch, class Formula>
void lrn_pixels(Formula const& formula, std::ptrdiff_t back, std::ptrdiff_t ahead, std::ptrdiff_t channels,
                std::size_t inner, std::size_t pixels, const float* src, float* dst) noexcept {
    for (std::ptrdiff_t c = 0; c < channels; ++c) {
        const auto first = static_cast<std::size_t>(std::max(c - back, std::ptrdiff_t{0}));
        const auto last = static_cast<std::size_t>(std::min(c + ahead, channels - 1));
        const std::size_t at = static_cast<std::size_t>(c) * inner;
        for (std::size_t pixel = 0; pixel < pixels; pixel += lanes<Arch>) {
            const std::size_t n = pixels - pixel;
            Floats<Arch> squares(0.0F);
            for (std::size_t i = first; i <= last; ++i) {
                const Floats<Arch> x = load_up_to<Arch>(src + i * inner + pixel, n);
                squares = fma<Arch>(x, x, squares);
            }
            store_up_to<Arch>(dst + at + pixel, formula(load_up_to<Arch>(src + at + pixel, n), squares), n);
        }
    }
}

template <class Arch, class Formula>
void lrn(LrnParams const& params, AxisView view, OpArgs const& args, Formula const& formula) noexcept {
    const auto channels = static_cast<std::ptrdiff_t>(view.count);
    const std::ptrdiff_t back = params.size / 2, ahead = (params.size - 1) / 2;
    const float* src = args.src[0];
    float* dst = args.dst;
    if (view.inner == 1) {
        for_ranges(args.executor, view.outer, view.count, [=](std::size_t first, std::size_t last) {
            for (std::size_t at = first * view.count; at < last * view.count; at += view.count) {
                lrn_pixel<Arch>(formula, back, ahead, channels, src + at, dst + at);
            }
        });
        return;
    }
    // Strips of pixels, so that the channels of a window stay in L1.
    constexpr std::size_t strip = 256;
    const std::size_t strips = (view.inner + strip - 1) / strip;
    for_ranges(args.executor, view.outer * strips, view.count * strip, [=](std::size_t first, std::size_t last) {
        for (std::size_t item = first; item < last; ++item) {
            const std::size_t begin = item % strips * strip, at = item / strips * view.count * view.inner + begin;
            lrn_pixels<Arch>(formula, back, ahead, channels, view.inner, std::min(strip, view.inner - begin), src + at,
                             dst + at);
        }
    });
}

}  // namespace detail

template <>
struct Op<LrnParams> {
    static constexpr bool in_place = false;

    [[nodiscard]] static double operations(LrnParams const& params, std::span<const Shape>, Shape output) {
        return (2.0 * params.size + 20) * static_cast<double>(output.size());
    }

    template <class Arch, StridedLayout L>
    static void run(LrnParams const& params, OpArgs const& args) noexcept {
        const auto view = detail::channel_view<L>(args.dst_shape, args.batch);
        if (params.beta == 0.75F) {
            detail::lrn<Arch>(params, view, args, detail::LrnFormula<Arch, true>(params));
        } else {
            detail::lrn<Arch>(params, view, args, detail::LrnFormula<Arch, false>(params));
        }
    }
};

}  // namespace primsel::inline PRIMSEL_ABI
// primsel/op/matmul.hpp

#include <concepts>

namespace primsel::inline PRIMSEL_ABI {

/// Tiles of the result stay in registers while the matrices run past. Every sum goes through the first input's columns
/// in their order.
template <>
struct Op<MatMulParams> {
    static constexpr bool in_place = false;

    [[nodiscard]] static double operations(MatMulParams const&, std::span<const Shape> inputs, Shape output) {
        return 2.0 * inputs[0].w * static_cast<double>(output.size());
    }

    template <class Arch, StridedLayout L>
        requires std::same_as<L, chw>
    static void run(MatMulParams const&, OpArgs const& args) noexcept {
        products<Arch>(args);
    }

private:
    /// c = a * b: m x n of m x depth and depth x n.
    struct Product {
        const float *a, *b;
        float* c;
        std::size_t m, n, depth;
    };
    static constexpr std::size_t tile_rows = 6;
    template <class Arch>
    static constexpr std::size_t tile_vectors = registers<Arch> == 32 ? 4 : 2;

    template <class Arch>
    static void products(OpArgs const& args) noexcept {
        constexpr std::size_t panel = tile_vectors<Arch> * lanes<Arch>;
        const Shape a = args.src_shape[0], b = args.src_shape[1], c = args.dst_shape;
        const auto channels = static_cast<std::size_t>(c.c);
        const Product whole{args.src[0],
                            args.src[1],
                            args.dst,
                            static_cast<std::size_t>(c.h),
                            static_cast<std::size_t>(c.w),
                            static_cast<std::size_t>(a.w)};
        const std::size_t a_step = a.c == 1 ? 0 : a.pixels(), b_step = b.c == 1 ? 0 : b.pixels();
        const std::size_t panels = (whole.n + panel - 1) / panel;
        detail::for_ranges(args.executor, static_cast<std::size_t>(args.batch) * channels * panels,
                           whole.m * whole.depth, [=](std::size_t first, std::size_t last) {
                               for (std::size_t item = first; item < last; ++item) {
                                   const std::size_t matrix = item / panels, begin = item % panels * panel;
                                   const std::size_t image = matrix / channels, channel = matrix % channels;
                                   Product one = whole;
                                   one.a += image * a.size() + channel * a_step;
                                   one.b += image * b.size() + channel * b_step;
                                   one.c += matrix * c.pixels();
                                   columns<Arch>(one, begin, std::min(panel, one.n - begin));
                               }
                           });
    }

    /// Columns [begin, begin + count) of a product.
    template <class Arch>
    static void columns(Product const& product, std::size_t begin, std::size_t count) noexcept {
        constexpr std::size_t vectors = tile_vectors<Arch>, width = lanes<Arch>;
        if (count == vectors * width) return rows<Arch, vectors>(product, begin, count);
        for (std::size_t at = 0; at < count; at += width) rows<Arch, 1>(product, begin + at, count - at);
    }

    template <class Arch, std::size_t vectors>
    static void rows(Product const& product, std::size_t begin, std::size_t count) noexcept {
        if (product.m < tile_rows) {
            for (std::size_t row = 0; row < product.m; ++row) tile<Arch, 1, vectors>(product, row, begin, count);
            return;
        }
        for (std::size_t row = 0; row < product.m; row += tile_rows) {
            // The last tile computes some rows again, to the same bits.
            tile<Arch, tile_rows, vectors>(product, std::min(row, product.m - tile_rows), begin, count);
        }
    }

    /// `count` columns count, at most `vectors` vectors.
    template <class Arch, std::size_t height, std::size_t vectors>
    static void tile(Product const& product, std::size_t row, std::size_t column, std::size_t count) noexcept {
        using V = Floats<Arch>;
        constexpr std::size_t width = lanes<Arch>;
        V sum[height][vectors];
        PRIMSEL_UNROLL
        for (std::size_t y = 0; y < height; ++y) {
            PRIMSEL_UNROLL
            for (std::size_t v = 0; v < vectors; ++v) sum[y][v] = V(0.0F);
        }
        const float *a = product.a + row * product.depth, *b = product.b + column;
        const auto load_b = [count](const float* src) {
            if constexpr (vectors > 1) return load<Arch>(src);
            return detail::load_up_to<Arch>(src, count);
        };
        for (std::size_t i = 0; i < product.depth; ++i, b += product.n) {
            V of_b[vectors];
            PRIMSEL_UNROLL
            for (std::size_t v = 0; v < vectors; ++v) of_b[v] = load_b(b + v * width);
            PRIMSEL_UNROLL
            for (std::size_t y = 0; y < height; ++y) {
                const V of_a(a[y * product.depth + i]);
                PRIMSEL_UNROLL
                for (std::size_t v = 0; v < vectors; ++v) sum[y][v] = fma<Arch>(of_a, of_b[v], sum[y][v]);
            }
        }
        float* c = product.c + row * product.n + column;
        PRIMSEL_UNROLL
        for (std::size_t y = 0; y < height; ++y) {
            PRIMSEL_UNROLL
            for (std::size_t v = 0; v < vectors; ++v) {
                detail::store_up_to<Arch>(c + y * product.n + v * width, sum[y][v], count - v * width);
            }
        }
    }
};

}  // namespace primsel::inline PRIMSEL_ABI
// primsel/op/max_pool_indices.hpp

#include <concepts>

namespace primsel::inline PRIMSEL_ABI {

/// Of equal maxima, the first counts; so does the first NaN, which wins over every maximum. -1 where all of a dilated
/// window lies in the padding.
template <>
struct Op<MaxPoolIndicesParams> {
    static constexpr bool in_place = false;

    [[nodiscard]] static double operations(MaxPoolIndicesParams const& params, std::span<const Shape>, Shape output) {
        return static_cast<double>(params.pool.window.h) * params.pool.window.w * static_cast<double>(output.size());
    }

    template <class Arch, StridedLayout L>
        requires std::same_as<L, chw>
    static void run(MaxPoolIndicesParams const& params, OpArgs const& args) noexcept {
        const auto rows = static_cast<std::size_t>(args.batch) * static_cast<std::size_t>(args.dst_shape.c) *
                          static_cast<std::size_t>(args.dst_shape.h);
        const auto row_floats =
            static_cast<std::size_t>(args.dst_shape.w * params.pool.window.h * params.pool.window.w);
        detail::for_ranges(args.executor, rows, row_floats, [&params, &args](std::size_t first, std::size_t last) {
            for (std::size_t row = first; row < last; ++row) one_row(params.pool, args, row);
        });
    }

private:
    static void one_row(PoolParams const& p, OpArgs const& args, std::size_t row) noexcept {
        const Shape in = args.src_shape[0], out = args.dst_shape;
        const auto h = static_cast<std::size_t>(out.h), w = static_cast<std::size_t>(out.w);
        const std::size_t channel = row / h * in.pixels();  // where it starts among these images
        const std::size_t before = args.first_image * in.size();
        const float* src = args.src[0] + channel;
        const int top = static_cast<int>(row % h) * p.stride.h - p.padding.top;
        for (std::size_t x = 0; x < w; ++x) {
            const int left = static_cast<int>(x) * p.stride.w - p.padding.left;
            std::size_t best = in.pixels();
            for (int i = 0; i < p.window.h; ++i) {
                const int from_h = top + i * p.dilation.h;
                if (from_h < 0 || from_h >= in.h) continue;
                for (int j = 0; j < p.window.w; ++j) {
                    const int from_w = left + j * p.dilation.w;
                    if (from_w < 0 || from_w >= in.w) continue;
                    const auto at = static_cast<std::size_t>(from_h * in.w + from_w);
                    const bool first = best == in.pixels();
                    if (first || src[at] > src[best] || (src[at] != src[at] && src[best] == src[best])) best = at;
                }
            }
            args.dst[row * w + x] = best == in.pixels() ? -1.0F : static_cast<float>(before + channel + best);
        }
    }
};

}  // namespace primsel::inline PRIMSEL_ABI
// primsel/op/non_max_suppression.hpp

#include <algorithm>
#include <cmath>
#include <concepts>
#include <limits>

namespace primsel::inline PRIMSEL_ABI {

/// Each class has its part of the result's rows, three floats for every box that may stay. It is the room to work in: a
/// heap of the next candidates in the first two thirds, the boxes that stay in the last. Then these become rows.
template <>
struct Op<NonMaxSuppressionParams> {
    static constexpr bool in_place = false;

    /// About: how many boxes are compared depends on the image.
    [[nodiscard]] static double operations(NonMaxSuppressionParams const& params, std::span<const Shape> inputs,
                                           Shape output) {
        const double kept = params.kept(inputs[1]);
        return static_cast<double>(inputs[1].size()) * (2 + std::log2(kept)) + 10.0 * output.h * kept;
    }

    template <class Arch, StridedLayout L>
        requires std::same_as<L, chw>
    static void run(NonMaxSuppressionParams const& params, OpArgs const& args) noexcept {
        const Shape scores = args.src_shape[1];
        const auto batch = static_cast<std::size_t>(args.batch), images = static_cast<std::size_t>(scores.c),
                   classes = static_cast<std::size_t>(scores.h), boxes = static_cast<std::size_t>(scores.w),
                   kept = static_cast<std::size_t>(params.kept(scores));
        detail::for_ranges(args.executor, batch * images * classes, 4 * boxes,
                           [&params, &args, classes, boxes, kept](std::size_t first, std::size_t last) {
                               for (std::size_t i = first; i < last; ++i) {
                                   one_class(params, args.src[0] + i / classes * boxes * 4, args.src[1] + i * boxes,
                                             boxes, kept, args.dst + i * 3 * kept);
                               }
                           });
        for (std::size_t i = 0; i < batch; ++i) {
            write_rows(images, classes, kept, args.dst + i * 3 * kept * images * classes);
        }
    }

private:
    static void one_class(NonMaxSuppressionParams const& params, const float* boxes, const float* scores,
                          std::size_t count, std::size_t kept, float* room) noexcept {
        // A position is exact as a float up to 2^24.
        const auto score = [scores](float position) { return scores[static_cast<std::size_t>(position)]; };
        const auto better = [&score](float i, float j) { return score(i) == score(j) ? i < j : score(i) > score(j); };
        constexpr float none = -std::numeric_limits<float>::infinity();
        const auto is_candidate = [&params](float x) {
            return x > params.score_threshold || (params.score_threshold == none && x == none);
        };
        float *const heap = room, *const stays = room + 2 * kept;
        std::fill_n(stays, kept, -1.0F);
        std::size_t found = 0;
        // As many candidates at a time as there is room for, those that come after the last one before.
        for (float last = -1;;) {
            std::size_t size = 0;
            for (std::size_t i = 0; i < count; ++i) {
                const auto position = static_cast<float>(i);
                if (!is_candidate(scores[i]) || (last >= 0 && !better(last, position))) continue;
                if (size == 2 * kept) {
                    if (!better(position, heap[0])) continue;
                    std::pop_heap(heap, heap + size--, better);
                }
                heap[size++] = position;
                std::push_heap(heap, heap + size, better);
            }
            std::sort_heap(heap, heap + size, better);
            for (std::size_t i = 0; i < size; ++i) {
                const Box box(params, boxes, heap[i]);
                const auto is_far = [&](float other) { return !overlap(params, box, Box(params, boxes, other)); };
                if (!std::all_of(stays, stays + found, is_far)) continue;
                stays[found++] = heap[i];
                if (found == kept) return;
            }
            if (size < 2 * kept) return;
            last = heap[size - 1];
        }
    }
    /// A row has three floats and comes from one behind: it ends before the next that is read.
    static void write_rows(std::size_t images, std::size_t classes, std::size_t kept, float* dst) noexcept {
        float* row = dst;
        for (std::size_t i = 0; i < images * classes; ++i) {
            const float* stays = dst + (3 * i + 2) * kept;
            for (std::size_t j = 0; j < kept && stays[j] >= 0; ++j) {
                const float box = stays[j];
                *row++ = static_cast<float>(i / classes);
                *row++ = static_cast<float>(i % classes);
                *row++ = box;
            }
        }
        std::fill(row, dst + 3 * kept * images * classes, -1.0F);
    }

    struct Box {
        float top, left, bottom, right;

        Box(NonMaxSuppressionParams const& params, const float* boxes, float position) noexcept {
            const float* box = boxes + 4 * static_cast<std::size_t>(position);
            if (params.centers) {
                top = box[1] - box[3] / 2, bottom = box[1] + box[3] / 2;
                left = box[0] - box[2] / 2, right = box[0] + box[2] / 2;
            } else {
                // Any two opposite corners.
                top = std::min(box[0], box[2]), bottom = std::max(box[0], box[2]);
                left = std::min(box[1], box[3]), right = std::max(box[1], box[3]);
            }
        }
        [[nodiscard]] float area() const noexcept { return (bottom - top) * (right - left); }
    };
    /// Boxes without area overlap nothing, and NaN no other.
    static bool overlap(NonMaxSuppressionParams const& params, Box const& a, Box const& b) noexcept {
        const float height = std::min(a.bottom, b.bottom) - std::max(a.top, b.top);
        const float width = std::min(a.right, b.right) - std::max(a.left, b.left);
        if (!(height > 0 && width > 0 && a.area() > 0 && b.area() > 0)) return false;
        const float common = height * width;
        return common / (a.area() + b.area() - common) > params.iou_threshold;
    }
};

}  // namespace primsel::inline PRIMSEL_ABI
// primsel/op/pad.hpp

// primsel/op/detail/rows.hpp
// What is the same for all layouts, seen from the rows of an image.

#include <cstddef>

namespace primsel::inline PRIMSEL_ABI::detail {

/// Rows of one image that follow each other in memory: those of one channel, or one row of several channels. Where the
/// channels of a pixel are neighbours, a row is that of all channels, and c is 0.
struct RowRange {
    std::size_t image;
    Coord first;
    int count;
    bool of_one_channel;
    [[nodiscard]] Coord operator[](int i) const {
        return of_one_channel ? Coord{first.c, first.h + i, 0} : Coord{first.c + i, first.h, 0};
    }
};

/// Calls f(range) for ranges that make up a batch of images.
template <class F>
void for_rows(ExecutorRef executor, int batch, Shape shape, Strides strides, F const& f) noexcept {
    const bool planes = strides.c > strides.h, together = strides.w != 1;
    const auto outer = static_cast<std::size_t>(planes ? shape.c : shape.h);
    const int inner = planes ? shape.h : together ? 1 : shape.c;
    for_ranges(executor, static_cast<std::size_t>(batch) * outer, shape.size() / outer,
               [=, &f](std::size_t first, std::size_t last) {
                   for (std::size_t item = first; item < last; ++item) {
                       const auto at = static_cast<int>(item % outer);
                       f(RowRange{item / outer, planes ? Coord{at, 0, 0} : Coord{0, at, 0}, inner, planes});
                   }
               });
}

}  // namespace primsel::inline PRIMSEL_ABI::detail

#include <algorithm>

namespace primsel::inline PRIMSEL_ABI {

template <>
struct Op<PadParams> {
    static constexpr bool in_place = false;

    [[nodiscard]] static double operations(PadParams const&, std::span<const Shape>, Shape) { return 0; }

    template <class Arch, StridedLayout L>
    static void run(PadParams const& params, OpArgs const& args) noexcept {
        pad<Arch>(params, args, L::strides(args.src_shape[0]), L::strides(args.dst_shape));
    }

private:
    template <class Arch>
    static void pad(PadParams const& params, OpArgs const& args, Strides from, Strides to) noexcept {
        const Shape in = args.src_shape[0], out = args.dst_shape;
        // Where the channels of a pixel are neighbours, a row has them all.
        const bool together = to.w != 1, constant = params.mode == PadMode::constant;
        const std::size_t before = static_cast<std::size_t>(params.padding.left) * to.w;
        const std::size_t after = static_cast<std::size_t>(params.padding.right) * to.w;
        const std::size_t floats = static_cast<std::size_t>(in.w) * from.w;
        detail::for_rows(args.executor, args.batch, out, to, [=, &params, &args](detail::RowRange const& range) {
            for (int i = 0; i < range.count; ++i) {
                const auto c = static_cast<std::size_t>(range[i].c), h = static_cast<std::size_t>(range[i].h);
                float* dst = args.dst + range.image * out.size() + c * to.c + h * to.h;
                const int channel = together ? 0 : range[i].c - params.front;
                int row = range[i].h - params.padding.top;
                if (!constant) row = source(params.mode, row, in.h);
                if (row < 0 || row >= in.h || channel < 0 || channel >= in.c) {
                    std::fill_n(dst, static_cast<std::size_t>(out.w) * to.w, params.value);
                    continue;
                }
                const float* src = args.src[0] + range.image * in.size() + static_cast<std::size_t>(channel) * from.c +
                                   static_cast<std::size_t>(row) * from.h;
                if (to.w != from.w) {
                    pad_pixels(params, in, src, dst);
                } else {
                    if (constant) {
                        dst = std::fill_n(dst, before, params.value);
                        detail::copy_floats<Arch>(src, dst, floats);
                        std::fill_n(dst + floats, after, params.value);
                    } else {
                        detail::copy_floats<Arch>(src, dst + before, floats);
                        border<Arch>(params.mode, -params.padding.left, 0, in.w, src, dst, to.w);
                        border<Arch>(params.mode, in.w, in.w + params.padding.right, in.w, src, dst + before + floats,
                                     to.w);
                    }
                }
            }
        });
    }

    /// Which element of `count` is at a place that may lie outside.
    static int source(PadMode mode, int at, int count) {
        switch (mode) {
            case PadMode::reflect:
                return at < 0 ? -at : at >= count ? 2 * (count - 1) - at : at;
            case PadMode::edge:
                return std::clamp(at, 0, count - 1);
            case PadMode::constant:
                break;
        }
        return at;
    }

    /// Pixels [first, last) of a row, all outside the image.
    template <class Arch>
    static void border(PadMode mode, int first, int last, int count, const float* src, float* dst, std::size_t pixel) {
        for (int w = first; w < last; ++w, dst += pixel) {
            detail::copy_floats<Arch>(src + static_cast<std::size_t>(source(mode, w, count)) * pixel, dst, pixel);
        }
    }

    /// A row whose pixels get further channels.
    static void pad_pixels(PadParams const& params, Shape in, const float* src, float* dst) {
        const auto c = static_cast<std::size_t>(in.c), front = static_cast<std::size_t>(params.front),
                   back = static_cast<std::size_t>(params.back), pixel = front + c + back;
        dst = std::fill_n(dst, static_cast<std::size_t>(params.padding.left) * pixel, params.value);
        for (int w = 0; w < in.w; ++w, src += c) {
            dst = std::fill_n(dst, front, params.value);
            dst = std::copy_n(src, c, dst);
            dst = std::fill_n(dst, back, params.value);
        }
        std::fill_n(dst, static_cast<std::size_t>(params.padding.right) * pixel, params.value);
    }
};

}  // namespace primsel::inline PRIMSEL_ABI
// primsel/op/pool.hpp

#include <algorithm>
#include <span>

namespace primsel::inline PRIMSEL_ABI {

namespace detail {

template <class Arch, class Reduction>
void pool(PoolParams const& params, OpArgs const& args, Strides from, Strides to) noexcept {
    const Shape in = args.src_shape[0], out = args.dst_shape;
    const PoolAxis down{
        in.h, params.window.h, params.stride.h, params.padding.top, params.padding.bottom, params.count_include_pad};
    const PoolAxis across{
        in.w, params.window.w, params.stride.w, params.padding.left, params.padding.right, params.count_include_pad};
    for_rows(args.executor, args.batch, out, to, [=, src = args.src[0], dst = args.dst](RowRange const& range) {
        constexpr int several = 16;
        OutputRow rows[several];
        for (int begin = 0; begin < range.count; begin += several) {
            const int count = std::min(several, range.count - begin);
            for (int i = 0; i < count; ++i) {
                const Coord at = range[begin + i];
                const auto c = static_cast<std::size_t>(at.c), h = static_cast<std::size_t>(at.h);
                const auto first = static_cast<std::size_t>(down.first(at.h));
                rows[i] = {.window = {src + range.image * in.size() + c * from.c + first * from.h,
                                      static_cast<std::size_t>(down.last(at.h)) - first, from.h},
                           .counted = static_cast<float>(down.counted(at.h)),
                           .dst = dst + range.image * out.size() + c * to.c + h * to.h};
            }
            const std::span<const OutputRow> some(rows, static_cast<std::size_t>(count));
            if (from.w == 1) {
                pool_columns<Arch, Reduction>(across, some, out.w);
            } else {
                for (OutputRow const& row : some) pool_pixels<Arch, Reduction>(across, row, from.w, from.w, out.w);
            }
        }
    });
}

/// Windows with gaps: every tap is added to all outputs of a row that it meets.
template <class Arch, class Reduction>
void pool_dilated(PoolParams const& params, OpArgs const& args, Strides from, Strides to) noexcept {
    struct DilatedAxis {
        int in, size, step, dilation, before, after;
        [[nodiscard]] int at(int out, int tap) const { return out * step - before + tap * dilation; }
        /// The outputs whose tap is inside the image: [first, last).
        [[nodiscard]] int first(int tap) const {
            const int outside = before - tap * dilation;
            return outside <= 0 ? 0 : (outside + step - 1) / step;
        }
        [[nodiscard]] int last(int tap, int outputs) const {
            const int room = in - 1 - at(0, tap);
            return room < 0 ? 0 : std::min(room / step + 1, outputs);
        }
        [[nodiscard]] int counted(int out, bool count_pad) const {
            int counted = 0;
            for (int tap = 0; tap < size; ++tap) {
                const int place = at(out, tap);
                counted += count_pad ? place < in + after : place >= 0 && place < in;
            }
            return counted;
        }
    };
    const Shape in = args.src_shape[0], out = args.dst_shape;
    const Padding padding = params.padding;
    const DilatedAxis down{in.h, params.window.h, params.stride.h, params.dilation.h, padding.top, padding.bottom};
    const DilatedAxis across{in.w, params.window.w, params.stride.w, params.dilation.w, padding.left, padding.right};
    const auto merge = [](const float* src, float* dst, std::size_t floats) {
        for (std::size_t i = 0; i < floats; i += lanes<Arch>) {
            const std::size_t n = floats - i;
            store_up_to<Arch>(
                dst + i, Reduction::template apply<Arch>(load_up_to<Arch>(dst + i, n), load_up_to<Arch>(src + i, n)),
                n);
        }
    };
    const bool count_pad = params.count_include_pad;
    for_rows(args.executor, args.batch, out, to, [=, &args](RowRange const& range) {
        for (int i = 0; i < range.count; ++i) {
            const Coord row = range[i];
            const auto c = static_cast<std::size_t>(row.c), h = static_cast<std::size_t>(row.h);
            const float* src = args.src[0] + range.image * in.size() + c * from.c;
            float* dst = args.dst + range.image * out.size() + c * to.c + h * to.h;
            std::fill_n(dst, static_cast<std::size_t>(out.w) * to.w, Reduction::identity);
            for (int y = 0; y < down.size; ++y) {
                const int at = down.at(row.h, y);
                if (at < 0 || at >= in.h) continue;
                const float* src_row = src + static_cast<std::size_t>(at) * from.h;
                for (int x = 0; x < across.size; ++x) {
                    const int first = across.first(x), last = across.last(x, out.w);
                    // At a step of 1 the outputs are neighbours, and so are their inputs.
                    const int together = across.step == 1 ? last - first : 1;
                    for (int w = first; w < last; w += together) {
                        merge(src_row + static_cast<std::size_t>(across.at(w, x)) * from.w,
                              dst + static_cast<std::size_t>(w) * to.w, static_cast<std::size_t>(together) * to.w);
                    }
                }
            }
            if constexpr (Reduction::averages) {
                const int rows = down.counted(row.h, count_pad);
                for (int w = 0; w < out.w; ++w, dst += to.w) {
                    const int columns = across.counted(w, count_pad);
                    for (std::size_t j = 0; j < to.w; ++j) dst[j] /= static_cast<float>(rows * columns);
                }
            }
        }
    });
}

template <class Arch, class Reduction>
void pool_any(PoolParams const& params, OpArgs const& args, Strides from, Strides to) noexcept {
    if (params.dilation == Extent{1}) {
        pool<Arch, Reduction>(params, args, from, to);
    } else {
        pool_dilated<Arch, Reduction>(params, args, from, to);
    }
}

}  // namespace detail

/// A NaN in the window wins over every maximum, as in PyTorch.
template <>
struct Op<PoolParams> {
    static constexpr bool in_place = false;

    [[nodiscard]] static double operations(PoolParams const& params, std::span<const Shape>, Shape output) {
        return static_cast<double>(params.window.h) * params.window.w * static_cast<double>(output.size());
    }

    template <class Arch, StridedLayout L>
    static void run(PoolParams const& params, OpArgs const& args) noexcept {
        const Strides from = L::strides(args.src_shape[0]), to = L::strides(args.dst_shape);
        if (params.kind == PoolKind::max) {
            detail::pool_any<Arch, detail::Maximum>(params, args, from, to);
        } else {
            detail::pool_any<Arch, detail::Average>(params, args, from, to);
        }
    }
};

}  // namespace primsel::inline PRIMSEL_ABI
// primsel/op/reduce.hpp

#include <algorithm>
#include <limits>

namespace primsel::inline PRIMSEL_ABI {

/// A NaN wins over every maximum.
template <>
struct Op<ReduceParams> {
    static constexpr bool in_place = false;

    [[nodiscard]] static double operations(ReduceParams const&, std::span<const Shape> inputs, Shape) {
        return static_cast<double>(inputs[0].size());
    }

    template <class Arch, StridedLayout L>
    static void run(ReduceParams const& params, OpArgs const& args) noexcept {
        along<Arch>(params.kind, detail::axis_view<L>(args.src_shape[0], args.batch, params.axis), args);
    }

private:
    template <class Arch>
    static void along(ReduceKind kind, detail::AxisView view, OpArgs const& args) noexcept {
        if (kind == ReduceKind::arg_max) {
            positions<Arch>(view, args);
        } else if (kind == ReduceKind::max) {
            lines<Arch, detail::Maximum>(view, 1.0F, args);
        } else {
            lines<Arch, detail::Average>(view, kind == ReduceKind::mean ? static_cast<float>(view.count) : 1.0F, args);
        }
    }

    template <class Arch>
    static void positions(detail::AxisView view, OpArgs const& args) noexcept {
        const std::size_t count = view.count, inner = view.inner, strips = (inner + lanes<Arch> - 1) / lanes<Arch>;
        detail::for_ranges(args.executor, view.outer * strips, count * std::min<std::size_t>(inner, lanes<Arch>),
                           [=, src = args.src[0], dst = args.dst](std::size_t first, std::size_t last) {
                               for (std::size_t item = first; item < last; ++item) {
                                   const std::size_t outer = item / strips, begin = item % strips * lanes<Arch>;
                                   const float* from = src + outer * count * inner + begin;
                                   float* to = dst + outer * inner + begin;
                                   if (inner == 1) {
                                       *to = position_in_row(from, count);
                                   } else {
                                       positions_of_lines<Arch>(count, inner, inner - begin, from, to);
                                   }
                               }
                           });
    }
    static float position_in_row(const float* row, std::size_t count) noexcept {
        std::size_t best = 0;
        float largest = -std::numeric_limits<float>::infinity();
        for (std::size_t i = 0; i < count; ++i) {
            if (row[i] > largest) best = i, largest = row[i];
        }
        return static_cast<float>(best);
    }
    /// Of lines that are neighbours, as many as a vector holds.
    template <class Arch>
    static void positions_of_lines(std::size_t count, std::size_t inner, std::size_t lines, const float* src,
                                   float* dst) noexcept {
        using V = Floats<Arch>;
        V largest(-std::numeric_limits<float>::infinity()), best(0.0F);
        for (std::size_t i = 0; i < count; ++i) {
            const V value = detail::load_up_to<Arch>(src + i * inner, lines);
            const auto larger = value > largest;
            largest = xsimd::select(larger, value, largest);
            best = xsimd::select(larger, V(static_cast<float>(i)), best);
        }
        detail::store_up_to<Arch>(dst, best, lines);
    }

    template <class Arch, class Reduction>
    static void lines(detail::AxisView view, float divisor, OpArgs const& args) noexcept {
        constexpr std::size_t strip = 4 * lanes<Arch>;
        const std::size_t count = view.count, inner = view.inner, strips = (inner + strip - 1) / strip;
        const float* src = args.src[0];
        float* dst = args.dst;
        if (inner == 1) {
            detail::for_ranges(args.executor, view.outer, count, [=](std::size_t first, std::size_t last) {
                for (std::size_t line = first; line < last; ++line) {
                    dst[line] = detail::reduce_rows<Arch, Reduction>({src + line * count, 1, 0}, count) / divisor;
                }
            });
            return;
        }
        detail::for_ranges(args.executor, view.outer * strips, count * std::min(strip, inner),
                           [=](std::size_t first, std::size_t last) {
                               for (std::size_t item = first; item < last; ++item) {
                                   const std::size_t outer = item / strips, begin = item % strips * strip;
                                   strip_of_lines<Arch, Reduction>(count, inner, std::min(strip, inner - begin),
                                                                   divisor, src + outer * count * inner + begin,
                                                                   dst + outer * inner + begin);
                               }
                           });
    }

    /// Up to four vectors of lines that are neighbours, and their elements `inner` apart.
    template <class Arch, class Reduction>
    static void strip_of_lines(std::size_t count, std::size_t inner, std::size_t lines, float divisor, const float* src,
                               float* dst) noexcept {
        using V = Floats<Arch>;
        constexpr std::size_t width = lanes<Arch>, several = 4;
        V sum[several] = {V(Reduction::identity), V(Reduction::identity), V(Reduction::identity),
                          V(Reduction::identity)};
        if (lines == several * width) {
            for (std::size_t i = 0; i < count; ++i) {
                PRIMSEL_UNROLL
                for (std::size_t v = 0; v < several; ++v) {
                    sum[v] = Reduction::template apply<Arch>(sum[v], load<Arch>(src + i * inner + v * width));
                }
            }
            PRIMSEL_UNROLL
            for (std::size_t v = 0; v < several; ++v) store<Arch>(dst + v * width, sum[v] / V(divisor));
            return;
        }
        for (std::size_t at = 0; at < lines; at += width) {
            V one(Reduction::identity);
            for (std::size_t i = 0; i < count; ++i) {
                const V value = detail::load_up_to<Arch>(src + i * inner + at, lines - at);
                one = Reduction::template apply<Arch>(one, value);
            }
            detail::store_up_to<Arch>(dst + at, one / V(divisor), lines - at);
        }
    }
};

}  // namespace primsel::inline PRIMSEL_ABI
// primsel/op/reshape.hpp

// primsel/tensor/transform.hpp

#include <algorithm>
#include <cstring>

namespace primsel::inline PRIMSEL_ABI {

namespace detail {

template <Layout L>
inline constexpr bool has_rows = std::same_as<L, chw> || std::same_as<L, hcw>;
/// Whether rows of w keep together and change places.
template <Layout From, Layout To>
inline constexpr bool moves_rows = has_rows<From> && has_rows<To>;
/// Whether matrices of channels by pixels are transposed.
template <Layout From, Layout To>
inline constexpr bool transposes =
    (has_rows<From> && std::same_as<To, hwc>) || (std::same_as<From, hwc> && has_rows<To>);

/// chw <-> hcw.
template <StridedLayout From, StridedLayout To>
void move_rows(Shape shape, const float* src, float* dst, ExecutorRef executor) noexcept {
    executor.parallel_for(static_cast<std::size_t>(shape.h), [=](std::size_t h, std::size_t) {
        for (int c = 0; c < shape.c; ++c) {
            const Coord at{c, static_cast<int>(h), 0};
            std::memcpy(dst + To::offset(shape, at), src + From::offset(shape, at),
                        static_cast<std::size_t>(shape.w) * sizeof(float));
        }
    });
}

/// chw or hcw -> hwc and back: transposes matrices of channels by pixels.
inline void transpose_matrix(std::size_t rows, std::size_t columns, const float* src, std::size_t src_stride,
                             float* dst, std::size_t dst_stride, ExecutorRef executor) noexcept {
    constexpr std::size_t block = 256;
    executor.parallel_for((columns + block - 1) / block, [=](std::size_t i, std::size_t) {
        transpose_columns(src, src_stride, dst, dst_stride, rows, i * block, std::min((i + 1) * block, columns));
    });
}

template <Layout From, Layout To>
void transform_any(Shape shape, const float* src, float* dst, ExecutorRef executor) noexcept {
    executor.parallel_for(static_cast<std::size_t>(shape.h), [=](std::size_t h, std::size_t) {
        for (int w = 0; w < shape.w; ++w) {
            for (int c = 0; c < shape.c; ++c) {
                const Coord at{c, static_cast<int>(h), w};
                dst[To::offset(shape, at)] = src[From::offset(shape, at)];
            }
        }
    });
}

}  // namespace detail

/// Copies one image of the shape from layout From at src to layout To at dst; they must not overlap. Where To has
/// padding, dst's padding is zeroed. The result does not depend on the executor. A layout of the user's may bring its
/// own way (TransformsFrom, TransformsTo) in place of element by element.
template <Layout From, Layout To>
void transform(Shape shape, const float* src, float* dst, ExecutorRef executor) noexcept {
    const auto c = static_cast<std::size_t>(shape.c), h = static_cast<std::size_t>(shape.h),
               w = static_cast<std::size_t>(shape.w), pixels = shape.pixels();
    if (same_placement<From, To>(shape)) {
        std::memcpy(dst, src, From::size(shape) * sizeof(element_of<From>));
    } else if constexpr (TransformsFrom<To, From>) {
        To::transform_from(From{}, shape, src, dst, executor);
    } else if constexpr (TransformsTo<From, To>) {
        From::transform_to(To{}, shape, src, dst, executor);
    } else if constexpr (detail::moves_rows<From, To>) {
        detail::move_rows<From, To>(shape, src, dst, executor);
    } else if constexpr (std::same_as<From, chw> && std::same_as<To, hwc>) {
        detail::transpose_matrix(c, pixels, src, pixels, dst, c, executor);
    } else if constexpr (std::same_as<From, hwc> && std::same_as<To, chw>) {
        detail::transpose_matrix(pixels, c, src, c, dst, pixels, executor);
    } else if constexpr (std::same_as<From, hcw> && std::same_as<To, hwc>) {
        executor.parallel_for(h, [=](std::size_t row, std::size_t) {
            transpose_columns(src + row * c * w, w, dst + row * c * w, c, c, 0, w);
        });
    } else if constexpr (std::same_as<From, hwc> && std::same_as<To, hcw>) {
        executor.parallel_for(h, [=](std::size_t row, std::size_t) {
            transpose_columns(src + row * c * w, c, dst + row * c * w, w, w, 0, c);
        });
    } else {
        constexpr bool floats = std::same_as<element_of<From>, float> && std::same_as<element_of<To>, float>;
        static_assert(floats || std::same_as<From, To>,
                      "primsel: a layout of other elements than floats must bring its own transform_from and "
                      "transform_to; see docs/tensor/layout.md");
        if constexpr (!StridedLayout<To>) std::fill_n(dst, To::size(shape), 0.0F);
        detail::transform_any<From, To>(shape, src, dst, executor);
    }
}

}  // namespace primsel::inline PRIMSEL_ABI

namespace primsel::inline PRIMSEL_ABI {

/// A vector in chw order, whatever the layout of the image.
template <>
struct Op<FlattenParams> {
    static constexpr bool in_place = false;

    [[nodiscard]] static double operations(FlattenParams const&, std::span<const Shape>, Shape) { return 0; }

    template <class Arch, StridedLayout L>
    static void run(FlattenParams const&, OpArgs const& args) noexcept {
        const Shape shape = args.src_shape[0];
        for (std::size_t image = 0; image < static_cast<std::size_t>(args.batch); ++image) {
            const std::size_t at = image * shape.size();
            transform<L, chw>(shape, args.src[0] + at, args.dst + at, args.executor);
        }
    }
};

namespace detail {
/// Elements that keep their order: nothing to do in place.
template <class Arch>
void copy_all(OpArgs const& args) noexcept {
    const float* src = args.src[0];
    float* dst = args.dst;
    if (src == dst) return;
    const std::size_t floats = args.dst_shape.size() * static_cast<std::size_t>(args.batch);
    for_ranges(args.executor, floats, 1,
               [=](std::size_t first, std::size_t last) { copy_floats<Arch>(src + first, dst + first, last - first); });
}
}  // namespace detail

template <>
struct Op<ReshapeParams> {
    static constexpr bool in_place = true;

    [[nodiscard]] static double operations(ReshapeParams const&, std::span<const Shape>, Shape) { return 0; }

    template <class Arch, StridedLayout L>
        requires std::same_as<L, chw>
    static void run(ReshapeParams const&, OpArgs const& args) noexcept {
        detail::copy_all<Arch>(args);
    }
};

template <>
struct Op<DropoutParams> {
    static constexpr bool in_place = true;

    [[nodiscard]] static double operations(DropoutParams const&, std::span<const Shape>, Shape) { return 0; }

    template <class Arch, StridedLayout L>
    static void run(DropoutParams const&, OpArgs const& args) noexcept {
        detail::copy_all<Arch>(args);
    }
};

template <>
struct Op<ChannelShuffleParams> {
    static constexpr bool in_place = false;

    [[nodiscard]] static double operations(ChannelShuffleParams const&, std::span<const Shape>, Shape) { return 0; }

    template <class Arch, StridedLayout L>
    static void run(ChannelShuffleParams const& params, OpArgs const& args) noexcept {
        shuffle<Arch>(static_cast<std::size_t>(params.groups), detail::channel_view<L>(args.dst_shape, args.batch),
                      args);
    }

private:
    template <class Arch>
    static void shuffle(std::size_t groups, detail::AxisView view, OpArgs const& args) noexcept {
        const std::size_t inner = view.inner, row = view.count * inner, rest = view.count / groups;
        const float* src = args.src[0];
        float* dst = args.dst;
        detail::for_ranges(args.executor, view.outer * groups, rest * inner, [=](std::size_t first, std::size_t last) {
            std::size_t at = first / groups * row, group = first % groups;
            for (std::size_t item = first; item < last; ++item) {
                const float* from = src + at + group * rest * inner;
                float* to = dst + at + group * inner;
                for (std::size_t i = 0; i < rest; ++i, from += inner, to += groups * inner) {
                    if (inner == 1) {
                        *to = *from;
                    } else {
                        detail::copy_floats<Arch>(from, to, inner);
                    }
                }
                if (++group == groups) group = 0, at += row;
            }
        });
    }
};

template <>
struct Op<SliceParams> {
    static constexpr bool in_place = false;

    [[nodiscard]] static double operations(SliceParams const&, std::span<const Shape>, Shape) { return 0; }

    template <class Arch, StridedLayout L>
    static void run(SliceParams const& params, OpArgs const& args) noexcept {
        slice<Arch>(static_cast<std::size_t>(params.first), static_cast<std::size_t>(params.last - params.first),
                    detail::axis_view<L>(args.src_shape[0], args.batch, params.axis), args);
    }

private:
    template <class Arch>
    static void slice(std::size_t first, std::size_t count, detail::AxisView view, OpArgs const& args) noexcept {
        const std::size_t from = view.count * view.inner, to = count * view.inner;
        const float* src = args.src[0] + first * view.inner;
        float* dst = args.dst;
        detail::for_row_parts(args.executor, view.outer, to, [=](std::size_t row, detail::Part part) {
            detail::copy_part<Arch>(src + row * from, dst + row * to, to, part);
        });
    }
};

}  // namespace primsel::inline PRIMSEL_ABI
// primsel/op/resize.hpp

#include <algorithm>
#include <cmath>

namespace primsel::inline PRIMSEL_ABI {

namespace detail {

/// One axis of an image to resize.
struct ResizeAxis {
    int in, out;
    float scale;
    ResizeParams const& params;

    /// Where output x lies in the input. With a given factor the result size of align_corners is what that makes of the
    /// input's, unrounded, as in ONNX's own tests. Of integers where it can be, so that a place halfway between two
    /// pixels is exactly that.
    [[nodiscard]] double place(int x) const {
        const double ratio_in = in, ratio_out = scale > 0 ? in / static_cast<double>(scale) : out;
        switch (params.coordinates) {
            case ResizeCoordinates::pytorch_half_pixel:
                if (out == 1) return 0;
                [[fallthrough]];
            case ResizeCoordinates::half_pixel:
                return scale > 0 ? (x + 0.5) * scale - 0.5 : (2.0 * x + 1) * in / (2.0 * out) - 0.5;
            case ResizeCoordinates::align_corners:
                return ratio_out <= 1 ? 0 : x * (ratio_in - 1) / (ratio_out - 1);
            case ResizeCoordinates::asymmetric:
                return scale > 0 ? x * static_cast<double>(scale) : static_cast<double>(x) * in / out;
        }
        return 0;
    }
    [[nodiscard]] int nearest(int x) const { return static_cast<int>(std::clamp(rounded(place(x)), 0.0, in - 1.0)); }

    /// first + weight * (second - first); second is the next, or first where that is the last.
    struct Between {
        int first, second;
        float weight;
    };
    [[nodiscard]] Between between(int x) const {
        const double at = std::clamp(place(x), 0.0, in - 1.0);
        const int first = static_cast<int>(at);
        return {first, std::min(first + 1, in - 1), static_cast<float>(at - first)};
    }

private:
    [[nodiscard]] double rounded(double at) const {
        switch (params.rounding) {
            case ResizeRounding::round_prefer_floor:
                return std::ceil(at - 0.5);
            case ResizeRounding::round_prefer_ceil:
                return std::floor(at + 0.5);
            case ResizeRounding::floor:
                return std::floor(at);
            case ResizeRounding::ceil:
                return std::ceil(at);
        }
        return at;
    }
};

}  // namespace detail

/// Rows first, then columns. A pixel: the floats that are neighbours whatever is done to rows and columns, one channel
/// or all.
template <>
struct Op<ResizeParams> {
    static constexpr bool in_place = false;

    [[nodiscard]] static double operations(ResizeParams const& params, std::span<const Shape>, Shape output) {
        return (params.mode == ResizeMode::linear ? 6.0 : 0.0) * static_cast<double>(output.size());
    }

    template <class Arch, StridedLayout L>
    static void run(ResizeParams const& params, OpArgs const& args) noexcept {
        resize<Arch>(params, args, L::strides(args.src_shape[0]), L::strides(args.dst_shape));
    }

private:
    /// Columns at a time: what is known of them is kept for all rows of a block.
    static constexpr int columns = 128;
    static constexpr int vector = 16;  // at most
    struct Columns {
        int count;
        int first[columns + vector], second[columns + vector];
        float weight[columns + vector];
    };

    static void find(detail::ResizeAxis const& axis, int begin, Columns& result) noexcept {
        result.count = std::min(columns, axis.out - begin);
        for (int i = 0; i < result.count + vector; ++i) {
            // Beyond the last, the last again.
            const int x = begin + std::min(i, result.count - 1);
            if (axis.params.mode == ResizeMode::nearest) {
                result.first[i] = axis.nearest(x);
            } else {
                const auto [first, second, weight] = axis.between(x);
                result.first[i] = first, result.second[i] = second, result.weight[i] = weight;
            }
        }
    }

    template <class Arch>
    static void resize(ResizeParams const& params, OpArgs const& args, Strides from, Strides to) noexcept {
        const Shape in = args.src_shape[0], out = args.dst_shape;
        const detail::ResizeAxis down{in.h, out.h, params.scale_h, params};
        const detail::ResizeAxis across{in.w, out.w, params.scale_w, params};
        // A row is one of one channel, or of all.
        const auto c = static_cast<std::size_t>(out.c), h = static_cast<std::size_t>(out.h),
                   w = static_cast<std::size_t>(out.w), pixel = to.w, row_floats = w * pixel;
        const std::size_t channels = pixel == 1 ? c : 1;
        const bool planes = to.c > to.h;
        const std::size_t inner = planes ? h : channels, outer = planes ? channels : h;
        detail::for_ranges(args.executor, static_cast<std::size_t>(args.batch) * channels * h, row_floats,
                           [=, src = args.src[0], dst = args.dst](std::size_t first, std::size_t last) {
                               const auto each_row = [=](auto const& f) {
                                   std::size_t row = first / inner % outer, image = first / inner / outer;
                                   for (std::size_t i = first, column = first % inner; i < last; ++i) {
                                       const std::size_t channel = planes ? row : column;
                                       f(src + image * in.size() + channel * from.c,
                                         static_cast<int>(planes ? column : row), dst + i * row_floats);
                                       if (++column < inner) continue;
                                       column = 0;
                                       if (++row == outer) row = 0, ++image;
                                   }
                               };
                               Columns of;
                               for (int begin = 0; begin < out.w; begin += columns) {
                                   find(across, begin, of);
                                   const std::size_t at = static_cast<std::size_t>(begin) * pixel;
                                   each_row([&](const float* channel, int y, float* to_row) {
                                       if (params.mode == ResizeMode::nearest) {
                                           const float* row =
                                               channel + static_cast<std::size_t>(down.nearest(y)) * from.h;
                                           return nearest<Arch>(row, in.w, of, pixel, to_row + at);
                                       }
                                       const auto rows = down.between(y);
                                       const float* above = channel + static_cast<std::size_t>(rows.first) * from.h;
                                       const float* below = channel + static_cast<std::size_t>(rows.second) * from.h;
                                       if (pixel == 1) {
                                           linear_columns<Arch>(above, below, rows.weight, of, to_row + at);
                                       } else {
                                           linear_pixels<Arch>(above, below, rows.weight, of, pixel, to_row + at);
                                       }
                                   });
                               }
                           });
    }

    template <class Arch>
    static void nearest(const float* src, int size, Columns const& of, std::size_t pixel, float* dst) noexcept {
        if (pixel == 1) {
            for (int i = 0; i < of.count; i += lanes<Arch>) {
                detail::store_up_to<Arch>(dst + i, detail::pick<Arch>(src, of.first + i, 0, size),
                                          static_cast<std::size_t>(of.count - i));
            }
        } else {
            for (int i = 0; i < of.count; ++i, dst += pixel) {
                detail::copy_floats<Arch>(src + static_cast<std::size_t>(of.first[i]) * pixel, dst, pixel);
            }
        }
    }

    template <class Arch>
    static PRIMSEL_INLINE Floats<Arch> mix(Floats<Arch> const& a, Floats<Arch> const& b, Floats<Arch> const& weight) {
        return fma<Arch>(b - a, weight, a);
    }

    /// Columns that are neighbours: first what lies between the two rows, then between its columns.
    template <class Arch>
    static void linear_columns(const float* above, const float* below, float down, Columns const& of,
                               float* dst) noexcept {
        using V = Floats<Arch>;
        constexpr int width = lanes<Arch>, most = 2 * columns;
        const int begin = of.first[0], span = of.second[of.count - 1] + 1 - begin;
        if (span > most) {
            for (int i = 0; i < of.count; i += width) {
                const auto row = [&](const float* src, const int* index) {
                    alignas(64) float lane[width];
                    for (int j = 0; j < width; ++j) lane[j] = src[index[j]];
                    return load<Arch>(lane);
                };
                const V left = mix<Arch>(row(above, of.first + i), row(below, of.first + i), V(down));
                const V right = mix<Arch>(row(above, of.second + i), row(below, of.second + i), V(down));
                detail::store_up_to<Arch>(dst + i, mix<Arch>(left, right, load<Arch>(of.weight + i)),
                                          static_cast<std::size_t>(of.count - i));
            }
            return;
        }
        alignas(64) float mixed[most + width];
        for (int i = 0; i < span; i += width) {
            const auto n = static_cast<std::size_t>(span - i);
            store<Arch>(mixed + i, mix<Arch>(detail::load_up_to<Arch>(above + begin + i, n),
                                             detail::load_up_to<Arch>(below + begin + i, n), V(down)));
        }
        for (int i = 0; i < of.count; i += width) {
            const V left = detail::pick<Arch>(mixed, of.first + i, begin, span);
            const V right = detail::pick<Arch>(mixed, of.second + i, begin, span);
            detail::store_up_to<Arch>(dst + i, mix<Arch>(left, right, load<Arch>(of.weight + i)),
                                      static_cast<std::size_t>(of.count - i));
        }
    }

    /// Pixels of several channels.
    template <class Arch>
    static void linear_pixels(const float* above, const float* below, float down, Columns const& of, std::size_t pixel,
                              float* dst) noexcept {
        using V = Floats<Arch>;
        for (int i = 0; i < of.count; ++i, dst += pixel) {
            const std::size_t left = static_cast<std::size_t>(of.first[i]) * pixel,
                              right = static_cast<std::size_t>(of.second[i]) * pixel;
            for (std::size_t j = 0; j < pixel; j += lanes<Arch>) {
                const std::size_t n = pixel - j;
                const auto at = [n](const float* src) { return detail::load_up_to<Arch>(src, n); };
                const V a = mix<Arch>(at(above + left + j), at(below + left + j), V(down));
                const V b = mix<Arch>(at(above + right + j), at(below + right + j), V(down));
                detail::store_up_to<Arch>(dst + j, mix<Arch>(a, b, V(of.weight[i])), n);
            }
        }
    }
};

}  // namespace primsel::inline PRIMSEL_ABI
// primsel/op/softmax.hpp

#include <algorithm>
#include <limits>

namespace primsel::inline PRIMSEL_ABI {

/// The largest along the axis is subtracted first, so that exp cannot overflow. A line: the elements along the axis.
template <>
struct Op<SoftmaxParams> {
    static constexpr bool in_place = true;

    [[nodiscard]] static double operations(SoftmaxParams const&, std::span<const Shape>, Shape output) {
        return 20 * static_cast<double>(output.size());
    }

    template <class Arch, StridedLayout L>
    static void run(SoftmaxParams const& params, OpArgs const& args) noexcept {
        along<Arch>(detail::axis_view<L>(args.dst_shape, args.batch, params.axis), args);
    }

private:
    static constexpr std::size_t strip = 256;
    static constexpr float lowest = -std::numeric_limits<float>::infinity();

    template <class Arch>
    static void along(detail::AxisView view, OpArgs const& args) noexcept {
        const std::size_t outer = view.outer, count = view.count, inner = view.inner, line = count * inner;
        const float* src = args.src[0];
        float* dst = args.dst;
        if (inner == 1) {
            detail::for_ranges(args.executor, outer, count, [=](std::size_t first, std::size_t last) {
                if (line <= longest_short<Arch>) {
                    return short_lines<Arch>(line, last - first, src + first * line, dst + first * line);
                }
                for (std::size_t at = first * line; at < last * line; at += line) {
                    one_line<Arch>(line, src + at, dst + at);
                }
            });
            return;
        }
        const std::size_t strips = (inner + strip - 1) / strip;
        detail::for_ranges(args.executor, outer * strips, count * std::min(strip, inner),
                           [=](std::size_t first, std::size_t last) {
                               for (std::size_t item = first; item < last; ++item) {
                                   const std::size_t begin = item % strips * strip;
                                   const std::size_t at = item / strips * line + begin;
                                   some_lines<Arch>(count, inner, std::min(strip, inner - begin), src + at, dst + at);
                               }
                           });
    }

    /// A line of neighbours.
    template <class Arch>
    static void one_line(std::size_t count, const float* src, float* dst) noexcept {
        using V = Floats<Arch>;
        constexpr std::size_t width = lanes<Arch>;
        V top(lowest);
        for (std::size_t c = 0; c < count; c += width) {
            top = max<Arch>(top, detail::load_up_to<Arch>(src + c, count - c, lowest));
        }
        top = V(detail::fold_lanes<Arch>(top, [](float a, float b) { return a > b ? a : b; }));
        V sum(0.0F);
        for (std::size_t c = 0; c < count; c += width) {
            const V power = xsimd::exp(detail::load_up_to<Arch>(src + c, count - c, lowest) - top);
            detail::store_up_to<Arch>(dst + c, power, count - c);
            sum += power;
        }
        sum = V(detail::fold_lanes<Arch>(sum, [](float a, float b) { return a + b; }));
        for (std::size_t c = 0; c < count; c += width) {
            const V power = detail::load_up_to<Arch>(dst + c, count - c);
            detail::store_up_to<Arch>(dst + c, power / sum, count - c);
        }
    }

    /// Lines of so few elements are computed side by side, a vector of them at a time. Beyond, folding a vector of one
    /// line costs less than turning them over.
    template <class Arch>
    static constexpr std::size_t longest_short = 3 * lanes<Arch>;

    /// Short lines, one after the other, turned over block by block.
    template <class Arch>
    static void short_lines(std::size_t count, std::size_t lines, const float* src, float* dst) noexcept {
        constexpr std::size_t block = 2 * lanes<Arch>;
        alignas(64) float side_by_side[longest_short<Arch> * block];
        for (std::size_t first = 0; first < lines; first += block) {
            const std::size_t n = std::min(block, lines - first);
            transpose_columns(src + first * count, count, side_by_side, block, n, 0, count);
            some_lines<Arch>(count, block, n, side_by_side, side_by_side);
            transpose_columns(side_by_side, block, dst + first * count, count, count, 0, n);
        }
    }

    /// Up to `strip` lines are neighbours, and their elements `inner` apart.
    template <class Arch>
    static void some_lines(std::size_t count, std::size_t inner, std::size_t lines, const float* src,
                           float* dst) noexcept {
        using V = Floats<Arch>;
        constexpr std::size_t width = lanes<Arch>;
        if (lines <= 2 * width) {
            for (std::size_t i = 0; i < lines; i += width) one_vector<Arch>(count, inner, lines - i, src + i, dst + i);
            return;
        }
        alignas(64) float top[strip], sum[strip];
        for (std::size_t i = 0; i < lines; i += width) {
            store<Arch>(top + i, V(lowest));
            store<Arch>(sum + i, V(0.0F));
        }
        for (std::size_t c = 0; c < count; ++c) {
            for (std::size_t i = 0; i < lines; i += width) {
                store<Arch>(top + i,
                            max<Arch>(load<Arch>(top + i), detail::load_up_to<Arch>(src + c * inner + i, lines - i)));
            }
        }
        for (std::size_t c = 0; c < count; ++c) {
            for (std::size_t i = 0; i < lines; i += width) {
                const V power =
                    xsimd::exp(detail::load_up_to<Arch>(src + c * inner + i, lines - i) - load<Arch>(top + i));
                detail::store_up_to<Arch>(dst + c * inner + i, power, lines - i);
                store<Arch>(sum + i, load<Arch>(sum + i) + power);
            }
        }
        for (std::size_t c = 0; c < count; ++c) {
            for (std::size_t i = 0; i < lines; i += width) {
                const V power = detail::load_up_to<Arch>(dst + c * inner + i, lines - i);
                detail::store_up_to<Arch>(dst + c * inner + i, power / load<Arch>(sum + i), lines - i);
            }
        }
    }

    /// The same for one vector of lines, whose largest and sums stay in registers.
    template <class Arch>
    static void one_vector(std::size_t count, std::size_t inner, std::size_t lines, const float* src,
                           float* dst) noexcept {
        using V = Floats<Arch>;
        V top(lowest), sum(0.0F);
        for (std::size_t i = 0; i < count; ++i) {
            top = max<Arch>(top, detail::load_up_to<Arch>(src + i * inner, lines));
        }
        for (std::size_t i = 0; i < count; ++i) {
            const V power = xsimd::exp(detail::load_up_to<Arch>(src + i * inner, lines) - top);
            detail::store_up_to<Arch>(dst + i * inner, power, lines);
            sum += power;
        }
        for (std::size_t i = 0; i < count; ++i) {
            const V power = detail::load_up_to<Arch>(dst + i * inner, lines);
            detail::store_up_to<Arch>(dst + i * inner, power / sum, lines);
        }
    }
};

}  // namespace primsel::inline PRIMSEL_ABI
// primsel/op/top_k.hpp

#include <algorithm>
#include <cmath>
#include <concepts>

namespace primsel::inline PRIMSEL_ABI {

/// A heap of the best k so far lies in the row of the result, its worst on top.
template <>
struct Op<TopKParams> {
    static constexpr bool in_place = false;

    [[nodiscard]] static double operations(TopKParams const& params, std::span<const Shape> inputs, Shape) {
        return static_cast<double>(inputs[0].size()) * (2 + std::log2(static_cast<double>(params.k)));
    }

    template <class Arch, StridedLayout L>
        requires std::same_as<L, chw>
    static void run(TopKParams const& params, OpArgs const& args) noexcept {
        const auto row = static_cast<std::size_t>(args.src_shape[0].w), k = static_cast<std::size_t>(params.k);
        const std::size_t rows = static_cast<std::size_t>(args.batch) * args.src_shape[0].size() / row;
        detail::for_ranges(args.executor, rows, row, [&params, &args, row, k](std::size_t first, std::size_t last) {
            for (std::size_t i = first; i < last; ++i) {
                if (params.largest) {
                    one_row<true>(params, args.src[0] + i * row, row, args.dst + i * k);
                } else {
                    one_row<false>(params, args.src[0] + i * row, row, args.dst + i * k);
                }
            }
        });
    }

private:
    template <bool largest>
    static void one_row(TopKParams const& params, const float* src, std::size_t count, float* dst) noexcept {
        // A position is exact as a float up to 2^24.
        const auto value = [src](float position) { return src[static_cast<std::size_t>(position)]; };
        const auto better = [&value](float i, float j) {
            const float a = value(i), b = value(j);
            if (std::isnan(a) || std::isnan(b)) return std::isnan(a) == std::isnan(b) ? i < j : std::isnan(b);
            return a == b ? i < j : largest ? a > b : a < b;
        };
        const auto k = static_cast<std::size_t>(params.k);
        for (std::size_t i = 0; i < k; ++i) dst[i] = static_cast<float>(i);
        std::make_heap(dst, dst + k, better);
        for (std::size_t i = k; i < count; ++i) {
            const auto position = static_cast<float>(i);
            if (!better(position, dst[0])) continue;
            std::pop_heap(dst, dst + k, better);
            dst[k - 1] = position;
            std::push_heap(dst, dst + k, better);
        }
        std::sort_heap(dst, dst + k, better);
        if (params.positions) return;
        for (std::size_t i = 0; i < k; ++i) dst[i] = value(dst[i]);
    }
};

}  // namespace primsel::inline PRIMSEL_ABI

#include <variant>

namespace primsel::inline PRIMSEL_ABI {

/// Whether the kind of layer has an op: a kernel in chw at least.
template <class Params>
inline constexpr bool has_op = requires(Params const& params, OpArgs const& args) {
    { Op<Params>::in_place } -> std::convertible_to<bool>;
    { Op<Params>::operations(params, args.src_shape, args.dst_shape) } -> std::same_as<double>;
    { Op<Params>::template run<default_arch, chw>(params, args) } noexcept;
};

namespace detail {
template <class Layer>
struct EveryLayerHasOp;
template <class... Params>
struct EveryLayerHasOp<std::variant<Params...>> {
    static_assert(((has_op<Params> || std::same_as<Params, InputParams> || std::same_as<Params, ConstantParams> ||
                    std::same_as<Params, ConvParams>)&&...));
};
template struct EveryLayerHasOp<AnyLayer>;
}  // namespace detail

}  // namespace primsel::inline PRIMSEL_ABI

#include <cstddef>
#include <span>
#include <utility>
#include <variant>

namespace primsel::inline PRIMSEL_ABI {

/// Whether the layer has an op in layout L.
template <class Params, class Arch, class L>
inline constexpr bool runs_in =
    requires(Params const& params, OpArgs const& args) { Op<Params>::template run<Arch, L>(params, args); };

namespace detail {
template <class Params, class Arch, StridedLayout L, bool compiled>
constexpr OpEntry make_op_entry() {
    OpEntry entry;
    if constexpr (compiled && runs_in<Params, Arch, L>) {
        entry.in_place = Op<Params>::in_place;
        entry.operations = [](AnyLayer const& layer, std::span<const Shape> inputs, Shape output) {
            return Op<Params>::operations(*std::get_if<Params>(&layer), inputs, output);
        };
        entry.run = [](AnyLayer const& layer, OpArgs const& args) noexcept {
            Op<Params>::template run<Arch, L>(*std::get_if<Params>(&layer), args);
        };
        if constexpr (has_weights<Params>) {
            entry.packed_bytes = [](AnyLayer const& layer, Shape input) {
                return bytes_of_floats(Op<Params>::packed_floats(*std::get_if<Params>(&layer), input));
            };
            entry.pack = [](AnyLayer const& layer, Shape input, OpWeights const& weights, float* dst) {
                Op<Params>::template pack<L>(*std::get_if<Params>(&layer), input, weights, dst);
            };
        }
    }
    return entry;
}
}  // namespace detail

/// All ops in layout L that are compiled; none for a layout that is not strided, in which no op runs.
template <class Arch, Layout L, class Compiled = CompileAll>
inline constexpr OpTable op_table = []<std::size_t... i>(std::index_sequence<i...>) {
    if constexpr (StridedLayout<L>) {
        return OpTable{
            detail::make_op_entry<std::variant_alternative_t<i, AnyLayer>, Arch, L, Compiled::layer(i)>()...};
    } else {
        return OpTable{};
    }
}(std::make_index_sequence<std::variant_size_v<AnyLayer>>{});

}  // namespace primsel::inline PRIMSEL_ABI
// primsel/kernels/primitive_table.hpp

// primsel/primitive/primitive.hpp

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <string_view>

namespace primsel::inline PRIMSEL_ABI {

/// One way to compute a convolution: a plain type with
/// - id: its published name; family; in_layout and out_layout;
/// - supports(shape): whether it can compute the shape;
/// - run<Arch>(shape, args): computes one image; noexcept, no allocation, the same bits whatever the executor.
/// It may have
/// - fuses_epilogue = true: run applies bias, residual and clamp itself (otherwise they are null, and a pass of its own
///   applies them);
/// - strided_output = true: run heeds dst_stride, so that a concatenation of channels needs no copy;
/// - scratch_floats<Arch>(shape, workers): room that run needs, for an executor of so many workers;
/// - packed_floats<Arch>(shape) and pack<Arch>(shape, kernel, dst): the kernel, k x c/groups x fh x fw, rearranged
/// once;
/// - work<Arch>(shape): what it does, for the analytical cost model;
/// - error_bound: its largest error relative to the output's RMS, for inputs of zero mean (default 3e-5).
///
/// A minimal model is examples/own_primitive.cpp.
template <class P>
concept Primitive = requires(ConvShape const& shape, ConvArgs const& args) {
    { P::id } -> std::convertible_to<std::string_view>;
    { P::family } -> std::convertible_to<Family>;
    requires Layout<typename P::in_layout>;
    requires Layout<typename P::out_layout>;
    { P::supports(shape) } -> std::same_as<Support>;
    { P::template run<default_arch>(shape, args) } noexcept;
};

/// The optional members of a primitive, with their defaults.
template <class P, class Arch>
struct PrimitiveTraits {
    [[nodiscard]] static constexpr bool fuses_epilogue() {
        if constexpr (requires { P::fuses_epilogue; }) return P::fuses_epilogue;
        return false;
    }
    [[nodiscard]] static constexpr bool strided_output() {
        if constexpr (requires { P::strided_output; }) return P::strided_output;
        return false;
    }
    [[nodiscard]] static constexpr double error_bound() {
        if constexpr (requires { P::error_bound; }) return P::error_bound;
        return 3e-5;
    }
    [[nodiscard]] static std::size_t scratch_floats(ConvShape const& shape, std::size_t workers) {
        if constexpr (requires { P::template scratch_floats<Arch>(shape, workers); }) {
            return P::template scratch_floats<Arch>(shape, workers);
        }
        return 0;
    }
    [[nodiscard]] static std::size_t packed_floats(ConvShape const& shape) {
        if constexpr (requires { P::template packed_floats<Arch>(shape); }) {
            return P::template packed_floats<Arch>(shape);
        }
        return shape.kernel_size();
    }
    static void pack(ConvShape const& shape, const float* kernel, float* dst) {
        if constexpr (requires { P::template pack<Arch>(shape, kernel, dst); }) {
            P::template pack<Arch>(shape, kernel, dst);
        } else {
            std::copy_n(kernel, shape.kernel_size(), dst);
        }
    }
    [[nodiscard]] static Work work(ConvShape const& shape) {
        if constexpr (requires { P::template work<Arch>(shape); }) return P::template work<Arch>(shape);
        const double bytes = 4.0 * static_cast<double>(shape.in_shape().size() + shape.out_shape().size());
        return Work{}.add({.rate = Rate::scalar,
                           .operations = shape.operations(),
                           .bytes = bytes,
                           .working_set = bytes + 4.0 * static_cast<double>(shape.kernel_size())});
    }
};

}  // namespace primsel::inline PRIMSEL_ABI

#include <array>
#include <cstddef>
#include <string_view>

namespace primsel::inline PRIMSEL_ABI {

namespace detail {
/// Of a primitive that is not compiled.
template <class P>
Support supports_nothing(ConvShape const& shape) {
    const Support support = P::supports(shape);
    return support ? Support::no("is not compiled: no convolution of the network type needs it") : support;
}

template <class P, class Arch, class Layouts, bool compiled>
constexpr PrimitiveEntry make_entry() {
    static_assert(Primitive<P>, "primsel: this type is not a Primitive; see docs/primitive/primitive.md");
    static_assert(
        Layouts::template contains<typename P::in_layout> && Layouts::template contains<typename P::out_layout>,
        "primsel: a primitive's layout is missing from the policies' layouts");
    if constexpr (!Primitive<P>) {
        return PrimitiveEntry{};
    } else {
        using Traits = PrimitiveTraits<P, Arch>;
        PrimitiveEntry entry{.id = P::id,
                             .family = P::family,
                             .in_layout = Layouts::template index_of<typename P::in_layout>,
                             .out_layout = Layouts::template index_of<typename P::out_layout>,
                             .fuses_epilogue = Traits::fuses_epilogue(),
                             .strided_output = Traits::strided_output(),
                             .error_bound = Traits::error_bound(),
                             .supports = &supports_nothing<P>};
        if constexpr (compiled) {
            entry.supports = [](ConvShape const& shape) { return P::supports(shape); };
            entry.scratch_bytes = [](ConvShape const& shape, std::size_t workers) {
                return bytes_of_floats(Traits::scratch_floats(shape, workers));
            };
            entry.packed_bytes = [](ConvShape const& shape) { return bytes_of_floats(Traits::packed_floats(shape)); };
            entry.pack = &Traits::pack;
            entry.run = &P::template run<Arch>;
            entry.work = &Traits::work;
        }
        return entry;
    }
}

/// Whether each primitive of the list can be told from the others. Plans, profiles and caches know them by their ids.
template <class... P>
[[nodiscard]] consteval bool unique_ids(TypeList<P...>) {
    const std::array<std::string_view, sizeof...(P)> ids{std::string_view(P::id)...};
    for (std::size_t i = 0; i < ids.size(); ++i) {
        for (std::size_t j = 0; j < i; ++j) {
            if (ids[i] == ids[j]) return false;
        }
    }
    return true;
}
}  // namespace detail

/// One entry for each primitive of the list, in its order. A kernel is compiled once for each (primitive, Arch),
/// however many layers and networks use it.
template <class Primitives, class Arch = default_arch, class Layouts = AllLayouts, class Compiled = CompileAll>
inline constexpr auto primitive_table = []<class... P>(TypeList<P...>) {
    static_assert(detail::unique_ids(TypeList<P...>{}), "primsel: two primitives of the list have the same id");
    return std::array<PrimitiveEntry, sizeof...(P)>{
        detail::make_entry<P, Arch, Layouts, Compiled::template primitive<P>>()...};
}(Primitives{});

}  // namespace primsel::inline PRIMSEL_ABI
// primsel/kernels/transform_work.hpp

namespace primsel::inline PRIMSEL_ABI {

/// What transform<From, To> does for one image of the shape.
template <Layout From, Layout To>
[[nodiscard]] Work transform_work(Shape shape) {
    const auto size = static_cast<double>(shape.size());
    const double bytes = 8 * size;
    if (same_placement<From, To>(shape)) return Work{}.add({.bytes = bytes, .working_set = bytes});
    if constexpr (detail::moves_rows<From, To>) {
        // Each row of w is a copy of its own, and starting it takes about three operations.
        const double rows = 1.0 * shape.c * shape.h;
        return Work{}
            .add({.rate = Rate::scalar, .operations = 3 * rows, .working_set = bytes})
            .add({.bytes = bytes, .working_set = bytes});
    } else if constexpr (detail::transposes<From, To> || TransformsFrom<To, From> || TransformsTo<From, To>) {
        // A transpose writes four floats at a time: half the speed of a copy.
        return Work{}.add({.bytes = 2 * bytes, .working_set = bytes});
    } else {
        return Work{}.add({.rate = Rate::scalar, .operations = size, .bytes = bytes, .working_set = bytes});
    }
}

}  // namespace primsel::inline PRIMSEL_ABI

#include <array>
#include <cstddef>
#include <type_traits>

namespace primsel::inline PRIMSEL_ABI {

namespace detail {

/// The op_table, behind a function that extern_kernels.hpp can find elsewhere.
template <class Arch, class L, class Compiled>
OpTable const& ops_in() {
    return op_table<Arch, L, Compiled>;
}

template <class Arch, class L, class Compiled>
constexpr LayoutEntry make_layout_entry() {
    LayoutEntry entry{.name = L::name,
                      .element_bytes = sizeof(element_of<L>),
                      .size = [](Shape shape) { return L::size(shape); },
                      .ops = &ops_in<Arch, L, Compiled>,
                      .from_chw = &primsel::transform<chw, L>,
                      .epilogue = nullptr};
    if constexpr (StridedLayout<L>) entry.epilogue = &apply_epilogue<Arch, L>;
    return entry;
}

template <class From, class To>
constexpr TransformEntry make_transform_entry() {
    return {.run = &primsel::transform<From, To>,
            .same_placement = &primsel::same_placement<From, To>,
            .work = &transform_work<From, To>};
}

template <class Arch, class Layouts, class Compiled>
inline constexpr auto layout_table = []<class... L>(TypeList<L...>) {
    return std::array<LayoutEntry, sizeof...(L)>{make_layout_entry<Arch, L, Compiled>()...};
}(Layouts{});

template <class Layouts>
inline constexpr auto transform_table = []<class... L>(TypeList<L...>) {
    std::array<TransformEntry, sizeof...(L) * sizeof...(L)> table{};
    std::size_t at = 0;
    const auto row = [&]<class From>(std::type_identity<From>) {
        ((table[at++] = make_transform_entry<From, L>()), ...);
    };
    (row(std::type_identity<L>{}), ...);
    return table;
}(Layouts{});

}  // namespace detail

/// The kernels of a list of primitives and layouts for an Arch. The first layout is the one in which images come and
/// results go.
template <class Primitives, class Arch, class Layouts, class Compiled = CompileAll>
[[nodiscard]] Kernels make_kernels() {
    static_assert(is_type_list<Primitives>, "primsel: make_kernels takes a TypeList of primitives");
    static_assert(is_type_list<Layouts>, "primsel: make_kernels takes a TypeList of layouts");
    static_assert(detail::CheckLayouts<Layouts>::value);
    return {.primitives = primitive_table<Primitives, Arch, Layouts, Compiled>,
            .layouts = detail::layout_table<Arch, Layouts, Compiled>,
            .transforms = detail::transform_table<Layouts>,
            .arch = Arch::name(),
            .machine = &this_machine<Arch>};
}

}  // namespace primsel::inline PRIMSEL_ABI
// primsel/primitive/all.hpp
// THE list. Adding a primitive to AllPrimitives gives it law tests, a benchmark and a column in every profile; adding
// it to DefaultPrimitives makes it a candidate in every plan.

// primsel/primitive/conv1x1.hpp

// primsel/primitive/detail/gemm_form.hpp
// What im2 and conv-1x1 share: a convolution as one product of the kernel and a matrix of patches.

namespace primsel::inline PRIMSEL_ABI {

/// Which operands of C = A B are stored transposed (t).
enum class GemmForm { ab, atb, abt, atbt };
/// Kernel-major output (k x pixels, chw) or image-major (pixels x k, hwc).
enum class GemmOut { ki, ik };

namespace detail {

template <GemmForm form, GemmOut out>
struct FormTraits {
    static constexpr bool a_transposed = form == GemmForm::atb || form == GemmForm::atbt;
    static constexpr bool b_transposed = form == GemmForm::abt || form == GemmForm::atbt;
    /// ki: C = kernel x patches. ik: C = patches' x kernel'.
    static constexpr bool kernel_is_a = out == GemmOut::ki;
    /// The kernel is stored with its depth as rows: depth x k instead of k x depth.
    static constexpr bool kernel_depth_major = kernel_is_a ? a_transposed : !b_transposed;
    /// The patches are stored with the depth as rows: depth x pixels (im2col, a chw image) instead of pixels x depth.
    static constexpr bool patches_depth_major = kernel_is_a ? !b_transposed : a_transposed;
    using out_layout = std::conditional_t<kernel_is_a, chw, hwc>;

    static constexpr auto name = [] {
        constexpr auto suffix = [] {
            if constexpr (kernel_is_a)
                return FixedString("-ki");
            else
                return FixedString("-ik");
        }();
        if constexpr (form == GemmForm::ab)
            return FixedString("ab") + suffix;
        else if constexpr (form == GemmForm::atb)
            return FixedString("atb") + suffix;
        else if constexpr (form == GemmForm::abt)
            return FixedString("abt") + suffix;
        else
            return FixedString("atbt") + suffix;
    }();

    /// m, n and k of the product of one group.
    struct Sizes {
        int m, n, k;
    };
    [[nodiscard]] static constexpr Sizes sizes(ConvShape const& s) {
        const int pixels = static_cast<int>(s.out_pixels());
        return kernel_is_a ? Sizes{s.group_k(), pixels, s.depth()} : Sizes{pixels, s.group_k(), s.depth()};
    }

    /// One group of the convolution: dst = clamp(kernel x patches + bias + residual). `patch_stride` is the distance
    /// between the stored rows of patches.
    template <class G, class Arch>
    static void multiply(ConvShape const& s, ConvArgs const& args, int group, const float* patches,
                         std::size_t patch_stride, float* scratch) noexcept {
        const auto depth = static_cast<std::size_t>(s.depth()), group_k = static_cast<std::size_t>(s.group_k());
        const std::size_t pixels = s.out_pixels(), first_k = static_cast<std::size_t>(group) * group_k;
        const float* kernel = args.weights + first_k * depth;
        const std::size_t offset = kernel_is_a ? first_k * pixels : first_k;
        const float* bias = args.bias == nullptr ? nullptr : args.bias + first_k;
        const Sizes size = sizes(s);
        const auto patch_view = [&] {  // depth x pixels
            return patches_depth_major ? row_major(patches, patch_stride) : transposed(patches, patch_stride);
        };
        const auto patch_view_transposed = [&] {  // pixels x depth
            return patches_depth_major ? transposed(patches, patch_stride) : row_major(patches, patch_stride);
        };
        const auto kernel_view = [&] {  // k x depth
            return kernel_depth_major ? transposed(kernel, group_k) : row_major(kernel, depth);
        };
        const auto kernel_view_transposed = [&] {  // depth x k
            return kernel_depth_major ? row_major(kernel, group_k) : transposed(kernel, depth);
        };
        G::template run<Arch>({.m = size.m,
                               .n = size.n,
                               .k = size.k,
                               .a = kernel_is_a ? kernel_view() : patch_view_transposed(),
                               .b = kernel_is_a ? patch_view() : kernel_view_transposed(),
                               .c = args.dst + offset,
                               .c_stride = kernel_is_a ? pixels : static_cast<std::size_t>(s.k),
                               .row_bias = kernel_is_a ? bias : nullptr,
                               .column_bias = kernel_is_a ? nullptr : bias,
                               .residual = args.residual == nullptr ? nullptr : args.residual + offset,
                               .clamp = args.clamp,
                               .scratch = scratch,
                               .executor = args.executor});
    }
};

/// Stores the kernel, group after group, as k x depth or depth x k; tap(k, c, fh, fw) orders the depth.
template <bool depth_major, class DepthIndex>
void pack_kernel(ConvShape const& s, const float* kernel, DepthIndex const& depth_index, float* dst) {
    const auto depth = static_cast<std::size_t>(s.depth()), group_k = static_cast<std::size_t>(s.group_k());
    const float* value = kernel;
    for (int k = 0; k < s.k; ++k) {
        const auto row = static_cast<std::size_t>(k % s.group_k());
        float* group = dst + static_cast<std::size_t>(k / s.group_k()) * depth * group_k;
        for (int c = 0; c < s.group_c(); ++c) {
            for (int fh = 0; fh < s.fh; ++fh) {
                for (int fw = 0; fw < s.fw; ++fw) {
                    const auto column = static_cast<std::size_t>(depth_index(c, fh, fw));
                    group[depth_major ? column * group_k + row : row * depth + column] = *value++;
                }
            }
        }
    }
}

}  // namespace detail

}  // namespace primsel::inline PRIMSEL_ABI

namespace primsel::inline PRIMSEL_ABI {

/// A 1x1 convolution is a product of the kernel and the image as it is: chw is c x pixels, hwc is pixels x c.
template <GemmForm form, GemmOut out, Gemm G = SimdGemm>
struct Conv1x1Gemm {
private:
    using traits = detail::FormTraits<form, out>;

public:
    static constexpr auto id = FixedString("conv-1x1-gemm-") + traits::name + detail::gemm_suffix<G>;
    template <Gemm Other>
    using with_gemm = Conv1x1Gemm<form, out, Other>;
    static constexpr Family family = Family::conv_1x1;
    using in_layout = std::conditional_t<traits::patches_depth_major, chw, hwc>;
    using out_layout = typename traits::out_layout;
    static constexpr bool fuses_epilogue = true;

    [[nodiscard]] static constexpr Support supports(ConvShape const& s) {
        if (s.fh != 1 || s.fw != 1) return Support::no("needs a 1x1 kernel");
        if (s.strided()) return Support::no("needs stride 1");
        return s.padded() ? Support::no("needs no padding") : Support::yes();
    }

    template <class Arch>
    [[nodiscard]] static std::size_t scratch_floats(ConvShape const& s, std::size_t workers) {
        const auto size = traits::sizes(s);
        return G::template scratch_floats<Arch>(size.m, size.n, size.k, workers);
    }
    template <class Arch>
    static void pack(ConvShape const& s, const float* kernel, float* dst) {
        detail::pack_kernel<traits::kernel_depth_major>(
            s, kernel, [](int c, int, int) { return c; }, dst);
    }

    template <class Arch>
    static void run(ConvShape const& s, ConvArgs const& args) noexcept {
        for (int group = 0; group < s.groups; ++group) {
            const auto first_c = static_cast<std::size_t>(group * s.group_c());
            const float* image = args.src + (traits::patches_depth_major ? first_c * s.in_pixels() : first_c);
            const auto stride = traits::patches_depth_major ? s.in_pixels() : static_cast<std::size_t>(s.c);
            traits::template multiply<G, Arch>(s, args, group, image, stride, args.scratch);
        }
    }

    template <class Arch>
    [[nodiscard]] static Work work(ConvShape const& s) {
        const auto size = traits::sizes(s);
        return Work{}.append(G::template work<Arch>(size.m, size.n, size.k), s.groups);
    }
};

}  // namespace primsel::inline PRIMSEL_ABI
// primsel/primitive/depthwise.hpp

// primsel/primitive/detail/depthwise_blocks.hpp

#include <algorithm>
#include <cstddef>

namespace primsel::inline PRIMSEL_ABI::detail {

/// Depthwise convolution in hwc by a 3x3 kernel of stride 1 or 2: a block of neighbouring outputs, of a vector of
/// channels, at a time.
struct DepthwiseBlocks {
    /// Whether the layer is one of those.
    template <class Arch>
    [[nodiscard]] static bool supports(ConvShape const& s) {
        const bool square = s.fh == 3 && s.fw == 3 && s.stride_h == s.stride_w && s.stride_w <= 2 && !s.dilated();
        const bool narrow =
            s.pad_left <= 1 && s.pad_top <= 1 && (s.out_w() - 1) * s.stride_w + s.fw - 1 - s.pad_left <= s.w;
        return square && narrow && s.k >= lanes<Arch> && s.out_w() >= block_columns<Arch>;
    }

    template <class Arch>
    static void run(ConvShape const& s, ConvArgs const& args, const float* src) noexcept {
        if (s.stride_w == 1) {
            run_blocks<Arch, 1>(s, args, src);
        } else {
            run_blocks<Arch, 2>(s, args, src);
        }
    }

private:
    /// Outputs of a block of the 3x3 kernel: its sums, the nine weights and an input fit the registers. Each input is
    /// loaded once for all the outputs that it goes into.
    template <class Arch>
    static constexpr int block_rows = registers<Arch> == 32 ? 2 : 1;
    template <class Arch>
    static constexpr int block_columns = registers<Arch> == 32 ? 7 : 4;

    template <class Arch, int stride>
    static void run_blocks(ConvShape const& s, ConvArgs const& args, const float* src) noexcept {
        // Parts of eight vectors of channels; the last has at least one, and the rest.
        constexpr int rows = block_rows<Arch>, channels = 8 * lanes<Arch>;
        const int parts = std::max(1, (s.k + channels - lanes<Arch>) / channels);
        const auto items = static_cast<std::size_t>((s.out_h() + rows - 1) / rows * parts);
        args.executor.parallel_for(items, [&s, &args, src, parts](std::size_t item, std::size_t) {
            const int first = static_cast<int>(item) / parts * rows, part = static_cast<int>(item) % parts,
                      begin = part * channels, end = part + 1 == parts ? s.k : begin + channels;
            if (first + rows <= s.out_h()) {
                run_block_row<Arch, rows, stride>(s, args, src, first, begin, end);
            } else {
                run_block_row<Arch, 1, stride>(s, args, src, first, begin, end);
            }
        });
    }

    /// `rows` output rows of channels [begin, end), a vector at least; the last block and the last channels overlap
    /// their neighbours where they do not fill theirs.
    template <class Arch, int rows, int stride>
    static void run_block_row(ConvShape const& s, ConvArgs const& args, const float* src, int first, int begin,
                              int end) noexcept {
        constexpr int columns = block_columns<Arch>, in_rows = (rows - 1) * stride + 3;
        const auto channels = static_cast<std::size_t>(s.k);
        const float* lines[in_rows];
        for (int i = 0; i < in_rows; ++i) {
            const int h = first * stride - s.pad_top + i;
            lines[i] = h >= 0 && h < s.h ? src + static_cast<std::size_t>(h * s.w) * channels : nullptr;
        }
        for (int column = 0; column < s.out_w(); column += columns) {
            const int ow = std::min(column, s.out_w() - columns);
            for (int k = begin; k < end; k += lanes<Arch>) {
                run_block<Arch, rows, stride>(s, args, lines, first, ow,
                                              static_cast<std::size_t>(std::min(k, end - lanes<Arch>)));
            }
        }
    }

    template <class Arch, int rows, int stride>
    PRIMSEL_INLINE static void run_block(ConvShape const& s, ConvArgs const& args, const float* const* lines, int oh,
                                         int ow, std::size_t at) noexcept {
        constexpr int columns = block_columns<Arch>, in_rows = (rows - 1) * stride + 3,
                      in_columns = (columns - 1) * stride + 3;
        const auto channels = static_cast<std::ptrdiff_t>(s.k);
        const int first = ow * stride - s.pad_left;
        const bool skip_first = first<0, skip_last = first + in_columns> s.w;
        const std::size_t to = static_cast<std::size_t>(oh * s.out_w() + ow) * static_cast<std::size_t>(s.k) + at,
                          row = static_cast<std::size_t>(s.out_w()) * static_cast<std::size_t>(s.k);
        Floats<Arch> weights[9];
        PRIMSEL_UNROLL
        for (std::ptrdiff_t tap = 0; tap < 9; ++tap) weights[tap] = load<Arch>(args.weights + tap * channels + at);
        const Floats<Arch> bias = args.bias == nullptr ? broadcast<Arch>(0.0F) : load<Arch>(args.bias + at);
        Floats<Arch> sums[rows][columns];
        PRIMSEL_UNROLL
        for (int r = 0; r < rows; ++r) {
            PRIMSEL_UNROLL
            for (int c = 0; c < columns; ++c) sums[r][c] = bias;
        }
        PRIMSEL_UNROLL
        for (int i = 0; i < in_rows; ++i) {
            if (lines[i] == nullptr) continue;
            auto pixel = first * channels + static_cast<std::ptrdiff_t>(at);  // before the line where it is skipped
            PRIMSEL_UNROLL
            for (int j = 0; j < in_columns; ++j, pixel += channels) {
                if ((j == 0 && skip_first) || (j == in_columns - 1 && skip_last)) continue;
                const Floats<Arch> x = load<Arch>(lines[i] + pixel);
                PRIMSEL_UNROLL
                for (int r = 0; r < rows; ++r) {
                    PRIMSEL_UNROLL
                    for (int c = 0; c < columns; ++c) {
                        const int fh = i - r * stride, fw = j - c * stride;
                        if (fh < 0 || fh > 2 || fw < 0 || fw > 2) continue;
                        sums[r][c] = fma<Arch>(weights[fh * 3 + fw], x, sums[r][c]);
                    }
                }
            }
        }
        const Floats<Arch> low = broadcast<Arch>(args.clamp.low), high = broadcast<Arch>(args.clamp.high);
        const float* const residual = args.residual;
        float* const dst = args.dst + to;
        if (residual != nullptr) {
            PRIMSEL_UNROLL
            for (int r = 0; r < rows; ++r) {
                PRIMSEL_UNROLL
                for (int c = 0; c < columns; ++c) {
                    sums[r][c] += load<Arch>(residual + to + static_cast<std::size_t>(r) * row + c * channels);
                }
            }
        }
        PRIMSEL_UNROLL
        for (int r = 0; r < rows; ++r) {
            PRIMSEL_UNROLL
            for (int c = 0; c < columns; ++c) {
                store<Arch>(dst + static_cast<std::size_t>(r) * row + c * channels, clamp<Arch>(sums[r][c], low, high));
            }
        }
    }
};

}  // namespace primsel::inline PRIMSEL_ABI::detail
// primsel/primitive/detail/depthwise_planes.hpp

// primsel/primitive/detail/depthwise_finish.hpp

#include <cstddef>

namespace primsel::inline PRIMSEL_ABI::detail {

/// dst = clamp(sum + bias + residual) for the vector or float at `at`; null for what there is not.
template <class Arch>
PRIMSEL_INLINE void finish_depthwise(ConvArgs const& args, Floats<Arch> sum, const float* bias, std::size_t at) {
    if (bias != nullptr) sum += load<Arch>(bias);
    if (args.residual != nullptr) sum += load<Arch>(args.residual + at);
    store<Arch>(args.dst + at, clamp<Arch>(sum, broadcast<Arch>(args.clamp.low), broadcast<Arch>(args.clamp.high)));
}
PRIMSEL_INLINE void finish_depthwise(ConvArgs const& args, float sum, float bias, std::size_t at) {
    sum += bias;
    if (args.residual != nullptr) sum += args.residual[at];
    args.dst[at] = clamp(sum, args.clamp.low, args.clamp.high);
}

}  // namespace primsel::inline PRIMSEL_ABI::detail

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <type_traits>

namespace primsel::inline PRIMSEL_ABI::detail {

/// Depthwise convolution in chw, plane by plane: copied with its padding, its columns dealt out by their remainder to
/// the stride, so that every tap reads neighbours.
struct DepthwisePlanes {
    /// The floats of a copied plane.
    template <class Arch>
    [[nodiscard]] static constexpr std::size_t plane_floats(ConvShape const& s) {
        return round_up_floats(part_floats<Arch>(s) * static_cast<std::size_t>(s.stride_w) *
                               static_cast<std::size_t>(s.padded_h()));
    }

    template <class Arch>
    static void copy_plane(ConvShape const& s, const float* src, float* dst) noexcept {
        const std::size_t part = part_floats<Arch>(s), row = part * static_cast<std::size_t>(s.stride_w);
        std::fill_n(dst, row * static_cast<std::size_t>(s.padded_h()), 0.0F);
        for (int h = 0; h < s.h; ++h, src += s.w) {
            float* to = dst + static_cast<std::size_t>(h + s.pad_top) * row;
            if (s.stride_w == 1) {
                std::memcpy(to + s.pad_left, src, static_cast<std::size_t>(s.w) * sizeof(float));
                continue;
            }
            for (int w = 0; w < s.w; ++w) {
                const int column = w + s.pad_left;
                to[static_cast<std::size_t>(column % s.stride_w) * part +
                   static_cast<std::size_t>(column / s.stride_w)] = src[w];
            }
        }
    }

    /// The output plane of kernel k.
    template <class Arch>
    static void run_kernel(ConvShape const& s, ConvArgs const& args, const float* plane, int k) noexcept {
        const std::size_t part = part_floats<Arch>(s), row = part * static_cast<std::size_t>(s.stride_w);
        const float* weights = args.weights + k * s.taps();
        const float bias = args.bias == nullptr ? 0.0F : args.bias[k];
        for (int oh = 0; oh < s.out_h(); ++oh) {
            const float* rows = plane + static_cast<std::size_t>(oh * s.stride_h) * row;
            const std::size_t out =
                (static_cast<std::size_t>(k) * static_cast<std::size_t>(s.out_h()) + static_cast<std::size_t>(oh)) *
                static_cast<std::size_t>(s.out_w());
            for (int ow = 0; ow < s.out_w();) {
                const int rest = s.out_w() - ow;
                const auto columns = [&]<int count>(std::integral_constant<int, count>) {
                    run_columns<Arch, count>(s, args, rows, weights, bias, ow, out + static_cast<std::size_t>(ow));
                    ow += count * lanes<Arch>;
                };
                if (rest > 2 * lanes<Arch>) {
                    columns(std::integral_constant<int, 4>{});
                } else if (rest > lanes<Arch>) {
                    columns(std::integral_constant<int, 2>{});
                } else {
                    columns(std::integral_constant<int, 1>{});
                }
            }
        }
    }

private:
    static constexpr int most_vectors = 4;

    /// Columns of the padded plane with the same remainder to the stride, and room for the last vector to read on.
    template <class Arch>
    [[nodiscard]] static constexpr std::size_t part_floats(ConvShape const& s) {
        const int columns = std::max(s.padded_w() / s.stride_w + 1, s.out_w() + s.span_w() / s.stride_w + 1);
        return static_cast<std::size_t>(columns + most_vectors * lanes<Arch>);
    }

    /// `vectors` vectors of output columns from ow on, those beyond the row left out; `at` is where they go.
    template <class Arch, int vectors>
    static void run_columns(ConvShape const& s, ConvArgs const& args, const float* rows, const float* weights,
                            float bias, int ow, std::size_t at) noexcept {
        const std::size_t part = part_floats<Arch>(s), row = part * static_cast<std::size_t>(s.stride_w);
        Floats<Arch> sums[vectors];
        PRIMSEL_UNROLL
        for (int v = 0; v < vectors; ++v) sums[v] = broadcast<Arch>(0.0F);
        for (int fh = 0; fh < s.fh; ++fh) {
            for (int fw = 0; fw < s.fw; ++fw) {
                const int column = fw * s.dilation_w;
                const float* from = rows + static_cast<std::size_t>(fh * s.dilation_h) * row +
                                    static_cast<std::size_t>(column % s.stride_w) * part +
                                    static_cast<std::size_t>(column / s.stride_w + ow);
                const auto weight = broadcast<Arch>(weights[fh * s.fw + fw]);
                PRIMSEL_UNROLL
                for (int v = 0; v < vectors; ++v) {
                    sums[v] = fma<Arch>(weight, load<Arch>(from + v * lanes<Arch>), sums[v]);
                }
            }
        }
        finish_columns<Arch>(args, sums, bias, at, std::min(s.out_w() - ow, vectors * lanes<Arch>));
    }

    /// Writes the first `count` columns of the sums.
    template <class Arch>
    PRIMSEL_INLINE static void finish_columns(ConvArgs const& args, const Floats<Arch>* sums, float bias,
                                              std::size_t at, int count) noexcept {
        constexpr int width = lanes<Arch>;
        for (int v = 0; v * width < count; ++v) {
            const std::size_t to = at + static_cast<std::size_t>(v * width);
            if (count - v * width >= width) {
                finish_depthwise<Arch>(args, sums[v] + broadcast<Arch>(bias), nullptr, to);
                continue;
            }
            alignas(64) float rest[width];
            store<Arch>(rest, sums[v]);
            for (int i = 0; i < count - v * width; ++i) {
                finish_depthwise(args, rest[i], bias, to + static_cast<std::size_t>(i));
            }
        }
    }
};

}  // namespace primsel::inline PRIMSEL_ABI::detail
// primsel/primitive/detail/depthwise_rows.hpp

// primsel/primitive/detail/tap.hpp

#include <algorithm>

namespace primsel::inline PRIMSEL_ABI::detail {

/// A half-open range of output rows or columns.
struct Range {
    int begin = 0, end = 0;
    [[nodiscard]] constexpr int size() const { return end > begin ? end - begin : 0; }
};

/// The output positions for which a tap reads inside the image: those with 0 <= position * stride + offset < extent.
[[nodiscard]] constexpr Range inside(int offset, int stride, int extent, int out) {
    const int begin = offset >= 0 ? 0 : (-offset + stride - 1) / stride;
    const int last = extent - 1 - offset;
    const int end = last < 0 ? 0 : last / stride + 1;
    return {std::min(begin, out), std::min(end, out)};
}

/// Where the kernel row or column reads, relative to position * stride.
[[nodiscard]] constexpr int tap_offset_h(ConvShape const& s, int fh) { return fh * s.dilation_h - s.pad_top; }
[[nodiscard]] constexpr int tap_offset_w(ConvShape const& s, int fw) { return fw * s.dilation_w - s.pad_left; }
[[nodiscard]] constexpr Range tap_rows(ConvShape const& s, int fh) {
    return inside(tap_offset_h(s, fh), s.stride_h, s.h, s.out_h());
}
[[nodiscard]] constexpr Range tap_columns(ConvShape const& s, int fw) {
    return inside(tap_offset_w(s, fw), s.stride_w, s.w, s.out_w());
}

/// The element of the kernel k x c/groups x fh x fw.
[[nodiscard]] constexpr std::size_t kernel_index(ConvShape const& s, int k, int c, int fh, int fw) {
    return ((static_cast<std::size_t>(k) * static_cast<std::size_t>(s.group_c()) + static_cast<std::size_t>(c)) *
                static_cast<std::size_t>(s.fh) +
            static_cast<std::size_t>(fh)) *
               static_cast<std::size_t>(s.fw) +
           static_cast<std::size_t>(fw);
}

}  // namespace primsel::inline PRIMSEL_ABI::detail

#include <algorithm>
#include <concepts>
#include <cstddef>

namespace primsel::inline PRIMSEL_ABI::detail {

/// Depthwise convolution in hwc by any kernel: row after row, a few neighbouring pixels, of a vector of channels, at a
/// time.
struct DepthwiseRows {
    template <class Arch>
    static void run(ConvShape const& s, ConvArgs const& args, const float* src) noexcept {
        args.executor.parallel_for(static_cast<std::size_t>(s.out_h()), [&s, &args, src](std::size_t row, std::size_t) {
            const int channels = s.k, width = lanes<Arch>;
            if (channels < width) {
                for (int k = 0; k < channels; ++k) run_row<1, float, Arch>(s, args, src, static_cast<int>(row), k);
                return;
            }
            // The last vector overlaps its neighbour where the channels do not fill it.
            for (int k = 0; k < channels; k += width) {
                run_row<pixels_at_once, Floats<Arch>, Arch>(s, args, src, static_cast<int>(row),
                                                            std::min(k, channels - width));
            }
        });
    }

private:
    static constexpr int pixels_at_once = 8;

    /// One output row of the channels from k on that V holds: the pixels whose taps all lie inside `pixels` at a time,
    /// those at the borders one by one.
    template <int pixels, class V, class Arch>
    static void run_row(ConvShape const& s, ConvArgs const& args, const float* src, int oh, int k) noexcept {
        const Range first = tap_columns(s, 0), last = tap_columns(s, s.fw - 1);
        const int inner_begin = std::clamp(first.begin, 0, s.out_w()),
                  inner_end = std::clamp(std::min(first.end, last.end), inner_begin, s.out_w());
        int ow = 0;
        while (ow < s.out_w()) {
            const bool inner = ow >= inner_begin && ow < inner_end;
            if (inner && ow + pixels <= inner_end) {
                run_pixels<pixels, V, Arch>(s, args, src, oh, ow, 0, s.fw, k);
                ow += pixels;
                continue;
            }
            int begin = 0, end = s.fw;
            while (begin < s.fw && ow * s.stride_w + tap_offset_w(s, begin) < 0) ++begin;
            while (end > begin && ow * s.stride_w + tap_offset_w(s, end - 1) >= s.w) --end;
            run_pixels<1, V, Arch>(s, args, src, oh, ow, begin, end, k);
            ++ow;
        }
    }

    /// `pixels` neighbouring outputs, over the kernel columns [begin, end).
    template <int pixels, class V, class Arch>
    PRIMSEL_INLINE static void run_pixels(ConvShape const& s, ConvArgs const& args, const float* src, int oh, int ow,
                                          int begin, int end, int k) noexcept {
        const auto channels = static_cast<std::size_t>(s.k), at = static_cast<std::size_t>(k);
        const std::size_t step = static_cast<std::size_t>(s.stride_w) * channels;
        V sums[pixels];
        PRIMSEL_UNROLL
        for (int p = 0; p < pixels; ++p) sums[p] = V(0.0F);
        for (int fh = 0; fh < s.fh; ++fh) {
            const int h = oh * s.stride_h + tap_offset_h(s, fh);
            if (h < 0 || h >= s.h) continue;
            for (int fw = begin; fw < end; ++fw) {
                const int w = ow * s.stride_w + tap_offset_w(s, fw);
                const float* pixel = src + static_cast<std::size_t>(h * s.w + w) * channels + at;
                const float* weight = args.weights + static_cast<std::size_t>(fh * s.fw + fw) * channels + at;
                if constexpr (std::same_as<V, float>) {
                    sums[0] += *weight * *pixel;
                } else {
                    const V factor = load<Arch>(weight);
                    PRIMSEL_UNROLL
                    for (int p = 0; p < pixels; ++p) {
                        sums[p] = fma<Arch>(factor, load<Arch>(pixel + static_cast<std::size_t>(p) * step), sums[p]);
                    }
                }
            }
        }
        const std::size_t out = static_cast<std::size_t>(oh * s.out_w() + ow) * channels + at;
        if constexpr (std::same_as<V, float>) {
            finish_depthwise(args, sums[0], args.bias == nullptr ? 0.0F : args.bias[at], out);
        } else {
            const float* bias = args.bias == nullptr ? nullptr : args.bias + at;
            PRIMSEL_UNROLL
            for (int p = 0; p < pixels; ++p) {
                finish_depthwise<Arch>(args, sums[p], bias, out + static_cast<std::size_t>(p) * channels);
            }
        }
    }
};

}  // namespace primsel::inline PRIMSEL_ABI::detail

#include <algorithm>
#include <cstddef>

namespace primsel::inline PRIMSEL_ABI {

namespace detail {

[[nodiscard]] constexpr Support depthwise_supports(ConvShape const& s) {
    return s.groups != s.c ? Support::no("needs as many groups as channels") : Support::yes();
}

}  // namespace detail

/// Depthwise convolution in hwc: a vector of channels at a time over a few neighbouring output pixels, read in place.
/// With several kernels a channel, every channel is first repeated as often.
struct DepthwiseHwc {
    static constexpr FixedString id = "depthwise-hwc";
    static constexpr Family family = Family::other;
    using in_layout = hwc;
    using out_layout = hwc;
    static constexpr bool fuses_epilogue = true;

    [[nodiscard]] static constexpr Support supports(ConvShape const& s) { return detail::depthwise_supports(s); }

    /// Tap after tap, the weights of all kernels.
    template <class Arch>
    static void pack(ConvShape const& s, const float* kernel, float* dst) {
        for (int tap = 0; tap < s.taps(); ++tap) {
            for (int k = 0; k < s.k; ++k) *dst++ = kernel[k * s.taps() + tap];
        }
    }
    template <class Arch>
    [[nodiscard]] static std::size_t scratch_floats(ConvShape const& s, std::size_t) {
        return s.k == s.c ? 0 : s.in_pixels() * static_cast<std::size_t>(s.k);
    }

    template <class Arch>
    static void run(ConvShape const& s, ConvArgs const& args) noexcept {
        const float* src = args.src;
        if (s.k != s.c) {
            repeat_channels(s, args);
            src = args.scratch;
        }
        if (detail::DepthwiseBlocks::supports<Arch>(s)) {
            detail::DepthwiseBlocks::run<Arch>(s, args, src);
        } else {
            detail::DepthwiseRows::run<Arch>(s, args, src);
        }
    }

    template <class Arch>
    [[nodiscard]] static Work work(ConvShape const& s) {
        const double image = 4.0 * static_cast<double>(s.in_pixels()) * s.k,
                     out = 4.0 * static_cast<double>(s.out_pixels()) * s.k;
        Work work;
        if (s.k != s.c)
            work.add({.rate = Rate::scalar, .operations = image / 4, .bytes = 2 * image, .working_set = image});
        // Blocks reach a third of the peak on cached data on a Skylake Xeon, two thirds on a Zen 4.
        if (detail::DepthwiseBlocks::supports<Arch>(s)) {
            return work.add({.rate = Rate::gemm,
                             .operations = 2 * s.operations(),
                             .bytes = image + 2 * out,
                             .working_set = image + out});
        }
        return work.add({.rate = s.k < lanes<Arch> ? Rate::scalar : Rate::vector,
                         .operations = s.operations(),
                         .bytes = out * s.taps(),
                         .working_set = image + out});
    }

private:
    static void repeat_channels(ConvShape const& s, ConvArgs const& args) noexcept {
        args.executor.parallel_for(static_cast<std::size_t>(s.h), [&](std::size_t row, std::size_t) {
            const std::size_t values = static_cast<std::size_t>(s.w) * static_cast<std::size_t>(s.c),
                              times = static_cast<std::size_t>(s.k / s.c);
            const float* from = args.src + row * values;
            float* to = args.scratch + row * values * times;
            for (std::size_t i = 0; i < values; ++i) std::fill_n(to + i * times, times, from[i]);
        });
    }
};

/// Depthwise convolution in chw: each plane is copied with its padding, its columns dealt out by their remainder to the
/// stride, so that every tap reads neighbours; then vectors of output columns.
struct DepthwiseChw {
private:
    using Planes = detail::DepthwisePlanes;

public:
    static constexpr FixedString id = "depthwise-chw";
    static constexpr Family family = Family::other;
    using in_layout = chw;
    using out_layout = chw;
    static constexpr bool fuses_epilogue = true;

    [[nodiscard]] static constexpr Support supports(ConvShape const& s) { return detail::depthwise_supports(s); }

    template <class Arch>
    [[nodiscard]] static std::size_t scratch_floats(ConvShape const& s, std::size_t workers) {
        return workers * Planes::plane_floats<Arch>(s);
    }

    template <class Arch>
    static void run(ConvShape const& s, ConvArgs const& args) noexcept {
        args.executor.parallel_for(static_cast<std::size_t>(s.c), [&](std::size_t c, std::size_t worker) {
            float* plane = args.scratch + worker * Planes::plane_floats<Arch>(s);
            Planes::copy_plane<Arch>(s, args.src + c * s.in_pixels(), plane);
            const int times = s.k / s.c;
            for (int i = 0; i < times; ++i) Planes::run_kernel<Arch>(s, args, plane, static_cast<int>(c) * times + i);
        });
    }

    template <class Arch>
    [[nodiscard]] static Work work(ConvShape const& s) {
        const double plane = 4.0 * static_cast<double>(Planes::plane_floats<Arch>(s)),
                     out = 4.0 * static_cast<double>(s.out_pixels());
        const double columns = (s.out_w() + lanes<Arch> - 1) / lanes<Arch> * lanes<Arch>;
        return Work{}
            .add({.rate = s.stride_w == 1 ? Rate::vector : Rate::scalar,
                  .operations = s.stride_w == 1 ? 0.0 : static_cast<double>(s.in_pixels()) * s.c,
                  .bytes = 2 * plane * s.c,
                  .working_set = plane * s.c})
            .add({.rate = Rate::vector,
                  .operations = 2.0 * s.out_h() * columns * s.taps() * s.k,
                  .bytes = out * s.taps() * s.k,
                  .working_set = plane + out});
    }
};

}  // namespace primsel::inline PRIMSEL_ABI
// primsel/primitive/direct.hpp

// primsel/primitive/detail/depth_panels.hpp
// Kernels packed as the matrices depth x k that direct, indirect and mec multiply with.

#include <algorithm>
#include <cstring>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::detail {

template <class Arch>
[[nodiscard]] std::size_t depth_panels_size(ConvShape const& s) {
    return static_cast<std::size_t>(s.groups) * packed_size<Arch>(s.depth(), s.group_k());
}

/// The kernel of each group as a packed matrix depth x k; depth_index(c, fh, fw) orders the depth. A panel's kernels
/// are transposed some channels at a time, so that both sides are read and written in whole lines.
template <class Arch, class DepthIndex>
void pack_depth_panels(ConvShape const& s, const float* kernel, DepthIndex const& depth_index, float* dst) {
    constexpr auto width = static_cast<std::size_t>(panel_width<Arch>);
    const auto depth = static_cast<std::size_t>(s.depth()), taps = static_cast<std::size_t>(s.taps());
    const int channels_at_once = std::clamp(128 / s.taps(), 1, s.group_c());
    std::vector<float> some(static_cast<std::size_t>(channels_at_once) * taps * width);
    for (int group = 0; group < s.groups; ++group) {
        for (int first = 0; first < s.group_k(); first += panel_width<Arch>) {
            const auto columns = static_cast<std::size_t>(panel_columns<Arch>(first, s.group_k()));
            const auto kernels = std::min(width, static_cast<std::size_t>(s.group_k() - first));
            const float* src = kernel + static_cast<std::size_t>(group * s.group_k() + first) * depth;
            for (int channel = 0; channel < s.group_c(); channel += channels_at_once) {
                const int last = std::min(channel + channels_at_once, s.group_c());
                transpose_columns(src + static_cast<std::size_t>(channel) * taps, depth, some.data(), width, kernels, 0,
                                  static_cast<std::size_t>(last - channel) * taps);
                const float* row = some.data();
                for (int c = channel; c < last; ++c) {
                    for (int fh = 0; fh < s.fh; ++fh) {
                        for (int fw = 0; fw < s.fw; ++fw, row += width) {
                            float* to = dst + static_cast<std::size_t>(depth_index(c, fh, fw)) * columns;
                            std::memcpy(to, row, kernels * sizeof(float));
                            std::fill(to + kernels, to + columns, 0.0F);
                        }
                    }
                }
            }
            dst += depth * columns;
        }
    }
}

}  // namespace primsel::inline PRIMSEL_ABI::detail

#include <algorithm>
#include <cstring>

namespace primsel::inline PRIMSEL_ABI {

/// The six loops of the definition, with the columns innermost; vectorised by the compiler only.
struct DirectSum2d {
    static constexpr FixedString id = "direct-sum2d";
    static constexpr Family family = Family::direct;
    using in_layout = chw;
    using out_layout = chw;

    [[nodiscard]] static constexpr Support supports(ConvShape const&) { return Support::yes(); }

    template <class Arch>
    static void run(ConvShape const& s, ConvArgs const& args) noexcept {
        args.executor.parallel_for(static_cast<std::size_t>(s.k), [&](std::size_t k, std::size_t) {
            float* dst = args.dst + k * s.out_pixels();
            std::fill_n(dst, s.out_pixels(), 0.0F);
            const int first_c = static_cast<int>(k) / s.group_k() * s.group_c();
            for (int c = 0; c < s.group_c(); ++c) {
                const float* src = args.src + static_cast<std::size_t>(first_c + c) * s.in_pixels();
                for (int fh = 0; fh < s.fh; ++fh) {
                    for (int fw = 0; fw < s.fw; ++fw) {
                        add_tap(s, fh, fw, args.weights[detail::kernel_index(s, static_cast<int>(k), c, fh, fw)], src,
                                dst);
                    }
                }
            }
        });
    }

    template <class Arch>
    [[nodiscard]] static Work work(ConvShape const& s) {
        const double plane = 4.0 * static_cast<double>(s.in_pixels() + s.out_pixels());
        return Work{}.add({.rate = s.stride_w == 1 && s.out_w() >= 2 * lanes<Arch> ? Rate::vector : Rate::scalar,
                           .operations = s.operations(),
                           .bytes = 3 * 4.0 * static_cast<double>(s.out_pixels()) * s.k * s.depth(),
                           .working_set = plane});
    }

private:
    static void add_tap(ConvShape const& s, int fh, int fw, float weight, const float* src, float* dst) noexcept {
        const detail::Range rows = detail::tap_rows(s, fh), columns = detail::tap_columns(s, fw);
        const int offset_w = detail::tap_offset_w(s, fw), step = s.stride_w;
        for (int oh = rows.begin; oh < rows.end; ++oh) {
            const float* PRIMSEL_RESTRICT from = src + (oh * s.stride_h + detail::tap_offset_h(s, fh)) * s.w + offset_w;
            float* PRIMSEL_RESTRICT to = dst + oh * s.out_w();
            if (step == 1) {
                for (int ow = columns.begin; ow < columns.end; ++ow) to[ow] += weight * from[ow];
            } else {
                for (int ow = columns.begin; ow < columns.end; ++ow) to[ow] += weight * from[ow * step];
            }
        }
    }
};

/// Direct convolution in hwc on the register tile: a row of output pixels is a matrix whose rows overlap in the image,
/// so that no patch matrix is needed. An unpadded image is read in place; of a padded one a copy is made, strip by
/// strip where it is large.
struct DirectHwc {
    static constexpr FixedString id = "direct-hwc";
    static constexpr Family family = Family::direct;
    using in_layout = hwc;
    using out_layout = hwc;
    static constexpr bool fuses_epilogue = true, strided_output = true;

    [[nodiscard]] static constexpr Support supports(ConvShape const&) { return Support::yes(); }

    template <class Arch>
    [[nodiscard]] static std::size_t packed_floats(ConvShape const& s) {
        return detail::depth_panels_size<Arch>(s);
    }
    /// The depth is ordered fh, fw, c: as the image is.
    template <class Arch>
    static void pack(ConvShape const& s, const float* kernel, float* dst) {
        detail::pack_depth_panels<Arch>(
            s, kernel, [&s](int c, int fh, int fw) { return (fh * s.fw + fw) * s.group_c() + c; }, dst);
    }

    template <class Arch>
    [[nodiscard]] static std::size_t scratch_floats(ConvShape const& s, std::size_t workers) {
        if (!s.padded()) return 0;
        return in_strips(s) ? workers * copy_floats(s, rows_per_block(s)) : copy_floats(s, s.out_h());
    }

    /// Independent are the strips, or blocks of pixels times panels of output channels.
    template <class Arch>
    static void run(ConvShape const& s, ConvArgs const& args) noexcept {
        if (s.padded() && in_strips(s)) return run_strips<Arch>(s, args);
        const float* image = args.src;
        if (s.padded()) {
            args.executor.parallel_for(
                static_cast<std::size_t>(copy_rows(s, s.out_h())), [&s, &args](std::size_t row, std::size_t) {
                    copy_row(s, args.src, static_cast<int>(row) - s.pad_top, args.scratch + row * row_floats(s));
                });
            image = args.scratch;
        }
        const auto pixels = s.out_pixels(), most = static_cast<std::size_t>(detail::block_rows<Arch>);
        const std::size_t blocks = (pixels + most - 1) / most;
        const int panels = detail::panel_count<Arch>(s.group_k());
        const auto parts = static_cast<std::size_t>(s.groups * panels);
        args.executor.parallel_for(blocks * parts, [=, &s, &args](std::size_t i, std::size_t) {
            const std::size_t block = i / parts;
            const int part = static_cast<int>(i % parts), group = part / panels;
            detail::multiply_one_panel<Arch>(product<Arch>(s, args, image, 0, group, block == 0),
                                             static_cast<int>(block * pixels / blocks),
                                             static_cast<int>((block + 1) * pixels / blocks), s.group_k(),
                                             weights_of<Arch>(s, args, group), part % panels);
        });
    }

    template <class Arch>
    [[nodiscard]] static Work work(ConvShape const& s) {
        const double pixels = static_cast<double>(s.out_pixels());
        const double columns = static_cast<double>(s.groups) * detail::padded_columns<Arch>(s.group_k());
        const double weights = 4.0 * s.depth() * columns, blocks = static_cast<double>(s.out_h()) / rows_per_block(s);
        const double in = 4.0 * static_cast<double>(s.in_shape().size()), out = 4.0 * pixels * s.k;
        Work work;
        if (s.padded()) work.add({.rate = Rate::vector, .operations = 0, .bytes = 2 * in, .working_set = in});
        return work.add({.rate = Rate::gemm,
                         .operations = 2 * pixels * columns * s.depth(),
                         .bytes = in + weights * std::max(1.0, blocks) + 2 * out,
                         .working_set = in + weights + out});
    }

private:
    /// Floats of a row of the padded image.
    [[nodiscard]] static constexpr std::size_t row_floats(ConvShape const& s) {
        return static_cast<std::size_t>(s.padded_w()) * static_cast<std::size_t>(s.c);
    }
    /// About 224 output pixels: enough to read each panel seldom, few enough for the strip to stay in L2. Of images
    /// with few channels more, since the rows that two strips share are copied twice.
    [[nodiscard]] static constexpr int rows_per_block(ConvShape const& s) {
        const int pixels = s.out_h() * s.out_w(), most = s.c < 16 ? 896 : 224, blocks = (pixels + most - 1) / most;
        return (s.out_h() + blocks - 1) / blocks;
    }
    /// Rows of the padded image under so many rows of the output, and their floats.
    [[nodiscard]] static constexpr int copy_rows(ConvShape const& s, int out_rows) {
        return (out_rows - 1) * s.stride_h + s.span_h();
    }
    [[nodiscard]] static constexpr std::size_t copy_floats(ConvShape const& s, int out_rows) {
        return round_up_floats(row_floats(s) * static_cast<std::size_t>(copy_rows(s, out_rows)));
    }
    /// Whether a copy of the whole image would not stay in L2.
    [[nodiscard]] static constexpr bool in_strips(ConvShape const& s) {
        return copy_floats(s, s.out_h()) > l2_floats / 16 * 9;
    }

    /// Row h of the image with its padding; all zeros outside.
    static void copy_row(ConvShape const& s, const float* src, int h, float* dst) noexcept {
        if (h < 0 || h >= s.h) {
            std::fill_n(dst, row_floats(s), 0.0F);
            return;
        }
        const auto c = static_cast<std::size_t>(s.c);
        const std::size_t left = static_cast<std::size_t>(s.pad_left) * c, row = static_cast<std::size_t>(s.w) * c,
                          right = static_cast<std::size_t>(s.pad_right) * c;
        std::fill_n(dst, left, 0.0F);
        std::memcpy(dst + left, src + static_cast<std::size_t>(h) * row, row * sizeof(float));
        std::fill_n(dst + left + row, right, 0.0F);
    }

    template <class Arch>
    [[nodiscard]] static const float* weights_of(ConvShape const& s, ConvArgs const& args, int group) {
        return args.weights + static_cast<std::size_t>(group) * detail::packed_size<Arch>(s.depth(), s.group_k());
    }

    /// A group's product for the output rows from `first` on, whose image with its padding begins at `image`. Weights
    /// that are not in L2 are fetched: all of them when they are read first, those that do not stay there always.
    template <class Arch>
    [[nodiscard]] static detail::TileArgs product(ConvShape const& s, ConvArgs const& args, const float* image,
                                                  int first, int group, bool read_first) {
        const std::size_t weights = packed_floats<Arch>(s);
        const auto c = static_cast<std::size_t>(s.c);
        const std::size_t pixel = args.pixel_stride(s);
        const int first_k = group * s.group_k();
        // Neighbouring taps of all channels are one run of the image.
        const bool whole_row = s.groups == 1 && s.dilation_w == 1;
        const std::size_t at = static_cast<std::size_t>(first * s.out_w()) * pixel + static_cast<std::size_t>(first_k);
        return {.a = image + static_cast<std::size_t>(group * s.group_c()),
                .a_stride = static_cast<std::size_t>(s.stride_w) * c,
                .row_length = s.out_w(),
                .row_step = static_cast<std::size_t>(s.stride_h) * row_floats(s),
                .outer = s.fh,
                .inner = whole_row ? 1 : s.fw,
                .run = whole_row ? s.fw * s.c : s.group_c(),
                .outer_step = static_cast<std::size_t>(s.dilation_h) * row_floats(s),
                .inner_step = static_cast<std::size_t>(s.dilation_w) * c,
                .fetch_end = read_first || weights > l2_floats / 8 * 3 ? args.weights + weights : nullptr,
                .c = args.dst + at,
                .c_stride = pixel,
                .column_bias = args.bias == nullptr ? nullptr : args.bias + first_k,
                .residual = args.residual == nullptr ? nullptr : args.residual + at,
                .clamp = args.clamp};
    }

    template <class Arch>
    static void run_strips(ConvShape const& s, ConvArgs const& args) noexcept {
        const int rows = rows_per_block(s);
        const auto blocks = static_cast<std::size_t>((s.out_h() + rows - 1) / rows);
        args.executor.parallel_for(blocks, [&s, &args, rows](std::size_t block, std::size_t worker) {
            const int first = static_cast<int>(block) * rows, last = std::min(first + rows, s.out_h());
            float* copy = args.scratch + worker * copy_floats(s, rows);
            for (int i = 0; i < copy_rows(s, last - first); ++i) {
                copy_row(s, args.src, first * s.stride_h + i - s.pad_top,
                         copy + static_cast<std::size_t>(i) * row_floats(s));
            }
            for (int group = 0; group < s.groups; ++group) {
                detail::multiply_panels<Arch>(product<Arch>(s, args, copy, first, group, block == 0), 0,
                                              (last - first) * s.out_w(), s.group_k(),
                                              weights_of<Arch>(s, args, group));
            }
        });
    }
};

}  // namespace primsel::inline PRIMSEL_ABI
// primsel/primitive/grouped.hpp

// primsel/primitive/detail/pixel_pointers.hpp

#include <cstddef>

namespace primsel::inline PRIMSEL_ABI::detail {

/// Floats of scratch that so many pointers take.
[[nodiscard]] constexpr std::size_t pointer_floats(std::size_t pointers) {
    return round_up_floats(pointers * (sizeof(const float*) / sizeof(float)));
}

/// The pixels of an image in hwc under each tap of `count` neighbouring output pixels, pointers[tap * count + pixel]; a
/// tap in the padding points to zeros, as many as the image has channels.
inline void point_to_pixels(ConvShape const& s, const float* src, const float* zeros, int first, int count,
                            const float** pointers) noexcept {
    for (int fh = 0; fh < s.fh; ++fh) {
        for (int fw = 0; fw < s.fw; ++fw) {
            for (int i = 0; i < count; ++i) {
                const int pixel = first + i, oh = pixel / s.out_w(), ow = pixel % s.out_w();
                const int h = oh * s.stride_h + tap_offset_h(s, fh), w = ow * s.stride_w + tap_offset_w(s, fw);
                const bool in = h >= 0 && h < s.h && w >= 0 && w < s.w;
                *pointers++ = in ? src + static_cast<std::size_t>(h * s.w + w) * static_cast<std::size_t>(s.c) : zeros;
            }
        }
    }
}

}  // namespace primsel::inline PRIMSEL_ABI::detail

#include <algorithm>
#include <cstddef>
#include <new>
#include <utility>

namespace primsel::inline PRIMSEL_ABI {

/// Convolution in hwc whose groups are of 2, 4 or 8 channels, as many of the output as of the input: a vector holds the
/// channels of several groups. Each channel of a group is repeated in all lanes of the group and multiplied with the
/// weights that lead from it to each of them. Where a vector is no wider than a group, a channel fills it.
struct GroupedHwc {
    static constexpr FixedString id = "grouped-hwc";
    static constexpr Family family = Family::other;
    using in_layout = hwc;
    using out_layout = hwc;
    static constexpr bool fuses_epilogue = true;

    [[nodiscard]] static constexpr Support supports(ConvShape const& s) {
        const int size = s.group_c();
        if ((size != 2 && size != 4 && size != 8) || size != s.group_k()) {
            return Support::no("needs groups of 2, 4 or 8 channels");
        }
        return s.c < 16 ? Support::no("needs 16 channels or more") : Support::yes();
    }

    template <class Arch>
    [[nodiscard]] static std::size_t packed_floats(ConvShape const& s) {
        return static_cast<std::size_t>(vectors<Arch>(s)) * vector_weights<Arch>(s);
    }
    /// Vector after vector of output channels; of each, tap after tap, a vector for each channel of the groups.
    template <class Arch>
    static void pack(ConvShape const& s, const float* kernel, float* dst) {
        for (int v = 0; v < vectors<Arch>(s); ++v) {
            const int first = first_channel<Arch>(s, v);
            for (int tap = 0; tap < s.taps(); ++tap) {
                for (int c = 0; c < s.group_c(); ++c) {
                    for (int lane = 0; lane < lanes<Arch>; ++lane) {
                        *dst++ = kernel[detail::kernel_index(s, first + lane, c, tap / s.fw, tap % s.fw)];
                    }
                }
            }
        }
    }
    template <class Arch>
    [[nodiscard]] static std::size_t scratch_floats(ConvShape const& s, std::size_t workers) {
        return zeros(s) + workers * detail::pointer_floats(block_pointers<Arch>(s));
    }

    template <class Arch>
    static void run(ConvShape const& s, ConvArgs const& args) noexcept {
        std::fill_n(args.scratch, zeros(s), 0.0F);
        const int pixels = static_cast<int>(s.out_pixels());
        constexpr int block = block_pixels<Arch>;
        args.executor.parallel_for(
            static_cast<std::size_t>((pixels + block - 1) / block), [=, &s, &args](std::size_t i, std::size_t worker) {
                auto* slot = args.scratch + zeros(s) + worker * detail::pointer_floats(block_pointers<Arch>(s));
                auto* pointers = ::new (static_cast<void*>(slot)) const float*[block_pointers<Arch>(s)];
                const int first = static_cast<int>(i) * block, count = std::min(block, pixels - first);
                point<Arch>(s, args, first, count, pointers);
                const Block<Arch> of{s, args, pointers, first, count};
                switch (s.group_c()) {
                    case 2:
                        return run_block<2, Arch>(of);
                    case 4:
                        return run_block<4, Arch>(of);
                    default:
                        return run_block<8, Arch>(of);
                }
            });
    }

    template <class Arch>
    [[nodiscard]] static Work work(ConvShape const& s) {
        const double pixels = static_cast<double>(s.out_pixels()), in = 4.0 * static_cast<double>(s.in_shape().size()),
                     out = 4.0 * pixels * s.k, weights = 4.0 * static_cast<double>(packed_floats<Arch>(s));
        const double channels = static_cast<double>(vectors<Arch>(s)) * lanes<Arch>;
        return Work{}
            .add({.rate = Rate::scalar,
                  .operations = pixels * s.taps(),
                  .bytes = 8.0 * pixels * s.taps(),
                  .working_set = 8.0 * static_cast<double>(block_pointers<Arch>(s))})
            // Beside every multiply-add there is a permutation; of two channels, a load for every other as well.
            .add({.rate = Rate::gemm,
                  .operations = (s.group_c() == 2 ? 2.5 : 1.6) * 2 * pixels * channels * s.depth(),
                  .bytes = in + weights * std::max(1.0, pixels / block_pixels<Arch>) + 2 * out,
                  .working_set = in + weights + out});
    }

private:
    /// Output pixels whose sums stay in registers, with the weights of a tap beside them.
    template <class Arch>
    static constexpr int block_pixels = registers<Arch> == 32 ? 12 : 6;

    template <class Arch>
    struct Block {
        ConvShape const& s;
        ConvArgs const& args;
        const float* const* pointers;
        int first, count;
    };

    [[nodiscard]] static std::size_t zeros(ConvShape const& s) {
        return round_up_floats(static_cast<std::size_t>(s.c));
    }
    template <class Arch>
    [[nodiscard]] static std::size_t block_pointers(ConvShape const& s) {
        return static_cast<std::size_t>(block_pixels<Arch> * s.taps());
    }
    template <class Arch>
    [[nodiscard]] static std::size_t vector_weights(ConvShape const& s) {
        return static_cast<std::size_t>(s.depth() * lanes<Arch>);
    }
    template <class Arch>
    [[nodiscard]] static constexpr int vectors(ConvShape const& s) {
        return (s.c + lanes<Arch> - 1) / lanes<Arch>;
    }
    /// Of a vector; the last one begins where it ends with the channels, and computes some of them again.
    template <class Arch>
    [[nodiscard]] static constexpr int first_channel(ConvShape const& s, int vector) {
        return std::min(vector * lanes<Arch>, s.c - lanes<Arch>);
    }

    /// As many pixels as a block has, whether they are there or not.
    template <class Arch>
    static void point(ConvShape const& s, ConvArgs const& args, int first, int count, const float** pointers) noexcept {
        constexpr int block = block_pixels<Arch>;
        detail::point_to_pixels(s, args.src, args.scratch, first, count, pointers);
        for (int tap = s.taps() - 1; count < block && tap >= 0; --tap) {
            std::copy_backward(pointers + tap * count, pointers + (tap + 1) * count, pointers + tap * block + count);
            std::fill_n(pointers + tap * block + count, block - count, args.scratch);
        }
    }

    template <int size, class Arch>
    static void run_block(Block<Arch> const& of) noexcept {
        const float* weights = of.args.weights;
        for (int v = 0; v < vectors<Arch>(of.s); ++v, weights += vector_weights<Arch>(of.s)) {
            run_vector<size, Arch>(of, first_channel<Arch>(of.s, v), weights);
        }
    }

    template <int size, class Arch>
    static void run_vector(Block<Arch> const& of, int first, const float* weights) noexcept {
        constexpr int block = block_pixels<Arch>, width = lanes<Arch>;
        // Where a group begins, if it is wider than a vector.
        const int from = size > width ? first / size * size : first;
        Floats<Arch> sums[block];
        PRIMSEL_UNROLL
        for (int p = 0; p < block; ++p) sums[p] = broadcast<Arch>(0.0F);
        const float* const* pointers = of.pointers;
        for (int tap = 0; tap < of.s.taps(); ++tap, pointers += block, weights += size * width) {
            add_tap<Arch>(pointers, from, weights, sums, std::make_integer_sequence<int, size>{});
        }
        finish<Arch>(of, first, sums);
    }

    template <class Arch, int... c>
    PRIMSEL_INLINE static void add_tap(const float* const* pointers, int from, const float* weights,
                                       Floats<Arch> (&sums)[block_pixels<Arch>],
                                       std::integer_sequence<int, c...>) noexcept {
        constexpr int size = sizeof...(c), width = lanes<Arch>;
        const Floats<Arch> to[]{load<Arch>(weights + c * width)...};
        PRIMSEL_UNROLL
        for (int p = 0; p < block_pixels<Arch>; ++p) {
            const float* pixel = pointers[p] + from;
            if constexpr (size < width) {
                const auto x = load<Arch>(pixel);
                ((sums[p] = fma<Arch>(repeat_lane<Arch, size, c>(x), to[c], sums[p])), ...);
            } else {
                ((sums[p] = fma<Arch>(broadcast<Arch>(pixel[c]), to[c], sums[p])), ...);
            }
        }
    }

    template <class Arch>
    PRIMSEL_INLINE static void finish(Block<Arch> const& of, int first,
                                      Floats<Arch> const (&sums)[block_pixels<Arch>]) noexcept {
        ConvArgs const& args = of.args;
        const auto bias = args.bias != nullptr ? load<Arch>(args.bias + first) : broadcast<Arch>(0.0F);
        const auto low = broadcast<Arch>(args.clamp.low), high = broadcast<Arch>(args.clamp.high);
        PRIMSEL_UNROLL
        for (int p = 0; p < block_pixels<Arch>; ++p) {
            const std::size_t at = static_cast<std::size_t>(of.first + p) * static_cast<std::size_t>(of.s.k) +
                                   static_cast<std::size_t>(first);
            if (p < of.count) {
                Floats<Arch> sum = sums[p] + bias;
                if (args.residual != nullptr) sum += load<Arch>(args.residual + at);
                store<Arch>(args.dst + at, clamp<Arch>(sum, low, high));
            }
        }
    }
};

}  // namespace primsel::inline PRIMSEL_ABI
// primsel/primitive/im2.hpp

// primsel/primitive/detail/patch.hpp
// The ways to build a patch matrix.

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace primsel::inline PRIMSEL_ABI::detail {

/// One row (channel, tap) of an im2col matrix, element by element with bounds tests. plane: the channel's h x w.
inline void scan_column(ConvShape const& s, const float* plane, int fh, int fw, float* dst) noexcept {
    for (int oh = 0; oh < s.out_h(); ++oh) {
        const int h = oh * s.stride_h + tap_offset_h(s, fh);
        for (int ow = 0; ow < s.out_w(); ++ow) {
            const int w = ow * s.stride_w + tap_offset_w(s, fw);
            *dst++ = h >= 0 && h < s.h && w >= 0 && w < s.w ? plane[h * s.w + w] : 0.0F;
        }
    }
}

/// One output row of the same, as a run of the image row between two runs of zeros.
inline void copy_run(ConvShape const& s, const float* plane, int fh, int fw, int oh, float* dst) noexcept {
    const int h = oh * s.stride_h + tap_offset_h(s, fh);
    if (h < 0 || h >= s.h) {
        std::fill_n(dst, s.out_w(), 0.0F);
        return;
    }
    const Range columns = tap_columns(s, fw);
    const float* src = plane + h * s.w + tap_offset_w(s, fw);
    std::fill_n(dst, columns.begin, 0.0F);
    if (s.stride_w == 1) {
        std::copy(src + columns.begin, src + std::max(columns.begin, columns.end), dst + columns.begin);
    } else {
        for (int ow = columns.begin; ow < columns.end; ++ow) dst[ow] = src[ow * s.stride_w];
    }
    const int tail = std::max(columns.begin, columns.end);
    std::fill_n(dst + tail, s.out_w() - tail, 0.0F);
}

/// One row of an im2col matrix from runs.
inline void copy_column(ConvShape const& s, const float* plane, int fh, int fw, float* dst) noexcept {
    for (int oh = 0; oh < s.out_h(); ++oh) copy_run(s, plane, fh, fw, oh, dst + oh * s.out_w());
}

/// One channel of an im2col matrix (taps x pixels at dst): a tap whose predecessor by one stride is there already is
/// that row moved by one output row or one output column; only what the move does not fill comes from the image.
inline void copy_self(ConvShape const& s, const float* plane, float* dst) noexcept {
    const std::size_t pixels = s.out_pixels(), row = static_cast<std::size_t>(s.out_w());
    const auto tap = [&](int fh, int fw) { return dst + static_cast<std::size_t>(fh * s.fw + fw) * pixels; };
    const int back_h = s.stride_h % s.dilation_h == 0 ? s.stride_h / s.dilation_h : s.fh;
    const int back_w = s.stride_w % s.dilation_w == 0 ? s.stride_w / s.dilation_w : s.fw;
    for (int fh = 0; fh < s.fh; ++fh) {
        for (int fw = 0; fw < s.fw; ++fw) {
            float* to = tap(fh, fw);
            if (fh >= back_h) {
                std::memcpy(to, tap(fh - back_h, fw) + row, (pixels - row) * sizeof(float));
                copy_run(s, plane, fh, fw, s.out_h() - 1, to + pixels - row);
            } else if (fw >= back_w) {
                std::memcpy(to, tap(fh, fw - back_w) + 1, (pixels - 1) * sizeof(float));
                const int w = (s.out_w() - 1) * s.stride_w + tap_offset_w(s, fw);
                for (int oh = 0; oh < s.out_h(); ++oh) {
                    const int h = oh * s.stride_h + tap_offset_h(s, fh);
                    const bool in = h >= 0 && h < s.h && w >= 0 && w < s.w;
                    to[static_cast<std::size_t>(oh + 1) * row - 1] = in ? plane[h * s.w + w] : 0.0F;
                }
            } else {
                copy_column(s, plane, fh, fw, to);
            }
        }
    }
}

/// One row (output pixel) of an im2row matrix from a chw image, ordered c, fh, fw.
inline void scan_row(ConvShape const& s, const float* src, int first_c, int oh, int ow, float* dst) noexcept {
    for (int c = 0; c < s.group_c(); ++c) {
        const float* plane = src + static_cast<std::size_t>(first_c + c) * s.in_pixels();
        for (int fh = 0; fh < s.fh; ++fh) {
            const int h = oh * s.stride_h + tap_offset_h(s, fh);
            for (int fw = 0; fw < s.fw; ++fw) {
                const int w = ow * s.stride_w + tap_offset_w(s, fw);
                *dst++ = h >= 0 && h < s.h && w >= 0 && w < s.w ? plane[h * s.w + w] : 0.0F;
            }
        }
    }
}

/// One row (output pixel) of an im2row matrix from an hwc image, ordered fh, fw, c: runs of a kernel row where the
/// channels of its taps are neighbours in the image, of one tap otherwise.
inline void copy_row(ConvShape const& s, const float* src, int first_c, int oh, int ow, float* dst) noexcept {
    const auto channels = static_cast<std::size_t>(s.group_c()), pixel = static_cast<std::size_t>(s.c);
    const int w0 = ow * s.stride_w - s.pad_left;
    const bool one_run = s.groups == 1 && s.dilation_w == 1 && w0 >= 0 && w0 + s.fw <= s.w;
    for (int fh = 0; fh < s.fh; ++fh) {
        const int h = oh * s.stride_h + tap_offset_h(s, fh);
        const std::size_t run = static_cast<std::size_t>(s.fw) * channels;
        if (h < 0 || h >= s.h) {
            std::fill_n(dst, run, 0.0F);
        } else if (one_run) {
            std::memcpy(dst, src + static_cast<std::size_t>(h * s.w + w0) * pixel, run * sizeof(float));
        } else {
            for (int fw = 0; fw < s.fw; ++fw) {
                const int w = w0 + fw * s.dilation_w;
                float* to = dst + static_cast<std::size_t>(fw) * channels;
                if (w < 0 || w >= s.w) {
                    std::fill_n(to, channels, 0.0F);
                } else {
                    const float* from = src + static_cast<std::size_t>(h * s.w + w) * pixel + first_c;
                    std::memcpy(to, from, channels * sizeof(float));
                }
            }
        }
        dst += run;
    }
}

}  // namespace primsel::inline PRIMSEL_ABI::detail

namespace primsel::inline PRIMSEL_ABI {

/// The patch matrix: depth x pixels (col) or pixels x depth (row).
enum class Patch { col, row };
/// How it is built: element by element with bounds tests, in runs of one kernel row, or mostly from itself.
enum class PatchCopy { scan, copy_short, copy_self };

/// im2col and im2row (Jia 2014): a patch matrix, then one product a group.
template <Patch patch, PatchCopy copy, GemmForm form, GemmOut out, Gemm G = SimdGemm>
struct Im2 {
private:
    using traits = detail::FormTraits<form, out>;
    static_assert(traits::patches_depth_major == (patch == Patch::col), "this form does not fit the patch matrix");
    static_assert(patch == Patch::col || copy != PatchCopy::copy_self, "only im2col is copied from itself");
    static constexpr bool from_hwc = patch == Patch::row && copy == PatchCopy::copy_short;

    static constexpr auto prefix = [] {
        if constexpr (patch == Patch::row && copy == PatchCopy::scan)
            return FixedString("im2row-scan-");
        else if constexpr (patch == Patch::row)
            return FixedString("im2row-copy-short-");
        else if constexpr (copy == PatchCopy::scan)
            return FixedString("im2col-scan-");
        else if constexpr (copy == PatchCopy::copy_short)
            return FixedString("im2col-copy-short-");
        else
            return FixedString("im2col-copy-self-");
    }();

public:
    static constexpr auto id = prefix + traits::name + detail::gemm_suffix<G>;
    template <Gemm Other>
    using with_gemm = Im2<patch, copy, form, out, Other>;
    static constexpr Family family = Family::im2;
    using in_layout = std::conditional_t<from_hwc, hwc, chw>;
    using out_layout = typename traits::out_layout;
    static constexpr bool fuses_epilogue = true;

    /// As in the papers' data, only copy-self and the copies from hwc take strides.
    [[nodiscard]] static constexpr Support supports(ConvShape const& s) {
        const bool takes_strides = from_hwc || copy == PatchCopy::copy_self;
        return s.strided() && !takes_strides ? Support::no("needs stride 1") : Support::yes();
    }

    template <class Arch>
    [[nodiscard]] static std::size_t scratch_floats(ConvShape const& s, std::size_t workers) {
        const auto size = traits::sizes(s);
        return patch_floats(s) + G::template scratch_floats<Arch>(size.m, size.n, size.k, workers);
    }
    template <class Arch>
    static void pack(ConvShape const& s, const float* kernel, float* dst) {
        detail::pack_kernel<traits::kernel_depth_major>(
            s, kernel,
            [&s](int c, int fh, int fw) {
                return from_hwc ? (fh * s.fw + fw) * s.group_c() + c : (c * s.fh + fh) * s.fw + fw;
            },
            dst);
    }

    template <class Arch>
    static void run(ConvShape const& s, ConvArgs const& args) noexcept {
        float* patches = args.scratch;
        const auto stride = patch == Patch::col ? s.out_pixels() : static_cast<std::size_t>(s.depth());
        for (int group = 0; group < s.groups; ++group) {
            build(s, args, group * s.group_c(), patches);
            traits::template multiply<G, Arch>(s, args, group, patches, stride, args.scratch + patch_floats(s));
        }
    }

    template <class Arch>
    [[nodiscard]] static Work work(ConvShape const& s) {
        const auto size = traits::sizes(s);
        const double elements = static_cast<double>(s.out_pixels()) * s.depth() * s.groups;
        const double patches = 4.0 * static_cast<double>(patch_floats(s));
        return Work{}
            .add({.rate = copy == PatchCopy::scan ? Rate::scalar : Rate::vector,
                  .operations = copy == PatchCopy::scan ? elements : 0,
                  .bytes = 8 * elements,
                  .working_set = patches})
            .append(G::template work<Arch>(size.m, size.n, size.k), s.groups);
    }

private:
    [[nodiscard]] static std::size_t patch_floats(ConvShape const& s) {
        return round_up_floats(s.out_pixels() * static_cast<std::size_t>(s.depth()));
    }

    static void build(ConvShape const& s, ConvArgs const& args, int first_c, float* patches) noexcept {
        if constexpr (patch == Patch::col) {
            const std::size_t pixels = s.out_pixels();
            args.executor.parallel_for(static_cast<std::size_t>(s.group_c()), [&](std::size_t c, std::size_t) {
                const float* plane = args.src + (static_cast<std::size_t>(first_c) + c) * s.in_pixels();
                float* dst = patches + c * static_cast<std::size_t>(s.taps()) * pixels;
                if constexpr (copy == PatchCopy::copy_self) {
                    detail::copy_self(s, plane, dst);
                } else {
                    for (int fh = 0; fh < s.fh; ++fh) {
                        for (int fw = 0; fw < s.fw; ++fw, dst += pixels) {
                            if constexpr (copy == PatchCopy::scan)
                                detail::scan_column(s, plane, fh, fw, dst);
                            else
                                detail::copy_column(s, plane, fh, fw, dst);
                        }
                    }
                }
            });
        } else {
            const auto depth = static_cast<std::size_t>(s.depth());
            args.executor.parallel_for(static_cast<std::size_t>(s.out_h()), [&, depth](std::size_t row, std::size_t) {
                const int oh = static_cast<int>(row);
                float* dst = patches + row * static_cast<std::size_t>(s.out_w()) * depth;
                for (int ow = 0; ow < s.out_w(); ++ow, dst += depth) {
                    if constexpr (copy == PatchCopy::scan)
                        detail::scan_row(s, args.src, first_c, oh, ow, dst);
                    else
                        detail::copy_row(s, args.src, first_c, oh, ow, dst);
                }
            });
        }
    }
};

}  // namespace primsel::inline PRIMSEL_ABI
// primsel/primitive/im2win.hpp

// primsel/primitive/detail/strip.hpp
// The strip of mec-row-partition and im2win: what one output row reads, stored column by column, so that overlapping
// windows of it are the row's patches.

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace primsel::inline PRIMSEL_ABI::detail {

/// Floats of a strip, padded_w x fh x c.
[[nodiscard]] inline std::size_t strip_floats(ConvShape const& s) {
    return round_up_floats(static_cast<std::size_t>(s.padded_w()) * static_cast<std::size_t>(s.fh) *
                           static_cast<std::size_t>(s.c));
}

/// The strip of output row `oh`, from an image in hwc.
inline void lower_to_strip(ConvShape const& s, const float* src, int oh, float* dst) noexcept {
    const auto c = static_cast<std::size_t>(s.c);
    for (int column = 0; column < s.padded_w(); ++column) {
        const int w = column - s.pad_left;
        for (int fh = 0; fh < s.fh; ++fh, dst += c) {
            const int h = oh * s.stride_h + tap_offset_h(s, fh);
            if (h < 0 || h >= s.h || w < 0 || w >= s.w) {
                std::fill_n(dst, c, 0.0F);
            } else {
                std::memcpy(dst, src + static_cast<std::size_t>(h * s.w + w) * c, c * sizeof(float));
            }
        }
    }
}

}  // namespace primsel::inline PRIMSEL_ABI::detail

#include <algorithm>
#include <cmath>

namespace primsel::inline PRIMSEL_ABI {

/// im2win (Lu, Chu and Liu 2022, arXiv 2306.14320): for every output row, the image's rows under the kernel are stored
/// column by column, so that each output's window is one run; an output is then the dot product of that run and a
/// kernel. Vectors run along the window, and four columns by four kernels share what they read.
struct Im2Win {
    static constexpr FixedString id = "im2win";
    static constexpr Family family = Family::other;
    using in_layout = hwc;
    using out_layout = hwc;
    static constexpr bool fuses_epilogue = true;

    [[nodiscard]] static constexpr Support supports(ConvShape const& s) {
        if (s.groups != 1) return Support::no("needs one group");
        return s.dilated() ? Support::no("needs dilation 1") : Support::yes();
    }

    template <class Arch>
    [[nodiscard]] static std::size_t scratch_floats(ConvShape const& s, std::size_t workers) {
        return workers * detail::strip_floats(s);
    }
    /// Each kernel ordered as the windows are: fw, fh, c.
    template <class Arch>
    static void pack(ConvShape const& s, const float* kernel, float* dst) {
        for (int k = 0; k < s.k; ++k) {
            for (int fw = 0; fw < s.fw; ++fw) {
                for (int fh = 0; fh < s.fh; ++fh) {
                    for (int c = 0; c < s.c; ++c) *dst++ = kernel[detail::kernel_index(s, k, c, fh, fw)];
                }
            }
        }
    }

    template <class Arch>
    static void run(ConvShape const& s, ConvArgs const& args) noexcept {
        args.executor.parallel_for(
            static_cast<std::size_t>(s.out_h()), [&s, &args](std::size_t row, std::size_t worker) {
                float* strip = args.scratch + worker * detail::strip_floats(s);
                detail::lower_to_strip(s, args.src, static_cast<int>(row), strip);
                for (int k = 0; k < s.k; k += block) {
                    const int kernels = std::min(block, s.k - k);
                    for (int ow = 0; ow < s.out_w(); ow += block) {
                        const int columns = std::min(block, s.out_w() - ow);
                        dot<Arch>(s, args, strip, static_cast<int>(row), ow, columns, k, kernels);
                    }
                }
            });
    }

    template <class Arch>
    [[nodiscard]] static Work work(ConvShape const& s) {
        const double strip = 4.0 * static_cast<double>(detail::strip_floats(s)),
                     weights = 4.0 * static_cast<double>(s.kernel_size());
        const double tiles =
            std::ceil(s.out_w() / static_cast<double>(block)) * std::ceil(s.k / static_cast<double>(block)) * s.out_h();
        const double steps = std::ceil(s.depth() / static_cast<double>(lanes<Arch>)) * lanes<Arch>;
        return Work{}
            .add({.rate = Rate::vector, .operations = 0, .bytes = 2 * strip * s.out_h(), .working_set = strip})
            .add({.rate = Rate::gemm,
                  .operations = tiles * 2 * block * block * (steps + 8.0 * lanes<Arch>),
                  .bytes = tiles * 2 * block * 4.0 * s.depth(),
                  .working_set = strip + weights});
    }

private:
    /// Columns and kernels of a tile.
    static constexpr int block = 4;

    /// The dot products of `columns` windows with `kernels` kernels; at the edges the last one is computed again in
    /// place of those that are not there.
    template <class Arch>
    static void dot(ConvShape const& s, ConvArgs const& args, const float* strip, int oh, int ow, int columns, int k,
                    int kernels) noexcept {
        const int depth = s.depth(), width = lanes<Arch>;
        const float *a[block], *b[block];
        for (int i = 0; i < block; ++i) {
            a[i] = strip + static_cast<std::size_t>((ow + std::min(i, columns - 1)) * s.stride_w * s.fh) *
                               static_cast<std::size_t>(s.c);
            b[i] =
                args.weights + static_cast<std::size_t>(k + std::min(i, kernels - 1)) * static_cast<std::size_t>(depth);
        }
        Floats<Arch> sums[block][block];
        PRIMSEL_UNROLL
        for (int i = 0; i < block; ++i) {
            PRIMSEL_UNROLL
            for (int j = 0; j < block; ++j) sums[i][j] = broadcast<Arch>(0.0F);
        }
        int at = 0;
        for (; at + width <= depth; at += width) {
            Floats<Arch> kernel[block];
            PRIMSEL_UNROLL
            for (int j = 0; j < block; ++j) kernel[j] = load<Arch>(b[j] + at);
            PRIMSEL_UNROLL
            for (int i = 0; i < block; ++i) {
                const auto window = load<Arch>(a[i] + at);
                PRIMSEL_UNROLL
                for (int j = 0; j < block; ++j) sums[i][j] = fma<Arch>(window, kernel[j], sums[i][j]);
            }
        }
        for (int i = 0; i < columns; ++i) {
            alignas(64) float totals[block];
            add_up<Arch>(sums[i]).store_aligned(totals);
            const std::size_t to = static_cast<std::size_t>(oh * s.out_w() + ow + i) * static_cast<std::size_t>(s.k) +
                                   static_cast<std::size_t>(k);
            for (int j = 0; j < kernels; ++j) {
                float total = totals[j];
                for (int rest = at; rest < depth; ++rest) total += a[i][rest] * b[j][rest];
                if (args.bias != nullptr) total += args.bias[k + j];
                if (args.residual != nullptr) total += args.residual[to + static_cast<std::size_t>(j)];
                args.dst[to + static_cast<std::size_t>(j)] = clamp(total, args.clamp.low, args.clamp.high);
            }
        }
    }

    /// The totals of four vectors: each is folded to four lanes, then the lanes of all four are added crosswise.
    template <class Arch>
    [[nodiscard]] PRIMSEL_INLINE static FourFloats add_up(Floats<Arch> const (&vectors)[block]) {
        static_assert(block == 4);
        FourFloats folded[block];
        PRIMSEL_UNROLL
        for (int j = 0; j < block; ++j) {
            alignas(64) float values[lanes<Arch>];
            vectors[j].store_aligned(values);
            folded[j] = FourFloats::load_aligned(values);
            for (int i = 4; i < lanes<Arch>; i += 4) folded[j] += FourFloats::load_aligned(values + i);
        }
        transpose(folded[0], folded[1], folded[2], folded[3]);
        return (folded[0] + folded[1]) + (folded[2] + folded[3]);
    }
};

}  // namespace primsel::inline PRIMSEL_ABI
// primsel/primitive/indirect.hpp

#include <algorithm>
#include <array>
#include <new>
#include <utility>

namespace primsel::inline PRIMSEL_ABI {

namespace detail {

/// Rows of a tile whose rows are found through pointers: a pointer a row must fit the general registers.
inline constexpr int indirect_rows = 6;

/// C = A B for a few rows, whose depth is `taps` runs that begin where pointers[tap * rows + row] + offset says. `t`
/// holds the rest.
template <class Arch, int rows, int vectors>
void tile_indirect(TileArgs const& t, const float* const* pointers, int taps, std::size_t offset) noexcept {
    Floats<Arch> sums[rows][vectors];
    PRIMSEL_UNROLL
    for (int row = 0; row < rows; ++row) {
        PRIMSEL_UNROLL
        for (int v = 0; v < vectors; ++v) sums[row][v] = broadcast<Arch>(0.0F);
    }
    const float* b = t.b;
    for (int tap = 0; tap < taps; ++tap, pointers += rows) {
        const float* a[rows];
        PRIMSEL_UNROLL
        for (int row = 0; row < rows; ++row) a[row] = pointers[row] + offset;
        for (int step = 0; step < t.run; ++step) {
            Floats<Arch> row_of_b[vectors];
            PRIMSEL_UNROLL
            for (int v = 0; v < vectors; ++v) row_of_b[v] = load<Arch>(b + v * lanes<Arch>);
            b += vectors * lanes<Arch>;
            PRIMSEL_UNROLL
            for (int row = 0; row < rows; ++row) {
                const auto element = broadcast<Arch>(a[row][step]);
                PRIMSEL_UNROLL
                for (int v = 0; v < vectors; ++v) sums[row][v] = fma<Arch>(element, row_of_b[v], sums[row][v]);
            }
        }
    }
    finish<Arch>(t, sums);
}

}  // namespace detail

/// Indirect convolution (Dukhan 2019, arXiv 1907.02129): a buffer of pointers to the pixels under each tap takes the
/// place of a patch matrix; a tap in the padding points to zeros. Tiles run over all output pixels, whatever the rows.
struct Indirect {
    static constexpr FixedString id = "indirect";
    static constexpr Family family = Family::other;
    using in_layout = hwc;
    using out_layout = hwc;
    static constexpr bool fuses_epilogue = true;

    [[nodiscard]] static constexpr Support supports(ConvShape const&) { return Support::yes(); }

    template <class Arch>
    [[nodiscard]] static std::size_t packed_floats(ConvShape const& s) {
        return DirectHwc::packed_floats<Arch>(s);
    }
    template <class Arch>
    static void pack(ConvShape const& s, const float* kernel, float* dst) {
        DirectHwc::pack<Arch>(s, kernel, dst);
    }
    template <class Arch>
    [[nodiscard]] static std::size_t scratch_floats(ConvShape const& s, std::size_t workers) {
        return round_up_floats(static_cast<std::size_t>(s.c)) + workers * pointer_floats(s);
    }

    template <class Arch>
    static void run(ConvShape const& s, ConvArgs const& args) noexcept {
        const std::size_t zeros = round_up_floats(static_cast<std::size_t>(s.c));
        std::fill_n(args.scratch, zeros, 0.0F);
        const int pixels = static_cast<int>(s.out_pixels());
        const auto blocks = static_cast<std::size_t>((pixels + block_pixels - 1) / block_pixels);
        // Where blocks are few, the panels of each are shared out too.
        const auto threads = args.executor.concurrency(),
                   panels = static_cast<std::size_t>(detail::panel_count<Arch>(s.group_k())),
                   shares = blocks < 2 * threads ? std::min(threads, panels) : 1;
        args.executor.parallel_for(blocks * shares, [=, &s, &args](std::size_t i, std::size_t worker) {
            const std::size_t block = i / shares, share = i % shares;
            const int first_panel = static_cast<int>(share * panels / shares),
                      last_panel = static_cast<int>((share + 1) * panels / shares);
            const int first = static_cast<int>(block) * block_pixels, last = std::min(first + block_pixels, pixels);
            auto* slot = args.scratch + zeros + worker * pointer_floats(s);
            auto* pointers = ::new (static_cast<void*>(slot)) const float*[block_pointers(s)];
            for (int pixel = first; pixel < last; pixel += rows) {
                detail::point_to_pixels(s, args.src, args.scratch, pixel, std::min(rows, last - pixel),
                                        pointers + (pixel - first) * s.taps());
            }
            for (int group = 0; group < s.groups; ++group) {
                for (int panel = first_panel; panel < last_panel; ++panel) {
                    multiply<Arch>(s, args, pointers, first, last, group, panel);
                }
            }
        });
    }

    template <class Arch>
    [[nodiscard]] static Work work(ConvShape const& s) {
        const double pixels = static_cast<double>(s.out_pixels()), in = 4.0 * static_cast<double>(s.in_shape().size());
        const double columns = static_cast<double>(s.groups) * detail::padded_columns<Arch>(s.group_k());
        const double weights = 4.0 * s.depth() * columns, out = 4.0 * pixels * s.k;
        return Work{}
            .add({.rate = Rate::scalar,
                  .operations = pixels * s.taps(),
                  .bytes = 8.0 * pixels * s.taps(),
                  .working_set = 8.0 * block_pixels * s.taps()})
            .add({.rate = Rate::gemm,
                  .operations = 2 * pixels * columns * s.depth(),
                  .bytes = in + weights * std::max(1.0, pixels / block_pixels) + 2 * out,
                  .working_set = in + weights + out});
    }

private:
    static constexpr int rows = detail::indirect_rows;
    static constexpr int block_pixels = 20 * rows;

    [[nodiscard]] static constexpr std::size_t block_pointers(ConvShape const& s) {
        return static_cast<std::size_t>(block_pixels) * static_cast<std::size_t>(s.taps());
    }
    [[nodiscard]] static constexpr std::size_t pointer_floats(ConvShape const& s) {
        return detail::pointer_floats(block_pointers(s));
    }

    template <class Arch>
    static void multiply(ConvShape const& s, ConvArgs const& args, const float* const* pointers, int first, int last,
                         int group, int panel) noexcept {
        const auto k = static_cast<std::size_t>(s.k), first_k = static_cast<std::size_t>(group * s.group_k());
        const float* packed =
            args.weights + static_cast<std::size_t>(group) * detail::packed_size<Arch>(s.depth(), s.group_k());
        const int column = panel * detail::panel_width<Arch>;
        const int width = detail::panel_columns<Arch>(column, s.group_k());
        const std::size_t at = first_k + static_cast<std::size_t>(column);
        const float* weights = packed + static_cast<std::size_t>(s.depth()) * static_cast<std::size_t>(column);
        // As many taps at a time as leave their part of the panel in L2; their sums meet in C.
        const int tap_floats = s.group_c() * width, most_taps = std::max(1, detail::part_floats / tap_floats);
        for (int tap = 0; tap < s.taps(); tap += most_taps) {
            const int taps = std::min(most_taps, s.taps() - tap);
            const bool last_part = tap + taps == s.taps();
            detail::TileArgs t{.run = s.group_c(), .c_stride = k, .accumulate = tap > 0};
            t.b = weights + static_cast<std::size_t>(tap) * static_cast<std::size_t>(tap_floats);
            t.columns = std::min(width, s.group_k() - column);
            if (last_part) t.clamp = args.clamp;
            if (last_part && args.bias != nullptr) t.column_bias = args.bias + at;
            for (int pixel = first; pixel < last; pixel += rows) {
                const int count = std::min(rows, last - pixel);
                t.c = args.dst + static_cast<std::size_t>(pixel) * k + at;
                if (last_part && args.residual != nullptr) {
                    t.residual = args.residual + static_cast<std::size_t>(pixel) * k + at;
                }
                detail::with_vectors<Arch>(width, [&]<int vectors>(std::integral_constant<int, vectors>) {
                    kernels<Arch, vectors>[static_cast<std::size_t>(count - 1)](
                        t, pointers + (pixel - first) * s.taps() + tap * count, taps,
                        static_cast<std::size_t>(group * s.group_c()));
                });
            }
        }
    }

    using Kernel = void (*)(detail::TileArgs const&, const float* const*, int, std::size_t) noexcept;
    /// kernels[rows - 1]
    template <class Arch, int vectors>
    static constexpr auto kernels = []<int... i>(std::integer_sequence<int, i...>) {
        return std::array<Kernel, sizeof...(i)>{&detail::tile_indirect<Arch, i + 1, vectors>...};
    }(std::make_integer_sequence<int, rows>{});
};

}  // namespace primsel::inline PRIMSEL_ABI
// primsel/primitive/kn2.hpp

// primsel/primitive/detail/shift_add.hpp

#include <cstddef>

namespace primsel::inline PRIMSEL_ABI::detail {

/// dst[oh][ow] += product[oh + offset][ow + offset]: one kernel's slice of one tap's product, a plane of the input's
/// size, into the output plane.
inline void shift_add(ConvShape const& s, int fh, int fw, const float* product, float* dst) noexcept {
    const Range rows = tap_rows(s, fh), columns = tap_columns(s, fw);
    for (int oh = rows.begin; oh < rows.end; ++oh) {
        const float* PRIMSEL_RESTRICT from = product + (oh + tap_offset_h(s, fh)) * s.w + tap_offset_w(s, fw);
        float* PRIMSEL_RESTRICT to = dst + oh * s.out_w();
        for (int ow = columns.begin; ow < columns.end; ++ow) to[ow] += from[ow];
    }
}

/// The same from an image-major product, whose pixels are `stride` floats apart.
inline void shift_add_pixels(ConvShape const& s, int fh, int fw, const float* product, std::size_t stride,
                             float* dst) noexcept {
    const Range rows = tap_rows(s, fh), columns = tap_columns(s, fw);
    for (int oh = rows.begin; oh < rows.end; ++oh) {
        const int row = (oh + tap_offset_h(s, fh)) * s.w + tap_offset_w(s, fw);
        float* to = dst + oh * s.out_w();
        for (int ow = columns.begin; ow < columns.end; ++ow) {
            to[ow] += product[static_cast<std::size_t>(row + ow) * stride];
        }
    }
}

}  // namespace primsel::inline PRIMSEL_ABI::detail

#include <algorithm>

namespace primsel::inline PRIMSEL_ABI {

namespace detail {

/// One group of the convolution, as a convolution of its own.
[[nodiscard]] constexpr ConvShape one_group(ConvShape s) {
    s.c = s.group_c(), s.k = s.group_k(), s.groups = 1;
    return s;
}
/// Where it is: its planes (chw) or its part of every pixel (hwc, `pixel` floats apart), its weights and its output.
struct Kn2Group {
    const float* src;
    std::size_t pixel;
    const float* weights;
    float* dst;
};

/// What all kn2 primitives share: groups one after the other. `Way` says how to scratch, pack, run and price one group.
template <class Way, bool reads_hwc>
struct Kn2 {
    static constexpr Family family = Family::kn2;
    using in_layout = std::conditional_t<reads_hwc, hwc, chw>;
    using out_layout = chw;

    [[nodiscard]] static constexpr Support supports(ConvShape const& s) {
        return s.strided() ? Support::no("needs stride 1") : Support::yes();
    }
    template <class Arch>
    [[nodiscard]] static std::size_t scratch_floats(ConvShape const& s, std::size_t workers) {
        return Way::template scratch_of_group<Arch>(one_group(s), workers);
    }
    template <class Arch>
    static void pack(ConvShape const& s, const float* kernel, float* dst) {
        const ConvShape one = one_group(s);
        for (int group = 0; group < s.groups; ++group, kernel += one.kernel_size(), dst += one.kernel_size()) {
            Way::pack_group(one, kernel, dst);
        }
    }
    template <class Arch>
    static void run(ConvShape const& s, ConvArgs const& args) noexcept {
        const ConvShape one = one_group(s);
        Kn2Group group{args.src, static_cast<std::size_t>(s.c), args.weights, args.dst};
        for (int i = 0; i < s.groups; ++i) {
            Way::template run_group<Arch>(one, group, args.scratch, args.executor);
            group.src += reads_hwc ? static_cast<std::size_t>(one.c) : one.in_shape().size();
            group.weights += one.kernel_size();
            group.dst += one.out_shape().size();
        }
    }
    template <class Arch>
    [[nodiscard]] static Work work(ConvShape const& s) {
        return Work{}.append(Way::template work_of_group<Arch>(one_group(s)), s.groups);
    }
};

/// The kernel, tap after tap: each k x c, or c x k.
template <bool c_major>
void pack_taps(ConvShape const& s, const float* kernel, float* dst) {
    for (int fh = 0; fh < s.fh; ++fh) {
        for (int fw = 0; fw < s.fw; ++fw) {
            for (int i = 0; i < (c_major ? s.c : s.k); ++i) {
                for (int j = 0; j < (c_major ? s.k : s.c); ++j) {
                    *dst++ = kernel[c_major ? kernel_index(s, j, i, fh, fw) : kernel_index(s, i, j, fh, fw)];
                }
            }
        }
    }
}

/// The price of adding every tap's product into the output.
[[nodiscard]] inline Phase shift_add_phase(ConvShape const& s, bool transposing) {
    const double elements = static_cast<double>(s.out_pixels()) * s.k * s.taps();
    return {.rate = transposing ? Rate::scalar : Rate::vector,
            .operations = elements,
            .bytes = 12 * elements,
            .working_set = 4.0 * static_cast<double>(s.out_pixels()) * s.k * (s.taps() + 1)};
}

/// Floats of the products of all taps.
[[nodiscard]] constexpr std::size_t all_products(ConvShape const& s) {
    return round_up_floats(static_cast<std::size_t>(s.taps() * s.k) * s.in_pixels());
}

}  // namespace detail

/// kn2row (Anderson et al. 2017, arXiv 1709.03395): one product of the kernels of all taps with the image, whose slices
/// are shifted and added into the output.
template <Gemm G = SimdGemm>
struct Kn2Row : detail::Kn2<Kn2Row<G>, true> {
    static constexpr auto id = FixedString("kn2row") + detail::gemm_suffix<G>;
    template <Gemm Other>
    using with_gemm = Kn2Row<Other>;

    template <class Arch>
    [[nodiscard]] static std::size_t scratch_of_group(ConvShape const& s, std::size_t workers) {
        const int pixels = static_cast<int>(s.in_pixels());
        return detail::all_products(s) + G::template scratch_floats<Arch>(s.taps() * s.k, pixels, s.c, workers);
    }
    static void pack_group(ConvShape const& s, const float* kernel, float* dst) {
        detail::pack_taps<false>(s, kernel, dst);
    }
    template <class Arch>
    static void run_group(ConvShape const& s, detail::Kn2Group const& group, float* product,
                          ExecutorRef executor) noexcept {
        const std::size_t pixels = s.in_pixels(), k = static_cast<std::size_t>(s.k);
        G::template run<Arch>({.m = s.taps() * s.k,
                               .n = static_cast<int>(pixels),
                               .k = s.c,
                               .a = row_major(group.weights, static_cast<std::size_t>(s.c)),
                               .b = transposed(group.src, group.pixel),
                               .c = product,
                               .c_stride = pixels,
                               .scratch = product + detail::all_products(s),
                               .executor = executor});
        executor.parallel_for(k, [&](std::size_t kernel, std::size_t) {
            float* dst = group.dst + kernel * s.out_pixels();
            std::fill_n(dst, s.out_pixels(), 0.0F);
            for (int tap = 0; tap < s.taps(); ++tap) {
                const float* slice = product + (static_cast<std::size_t>(tap) * k + kernel) * pixels;
                detail::shift_add(s, tap / s.fw, tap % s.fw, slice, dst);
            }
        });
    }
    template <class Arch>
    [[nodiscard]] static Work work_of_group(ConvShape const& s) {
        Work work = G::template work<Arch>(s.taps() * s.k, static_cast<int>(s.in_pixels()), s.c);
        return work.add(detail::shift_add_phase(s, false));
    }
};

/// kn2col: the same with an image-major product, pixels x (taps k).
template <Gemm G = SimdGemm>
struct Kn2Col : detail::Kn2<Kn2Col<G>, true> {
    static constexpr auto id = FixedString("kn2col") + detail::gemm_suffix<G>;
    template <Gemm Other>
    using with_gemm = Kn2Col<Other>;

    template <class Arch>
    [[nodiscard]] static std::size_t scratch_of_group(ConvShape const& s, std::size_t workers) {
        const int pixels = static_cast<int>(s.in_pixels());
        return detail::all_products(s) + G::template scratch_floats<Arch>(pixels, s.taps() * s.k, s.c, workers);
    }
    /// c x (taps k)
    static void pack_group(ConvShape const& s, const float* kernel, float* dst) {
        for (int c = 0; c < s.c; ++c) {
            for (int tap = 0; tap < s.taps(); ++tap) {
                for (int k = 0; k < s.k; ++k) *dst++ = kernel[detail::kernel_index(s, k, c, tap / s.fw, tap % s.fw)];
            }
        }
    }
    template <class Arch>
    static void run_group(ConvShape const& s, detail::Kn2Group const& group, float* product,
                          ExecutorRef executor) noexcept {
        const auto columns = static_cast<std::size_t>(s.taps() * s.k);
        G::template run<Arch>({.m = static_cast<int>(s.in_pixels()),
                               .n = s.taps() * s.k,
                               .k = s.c,
                               .a = row_major(group.src, group.pixel),
                               .b = row_major(group.weights, columns),
                               .c = product,
                               .c_stride = columns,
                               .scratch = product + detail::all_products(s),
                               .executor = executor});
        executor.parallel_for(static_cast<std::size_t>(s.k), [&](std::size_t k, std::size_t) {
            float* dst = group.dst + k * s.out_pixels();
            std::fill_n(dst, s.out_pixels(), 0.0F);
            for (int tap = 0; tap < s.taps(); ++tap) {
                const float* slice = product + static_cast<std::size_t>(tap * s.k) + k;
                detail::shift_add_pixels(s, tap / s.fw, tap % s.fw, slice, columns, dst);
            }
        });
    }
    template <class Arch>
    [[nodiscard]] static Work work_of_group(ConvShape const& s) {
        Work work = G::template work<Arch>(static_cast<int>(s.in_pixels()), s.taps() * s.k, s.c);
        return work.add(detail::shift_add_phase(s, true));
    }
};

/// kn2row-as and kn2col-as: a product a tap into a temporary (accumulate, shift), which is then shifted and added.
/// Needs one tap's room where kn2row and kn2col need all taps'.
template <bool row, Gemm G = SimdGemm>
struct Kn2AccumulateShift : detail::Kn2<Kn2AccumulateShift<row, G>, !row> {
    static constexpr auto id = [] {
        if constexpr (row)
            return FixedString("kn2row-as") + detail::gemm_suffix<G>;
        else
            return FixedString("kn2col-as") + detail::gemm_suffix<G>;
    }();
    template <Gemm Other>
    using with_gemm = Kn2AccumulateShift<row, Other>;

    template <class Arch>
    [[nodiscard]] static std::size_t scratch_of_group(ConvShape const& s, std::size_t workers) {
        const int pixels = static_cast<int>(s.in_pixels()), m = row ? s.k : pixels, n = row ? pixels : s.k;
        return product_floats(s) + G::template scratch_floats<Arch>(m, n, s.c, workers);
    }
    static void pack_group(ConvShape const& s, const float* kernel, float* dst) {
        detail::pack_taps<!row>(s, kernel, dst);
    }
    template <class Arch>
    static void run_group(ConvShape const& s, detail::Kn2Group const& group, float* product,
                          ExecutorRef executor) noexcept {
        const std::size_t pixels = s.in_pixels(), c = static_cast<std::size_t>(s.c), k = static_cast<std::size_t>(s.k);
        for (int tap = 0; tap < s.taps(); ++tap) {
            const float* weights = group.weights + static_cast<std::size_t>(tap) * k * c;
            G::template run<Arch>({.m = row ? s.k : static_cast<int>(pixels),
                                   .n = row ? static_cast<int>(pixels) : s.k,
                                   .k = s.c,
                                   .a = row ? row_major(weights, c) : row_major(group.src, group.pixel),
                                   .b = row ? row_major(group.src, pixels) : row_major(weights, k),
                                   .c = product,
                                   .c_stride = row ? pixels : k,
                                   .scratch = product + product_floats(s),
                                   .executor = executor});
            executor.parallel_for(k, [&](std::size_t kernel, std::size_t) {
                float* dst = group.dst + kernel * s.out_pixels();
                if (tap == 0) std::fill_n(dst, s.out_pixels(), 0.0F);
                if constexpr (row) {
                    detail::shift_add(s, tap / s.fw, tap % s.fw, product + kernel * pixels, dst);
                } else {
                    detail::shift_add_pixels(s, tap / s.fw, tap % s.fw, product + kernel, k, dst);
                }
            });
        }
    }
    template <class Arch>
    [[nodiscard]] static Work work_of_group(ConvShape const& s) {
        const int pixels = static_cast<int>(s.in_pixels());
        Phase add = detail::shift_add_phase(s, !row);
        add.working_set = 8.0 * static_cast<double>(s.out_pixels()) * s.k;
        return Work{}.append(G::template work<Arch>(row ? s.k : pixels, row ? pixels : s.k, s.c), s.taps()).add(add);
    }

private:
    [[nodiscard]] static std::size_t product_floats(ConvShape const& s) {
        return round_up_floats(static_cast<std::size_t>(s.k) * s.in_pixels());
    }
};

/// kn2row-aa: a product a tap that accumulates straight into the shifted output. The columns that a shift would wrap
/// around are left out by taking one output row at a time: its products over all taps stay in cache. -a and -b say how
/// the kernel and the image are stored: an image stored transposed is hwc.
template <GemmForm form, Gemm G = SimdGemm>
struct Kn2RowAccumulate : detail::Kn2<Kn2RowAccumulate<form, G>, form == GemmForm::abt || form == GemmForm::atbt> {
private:
    static constexpr bool kernel_transposed = form == GemmForm::atb || form == GemmForm::atbt;
    static constexpr bool image_transposed = form == GemmForm::abt || form == GemmForm::atbt;

public:
    static constexpr auto id = [] {
        if constexpr (form == GemmForm::ab)
            return FixedString("kn2row-aa-ab") + detail::gemm_suffix<G>;
        else if constexpr (form == GemmForm::atb)
            return FixedString("kn2row-aa-atb") + detail::gemm_suffix<G>;
        else if constexpr (form == GemmForm::abt)
            return FixedString("kn2row-aa-abt") + detail::gemm_suffix<G>;
        else
            return FixedString("kn2row-aa-atbt") + detail::gemm_suffix<G>;
    }();
    template <Gemm Other>
    using with_gemm = Kn2RowAccumulate<form, Other>;

    template <class Arch>
    [[nodiscard]] static std::size_t scratch_of_group(ConvShape const& s, std::size_t workers) {
        return workers * worker_floats<Arch>(s);
    }
    static void pack_group(ConvShape const& s, const float* kernel, float* dst) {
        detail::pack_taps<kernel_transposed>(s, kernel, dst);
    }
    template <class Arch>
    static void run_group(ConvShape const& s, detail::Kn2Group const& group, float* scratch,
                          ExecutorRef executor) noexcept {
        const std::size_t slot = executor.concurrency() > 1 ? worker_floats<Arch>(s) : 0;
        executor.parallel_for(static_cast<std::size_t>(s.out_h()), [&](std::size_t row, std::size_t worker) {
            const int oh = static_cast<int>(row);
            float* dst = group.dst + row * static_cast<std::size_t>(s.out_w());
            for (int k = 0; k < s.k; ++k)
                std::fill_n(dst + static_cast<std::size_t>(k) * s.out_pixels(), s.out_w(), 0.0F);
            for (int tap = 0; tap < s.taps(); ++tap) add_tap<Arch>(s, group, oh, tap, dst, scratch + worker * slot);
        });
    }
    template <class Arch>
    [[nodiscard]] static Work work_of_group(ConvShape const& s) {
        Work one_row = G::template work<Arch>(s.k, s.out_w(), s.c);
        for (Phase& phase : one_row.phases) {
            phase.working_set = 4.0 * (static_cast<double>(s.kernel_size()) + 1.0 * s.out_w() * (s.c + s.k));
        }
        return Work{}.append(one_row, 1.0 * s.taps() * s.out_h());
    }

private:
    template <class Arch>
    [[nodiscard]] static std::size_t worker_floats(ConvShape const& s) {
        std::size_t most = 0;
        for (int fw = 0; fw < s.fw; ++fw) {
            const int columns = detail::tap_columns(s, fw).size();
            if (columns > 0) most = std::max(most, G::template scratch_floats<Arch>(s.k, columns, s.c, 1));
        }
        return round_up_floats(most);
    }

    template <class Arch>
    static void add_tap(ConvShape const& s, detail::Kn2Group const& group, int oh, int tap, float* dst,
                        float* scratch) noexcept {
        const int h = oh + detail::tap_offset_h(s, tap / s.fw);
        const detail::Range columns = detail::tap_columns(s, tap % s.fw);
        if (h < 0 || h >= s.h || columns.size() == 0) return;
        const auto first = static_cast<std::size_t>(h * s.w + columns.begin + detail::tap_offset_w(s, tap % s.fw));
        const auto c = static_cast<std::size_t>(s.c), k = static_cast<std::size_t>(s.k);
        const float* weights = group.weights + static_cast<std::size_t>(tap) * k * c;
        Sequential sequential;
        G::template run<Arch>({.m = s.k,
                               .n = columns.size(),
                               .k = s.c,
                               .a = kernel_transposed ? transposed(weights, k) : row_major(weights, c),
                               .b = image_transposed ? transposed(group.src + first * group.pixel, group.pixel)
                                                     : row_major(group.src + first, s.in_pixels()),
                               .c = dst + columns.begin,
                               .c_stride = s.out_pixels(),
                               .accumulate = true,
                               .scratch = scratch,
                               .executor = sequential});
    }
};

}  // namespace primsel::inline PRIMSEL_ABI
// primsel/primitive/mec.hpp

#include <algorithm>

namespace primsel::inline PRIMSEL_ABI {

namespace detail {

/// One output row, group after group, from a lowered matrix; `windows` says where the first window is and how the
/// windows lie, `group_step` how far a group's window is from the next one's.
template <class Arch>
void multiply_windows(ConvShape const& s, ConvArgs const& args, TileArgs windows, std::size_t group_step,
                      std::size_t row) noexcept {
    const std::size_t at = row * static_cast<std::size_t>(s.out_w()) * static_cast<std::size_t>(s.k);
    const auto group_k = static_cast<std::size_t>(s.group_k());
    windows.c = args.dst + at;
    windows.c_stride = static_cast<std::size_t>(s.k);
    windows.column_bias = args.bias;
    windows.residual = args.residual == nullptr ? nullptr : args.residual + at;
    windows.clamp = args.clamp;
    const float* weights = args.weights;
    for (int group = 0; group < s.groups; ++group, weights += packed_size<Arch>(s.depth(), s.group_k())) {
        multiply_panels<Arch>(windows, 0, s.out_w(), s.group_k(), weights);
        windows.a += group_step;
        windows.c += group_k;
        if (windows.column_bias != nullptr) windows.column_bias += group_k;
        if (windows.residual != nullptr) windows.residual += group_k;
    }
}

template <class Arch>
[[nodiscard]] Work mec_work(ConvShape const& s, std::size_t lowered_floats, int rows, int products) {
    const double lowered = 4.0 * static_cast<double>(lowered_floats);
    const double columns = static_cast<double>(s.groups) * padded_columns<Arch>(s.group_k());
    const double weights = 4.0 * s.depth() * columns, out = 4.0 * static_cast<double>(s.out_shape().size());
    const double stall = std::max(1.0, 10.0 / (panel_vectors<Arch> * std::min(rows, tile_rows<Arch>)));
    return Work{}
        .add({.rate = Rate::vector, .operations = 0, .bytes = 2 * lowered, .working_set = lowered})
        .add({.rate = Rate::gemm,
              .operations = 2.0 * rows * products * columns * s.depth() * stall,
              .bytes = lowered * s.fh + weights * products + 2 * out,
              .working_set = lowered + weights + out});
}

}  // namespace detail

/// MEC (Cho and Brand 2017, arXiv 1706.06873), lowered along the columns: for every output column, a strip fw wide over
/// the full height. The patches of an output row are then overlapping windows of the lowered matrix, one product a row.
struct MecCol {
    static constexpr FixedString id = "mec-col";
    static constexpr Family family = Family::mec;
    using in_layout = hcw;
    using out_layout = hwc;
    static constexpr bool fuses_epilogue = true;

    [[nodiscard]] static constexpr Support supports(ConvShape const&) { return Support::yes(); }

    template <class Arch>
    [[nodiscard]] static std::size_t scratch_floats(ConvShape const& s, std::size_t) {
        return lowered_floats(s);
    }
    template <class Arch>
    [[nodiscard]] static std::size_t packed_floats(ConvShape const& s) {
        return detail::depth_panels_size<Arch>(s);
    }
    /// The depth is ordered fh, c, fw: as a strip of an hcw image is.
    template <class Arch>
    static void pack(ConvShape const& s, const float* kernel, float* dst) {
        detail::pack_depth_panels<Arch>(
            s, kernel, [&s](int c, int fh, int fw) { return (fh * s.group_c() + c) * s.fw + fw; }, dst);
    }

    template <class Arch>
    static void run(ConvShape const& s, ConvArgs const& args) noexcept {
        const std::size_t row = row_floats(s), strip = row * static_cast<std::size_t>(s.padded_h());
        args.executor.parallel_for(static_cast<std::size_t>(s.padded_h()), [&](std::size_t h, std::size_t) {
            for (int ow = 0; ow < s.out_w(); ++ow) {
                lower(s, args.src, static_cast<int>(h) - s.pad_top, ow,
                      args.scratch + static_cast<std::size_t>(ow) * strip + h * row);
            }
        });
        args.executor.parallel_for(static_cast<std::size_t>(s.out_h()), [&](std::size_t oh, std::size_t) {
            // All channels of neighbouring rows are one run.
            const bool whole = s.groups == 1 && s.dilation_h == 1;
            const detail::TileArgs windows{.a = args.scratch + oh * static_cast<std::size_t>(s.stride_h) * row,
                                           .a_stride = strip,
                                           .outer = whole ? 1 : s.fh,
                                           .run = whole ? s.depth() : s.group_c() * s.fw,
                                           .outer_step = static_cast<std::size_t>(s.dilation_h) * row};
            detail::multiply_windows<Arch>(s, args, windows, row / static_cast<std::size_t>(s.groups), oh);
        });
    }

    template <class Arch>
    [[nodiscard]] static Work work(ConvShape const& s) {
        return detail::mec_work<Arch>(s, lowered_floats(s), s.out_w(), s.out_h());
    }

private:
    [[nodiscard]] static std::size_t row_floats(ConvShape const& s) {
        return static_cast<std::size_t>(s.c) * static_cast<std::size_t>(s.fw);
    }
    [[nodiscard]] static std::size_t lowered_floats(ConvShape const& s) {
        return round_up_floats(static_cast<std::size_t>(s.out_w()) * static_cast<std::size_t>(s.padded_h()) *
                               row_floats(s));
    }
    static void lower(ConvShape const& s, const float* src, int h, int ow, float* dst) noexcept {
        if (h < 0 || h >= s.h) {
            std::fill_n(dst, row_floats(s), 0.0F);
            return;
        }
        const int w0 = ow * s.stride_w - s.pad_left;
        for (int c = 0; c < s.c; ++c, dst += s.fw) {
            const float* row =
                src + (static_cast<std::size_t>(h) * static_cast<std::size_t>(s.c) + static_cast<std::size_t>(c)) *
                          static_cast<std::size_t>(s.w);
            for (int fw = 0; fw < s.fw; ++fw) {
                const int w = w0 + fw * s.dilation_w;
                dst[fw] = w >= 0 && w < s.w ? row[w] : 0.0F;
            }
        }
    }
};

/// MEC lowered along the rows: for every output row, a strip fh high over the full width, whose overlapping windows are
/// the row's patches. One product a strip.
struct MecRowPartition {
    static constexpr FixedString id = "mec-row-partition";
    static constexpr Family family = Family::mec;
    using in_layout = hwc;
    using out_layout = hwc;
    static constexpr bool fuses_epilogue = true;

    [[nodiscard]] static constexpr Support supports(ConvShape const&) { return Support::yes(); }

    template <class Arch>
    [[nodiscard]] static std::size_t scratch_floats(ConvShape const& s, std::size_t workers) {
        return workers * detail::strip_floats(s);
    }
    template <class Arch>
    [[nodiscard]] static std::size_t packed_floats(ConvShape const& s) {
        return detail::depth_panels_size<Arch>(s);
    }
    /// The depth is ordered fw, fh, c.
    template <class Arch>
    static void pack(ConvShape const& s, const float* kernel, float* dst) {
        detail::pack_depth_panels<Arch>(
            s, kernel, [&s](int c, int fh, int fw) { return (fw * s.fh + fh) * s.group_c() + c; }, dst);
    }

    template <class Arch>
    static void run(ConvShape const& s, ConvArgs const& args) noexcept {
        args.executor.parallel_for(static_cast<std::size_t>(s.out_h()), [&](std::size_t row, std::size_t worker) {
            float* strip = args.scratch + worker * detail::strip_floats(s);
            detail::lower_to_strip(s, args.src, static_cast<int>(row), strip);
            const std::size_t pixel = static_cast<std::size_t>(s.c), column = static_cast<std::size_t>(s.fh) * pixel;
            const bool whole = s.groups == 1 && s.dilation_w == 1;
            const detail::TileArgs windows{.a = strip,
                                           .a_stride = static_cast<std::size_t>(s.stride_w) * column,
                                           .outer = whole ? 1 : s.fw,
                                           .inner = s.groups == 1 ? 1 : s.fh,
                                           .run = whole           ? s.depth()
                                                  : s.groups == 1 ? s.fh * s.c
                                                                  : s.group_c(),
                                           .outer_step = static_cast<std::size_t>(s.dilation_w) * column,
                                           .inner_step = pixel};
            detail::multiply_windows<Arch>(s, args, windows, static_cast<std::size_t>(s.group_c()), row);
        });
    }

    template <class Arch>
    [[nodiscard]] static Work work(ConvShape const& s) {
        return detail::mec_work<Arch>(s, detail::strip_floats(s) * static_cast<std::size_t>(s.out_h()), s.out_w(),
                                      s.out_h());
    }
};

}  // namespace primsel::inline PRIMSEL_ABI
// primsel/primitive/winograd.hpp

// primsel/primitive/detail/winograd_tiles.hpp
// The tiles of Winograd's minimal filtering: what F(m x m, r x r) is, whatever the width of its vectors.

// primsel/primitive/detail/cook_toom.hpp
// The transform matrices of Winograd's minimal filtering, from their interpolation points, in exact arithmetic.

// primsel/core/rational.hpp

#include <cstdint>
#include <numeric>
#include <ratio>

namespace primsel::inline PRIMSEL_ABI {

/// A fraction in lowest terms with a positive denominator, for exact arithmetic at compile time, where an overflow is
/// an error. Not for run time: nothing checks there.
class Rational {
public:
    constexpr Rational() = default;
    // NOLINTNEXTLINE(google-explicit-constructor): an integer is a fraction
    constexpr Rational(std::int64_t numerator, std::int64_t denominator = 1) {
        const std::int64_t common = std::gcd(numerator, denominator) * (denominator < 0 ? -1 : 1);
        numerator_ = numerator / common;
        denominator_ = denominator / common;
    }
    template <std::intmax_t numerator, std::intmax_t denominator>
    // NOLINTNEXTLINE(google-explicit-constructor)
    constexpr Rational(std::ratio<numerator, denominator>) : Rational(numerator, denominator) {}

    [[nodiscard]] constexpr double value() const {
        return static_cast<double>(numerator_) / static_cast<double>(denominator_);
    }

    friend constexpr Rational operator+(Rational a, Rational b) {
        return {a.numerator_ * b.denominator_ + b.numerator_ * a.denominator_, a.denominator_ * b.denominator_};
    }
    friend constexpr Rational operator-(Rational a, Rational b) {
        return {a.numerator_ * b.denominator_ - b.numerator_ * a.denominator_, a.denominator_ * b.denominator_};
    }
    friend constexpr Rational operator*(Rational a, Rational b) {
        return {a.numerator_ * b.numerator_, a.denominator_ * b.denominator_};
    }
    friend constexpr Rational operator/(Rational a, Rational b) {
        return {a.numerator_ * b.denominator_, a.denominator_ * b.numerator_};
    }
    friend constexpr bool operator==(Rational const&, Rational const&) = default;

private:
    std::int64_t numerator_ = 0, denominator_ = 1;
};

}  // namespace primsel::inline PRIMSEL_ABI

#include <array>
#include <concepts>
#include <cstddef>
#include <ratio>

namespace primsel::inline PRIMSEL_ABI {

/// Finite interpolation points, each a std::ratio, no two the same; infinity is always the last and not named.
template <class... Ratios>
struct Points {
    static constexpr std::size_t count = sizeof...(Ratios);
    static constexpr std::array<Rational, sizeof...(Ratios)> values{Rational(Ratios{})...};
};

namespace detail {

template <class Number, int rows, int columns>
using Matrix = std::array<std::array<Number, static_cast<std::size_t>(columns)>, static_cast<std::size_t>(rows)>;

/// F(m, r) by the Cook-Toom algorithm (Blahut 2010, chapter 5; transposed as in Lavin and Gray 2016): the m outputs of
/// an r-tap filter are output * ((kernel * g) elementwise (input * d)), with m + r - 2 finite points and infinity.
template <int m, int r>
struct CookToom {
    static constexpr int taps = m + r - 1;
    static constexpr auto finite = static_cast<std::size_t>(taps - 1);
    Matrix<Rational, m, taps> output{};
    Matrix<Rational, taps, r> kernel{};
    Matrix<Rational, taps, taps> input{};

    constexpr explicit CookToom(std::array<Rational, finite> const& points) {
        for (std::size_t j = 0; j < finite; ++j) {
            Rational power = 1;
            for (std::size_t i = 0; i < static_cast<std::size_t>(m); ++i, power = power * points[j])
                output[i][j] = power;
            Rational scale = 1;
            for (std::size_t l = 0; l < finite; ++l) {
                if (l != j) scale = scale * (points[j] - points[l]);
            }
            power = 1;
            for (std::size_t i = 0; i < static_cast<std::size_t>(r); ++i, power = power * points[j]) {
                kernel[j][i] = power / scale;
            }
            // The coefficients of the product of (x - points[l]) over l != j.
            std::size_t degree = 0;
            input[j][0] = 1;
            for (std::size_t l = 0; l < finite; ++l) {
                if (l != j) multiply(input[j], degree++, points[l]);
            }
        }
        output[static_cast<std::size_t>(m - 1)][finite] = 1;
        kernel[finite][static_cast<std::size_t>(r - 1)] = 1;
        input[finite][0] = 1;
        for (std::size_t l = 0; l < finite; ++l) multiply(input[finite], l, points[l]);
    }

    /// Whether the matrices make a convolution of any signal and filter: output i is the sum of tap t times input j
    /// over j = i + t, and of nothing else.
    [[nodiscard]] constexpr bool is_convolution() const {
        for (std::size_t i = 0; i < static_cast<std::size_t>(m); ++i) {
            for (std::size_t t = 0; t < static_cast<std::size_t>(r); ++t) {
                for (std::size_t j = 0; j < static_cast<std::size_t>(taps); ++j) {
                    Rational sum = 0;
                    for (std::size_t p = 0; p < static_cast<std::size_t>(taps); ++p) {
                        sum = sum + output[i][p] * kernel[p][t] * input[p][j];
                    }
                    if (sum != Rational(j == i + t ? 1 : 0)) return false;
                }
            }
        }
        return true;
    }

private:
    /// polynomial *= (x - root)
    static constexpr void multiply(std::array<Rational, static_cast<std::size_t>(taps)>& polynomial, std::size_t degree,
                                   Rational root) {
        for (std::size_t i = degree + 1; i > 0; --i) polynomial[i] = polynomial[i - 1] - root * polynomial[i];
        polynomial[0] = Rational(0) - root * polynomial[0];
    }
};

template <std::size_t rows, std::size_t columns>
constexpr std::array<std::array<double, columns>, rows> to_doubles(
    std::array<std::array<Rational, columns>, rows> const& exact) {
    std::array<std::array<double, columns>, rows> rounded{};
    for (std::size_t i = 0; i < rows; ++i) {
        for (std::size_t j = 0; j < columns; ++j) rounded[i][j] = exact[i][j].value();
    }
    return rounded;
}

template <int n, class Used, class... Rest>
struct FirstPoints;
template <int n, class... Used, class First, class... Rest>
    requires(n > 0)
struct FirstPoints<n, Points<Used...>, First, Rest...> : FirstPoints<n - 1, Points<Used..., First>, Rest...> {};
template <class... Used, class... Rest>
struct FirstPoints<0, Points<Used...>, Rest...> {
    using type = Points<Used...>;
};

}  // namespace detail

/// The first n of the points that keep the numbers small, in the order in which they are used.
template <int n>
using DefaultPoints = typename detail::FirstPoints<n, Points<>, std::ratio<0>, std::ratio<1>, std::ratio<-1>,
                                                   std::ratio<2>, std::ratio<-2>, std::ratio<1, 2>, std::ratio<-1, 2>,
                                                   std::ratio<4>, std::ratio<-4>>::type;

namespace detail {

/// "-at" and the points, "-at_0_1_-1_1/2", to tell primitives of other points from those of the default ones: nothing.
template <class P>
struct PointsSuffix;
template <class... Ratios>
struct PointsSuffix<Points<Ratios...>> {
    template <class R>
    static constexpr auto digits = [] {
        constexpr auto magnitude = fixed_decimal<static_cast<unsigned>(R::num < 0 ? -R::num : R::num)>();
        constexpr auto numerator = [=] {
            if constexpr (R::num < 0)
                return FixedString("_-") + magnitude;
            else
                return FixedString("_") + magnitude;
        }();
        if constexpr (R::den == 1)
            return numerator;
        else
            return numerator + "/" + fixed_decimal<static_cast<unsigned>(R::den)>();
    }();
    static constexpr auto value = [] {
        if constexpr (std::same_as<Points<Ratios...>, DefaultPoints<static_cast<int>(sizeof...(Ratios))>>)
            return FixedString("");
        else
            return (FixedString("-at") + ... + digits<typename Ratios::type>);
    }();
};

template <int m, int r, class P = DefaultPoints<m + r - 2>>
inline constexpr CookToom<m, r> cook_toom{P::values};
// Objects of their own, to be template arguments.
template <int m, int r, class P = DefaultPoints<m + r - 2>>
inline constexpr auto output_matrix = to_doubles(cook_toom<m, r, P>.output);
template <int m, int r, class P = DefaultPoints<m + r - 2>>
inline constexpr auto kernel_matrix = to_doubles(cook_toom<m, r, P>.kernel);
template <int m, int r, class P = DefaultPoints<m + r - 2>>
inline constexpr auto input_matrix = to_doubles(cook_toom<m, r, P>.input);

}  // namespace detail

}  // namespace primsel::inline PRIMSEL_ABI
// primsel/primitive/detail/lanes.hpp

#include <type_traits>

namespace primsel::inline PRIMSEL_ABI::detail {

/// n floats worked on side by side: a float, a vector where the instruction set has one of that width, and otherwise
/// two halves.
template <int n>
struct Lanes {
    using batch = xsimd::make_sized_batch_t<float, n == 1 ? 4 : static_cast<std::size_t>(n)>;
    static constexpr bool scalar = n == 1, whole = !scalar && !std::is_void_v<batch>;
    struct Halves {
        Lanes<n == 1 ? 1 : n / 2> low, high;
    };
    static constexpr auto kind() {
        if constexpr (scalar)
            return std::type_identity<float>{};
        else if constexpr (whole)
            return std::type_identity<batch>{};
        else
            return std::type_identity<Halves>{};
    }
    typename decltype(kind())::type value;

    [[nodiscard]] PRIMSEL_INLINE static Lanes load(const float* src) {
        if constexpr (scalar)
            return {*src};
        else if constexpr (whole)
            return {batch::load_unaligned(src)};
        else
            return {{Lanes<n / 2>::load(src), Lanes<n / 2>::load(src + n / 2)}};
    }
    [[nodiscard]] PRIMSEL_INLINE static Lanes all(float x) {
        if constexpr (scalar)
            return {x};
        else if constexpr (whole)
            return {batch(x)};
        else
            return {{Lanes<n / 2>::all(x), Lanes<n / 2>::all(x)}};
    }
    PRIMSEL_INLINE void store(float* dst) const {
        if constexpr (scalar) {
            *dst = value;
        } else if constexpr (whole) {
            value.store_unaligned(dst);
        } else {
            value.low.store(dst);
            value.high.store(dst + n / 2);
        }
    }
    [[nodiscard]] friend PRIMSEL_INLINE Lanes operator+(Lanes const& a, Lanes const& b) {
        if constexpr (scalar || whole)
            return {a.value + b.value};
        else
            return {{a.value.low + b.value.low, a.value.high + b.value.high}};
    }
    [[nodiscard]] friend PRIMSEL_INLINE Lanes operator-(Lanes const& a, Lanes const& b) {
        if constexpr (scalar || whole)
            return {a.value - b.value};
        else
            return {{a.value.low - b.value.low, a.value.high - b.value.high}};
    }
    [[nodiscard]] friend PRIMSEL_INLINE Lanes operator*(float a, Lanes const& b) {
        if constexpr (scalar)
            return {a * b.value};
        else if constexpr (whole)
            return {batch(a) * b.value};
        else
            return {{a * b.value.low, a * b.value.high}};
    }
    /// a * b + c
    [[nodiscard]] friend PRIMSEL_INLINE Lanes fma(float a, Lanes const& b, Lanes const& c) {
        if constexpr (scalar) {
            return {a * b.value + c.value};
        } else if constexpr (whole) {
            using arch = typename batch::arch_type;
            return {primsel::fma<arch>(batch(a), b.value, c.value)};
        } else {
            return {{fma(a, b.value.low, c.value.low), fma(a, b.value.high, c.value.high)}};
        }
    }
    /// value held in [low, high]; NaN stays NaN.
    [[nodiscard]] PRIMSEL_INLINE Lanes clamped(float low, float high) const {
        if constexpr (scalar) {
            return {primsel::clamp(value, low, high)};
        } else if constexpr (whole) {
            using arch = typename batch::arch_type;
            return {primsel::clamp<arch>(value, batch(low), batch(high))};
        } else {
            return {{value.low.clamped(low, high), value.high.clamped(low, high)}};
        }
    }
};

}  // namespace primsel::inline PRIMSEL_ABI::detail

#include <algorithm>
#include <array>
#include <type_traits>
#include <utility>

namespace primsel::inline PRIMSEL_ABI::detail {

template <std::size_t rows, std::size_t columns>
using Factors = std::array<std::array<double, columns>, rows>;

/// The factors of `matrix` in columns of the given parity, zeros in the others.
template <std::size_t rows, std::size_t columns>
[[nodiscard]] constexpr Factors<rows, columns> with_parity(Factors<rows, columns> matrix, std::size_t parity) {
    for (auto& row : matrix) {
        for (std::size_t j = 0; j < columns; ++j) row[j] = j % 2 == parity ? row[j] : 0.0;
    }
    return matrix;
}
template <auto const& matrix>
inline constexpr auto even_columns = with_parity(matrix, 0);
template <auto const& matrix>
inline constexpr auto odd_columns = with_parity(matrix, 1);

/// Whether rows i and i + 1 belong to interpolation points p and -p: they differ in the sign of the odd columns alone.
template <std::size_t rows, std::size_t columns>
[[nodiscard]] constexpr bool rows_mirrored(Factors<rows, columns> const& matrix, std::size_t i) {
    if (i + 1 >= rows) return false;
    for (std::size_t j = 0; j < columns; ++j) {
        if (matrix[i + 1][j] != (j % 2 == 0 ? matrix[i][j] : -matrix[i][j])) return false;
    }
    return true;
}
/// The same of columns j and j + 1, in the sign of the odd rows.
template <std::size_t rows, std::size_t columns>
[[nodiscard]] constexpr bool columns_mirrored(Factors<rows, columns> const& matrix, std::size_t j) {
    if (j + 1 >= columns) return false;
    for (std::size_t i = 0; i < rows; ++i) {
        if (matrix[i][j + 1] != (i % 2 == 0 ? matrix[i][j] : -matrix[i][j])) return false;
    }
    return true;
}
/// The column that begins the mirrored pair which column j belongs to, or `columns`.
template <std::size_t rows, std::size_t columns>
[[nodiscard]] constexpr std::size_t pair_of_column(Factors<rows, columns> const& matrix, std::size_t j) {
    for (std::size_t first = 0; first <= j; ++first) {
        if (!columns_mirrored(matrix, first)) continue;
        if (j <= first + 1) return first;
        ++first;
    }
    return columns;
}
/// What is left to multiply with once the elements of each mirrored pair of columns have been replaced by their sum and
/// their difference: even rows take the sum, odd rows the difference.
template <std::size_t rows, std::size_t columns>
[[nodiscard]] constexpr Factors<rows, columns> after_pairing(Factors<rows, columns> const& matrix) {
    Factors<rows, columns> left = matrix;
    for (std::size_t j = 0; j < columns; ++j) {
        const std::size_t first = pair_of_column(matrix, j);
        for (std::size_t i = 0; i < rows && first < columns; ++i) {
            left[i][j] = i % 2 == j - first ? matrix[i][first] : 0.0;
        }
    }
    return left;
}
template <auto const& matrix>
inline constexpr auto paired = after_pairing(matrix);

/// The sum of matrix[row][j] * in[j] over j: nothing for a zero, no multiplication by one.
template <auto const& matrix, std::size_t row, class V>
PRIMSEL_INLINE V combine(const V* in) {
    constexpr auto factors = matrix[row];
    constexpr std::size_t first = [] {
        for (std::size_t j = 0; j < matrix[row].size(); ++j) {
            if (matrix[row][j] == 1.0) return j;
        }
        std::size_t j = 0;
        while (matrix[row][j] == 0.0) ++j;
        return j;
    }();
    V sum = in[first];
    if constexpr (factors[first] != 1.0) sum = static_cast<float>(factors[first]) * sum;
    [&]<std::size_t... j>(std::index_sequence<j...>) {
        const auto add = [&]<std::size_t i>(std::integral_constant<std::size_t, i>) {
            constexpr auto factor = static_cast<float>(factors[i]);
            if constexpr (i == first || factor == 0.0F)
                return;
            else if constexpr (factor == 1.0F)
                sum = sum + in[i];
            else if constexpr (factor == -1.0F)
                sum = sum - in[i];
            else
                sum = fma(factor, in[i], sum);
        };
        (add(std::integral_constant<std::size_t, j>{}), ...);
    }(std::make_index_sequence<factors.size()>{});
    return sum;
}

/// Hands each element of matrix * in to put(i, value). What interpolation points p and -p share is computed once.
template <auto const& matrix, class V, class Put>
PRIMSEL_INLINE void transform(V (&in)[matrix[0].size()], Put const& put) {
    constexpr std::size_t rows = matrix.size(), columns = matrix[0].size();
    [&]<std::size_t... j>(std::index_sequence<j...>) {
        const auto pair = [&]<std::size_t first>(std::integral_constant<std::size_t, first>) {
            if constexpr (pair_of_column(matrix, first) == first) {
                const V sum = in[first] + in[first + 1];
                in[first + 1] = in[first] - in[first + 1];
                in[first] = sum;
            }
        };
        (pair(std::integral_constant<std::size_t, j>{}), ...);
    }(std::make_index_sequence<columns>{});
    [&]<std::size_t... i>(std::index_sequence<i...>) {
        const auto row = [&]<std::size_t at>(std::integral_constant<std::size_t, at>) {
            if constexpr (rows_mirrored(matrix, at)) {
                const V even = combine<even_columns<matrix>, at>(in), odd = combine<odd_columns<matrix>, at>(in);
                put(at, even + odd);
                put(at + 1, even - odd);
            } else if constexpr (at == 0 || !rows_mirrored(matrix, at - 1)) {
                put(at, combine<paired<matrix>, at>(in));
            }
        };
        (row(std::integral_constant<std::size_t, i>{}), ...);
    }(std::make_index_sequence<rows>{});
}

/// Hands each element of matrix * in * matrix' to put(row, column, value); get(row, column) gives those of `in`, which
/// is square.
template <auto const& matrix, class V, class Get, class Put>
PRIMSEL_INLINE void sandwich(Get const& get, Put const& put) {
    constexpr std::size_t rows = matrix.size(), size = matrix[0].size();
    V half[rows][size];
    for (std::size_t column = 0; column < size; ++column) {
        V in[size];
        PRIMSEL_UNROLL
        for (std::size_t row = 0; row < size; ++row) in[row] = get(row, column);
        transform<matrix>(in, [&](std::size_t row, V const& value) { half[row][column] = value; });
    }
    for (std::size_t row = 0; row < rows; ++row) {
        transform<matrix>(half[row], [&](std::size_t column, V const& value) { put(row, column, value); });
    }
}

/// Floats between tiles: 16 more than whole cache lines, so that neighbours do not meet in one cache set.
[[nodiscard]] constexpr std::size_t tile_stride(int channels) {
    return round_up_floats(static_cast<std::size_t>(channels)) + 16;
}

/// Calls work(width, begin, end) for the channels that fill vectors of `vec`, and for the rest one by one.
template <int vec, class F>
PRIMSEL_INLINE void for_channels(std::size_t channels, F const& work) {
    const std::size_t whole = channels / vec * vec;
    if (whole > 0) work(std::integral_constant<int, vec>{}, std::size_t{0}, whole);
    if (whole < channels) work(std::integral_constant<int, 1>{}, whole, channels);
}

/// What becomes of an output pixel of n channels: dst = clamp(value + bias + residual). A copy of what it needs, since
/// the compiler must take any store of floats for a change of the arguments.
template <int n>
class Finish {
public:
    using V = Lanes<n>;
    PRIMSEL_INLINE Finish(ConvArgs const& args, std::size_t at)
        : residual_(args.residual),
          dst_(args.dst),
          bias_(args.bias == nullptr ? V::all(0.0F) : V::load(args.bias + at)),
          clamp_(args.clamp) {}
    PRIMSEL_INLINE void operator()(V value, std::size_t to) const {
        value = value + bias_;
        if (residual_ != nullptr) value = value + V::load(residual_ + to);
        value.clamped(clamp_.low, clamp_.high).store(dst_ + to);
    }

private:
    const float* residual_;
    float* dst_;
    V bias_;
    Clamp clamp_;
};

/// Elements of as many kernels as a vector has lanes, side by side.
template <class Arch>
using KernelLanes = std::array<double, static_cast<std::size_t>(lanes<Arch>)>;

/// The sum of factors[t] * in[t * step] over t.
template <class Arch, std::size_t r>
[[nodiscard]] PRIMSEL_INLINE KernelLanes<Arch> weigh(std::array<double, r> const& factors, const KernelLanes<Arch>* in,
                                                     std::size_t step) {
    KernelLanes<Arch> sum{};
    PRIMSEL_UNROLL
    for (std::size_t t = 0; t < r; ++t) {
        for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += factors[t] * in[t * step][i];
    }
    return sum;
}
/// `count` elements of each of so many kernels, which follow one another at `stride` floats; zeros for those beyond.
template <class Arch, std::size_t count>
PRIMSEL_INLINE void gather(KernelLanes<Arch> (&to)[count], const float* src, std::size_t stride, std::size_t kernels) {
    for (std::size_t t = 0; t < count; ++t) to[t] = {};
    for (std::size_t i = 0; i < std::min(kernels, to[0].size()); ++i) {
        for (std::size_t t = 0; t < count; ++t) to[t][i] = static_cast<double>(src[i * stride + t]);
    }
}
template <class Arch>
PRIMSEL_INLINE void scatter(KernelLanes<Arch> const& from, float* dst) {
    for (std::size_t i = 0; i < from.size(); ++i) dst[i] = static_cast<float>(from[i]);
}

/// A tile is (m + r - 1) squared pixels of the image, of which m squared of the output come.
template <int m, int r, class P>
struct WinogradTiles {
    static constexpr int size = m + r - 1, taps = size * size;
    static_assert(cook_toom<m, r, P>.is_convolution(), "two interpolation points are the same");

    [[nodiscard]] static constexpr int rows(ConvShape const& s) { return (s.out_h() + m - 1) / m; }
    [[nodiscard]] static constexpr int columns(ConvShape const& s) { return (s.out_w() + m - 1) / m; }

    /// Tap after tap, the transformed kernel as a matrix c x k, packed in panels.
    template <class Arch>
    static void pack(ConvShape const& s, const float* kernel, float* dst) {
        constexpr auto& g = kernel_matrix<m, r, P>;
        const auto c = static_cast<std::size_t>(s.c), k = static_cast<std::size_t>(s.k);
        const std::size_t matrix = packed_size<Arch>(s.c, s.k);
        // Straight into the panels, panel after panel.
        for (int first = 0; first < s.k; first += panel_width<Arch>) {
            const auto width = static_cast<std::size_t>(panel_columns<Arch>(first, s.k));
            for (std::size_t n = 0; n < width; n += static_cast<std::size_t>(lanes<Arch>)) {
                const std::size_t row = static_cast<std::size_t>(first) + n;
                float* panel = dst + c * static_cast<std::size_t>(first) + n;
                for (std::size_t column = 0; column < c; ++column, panel += width) {
                    KernelLanes<Arch> in[r * r], half[size * r];
                    gather<Arch>(in, kernel + (row * c + column) * (r * r), c * (r * r), k - std::min(k, row));
                    for (std::size_t i = 0; i < size; ++i) {
                        for (std::size_t j = 0; j < r; ++j) half[i * r + j] = weigh<Arch>(g[i], in + j, r);
                    }
                    for (std::size_t i = 0; i < size; ++i) {
                        for (std::size_t j = 0; j < size; ++j) {
                            scatter<Arch>(weigh<Arch>(g[j], half + i * r, 1), panel + (i * size + j) * matrix);
                        }
                    }
                }
            }
        }
    }

    /// One tile of the image, all channels: dst[tap * tap_stride + c]. `zeros` are as many as there are channels, and
    /// stand for the pixels outside.
    template <int vec>
    static void transform_input(ConvShape const& s, const float* src, const float* zeros, int tile, float* dst,
                                std::size_t tap_stride) noexcept {
        const int h0 = tile / columns(s) * m - s.pad_top, w0 = tile % columns(s) * m - s.pad_left;
        const auto c = static_cast<std::size_t>(s.c);
        const float* pixels[taps];
        for (int i = 0; i < taps; ++i) {
            const int h = h0 + i / size, w = w0 + i % size;
            const bool in = h >= 0 && h < s.h && w >= 0 && w < s.w;
            pixels[i] = in ? src + static_cast<std::size_t>(h * s.w + w) * c : zeros;
        }
        for_channels<vec>(c, [&]<int n>(std::integral_constant<int, n>, std::size_t begin, std::size_t end) {
            transform_channels<n>(pixels, begin, end, dst, tap_stride);
        });
    }

    template <int vec>
    static void transform_output(ConvShape const& s, ConvArgs const& args, int tile, const float* src,
                                 std::size_t tap_stride) noexcept {
        const int h0 = tile / columns(s) * m, w0 = tile % columns(s) * m;
        const Target target{static_cast<std::size_t>(h0 * s.out_w() + w0), static_cast<std::size_t>(s.out_w()),
                            args.pixel_stride(s), static_cast<std::size_t>(std::min(m, s.out_h() - h0)),
                            static_cast<std::size_t>(std::min(m, s.out_w() - w0))};
        for_channels<vec>(static_cast<std::size_t>(s.k),
                          [&]<int n>(std::integral_constant<int, n>, std::size_t begin, std::size_t end) {
                              finish_channels<n>(args, target, begin, end, src, tap_stride);
                          });
    }

private:
    /// Functions of their own: one for each width, not for each pair of a width and its rest.
    template <int n>
    PRIMSEL_NOINLINE static void transform_channels(const float* const* pixels, std::size_t begin, std::size_t end,
                                                    float* dst, std::size_t tap_stride) noexcept {
        using V = Lanes<n>;
        for (std::size_t at = begin; at < end; at += n) {
            sandwich<input_matrix<m, r, P>, V>(
                [&](std::size_t row, std::size_t column) { return V::load(pixels[row * size + column] + at); },
                [&](std::size_t row, std::size_t column, V const& value) {
                    value.store(dst + (row * size + column) * tap_stride + at);
                });
        }
    }

    /// Where a tile's outputs go: the first pixel, pixels to a row, floats to a pixel, and how many of the m squared
    /// there are.
    struct Target {
        std::size_t first, row, stride, height, width;
    };
    template <int n>
    PRIMSEL_NOINLINE static void finish_channels(ConvArgs const& args, Target const& target, std::size_t begin,
                                                 std::size_t end, const float* src, std::size_t tap_stride) noexcept {
        using V = Lanes<n>;
        for (std::size_t at = begin; at < end; at += n) {
            const Finish<n> finish(args, at);
            sandwich<output_matrix<m, r, P>, V>(
                [&](std::size_t row, std::size_t column) {
                    return V::load(src + (row * size + column) * tap_stride + at);
                },
                [&](std::size_t row, std::size_t column, V const& value) {
                    if (row >= target.height || column >= target.width) return;
                    finish(value, (target.first + row * target.row + column) * target.stride + at);
                });
        }
    }
};

}  // namespace primsel::inline PRIMSEL_ABI::detail

#include <algorithm>
#include <utility>

namespace primsel::inline PRIMSEL_ABI {

/// Winograd's minimal filtering in two dimensions, F(m x m, r x r) (Lavin and Gray 2016). Tiles of the image and the
/// kernel are transformed; each of the (m + r - 1)^2 taps is then a product of tiles x c and c x k; the result is
/// transformed back. `vec` channels are transformed side by side; 1 is the scalar version. The interpolation points
/// decide the numerical error.
template <int m, int r, int vec, class P = DefaultPoints<m + r - 2>>
struct Winograd {
private:
    using Tiles = detail::WinogradTiles<m, r, P>;
    static constexpr int size = Tiles::size, taps = Tiles::taps;
    template <int n>
    static constexpr auto square = fixed_decimal<n>() + "x" + fixed_decimal<n>();
    static constexpr auto scalar_id = FixedString("winograd-") + square<m> + "-" + square<r>;

public:
    static constexpr auto id = [] {
        if constexpr (vec == 1)
            return scalar_id + detail::PointsSuffix<P>::value;
        else
            return scalar_id + "-vec-" + fixed_decimal<vec>() + detail::PointsSuffix<P>::value;
    }();
    static constexpr Family family = r == 3 ? Family::wino3 : r == 5 ? Family::wino5 : Family::other;
    using in_layout = hwc;
    using out_layout = hwc;
    static constexpr bool fuses_epilogue = true, strided_output = true;
    /// Measured over the law tests' shapes; relative to the RMS of the output.
    static constexpr double error_bound = size <= 4 ? 5e-6 : m <= 4 ? 1e-4 : 2e-4;

    [[nodiscard]] static constexpr Support supports(ConvShape const& s) {
        if (s.fh != r || s.fw != r) return Support::no(r == 3 ? "needs a 3x3 kernel" : "needs a 5x5 kernel");
        if (s.strided()) return Support::no("needs stride 1");
        if (s.dilated()) return Support::no("needs dilation 1");
        return s.groups != 1 ? Support::no("needs one group") : Support::yes();
    }

    template <class Arch>
    [[nodiscard]] static std::size_t packed_floats(ConvShape const& s) {
        return taps * detail::packed_size<Arch>(s.c, s.k);
    }
    template <class Arch>
    static void pack(ConvShape const& s, const float* kernel, float* dst) {
        Tiles::template pack<Arch>(s, kernel, dst);
    }

    template <class Arch>
    [[nodiscard]] static std::size_t scratch_floats(ConvShape const& s, std::size_t workers) {
        const Blocks blocks = blocks_of<Arch>(s, workers);
        const std::size_t slots = blocks.shared ? 2 * taps : workers * (taps + 1);
        return zeros(s) + slots * slot_floats(s, blocks.tiles);
    }

    /// Blocks of tiles are independent. Where they are few, the steps within each are shared out instead.
    template <class Arch>
    static void run(ConvShape const& s, ConvArgs const& args) noexcept {
        const Blocks blocks = blocks_of<Arch>(s, args.executor.concurrency());
        const int tiles = Tiles::rows(s) * Tiles::columns(s);
        std::fill_n(args.scratch, zeros(s), 0.0F);
        const auto range = [&](std::size_t block) {
            const int first = static_cast<int>(block) * blocks.tiles;
            return std::pair{first, std::min(first + blocks.tiles, tiles)};
        };
        const std::size_t slot = slot_floats(s, blocks.tiles);
        float* slots = args.scratch + zeros(s);
        if (blocks.shared) {
            for (int block = 0; block < blocks.count; ++block) {
                const auto [first, last] = range(static_cast<std::size_t>(block));
                run_block<Arch>(s, args, first, last, slots + taps * slot, slots, args.executor);
            }
        } else {
            args.executor.parallel_for(static_cast<std::size_t>(blocks.count),
                                       [&](std::size_t block, std::size_t worker) {
                                           const auto [first, last] = range(block);
                                           Sequential sequential;
                                           // The product of a tap takes the place of the tap before it, which is used
                                           // up.
                                           float* y = slots + worker * (taps + 1) * slot;
                                           run_block<Arch>(s, args, first, last, y + slot, y, sequential);
                                       });
        }
    }

    template <class Arch>
    [[nodiscard]] static Work work(ConvShape const& s) {
        const Blocks blocks = blocks_of<Arch>(s, 1);
        const double tiles = 1.0 * Tiles::rows(s) * Tiles::columns(s), columns = detail::padded_columns<Arch>(s.k);
        const double u = 4.0 * taps * s.c * columns, v = 4.0 * taps * tiles * s.c, y = 4.0 * taps * tiles * s.k;
        const double in_cache = 4.0 * static_cast<double>((taps + 1) * slot_floats(s, blocks.tiles));
        // Each of the two passes of a transform makes about `size` operations an element; narrow vectors make more.
        const double passes = 2.0 * size * std::max(1.0, static_cast<double>(lanes<Arch>) / vec);
        return Work{}
            .add({.rate = Rate::registers,
                  .operations = tiles * taps * s.c * passes,
                  .bytes = 2 * v,
                  .working_set = in_cache})
            .add({.rate = Rate::gemm,
                  .operations = 2 * taps * tiles * s.c * columns,
                  .bytes = v + y + u * blocks.count,
                  .working_set = in_cache + u})
            .add({.rate = Rate::registers,
                  .operations = tiles * taps * s.k * passes,
                  .bytes = y + y / 2,
                  .working_set = in_cache});
    }

private:
    /// Blocks of tiles, and whether the work within each is shared out.
    struct Blocks {
        int count, tiles;
        bool shared;
    };

    [[nodiscard]] static constexpr std::size_t zeros(ConvShape const& s) {
        return round_up_floats(static_cast<std::size_t>(s.c));
    }
    /// A tap of a block of tiles: the tiles transformed, or their products.
    [[nodiscard]] static constexpr std::size_t slot_floats(ConvShape const& s, int tiles) {
        return static_cast<std::size_t>(tiles) * detail::tile_stride(std::max(s.c, s.k));
    }
    /// The transformed tiles of a block stay in L2 beside a panel of the kernels, unless the kernels are so large that
    /// reading them once a block costs more than that.
    template <class Arch>
    [[nodiscard]] static constexpr Blocks blocks_of(ConvShape const& s, std::size_t workers) {
        constexpr std::size_t l2 = l2_floats / 2, large = 4 * l2_floats;
        constexpr int step = detail::tile_rows<Arch>;
        const int tiles = Tiles::rows(s) * Tiles::columns(s);
        const std::size_t kernels =
            static_cast<std::size_t>(taps) * static_cast<std::size_t>(s.c) * static_cast<std::size_t>(s.k);
        const std::size_t room = kernels > 2 * l2 + l2 / 2 ? large : l2;
        const auto most = static_cast<int>(room / ((taps + 1) * slot_floats(s, 1)));
        const int wanted = std::clamp(most / step * step, step, (tiles + step - 1) / step * step);
        const int count = (tiles + wanted - 1) / wanted, threads = static_cast<int>(workers);
        if (threads > 1 && count < 2 * threads) return {count, (tiles + count - 1) / count, true};
        // As many blocks for one thread as for another.
        const int even = std::min((count + threads - 1) / threads * threads, tiles), size = (tiles + even - 1) / even;
        return {(tiles + size - 1) / size, size, false};
    }

    /// v and y: tap after tap, the transformed tiles and their products with the kernels.
    template <class Arch>
    static void run_block(ConvShape const& s, ConvArgs const& args, int first, int last, float* v, float* y,
                          ExecutorRef executor) noexcept {
        const int tiles = last - first;
        const std::size_t v_stride = detail::tile_stride(s.c), y_stride = detail::tile_stride(s.k);
        const std::size_t slot = slot_floats(s, tiles);
        executor.parallel_for(static_cast<std::size_t>(tiles), [&](std::size_t tile, std::size_t) {
            Tiles::template transform_input<vec>(s, args.src, args.scratch, first + static_cast<int>(tile),
                                                 v + tile * v_stride, slot);
        });
        executor.parallel_for(taps, [&](std::size_t tap, std::size_t) {
            const detail::TileArgs product{.a = v + tap * slot,
                                           .a_stride = v_stride,
                                           .run = s.c,
                                           .fetch_end = args.weights + packed_floats<Arch>(s),
                                           .c = y + tap * slot,
                                           .c_stride = y_stride};
            detail::multiply_panels<Arch>(product, 0, tiles, s.k,
                                          args.weights + tap * detail::packed_size<Arch>(s.c, s.k));
        });
        executor.parallel_for(static_cast<std::size_t>(tiles), [&](std::size_t tile, std::size_t) {
            Tiles::template transform_output<vec>(s, args, first + static_cast<int>(tile), y + tile * y_stride, slot);
        });
    }
};

}  // namespace primsel::inline PRIMSEL_ABI
// primsel/primitive/winograd_line.hpp

// primsel/primitive/detail/winograd_line_tiles.hpp
// The tiles of Winograd's minimal filtering in one dimension: where they lie, and how they are transformed.

namespace primsel::inline PRIMSEL_ABI {

/// The kernels of a one-dimensional Winograd convolution: r x r, 1 x r or r x 1.
enum class KernelForm { square, row, column };

namespace detail {

/// A tile is m + r - 1 pixels in a row (for column kernels: in a column), of which m outputs come. Tiles stand in
/// lines: for tiles along rows, a line is an image row and a position m columns; for tiles along columns, a line is m
/// rows and a position a column. An output tile sums over `lines` lines of input tiles, its own and those below.
template <int m, int r, KernelForm form, class P>
struct WinogradLineTiles {
    static constexpr int taps = m + r - 1;
    static constexpr bool along_rows = form != KernelForm::column;
    static constexpr int fh = form == KernelForm::row ? 1 : r, fw = form == KernelForm::column ? 1 : r;
    static constexpr int lines = form == KernelForm::square ? r : 1;
    static_assert(cook_toom<m, r, P>.is_convolution(), "two interpolation points are the same");
    static constexpr auto needed_text = [] {
        constexpr auto kernel =
            fixed_decimal<static_cast<unsigned>(fh)>() + "x" + fixed_decimal<static_cast<unsigned>(fw)>();
        return FixedString("needs a ") + kernel + " kernel";
    }();
    static constexpr const char* needed_kernel = needed_text.text;

    [[nodiscard]] static constexpr int out_lines(ConvShape const& s) {
        return along_rows ? s.out_h() : (s.out_h() + m - 1) / m;
    }
    [[nodiscard]] static constexpr int positions(ConvShape const& s) {
        return along_rows ? (s.out_w() + m - 1) / m : s.out_w();
    }

    /// Tap after tap and line after line, the transformed kernel as a packed matrix c x k.
    template <class Arch>
    static void pack(ConvShape const& s, const float* kernel, float* dst) {
        constexpr auto& g = kernel_matrix<m, r, P>;
        const auto c = static_cast<std::size_t>(s.c), k = static_cast<std::size_t>(s.k);
        const std::size_t matrix = packed_size<Arch>(s.c, s.k);
        // Straight into the panels, panel after panel.
        for (int first = 0; first < s.k; first += panel_width<Arch>) {
            const auto width = static_cast<std::size_t>(panel_columns<Arch>(first, s.k));
            for (std::size_t n = 0; n < width; n += static_cast<std::size_t>(lanes<Arch>)) {
                const std::size_t row = static_cast<std::size_t>(first) + n;
                float* panel = dst + c * static_cast<std::size_t>(first) + n;
                for (std::size_t column = 0; column < c; ++column, panel += width) {
                    for (std::size_t line = 0; line < lines; ++line) {
                        KernelLanes<Arch> in[r];
                        gather<Arch>(in, kernel + (row * c + column) * (fh * fw) + line * fw, c * (fh * fw),
                                     k - std::min(k, row));
                        for (std::size_t tap = 0; tap < taps; ++tap) {
                            scatter<Arch>(weigh<Arch>(g[tap], in, 1), panel + (tap * lines + line) * matrix);
                        }
                    }
                }
            }
        }
    }

    /// One input tile, all channels: dst[tap * tap_stride + c].
    template <int vec>
    static void transform_input(ConvShape const& s, const float* src, int line, int position, float* dst,
                                std::size_t tap_stride) noexcept {
        const int h0 = line * (along_rows ? 1 : m) - s.pad_top, w0 = position * (along_rows ? m : 1) - s.pad_left;
        const auto c = static_cast<std::size_t>(s.c);
        const float* pixels[taps];
        for (int i = 0; i < taps; ++i) {
            const int h = along_rows ? h0 : h0 + i, w = along_rows ? w0 + i : w0;
            const bool in = h >= 0 && h < s.h && w >= 0 && w < s.w;
            pixels[i] = in ? src + static_cast<std::size_t>(h * s.w + w) * c : nullptr;
        }
        for_channels<vec>(c, [&]<int n>(std::integral_constant<int, n>, std::size_t begin, std::size_t end) {
            transform_channels<n>(pixels, begin, end, dst, tap_stride);
        });
    }

    /// One output tile, all kernels.
    template <int vec>
    static void transform_output(ConvShape const& s, ConvArgs const& args, int line, int position, const float* src,
                                 std::size_t tap_stride) noexcept {
        const int h0 = line * (along_rows ? 1 : m), w0 = position * (along_rows ? m : 1);
        const auto k = static_cast<std::size_t>(s.k);
        const std::size_t pixel = args.pixel_stride(s);
        const Target target{static_cast<std::size_t>(h0 * s.out_w() + w0) * pixel,
                            (along_rows ? 1 : static_cast<std::size_t>(s.out_w())) * pixel,
                            static_cast<std::size_t>(along_rows ? s.out_w() - w0 : s.out_h() - h0)};
        for_channels<vec>(k, [&]<int n>(std::integral_constant<int, n>, std::size_t begin, std::size_t end) {
            finish_channels<n>(args, target, begin, end, src, tap_stride);
        });
    }

private:
    /// Functions of their own: one for each width, not for each pair of a width and its rest.
    template <int n>
    PRIMSEL_NOINLINE static void transform_channels(const float* const* pixels, std::size_t begin, std::size_t end,
                                                    float* dst, std::size_t tap_stride) noexcept {
        using V = Lanes<n>;
        for (std::size_t at = begin; at < end; at += n) {
            V in[taps];
            for (int i = 0; i < taps; ++i) in[i] = pixels[i] != nullptr ? V::load(pixels[i] + at) : V::all(0.0F);
            transform<input_matrix<m, r, P>>(
                in, [&](std::size_t i, V const& value) { value.store(dst + i * tap_stride + at); });
        }
    }

    /// Where a tile's outputs go: the first float, floats from one to the next, and how many of the m there are.
    struct Target {
        std::size_t first, step, count;
    };
    template <int n>
    PRIMSEL_NOINLINE static void finish_channels(ConvArgs const& args, Target const& target, std::size_t begin,
                                                 std::size_t end, const float* src, std::size_t tap_stride) noexcept {
        using V = Lanes<n>;
        for (std::size_t at = begin; at < end; at += n) {
            V in[taps];
            for (std::size_t i = 0; i < taps; ++i) in[i] = V::load(src + i * tap_stride + at);
            const Finish<n> finish(args, at);
            transform<output_matrix<m, r, P>>(in, [&](std::size_t i, V const& sum) {
                if (i < target.count) finish(sum, target.first + i * target.step + at);
            });
        }
    }
};

}  // namespace detail

}  // namespace primsel::inline PRIMSEL_ABI

#include <algorithm>

namespace primsel::inline PRIMSEL_ABI {

/// Winograd's minimal filtering in one dimension, F(m, r), summed over the kernel's other dimension: the square r x r
/// kernel along rows is the papers' winograd-m-r; 1 x r and r x 1 kernels have theirs. Each of the m + r - 1 taps is
/// the sum, over the kernel's lines, of products of tiles x c and c x k. One sum over all lines would round more.
template <int m, int r, int vec, KernelForm form = KernelForm::square, class P = DefaultPoints<m + r - 2>>
struct WinogradLine {
private:
    using Tiles = detail::WinogradLineTiles<m, r, form, P>;
    static constexpr int taps = Tiles::taps;
    static constexpr auto scalar_id = [] {
        constexpr auto prefix = FixedString("winograd-") + fixed_decimal<m>() + "-";
        if constexpr (form == KernelForm::square)
            return prefix + fixed_decimal<r>();
        else if constexpr (form == KernelForm::row)
            return prefix + "1x" + fixed_decimal<r>();
        else
            return prefix + fixed_decimal<r>() + "x1";
    }();

public:
    static constexpr auto id = [] {
        if constexpr (vec == 1)
            return scalar_id + detail::PointsSuffix<P>::value;
        else
            return scalar_id + "-vec-" + fixed_decimal<vec>() + detail::PointsSuffix<P>::value;
    }();
    static constexpr Family family = form != KernelForm::square ? Family::other
                                     : r == 3                   ? Family::wino3
                                     : r == 5                   ? Family::wino5
                                                                : Family::other;
    using in_layout = hwc;
    using out_layout = hwc;
    static constexpr bool fuses_epilogue = true, strided_output = true;
    /// Measured over the law tests' shapes; relative to the RMS of the output.
    static constexpr double error_bound = taps <= 4 ? 5e-6 : 1e-4;

    [[nodiscard]] static constexpr Support supports(ConvShape const& s) {
        if (s.fh != Tiles::fh || s.fw != Tiles::fw) return Support::no(Tiles::needed_kernel);
        if (s.strided()) return Support::no("needs stride 1");
        if (s.dilated()) return Support::no("needs dilation 1");
        return s.groups != 1 ? Support::no("needs one group") : Support::yes();
    }

    template <class Arch>
    [[nodiscard]] static std::size_t packed_floats(ConvShape const& s) {
        return taps * Tiles::lines * detail::packed_size<Arch>(s.c, s.k);
    }
    template <class Arch>
    static void pack(ConvShape const& s, const float* kernel, float* dst) {
        Tiles::template pack<Arch>(s, kernel, dst);
    }

    template <class Arch>
    [[nodiscard]] static std::size_t scratch_floats(ConvShape const& s, std::size_t workers) {
        return workers * block_floats(s, lines_per_block(s));
    }

    /// Blocks of output lines are independent; the lines of tiles between two of them are transformed for both. Where
    /// blocks are few, the steps within each are shared out instead.
    template <class Arch>
    static void run(ConvShape const& s, ConvArgs const& args) noexcept {
        const int step = lines_per_block(s), all = Tiles::out_lines(s);
        const auto blocks = static_cast<std::size_t>((all + step - 1) / step);
        const auto block = [&s, &args, step, all](std::size_t i, std::size_t worker, ExecutorRef executor) {
            const int first = static_cast<int>(i) * step;
            run_block<Arch>(s, args, first, std::min(first + step, all), args.scratch + worker * block_floats(s, step),
                            executor);
        };
        const std::size_t threads = args.executor.concurrency();
        if (threads > 1 && blocks < 2 * threads) {
            for (std::size_t i = 0; i < blocks; ++i) block(i, 0, args.executor);
        } else {
            args.executor.parallel_for(blocks, [&block](std::size_t i, std::size_t worker) {
                Sequential sequential;
                block(i, worker, sequential);
            });
        }
    }

    template <class Arch>
    [[nodiscard]] static Work work(ConvShape const& s) {
        const int step = lines_per_block(s), lines = Tiles::out_lines(s);
        const double blocks = (lines + step - 1) / step, positions = Tiles::positions(s);
        const double columns = detail::padded_columns<Arch>(s.k), depth = 1.0 * Tiles::lines * s.c;
        const double in_tiles = (lines + blocks * (Tiles::lines - 1)) * positions, out_tiles = lines * positions;
        const double u = 4.0 * taps * depth * columns, v = 4.0 * taps * in_tiles * s.c,
                     y = 4.0 * taps * out_tiles * s.k;
        const double in_cache = 4.0 * static_cast<double>(block_floats(s, step));
        const double passes = taps * std::max(1.0, static_cast<double>(lanes<Arch>) / vec);
        return Work{}
            .add({.rate = Rate::registers,
                  .operations = in_tiles * taps * s.c * passes,
                  .bytes = 2 * v,
                  .working_set = in_cache})
            .add({.rate = Rate::gemm,
                  .operations = 2 * taps * out_tiles * depth * columns,
                  .bytes = v * Tiles::lines + y + u * blocks,
                  .working_set = in_cache + u})
            .add({.rate = Rate::registers,
                  .operations = out_tiles * taps * s.k * passes,
                  .bytes = y + y / 2,
                  .working_set = in_cache});
    }

private:
    [[nodiscard]] static constexpr std::size_t block_floats(ConvShape const& s, int out_lines) {
        const auto in = static_cast<std::size_t>(out_lines + Tiles::lines - 1),
                   out = static_cast<std::size_t>(out_lines);
        return static_cast<std::size_t>(taps * Tiles::positions(s)) *
               (in * detail::tile_stride(s.c) + out * detail::tile_stride(s.k));
    }
    /// As many output lines as leave the transformed tiles in L2, but no fewer than four kernels high: the lines
    /// between two blocks are transformed twice.
    [[nodiscard]] static constexpr int lines_per_block(ConvShape const& s) {
        constexpr int room = l2_floats / 8 * 5;
        const int in = static_cast<int>(detail::tile_stride(s.c)), out = static_cast<int>(detail::tile_stride(s.k));
        const int fitting = (room / (taps * Tiles::positions(s)) - (Tiles::lines - 1) * in) / (in + out);
        return std::min(std::max(4 * Tiles::lines, fitting), Tiles::out_lines(s));
    }

    template <class Arch>
    static void run_block(ConvShape const& s, ConvArgs const& args, int first, int last, float* scratch,
                          ExecutorRef executor) noexcept {
        const std::size_t v_stride = detail::tile_stride(s.c), y_stride = detail::tile_stride(s.k);
        const int positions = Tiles::positions(s);
        const auto in_tiles = static_cast<std::size_t>((last - first + Tiles::lines - 1) * positions),
                   out_tiles = static_cast<std::size_t>((last - first) * positions);
        float* v = scratch;
        float* y = scratch + taps * in_tiles * v_stride;
        executor.parallel_for(in_tiles, [&](std::size_t tile, std::size_t) {
            const int line = first + static_cast<int>(tile) / positions, position = static_cast<int>(tile) % positions;
            Tiles::template transform_input<vec>(s, args.src, line, position, v + tile * v_stride, in_tiles * v_stride);
        });
        executor.parallel_for(taps, [&](std::size_t tap, std::size_t) {
            for (std::size_t line = 0; line < Tiles::lines; ++line) {
                const std::size_t below = line * static_cast<std::size_t>(positions);
                const detail::TileArgs product{.a = v + (tap * in_tiles + below) * v_stride,
                                               .a_stride = v_stride,
                                               .run = s.c,
                                               .fetch_end = args.weights + packed_floats<Arch>(s),
                                               .c = y + tap * out_tiles * y_stride,
                                               .c_stride = y_stride,
                                               .accumulate = line > 0};
                detail::multiply_panels<Arch>(
                    product, 0, static_cast<int>(out_tiles), s.k,
                    args.weights + (tap * Tiles::lines + line) * detail::packed_size<Arch>(s.c, s.k));
            }
        });
        executor.parallel_for(out_tiles, [&](std::size_t tile, std::size_t) {
            const int line = first + static_cast<int>(tile) / positions, position = static_cast<int>(tile) % positions;
            Tiles::template transform_output<vec>(s, args, line, position, y + tile * y_stride, out_tiles * y_stride);
        });
    }
};

}  // namespace primsel::inline PRIMSEL_ABI

namespace primsel::inline PRIMSEL_ABI {

using DirectPrimitives = TypeList<DirectSum2d>;

namespace detail {

template <PatchCopy copy>
using Im2Row = TypeList<Im2<Patch::row, copy, GemmForm::ab, GemmOut::ik>,   //
                        Im2<Patch::row, copy, GemmForm::abt, GemmOut::ik>,  //
                        Im2<Patch::row, copy, GemmForm::abt, GemmOut::ki>,  //
                        Im2<Patch::row, copy, GemmForm::atbt, GemmOut::ki>>;
template <PatchCopy copy>
using Im2Col = TypeList<Im2<Patch::col, copy, GemmForm::ab, GemmOut::ki>,   //
                        Im2<Patch::col, copy, GemmForm::atb, GemmOut::ki>,  //
                        Im2<Patch::col, copy, GemmForm::atb, GemmOut::ik>,  //
                        Im2<Patch::col, copy, GemmForm::atbt, GemmOut::ik>>;

template <int m, int r>
using WinogradWidths = TypeList<Winograd<m, r, 1>, Winograd<m, r, 4>, Winograd<m, r, 8>, Winograd<m, r, 16>>;
template <int m, int r>
using WinogradLineWidths = TypeList<WinogradLine<m, r, 1>, WinogradLine<m, r, 4>, WinogradLine<m, r, 8>>;
template <int r>
using WinogradSizes = concatenate<WinogradLineWidths<2, r>, WinogradLineWidths<3, r>, WinogradWidths<2, r>,
                                  WinogradWidths<3, r>, WinogradWidths<4, r>>;

template <GemmOut out>
using Conv1x1Forms = TypeList<Conv1x1Gemm<GemmForm::ab, out>, Conv1x1Gemm<GemmForm::atb, out>,
                              Conv1x1Gemm<GemmForm::abt, out>, Conv1x1Gemm<GemmForm::atbt, out>>;

}  // namespace detail

using Im2Primitives =
    concatenate<detail::Im2Row<PatchCopy::scan>, detail::Im2Row<PatchCopy::copy_short>, detail::Im2Col<PatchCopy::scan>,
                detail::Im2Col<PatchCopy::copy_short>, detail::Im2Col<PatchCopy::copy_self>>;
using Kn2Primitives = TypeList<Kn2Row<>, Kn2Col<>, Kn2AccumulateShift<true>, Kn2AccumulateShift<false>,  //
                               Kn2RowAccumulate<GemmForm::ab>, Kn2RowAccumulate<GemmForm::atb>,
                               Kn2RowAccumulate<GemmForm::abt>, Kn2RowAccumulate<GemmForm::atbt>>;
using Wino3Primitives = detail::WinogradSizes<3>;
using Wino5Primitives = detail::WinogradSizes<5>;
using Conv1x1Primitives = concatenate<detail::Conv1x1Forms<GemmOut::ik>, detail::Conv1x1Forms<GemmOut::ki>>;
using MecPrimitives = TypeList<MecCol, MecRowPartition>;

/// The 75 of the papers' measurements (Mulder et al. 2020, table 6).
using PublishedPrimitives = concatenate<DirectPrimitives, Im2Primitives, Kn2Primitives, Wino3Primitives,
                                        Wino5Primitives, Conv1x1Primitives, MecPrimitives>;
/// Primitives that the papers did not measure.
using OtherPrimitives =
    TypeList<DirectHwc, DepthwiseChw, DepthwiseHwc, GroupedHwc, Indirect, Im2Win, Winograd<6, 3, 16>,
             WinogradLine<4, 3, 16, KernelForm::row>, WinogradLine<4, 3, 16, KernelForm::column>,
             WinogradLine<2, 7, 16, KernelForm::row>, WinogradLine<2, 7, 16, KernelForm::column>>;

using AllPrimitives = concatenate<PublishedPrimitives, OtherPrimitives>;

/// What an engine considers unless told otherwise: of every family those that win a layer somewhere. They are
/// compiled sooner than all.
using DefaultPrimitives =
    TypeList<DirectSum2d, DirectHwc, DepthwiseChw, DepthwiseHwc, GroupedHwc,  //
             Im2<Patch::row, PatchCopy::copy_short, GemmForm::ab, GemmOut::ik>,
             Im2<Patch::row, PatchCopy::copy_short, GemmForm::abt, GemmOut::ki>,
             Im2<Patch::col, PatchCopy::copy_short, GemmForm::ab, GemmOut::ki>,
             Im2<Patch::col, PatchCopy::copy_self, GemmForm::ab, GemmOut::ki>,                            //
             Kn2RowAccumulate<GemmForm::ab>, Kn2RowAccumulate<GemmForm::abt>,                             //
             WinogradLine<2, 3, 8>, WinogradLine<3, 3, 8>, WinogradLine<2, 5, 8>, WinogradLine<3, 5, 8>,  //
             Winograd<2, 3, 16>, Winograd<3, 3, 16>, Winograd<4, 3, 16>, Winograd<6, 3, 16>,              //
             Winograd<2, 5, 16>, Winograd<3, 5, 16>, Winograd<4, 5, 16>,                                  //
             WinogradLine<4, 3, 16, KernelForm::row>, WinogradLine<4, 3, 16, KernelForm::column>,
             WinogradLine<2, 7, 16, KernelForm::row>, WinogradLine<2, 7, 16, KernelForm::column>,
             Conv1x1Gemm<GemmForm::ab, GemmOut::ik>, Conv1x1Gemm<GemmForm::atb, GemmOut::ik>,
             Conv1x1Gemm<GemmForm::ab, GemmOut::ki>, Conv1x1Gemm<GemmForm::abt, GemmOut::ki>,  //
             MecCol, MecRowPartition>;

}  // namespace primsel::inline PRIMSEL_ABI

namespace primsel::inline PRIMSEL_ABI {

#ifdef PRIMSEL_EXTERN_KERNELS
extern template OpTable const& detail::ops_in<default_arch, chw, CompileAll>();
extern template OpTable const& detail::ops_in<default_arch, hcw, CompileAll>();
extern template OpTable const& detail::ops_in<default_arch, hwc, CompileAll>();
extern template Kernels make_kernels<DefaultPrimitives, default_arch, AllLayouts>();
extern template Kernels make_kernels<AllPrimitives, default_arch, AllLayouts>();
#endif

}  // namespace primsel::inline PRIMSEL_ABI

#include <concepts>
#include <type_traits>

namespace primsel::inline PRIMSEL_ABI {

/// The choices behind an Engine. Inherit and override line by line:
///     struct Laptop : primsel::DefaultPolicies {
///         using primitives = primsel::AllPrimitives;
///         using executor = primsel::OpenMP;
///     };
struct DefaultPolicies {
    /// The instruction set: no wider than what the translation unit is compiled for.
    using arch = default_arch;
    using primitives = DefaultPrimitives;
    /// The matrix product of every primitive that is built on one.
    using gemm = SimdGemm;
    /// The first is the one in which images come and results go.
    using layouts = AllLayouts;
    using cost_model = SemiEmpiricalCosts;
    using solver = ExactPbqp;
    using executor = Sequential;
};

namespace detail {

// What is asked of each policy, without an error where the member is missing.
template <class P>
concept HasArch = requires { typename P::arch; };
template <class P>
concept HasPrimitives = requires { typename P::primitives; };
template <class P>
concept HasGemm = requires { typename P::gemm; };
template <class P>
concept HasLayouts = requires { typename P::layouts; };
template <class P>
concept HasCostModel = requires { typename P::cost_model; };
template <class P>
concept HasSolver = requires { typename P::solver; };
template <class P>
concept HasExecutor = requires { typename P::executor; };

template <class P>
concept HasInstructionSet = requires { requires InstructionSet<typename P::arch>; };
template <class P>
concept ListsPrimitives = requires { requires is_type_list<typename P::primitives>; };
template <class P>
concept Multiplies = requires { requires Gemm<typename P::gemm>; };
template <class P>
concept ListsLayouts = requires { requires is_type_list<typename P::layouts>; };
template <class P>
concept ModelsCosts = requires { requires CostModel<typename P::cost_model>; };
template <class P>
concept MakesCostModel = requires { requires std::default_initializable<typename P::cost_model>; };
template <class P>
concept Solves = requires { requires Solver<typename P::solver>; };
template <class P>
concept MakesSolver = requires { requires std::default_initializable<typename P::solver>; };
template <class P>
concept Executes = requires { requires Executor<typename P::executor>; };
template <class P>
concept MovesExecutor = requires { requires std::move_constructible<typename P::executor>; };

template <class P>
concept CompletePolicies =
    HasArch<P> && HasPrimitives<P> && HasGemm<P> && HasLayouts<P> && HasCostModel<P> && HasSolver<P> && HasExecutor<P>;
template <class P>
concept SoundPolicies = CompletePolicies<P> && HasInstructionSet<P> && ListsPrimitives<P> && Multiplies<P> &&
                        ListsLayouts<P> && ModelsCosts<P> && Solves<P> && Executes<P> && MovesExecutor<P> &&
                        (P::primitives::size > 0) && (P::layouts::size > 0) && SoundLayouts<typename P::layouts>;

/// Says at the user's policies which of them is missing, or does not model its concept.
template <class P>
struct CheckPolicies {
    static_assert(HasArch<P>, "primsel: Policies::arch is missing; see docs/engine/policies.md");
    static_assert(HasPrimitives<P>, "primsel: Policies::primitives is missing; see docs/engine/policies.md");
    static_assert(HasGemm<P>, "primsel: Policies::gemm is missing; see docs/engine/policies.md");
    static_assert(HasLayouts<P>, "primsel: Policies::layouts is missing; see docs/engine/policies.md");
    static_assert(HasCostModel<P>, "primsel: Policies::cost_model is missing; see docs/engine/policies.md");
    static_assert(HasSolver<P>, "primsel: Policies::solver is missing; see docs/engine/policies.md");
    static_assert(HasExecutor<P>, "primsel: Policies::executor is missing; see docs/engine/policies.md");

    static_assert(!HasArch<P> || HasInstructionSet<P>,
                  "primsel: Policies::arch is not an instruction set that this translation unit is compiled for; see "
                  "docs/engine/policies.md");
    static_assert(!HasPrimitives<P> || ListsPrimitives<P>,
                  "primsel: Policies::primitives is not a TypeList; see docs/primitive/primitive.md");
    static_assert(!HasGemm<P> || Multiplies<P>, "primsel: Policies::gemm is not a Gemm; see docs/primitive/gemm.md");
    static_assert(!HasLayouts<P> || ListsLayouts<P>,
                  "primsel: Policies::layouts is not a TypeList; see docs/tensor/layout.md");
    static_assert(!HasCostModel<P> || ModelsCosts<P>,
                  "primsel: Policies::cost_model is not a CostModel; see docs/cost/cost_model.md");
    static_assert(!HasSolver<P> || Solves<P>, "primsel: Policies::solver is not a Solver; see docs/pbqp/solver.md");
    static_assert(!HasExecutor<P> || Executes<P>,
                  "primsel: Policies::executor is not an Executor; see docs/core/executor.md");
    static_assert(!Executes<P> || MovesExecutor<P>,
                  "primsel: Policies::executor cannot be moved; see docs/core/executor.md");

    static constexpr bool has_primitives = [] {
        if constexpr (ListsPrimitives<P>) return P::primitives::size > 0;
        return true;
    }();
    static_assert(has_primitives, "primsel: Policies::primitives is empty");
    static constexpr bool has_layouts = [] {
        if constexpr (ListsLayouts<P>) return P::layouts::size > 0 && CheckLayouts<typename P::layouts>::value;
        return true;
    }();
    static_assert(has_layouts, "primsel: Policies::layouts is empty");
    static constexpr bool value = true;
};

/// The same for planners that make the model or the solver themselves.
template <class P>
struct CheckOwnModel {
    static_assert(MakesCostModel<P>,
                  "primsel: Policies::cost_model has no default constructor: hand one over, Predict{model}; see "
                  "docs/engine/planner.md");
    static constexpr bool value = true;
};
template <class P>
struct CheckOwnSolver {
    static_assert(MakesSolver<P>,
                  "primsel: Policies::solver has no default constructor: hand one over, Predict{model, solver}; see "
                  "docs/engine/planner.md");
    static constexpr bool value = true;
};

/// What an engine goes on with after one of these messages, lest others follow.
struct FewPolicies : DefaultPolicies {
    using primitives = TypeList<DirectSum2d>;
};
template <class P>
using ChosenPolicies = std::conditional_t<SoundPolicies<P>, P, FewPolicies>;

/// A primitive with another matrix product, if it is built on one.
template <class P, class G>
struct WithGemm {
    using type = P;
};
template <class P, class G>
    requires requires { typename P::template with_gemm<G>; }
struct WithGemm<P, G> {
    using type = typename P::template with_gemm<G>;
};

/// A list of primitives with another matrix product. The library's own leaves the list as it is, and so a list may name
/// another one for some of its primitives.
template <class G, class List>
struct ListWithGemm;
template <class G, class... P>
struct ListWithGemm<G, TypeList<P...>> {
    using type = TypeList<typename WithGemm<P, G>::type...>;
};
template <class... P>
struct ListWithGemm<SimdGemm, TypeList<P...>> {
    using type = TypeList<P...>;
};

}  // namespace detail

/// Everything that an engine with those policies may choose from; what is compiled of it, see KernelsFor.
template <class Policies, class Compiled = CompileAll>
[[nodiscard]] Kernels policy_kernels() {
    return make_kernels<typename detail::ListWithGemm<typename Policies::gemm, typename Policies::primitives>::type,
                        typename Policies::arch, typename Policies::layouts, Compiled>();
}

}  // namespace primsel::inline PRIMSEL_ABI
// primsel/engine/predict.hpp

// primsel/engine/fit.hpp

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

/// Bytes of the arena that a plan needs with so many workers.
[[nodiscard]] inline std::size_t arena_bytes(Graph const& graph, Kernels const& kernels, Plan const& plan,
                                             std::size_t workers) {
    return place(make_schedule(graph, kernels, plan, workers).lifetimes).bytes;
}

namespace detail {

/// The step at which the most bytes of the arena are alive.
[[nodiscard]] inline std::size_t fullest_step(Schedule const& schedule) {
    std::vector<std::size_t> alive(schedule.steps.size(), 0);
    for (Lifetime const& lifetime : schedule.lifetimes) {
        for (std::size_t step = lifetime.first; step <= lifetime.last && step < alive.size(); ++step) {
            alive[step] += round_up_bytes(lifetime.bytes);
        }
    }
    return static_cast<std::size_t>(std::ranges::max_element(alive) - alive.begin());
}

/// The convolutions whose choice of primitive the bytes alive at a step depend on: whose scratch they are, or whose
/// wish for a layout made a copy. The largest first.
[[nodiscard]] inline std::vector<std::size_t> responsible(Schedule const& schedule, Graph const& graph,
                                                          std::size_t at) {
    std::vector<std::pair<std::size_t, std::size_t>> found;  // bytes, node
    const auto alive = [&](std::size_t tensor) {
        if (tensor == Step::none || tensor < schedule.callers()) return std::size_t{0};
        Lifetime const& lifetime = schedule.lifetimes[tensor - schedule.callers()];
        return lifetime.first <= at && at <= lifetime.last ? lifetime.bytes : 0;
    };
    const auto blame = [&](std::size_t node, std::size_t bytes) {
        if (bytes > 0 && std::holds_alternative<ConvParams>(graph[node].layer)) found.emplace_back(bytes, node);
    };
    for (Step const& step : schedule.steps) {
        blame(step.node, alive(step.scratch));
        if (step.kind != Step::Kind::transform) continue;
        // The one who wrote it in another layout, and those who read the copy.
        blame(step.node, alive(step.dst));
        for (Step const& reader : schedule.steps) {
            if (reader.residual == step.dst || std::ranges::find(reader.src, step.dst) != reader.src.end()) {
                blame(reader.node, alive(step.dst));
            }
        }
    }
    std::ranges::stable_sort(found, [](auto const& a, auto const& b) { return a.first > b.first; });
    std::vector<std::size_t> nodes;
    for (auto const& [bytes, node] : found) nodes.push_back(node);
    return nodes;
}

}  // namespace detail

/// make_plan within options.max_arena: as long as the arena is too large, the primitive that fills it most where it is
/// fullest is refused to its layer, and the rest solved anew. Throws error when nothing is left to refuse, and says how
/// small the arena became. The result need not be the cheapest that fits: who is refused is chosen greedily.
template <CostModel Model, Solver S>
[[nodiscard]] Plan make_fitting_plan(Graph const& graph, Kernels const& kernels, Model& model, S const& solver,
                                     PlanOptions options, std::size_t workers) {
    Plan plan = make_plan(graph, kernels, model, solver, options);
    if (options.max_arena == PlanOptions{}.max_arena) return plan;
    std::size_t smallest = PlanOptions{}.max_arena;
    const std::size_t given = options.refused.size();
    const double bound = plan.bound_seconds;
    for (;;) {
        const Schedule schedule = make_schedule(graph, kernels, plan, workers);
        const std::size_t bytes = place(schedule.lifetimes).bytes;
        if (bytes <= options.max_arena) {
            // A cheaper plan may fit, had others been refused.
            if (options.refused.size() > given) plan.optimal = false, plan.bound_seconds = bound;
            return plan;
        }
        smallest = std::min(smallest, bytes);
        const std::size_t step = detail::fullest_step(schedule);
        std::optional<std::size_t> refused;
        for (const std::size_t node : detail::responsible(schedule, graph, step)) {
            const auto left = std::ranges::count_if(
                plan.layers[node].candidates, [](Candidate const& candidate) { return candidate.refusal.empty(); });
            if (left > 1) {
                refused = node;
                break;
            }
        }
        if (!refused) {
            fail("plan: no plan found needs at most ", options.max_arena, " bytes of arena; the smallest needs ",
                 smallest, ", and is fullest at layer ", graph[schedule.steps[step].node].name);
        }
        options.refused.push_back({graph[*refused].name, plan.layers[*refused].primitive,
                                   "the arena would exceed " + std::to_string(options.max_arena) + " bytes"});
        const double predict_seconds = plan.predict_seconds, solve_seconds = plan.solve_seconds;
        plan = make_plan(graph, kernels, model, solver, options);
        plan.predict_seconds += predict_seconds;
        plan.solve_seconds += solve_seconds;
    }
}

}  // namespace primsel::inline PRIMSEL_ABI

#include <concepts>
#include <cstddef>
#include <utility>

namespace primsel::inline PRIMSEL_ABI {

/// In the place of a value that the policies' type makes by its default constructor.
struct OfPolicies {};

namespace detail {
/// A copy of the model, or a new one of the policies'.
template <class Policies, class Model>
[[nodiscard]] auto model_of(Model const& model) {
    if constexpr (std::same_as<Model, OfPolicies>) {
        static_assert(CheckOwnModel<Policies>::value);
        return typename Policies::cost_model{};
    } else {
        return model;
    }
}
template <class Policies, class S>
[[nodiscard]] auto solver_of(S const& solver) {
    if constexpr (std::same_as<S, OfPolicies>) {
        static_assert(CheckOwnSolver<Policies>::value);
        return typename Policies::solver{};
    } else {
        return solver;
    }
}
}  // namespace detail

/// The planner that predicts and solves: `Engine<Net> engine(weights, Predict{model, solver, options})`. Model and
/// solver that are left out are those of the policies. The model is copied for each plan, as models may change while
/// they predict.
template <class Model = OfPolicies, class S = OfPolicies>
class Predict {
    static_assert(std::same_as<Model, OfPolicies> || (CostModel<Model> && std::copy_constructible<Model>),
                  "primsel: Predict takes a CostModel that can be copied; see docs/cost/cost_model.md");
    static_assert(std::same_as<S, OfPolicies> || Solver<S>, "primsel: Predict takes a Solver; see docs/pbqp/solver.md");

public:
    explicit Predict(Model model = {}, S solver = {}, PlanOptions options = {})
        : model_(std::move(model)), solver_(std::move(solver)), options_(std::move(options)) {}

    template <class Policies>
    [[nodiscard]] Plan plan(Graph const& graph, Kernels const& kernels, std::size_t workers) const {
        auto model = detail::model_of<Policies>(model_);
        return make_fitting_plan(graph, kernels, model, detail::solver_of<Policies>(solver_), options_, workers);
    }

private:
    [[no_unique_address]] Model model_;
    [[no_unique_address]] S solver_;
    PlanOptions options_;
};

}  // namespace primsel::inline PRIMSEL_ABI
// primsel/plan/print.hpp

// primsel/core/printable.hpp

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace primsel::inline PRIMSEL_ABI {

namespace detail {

/// Bytes of the UTF-8 sequence (RFC 3629) at the start of the text; 0 where there is none.
[[nodiscard]] inline std::size_t utf8_length(std::string_view text) {
    const auto byte = [&](std::size_t i) {
        return i < text.size() ? static_cast<unsigned>(static_cast<unsigned char>(text[i])) : 0U;
    };
    const unsigned first = byte(0), second = byte(1);
    const auto continues = [&](std::size_t i) { return (byte(i) & 0xc0U) == 0x80U; };
    if (first < 0x80) return text.empty() ? 0 : 1;
    if (first >= 0xc2 && first <= 0xdf) return continues(1) ? 2 : 0;
    if (first >= 0xe0 && first <= 0xef) {
        const bool overlong = first == 0xe0 && second < 0xa0, surrogate = first == 0xed && second > 0x9f;
        return continues(1) && continues(2) && !overlong && !surrogate ? 3 : 0;
    }
    if (first >= 0xf0 && first <= 0xf4) {
        const bool outside = (first == 0xf0 && second < 0x90) || (first == 0xf4 && second > 0x8f);
        return continues(1) && continues(2) && continues(3) && !outside ? 4 : 0;
    }
    return 0;
}

/// The character that a whole sequence of UTF-8 stands for.
[[nodiscard]] inline std::uint32_t utf8_character(std::string_view sequence) {
    const auto bits = [&](std::size_t i) {
        return static_cast<std::uint32_t>(static_cast<unsigned char>(sequence[i]));
    };
    if (sequence.size() == 1) return bits(0);
    std::uint32_t character = bits(0) & (0x7fU >> sequence.size());
    for (std::size_t i = 1; i < sequence.size(); ++i) character = character << 6U | (bits(i) & 0x3fU);
    return character;
}

/// Whether a terminal obeys a character, as those that move the cursor, or shows other text elsewhere or in another
/// order for it: Unicode's control characters, its ends of lines and its marks of direction.
[[nodiscard]] constexpr bool is_control(std::uint32_t character) {
    return character < 0x20 || (character >= 0x7f && character < 0xa0) || character == 0x61c ||
           (character >= 0x200e && character <= 0x200f) || (character >= 0x2028 && character <= 0x202e) ||
           (character >= 0x2066 && character <= 0x2069);
}

/// Calls `plain` with each sequence of UTF-8 that is text, `control` with each control character, and `byte` with each
/// byte that is not UTF-8.
template <class Plain, class Control, class Byte>
void for_each_character(std::string_view text, Plain const& plain, Control const& control, Byte const& byte) {
    while (!text.empty()) {
        const std::size_t length = utf8_length(text);
        const std::string_view sequence = text.substr(0, length);
        if (length == 0)
            byte(static_cast<unsigned char>(text[0]));
        else if (const std::uint32_t character = utf8_character(sequence); is_control(character))
            control(character);
        else
            plain(sequence);
        text.remove_prefix(length == 0 ? 1 : length);
    }
}

inline void append_hex(std::string& text, std::uint32_t value, int digits) {
    for (int i = digits - 1; i >= 0; --i) text += "0123456789abcdef"[value >> (4U * static_cast<unsigned>(i)) & 15U];
}

}  // namespace detail

/// The text on one line, as a terminal may show it whatever file it comes from: in place of control characters stands
/// what C++ writes for them ("\n", "\x1b", "\u202e"), in place of bytes that are not UTF-8 "\xff" and the like. Text
/// without any stays what it is; so does what was made printable before.
[[nodiscard]] inline std::string printable(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    const auto escape = [&out](const char* prefix, std::uint32_t value, int digits) {
        out += prefix;
        detail::append_hex(out, value, digits);
    };
    detail::for_each_character(
        text, [&](std::string_view sequence) { out += sequence; },
        [&](std::uint32_t character) {
            if (character == '\n')
                out += "\\n";
            else if (character == '\t')
                out += "\\t";
            else if (character < 0x80)
                escape("\\x", character, 2);
            else
                escape("\\u", character, 4);
        },
        [&](unsigned char byte) { escape("\\x", byte, 2); });
    return out;
}

}  // namespace primsel::inline PRIMSEL_ABI
// primsel/core/text_table.hpp

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

/// A time in milliseconds with three decimals, as "1.250" of 0.00125 seconds.
[[nodiscard]] inline std::string milliseconds(double seconds) {
    char text[32];
    std::snprintf(text, sizeof(text), "%.3f", seconds * 1e3);
    return text;
}

/// Rows of text in columns as wide as they need to be, two spaces apart; the last cell of a row is not padded. Cells
/// are made printable: names come from files.
class TextTable {
public:
    void add(std::vector<std::string> row) {
        for (std::string& cell : row) cell = printable(cell);
        widths_.resize(std::max(widths_.size(), row.size()), 0);
        for (std::size_t i = 0; i < row.size(); ++i) widths_[i] = std::max(widths_[i], row[i].size());
        rows_.push_back(std::move(row));
    }
    /// A line a row.
    [[nodiscard]] std::string text() const {
        std::string out;
        for (auto const& row : rows_) {
            for (std::size_t i = 0; i < row.size(); ++i) {
                out += row[i];
                if (i + 1 < row.size()) out.append(widths_[i] - row[i].size() + 2, ' ');
            }
            out += '\n';
        }
        return out;
    }

private:
    std::vector<std::vector<std::string>> rows_;
    std::vector<std::size_t> widths_;
};

}  // namespace primsel::inline PRIMSEL_ABI

#include <cstdio>
#include <ostream>

namespace primsel::inline PRIMSEL_ABI {

inline std::string Plan::optimality() const {
    if (optimal) return "proven optimal";
    if (!(bound_seconds > 0)) return "not proven optimal";
    char text[64];
    std::snprintf(text, sizeof(text), "within %.2g %% of optimal", (total_seconds / bound_seconds - 1) * 100);
    return text;
}

inline std::string Plan::explain(std::string_view name) const {
    PlannedLayer const& found = layer(name);
    std::string text = printable(found.name + ": " + found.kind + " " + found.shape) + '\n';
    if (found.candidates.empty())
        return text + "  runs in " + printable(found.in_layout) + "; nothing to choose but its layout\n";
    TextTable table;
    for (Candidate const& candidate : found.candidates) {
        const bool chosen = candidate.primitive == found.primitive;
        const bool refused = !candidate.refusal.empty();
        table.add({chosen ? "  *" : "   ", candidate.primitive,
                   refused ? candidate.refusal : milliseconds(candidate.seconds) + " ms"});
    }
    return text + table.text();
}

/// A line a layer, with the changes of layout where they happen, then the totals.
inline std::ostream& operator<<(std::ostream& out, Plan const& plan) {
    TextTable table;
    table.add({"layer", "shape", "primitive", "layouts", "ms"});
    for (PlannedLayer const& layer : plan.layers) {
        for (PlannedTransform const& transform : plan.transforms) {
            if (transform.reader != layer.name) continue;
            table.add({"  (" + transform.writer + ")", transform.shape, "transform",
                       transform.from + " -> " + transform.to, milliseconds(transform.seconds)});
        }
        const bool one_layout = layer.in_layout == layer.out_layout;
        table.add({layer.name, layer.shape, layer.primitive.empty() ? layer.kind : layer.primitive,
                   one_layout ? layer.in_layout : layer.in_layout + " -> " + layer.out_layout,
                   milliseconds(layer.seconds)});
    }
    for (PlannedTransform const& transform : plan.transforms) {
        if (!transform.reader.empty()) continue;
        table.add({"  (" + transform.writer + ")", transform.shape, "transform", transform.from + " -> " + transform.to,
                   milliseconds(transform.seconds)});
    }
    return out << table.text() << "total " << milliseconds(plan.total_seconds) << " ms predicted by "
               << printable(plan.cost_model) << ", " << plan.optimality() << " by " << printable(plan.solver)
               << "; predicted in " << milliseconds(plan.predict_seconds) << " ms, solved in "
               << milliseconds(plan.solve_seconds) << " ms\n";
}

}  // namespace primsel::inline PRIMSEL_ABI

#include <concepts>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

/// Makes the plan of an engine with those policies: for a simplified graph, some kernels and so many workers. See
/// docs/engine/planner.md.
template <class P, class Policies>
concept PlannerFor = requires(P const& planner, Graph const& graph, Kernels const& kernels, std::size_t workers) {
    { planner.template plan<Policies>(graph, kernels, workers) } -> std::same_as<Plan>;
};

/// What an engine may be given to plan by.
template <class T, class Policies>
concept HowToPlan = std::same_as<T, PlanOptions> || std::same_as<T, Plan> || PlannerFor<T, Policies>;

namespace detail {

/// What engines of all networks have in common, with those of the kernels that are compiled.
template <class Policies, class Compiled>
class EngineOf {
public:
    using Executor = typename Policies::executor;

    template <class How>
    EngineOf(Graph const& graph, Weights const& weights, How const& how, Executor run_on);

    void run(std::span<const std::span<const float>> srcs, std::span<const std::span<float>> dsts) noexcept {
        check_count("inputs", srcs.size(), src_data_.size());
        check_count("results", dsts.size(), dst_data_.size());
        for (std::size_t i = 0; i < srcs.size(); ++i) {
            check_count("floats of input", srcs[i].size(), program_.in_floats(i));
            src_data_[i] = srcs[i].data();
        }
        for (std::size_t i = 0; i < dsts.size(); ++i) {
            check_count("floats of result", dsts[i].size(), program_.out_floats(i));
            dst_data_[i] = dsts[i].data();
        }
        program_.run(src_data_, dst_data_, executor_);
    }

    [[nodiscard]] Graph const& graph() const { return graph_; }
    [[nodiscard]] Plan const& plan() const { return plan_; }
    [[nodiscard]] Program const& program() const { return program_; }

private:
    [[nodiscard]] static Graph compiled(Graph graph) {
        for (Node const& node : graph.nodes()) {
            if (!Compiled::layer(node.layer.index()) && !std::holds_alternative<InputParams>(node.layer)) {
                fail("engine: layer ", node.name, " is a ", kind(node.layer),
                     ", which the network type has not; Engine<Graph> runs every graph");
            }
        }
        return graph;
    }
    [[nodiscard]] static Kernels kernels() { return policy_kernels<Policies, Compiled>(); }
    template <class How>
    [[nodiscard]] static Plan plan_for(Graph const& graph, How const& how, std::size_t workers) {
        if constexpr (std::same_as<How, Plan>) {
            return how;
        } else if constexpr (std::same_as<How, PlanOptions>) {
            return Predict<>({}, {}, how).template plan<Policies>(graph, kernels(), workers);
        } else {
            return how.template plan<Policies>(graph, kernels(), workers);
        }
    }
    static void check_count(const char* what, std::size_t given, std::size_t wanted) noexcept {
        if (given == wanted) [[likely]]
            return;
        std::fprintf(stderr, "primsel: run() was called with %zu %s; it takes %zu\n", given, what, wanted);
        std::abort();
    }

    Executor executor_;
    Graph graph_;
    Plan plan_;
    Program program_;
    std::vector<const float*> src_data_;
    std::vector<float*> dst_data_;
};

// Not inline, so that instantiate.hpp keeps it out of other translation units.
template <class Policies, class Compiled>
template <class How>
EngineOf<Policies, Compiled>::EngineOf(Graph const& graph, Weights const& weights, How const& how, Executor run_on)
    : executor_(std::move(run_on)),
      graph_(compiled(simplify(graph))),
      plan_(plan_for(graph_, how, executor_.concurrency())),
      program_(graph_, kernels(), plan_, weights, executor_.concurrency()),
      src_data_(program_.in_shapes().size()),
      dst_data_(program_.out_shapes().size()) {}

}  // namespace detail

/// A network ready to run on this machine: constructing it predicts, solves, packs the weights and books the memory,
/// and may throw error; run only executes. Net is a Network type, or Graph for a network that comes from elsewhere.
template <class Net, class Policies>
class Engine {
    static_assert(NetworkType<Net> || std::same_as<Net, Graph>,
                  "primsel: Engine<Net> takes a type that inherits from primsel::Network, or primsel::Graph");
    static_assert(detail::CheckPolicies<Policies>::value);
    using Chosen = detail::ChosenPolicies<Policies>;

public:
    using executor = typename Chosen::executor;
    using cost_model = typename Chosen::cost_model;

    /// For a Network type. `how` is a planner (Predict, Calibrate, or a type of your own), a Plan that was made before,
    /// or PlanOptions, with which the engine predicts and solves by itself.
    template <HowToPlan<Chosen> How = PlanOptions>
        requires NetworkType<Net>
    explicit Engine(Weights const& weights, How const& how = {}, executor run_on = {})
        : Engine(Net::graph(), weights, how, std::move(run_on)) {}
    /// For a graph of another batch or size, made from the network type; any graph if Net is Graph.
    template <HowToPlan<Chosen> How = PlanOptions>
    Engine(Graph const& graph, Weights const& weights, How const& how = {}, executor run_on = {})
        : engine_(graph, weights, how, std::move(run_on)) {}

    /// For a network of one input and one result. src: batch() images of in_shape() in the first layout (chw), one
    /// after the other; dst: as many results of out_shape(). They must not overlap. Never throws, allocates nothing,
    /// and gives the same bits for the same images on every call and for every number of threads. Spans of any other
    /// size are a bug of the caller's: it stops the program with a message.
    void run(std::span<const float> src, std::span<float> dst) noexcept { run(std::span(&src, 1), std::span(&dst, 1)); }
    /// The same for any number of inputs and results, in the order of in_shapes() and out_shapes().
    void run(std::span<const std::span<const float>> srcs, std::span<const std::span<float>> dsts) noexcept {
        engine_.run(srcs, dsts);
    }

    [[nodiscard]] Plan const& plan() const { return engine_.plan(); }
    /// The simplified graph that runs.
    [[nodiscard]] Graph const& graph() const { return engine_.graph(); }
    /// Of the first image and the first result.
    [[nodiscard]] Shape in_shape() const { return in_shapes().at(0); }
    [[nodiscard]] Shape out_shape() const { return out_shapes().at(0); }
    [[nodiscard]] std::vector<Shape> const& in_shapes() const { return program().in_shapes(); }
    [[nodiscard]] std::vector<Shape> const& out_shapes() const { return program().out_shapes(); }
    [[nodiscard]] int batch() const { return program().batch(); }
    [[nodiscard]] Program const& program() const { return engine_.program(); }

    [[nodiscard]] static Kernels kernels() { return policy_kernels<Chosen, KernelsFor<Net>>(); }

private:
    detail::EngineOf<Chosen, KernelsFor<Net>> engine_;
};

#ifdef PRIMSEL_EXTERN_KERNELS
extern template detail::EngineOf<DefaultPolicies, CompileAll>::EngineOf(Graph const&, Weights const&,
                                                                        PlanOptions const&, Sequential);
#endif

}  // namespace primsel::inline PRIMSEL_ABI
// primsel/io/weights.hpp

// primsel/io/safetensors.hpp

// primsel/core/half.hpp

#include <bit>
#include <cstdint>

namespace primsel::inline PRIMSEL_ABI::detail {

/// IEEE 754 half precision, exactly.
[[nodiscard]] inline float half_to_float(std::uint16_t half) {
    const std::uint32_t sign = (half & 0x8000U) << 16U, exponent = (half >> 10U) & 31U, fraction = half & 1023U;
    if (exponent == 0) {
        const float subnormal = static_cast<float>(fraction) * 0x1p-24F;
        return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(subnormal));
    }
    const std::uint32_t float_exponent = exponent == 31 ? 255 : exponent + (127 - 15);
    return std::bit_cast<float>(sign | float_exponent << 23U | fraction << 13U);
}

/// The nearest half, of two the even one: infinity from half a step beyond the largest, 65504, on. NaN stays NaN, and
/// what was a half comes back as the same bits.
[[nodiscard]] inline std::uint16_t float_to_half(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t sign = bits >> 16U & 0x8000U, size = bits & 0x7fff'ffffU;
    // To the nearest of the multiples of 2^shift, in such multiples.
    const auto rounded = [](std::uint32_t number, std::uint32_t shift) {
        return (number + (1U << (shift - 1)) - 1 + (number >> shift & 1U)) >> shift;
    };
    const auto with_sign = [sign](std::uint32_t half) { return static_cast<std::uint16_t>(sign | half); };
    if (size > 0x7f80'0000U) {
        const std::uint32_t payload = size >> 13U & 1023U;
        return with_sign(0x7c00U | (payload != 0 ? payload : 0x200U));
    }
    if (size >= 0x477f'f000U) return with_sign(0x7c00U);
    if (size >= 0x3880'0000U) return with_sign(rounded(size - (112U << 23U), 13));
    // Below 2^-14 halves are multiples of 2^-24.
    const std::uint32_t exponent = size >> 23U, fraction = (size & 0x7f'ffffU) | 0x80'0000U;
    return with_sign(exponent < 102 ? 0 : rounded(fraction, 126 - exponent));
}

}  // namespace primsel::inline PRIMSEL_ABI::detail
// primsel/io/file.hpp

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace primsel::inline PRIMSEL_ABI {

/// Larger files are refused, unless the caller says otherwise.
inline constexpr std::size_t file_size_limit = std::size_t{1} << 36;

namespace detail {

/// Throws "<path>: <what>: <the system's reason>".
[[noreturn]] inline void fail_of_system(std::string const& path, std::string_view what, int reason = errno) {
    fail(path, ": ", what, ": ", std::strerror(reason));
}

/// An open file, closed at the end of the scope.
class Descriptor {
public:
    explicit Descriptor(int number) : number_(number) {}
    Descriptor(Descriptor const&) = delete;
    Descriptor& operator=(Descriptor const&) = delete;
    ~Descriptor() { close(); }

    [[nodiscard]] bool is_open() const { return number_ >= 0; }
    [[nodiscard]] int number() const { return number_; }
    /// False with a reason in errno when something written earlier is lost.
    bool close() { return number_ < 0 || ::close(std::exchange(number_, -1)) == 0; }

private:
    int number_;
};

// No system call moves more than about 2 GiB at once.
inline constexpr std::size_t bytes_per_call = std::size_t{1} << 30;

/// False with a reason in errno.
inline bool write_all(int descriptor, std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
        const ssize_t count = ::write(descriptor, bytes.data(), std::min(bytes.size(), bytes_per_call));
        if (count < 0 && errno != EINTR) return false;
        if (count > 0) bytes = bytes.subspan(static_cast<std::size_t>(count));
    }
    return true;
}

/// Opens a new file beside `path` for writing and tells its name. Negative, and no name, with a reason in errno.
inline int open_beside(std::string const& path, std::string& name) {
    int number = -1;
    for (int attempt = 0; number < 0; ++attempt) {
        name = join(path, '.', ::getpid(), '-', attempt, ".tmp");
        number = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (number < 0 && errno != EEXIST) break;
    }
    if (number < 0) name.clear();
    return number;
}

/// A new file beside `path`, removed at the end of the scope unless it took the place of `path`.
class TemporaryFile {
public:
    explicit TemporaryFile(std::string path) : path_(std::move(path)), descriptor_(open_beside(path_, name_)) {}
    TemporaryFile(TemporaryFile const&) = delete;
    TemporaryFile& operator=(TemporaryFile const&) = delete;
    ~TemporaryFile() {
        if (!name_.empty()) ::unlink(name_.c_str());
    }

    [[nodiscard]] bool is_open() const { return descriptor_.is_open(); }
    [[nodiscard]] int number() const { return descriptor_.number(); }
    /// Only once everything is on the disk. False with a reason in errno.
    bool replace() {
        // Not every file system can tell (EINVAL).
        if (::fsync(number()) != 0 && errno != EINVAL) return false;
        if (!descriptor_.close() || ::rename(name_.c_str(), path_.c_str()) != 0) return false;
        name_.clear();
        return true;
    }

private:
    std::string path_, name_;
    Descriptor descriptor_;
};

/// A regular file, open for reading, and what it was like then. Throws error, naming the file, when it cannot be read,
/// is no regular file or is larger than the limit.
class OpenFile {
public:
    // Opening a pipe would wait for who writes to it.
    OpenFile(std::string path, std::size_t limit)
        : path_(std::move(path)), descriptor_(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
        if (!descriptor_.is_open() || ::fstat(number(), &status_) != 0) fail_of_system(path_, "cannot read");
        if (!S_ISREG(status_.st_mode)) fail(path_, ": cannot read: it is not a regular file");
        if (size() > limit) fail(path_, ": its ", size(), " bytes are more than the limit of ", limit);
    }
    [[nodiscard]] std::string const& path() const { return path_; }
    [[nodiscard]] int number() const { return descriptor_.number(); }
    [[nodiscard]] std::size_t size() const { return static_cast<std::size_t>(status_.st_size); }
    /// Whether it has the size and the time of its last change that it had when it was opened.
    [[nodiscard]] bool is_unchanged() const {
        struct stat now {};
        return ::fstat(number(), &now) == 0 && now.st_size == status_.st_size &&
               now.st_mtim.tv_sec == status_.st_mtim.tv_sec && now.st_mtim.tv_nsec == status_.st_mtim.tv_nsec;
    }

private:
    std::string path_;
    Descriptor descriptor_;
    struct stat status_ {};
};

}  // namespace detail

/// A file's bytes where the system keeps them. See map_file.
class MappedFile {
public:
    MappedFile(std::string const& path, std::size_t limit) : file_(path, limit) {
        if (file_.size() == 0) return;  // there is nothing to map
        pages_ = ::mmap(nullptr, file_.size(), PROT_READ, MAP_PRIVATE | populate, file_.number(), 0);
        if (pages_ == MAP_FAILED) detail::fail_of_system(path, "cannot map");
    }
    MappedFile(MappedFile const&) = delete;
    MappedFile& operator=(MappedFile const&) = delete;
    ~MappedFile() {
        if (pages_ != nullptr) ::munmap(pages_, file_.size());
    }

    [[nodiscard]] std::span<const std::byte> bytes() const {
        return {static_cast<const std::byte*>(pages_), file_.size()};
    }
    /// Throws error, naming the file, when it was changed since it was mapped.
    void check_unchanged() const {
        if (!file_.is_unchanged()) fail(file_.path(), ": was changed while it was in use");
    }

    /// These bytes are not needed for now: they take no memory of this program's until they are read again. Others than
    /// the file's are passed over.
    void release(std::span<const std::byte> unneeded) const {
        const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
        const std::less<> before;
        const std::span<const std::byte> all = bytes();
        if (before(unneeded.data(), all.data()) || before(all.data() + all.size(), unneeded.data() + unneeded.size()))
            return;
        const auto offset = static_cast<std::size_t>(unneeded.data() - all.data());
        const std::size_t first = (offset + page - 1) / page * page, last = (offset + unneeded.size()) / page * page;
        if (first < last) ::madvise(static_cast<std::byte*>(pages_) + first, last - first, MADV_DONTNEED);
    }

private:
#ifdef MAP_POPULATE
    static constexpr int populate = MAP_POPULATE;
#else
    static constexpr int populate = 0;
#endif
    detail::OpenFile file_;
    void* pages_ = nullptr;
};

/// Bytes that copies share, as those of a whole file.
struct SharedBytes {
    std::span<const std::byte> bytes;
    /// Keeps the bytes alive; nothing for bytes that live elsewhere.
    std::shared_ptr<const void> owner;
    /// The file whose bytes they are where the system keeps them; null for bytes that nobody else can change.
    std::shared_ptr<const MappedFile> mapped{};

    [[nodiscard]] std::string_view text() const& { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }
    /// The bytes of a temporary may be gone with it: keep the file in a variable for as long as its text is needed.
    std::string_view text() const&& = delete;
};

/// The whole file, read into memory that starts at a cache line.
/// Throws error, naming the file, when it cannot be read, is no regular file or is larger than the limit.
[[nodiscard]] inline SharedBytes read_file(std::string const& path, std::size_t limit = file_size_limit) {
    const detail::OpenFile file(path, limit);
    const std::size_t size = file.size();
    std::shared_ptr<AlignedBuffer> buffer;
    try {
        buffer = std::make_shared<AlignedBuffer>((size + sizeof(float) - 1) / sizeof(float));
    } catch (std::bad_alloc const&) {
        fail(path, ": there is not enough memory for its ", size, " bytes");
    }
    const auto bytes = std::as_writable_bytes(buffer->span()).first(size);
    for (std::size_t done = 0; done < size;) {
        const ssize_t count = ::read(file.number(), bytes.data() + done, std::min(size - done, detail::bytes_per_call));
        if (count < 0 && errno != EINTR) detail::fail_of_system(path, "cannot read");
        if (count == 0) fail(path, ": became shorter while it was read");
        if (count > 0) done += static_cast<std::size_t>(count);
    }
    return {bytes, std::move(buffer)};
}

/// The whole file as pages of the system's file cache, without a copy: for weights, which may be most of a program's
/// memory. Other programs must not write to the file meanwhile: one that cuts it short ends this one. A file that is
/// replaced by a new one, as write_file does, stays as it was. Use read_file where that cannot be relied on.
/// Throws error as read_file does.
[[nodiscard]] inline SharedBytes map_file(std::string const& path, std::size_t limit = file_size_limit) {
    auto file = std::make_shared<const MappedFile>(path, limit);
    return {file->bytes(), file, file};
}

/// Writes the parts one after the other. They go to a new file beside `path`, which takes its place only when every
/// byte is on the disk: until then, and after an error such as a full disk, `path` is what it was. A symbolic link is
/// followed; what is no regular file, as /dev/stdout, is written to directly.
/// Throws error, naming the file and the system's reason.
inline void write_file(std::string const& path, std::span<const std::span<const std::byte>> parts) {
    const auto require = [&path](bool done) {
        if (!done) detail::fail_of_system(path, "cannot write");
    };
    struct stat status {};
    const bool exists = ::stat(path.c_str(), &status) == 0;
    if (exists && !S_ISREG(status.st_mode)) {
        detail::Descriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
        require(file.is_open());
        for (const auto part : parts) require(detail::write_all(file.number(), part));
        require(file.close());
        return;
    }
    std::string target = path;
    if (exists) {
        const std::unique_ptr<char, void (*)(void*)> resolved(::realpath(path.c_str(), nullptr), std::free);
        require(resolved != nullptr && ::access(path.c_str(), W_OK) == 0);
        target = resolved.get();
    }
    detail::TemporaryFile file(std::move(target));
    require(file.is_open());
    for (const auto part : parts) require(detail::write_all(file.number(), part));
    // The new file keeps the permissions of the old one.
    if (exists) require(::fchmod(file.number(), status.st_mode & 07777U) == 0);
    require(file.replace());
}
inline void write_file(std::string const& path, std::string_view text) {
    const std::span<const std::byte> part = std::as_bytes(std::span(text));
    write_file(path, std::span(&part, 1));
}

}  // namespace primsel::inline PRIMSEL_ABI
// primsel/io/json.hpp
// The door to RapidJSON: its events-only parser, without its document.

// primsel/io/json_value.hpp

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

/// A JSON value that never changes; copies share what they hold. The members of an object keep their order.
class Json {
public:
    using Array = std::vector<Json>;
    using Object = std::vector<std::pair<std::string, Json>>;
    using Types = TypeList<std::nullptr_t, bool, std::int64_t, double, std::string, Array, Object>;

    // NOLINTBEGIN(google-explicit-constructor): {"nodes", 3} is meant to convert
    Json(std::nullptr_t = nullptr) : type_(type_of<std::nullptr_t>), integer_(0) {}
    Json(std::same_as<bool> auto value) : type_(type_of<bool>), boolean_(value) {}
    /// Throws error when the value does not fit 64 bits with a sign.
    template <std::integral T>
        requires(!std::same_as<T, bool>)
    Json(T value) : type_(type_of<std::int64_t>), integer_(static_cast<std::int64_t>(value)) {
        if (!std::in_range<std::int64_t>(value)) fail("JSON: the integer ", value, " is too large");
    }
    Json(double value) : type_(type_of<double>), number_(value) {}
    Json(std::string value) : Json(std::make_shared<const std::string>(std::move(value))) {}
    Json(std::string_view value) : Json(std::string(value)) {}
    Json(const char* value) : Json(std::string(value)) {}
    Json(Array value) : Json(std::make_shared<const Array>(std::move(value))) {}
    Json(Object value) : Json(std::make_shared<const Object>(std::move(value))) {}
    // NOLINTEND(google-explicit-constructor)

    /// The value as one of the Types; nothing when it is of another.
    template <class T>
    [[nodiscard]] const T* get() const {
        static_assert(Types::contains<T>, "a Json holds one of Json::Types");
        if (type_ != type_of<T>) return nullptr;
        if constexpr (std::is_same_v<T, bool>)
            return &boolean_;
        else if constexpr (std::is_same_v<T, std::int64_t>)
            return &integer_;
        else if constexpr (std::is_same_v<T, double>)
            return &number_;
        else
            return static_cast<const T*>(held_.get());
    }
    [[nodiscard]] bool is_null() const { return type_ == type_of<std::nullptr_t>; }
    /// "an object", "a string", ...
    [[nodiscard]] std::string_view type_name() const {
        constexpr std::string_view names[Types::size] = {"null",     "a boolean", "an integer", "a number",
                                                         "a string", "an array",  "an object"};
        return names[type_];
    }

private:
    template <class T>
    static constexpr std::size_t type_of = Types::index_of<T>;

    template <class T>
    explicit Json(std::shared_ptr<const T> held) : type_(type_of<T>), integer_(0), held_(std::move(held)) {}

    std::size_t type_;  // the place in Types
    union {
        bool boolean_;
        std::int64_t integer_;
        double number_;
    };
    std::shared_ptr<const void> held_;
};

/// Which strings are written. JSON's are UTF-8; `any` also escapes the control characters that JSON bears and a
/// terminal does not, as printable() does, and writes a byte that is not UTF-8 as the lone half of a pair, "\udc80" to
/// "\udcff": as Python does, whose os.fsencode gives the bytes back.
enum class JsonStrings { utf8, any };

/// What a text may make the parser build; a text that needs more is refused.
struct JsonLimits {
    std::size_t depth = 64;
    std::size_t values = std::size_t{1} << 24;
};

/// A place in a parsed document, which it keeps alive. Whatever is not as asked for throws error with the document's
/// name and the way to the place: "plan.json: nodes[3].primitive: expected a string, not an integer".
class JsonCursor {
public:
    struct Member;

    JsonCursor(std::string name, Json root)
        : document_(std::make_shared<const Document>(std::move(name), std::move(root))), at_(&document_->root) {}

    [[nodiscard]] Json const& value() const { return *at_; }
    [[nodiscard]] bool is_null() const { return at_->is_null(); }
    [[nodiscard]] bool boolean() const { return expect<bool>("a boolean"); }
    [[nodiscard]] std::string const& string() const { return expect<std::string>("a string"); }
    [[nodiscard]] std::int64_t integer(std::int64_t low = std::numeric_limits<std::int64_t>::min(),
                                       std::int64_t high = std::numeric_limits<std::int64_t>::max()) const {
        const std::int64_t integer = expect<std::int64_t>("an integer");
        if (integer < low) fail("expected at least ", low, ", not ", integer);
        if (integer > high) fail("expected at most ", high, ", not ", integer);
        return integer;
    }
    /// Integers are numbers too.
    [[nodiscard]] double number() const {
        const auto* integer = at_->get<std::int64_t>();
        return integer != nullptr ? static_cast<double>(*integer) : expect<double>("a number");
    }

    /// The elements of an array.
    [[nodiscard]] std::vector<JsonCursor> elements() const {
        std::vector<JsonCursor> elements;
        for (Json const& element : expect<Json::Array>("an array")) elements.push_back({document_, &element});
        return elements;
    }
    /// The members of an object, in their order.
    [[nodiscard]] std::vector<Member> members() const;
    /// The number of elements of an array.
    [[nodiscard]] std::size_t size() const { return expect<Json::Array>("an array").size(); }
    [[nodiscard]] JsonCursor operator[](std::size_t index) const {
        auto const& array = expect<Json::Array>("an array");
        if (index >= array.size()) fail("expected more than ", array.size(), " elements");
        return {document_, &array[index]};
    }
    /// The member of an object; searches from the first one on.
    [[nodiscard]] std::optional<JsonCursor> find(std::string_view key) const {
        for (auto const& [name, value] : expect<Json::Object>("an object")) {
            if (name == key) return JsonCursor{document_, &value};
        }
        return std::nullopt;
    }
    [[nodiscard]] JsonCursor operator[](std::string_view key) const {
        const auto found = find(key);
        if (!found) fail("has no member \"", key, '"');
        return *found;
    }

    /// The document's name and the way to this place.
    [[nodiscard]] std::string path() const {
        std::string steps;
        find_steps(document_->root, steps);
        return steps.empty() ? document_->name : join(document_->name, ": ", steps);
    }
    /// Throws error: the path and the parts.
    template <class... Parts>
    [[noreturn]] void fail(Parts const&... parts) const {
        primsel::fail(path(), ": ", parts...);
    }

private:
    struct Document {
        std::string name;
        Json root;
        Document(std::string its_name, Json its_root) : name(std::move(its_name)), root(std::move(its_root)) {}
    };

    JsonCursor(std::shared_ptr<const Document> document, const Json* at) : document_(std::move(document)), at_(at) {}

    template <class T>
    [[nodiscard]] T const& expect(std::string_view type_name) const {
        const T* value = at_->get<T>();
        if (value == nullptr) fail("expected ", type_name, ", not ", at_->type_name());
        return *value;
    }

    // Nobody pays for the way until somebody asks: it is searched for. True when `at_` is below `from`.
    bool find_steps(Json const& from, std::string& steps) const {
        if (&from == at_) return true;
        const std::size_t before = steps.size();
        if (const auto* array = from.get<Json::Array>()) {
            for (std::size_t i = 0; i < array->size(); ++i) {
                steps += join('[', i, ']');
                if (find_steps((*array)[i], steps)) return true;
                steps.resize(before);
            }
        } else if (const auto* object = from.get<Json::Object>()) {
            for (auto const& [key, value] : *object) {
                if (before != 0) steps += '.';
                steps += key;
                if (find_steps(value, steps)) return true;
                steps.resize(before);
            }
        }
        return false;
    }

    std::shared_ptr<const Document> document_;
    const Json* at_;
};

struct JsonCursor::Member {
    std::string_view key;
    JsonCursor value;
};

inline std::vector<JsonCursor::Member> JsonCursor::members() const {
    std::vector<Member> members;
    for (auto const& [key, value] : expect<Json::Object>("an object")) {
        members.push_back({key, JsonCursor{document_, &value}});
    }
    return members;
}

}  // namespace primsel::inline PRIMSEL_ABI

#include <rapidjson/error/en.h>
#include <rapidjson/memorystream.h>
#include <rapidjson/reader.h>

#include <algorithm>
#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

namespace detail {

/// How many of the first bytes are UTF-8; all of them if they all are.
[[nodiscard]] inline std::size_t utf8_prefix(std::string_view text) {
    rapidjson::MemoryStream stream(text.data(), text.size());
    while (stream.Tell() < text.size()) {
        const std::size_t start = stream.Tell();
        unsigned codepoint = 0;
        if (!rapidjson::UTF8<>::Decode(stream, &codepoint)) return start;
    }
    return text.size();
}

/// Builds a Json from RapidJSON's events, whose names are RapidJSON's. An event that returns false ends the parsing.
class JsonBuilder : public rapidjson::BaseReaderHandler<rapidjson::UTF8<>, JsonBuilder> {
public:
    explicit JsonBuilder(JsonLimits limits) : limits_(limits) {}

    [[nodiscard]] std::string const& refusal() const { return refusal_; }
    [[nodiscard]] Json take() { return std::move(root_); }

    // NOLINTBEGIN(readability-identifier-naming)
    bool Default() { return refuse("unexpected event"); }
    bool Null() { return add(nullptr); }
    bool Bool(bool value) { return add(value); }
    bool RawNumber(const char* text, rapidjson::SizeType size, bool) {
        const char* end = text + size;
        std::int64_t integer = 0;
        const auto as_integer = std::from_chars(text, end, integer);
        if (as_integer.ec == std::errc{} && as_integer.ptr == end) return add(integer);
        double number = 0;
        const auto as_number = std::from_chars(text, end, number);
        if (as_number.ec != std::errc{} || as_number.ptr != end) {
            return refuse(join("the number ", std::string_view(text, size), " does not fit double precision"));
        }
        return add(number);
    }
    bool String(const char* text, rapidjson::SizeType size, bool) {
        const std::string_view string(text, size);
        return check_utf8(string) && add(string);
    }
    bool StartObject() { return open(true); }
    bool Key(const char* text, rapidjson::SizeType size, bool) {
        const std::string_view key(text, size);
        if (!check_utf8(key)) return false;
        open_.back().members.emplace_back(key, nullptr);
        return true;
    }
    bool EndObject(rapidjson::SizeType) {
        Json::Object members = std::move(open_.back().members);
        open_.pop_back();
        keys_.clear();
        for (auto const& [key, value] : members) keys_.push_back(key);
        std::sort(keys_.begin(), keys_.end());
        const auto twice = std::adjacent_find(keys_.begin(), keys_.end());
        if (twice != keys_.end()) return refuse(join("the key \"", *twice, "\" is given twice"));
        return add(std::move(members));
    }
    bool StartArray() { return open(false); }
    bool EndArray(rapidjson::SizeType) {
        Json::Array elements = std::move(open_.back().elements);
        open_.pop_back();
        return add(std::move(elements));
    }
    // NOLINTEND(readability-identifier-naming)

private:
    bool refuse(std::string reason) {
        refusal_ = std::move(reason);
        return false;
    }
    bool check_utf8(std::string_view text) {
        return utf8_prefix(text) == text.size() || refuse("a string is not UTF-8");
    }
    bool open(bool object) {
        if (open_.size() == limits_.depth) return refuse(join("it is nested deeper than ", limits_.depth, " levels"));
        open_.push_back({object, {}, {}});
        return true;
    }
    bool add(Json value) {
        if (++values_ > limits_.values) return refuse(join("there are more than ", limits_.values, " values"));
        if (open_.empty()) {
            root_ = std::move(value);
        } else if (open_.back().object) {
            open_.back().members.back().second = std::move(value);
        } else {
            open_.back().elements.push_back(std::move(value));
        }
        return true;
    }

    // An object or array that has begun and not ended.
    struct Open {
        bool object;
        Json::Object members;
        Json::Array elements;
    };
    JsonLimits limits_;
    std::size_t values_ = 0;
    Json root_;
    std::vector<Open> open_;              // outermost first
    std::vector<std::string_view> keys_;  // scratch, to find a key that is given twice
    std::string refusal_;
};

}  // namespace detail

/// Reads a JSON text (RFC 8259). `name` is what errors call it: a path, as a rule.
/// Throws error with line and column when it is not JSON, has a number beyond double precision, a string that is not
/// UTF-8 or a key twice in one object, or needs more than the limits.
[[nodiscard]] inline JsonCursor parse_json(std::string const& name, std::string_view text, JsonLimits limits = {}) {
    const auto refuse = [&](std::size_t offset, std::string_view reason) {
        const std::string_view before = text.substr(0, offset);
        const auto line = 1 + std::count(before.begin(), before.end(), '\n');
        fail(name, ':', line, ':', offset - (before.rfind('\n') + 1) + 1, ": not valid JSON: ", reason);
    };
    // RapidJSON counts with 32 bits and takes a zero byte for the end.
    constexpr std::size_t most = std::size_t{1} << 30;
    if (text.size() > most) fail(name, ": ", text.size(), " bytes are more than the ", most, " allowed for JSON");
    if (const std::size_t zero = text.find('\0'); zero != std::string_view::npos) refuse(zero, "a zero byte");

    // Parsing in place and without numbers leaves RapidJSON 1.1's own stack and number conversion unused: the one adds
    // to null pointers, the other reads outside its table of powers. The builder's limit of depth bounds the recursion.
    // Vector code, where the user turned it on, reads 16 bytes at a time.
    std::vector<char> copy(text.size() + 16);
    std::copy(text.begin(), text.end(), copy.begin());
    rapidjson::InsituStringStream stream(copy.data());
    detail::JsonBuilder builder(limits);
    rapidjson::Reader reader;
    constexpr unsigned flags = rapidjson::kParseInsituFlag | rapidjson::kParseNumbersAsStringsFlag;
    const rapidjson::ParseResult result = reader.Parse<flags>(stream, builder);
    if (result.Code() == rapidjson::kParseErrorTermination) refuse(result.Offset(), builder.refusal());
    if (result.IsError()) refuse(result.Offset(), rapidjson::GetParseError_En(result.Code()));
    return {name, builder.take()};
}

/// Throws error as read_file and parse_json do.
[[nodiscard]] inline JsonCursor read_json(std::string const& path, JsonLimits limits = {}) {
    const SharedBytes file = read_file(path);
    return parse_json(path, file.text(), limits);
}

namespace detail {

/// Writes a Json as text: to_string(Json) below.
class JsonPrinter {
public:
    JsonPrinter(int indent, JsonStrings strings) : indent_(indent), strings_(strings) {}

    [[nodiscard]] std::string take() { return std::move(text_); }

    void print(Json const& json) {
        if (const auto* array = json.get<Json::Array>()) {
            // An array of scalars, as a shape, stays on one line.
            const bool lines = std::any_of(array->begin(), array->end(), [](Json const& element) {
                return element.get<Json::Array>() != nullptr || element.get<Json::Object>() != nullptr;
            });
            print_list('[', *array, ']', lines, [this](Json const& element) { print(element); });
        } else if (const auto* object = json.get<Json::Object>()) {
            print_list('{', *object, '}', true, [this](auto const& member) {
                print(member.first);
                text_ += indent_ > 0 ? ": " : ":";
                print(member.second);
            });
        } else if (const auto* string = json.get<std::string>()) {
            print(*string);
        } else if (const auto* number = json.get<double>()) {
            print(*number);
        } else if (const auto* integer = json.get<std::int64_t>()) {
            append(text_, *integer);
        } else if (const auto* boolean = json.get<bool>()) {
            text_ += *boolean ? "true" : "false";
        } else {
            text_ += "null";
        }
    }

private:
    template <class List, class PrintItem>
    void print_list(char begin, List const& list, char end, bool lines, PrintItem const& print_item) {
        lines = lines && indent_ > 0 && !list.empty();
        text_ += begin;
        depth_ += indent_;
        bool first = true;
        for (auto const& item : list) {
            if (!first) text_ += lines || indent_ == 0 ? "," : ", ";
            if (lines) text_.append(1, '\n').append(static_cast<std::size_t>(depth_), ' ');
            print_item(item);
            first = false;
        }
        depth_ -= indent_;
        if (lines) text_.append(1, '\n').append(static_cast<std::size_t>(depth_), ' ');
        text_ += end;
    }
    void print(std::string const& string) {
        if (strings_ == JsonStrings::any) return print_any(string);
        if (utf8_prefix(string) != string.size()) fail("JSON: the string \"", string, "\" is not UTF-8");
        text_ += '"';
        for (const char c : string) {
            constexpr std::string_view digits = "0123456789abcdef";
            const auto code = static_cast<unsigned char>(c);
            if (c == '"' || c == '\\') {
                text_.append(1, '\\').append(1, c);
            } else if (code < 0x20) {
                text_.append("\\u00").append(1, digits[code / 16]).append(1, digits[code % 16]);
            } else {
                text_ += c;
            }
        }
        text_ += '"';
    }
    void print_any(std::string_view string) {
        const auto escape = [this](std::uint32_t unit) {
            text_ += "\\u";
            append_hex(text_, unit, 4);
        };
        text_ += '"';
        for_each_character(
            string,
            [&](std::string_view sequence) {
                if (sequence == "\"" || sequence == "\\") text_ += '\\';
                text_ += sequence;
            },
            escape, [&](unsigned char byte) { escape(0xdc00U + byte); });
        text_ += '"';
    }
    void print(double number) {
        char digits[32];
        const auto end = std::to_chars(std::begin(digits), std::end(digits), number).ptr;
        const std::string_view shortest(digits, static_cast<std::size_t>(end - digits));
        // "inf" and "nan"; a comparison would be gone with -ffast-math.
        if (shortest.find('n') != std::string_view::npos) fail("JSON: the number ", shortest, " is not finite");
        text_ += shortest;
        // What was a floating-point number stays one.
        if (shortest.find_first_of(".e") == std::string_view::npos) text_ += ".0";
    }

    int indent_;
    JsonStrings strings_;
    int depth_ = 0;
    std::string text_;
};

}  // namespace detail

/// The value as JSON text; numbers have the fewest digits that read back as the same double. With an indent, objects
/// and what holds them take a line per member; without, all is on one line.
/// Throws error for a number that is not finite and, unless strings may be any, for one that is not UTF-8, which JSON
/// cannot say.
[[nodiscard]] inline std::string to_string(Json const& json, int indent = 0, JsonStrings strings = JsonStrings::utf8) {
    detail::JsonPrinter printer(indent, strings);
    printer.print(json);
    return printer.take();
}

/// Throws error as write_file and to_string(Json) do.
inline void write_json(std::string const& path, Json const& json) { write_file(path, to_string(json, 2) + '\n'); }

}  // namespace primsel::inline PRIMSEL_ABI
// primsel/io/weight_file.hpp

#include <cstddef>
#include <span>

namespace primsel::inline PRIMSEL_ABI {

/// Tells the weights that values of theirs are bytes of this file, if it is mapped.
inline void add_file(Weights& weights, SharedBytes const& file) {
    if (file.mapped == nullptr) return;
    weights.add_file({.check_unchanged = [mapped = file.mapped] { mapped->check_unchanged(); },
                      .release = [mapped = file.mapped](std::span<const std::byte> bytes) { mapped->release(bytes); }});
}

}  // namespace primsel::inline PRIMSEL_ABI

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// The safetensors format: 8 bytes with the size of a header; the header, a JSON object from names to dtype, shape and
// data_offsets; and the data, row-major, which the tensors fill without overlap or hole. All of it little-endian.
namespace primsel::inline PRIMSEL_ABI {

static_assert(std::endian::native == std::endian::little, "primsel: safetensors files are little-endian");

/// Longer headers are refused, as the format demands.
inline constexpr std::size_t safetensors_header_limit = 100'000'000;

namespace detail {

// A tensor's description has three levels (the object of tensors, the tensor, its shape) and six values beside its
// dimensions: this is enough for half a million tensors.
inline constexpr JsonLimits safetensors_limits{.depth = 3, .values = std::size_t{1} << 22};

/// What the elements of a tensor in a file are.
struct Dtype {
    std::string_view name;
    std::size_t bytes;
    bool is_read;
};
inline constexpr Dtype dtypes[] = {
    {"F32", 4, true},  {"F16", 2, true},  {"BF16", 2, true},  {"F64", 8, true},      {"I64", 8, false},
    {"I32", 4, false}, {"I16", 2, false}, {"I8", 1, false},   {"U64", 8, false},     {"U32", 4, false},
    {"U16", 2, false}, {"U8", 1, false},  {"BOOL", 1, false}, {"F8_E4M3", 1, false}, {"F8_E5M2", 1, false},
};

/// A tensor as the header describes it; begin and end count bytes of the data.
struct TensorEntry {
    std::string_view name;
    JsonCursor at;
    Dtype dtype;
    std::vector<std::int64_t> dims;
    std::size_t begin;
    std::size_t end;
};

/// Batch normalisation's count of training steps, an integer that no inference needs.
[[nodiscard]] inline bool is_step_count(std::string_view name) {
    return name == "num_batches_tracked" || name.ends_with(".num_batches_tracked");
}

[[nodiscard]] inline Dtype read_dtype(JsonCursor const& at) {
    for (Dtype const& dtype : dtypes) {
        if (at.string() == dtype.name) return dtype;
    }
    at.fail("unknown dtype ", at.string());
}

/// Throws error unless the offsets lie in the data and the shape fills what is between them.
[[nodiscard]] inline TensorEntry read_entry(std::string_view name, JsonCursor const& at, std::size_t data_bytes) {
    for (auto const& [key, value] : at.members()) {
        if (key != "dtype" && key != "shape" && key != "data_offsets") value.fail("unknown member");
    }
    TensorEntry entry{name, at, read_dtype(at["dtype"]), {}, 0, 0};
    if (!entry.dtype.is_read && !is_step_count(name)) {
        at.fail("dtype ", entry.dtype.name, " is not supported; F32, F16, BF16 and F64 are");
    }
    std::size_t bytes = entry.dtype.bytes;
    for (JsonCursor const& dim : at["shape"].elements()) {
        entry.dims.push_back(dim.integer(0));
        if (__builtin_mul_overflow(bytes, static_cast<std::size_t>(entry.dims.back()), &bytes)) {
            at.fail("its shape is impossibly large");
        }
    }
    const JsonCursor offsets = at["data_offsets"];
    if (offsets.size() != 2) offsets.fail("expected two elements, not ", offsets.size());
    entry.begin = static_cast<std::size_t>(offsets[0].integer(0));
    entry.end = static_cast<std::size_t>(offsets[1].integer(offsets[0].integer()));
    if (entry.end > data_bytes) offsets.fail("reach byte ", entry.end, " of the ", data_bytes, " bytes of data");
    if (entry.end - entry.begin != bytes) {
        at.fail("shape ", to_string(entry.dims), " of ", entry.dtype.name, " takes ", bytes,
                " bytes, but the data_offsets leave ", entry.end - entry.begin);
    }
    return entry;
}

/// Throws error unless the tensors fill the data without overlap or hole. Sorts them by their place.
inline void require_full_cover(JsonCursor const& header, std::vector<TensorEntry>& entries, std::size_t data_bytes) {
    std::sort(entries.begin(), entries.end(), [](TensorEntry const& left, TensorEntry const& right) {
        return std::pair(left.begin, left.end) < std::pair(right.begin, right.end);
    });
    std::size_t covered = 0;
    for (std::size_t i = 0; i < entries.size(); ++i) {
        TensorEntry const& entry = entries[i];
        if (entry.begin < covered) entry.at.fail("overlaps ", entries[i - 1].name);
        if (entry.begin > covered) entry.at.fail("leaves bytes ", covered, " to ", entry.begin, " to no tensor");
        covered = entry.end;
    }
    if (covered != data_bytes) header.fail("leaves bytes ", covered, " to ", data_bytes, " to no tensor");
}

template <class T>
[[nodiscard]] T read_unaligned(const std::byte* src) {
    T value;
    std::memcpy(&value, src, sizeof(T));
    return value;
}

/// The values of a tensor as floats. F16 and BF16 convert exactly, NaN and infinity included; F64 is rounded to the
/// nearest float, and a finite value beyond them is an error.
[[nodiscard]] inline std::vector<float> read_floats(TensorEntry const& entry, std::span<const std::byte> bytes) {
    std::vector<float> values(bytes.size() / entry.dtype.bytes);
    const auto convert = [&]<class From>(From, auto to_float) {
        for (std::size_t i = 0; i < values.size(); ++i) {
            values[i] = to_float(read_unaligned<From>(bytes.data() + i * sizeof(From)));
        }
    };
    if (entry.dtype.name == "F16") {
        convert(std::uint16_t{}, half_to_float);
    } else if (entry.dtype.name == "BF16") {
        // The upper half of a float.
        convert(std::uint16_t{}, [](std::uint16_t half) { return std::bit_cast<float>(std::uint32_t{half} << 16U); });
    } else if (entry.dtype.name == "F64") {
        convert(double{}, [&](double value) {
            const bool is_finite = (std::bit_cast<std::uint64_t>(value) >> 52U & 0x7ffU) != 0x7ffU;
            // Half a step beyond the largest float, infinity is the nearest.
            if (is_finite && std::abs(value) >= 0x1.ffffffp127) entry.at.fail("has a value too large for a float");
            return static_cast<float>(value);
        });
    } else {
        convert(float{}, [](float value) { return value; });
    }
    return values;
}

/// The size of the header and the header, padded so that the data that follows is aligned to 8 bytes.
[[nodiscard]] inline std::string safetensors_header(std::string const& path, Weights const& weights) {
    Json::Object header;
    std::size_t offset = 0, values = 1;
    for (auto const& [name, tensor] : weights) {
        values += 6 + tensor.dims.size();
        if (name == "__metadata__") fail(path, ": weight ", name, ": safetensors reserves this name");
        if (utf8_prefix(name) != name.size()) fail(path, ": weight ", name, ": its name is not UTF-8");
        const std::size_t end = offset + tensor.values.size_bytes();
        header.emplace_back(name, Json::Object{{"dtype", "F32"},
                                               {"shape", Json::Array(tensor.dims.begin(), tensor.dims.end())},
                                               {"data_offsets", Json::Array{offset, end}}});
        offset = end;
    }
    if (values > safetensors_limits.values) fail(path, ": these are more tensors than a header can describe");
    std::string text = to_string(Json(std::move(header)));
    text.resize((text.size() + 7) / 8 * 8, ' ');
    if (text.size() > safetensors_header_limit) {
        fail(path, ": a header of ", text.size(), " bytes is longer than the ", safetensors_header_limit, " allowed");
    }
    const std::uint64_t size = text.size();
    return std::string(reinterpret_cast<const char*>(&size), sizeof(size)) + text;
}

}  // namespace detail

/// The weights in a safetensors file of which `file` holds all bytes; `name` is what errors call it. Aligned F32 is not
/// copied: those weights share the bytes. Tensors named num_batches_tracked are left out.
/// Throws error, naming file and tensor, for whatever the format does not allow and for tensors of integers.
[[nodiscard]] inline Weights parse_safetensors(std::string const& name, SharedBytes const& file) {
    constexpr std::size_t size_bytes = sizeof(std::uint64_t);
    if (file.bytes.size() < size_bytes) {
        fail(name, ": not a safetensors file: ", file.bytes.size(), " bytes are too few");
    }
    const auto header_bytes = detail::read_unaligned<std::uint64_t>(file.bytes.data());
    if (header_bytes > safetensors_header_limit) {
        fail(name, ": not a safetensors file: a header of ", header_bytes, " bytes is longer than the ",
             safetensors_header_limit, " allowed");
    }
    const std::size_t rest = file.bytes.size() - size_bytes;
    if (header_bytes > rest) fail(name, ": the header has ", header_bytes, " bytes, but only ", rest, " are there");

    const JsonCursor header =
        parse_json(name + ": header", file.text().substr(size_bytes, header_bytes), detail::safetensors_limits);
    const std::span<const std::byte> data = file.bytes.subspan(size_bytes + header_bytes);
    std::vector<detail::TensorEntry> entries;
    for (auto const& [key, value] : header.members()) {
        if (key == "__metadata__") {
            for (auto const& [_, text] : value.members()) (void)text.string();
        } else {
            entries.push_back(detail::read_entry(key, value, data.size()));
        }
    }
    detail::require_full_cover(header, entries, data.size());

    Weights weights(name);
    for (detail::TensorEntry& entry : entries) {
        if (detail::is_step_count(entry.name)) continue;
        const std::span<const std::byte> bytes = data.subspan(entry.begin, entry.end - entry.begin);
        const bool is_aligned = reinterpret_cast<std::uintptr_t>(bytes.data()) % alignof(float) == 0;
        if (entry.dtype.name == "F32" && is_aligned) {
            const std::span values(reinterpret_cast<const float*>(bytes.data()), bytes.size() / sizeof(float));
            weights.add(std::string(entry.name), {std::move(entry.dims), values, file.owner});
        } else {
            weights.add(std::string(entry.name), std::move(entry.dims), detail::read_floats(entry, bytes));
        }
    }
    add_file(weights, file);
    return weights;
}

/// The weights are the mapped file's bytes (see map_file); parse_safetensors(path, read_file(path)) copies them.
/// Throws error as map_file and parse_safetensors do.
[[nodiscard]] inline Weights read_safetensors(std::string const& path) {
    return parse_safetensors(path, map_file(path));
}

/// Writes the weights as F32, in the order of their names, without copying them. As with write_file, `path` is what it
/// was until all is written.
/// Throws error as write_file does, and for names that are not UTF-8 or reserved.
inline void write_safetensors(std::string const& path, Weights const& weights) {
    const std::string header = detail::safetensors_header(path, weights);
    std::vector<std::span<const std::byte>> parts{std::as_bytes(std::span(header))};
    for (auto const& [name, tensor] : weights) parts.push_back(std::as_bytes(tensor.values));
    write_file(path, parts);
}

}  // namespace primsel::inline PRIMSEL_ABI

#include <string>

namespace primsel::inline PRIMSEL_ABI {

/// Reads the weights of a network from a safetensors file. Throws error, naming the file and every weight that is
/// missing, misshapen or unknown to the network.
[[nodiscard]] inline Weights read_weights(std::string const& path, Graph const& graph) {
    Weights weights = read_safetensors(path);
    check_weights(graph, weights);
    return weights;
}
template <NetworkType Net>
[[nodiscard]] Weights read_weights(std::string const& path) {
    return read_weights(path, Net::graph());
}

}  // namespace primsel::inline PRIMSEL_ABI
// primsel/network/zoo.hpp
// Networks from the literature, as types.

// primsel/network/zoo/alexnet.hpp

// primsel/network/zoo/detail/numbered.hpp

#include <utility>

namespace primsel::inline PRIMSEL_ABI::zoo::detail {

template <template <class...> class Whole, FixedString prefix, unsigned first, class Layer, class Indices>
struct NumberedOf;
template <template <class...> class Whole, FixedString prefix, unsigned first, class Layer, unsigned... index>
struct NumberedOf<Whole, prefix, first, Layer, std::integer_sequence<unsigned, index...>> {
    using type = Whole<layer::Named<prefix + fixed_decimal<first + index>(), Layer>...>;
};

/// So many of a layer in a row, named by the numbers from `first` on, as in PyTorch's Sequential.
template <unsigned first, unsigned count, class Layer, FixedString prefix = "">
using Numbered =
    typename NumberedOf<layer::Path, prefix, first, Layer, std::make_integer_sequence<unsigned, count>>::type;

/// So many of a layer beside each other, named by the numbers from 1 on.
template <unsigned count, class Layer, FixedString prefix>
using NumberedConcat =
    typename NumberedOf<layer::Concat, prefix, 1, Layer, std::make_integer_sequence<unsigned, count>>::type;

}  // namespace primsel::inline PRIMSEL_ABI::zoo::detail
// primsel/network/zoo/detail/width.hpp

#include <cstdint>
#include <ratio>

namespace primsel::inline PRIMSEL_ABI::zoo::detail {

/// A network's channels times its width, a std::ratio.
template <class Width, int channels>
inline constexpr int wide = [] {
    static_assert(Width::num > 0, "primsel: a network's width is positive");
    constexpr bool is_whole = channels * Width::num % Width::den == 0;
    static_assert(is_whole, "primsel: this width leaves a fraction of a channel");
    return is_whole ? static_cast<int>(channels * Width::num / Width::den) : channels;
}();

/// The same rounded to a multiple of 8, but up where that would take more than a tenth (Sandler et al. 2018, in the
/// authors' code).
template <class Width, int channels>
inline constexpr int rounded = [] {
    static_assert(Width::num > 0, "primsel: a network's width is positive");
    constexpr std::intmax_t nearest = (channels * Width::num + 4 * Width::den) / (8 * Width::den) * 8;
    constexpr std::intmax_t least = nearest < 8 ? 8 : nearest;
    return static_cast<int>(10 * least * Width::den < 9 * channels * Width::num ? least + 8 : least);
}();

}  // namespace primsel::inline PRIMSEL_ABI::zoo::detail

namespace primsel::inline PRIMSEL_ABI::zoo {

/// AlexNet in one column (Krizhevsky 2014), as torchvision.models.alexnet: same names, same weights.
template <int size = 224, int classes = 1000, class Width = std::ratio<1>>
struct AlexNetOf
    : Network<
          layer::Input<3, size, size>,
          layer::Named<
              "features",
              layer::Path<layer::Named<"0", layer::Conv<detail::wide<Width, 64>, 11, layer::Stride<4>, layer::Pad<2>>>,
                          layer::Relu, layer::MaxPool<3, layer::Stride<2>>,                           //
                          layer::Named<"3", layer::Conv<detail::wide<Width, 192>, 5>>, layer::Relu,   //
                          layer::MaxPool<3, layer::Stride<2>>,                                        //
                          layer::Named<"6", layer::Conv<detail::wide<Width, 384>, 3>>, layer::Relu,   //
                          layer::Named<"8", layer::Conv<detail::wide<Width, 256>, 3>>, layer::Relu,   //
                          layer::Named<"10", layer::Conv<detail::wide<Width, 256>, 3>>, layer::Relu,  //
                          layer::MaxPool<3, layer::Stride<2>>>>,
          layer::Named<
              "classifier",
              layer::Path<layer::Dropout, layer::Named<"1", layer::Dense<detail::wide<Width, 4096>>>, layer::Relu,
                          layer::Dropout, layer::Named<"4", layer::Dense<detail::wide<Width, 4096>>>, layer::Relu,
                          layer::Named<"6", layer::Dense<classes>>>>> {};
using AlexNet = AlexNetOf<>;

namespace detail {

/// One group, from the image to the concatenation.
template <int k>
using AlexNetCifarGroup = layer::Path<
    layer::Named<"conv1", layer::Conv<k, 3, layer::Pad<0>>>, layer::Relu, layer::Lrn<>,
    layer::MaxPool<4, layer::Stride<1>>,                                                                       //
    layer::Named<"conv2", layer::Conv<k, 5>>, layer::Relu, layer::Lrn<>, layer::MaxPool<3, layer::Stride<2>>,  //
    layer::Named<"conv3", layer::Conv<k, 3>>, layer::Relu, layer::Named<"conv4", layer::Conv<k, 3>>, layer::Relu,
    layer::Named<"conv5", layer::Conv<k, 3>>, layer::Relu, layer::MaxPool<3, layer::Stride<2>>>;

}  // namespace detail

/// AlexNet for CIFAR-10 in groups that never meet before the last layer, each trained after the ones before it and left
/// out where time is short (Xun et al. 2019, table II). With fewer than four groups, the smaller networks of figure 1.
template <int size = 32, int classes = 10, class Width = std::ratio<1>, unsigned groups = 4>
struct AlexNetCifarOf
    : Network<
          layer::Input<3, size, size>,
          layer::Named<"", detail::NumberedConcat<groups, detail::AlexNetCifarGroup<detail::wide<Width, 16>>, "group">>,
          layer::Named<"fc6", layer::Dense<classes>>, layer::Softmax> {};
using AlexNetCifar = AlexNetCifarOf<>;

}  // namespace primsel::inline PRIMSEL_ABI::zoo
// primsel/network/zoo/by_name.hpp

// primsel/network/zoo/densenet.hpp

namespace primsel::inline PRIMSEL_ABI::zoo {

namespace detail {

template <FixedString norm, FixedString conv, int k, Extent kernel>
using NormReluConv = layer::Path<layer::Named<norm, layer::BatchNorm>, layer::Relu,
                                 layer::Named<conv, layer::Conv<k, kernel, layer::NoBias>>>;

/// Its input, and so many new channels.
template <int growth>
using DenseLayer = layer::Concat<layer::Path<>, layer::Path<NormReluConv<"norm1", "conv1", 4 * growth, 1>,
                                                            NormReluConv<"norm2", "conv2", growth, 3>>>;

template <FixedString name, int growth, unsigned count>
using DenseBlock = layer::Named<name, Numbered<1, count, DenseLayer<growth>, "denselayer">>;

template <FixedString name, int k>
using DenseTransition = layer::Named<name, layer::Path<NormReluConv<"norm", "conv", k, 1>, layer::AveragePool<2>>>;

/// init: the first convolution's channels. n: layers in each block, and with that, channels after each transition.
template <int size, int classes, int init, int growth, int n1, int n2, int n3, int n4>
struct DenseNet {
    static constexpr int k1 = (init + n1 * growth) / 2, k2 = (k1 + n2 * growth) / 2, k3 = (k2 + n3 * growth) / 2;
    using network = Network<
        layer::Input<3, size, size>,
        layer::Named<"features",
                     layer::Path<layer::Named<"conv0", layer::Conv<init, 7, layer::Stride<2>, layer::NoBias>>,
                                 layer::Named<"norm0", layer::BatchNorm>, layer::Relu,
                                 layer::MaxPool<3, layer::Stride<2>, layer::Pad<1>>,                         //
                                 DenseBlock<"denseblock1", growth, n1>, DenseTransition<"transition1", k1>,  //
                                 DenseBlock<"denseblock2", growth, n2>, DenseTransition<"transition2", k2>,  //
                                 DenseBlock<"denseblock3", growth, n3>, DenseTransition<"transition3", k3>,  //
                                 DenseBlock<"denseblock4", growth, n4>, layer::Named<"norm5", layer::BatchNorm>>>,
        layer::Relu, layer::GlobalAvgPool, layer::Named<"classifier", layer::Dense<classes>>>;
};

}  // namespace detail

/// DenseNet-121 (Huang et al. 2017, table 1), as torchvision.models.densenet121: same names, same weights.
template <int size = 224, int classes = 1000, class Width = std::ratio<1>>
struct DenseNet121Of
    : detail::DenseNet<size, classes, detail::wide<Width, 64>, detail::wide<Width, 32>, 6, 12, 24, 16>::network {};
using DenseNet121 = DenseNet121Of<>;

/// DenseNet-161, as torchvision.models.densenet161.
template <int size = 224, int classes = 1000, class Width = std::ratio<1>>
struct DenseNet161Of
    : detail::DenseNet<size, classes, detail::wide<Width, 96>, detail::wide<Width, 48>, 6, 12, 36, 24>::network {};
using DenseNet161 = DenseNet161Of<>;

/// DenseNet-169, as torchvision.models.densenet169.
template <int size = 224, int classes = 1000, class Width = std::ratio<1>>
struct DenseNet169Of
    : detail::DenseNet<size, classes, detail::wide<Width, 64>, detail::wide<Width, 32>, 6, 12, 32, 32>::network {};
using DenseNet169 = DenseNet169Of<>;

/// DenseNet-201, as torchvision.models.densenet201.
template <int size = 224, int classes = 1000, class Width = std::ratio<1>>
struct DenseNet201Of
    : detail::DenseNet<size, classes, detail::wide<Width, 64>, detail::wide<Width, 32>, 6, 12, 48, 32>::network {};
using DenseNet201 = DenseNet201Of<>;

}  // namespace primsel::inline PRIMSEL_ABI::zoo
// primsel/network/zoo/googlenet.hpp

// primsel/network/zoo/detail/conv_norm.hpp

namespace primsel::inline PRIMSEL_ABI::zoo::detail {

/// A convolution without bias and its batch norm.
template <FixedString conv, FixedString norm, int k, Extent kernel, class... Options>
using ConvNorm = layer::Path<layer::Named<conv, layer::Conv<k, kernel, Options..., layer::NoBias>>,
                             layer::Named<norm, layer::BatchNorm>>;

/// The same of a depthwise convolution.
template <FixedString conv, FixedString norm, int k, Extent kernel, int stride>
using DepthwiseNorm = ConvNorm<conv, norm, k, kernel, layer::Groups<k>, layer::Stride<stride>>;

/// With torchvision's names for Inception networks: `<name>.conv`, `<name>.bn`; and their epsilon.
template <FixedString name, int k, Extent kernel, class... Options>
using ConvNormRelu =
    layer::Named<name, layer::Path<layer::Named<"conv", layer::Conv<k, kernel, Options..., layer::NoBias>>,
                                   layer::Named<"bn", layer::BatchNormWith<std::ratio<1, 1000>>>, layer::Relu>>;

}  // namespace primsel::inline PRIMSEL_ABI::zoo::detail

namespace primsel::inline PRIMSEL_ABI::zoo {

namespace detail {

template <FixedString name, int k, Extent kernel, class... Options>
using ConvRelu = layer::Path<layer::Named<name, layer::Conv<k, kernel, Options...>>, layer::Relu>;

/// An inception module: 1x1; 1x1 then 3x3; 1x1 then 5x5; pooling then 1x1.
template <FixedString name, class Width, int k1, int k3_reduce, int k3, int k5_reduce, int k5, int k_pool>
using Inception =
    layer::Named<name,
                 layer::Concat<ConvRelu<"branch1", wide<Width, k1>, 1>,
                               layer::Named<"branch2", layer::Path<ConvRelu<"0", wide<Width, k3_reduce>, 1>,
                                                                   ConvRelu<"1", wide<Width, k3>, 3>>>,
                               layer::Named<"branch3", layer::Path<ConvRelu<"0", wide<Width, k5_reduce>, 1>,
                                                                   ConvRelu<"1", wide<Width, k5>, 5>>>,
                               layer::Named<"branch4", layer::Path<layer::MaxPool<3, layer::Stride<1>, layer::Pad<1>>,
                                                                   ConvRelu<"1", wide<Width, k_pool>, 1>>>>>;

/// The same with batch norm and a 3x3 kernel in place of the 5x5.
template <FixedString name, class Width, int k1, int k3_reduce, int k3, int k5_reduce, int k5, int k_pool>
using InceptionBn = layer::Named<
    name,
    layer::Concat<
        ConvNormRelu<"branch1", wide<Width, k1>, 1>,
        layer::Named<"branch2",
                     layer::Path<ConvNormRelu<"0", wide<Width, k3_reduce>, 1>, ConvNormRelu<"1", wide<Width, k3>, 3>>>,
        layer::Named<"branch3",
                     layer::Path<ConvNormRelu<"0", wide<Width, k5_reduce>, 1>, ConvNormRelu<"1", wide<Width, k5>, 3>>>,
        layer::Named<"branch4", layer::Path<layer::MaxPool<3, layer::Stride<1>, layer::Pad<1>, layer::CeilMode>,
                                            ConvNormRelu<"1", wide<Width, k_pool>, 1>>>>>;

using InceptionPool = layer::MaxPool<3, layer::Stride<2>, layer::CeilMode>;

}  // namespace detail

/// GoogLeNet, the original Inception v1 (Szegedy et al. 2015, table 1): with local response normalisation and 5x5
/// kernels, without the auxiliary classifiers.
template <int size = 224, int classes = 1000, class Width = std::ratio<1>>
struct GoogLeNetOf : Network<layer::Input<3, size, size>,                                              //
                             detail::ConvRelu<"conv1", detail::wide<Width, 64>, 7, layer::Stride<2>>,  //
                             detail::InceptionPool, layer::Lrn<>,                                      //
                             detail::ConvRelu<"conv2", detail::wide<Width, 64>, 1>,                    //
                             detail::ConvRelu<"conv3", detail::wide<Width, 192>, 3>, layer::Lrn<>,     //
                             detail::InceptionPool,                                                    //
                             detail::Inception<"inception3a", Width, 64, 96, 128, 16, 32, 32>,         //
                             detail::Inception<"inception3b", Width, 128, 128, 192, 32, 96, 64>,       //
                             detail::InceptionPool,                                                    //
                             detail::Inception<"inception4a", Width, 192, 96, 208, 16, 48, 64>,        //
                             detail::Inception<"inception4b", Width, 160, 112, 224, 24, 64, 64>,       //
                             detail::Inception<"inception4c", Width, 128, 128, 256, 24, 64, 64>,       //
                             detail::Inception<"inception4d", Width, 112, 144, 288, 32, 64, 64>,       //
                             detail::Inception<"inception4e", Width, 256, 160, 320, 32, 128, 128>,     //
                             detail::InceptionPool,                                                    //
                             detail::Inception<"inception5a", Width, 256, 160, 320, 32, 128, 128>,     //
                             detail::Inception<"inception5b", Width, 384, 192, 384, 48, 128, 128>,     //
                             layer::GlobalAvgPool, layer::Dropout, layer::Named<"fc", layer::Dense<classes>>> {};
using GoogLeNet = GoogLeNetOf<>;

/// GoogLeNet as torchvision.models.googlenet: with batch norm and without 5x5 kernels; same names, same weights, but
/// for the auxiliary classifiers. Its published weights want images of mean and deviation 0.5 (transform_input).
template <int size = 224, int classes = 1000, class Width = std::ratio<1>>
struct GoogLeNetBnOf : Network<layer::Input<3, size, size>,                                                  //
                               detail::ConvNormRelu<"conv1", detail::wide<Width, 64>, 7, layer::Stride<2>>,  //
                               detail::InceptionPool,                                                        //
                               detail::ConvNormRelu<"conv2", detail::wide<Width, 64>, 1>,                    //
                               detail::ConvNormRelu<"conv3", detail::wide<Width, 192>, 3>,                   //
                               detail::InceptionPool,                                                        //
                               detail::InceptionBn<"inception3a", Width, 64, 96, 128, 16, 32, 32>,           //
                               detail::InceptionBn<"inception3b", Width, 128, 128, 192, 32, 96, 64>,         //
                               detail::InceptionPool,                                                        //
                               detail::InceptionBn<"inception4a", Width, 192, 96, 208, 16, 48, 64>,          //
                               detail::InceptionBn<"inception4b", Width, 160, 112, 224, 24, 64, 64>,         //
                               detail::InceptionBn<"inception4c", Width, 128, 128, 256, 24, 64, 64>,         //
                               detail::InceptionBn<"inception4d", Width, 112, 144, 288, 32, 64, 64>,         //
                               detail::InceptionBn<"inception4e", Width, 256, 160, 320, 32, 128, 128>,       //
                               layer::MaxPool<2, layer::CeilMode>,                                           //
                               detail::InceptionBn<"inception5a", Width, 256, 160, 320, 32, 128, 128>,       //
                               detail::InceptionBn<"inception5b", Width, 384, 192, 384, 48, 128, 128>,       //
                               layer::GlobalAvgPool, layer::Dropout, layer::Named<"fc", layer::Dense<classes>>> {};
using GoogLeNetBn = GoogLeNetBnOf<>;

}  // namespace primsel::inline PRIMSEL_ABI::zoo
// primsel/network/zoo/inception_v3.hpp

namespace primsel::inline PRIMSEL_ABI::zoo {

namespace detail {

constexpr Extent across{1, 7}, down{7, 1}, row{1, 3}, column{3, 1};

template <FixedString name, class Width, int k>
using InceptionPooled =
    layer::Path<layer::AveragePool<3, layer::Stride<1>, layer::Pad<1>>, ConvNormRelu<name, wide<Width, k>, 1>>;

/// Szegedy et al. 2016, figure 4, with a 5x5 kernel.
template <FixedString name, class Width, int k_pool>
using InceptionA = layer::Named<name, layer::Concat<ConvNormRelu<"branch1x1", wide<Width, 64>, 1>,
                                                    layer::Path<ConvNormRelu<"branch5x5_1", wide<Width, 48>, 1>,
                                                                ConvNormRelu<"branch5x5_2", wide<Width, 64>, 5>>,
                                                    layer::Path<ConvNormRelu<"branch3x3dbl_1", wide<Width, 64>, 1>,
                                                                ConvNormRelu<"branch3x3dbl_2", wide<Width, 96>, 3>,
                                                                ConvNormRelu<"branch3x3dbl_3", wide<Width, 96>, 3>>,
                                                    InceptionPooled<"branch_pool", Width, k_pool>>>;

/// Figure 10: to 17x17.
template <FixedString name, class Width>
using InceptionB = layer::Named<
    name,
    layer::Concat<ConvNormRelu<"branch3x3", wide<Width, 384>, 3, layer::Stride<2>, layer::Pad<0>>,
                  layer::Path<ConvNormRelu<"branch3x3dbl_1", wide<Width, 64>, 1>,
                              ConvNormRelu<"branch3x3dbl_2", wide<Width, 96>, 3>,
                              ConvNormRelu<"branch3x3dbl_3", wide<Width, 96>, 3, layer::Stride<2>, layer::Pad<0>>>,
                  layer::MaxPool<3, layer::Stride<2>>>>;

/// Figure 6: 7x7 kernels as 1x7 and 7x1.
template <FixedString name, class Width, int k7>
using InceptionC =
    layer::Named<name, layer::Concat<ConvNormRelu<"branch1x1", wide<Width, 192>, 1>,
                                     layer::Path<ConvNormRelu<"branch7x7_1", wide<Width, k7>, 1>,
                                                 ConvNormRelu<"branch7x7_2", wide<Width, k7>, across>,
                                                 ConvNormRelu<"branch7x7_3", wide<Width, 192>, down>>,
                                     layer::Path<ConvNormRelu<"branch7x7dbl_1", wide<Width, k7>, 1>,
                                                 ConvNormRelu<"branch7x7dbl_2", wide<Width, k7>, down>,
                                                 ConvNormRelu<"branch7x7dbl_3", wide<Width, k7>, across>,
                                                 ConvNormRelu<"branch7x7dbl_4", wide<Width, k7>, down>,
                                                 ConvNormRelu<"branch7x7dbl_5", wide<Width, 192>, across>>,
                                     InceptionPooled<"branch_pool", Width, 192>>>;

/// To 8x8.
template <FixedString name, class Width>
using InceptionD = layer::Named<
    name,
    layer::Concat<layer::Path<ConvNormRelu<"branch3x3_1", wide<Width, 192>, 1>,
                              ConvNormRelu<"branch3x3_2", wide<Width, 320>, 3, layer::Stride<2>, layer::Pad<0>>>,
                  layer::Path<ConvNormRelu<"branch7x7x3_1", wide<Width, 192>, 1>,
                              ConvNormRelu<"branch7x7x3_2", wide<Width, 192>, across>,
                              ConvNormRelu<"branch7x7x3_3", wide<Width, 192>, down>,
                              ConvNormRelu<"branch7x7x3_4", wide<Width, 192>, 3, layer::Stride<2>, layer::Pad<0>>>,
                  layer::MaxPool<3, layer::Stride<2>>>>;

/// Figure 7: 3x3 kernels as 1x3 beside 3x1.
template <FixedString name, class Width>
using InceptionE = layer::Named<
    name, layer::Concat<
              ConvNormRelu<"branch1x1", wide<Width, 320>, 1>,
              layer::Path<ConvNormRelu<"branch3x3_1", wide<Width, 384>, 1>,
                          layer::Named<"", layer::Concat<ConvNormRelu<"branch3x3_2a", wide<Width, 384>, row>,
                                                         ConvNormRelu<"branch3x3_2b", wide<Width, 384>, column>>>>,
              layer::Path<ConvNormRelu<"branch3x3dbl_1", wide<Width, 448>, 1>,
                          ConvNormRelu<"branch3x3dbl_2", wide<Width, 384>, 3>,
                          layer::Named<"", layer::Concat<ConvNormRelu<"branch3x3dbl_3a", wide<Width, 384>, row>,
                                                         ConvNormRelu<"branch3x3dbl_3b", wide<Width, 384>, column>>>>,
              InceptionPooled<"branch_pool", Width, 192>>>;

}  // namespace detail

/// Inception v3 (Szegedy et al. 2016), as torchvision.models.inception_v3: same names, same weights, but for the
/// auxiliary classifier. Its published weights want images of mean and deviation 0.5 (transform_input).
template <int size = 299, int classes = 1000, class Width = std::ratio<1>>
struct InceptionV3Of
    : Network<layer::Input<3, size, size>,                                                                         //
              detail::ConvNormRelu<"Conv2d_1a_3x3", detail::wide<Width, 32>, 3, layer::Stride<2>, layer::Pad<0>>,  //
              detail::ConvNormRelu<"Conv2d_2a_3x3", detail::wide<Width, 32>, 3, layer::Pad<0>>,                    //
              detail::ConvNormRelu<"Conv2d_2b_3x3", detail::wide<Width, 64>, 3>,
              layer::MaxPool<3, layer::Stride<2>>,                                                     //
              detail::ConvNormRelu<"Conv2d_3b_1x1", detail::wide<Width, 80>, 1>,                       //
              detail::ConvNormRelu<"Conv2d_4a_3x3", detail::wide<Width, 192>, 3, layer::Pad<0>>,       //
              layer::MaxPool<3, layer::Stride<2>>,                                                     //
              detail::InceptionA<"Mixed_5b", Width, 32>, detail::InceptionA<"Mixed_5c", Width, 64>,    //
              detail::InceptionA<"Mixed_5d", Width, 64>,                                               //
              detail::InceptionB<"Mixed_6a", Width>,                                                   //
              detail::InceptionC<"Mixed_6b", Width, 128>, detail::InceptionC<"Mixed_6c", Width, 160>,  //
              detail::InceptionC<"Mixed_6d", Width, 160>, detail::InceptionC<"Mixed_6e", Width, 192>,  //
              detail::InceptionD<"Mixed_7a", Width>,                                                   //
              detail::InceptionE<"Mixed_7b", Width>, detail::InceptionE<"Mixed_7c", Width>,            //
              layer::GlobalAvgPool, layer::Dropout, layer::Named<"fc", layer::Dense<classes>>> {};
using InceptionV3 = InceptionV3Of<>;

}  // namespace primsel::inline PRIMSEL_ABI::zoo
// primsel/network/zoo/mnasnet.hpp

// primsel/network/zoo/detail/inverted_residual.hpp

#include <type_traits>

namespace primsel::inline PRIMSEL_ABI::zoo::detail {

/// A block of MobileNetV2 and MnasNet: with a shortcut wherever the shape stays the same.
template <class Path, bool same_shape>
using InvertedResidual = std::conditional_t<same_shape, layer::Named<"", layer::Residual<Path>>, Path>;

}  // namespace primsel::inline PRIMSEL_ABI::zoo::detail

namespace primsel::inline PRIMSEL_ABI::zoo {

namespace detail {

template <int c, int k, Extent kernel, int stride, int expansion>
using MnasNetPath = layer::Named<"layers", layer::Path<ConvNorm<"0", "1", expansion * c, 1>, layer::Relu,
                                                       DepthwiseNorm<"3", "4", expansion * c, kernel, stride>,
                                                       layer::Relu, ConvNorm<"6", "7", k, 1>>>;

template <int c, int k, Extent kernel, int stride, int expansion>
using MnasNetBlock = InvertedResidual<MnasNetPath<c, k, kernel, stride, expansion>, stride == 1 && c == k>;

template <FixedString name, class Width, int c, int k, Extent kernel, int stride, int expansion, unsigned count>
using MnasNetStage = layer::Named<
    name,
    layer::Path<layer::Named<"0", MnasNetBlock<rounded<Width, c>, rounded<Width, k>, kernel, stride, expansion>>,
                Numbered<1, count - 1, MnasNetBlock<rounded<Width, k>, rounded<Width, k>, kernel, 1, expansion>>>>;

}  // namespace detail

/// MnasNet-B1 (Tan et al. 2019), as torchvision.models.mnasnet1_0, and of other widths as its others: same names, same
/// weights. Channels times Width are rounded to multiples of 8; the last convolution always has 1280.
template <int size = 224, int classes = 1000, class Width = std::ratio<1>>
struct MnasNetOf
    : Network<
          layer::Input<3, size, size>,
          layer::Named<
              "layers",
              layer::Path<detail::ConvNorm<"0", "1", detail::rounded<Width, 32>, 3, layer::Stride<2>>, layer::Relu,  //
                          detail::DepthwiseNorm<"3", "4", detail::rounded<Width, 32>, 3, 1>, layer::Relu,            //
                          detail::ConvNorm<"6", "7", detail::rounded<Width, 16>, 1>,                                 //
                          detail::MnasNetStage<"8", Width, 16, 24, 3, 2, 3, 3>,                                      //
                          detail::MnasNetStage<"9", Width, 24, 40, 5, 2, 3, 3>,                                      //
                          detail::MnasNetStage<"10", Width, 40, 80, 5, 2, 6, 3>,                                     //
                          detail::MnasNetStage<"11", Width, 80, 96, 3, 1, 6, 2>,                                     //
                          detail::MnasNetStage<"12", Width, 96, 192, 5, 2, 6, 4>,                                    //
                          detail::MnasNetStage<"13", Width, 192, 320, 3, 1, 6, 1>,                                   //
                          detail::ConvNorm<"14", "15", 1280, 1>, layer::Relu>>,
          layer::GlobalAvgPool,
          layer::Named<"classifier", layer::Path<layer::Dropout, layer::Named<"1", layer::Dense<classes>>>>> {};
using MnasNet05 = MnasNetOf<224, 1000, std::ratio<1, 2>>;
using MnasNet075 = MnasNetOf<224, 1000, std::ratio<3, 4>>;
using MnasNet10 = MnasNetOf<>;
using MnasNet13 = MnasNetOf<224, 1000, std::ratio<13, 10>>;

}  // namespace primsel::inline PRIMSEL_ABI::zoo
// primsel/network/zoo/mobilenet.hpp

namespace primsel::inline PRIMSEL_ABI::zoo {

namespace detail {

/// Depthwise 3x3, then 1x1.
template <int c, int k, int stride>
using DepthwiseSeparable =
    layer::Path<DepthwiseNorm<"0", "1", c, 3, stride>, layer::Relu, ConvNorm<"3", "4", k, 1>, layer::Relu>;

template <unsigned index, class Width, int c, int k, int stride>
using MobileNetV1Layer =
    layer::Named<fixed_decimal<index>(), DepthwiseSeparable<wide<Width, c>, wide<Width, k>, stride>>;

}  // namespace detail

/// MobileNet v1 (Howard et al. 2017, table 1); Width is the paper's alpha. Weights are named by position:
/// `features.0.0`, `features.1.0` (depthwise), `features.1.3` (1x1), `classifier`.
template <int size = 224, int classes = 1000, class Width = std::ratio<1>>
struct MobileNetV1Of
    : Network<
          layer::Input<3, size, size>,
          layer::Named<
              "features",
              layer::Path<
                  layer::Named<
                      "0", layer::Path<detail::ConvNorm<"0", "1", detail::wide<Width, 32>, 3, layer::Stride<2>>,
                                       layer::Relu>>,                                                                //
                  detail::MobileNetV1Layer<1, Width, 32, 64, 1>, detail::MobileNetV1Layer<2, Width, 64, 128, 2>,     //
                  detail::MobileNetV1Layer<3, Width, 128, 128, 1>, detail::MobileNetV1Layer<4, Width, 128, 256, 2>,  //
                  detail::MobileNetV1Layer<5, Width, 256, 256, 1>, detail::MobileNetV1Layer<6, Width, 256, 512, 2>,  //
                  detail::Numbered<7, 5,
                                   detail::DepthwiseSeparable<detail::wide<Width, 512>, detail::wide<Width, 512>, 1>>,
                  detail::MobileNetV1Layer<12, Width, 512, 1024, 2>,
                  detail::MobileNetV1Layer<13, Width, 1024, 1024, 1>>>,
          layer::GlobalAvgPool, layer::Named<"classifier", layer::Dense<classes>>> {};
using MobileNetV1 = MobileNetV1Of<>;

namespace detail {

template <FixedString name, class Layers>
using Relu6After = layer::Named<name, layer::Path<Layers, layer::Relu6>>;

/// 1x1 to so many times the channels, depthwise 3x3, 1x1; the first block does without the first of these.
template <int c, int k, int stride, int expansion>
struct MobileNetV2Path {
    using type =
        layer::Path<Relu6After<"0", ConvNorm<"0", "1", expansion * c, 1>>,
                    Relu6After<"1", DepthwiseNorm<"0", "1", expansion * c, 3, stride>>, ConvNorm<"2", "3", k, 1>>;
};
template <int c, int k, int stride>
struct MobileNetV2Path<c, k, stride, 1> {
    using type = layer::Path<Relu6After<"0", DepthwiseNorm<"0", "1", c, 3, stride>>, ConvNorm<"1", "2", k, 1>>;
};

template <int c, int k, int stride, int expansion>
using MobileNetV2Block = InvertedResidual<layer::Named<"conv", typename MobileNetV2Path<c, k, stride, expansion>::type>,
                                          stride == 1 && c == k>;

/// So many blocks from a position of `features` on (Sandler et al. 2018, table 2).
template <unsigned first, class Width, int c, int k, unsigned count, int stride, int expansion = 6>
using MobileNetV2Stage = layer::Path<
    layer::Named<fixed_decimal<first>(), MobileNetV2Block<rounded<Width, c>, rounded<Width, k>, stride, expansion>>,
    Numbered<first + 1, count - 1, MobileNetV2Block<rounded<Width, k>, rounded<Width, k>, 1, expansion>>>;

}  // namespace detail

/// MobileNetV2 (Sandler et al. 2018), as torchvision.models.mobilenet_v2: same names, same weights. Channels times
/// Width are rounded to multiples of 8, and the last convolution has no fewer than 1280, as in torchvision.
template <int size = 224, int classes = 1000, class Width = std::ratio<1>>
struct MobileNetV2Of
    : Network<
          layer::Input<3, size, size>,
          layer::Named<
              "features",
              layer::Path<
                  detail::Relu6After<"0", detail::ConvNorm<"0", "1", detail::rounded<Width, 32>, 3, layer::Stride<2>>>,
                  detail::MobileNetV2Stage<1, Width, 32, 16, 1, 1, 1>,  //
                  detail::MobileNetV2Stage<2, Width, 16, 24, 2, 2>,     //
                  detail::MobileNetV2Stage<4, Width, 24, 32, 3, 2>,     //
                  detail::MobileNetV2Stage<7, Width, 32, 64, 4, 2>,     //
                  detail::MobileNetV2Stage<11, Width, 64, 96, 3, 1>,    //
                  detail::MobileNetV2Stage<14, Width, 96, 160, 3, 2>,   //
                  detail::MobileNetV2Stage<17, Width, 160, 320, 1, 1>,  //
                  detail::Relu6After<
                      "18",
                      detail::ConvNorm<"0", "1", (Width::num > Width::den ? detail::rounded<Width, 1280> : 1280), 1>>>>,
          layer::GlobalAvgPool,
          layer::Named<"classifier", layer::Path<layer::Dropout, layer::Named<"1", layer::Dense<classes>>>>> {};
using MobileNetV2 = MobileNetV2Of<>;

}  // namespace primsel::inline PRIMSEL_ABI::zoo
// primsel/network/zoo/resnet.hpp

#include <type_traits>

namespace primsel::inline PRIMSEL_ABI::zoo {

namespace detail {

/// Two 3x3 convolutions.
template <class Width>
struct Basic {
    static constexpr int expansion = 1;
    template <int k>
    static constexpr int out = wide<Width, k>;
    template <int k, int stride>
    using path = layer::Path<ConvNorm<"conv1", "bn1", out<k>, 3, layer::Stride<stride>>, layer::Relu,
                             ConvNorm<"conv2", "bn2", out<k>, 3>>;
};

/// 1x1; 3x3 in groups, each of so many channels where k is 64; 1x1 to four times k. It is the 3x3 convolution that
/// halves the image, as in torchvision.
template <class Width, int groups = 1, int group_width = 64>
struct Bottleneck {
    static constexpr int expansion = 4;
    template <int k>
    static constexpr int out = wide<Width, expansion * k>;
    template <int k>
    static constexpr int inner = wide<Width, k * group_width / 64 * groups>;
    template <int k, int stride>
    using path = layer::Path<ConvNorm<"conv1", "bn1", inner<k>, 1>, layer::Relu,
                             ConvNorm<"conv2", "bn2", inner<k>, 3, layer::Groups<groups>, layer::Stride<stride>>,
                             layer::Relu, ConvNorm<"conv3", "bn3", out<k>, 1>>;
};

template <class Path, class Shortcut>
using ResidualRelu = layer::Path<layer::Named<"", layer::Sum<Path, Shortcut>>, layer::Relu>;

/// So many blocks, named as in torchvision: `layer1.0.conv1`. The first has a shortcut of its own.
template <FixedString name, class Block, int k, unsigned count, int stride, class Shortcut>
using ResNetStage =
    layer::Named<name,
                 layer::Path<layer::Named<"0", ResidualRelu<typename Block::template path<k, stride>, Shortcut>>,
                             Numbered<1, count - 1, ResidualRelu<typename Block::template path<k, 1>, layer::Path<>>>>>;

template <class Block, int k, int stride>
using Projection = layer::Named<"downsample", ConvNorm<"0", "1", Block::template out<k>, 1, layer::Stride<stride>>>;

/// n: blocks in each stage.
template <int size, int classes, class Width, class Block, unsigned n1, unsigned n2, unsigned n3, unsigned n4>
using ResNet = Network<layer::Input<3, size, size>, ConvNorm<"conv1", "bn1", wide<Width, 64>, 7, layer::Stride<2>>,
                       layer::Relu, layer::MaxPool<3, layer::Stride<2>, layer::Pad<1>>,
                       ResNetStage<"layer1", Block, 64, n1, 1,
                                   std::conditional_t<Block::expansion == 1, layer::Path<>, Projection<Block, 64, 1>>>,
                       ResNetStage<"layer2", Block, 128, n2, 2, Projection<Block, 128, 2>>,
                       ResNetStage<"layer3", Block, 256, n3, 2, Projection<Block, 256, 2>>,
                       ResNetStage<"layer4", Block, 512, n4, 2, Projection<Block, 512, 2>>,  //
                       layer::GlobalAvgPool, layer::Named<"fc", layer::Dense<classes>>>;

}  // namespace detail

/// ResNet-18 (He et al. 2016), as torchvision.models.resnet18: same names, same weights.
template <int size = 224, int classes = 1000, class Width = std::ratio<1>>
struct ResNet18Of : detail::ResNet<size, classes, Width, detail::Basic<Width>, 2, 2, 2, 2> {};
using ResNet18 = ResNet18Of<>;

/// ResNet-34, as torchvision.models.resnet34.
template <int size = 224, int classes = 1000, class Width = std::ratio<1>>
struct ResNet34Of : detail::ResNet<size, classes, Width, detail::Basic<Width>, 3, 4, 6, 3> {};
using ResNet34 = ResNet34Of<>;

/// ResNet-50, as torchvision.models.resnet50.
template <int size = 224, int classes = 1000, class Width = std::ratio<1>>
struct ResNet50Of : detail::ResNet<size, classes, Width, detail::Bottleneck<Width>, 3, 4, 6, 3> {};
using ResNet50 = ResNet50Of<>;

/// ResNet-101, as torchvision.models.resnet101.
template <int size = 224, int classes = 1000, class Width = std::ratio<1>>
struct ResNet101Of : detail::ResNet<size, classes, Width, detail::Bottleneck<Width>, 3, 4, 23, 3> {};
using ResNet101 = ResNet101Of<>;

/// ResNet-152, as torchvision.models.resnet152.
template <int size = 224, int classes = 1000, class Width = std::ratio<1>>
struct ResNet152Of : detail::ResNet<size, classes, Width, detail::Bottleneck<Width>, 3, 8, 36, 3> {};
using ResNet152 = ResNet152Of<>;

/// ResNeXt-50 32x4d (Xie et al. 2017), as torchvision.models.resnext50_32x4d. Its groups stay 32 whatever the width.
template <int size = 224, int classes = 1000, class Width = std::ratio<1>>
struct ResNeXt50Of : detail::ResNet<size, classes, Width, detail::Bottleneck<Width, 32, 4>, 3, 4, 6, 3> {};
using ResNeXt50 = ResNeXt50Of<>;

/// ResNeXt-101 32x8d, as torchvision.models.resnext101_32x8d.
template <int size = 224, int classes = 1000, class Width = std::ratio<1>>
struct ResNeXt101Of : detail::ResNet<size, classes, Width, detail::Bottleneck<Width, 32, 8>, 3, 4, 23, 3> {};
using ResNeXt101 = ResNeXt101Of<>;

namespace detail {

/// Every other pixel, and zeros for the new half of the channels: He et al. 2016, section 3.3, option A.
template <class Width, int k>
using PaddedShortcut = layer::Path<layer::MaxPool<1, layer::Stride<2>>, layer::ChannelPad<0, wide<Width, k> / 2>>;

}  // namespace detail

/// ResNet-56 for CIFAR-10 (He et al. 2016, section 4.2, n = 9), named as those of torchvision.
template <int size = 32, int classes = 10, class Width = std::ratio<1>>
struct ResNet56Of
    : Network<layer::Input<3, size, size>, detail::ConvNorm<"conv1", "bn1", detail::wide<Width, 16>, 3>, layer::Relu,
              detail::ResNetStage<"layer1", detail::Basic<Width>, 16, 9, 1, layer::Path<>>,
              detail::ResNetStage<"layer2", detail::Basic<Width>, 32, 9, 2, detail::PaddedShortcut<Width, 32>>,
              detail::ResNetStage<"layer3", detail::Basic<Width>, 64, 9, 2, detail::PaddedShortcut<Width, 64>>,
              layer::GlobalAvgPool, layer::Named<"fc", layer::Dense<classes>>> {};
using ResNet56 = ResNet56Of<>;

}  // namespace primsel::inline PRIMSEL_ABI::zoo
// primsel/network/zoo/shufflenet.hpp

namespace primsel::inline PRIMSEL_ABI::zoo {

namespace detail {

/// From any channels to k: 1x1, depthwise 3x3, 1x1.
template <int k, int stride>
using ShuffleBranch =
    layer::Named<"branch2", layer::Path<ConvNorm<"0", "1", k, 1>, layer::Relu, DepthwiseNorm<"3", "4", k, 3, stride>,
                                        ConvNorm<"5", "6", k, 1>, layer::Relu>>;

/// Halves the image (Ma et al. 2018, figure 3d).
template <int c, int k>
using ShuffleDown = layer::Path<
    layer::Named<"", layer::Concat<layer::Named<"branch1", layer::Path<DepthwiseNorm<"0", "1", c, 3, 2>,
                                                                       ConvNorm<"2", "3", k / 2, 1>, layer::Relu>>,
                                   ShuffleBranch<k / 2, 2>>>,
    layer::ChannelShuffle<2>>;

/// Half of the channels go by (figure 3c).
template <int k>
using ShuffleUnit =
    layer::Path<layer::Named<"", layer::Concat<layer::Slice<0, k / 2>,
                                               layer::Path<layer::Slice<k / 2, k>, ShuffleBranch<k / 2, 1>>>>,
                layer::ChannelShuffle<2>>;

template <FixedString name, int c, int k, unsigned count>
using ShuffleStage =
    layer::Named<name, layer::Path<layer::Named<"0", ShuffleDown<c, k>>, Numbered<1, count - 1, ShuffleUnit<k>>>>;

template <FixedString name, int k, Extent kernel, int stride>
using ShuffleConv = layer::Named<name, layer::Path<ConvNorm<"0", "1", k, kernel, layer::Stride<stride>>, layer::Relu>>;

/// k: channels of each stage (table 5).
template <int size, int classes, int k1, int k2, int k3, int k4, int k5>
using ShuffleNetV2 =
    Network<layer::Input<3, size, size>, ShuffleConv<"conv1", k1, 3, 2>,
            layer::MaxPool<3, layer::Stride<2>, layer::Pad<1>>,  //
            ShuffleStage<"stage2", k1, k2, 4>, ShuffleStage<"stage3", k2, k3, 8>, ShuffleStage<"stage4", k3, k4, 4>,
            ShuffleConv<"conv5", k5, 1, 1>, layer::GlobalAvgPool, layer::Named<"fc", layer::Dense<classes>>>;

}  // namespace detail

/// ShuffleNet v2 x0.5 (Ma et al. 2018), as torchvision.models.shufflenet_v2_x0_5: same names, same weights.
template <int size = 224, int classes = 1000, class Width = std::ratio<1>>
struct ShuffleNetV2X05Of
    : detail::ShuffleNetV2<size, classes, detail::wide<Width, 24>, detail::wide<Width, 48>, detail::wide<Width, 96>,
                           detail::wide<Width, 192>, detail::wide<Width, 1024>> {};
using ShuffleNetV2X05 = ShuffleNetV2X05Of<>;

/// ShuffleNet v2 x1.0, as torchvision.models.shufflenet_v2_x1_0.
template <int size = 224, int classes = 1000, class Width = std::ratio<1>>
struct ShuffleNetV2X10Of
    : detail::ShuffleNetV2<size, classes, detail::wide<Width, 24>, detail::wide<Width, 116>, detail::wide<Width, 232>,
                           detail::wide<Width, 464>, detail::wide<Width, 1024>> {};
using ShuffleNetV2X10 = ShuffleNetV2X10Of<>;

/// ShuffleNet v2 x1.5, as torchvision.models.shufflenet_v2_x1_5.
template <int size = 224, int classes = 1000, class Width = std::ratio<1>>
struct ShuffleNetV2X15Of
    : detail::ShuffleNetV2<size, classes, detail::wide<Width, 24>, detail::wide<Width, 176>, detail::wide<Width, 352>,
                           detail::wide<Width, 704>, detail::wide<Width, 1024>> {};
using ShuffleNetV2X15 = ShuffleNetV2X15Of<>;

/// ShuffleNet v2 x2.0, as torchvision.models.shufflenet_v2_x2_0.
template <int size = 224, int classes = 1000, class Width = std::ratio<1>>
struct ShuffleNetV2X20Of
    : detail::ShuffleNetV2<size, classes, detail::wide<Width, 24>, detail::wide<Width, 244>, detail::wide<Width, 488>,
                           detail::wide<Width, 976>, detail::wide<Width, 2048>> {};
using ShuffleNetV2X20 = ShuffleNetV2X20Of<>;

}  // namespace primsel::inline PRIMSEL_ABI::zoo
// primsel/network/zoo/squeezenet.hpp

namespace primsel::inline PRIMSEL_ABI::zoo {

namespace detail {

/// 1x1 to few channels, then as many 1x1 as 3x3 kernels beside each other.
template <FixedString name, class Width, int squeeze, int expand>
using Fire = layer::Named<
    name,
    layer::Path<
        layer::Named<"squeeze", layer::Conv<wide<Width, squeeze>, 1>>, layer::Relu,
        layer::Named<
            "",
            layer::Concat<layer::Path<layer::Named<"expand1x1", layer::Conv<wide<Width, expand>, 1>>, layer::Relu>,
                          layer::Path<layer::Named<"expand3x3", layer::Conv<wide<Width, expand>, 3>>, layer::Relu>>>>>;

using FirePool = layer::MaxPool<3, layer::Stride<2>, layer::CeilMode>;

template <int classes>
using SqueezeNetClassifier =
    layer::Named<"classifier", layer::Path<layer::Dropout, layer::Named<"1", layer::Conv<classes, 1>>, layer::Relu,
                                           layer::GlobalAvgPool>>;

}  // namespace detail

/// SqueezeNet 1.0 (Iandola et al. 2016), as torchvision.models.squeezenet1_0: same names, same weights.
template <int size = 224, int classes = 1000, class Width = std::ratio<1>>
struct SqueezeNet10Of
    : Network<
          layer::Input<3, size, size>,
          layer::Named<
              "features",
              layer::Path<layer::Named<"0", layer::Conv<detail::wide<Width, 96>, 7, layer::Stride<2>, layer::Pad<0>>>,
                          layer::Relu, detail::FirePool,  //
                          detail::Fire<"3", Width, 16, 64>, detail::Fire<"4", Width, 16, 64>,
                          detail::Fire<"5", Width, 32, 128>, detail::FirePool,  //
                          detail::Fire<"7", Width, 32, 128>, detail::Fire<"8", Width, 48, 192>,
                          detail::Fire<"9", Width, 48, 192>, detail::Fire<"10", Width, 64, 256>, detail::FirePool,  //
                          detail::Fire<"12", Width, 64, 256>>>,
          detail::SqueezeNetClassifier<classes>> {};
using SqueezeNet10 = SqueezeNet10Of<>;

/// SqueezeNet 1.1, with less than half the work, as torchvision.models.squeezenet1_1.
template <int size = 224, int classes = 1000, class Width = std::ratio<1>>
struct SqueezeNet11Of
    : Network<
          layer::Input<3, size, size>,
          layer::Named<
              "features",
              layer::Path<layer::Named<"0", layer::Conv<detail::wide<Width, 64>, 3, layer::Stride<2>, layer::Pad<0>>>,
                          layer::Relu, detail::FirePool,                                                           //
                          detail::Fire<"3", Width, 16, 64>, detail::Fire<"4", Width, 16, 64>, detail::FirePool,    //
                          detail::Fire<"6", Width, 32, 128>, detail::Fire<"7", Width, 32, 128>, detail::FirePool,  //
                          detail::Fire<"9", Width, 48, 192>, detail::Fire<"10", Width, 48, 192>,
                          detail::Fire<"11", Width, 64, 256>, detail::Fire<"12", Width, 64, 256>>>,
          detail::SqueezeNetClassifier<classes>> {};
using SqueezeNet11 = SqueezeNet11Of<>;

}  // namespace primsel::inline PRIMSEL_ABI::zoo
// primsel/network/zoo/vgg.hpp

#include <utility>

namespace primsel::inline PRIMSEL_ABI::zoo {

namespace detail {

/// So many convolutions from a position of torchvision's `features` on, each with its ReLU, and pooling.
template <unsigned first, int k, class Indices>
struct VggStageOf;
template <unsigned first, int k, unsigned... index>
struct VggStageOf<first, k, std::integer_sequence<unsigned, index...>> {
    using type =
        layer::Path<layer::Path<layer::Named<fixed_decimal<first + 2 * index>(), layer::Conv<k, 3>>, layer::Relu>...,
                    layer::MaxPool<2>>;
};
template <unsigned first, int k, unsigned count>
using VggStage = typename VggStageOf<first, k, std::make_integer_sequence<unsigned, count>>::type;

/// n: convolutions in each stage; a stage takes two positions for each, and one for the pooling.
template <int size, int classes, class Width, unsigned n1, unsigned n2, unsigned n3, unsigned n4, unsigned n5>
using Vgg = Network<
    layer::Input<3, size, size>,
    layer::Named<"features", layer::Path<VggStage<0, wide<Width, 64>, n1>,                        //
                                         VggStage<2 * n1 + 1, wide<Width, 128>, n2>,              //
                                         VggStage<2 * (n1 + n2) + 2, wide<Width, 256>, n3>,       //
                                         VggStage<2 * (n1 + n2 + n3) + 3, wide<Width, 512>, n4>,  //
                                         VggStage<2 * (n1 + n2 + n3 + n4) + 4, wide<Width, 512>, n5>>>,
    layer::Named<"classifier", layer::Path<layer::Named<"0", layer::Dense<wide<Width, 4096>>>, layer::Relu,
                                           layer::Dropout, layer::Named<"3", layer::Dense<wide<Width, 4096>>>,
                                           layer::Relu, layer::Dropout, layer::Named<"6", layer::Dense<classes>>>>>;

}  // namespace detail

/// VGG with 11 weight layers (Simonyan and Zisserman 2014, table 1, column A), as torchvision.models.vgg11: same names,
/// same weights.
template <int size = 224, int classes = 1000, class Width = std::ratio<1>>
struct Vgg11Of : detail::Vgg<size, classes, Width, 1, 1, 2, 2, 2> {};
using Vgg11 = Vgg11Of<>;

/// VGG with 13 weight layers (column B), as torchvision.models.vgg13.
template <int size = 224, int classes = 1000, class Width = std::ratio<1>>
struct Vgg13Of : detail::Vgg<size, classes, Width, 2, 2, 2, 2, 2> {};
using Vgg13 = Vgg13Of<>;

/// VGG with 16 weight layers (column D), as torchvision.models.vgg16.
template <int size = 224, int classes = 1000, class Width = std::ratio<1>>
struct Vgg16Of : detail::Vgg<size, classes, Width, 2, 2, 3, 3, 3> {};
using Vgg16 = Vgg16Of<>;

/// VGG with 19 weight layers (column E), as torchvision.models.vgg19.
template <int size = 224, int classes = 1000, class Width = std::ratio<1>>
struct Vgg19Of : detail::Vgg<size, classes, Width, 2, 2, 4, 4, 4> {};
using Vgg19 = Vgg19Of<>;

}  // namespace primsel::inline PRIMSEL_ABI::zoo

#include <array>
#include <string>
#include <string_view>

namespace primsel::inline PRIMSEL_ABI::zoo {

namespace detail {

template <FixedString text, class Net>
struct Known {
    static constexpr std::string_view name = text.view();
    using network = Net;
};

/// The networks of the papers' table 4 (Mulder et al. 2020).
using Table4 = TypeList<Known<"alexnet", AlexNet>, Known<"vgg11", Vgg11>, Known<"vgg19", Vgg19>,
                        Known<"googlenet", GoogLeNet>, Known<"resnet18", ResNet18>, Known<"resnet34", ResNet34>>;

/// Every network, under torchvision's name where it has one. Its googlenet is googlenet-bn here.
using AllNetworks = TypeList<
    Known<"alexnet", AlexNet>, Known<"alexnet_cifar", AlexNetCifar>,                                            //
    Known<"densenet121", DenseNet121>, Known<"densenet161", DenseNet161>, Known<"densenet169", DenseNet169>,    //
    Known<"densenet201", DenseNet201>, Known<"googlenet", GoogLeNet>, Known<"googlenet-bn", GoogLeNetBn>,       //
    Known<"inception_v3", InceptionV3>, Known<"mnasnet0_5", MnasNet05>, Known<"mnasnet0_75", MnasNet075>,       //
    Known<"mnasnet1_0", MnasNet10>, Known<"mnasnet1_3", MnasNet13>, Known<"mobilenet_v1", MobileNetV1>,         //
    Known<"mobilenet_v2", MobileNetV2>, Known<"resnet18", ResNet18>, Known<"resnet34", ResNet34>,               //
    Known<"resnet50", ResNet50>, Known<"resnet56", ResNet56>, Known<"resnet101", ResNet101>,                    //
    Known<"resnet152", ResNet152>, Known<"resnext50_32x4d", ResNeXt50>, Known<"resnext101_32x8d", ResNeXt101>,  //
    Known<"shufflenet_v2_x0_5", ShuffleNetV2X05>, Known<"shufflenet_v2_x1_0", ShuffleNetV2X10>,                 //
    Known<"shufflenet_v2_x1_5", ShuffleNetV2X15>, Known<"shufflenet_v2_x2_0", ShuffleNetV2X20>,                 //
    Known<"squeezenet1_0", SqueezeNet10>, Known<"squeezenet1_1", SqueezeNet11>, Known<"vgg11", Vgg11>,          //
    Known<"vgg13", Vgg13>, Known<"vgg16", Vgg16>, Known<"vgg19", Vgg19>>;

template <class Networks>
struct Names;
template <class... Networks>
struct Names<TypeList<Networks...>> {
    static constexpr std::array value{Networks::name...};
};

template <class Networks>
struct ByName;
template <class... Networks>
struct ByName<TypeList<Networks...>> {
    [[nodiscard]] static Graph graph(std::string_view name, int batch) {
        struct Maker {
            std::string_view name;
            Graph (*graph)(int);
        };
        static constexpr std::array makers{Maker{Networks::name, &Networks::network::graph}...};
        std::string names;
        for (Maker const& maker : makers) {
            if (maker.name == name) return maker.graph(batch);
            names += (names.empty() ? "" : ", ") + std::string(maker.name);
        }
        fail("zoo: no network is named ", name, "; there are ", names);
    }
};

}  // namespace detail

/// The names of all networks.
inline constexpr auto const& names = detail::Names<detail::AllNetworks>::value;

/// The network of that name, for so many images at once. Throws error for an unknown name, and says which there are.
/// A template, so that only those who call it compile all networks.
template <class Networks = detail::AllNetworks>
[[nodiscard]] Graph graph(std::string_view name, int batch = 1) {
    return detail::ByName<Networks>::graph(name, batch);
}

/// A network and how to make it, for so many images at once.
struct Entry {
    std::string_view name;
    template <class Networks = detail::Table4>
    [[nodiscard]] Graph graph(int batch = 1) const {
        return detail::ByName<Networks>::graph(name, batch);
    }
};

/// The six networks of the papers' table 4 (Mulder et al. 2020).
inline constexpr std::array entries{Entry{"alexnet"},   Entry{"vgg11"},    Entry{"vgg19"},
                                    Entry{"googlenet"}, Entry{"resnet18"}, Entry{"resnet34"}};

}  // namespace primsel::inline PRIMSEL_ABI::zoo
// primsel/primitive/reference.hpp

namespace primsel::inline PRIMSEL_ABI {

/// The definition of convolution, element by element, accumulated in double precision: what every primitive is tested
/// against. src and residual are chw images, kernel is k x c/groups x fh x fw, dst is a chw image; bias and residual
/// may be null.
template <class Result = float>
void reference_convolution(ConvShape const& s, const float* src, const float* kernel, const float* bias,
                           const float* residual, Clamp clamp, Result* dst) {
    const std::size_t pixels = s.out_pixels();
    for (int k = 0; k < s.k; ++k) {
        const int first_c = k / s.group_k() * s.group_c();
        for (int oh = 0; oh < s.out_h(); ++oh) {
            for (int ow = 0; ow < s.out_w(); ++ow) {
                double sum = bias == nullptr ? 0.0 : static_cast<double>(bias[k]);
                for (int c = 0; c < s.group_c(); ++c) {
                    const float* image = src + chw::offset(s.in_shape(), {first_c + c, 0, 0});
                    const float* taps =
                        kernel + static_cast<std::size_t>(k * s.group_c() + c) * static_cast<std::size_t>(s.taps());
                    for (int fh = 0; fh < s.fh; ++fh) {
                        const int h = oh * s.stride_h - s.pad_top + fh * s.dilation_h;
                        if (h < 0 || h >= s.h) continue;
                        for (int fw = 0; fw < s.fw; ++fw) {
                            const int w = ow * s.stride_w - s.pad_left + fw * s.dilation_w;
                            if (w < 0 || w >= s.w) continue;
                            sum += static_cast<double>(image[h * s.w + w]) * static_cast<double>(taps[fh * s.fw + fw]);
                        }
                    }
                }
                const std::size_t at =
                    static_cast<std::size_t>(k) * pixels + static_cast<std::size_t>(oh * s.out_w() + ow);
                if (residual != nullptr) sum += static_cast<double>(residual[at]);
                sum = sum < static_cast<double>(clamp.low) ? static_cast<double>(clamp.low) : sum;
                sum = sum > static_cast<double>(clamp.high) ? static_cast<double>(clamp.high) : sum;
                dst[at] = static_cast<Result>(sum);
            }
        }
    }
}

}  // namespace primsel::inline PRIMSEL_ABI
// primsel/profile/measured.hpp

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <map>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

/// Times the candidates themselves, here and now (Anderson and Gregg 2018): what predictions replace. Every distinct
/// question is timed once and then remembered: a run to warm up, then up to `runs` more, of which the median counts; a
/// candidate several times slower than the best so far of its layer is not run again. Large weights are pushed out of
/// the caches before each run, as the rest of the network would. Seconds to minutes for a network.
class Measured {
public:
    static constexpr std::string_view name = "measured";

    explicit Measured(std::size_t runs = 5) : runs_(std::max<std::size_t>(runs, 1)) {}

    void predict(Kernels const& kernels, std::span<const ConvQuery> queries, std::span<double> seconds) {
        for (std::size_t i = 0; i < queries.size(); ++i) {
            // By its name: another list has other primitives at its positions.
            const std::string_view id = kernels.primitives[queries[i].primitive].id;
            seconds[i] = remember(convs_, std::tuple{queries[i].shape, queries[i].batch, id, kernels.arch},
                                  [&] { return time_conv(kernels, queries[i]); });
        }
    }
    void predict(Kernels const& kernels, std::span<const TransformQuery> queries, std::span<double> seconds) {
        for (std::size_t i = 0; i < queries.size(); ++i) {
            TransformQuery const& q = queries[i];
            const std::string_view from = kernels.layouts[q.from].name, to = kernels.layouts[q.to].name;
            seconds[i] = remember(transforms_, std::tuple{q.shape.c, q.shape.h, q.shape.w, q.batch, from, to},
                                  [&] { return time_transform(kernels, q); });
        }
    }
    void predict(Kernels const& kernels, std::span<const OpQuery> queries, std::span<double> seconds) {
        for (std::size_t i = 0; i < queries.size(); ++i) {
            OpQuery const& q = queries[i];
            const TimedOp asked{*q.layer, {q.inputs.begin(), q.inputs.end()}, q.output,
                                q.batch,  kernels.layouts[q.layout].name,     kernels.arch};
            auto known = std::ranges::find(ops_, asked, &std::pair<TimedOp, double>::first);
            if (known == ops_.end()) known = ops_.insert(known, {asked, time_op(kernels, q)});
            seconds[i] = known->second;
        }
    }

private:
    struct TimedOp {
        AnyLayer layer;
        std::vector<Shape> inputs;
        Shape output;
        int batch;
        std::string_view layout, arch;
        friend bool operator==(TimedOp const&, TimedOp const&) = default;
    };
    template <class Map, class Key, class Time>
    static double remember(Map& known, Key const& key, Time const& time) {
        const auto found = known.find(key);
        return found != known.end() ? found->second : known.emplace(key, time()).first->second;
    }

    static void fill(std::span<float> values) {
        unsigned state = 1;
        for (float& value : values) {
            state = state * 1664525U + 1013904223U;
            value = static_cast<float>(state >> 8) * (2.0F / (1U << 24)) - 1.0F;
        }
    }
    /// Whether other layers push these weights out of the caches.
    [[nodiscard]] static bool is_large(AlignedBuffer const& weights) { return weights.size() > l2_floats / 4; }
    /// Reads and writes more than the last-level cache holds.
    void flush() {
        if (flush_.size() == 0) flush_ = AlignedBuffer((std::size_t{48} << 20) / sizeof(float)), fill(flush_.span());
        for (std::size_t i = 0; i < flush_.size(); i += 16) flush_.data()[i] += 1.0F;
    }
    /// The median of the runs; one run is enough for what cannot be chosen.
    template <class Run>
    double time(bool cold, double hopeless, Run const& run) {
        const auto once = [&] {
            if (cold) flush();
            const Timer timer;
            run();
            return timer.seconds();
        };
        const double first = once();
        if (first > hopeless) return first;
        std::vector<double> all;
        for (std::size_t i = 0; i < runs_; ++i) all.push_back(once());
        return median(std::move(all));
    }

    double time_conv(Kernels const& kernels, ConvQuery const& query) {
        PrimitiveEntry const& primitive = kernels.primitives[query.primitive];
        ConvShape const& image = query.shape;
        AlignedBuffer kernel(image.kernel_size()), packed(floats_for_bytes(primitive.packed_bytes(image)));
        AlignedBuffer src(floats_for_bytes(kernels.layouts[primitive.in_layout].image_bytes(image.in_shape())));
        AlignedBuffer dst(floats_for_bytes(kernels.layouts[primitive.out_layout].image_bytes(image.out_shape())));
        AlignedBuffer scratch(floats_for_bytes(primitive.scratch_bytes(image, executor_.concurrency())));
        fill(kernel.span());
        fill(src.span());
        fill(dst.span());
        primitive.pack(image, kernel.data(), packed.data());
        const ConvArgs args{.src = src.data(),
                            .weights = packed.data(),
                            .dst = dst.data(),
                            .scratch = scratch.data(),
                            .executor = executor_};
        double& best = best_.try_emplace(std::pair{image, query.batch}, 1e9).first->second;
        const bool cold = is_large(packed);
        const double seconds = time(cold, 4 * best, [&] {
            for (int i = 0; i < query.batch; ++i) primitive.run(image, args);
        });
        best = std::min(best, seconds);
        return seconds;
    }

    double time_transform(Kernels const& kernels, TransformQuery const& query) {
        AlignedBuffer src(floats_for_bytes(kernels.layouts[query.from].image_bytes(query.shape))),
            dst(floats_for_bytes(kernels.layouts[query.to].image_bytes(query.shape)));
        fill(src.span());
        fill(dst.span());
        return time(false, 1e9, [&] {
            for (int i = 0; i < query.batch; ++i) {
                kernels.transform(query.from, query.to).run(query.shape, src.data(), dst.data(), executor_);
            }
        });
    }

    double time_op(Kernels const& kernels, OpQuery const& query) {
        const auto batch = static_cast<std::size_t>(query.batch);
        AlignedBuffer dst(batch * query.output.size());
        fill(dst.span());
        if (std::holds_alternative<ConvParams>(*query.layer)) {
            const auto epilogue = kernels.layouts[query.layout].epilogue;
            if (epilogue == nullptr) return 0;
            AlignedBuffer bias(static_cast<std::size_t>(query.output.c)), residual(dst.size());
            fill(bias.span());
            fill(residual.span());
            const float* added = query.inputs.size() > 1 ? residual.data() : nullptr;
            return time(false, 1e9, [&] {
                epilogue(query.output, query.batch, dst.data(), bias.data(), added, relu_clamp, executor_);
            });
        }
        OpEntry const& op = kernels.op(*query.layer, query.layout);
        if (op.run == nullptr) return 0;
        std::vector<AlignedBuffer> buffers;
        std::vector<const float*> src;
        for (Shape const& shape : query.inputs) {
            fill(buffers.emplace_back(batch * shape.size()).span());
            src.push_back(buffers.back().data());
        }
        AlignedBuffer weights(
            op.packed_bytes == nullptr ? 0 : floats_for_bytes(op.packed_bytes(*query.layer, query.inputs[0])));
        fill(weights.span());
        const OpArgs args{.src = src,
                          .src_shape = query.inputs,
                          .dst = dst.data(),
                          .dst_shape = query.output,
                          .batch = query.batch,
                          .weights = weights.data(),
                          .executor = executor_};
        return time(is_large(weights), 1e9, [&] { op.run(*query.layer, args); });
    }

    std::size_t runs_;
    Sequential executor_;
    AlignedBuffer flush_;
    std::map<std::tuple<ConvShape, int, std::string_view, std::string_view>, double> convs_;
    std::map<std::pair<ConvShape, int>, double> best_;
    std::map<std::tuple<int, int, int, int, std::string_view, std::string_view>, double> transforms_;
    /// Parameters have no order; a network has few enough for a search from the front.
    std::vector<std::pair<TimedOp, double>> ops_;
};

}  // namespace primsel::inline PRIMSEL_ABI

// primsel/tensor/tensor.hpp

// primsel/tensor/view.hpp

#include <type_traits>

namespace primsel::inline PRIMSEL_ABI {

/// A batch of images that somebody else owns: image after image, each in layout L. T is float or const float.
template <class T, Layout L = chw>
class TensorView {
public:
    constexpr TensorView(T* data, Shape shape, int batch = 1) : data_(data), shape_(shape), batch_(batch) {}
    template <class U>
        requires std::is_same_v<const U, T>
    // NOLINTNEXTLINE(google-explicit-constructor): float to const float
    constexpr TensorView(TensorView<U, L> const& other) : TensorView(other.data(), other.shape(), other.batch()) {}

    [[nodiscard]] constexpr T* data() const { return data_; }
    [[nodiscard]] constexpr Shape shape() const { return shape_; }
    [[nodiscard]] constexpr int batch() const { return batch_; }
    /// Floats, padding of the layout included.
    [[nodiscard]] constexpr std::size_t size() const { return image_size() * static_cast<std::size_t>(batch_); }
    [[nodiscard]] constexpr std::size_t image_size() const { return L::size(shape_); }
    [[nodiscard]] constexpr T* image(int n) const { return data_ + static_cast<std::size_t>(n) * image_size(); }
    [[nodiscard]] constexpr T& operator()(int c, int h, int w) const {
        return data_[L::offset(shape_, Coord{c, h, w})];
    }
    [[nodiscard]] constexpr T& operator()(int n, int c, int h, int w) const {
        return image(n)[L::offset(shape_, Coord{c, h, w})];
    }

private:
    T* data_;
    Shape shape_;
    int batch_;
};

}  // namespace primsel::inline PRIMSEL_ABI

#include <algorithm>
#include <span>

namespace primsel::inline PRIMSEL_ABI {

/// An owning batch of images in layout L, aligned to a cache line, zero at first.
template <Layout L = chw>
class Tensor {
public:
    /// Throws error for a shape or batch below 1 and for more floats than any machine holds.
    explicit Tensor(Shape shape, int batch = 1) : shape_(shape), batch_(batch) {
        if (shape.c < 1 || shape.h < 1 || shape.w < 1 || batch < 1) {
            fail("tensor: impossible shape ", batch, "x", to_string(shape));
        }
        constexpr double most = 1e15;  // far from where the size overflows, padding of the layout included
        if (static_cast<double>(batch) * shape.c * shape.h * shape.w > most) {
            fail("tensor: shape ", batch, "x", to_string(shape), " is too large");
        }
        buffer_ = AlignedBuffer(L::size(shape) * static_cast<std::size_t>(batch));
        std::ranges::fill(buffer_.span(), 0.0F);
    }

    [[nodiscard]] Shape shape() const { return shape_; }
    [[nodiscard]] int batch() const { return batch_; }
    [[nodiscard]] std::size_t size() const { return buffer_.size(); }
    [[nodiscard]] float* data() { return buffer_.data(); }
    [[nodiscard]] const float* data() const { return buffer_.data(); }
    [[nodiscard]] TensorView<float, L> view() { return {data(), shape_, batch_}; }
    [[nodiscard]] TensorView<const float, L> view() const { return {data(), shape_, batch_}; }
    [[nodiscard]] std::span<float> span() { return buffer_.span(); }
    [[nodiscard]] std::span<const float> span() const { return buffer_.span(); }
    [[nodiscard]] float* begin() { return data(); }
    [[nodiscard]] float* end() { return data() + size(); }
    [[nodiscard]] const float* begin() const { return data(); }
    [[nodiscard]] const float* end() const { return data() + size(); }
    [[nodiscard]] float& operator()(int c, int h, int w) { return view()(c, h, w); }
    [[nodiscard]] float operator()(int c, int h, int w) const { return view()(c, h, w); }

private:
    Shape shape_;
    int batch_;
    AlignedBuffer buffer_;
};

}  // namespace primsel::inline PRIMSEL_ABI
// primsel/version.hpp

#include <string_view>

namespace primsel::inline PRIMSEL_ABI {

/// "major.minor.patch"
inline constexpr std::string_view version = PRIMSEL_VERSION;

}  // namespace primsel::inline PRIMSEL_ABI
// primsel/engine/trace.hpp

#include <cstddef>
#include <cstdio>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

/// A step of a run. Times in seconds; begin and end count from the start of the run.
struct TracedStep {
    std::string layer;  ///< of a change of layout: the layer whose result changes its layout
    /// A primitive's id, a kind of layer, "epilogue" for the bias and activation after a primitive that does not fuse
    /// them, or a change of layout, "chw -> hwc".
    std::string computed_by;
    /// By the plan. A convolution's prediction includes its epilogue, which has none of its own.
    double predicted = 0;
    /// Of the direct algorithm, of a convolution; and what must be read and written at least: images and weights.
    double operations = 0, bytes = 0;
    double begin = 0, end = 0;

    [[nodiscard]] double seconds() const { return end - begin; }
};

/// A block of a step on a worker, from when to when.
struct TracedBlock {
    std::size_t step = 0, worker = 0;
    double begin = 0, end = 0;
};

/// When each step of one run ran, and which worker ran what of it.
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

    /// What parallel_for runs belongs to this step until told otherwise.
    void begin_step(std::size_t step) noexcept { step_ = step; }
    /// Of all workers since the last restart.
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
    /// Since the last restart.
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

namespace detail {

/// Who computes each step of a plan, and in what predicted time.
[[nodiscard]] inline std::vector<TracedStep> describe_steps(Graph const& graph, Kernels const& kernels,
                                                            Plan const& plan, std::size_t workers) {
    std::vector<TracedStep> described;
    std::vector<bool> told(plan.transforms.size(), false);
    const auto layouts_of = [&](Step const& step) {
        const auto index = static_cast<std::size_t>(step.transform - kernels.transforms.data());
        return std::pair{kernels.layouts[index / kernels.layouts.size()].name,
                         kernels.layouts[index % kernels.layouts.size()].name};
    };
    const Schedule schedule = make_schedule(graph, kernels, plan, workers);
    for (Step const& step : schedule.steps) {
        TracedStep& next = described.emplace_back();
        next.layer = graph[step.node].name;
        const double images = described.size() <= schedule.single ? 1 : graph.batch();
        next.bytes = images * static_cast<double>(activations(step)) + static_cast<double>(weights(step));
        if (step.kind == Step::Kind::conv) {
            next.operations = images * step.shape.operations();
            next.computed_by = step.primitive->id;
            next.predicted = plan.layers[step.node].seconds;
        } else if (step.kind == Step::Kind::epilogue) {
            next.computed_by = "epilogue";
        } else if (step.kind == Step::Kind::op) {
            next.computed_by = kind(graph[step.node].layer);
            next.predicted = plan.layers[step.node].seconds;
        } else {
            const auto [from, to] = layouts_of(step);
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
    const auto batch = static_cast<std::size_t>(graph.batch());
    const auto single = described.begin() + static_cast<std::ptrdiff_t>(schedule.single);
    for (auto step = described.begin(); step != single; ++step) step->predicted /= static_cast<double>(batch);
    std::vector<TracedStep> all;
    for (std::size_t image = 0; image < batch; ++image) all.insert(all.end(), described.begin(), single);
    all.insert(all.end(), single, described.end());
    return all;
}

}  // namespace detail

/// Runs a program twice, to warm up and to be timed; the graph, kernels and plan are those that it was made of. srcs
/// and dsts as for Program::run. What it costs: two readings of the clock a block.
[[nodiscard]] inline Trace trace_run(Program& program, Graph const& graph, Kernels const& kernels, Plan const& plan,
                                     std::span<const float* const> srcs, std::span<float* const> dsts,
                                     ExecutorRef executor) {
    TracingExecutor tracing(executor);
    Trace trace{.workers = executor.concurrency(),
                .steps = detail::describe_steps(graph, kernels, plan, executor.concurrency()),
                .blocks = {},
                .predicted = plan.total_seconds};
    if (trace.steps.size() != program.steps()) {
        fail("trace: the plan has ", trace.steps.size(), " steps, the program ", program.steps());
    }
    program.run(srcs, dsts, tracing);
    // The number of blocks is the same in every run; which worker takes them is not.
    tracing.restart(tracing.count());
    const RunScope scope(tracing);
    program.bind(srcs, dsts);
    for (std::size_t i = 0; i < trace.steps.size(); ++i) {
        tracing.begin_step(i);
        trace.steps[i].begin = tracing.seconds();
        program.run_step(i, tracing);
        trace.steps[i].end = tracing.seconds();
    }
    trace.seconds = tracing.seconds();
    trace.blocks = tracing.blocks();
    return trace;
}

namespace detail {

/// Writes a Trace as Chrome trace events: to_chrome_trace below.
class ChromeTrace {
public:
    [[nodiscard]] std::string text(Trace const& trace) {
        text_ = "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n";
        name("process_name", measured, 0, "measured");
        name("process_name", predicted, 0, "predicted by the plan, for one thread");
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
    void number(double value) {
        char digits[64];
        std::snprintf(digits, sizeof(digits), "%.3f", value);
        text_ += digits;
    }
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

}  // namespace detail

/// The trace as JSON that chrome://tracing and ui.perfetto.dev show: the process "measured" with a lane for the steps
/// and one for each thread's blocks; the process "predicted" with what the plan predicted, end to end. Every event
/// names what computed it, the predicted and measured milliseconds of its step, and a convolution's GFLOP/s, counting
/// the operations of the direct algorithm. Names are taken to be UTF-8.
[[nodiscard]] inline std::string to_chrome_trace(Trace const& trace) { return detail::ChromeTrace().text(trace); }

}  // namespace primsel::inline PRIMSEL_ABI
// primsel/io/npy.hpp

#include <algorithm>
#include <bit>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// NumPy's .npy format, versions 1 to 3: "\x93NUMPY", two bytes of version, the size of a header (two bytes in version
// 1, four later), the header, a Python dict with the element type, the order and the shape, and the elements.
namespace primsel::inline PRIMSEL_ABI {

static_assert(std::endian::native == std::endian::little, "primsel: npy files are written little-endian");

/// What the elements of an array in a file are. Here they are floats.
enum class NpyType { float32, float64, int64, int32, uint8, boolean, float16 };

[[nodiscard]] constexpr std::string_view to_string(NpyType type) {
    constexpr std::string_view names[] = {"float32", "float64", "int64", "int32", "uint8", "bool", "float16"};
    return names[static_cast<std::size_t>(type)];
}

/// An array of any rank, row-major.
struct NpyArray {
    std::vector<std::int64_t> dims;
    std::vector<float> values;
    /// In the file.
    NpyType type = NpyType::float32;
};

namespace detail {

inline constexpr std::size_t npy_max_rank = 64;  // NumPy's own
inline constexpr std::string_view npy_magic = "\x93NUMPY";

struct NpyCode {
    std::string_view code;  // as the header calls it
    NpyType type;
    std::size_t bytes;
};
inline constexpr NpyCode npy_codes[] = {
    {"<f4", NpyType::float32, 4}, {"<f8", NpyType::float64, 8}, {"<i8", NpyType::int64, 8},
    {"<i4", NpyType::int32, 4},   {"|u1", NpyType::uint8, 1},   {"|b1", NpyType::boolean, 1},
    {"<f2", NpyType::float16, 2},
};
[[nodiscard]] constexpr NpyCode const& npy_code(NpyType type) {
    return npy_codes[static_cast<std::size_t>(type)];  // in the order of the enumerators
}

/// Calls with a value of the C++ type of the elements; a bool is a byte, a half its bits.
template <class Call>
void with_npy_type(NpyType type, Call const& call) {
    switch (type) {
        case NpyType::float32:
            return call(float{});
        case NpyType::float64:
            return call(double{});
        case NpyType::int64:
            return call(std::int64_t{});
        case NpyType::int32:
            return call(std::int32_t{});
        case NpyType::uint8:
        case NpyType::boolean:
            return call(std::uint8_t{});
        case NpyType::float16:
            return call(std::uint16_t{});
    }
}

struct NpyHeader {
    NpyCode code;
    bool fortran_order;
    std::vector<std::int64_t> dims;
};

/// Reads the header: a Python dict of a string, a bool and a tuple of integers.
class NpyHeaderParser {
public:
    NpyHeaderParser(std::string const& name, std::string_view text) : name_(name), text_(text) {}

    [[nodiscard]] NpyHeader parse() {
        std::optional<NpyCode> code;
        std::optional<bool> fortran_order;
        std::optional<std::vector<std::int64_t>> dims;
        expect('{');
        while (!accept('}')) {
            const std::string_view key = string();
            expect(':');
            if (key == "descr" && !code) {
                code = element();
            } else if (key == "fortran_order" && !fortran_order) {
                fortran_order = boolean();
            } else if (key == "shape" && !dims) {
                dims = shape();
            } else {
                refuse("unexpected key ", key);
            }
            if (accept('}')) break;
            expect(',');
        }
        skip_spaces();
        if (at_ != text_.size()) refuse("something follows the dict");
        if (!code || !fortran_order || !dims) refuse("descr, fortran_order or shape is missing");
        return {*code, *fortran_order, std::move(*dims)};
    }

private:
    template <class... Parts>
    [[noreturn]] void refuse(Parts const&... parts) const {
        fail(name_, ": header, byte ", at_, ": ", parts...);
    }
    void skip_spaces() {
        while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
    }
    bool accept(std::string_view word) {
        skip_spaces();
        if (!text_.substr(at_).starts_with(word)) return false;
        at_ += word.size();
        return true;
    }
    bool accept(char c) { return accept(std::string_view(&c, 1)); }
    void expect(char c) {
        if (!accept(c)) refuse("expected ", c);
    }
    [[nodiscard]] std::string_view string() {
        skip_spaces();
        const char quote = at_ < text_.size() ? text_[at_] : '\0';
        if (quote != '\'' && quote != '"') refuse("expected a string");
        const std::size_t end = text_.find(quote, ++at_);
        if (end == std::string_view::npos) refuse("a string does not end");
        const std::string_view result = text_.substr(at_, end - at_);
        at_ = end + 1;
        return result;
    }
    [[nodiscard]] bool boolean() {
        if (accept("True")) return true;
        if (!accept("False")) refuse("expected True or False");
        return false;
    }
    [[nodiscard]] NpyCode element() {
        skip_spaces();
        if (text_.substr(at_).starts_with('[')) refuse("structured elements are not supported");
        const std::string_view name = string();
        for (NpyCode const& code : npy_codes) {
            if (name == code.code) return code;
        }
        if (name.starts_with('>')) refuse("elements ", name, " are big-endian, which is not supported");
        refuse("elements ", name, " are not supported; <f2, <f4, <f8, <i8, <i4, |u1 and |b1 are");
    }
    [[nodiscard]] std::int64_t integer() {
        skip_spaces();
        const std::size_t begin = at_;
        std::int64_t value = 0;
        for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_) {
            if (__builtin_mul_overflow(value, std::int64_t{10}, &value) ||
                __builtin_add_overflow(value, std::int64_t{text_[at_] - '0'}, &value)) {
                refuse("a dimension is too large");
            }
        }
        if (at_ == begin) refuse("expected a dimension");
        return value;
    }
    [[nodiscard]] std::vector<std::int64_t> shape() {
        std::vector<std::int64_t> dims;
        expect('(');
        while (!accept(')')) {
            if (dims.size() == npy_max_rank) refuse("more than ", npy_max_rank, " dimensions");
            dims.push_back(integer());
            if (accept(')')) {
                // (3) is a number, (3,) a tuple.
                if (dims.size() == 1) refuse("expected ,");
                break;
            }
            expect(',');
        }
        return dims;
    }

    std::string const& name_;
    std::string_view text_;
    std::size_t at_ = 0;
};

/// From the order with the first axis innermost to that with the last.
[[nodiscard]] inline std::vector<float> from_fortran_order(std::vector<std::int64_t> const& dims,
                                                           std::vector<float> const& src) {
    std::vector<float> dst(src.size());
    std::vector<std::size_t> strides, index(dims.size(), 0);
    std::size_t stride = 1, at = 0;
    for (const std::int64_t dim : dims) {
        strides.push_back(stride);
        stride *= static_cast<std::size_t>(dim);
    }
    for (float& value : dst) {
        value = src[at];
        for (std::size_t axis = dims.size(); axis-- > 0;) {
            at += strides[axis];
            if (++index[axis] < static_cast<std::size_t>(dims[axis])) break;
            at -= strides[axis] * index[axis];
            index[axis] = 0;
        }
    }
    return dst;
}

/// A value as an element of the file. Throws error when it is none.
template <class T>
[[nodiscard]] T npy_element(std::string const& name, std::size_t i, float value, NpyType type) {
    if constexpr (std::same_as<T, std::uint16_t>) {
        return float_to_half(value);
    } else {
        if (type == NpyType::boolean) return static_cast<T>(value != 0.0F);
        if constexpr (std::integral<T>) {
            // The bounds as floats are powers of two: no value of the type lies between them and its own.
            constexpr float low = static_cast<float>(std::numeric_limits<T>::min());
            constexpr float beyond = static_cast<float>(std::numeric_limits<T>::max() / 2 + 1) * 2.0F;
            const bool fits = value >= low && value < beyond && value == std::trunc(value);
            if (!fits) fail(name, ": element ", i, ", ", value, ", is no ", to_string(type));
        }
        return static_cast<T>(value);
    }
}

/// Bytes that elements of these dimensions take; nothing if no machine holds them.
[[nodiscard]] inline std::optional<std::size_t> npy_bytes(std::vector<std::int64_t> const& dims, std::size_t each) {
    if (std::ranges::find(dims, 0) != dims.end()) return 0;
    for (const std::int64_t dim : dims) {
        if (__builtin_mul_overflow(each, static_cast<std::size_t>(dim), &each)) return std::nullopt;
    }
    return each;
}

}  // namespace detail

/// The array in an .npy file of which `file` holds all bytes; `name` is what errors call it. Every element becomes the
/// nearest float: float64 and integers beyond 2^24 are rounded, float16 is exact, and bools are 0 and 1. Arrays in
/// Fortran order are transposed. Throws error, naming the file, for whatever the format does not allow, for other
/// element types, for a finite float64 beyond the floats, and when the file is not exactly as long as its shape says.
[[nodiscard]] inline NpyArray parse_npy(std::string const& name, std::span<const std::byte> file) {
    const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
    constexpr std::size_t version_end = detail::npy_magic.size() + 2;
    if (!text.starts_with(detail::npy_magic) || text.size() < version_end) fail(name, ": not an .npy file");
    const int version = static_cast<unsigned char>(text[detail::npy_magic.size()]);
    if (version < 1 || version > 3) fail(name, ": .npy version ", version, " is not supported; 1, 2 and 3 are");

    const std::size_t size_bytes = version == 1 ? 2 : 4;
    if (text.size() < version_end + size_bytes) fail(name, ": the file ends before its header");
    std::uint32_t header_bytes = 0;
    std::memcpy(&header_bytes, text.data() + version_end, size_bytes);
    const std::size_t begin = version_end + size_bytes;
    if (header_bytes > text.size() - begin) {
        fail(name, ": the header has ", header_bytes, " bytes, but only ", text.size() - begin, " are there");
    }
    detail::NpyHeader header = detail::NpyHeaderParser(name, text.substr(begin, header_bytes)).parse();

    const std::span<const std::byte> data = file.subspan(begin + header_bytes);
    const auto bytes = detail::npy_bytes(header.dims, header.code.bytes);
    if (!bytes) fail(name, ": its shape ", to_string(header.dims), " is impossibly large");
    if (*bytes != data.size()) {
        fail(name, ": ", to_string(header.dims), " of ", to_string(header.code.type), " take ", *bytes,
             " bytes, but the file has ", data.size());
    }
    NpyArray array{std::move(header.dims), std::vector<float>(data.size() / header.code.bytes), header.code.type};
    detail::with_npy_type(array.type, [&]<class T>(T) {
        for (std::size_t i = 0; i < array.values.size(); ++i) {
            T value;
            std::memcpy(&value, data.data() + i * sizeof(T), sizeof(T));
            if constexpr (std::same_as<T, double>) {
                // Half a step beyond the largest float, infinity is the nearest.
                if (std::isfinite(value) && std::abs(value) >= 0x1.ffffffp127) {
                    fail(name, ": element ", i, " is too large for a float");
                }
            }
            if constexpr (std::same_as<T, std::uint16_t>) {
                array.values[i] = detail::half_to_float(value);
            } else {
                array.values[i] =
                    array.type == NpyType::boolean ? static_cast<float>(value != T{}) : static_cast<float>(value);
            }
        }
    });
    if (header.fortran_order) array.values = detail::from_fortran_order(array.dims, array.values);
    return array;
}

/// Throws error as read_file and parse_npy do.
[[nodiscard]] inline NpyArray read_npy(std::string const& path) { return parse_npy(path, read_file(path).bytes); }

/// The bytes of an .npy file of version 1; `name` is what errors call it. As bool, whatever is not 0 is true;
/// as float16, values are rounded to the nearest, which for those from 65520 on is infinity.
/// Throws error when the values do not fill the dimensions, and when one is no value of an integer type.
[[nodiscard]] inline std::string to_npy(std::string const& name, std::vector<std::int64_t> const& dims,
                                        std::span<const float> values, NpyType type = NpyType::float32) {
    std::string shape;
    for (const std::int64_t dim : dims) {
        if (dim < 0) fail(name, ": impossible dimensions ", to_string(dims));
        shape += (shape.empty() ? "" : ", ") + std::to_string(dim);
    }
    if (dims.size() == 1) shape += ',';
    if (dims.size() > detail::npy_max_rank) fail(name, ": more than ", detail::npy_max_rank, " dimensions");
    const detail::NpyCode code = detail::npy_code(type);
    if (detail::npy_bytes(dims, sizeof(float)) != values.size_bytes()) {
        fail(name, ": ", values.size(), " values cannot fill ", to_string(dims));
    }
    std::string header = join("{'descr': '", code.code, "', 'fortran_order': False, 'shape': (", shape, "), }");
    // As NumPy does, so that the data are aligned.
    constexpr std::size_t before = 10, alignment = 64;
    header.resize((before + header.size()) / alignment * alignment + alignment - before - 1, ' ');
    header += '\n';
    const auto header_bytes = static_cast<std::uint16_t>(header.size());  // 64 dimensions fill no 2 KiB

    std::string file(detail::npy_magic);
    file.append("\x01\x00", 2);
    file.append(reinterpret_cast<const char*>(&header_bytes), sizeof(header_bytes)).append(header);
    file.reserve(file.size() + values.size() * code.bytes);
    detail::with_npy_type(type, [&]<class T>(T) {
        for (std::size_t i = 0; i < values.size(); ++i) {
            const T element = detail::npy_element<T>(name, i, values[i], type);
            file.append(reinterpret_cast<const char*>(&element), sizeof(T));
        }
    });
    return file;
}

/// Writes the values. As with write_file, `path` is what it was until all is written. Throws error as write_file and
/// to_npy do.
inline void write_npy(std::string const& path, std::vector<std::int64_t> const& dims, std::span<const float> values,
                      NpyType type = NpyType::float32) {
    write_file(path, to_npy(path, dims, values, type));
}

}  // namespace primsel::inline PRIMSEL_ABI
// primsel/io/plan.hpp
// Plans as JSON:
//     {
//       "format": "primsel plan",
//       "format_version": 1,
//       "key": { "network": "...", "primitives": "...", "version": "...", "arch": "...", "cpu": "..." },
//       "cost_model": "...", "solver": "...",
//       "totals": { "seconds": ..., "optimal": ..., "predict_seconds": ..., "solve_seconds": ... },
//       "layers": [ { "name": "...", "kind": "...", "shape": "...", "primitive": "...", "in_layout": "...",
//                     "out_layout": "...", "seconds": ...,
//                     "candidates": [ ["<primitive>", <seconds>], ["<primitive>", <seconds>, "<refusal>"], ... ] }, ...
//                     ],
//       "transforms": [ { "writer": "...", "reader": "...", "shape": "...", "from": "...", "to": "...",
//                         "seconds": ... }, ... ]
//     }

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

namespace detail {

inline constexpr std::string_view plan_format = "primsel plan";
inline constexpr std::int64_t plan_format_version = 2;

[[nodiscard]] inline Json to_json(Candidate const& candidate) {
    Json::Array values{candidate.primitive, candidate.seconds};
    if (!candidate.refusal.empty()) values.emplace_back(candidate.refusal);
    return values;
}
[[nodiscard]] inline Json to_json(PlannedLayer const& layer) {
    Json::Array candidates;
    for (Candidate const& candidate : layer.candidates) candidates.push_back(to_json(candidate));
    return Json::Object{{"name", layer.name},           {"kind", layer.kind},
                        {"shape", layer.shape},         {"primitive", layer.primitive},
                        {"in_layout", layer.in_layout}, {"out_layout", layer.out_layout},
                        {"seconds", layer.seconds},     {"candidates", std::move(candidates)}};
}
[[nodiscard]] inline Json to_json(PlannedTransform const& transform) {
    return Json::Object{{"writer", transform.writer}, {"reader", transform.reader}, {"shape", transform.shape},
                        {"from", transform.from},     {"to", transform.to},         {"seconds", transform.seconds}};
}

[[nodiscard]] inline double read_seconds(JsonCursor const& at) {
    const double seconds = at.number();
    if (seconds < 0) at.fail("expected seconds of at least 0, not ", seconds);
    return seconds;
}
[[nodiscard]] inline Candidate read_candidate(JsonCursor const& at) {
    const std::size_t size = at.size();
    if (size != 2 && size != 3) at.fail("expected [primitive, seconds] or [primitive, seconds, refusal]");
    return {at[0].string(), read_seconds(at[1]), size == 3 ? at[2].string() : std::string()};
}
[[nodiscard]] inline PlannedLayer read_planned_layer(JsonCursor const& at) {
    PlannedLayer layer{.name = at["name"].string(),
                       .kind = at["kind"].string(),
                       .shape = at["shape"].string(),
                       .primitive = at["primitive"].string(),
                       .in_layout = at["in_layout"].string(),
                       .out_layout = at["out_layout"].string(),
                       .seconds = read_seconds(at["seconds"]),
                       .candidates = {}};
    for (JsonCursor const& candidate : at["candidates"].elements()) {
        layer.candidates.push_back(read_candidate(candidate));
    }
    return layer;
}
[[nodiscard]] inline PlannedTransform read_planned_transform(JsonCursor const& at) {
    return {at["writer"].string(), at["reader"].string(), at["shape"].string(),
            at["from"].string(),   at["to"].string(),     read_seconds(at["seconds"])};
}

}  // namespace detail

/// The plan as a JSON value, from which parse_plan reads the same plan back, every bit of its seconds included.
[[nodiscard]] inline Json to_json(Plan const& plan) {
    Json::Array layers, transforms;
    for (PlannedLayer const& layer : plan.layers) layers.push_back(detail::to_json(layer));
    for (PlannedTransform const& transform : plan.transforms) transforms.push_back(detail::to_json(transform));
    return Json::Object{{"format", detail::plan_format},
                        {"format_version", detail::plan_format_version},
                        {"key", Json::Object{{"network", plan.key.network},
                                             {"primitives", plan.key.primitives},
                                             {"version", plan.key.version},
                                             {"arch", plan.key.arch},
                                             {"cpu", plan.key.cpu}}},
                        {"cost_model", plan.cost_model},
                        {"solver", plan.solver},
                        {"totals", Json::Object{{"seconds", plan.total_seconds},
                                                {"optimal", plan.optimal},
                                                {"bound_seconds", plan.bound_seconds},
                                                {"predict_seconds", plan.predict_seconds},
                                                {"solve_seconds", plan.solve_seconds}}},
                        {"layers", std::move(layers)},
                        {"transforms", std::move(transforms)}};
}

/// Writes a plan as JSON, as write_file does: whole or not at all. Throws error, naming the file, when it cannot be
/// written or the plan has what JSON cannot say: seconds that are not finite, a name that is not UTF-8.
inline void write_plan(std::string const& path, Plan const& plan) {
    std::string text;
    try {
        text = to_string(to_json(plan), 2) + '\n';
    } catch (error const& reason) {
        fail(path, ": cannot write the plan: ", reason.what());
    }
    write_file(path, text);
}

/// Reads a plan from a JSON text; `name` is what errors call it. Throws error, naming it and the place in it, when the
/// text is not JSON, something is missing, of another type or impossible, or the format is of another version. Whether
/// the plan fits a network and this machine is for the Engine to say.
[[nodiscard]] inline Plan parse_plan(std::string const& name, std::string_view text) {
    const JsonCursor root = parse_json(name, text);
    const JsonCursor format = root["format"], format_version = root["format_version"];
    if (format.string() != detail::plan_format) {
        format.fail("expected \"", detail::plan_format, "\", not \"", format.string(), '"');
    }
    if (format_version.integer() != detail::plan_format_version) {
        format_version.fail("this version of the library reads format version ", detail::plan_format_version, ", not ",
                            format_version.integer());
    }
    const JsonCursor key = root["key"], totals = root["totals"];
    Plan plan;
    plan.key = {key["network"].string(), key["primitives"].string(), key["version"].string(), key["arch"].string(),
                key["cpu"].string()};
    plan.cost_model = root["cost_model"].string();
    plan.solver = root["solver"].string();
    plan.total_seconds = detail::read_seconds(totals["seconds"]);
    plan.optimal = totals["optimal"].boolean();
    plan.bound_seconds = detail::read_seconds(totals["bound_seconds"]);
    plan.predict_seconds = detail::read_seconds(totals["predict_seconds"]);
    plan.solve_seconds = detail::read_seconds(totals["solve_seconds"]);
    for (JsonCursor const& layer : root["layers"].elements()) {
        plan.layers.push_back(detail::read_planned_layer(layer));
    }
    for (JsonCursor const& transform : root["transforms"].elements()) {
        plan.transforms.push_back(detail::read_planned_transform(transform));
    }
    return plan;
}

/// Reads a plan that write_plan wrote. Throws error as read_file and parse_plan do.
[[nodiscard]] inline Plan read_plan(std::string const& path) {
    const SharedBytes file = read_file(path);
    return parse_plan(path, file.text());
}

}  // namespace primsel::inline PRIMSEL_ABI
// primsel/show/dot.hpp

// primsel/show/detail/colours.hpp

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <string_view>

namespace primsel::inline PRIMSEL_ABI::detail {

/// "#rrggbb", so much of the way to white.
[[nodiscard]] inline std::string paler(unsigned rgb, double share) {
    std::string text = "#";
    for (unsigned shift = 24; shift > 0;) {
        shift -= 8;
        const double value = static_cast<double>((rgb >> shift) & 0xffU);
        const auto mixed = static_cast<unsigned>(value + (255.0 - value) * share + 0.5);
        text += "0123456789abcdef"[mixed >> 4U];
        text += "0123456789abcdef"[mixed & 15U];
    }
    return text;
}

/// The colours of a plan: one a family of primitives (what precedes the first '-' of the id) in a shade for each
/// primitive that is used, and one a layout.
class Colours {
public:
    explicit Colours(Plan const& plan) {
        std::set<std::string, std::less<>> families, used, layouts;
        for (PlannedLayer const& layer : plan.layers) {
            for (Candidate const& candidate : layer.candidates) families.insert(family(candidate.primitive));
            if (!layer.primitive.empty()) used.insert(layer.primitive), families.insert(family(layer.primitive));
            layouts.insert({layer.in_layout, layer.out_layout});
        }
        for (std::string const& id : used) {
            const auto place = std::distance(families.begin(), families.find(family(id)));
            const unsigned colour = primitive_colours[static_cast<std::size_t>(place) % primitive_colours.size()];
            const auto shade = shades_[family(id)]++;
            primitives_[id] = paler(colour, 0.85 * (1.0 - 1.0 / (1.0 + shade)));
        }
        std::size_t others = 0;
        for (std::string const& layout : layouts) {
            const auto known = std::ranges::find(known_layouts, layout);
            const auto place = static_cast<std::size_t>(known - known_layouts.begin());
            const std::size_t colour = place < known_layouts.size() ? place : known_layouts.size() + others++;
            layouts_[layout] = paler(layout_colours[colour % layout_colours.size()], 0);
        }
    }

    /// Grey for a layer that is not a convolution.
    [[nodiscard]] std::string const& primitive(std::string const& id) const {
        static const std::string grey = "#eef0f2";
        const auto found = primitives_.find(id);
        return found == primitives_.end() ? grey : found->second;
    }
    [[nodiscard]] std::string const& layout(std::string const& name) const { return layouts_.at(name); }
    [[nodiscard]] std::map<std::string, std::string> const& layouts() const { return layouts_; }

private:
    static constexpr std::array<unsigned, 10> primitive_colours{0x7fc9bd, 0xf2d75c, 0xb5addf, 0xf49a8c, 0x86b8dc,
                                                                0xf5b56b, 0xa9cf6a, 0xf0a8d0, 0xd9c29b, 0x9fd3a4};
    static constexpr std::array<std::string_view, 3> known_layouts{"chw", "hcw", "hwc"};
    static constexpr std::array<unsigned, 7> layout_colours{0x1f5fa8, 0x7d3c98, 0xc0392b, 0x1e8449,
                                                            0xb9770e, 0x117a8b, 0x5d4037};
    [[nodiscard]] static std::string family(std::string const& id) { return id.substr(0, id.find('-')); }

    std::map<std::string, int> shades_;
    std::map<std::string, std::string> primitives_, layouts_;
};

}  // namespace primsel::inline PRIMSEL_ABI::detail

#include <cstddef>
#include <string>
#include <string_view>

namespace primsel::inline PRIMSEL_ABI {

namespace detail {

/// A string of the DOT language: a backslash would begin an escape.
[[nodiscard]] inline std::string dot_string(std::string_view text) {
    std::string quoted = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') quoted += '\\';
        if (c == '\n')
            quoted += "\\n";
        else
            quoted += c;
    }
    return quoted + '"';
}

}  // namespace detail

/// The plan as a graph in the DOT language of Graphviz: a box a layer, with its primitive and predicted time, in the
/// colour that to_svg gives it; edges name the layout, in that layout's colour, or the change of layout and its time.
/// The graph is the simplified one that the plan was made for; throws error when its layers are not the plan's.
[[nodiscard]] inline std::string to_dot(Plan const& plan, Graph const& graph) {
    bool same = plan.layers.size() == graph.size() && graph.size() > 0;
    for (std::size_t i = 0; same && i < graph.size(); ++i) same = plan.layers[i].name == graph[i].name;
    if (!same) fail("plan: the picture needs the simplified graph that the plan was made for");
    const detail::Colours colours(plan);
    std::string text =
        "digraph plan {\n"
        "  node [shape=box, style=filled, fontname=\"sans-serif\"];\n"
        "  edge [fontname=\"sans-serif\", fontsize=10];\n";
    // Readers that want the same layout share one copy: its time stands at each of them.
    const auto edge = [&](std::size_t writer, std::string const& to, std::string_view reader, bool result) {
        std::string const &from = plan.layers[writer].out_layout, &name = plan.layers[writer].name;
        std::string label = from;
        for (PlannedTransform const& transform : plan.transforms) {
            if (transform.writer != name || transform.to != to || transform.reader.empty() != result) continue;
            label = from + " -> " + to + '\n' + milliseconds(transform.seconds) + " ms";
            break;
        }
        text += join("  n", writer, " -> ", reader, " [label=", detail::dot_string(label),
                     ", color=", detail::dot_string(colours.layout(to)), "];\n");
    };
    for (std::size_t i = 0; i < graph.size(); ++i) {
        PlannedLayer const& layer = plan.layers[i];
        const std::string label = layer.name + '\n' + layer.shape + '\n' +
                                  (layer.primitive.empty() ? layer.kind : layer.primitive) + '\n' +
                                  milliseconds(layer.seconds) + " ms";
        text += join("  n", i, " [label=", detail::dot_string(label),
                     ", fillcolor=", detail::dot_string(colours.primitive(layer.primitive)), "];\n");
        for (std::size_t position = 0; position < graph[i].inputs.size(); ++position) {
            const bool residual = position == 1 && !layer.primitive.empty();
            edge(graph[i].inputs[position], residual ? layer.out_layout : layer.in_layout, join('n', i), false);
        }
    }
    const std::vector<std::size_t> outputs = graph.outputs();
    for (std::size_t i = 0; i < outputs.size(); ++i) {
        text += join("  result", i, " [label=", detail::dot_string(outputs.size() == 1 ? "result" : join("result ", i)),
                     ", shape=plaintext, style=\"\"];\n");
        std::string to = plan.layers[outputs[i]].out_layout;
        for (PlannedTransform const& transform : plan.transforms) {
            if (transform.writer == plan.layers[outputs[i]].name && transform.reader.empty()) to = transform.to;
        }
        edge(outputs[i], to, join("result", i), true);
    }
    return text + "}\n";
}

}  // namespace primsel::inline PRIMSEL_ABI
// primsel/show/svg.hpp

// primsel/show/detail/canvas.hpp

// primsel/show/xml.hpp

#include <array>
#include <charconv>
#include <cstddef>
#include <string>
#include <string_view>

namespace primsel::inline PRIMSEL_ABI {

/// The text as XML 1.0 may hold it between tags and in attributes: markup is escaped, what no XML may hold becomes the
/// replacement character.
[[nodiscard]] inline std::string xml_text(std::string_view text) {
    std::string out;
    while (!text.empty()) {
        const std::size_t length = detail::utf8_length(text);
        const std::string_view part = text.substr(0, length);
        const bool control = length == 1 && static_cast<unsigned char>(part[0]) < 0x20 && part != "\n" && part != "\t";
        if (part == "&") {
            out += "&amp;";
        } else if (part == "<") {
            out += "&lt;";
        } else if (part == ">") {
            out += "&gt;";
        } else if (part == "\"") {
            out += "&quot;";
        } else if (length == 0 || control || part == "\xef\xbf\xbe" || part == "\xef\xbf\xbf") {
            out += "\xef\xbf\xbd";
        } else {
            out += part;
        }
        text.remove_prefix(length == 0 ? 1 : length);
    }
    return out;
}

namespace detail {

/// Characters of a text; a byte that is not UTF-8 counts as one.
[[nodiscard]] inline std::size_t character_count(std::string_view text) {
    std::size_t count = 0;
    for (; !text.empty(); ++count) text.remove_prefix(utf8_length(text) == 0 ? 1 : utf8_length(text));
    return count;
}

/// The first `count` characters.
[[nodiscard]] inline std::string_view first_characters(std::string_view text, std::size_t count) {
    std::size_t bytes = 0;
    for (; count > 0 && bytes < text.size(); --count) {
        const std::size_t length = utf8_length(text.substr(bytes));
        bytes += length == 0 ? 1 : length;
    }
    return text.substr(0, bytes);
}

/// At most `most` characters: where there are more, the middle gives way to an ellipsis.
[[nodiscard]] inline std::string shortened(std::string_view text, std::size_t most) {
    const std::size_t count = character_count(text);
    if (count <= most || most < 3) return std::string(text);
    const std::size_t tail = most / 2;
    const std::string_view kept = first_characters(text, most - 1 - tail);
    return std::string(kept) + "\xe2\x80\xa6" + std::string(text.substr(first_characters(text, count - tail).size()));
}

}  // namespace detail

/// A coordinate, whatever the locale.
[[nodiscard]] inline std::string xml_number(double value) {
    std::array<char, 64> digits{};
    const auto end =
        std::to_chars(digits.data(), digits.data() + digits.size(), value, std::chars_format::fixed, 1).ptr;
    return {digits.data(), end};
}

}  // namespace primsel::inline PRIMSEL_ABI

#include <string>
#include <string_view>

namespace primsel::inline PRIMSEL_ABI::detail {

/// Shapes and texts as SVG.
struct Canvas {
    /// Lines; boxes and texts, which hide them.
    std::string below, above;

    void text(double x, double y, std::string_view content, std::string_view style = {}) {
        above += join("<text x=\"", xml_number(x), "\" y=\"", xml_number(y), '"', style.empty() ? "" : " ", style, '>',
                      xml_text(content), "</text>\n");
    }
    void rect(double x, double y, double width, double height, std::string_view style) {
        above += join("<rect x=\"", xml_number(x), "\" y=\"", xml_number(y), "\" width=\"", xml_number(width),
                      "\" height=\"", xml_number(height), "\" ", style, "/>\n");
    }
    /// A line.
    void path(std::string_view data, std::string_view colour) {
        below += join("<path d=\"", data, "\" fill=\"none\" stroke=\"", colour, "\" stroke-width=\"1.8\"/>\n");
    }
    /// The head of an arrow that points down at (x, y).
    void head(double x, double y, std::string_view colour) {
        below +=
            join("<path d=\"M", xml_number(x - 3.5), ' ', xml_number(y - 7), "h7l-3.5 7z\" fill=\"", colour, "\"/>\n");
    }
    /// From one place to another below it, leaving and arriving downwards.
    [[nodiscard]] static std::string curve(double from_x, double from_y, double to_x, double to_y) {
        const std::string half = xml_number((from_y + to_y) / 2);
        return join('C', xml_number(from_x), ' ', half, ' ', xml_number(to_x), ' ', half, ' ', xml_number(to_x), ' ',
                    xml_number(to_y));
    }
};

}  // namespace primsel::inline PRIMSEL_ABI::detail
// primsel/show/detail/legend.hpp

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::detail {

/// The legend of a picture: the plan's totals, and what the colours stand for.
class Legend {
public:
    static constexpr double width = 330;

    /// x: its left edge.
    Legend(Plan const& plan, Graph const& graph, Colours const& colours, Canvas& canvas, double x)
        : plan_(plan), graph_(graph), colours_(colours), canvas_(canvas), x_(x) {}

    /// From `top` down. Returns its lower edge.
    double draw(double top) {
        std::map<std::string, Share> used;
        Share others, moves;
        for (PlannedLayer const& layer : plan_.layers) {
            if (!layer.primitive.empty()) used[layer.primitive].add(layer.seconds);
            if (layer.primitive.empty() && layer.kind != InputParams::name()) others.add(layer.seconds);
        }
        for (PlannedTransform const& transform : plan_.transforms) moves.add(transform.seconds);
        std::vector<std::pair<std::string, Share>> primitives(used.begin(), used.end());
        std::ranges::stable_sort(primitives,
                                 [](auto const& a, auto const& b) { return a.second.seconds > b.second.seconds; });

        double y = top + 14;
        canvas_.text(x_, y, milliseconds(plan_.total_seconds) + " ms", "font-size=\"20\" font-weight=\"bold\"");
        canvas_.text(x_, y += 20,
                     "predicted by " + plan_.cost_model + " for " + std::to_string(graph_.batch()) +
                         (graph_.batch() == 1 ? " image" : " images"));
        canvas_.text(x_, y += 15, plan_.optimality() + " by " + plan_.solver);
        canvas_.text(x_, y += 15, shortened(plan_.key.cpu, 52), "fill=\"#444\"");
        canvas_.text(x_, y += 15, plan_.key.arch + ", primsel " + plan_.key.version, "fill=\"#444\"");

        const auto swatch = [&](std::string const& colour) {
            canvas_.rect(x_, y - 10, 16, 12, join("fill=\"", colour, "\" stroke=\"#555\" stroke-width=\"0.6\""));
        };
        heading(y += 30, "primitives");
        for (auto const& [id, share] : primitives) {
            y += 18;
            swatch(colours_.primitive(id));
            entry(y, shortened(id, 32), share);
        }
        y += 18;
        swatch(colours_.primitive({}));
        entry(y, "other layers", others);

        heading(y += 30, "layouts: stripe and edges");
        for (auto const& [name, colour] : colours_.layouts()) {
            y += 18;
            swatch(colour);
            canvas_.text(x_ + 24, y, name);
        }
        y += 18;
        canvas_.rect(x_, y - 9, 16, 10, "rx=\"5\" fill=\"#fff\" stroke=\"#444\"");
        entry(y, "changes of layout", moves);
        canvas_.text(x_, y += 30, "black bars: seconds, relative to the slowest layer", "fill=\"#444\"");
        return y;
    }

private:
    static constexpr const char* times = "\xc3\x97";

    struct Share {
        std::size_t count = 0;
        double seconds = 0;
        void add(double more) { ++count, seconds += more; }
    };
    /// A line of the legend: what, how many, how long in all.
    void entry(double y, std::string_view what, Share const& share) {
        canvas_.text(x_ + 24, y, what);
        canvas_.text(x_ + 240, y, times + std::to_string(share.count), "text-anchor=\"end\" fill=\"#444\"");
        canvas_.text(x_ + width, y, milliseconds(share.seconds) + " ms", "text-anchor=\"end\"");
    }
    void heading(double y, std::string_view what) { canvas_.text(x_, y, what, "font-weight=\"bold\""); }

    Plan const& plan_;
    Graph const& graph_;
    Colours const& colours_;
    Canvas& canvas_;
    double x_;
};

}  // namespace primsel::inline PRIMSEL_ABI::detail
// primsel/show/detail/rows.hpp

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::detail {

/// An edge of the graph on its way down: where it passes each row between writer and reader.
struct Route {
    std::size_t writer, reader;
    std::size_t position;  // among the reader's inputs
    std::vector<double> x;
};

/// A graph in rows: every node is below all that it reads. Nodes of a row stand side by side, and between them run the
/// lanes of the edges that pass the row (Sugiyama et al. 1981).
class Rows {
public:
    /// A node takes `node_width`, a lane `lane_width`, and `gap` is left between neighbours.
    Rows(Graph const& graph, double node_width, double lane_width, double gap)
        : row(graph.size(), 0), x(graph.size(), 0) {
        for (std::size_t i = 0; i < graph.size(); ++i) {
            for (const std::size_t input : graph[i].inputs) row[i] = std::max(row[i], row[input] + 1);
            items_.push_back({node_width, 1.0, 0, graph[i].inputs, {}, {}});
            put(i, row[i]);
        }
        for (std::size_t i = 0; i < graph.size(); ++i) {
            for (std::size_t position = 0; position < graph[i].inputs.size(); ++position) {
                add_route(graph[i].inputs[position], i, position, lane_width);
            }
        }
        order();
        settle(gap);
        for (std::size_t i = 0; i < graph.size(); ++i) x[i] = items_[i].x;
        for (std::size_t i = 0; i < routes.size(); ++i) {
            for (const std::size_t lane : lanes_[i]) routes[i].x.push_back(items_[lane].x);
        }
    }

    [[nodiscard]] std::size_t count() const { return rows_.size(); }

    /// Of each node: its row and the middle of its place in it.
    std::vector<std::size_t> row;
    std::vector<double> x;
    std::vector<Route> routes;

private:
    /// A node, or an edge's lane in one row.
    struct Item {
        double width;
        double weight;  // how much it insists on its place: lanes give way to nodes
        double x;
        std::vector<std::size_t> reads;         // nodes: of a lane, its writer
        std::vector<std::size_t> above, below;  // its neighbours of the next rows, lanes included
    };

    void put(std::size_t item, std::size_t in_row) {
        if (rows_.size() <= in_row) rows_.resize(in_row + 1);
        rows_[in_row].push_back(item);
    }
    void add_route(std::size_t writer, std::size_t reader, std::size_t position, double lane_width) {
        std::size_t from = writer;
        std::vector<std::size_t> lanes;
        for (std::size_t i = row[writer] + 1; i < row[reader]; ++i) {
            lanes.push_back(items_.size());
            items_.push_back({lane_width, 1e-4, 0, {writer}, {}, {}});
            put(lanes.back(), i);
            join(std::exchange(from, lanes.back()), lanes.back());
        }
        join(from, reader);
        routes.push_back({writer, reader, position, {}});
        lanes_.push_back(std::move(lanes));
    }
    void join(std::size_t from, std::size_t to) {
        items_[from].below.push_back(to);
        items_[to].above.push_back(from);
    }

    /// Few crossings: every item goes where its neighbours of the row before are, on average; down and up in turns.
    void order() {
        std::vector<double> place(items_.size(), 0);
        const auto number = [&](std::vector<std::size_t> const& items) {
            for (std::size_t i = 0; i < items.size(); ++i) place[items[i]] = static_cast<double>(i);
        };
        const auto sort = [&](std::vector<std::size_t>& items, auto neighbours) {
            std::vector<std::pair<double, std::size_t>> keys;
            for (const std::size_t item : items) {
                auto const& near = items_[item].*neighbours;
                double sum = 0;
                for (const std::size_t other : near) sum += place[other];
                keys.emplace_back(near.empty() ? place[item] : sum / static_cast<double>(near.size()), item);
            }
            std::ranges::stable_sort(keys, {}, &std::pair<double, std::size_t>::first);
            for (std::size_t i = 0; i < items.size(); ++i) items[i] = keys[i].second;
            number(items);
        };
        for (auto const& items : rows_) number(items);
        for (int round = 0; round < 4; ++round) {
            for (std::size_t i = 1; i < rows_.size(); ++i) sort(rows_[i], &Item::above);
            if (round == 3) break;
            for (std::size_t i = rows_.size() - 1; i-- > 0;) sort(rows_[i], &Item::below);
        }
    }

    /// Straight edges: every item as near to the middle of the nodes that it reads as the order of its row leaves room
    /// for, from the first row on. A lane is to run straight down from its writer.
    void settle(double gap) {
        for (auto const& items : rows_) {
            std::vector<double> wanted;
            for (const std::size_t item : items) {
                auto const& reads = items_[item].reads;
                double sum = 0;
                for (const std::size_t node : reads) sum += items_[node].x;
                wanted.push_back(reads.empty() ? 0 : sum / static_cast<double>(reads.size()));
            }
            spread(items, wanted, gap);
        }
    }
    /// The least sum of weighted squared distances from the wanted places without overlap, by pooling adjacent
    /// violators.
    void spread(std::vector<std::size_t> const& items, std::vector<double> const& wanted, double gap) {
        struct Block {
            double weight, sum;
            std::size_t count;
            [[nodiscard]] double mean() const { return sum / weight; }
        };
        std::vector<Block> blocks;
        std::vector<double> offsets;
        for (std::size_t i = 0; i < items.size(); ++i) {
            Item const& item = items_[items[i]];
            offsets.push_back(i == 0 ? 0 : offsets[i - 1] + (items_[items[i - 1]].width + item.width) / 2 + gap);
            blocks.push_back({item.weight, item.weight * (wanted[i] - offsets[i]), 1});
            while (blocks.size() > 1 && blocks[blocks.size() - 2].mean() > blocks.back().mean()) {
                const Block last = blocks.back();
                blocks.pop_back();
                blocks.back().weight += last.weight;
                blocks.back().sum += last.sum;
                blocks.back().count += last.count;
            }
        }
        std::size_t i = 0;
        for (Block const& block : blocks) {
            for (std::size_t n = 0; n < block.count; ++n, ++i) items_[items[i]].x = block.mean() + offsets[i];
        }
    }

    std::vector<Item> items_;  // first the nodes
    std::vector<std::vector<std::size_t>> rows_;
    std::vector<std::vector<std::size_t>> lanes_;  // of each route
};

}  // namespace primsel::inline PRIMSEL_ABI::detail

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

namespace detail {

/// Draws a plan: to_svg below.
class Picture {
public:
    Picture(Plan const& plan, Graph const& graph)
        : plan_(plan), graph_(graph), colours_(plan), width_(box_width()), rows_(graph, width_, lane, gap) {
        tops_.push_back(margin);
        double left = 0, right = 0;
        for (std::size_t row = 0; row < rows_.count(); ++row) {
            double height = 0;
            for (std::size_t i = 0; i < graph.size(); ++i) {
                if (rows_.row[i] == row) height = std::max(height, box_height(i));
            }
            heights_.push_back(height);
        }
        for (std::size_t i = 0; i < graph.size(); ++i) {
            left = std::min(left, rows_.x[i] - width_ / 2), right = std::max(right, rows_.x[i] + width_ / 2);
            slowest_ = std::max(slowest_, plan.layers[i].seconds);
        }
        for (Route const& route : rows_.routes) {
            for (const double x : route.x) left = std::min(left, x - lane), right = std::max(right, x + lane);
        }
        // Room between two rows; more where a change of layout is marked.
        std::vector<double> below(rows_.count(), 26);
        for (Route const& route : rows_.routes) {
            if (change_of(route) == Change::none) continue;
            double& room = below[marks_reader(route) ? rows_.row[route.reader] - 1 : rows_.row[route.writer]];
            room = 50;
        }
        below.back() = 60;
        for (std::size_t row = 0; row < rows_.count(); ++row) {
            tops_.push_back(tops_.back() + heights_[row] + below[row]);
        }
        shift_ = margin - left;
        legend_x_ = shift_ + right + 2 * margin;
    }

    [[nodiscard]] std::string draw() {
        for (Route const& route : rows_.routes) draw_edge(route);
        for (const std::size_t output : graph_.outputs()) draw_result(output);
        for (std::size_t i = 0; i < graph_.size(); ++i) draw_box(i);
        Legend legend(plan_, graph_, colours_, canvas_, legend_x_);
        const double bottom = std::max(legend.draw(margin), tops_.back());
        const std::string width = xml_number(legend_x_ + Legend::width + margin), height = xml_number(bottom + margin);
        return join("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"", width, "\" height=\"", height,
                    "\" viewBox=\"0 0 ", width, ' ', height,
                    "\" font-family=\"Helvetica, Arial, 'DejaVu Sans', sans-serif\" font-size=\"11\" fill=\"#222\">\n"
                    "<title>",
                    xml_text(summary()), "</title>\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n",
                    canvas_.below, canvas_.above, "</svg>\n");
    }

private:
    static constexpr double margin = 24, gap = 18, lane = 10;
    static constexpr double character = 6.4;  // the mean width of one, at 11 units
    static constexpr std::size_t longest = 34;
    static constexpr const char* arrow = " \xe2\x86\x92 ";

    [[nodiscard]] bool is_conv(std::size_t i) const { return std::holds_alternative<ConvParams>(graph_[i].layer); }
    [[nodiscard]] double box_height(std::size_t i) const { return is_conv(i) ? 68 : 53; }
    [[nodiscard]] double top(std::size_t i) const {
        return tops_[rows_.row[i]] + (heights_[rows_.row[i]] - box_height(i)) / 2;
    }
    [[nodiscard]] double middle(std::size_t i) const { return shift_ + rows_.x[i]; }

    [[nodiscard]] std::string shape_line(std::size_t i) const {
        std::string line;
        if (const auto* conv = std::get_if<ConvParams>(&graph_[i].layer)) {
            const auto both = [](Extent e) { return join(e.h, 'x', e.w); };
            line = both(conv->kernel);
            if (conv->stride != Extent{1}) line += ", stride " + both(conv->stride);
            if (conv->dilation != Extent{1}) line += ", dilation " + both(conv->dilation);
            if (conv->groups != 1) line += ", groups " + std::to_string(conv->groups);
        } else {
            line = plan_.layers[i].kind;
        }
        return line + arrow + to_string(graph_[i].shape);
    }
    [[nodiscard]] double box_width() const {
        std::size_t most = 16;
        for (std::size_t i = 0; i < graph_.size(); ++i) {
            PlannedLayer const& layer = plan_.layers[i];
            most = std::max({most, character_count(layer.name) + 2, character_count(shape_line(i)),
                             character_count(layer.primitive)});
        }
        return character * static_cast<double>(std::min(most, longest)) + 24;
    }
    [[nodiscard]] std::string summary() const {
        return join(plan_.layers.size(), " layers, ", milliseconds(plan_.total_seconds), " ms predicted by ",
                    plan_.cost_model, ", ", plan_.optimality(), " by ", plan_.solver);
    }

    /// Where an edge meets a side of a box, from the middle: the edges of a side are sorted by where they come from or
    /// go to, and one that comes straight from above or goes straight below takes the middle.
    template <class IsOurs, class FarEnd>
    [[nodiscard]] double port_of(Route const& route, double box, IsOurs const& is_ours, FarEnd const& far_end) const {
        std::size_t before = 0, count = 0;
        double origin = -1;
        std::vector<double> ends;
        for (Route const& other : rows_.routes) {
            if (!is_ours(other)) continue;
            ++count;
            const double a = far_end(other), b = far_end(route);
            before += a < b || (a == b && &other < &route);
            ends.push_back(a);
        }
        if (count < 2) return 0;
        std::ranges::sort(ends);
        for (std::size_t i = 0; i < count; ++i) {
            if (std::abs(ends[i] - box) < 1) origin = static_cast<double>(i);
        }
        if (origin < 0) origin = static_cast<double>(count - 1) / 2;
        const double spacing = std::min(30.0, 0.4 * width_ / static_cast<double>(count - 1));
        return spacing * (static_cast<double>(before) - origin);
    }
    [[nodiscard]] double start_of(Route const& route) const {
        const auto is_ours = [&](Route const& other) { return other.writer == route.writer; };
        const auto far_end = [&](Route const& r) { return r.x.empty() ? rows_.x[r.reader] : r.x[0]; };
        return middle(route.writer) + port_of(route, rows_.x[route.writer], is_ours, far_end);
    }
    [[nodiscard]] double end_of(Route const& route) const {
        const auto is_ours = [&](Route const& other) { return other.reader == route.reader; };
        const auto far_end = [&](Route const& r) { return r.x.empty() ? rows_.x[r.writer] : r.x.back(); };
        return middle(route.reader) + port_of(route, rows_.x[route.reader], is_ours, far_end);
    }

    /// Whether data changes its layout on an edge, for the first time or as a copy made for an earlier reader.
    enum class Change { none, first, shared };
    [[nodiscard]] std::string const& layout_read(Route const& route) const {
        PlannedLayer const& reader = plan_.layers[route.reader];
        return is_conv(route.reader) && route.position == 1 ? reader.out_layout : reader.in_layout;
    }
    [[nodiscard]] PlannedTransform const* transform_of(Route const& route) const {
        for (PlannedTransform const& transform : plan_.transforms) {
            const bool ours = transform.writer == plan_.layers[route.writer].name && !transform.reader.empty();
            if (ours && transform.to == layout_read(route)) return &transform;
        }
        return nullptr;
    }
    [[nodiscard]] Change change_of(Route const& route) const {
        const PlannedTransform* transform = transform_of(route);
        if (transform == nullptr) return Change::none;
        return transform->reader == plan_.layers[route.reader].name ? Change::first : Change::shared;
    }
    /// A mark stands where fewer edges meet.
    [[nodiscard]] bool marks_reader(Route const& route) const {
        const auto readers = std::ranges::count(rows_.routes, route.writer, &Route::writer);
        return std::ranges::count(rows_.routes, route.reader, &Route::reader) <= std::max<std::ptrdiff_t>(readers, 2);
    }

    /// The mark of a change of layout on an edge at x, its upper edge at y. Off the middle of a box it leans outwards,
    /// so as not to hide the edge there.
    static constexpr double mark_height = 15;
    void mark(double x, double y, double off_middle, std::string const& label, std::string_view colour) {
        const double width = 5.2 * static_cast<double>(character_count(label)) + 12;
        if (std::abs(off_middle) > 1) x += std::copysign(width / 2 - 10, off_middle);
        canvas_.rect(x - width / 2, y, width, mark_height,
                     join("rx=\"7.5\" fill=\"#fff\" stroke=\"", colour, "\" stroke-width=\"1.2\""));
        canvas_.text(x, y + 11, label, join("text-anchor=\"middle\" font-size=\"9\" fill=\"", colour, '"'));
    }
    [[nodiscard]] static std::string label(PlannedTransform const& transform, Change change) {
        const std::string layouts = transform.from + arrow + transform.to;
        return layouts + (change == Change::shared ? ", shared" : ", " + milliseconds(transform.seconds) + " ms");
    }

    void draw_edge(Route const& route) {
        const std::string before = colours_.layout(plan_.layers[route.writer].out_layout);
        const std::string after = colours_.layout(layout_read(route));
        const Change change = change_of(route);
        const bool at_reader = change != Change::none && marks_reader(route);
        const bool at_writer = change != Change::none && !at_reader;
        double x = start_of(route), y = top(route.writer) + box_height(route.writer);
        const double end_x = end_of(route), end_y = top(route.reader);
        double arrival = end_y - 3;
        if (at_reader) {
            arrival = tops_[rows_.row[route.reader]] - 10 - mark_height;
            canvas_.path(join('M', xml_number(end_x), ' ', xml_number(arrival), 'V', xml_number(end_y - 3)), after);
            mark(end_x, arrival, end_x - middle(route.reader), label(*transform_of(route), change), after);
        }
        if (at_writer) {
            const double mark_y = tops_[rows_.row[route.writer]] + heights_[rows_.row[route.writer]] + 6;
            canvas_.path(join('M', xml_number(x), ' ', xml_number(y), 'V', xml_number(mark_y)), before);
            mark(x, mark_y, x - middle(route.writer), label(*transform_of(route), change), after);
            y = mark_y + mark_height;
        }
        std::string data = join('M', xml_number(x), ' ', xml_number(y));
        std::size_t row = rows_.row[route.writer] + 1;
        for (const double lane_x : route.x) {
            data += Canvas::curve(std::exchange(x, shift_ + lane_x), y, shift_ + lane_x, tops_[row]);
            y = tops_[row] + heights_[row];
            data += 'V' + xml_number(y);
            ++row;
        }
        data += Canvas::curve(x, y, end_x, arrival);
        canvas_.path(data, at_writer ? after : before);
        canvas_.head(end_x, end_y, after);
    }

    void draw_result(std::size_t last) {
        const double x = middle(last), y = top(last) + box_height(last), end = tops_.back() - 14;
        const std::string colour = colours_.layout(plan_.layers[last].out_layout);
        canvas_.path(join('M', xml_number(x), ' ', xml_number(y), 'V', xml_number(end - 3)), colour);
        for (PlannedTransform const& transform : plan_.transforms) {
            if (transform.reader.empty() && transform.writer == graph_[last].name)
                mark(x, y + 9, 0, label(transform, Change::first), "#444");
        }
        canvas_.head(x, end, colour);
        canvas_.text(x, end + 13, "result: " + to_string(graph_[last].shape), "text-anchor=\"middle\"");
    }

    void draw_box(std::size_t i) {
        PlannedLayer const& layer = plan_.layers[i];
        const double x = middle(i) - width_ / 2, y = top(i), height = box_height(i), stripe = 7;
        const bool one_layout = layer.in_layout == layer.out_layout;
        canvas_.above += join("<g><title>", xml_text(plan_.explain(layer.name)), "</title>\n");
        canvas_.rect(x, y, width_, height,
                     join("fill=\"", colours_.primitive(layer.primitive), "\" stroke=\"#555\" stroke-width=\"0.8\""));
        canvas_.rect(x, y, stripe, height, join("fill=\"", colours_.layout(layer.out_layout), '"'));
        if (!one_layout) canvas_.rect(x, y, stripe, height / 2, join("fill=\"", colours_.layout(layer.in_layout), '"'));
        const double text_x = x + stripe + 6, right = x + width_ - 6;
        const auto fitting = static_cast<std::size_t>((width_ - 24) / character + 0.5);
        double line = y + 15;
        canvas_.text(text_x, line, shortened(layer.name, fitting - 2), "font-weight=\"bold\"");
        canvas_.text(text_x, line += 14, shortened(shape_line(i), fitting), "fill=\"#444\" font-size=\"10\"");
        if (is_conv(i)) canvas_.text(text_x, line += 15, shortened(layer.primitive, fitting));
        canvas_.text(text_x, line += 15, one_layout ? layer.in_layout : layer.in_layout + arrow + layer.out_layout,
                     "fill=\"#444\" font-size=\"10\"");
        if (layer.seconds > 0) {
            canvas_.text(right, line, milliseconds(layer.seconds) + " ms", "text-anchor=\"end\" font-weight=\"bold\"");
            const double bar = (width_ - stripe) * layer.seconds / slowest_;
            canvas_.rect(x + stripe, y + height - 4, bar, 4, "fill=\"#333\" fill-opacity=\"0.55\"");
        }
        canvas_.above += "</g>\n";
    }

    Plan const& plan_;
    Graph const& graph_;
    Colours colours_;
    double width_;
    Rows rows_;
    std::vector<double> tops_, heights_;  // of the rows
    double shift_ = 0, legend_x_ = 0, slowest_ = 0;
    Canvas canvas_;
};

}  // namespace detail

/// The plan as a picture of its network, a self-contained SVG document: a box a layer, coloured by primitive, below
/// those it reads; stripes and edges coloured by layout, changes of layout marked on them; a legend with the totals.
/// Pointing at a box explains its choice. The graph is the simplified one that the plan was made for; throws error when
/// its layers are not the plan's.
[[nodiscard]] inline std::string to_svg(Plan const& plan, Graph const& graph) {
    bool same = plan.layers.size() == graph.size() && graph.size() > 0;
    for (std::size_t i = 0; same && i < graph.size(); ++i) same = plan.layers[i].name == graph[i].name;
    if (!same) fail("plan: the picture needs the simplified graph that the plan was made for");
    return detail::Picture(plan, graph).draw();
}

}  // namespace primsel::inline PRIMSEL_ABI
#define PRIMSEL_SINGLE_INCLUDE  // core/config.hpp refuses to come after it
