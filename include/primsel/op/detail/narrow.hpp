// Ops on images whose elements are smaller than floats.
#pragma once

#include <primsel/layer/combine.hpp>
#include <primsel/layer/pool.hpp>
#include <primsel/op/detail/blocks.hpp>
#include <primsel/op/op.hpp>

#include <algorithm>
#include <cstddef>
#include <span>

namespace primsel::inline PRIMSEL_ABI::op::detail {

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

/// The taps of a window along one axis that lie in the image.
struct WindowTaps {
    std::ptrdiff_t begin, first, last, dilation;
    float counted;  ///< the taps that an average counts

    [[nodiscard]] std::ptrdiff_t operator[](std::ptrdiff_t tap) const { return begin + tap * dilation; }
};
[[nodiscard]] inline WindowTaps window_taps(std::ptrdiff_t out, std::ptrdiff_t in, std::ptrdiff_t size,
                                            std::ptrdiff_t step, std::ptrdiff_t dilation, std::ptrdiff_t before,
                                            std::ptrdiff_t after, bool count_pad) {
    const std::ptrdiff_t begin = out * step - before;
    // Returns the number of taps that lie before a place.
    const auto taps_before = [=](std::ptrdiff_t place) {
        return std::clamp((place - begin + dilation - 1) / dilation, std::ptrdiff_t{0}, size);
    };
    const std::ptrdiff_t first = begin < 0 ? taps_before(0) : 0, last = taps_before(in);
    return {begin, first, last, dilation, static_cast<float>(count_pad ? taps_before(in + after) : last - first)};
}

/// Calls use(src, image, taps down, taps across, pixel of the result) for each pixel of a pool's result.
template <class L, class Use>
void for_windows(PoolParams const& params, OpArgs const& args, Use const& use) noexcept {
    const NarrowImages<L> src(args.src[0], args.src_shape[0]), dst(args.dst, args.dst_shape);
    const auto rows = static_cast<std::size_t>(dst.shape.h);
    const auto pool_row = [&](std::size_t image, std::ptrdiff_t h) {
        const auto down = window_taps(h, src.shape.h, params.window.h, params.stride.h, params.dilation.h,
                                      params.padding.top, params.padding.bottom, params.count_include_pad);
        for (std::ptrdiff_t w = 0; w < dst.shape.w; ++w) {
            const auto across = window_taps(w, src.shape.w, params.window.w, params.stride.w, params.dilation.w,
                                            params.padding.left, params.padding.right, params.count_include_pad);
            use(src, image, down, across, dst.at(image, h, w));
        }
    };
    for_ranges(args.executor, static_cast<std::size_t>(args.batch) * rows, dst.image / rows,
               [&](std::size_t first, std::size_t last) {
                   for (std::size_t row = first; row < last; ++row) {
                       pool_row(row / rows, static_cast<std::ptrdiff_t>(row % rows));
                   }
               });
}
/// The same for pools of whole images.
template <class L, class Use>
void for_images(OpArgs const& args, Use const& use) noexcept {
    const NarrowImages<L> src(args.src[0], args.src_shape[0]), dst(args.dst, args.dst_shape);
    const auto all = [](std::ptrdiff_t in) { return window_taps(0, in, in, 1, 1, 0, 0, false); };
    args.executor.parallel_for(static_cast<std::size_t>(args.batch), [&](std::size_t image, std::size_t) {
        use(src, image, all(src.shape.h), all(src.shape.w), dst.at(image, 0, 0));
    });
}

/// Concatenates images by copy(input, src, number of elements, dst).
template <class L, class Copy>
void concatenate_narrow(ConcatParams const& params, OpArgs const& args, Copy const& copy) noexcept {
    const NarrowImages<L> dst(args.dst, args.dst_shape);
    // Runs of the result, to which each input gives a part.
    const std::size_t runs = params.axis == Axis::c   ? dst.shape.pixels()
                             : params.axis == Axis::w ? static_cast<std::size_t>(dst.shape.h)
                                                      : 1,
                      length = dst.image / runs;
    for_ranges(args.executor, static_cast<std::size_t>(args.batch) * runs, length,
               [&](std::size_t first, std::size_t last) {
                   for (std::size_t run = first; run < last; ++run) {
                       auto* to = dst.data + run * length;
                       for (std::size_t i = 0; i < args.src.size(); ++i) {
                           const NarrowImages<L> src(args.src[i], args.src_shape[i]);
                           const std::size_t part = src.image / runs,
                                             n = params.axis == Axis::c ? static_cast<std::size_t>(src.shape.c) : part;
                           copy(i, src.data + run * part, n, to);
                           to += n;
                       }
                       std::fill(to, dst.data + (run + 1) * length, element_of<L>{});
                   }
               });
}

}  // namespace primsel::inline PRIMSEL_ABI::op::detail
