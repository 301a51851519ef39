#pragma once

#include <primsel/cost/analytical.hpp>
#include <primsel/cost/op_coefficients.hpp>
#include <primsel/learn/detail/initializers.hpp>
#include <primsel/learn/detail/relative_fit.hpp>
#include <primsel/machine/machine.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::learn {

/// Fits OpCoefficients to times of layers that are no convolutions, and of the passes that add bias and activation to
/// those.
class OpRegression {
public:
    static constexpr std::size_t terms = OpCoefficients::terms;
    using Terms = OpCoefficients::Terms;

    struct Sample {
        std::string op, layout, form;
        Terms terms{};
        double seconds = 0;
    };
    /// The sample of a time that was taken on this machine.
    [[nodiscard]] static Sample sample(Machine const& machine, OpTime const& time) {
        return {time.op, time.layout, time.form,
                op_terms(Analytical::terms(machine, time.work), time.batch, time.work.counts.rows), time.seconds};
    }

    /// Returns the non-negative coefficients with the least absolute relative errors. An op with fewer than `least`
    /// samples in a layout and form gets those of the form in all layouts, or none if there are still fewer.
    [[nodiscard]] static OpRegression fit(std::span<const Sample> samples, std::size_t least = 8) {
        std::map<std::array<std::string, 3>, std::vector<Sample const*>> grouped;
        std::map<std::array<std::string, 2>, std::vector<Sample const*>> anywhere;
        for (Sample const& sample : samples) {
            if (!(sample.seconds > 0)) continue;
            grouped[{sample.op, sample.layout, sample.form}].push_back(&sample);
            anywhere[{sample.op, sample.form}].push_back(&sample);
        }
        OpRegression result;
        for (auto const& [key, group] : grouped) {
            auto const& samples_of = group.size() >= least ? group : anywhere[{key[0], key[2]}];
            if (samples_of.size() >= least) result.entries_.push_back({key[0], key[1], key[2], weigh(samples_of)});
        }
        return result;
    }

    /// Returns the coefficients for predict_ops. They refer to strings of this object, which must outlive them.
    [[nodiscard]] std::vector<OpCoefficients> coefficients() const {
        std::vector<OpCoefficients> result;
        for (Entry const& entry : entries_) result.push_back({entry.op, entry.layout, entry.values, entry.form});
        return result;
    }
    /// The same as initializers in C++, with four digits each.
    [[nodiscard]] std::vector<std::string> lines() const {
        std::vector<std::string> result;
        for (Entry const& entry : entries_) {
            result.push_back("{\"" + entry.op + "\", \"" + entry.layout + "\", " + detail::initializer(entry.values) +
                             (entry.form.empty() ? "}" : ", \"" + entry.form + "\"}"));
        }
        return result;
    }

private:
    struct Entry {
        std::string op, layout, form;
        Terms values{};
    };

    /// Times of less than a few microseconds need not be known to the percent. Bytes and their arithmetic grow
    /// together: where samples do not tell which of them bounds the time, it is the bytes, as for larger tensors and on
    /// another machine. So are weights. And a call takes microseconds, however well a hundred of them would explain
    /// samples that are all long.
    [[nodiscard]] static Terms weigh(std::span<Sample const* const> samples) {
        constexpr double coarse = 2e-6, share = 0.005;
        constexpr Terms usual{0, 1, 0, 1, 0, 0};
        std::vector<detail::RelativeRow<terms>> rows;
        Terms usual_samples{};
        for (Sample const* sample : samples) {
            detail::RelativeRow<terms>& row = rows.emplace_back();
            row.target = sample->seconds / (sample->seconds + coarse);
            for (std::size_t j = 0; j < terms; ++j) row.terms[j] = sample->terms[j] / (sample->seconds + coarse);
            usual_samples[0] += share / (coarse * coarse);
            usual_samples[1] += share * std::min(row.terms[1] * row.terms[1], 1.0);
            if (!(sample->terms[3] > sample->terms[1])) continue;
            for (const std::size_t j : {std::size_t{2}, std::size_t{3}}) {
                usual_samples[j] += share * std::min(row.terms[j] * row.terms[j], 1.0);
            }
        }
        return detail::relative_fit<terms>(rows, usual, usual_samples, true);
    }

    std::vector<Entry> entries_;
};

}  // namespace primsel::inline PRIMSEL_ABI::learn
