// Opt-in: needs Eigen (the CMake target primsel::eigen).
#pragma once

#include <primsel/core/archive.hpp>
#include <primsel/core/executor.hpp>
#include <primsel/core/statistics.hpp>
#include <primsel/cost/features.hpp>
#include <primsel/cost/table.hpp>
#include <primsel/learn/correction.hpp>
#include <primsel/learn/dataset.hpp>
#include <primsel/learn/gaussian_process.hpp>
#include <primsel/learn/predicted.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::learn {

/// How far another machine's predictions are trusted, the simplest first: as they are; multiplied by a factor for each
/// target; corrected by a MultitaskProcess of their deviations; averaged with a model of the samples alone, both
/// Gaussian processes (DeviationCorrection of many samples); not at all, so that the samples alone answer.
enum class Trust { direct, factors, deviations, blend, samples };
[[nodiscard]] inline std::string_view to_string_view(Trust trust) {
    constexpr std::array<std::string_view, 5> names{"direct", "factors", "deviations", "blend", "samples"};
    return names[static_cast<std::size_t>(trust)];
}

/// Chooses the kind of Trust that predicts the samples best. Each kind is fitted to four fifths of the rows and judged
/// on the other fifth, by the median of |log predicted - log measured|. Fewer than 100 rows are judged by all five
/// folds (cross-validation), more by one fold. A later kind replaces a simpler one only if its error is smaller by the
/// factor 1 - 1 / (2 sqrt(rows)), which is about what chance explains. Fewer than `least_rows` rows use factors
/// (FactorCorrection::shrunk); so does every prediction that the chosen kind does not have.
class ChosenCorrection {
public:
    /// Its name in files.
    static constexpr std::string_view kind = "chosen";
    static constexpr std::size_t least_rows = 8;

    /// `labels` gives the family of each target; it is empty if all are alike. The seed draws the folds. The result is
    /// the same for any number of threads.
    [[nodiscard]] static ChosenCorrection fit(TransferSamples const& samples, std::span<const std::string> labels,
                                              ExecutorRef executor, std::uint64_t seed = 1) {
        return fit_as(choose(samples, labels, executor, seed), samples, labels, executor);
    }

    /// The correction that was chosen.
    [[nodiscard]] Trust trust() const { return trust_; }

    void correct(FloatTable const& features, FloatTable& predicted) const {
        if (trust_ == Trust::direct) return;
        FloatTable usual = predicted;
        factors_.correct(features, usual);
        if (deviations_) {
            deviations_->correct(features, predicted);
        } else if (alone_) {
            predicted = alone_->predict(features);
        } else {
            predicted = std::move(usual);
            return;
        }
        for (std::size_t i = 0; i < predicted.values.size(); ++i) {
            if (!is_prediction(predicted.values[i])) predicted.values[i] = usual.values[i];
        }
    }

    /// Reads or writes the model; `features` and `targets` are what it must have.
    void archive(Archive& archive, std::size_t features, std::size_t targets) {
        auto trust = static_cast<std::size_t>(trust_);
        archive(trust);
        archive.require(trust <= static_cast<std::size_t>(Trust::samples), "a correction of the unknown trust ", trust);
        trust_ = static_cast<Trust>(trust);
        if (archive.reads()) hold_parts();
        factors_.archive(archive, features, targets);
        if (deviations_) deviations_->archive(archive, features, targets);
        if (alone_) alone_->archive(archive, features, targets);
    }

private:
    [[nodiscard]] static std::size_t measured(FloatTable const& deviations) {
        return static_cast<std::size_t>(std::ranges::count_if(deviations.values, is_prediction));
    }
    /// Returns whether a correction of this trust can be fitted to the samples.
    [[nodiscard]] static bool can(Trust trust, TransferSamples const& samples, std::span<const std::string> labels) {
        return trust != Trust::deviations ||
               (samples.features.columns == ConvFeatures::count && labels.size() == samples.targets.columns &&
                measured(samples.deviations) <= DeviationCorrection::many);
    }

    void hold_parts() {
        deviations_.reset();
        alone_.reset();
        if (trust_ == Trust::deviations || trust_ == Trust::blend) deviations_.emplace();
        if (trust_ == Trust::samples) alone_.emplace();
    }
    [[nodiscard]] static ChosenCorrection fit_as(Trust trust, TransferSamples const& samples,
                                                 std::span<const std::string> labels, ExecutorRef executor) {
        ChosenCorrection result;
        result.trust_ = trust;
        result.factors_ = FactorCorrection::shrunk(samples);
        result.hold_parts();
        if (result.deviations_) {
            const std::size_t few = trust == Trust::blend ? 0 : std::numeric_limits<std::size_t>::max();
            result.deviations_ = DeviationCorrection::fit(samples, labels, executor, few);
        }
        if (result.alone_) {
            const GaussianProcessOptions options{.rows = 400, .shared_from = 0};
            result.alone_ = GaussianProcess::fit(samples.features, samples.targets, labels, options, executor);
        }
        return result;
    }

    [[nodiscard]] static Trust choose(TransferSamples const& samples, std::span<const std::string> labels,
                                      ExecutorRef executor, std::uint64_t seed) {
        constexpr std::size_t fifths = 5, enough = 100;  // from 100 rows on, one fold suffices to judge
        auto const& [features, targets, deviations] = samples;
        const std::size_t rows = targets.rows();
        if (rows < least_rows || measured(deviations) == 0) return Trust::factors;
        const double better = 1 - 0.5 / std::sqrt(static_cast<double>(rows));
        const std::vector<std::size_t> order = shuffled(rows, seed);
        std::array<std::vector<double>, 5> errors;
        for (std::size_t fifth = 0; fifth < (rows < enough ? fifths : 1); ++fifth) {
            std::vector<std::size_t> known, asked;
            for (std::size_t i = 0; i < rows; ++i) (i % fifths == fifth ? asked : known).push_back(order[i]);
            const FloatTable some[] = {features.select(known), targets.select(known), deviations.select(known)};
            const FloatTable at = features.select(asked), wanted = targets.select(asked),
                             off = deviations.select(asked);
            for (std::size_t i = 0; i < errors.size(); ++i) {
                const auto trust = static_cast<Trust>(i);
                if (!can(trust, samples, labels)) continue;
                FloatTable predicted = wanted;
                for (std::size_t j = 0; j < off.values.size(); ++j) predicted.values[j] -= off.values[j];
                fit_as(trust, {some[0], some[1], some[2]}, labels, executor).correct(at, predicted);
                for (std::size_t j = 0; j < off.values.size(); ++j) {
                    // Rows without a prediction of the source say nothing of how good it is.
                    if (!is_prediction(off.values[j]) || !is_prediction(predicted.values[j])) continue;
                    errors[i].push_back(std::abs(static_cast<double>(predicted.values[j] - wanted.values[j])));
                }
            }
        }
        Trust best = Trust::factors;
        double least = std::numeric_limits<double>::infinity();
        for (std::size_t i = 0; i < errors.size(); ++i) {
            if (errors[i].empty()) continue;
            const double error = median(std::move(errors[i]));
            if (error < better * least) best = static_cast<Trust>(i), least = error;
        }
        return best;
    }

    Trust trust_ = Trust::factors;
    FactorCorrection factors_;
    std::optional<DeviationCorrection> deviations_;
    std::optional<GaussianProcess> alone_;
};

}  // namespace primsel::inline PRIMSEL_ABI::learn
