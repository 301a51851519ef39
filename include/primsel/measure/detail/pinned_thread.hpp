#pragma once

#include <primsel/core/config.hpp>
#include <primsel/core/error.hpp>

#include <chrono>

#if defined(__linux__)
#include <sched.h>
#include <sys/resource.h>

#include <ctime>
#endif

namespace primsel::inline PRIMSEL_ABI::measure::detail {

/// Time, as it passes and as the calling thread spends it.
struct ThreadClock {
    [[nodiscard]] static double now() {
        return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
    }
#if defined(__linux__)
    [[nodiscard]] static double spent() {
        timespec time{};
        ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
        return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
    }
    /// How often the system has taken the processor from this thread.
    [[nodiscard]] static long interruptions() {
        rusage usage{};
        ::getrusage(RUSAGE_THREAD, &usage);
        return usage.ru_nivcsw;
    }
#else
    [[nodiscard]] static double spent() { return now(); }
    [[nodiscard]] static long interruptions() { return 0; }
#endif
};

/// Keeps the calling thread on one processor while it lives; where the system cannot, it does nothing.
class PinnedThread {
public:
    /// Negative: the processor that it is on. Throws error for one that it may not run on.
    explicit PinnedThread([[maybe_unused]] int cpu) {
#if defined(__linux__)
        const int chosen = cpu < 0 ? ::sched_getcpu() : cpu;
        pinned_ = ::sched_getaffinity(0, sizeof(before_), &before_) == 0;
        cpu_set_t one;
        CPU_ZERO(&one);
        if (chosen >= 0 && chosen < CPU_SETSIZE) CPU_SET(static_cast<std::size_t>(chosen), &one);
        if (pinned_ && ::sched_setaffinity(0, sizeof(one), &one) != 0) {
            pinned_ = false;
            if (cpu >= 0) fail("processor ", cpu, ": this thread may not run there");
        }
#endif
    }
    PinnedThread(PinnedThread const&) = delete;
    PinnedThread& operator=(PinnedThread const&) = delete;
    ~PinnedThread() {
#if defined(__linux__)
        if (pinned_) ::sched_setaffinity(0, sizeof(before_), &before_);
#endif
    }

private:
#if defined(__linux__)
    cpu_set_t before_{};
    bool pinned_ = false;
#endif
};

}  // namespace primsel::inline PRIMSEL_ABI::measure::detail
