// The cost of a parallel_for of two threads beside its blocks, within a run and alone, and how close two threads come
// to twice the speed on small layers. Each row has the time from core to core and back at that moment, which bounds
// them all.
#include <primsel/core/thread_pool.hpp>
#if defined(_OPENMP)
#include <primsel/core/openmp.hpp>
#endif

#include <benchmark/benchmark.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <thread>

namespace {

namespace ps = primsel;
using Clock = std::chrono::steady_clock;

/// Adds the nanoseconds that a word takes to another core and back.
void finish(benchmark::State& state) {
    constexpr int rounds = 10'000;
    std::atomic<int> word = 0;
    std::thread other([&word] {
        for (int i = 0; i < rounds; ++i) {
            while (word.load(std::memory_order_acquire) != 2 * i + 1) {
            }
            word.store(2 * i + 2, std::memory_order_release);
        }
    });
    const auto begin = Clock::now();
    for (int i = 0; i < rounds; ++i) {
        word.store(2 * i + 1, std::memory_order_release);
        while (word.load(std::memory_order_acquire) != 2 * i + 2) {
        }
    }
    const std::chrono::duration<double, std::nano> time = Clock::now() - begin;
    other.join();
    state.counters["there_and_back_ns"] = time.count() / rounds;
}

/// Arithmetic alone, for about so many microseconds.
class Work {
public:
    explicit Work(double microseconds) {
        constexpr long steps = 3'000'000;
        const auto begin = Clock::now();
        compute(steps);
        const std::chrono::duration<double, std::micro> time = Clock::now() - begin;
        steps_ = static_cast<long>(microseconds / time.count() * static_cast<double>(steps));
    }
    void operator()() const { compute(steps_); }

private:
    static void compute(long steps) {
        unsigned x = 1;
        for (long i = 0; i < steps; ++i) benchmark::DoNotOptimize(x = x * 1664525U + 1013904223U);
    }
    long steps_ = 0;
};

/// Empty blocks.
template <class E>
void in_a_run(benchmark::State& state) {
    E executor(2);
    const ps::RunScope scope(executor);
    for (auto _ : state) executor.parallel_for(2, [](std::size_t, std::size_t) {});
    finish(state);
}
template <class E>
void on_its_own(benchmark::State& state) {
    E executor(2);
    for (auto _ : state) executor.parallel_for(2, [](std::size_t, std::size_t) {});
    finish(state);
}

/// Runs of 50 layers of so many microseconds in so many blocks: the time of a run, and one thread's over it.
template <class E>
void layers(benchmark::State& state) {
    const auto blocks = static_cast<std::size_t>(state.range(1));
    const Work block(static_cast<double>(state.range(0)) / static_cast<double>(blocks));
    const auto seconds_of_run = [&](auto& executor) {
        const auto begin = Clock::now();
        const ps::RunScope scope(executor);
        for (int i = 0; i < 50; ++i) executor.parallel_for(blocks, [&](std::size_t, std::size_t) { block(); });
        return std::chrono::duration<double>(Clock::now() - begin).count();
    };
    ps::Sequential sequential;
    E executor(2);
    double one = 0, two = 0;
    for (auto _ : state) {  // in turns, so that what else the machine does slows both
        one += seconds_of_run(sequential);
        const double seconds = seconds_of_run(executor);
        two += seconds;
        state.SetIterationTime(seconds);
    }
    state.counters["speedup"] = one / two;
    finish(state);
}

void add_sizes(benchmark::internal::Benchmark* layers) {
    for (const int microseconds : {20, 100, 500}) {
        for (const int blocks : {2, 14, 112}) layers->Args({microseconds, blocks});
    }
    layers->ArgNames({"us", "blocks"})->UseManualTime()->Unit(benchmark::kMicrosecond);
}

BENCHMARK(in_a_run<ps::ThreadPool>)->UseRealTime();
BENCHMARK(on_its_own<ps::ThreadPool>)->UseRealTime();
BENCHMARK(layers<ps::ThreadPool>)->Apply(add_sizes);
#if defined(_OPENMP)  // which knows no runs
BENCHMARK(on_its_own<ps::OpenMP>)->UseRealTime();
BENCHMARK(layers<ps::OpenMP>)->Apply(add_sizes);
#endif

}  // namespace
