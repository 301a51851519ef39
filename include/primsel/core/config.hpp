// All of primsel's macros live here.
#pragma once

#ifdef PRIMSEL_SINGLE_INCLUDE
#error "primsel: the single header is the whole library; include it alone, or the headers of include/ alone"
#endif

#define PRIMSEL_VERSION_MAJOR 0
#define PRIMSEL_VERSION_MINOR 1
#define PRIMSEL_VERSION_PATCH 0
#define PRIMSEL_VERSION "0.1.0"

// What is needed, in words, before anything else fails for want of it.
#if __cplusplus < 202002L
#error "primsel: C++20 is needed: compile with -std=c++20 or newer"
#elif defined(_WIN32)
#error "primsel: Windows is not supported (Linux and macOS are; so is Linux within Windows, WSL)"
#elif !(defined(__x86_64__) || defined(__aarch64__)) || __SIZEOF_POINTER__ != 8 || \
    __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "primsel: this processor is not supported (64-bit x86 and little-endian 64-bit ARM are: x86-64 and aarch64)"
#endif

// The instruction set that this translation unit is compiled for, as a name. It becomes part of every symbol (see
// PRIMSEL_ABI), so that translation units compiled for different instruction sets may be linked into one program.
#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__)
#define PRIMSEL_ARCH_NAME avx512
#elif defined(__AVX2__) && defined(__FMA__)
#define PRIMSEL_ARCH_NAME avx2
#elif defined(__AVX__)
#define PRIMSEL_ARCH_NAME avx
#elif defined(__SSE4_2__)
#define PRIMSEL_ARCH_NAME sse4_2
#elif defined(__SSE2__)
#define PRIMSEL_ARCH_NAME sse2
#elif defined(__aarch64__)
#define PRIMSEL_ARCH_NAME neon64
#else
#error "primsel: this instruction set is not supported yet (x86-64 and aarch64 are)"
#endif

#ifdef PRIMSEL_EXTERN_KERNELS
#define PRIMSEL_DETAIL_PASTE(a, b, c, d) v##a##_##b##_##c##_##d##_extern
#else
#define PRIMSEL_DETAIL_PASTE(a, b, c, d) v##a##_##b##_##c##_##d
#endif
#define PRIMSEL_DETAIL_ABI(a, b, c, d) PRIMSEL_DETAIL_PASTE(a, b, c, d)
// The inline namespace of everything: the version, the instruction set, and whether kernels are compiled elsewhere
// (engine/instantiate.hpp), e.g. v0_1_0_avx512.
#define PRIMSEL_ABI \
    PRIMSEL_DETAIL_ABI(PRIMSEL_VERSION_MAJOR, PRIMSEL_VERSION_MINOR, PRIMSEL_VERSION_PATCH, PRIMSEL_ARCH_NAME)

// Unroll the following loop completely: register tiles live in registers only if every index is a constant. Or two
// steps of it, to halve what the loop itself costs.
#if defined(__clang__)
#define PRIMSEL_UNROLL _Pragma("clang loop unroll(full)")
#define PRIMSEL_UNROLL_TWICE _Pragma("clang loop unroll_count(2)")
#else
#define PRIMSEL_UNROLL _Pragma("GCC unroll 64")
#define PRIMSEL_UNROLL_TWICE _Pragma("GCC unroll 2")
#endif

#define PRIMSEL_INLINE inline __attribute__((always_inline))
#define PRIMSEL_INLINE_LAMBDA __attribute__((always_inline))
#define PRIMSEL_NOINLINE __attribute__((noinline))
#define PRIMSEL_RESTRICT __restrict__
