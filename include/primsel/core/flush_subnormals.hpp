#pragma once

#include <primsel/core/config.hpp>

#include <cstdint>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace primsel::inline PRIMSEL_ABI {

namespace core::detail {

/// The bits of the thread's floating-point mode that flush subnormal numbers; 0 where there is no such mode.
#if defined(__x86_64__)
inline constexpr std::uint64_t flush_mode = 0x8040;  // flush to zero, and denormals are zeros
[[nodiscard]] PRIMSEL_INLINE std::uint64_t float_mode() noexcept { return _mm_getcsr(); }
/// Sets the mode. The compiler moves no access to memory across it.
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

/// Sets the thread's mode, and restores the former one in the destructor.
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

/// Makes the thread treat subnormal numbers (below 1.2e-38) as 0 while this object lives, as operands and as results.
/// The destructor restores the former mode. Some processors compute a hundred times more slowly with subnormals.
/// Without such a mode it does nothing.
using FlushSubnormals = core::detail::SubnormalScope<true>;
/// Makes the thread compute with subnormal numbers exactly while this object lives, also within a FlushSubnormals.
using KeepSubnormals = core::detail::SubnormalScope<false>;

/// Returns whether this thread treats subnormals as 0 now.
[[nodiscard]] inline bool flushes_subnormals() noexcept {
    return core::detail::flush_mode != 0 &&
           (core::detail::float_mode() & core::detail::flush_mode) == core::detail::flush_mode;
}

}  // namespace primsel::inline PRIMSEL_ABI
