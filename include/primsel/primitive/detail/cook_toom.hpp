// The transform matrices of Winograd's minimal filtering, computed exactly from their interpolation points.
#pragma once

#include <primsel/core/fixed_string.hpp>
#include <primsel/core/rational.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <ratio>

namespace primsel::inline PRIMSEL_ABI {

/// Finite, distinct interpolation points, each a std::ratio. Infinity is always the last point and not listed.
template <class... Ratios>
struct Points {
    static constexpr std::size_t count = sizeof...(Ratios);
    static constexpr std::array<Rational, sizeof...(Ratios)> values{Rational(Ratios{})...};
};

namespace primitive::detail {

template <class Number, int rows, int columns>
using Matrix = std::array<std::array<Number, static_cast<std::size_t>(columns)>, static_cast<std::size_t>(rows)>;

/// The matrices of F(m, r) by the Cook-Toom algorithm (Blahut 2010, chapter 5; transposed as in Lavin and Gray 2016).
/// The m outputs of an r-tap filter are output * ((kernel * g) elementwise (input * d)). There are m + r - 2 finite
/// points and infinity.
template <int m, int r>
struct CookToom {
    static constexpr int taps = m + r - 1;
    static constexpr auto finite = static_cast<std::size_t>(taps - 1);
    Matrix<Rational, m, taps> output{};
    Matrix<Rational, taps, r> kernel{};
    Matrix<Rational, taps, taps> input{};

    constexpr explicit CookToom(std::array<Rational, finite> const& points) {
        for (std::size_t j = 0; j < finite; ++j) {
            Rational power = 1;
            for (std::size_t i = 0; i < static_cast<std::size_t>(m); ++i, power = power * points[j])
                output[i][j] = power;
            Rational scale = 1;
            for (std::size_t l = 0; l < finite; ++l) {
                if (l != j) scale = scale * (points[j] - points[l]);
            }
            power = 1;
            for (std::size_t i = 0; i < static_cast<std::size_t>(r); ++i, power = power * points[j]) {
                kernel[j][i] = power / scale;
            }
            // The coefficients of the product of (x - points[l]) over l != j.
            std::size_t degree = 0;
            input[j][0] = 1;
            for (std::size_t l = 0; l < finite; ++l) {
                if (l != j) multiply(input[j], degree++, points[l]);
            }
        }
        output[static_cast<std::size_t>(m - 1)][finite] = 1;
        kernel[finite][static_cast<std::size_t>(r - 1)] = 1;
        input[finite][0] = 1;
        for (std::size_t l = 0; l < finite; ++l) multiply(input[finite], l, points[l]);
    }

    /// Returns whether the matrices compute a convolution of any signal and filter: output i is the sum of tap t times
    /// input i + t.
    [[nodiscard]] constexpr bool is_convolution() const {
        for (std::size_t i = 0; i < static_cast<std::size_t>(m); ++i) {
            for (std::size_t t = 0; t < static_cast<std::size_t>(r); ++t) {
                for (std::size_t j = 0; j < static_cast<std::size_t>(taps); ++j) {
                    Rational sum = 0;
                    for (std::size_t p = 0; p < static_cast<std::size_t>(taps); ++p) {
                        sum = sum + output[i][p] * kernel[p][t] * input[p][j];
                    }
                    if (sum != Rational(j == i + t ? 1 : 0)) return false;
                }
            }
        }
        return true;
    }

private:
    /// polynomial *= (x - root)
    static constexpr void multiply(std::array<Rational, static_cast<std::size_t>(taps)>& polynomial, std::size_t degree,
                                   Rational root) {
        for (std::size_t i = degree + 1; i > 0; --i) polynomial[i] = polynomial[i - 1] - root * polynomial[i];
        polynomial[0] = Rational(0) - root * polynomial[0];
    }
};

template <std::size_t rows, std::size_t columns>
constexpr std::array<std::array<double, columns>, rows> to_doubles(
    std::array<std::array<Rational, columns>, rows> const& exact) {
    std::array<std::array<double, columns>, rows> rounded{};
    for (std::size_t i = 0; i < rows; ++i) {
        for (std::size_t j = 0; j < columns; ++j) rounded[i][j] = exact[i][j].value();
    }
    return rounded;
}

template <int n, class Used, class... Rest>
struct FirstPoints;
template <int n, class... Used, class First, class... Rest>
    requires(n > 0)
struct FirstPoints<n, Points<Used...>, First, Rest...> : FirstPoints<n - 1, Points<Used..., First>, Rest...> {};
template <class... Used, class... Rest>
struct FirstPoints<0, Points<Used...>, Rest...> {
    using type = Points<Used...>;
};

}  // namespace primitive::detail

/// The first n default points, in an order that keeps the matrices' numbers small.
template <int n>
using DefaultPoints = typename primitive::detail::FirstPoints<n, Points<>, std::ratio<0>, std::ratio<1>, std::ratio<-1>,
                                                              std::ratio<2>, std::ratio<-2>, std::ratio<1, 2>,
                                                              std::ratio<-1, 2>, std::ratio<4>, std::ratio<-4>>::type;

namespace primitive::detail {

/// The end of a primitive's id that names its points: "-at_0_1_-1_1/2"; empty for the default points.
template <class P>
struct PointsSuffix;
template <class... Ratios>
struct PointsSuffix<Points<Ratios...>> {
    template <class R>
    static constexpr auto digits = [] {
        constexpr auto magnitude = fixed_decimal<static_cast<unsigned>(R::num < 0 ? -R::num : R::num)>();
        constexpr auto numerator = [=] {
            if constexpr (R::num < 0)
                return FixedString("_-") + magnitude;
            else
                return FixedString("_") + magnitude;
        }();
        if constexpr (R::den == 1)
            return numerator;
        else
            return numerator + "/" + fixed_decimal<static_cast<unsigned>(R::den)>();
    }();
    static constexpr auto value = [] {
        if constexpr (std::same_as<Points<Ratios...>, DefaultPoints<static_cast<int>(sizeof...(Ratios))>>)
            return FixedString("");
        else
            return (FixedString("-at") + ... + digits<typename Ratios::type>);
    }();
};

template <std::size_t rows, std::size_t columns>
[[nodiscard]] constexpr auto transpose_of(std::array<std::array<double, columns>, rows> const& matrix) {
    std::array<std::array<double, rows>, columns> result{};
    for (std::size_t i = 0; i < rows; ++i) {
        for (std::size_t j = 0; j < columns; ++j) result[j][i] = matrix[i][j];
    }
    return result;
}

template <int m, int r, class P = DefaultPoints<m + r - 2>>
inline constexpr CookToom<m, r> cook_toom{P::values};
// The matrices as objects, so that they may be template arguments.
template <int m, int r, class P = DefaultPoints<m + r - 2>>
inline constexpr auto output_matrix = to_doubles(cook_toom<m, r, P>.output);
template <int m, int r, class P = DefaultPoints<m + r - 2>>
inline constexpr auto kernel_matrix = to_doubles(cook_toom<m, r, P>.kernel);
template <int m, int r, class P = DefaultPoints<m + r - 2>>
inline constexpr auto input_matrix = to_doubles(cook_toom<m, r, P>.input);
template <int m, int r, class P = DefaultPoints<m + r - 2>>
inline constexpr auto transposed_output_matrix = transpose_of(output_matrix<m, r, P>);
template <int m, int r, class P = DefaultPoints<m + r - 2>>
inline constexpr auto transposed_kernel_matrix = transpose_of(kernel_matrix<m, r, P>);

}  // namespace primitive::detail

}  // namespace primsel::inline PRIMSEL_ABI
