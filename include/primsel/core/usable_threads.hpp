#pragma once

#include <primsel/core/config.hpp>
#include <primsel/core/windows.hpp>

#include <bit>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#if defined(__linux__)
#include <errno.h>
#include <sched.h>
#endif
#if defined(__unix__) || defined(__APPLE__)
#include <unistd.h>
#endif

namespace primsel::inline PRIMSEL_ABI {

/// The bounds of the number of threads that this process can run at a time.
struct UsableThreads {
    /// Processors that the calling thread, and every thread that it starts, may run on: those of its affinity mask.
    /// Those of the machine where there are no such masks.
    std::size_t processors = 1;
    /// Processors whose time the process may use: the least CPU quota of its control groups. 1.5 is one and a half
    /// seconds of processor time a second.
    double quota = std::numeric_limits<double>::infinity();
    /// The directory of the control group that has this quota; empty where none has one.
    std::string group{};

    /// The processors, and no more than the quota, rounded up; at least 1.
    [[nodiscard]] std::size_t count() const {
        std::size_t threads = 1;
        while (threads < processors && static_cast<double>(threads) < quota) ++threads;
        return threads;
    }
};

namespace core::detail {

/// Returns the text of a file of at most a megabyte; nothing where it cannot be read.
[[nodiscard]] inline std::string text_if_any(std::string const& path) {
#if defined(_WIN32)
    constexpr const char* mode = "rb";
#else
    constexpr const char* mode = "re";  // children of fork do not have it
#endif
    std::string text;
    std::FILE* const file = std::fopen(path.c_str(), mode);
    if (file == nullptr) return text;
    char part[4096];
    for (std::size_t read = 1; read > 0 && text.size() < (1U << 20);) {
        read = std::fread(part, 1, sizeof(part), file);
        text.append(part, read);
    }
    std::fclose(file);
    return text;
}
/// Removes the text up to the separator, and the separator, and returns that text.
[[nodiscard]] inline std::string_view cut(std::string_view& text, std::string_view separator) {
    const std::size_t end = text.find(separator);
    const std::string_view first = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + separator.size());
    return first;
}
/// Whether a name is in a list with commas.
[[nodiscard]] inline bool lists(std::string_view list, std::string_view name) {
    while (!list.empty()) {
        if (cut(list, ",") == name) return true;
    }
    return false;
}
/// The kernel writes blanks and other special characters of paths as a backslash and three octal digits.
[[nodiscard]] inline std::string unescaped(std::string_view text) {
    std::string result;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const auto digit = [&](std::size_t at) { return at < text.size() ? (text[at] - '0') & 7 : 0; };
        const bool escaped = text[i] == '\\' && i + 3 < text.size();
        result += escaped ? static_cast<char>(digit(i + 1) * 64 + digit(i + 2) * 8 + digit(i + 3)) : text[i];
        if (escaped) i += 3;
    }
    return result;
}

/// The CPU quota of a control group alone, in processors; infinity where it has none that can be read.
[[nodiscard]] inline double quota_of(std::string const& group, bool unified) {
    const std::string text =
        unified ? text_if_any(group + "/cpu.max")
                : text_if_any(group + "/cpu.cfs_quota_us") + ' ' + text_if_any(group + "/cpu.cfs_period_us");
    char* end = nullptr;  // "max" and the -1 of version 1 are no quota
    const long long quota = std::strtoll(text.c_str(), &end, 10), period = std::strtoll(end, nullptr, 10);
    if (quota <= 0 || period <= 0) return std::numeric_limits<double>::infinity();
    return static_cast<double>(quota) / static_cast<double>(period);
}
/// Bounds the quota by those of a group and of all that it is in, up to where the hierarchy is mounted.
inline void bound_by_group(UsableThreads& result, std::string const& root, std::string const& mounted, std::string path,
                           bool unified) {
    for (;; path.resize(path.rfind('/'))) {
        if (const double quota = quota_of(root + mounted + path, unified); quota < result.quota) {
            result.quota = quota, result.group = mounted + path;
        }
        if (path.empty()) return;
    }
}
/// Bounds the quota by those of the process's control groups, of both versions (cgroups(7), proc_pid_mountinfo(5)).
inline void bound_by_quotas(UsableThreads& result, std::string const& root) {
    const std::string groups = text_if_any(root + "/proc/self/cgroup"),
                      mounts = text_if_any(root + "/proc/self/mountinfo");
    // hierarchy:controllers:path
    for (std::string_view lines = groups; !lines.empty();) {
        std::string_view path = cut(lines, "\n");
        (void)cut(path, ":");
        const std::string_view controllers = cut(path, ":");
        const bool unified = controllers.empty();
        if (!unified && !lists(controllers, "cpu")) continue;
        // id parent device root mount-point options [fields] - type source options
        for (std::string_view all = mounts; !all.empty();) {
            std::string_view options = cut(all, "\n"), fields = cut(options, " - ");
            if (cut(options, " ") != (unified ? "cgroup2" : "cgroup")) continue;
            (void)cut(options, " ");
            if (!unified && !lists(options, "cpu")) continue;
            for (int i = 0; i < 3; ++i) (void)cut(fields, " ");
            std::string top = unescaped(cut(fields, " "));
            if (top == "/") top.clear();
            // A group outside of what is mounted, or of the process's namespace, cannot be read.
            std::string_view below = path;
            if (!below.starts_with(top) || below.find("/..") != std::string_view::npos) continue;
            below.remove_prefix(top.size());
            if (below == "/") below = {};
            if (!below.empty() && below[0] != '/') continue;
            bound_by_group(result, root, unescaped(cut(fields, " ")), std::string(below), unified);
        }
    }
}

/// The processors of the calling thread's affinity mask; 0 where there is none.
[[nodiscard]] inline std::size_t processors_of_mask() {
#if defined(__linux__)
    // The kernel refuses masks that are shorter than its own.
    for (std::size_t sets = 1; sets <= 1024; sets *= 2) {
        const auto mask = std::make_unique<cpu_set_t[]>(sets);
        const std::size_t bytes = sets * sizeof(cpu_set_t);
        if (::sched_getaffinity(0, bytes, mask.get()) == 0)
            return static_cast<std::size_t>(CPU_COUNT_S(bytes, mask.get()));
        if (errno != EINVAL) break;
    }
#elif defined(_WIN32)
    unsigned long long own = 0, all = 0;
    if (::GetProcessAffinityMask(::GetCurrentProcess(), &own, &all) != 0) return std::size_t(std::popcount(own));
#endif
    return 0;
}

}  // namespace core::detail

namespace core {

/// The number of the machine's processors that are switched on, whether or not this process may use them.
[[nodiscard]] inline std::size_t processors_of_machine() {
#if defined(_WIN32)
    constexpr unsigned short all_groups = 0xffff;
    return ::GetActiveProcessorCount(all_groups);
#elif defined(_SC_NPROCESSORS_ONLN)
    return static_cast<std::size_t>(::sysconf(_SC_NPROCESSORS_ONLN));
#else
    return std::thread::hardware_concurrency();
#endif
}

}  // namespace core

/// Reads what bounds the number of threads: the affinity mask, the CPU quotas of control groups of
/// both versions, and the number of the machine's processors. Files that cannot be read bound nothing. `root` is put
/// before the paths of /proc and of mounted control groups, for tests.
[[nodiscard]] inline UsableThreads usable_threads(std::string const& root = {}) {
    UsableThreads result;
    result.processors = core::detail::processors_of_mask();
    if (result.processors == 0) result.processors = std::thread::hardware_concurrency();
    if (result.processors == 0) result.processors = 1;
    core::detail::bound_by_quotas(result, root);
    return result;
}

}  // namespace primsel::inline PRIMSEL_ABI
