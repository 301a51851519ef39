#pragma once

#include <primsel/core/executor.hpp>
#include <primsel/tensor/layout.hpp>
#include <primsel/tensor/transpose.hpp>

#include <algorithm>
#include <cstring>

namespace primsel::inline PRIMSEL_ABI {

namespace tensor {

inline constexpr std::size_t transposed_at_once = 256;
template <Layout L>
inline constexpr bool has_rows = std::same_as<L, chw> || std::same_as<L, hcw>;
/// True where both layouts keep each row of w contiguous, so that a transform moves whole rows.
template <Layout From, Layout To>
inline constexpr bool moves_rows = has_rows<From> && has_rows<To>;
/// True where a transform transposes matrices of channels by pixels.
template <Layout From, Layout To>
inline constexpr bool transposes =
    (has_rows<From> && std::same_as<To, hwc>) || (std::same_as<From, hwc> && has_rows<To>);

/// Converts between chw and hcw.
template <StridedLayout From, StridedLayout To>
void move_rows(Shape shape, const float* src, float* dst, ExecutorRef executor) noexcept {
    executor.parallel_for(static_cast<std::size_t>(shape.h), [=](std::size_t h, std::size_t) {
        for (int c = 0; c < shape.c; ++c) {
            const Coord at{c, static_cast<int>(h), 0};
            std::memcpy(dst + To::offset(shape, at), src + From::offset(shape, at),
                        static_cast<std::size_t>(shape.w) * sizeof(float));
        }
    });
}

/// Returns the blocks in which transpose_matrix writes so many rows of its result.
[[nodiscard]] constexpr std::size_t transpose_blocks(std::size_t columns) {
    return (columns + transposed_at_once - 1) / transposed_at_once;
}
/// Transposes a matrix of channels by pixels, or back: converts between chw or hcw and hwc.
inline void transpose_matrix(std::size_t rows, std::size_t columns, const float* src, std::size_t src_stride,
                             float* dst, std::size_t dst_stride, ExecutorRef executor) noexcept {
    constexpr std::size_t block = transposed_at_once;
    executor.parallel_for(transpose_blocks(columns), [=](std::size_t i, std::size_t) {
        transpose_columns(src, src_stride, dst, dst_stride, rows, i * block, std::min((i + 1) * block, columns));
    });
}

template <Layout From, Layout To>
void transform_any(Shape shape, const float* src, float* dst, ExecutorRef executor) noexcept {
    executor.parallel_for(static_cast<std::size_t>(shape.h), [=](std::size_t h, std::size_t) {
        for (int w = 0; w < shape.w; ++w) {
            for (int c = 0; c < shape.c; ++c) {
                const Coord at{c, static_cast<int>(h), w};
                dst[To::offset(shape, at)] = src[From::offset(shape, at)];
            }
        }
    });
}

}  // namespace tensor

/// Copies one image of the shape from layout From at src to layout To at dst; they must not overlap. Where To has
/// padding, dst's padding is zeroed. The result does not depend on the executor. A layout may bring a conversion of its
/// own (TransformsFrom, TransformsTo), which replaces the copy of single elements. The range is that of the image, for
/// layouts that need it.
template <Layout From, Layout To>
void transform(Shape shape, const float* src, float* dst, ExecutorRef executor,
               TensorRange const& range = {}) noexcept {
    const auto c = static_cast<std::size_t>(shape.c), h = static_cast<std::size_t>(shape.h),
               w = static_cast<std::size_t>(shape.w), pixels = shape.pixels();
    if (same_placement<From, To>(shape)) {
        std::memcpy(dst, src, From::size(shape) * sizeof(element_of<From>));
    } else if constexpr (TransformsFrom<To, From>) {
        if constexpr (requires { To::transform_from(From{}, shape, src, dst, executor, range); })
            To::transform_from(From{}, shape, src, dst, executor, range);
        else
            To::transform_from(From{}, shape, src, dst, executor);
    } else if constexpr (TransformsTo<From, To>) {
        if constexpr (requires { From::transform_to(To{}, shape, src, dst, executor, range); })
            From::transform_to(To{}, shape, src, dst, executor, range);
        else
            From::transform_to(To{}, shape, src, dst, executor);
    } else if constexpr (tensor::moves_rows<From, To>) {
        tensor::move_rows<From, To>(shape, src, dst, executor);
    } else if constexpr (std::same_as<From, chw> && std::same_as<To, hwc>) {
        tensor::transpose_matrix(c, pixels, src, pixels, dst, c, executor);
    } else if constexpr (std::same_as<From, hwc> && std::same_as<To, chw>) {
        tensor::transpose_matrix(pixels, c, src, c, dst, pixels, executor);
    } else if constexpr (std::same_as<From, hcw> && std::same_as<To, hwc>) {
        executor.parallel_for(h, [=](std::size_t row, std::size_t) {
            transpose_columns(src + row * c * w, w, dst + row * c * w, c, c, 0, w);
        });
    } else if constexpr (std::same_as<From, hwc> && std::same_as<To, hcw>) {
        executor.parallel_for(h, [=](std::size_t row, std::size_t) {
            transpose_columns(src + row * c * w, c, dst + row * c * w, w, w, 0, c);
        });
    } else {
        constexpr bool floats = std::same_as<element_of<From>, float> && std::same_as<element_of<To>, float>;
        static_assert(floats || std::same_as<From, To>,
                      "primsel: a layout of other elements than floats must bring its own transform_from and "
                      "transform_to; see docs/tensor/layout.md");
        static_assert(
            !requires { To::transform_from(From{}, shape, src, dst, executor); } &&
                !requires { From::transform_to(To{}, shape, src, dst, executor); },
            "primsel: a layout's transform_from and transform_to must be noexcept; see docs/tensor/layout.md");
        if constexpr (!StridedLayout<To>) std::fill_n(dst, To::size(shape), 0.0F);
        tensor::transform_any<From, To>(shape, src, dst, executor);
    }
}

}  // namespace primsel::inline PRIMSEL_ABI
