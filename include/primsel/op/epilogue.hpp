#pragma once

#include <primsel/layer/activation.hpp>
#include <primsel/op/detail/elements.hpp>
#include <primsel/op/op.hpp>

namespace primsel::inline PRIMSEL_ABI {

namespace detail {

template <class Arch, bool has_residual>
void add_and_clamp(AxisView view, float* data, const float* bias, const float* residual, Clamp bounds,
                   ExecutorRef executor) noexcept {
    using V = Floats<Arch>;
    const auto finish = [=, low = V(bounds.low), high = V(bounds.high)](std::size_t at, std::size_t n, V sum) {
        if constexpr (has_residual) sum += load_up_to<Arch>(residual + at, n);
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

}  // namespace detail

/// What follows a convolution that fuses nothing: data = clamp(data + bias[c] + residual), for a batch of images of the
/// shape in layout L. bias has c values; residual lies as data does; either may be null. The same bits whatever the
/// executor.
template <class Arch, StridedLayout L>
void apply_epilogue(Shape shape, int batch, float* data, const float* bias, const float* residual, Clamp clamp,
                    ExecutorRef executor) noexcept {
    const auto view = detail::channel_view<L>(shape, batch);
    if (bias == nullptr && residual == nullptr && clamp == Clamp{}) return;
    if (residual != nullptr) {
        detail::add_and_clamp<Arch, true>(view, data, bias, residual, clamp, executor);
    } else {
        detail::add_and_clamp<Arch, false>(view, data, bias, residual, clamp, executor);
    }
}

}  // namespace primsel::inline PRIMSEL_ABI
