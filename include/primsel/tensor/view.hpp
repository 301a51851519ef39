#pragma once

#include <primsel/tensor/layout.hpp>

#include <type_traits>

namespace primsel::inline PRIMSEL_ABI {

/// A view of a batch of images in memory that it does not own: image after image, each in layout L. T is float or const
/// float.
template <class T, Layout L = chw>
class TensorView {
public:
    constexpr TensorView(T* data, Shape shape, int batch = 1) : data_(data), shape_(shape), batch_(batch) {}
    template <class U>
        requires std::is_same_v<const U, T>
    // NOLINTNEXTLINE(google-explicit-constructor): float to const float
    constexpr TensorView(TensorView<U, L> const& other) : TensorView(other.data(), other.shape(), other.batch()) {}

    [[nodiscard]] constexpr T* data() const { return data_; }
    [[nodiscard]] constexpr Shape shape() const { return shape_; }
    [[nodiscard]] constexpr int batch() const { return batch_; }
    /// Returns the number of floats, padding of the layout included.
    [[nodiscard]] constexpr std::size_t size() const { return image_size() * static_cast<std::size_t>(batch_); }
    [[nodiscard]] constexpr std::size_t image_size() const { return L::size(shape_); }
    [[nodiscard]] constexpr T* image(int n) const { return data_ + static_cast<std::size_t>(n) * image_size(); }
    [[nodiscard]] constexpr T& operator()(int c, int h, int w) const {
        return data_[L::offset(shape_, Coord{c, h, w})];
    }
    [[nodiscard]] constexpr T& operator()(int n, int c, int h, int w) const {
        return image(n)[L::offset(shape_, Coord{c, h, w})];
    }

private:
    T* data_;
    Shape shape_;
    int batch_;
};

}  // namespace primsel::inline PRIMSEL_ABI
