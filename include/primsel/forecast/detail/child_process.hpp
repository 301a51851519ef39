#pragma once

#include <primsel/core/error.hpp>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstdio>
#include <limits>
#include <optional>
#include <type_traits>

namespace primsel::inline PRIMSEL_ABI::forecast::detail {

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
/// The most memory that this process ever had in use, in bytes.
[[nodiscard]] inline std::size_t peak_resident_bytes() {
    ::rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    return static_cast<std::size_t>(usage.ru_maxrss) * 1024;
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

}  // namespace primsel::inline PRIMSEL_ABI::forecast::detail
