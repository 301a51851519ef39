#pragma once

#include <primsel/core/config.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

namespace primsel::inline PRIMSEL_ABI {

/// A string that may be a template argument, as in Named<"stem", ...>. N counts the terminating zero.
template <std::size_t N>
struct FixedString {
    char text[N] = {};

    constexpr FixedString() = default;
    // NOLINTNEXTLINE(google-explicit-constructor): a literal is meant to convert
    constexpr FixedString(const char (&literal)[N]) { std::copy_n(literal, N, text); }

    [[nodiscard]] constexpr std::string_view view() const { return {text, N - 1}; }
    // NOLINTNEXTLINE(google-explicit-constructor)
    constexpr operator std::string_view() const { return view(); }
};

template <std::size_t N, std::size_t M>
constexpr auto operator+(FixedString<N> const& left, FixedString<M> const& right) {
    FixedString<N + M - 1> sum;
    std::copy_n(left.text, N - 1, sum.text);
    std::copy_n(right.text, M, sum.text + N - 1);
    return sum;
}
template <std::size_t N, std::size_t M>
constexpr auto operator+(FixedString<N> const& left, const char (&right)[M]) {
    return left + FixedString<M>(right);
}

/// Returns a number in decimal, e.g. for `winograd-4x4-3x3`.
template <unsigned value>
constexpr auto fixed_decimal() {
    constexpr std::size_t digits = [] {
        std::size_t count = 1;
        for (unsigned rest = value; rest >= 10; rest /= 10) ++count;
        return count;
    }();
    FixedString<digits + 1> text;
    unsigned rest = value;
    for (std::size_t i = digits; i-- > 0; rest /= 10) text.text[i] = static_cast<char>('0' + rest % 10);
    return text;
}

}  // namespace primsel::inline PRIMSEL_ABI
