#pragma once

#include <primsel/core/config.hpp>

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

}  // namespace primsel::inline PRIMSEL_ABI::op::detail
