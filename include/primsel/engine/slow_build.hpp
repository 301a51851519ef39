#pragma once

#include <primsel/core/config.hpp>

#include <atomic>
#include <cstdio>

namespace primsel::inline PRIMSEL_ABI::engine::detail {

/// Why this translation unit's kernels are slow, in words; null where they were compiled well for this machine.
[[nodiscard]] inline const char* slow_build() noexcept {
#if !defined(__OPTIMIZE__)
    return "compiled without optimisation, which makes networks some hundred times slower: compile with -O3";
#elif defined(__OPTIMIZE_SIZE__) && !defined(__clang__)
    return "compiled with -Os, which makes networks some four times slower with g++: compile with -O3";
#elif defined(__x86_64__) && !defined(__SSE3__)
    if (__builtin_cpu_supports("avx2") != 0) {
        return "compiled for SSE2, where this machine has AVX2, several times faster: "
               "compile with -march=native, or see docs/dispatch.md";
    }
    return nullptr;
#else
    return nullptr;
#endif
}

/// Prints slow_build()'s reason to the standard error stream, once a process.
inline void warn_of_slow_build() noexcept {
    static std::atomic<bool> said = false;
    if (const char* const reason = slow_build(); reason != nullptr && !said.exchange(true)) {
        std::fprintf(stderr, "primsel: %s\n", reason);
    }
}

}  // namespace primsel::inline PRIMSEL_ABI::engine::detail
