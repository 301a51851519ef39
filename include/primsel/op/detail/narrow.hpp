// Ops on images whose elements are smaller than floats.
#pragma once

#include <primsel/layer/pool.hpp>
#include <primsel/op/detail/blocks.hpp>
#include <primsel/op/detail/dilated_axis.hpp>
#include <primsel/op/detail/elements.hpp>
#include <primsel/op/op.hpp>
#include <primsel/tensor/hwc_short_floats.hpp>
#include <primsel/tensor/hwc_u8.hpp>
#include <primsel/tensor/layout.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <span>

namespace primsel::inline PRIMSEL_ABI::op::detail {

/// Layouts of images whose elements are smaller than floats. Of hwc_f16, ops have only weights.
template <class L>
concept NarrowLayout = std::same_as<L, hwc_u8> || std::same_as<L, hwc_bf16>;

/// Images of an op in layout L.
template <class L>
struct NarrowImages {
    using Element = element_of<L>;
    Element* data;
    Shape shape;
    std::size_t pixel, image;

    NarrowImages(const float* src, Shape of)
        : data(reinterpret_cast<Element*>(const_cast<float*>(src))),
          shape(of),
          pixel(L::pixel(of.c)),
          image(L::size(of)) {}
    [[nodiscard]] Element* at(std::size_t i, std::ptrdiff_t h, std::ptrdiff_t w) const {
        return data + i * image + static_cast<std::size_t>(h * shape.w + w) * pixel;
    }
};

/// Counts of an op that reads and writes images in layout L.
template <class L>
[[nodiscard]] OpCounts narrow_counts(double operations, std::span<const Shape> inputs, Shape output) {
    double elements = static_cast<double>(L::size(output));
    for (Shape const& shape : inputs) elements += static_cast<double>(L::size(shape));
    return {.operations = operations,
            .rows = static_cast<double>(output.pixels()),
            .bytes = sizeof(element_of<L>) * elements};
}

/// Counts of an op that walks the channels of `pixels` pixels, each in whole vectors of floats.
template <class Arch, class L>
[[nodiscard]] OpCounts narrow_pixel_counts(double pixels, std::span<const Shape> inputs, Shape output) {
    return narrow_counts<L>(pixels * covering_lanes<Arch>(L::pixel(output.c)), inputs, output);
}
/// The pixels that the windows of a pool read.
[[nodiscard]] inline double pixels_of_windows(PoolParams const& params, Shape in, Shape out) {
    return axis_down(params, in).taps(out.h) * axis_across(params, in).taps(out.w);
}

/// The taps of a window along one axis that lie in the image.
struct WindowTaps {
    std::ptrdiff_t begin, first, last, dilation;
    float counted;  ///< the taps that an average counts

    WindowTaps(DilatedAxis const& axis, std::ptrdiff_t out)
        : begin(axis.at(out, 0)),
          first(axis.first_tap(out)),
          last(axis.last_tap(out)),
          dilation(axis.dilation),
          counted(static_cast<float>(axis.counted(out))) {}
    [[nodiscard]] std::ptrdiff_t operator[](std::ptrdiff_t tap) const { return begin + tap * dilation; }
};

/// Calls use(src, image, taps down, taps across, pixel of the result) for each pixel of a pool's result.
template <class L, class Use>
void for_windows(PoolParams const& params, OpArgs const& args, Use const& use) noexcept {
    const NarrowImages<L> src(args.src[0], args.src_shape[0]), dst(args.dst, args.dst_shape);
    const auto rows = static_cast<std::size_t>(dst.shape.h);
    const DilatedAxis down = axis_down(params, src.shape), across = axis_across(params, src.shape);
    for_ranges(args.executor, static_cast<std::size_t>(args.batch) * rows, dst.image / rows,
               [&](std::size_t first, std::size_t last) {
                   for (std::size_t row = first; row < last; ++row) {
                       const auto h = static_cast<std::ptrdiff_t>(row % rows);
                       const WindowTaps taps_down(down, h);
                       for (std::ptrdiff_t w = 0; w < dst.shape.w; ++w) {
                           use(src, row / rows, taps_down, WindowTaps(across, w), dst.at(row / rows, h, w));
                       }
                   }
               });
}
/// The same for pools of whole images.
template <class L, class Use>
void for_images(OpArgs const& args, Use const& use) noexcept {
    const NarrowImages<L> src(args.src[0], args.src_shape[0]), dst(args.dst, args.dst_shape);
    const auto all = [](std::ptrdiff_t in) { return WindowTaps({in, in, 1, 1, 0, 0, false}, 0); };
    args.executor.parallel_for(static_cast<std::size_t>(args.batch), [&](std::size_t image, std::size_t) {
        use(src, image, all(src.shape.h), all(src.shape.w), dst.at(image, 0, 0));
    });
}

/// Calls use(pixel of the input, pixel of the result) for each pixel of the result, and writes zeros behind its
/// channels.
template <NarrowLayout L, class Use>
void for_pixels(OpArgs const& args, Use const& use) noexcept {
    const NarrowImages<L> src(args.src[0], args.src_shape[0]), dst(args.dst, args.dst_shape);
    const auto channels = static_cast<std::size_t>(dst.shape.c);
    for_ranges(args.executor, static_cast<std::size_t>(args.batch) * dst.shape.pixels(), dst.pixel,
               [&](std::size_t first, std::size_t last) {
                   for (std::size_t i = first; i < last; ++i) {
                       use(src.data + i * src.pixel, dst.data + i * dst.pixel);
                       std::fill_n(dst.data + i * dst.pixel + channels, dst.pixel - channels, element_of<L>{});
                   }
               });
}
/// Writes the zeros that layouts of floats have behind the channels of a pixel.
template <NarrowLayout L>
void write_zeros_behind(OpArgs const& args) noexcept {
    const NarrowImages<L> dst(args.dst, args.dst_shape);
    const auto channels = static_cast<std::size_t>(dst.shape.c);
    if (NeedsRange<L> || channels == dst.pixel) return;
    for_ranges(args.executor, static_cast<std::size_t>(args.batch) * dst.shape.pixels(), dst.pixel,
               [&](std::size_t first, std::size_t last) {
                   for (std::size_t i = first; i < last; ++i) {
                       std::fill_n(dst.data + i * dst.pixel + channels, dst.pixel - channels, element_of<L>{});
                   }
               });
}

}  // namespace primsel::inline PRIMSEL_ABI::op::detail
