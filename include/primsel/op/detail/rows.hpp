// What is the same for all layouts, seen from the rows of an image.
#pragma once

#include <primsel/op/detail/blocks.hpp>
#include <primsel/tensor/layout.hpp>

#include <cstddef>

namespace primsel::inline PRIMSEL_ABI::detail {

/// Rows of one image that follow each other in memory: those of one channel, or one row of several channels. Where the
/// channels of a pixel are neighbours, a row is that of all channels, and c is 0.
struct RowRange {
    std::size_t image;
    Coord first;
    int count;
    bool of_one_channel;
    [[nodiscard]] Coord operator[](int i) const {
        return of_one_channel ? Coord{first.c, first.h + i, 0} : Coord{first.c + i, first.h, 0};
    }
};

/// Calls f(range) for ranges that make up a batch of images.
template <class F>
void for_rows(ExecutorRef executor, int batch, Shape shape, Strides strides, F const& f) noexcept {
    const bool planes = strides.c > strides.h, together = strides.w != 1;
    const auto outer = static_cast<std::size_t>(planes ? shape.c : shape.h);
    const int inner = planes ? shape.h : together ? 1 : shape.c;
    for_ranges(executor, static_cast<std::size_t>(batch) * outer, shape.size() / outer,
               [=, &f](std::size_t first, std::size_t last) {
                   for (std::size_t item = first; item < last; ++item) {
                       const auto at = static_cast<int>(item % outer);
                       f(RowRange{item / outer, planes ? Coord{at, 0, 0} : Coord{0, at, 0}, inner, planes});
                   }
               });
}

}  // namespace primsel::inline PRIMSEL_ABI::detail
