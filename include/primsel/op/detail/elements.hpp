// Ops on single elements, or on an element and its channel.
#pragma once

#include <primsel/core/work.hpp>
#include <primsel/op/detail/blocks.hpp>
#include <primsel/op/detail/vectors.hpp>
#include <primsel/tensor/layout.hpp>

#include <cstddef>

namespace primsel::inline PRIMSEL_ABI::op::detail {

/// Calls f(at, n) for vectors that cover `count` floats. `at` is the vector's offset; n is the number of floats from
/// there on and may exceed the lanes.
template <class Arch, class F>
void for_elements(ExecutorRef executor, std::size_t count, F const& f) noexcept {
    for_ranges(executor, count, 1, [&f](std::size_t first, std::size_t last) {
        const F each = f;  // a local copy stays in registers, although dst might alias f
        for (std::size_t at = first; at < last; at += lanes<Arch>) each(at, last - at);
    });
}

/// A view of a batch of images as [outer][count][inner], where count is the extent of one axis. Every strided layout
/// has such a view. For the channels, inner is h * w in chw, w in hcw and 1 in hwc.
struct AxisView {
    std::size_t outer, count, inner;
};

template <StridedLayout L>
[[nodiscard]] constexpr AxisView axis_view(Shape shape, int batch, Axis axis) {
    const Strides strides = L::strides(shape);
    const auto count = static_cast<std::size_t>(extent(shape, axis));
    const std::size_t inner = axis == Axis::c ? strides.c : axis == Axis::h ? strides.h : strides.w;
    return {static_cast<std::size_t>(batch) * shape.size() / (count * inner), count, inner};
}

template <StridedLayout L>
[[nodiscard]] constexpr AxisView channel_view(Shape shape, int batch) {
    return axis_view<L>(shape, batch, Axis::c);
}

/// Few channels would leave most lanes empty where they are contiguous: `lanes` pixels are then treated as one.
inline constexpr std::size_t few_channels = 32;
template <class Arch>
[[nodiscard]] constexpr bool takes_channels_together(AxisView view) {
    constexpr std::size_t width = lanes<Arch>;
    return view.count < few_channels && view.count % width != 0 && view.outer >= width;
}

/// Calls f(at, n, of_channel) for vectors that cover the view. `at` and n are those of for_elements; of_channel[i] has
/// the i-th value of each lane's channel. The table has the first value of all channels, then the second, and so on.
template <class Arch, std::size_t values, class F>
void for_channel_elements(ExecutorRef executor, AxisView view, const float* table, F const& f) noexcept {
    using V = Floats<Arch>;
    constexpr std::size_t width = lanes<Arch>;
    if (view.inner > 1) {
        const std::size_t channels = view.count, inner = view.inner;
        for_ranges(executor, view.outer * channels, inner, [=, &f](std::size_t first, std::size_t last) {
            const F each = f;
            for (std::size_t row = first, c = first % channels; row < last; ++row) {
                V of_channel[values];
                for (std::size_t v = 0; v < values; ++v) of_channel[v] = V(table[v * channels + c]);
                for (std::size_t i = 0; i < inner; i += width) each(row * inner + i, inner - i, of_channel);
                c = c + 1 == channels ? 0 : c + 1;
            }
        });
        return;
    }
    const auto pixels = [&f, executor](std::size_t begin, std::size_t count, std::size_t channels, const float* row) {
        for_ranges(executor, count, channels, [=, &f](std::size_t first, std::size_t last) {
            const F each = f;
            for (std::size_t pixel = first; pixel < last; ++pixel) {
                for (std::size_t c = 0; c < channels; c += width) {
                    const std::size_t n = channels - c;
                    V of_channel[values];
                    for (std::size_t v = 0; v < values; ++v) {
                        of_channel[v] = load_up_to<Arch>(row + v * channels + c, n);
                    }
                    each(begin + pixel * channels + c, n, of_channel);
                }
            }
        });
    };
    // `width` pixels of c channels as one pixel of c * width.
    std::size_t done = 0;
    if (takes_channels_together<Arch>(view)) {
        const std::size_t channels = view.count * width;
        float wide[values * few_channels * width];
        for (std::size_t i = 0; i < values * channels; ++i) wide[i] = table[i / channels * view.count + i % view.count];
        done = view.outer / width * width;
        pixels(0, done / width, channels, wide);
    }
    pixels(done * view.count, view.outer - done, view.count, table);
}

/// Returns the lanes of the vectors that cover so many contiguous floats.
template <class Arch>
[[nodiscard]] constexpr double covering_lanes(std::size_t floats) {
    return static_cast<double>((floats + lanes<Arch> - 1) / lanes<Arch> * lanes<Arch>);
}

/// Returns the counts of loops over `rows` rows of so many contiguous floats, with `each` operations for each.
template <class Arch>
[[nodiscard]] constexpr OpCounts row_counts(std::size_t rows, std::size_t floats, double each) {
    const auto count = static_cast<double>(rows);
    return {.operations = each * count * covering_lanes<Arch>(floats), .rows = count};
}

/// Returns the counts of for_channel_elements.
template <class Arch>
[[nodiscard]] constexpr OpCounts channel_counts(AxisView view, double each) {
    if (view.inner > 1) return row_counts<Arch>(view.outer * view.count, view.inner, each);
    constexpr std::size_t width = lanes<Arch>;
    if (takes_channels_together<Arch>(view)) {
        return row_counts<Arch>((view.outer + width - 1) / width, view.count * width, each);
    }
    return row_counts<Arch>(view.outer, view.count, each);
}

}  // namespace primsel::inline PRIMSEL_ABI::op::detail
