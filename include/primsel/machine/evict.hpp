#pragma once

#include <primsel/core/aligned_buffer.hpp>
#include <primsel/core/config.hpp>

#include <cstddef>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace primsel::inline PRIMSEL_ABI::machine {

/// Writes `count` bytes back to memory and evicts them from every cache, so that they are next read from memory. Takes
/// some 0.1 ms per megabyte.
inline void evict([[maybe_unused]] const void* bytes, [[maybe_unused]] std::size_t count) {
#if defined(__x86_64__)
    const char* const line = static_cast<const char*>(bytes);
    for (std::size_t at = 0; at < count; at += alignment) _mm_clflush(line + at);
    _mm_mfence();
#elif defined(__aarch64__)
    const char* const line = static_cast<const char*>(bytes);
    for (std::size_t at = 0; at < count; at += alignment) asm volatile("dc civac, %0" : : "r"(line + at) : "memory");
    asm volatile("dsb sy" : : : "memory");
#endif
}

}  // namespace primsel::inline PRIMSEL_ABI::machine
