#pragma once

#include <primsel/core/error.hpp>
#include <primsel/core/windows.hpp>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <limits>
#include <optional>
#include <type_traits>

#if PRIMSEL_HAS_FORK
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#endif

#if defined(__GLIBC__)
#include <malloc.h>
#endif

#if defined(_WIN32)
struct _PROCESS_MEMORY_COUNTERS;
extern "C" __declspec(dllimport) int __stdcall K32GetProcessMemoryInfo(void*, _PROCESS_MEMORY_COUNTERS*, unsigned long);
#endif

namespace primsel::inline PRIMSEL_ABI::forecast::detail {

/// The most memory that this process ever had in use, in bytes; 0 where the system does not say.
[[nodiscard]] inline std::size_t peak_resident_bytes() {
#if defined(_WIN32)
    struct {
        unsigned long size, faults;
        std::size_t peak, others[7];
    } counters{};
    ::K32GetProcessMemoryInfo(::GetCurrentProcess(), reinterpret_cast<_PROCESS_MEMORY_COUNTERS*>(&counters),
                              sizeof(counters));
    return counters.peak;
#elif defined(__wasm__)
    return 0;
#else
#if defined(__APPLE__)
    constexpr std::size_t unit = 1;
#else
    constexpr std::size_t unit = 1024;
#endif
    ::rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    return static_cast<std::size_t>(usage.ru_maxrss) * unit;
#endif
}

/// Returns to the system what was freed and kept: the process would use it again without growing.
inline void return_freed_memory() {
#if defined(__GLIBC__)
    ::malloc_trim(0);
#endif
}

#if !PRIMSEL_HAS_FORK

/// Returns the result of work(); nothing where it threw. The system copies no process: work() runs in this one, and
/// most_bytes bounds nothing.
template <class Work, class Result = std::invoke_result_t<Work const&>>
    requires std::is_trivially_copyable_v<Result>
[[nodiscard]] std::optional<Result> in_child(Work const& work, [[maybe_unused]] std::size_t most_bytes) try {
    return work();
} catch (std::exception const&) {
    return {};
}

#else

/// Bytes of addresses that this process has; 0 where the system does not say.
[[nodiscard]] inline std::size_t address_bytes() {
    std::FILE* const file = std::fopen("/proc/self/statm", "r");
    if (file == nullptr) return 0;
    std::array<char, 64> text{};
    const std::size_t read = std::fread(text.data(), 1, text.size(), file);
    std::fclose(file);
    std::size_t pages = 0;
    std::from_chars(text.data(), text.data() + read, pages);
    return pages * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

/// Returns the result of work() in a process of its own, which may take most_bytes more than this one has; nothing
/// where it threw, asked for more, or was killed. The process is a copy of this one: no other thread may hold a lock
/// that work() needs. Throws error where the system makes no process.
template <class Work, class Result = std::invoke_result_t<Work const&>>
    requires std::is_trivially_copyable_v<Result>
[[nodiscard]] std::optional<Result> in_child(Work const& work, std::size_t most_bytes) {
    std::array<int, 2> ends{};
    if (::pipe(ends.data()) != 0) fail("forecast: the system makes no pipe");
    const ::pid_t child = ::fork();
    if (child < 0) {
        ::close(ends[0]), ::close(ends[1]);
        fail("forecast: the system makes no process");
    }
    if (child == 0) {
        ::close(ends[0]);
        const std::size_t now = address_bytes();
        if (now > 0 && most_bytes < std::numeric_limits<std::size_t>::max() / 2) {
            const ::rlimit bound{now + most_bytes, now + most_bytes};
            ::setrlimit(RLIMIT_AS, &bound);
        }
        try {
            const Result result = work();
            const ::ssize_t written = ::write(ends[1], &result, sizeof(result));
            ::_exit(written == static_cast<::ssize_t>(sizeof(result)) ? 0 : 1);
        } catch (...) {
            ::_exit(1);
        }
    }
    ::close(ends[1]);
    Result result{};
    ::ssize_t read = 0;
    do {
        read = ::read(ends[0], &result, sizeof(result));  // less than a pipe takes at once
    } while (read < 0 && errno == EINTR);
    ::close(ends[0]);
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0 || read != static_cast<::ssize_t>(sizeof(result))) return {};
    return result;
}

#endif

}  // namespace primsel::inline PRIMSEL_ABI::forecast::detail
