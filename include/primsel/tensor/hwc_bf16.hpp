#pragma once

#include <primsel/core/bfloat16.hpp>
#include <primsel/core/work.hpp>
#include <primsel/tensor/detail/narrow_hwc.hpp>
#include <primsel/tensor/layout.hpp>

#include <cstddef>
#include <string_view>

namespace primsel::inline PRIMSEL_ABI {

/// Rows, then columns, then channels in bfloat16. Zeros follow the channels of a pixel: a pixel has 2, 4, 8 or 16
/// elements, or a multiple of 32, a cache line.
struct hwc_bf16 : tensor::detail::NarrowHwc<bfloat16> {
    static constexpr std::string_view name = "hwc_bf16";
    static constexpr Precision precision = Precision::bf16;

    template <class Other>
        requires of_floats<Other>
    static void transform_from(Other, Shape shape, const float* src, float* dst, ExecutorRef executor) noexcept {
        from_floats<Other>(shape, src, reinterpret_cast<bfloat16*>(dst), executor,
                           [](const float* floats, std::size_t n, bfloat16* elements) { narrow(floats, n, elements); });
    }
    template <class Other>
        requires of_floats<Other>
    static void transform_to(Other, Shape shape, const float* src, float* dst, ExecutorRef executor) noexcept {
        to_floats<Other>(shape, reinterpret_cast<const bfloat16*>(src), dst, executor,
                         [](const bfloat16* elements, std::size_t n, float* floats) { widen(elements, n, floats); });
    }
};

}  // namespace primsel::inline PRIMSEL_ABI
