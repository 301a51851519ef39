#pragma once

#include <primsel/core/aligned_buffer.hpp>
#include <primsel/core/error.hpp>
#include <primsel/tensor/view.hpp>

#include <algorithm>
#include <span>

namespace primsel::inline PRIMSEL_ABI {

/// A batch of images in layout L that owns its memory, aligned to a cache line and initialised to zero.
template <Layout L = chw>
class Tensor {
public:
    /// Throws error for an extent or batch below 1 and for more than 1e15 floats.
    explicit Tensor(Shape shape, int batch = 1) : shape_(shape), batch_(batch) {
        if (shape.c < 1 || shape.h < 1 || shape.w < 1 || batch < 1) {
            fail("tensor: impossible shape ", batch, "x", to_string(shape));
        }
        constexpr double most = 1e15;  // elements; leaves room for a layout's padding before size_t overflows
        if (static_cast<double>(batch) * shape.c * shape.h * shape.w > most) {
            fail("tensor: shape ", batch, "x", to_string(shape), " is too large");
        }
        buffer_ = AlignedBuffer(L::size(shape) * static_cast<std::size_t>(batch));
        std::ranges::fill(buffer_.span(), 0.0F);
    }

    [[nodiscard]] Shape shape() const { return shape_; }
    [[nodiscard]] int batch() const { return batch_; }
    [[nodiscard]] std::size_t size() const { return buffer_.size(); }
    [[nodiscard]] float* data() { return buffer_.data(); }
    [[nodiscard]] const float* data() const { return buffer_.data(); }
    [[nodiscard]] TensorView<float, L> view() { return {data(), shape_, batch_}; }
    [[nodiscard]] TensorView<const float, L> view() const { return {data(), shape_, batch_}; }
    [[nodiscard]] std::span<float> span() { return buffer_.span(); }
    [[nodiscard]] std::span<const float> span() const { return buffer_.span(); }
    [[nodiscard]] float* begin() { return data(); }
    [[nodiscard]] float* end() { return data() + size(); }
    [[nodiscard]] const float* begin() const { return data(); }
    [[nodiscard]] const float* end() const { return data() + size(); }
    [[nodiscard]] float& operator()(int c, int h, int w) { return view()(c, h, w); }
    [[nodiscard]] float operator()(int c, int h, int w) const { return view()(c, h, w); }

private:
    Shape shape_;
    int batch_;
    AlignedBuffer buffer_;
};

}  // namespace primsel::inline PRIMSEL_ABI
