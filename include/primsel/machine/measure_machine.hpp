#pragma once

#include <primsel/core/aligned_buffer.hpp>
#include <primsel/core/cache_sizes.hpp>
#include <primsel/core/error.hpp>
#include <primsel/core/executor.hpp>
#include <primsel/core/simd.hpp>
#include <primsel/core/thread_pool.hpp>
#include <primsel/core/timer.hpp>
#include <primsel/core/usable_threads.hpp>
#include <primsel/gemm/gemm_simd.hpp>
#include <primsel/machine/evict.hpp>
#include <primsel/machine/machine.hpp>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <new>
#include <type_traits>
#include <utility>

namespace primsel::inline PRIMSEL_ABI {

namespace machine::detail {

/// Runs `work`, which does `amount` of something, repeatedly for about `seconds`, at least once. Returns the amount per
/// second of the best repetition, since the system may interrupt any of them.
template <class Work>
double best_rate(double seconds, double amount, Work const& work) {
    double best = 0;
    int runs = 1;
    const Timer whole;
    while (best == 0 || whole.seconds() < seconds) {
        const Timer timer;
        for (int run = 0; run < runs; ++run) work();
        const double taken = timer.seconds();
        // A browser's clock may stand still for 0.1 ms; one that always does is not waited for.
        if (taken <= 0 && runs < 1 << 20) {
            runs *= 2;
        } else {
            best = std::max(best, amount * runs / std::max(taken, 1e-9));
        }
    }
    return best;
}

}  // namespace machine::detail

namespace machine {

/// Runs multiply-adds in independent chains. It uses indices instead of loops, so that the sums stay in registers at
/// every level of optimisation. The sums differ, or the compiler would compute only one. It is not inlined: within a
/// caller's loop g++ 12 makes its rate a third lower.
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

}  // namespace machine

namespace machine::detail {

/// Returns this core's FMA peak: the best of many short stretches within about `seconds`.
template <class Arch>
double measure_fma(double seconds) {
    constexpr int chains = 12, rounds = 20'000;
    return best_rate(seconds, 2.0 * chains * rounds * lanes<Arch>,
                     [&] { multiply_add<Arch>(rounds, std::make_index_sequence<chains>{}); });
}

/// Runs multiply-adds in independent chains of vectors of n floats.
template <int n, std::size_t... i>
[[gnu::noinline]] void multiply_add_narrow(int rounds, std::index_sequence<i...>) {
    using Batch = xsimd::make_sized_batch_t<float, static_cast<std::size_t>(n)>;
    using BatchArch = typename Batch::arch_type;
    static volatile float factor_source = 0.999F;
    const Batch factor(factor_source), term(0.001F);
    Batch sum[]{Batch(factor_source + static_cast<float>(i))...};
    for (int round = 0; round < rounds; ++round) ((sum[i] = primsel::fma<BatchArch>(sum[i], factor, term)), ...);
    alignas(alignment) float kept[static_cast<std::size_t>(n)];
    Batch all(0.0F);
    ((all += sum[i]), ...);
    all.store_unaligned(kept);
    volatile float used = kept[0];
    (void)used;
}
/// Returns the FMA peak of vectors half as wide; half of `full` where there are none.
template <class Arch>
double measure_half(double seconds, double full) {
    constexpr int n = lanes<Arch> / 2, chains = 12, rounds = 20'000;
    if constexpr (n < 4) {
        return full / 2;
    } else if constexpr (std::is_void_v<xsimd::make_sized_batch_t<float, static_cast<std::size_t>(n)>>) {
        return full / 2;
    } else {
        return best_rate(seconds, 2.0 * chains * rounds * n,
                         [&] { multiply_add_narrow<n>(rounds, std::make_index_sequence<chains>{}); });
    }
}

/// Measures the matrix product of a mid-sized layer: 196 pixels, 192 input and 192 output channels. It fits an L2 of
/// 600 kB; otherwise a dozen runs bring the rest into L3.
template <class Arch>
double measure_product() {
    constexpr int m = 196, n = 192, k = 192;
    AlignedBuffer a(std::size_t{m} * k), b(std::size_t{k} * n), c(std::size_t{m} * n),
        scratch(SimdGemm::scratch_floats<Arch>(m, n, k, 1));
    std::fill_n(a.data(), a.size(), 0.5F);
    std::fill_n(b.data(), b.size(), 0.25F);
    Sequential executor;
    return best_rate(0.003, 2.0 * m * n * k, [&] {
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

/// Runs multiply-adds on data in L1. It is not inlined and keeps its pointers in registers: a store of a vector may
/// alias any pointer in memory, which the compiler would then reload each time.
template <class Arch>
[[gnu::noinline]] void multiply_add_in_l1(const float* a, float* b, std::size_t count) {
    for (std::size_t i = 0; i < count; i += static_cast<std::size_t>(lanes<Arch>)) {
        store<Arch>(b + i, fma<Arch>(load<Arch>(a + i), broadcast<Arch>(0.5F), load<Arch>(b + i)));
    }
}
template <class Arch>
double measure_vector() {
    constexpr std::size_t count = 2048, passes = 8;
    AlignedBuffer a(count), b(count);
    std::fill_n(a.data(), count, 1.0F);
    std::fill_n(b.data(), count, 0.5F);
    return best_rate(0.0005, 2.0 * count * passes, [&] {
        for (std::size_t pass = 0; pass < passes; ++pass) multiply_add_in_l1<Arch>(a.data(), b.data(), count);
    });
}

/// Returns the rate of a gather with a bounds test for each element, as in the scanning primitives.
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

/// Returns the bytes per second of one copy within a working set.
inline double copy_once(double working_set, float* src, float* dst) {
    const auto bytes = static_cast<std::size_t>(working_set / 2);
    const auto copy = [&] {
        std::memcpy(dst, src, bytes);
        volatile float used = dst[bytes / sizeof(float) / 2];
        (void)used;
    };
    return best_rate(0, 2.0 * static_cast<double>(bytes), copy);
}
/// Returns the bytes per second of copies within a working set that stays in the caches; filling them may take several
/// passes.
inline double measure_bandwidth(double working_set, float* src, float* dst) {
    constexpr int passes = 6;
    double best = 0;
    const Timer whole;
    for (int done = 0; done < passes || whole.seconds() < 0.0007; ++done) {
        best = std::max(best, copy_once(working_set, src, dst));
    }
    return best;
}

/// Returns the bytes per second of a copy from memory to memory. The buffers are evicted first, so that no cache holds
/// them.
inline double measure_memory(float* src, float* dst) {
    constexpr std::size_t bytes = std::size_t{1} << 20;
    double best = 0;
    // Times of a clock that stands still for a while are added up.
    double copied = 0, taken = 0;
    for (int done = 0; done < 3 || best == 0; ++done) {
        evict(src, bytes);
        evict(dst, bytes);
        const Timer timer;
        std::memcpy(dst, src, bytes);
        volatile float used = dst[bytes / sizeof(float) / 2];
        (void)used;
        copied += 2.0 * bytes, taken += timer.seconds();
        if (taken <= 0 && done < 100) continue;
        best = std::max(best, copied / std::max(taken, 1e-9));
        copied = taken = 0;
    }
    return best;
}

template <class Arch>
void measure_threads(Machine& machine, std::size_t count) try {
    machine.threads = static_cast<double>(count);
    // Speeds of another number of threads say nothing of these.
    machine.threads_flops = machine.threads_cache_bandwidth = machine.threads_memory_bandwidth = machine.threads_loops =
        0;
    if (count == 1) return;
    ThreadPool pool(count);
    const ExecutorRef executor(pool);
    const RunScope awake(executor);
    // A thread waits for the others before its block, but no longer than they may sleep: else it would take theirs.
    const auto loop = [&](auto const& block) {
        std::atomic<std::size_t> ready = 0;
        executor.parallel_for(count, [&](std::size_t i, std::size_t) {
            ready.fetch_add(1);
            for (int spin = 0; ready.load() < count && spin < 10'000; ++spin) core::pause();
            block(i);
        });
    };
    // Beyond L2, in a shared cache.
    const auto bytes = static_cast<std::size_t>(Machine::working_sets[3] / 4);
    const std::size_t floats = round_up_floats(bytes / sizeof(float));
    AlignedBuffer src(count * floats), dst(count * floats);
    const auto copy = [&] {
        loop([&](std::size_t i) { std::memcpy(dst.data() + i * floats, src.data() + i * floats, bytes); });
    };
    std::memset(src.data(), 1, count * floats * sizeof(float));
    const auto together = static_cast<double>(count), one_copy = 2 * together * static_cast<double>(bytes);
    const auto raise = [](double& best, double rate) { best = std::max(best, rate); };
    for (int round = 0; round < 3; ++round) {
        constexpr int chains = 12, rounds = 20'000, loops = 64;
        raise(machine.threads_flops, best_rate(0.001, 2.0 * chains * rounds * lanes<Arch> * together, [&] {
                  loop([&](std::size_t) { multiply_add<Arch>(rounds, std::make_index_sequence<chains>{}); });
              }));
        raise(machine.threads_cache_bandwidth, best_rate(0.001, one_copy, copy));
        raise(machine.threads_loops, best_rate(0.0003, loops, [&] {
                  for (int i = 0; i < loops; ++i) loop([](std::size_t) {});
              }));
        machine::evict(src.data(), src.size() * sizeof(float));
        machine::evict(dst.data(), dst.size() * sizeof(float));
        raise(machine.threads_memory_bandwidth, best_rate(0, one_copy, copy));
    }
    machine.threads_flops = std::min(machine.threads_flops, together * machine.fma_flops);
    machine.threads_memory_bandwidth =
        std::clamp(machine.threads_memory_bandwidth, machine.bandwidth[4], together * machine.bandwidth[4]);
    machine.threads_cache_bandwidth =
        std::max(machine.threads_memory_bandwidth,
                 std::clamp(machine.threads_cache_bandwidth, machine.bandwidth[3], together * machine.bandwidth[3]));
    // Threads that meet at a loop's end take longer than a cache line between two threads of one core, 77 ns on a Zen
    // 4; those that sleep, more than a system call.
    constexpr double most_loops = 3e7, least_loops = 2e4;
    if (!(machine.threads_loops >= least_loops && machine.threads_loops <= most_loops)) machine.threads_loops = 0;
} catch (error const&) {
    machine.threads_loops = 0;
} catch (std::bad_alloc const&) {
    machine.threads_loops = 0;
}

template <class Arch>
Machine measure_machine() {
    constexpr std::size_t levels = Machine::working_sets.size();
    const auto floats = static_cast<std::size_t>(Machine::working_sets[levels - 2]) / 2 / sizeof(float);
    AlignedBuffer src(floats), dst(floats);
    // The pages are written first, because unwritten ones would all map to the one page of zeros.
    std::memset(src.data(), 1, floats * sizeof(float));
    // The best of several rounds counts. A program that shares the core disturbs it for milliseconds, which may cover a
    // whole measurement but rarely the same one three times.
    Machine machine{.fma_flops = 0,
                    .half_flops = 0,
                    .matmul_flops = 0,
                    .bf16_flops = 0,
                    .int8_flops = 0,
                    .vector_flops = 0,
                    .scalar_flops = 0,
                    .bandwidth = {},
                    .idle_bandwidth = 0,
                    .l2_bytes = static_cast<double>(core::cache_bytes(2)),
                    .threads = 0,
                    .threads_flops = 0,
                    .threads_cache_bandwidth = 0,
                    .threads_memory_bandwidth = 0,
                    .threads_loops = 0};
    const auto raise = [](double& best, double rate) { best = std::max(best, rate); };
    std::array<double, 3> idle{};
    for (std::size_t round = 0; round < idle.size(); ++round) {
        for (std::size_t i = 0; i + 1 < levels; ++i) {
            raise(machine.bandwidth[i], measure_bandwidth(Machine::working_sets[i], src.data(), dst.data()));
        }
        // Takes about Machine::idle_seconds and uses only registers and L1.
        raise(machine.fma_flops, measure_fma<Arch>(0.001));
        raise(machine.half_flops, measure_half<Arch>(0.0003, machine.fma_flops));
        raise(machine.vector_flops, measure_vector<Arch>());
        raise(machine.scalar_flops, measure_scalar());
        idle[round] = copy_once(Machine::working_sets[levels - 2], src.data(), dst.data());
        raise(machine.matmul_flops, measure_product<Arch>());
        raise(machine.bandwidth.back(), measure_memory(src.data(), dst.data()));
    }
    // Disturbances and unlucky page addresses in L2 only slow a measurement down, so no smaller working set is taken to
    // be slower than a larger one.
    for (std::size_t i = machine.bandwidth.size() - 1; i > 0; --i) {
        machine.bandwidth[i - 1] = std::max(machine.bandwidth[i - 1], machine.bandwidth[i]);
    }
    std::ranges::sort(idle);
    machine.idle_bandwidth = std::clamp(idle[1], machine.bandwidth.back(), machine.bandwidth[levels - 2]);
    return machine;
}

}  // namespace machine::detail

namespace machine {

/// Returns the number of threads of which the speeds are measured: those that can run at a time, most_threads at most.
[[nodiscard]] inline std::size_t measured_threads() {
    return std::min(usable_threads().count(), Machine::most_threads);
}
/// Returns a machine's speeds with those of measured_threads() together. Each has data of its own. They stay unknown if
/// there is one thread, if the system starts no more, or if the threads were seldom at work at the same time, as where
/// other programs have the processors. Takes some 20 ms.
template <class Arch>
[[nodiscard]] Machine with_threads(Machine machine) {
    detail::measure_threads<Arch>(machine, measured_threads());
    return machine;
}

}  // namespace machine

/// Returns the speeds of this machine for a run on so many threads. Those of one are measured at the first call, in 30
/// to 100 ms, those of several together at the first call that names several. They are remembered until the program
/// ends.
template <class Arch = default_arch>
[[nodiscard]] Machine const& this_machine(int threads = 1) {
    static const Machine one = machine::detail::measure_machine<Arch>();
    if (threads <= 1) return one;
    static const Machine several = machine::with_threads<Arch>(one);
    return several;
}

/// Returns the FMA peak that this core reaches within half a millisecond, in operations per second.
template <class Arch = default_arch>
[[nodiscard]] double measured_peak() {
    return machine::detail::measure_fma<Arch>(0.0005);
}

/// Returns this core's present clock divided by the one at which `machine` was measured; takes half a millisecond. The
/// clock of a virtual machine varies by a fifth within seconds. A measured time multiplied by this ratio is the time at
/// the machine's clock, for which costs predict, except for the part that waits for memory.
template <class Arch = default_arch>
[[nodiscard]] double relative_clock(Machine const& machine) {
    return measured_peak<Arch>() / machine.fma_flops;
}

/// A policy for engines: each program measures the machine itself. KeptMachine (measure/machine_file.hpp) keeps the
/// result in a file.
struct MeasuredMachine {
    template <class Arch>
    [[nodiscard]] static Machine const& speeds(int threads) {
        return this_machine<Arch>(threads);
    }
};

#ifdef PRIMSEL_EXTERN_KERNELS
// Compiled in the unit of the kernels, so that the measurement is optimised even if its caller is not.
extern template Machine const& this_machine<default_arch>(int);
extern template Machine machine::with_threads<default_arch>(Machine);
extern template double measured_peak<default_arch>();
#endif

}  // namespace primsel::inline PRIMSEL_ABI
