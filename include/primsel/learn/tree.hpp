#pragma once

#include <primsel/cost/table.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::learn {

/// Features cut into at most 64 bins each, at quantiles of their distinct values: found once, shared by all trees.
class BinnedFeatures {
public:
    static constexpr std::size_t most_bins = 64;

    explicit BinnedFeatures(FloatTable const& features)
        : rows_(features.rows()), edges_(features.columns), bins_(features.columns * features.rows()) {
        std::vector<float> values(rows_);
        for (std::size_t column = 0; column < features.columns; ++column) {
            for (std::size_t row = 0; row < rows_; ++row) values[row] = features(row, column);
            std::ranges::sort(values);
            values.erase(std::unique(values.begin(), values.end()), values.end());
            auto& edges = edges_[column];
            const std::size_t bins = std::min(values.size(), most_bins);
            for (std::size_t bin = 1; bin < bins; ++bin) {
                const std::size_t at = bin * values.size() / bins;
                edges.push_back(0.5F * (values[at - 1] + values[at]));
            }
            values.resize(rows_);
            for (std::size_t row = 0; row < rows_; ++row) {
                const auto above = std::ranges::upper_bound(edges, features(row, column));
                bins_[column * rows_ + row] = static_cast<std::uint8_t>(above - edges.begin());
            }
        }
    }

    [[nodiscard]] std::size_t rows() const { return rows_; }
    [[nodiscard]] std::size_t columns() const { return edges_.size(); }
    [[nodiscard]] std::size_t bins(std::size_t column) const { return edges_[column].size() + 1; }
    /// The threshold between values up to that bin and values beyond it.
    [[nodiscard]] float edge(std::size_t column, std::size_t bin) const { return edges_[column][bin]; }
    [[nodiscard]] std::span<const std::uint8_t> column(std::size_t column) const {
        return std::span(bins_).subspan(column * rows_, rows_);
    }

private:
    std::size_t rows_;
    std::vector<std::vector<float>> edges_;
    std::vector<std::uint8_t> bins_;  // column after column
};

struct TreeOptions {
    std::size_t depth = 12;
    /// No leaf has fewer rows.
    std::size_t least_rows = 2;
    /// The share of the features that is tried at each split.
    double feature_share = 1;
};

/// A regression tree: the mean of the training rows that fall into the same leaf.
class RegressionTree {
public:
    /// Fits a tree to these rows, which may repeat and are reordered; targets[row] for each.
    [[nodiscard]] static RegressionTree fit(BinnedFeatures const& features, std::span<const float> targets,
                                            std::span<std::uint32_t> rows, TreeOptions const& options,
                                            std::mt19937_64& generator) {
        RegressionTree tree;
        tree.nodes_.emplace_back();
        tree.grow(0, features, targets, rows, options, options.depth, generator);
        return tree;
    }

    [[nodiscard]] float predict(std::span<const float> features) const {
        std::size_t at = 0;
        while (nodes_[at].below != 0) {
            at = nodes_[at].below + (features[nodes_[at].feature] >= nodes_[at].value ? 1 : 0);
        }
        return nodes_[at].value;
    }
    void scale(float factor) {
        for (Node& node : nodes_) {
            if (node.below == 0) node.value *= factor;
        }
    }
    [[nodiscard]] std::size_t size() const { return nodes_.size(); }
    /// Returns the least number of features that a row must have.
    [[nodiscard]] std::size_t features() const {
        std::size_t count = 0;
        for (Node const& node : nodes_) {
            if (node.below != 0) count = std::max(count, std::size_t{node.feature} + 1);
        }
        return count;
    }

    void archive(Archive& archive) {
        archive(nodes_);
        archive.require(!nodes_.empty(), "a tree without nodes");
        for (std::size_t i = 0; i < nodes_.size(); ++i) {
            const std::size_t below = nodes_[i].below;
            archive.require(below == 0 || (below > i && below < nodes_.size() - 1), "node ", i, " of a tree of ",
                            nodes_.size(), " leads to node ", below);
        }
    }

private:
    /// The prediction of a leaf; else the threshold: smaller features go to the node `below`, others to the one after.
    struct Node {
        float value = 0;
        std::uint32_t below = 0;
        std::uint32_t feature = 0;
        void archive(Archive& archive) { archive(value, below, feature); }
    };
    struct Sums {
        double sum = 0;
        std::size_t count = 0;
    };
    /// The targets of a node's rows. Sums are of differences from the mean: they lose no digits to it.
    struct Spread {
        double mean = 0;
        Sums all;
        double squares = 0;
    };
    struct Cut {
        double gain = 0;
        std::size_t feature = 0, bin = 0;
    };

    [[nodiscard]] static Cut best_cut(BinnedFeatures const& features, std::span<const float> targets,
                                      std::span<const std::uint32_t> rows, TreeOptions const& options,
                                      Spread const& spread, std::mt19937_64& generator) {
        Cut best;
        Sums const& all = spread.all;
        // A gain has the unit of a squared target, so the threshold for rounding is relative to the spread of the
        // targets.
        const double least_gain = 1e-12 * spread.squares;
        const auto score = [](Sums const& s) { return s.sum * s.sum / static_cast<double>(s.count); };
        std::vector<std::size_t> order(features.columns());
        for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
        const auto tried =
            static_cast<std::size_t>(std::ceil(options.feature_share * static_cast<double>(order.size())));
        for (std::size_t i = 0; i < tried; ++i) {
            if (tried < order.size()) std::swap(order[i], order[i + generator() % (order.size() - i)]);
            const std::size_t feature = order[i];
            const auto bins = features.column(feature);
            Sums histogram[BinnedFeatures::most_bins];
            for (const std::uint32_t row : rows) {
                Sums& bin = histogram[bins[row]];
                bin.sum += static_cast<double>(targets[row]) - spread.mean;
                ++bin.count;
            }
            Sums below;
            for (std::size_t bin = 0; bin + 1 < features.bins(feature); ++bin) {
                below.sum += histogram[bin].sum;
                below.count += histogram[bin].count;
                const Sums above{all.sum - below.sum, all.count - below.count};
                if (below.count < options.least_rows || above.count < options.least_rows) continue;
                const double gain = score(below) + score(above) - score(all);
                if (gain > best.gain * (1 + 1e-12) + least_gain) best = {gain, feature, bin};
            }
        }
        return best;
    }

    void grow(std::size_t at, BinnedFeatures const& features, std::span<const float> targets,
              std::span<std::uint32_t> rows, TreeOptions const& options, std::size_t depth,
              std::mt19937_64& generator) {
        Spread spread{0, {0, rows.size()}};
        for (const std::uint32_t row : rows) spread.mean += static_cast<double>(targets[row]);
        if (!rows.empty()) spread.mean /= static_cast<double>(rows.size());
        nodes_[at].value = static_cast<float>(spread.mean);
        if (depth == 0 || rows.size() < 2 * options.least_rows) return;
        for (const std::uint32_t row : rows) {
            const double apart = static_cast<double>(targets[row]) - spread.mean;
            spread.all.sum += apart, spread.squares += apart * apart;
        }
        const Cut cut = best_cut(features, targets, rows, options, spread, generator);
        if (cut.gain <= 0) return;
        const auto bins = features.column(cut.feature);
        const auto middle =
            std::partition(rows.begin(), rows.end(), [&](std::uint32_t row) { return bins[row] <= cut.bin; });
        const auto count = static_cast<std::size_t>(middle - rows.begin());
        const auto below = static_cast<std::uint32_t>(nodes_.size());
        nodes_[at] = {features.edge(cut.feature, cut.bin), below, static_cast<std::uint32_t>(cut.feature)};
        nodes_.resize(nodes_.size() + 2);
        grow(below, features, targets, rows.first(count), options, depth - 1, generator);
        grow(below + 1, features, targets, rows.subspan(count), options, depth - 1, generator);
    }

    std::vector<Node> nodes_;
};

}  // namespace primsel::inline PRIMSEL_ABI::learn
