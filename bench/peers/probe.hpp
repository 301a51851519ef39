// The present speeds of the machine: the FMA peak of a core, the bandwidth of reading memory, and the time from core to
// core. Other work on the machine shows in them, and so does a host that moves its cores.
#pragma once

#include <primsel/core/aligned_buffer.hpp>
#include <primsel/core/simd.hpp>
#include <primsel/core/statistics.hpp>
#include <primsel/core/timer.hpp>
#include <primsel/machine/measure_machine.hpp>

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <thread>
#include <utility>
#include <vector>

namespace peers {

namespace ps = primsel;

/// Whether this thread may run on that processor, and from now on runs there alone.
inline bool pin(int cpu) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(static_cast<std::size_t>(cpu), &set);
    return sched_setaffinity(0, sizeof(set), &set) == 0;
}

/// GFLOP/s of this thread's core over `seconds`, interruptions included.
inline double fma_gflops(double seconds) {
    constexpr int chains = 12, rounds = 10'000;
    constexpr double operations = 2.0 * chains * rounds * ps::lanes<ps::default_arch>;
    double done = 0, passed = 0;
    for (const ps::Timer timer; passed < seconds; passed = timer.seconds(), done += operations) {
        ps::machine::multiply_add<ps::default_arch>(rounds, std::make_index_sequence<chains>{});
    }
    return done / passed / 1e9;
}

/// A buffer beyond every cache, read from end to end.
class Memory {
public:
    Memory() : floats_((std::size_t{128} << 20) / sizeof(float)) {
        // Pages that were never written would all be the one page of zeros.
        std::fill_n(floats_.data(), floats_.size(), 1.0F);
    }
    /// GB/s of this thread's core.
    [[nodiscard]] double read_gbs() const {
        using Arch = ps::default_arch;
        constexpr std::size_t step = 4 * static_cast<std::size_t>(ps::lanes<Arch>);
        ps::Floats<Arch> sums[4] = {ps::broadcast<Arch>(0.0F), ps::broadcast<Arch>(0.0F), ps::broadcast<Arch>(0.0F),
                                    ps::broadcast<Arch>(0.0F)};
        const ps::Timer timer;
        for (std::size_t i = 0; i + step <= floats_.size(); i += step) {
            PRIMSEL_UNROLL
            for (int j = 0; j < 4; ++j) sums[j] += ps::load<Arch>(floats_.data() + i + j * ps::lanes<Arch>);
        }
        const double seconds = timer.seconds();
        alignas(ps::alignment) float kept[ps::lanes<Arch>];
        ps::store<Arch>(kept, sums[0] + sums[1] + sums[2] + sums[3]);
        volatile float used = kept[0];
        (void)used;
        return static_cast<double>(floats_.size() * sizeof(float)) / seconds / 1e9;
    }

private:
    ps::AlignedBuffer floats_;
};

/// Nanoseconds for a word to go from one processor to the other: half of what it takes to go there and back, the median
/// of stretches of 200. 0 where this process may not run on both. This thread is on `here` afterwards.
inline double latency_ns(int here, int there) {
    constexpr int trips = 200, stretches = 25;
    std::atomic<int> ball = 0;
    std::atomic<bool> allowed = true;
    std::thread other([&] {
        allowed = pin(there);
        ball = 1;  // ready
        for (int trip = 1; allowed && trip <= trips * stretches; ++trip) {
            while (ball.load(std::memory_order_acquire) != 2 * trip) {
            }
            ball.store(2 * trip + 1, std::memory_order_release);
        }
    });
    while (ball != 1) std::this_thread::yield();
    std::vector<double> times;
    if (pin(here) && allowed) {
        for (int stretch = 0; stretch < stretches; ++stretch) {
            const ps::Timer timer;
            for (int trip = stretch * trips + 1; trip <= (stretch + 1) * trips; ++trip) {
                ball.store(2 * trip, std::memory_order_release);
                while (ball.load(std::memory_order_acquire) != 2 * trip + 1) {
                }
            }
            times.push_back(timer.seconds() / trips / 2 * 1e9);
        }
    }
    other.join();
    return ps::median(std::move(times));
}

}  // namespace peers
