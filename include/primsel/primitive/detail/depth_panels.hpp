// Kernels packed as matrices depth x k, with which the primitives direct, indirect and mec multiply.
#pragma once

#include <primsel/core/executor.hpp>
#include <primsel/gemm/panel.hpp>
#include <primsel/primitive/conv_shape.hpp>
#include <primsel/primitive/detail/tap.hpp>
#include <primsel/primitive/kernel_view.hpp>
#include <primsel/tensor/transpose.hpp>

#include <algorithm>
#include <cstring>

namespace primsel::inline PRIMSEL_ABI::primitive::detail {

template <class Arch>
[[nodiscard]] std::size_t depth_panels_size(ConvShape const& s) {
    return static_cast<std::size_t>(s.groups) * gemm::packed_size<Arch>(s.depth(), s.group_k());
}

/// Prefetches cache lines into L1 (locality 3) or L2 (2).
template <int locality>
PRIMSEL_INLINE void fetch_lines(const float* begin, int floats) noexcept {
    for (int at = 0; at < floats; at += 16) __builtin_prefetch(begin + at, 0, locality);
}

/// Reads the kernels of a group that one panel takes, from `first` on, and lays them side by side. It takes some
/// channels at a time, so that whole cache lines are read and written. Calls visit(c, place, count, rows) with `count`
/// taps of channel c from `place` on. Each tap is a row as wide as a full panel, with zeros for missing kernels.
template <class Arch, class Visit>
void for_kernel_rows(ConvShape const& s, KernelView kernel, int group, int first, Visit const& visit) {
    constexpr int width = gemm::panel_width<Arch>, most = 128;
    alignas(alignment) float rows[static_cast<std::size_t>(most * width)];
    const int kernels = std::min(width, s.group_k() - first), taps = s.taps();
    if (kernels < width) std::fill_n(rows, most * width, 0.0F);
    // The number of channels whose taps are contiguous and copied at once.
    const int together = kernel.rotated ? 1 : std::max(1, most / taps);
    // A rotated kernel's channels are not contiguous, and hardware prefetchers do not find the next ones.
    const int ahead = taps == 1 ? 16 : 1;
    for (int c = 0; c < s.group_c(); c += together) {
        const int channels = std::min(together, s.group_c() - c);
        if (kernel.rotated && c + ahead < s.group_c()) {
            const float* const later = kernel.taps(s, group, first, c + ahead);
            if (taps == 1)
                fetch_lines<3>(later, kernels);
            else
                fetch_lines<2>(later, kernels * taps);
        }
        for (int begin = 0; begin < taps; begin += most) {
            const int count = std::min(most, taps - begin);
            const float* src = kernel.taps(s, group, first, c) + begin;
            if (taps == 1 && kernel.rotated)
                std::memcpy(rows, src, static_cast<std::size_t>(kernels) * sizeof(float));
            else
                transpose_columns(src, kernel.step(s), rows, width, static_cast<std::size_t>(kernels), 0,
                                  static_cast<std::size_t>(channels * count));
            for (int i = 0; i < channels; ++i) visit(c + i, begin, count, rows + i * count * width);
        }
    }
}

/// Packs the kernel of each group as a matrix depth x k; depth_index(c, fh, fw) orders the depth. Parallel over panels.
template <class Arch, class DepthIndex>
void pack_depth_panels(ConvShape const& s, KernelView kernel, DepthIndex const& depth_index, float* dst,
                       ExecutorRef executor) {
    const int panels = gemm::panel_count<Arch>(s.group_k());
    executor.parallel_for(static_cast<std::size_t>(s.groups * panels), [&](std::size_t task, std::size_t) {
        const int group = static_cast<int>(task) / panels,
                  first = static_cast<int>(task) % panels * gemm::panel_width<Arch>;
        const auto columns = static_cast<std::size_t>(gemm::panel_columns<Arch>(first, s.group_k())),
                   depth = static_cast<std::size_t>(s.depth());
        float* panel = dst + static_cast<std::size_t>(group) * gemm::packed_size<Arch>(s.depth(), s.group_k()) +
                       depth * static_cast<std::size_t>(first);
        for_kernel_rows<Arch>(s, kernel, group, first, [&](int c, int place, int count, const float* rows) {
            for (int i = 0; i < count; ++i, rows += gemm::panel_width<Arch>) {
                const int tap = kernel.tap(s, place + i);
                std::memcpy(panel + static_cast<std::size_t>(depth_index(c, tap / s.fw, tap % s.fw)) * columns, rows,
                            columns * sizeof(float));
            }
        });
    });
}

}  // namespace primsel::inline PRIMSEL_ABI::primitive::detail
