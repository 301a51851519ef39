#pragma once

#include <primsel/core/config.hpp>

#include <cstddef>
#include <cstdint>

#if defined(__linux__)
#include <ctime>

#include <sys/mman.h>
#endif

namespace primsel::inline PRIMSEL_ABI::core {

/// Bytes.
inline constexpr std::size_t huge_page = std::size_t{2} << 20;

/// Asks the system for huge pages where memory has whole ones: kernels walk buffers with long strides, and a TLB miss
/// costs as much as ten FMAs. The memory is not yet in use: a float of it is set. Does nothing but on Linux.
/// Stops if the first page is slow to come, as in a virtual machine whose host must find the memory first. Such a host
/// more often has small pages ready, and an engine then starts in half the time.
inline void ask_for_huge_pages([[maybe_unused]] void* memory, [[maybe_unused]] std::size_t bytes) noexcept {
#if defined(__linux__)
    const auto begin = (reinterpret_cast<std::uintptr_t>(memory) + huge_page - 1) / huge_page * huge_page,
               end = (reinterpret_cast<std::uintptr_t>(memory) + bytes) / huge_page * huge_page;
    if (begin >= end) return;
    auto* const first = reinterpret_cast<std::byte*>(begin);
    const auto now = [] {
        std::timespec time{};
        ::clock_gettime(CLOCK_MONOTONIC, &time);
        return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
    };
    constexpr double slow = 1e-3;  // seconds; clearing 2 MiB takes a tenth of that
    ::madvise(first, huge_page, MADV_HUGEPAGE);
    const double start = now();
    *reinterpret_cast<volatile float*>(first) = 0;
    if (now() - start < slow && end - begin > huge_page) {
        ::madvise(first + huge_page, end - begin - huge_page, MADV_HUGEPAGE);
    }
#endif
}

}  // namespace primsel::inline PRIMSEL_ABI::core
