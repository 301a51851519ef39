// Opt-in: needs Eigen (the CMake target primsel::eigen).
#pragma once

#include <primsel/core/config.hpp>

#include <Eigen/Core>

#include <cmath>
#include <limits>

namespace primsel::inline PRIMSEL_ABI::search::detail {

/// The Yeo-Johnson transform (Yeo and Johnson 2000) of values with mean 0 and standard deviation 1. The farther the
/// power is from 1, the more it bends.
[[nodiscard]] inline Eigen::VectorXd bent(Eigen::VectorXd const& values, double power) {
    return values.unaryExpr([power](double y) {
        if (y >= 0) return std::abs(power) < 1e-9 ? std::log1p(y) : (std::pow(y + 1, power) - 1) / power;
        const double other = 2 - power;
        return std::abs(other) < 1e-9 ? -std::log1p(-y) : -(std::pow(1 - y, other) - 1) / other;
    });
}

/// The standardised values in the same order, transformed so that they are as near to normally distributed as possible:
/// the long tail of large ones is drawn in. A Gaussian process learns them better (Cowen-Rivers et al. 2022).
[[nodiscard]] inline Eigen::VectorXd warped(Eigen::VectorXd const& values) {
    const auto n = static_cast<double>(values.size());
    const double mean = values.mean(), spread = std::sqrt((values.array() - mean).square().mean());
    if (!(spread > 1e-12 * std::abs(mean)) || values.size() < 3) return values;
    const Eigen::VectorXd standard = (values.array() - mean) / spread;
    // The derivative of the curve: sign(y) log(1 + |y|) times power - 1.
    const double slopes = standard.unaryExpr([](double y) { return y < 0 ? -std::log1p(-y) : std::log1p(y); }).sum();
    double best = -std::numeric_limits<double>::infinity();
    Eigen::VectorXd result = standard;
    for (double power = -2; power <= 1; power += 0.25) {
        const Eigen::VectorXd curve = bent(standard, power);
        const double variance = (curve.array() - curve.mean()).square().mean();
        const double likelihood = -0.5 * n * std::log(variance) + (power - 1) * slopes;
        if (likelihood > best) best = likelihood, result = curve;
    }
    return result;
}

}  // namespace primsel::inline PRIMSEL_ABI::search::detail
