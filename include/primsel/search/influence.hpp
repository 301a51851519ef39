#pragma once

#include <primsel/core/finite.hpp>
#include <primsel/cost/table.hpp>
#include <primsel/learn/tree.hpp>
#include <primsel/search/space.hpp>
#include <primsel/search/sweep.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <random>
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

namespace detail {

/// The growth of the error of many trees when the values of some columns are shuffled, by the rows that a tree was not
/// fitted to (Breiman 2001, section 10): what trees learned from noise by heart is worth nothing there. A split tries
/// most columns, so that one is also taken that only says something together with another.
class TreeImportance {
public:
    TreeImportance(FloatTable const& table, std::vector<float> const& targets, std::uint64_t seed)
        : table_(table), targets_(targets), binned_(table), seed_(seed) {}

    /// columns[i], columns[i + 1]: the columns of parameter i and their end.
    [[nodiscard]] std::vector<double> of(std::span<const std::size_t> columns) const {
        std::vector<double> grown(columns.size() - 1, 0.0);
        for (std::size_t number = 0; number < trees; ++number) {
            std::mt19937_64 generator(seed_ * 1'000'003 + number);
            std::vector<std::uint32_t> drawn(targets_.size()), others;
            std::vector<bool> is_drawn(drawn.size());
            for (std::uint32_t& row : drawn) {
                row = static_cast<std::uint32_t>(generator() % drawn.size());
                is_drawn[row] = true;
            }
            for (std::uint32_t row = 0; row < is_drawn.size(); ++row) {
                if (!is_drawn[row]) others.push_back(row);
            }
            if (others.empty()) continue;
            const learn::TreeOptions options{.depth = 24, .least_rows = 2, .feature_share = 0.8};
            const auto tree = learn::RegressionTree::fit(binned_, targets_, drawn, options, generator);
            const double whole = error(tree, others, others, 0, 0);
            for (std::size_t i = 0; i < grown.size(); ++i) {
                if (columns[i] == columns[i + 1]) continue;
                std::vector<std::uint32_t> shuffled = others;
                for (std::size_t row = shuffled.size(); row > 1; --row) {
                    std::swap(shuffled[row - 1], shuffled[generator() % row]);
                }
                grown[i] += (error(tree, others, shuffled, columns[i], columns[i + 1]) - whole) /
                            static_cast<double>(others.size());
            }
        }
        return grown;
    }

private:
    static constexpr std::size_t trees = 100;

    /// The squared error of these rows, with columns from first to last of other rows.
    [[nodiscard]] double error(learn::RegressionTree const& tree, std::span<const std::uint32_t> rows,
                               std::span<const std::uint32_t> other, std::size_t first, std::size_t last) const {
        double sum = 0;
        std::vector<float> features;
        for (std::size_t i = 0; i < rows.size(); ++i) {
            const auto own = table_.row(rows[i]);
            features.assign(own.begin(), own.end());
            for (std::size_t column = first; column < last; ++column) features[column] = table_(other[i], column);
            const auto apart = static_cast<double>(tree.predict(features) - targets_[rows[i]]);
            sum += apart * apart;
        }
        return sum;
    }

    FloatTable const& table_;
    std::vector<float> const& targets_;
    learn::BinnedFeatures binned_;
    std::uint64_t seed_;
};

}  // namespace detail

/// The influence of each parameter. Importance is the growth of a random forest's error when the parameter's values are
/// shuffled. Trials whose metric is not finite are left out; with fewer than three others all importances are 0.
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
    FloatTable table(values.size(), std::max<std::size_t>(features.count(), 1), 0);
    std::vector<float> targets(values.size(), 0.0F);
    const auto [least, most] = std::ranges::minmax(values);
    for (std::size_t row = 0; row < values.size(); ++row) {
        const std::vector<double> of = features.of(shares[row]);
        for (std::size_t i = 0; i < of.size(); ++i) table(row, i) = static_cast<float>(of[i]);
        if (most > least) targets[row] = static_cast<float>((values[row] - least) / (most - least));
    }
    std::vector<std::size_t> columns;
    for (std::size_t parameter = 0; parameter <= result.size(); ++parameter) {
        columns.push_back(features.first(parameter));
    }
    const std::vector<double> grown = detail::TreeImportance(table, targets, seed).of(columns);
    double sum = 0;
    for (std::size_t parameter = 0; parameter < result.size(); ++parameter) {
        if (space.parameters()[parameter].is_ordered()) {
            std::vector<double> column;
            for (auto const& row : shares) column.push_back(row[parameter]);
            result[parameter].correlation = rank_correlation(column, values);
        }
        result[parameter].importance = std::max(grown[parameter], 0.0);
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
