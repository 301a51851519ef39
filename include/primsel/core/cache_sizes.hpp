#pragma once

#include <primsel/core/config.hpp>

#include <cstddef>
#include <initializer_list>

#if defined(__x86_64__)
#include <cpuid.h>
#endif
#if defined(__unix__) || defined(__APPLE__)
#include <unistd.h>
#endif

namespace primsel::inline PRIMSEL_ABI {

/// The assumed size of L2 in floats: a megabyte. Blocks of work are sized by it. It is the same on every processor,
/// because the blocks decide the bits of results. (Parts of deep products ask for the size of L1:
/// gemm::l1_holds_parts.)
inline constexpr int l2_floats = 256 << 10;

namespace core {

/// Returns the size in bytes of the data cache of a level, 1 or 2, as the processor itself says it; 0 where it does
/// not. Only x86 does.
[[nodiscard]] inline std::size_t cpuid_cache_bytes([[maybe_unused]] unsigned level) noexcept {
#if defined(__x86_64__)
    unsigned a = 0, b = 0, c = 0, d = 0;
    // Intel's leaf of caches, then AMD's, which has the same form and is there if TOPOEXT is.
    for (const unsigned leaf : {0x4U, 0x8000001DU}) {
        if (__get_cpuid(leaf, &a, &b, &c, &d) == 0) continue;
        if (leaf != 4 && (__get_cpuid(0x80000001U, &a, &b, &c, &d) == 0 || (c & 1U << 22) == 0)) continue;
        for (unsigned i = 0; i < 16; ++i) {
            __cpuid_count(leaf, i, a, b, c, d);
            const unsigned kind = a & 31U;  // 0: no more caches; 2: instructions
            if (kind == 0) break;
            if (kind == 2 || (a >> 5 & 7U) != level) continue;
            const auto field = [b](unsigned from, unsigned bits) { return (b >> from & ((1U << bits) - 1)) + 1; };
            return std::size_t{field(22, 10)} * field(12, 10) * field(0, 12) * (std::size_t{c} + 1);
        }
    }
#endif
    return 0;
}

/// Returns the size in bytes of the data cache of a level, 1 or 2; 0 where neither system nor processor says it.
[[nodiscard]] inline std::size_t cache_bytes(unsigned level) noexcept {
#if defined(_SC_LEVEL1_DCACHE_SIZE) && defined(_SC_LEVEL2_CACHE_SIZE)
    const long bytes = ::sysconf(level == 1 ? _SC_LEVEL1_DCACHE_SIZE : _SC_LEVEL2_CACHE_SIZE);  // 0 or -1: unknown
    return bytes > 0 ? static_cast<std::size_t>(bytes) : 0;
#else
    return cpuid_cache_bytes(level);
#endif
}

}  // namespace core

}  // namespace primsel::inline PRIMSEL_ABI
