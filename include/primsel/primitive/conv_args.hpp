#pragma once

#include <primsel/core/clamp.hpp>
#include <primsel/core/executor.hpp>
#include <primsel/core/support.hpp>
#include <primsel/core/work.hpp>
#include <primsel/primitive/conv_shape.hpp>
#include <primsel/tensor/range.hpp>

#include <cstddef>
#include <string_view>

namespace primsel::inline PRIMSEL_ABI {

/// The families of table 6 of Mulder et al. 2020, and `other` for primitives that the table lacks.
enum class Family { direct, im2, kn2, wino3, wino5, conv_1x1, mec, other };

[[nodiscard]] constexpr std::string_view to_string_view(Family family) {
    constexpr std::string_view names[] = {"direct", "im2", "kn2", "wino3", "wino5", "conv-1x1", "mec", "other"};
    return names[static_cast<std::size_t>(family)];
}

/// The convolution of a layer that a primitive computes: its result, or the gradient of its input or of its kernel from
/// the gradient of the result.
enum class Pass { forward, input_gradient, weight_gradient };

[[nodiscard]] constexpr std::string_view to_string_view(Pass pass) {
    constexpr std::string_view names[] = {"forward", "input gradient", "weight gradient"};
    return names[static_cast<std::size_t>(pass)];
}

/// The arguments of a primitive: dst = clamp(conv(src) + bias + residual). For the gradient of the input, src is the
/// gradient of the result and dst that of the input; bias, residual and clamp are unused. For the gradient of the
/// weights, src is the input and dst the kernel's gradient, k x c/groups x fh x fw, summed over the images.
struct ConvArgs {
    const float* src = nullptr;
    /// The gradient of the result; used only for the gradient of the weights.
    const float* gradient = nullptr;
    /// The number of consecutive images; more than one only for primitives that take a whole batch.
    int images = 1;
    /// The weights as pack wrote them; null for the gradient of the weights.
    const float* weights = nullptr;
    /// k values, or null.
    const float* bias = nullptr;
    /// Added to the result, in the layout of dst; or null. It never overlaps dst.
    const float* residual = nullptr;
    /// The bounds of the sum of the rest before the residual is added. Only for primitives with bounds_summand.
    Clamp summand{};
    Clamp clamp{};
    float* dst = nullptr;
    /// The distance in floats between pixels of dst, if they do not follow each other. Only for primitives with
    /// strided_output, without a residual.
    std::size_t dst_stride = 0;
    /// scratch_floats floats, aligned to a cache line.
    float* scratch = nullptr;
    ExecutorRef executor;
    /// The ranges of tensors in layouts of bytes.
    TensorRange src_range{}, dst_range{}, residual_range{};

    [[nodiscard]] std::size_t pixel_stride(ConvShape const& shape) const {
        return dst_stride != 0 ? dst_stride : static_cast<std::size_t>(shape.k);
    }
};

}  // namespace primsel::inline PRIMSEL_ABI
