// A view of images by rows that serves all strided layouts: chw, hcw and hwc, and each of them with rows and columns
// exchanged.
#pragma once

#include <primsel/layer/layer.hpp>
#include <primsel/op/detail/blocks.hpp>
#include <primsel/op/op_args.hpp>
#include <primsel/tensor/layout.hpp>

#include <algorithm>
#include <cstddef>

namespace primsel::inline PRIMSEL_ABI::op::detail {

/// Returns whether rows and columns are exchanged: the elements of a column are closer together than those of a row.
template <StridedLayout L>
[[nodiscard]] constexpr bool is_transposed() {
    for (const Axis axis : axis_order<L>()) {
        if (axis != Axis::c) return axis == Axis::w;
    }
    return false;
}

[[nodiscard]] constexpr Shape exchanged(Shape shape) { return {.c = shape.c, .h = shape.w, .w = shape.h}; }
[[nodiscard]] constexpr Extent exchanged(Extent extent) { return {extent.w, extent.h}; }
[[nodiscard]] constexpr Padding exchanged(Padding padding) {
    return {padding.left, padding.right, padding.top, padding.bottom};
}
[[nodiscard]] constexpr Strides exchanged(Strides strides) { return {.c = strides.c, .h = strides.w, .w = strides.h}; }

/// Calls f(params, args, strides of the input, strides of the result) for an op of one input that treats rows and
/// columns alike. In a transposed layout f gets `other`, and shapes and strides with rows and columns exchanged. So f
/// need only handle chw, hcw and hwc.
template <StridedLayout L, class Params, class F>
void with_rows_outside(Params const& params, Params const& other, OpArgs const& args, F const& f) noexcept {
    const Strides from = L::strides(args.src_shape[0]), to = L::strides(args.dst_shape);
    if (!is_transposed<L>()) return f(params, args, from, to);
    const Shape in = exchanged(args.src_shape[0]);
    OpArgs rotated = args;
    rotated.src_shape = {&in, 1};
    rotated.dst_shape = exchanged(args.dst_shape);
    f(other, rotated, exchanged(from), exchanged(to));
}

/// Rows of one image that follow each other in memory: those of one channel, or one row of several channels. If the
/// channels of a pixel are contiguous, a row has all of them, and c is 0.
struct RowRange {
    std::size_t image;
    Coord first;
    int count;
    bool downwards;  ///< whether the rows differ in h, not in c
    [[nodiscard]] Coord operator[](int i) const {
        return downwards ? Coord{first.c, first.h + i, 0} : Coord{first.c + i, first.h, 0};
    }
};

/// Calls f(range) for ranges that cover a batch of images in chw, hcw or hwc.
template <class F>
void for_rows(ExecutorRef executor, int batch, Shape shape, Strides strides, F const& f) noexcept {
    const bool planes = strides.c > strides.h, together = strides.w != 1;
    const auto outer = static_cast<std::size_t>(planes ? shape.c : shape.h);
    for_ranges(executor, static_cast<std::size_t>(batch) * outer, shape.size() / outer,
               [=, &f](std::size_t first, std::size_t last) {
                   for (std::size_t item = first, items = 1; item < last; item += items) {
                       const auto at = static_cast<int>(item % outer);
                       if (together && !planes) items = std::min(last - item, outer - item % outer);
                       f(RowRange{.image = item / outer,
                                  .first = planes ? Coord{at, 0, 0} : Coord{0, at, 0},
                                  .count = planes     ? shape.h
                                           : together ? static_cast<int>(items)
                                                      : shape.c,
                                  .downwards = planes || together});
                   }
               });
}

}  // namespace primsel::inline PRIMSEL_ABI::op::detail
