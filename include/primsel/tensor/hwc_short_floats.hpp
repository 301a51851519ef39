#pragma once

#include <primsel/core/bfloat16.hpp>
#include <primsel/core/executor.hpp>
#include <primsel/core/float16.hpp>
#include <primsel/core/short_floats.hpp>
#include <primsel/core/work.hpp>
#include <primsel/tensor/detail/narrow_hwc.hpp>
#include <primsel/tensor/layout.hpp>
#include <primsel/tensor/shape.hpp>

#include <concepts>
#include <cstddef>
#include <string_view>

namespace primsel::inline PRIMSEL_ABI {

/// A layout of floats with 16 bits.
template <class L>
concept ShortFloatLayout = Layout<L> && ShortFloat<element_of<L>>;

namespace tensor::detail {

/// Rows, then columns, then channels of floats with 16 bits. Zeros follow the channels of a pixel: a pixel has 2, 4, 8
/// or 16 elements, or a multiple of 32, a cache line.
template <ShortFloat Element>
struct ShortFloatHwc : NarrowHwc<Element> {
    using Narrow = NarrowHwc<Element>;

    template <class Other>
        requires(Narrow::template of_floats<Other>)
    static void transform_from(Other, Shape shape, const float* src, float* dst, ExecutorRef executor) noexcept {
        Narrow::template from_floats<Other>(
            shape, src, reinterpret_cast<Element*>(dst), executor,
            [](const float* floats, std::size_t n, Element* elements) { narrow(floats, n, elements); });
    }
    template <class Other>
        requires(Narrow::template of_floats<Other>)
    static void transform_to(Other, Shape shape, const float* src, float* dst, ExecutorRef executor) noexcept {
        Narrow::template to_floats<Other>(
            shape, reinterpret_cast<const Element*>(src), dst, executor,
            [](const Element* elements, std::size_t n, float* floats) { widen(elements, n, floats); });
    }
    /// From the other type of such floats.
    template <ShortFloatLayout Other>
        requires(!std::same_as<element_of<Other>, Element>)
    static void transform_from(Other, Shape shape, const float* src, float* dst, ExecutorRef executor) noexcept {
        using From = element_of<Other>;
        Narrow::template from_elements<NarrowHwc<From>>(
            shape, reinterpret_cast<const From*>(src), reinterpret_cast<Element*>(dst), executor,
            [](const From* elements, std::size_t n, float* floats) { widen(elements, n, floats); },
            [](const float* floats, std::size_t n, Element* elements) { narrow(floats, n, elements); });
    }
};

}  // namespace tensor::detail

/// Rows, then columns, then channels in bfloat16.
struct hwc_bf16 : tensor::detail::ShortFloatHwc<bfloat16> {
    static constexpr std::string_view name = "hwc_bf16";
    static constexpr Precision precision = Precision::bf16;
};

/// Rows, then columns, then channels in float16. Numbers beyond 65504 become infinite.
struct hwc_f16 : tensor::detail::ShortFloatHwc<float16> {
    static constexpr std::string_view name = "hwc_f16";
    static constexpr Precision precision = Precision::f16;
};

}  // namespace primsel::inline PRIMSEL_ABI
