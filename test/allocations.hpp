// Counts what a test program allocates. The counting operators are in a unit of their own: a compiler that inlines them
// takes them for a mismatch.
#pragma once

#include <atomic>
#include <cstddef>

namespace scratch {

/// All that was ever allocated, also what was freed again.
inline std::atomic<std::size_t> allocations = 0, allocated_bytes = 0;

template <class Call>
std::size_t allocated_by(Call const& call) {
    const std::size_t before = allocated_bytes;
    call();
    return allocated_bytes - before;
}

}  // namespace scratch
