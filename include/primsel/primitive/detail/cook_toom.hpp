// The transform matrices of Winograd's minimal filtering, from their interpolation points.
#pragma once

#include <primsel/core/config.hpp>

#include <array>
#include <cstddef>

namespace primsel::inline PRIMSEL_ABI::detail {

template <int rows, int columns>
using Matrix = std::array<std::array<double, static_cast<std::size_t>(columns)>, static_cast<std::size_t>(rows)>;

/// F(m, r) by the Cook-Toom algorithm (Blahut 2010, chapter 5; transposed as in Lavin and Gray 2016): the m outputs of
/// an r-tap filter are output * ((kernel * g) elementwise (input * d)), with m + r - 2 finite points and infinity.
template <int m, int r>
struct CookToom {
    static constexpr int taps = m + r - 1;
    Matrix<m, taps> output{};
    Matrix<taps, r> kernel{};
    Matrix<taps, taps> input{};

    constexpr explicit CookToom(std::array<double, static_cast<std::size_t>(m + r - 2)> const& points) {
        constexpr auto finite = static_cast<std::size_t>(taps - 1);
        for (std::size_t j = 0; j < finite; ++j) {
            double power = 1;
            for (std::size_t i = 0; i < static_cast<std::size_t>(m); ++i, power *= points[j]) output[i][j] = power;
            double scale = 1;
            for (std::size_t l = 0; l < finite; ++l) {
                if (l != j) scale *= points[j] - points[l];
            }
            power = 1;
            for (std::size_t i = 0; i < static_cast<std::size_t>(r); ++i, power *= points[j]) {
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

    /// The largest deviation from the identity that makes it a convolution: output i of tap t of input j is 1 where
    /// j = i + t and 0 elsewhere.
    [[nodiscard]] constexpr double defect() const {
        double worst = 0;
        for (std::size_t i = 0; i < static_cast<std::size_t>(m); ++i) {
            for (std::size_t t = 0; t < static_cast<std::size_t>(r); ++t) {
                for (std::size_t j = 0; j < static_cast<std::size_t>(taps); ++j) {
                    double sum = j == i + t ? -1.0 : 0.0;
                    for (std::size_t p = 0; p < static_cast<std::size_t>(taps); ++p) {
                        sum += output[i][p] * kernel[p][t] * input[p][j];
                    }
                    worst = sum > worst ? sum : -sum > worst ? -sum : worst;
                }
            }
        }
        return worst;
    }

private:
    /// polynomial *= (x - root)
    static constexpr void multiply(std::array<double, static_cast<std::size_t>(taps)>& polynomial, std::size_t degree,
                                   double root) {
        for (std::size_t i = degree + 1; i > 0; --i) polynomial[i] = polynomial[i - 1] - root * polynomial[i];
        polynomial[0] *= -root;
    }
};

/// The first n of the points that keep the numbers small, in the order in which they are used.
template <int n>
constexpr std::array<double, static_cast<std::size_t>(n)> default_points() {
    constexpr std::array<double, 9> all{0, 1, -1, 2, -2, 0.5, -0.5, 4, -4};
    std::array<double, static_cast<std::size_t>(n)> points{};
    for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) points[i] = all[i];
    return points;
}

template <int m, int r>
inline constexpr CookToom<m, r> cook_toom{default_points<m + r - 2>()};
// Objects of their own, to be template arguments.
template <int m, int r>
inline constexpr auto output_matrix = cook_toom<m, r>.output;
template <int m, int r>
inline constexpr auto input_matrix = cook_toom<m, r>.input;

}  // namespace primsel::inline PRIMSEL_ABI::detail
