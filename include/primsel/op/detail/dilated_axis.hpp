#pragma once

#include <primsel/layer/pool.hpp>

#include <algorithm>
#include <cstddef>

namespace primsel::inline PRIMSEL_ABI::op::detail {

/// The windows along one axis of an image, whose taps are `dilation` elements apart.
struct DilatedAxis {
    std::ptrdiff_t in, size, step, dilation, before, after;
    bool count_pad;

    [[nodiscard]] std::ptrdiff_t at(std::ptrdiff_t out, std::ptrdiff_t tap) const {
        return out * step - before + tap * dilation;
    }
    /// Returns the taps of a window inside the image: [first, last).
    [[nodiscard]] std::ptrdiff_t first_tap(std::ptrdiff_t out) const { return taps_before(out, 0); }
    [[nodiscard]] std::ptrdiff_t last_tap(std::ptrdiff_t out) const { return taps_before(out, in); }
    /// Returns the outputs whose tap is inside the image: [first, last).
    [[nodiscard]] std::ptrdiff_t first_output(std::ptrdiff_t tap) const {
        const std::ptrdiff_t outside = before - tap * dilation;
        return outside <= 0 ? 0 : (outside + step - 1) / step;
    }
    [[nodiscard]] std::ptrdiff_t last_output(std::ptrdiff_t tap, std::ptrdiff_t outputs) const {
        const std::ptrdiff_t room = in - 1 - at(0, tap);
        return room < 0 ? 0 : std::min(room / step + 1, outputs);
    }
    /// Returns the taps inside the image of so many windows together.
    [[nodiscard]] double taps(std::ptrdiff_t outputs) const {
        std::ptrdiff_t sum = 0;
        for (std::ptrdiff_t out = 0; out < outputs; ++out) sum += last_tap(out) - first_tap(out);
        return static_cast<double>(sum);
    }
    /// Returns the divisor of an average.
    [[nodiscard]] std::ptrdiff_t counted(std::ptrdiff_t out) const {
        return count_pad ? taps_before(out, in + after) : last_tap(out) - first_tap(out);
    }

private:
    /// Returns the number of taps that lie before a place.
    [[nodiscard]] std::ptrdiff_t taps_before(std::ptrdiff_t out, std::ptrdiff_t place) const {
        const std::ptrdiff_t room = place - at(out, 0);
        return room <= 0 ? 0 : std::min((room + dilation - 1) / dilation, size);
    }
};

/// The axes of a pool's windows on such an image.
[[nodiscard]] inline DilatedAxis axis_down(PoolParams const& params, Shape in) {
    return {in.h,
            params.window.h,
            params.stride.h,
            params.dilation.h,
            params.padding.top,
            params.padding.bottom,
            params.count_include_pad};
}
[[nodiscard]] inline DilatedAxis axis_across(PoolParams const& params, Shape in) {
    return {in.w,
            params.window.w,
            params.stride.w,
            params.dilation.w,
            params.padding.left,
            params.padding.right,
            params.count_include_pad};
}

}  // namespace primsel::inline PRIMSEL_ABI::op::detail
