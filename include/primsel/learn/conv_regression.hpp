#pragma once

#include <primsel/core/statistics.hpp>
#include <primsel/cost/conv_coefficients.hpp>
#include <primsel/learn/detail/initializers.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

/// Fits ConvCoefficients to times of primitives, of any number of machines and instruction sets together.
class ConvRegression {
public:
    static constexpr std::size_t terms = ConvCoefficients::terms;
    using Terms = ConvCoefficients::Terms;

    /// An image of a convolution.
    struct Sample {
        std::string primitive;
        Terms terms{};
        double seconds = 0;
    };

    /// As if so many samples had said that a term's coefficient is the usual one: what a primitive's own samples do not
    /// show must not become free. How much of their way from memory weights wait for is more a machine's property than
    /// a primitive's, and few shapes show it.
    static constexpr Terms usual_samples{0.1, 0.1, 4, 0.1};

    /// The coefficients, none of them negative, with the least relative errors, drawn towards the usual ones.
    [[nodiscard]] static ConvRegression fit(std::span<const Sample> samples, Terms const& usual = usual_samples) {
        std::map<std::string, std::vector<Sample const*>> grouped;
        for (Sample const& sample : samples) {
            if (sample.seconds > 0) grouped[sample.primitive].push_back(&sample);
        }
        ConvRegression result;
        for (auto const& [primitive, group] : grouped) result.entries_.push_back({primitive, weigh(group, usual)});
        return result;
    }

    /// For predict_convolutions, while this lives.
    [[nodiscard]] std::vector<ConvCoefficients> coefficients() const {
        std::vector<ConvCoefficients> result;
        for (Entry const& entry : entries_) result.push_back({entry.primitive, entry.values});
        return result;
    }
    /// The same as initializers in C++, with four digits each.
    [[nodiscard]] std::vector<std::string> lines() const {
        std::vector<std::string> result;
        for (Entry const& entry : entries_) {
            result.push_back("{\"" + entry.primitive + "\", " + detail::initializer(entry.values) + "}");
        }
        return result;
    }

private:
    struct Entry {
        std::string primitive;
        Terms values{};
    };

    /// Least absolute relative errors, by squares that are weighed anew; what is within 3 % counts as right.
    [[nodiscard]] static Terms weigh(std::span<Sample const* const> samples, Terms const& usual) {
        constexpr double right = 0.03;
        Terms result = ConvCoefficients::usual;
        for (int round = 0; round < 30; ++round) {
            std::array<Terms, terms> products{};
            Terms targets{};
            for (Sample const* sample : samples) {
                Terms row = sample->terms;
                double predicted = 0;
                for (std::size_t j = 0; j < terms; ++j) {
                    row[j] /= sample->seconds;
                    predicted += result[j] * row[j];
                }
                const double weight = right / std::max(std::abs(predicted - 1), right);
                for (std::size_t i = 0; i < terms; ++i) {
                    targets[i] += weight * row[i];
                    for (std::size_t j = 0; j < terms; ++j) products[i][j] += weight * row[i] * row[j];
                }
            }
            for (std::size_t i = 0; i < terms; ++i) {
                products[i][i] += usual[i];
                targets[i] += usual[i] * ConvCoefficients::usual[i];
            }
            result = solve(products, targets, result);
        }
        return result;
    }
    /// The x >= 0 with the least x' A x / 2 - b' x, by coordinate descent from a first guess.
    [[nodiscard]] static Terms solve(std::array<Terms, terms> const& a, Terms const& b, Terms x) {
        for (int round = 0; round < 2000; ++round) {
            double moved = 0;
            for (std::size_t i = 0; i < terms; ++i) {
                double rest = b[i];
                for (std::size_t j = 0; j < terms; ++j) {
                    if (j != i) rest -= a[i][j] * x[j];
                }
                const double next = std::max(rest / a[i][i], 0.0);
                moved = std::max(moved, std::abs(next - x[i]));
                x[i] = next;
            }
            if (moved < 1e-9) break;
        }
        return x;
    }

    std::vector<Entry> entries_;
};

}  // namespace primsel::inline PRIMSEL_ABI
