#pragma once

#include <primsel/cost/conv_coefficients.hpp>
#include <primsel/learn/detail/initializers.hpp>
#include <primsel/learn/detail/relative_fit.hpp>

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::learn {

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

    /// The strength of the regularisation, per term, as a number of samples whose coefficient is
    /// ConvCoefficients::usual. Without it, a term that a primitive's samples do not show would cost nothing. The
    /// traffic of the weights has the largest value: its share that prefetching does not hide depends on the machine
    /// more than on the primitive, and few shapes show it.
    static constexpr Terms usual_samples{0.1, 0.1, 4, 0.1};

    /// Returns the non-negative coefficients with the least relative errors, regularised towards
    /// ConvCoefficients::usual. Samples whose seconds are not positive are ignored.
    [[nodiscard]] static ConvRegression fit(std::span<const Sample> samples, Terms const& usual = usual_samples) {
        std::map<std::string, std::vector<Sample const*>> grouped;
        for (Sample const& sample : samples) {
            if (sample.seconds > 0) grouped[sample.primitive].push_back(&sample);
        }
        ConvRegression result;
        for (auto const& [primitive, group] : grouped) result.entries_.push_back({primitive, weigh(group, usual)});
        return result;
    }

    /// Returns the coefficients for predict_convolutions. They refer to strings of this object, which must outlive
    /// them.
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

    [[nodiscard]] static Terms weigh(std::span<Sample const* const> samples, Terms const& usual) {
        std::vector<detail::RelativeRow<terms>> rows;
        for (Sample const* sample : samples) {
            detail::RelativeRow<terms>& row = rows.emplace_back();
            for (std::size_t j = 0; j < terms; ++j) row.terms[j] = sample->terms[j] / sample->seconds;
        }
        return detail::relative_fit<terms>(rows, ConvCoefficients::usual, usual);
    }

    std::vector<Entry> entries_;
};

}  // namespace primsel::inline PRIMSEL_ABI::learn
