// Opt-in: needs Eigen (the CMake target primsel::eigen).
#pragma once

#include <primsel/core/archive.hpp>
#include <primsel/core/error.hpp>
#include <primsel/core/executor.hpp>
#include <primsel/core/statistics.hpp>
#include <primsel/cost/features.hpp>
#include <primsel/cost/table.hpp>
#include <primsel/learn/gaussian_process.hpp>
#include <primsel/learn/multitask_process.hpp>
#include <primsel/learn/predicted.hpp>

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

namespace primsel::inline PRIMSEL_ABI::learn {

/// Samples of the target machine, a row each: features, targets = log(seconds), and deviations = log(measured /
/// predicted by the source machine's model). A missing value is NaN.
struct TransferSamples {
    FloatTable const& features;
    FloatTable const& targets;
    FloatTable const& deviations;
};

/// Turns predictions of one machine into those of another: Transferred's second part. `fit` is a static function of
/// TransferSamples and whatever else it needs; `kind` is its name in files.
template <class C>
concept Correction = requires(C correction, FloatTable const& features, FloatTable& predicted, Archive& archive) {
    C::kind;
    std::as_const(correction).correct(features, predicted);
    correction.archive(archive, std::size_t{}, std::size_t{});
};

/// Multiplies each target by a factor (Mulder et al. 2020, section 4.4): the median of measured / predicted over its
/// samples. A target without samples gets the median over all targets.
class FactorCorrection {
public:
    static constexpr std::string_view kind = "factor";

    [[nodiscard]] static FactorCorrection fit(TransferSamples const& samples) { return fit(samples, 0); }
    /// Fits factors to few samples. The logarithm of a target's factor is shrunk from the median of its n samples
    /// towards that of all targets, with weights n / (n + 1) and 1 / (n + 1). The weight of 1 is used because one
    /// sample varies with its configuration about as much as primitives differ between two machines.
    [[nodiscard]] static FactorCorrection shrunk(TransferSamples const& samples) { return fit(samples, 1); }

    void correct(FloatTable const&, FloatTable& predicted) const {
        for (std::size_t i = 0; i < predicted.values.size(); ++i) predicted.values[i] += of(i % predicted.columns);
    }
    /// The logarithm of a target's factor.
    [[nodiscard]] float of(std::size_t target) const { return factors_[target]; }

    /// Reads or writes the model; `features` and `targets` are what it must have.
    void archive(Archive& archive, std::size_t, std::size_t targets) {
        archive(factors_);
        archive.require(factors_.size() == targets, factors_.size(), " factors of ", targets, " targets");
    }

private:
    /// The factor of all targets weighs as much as `pull` samples.
    [[nodiscard]] static FactorCorrection fit(TransferSamples const& samples, double pull) {
        std::vector<double> all;
        std::vector<std::vector<double>> each(samples.deviations.columns);
        for (std::size_t i = 0; i < samples.deviations.values.size(); ++i) {
            const double deviation = static_cast<double>(samples.deviations.values[i]);
            if (!is_prediction(samples.deviations.values[i])) continue;
            all.push_back(deviation);
            each[i % each.size()].push_back(deviation);
        }
        const double usual = median(all);
        FactorCorrection result;
        for (auto const& one : each) {
            const auto count = static_cast<double>(one.size());
            const double share = one.empty() ? 0 : count / (count + pull);
            result.factors_.push_back(static_cast<float>(usual + share * (median(one) - usual)));
        }
        return result;
    }

    std::vector<float> factors_;  // logarithms
};

/// How samples deviate from the predictions, learned from them: by a MultitaskProcess where they are few; where they
/// are many, by the mean of what a GaussianProcess of the deviations and one of the samples alone say, whose errors
/// have little to do with each other. Where those have nothing to go by, a factor.
class DeviationCorrection {
public:
    static constexpr std::string_view kind = "transferred";
    /// The number of measured times from which on samples are many.
    static constexpr std::size_t many = 2000;

    /// A label (family) a target. No more than `few` samples must be of ConvFeatures. Throws error where they are not.
    [[nodiscard]] static DeviationCorrection fit(TransferSamples const& samples, std::span<const std::string> labels,
                                                 ExecutorRef executor, std::size_t few = many) {
        auto const& [features, targets, deviations] = samples;
        DeviationCorrection result;
        const auto known = static_cast<std::size_t>(std::ranges::count_if(deviations.values, is_prediction));
        if (known > few) {
            const GaussianProcessOptions options{.rows = 400, .shared_from = 0};
            result.many_ = {.deviations = GaussianProcess::fit(features, deviations, labels, options, executor),
                            .alone = GaussianProcess::fit(features, targets, labels, options, executor),
                            .factors = FactorCorrection::fit(samples)};
            return result;
        }
        if (features.columns != ConvFeatures::count || labels.size() != targets.columns) {
            fail("transferred: ", known, " samples of ", features.columns, " features and ", labels.size(),
                 " labels of ", targets.columns, " targets");
        }
        result.few_ = MultitaskProcess(numbered(labels));
        for (std::size_t row = 0; row < deviations.rows(); ++row) {
            const std::size_t at = result.few_.add_row(features_at(features, row));
            for (std::size_t target = 0; target < deviations.columns; ++target) {
                const float deviation = deviations(row, target);
                if (is_prediction(deviation)) result.few_.observe(at, target, static_cast<double>(deviation));
            }
        }
        result.few_.tune();
        result.few_.fit();
        return result;
    }

    void correct(FloatTable const& features, FloatTable& predicted) const {
        if (many_) return many_->correct(features, predicted);
        std::vector<PredictedPrimitive> targets(predicted.columns);
        for (std::size_t i = 0; i < targets.size(); ++i) targets[i].primitive = i;
        for (std::size_t row = 0; row < predicted.rows(); ++row) {
            const std::vector<double> means = few_.predict_means(features_at(features, row), targets);
            for (std::size_t i = 0; i < targets.size(); ++i) predicted(row, i) += static_cast<float>(means[i]);
        }
    }

    /// Reads or writes the model; `features` and `targets` are what it must have.
    void archive(Archive& archive, std::size_t features, std::size_t targets) {
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
        FactorCorrection factors;

        void correct(FloatTable const& features, FloatTable& predicted) const {
            const FloatTable left = deviations.predict(features), by_samples = alone.predict(features);
            for (std::size_t i = 0; i < predicted.values.size(); ++i) {
                const float deviation =
                    is_prediction(left.values[i]) ? left.values[i] : factors.of(i % predicted.columns);
                const float corrected = predicted.values[i] + deviation, sampled = by_samples.values[i];
                predicted.values[i] = !is_prediction(sampled)     ? corrected
                                      : !is_prediction(corrected) ? sampled
                                                                  : 0.5F * (corrected + sampled);
            }
        }
        void archive(Archive& archive, std::size_t features, std::size_t targets) {
            deviations.archive(archive, features, targets);
            alone.archive(archive, features, targets);
            factors.archive(archive, features, targets);
        }
    };

    [[nodiscard]] static std::vector<std::size_t> numbered(std::span<const std::string> labels) {
        std::map<std::string, std::size_t> numbers;
        std::vector<std::size_t> result;
        for (std::string const& label : labels) result.push_back(numbers.emplace(label, numbers.size()).first->second);
        return result;
    }
    [[nodiscard]] static std::array<float, ConvFeatures::count> features_at(FloatTable const& features,
                                                                            std::size_t row) {
        std::array<float, ConvFeatures::count> result{};
        std::ranges::copy(features.row(row), result.begin());
        return result;
    }

    MultitaskProcess few_;
    std::optional<Many> many_;
};

}  // namespace primsel::inline PRIMSEL_ABI::learn
