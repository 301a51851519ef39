#pragma once

#include <primsel/layer/activation.hpp>
#include <primsel/op/detail/elements.hpp>
#include <primsel/op/op.hpp>

#include <concepts>
#include <cstddef>

namespace primsel::inline PRIMSEL_ABI {

namespace op::detail {

template <class Arch, bool has_residual>
void add_and_clamp(AxisView view, float* data, const float* bias, const float* residual, Clamp of_summand, Clamp bounds,
                   ExecutorRef executor) noexcept {
    using V = Floats<Arch>;
    const auto finish = [=, low = V(bounds.low), high = V(bounds.high), least = V(of_summand.low),
                         most = V(of_summand.high)](std::size_t at, std::size_t n, V sum) {
        if constexpr (has_residual) sum = clamp<Arch>(sum, least, most) + load_up_to<Arch>(residual + at, n);
        store_up_to<Arch>(data + at, clamp<Arch>(sum, low, high), n);
    };
    if (bias != nullptr) {
        for_channel_elements<Arch, 1>(executor, view, bias, [=](std::size_t at, std::size_t n, const V* of_channel) {
            finish(at, n, load_up_to<Arch>(data + at, n) + of_channel[0]);
        });
    } else {
        for_elements<Arch>(executor, view.outer * view.count * view.inner,
                           [=](std::size_t at, std::size_t n) { finish(at, n, load_up_to<Arch>(data + at, n)); });
    }
}

/// Adds and clamps element by element, in a layout that need not be strided. Padding stays unchanged.
template <Layout L>
void add_and_clamp_anywhere(Shape shape, int batch, float* data, const float* bias, const float* residual,
                            Clamp of_summand, Clamp bounds, ExecutorRef executor) noexcept {
    const auto rows = static_cast<std::size_t>(shape.h);
    const std::size_t floats = static_cast<std::size_t>(shape.c) * static_cast<std::size_t>(shape.w);
    for_ranges(executor, static_cast<std::size_t>(batch) * rows, floats, [=](std::size_t first, std::size_t last) {
        for (std::size_t item = first; item < last; ++item) {
            const std::size_t image = item / rows * L::size(shape);
            for (int c = 0; c < shape.c; ++c) {
                for (int w = 0; w < shape.w; ++w) {
                    const std::size_t at = image + L::offset(shape, {c, static_cast<int>(item % rows), w});
                    float sum = data[at];
                    if (bias != nullptr) sum += bias[c];
                    if (residual != nullptr) sum = clamp(sum, of_summand.low, of_summand.high) + residual[at];
                    data[at] = clamp(sum, bounds.low, bounds.high);
                }
            }
        }
    });
}

}  // namespace op::detail

/// The pass after a convolution that fuses nothing: data = clamp(data + bias[c] + residual), for a batch of images of
/// the shape in layout L. bias has c values; residual has the layout of data; either may be null. Before a residual is
/// added, the sum of the others is brought within the bounds `summand`. The bits are the same for every executor.
template <class Arch, Layout L>
    requires std::same_as<element_of<L>, float>
void apply_epilogue(Shape shape, int batch, float* data, const float* bias, const float* residual, Clamp summand,
                    Clamp clamp, ExecutorRef executor) noexcept {
    if (bias == nullptr && residual == nullptr && clamp == Clamp{}) return;
    if constexpr (!StridedLayout<L>) {
        op::detail::add_and_clamp_anywhere<L>(shape, batch, data, bias, residual, summand, clamp, executor);
    } else if (residual != nullptr) {
        op::detail::add_and_clamp<Arch, true>(op::detail::channel_view<L>(shape, batch), data, bias, residual, summand,
                                              clamp, executor);
    } else {
        op::detail::add_and_clamp<Arch, false>(op::detail::channel_view<L>(shape, batch), data, bias, nullptr, summand,
                                               clamp, executor);
    }
}

}  // namespace primsel::inline PRIMSEL_ABI
