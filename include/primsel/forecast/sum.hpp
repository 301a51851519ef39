#pragma once

#include <primsel/forecast/network_model.hpp>
#include <primsel/learn/non_negative.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>
#include <span>
#include <string_view>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::forecast {

/// A feature, by its position among the 56, and what one of it costs.
struct SumTerm {
    std::size_t feature = 0;
    double factor = 0;
    void archive(Archive& archive) {
        archive(feature, factor);
        archive.require(feature < NetworkFeatures::count && factor >= 0, "a term of ", factor, " times feature ",
                        feature + 1);
    }
};

struct SumOptions {
    /// Positions of the features whose factors are learned; none: all.
    std::vector<std::size_t> learned = {};
    /// Terms known of the framework: for training with momentum in float, 12 bytes a weight.
    std::vector<SumTerm> known = {};
    /// The most that the device has. A value near it was cut short and teaches nothing.
    double most = std::numeric_limits<double>::max();
};

/// A constant and a sum of features, of which none has a negative factor: never falls with the batch, and is linear in
/// it up to what the device has. Factors are those with the least squares of relative errors.
class NonNegativeSum {
public:
    static constexpr std::string_view kind = "sum";
    /// The share of `most` from which on a value counts as cut short.
    static constexpr double near_most = 0.97;

    [[nodiscard]] static NonNegativeSum fit(std::span<const NetworkLoad> loads, std::span<const double> values,
                                            SumOptions options = {}) {
        detail::check_samples(loads, values);
        if (options.learned.empty()) {
            options.learned.resize(NetworkFeatures::count);
            std::iota(options.learned.begin(), options.learned.end(), std::size_t{0});
        }
        for (const std::size_t feature : options.learned) {
            if (feature >= NetworkFeatures::count) fail("forecast: there is no feature at ", feature);
        }
        NonNegativeSum sum;
        sum.most_ = options.most;
        sum.terms_ = options.known;
        std::vector<double> rows, targets;
        for (std::size_t i = 0; i < loads.size(); ++i) {
            if (values[i] >= near_most * options.most) continue;
            for (const std::size_t feature : options.learned) {
                rows.push_back(loads[i].features.values[feature] / values[i]);
            }
            rows.push_back(1 / values[i]);
            targets.push_back(1 - sum.without_bound(loads[i]) / values[i]);
        }
        const std::vector<double> factors =
            learn::non_negative_least_squares(rows, options.learned.size() + 1, targets);
        sum.constant_ = factors.back();
        for (std::size_t i = 0; i < options.learned.size(); ++i) {
            if (factors[i] > 0) sum.terms_.push_back({options.learned[i], factors[i]});
        }
        double squares = 0;
        for (std::size_t i = 0; i < loads.size(); ++i) {
            const double off = sum.predict(loads[i]).value / values[i] - 1;
            squares += off * off;
        }
        sum.relative_ = std::sqrt(squares / static_cast<double>(loads.size()));
        return sum;
    }

    [[nodiscard]] Estimate predict(NetworkLoad const& load) const {
        const double value = std::min(without_bound(load), most_);
        return {value, relative_ * value};
    }
    /// The terms of the sum that are not 0.
    [[nodiscard]] std::vector<SumTerm> const& terms() const { return terms_; }
    [[nodiscard]] double constant() const { return constant_; }
    [[nodiscard]] double most() const { return most_; }

    void archive(Archive& archive) {
        archive(terms_, constant_, most_, relative_);
        archive.require(constant_ >= 0 && most_ > 0 && relative_ >= 0, "a sum with a negative part");
    }

private:
    [[nodiscard]] double without_bound(NetworkLoad const& load) const {
        double value = constant_;
        for (SumTerm const& term : terms_) value += term.factor * load.features.values[term.feature];
        return value;
    }

    std::vector<SumTerm> terms_;
    double constant_ = 0, most_ = std::numeric_limits<double>::max(), relative_ = 0;
};

static_assert(NetworkModel<NonNegativeSum>);

}  // namespace primsel::inline PRIMSEL_ABI::forecast
