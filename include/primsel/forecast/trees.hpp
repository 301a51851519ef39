#pragma once

#include <primsel/core/executor.hpp>
#include <primsel/forecast/network_model.hpp>
#include <primsel/learn/forest.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <string_view>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::forecast {

namespace detail {

inline constexpr std::size_t tree_columns = NetworkFeatures::count + 1;

/// The features, and the batch behind them.
[[nodiscard]] inline std::array<float, tree_columns> tree_row(NetworkLoad const& load) {
    std::array<float, tree_columns> row{};
    for (std::size_t i = 0; i < NetworkFeatures::count; ++i) row[i] = static_cast<float>(load.features.values[i]);
    row.back() = static_cast<float>(load.batch);
    return row;
}
[[nodiscard]] inline FloatTable tree_table(std::span<const NetworkLoad> loads) {
    FloatTable table;
    table.columns = tree_columns;
    for (NetworkLoad const& load : loads) {
        const auto row = tree_row(load);
        table.values.insert(table.values.end(), row.begin(), row.end());
    }
    return table;
}

}  // namespace detail

/// A random forest on the features (Rajagopal and Bouganis 2021). The deviation of an Estimate comes from the
/// disagreement of its trees.
class NetworkForest {
public:
    static constexpr std::string_view kind = "forest";

    [[nodiscard]] static NetworkForest fit(std::span<const NetworkLoad> loads, std::span<const double> values,
                                           learn::ForestOptions const& options = {}) {
        detail::check_samples(loads, values);
        const learn::BinnedFeatures binned(detail::tree_table(loads));
        const std::vector<float> targets(values.begin(), values.end());
        std::mt19937_64 generator(options.seed);
        NetworkForest forest;
        std::vector<std::uint32_t> drawn(loads.size());
        for (std::size_t i = 0; i < options.trees; ++i) {
            for (std::uint32_t& row : drawn) row = static_cast<std::uint32_t>(generator() % loads.size());
            forest.trees_.push_back(learn::RegressionTree::fit(binned, targets, drawn, options.tree, generator));
        }
        return forest;
    }

    [[nodiscard]] Estimate predict(NetworkLoad const& load) const {
        const auto row = detail::tree_row(load);
        double sum = 0, squares = 0;
        for (learn::RegressionTree const& tree : trees_) {
            const double value = tree.predict(row);
            sum += value, squares += value * value;
        }
        const double count = static_cast<double>(trees_.size()), mean = trees_.empty() ? 0 : sum / count;
        return {mean, trees_.empty() ? 0 : std::sqrt(std::max(squares / count - mean * mean, 0.0))};
    }

    void archive(Archive& archive) {
        archive(trees_);
        for (learn::RegressionTree const& tree : trees_) {
            archive.require(tree.features() <= detail::tree_columns, "a tree that asks for feature ", tree.features());
        }
    }

private:
    std::vector<learn::RegressionTree> trees_;
};

/// Boosted trees on the features, for logarithms of the values. The deviation of an Estimate is the error on a fifth of
/// the samples that was held back.
class NetworkBoosting {
public:
    static constexpr std::string_view kind = "boosted";

    [[nodiscard]] static NetworkBoosting fit(std::span<const NetworkLoad> loads, std::span<const double> values,
                                             learn::BoostingOptions const& options = {.trees = 300}) {
        detail::check_samples(loads, values);
        std::vector<NetworkLoad> most, rest;
        std::vector<double> of_most, of_rest;
        for (std::size_t i = 0; i < loads.size(); ++i) {
            const bool out = i % 5 == 2;
            (out ? rest : most).push_back(loads[i]);
            (out ? of_rest : of_most).push_back(values[i]);
        }
        double squares = 0;
        const NetworkBoosting blind = of(most, of_most, options);
        for (std::size_t i = 0; i < rest.size(); ++i) {
            const double off = blind.predict(rest[i]).value / of_rest[i] - 1;
            squares += off * off;
        }
        NetworkBoosting model = of(loads, values, options);
        model.relative_ = rest.empty() ? 1 : std::sqrt(squares / static_cast<double>(rest.size()));
        return model;
    }

    [[nodiscard]] Estimate predict(NetworkLoad const& load) const {
        const double value =
            std::exp(static_cast<double>(trees_.predict(detail::tree_table(std::span(&load, 1)))(0, 0)));
        return {value, relative_ * value};
    }

    void archive(Archive& archive) {
        archive(relative_);
        trees_.archive(archive, detail::tree_columns, 1);
        archive.require(relative_ >= 0, "a negative deviation");
    }

private:
    [[nodiscard]] static NetworkBoosting of(std::span<const NetworkLoad> loads, std::span<const double> values,
                                            learn::BoostingOptions const& options) {
        FloatTable targets(loads.size(), 1, 0.0F);
        for (std::size_t i = 0; i < values.size(); ++i) targets(i, 0) = static_cast<float>(std::log(values[i]));
        NetworkBoosting model;
        Sequential here;
        model.trees_ = learn::BoostedTrees::fit(detail::tree_table(loads), targets, options, here);
        return model;
    }

    learn::BoostedTrees trees_;
    double relative_ = 0;
};

static_assert(NetworkModel<NetworkForest> && NetworkModel<NetworkBoosting>);

}  // namespace primsel::inline PRIMSEL_ABI::forecast
