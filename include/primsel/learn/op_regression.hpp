#pragma once

#include <primsel/cost/op_coefficients.hpp>
#include <primsel/learn/detail/initializers.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

/// Fits OpCoefficients to times of layers that are no convolutions, and of the passes that add bias and activation to
/// those.
class OpRegression {
public:
    static constexpr std::size_t terms = OpCoefficients::terms;
    using Terms = OpCoefficients::Terms;

    struct Sample {
        std::string op, layout;
        Terms terms{};
        double seconds = 0;
    };

    /// The coefficients, none of them negative, with the least relative squared errors; ops with fewer samples in a
    /// layout than `least` have none.
    [[nodiscard]] static OpRegression fit(std::span<const Sample> samples, std::size_t least = 8) {
        std::map<std::pair<std::string, std::string>, std::vector<Sample const*>> grouped;
        for (Sample const& sample : samples) {
            if (sample.seconds > 0) grouped[{sample.op, sample.layout}].push_back(&sample);
        }
        OpRegression result;
        for (auto const& [key, group] : grouped) {
            if (group.size() >= least) result.entries_.push_back({key.first, key.second, weigh(group)});
        }
        return result;
    }

    /// For predict_ops, while this lives.
    [[nodiscard]] std::vector<OpCoefficients> coefficients() const {
        std::vector<OpCoefficients> result;
        for (Entry const& entry : entries_) result.push_back({entry.op, entry.layout, entry.values});
        return result;
    }
    /// The same as initializers in C++, with four digits each.
    [[nodiscard]] std::vector<std::string> lines() const {
        std::vector<std::string> result;
        for (Entry const& entry : entries_) {
            result.push_back("{\"" + entry.op + "\", \"" + entry.layout + "\", " + detail::initializer(entry.values) +
                             "}");
        }
        return result;
    }

private:
    struct Entry {
        std::string op, layout;
        Terms values{};
    };

    /// By coordinate descent. What takes less than a few microseconds need not be known to the percent.
    [[nodiscard]] static Terms weigh(std::span<Sample const* const> samples) {
        constexpr double coarse = 2e-6;
        Terms coefficients{}, squares{};
        std::vector<Terms> rows;
        std::vector<double> left;
        for (Sample const* sample : samples) {
            Terms row = sample->terms;
            for (double& value : row) value /= sample->seconds + coarse;
            for (std::size_t j = 0; j < terms; ++j) squares[j] += row[j] * row[j];
            rows.push_back(row);
            left.push_back(sample->seconds / (sample->seconds + coarse));
        }
        for (int round = 0; round < 3000; ++round) {
            for (std::size_t j = 0; j < terms; ++j) {
                if (!(squares[j] > 0)) continue;
                double along = 0;
                for (std::size_t i = 0; i < rows.size(); ++i) along += rows[i][j] * left[i];
                const double step = std::max(along / squares[j], -coefficients[j]);
                coefficients[j] += step;
                for (std::size_t i = 0; i < rows.size(); ++i) left[i] -= step * rows[i][j];
            }
        }
        return coefficients;
    }

    std::vector<Entry> entries_;
};

}  // namespace primsel::inline PRIMSEL_ABI
