#pragma once

#include <primsel/core/config.hpp>

#include <cstdint>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace primsel::inline PRIMSEL_ABI {

namespace core::detail {

/// How a thread treats subnormal numbers, as bits of its floating-point mode; 0 where there is no such mode.
#if defined(__x86_64__)
inline constexpr std::uint64_t flush_mode = 0x8040;  // flush to zero, and denormals are zeros
[[nodiscard]] PRIMSEL_INLINE std::uint64_t float_mode() noexcept { return _mm_getcsr(); }
/// Nothing that is read or written moves from one mode into the other.
PRIMSEL_INLINE void set_float_mode(std::uint64_t mode) noexcept {
    asm volatile("" ::: "memory");
    _mm_setcsr(static_cast<unsigned>(mode));
    asm volatile("" ::: "memory");
}
#elif defined(__aarch64__)
inline constexpr std::uint64_t flush_mode = 1U << 24;  // FPCR.FZ
[[nodiscard]] PRIMSEL_INLINE std::uint64_t float_mode() noexcept {
    std::uint64_t value;
    asm volatile("mrs %0, fpcr" : "=r"(value));
    return value;
}
PRIMSEL_INLINE void set_float_mode(std::uint64_t mode) noexcept { asm volatile("msr fpcr, %0" ::"r"(mode) : "memory"); }
#else
inline constexpr std::uint64_t flush_mode = 0;
[[nodiscard]] inline std::uint64_t float_mode() noexcept { return 0; }
inline void set_float_mode(std::uint64_t) noexcept {}
#endif

/// Sets the mode of this thread, and the one before when it ends.
template <bool flushes>
class SubnormalScope {
public:
    SubnormalScope() noexcept : before_(float_mode()) {
        if (mode() != before_) set_float_mode(mode());
    }
    SubnormalScope(SubnormalScope const&) = delete;
    SubnormalScope& operator=(SubnormalScope const&) = delete;
    ~SubnormalScope() {
        if (mode() != before_) set_float_mode(before_);
    }

private:
    [[nodiscard]] std::uint64_t mode() const noexcept { return flushes ? before_ | flush_mode : before_ & ~flush_mode; }

    std::uint64_t before_;
};

}  // namespace core::detail

/// While it lives, its thread takes subnormal numbers (below 1.2e-38) for 0, as operands and as results; the mode
/// before is restored then. Some processors compute with subnormals a hundred times as slowly. Without such a mode it
/// does nothing.
using FlushSubnormals = core::detail::SubnormalScope<true>;
/// The reverse, within the scope of the other.
using KeepSubnormals = core::detail::SubnormalScope<false>;

/// Whether this thread takes subnormals for 0 now.
[[nodiscard]] inline bool flushes_subnormals() noexcept {
    return core::detail::flush_mode != 0 && (core::detail::float_mode() & core::detail::flush_mode) == core::detail::flush_mode;
}

}  // namespace primsel::inline PRIMSEL_ABI
