#pragma once

#include <primsel/primitive/conv_shape.hpp>

#include <cstddef>

namespace primsel::inline PRIMSEL_ABI {

/// A view of a kernel k x c/groups x fh x fw; or of the rotated kernel with channels and kernels exchanged, read from
/// the memory of the original kernel (see rotated.hpp).
struct KernelView {
    const float* data = nullptr;
    bool rotated = false;

    /// Returns the taps of kernel k and channel c of a group. They are contiguous; in a rotated kernel the last tap
    /// comes first.
    [[nodiscard]] const float* taps(ConvShape const& s, int group, int k, int c) const {
        const int of_group = rotated ? c * s.group_k() + k : k * s.group_c() + c;
        return data + static_cast<std::size_t>(group * s.group_k()) * static_cast<std::size_t>(s.depth()) +
               static_cast<std::size_t>(of_group) * static_cast<std::size_t>(s.taps());
    }
    /// Returns the floats from the taps of one kernel to those of the next.
    [[nodiscard]] std::size_t step(ConvShape const& s) const {
        return static_cast<std::size_t>(rotated ? s.taps() : s.depth());
    }
    /// Returns the tap that lies at a position.
    [[nodiscard]] int tap(ConvShape const& s, int place) const { return rotated ? s.taps() - 1 - place : place; }
};

}  // namespace primsel::inline PRIMSEL_ABI
