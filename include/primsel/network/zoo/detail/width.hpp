#pragma once

#include <primsel/core/config.hpp>

#include <cstdint>
#include <ratio>

namespace primsel::inline PRIMSEL_ABI::zoo::detail {

/// A network's channels times its width, a std::ratio.
template <class Width, int channels>
inline constexpr int wide = [] {
    static_assert(Width::num > 0, "primsel: a network's width is positive");
    constexpr bool is_whole = channels * Width::num % Width::den == 0;
    static_assert(is_whole, "primsel: this width leaves a fraction of a channel");
    return is_whole ? static_cast<int>(channels * Width::num / Width::den) : channels;
}();

/// The same rounded to a multiple of 8, but up where that would take more than a tenth (Sandler et al. 2018, in the
/// authors' code).
template <class Width, int channels>
inline constexpr int rounded = [] {
    static_assert(Width::num > 0, "primsel: a network's width is positive");
    constexpr std::intmax_t nearest = (channels * Width::num + 4 * Width::den) / (8 * Width::den) * 8;
    constexpr std::intmax_t least = nearest < 8 ? 8 : nearest;
    return static_cast<int>(10 * least * Width::den < 9 * channels * Width::num ? least + 8 : least);
}();

}  // namespace primsel::inline PRIMSEL_ABI::zoo::detail
