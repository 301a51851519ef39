#pragma once

#include <primsel/core/clamp.hpp>
#include <primsel/core/executor.hpp>
#include <primsel/primitive/conv_shape.hpp>

#include <cstddef>
#include <string_view>

namespace primsel::inline PRIMSEL_ABI {

/// The families of papers' table 6 (Mulder et al. 2020), and `other` for what they do not have.
enum class Family { direct, im2, kn2, wino3, wino5, conv_1x1, mec, other };

[[nodiscard]] constexpr std::string_view to_string_view(Family family) {
    constexpr std::string_view names[] = {"direct", "im2", "kn2", "wino3", "wino5", "conv-1x1", "mec", "other"};
    return names[static_cast<std::size_t>(family)];
}

/// Yes, or no with a reason that a user can read ("needs stride 1").
class Support {
public:
    [[nodiscard]] static constexpr Support yes() { return Support(nullptr); }
    /// The reason must be a string literal.
    [[nodiscard]] static constexpr Support no(const char* reason) { return Support(reason); }

    constexpr explicit operator bool() const { return reason_ == nullptr; }
    /// Empty for yes.
    [[nodiscard]] constexpr std::string_view reason() const { return reason_ == nullptr ? "" : reason_; }

private:
    constexpr explicit Support(const char* reason) : reason_(reason) {}
    const char* reason_;
};

/// Which of a layer's three convolutions a primitive computes: its result, or from the gradient of that the gradient of
/// its input or of its kernel.
enum class Pass { forward, input_gradient, weight_gradient };

[[nodiscard]] constexpr std::string_view to_string_view(Pass pass) {
    constexpr std::string_view names[] = {"forward", "input gradient", "weight gradient"};
    return names[static_cast<std::size_t>(pass)];
}

/// The arguments of a primitive: dst = clamp(conv(src) + bias + residual).
/// For the gradient of the input, src is that of the result and dst that of the input, without bias, residual and
/// clamp; for the gradient of the weights, src is the input, and dst the kernel's gradient, k x c/groups x fh x fw,
/// summed over the images.
struct ConvArgs {
    const float* src = nullptr;
    /// The gradient of the result, for the gradient of the weights.
    const float* gradient = nullptr;
    /// One after the other; more than one only for primitives that take a whole batch.
    int images = 1;
    /// As pack wrote them; null for the gradient of the weights.
    const float* weights = nullptr;
    /// k values, or null.
    const float* bias = nullptr;
    /// Laid out as dst, or null. Never overlaps dst.
    const float* residual = nullptr;
    Clamp clamp{};
    float* dst = nullptr;
    /// Floats from a pixel of dst to the next, where they are not k: only for primitives with strided_output, and
    /// without a residual.
    std::size_t dst_stride = 0;
    /// scratch_floats floats, aligned to a cache line.
    float* scratch = nullptr;
    ExecutorRef executor;

    [[nodiscard]] std::size_t pixel_stride(ConvShape const& shape) const {
        return dst_stride != 0 ? dst_stride : static_cast<std::size_t>(shape.k);
    }
};

}  // namespace primsel::inline PRIMSEL_ABI
