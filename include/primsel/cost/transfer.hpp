// Opt-in: needs Eigen (the CMake target primsel::eigen).
#pragma once

#include <primsel/core/executor.hpp>
#include <primsel/cost/evaluate.hpp>
#include <primsel/cost/gaussian_process.hpp>
#include <primsel/cost/learned.hpp>
#include <primsel/cost/multitask_process.hpp>
#include <primsel/cost/table.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
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

/// A model of one machine for another, faster or slower by a factor for each target (Mulder et al. 2020, section 4.4):
/// the median over a few samples of the other; of all targets for one that has none.
template <Regression Source>
class FactorCorrected {
public:
    FactorCorrected(Source source, Table const& features, Table const& targets) : source_(std::move(source)) {
        const Table left = deviations(source_, features, targets);
        std::vector<double> all;
        std::vector<std::vector<double>> each(left.columns);
        for (std::size_t i = 0; i < left.values.size(); ++i) {
            if (std::isnan(left.values[i])) continue;
            all.push_back(left.values[i]);
            each[i % left.columns].push_back(left.values[i]);
        }
        const double usual = median(all);
        for (auto const& one : each) factors_.push_back(static_cast<float>(one.empty() ? usual : median(one)));
    }

    [[nodiscard]] Table predict(Table const& features) const {
        Table result = source_.predict(features);
        for (std::size_t i = 0; i < result.values.size(); ++i) result.values[i] += factors_[i % result.columns];
        return result;
    }

private:
    Source source_;
    std::vector<float> factors_;  // logarithms
};

/// A model of one machine for another, corrected by how samples of the other deviate from it: a MultitaskProcess where
/// they are few; where they are many, the mean of what a GaussianProcess of the deviations and one of the samples alone
/// say, whose errors have little to do with each other.
template <Regression Source>
class Transferred {
public:
    /// So many measured times are.
    static constexpr std::size_t many = 2000;

    /// Features are ConvFeatures; a label (family) a target.
    [[nodiscard]] static Transferred fit(Source source, Table const& features, Table const& targets,
                                         std::span<const std::string> labels, ExecutorRef executor) {
        const Table left = deviations(source, features, targets);
        Transferred model(std::move(source), labels);
        std::size_t known = 0;
        for (const float value : left.values) known += std::isnan(value) ? 0U : 1U;
        if (known > many) {
            const GaussianProcessOptions options{.rows = 400, .shared_from = 0};
            model.many_ = {GaussianProcess::fit(features, left, labels, options, executor),
                           GaussianProcess::fit(features, targets, labels, options, executor)};
            return model;
        }
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
            const Table left = many_->first.predict(features), alone = many_->second.predict(features);
            for (std::size_t i = 0; i < result.values.size(); ++i) {
                if (std::isnan(alone.values[i])) continue;
                result.values[i] = 0.5F * (result.values[i] + left.values[i] + alone.values[i]);
            }
            return result;
        }
        std::vector<std::size_t> targets(result.columns);
        for (std::size_t i = 0; i < targets.size(); ++i) targets[i] = i;
        std::vector<Belief> beliefs(targets.size());
        for (std::size_t row = 0; row < result.rows(); ++row) {
            few_.predict(features_at(features, row), targets, beliefs);
            for (std::size_t i = 0; i < targets.size(); ++i) result(row, i) += static_cast<float>(beliefs[i].mean);
        }
        return result;
    }

private:
    Transferred(Source source, std::span<const std::string> labels)
        : source_(std::move(source)), few_(numbered(labels)) {}

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
    std::optional<std::pair<GaussianProcess, GaussianProcess>> many_;
};

}  // namespace primsel::inline PRIMSEL_ABI
