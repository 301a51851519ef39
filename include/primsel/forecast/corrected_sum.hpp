#pragma once

#include <primsel/forecast/sum.hpp>
#include <primsel/learn/small_process.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::forecast {

struct CorrectionOptions {
    /// Deviations of the logarithm, and the doublings of the batch and of an image's results over which each changes:
    /// slowly with both, and from batch to batch, as libraries change their algorithms.
    std::vector<learn::SmoothPart> parts{{0.06, {1, 2}}, {0.03, {0.3, 6}}};
    double noise = 0.03;
};

/// NonNegativeSum times a correction factor: the measured over the predicted value of networks of similar batch and
/// size. The factor approaches 1 far from all measurements.
class CorrectedSum {
public:
    static constexpr std::string_view kind = "corrected sum";

    [[nodiscard]] static CorrectedSum fit(std::span<const NetworkLoad> loads, std::span<const double> values,
                                          SumOptions options = {}, CorrectionOptions correction = {}) {
        CorrectedSum model;
        model.sum_ = NonNegativeSum::fit(loads, values, std::move(options));
        std::vector<double> points, off;
        for (std::size_t i = 0; i < loads.size(); ++i) {
            const auto point = place_of(loads[i]);
            points.insert(points.end(), point.begin(), point.end());
            off.push_back(std::log(values[i] / model.sum_.predict(loads[i]).value));
        }
        model.correction_ =
            learn::SmallProcess::fit(std::move(points), std::move(off), std::move(correction.parts), correction.noise);
        return model;
    }

    [[nodiscard]] Estimate predict(NetworkLoad const& load) const {
        const learn::SmallProcess::Prediction by = correction_.predict(place_of(load));
        const double value = std::min(sum_.predict(load).value * std::exp(by.mean), sum_.most());
        return {value, value * std::hypot(by.deviation, correction_.noise())};
    }
    [[nodiscard]] NonNegativeSum const& sum() const { return sum_; }

    void archive(Archive& archive) {
        archive(sum_, correction_);
        archive.require(correction_.dimensions() == 2, "a correction of ", correction_.dimensions(), " dimensions");
    }

private:
    [[nodiscard]] static std::array<double, 2> place_of(NetworkLoad const& load) {
        const double batch = load.batch;
        return {std::log2(batch), std::log2(std::max(load.features(4) / batch, 1.0))};
    }

    NonNegativeSum sum_;
    learn::SmallProcess correction_;
};

static_assert(NetworkModel<CorrectedSum>);

}  // namespace primsel::inline PRIMSEL_ABI::forecast
