#pragma once

#include <primsel/core/config.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <span>

namespace primsel::inline PRIMSEL_ABI::learn::detail {

/// The terms of a time and the time, each as a share of it: the target is 1 where every time is known to the percent.
template <std::size_t n>
struct RelativeRow {
    std::array<double, n> terms{};
    double target = 1;
};

/// The x >= 0 with the least x' A x / 2 - b' x, by coordinate descent from a first guess.
template <std::size_t n>
[[nodiscard]] std::array<double, n> least_not_negative(std::array<std::array<double, n>, n> const& a,
                                                       std::array<double, n> const& b, std::array<double, n> x) {
    for (int round = 0; round < 2000; ++round) {
        double moved = 0;
        for (std::size_t i = 0; i < n; ++i) {
            if (!(a[i][i] > 0)) continue;
            double rest = b[i];
            for (std::size_t j = 0; j < n; ++j) {
                if (j != i) rest -= a[i][j] * x[j];
            }
            const double next = std::max(rest / a[i][i], 0.0);
            moved = std::max(moved, std::abs(next - x[i]) * std::sqrt(a[i][i]));
            x[i] = next;
        }
        if (moved < 1e-9) break;
    }
    return x;
}

/// The coefficients, none of them negative, with the least absolute relative errors, by squares that are weighed anew;
/// what is within 3 % counts as right. As if so many samples had said that a coefficient is the usual one: terms that
/// no sample tells apart share as the usual ones do.
/// If `of_logarithms`, errors of the logarithms count: half of a time is as wrong as twice.
template <std::size_t n>
[[nodiscard]] std::array<double, n> relative_fit(std::span<const RelativeRow<n>> rows,
                                                 std::array<double, n> const& usual,
                                                 std::array<double, n> const& usual_samples,
                                                 bool of_logarithms = false) {
    constexpr double right = 0.03, least = 0.02;  // smaller predictions than this share are as wrong as it
    std::array<double, n> result = usual;
    for (int round = 0; round < 30; ++round) {
        std::array<std::array<double, n>, n> products{};
        std::array<double, n> targets{};
        for (RelativeRow<n> const& row : rows) {
            double predicted = 0;
            for (std::size_t j = 0; j < n; ++j) predicted += result[j] * row.terms[j];
            const double off = round == 0 ? 0 : std::abs(predicted - row.target);
            double weight = right / std::max(off, right);
            // The slope of the logarithm beside that of the time.
            if (of_logarithms && round > 0) weight *= row.target / std::max(predicted, least * row.target);
            for (std::size_t i = 0; i < n; ++i) {
                targets[i] += weight * row.target * row.terms[i];
                for (std::size_t j = 0; j < n; ++j) products[i][j] += weight * row.terms[i] * row.terms[j];
            }
        }
        for (std::size_t i = 0; i < n; ++i) {
            products[i][i] += usual_samples[i];
            targets[i] += usual_samples[i] * usual[i];
        }
        result = least_not_negative(products, targets, result);
    }
    // The rounding of sums leaves coefficients of 1e-20, which another compiler makes otherwise.
    for (double& value : result) value = value < 1e-15 ? 0 : value;
    return result;
}

}  // namespace primsel::inline PRIMSEL_ABI::learn::detail
