#pragma once

#include <primsel/core/executor.hpp>
#include <primsel/core/finite.hpp>
#include <primsel/learn/tree.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <random>
#include <span>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::learn {

namespace detail {

/// A model for each target, fitted by itself to the rows that have the target.
template <class Model>
class PerTarget {
public:
    [[nodiscard]] FloatTable predict(FloatTable const& features) const {
        FloatTable result(features.rows(), models_.size(), 0.0F);
        for (std::size_t row = 0; row < features.rows(); ++row) {
            for (std::size_t target = 0; target < models_.size(); ++target) {
                result(row, target) = models_[target].predict(features.row(row));
            }
        }
        return result;
    }

    /// Reads or writes the model; `features` and `targets` are what it must have.
    void archive(Archive& archive, std::size_t features, std::size_t targets) {
        archive(models_);
        archive.require(models_.size() == targets, "trees of ", models_.size(), " targets where there are ", targets);
        for (Model const& model : models_) {
            for (RegressionTree const& tree : model.trees) {
                archive.require(tree.features() <= features, "a tree that asks for feature ", tree.features() - 1,
                                " of ", features);
            }
        }
    }

protected:
    /// fit_one(target's values by row, rows that have it, the target's generator) -> Model.
    template <class FitOne>
    void fit_all(FloatTable const& targets, std::uint64_t seed, ExecutorRef executor, FitOne const& fit_one) {
        models_.resize(targets.columns);
        executor.parallel_for(targets.columns, [&](std::size_t target, std::size_t) {
            std::vector<float> values(targets.rows());
            std::vector<std::uint32_t> rows;
            for (std::size_t row = 0; row < targets.rows(); ++row) {
                values[row] = targets(row, target);
                if (!is_nan(values[row])) rows.push_back(static_cast<std::uint32_t>(row));
            }
            std::mt19937_64 generator(seed * 1'000'003 + target);
            models_[target] = fit_one(std::move(values), std::move(rows), generator);
        });
    }
    std::vector<Model> models_;
};

}  // namespace detail

struct ForestOptions {
    std::size_t trees = 100;
    TreeOptions tree{.depth = 24, .least_rows = 2, .feature_share = 0.5};
    std::uint64_t seed = 1;
};

/// The trees of one target, and their mean.
struct MeanOfTrees {
    std::vector<RegressionTree> trees;

    [[nodiscard]] float predict(std::span<const float> features) const {
        float sum = 0;
        for (RegressionTree const& tree : trees) sum += tree.predict(features);
        return trees.empty() ? 0 : sum / static_cast<float>(trees.size());
    }
    void archive(Archive& archive) { archive(trees); }
};

/// Random forest regression (Breiman 2001), a forest a target: each tree sees a bootstrap of the rows and some of the
/// features at each split.
class Forest : public detail::PerTarget<MeanOfTrees> {
public:
    /// Its name in files.
    static constexpr std::string_view kind = "forest";

    /// A row a sample; NaN stands for a target that was not measured.
    [[nodiscard]] static Forest fit(FloatTable const& features, FloatTable const& targets, ForestOptions const& options,
                                    ExecutorRef executor) {
        const BinnedFeatures binned(features);
        Forest forest;
        forest.fit_all(
            targets, options.seed, executor,
            [&](std::vector<float> const& values, std::vector<std::uint32_t> const& rows, auto& generator) {
                MeanOfTrees model;
                std::vector<std::uint32_t> drawn(rows.size());
                for (std::size_t i = 0; i < options.trees && !rows.empty(); ++i) {
                    for (std::uint32_t& row : drawn) row = rows[generator() % rows.size()];
                    model.trees.push_back(RegressionTree::fit(binned, values, drawn, options.tree, generator));
                }
                return model;
            });
        return forest;
    }
};

struct BoostingOptions {
    std::size_t trees = 600;
    double learning_rate = 0.06;
    TreeOptions tree{.depth = 6, .least_rows = 4, .feature_share = 0.5};
    /// The share of the rows that is drawn for each tree.
    double row_share = 0.7;
    std::uint64_t seed = 1;
};

/// The trees of one target, added up.
struct SumOfTrees {
    float first = 0;
    std::vector<RegressionTree> trees;

    [[nodiscard]] float predict(std::span<const float> features) const {
        float sum = first;
        for (RegressionTree const& tree : trees) sum += tree.predict(features);
        return sum;
    }
    void archive(Archive& archive) { archive(first, trees); }
};

/// Gradient-boosted trees (Friedman 2001, 2002) with squared loss, a sequence a target: each tree is fitted to what
/// those before it left, on some of the rows.
class BoostedTrees : public detail::PerTarget<SumOfTrees> {
public:
    /// Its name in files.
    static constexpr std::string_view kind = "boosted";

    [[nodiscard]] static BoostedTrees fit(FloatTable const& features, FloatTable const& targets,
                                          BoostingOptions const& options, ExecutorRef executor) {
        const BinnedFeatures binned(features);
        BoostedTrees boosted;
        boosted.fit_all(targets, options.seed, executor,
                        [&](std::vector<float> values, std::vector<std::uint32_t> rows, auto& generator) {
                            return fit_one(features, binned, std::move(values), std::move(rows), options, generator);
                        });
        return boosted;
    }

private:
    [[nodiscard]] static SumOfTrees fit_one(FloatTable const& features, BinnedFeatures const& binned,
                                            std::vector<float> left, std::vector<std::uint32_t> rows,
                                            BoostingOptions const& options, std::mt19937_64& generator) {
        SumOfTrees model;
        if (rows.empty()) return model;
        double sum = 0;
        for (const std::uint32_t row : rows) sum += static_cast<double>(left[row]);
        model.first = static_cast<float>(sum / static_cast<double>(rows.size()));
        for (const std::uint32_t row : rows) left[row] -= model.first;
        const auto share = static_cast<std::size_t>(std::ceil(options.row_share * static_cast<double>(rows.size())));
        for (std::size_t i = 0; i < options.trees; ++i) {
            for (std::size_t at = 0; at < share; ++at) std::swap(rows[at], rows[at + generator() % (rows.size() - at)]);
            RegressionTree tree =
                RegressionTree::fit(binned, left, std::span(rows).first(share), options.tree, generator);
            tree.scale(static_cast<float>(options.learning_rate));
            for (const std::uint32_t row : rows) left[row] -= tree.predict(features.row(row));
            model.trees.push_back(std::move(tree));
        }
        return model;
    }
};

}  // namespace primsel::inline PRIMSEL_ABI::learn
