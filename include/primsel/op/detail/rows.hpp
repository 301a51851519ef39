// What is the same for all layouts, seen from the rows of an image.
#pragma once

#include <primsel/op/detail/blocks.hpp>
#include <primsel/tensor/layout.hpp>

#include <cstddef>

namespace primsel::inline PRIMSEL_ABI::detail {

/// Calls f(image, channel, row) for the rows of a batch of images in the order of their memory; where the channels of a
/// pixel are neighbours, a row is that of all channels, and channel is 0.
template <class F>
void for_rows(ExecutorRef executor, int batch, Shape shape, Strides strides, F const& f) noexcept {
    const bool planes = strides.c > strides.h, together = strides.w != 1;
    const int outer = planes ? shape.c : shape.h;
    const int inner = planes ? shape.h : together ? 1 : shape.c;
    const auto count = static_cast<std::size_t>(outer);
    for_ranges(executor, static_cast<std::size_t>(batch) * count, shape.size() / count,
               [=, &f](std::size_t first, std::size_t last) {
                   for (std::size_t item = first; item < last; ++item) {
                       const auto image = item / count;
                       const auto at = static_cast<int>(item % count);
                       for (int i = 0; i < inner; ++i) f(image, planes ? at : i, planes ? i : at);
                   }
               });
}

}  // namespace primsel::inline PRIMSEL_ABI::detail
