// Pooling of one row of windows where channels are contiguous, one axis after the other: first the rows of all windows
// are reduced to one row, then its columns.
#pragma once

#include <primsel/op/detail/window.hpp>

#include <algorithm>
#include <cstddef>

namespace primsel::inline PRIMSEL_ABI::op::detail {

/// The floats of a row that are reduced at a time: few enough to stay in L1.
inline constexpr std::ptrdiff_t separated_floats = 6144;

/// Returns the number of outputs that pool_separated computes at a time.
[[nodiscard]] inline std::ptrdiff_t separated_outputs(PoolAxis const& axis, std::ptrdiff_t channels) noexcept {
    return (separated_floats / channels - axis.size) / axis.step + 1;
}

/// Returns whether pool_separated takes windows of `height` rows, and is faster than pool_pixels. The factor stands for
/// the intermediate row, which is stored and loaded; it was measured in hwc with 2 to 512 channels.
template <class Arch>
[[nodiscard]] bool is_separated(PoolAxis const& axis, std::ptrdiff_t height, std::ptrdiff_t channels) noexcept {
    constexpr std::ptrdiff_t width = lanes<Arch>;
    constexpr double factor = 2;
    if ((axis.size + axis.step) * channels > separated_floats) return false;
    const std::ptrdiff_t outputs = separated_outputs(axis, channels);
    const auto vectors = static_cast<double>((channels + width - 1) / width * width);
    const auto taps = static_cast<double>(axis.size), rows = static_cast<double>(height);
    const auto columns = static_cast<double>(((outputs - 1) * axis.step + axis.size) * channels);
    const double separated = rows * columns / static_cast<double>(outputs) +
                             taps * (axis.step == 1 ? static_cast<double>(channels) : vectors);
    return factor * separated < taps * rows * vectors;
}

/// Computes a row of outputs in hwc.
template <class Arch, class Reduction>
PRIMSEL_NOINLINE void pool_separated(PoolAxis const& axis, OutputRow const& row, std::ptrdiff_t channels,
                                     std::ptrdiff_t outputs) noexcept {
    using V = Floats<Arch>;
    constexpr std::ptrdiff_t width = lanes<Arch>;
    alignas(64) float combined[separated_floats + 2 * width];
    const WindowRows window = row.window;
    const auto fill = [](float* from, float* to) {
        for (; from < to; from += width) store<Arch>(from, V(Reduction::identity));
    };
    // Reduces the columns of `floats` neighbouring results with one divisor.
    const auto reduce = [&](const float* from, std::ptrdiff_t floats, V const& divisor, float* to) {
        for (std::ptrdiff_t i = 0; i < floats; i += width) {
            V sum = reduce_terms<Arch, Reduction>(static_cast<std::size_t>(axis.size), [=](std::size_t tap) {
                return load<Arch>(from + i + static_cast<std::ptrdiff_t>(tap) * channels);
            });
            if constexpr (Reduction::averages) sum = quotient<Arch>(sum, divisor);
            store_up_to<Arch>(to + i, sum, static_cast<std::size_t>(floats - i));
        }
    };
    const std::ptrdiff_t piece = separated_outputs(axis, channels);
    for (std::ptrdiff_t out = 0; out < outputs; out += piece) {
        const std::ptrdiff_t count = std::min(piece, outputs - out);
        const std::ptrdiff_t begin = axis.begin(out), end = axis.begin(out + count - 1) + axis.size;
        const std::ptrdiff_t first = std::min(axis.first(out), end), last = std::max(std::min(end, axis.in), first);
        float* const inside = combined + (first - begin) * channels;
        const std::ptrdiff_t floats = (last - first) * channels;
        fill(combined, inside);
        for (std::ptrdiff_t i = 0; i < floats; i += width) {
            const std::ptrdiff_t at = first * channels + i;
            const auto n = static_cast<std::size_t>(floats - i);
            store<Arch>(inside + i, reduce_terms<Arch, Reduction>(window.count, [=](std::size_t y) {
                            return load_up_to<Arch>(window[y] + at, n, Reduction::identity);
                        }));
        }
        fill(inside + floats, combined + (end - begin) * channels + width);
        for (std::ptrdiff_t i = 0; i < count;) {
            // With a step of 1, windows with the same divisor are neighbours in the combined row too.
            const std::ptrdiff_t counted = axis.counted(out + i);
            std::ptrdiff_t run = 1;
            while (axis.step == 1 && i + run < count && axis.counted(out + i + run) == counted) ++run;
            reduce(combined + i * axis.step * channels, run * channels, V(row.counted * static_cast<float>(counted)),
                   row.dst + (out + i) * channels);
            i += run;
        }
    }
}

}  // namespace primsel::inline PRIMSEL_ABI::op::detail
