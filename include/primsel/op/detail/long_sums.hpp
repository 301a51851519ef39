// Reductions of any number of terms. Terms of a block are summed in float, blocks in double, so that the error does not
// grow with the length. Blocks depend only on the number of terms.
#pragma once

#include <primsel/op/detail/vectors.hpp>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <type_traits>

namespace primsel::inline PRIMSEL_ABI::op::detail {

/// The number of terms that a lane sums in float. Their rounding errors are usually below one unit in the last place,
/// and adding the sum to a double costs little in comparison.
inline constexpr std::size_t block_terms = 32;

struct Maximum {
    static constexpr bool averages = false;
    static constexpr float identity = -std::numeric_limits<float>::infinity();
    template <class Arch>
    static PRIMSEL_INLINE Floats<Arch> apply(Floats<Arch> const& a, Floats<Arch> const& b) {
        return max_or_nan<Arch>(a, b);
    }
    static float apply(float a, float b) { return a > b || a != a ? a : b; }
};

/// The sum, divided by the number of elements where that is known.
struct Average {
    static constexpr bool averages = true;
    static constexpr float identity = 0.0F;
    template <class Arch>
    static PRIMSEL_INLINE Floats<Arch> apply(Floats<Arch> const& a, Floats<Arch> const& b) {
        return a + b;
    }
};

/// Returns the sum of all lanes: in float while there are many, whose errors cancel, then in double.
template <class Arch>
PRIMSEL_INLINE double sum_lanes(Floats<Arch> const& value) {
#if defined(__AVX__)
    const auto sum = [](__m256 floats) {
        const __m256d four =
            _mm256_cvtps_pd(_mm_add_ps(_mm256_castps256_ps128(floats), _mm256_extractf128_ps(floats, 1)));
        const __m128d two = _mm_add_pd(_mm256_castpd256_pd128(four), _mm256_extractf128_pd(four, 1));
        return _mm_cvtsd_f64(_mm_add_sd(two, _mm_unpackhi_pd(two, two)));
    };
#if defined(__AVX512F__)
    if constexpr (lanes<Arch> == 16) {
        const __m512 all = value;
        const __m256d upper = _mm512_maskz_extractf64x4_pd(0xf, _mm512_castps_pd(all), 1);
        return sum(_mm256_add_ps(_mm512_castps512_ps256(all), _mm256_castpd_ps(upper)));
    }
#endif
    if constexpr (lanes<Arch> == 8) return sum(value);
#endif
    alignas(64) float lane[lanes<Arch>];
    store<Arch>(lane, value);
    double total = 0;
    for (const float one : lane) total += static_cast<double>(one);
    return total;
}

/// Sums in double, one for each lane of some vectors.
template <class Arch, std::size_t vectors>
class LaneSums {
    using V = Floats<Arch>;
    static constexpr std::size_t width = lanes<Arch>;

public:
    PRIMSEL_INLINE void add(V const (&sums)[vectors]) {
        alignas(64) float lane[vectors * width];
        PRIMSEL_UNROLL
        for (std::size_t v = 0; v < vectors; ++v) store<Arch>(lane + v * width, sums[v]);
        for (std::size_t i = 0; i < vectors * width; ++i) sum_[i] += static_cast<double>(lane[i]);
    }
    /// Adds the sums of all vectors to those of the first.
    PRIMSEL_INLINE void join() {
        for (std::size_t v = 1; v < vectors; ++v) {
            for (std::size_t i = 0; i < width; ++i) sum_[i] += sum_[v * width + i];
        }
    }
    /// Returns vector v with each lane multiplied by a factor.
    [[nodiscard]] PRIMSEL_INLINE V get(std::size_t v, double factor) const {
        alignas(64) float lane[width];
        for (std::size_t i = 0; i < width; ++i) lane[i] = static_cast<float>(sum_[v * width + i] * factor);
        return load<Arch>(lane);
    }
    [[nodiscard]] double all() const {
        double sum = 0;
        for (const double one : sum_) sum += one;
        return sum;
    }

private:
    alignas(64) double sum_[vectors * width] = {};
};

/// A reduction of terms that consist of several vectors. blocks: the sum may have more terms than one block.
template <class Arch, class Reduction, std::size_t vectors, bool blocks>
class TermReduction {
    using V = Floats<Arch>;
    static constexpr std::size_t width = lanes<Arch>;

public:
    PRIMSEL_INLINE TermReduction() { start_block(); }
    /// Adds `count` terms; term(i, v) is vector v of the i-th.
    template <class F>
    PRIMSEL_INLINE void add(std::size_t count, F const& term) {
        for (std::size_t i = 0; i < count;) {
            std::size_t last = count;
            if constexpr (blocks) {
                make_room();
                last = std::min(count, i + room_);
                room_ -= last - i;
            }
            V part[vectors];
            PRIMSEL_UNROLL
            for (std::size_t v = 0; v < vectors; ++v) part[v] = part_[v];
            for (; i < last; ++i) {
                PRIMSEL_UNROLL
                for (std::size_t v = 0; v < vectors; ++v) {
                    part[v] = Reduction::template apply<Arch>(part[v], term(i, v));
                }
            }
            PRIMSEL_UNROLL
            for (std::size_t v = 0; v < vectors; ++v) part_[v] = part[v];
        }
    }
    /// Adds a row of floats. Every vector gets one term for each started step of `vectors` vectors of the row.
    PRIMSEL_INLINE void add_row(const float* row, std::size_t floats) {
        constexpr std::size_t step = vectors * width;
        const std::size_t whole = floats / step, rest = floats % step, tail = floats % width;
        add(whole, [row](std::size_t i, std::size_t v) { return load<Arch>(row + i * step + v * width); });
        if (rest == 0) return;
        if constexpr (blocks) make_room(), --room_;
        PRIMSEL_UNROLL
        for (std::size_t v = 0; v + 1 < vectors; ++v) {
            if ((v + 1) * width > rest) break;
            part_[v] = Reduction::template apply<Arch>(part_[v], load<Arch>(row + whole * step + v * width));
        }
        if (tail == 0) return;
        const V last = load_up_to<Arch>(row + (floats - tail), tail, Reduction::identity);
        part_[vectors - 1] = Reduction::template apply<Arch>(part_[vectors - 1], last);
    }
    /// Stores the reduction of each lane; an average is divided by the divisor. Nothing may be added afterwards.
    PRIMSEL_INLINE void finish(double divisor, V (&result)[vectors]) {
        if constexpr (blocks) total_.add(part_);
        PRIMSEL_UNROLL
        for (std::size_t v = 0; v < vectors; ++v) {
            if constexpr (blocks) {
                result[v] = total_.get(v, 1 / divisor);
            } else {
                result[v] = divided(part_[v], divisor);
            }
        }
    }
    /// Returns the reduction over the vectors, lane by lane.
    [[nodiscard]] PRIMSEL_INLINE V joined(double divisor) {
        if constexpr (blocks) {
            total_.add(part_);
            total_.join();
            return total_.get(0, 1 / divisor);
        } else {
            return divided(joined_parts(), divisor);
        }
    }
    /// Returns the reduction over all lanes of all vectors.
    [[nodiscard]] PRIMSEL_INLINE float all(double divisor) const {
        if constexpr (blocks) {
            return static_cast<float>((sum_lanes<Arch>(joined_parts()) + total_.all()) / divisor);
        } else if constexpr (Reduction::averages) {
            return static_cast<float>(sum_lanes<Arch>(joined_parts()) / divisor);
        } else {
            return fold_lanes<Arch>(joined_parts(), [](float a, float b) { return Reduction::apply(a, b); });
        }
    }

private:
    static PRIMSEL_INLINE V divided(V const& value, double divisor) {
        if constexpr (Reduction::averages) return quotient<Arch>(value, V(static_cast<float>(divisor)));
        return value;
    }
    [[nodiscard]] PRIMSEL_INLINE V joined_parts() const {
        V one = part_[0];
        PRIMSEL_UNROLL
        for (std::size_t v = 1; v < vectors; ++v) one = Reduction::template apply<Arch>(one, part_[v]);
        return one;
    }
    PRIMSEL_INLINE void make_room() {
        if (room_ == 0) total_.add(part_), start_block();
    }
    PRIMSEL_INLINE void start_block() {
        PRIMSEL_UNROLL
        for (std::size_t v = 0; v < vectors; ++v) part_[v] = V(Reduction::identity);
        room_ = block_terms;
    }

    struct Nothing {};
    V part_[vectors];
    /// The number of terms that still fit the block.
    std::size_t room_ = block_terms;
    [[no_unique_address]] std::conditional_t<blocks, LaneSums<Arch, vectors>, Nothing> total_{};
};

/// Calls f(reduction) with a reduction that takes up to `terms` terms. Up to `block` terms are one block.
template <class Arch, class Reduction, std::size_t vectors, class F>
PRIMSEL_INLINE auto with_reduction(std::size_t terms, F const& f, std::size_t block = block_terms) {
    if constexpr (Reduction::averages) {
        if (terms > block) {
            TermReduction<Arch, Reduction, vectors, true> reduction;
            return f(reduction);
        }
    }
    TermReduction<Arch, Reduction, vectors, false> reduction;
    return f(reduction);
}

template <class Arch, class F>
PRIMSEL_NOINLINE Floats<Arch> sum_blocks(std::size_t count, F const term) noexcept {
    TermReduction<Arch, Average, 1, true> sum;
    sum.add(count, [&term](std::size_t i, std::size_t) { return term(i); });
    return sum.joined(1);
}

/// Returns the reduction of term(0), ..., term(count - 1), called in this order, as one vector; count is at least 1.
template <class Arch, class Reduction, class F>
PRIMSEL_INLINE Floats<Arch> reduce_terms(std::size_t count, F const& term) {
    if constexpr (Reduction::averages) {
        if (count > block_terms) return sum_blocks<Arch>(count, term);
    }
    Floats<Arch> sum = term(0);
    for (std::size_t i = 1; i < count; ++i) sum = Reduction::template apply<Arch>(sum, term(i));
    return sum;
}

}  // namespace primsel::inline PRIMSEL_ABI::op::detail
