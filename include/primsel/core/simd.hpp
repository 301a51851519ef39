// The only header that uses xsimd; all vectors come from here.
#pragma once

#include <primsel/core/config.hpp>

#include <concepts>
#include <cstddef>
#include <limits>
#include <string_view>
#include <type_traits>
#include <utility>

// g++ 12 warns of an uninitialised operand within its own unmasked AVX-512 intrinsics.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#if defined(__wasm__)
// xsimd looks for vectors of WebAssembly only where Emscripten is the compiler.
#include <xsimd/config/xsimd_config.hpp>
#undef XSIMD_WITH_WASM
#undef XSIMD_NO_SUPPORTED_ARCHITECTURE
#define XSIMD_WITH_WASM 1
#include <wasm_simd128.h>
#endif
#include <xsimd/xsimd.hpp>
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

namespace primsel::inline PRIMSEL_ABI {

/// The instruction set of this translation unit. On aarch64 it is always NEON: SVE vectors of fixed length have another
/// interface, and xsimd gives their alignment but not their size.
#if defined(__aarch64__)
using default_arch = xsimd::neon64;
#else
using default_arch = xsimd::default_arch;
#endif

/// An instruction set that this translation unit may use: one of xsimd's tags.
template <class A>
concept InstructionSet = requires {
    { A::name() } -> std::convertible_to<std::string_view>;
    requires A::supported();
} && xsimd::types::has_simd_register<float, A>::value && xsimd::batch<float, A>::size * sizeof(float) == A::alignment();

namespace core {
/// The tag of xsimd behind an Arch. A type that inherits from a tag and names it as `instructions` is an Arch, too: the
/// same instructions, in kernels of its own.
template <class Arch>
struct InstructionsOf {
    using type = Arch;
};
template <class Arch>
    requires requires { typename Arch::instructions; }
struct InstructionsOf<Arch> {
    using type = typename Arch::instructions;
};
}  // namespace core

/// A vector of floats of the Arch.
template <class Arch>
using Floats = xsimd::batch<float, typename core::InstructionsOf<Arch>::type>;

/// The number of floats in a vector of the Arch; known even where this translation unit may not use the Arch.
template <class Arch>
inline constexpr int lanes = static_cast<int>(Arch::alignment() / sizeof(float));

/// The number of vector registers of the Arch.
template <class Arch>
inline constexpr int registers =
#if defined(__aarch64__)
    32;
#else
    lanes<Arch> == 16 ? 32 : 16;
#endif

/// Returns a * b + c, with one rounding where the hardware has it.
template <class Arch>
PRIMSEL_INLINE Floats<Arch> fma(Floats<Arch> const& a, Floats<Arch> const& b, Floats<Arch> const& c) {
#if defined(__AVX512F__)
    // xsimd 8.1 multiplies and adds here, and clang does not fuse the two.
    if constexpr (lanes<Arch> == 16) return Floats<Arch>(_mm512_fmadd_ps(a, b, c));
#endif
#if defined(__wasm_relaxed_simd__)
    return Floats<Arch>(wasm_f32x4_relaxed_madd(a, b, c));
#else
    return xsimd::fma(a, b, c);
#endif
}

/// Whether half vectors can be multiplied, which takes half as long where vectors are computed in halves (Zen 4).
template <class Arch>
inline constexpr bool has_halves =
#if defined(__AVX512VL__)
    lanes<Arch> == 16;
#else
    false;
#endif

/// Adds a * b to a sum in the lower half of the lanes where has_halves; the upper half becomes zero. From intrinsics,
/// g++ 12 makes an insertion into a vector of zeros.
template <class Arch>
PRIMSEL_INLINE void add_low_product(Floats<Arch>& sum, Floats<Arch> const& a, Floats<Arch> const& b) {
#if defined(__AVX512VL__)
    if constexpr (has_halves<Arch>) {
        __m512 low = sum;
        asm("vfmadd231ps %t2, %t1, %t0" : "+v"(low) : "v"(__m512(a)), "v"(__m512(b)));
        sum = Floats<Arch>(low);
        return;
    }
#endif
    sum = fma<Arch>(a, b, sum);
}

/// Adds a times one of four lanes of b to a sum. The sum stays in its register: g++ 12 moves sums around in long loops.
template <class Arch, int lane>
PRIMSEL_INLINE void add_product_of_lane(Floats<Arch>& sum, Floats<Arch> const& a, Floats<Arch> const& b) {
#if defined(__aarch64__)
    asm("fmla %0.4s, %1.4s, %2.s[%3]" : "+w"(sum.data) : "w"(a.data), "w"(b.data), "i"(lane));
#else
    const auto value = b.data;
    sum = fma<Arch>(a, Floats<Arch>(__builtin_shufflevector(value, value, lane, lane, lane, lane)), sum);
#endif
}

/// Returns a where a > b, else b; so b where either is NaN and where both are zeros. The instructions are named here
/// because xsimd does not define which operand wins, and its versions differ.
template <class Arch>
PRIMSEL_INLINE Floats<Arch> max(Floats<Arch> const& a, Floats<Arch> const& b) {
#if defined(__AVX512F__)
    // The unmasked intrinsics make g++ 12 warn of an uninitialised value at every use.
    if constexpr (lanes<Arch> == 16) return Floats<Arch>(_mm512_maskz_max_ps(0xffff, a, b));
#endif
#if defined(__AVX__)
    if constexpr (lanes<Arch> == 8) return Floats<Arch>(_mm256_max_ps(a, b));
#endif
#if defined(__x86_64__)
    if constexpr (lanes<Arch> == 4) return Floats<Arch>(_mm_max_ps(a, b));
#elif defined(__wasm__)
    return Floats<Arch>(wasm_f32x4_pmax(b, a));
#else
    return xsimd::select(a > b, a, b);
#endif
}
/// Returns a where a < b, else b; so b where either is NaN and where both are zeros.
template <class Arch>
PRIMSEL_INLINE Floats<Arch> min(Floats<Arch> const& a, Floats<Arch> const& b) {
#if defined(__AVX512F__)
    if constexpr (lanes<Arch> == 16) return Floats<Arch>(_mm512_maskz_min_ps(0xffff, a, b));
#endif
#if defined(__AVX__)
    if constexpr (lanes<Arch> == 8) return Floats<Arch>(_mm256_min_ps(a, b));
#endif
#if defined(__x86_64__)
    if constexpr (lanes<Arch> == 4) return Floats<Arch>(_mm_min_ps(a, b));
#elif defined(__wasm__)
    return Floats<Arch>(wasm_f32x4_pmin(b, a));
#else
    return xsimd::select(a < b, a, b);
#endif
}

/// Returns the correctly rounded quotient.
template <class Arch>
PRIMSEL_INLINE Floats<Arch> quotient(Floats<Arch> const& a, Floats<Arch> const& b) {
#if defined(__aarch64__)
    return Floats<Arch>(vdivq_f32(a, b));  // xsimd 8.1 multiplies by an estimate of 1 / b
#else
    return a / b;
#endif
}

/// Returns the correctly rounded square root.
template <class Arch>
PRIMSEL_INLINE Floats<Arch> square_root(Floats<Arch> const& x) {
#if defined(__aarch64__)
    return Floats<Arch>(vsqrtq_f32(x));  // xsimd 8.1 multiplies by an estimate of 1 / sqrt(x), which fails at infinity
#else
    return xsimd::sqrt(x);
#endif
}

/// Returns the nearest integers, of two the even one.
template <class Arch>
PRIMSEL_INLINE Floats<Arch> nearest_integer(Floats<Arch> const& x) {
#if defined(__aarch64__)
    return Floats<Arch>(vrndnq_f32(x));  // xsimd 8.1 adds and subtracts a large number
#elif defined(__wasm__)
    return Floats<Arch>(wasm_f32x4_nearest(x));
#else
    return xsimd::nearbyint(x);
#endif
}

/// Returns the natural logarithm.
template <class Arch>
PRIMSEL_INLINE Floats<Arch> log(Floats<Arch> const& x) {
    if constexpr (lanes<Arch> == 16) {
#if defined(__AVX512F__)
        // Computed with the integers of the first AVX-512: xsimd 8.1's code for later ones does not compile with g++
        // -O0, where intrinsics are macros.
        using First = xsimd::batch<float, xsimd::avx512f>;
        return Floats<Arch>(__m512(xsimd::log(First(__m512(x)))));
#endif
    } else {
        return xsimd::log(x);
    }
}

/// Returns the value limited to [low, high]; NaN stays NaN.
template <class Arch>
PRIMSEL_INLINE Floats<Arch> clamp(Floats<Arch> const& value, Floats<Arch> const& low, Floats<Arch> const& high) {
    return min<Arch>(high, max<Arch>(low, value));
}
PRIMSEL_INLINE float clamp(float value, float low, float high) {
    const float raised = value < low ? low : value;
    return raised > high ? high : raised;
}

/// Returns the larger value: either of two zeros. Where one is NaN, NaN or b.
template <class Arch>
PRIMSEL_INLINE Floats<Arch> larger(Floats<Arch> const& a, Floats<Arch> const& b) {
#if defined(__aarch64__)
    return xsimd::max(a, b);  // one instruction, max takes two
#else
    return max<Arch>(a, b);
#endif
}
/// Returns the smaller value: either of two zeros. Where one is NaN, NaN or b.
template <class Arch>
PRIMSEL_INLINE Floats<Arch> smaller(Floats<Arch> const& a, Floats<Arch> const& b) {
#if defined(__aarch64__)
    return xsimd::min(a, b);
#else
    return min<Arch>(a, b);
#endif
}

/// Whether vectors are those of 64-bit ARM. One instruction loads or stores four neighbours there, and a clamp, which
/// is two comparisons and two selections, takes longer than to see that there are no bounds.
inline constexpr bool on_arm =
#if defined(__aarch64__)
    true;
#else
    false;
#endif

/// Forces the value into a register. Otherwise g++ may fold a load into the instructions that use it. Several
/// multiply-adds would then each read memory, and a masked move would read only when its mask is known. Nor does a
/// compiler that may reorder sums look through it.
template <class Arch>
PRIMSEL_INLINE Floats<Arch> in_register(Floats<Arch> const& value) {
    typename Floats<Arch>::register_type held = value;
#if defined(__x86_64__)
    asm("" : "+v"(held));
#endif
    return Floats<Arch>(held);
}

/// Returns the value. On ARM it is computed before what follows and after what comes before: g++ orders long blocks
/// there for processors that cannot do so themselves, and lets values wait in memory if registers run out.
template <class Arch>
PRIMSEL_INLINE Floats<Arch> in_order(Floats<Arch> const& value) {
#if defined(__aarch64__)
    typename Floats<Arch>::register_type held = value;
    asm volatile("" : "+w"(held));
    return Floats<Arch>(held);
#else
    return value;
#endif
}

/// Returns a * b, rounded. No compiler fuses it with a sum, so that it has the same bits on every instruction set.
template <class Arch>
PRIMSEL_INLINE Floats<Arch> rounded_product(Floats<Arch> const& a, Floats<Arch> const& b) {
    typename Floats<Arch>::register_type product = a * b;
#if defined(__x86_64__)
    asm("" : "+v"(product));
#elif defined(__aarch64__)
    asm("" : "+w"(product));
#endif
    return Floats<Arch>(product);
}

#if defined(__AVX512F__)
namespace core::detail {

/// 2^(i / 16), as the sum of two floats.
alignas(64) inline constexpr float sixteenths_of_two[16] = {
    0x1p+0F,        0x1.0b5586p+0F, 0x1.172b84p+0F, 0x1.2387a6p+0F, 0x1.306fe0p+0F, 0x1.3dea64p+0F,
    0x1.4bfdaep+0F, 0x1.5ab07ep+0F, 0x1.6a09e6p+0F, 0x1.7a1148p+0F, 0x1.8ace54p+0F, 0x1.9c4918p+0F,
    0x1.ae89fap+0F, 0x1.c199bep+0F, 0x1.d5818ep+0F, 0x1.ea4afap+0F};
alignas(64) inline constexpr float rests_of_sixteenths[16] = {
    0x0p+0F,          0x1.9f3122p-25F,  -0x1.c15742p-27F, 0x1.ceac48p-25F, 0x1.4636e2p-25F, 0x1.824684p-25F,
    -0x1.593abcp-25F, -0x1.5bd5ecp-27F, 0x1.9fcef4p-26F,  -0x1.829fdp-25F, 0x1.15506ep-27F, 0x1.51f848p-27F,
    -0x1.a94b14p-26F, -0x1.3d56b2p-27F, -0x1.822dbcp-27F, 0x1.52486cp-27F};

/// e^x = 2^k root e^r with |r| <= ln(2) / 32 and root = 2^(i / 16). scalef rounds `exponent`, k + i / 16, down to k.
template <class Arch>
struct SixteenthsOfTwo {
    using V = Floats<Arch>;
    V shifted, exponent, r;

    /// |x| must be below 1e5.
    PRIMSEL_INLINE explicit SixteenthsOfTwo(V const& x)
        : shifted(in_register<Arch>(fma<Arch>(x, V(1.44269504F), V(no_fractions)))),
          exponent(shifted - V(no_fractions)),
          r(fma<Arch>(exponent, V(2.12194440e-4F), fma<Arch>(exponent, V(-0.693359375F), x))) {}

    [[nodiscard]] PRIMSEL_INLINE V root() const { return of(sixteenths_of_two); }
    [[nodiscard]] PRIMSEL_INLINE V rest_of_root() const { return of(rests_of_sixteenths); }
    /// e^r - 1. The rest of the series is below 1e-8; with a fourth term, below 5e-11.
    [[nodiscard]] PRIMSEL_INLINE V series(V const& third = V(1.0F / 6)) const {
        return fma<Arch>(fma<Arch>(r, third, V(0.5F)), r * r, r);
    }
    [[nodiscard]] PRIMSEL_INLINE V longer_series() const { return series(fma<Arch>(r, V(1.0F / 24), V(1.0F / 6))); }
    /// value * 2^k.
    [[nodiscard]] PRIMSEL_INLINE V scaled(V const& value) const {
        return V(_mm512_maskz_scalef_ps(0xffff, value, exponent));
    }

private:
    /// A float of this size has no room for smaller fractions than sixteenths: the lowest four bits of `shifted` are i.
    static constexpr float no_fractions = 0x1.8p19F;
    [[nodiscard]] PRIMSEL_INLINE V of(const float* table) const {
        return V(_mm512_maskz_permutexvar_ps(0xffff, _mm512_castps_si512(shifted), _mm512_load_ps(table)));
    }
};

}  // namespace core::detail
#endif

/// Returns e^x within 1.5 ulps for normal results; infinity only where that is the nearest float. Subnormal results are
/// 0. With AVX-512 they are the nearest subnormal number, unless the processor flushes those. NaN stays NaN. Without
/// may_overflow, x must be at most 88.
template <class Arch, bool may_overflow = true>
PRIMSEL_INLINE Floats<Arch> exp(Floats<Arch> const& x) {
    using V = Floats<Arch>;
#if defined(__AVX512F__)
    if constexpr (lanes<Arch> == 16) {
        const core::detail::SixteenthsOfTwo<Arch> power(clamp<Arch>(x, V(-104.0F), V(89.0F)));
        const V root = power.root();
        return power.scaled(fma<Arch>(root, power.series(), root));
    }
#endif
    // e^x = 2^k e^r with |r| <= ln(2) / 2. ln(2) is subtracted in two parts; the polynomial is that of Boost.SIMD.
    // A float of this size has no room for fractions: the lowest bits of `shifted` are k, or k + 127, those of 2^k.
    constexpr float no_fractions = 0x1.8p23F + (may_overflow ? 0.0F : 127.0F);
    const V shifted = in_register<Arch>(fma<Arch>(x, V(1.44269504F), V(no_fractions))), k = shifted - V(no_fractions);
    const V r = fma<Arch>(k, V(2.12194440e-4F), fma<Arch>(k, V(-0.693359375F), x)), square = r * r;
    const V lower = fma<Arch>(r, V(0x1.55534ap-3F), V(0.5F)),
            upper = fma<Arch>(r, V(0x1.131b16p-7F), V(0x1.5552aep-5F));
    const V series = fma<Arch>(square, fma<Arch>(square, V(0x1.6ef19ep-10F), upper), lower);
    const V power = fma<Arch>(series, square, r) + V(1.0F);
    using Register = typename V::register_type;
    using Integers [[gnu::vector_size(sizeof(Register))]] = unsigned;
    const auto bits = [](V const& value) { return reinterpret_cast<Integers>(static_cast<Register>(value)); };
    const Integers exponent = bits(shifted) << 23;
    V scaled;  // not used if x is out of range
    if constexpr (may_overflow) {
        scaled = V(reinterpret_cast<Register>(bits(power) + exponent));  // for k = 128 too
    } else {
        scaled = power * V(reinterpret_cast<Register>(exponent));
    }
    const V held = xsimd::select(x < V(-87.33654F), V(0.0F), scaled);  // below ln(2^-126)
    if constexpr (!may_overflow) return held;
    return xsimd::select(x < V(88.7228394F), held, x * V(std::numeric_limits<float>::infinity()));
}

/// Returns e^x - 1 within 2 ulps for x <= 88, the only x that are allowed beside NaN, which stays NaN.
template <class Arch>
PRIMSEL_INLINE Floats<Arch> exp_minus_one(Floats<Arch> const& x) {
#if defined(__AVX512F__)
    if constexpr (lanes<Arch> == 16) {
        using V = Floats<Arch>;
        const core::detail::SixteenthsOfTwo<Arch> power(max<Arch>(V(-104.0F), x));
        // The difference of powers of two has no error near x = 0, where it matters.
        const V whole = power.scaled(power.root()), rest = power.scaled(power.rest_of_root());
        return fma<Arch>(whole, power.longer_series(), (whole - V(1.0F)) + rest);
    }
#endif
    return xsimd::expm1(x);
}

template <class Arch>
PRIMSEL_INLINE Floats<Arch> load(const float* src) {
    return Floats<Arch>::load_unaligned(src);
}
template <class Arch>
PRIMSEL_INLINE Floats<Arch> load_once(const float* src) {
    return in_register<Arch>(load<Arch>(src));
}
/// Loads a vector by an instruction of its own. ARM's processors split a load of a pair into more than two operations.
template <class Arch>
PRIMSEL_INLINE Floats<Arch> load_alone(const float* src) {
#if defined(__aarch64__)
    using Vector [[gnu::vector_size(16), gnu::aligned(4), gnu::may_alias]] = float;
    return Floats<Arch>(*reinterpret_cast<const volatile Vector*>(src));
#else
    return load<Arch>(src);
#endif
}
template <class Arch>
PRIMSEL_INLINE void store(float* dst, Floats<Arch> const& value) {
    value.store_unaligned(dst);
}
/// Loads a vector and advances the address by `step` floats: one instruction of ARM, which compilers do not choose.
template <class Arch>
PRIMSEL_INLINE Floats<Arch> load_and_advance(const float*& src, std::ptrdiff_t step) {
#if defined(__aarch64__)
    typename Floats<Arch>::register_type value;
    asm("ld1 {%0.4s}, [%1], %2"
        : "=w"(value), "+r"(src)
        : "r"(step * 4), "m"(*reinterpret_cast<const float(*)[4]>(src)));
    return Floats<Arch>(value);
#else
    const Floats<Arch> value = load<Arch>(src);
    src += step;
    return value;
#endif
}
/// Stores a vector and advances the address by `step` floats.
template <class Arch>
PRIMSEL_INLINE void store_and_advance(float*& dst, Floats<Arch> const& value, std::ptrdiff_t step) {
#if defined(__aarch64__)
    asm("st1 {%2.4s}, [%1], %3"
        : "=m"(*reinterpret_cast<float(*)[4]>(dst)), "+r"(dst)
        : "w"(value.data), "r"(step * 4));
#else
    store<Arch>(dst, value);
    dst += step;
#endif
}
/// The first lanes of a vector, at least one, loaded and stored without touching the floats behind them.
template <class Arch>
class FirstLanes {
public:
    PRIMSEL_INLINE explicit FirstLanes(int count) : count_(count) {}

    /// Loads the lanes; the others are zero.
    [[nodiscard]] PRIMSEL_INLINE Floats<Arch> load(const float* src) const {
#if defined(__AVX512F__)
        if constexpr (lanes<Arch> == 16) return Floats<Arch>(_mm512_maskz_loadu_ps(bits(), src));
#endif
#if defined(__AVX__)
        if constexpr (lanes<Arch> == 8) return Floats<Arch>(_mm256_maskload_ps(src, signs()));
#endif
        alignas(alignof(Floats<Arch>)) float all[lanes<Arch>]{};
        for (int i = 0; i < count_; ++i) all[i] = src[i];
        return Floats<Arch>::load_aligned(all);
    }
    PRIMSEL_INLINE void store(float* dst, Floats<Arch> const& value) const {
#if defined(__AVX512F__)
        if constexpr (lanes<Arch> == 16) return _mm512_mask_storeu_ps(dst, bits(), value);
#endif
#if defined(__AVX__)
        if constexpr (lanes<Arch> == 8) return _mm256_maskstore_ps(dst, signs(), value);
#endif
        alignas(alignof(Floats<Arch>)) float all[lanes<Arch>];
        value.store_aligned(all);
        for (int i = 0; i < count_; ++i) dst[i] = all[i];
    }

private:
#if defined(__AVX512F__)
    [[nodiscard]] PRIMSEL_INLINE __mmask16 bits() const { return static_cast<__mmask16>((1U << count_) - 1); }
#endif
#if defined(__AVX__)
    [[nodiscard]] PRIMSEL_INLINE __m256i signs() const {
        static constexpr int from[16]{-1, -1, -1, -1, -1, -1, -1, -1};
        return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + 8 - count_));
    }
#endif
    int count_;
};

/// All lanes of a vector: the counterpart of FirstLanes for full vectors.
template <class Arch>
struct AllLanes {
    [[nodiscard]] PRIMSEL_INLINE Floats<Arch> load(const float* src) const { return primsel::load<Arch>(src); }
    PRIMSEL_INLINE void store(float* dst, Floats<Arch> const& value) const { primsel::store<Arch>(dst, value); }
};

/// The lower half of the lanes, or all of them without has_halves: a counterpart of AllLanes. The upper half of what is
/// loaded is zero.
template <class Arch>
struct LowLanes {
    [[nodiscard]] PRIMSEL_INLINE Floats<Arch> load(const float* src) const {
#if defined(__AVX512VL__)
        if constexpr (has_halves<Arch>) return Floats<Arch>(_mm512_zextps256_ps512(_mm256_loadu_ps(src)));
#endif
        return primsel::load<Arch>(src);
    }
    PRIMSEL_INLINE void store(float* dst, Floats<Arch> const& value) const {
#if defined(__AVX512VL__)
        if constexpr (has_halves<Arch>) return _mm256_storeu_ps(dst, _mm512_castps512_ps256(value));
#endif
        primsel::store<Arch>(dst, value);
    }
};

template <class Arch>
PRIMSEL_INLINE Floats<Arch> broadcast(float value) {
    return Floats<Arch>(value);
}

/// Copies in each run of `size` lanes the lane at position `at` to all of the run. `size` divides the number of lanes.
template <class Arch, int size, int at>
PRIMSEL_INLINE Floats<Arch> repeat_lane(Floats<Arch> const& x) {
    static_assert(lanes<Arch> % size == 0 && at < size);
    const typename Floats<Arch>::register_type all = x;
    return [&]<int... lane>(std::integer_sequence<int, lane...>) {
        return Floats<Arch>(__builtin_shufflevector(all, all, (lane / size * size + at)...));
    }(std::make_integer_sequence<int, lanes<Arch>>{});
}

/// A vector of four floats, which every supported instruction set has.
#if defined(__aarch64__)
using FourFloats = xsimd::batch<float, xsimd::neon64>;
#else
using FourFloats = xsimd::make_sized_batch_t<float, 4>;
#endif

/// Transposes a 4 x 4 matrix in place.
PRIMSEL_INLINE void transpose(FourFloats& r0, FourFloats& r1, FourFloats& r2, FourFloats& r3) {
    const FourFloats a = xsimd::zip_lo(r0, r2), b = xsimd::zip_hi(r0, r2);
    const FourFloats c = xsimd::zip_lo(r1, r3), d = xsimd::zip_hi(r1, r3);
    r0 = xsimd::zip_lo(a, c), r1 = xsimd::zip_hi(a, c);
    r2 = xsimd::zip_lo(b, d), r3 = xsimd::zip_hi(b, d);
}

}  // namespace primsel::inline PRIMSEL_ABI
