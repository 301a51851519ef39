#pragma once

#include <primsel/core/csv.hpp>
#include <primsel/core/error.hpp>
#include <primsel/core/finite.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <numeric>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::search {

/// A value of a parameter.
using Value = std::variant<std::int64_t, double, std::string>;

/// The value as text; a number has the fewest digits that read back as the same number.
[[nodiscard]] inline std::string text_of(Value const& value) {
    if (const auto* integer = std::get_if<std::int64_t>(&value)) return std::to_string(*integer);
    if (const auto* text = std::get_if<std::string>(&value)) return *text;
    return core::exact_text(std::get<double>(value));
}
/// The number of an integer or a real value; NaN for a text.
[[nodiscard]] inline double number_of(Value const& value) {
    if (const auto* integer = std::get_if<std::int64_t>(&value)) return static_cast<double>(*integer);
    const auto* real = std::get_if<double>(&value);
    return real != nullptr ? *real : std::nan("");
}

enum class Spacing { linear, logarithmic };

/// A parameter of a search: a real number, an integer, a multiple of a step, or one of some values. Each value has a
/// share, its place between 0 and 1; each share stands for a value. Shares drawn evenly give the parameter's
/// distribution.
class Parameter {
public:
    /// A real number from low to high. Throws error, naming the parameter, if the range is impossible.
    [[nodiscard]] static Parameter real(std::string name, double low, double high, Spacing spacing = Spacing::linear) {
        Parameter parameter(std::move(name), Kind::real, spacing);
        parameter.set_range(low, high);
        return parameter;
    }
    /// A real number that is normally distributed, or, with logarithmic spacing, whose logarithm is. None is beyond six
    /// standard deviations. Throws error, naming the parameter, unless mean and deviation are finite and the deviation
    /// is above 0.
    [[nodiscard]] static Parameter normal(std::string name, double mean, double deviation,
                                          Spacing spacing = Spacing::linear) {
        constexpr double most = 6;
        Parameter parameter(std::move(name), Kind::real, spacing);
        if (!is_finite(mean) || !is_finite(deviation) || !(deviation > 0)) {
            fail("parameter ", parameter.name_, ": no normal distribution of mean ", mean, " and deviation ",
                 deviation);
        }
        parameter.set_range(parameter.from_scale(mean - most * deviation),
                            parameter.from_scale(mean + most * deviation));
        parameter.mean_ = mean, parameter.deviation_ = deviation;
        return parameter;
    }
    /// The multiples of `step` within the range of a real parameter. Each has the share of the numbers that are rounded
    /// to it; those that are rounded beyond an end count for the last multiple. They are integers if the step is one.
    /// Throws error, naming the parameter, if there is no multiple, or there are more than 2^52.
    [[nodiscard]] static Parameter multiples(Parameter range, double step) {
        constexpr double most = 0x1p52, rounding = 1e-9;
        std::string const& name = range.name_;
        if (range.kind_ != Kind::real) fail("parameter ", name, ": multiples are taken of a range of real numbers");
        if (!is_finite(step) || !(step > 0)) fail("parameter ", name, ": no multiples of ", step);
        const double first = std::ceil(range.low_ / step - rounding), last = std::floor(range.high_ / step + rounding);
        if (last < first) {
            fail("parameter ", name, ": no multiple of ", step, " from ", text_of(range.low_), " to ",
                 text_of(range.high_));
        }
        if (!(last - first < most) || !(std::abs(first * step) < most) || !(std::abs(last * step) < most)) {
            fail("parameter ", name, ": more than 2^52 multiples of ", step);
        }
        range.kind_ = Kind::multiples, range.step_ = step;
        range.first_multiple_ = first, range.last_multiple_ = last;
        return range;
    }
    /// An integer from low to high; with linear spacing all are equally likely. Throws error, naming the parameter, if
    /// the range is impossible or exceeds 2^52.
    [[nodiscard]] static Parameter integer(std::string name, std::int64_t low, std::int64_t high,
                                           Spacing spacing = Spacing::linear) {
        constexpr std::int64_t most = std::int64_t{1} << 52;
        Parameter parameter(std::move(name), Kind::integer, spacing);
        if (low < -most || high > most) fail("parameter ", parameter.name_, ": integers beyond 2^52");
        parameter.set_range(static_cast<double>(low), static_cast<double>(high));
        return parameter;
    }
    /// One of these values, each with its probability, or all equally likely without any; numbers are sorted. Throws
    /// error, naming the parameter, if there is no value, one is not finite or is there twice, or the probabilities are
    /// not as many, not above 0, or do not sum to 1.
    [[nodiscard]] static Parameter values(std::string name, std::vector<Value> values,
                                          std::vector<double> probabilities = {}) {
        Parameter parameter(std::move(name), Kind::values, Spacing::linear);
        if (values.empty()) fail("parameter ", parameter.name_, ": has no values");
        parameter.ordered_ =
            std::ranges::all_of(values, [](Value const& value) { return is_finite(number_of(value)); });
        for (std::size_t i = 0; i < values.size(); ++i) {
            const auto* real = std::get_if<double>(&values[i]);
            if (real != nullptr && !is_finite(*real)) fail("parameter ", parameter.name_, ": is not finite");
            for (std::size_t before = 0; before < i; ++before) {
                if (text_of(values[before]) != text_of(values[i])) continue;
                fail("parameter ", parameter.name_, ": has the value ", text_of(values[i]), " twice");
            }
        }
        parameter.set_values(values, probabilities);
        return parameter;
    }
    /// This value alone.
    [[nodiscard]] static Parameter constant(std::string name, Value value) {
        return values(std::move(name), {std::move(value)});
    }

    [[nodiscard]] std::string const& name() const { return name_; }
    /// The number of values; 0 if they are real numbers of a range.
    [[nodiscard]] std::size_t count() const {
        if (kind_ == Kind::values) return values_.size();
        if (kind_ == Kind::integer) return static_cast<std::size_t>(high_ - low_) + 1;
        if (kind_ == Kind::multiples) return static_cast<std::size_t>(last_multiple_ - first_multiple_) + 1;
        return low_ == high_ ? 1 : 0;
    }
    /// Whether the values are numbers, so that near values are alike.
    [[nodiscard]] bool is_ordered() const { return kind_ != Kind::values || ordered_; }
    /// The value number `place`, which is below count(); numbers ascend.
    [[nodiscard]] Value nth(std::size_t place) const {
        if (kind_ == Kind::values) return values_[place];
        if (kind_ == Kind::integer) return static_cast<std::int64_t>(low_) + static_cast<std::int64_t>(place);
        if (kind_ == Kind::multiples) return multiple(first_multiple_ + static_cast<double>(place));
        return low_;
    }
    /// The number of the share's value among those of values(); else 0.
    [[nodiscard]] std::size_t place_of(double share) const {
        const auto above = std::ranges::upper_bound(ends_, share) - ends_.begin();
        return std::min(static_cast<std::size_t>(above), std::max<std::size_t>(values_.size(), 1) - 1);
    }

    /// The value of a share; shares below 0 or above 1 count as 0 or 1.
    [[nodiscard]] Value at(double share) const {
        share = std::clamp(share, 0.0, 1.0);
        if (kind_ == Kind::values) return values_[place_of(share)];
        const double value = std::clamp(number_at(share), low_, high_);
        if (kind_ == Kind::integer) return static_cast<std::int64_t>(std::floor(value));
        if (kind_ == Kind::multiples) {
            return multiple(std::clamp(std::round(value / step_), first_multiple_, last_multiple_));
        }
        return value;
    }
    /// The share of a value that this parameter has. Integers, multiples and values lie in the middle of their shares.
    [[nodiscard]] double share_of(Value const& value) const {
        if (kind_ == Kind::values) {
            const auto place = static_cast<std::size_t>(std::ranges::find(values_, value) - values_.begin());
            return 0.5 * ((place == 0 ? 0 : ends_[place - 1]) + ends_[place]);
        }
        if (last() <= first()) return 0.5;
        if (kind_ == Kind::multiples) {
            const double place = std::round(number_of(value) / step_);
            const double below = place <= first_multiple_ ? 0 : share_of_number((place - 0.5) * step_),
                         above = place >= last_multiple_ ? 1 : share_of_number((place + 0.5) * step_);
            return 0.5 * (below + above);
        }
        return share_of_number(number_of(value) + (kind_ == Kind::integer ? 0.5 : 0));
    }
    [[nodiscard]] bool has(Value const& value) const {
        if (kind_ == Kind::values) return std::ranges::find(values_, value) != values_.end();
        if (kind_ == Kind::multiples) {
            const double place = std::round(number_of(value) / step_);
            return place >= first_multiple_ && place <= last_multiple_ && value == multiple(place);
        }
        if (value.index() != (kind_ == Kind::integer ? 0U : 1U)) return false;
        return number_of(value) >= low_ && number_of(value) <= high_;
    }
    /// The parameter's own value that equals a value read from a file: an integer may stand for a real number, and a
    /// number's text for the number. Throws error, naming the parameter, if there is none.
    [[nodiscard]] Value read(Value const& value) const {
        if (has(value)) return value;
        if (kind_ != Kind::values && has(number_of(value))) return number_of(value);
        for (Value const& own : values_) {
            if (text_of(own) == text_of(value)) return own;
        }
        fail("parameter ", name_, ": cannot be ", text_of(value));
    }

    friend bool operator==(Parameter const&, Parameter const&) = default;

private:
    enum class Kind { real, integer, multiples, values };

    Parameter(std::string name, Kind kind, Spacing spacing) : name_(std::move(name)), kind_(kind), spacing_(spacing) {
        if (name_.empty()) fail("a parameter without a name");
    }
    void set_range(double low, double high) {
        if (!is_finite(low) || !is_finite(high) || low > high || !is_finite(high - low)) {
            fail("parameter ", name_, ": no range from ", text_of(low), " to ", text_of(high));
        }
        if (spacing_ == Spacing::logarithmic && low <= 0) {
            fail("parameter ", name_, ": no logarithm of ", text_of(low));
        }
        low_ = low, high_ = high;
    }
    void set_values(std::vector<Value> const& values, std::vector<double> const& probabilities) {
        const auto count = static_cast<double>(values.size());
        double sum = 0;
        for (const double probability : probabilities) {
            if (!(probability > 0)) fail("parameter ", name_, ": a probability of ", probability, " draws nothing");
            sum += probability;
        }
        if (!probabilities.empty() && probabilities.size() != values.size()) {
            fail("parameter ", name_, ": has ", values.size(), " values and ", probabilities.size(), " probabilities");
        }
        if (!probabilities.empty() && !(std::abs(sum - 1) < 1e-6)) {
            fail("parameter ", name_, ": the probabilities sum to ", sum, ", not to 1");
        }
        std::vector<std::size_t> order(values.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        if (ordered_) std::ranges::stable_sort(order, {}, [&](std::size_t i) { return number_of(values[i]); });
        double end = 0;
        for (std::size_t i = 0; i < order.size(); ++i) {
            values_.push_back(values[order[i]]);
            end = probabilities.empty() ? (static_cast<double>(i) + 1) / count : end + probabilities[order[i]] / sum;
            ends_.push_back(end);
        }
        ends_.back() = 1;
    }
    [[nodiscard]] Value multiple(double place) const {
        const double value = place * step_ + 0.0;  // no negative zero
        if (step_ == std::floor(step_)) return static_cast<std::int64_t>(value);
        return value;
    }
    [[nodiscard]] double to_scale(double value) const {
        return spacing_ == Spacing::logarithmic ? std::log(value) : value;
    }
    [[nodiscard]] double from_scale(double value) const {
        return spacing_ == Spacing::logarithmic ? std::exp(value) : value;
    }
    [[nodiscard]] double first() const { return to_scale(low_); }
    // The last integer, too, has a share.
    [[nodiscard]] double last() const { return to_scale(kind_ == Kind::integer ? high_ + 1 : high_); }
    [[nodiscard]] static double normal_share(double deviations) {
        return 0.5 * std::erfc(-deviations / std::numbers::sqrt2);
    }
    /// The number of a share, before it is rounded. The normal distribution is inverted by bisection.
    [[nodiscard]] double number_at(double share) const {
        if (!(deviation_ > 0)) return from_scale(first() + share * (last() - first()));
        double low = -6, high = 6;
        for (int i = 0; i < 60; ++i) {
            const double middle = 0.5 * (low + high);
            (normal_share(middle) < share ? low : high) = middle;
        }
        return from_scale(mean_ + 0.5 * (low + high) * deviation_);
    }
    [[nodiscard]] double share_of_number(double number) const {
        if (spacing_ == Spacing::logarithmic && number <= 0) return 0;
        const double place = to_scale(number);
        if (deviation_ > 0) return normal_share((place - mean_) / deviation_);
        return std::clamp((place - first()) / (last() - first()), 0.0, 1.0);
    }

    std::string name_;
    Kind kind_;
    Spacing spacing_;
    double low_ = 0, high_ = 0;
    double mean_ = 0, deviation_ = 0;  // on the scale of the spacing; 0: uniform
    double step_ = 0, first_multiple_ = 0, last_multiple_ = 0;
    std::vector<Value> values_;
    std::vector<double> ends_;  // of the values' shares
    bool ordered_ = true;
};

}  // namespace primsel::inline PRIMSEL_ABI::search
