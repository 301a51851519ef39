#pragma once

#include <primsel/primitive/conv_shape.hpp>

#include <cstddef>

namespace primsel::inline PRIMSEL_ABI {

/// A kernel, k x c/groups x fh x fw, as it lies in memory; or rotated by half a circle and with channels and kernels
/// exchanged, read from where the kernel of the other convolution lies (see rotated.hpp).
struct KernelView {
    const float* data = nullptr;
    bool rotated = false;

    /// Where the taps of kernel k and channel c of a group begin. One after the other, rotated from the last on.
    [[nodiscard]] const float* taps(ConvShape const& s, int group, int k, int c) const {
        const int of_group = rotated ? c * s.group_k() + k : k * s.group_c() + c;
        return data + static_cast<std::size_t>(group * s.group_k()) * static_cast<std::size_t>(s.depth()) +
               static_cast<std::size_t>(of_group) * static_cast<std::size_t>(s.taps());
    }
    /// Floats from the taps of a kernel to those of the next.
    [[nodiscard]] std::size_t step(ConvShape const& s) const {
        return static_cast<std::size_t>(rotated ? s.taps() : s.depth());
    }
    /// Which tap lies at a place.
    [[nodiscard]] int tap(ConvShape const& s, int place) const { return rotated ? s.taps() - 1 - place : place; }
};

}  // namespace primsel::inline PRIMSEL_ABI
