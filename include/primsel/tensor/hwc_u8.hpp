#pragma once

#include <primsel/tensor/bytes.hpp>
#include <primsel/tensor/detail/narrow_hwc.hpp>
#include <primsel/tensor/hwc_bf16.hpp>
#include <primsel/tensor/layout.hpp>

#include <algorithm>
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

    static void transform_from(hwc_bf16, Shape shape, const float* src, float* dst, ExecutorRef executor,
                               TensorRange const& range) noexcept {
        const ToBytes to(range);
        auto const* const from = reinterpret_cast<const bfloat16*>(src);
        auto* const bytes = reinterpret_cast<std::uint8_t*>(dst);
        each_piece(shape, executor, [=](std::size_t wide, std::size_t narrow, std::size_t n, float* floats) {
            widen(from + wide, n, floats);
            to_bytes(floats, n, to, bytes + narrow);
        });
    }
    static void transform_to(hwc_bf16, Shape shape, const float* src, float* dst, ExecutorRef executor,
                             TensorRange const& range) noexcept {
        auto const* const bytes = reinterpret_cast<const std::uint8_t*>(src);
        auto* const to = reinterpret_cast<bfloat16*>(dst);
        const std::size_t pixel = hwc_bf16::pixel(shape.c), c = static_cast<std::size_t>(shape.c);
        for (std::size_t i = 0; i < shape.pixels(); ++i) std::fill_n(to + i * pixel + c, pixel - c, bfloat16{});
        each_piece(shape, executor, [=](std::size_t wide, std::size_t narrow, std::size_t n, float* floats) {
            from_bytes(bytes + narrow, n, range, floats);
            primsel::narrow(floats, n, to + wide);
        });
    }

private:
    /// Calls use(place in hwc_bf16, place here, number, room for so many floats) for neighbouring channels of a pixel.
    template <class Use>
    static void each_piece(Shape shape, ExecutorRef executor, Use const& use) noexcept {
        executor.parallel_for(static_cast<std::size_t>(shape.h), [&](std::size_t h, std::size_t) {
            constexpr std::size_t most = 256;
            float floats[most];
            const std::size_t c = static_cast<std::size_t>(shape.c), w = static_cast<std::size_t>(shape.w);
            for (std::size_t i = h * w; i < (h + 1) * w; ++i) {
                for (std::size_t begin = 0; begin < c; begin += most) {
                    use(i * hwc_bf16::pixel(shape.c) + begin, i * pixel(shape.c) + begin, std::min(most, c - begin),
                        floats);
                }
            }
        });
    }
};

}  // namespace primsel::inline PRIMSEL_ABI
