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

/// The speeds of one core of a machine with one instruction set.
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
