// All of primsel's macros.
#pragma once

#ifdef PRIMSEL_SINGLE_INCLUDE
#error "primsel: the single header is the whole library; include it alone, or the headers of include/ alone"
#endif

#define PRIMSEL_VERSION_MAJOR 0
#define PRIMSEL_VERSION_MINOR 1
#define PRIMSEL_VERSION_PATCH 0
#define PRIMSEL_VERSION "0.1.0"

// Requirements on the compiler, checked first so that the message is readable.
#if __cplusplus < 202002L
#error "primsel: C++20 is needed: compile with -std=c++20 or newer"
#elif defined(min) || defined(max)
#error "primsel: min or max is a macro: define NOMINMAX before <windows.h>, or include primsel before it"
#elif defined(__wasm__)
#ifndef __wasm_simd128__
#error "primsel: WebAssembly is supported with vectors only: compile with -msimd128"
#endif
#elif !(defined(__x86_64__) || defined(__aarch64__)) || __SIZEOF_POINTER__ != 8 || \
    __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "primsel: this processor is not supported (x86-64, little-endian aarch64 and WebAssembly are)"
#endif

// Whether the system makes copies of a process.
#if defined(_WIN32) || defined(__wasm__)
#define PRIMSEL_HAS_FORK 0
#else
#define PRIMSEL_HAS_FORK 1
#endif

// The name of the instruction set that this translation unit is compiled for. It is part of every symbol (see
// PRIMSEL_ABI), so that units compiled for different instruction sets may be linked into one program. The name consists
// of a level and the extensions that the compiler or xsimd may use, four for each hexadecimal digit.
#if defined(__AVX512F__)
#define PRIMSEL_DETAIL_LEVEL avx512
#elif defined(__AVX2__)
#define PRIMSEL_DETAIL_LEVEL avx2
#elif defined(__AVX__)
#define PRIMSEL_DETAIL_LEVEL avx
#elif defined(__SSE4_2__)
#define PRIMSEL_DETAIL_LEVEL sse4_2
#elif defined(__SSE2__)
#define PRIMSEL_DETAIL_LEVEL sse2
#elif defined(__ARM_FEATURE_SVE)
#define PRIMSEL_DETAIL_LEVEL sve
#elif defined(__aarch64__)
#define PRIMSEL_DETAIL_LEVEL neon64
#elif defined(__wasm__)
#define PRIMSEL_DETAIL_LEVEL wasm
#else
#error "primsel: this instruction set is not supported yet (x86-64, aarch64 and WebAssembly are)"
#endif

// Macros that give 1 for a macro defined as 1 and else 0, and the hexadecimal digit of four such macros.
#define PRIMSEL_DETAIL_IF_1 ~, 1
#define PRIMSEL_DETAIL_SECOND(a, b, ...) b
#define PRIMSEL_DETAIL_CALL_SECOND(...) PRIMSEL_DETAIL_SECOND(__VA_ARGS__)
#define PRIMSEL_DETAIL_BIT_OF(value) PRIMSEL_DETAIL_CALL_SECOND(PRIMSEL_DETAIL_IF_##value, 0, 0)
#define PRIMSEL_DETAIL_BIT(macro) PRIMSEL_DETAIL_BIT_OF(macro)
#define PRIMSEL_DETAIL_DIGIT_0000 0
#define PRIMSEL_DETAIL_DIGIT_0001 1
#define PRIMSEL_DETAIL_DIGIT_0010 2
#define PRIMSEL_DETAIL_DIGIT_0011 3
#define PRIMSEL_DETAIL_DIGIT_0100 4
#define PRIMSEL_DETAIL_DIGIT_0101 5
#define PRIMSEL_DETAIL_DIGIT_0110 6
#define PRIMSEL_DETAIL_DIGIT_0111 7
#define PRIMSEL_DETAIL_DIGIT_1000 8
#define PRIMSEL_DETAIL_DIGIT_1001 9
#define PRIMSEL_DETAIL_DIGIT_1010 a
#define PRIMSEL_DETAIL_DIGIT_1011 b
#define PRIMSEL_DETAIL_DIGIT_1100 c
#define PRIMSEL_DETAIL_DIGIT_1101 d
#define PRIMSEL_DETAIL_DIGIT_1110 e
#define PRIMSEL_DETAIL_DIGIT_1111 f
#define PRIMSEL_DETAIL_PASTE_DIGIT(a, b, c, d) PRIMSEL_DETAIL_DIGIT_##a##b##c##d
#define PRIMSEL_DETAIL_CALL_DIGIT(a, b, c, d) PRIMSEL_DETAIL_PASTE_DIGIT(a, b, c, d)
#define PRIMSEL_DETAIL_DIGIT(a, b, c, d)                                                           \
    PRIMSEL_DETAIL_CALL_DIGIT(PRIMSEL_DETAIL_BIT(a), PRIMSEL_DETAIL_BIT(b), PRIMSEL_DETAIL_BIT(c), \
                              PRIMSEL_DETAIL_BIT(d))

#define PRIMSEL_DETAIL_PASTE_NAME(level, a, b, c, d, e, f, g, h, i, j) level##_##a##b##c##d##e##f##g##h##i##j
#define PRIMSEL_DETAIL_NAME(level, a, b, c, d, e, f, g, h, i, j) \
    PRIMSEL_DETAIL_PASTE_NAME(level, a, b, c, d, e, f, g, h, i, j)
// -ffast-math is one of the bits: it removes NaN handling from functions, of which the linker keeps only one copy.
#if defined(__x86_64__)
#define PRIMSEL_ARCH_NAME                                                                                            \
    PRIMSEL_DETAIL_NAME(PRIMSEL_DETAIL_LEVEL, PRIMSEL_DETAIL_DIGIT(__FAST_MATH__, __SSE3__, __SSSE3__, __SSE4_1__),  \
                        PRIMSEL_DETAIL_DIGIT(__POPCNT__, __LZCNT__, __MOVBE__, __CRC32__),                           \
                        PRIMSEL_DETAIL_DIGIT(__BMI__, __BMI2__, __TBM__, __SSE4A__),                                 \
                        PRIMSEL_DETAIL_DIGIT(__FMA__, __F16C__, __FMA4__, __XOP__),                                  \
                        PRIMSEL_DETAIL_DIGIT(__AVX512CD__, __AVX512VL__, __AVX512BW__, __AVX512DQ__),                \
                        PRIMSEL_DETAIL_DIGIT(__AVX512ER__, __AVX512PF__, __AVX512IFMA__, __AVXIFMA__),               \
                        PRIMSEL_DETAIL_DIGIT(__AVX512VBMI__, __AVX512VBMI2__, __AVX512VNNI__, __AVXVNNI__),          \
                        PRIMSEL_DETAIL_DIGIT(__AVX512BITALG__, __AVX512VPOPCNTDQ__, __AVX512BF16__, __AVX512FP16__), \
                        PRIMSEL_DETAIL_DIGIT(__GFNI__, __ADX__, __APX_F__, __AVX10_1__),                             \
                        PRIMSEL_DETAIL_DIGIT(__AVXVNNIINT8__, __AVXVNNIINT16__, __AVXNECONVERT__, __AVX10_2__))
#elif defined(__wasm__)
#define PRIMSEL_ARCH_NAME                                                                                              \
    PRIMSEL_DETAIL_NAME(PRIMSEL_DETAIL_LEVEL,                                                                          \
                        PRIMSEL_DETAIL_DIGIT(__FAST_MATH__, __wasm_relaxed_simd__, __wasm_fp16__, __wasm_atomics__), , \
                        , , , , , , , )
#else
#ifdef __ARM_FEATURE_SVE_BITS
#define PRIMSEL_DETAIL_SVE_BITS __ARM_FEATURE_SVE_BITS
#else
#define PRIMSEL_DETAIL_SVE_BITS 0
#endif
#define PRIMSEL_ARCH_NAME                                                                                              \
    PRIMSEL_DETAIL_NAME(                                                                                               \
        PRIMSEL_DETAIL_LEVEL,                                                                                          \
        PRIMSEL_DETAIL_DIGIT(__FAST_MATH__, __ARM_FEATURE_ATOMICS, __ARM_FEATURE_CRC32, __ARM_FEATURE_QRDMX),          \
        PRIMSEL_DETAIL_DIGIT(__ARM_FEATURE_FP16_VECTOR_ARITHMETIC, __ARM_FEATURE_FP16_SCALAR_ARITHMETIC,               \
                             __ARM_FEATURE_FP16_FML, __ARM_FEATURE_BF16),                                              \
        PRIMSEL_DETAIL_DIGIT(__ARM_FEATURE_DOTPROD, __ARM_FEATURE_MATMUL_INT8, __ARM_FEATURE_COMPLEX,                  \
                             __ARM_FEATURE_JCVT),                                                                      \
        PRIMSEL_DETAIL_DIGIT(__ARM_FEATURE_FRINT, __ARM_FEATURE_RCPC, __ARM_FEATURE_MOPS, __ARM_FEATURE_CSSC),         \
        PRIMSEL_DETAIL_DIGIT(__ARM_FEATURE_SVE2, __ARM_FEATURE_SVE2_BITPERM, __ARM_FEATURE_SVE2p1, __ARM_FEATURE_SME), \
        _, PRIMSEL_DETAIL_SVE_BITS, , , )
#endif

#ifdef PRIMSEL_EXTERN_KERNELS
#define PRIMSEL_DETAIL_PASTE(a, b, c, d) v##a##_##b##_##c##_##d##_extern
#else
#define PRIMSEL_DETAIL_PASTE(a, b, c, d) v##a##_##b##_##c##_##d
#endif
#define PRIMSEL_DETAIL_ABI(a, b, c, d) PRIMSEL_DETAIL_PASTE(a, b, c, d)
// The inline namespace of all names: the version, the instruction set, and whether kernels are compiled elsewhere
// (engine/instantiate.hpp), e.g. v0_1_0_avx512_7cc8f0f800.
#define PRIMSEL_ABI \
    PRIMSEL_DETAIL_ABI(PRIMSEL_VERSION_MAJOR, PRIMSEL_VERSION_MINOR, PRIMSEL_VERSION_PATCH, PRIMSEL_ARCH_NAME)

// The names of the instruction set and of the inline namespace, as texts.
#define PRIMSEL_DETAIL_TEXT_OF(name) #name
#define PRIMSEL_DETAIL_TEXT(name) PRIMSEL_DETAIL_TEXT_OF(name)
#define PRIMSEL_ARCH_TEXT PRIMSEL_DETAIL_TEXT(PRIMSEL_ARCH_NAME)
#define PRIMSEL_ABI_TEXT PRIMSEL_DETAIL_TEXT(PRIMSEL_ABI)

// Unrolls the following loop completely: a register tile stays in registers only if every index is a constant. The
// second macro unrolls by two, which halves the cost of the loop itself.
#if defined(__clang__)
#define PRIMSEL_UNROLL _Pragma("clang loop unroll(full)")
#define PRIMSEL_UNROLL_TWICE _Pragma("clang loop unroll_count(2)")
#else
#define PRIMSEL_UNROLL _Pragma("GCC unroll 64")
#define PRIMSEL_UNROLL_TWICE _Pragma("GCC unroll 2")
#endif

#define PRIMSEL_INLINE inline __attribute__((always_inline))
#define PRIMSEL_INLINE_LAMBDA __attribute__((always_inline))
// For ARM alone, where g++ must see through lambdas before it meets instructions that are written out.
#if defined(__aarch64__)
#define PRIMSEL_INLINE_LAMBDA_ON_ARM PRIMSEL_INLINE_LAMBDA
#else
#define PRIMSEL_INLINE_LAMBDA_ON_ARM
#endif
#define PRIMSEL_NOINLINE __attribute__((noinline))
#define PRIMSEL_RESTRICT __restrict__
