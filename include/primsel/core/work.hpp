#pragma once

#include <primsel/core/config.hpp>

#include <array>
#include <cstddef>

namespace primsel::inline PRIMSEL_ABI {

/// Which of the machine's speeds bounds the arithmetic of a phase.
enum class Rate {
    gemm,       ///< register-tiled multiply-adds: near the FMA peak
    registers,  ///< vector additions and multiplications of what registers hold
    vector,     ///< vector arithmetic on streamed data
    scalar,     ///< one element at a time
};

/// One step of an algorithm, as a roofline sees it.
struct Phase {
    Rate rate = Rate::vector;
    double operations = 0;   ///< those really executed, padding of tiles and vectors included
    double narrow = 1;       ///< of registers: how many times narrower its vectors are than the instruction set's
    double bytes = 0;        ///< read and written
    double working_set = 0;  ///< bytes that are touched again and again: decides which memory level feeds the phase
};

/// The work of a primitive for one image: up to six phases, one after the other. An analytical cost model prices it.
struct Work {
    std::array<Phase, 6> phases{};
    std::size_t count = 0;

    constexpr Work& add(Phase const& phase) {
        phases[count++] = phase;
        return *this;
    }
    [[nodiscard]] constexpr auto begin() const { return phases.begin(); }
    [[nodiscard]] constexpr auto end() const { return phases.begin() + static_cast<std::ptrdiff_t>(count); }
    /// Another's phases, each gone through `times` times on the same working set.
    constexpr Work& append(Work const& other, double times) {
        for (Phase phase : other) {
            phase.operations *= times;
            phase.bytes *= times;
            add(phase);
        }
        return *this;
    }
};

}  // namespace primsel::inline PRIMSEL_ABI
