#pragma once

#include <primsel/core/config.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <string>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace primsel::inline PRIMSEL_ABI {

/// The speeds of one core of a machine with one instruction set, and what several get together.
struct Machine {
    double fma_flops = 1e10;  ///< the FMA peak: multiply-adds in registers, counted as two operations each, per second
    double half_flops = 5e9;  ///< the FMA peak with vectors half as wide; some processors reach fma_flops with them
    double matmul_flops = 9e9;  ///< operations per second of a product of cached matrices (SimdGemm)
    /// Operations per second of a product of cached matrices in bfloat16 with sums in floats; 0 means unknown.
    double bf16_flops = 0;
    /// The same of bytes with sums in integers. Both are measured only for programs that use them.
    double int8_flops = 0;
    double vector_flops = 5e9;  ///< vector operations on cached data per second
    double scalar_flops = 1e9;  ///< scalar operations per second
    static constexpr std::array<double, 5> working_sets{16e3, 128e3, 768e3, 6e6, 32e6};
    /// Bytes read and written per second, for each working set in bytes. The last entry is that of memory itself, where
    /// the data of a network of that size no longer fit any cache.
    std::array<double, 5> bandwidth{5e10, 4e10, 3e10, 2e10, 1e10};
    static constexpr double idle_seconds = 2e-3;
    /// The bandwidth of working set 3 after nobody used its bytes for idle_seconds: other programs evict them from a
    /// shared cache. 0 means unknown, and no eviction is assumed.
    double idle_bandwidth = 0;
    double l2_bytes = 0;  ///< the size of L2, as the system says; 0 means unknown
    /// The number of threads that could run at a time when the speeds below were measured, most_threads at most; 0 if
    /// they were not. They are unknown where it is 0 or 1, or threads_loops is 0. Several threads are then taken to
    /// compute, and to copy within caches, as many times as fast as one, to get no more from memory, and never to wait
    /// for each other.
    double threads = 0;
    static constexpr std::size_t most_threads = 16;
    double threads_flops = 0;             ///< fma_flops of all threads together
    double threads_cache_bandwidth = 0;   ///< bandwidth of working set 3, which the threads divide
    double threads_memory_bandwidth = 0;  ///< bandwidth of memory
    double threads_loops = 0;  ///< loops of the library's pool in a second, each of an empty block for each thread

    [[nodiscard]] bool knows_threads() const { return threads > 1 && threads_loops > 0; }
    /// Returns the speeds of `workers` threads together, on average: 1.5 are two threads of which one works half of the
    /// time. Those of other numbers than `threads` grow in proportion. Each thread has caches of its own up to L2.
    [[nodiscard]] Machine on_threads(double workers) const {
        if (workers == 1) return *this;
        Machine all = *this;
        const bool known = knows_threads();
        const double times = known ? several(1, threads_flops / fma_flops, workers) : workers;
        for (double Machine::*const rate :
             {&Machine::fma_flops, &Machine::half_flops, &Machine::matmul_flops, &Machine::bf16_flops,
              &Machine::int8_flops, &Machine::vector_flops, &Machine::scalar_flops}) {
            all.*rate *= times;
        }
        for (std::size_t i = 0; i < 3; ++i) all.bandwidth[i] *= workers;
        all.bandwidth[3] = known ? several(bandwidth[3], threads_cache_bandwidth, workers) : workers * bandwidth[3];
        // More threads than were measured get no more from memory.
        if (known) all.bandwidth[4] = several(bandwidth[4], threads_memory_bandwidth, std::min(workers, threads));
        // Others evict as much.
        const auto longer = [](Machine const& of, double rate) { return 1 / of.bandwidth[4] - 1 / rate; };
        const double here = longer(*this, bandwidth[3]);
        if (idle_bandwidth > 0 && here > 0) {
            const double kept = longer(*this, idle_bandwidth) / here;
            all.idle_bandwidth = 1 / (1 / all.bandwidth[4] - kept * longer(all, all.bandwidth[3]));
        }
        return all;
    }
    /// Returns the speeds of each of so many threads that compute at the same time.
    [[nodiscard]] Machine share_of(double workers) const {
        if (workers == 1) return *this;
        Machine share = on_threads(workers);
        for (double Machine::*const rate :
             {&Machine::fma_flops, &Machine::half_flops, &Machine::matmul_flops, &Machine::bf16_flops,
              &Machine::int8_flops, &Machine::vector_flops, &Machine::scalar_flops, &Machine::idle_bandwidth}) {
            share.*rate /= workers;
        }
        for (double& rate : share.bandwidth) rate /= workers;
        return share;
    }
    /// Returns the seconds that so many threads take for a loop beside its blocks.
    [[nodiscard]] double loop_seconds(double workers) const {
        return knows_threads() ? several(0, 1 / threads_loops, workers) : 0;
    }

    /// Returns the bandwidth of a working set: interpolated between the measured ones, on a logarithmic scale. Where L2
    /// ends between two of them, the bandwidth falls from the one to the other between 3/4 and 3/2 of its size
    /// (bench/results/2026-11-29-end-of-l2.md).
    [[nodiscard]] double bandwidth_for(double bytes) const {
        if (bytes <= working_sets.front()) return bandwidth.front();
        for (std::size_t i = 1; i < working_sets.size(); ++i) {
            if (bytes > working_sets[i]) continue;
            double first = working_sets[i - 1], last = working_sets[i];
            if (l2_bytes >= first && l2_bytes < last) {
                first = std::max(0.75 * l2_bytes, first), last = std::min(1.5 * l2_bytes, last);
            }
            const double at = std::clamp(std::log(bytes / first) / std::log(last / first), 0.0, 1.0);
            return bandwidth[i - 1] + at * (bandwidth[i] - bandwidth[i - 1]);
        }
        return bandwidth.back();
    }
    /// Returns the bandwidth of bytes that were last used `seconds` ago. Other programs that share the caches are
    /// assumed to evict the same fraction of the remaining bytes in each millisecond.
    [[nodiscard]] double bandwidth_after(double seconds, double bytes) const {
        constexpr double least_kept = 0.02;  // a smaller fraction cannot be measured, yet takes time to be evicted
        const double near = bandwidth_for(bytes), memory = bandwidth.back();
        if (!(idle_bandwidth > 0) || !(std::min(near, bandwidth[3]) > memory)) return near;
        const double kept = (1 / memory - 1 / idle_bandwidth) / (1 / memory - 1 / bandwidth[3]),
                     left = std::pow(std::clamp(kept, least_kept, 1.0), seconds / idle_seconds);
        return 1 / (left / near + (1 - left) / memory);
    }

private:
    /// Returns a figure of so many threads that is `one` for one thread and `all` for `threads` of them.
    [[nodiscard]] double several(double one, double all, double workers) const {
        return one + (workers - 1) / (threads - 1) * (std::max(one, all) - one);
    }
};

namespace machine::detail {

[[nodiscard]] inline std::string read_cpu_name() {
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

}  // namespace machine::detail

/// Returns the processor's own name, e.g. "Intel(R) Xeon(R) ...", or the architecture where it has none. The name is
/// read once, since that takes some 20 microseconds in a virtual machine.
[[nodiscard]] inline std::string const& cpu_name() {
    static const std::string name = machine::detail::read_cpu_name();
    return name;
}

}  // namespace primsel::inline PRIMSEL_ABI
