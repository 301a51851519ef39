// Vectors that lie partly outside a row. The ends of rows use the same arithmetic as their middle, with masked lanes,
// so that no result depends on the position of its element in the row.
#pragma once

#include <primsel/core/simd.hpp>

#include <algorithm>
#include <array>
#include <cstddef>

namespace primsel::inline PRIMSEL_ABI::op::detail {

#if defined(__AVX__)
/// Returns AVX's mask of the lanes below n.
PRIMSEL_INLINE __m256i first_lanes(std::size_t n) {
    alignas(64) static constexpr int ones_then_zeros[16] = {-1, -1, -1, -1, -1, -1, -1, -1};
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(ones_then_zeros + 8 - n));
}
#endif

/// Loads the first n floats at src, or a full vector if n is larger. Lanes beyond n are `fill`, and memory beyond is
/// not read.
template <class Arch>
PRIMSEL_INLINE Floats<Arch> load_up_to(const float* src, std::size_t n, float fill = 0.0F) {
    constexpr std::size_t width = lanes<Arch>;
    if (n >= width) return load<Arch>(src);
#if defined(__AVX512F__)
    if constexpr (width == 16) {
        return Floats<Arch>(_mm512_mask_loadu_ps(_mm512_set1_ps(fill), static_cast<__mmask16>((1U << n) - 1), src));
    }
#endif
#if defined(__AVX__)
    if constexpr (width == 8) {
        const __m256i mask = first_lanes(n);
        const __m256 loaded = _mm256_maskload_ps(src, mask);
        return Floats<Arch>(_mm256_blendv_ps(_mm256_set1_ps(fill), loaded, _mm256_castsi256_ps(mask)));
    }
#endif
    alignas(64) float padded[width];
    for (std::size_t i = 0; i < width; ++i) padded[i] = i < n ? src[i] : fill;
    return load<Arch>(padded);
}

/// Stores the first n lanes, or all if n is larger.
template <class Arch>
PRIMSEL_INLINE void store_up_to(float* dst, Floats<Arch> const& value, std::size_t n) {
    constexpr std::size_t width = lanes<Arch>;
    if (n >= width) return store<Arch>(dst, value);
#if defined(__AVX512F__)
    if constexpr (width == 16) return _mm512_mask_storeu_ps(dst, static_cast<__mmask16>((1U << n) - 1), value);
#endif
#if defined(__AVX__)
    if constexpr (width == 8) return _mm256_maskstore_ps(dst, first_lanes(n), value);
#endif
    alignas(64) float all[width];
    store<Arch>(all, value);
    for (std::size_t i = 0; i < n; ++i) dst[i] = all[i];
}

template <class Arch>
PRIMSEL_INLINE void load_four(const float* src, Floats<Arch> (&to)[4]) {
#if defined(__aarch64__)
    const float32x4x4_t four = vld1q_f32_x4(src);
    PRIMSEL_UNROLL
    for (int i = 0; i < 4; ++i) to[i] = Floats<Arch>(four.val[i]);
#else
    for (int i = 0; i < 4; ++i) to[i] = load<Arch>(src + i * lanes<Arch>);
#endif
}
template <class Arch>
PRIMSEL_INLINE void store_four(float* dst, Floats<Arch> const (&from)[4]) {
#if defined(__aarch64__)
    const float32x4x4_t four{{from[0], from[1], from[2], from[3]}};
    vst1q_f32_x4(dst, four);
#else
    for (int i = 0; i < 4; ++i) store<Arch>(dst + i * lanes<Arch>, from[i]);
#endif
}

/// Loads elements at, at + 1, ... of a row of n elements; lanes outside the row, on either side, are `fill`.
template <class Arch>
PRIMSEL_INLINE Floats<Arch> load_around(const float* row, std::ptrdiff_t at, std::ptrdiff_t n, float fill) {
    constexpr std::ptrdiff_t width = lanes<Arch>;
    if (at >= 0) {
        const std::ptrdiff_t first = std::min(at, n);
        return load_up_to<Arch>(row + first, static_cast<std::size_t>(n - first), fill);
    }
    const std::ptrdiff_t before = std::min(-at, width), inside = std::min(n, width - before);
#if defined(__AVX512F__)
    if constexpr (width == 16) {
        // Memory is not read where the mask is 0.
        const auto mask = static_cast<__mmask16>(((1U << inside) - 1) << before);
        return Floats<Arch>(_mm512_mask_loadu_ps(_mm512_set1_ps(fill), mask, row - before));
    }
#endif
#if defined(__AVX__)
    if constexpr (width == 8) {
        // Memory is not read where the mask is 0.
        static constexpr int ones[24] = {0, 0, 0, 0, 0, 0, 0, 0, -1, -1, -1, -1, -1, -1, -1, -1};
        const auto lanes_at = [](std::ptrdiff_t first) {
            return _mm256_loadu_ps(reinterpret_cast<const float*>(ones + first));
        };
        const __m256 mask = _mm256_and_ps(lanes_at(8 - before), lanes_at(16 - before - inside));
        const __m256 read = _mm256_maskload_ps(row - before, _mm256_castps_si256(mask));
        return Floats<Arch>(_mm256_blendv_ps(_mm256_set1_ps(fill), read, mask));
    }
#endif
    alignas(64) float padded[width];
    for (std::ptrdiff_t i = 0; i < width; ++i) padded[i] = i >= before && i < before + inside ? row[i - before] : fill;
    return load<Arch>(padded);
}

/// Returns the vector 0, 1, 2, ...
template <class Arch>
PRIMSEL_INLINE Floats<Arch> first_integers() {
    alignas(64) static constexpr float integers[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    static_assert(lanes<Arch> <= 16);
    return load<Arch>(integers);
}

/// Combines all lanes into one by f of the two halves, repeatedly.
template <class Arch, class F>
PRIMSEL_INLINE float fold_lanes(Floats<Arch> const& value, F const& f) {
    alignas(64) float lane[lanes<Arch>];
    store<Arch>(lane, value);
    PRIMSEL_UNROLL
    for (int half = lanes<Arch> / 2; half > 0; half /= 2) {
        PRIMSEL_UNROLL
        for (int i = 0; i < half; ++i) lane[i] = f(lane[i], lane[i + half]);
    }
    return lane[0];
}

/// Applies f to each pair of lanes, for functions without a vector form.
template <class Arch, class F>
Floats<Arch> lane_by_lane(Floats<Arch> const& a, Floats<Arch> const& b, F const& f) noexcept {
    alignas(64) float left[lanes<Arch>], right[lanes<Arch>];
    store<Arch>(left, a);
    store<Arch>(right, b);
    for (int i = 0; i < lanes<Arch>; ++i) left[i] = f(left[i], right[i]);
    return load<Arch>(left);
}

/// Returns 1 / sqrt(x) except for the last two bits, for finite x that is not subnormal: the hardware's estimate,
/// refined by Newton steps.
template <class Arch>
PRIMSEL_INLINE Floats<Arch> reciprocal_sqrt(Floats<Arch> const& x) {
    using V = Floats<Arch>;
    const V half = x * V(0.5F);
    const auto refine = [&half](V const& root) { return root * fma<Arch>(half * root, -root, V(1.5F)); };
    V root(0.0F);
    if constexpr (lanes<Arch> == 16) {
#if defined(__AVX512F__)
        root = V(_mm512_maskz_rsqrt14_ps(0xffff, x));  // xsimd 8.1 uses an instruction of the Xeon Phi here
#endif
    } else {
        root = xsimd::rsqrt(x);
    }
#if defined(__aarch64__)
    root = refine(root);  // the estimate has only eight bits
#endif
    return refine(root);
}

/// Splits the 2 * lanes consecutive elements of a and b: those of even index go to a, the others to b.
template <class Arch>
PRIMSEL_INLINE void split_even_odd(Floats<Arch>& a, Floats<Arch>& b) {
    const Floats<Arch> left = a, right = b;
#if defined(__AVX512F__)
    if constexpr (lanes<Arch> == 16) {
        const __m512i even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
        const __m512i odd = _mm512_add_epi32(even, _mm512_set1_epi32(1));
        a = Floats<Arch>(_mm512_permutex2var_ps(left, even, right));
        b = Floats<Arch>(_mm512_permutex2var_ps(left, odd, right));
    }
#endif
#if defined(__AVX__)
    if constexpr (lanes<Arch> == 8) {
        const __m256 low = _mm256_permute2f128_ps(left, right, 0x20), high = _mm256_permute2f128_ps(left, right, 0x31);
        a = Floats<Arch>(_mm256_shuffle_ps(low, high, 0x88));
        b = Floats<Arch>(_mm256_shuffle_ps(low, high, 0xDD));
    }
#endif
    if constexpr (lanes<Arch> == 4) {
        const Floats<Arch> low = xsimd::zip_lo(left, right), high = xsimd::zip_hi(left, right);
        a = xsimd::zip_lo(low, high);
        b = xsimd::zip_hi(low, high);
    }
}

/// Interleaves a and b into 2 * lanes consecutive elements: the inverse of split_even_odd.
template <class Arch>
PRIMSEL_INLINE void join_even_odd(Floats<Arch>& a, Floats<Arch>& b) {
    const Floats<Arch> even = a, odd = b;
#if defined(__AVX512F__)
    if constexpr (lanes<Arch> == 16) {
        const __m512i first = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
        const __m512i second = _mm512_add_epi32(first, _mm512_set1_epi32(8));
        a = Floats<Arch>(_mm512_permutex2var_ps(even, first, odd));
        b = Floats<Arch>(_mm512_permutex2var_ps(even, second, odd));
    }
#endif
#if defined(__AVX__)
    if constexpr (lanes<Arch> == 8) {
        const __m256 low = _mm256_unpacklo_ps(even, odd), high = _mm256_unpackhi_ps(even, odd);
        a = Floats<Arch>(_mm256_permute2f128_ps(low, high, 0x20));
        b = Floats<Arch>(_mm256_permute2f128_ps(low, high, 0x31));
    }
#endif
    if constexpr (lanes<Arch> == 4) a = xsimd::zip_lo(even, odd), b = xsimd::zip_hi(even, odd);
}

/// Returns element index[i] - first of a vector in lane i. On some processors a gather is slower than single loads.
template <class Arch>
PRIMSEL_INLINE Floats<Arch> permuted(Floats<Arch> const& value, const int* index, int first) {
#if defined(__AVX512F__)
    if constexpr (lanes<Arch> == 16) {
        const __m512i from = _mm512_sub_epi32(_mm512_loadu_si512(index), _mm512_set1_epi32(first));
        return Floats<Arch>(_mm512_maskz_permutexvar_ps(0xffff, from, value));
    }
#endif
#if defined(__AVX2__)
    if constexpr (lanes<Arch> == 8) {
        const __m256i from = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(index));
        return Floats<Arch>(_mm256_permutevar8x32_ps(value, _mm256_sub_epi32(from, _mm256_set1_epi32(first))));
    }
#endif
    alignas(64) float all[lanes<Arch>], lane[lanes<Arch>];
    store<Arch>(all, value);
    for (int i = 0; i < lanes<Arch>; ++i) lane[i] = all[index[i] - first];
    return load<Arch>(lane);
}

/// Loads step * lanes consecutive floats; phases[p] has elements p, p + step, p + 2 * step, ...
template <class Arch>
PRIMSEL_INLINE void deal(const float* src, Floats<Arch> (&phases)[2]) {
    phases[0] = load<Arch>(src), phases[1] = load<Arch>(src + lanes<Arch>);
    split_even_odd<Arch>(phases[0], phases[1]);
}
template <class Arch>
PRIMSEL_INLINE void deal(const float* src, Floats<Arch> (&phases)[3]) {
    using V = Floats<Arch>;
    constexpr int width = lanes<Arch>;
    // Elements p, p + 3, ... lie in different lanes of the three vectors: they are gathered in one, then put in order.
    alignas(64) static constexpr float thirds[16] = {0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0};
    static constexpr auto lane = [] {
        std::array<std::array<int, width>, 3> result{};
        for (std::size_t p = 0; p < 3; ++p) {
            for (std::size_t i = 0; i < width; ++i) result[p][i] = static_cast<int>((3 * i + p) % width);
        }
        return result;
    }();
    const V third = load<Arch>(thirds), a = load<Arch>(src), b = load<Arch>(src + width),
            c = load<Arch>(src + 2 * width);
    PRIMSEL_UNROLL
    for (std::size_t p = 0; p < 3; ++p) {
        // Lane l of vector v is element v * width + l.
        const auto in_vector = [&](std::size_t v) {
            return third == V(static_cast<float>((p + v * (3 - width % 3)) % 3));
        };
        phases[p] =
            permuted<Arch>(xsimd::select(in_vector(0), a, xsimd::select(in_vector(1), b, c)), lane[p].data(), 0);
    }
}

/// Returns src[index[i] - begin] in lane i; src has `size` elements. The indices must not descend.
template <class Arch>
PRIMSEL_INLINE Floats<Arch> pick(const float* src, const int* index, int begin, int size) {
    const int first = index[0];
    if (index[lanes<Arch> - 1] - first < lanes<Arch>) {
        const auto n = static_cast<std::size_t>(begin + size - first);
        return permuted<Arch>(load_up_to<Arch>(src + (first - begin), n), index, first);
    }
    alignas(64) float lane[lanes<Arch>];
    for (int i = 0; i < lanes<Arch>; ++i) lane[i] = src[index[i] - begin];
    return load<Arch>(lane);
}

/// Returns the larger value, or NaN where either is NaN.
template <class Arch>
PRIMSEL_INLINE Floats<Arch> max_or_nan(Floats<Arch> const& a, Floats<Arch> const& b) {
#if defined(__aarch64__)
    return Floats<Arch>(vmaxq_f32(a, b));
#else
    // x86's max returns its second operand if either is NaN.
#if defined(__AVX512F__)
    if constexpr (lanes<Arch> == 16) {
        return Floats<Arch>(_mm512_mask_max_ps(b, _mm512_cmp_ps_mask(b, b, _CMP_ORD_Q), b, a));
    }
#endif
    // One of the two orders returns the NaN, and OR with other bits leaves it NaN.
    return max<Arch>(a, b) | max<Arch>(b, a);
#endif
}

/// Elements of images that are floats. Ops on elements of any type load, compute and store by such types: load(input,
/// src, n) and store(dst, value, n) take n elements, or as many as a vector has. Types that store some vectors of
/// neighbours together say how many: vectors_at_once.
template <class Arch>
struct FloatElements {
    using element = float;
    using Vector = Floats<Arch>;

    PRIMSEL_INLINE static Vector load(std::size_t, const float* src, std::size_t n) { return load_up_to<Arch>(src, n); }
    PRIMSEL_INLINE static Vector broadcast(std::size_t, const float* src) { return Vector(*src); }
    PRIMSEL_INLINE static void store(float* dst, Vector const& value, std::size_t n) {
        store_up_to<Arch>(dst, value, n);
    }
    PRIMSEL_INLINE static Vector product(Vector const& a, Vector const& b) { return a * b; }
    PRIMSEL_INLINE static Vector fma(Vector const& a, Vector const& b, Vector const& c) {
        return primsel::fma<Arch>(a, b, c);
    }
};

/// Stores n neighbours: value(i, count) returns the vector of `count` of them from the i-th on.
template <class Elements, class Value>
PRIMSEL_INLINE void store_row(Elements const& elements, typename Elements::element* dst, std::size_t n,
                              Value const& value) {
    using V = typename Elements::Vector;
    std::size_t i = 0;
    if constexpr (requires { Elements::vectors_at_once; }) {
        constexpr std::size_t some = Elements::vectors_at_once;
        for (; i + some * V::size <= n; i += some * V::size) {
            V values[some];
            PRIMSEL_UNROLL
            for (std::size_t v = 0; v < some; ++v) values[v] = value(i + v * V::size, V::size);
            elements.store_all(dst + i, values);
        }
    }
    for (; i < n; i += V::size) elements.store(dst + i, value(i, n - i), n - i);
}

}  // namespace primsel::inline PRIMSEL_ABI::op::detail
