// Opt-in: needs Eigen (the CMake target primsel::eigen).
#pragma once

#include <primsel/core/archive.hpp>
#include <primsel/core/error.hpp>
#include <primsel/core/executor.hpp>
#include <primsel/core/statistics.hpp>
#include <primsel/cost/features.hpp>
#include <primsel/cost/learned_cost.hpp>
#include <primsel/cost/table.hpp>
#include <primsel/learn/gaussian_process.hpp>
#include <primsel/learn/multitask_process.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

/// The logarithms of measured over predicted: a row a sample, NaN where either is missing.
template <Regression Source>
[[nodiscard]] Table deviations(Source const& source, Table const& features, Table targets) {
    const Table predicted = source.predict(features);
    for (std::size_t i = 0; i < targets.values.size(); ++i) targets.values[i] -= predicted.values[i];
    return targets;
}

/// The median deviation of each target; that of all for one that has none.
[[nodiscard]] inline std::vector<float> median_deviations(Table const& deviations) {
    std::vector<double> all;
    std::vector<std::vector<double>> each(deviations.columns);
    for (std::size_t i = 0; i < deviations.values.size(); ++i) {
        if (std::isnan(deviations.values[i])) continue;
        all.push_back(deviations.values[i]);
        each[i % deviations.columns].push_back(deviations.values[i]);
    }
    const double usual = median(all);
    std::vector<float> result;
    for (auto const& one : each) result.push_back(static_cast<float>(one.empty() ? usual : median(one)));
    return result;
}

/// A model of one machine for another, faster or slower by a factor for each target (Mulder et al. 2020, section 4.4):
/// the median over a few samples of the other; of all targets for one that has none.
template <Regression Source>
class FactorCorrected {
public:
    /// What it is called in files.
    static constexpr std::string_view kind = "factor";

    FactorCorrected() = default;
    FactorCorrected(Source source, Table const& features, Table const& targets)
        : source_(std::move(source)), factors_(median_deviations(deviations(source_, features, targets))) {}

    [[nodiscard]] Table predict(Table const& features) const {
        Table result = source_.predict(features);
        for (std::size_t i = 0; i < result.values.size(); ++i) result.values[i] += factors_[i % result.columns];
        return result;
    }

    /// Of so many features and targets.
    void archive(Archive& archive, std::size_t features, std::size_t targets) {
        source_.archive(archive, features, targets);
        archive(factors_);
        archive.require(factors_.size() == targets, factors_.size(), " factors of ", targets, " targets");
    }

private:
    Source source_;
    std::vector<float> factors_;  // logarithms
};

/// A model of one machine for another, corrected by how samples of the other deviate from it: a MultitaskProcess where
/// they are few; where they are many, the mean of what a GaussianProcess of the deviations and one of the samples alone
/// say, whose errors have little to do with each other. Where those have nothing to go by, a factor.
template <Regression Source>
class Transferred {
public:
    /// What it is called in files.
    static constexpr std::string_view kind = "transferred";
    /// So many measured times are.
    static constexpr std::size_t many = 2000;

    Transferred() = default;
    /// A label (family) a target. No more than `few` samples must be of ConvFeatures. Throws error where they are not.
    [[nodiscard]] static Transferred fit(Source source, Table const& features, Table const& targets,
                                         std::span<const std::string> labels, ExecutorRef executor,
                                         std::size_t few = many) {
        const Table left = deviations(source, features, targets);
        Transferred model(std::move(source));
        std::size_t known = 0;
        for (const float value : left.values) known += std::isnan(value) ? 0U : 1U;
        if (known > few) {
            const GaussianProcessOptions options{.rows = 400, .shared_from = 0};
            model.many_ = {.deviations = GaussianProcess::fit(features, left, labels, options, executor),
                           .alone = GaussianProcess::fit(features, targets, labels, options, executor),
                           .factors = median_deviations(left)};
            return model;
        }
        if (features.columns != ConvFeatures::count || labels.size() != targets.columns) {
            fail("transferred: ", known, " samples of ", features.columns, " features and ", labels.size(),
                 " labels of ", targets.columns, " targets");
        }
        model.few_ = MultitaskProcess(numbered(labels));
        for (std::size_t row = 0; row < left.rows(); ++row) {
            const std::size_t at = model.few_.add_row(features_at(features, row));
            for (std::size_t target = 0; target < left.columns; ++target) {
                if (!std::isnan(left(row, target))) {
                    model.few_.observe(at, target, static_cast<double>(left(row, target)));
                }
            }
        }
        model.few_.tune();
        model.few_.fit();
        return model;
    }

    [[nodiscard]] Table predict(Table const& features) const {
        Table result = source_.predict(features);
        if (many_) {
            many_->correct(features, result);
            return result;
        }
        std::vector<std::size_t> targets(result.columns);
        for (std::size_t i = 0; i < targets.size(); ++i) targets[i] = i;
        for (std::size_t row = 0; row < result.rows(); ++row) {
            const std::vector<double> means = few_.predict_means(features_at(features, row), targets);
            for (std::size_t i = 0; i < targets.size(); ++i) result(row, i) += static_cast<float>(means[i]);
        }
        return result;
    }

    /// Of so many features and targets.
    void archive(Archive& archive, std::size_t features, std::size_t targets) {
        source_.archive(archive, features, targets);
        std::size_t parts = many_ ? 3 : 1;
        archive(parts);
        archive.require(parts == 3 || (parts == 1 && features == ConvFeatures::count), "a correction of ", parts,
                        " parts, of ", features, " features");
        if (parts == 1) return few_.archive(archive, targets);
        if (archive.reads()) many_.emplace();
        many_->archive(archive, features, targets);
    }

private:
    struct Many {
        GaussianProcess deviations, alone;
        std::vector<float> factors;  // logarithms

        void correct(Table const& features, Table& predicted) const {
            const Table left = deviations.predict(features), by_samples = alone.predict(features);
            for (std::size_t i = 0; i < predicted.values.size(); ++i) {
                const float deviation = std::isnan(left.values[i]) ? factors[i % predicted.columns] : left.values[i];
                const float corrected = predicted.values[i] + deviation, sampled = by_samples.values[i];
                predicted.values[i] = std::isnan(sampled)     ? corrected
                                      : std::isnan(corrected) ? sampled
                                                              : 0.5F * (corrected + sampled);
            }
        }
        void archive(Archive& archive, std::size_t features, std::size_t targets) {
            deviations.archive(archive, features, targets);
            alone.archive(archive, features, targets);
            archive(factors);
            archive.require(factors.size() == targets, factors.size(), " factors of ", targets, " targets");
        }
    };

    explicit Transferred(Source source) : source_(std::move(source)) {}

    [[nodiscard]] static std::vector<std::size_t> numbered(std::span<const std::string> labels) {
        std::map<std::string, std::size_t> numbers;
        std::vector<std::size_t> result;
        for (std::string const& label : labels) result.push_back(numbers.emplace(label, numbers.size()).first->second);
        return result;
    }
    [[nodiscard]] static std::array<float, ConvFeatures::count> features_at(Table const& features, std::size_t row) {
        std::array<float, ConvFeatures::count> result{};
        std::ranges::copy(features.row(row), result.begin());
        return result;
    }

    Source source_;
    MultitaskProcess few_;
    std::optional<Many> many_;
};

}  // namespace primsel::inline PRIMSEL_ABI
