#pragma once

#include <primsel/core/config.hpp>
#include <primsel/core/flush_subnormals.hpp>

#include <atomic>
#include <concepts>
#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>

namespace primsel::inline PRIMSEL_ABI {

/// A reference to a callable `void(std::size_t block, std::size_t worker)`, as two pointers without allocation. The
/// callable must outlive it.
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
/// order and on any thread, and returns when all are done. Calls that overlap in time have different workers, and
/// worker < concurrency(). Neither parallel_for nor f may throw or allocate, since run() calls them.
///
/// An executor may also have begin_run() and end_run(), both noexcept. They enclose the calls of one run, during which
/// it pays to keep threads awake.
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

/// Runs all blocks on the calling thread, in order.
struct Sequential {
    [[nodiscard]] std::size_t concurrency() const noexcept { return 1; }
    void parallel_for(std::size_t blocks, BlockFunction function) noexcept {
        for (std::size_t block = 0; block < blocks; ++block) function(block, 0);
    }
};

/// Runs blocks on the caller's thread pool. `bulk(n, task)` must call task(0), ..., task(n - 1), on any threads, and
/// return when all have returned. Tasks take blocks one at a time, so that a slow thread takes fewer.
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

/// A reference to any executor, so that a kernel is compiled once and not once for each executor.
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
    /// A thread that runs a block flushes subnormals during it if the calling thread does.
    void parallel_for(std::size_t blocks, BlockFunction function) const noexcept {
        if (!flushes_subnormals()) return parallel_for_(object_, blocks, function);
        const auto flushing = [function](std::size_t block, std::size_t worker) {
            const FlushSubnormals here;
            function(block, worker);
        };
        if (concurrency_ == 1) return parallel_for_(object_, blocks, flushing);
        // Threads that the executor starts now inherit this thread's floating-point mode and keep it.
        const KeepSubnormals meanwhile;
        parallel_for_(object_, blocks, flushing);
    }
    /// Calls the executor's begin_run, if it has one.
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

/// Marks a run for the executor as long as it lives. Nested scopes belong to the outermost one, which may enclose many
/// runs to keep threads awake between them.
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
