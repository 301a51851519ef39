#include <primsel/core/cache_sizes.hpp>

#include <doctest/doctest.h>

namespace core = primsel::core;

TEST_CASE("caches: the processor and the system say the same, and levels grow") {
    for (const unsigned level : {1U, 2U}) {
        const std::size_t bytes = core::cache_bytes(level), own = core::cpuid_cache_bytes(level);
        if (bytes != 0 && own != 0) CHECK(bytes == own);
    }
    CHECK(core::cpuid_cache_bytes(7) == 0);
    if (core::cache_bytes(2) != 0) CHECK(core::cache_bytes(1) <= core::cache_bytes(2));
}
