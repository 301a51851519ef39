#pragma once

#include <primsel/core/config.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <span>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::search {

/// The expected amount by which a normally distributed value stays below a bound, E[(bound - y)+]; never below 0. A
/// deviation of 0 stands for a value that is known. (Jones et al. 1998, eq. 15.)
[[nodiscard]] inline double expected_improvement(double mean, double deviation, double bound) {
    const double below = bound - mean;
    if (!(deviation > 0)) return std::max(below, 0.0);
    const double z = below / deviation;
    const double density = std::exp(-0.5 * z * z) / std::sqrt(2 * std::numbers::pi);
    return std::max(deviation * (density + 0.5 * z * std::erfc(-z / std::numbers::sqrt2)), 0.0);
}

/// The logarithm of expected_improvement, which still orders points whose improvement underflows to 0 (Ament et al.
/// 2023).
[[nodiscard]] inline double log_expected_improvement(double mean, double deviation, double bound) {
    if (!(deviation > 0)) return std::log(std::max(bound - mean, 0.0));
    const double z = (bound - mean) / deviation;
    if (z > -20) return std::log(expected_improvement(mean, deviation, bound));
    // The first terms of Mills' ratio; their sum is above 0 from z = -3 on.
    const double square = 1 / (z * z);
    return std::log(deviation) - 0.5 * z * z - 0.5 * std::log(2 * std::numbers::pi) + std::log(square) +
           std::log1p(-3 * square + 15 * square * square);
}

/// The logarithm of the probability that a normally distributed value is at most 0.
[[nodiscard]] inline double log_probability_of_feasible(double mean, double deviation) {
    if (!(deviation > 0)) return mean <= 0 ? 0 : -mean - 1e3;
    const double z = -mean / deviation;
    if (z > -20) return std::log(0.5 * std::erfc(-z / std::numbers::sqrt2));
    return -0.5 * z * z - 0.5 * std::log(2 * std::numbers::pi) - std::log(-z) + std::log1p(-1 / (z * z));
}

/// Two objectives, both to be minimised.
struct Pair {
    double first = 0, second = 0;
    friend bool operator==(Pair const&, Pair const&) = default;
};

/// The Pareto front: the points that no other point surpasses, ordered by the first objective; of equal points one.
[[nodiscard]] inline std::vector<Pair> front_of(std::vector<Pair> points) {
    std::ranges::sort(points, {}, [](Pair const& p) { return std::pair(p.first, p.second); });
    std::vector<Pair> front;
    for (Pair const& point : points) {
        if (front.empty() || point.second < front.back().second) front.push_back(point);
    }
    return front;
}

/// The area that a front dominates up to a reference point, which is worse in both objectives.
[[nodiscard]] inline double hypervolume(std::span<const Pair> front, Pair const& reference) {
    double area = 0, level = reference.second;
    for (Pair const& point : front) {
        if (point.first >= reference.first || point.second >= level) continue;
        area += (reference.first - point.first) * (level - point.second);
        level = point.second;
    }
    return area;
}

/// The expected hypervolume improvement: the expected area that a point adds to a front if its objectives are
/// independent normal variables. A sum over the vertical strips between the front's points, in each of which the
/// expectation is a product (Emmerich et al. 2011).
[[nodiscard]] inline double expected_hypervolume_improvement(std::span<const Pair> front, Pair const& reference,
                                                             Pair const& mean, Pair const& deviation) {
    double sum = 0, left = 0, level = reference.second;  // left: E[(edge - y)+] of the strip's left edge
    for (std::size_t i = 0; i <= front.size(); ++i) {
        const double edge = i < front.size() ? std::min(front[i].first, reference.first) : reference.first;
        const double right = expected_improvement(mean.first, deviation.first, edge);
        sum += std::max(right - left, 0.0) * expected_improvement(mean.second, deviation.second, level);
        if (i < front.size()) left = right, level = std::min(level, front[i].second);
    }
    return sum;
}

}  // namespace primsel::inline PRIMSEL_ABI::search
