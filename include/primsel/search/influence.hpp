#pragma once

#include <primsel/core/executor.hpp>
#include <primsel/core/finite.hpp>
#include <primsel/cost/table.hpp>
#include <primsel/learn/forest.hpp>
#include <primsel/search/detail/draw.hpp>
#include <primsel/search/space.hpp>
#include <primsel/search/sweep.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::search {

namespace detail {

/// The rank of each value, from 1 on; equal values share the mean of their ranks.
[[nodiscard]] inline std::vector<double> ranks_of(std::span<const double> values) {
    std::vector<std::size_t> order(values.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::sort(order, {}, [&](std::size_t i) { return values[i]; });
    std::vector<double> ranks(values.size());
    for (std::size_t first = 0; first < order.size();) {
        std::size_t last = first;
        while (last + 1 < order.size() && values[order[last + 1]] == values[order[first]]) ++last;
        for (std::size_t i = first; i <= last; ++i) ranks[order[i]] = 1 + 0.5 * static_cast<double>(first + last);
        first = last + 1;
    }
    return ranks;
}

}  // namespace detail

/// The rank correlation of two series, from -1 to 1 (Spearman 1904); NaN if one of them is constant. They must be
/// finite and of equal length.
[[nodiscard]] inline double rank_correlation(std::span<const double> a, std::span<const double> b) {
    const std::vector<double> x = detail::ranks_of(a), y = detail::ranks_of(b);
    const double middle = 0.5 * static_cast<double>(x.size() + 1);
    double xx = 0, yy = 0, xy = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
        xx += (x[i] - middle) * (x[i] - middle), yy += (y[i] - middle) * (y[i] - middle);
        xy += (x[i] - middle) * (y[i] - middle);
    }
    return xx > 0 && yy > 0 ? xy / std::sqrt(xx * yy) : std::numeric_limits<double>::quiet_NaN();
}

/// The influence of a parameter on a metric.
struct Influence {
    /// The rank correlation; NaN if the parameter's values have no order or did not change.
    double correlation = std::numeric_limits<double>::quiet_NaN();
    /// The parameter's share of the metric's explained error, from 0 to 1. All shares sum to 1, or are 0 if the
    /// parameters explain nothing.
    double importance = 0;
};

/// The influence of each parameter. Importance is the growth of a random forest's error when the parameter's values are
/// shuffled (Breiman 2001, section 10). Trials whose metric is not finite are left out; with fewer than three others
/// all importances are 0.
[[nodiscard]] inline std::vector<Influence> influences(Space const& space, std::span<const SearchPoint> points,
                                                       std::span<const double> metric, std::uint64_t seed = 1) {
    std::vector<Influence> result(space.parameters().size());
    const PointFeatures features(space);
    std::vector<std::vector<double>> shares;
    std::vector<double> values;
    for (std::size_t i = 0; i < points.size(); ++i) {
        if (!is_finite(metric[i])) continue;
        shares.push_back(space.shares_of(points[i]));
        values.push_back(metric[i]);
    }
    if (values.size() < 3) return result;
    FloatTable table(values.size(), std::max<std::size_t>(features.count(), 1), 0), target(values.size(), 1);
    const auto [least, most] = std::ranges::minmax(values);
    for (std::size_t row = 0; row < values.size(); ++row) {
        const std::vector<double> of = features.of(shares[row]);
        for (std::size_t i = 0; i < of.size(); ++i) table(row, i) = static_cast<float>(of[i]);
        target(row, 0) = most > least ? static_cast<float>((values[row] - least) / (most - least)) : 0;
    }
    Sequential sequential;
    const learn::Forest forest =
        learn::Forest::fit(table, target, {.trees = 60, .tree = {.depth = 12}, .seed = seed}, sequential);
    const auto error = [&](FloatTable const& of) {
        const FloatTable predicted = forest.predict(of);
        double sum = 0;
        for (std::size_t row = 0; row < of.rows(); ++row) {
            const double apart = static_cast<double>(predicted(row, 0) - target(row, 0));
            sum += apart * apart;
        }
        return sum;
    };
    const double whole = error(table);
    double sum = 0;
    for (std::size_t parameter = 0; parameter < result.size(); ++parameter) {
        if (space.parameters()[parameter].is_ordered()) {
            std::vector<double> column;
            for (auto const& row : shares) column.push_back(row[parameter]);
            result[parameter].correlation = rank_correlation(column, values);
        }
        detail::Draw draw(seed, parameter);
        FloatTable shuffled = table;
        for (std::size_t row = shuffled.rows(); row > 1; --row) {
            const std::size_t other = draw.below(row);
            for (std::size_t i = features.first(parameter); i < features.first(parameter + 1); ++i) {
                std::swap(shuffled(row - 1, i), shuffled(other, i));
            }
        }
        result[parameter].importance = std::max(error(shuffled) - whole, 0.0);
        sum += result[parameter].importance;
    }
    for (Influence& influence : result) influence.importance = sum > 0 ? influence.importance / sum : 0;
    return result;
}

/// The same for a sweep's trials; those that failed or lack the metric are left out.
[[nodiscard]] inline std::vector<Influence> trial_influences(Space const& space, std::span<const Trial> trials,
                                                             std::string const& metric, std::uint64_t seed = 1) {
    std::vector<SearchPoint> points;
    std::vector<double> values;
    for (Trial const& trial : trials) {
        const auto found = trial.metrics.find(metric);
        if (!trial.failure.empty() || found == trial.metrics.end()) continue;
        points.push_back(trial.point);
        values.push_back(found->second);
    }
    return influences(space, points, values, seed);
}

}  // namespace primsel::inline PRIMSEL_ABI::search
