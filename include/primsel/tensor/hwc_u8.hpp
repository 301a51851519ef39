#pragma once

#include <primsel/core/short_floats.hpp>
#include <primsel/core/work.hpp>
#include <primsel/tensor/bytes.hpp>
#include <primsel/tensor/detail/narrow_hwc.hpp>
#include <primsel/tensor/hwc_short_floats.hpp>
#include <primsel/tensor/layout.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace primsel::inline PRIMSEL_ABI {

/// Rows, then columns, then channels as bytes of the tensor's range. A pixel has 4, 8, 16 or 32 bytes, or a multiple of
/// 64, a cache line. Bytes behind its channels have no meaning: kernels may read them but need not write them.
struct hwc_u8 : tensor::detail::NarrowHwc<std::uint8_t> {
    static constexpr std::string_view name = "hwc_u8";
    static constexpr Precision precision = Precision::int8;

    template <class Other>
        requires of_floats<Other>
    static void transform_from(Other, Shape shape, const float* src, float* dst, ExecutorRef executor,
                               TensorRange const& range) noexcept {
        const ToBytes to(range);
        from_floats<Other>(
            shape, src, reinterpret_cast<std::uint8_t*>(dst), executor,
            [&to](const float* floats, std::size_t n, std::uint8_t* bytes) { to_bytes(floats, n, to, bytes); });
    }
    template <class Other>
        requires of_floats<Other>
    static void transform_to(Other, Shape shape, const float* src, float* dst, ExecutorRef executor,
                             TensorRange const& range) noexcept {
        to_floats<Other>(
            shape, reinterpret_cast<const std::uint8_t*>(src), dst, executor,
            [&range](const std::uint8_t* bytes, std::size_t n, float* floats) { from_bytes(bytes, n, range, floats); });
    }

    template <ShortFloatLayout Other>
    static void transform_from(Other, Shape shape, const float* src, float* dst, ExecutorRef executor,
                               TensorRange const& range) noexcept {
        using Short = element_of<Other>;
        const ToBytes to(range);
        from_elements<NarrowHwc<Short>>(
            shape, reinterpret_cast<const Short*>(src), reinterpret_cast<std::uint8_t*>(dst), executor,
            [](const Short* elements, std::size_t n, float* floats) { widen(elements, n, floats); },
            [&to](const float* floats, std::size_t n, std::uint8_t* bytes) { to_bytes(floats, n, to, bytes); });
    }
    template <ShortFloatLayout Other>
    static void transform_to(Other, Shape shape, const float* src, float* dst, ExecutorRef executor,
                             TensorRange const& range) noexcept {
        using Short = element_of<Other>;
        Other::template from_elements<NarrowHwc<std::uint8_t>>(
            shape, reinterpret_cast<const std::uint8_t*>(src), reinterpret_cast<Short*>(dst), executor,
            [&range](const std::uint8_t* bytes, std::size_t n, float* floats) { from_bytes(bytes, n, range, floats); },
            [](const float* floats, std::size_t n, Short* elements) { narrow(floats, n, elements); });
    }
};

}  // namespace primsel::inline PRIMSEL_ABI
