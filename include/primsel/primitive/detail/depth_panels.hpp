// Kernels packed as the matrices depth x k that direct, indirect and mec multiply with.
#pragma once

#include <primsel/primitive/conv_shape.hpp>
#include <primsel/primitive/detail/panel.hpp>
#include <primsel/primitive/detail/tap.hpp>
#include <primsel/tensor/transpose.hpp>

#include <algorithm>
#include <cstring>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::detail {

template <class Arch>
[[nodiscard]] std::size_t depth_panels_size(ConvShape const& s) {
    return static_cast<std::size_t>(s.groups) * packed_size<Arch>(s.depth(), s.group_k());
}

/// The kernel of each group as a packed matrix depth x k; depth_index(c, fh, fw) orders the depth. A panel's kernels
/// are transposed some channels at a time, so that both sides are read and written in whole lines.
template <class Arch, class DepthIndex>
void pack_depth_panels(ConvShape const& s, const float* kernel, DepthIndex const& depth_index, float* dst) {
    constexpr auto width = static_cast<std::size_t>(panel_width<Arch>);
    const auto depth = static_cast<std::size_t>(s.depth()), taps = static_cast<std::size_t>(s.taps());
    const int channels_at_once = std::clamp(128 / s.taps(), 1, s.group_c());
    std::vector<float> some(static_cast<std::size_t>(channels_at_once) * taps * width);
    for (int group = 0; group < s.groups; ++group) {
        for (int first = 0; first < s.group_k(); first += panel_width<Arch>) {
            const auto columns = static_cast<std::size_t>(panel_columns<Arch>(first, s.group_k()));
            const auto kernels = std::min(width, static_cast<std::size_t>(s.group_k() - first));
            const float* src = kernel + static_cast<std::size_t>(group * s.group_k() + first) * depth;
            for (int channel = 0; channel < s.group_c(); channel += channels_at_once) {
                const int last = std::min(channel + channels_at_once, s.group_c());
                transpose_columns(src + static_cast<std::size_t>(channel) * taps, depth, some.data(), width, kernels, 0,
                                  static_cast<std::size_t>(last - channel) * taps);
                const float* row = some.data();
                for (int c = channel; c < last; ++c) {
                    for (int fh = 0; fh < s.fh; ++fh) {
                        for (int fw = 0; fw < s.fw; ++fw, row += width) {
                            float* to = dst + static_cast<std::size_t>(depth_index(c, fh, fw)) * columns;
                            std::memcpy(to, row, kernels * sizeof(float));
                            std::fill(to + kernels, to + columns, 0.0F);
                        }
                    }
                }
            }
            dst += depth * columns;
        }
    }
}

}  // namespace primsel::inline PRIMSEL_ABI::detail
