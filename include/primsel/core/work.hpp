#pragma once

#include <primsel/core/cache_sizes.hpp>
#include <primsel/core/config.hpp>

#include <array>
#include <cmath>
#include <cstddef>
#include <string_view>

namespace primsel::inline PRIMSEL_ABI {

/// The type in which a primitive multiplies, or of an op's weights, from the most to the least precise. Sums of
/// products of bytes are integers, others floats. Products of f16, float16 as storage, are those of floats.
enum class Precision { float32, f16, bf16, int8 };

inline constexpr std::array<Precision, 4> all_precisions{Precision::float32, Precision::f16, Precision::bf16,
                                                         Precision::int8};

[[nodiscard]] constexpr std::string_view to_string_view(Precision precision) {
    constexpr std::string_view names[] = {"float32", "f16", "bf16", "int8"};
    return names[static_cast<std::size_t>(precision)];
}

/// Returns whether what has to be at least as precise as `least` may be in `own`. Numbers beyond 65504 are infinite in
/// f16, and not in bf16: f16 may be taken only where it is `least` itself.
[[nodiscard]] constexpr bool allows(Precision least, Precision own) {
    return own == Precision::f16 ? least == own : own <= least;
}

/// The speed of the machine that bounds the arithmetic of a phase.
enum class Rate {
    gemm,       ///< register-tiled multiply-adds: near the FMA peak
    bf16,       ///< the same of bfloat16 numbers, in the fastest way that the machine has
    int8,       ///< the same of bytes with sums in integers
    registers,  ///< vector additions and multiplications of values in registers
    vector,     ///< vector arithmetic on streamed data
    scalar,     ///< scalar arithmetic, one element at a time
};

/// One step of an algorithm, as a roofline model describes it.
struct Phase {
    Rate rate = Rate::vector;
    double operations = 0;  ///< the operations executed, padding of tiles and vectors included
    double narrow =
        1;  ///< for Rate::registers: how many times narrower its vectors are than those of the instruction set
    double bytes = 0;        ///< bytes read and written
    double working_set = 0;  ///< bytes that the phase touches repeatedly: decides which memory level feeds it
    double blocks = 0;       ///< independent blocks that threads share (see threads_at_work)
    double loops = 0;        ///< loops over such blocks that begin with the phase; threads wait at the end of each

    /// Returns the phase in so many blocks and loops.
    [[nodiscard]] constexpr Phase shared_by(double of_blocks, double of_loops) const {
        Phase result = *this;
        result.blocks = of_blocks, result.loops = of_loops;
        return result;
    }
};

/// Returns the number of threads, on average over the time, that work on a loop over equal blocks, none of which is
/// divided: 1.5 for three blocks on two threads. 0 blocks stand for some that all threads share evenly.
[[nodiscard]] inline double threads_at_work(double blocks, int threads) {
    return blocks > 0 ? blocks / std::ceil(blocks / threads) : threads;
}

/// The work of a primitive for one image, as up to six consecutive phases. An analytical cost model prices it.
struct Work {
    std::array<Phase, 6> phases{};
    std::size_t count = 0;

    constexpr Work& add(Phase const& phase) {
        phases[count++] = phase;
        return *this;
    }
    [[nodiscard]] constexpr auto begin() const { return phases.begin(); }
    [[nodiscard]] constexpr auto end() const { return phases.begin() + static_cast<std::ptrdiff_t>(count); }
    /// Appends the phases of other, each done `times` times on the same working set.
    constexpr Work& append(Work const& other, double times) {
        for (Phase phase : other) {
            phase.operations *= times;
            phase.bytes *= times;
            phase.loops *= times;
            add(phase);
        }
        return *this;
    }
};

/// The floats of a block of an op's work: enough to hide the cost of dispatching it, few enough to stay in L2.
inline constexpr std::size_t op_block_floats = l2_floats / 16;

/// The work of an op for one image, in the form that runs for its Arch, layout and shapes. A form is one of several
/// ways of an op, such as one for contiguous rows and one that gathers; cost models have coefficients for each.
struct OpCounts {
    double operations = 0;    ///< floating-point operations that whole vectors do, unused lanes included
    double scalars = 0;       ///< elements that pass through scalar code or gathers
    double rows = 0;          ///< starts of inner loops
    double bytes = 0;         ///< bytes read and written; 0 stands for each input and the output once
    double blocks = 0;        ///< as Phase::blocks; 0 stands for blocks of op_block_floats of these bytes
    std::string_view form{};  ///< the name of the form, which is a literal; empty if the op has only one
};

}  // namespace primsel::inline PRIMSEL_ABI
