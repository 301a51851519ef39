#pragma once

#include <primsel/core/csv.hpp>
#include <primsel/core/error.hpp>
#include <primsel/core/finite.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
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

/// A parameter of a search: a real number, an integer, or one of some values. Each value has a share, its place between
/// 0 and 1; each share stands for a value.
class Parameter {
public:
    /// A real number from low to high. Throws error, naming the parameter, if the range is impossible.
    [[nodiscard]] static Parameter real(std::string name, double low, double high, Spacing spacing = Spacing::linear) {
        Parameter parameter(std::move(name), Kind::real, spacing);
        parameter.set_range(low, high);
        return parameter;
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
    /// One of these values; numbers are sorted. Throws error, naming the parameter, if there is none, one is not
    /// finite, or one is there twice.
    [[nodiscard]] static Parameter values(std::string name, std::vector<Value> values) {
        Parameter parameter(std::move(name), Kind::values, Spacing::linear);
        if (values.empty()) fail("parameter ", parameter.name_, ": has no values");
        parameter.ordered_ =
            std::ranges::all_of(values, [](Value const& value) { return is_finite(number_of(value)); });
        if (parameter.ordered_) std::ranges::stable_sort(values, {}, number_of);
        for (std::size_t i = 0; i < values.size(); ++i) {
            const auto* real = std::get_if<double>(&values[i]);
            if (real != nullptr && !is_finite(*real)) fail("parameter ", parameter.name_, ": is not finite");
            for (std::size_t before = 0; before < i; ++before) {
                if (text_of(values[before]) != text_of(values[i])) continue;
                fail("parameter ", parameter.name_, ": has the value ", text_of(values[i]), " twice");
            }
        }
        parameter.values_ = std::move(values);
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
        return low_ == high_ ? 1 : 0;
    }
    /// Whether the values are numbers, so that near values are alike.
    [[nodiscard]] bool is_ordered() const { return kind_ != Kind::values || ordered_; }

    /// The value of a share; shares below 0 or above 1 count as 0 or 1.
    [[nodiscard]] Value at(double share) const {
        share = std::clamp(share, 0.0, 1.0);
        if (kind_ == Kind::values) {
            const auto place = static_cast<std::size_t>(share * static_cast<double>(values_.size()));
            return values_[std::min(place, values_.size() - 1)];
        }
        const double value = std::clamp(from_scale(first() + share * (last() - first())), low_, high_);
        if (kind_ == Kind::integer) return static_cast<std::int64_t>(std::floor(value));
        return value;
    }
    /// The share of a value that this parameter has. Integers and values lie in the middle of their shares.
    [[nodiscard]] double share_of(Value const& value) const {
        if (kind_ == Kind::values) {
            const auto place = std::ranges::find(values_, value) - values_.begin();
            return (static_cast<double>(place) + 0.5) / static_cast<double>(values_.size());
        }
        if (last() <= first()) return 0.5;
        const double middle = kind_ == Kind::integer ? 0.5 : 0;
        return std::clamp((to_scale(number_of(value) + middle) - first()) / (last() - first()), 0.0, 1.0);
    }
    [[nodiscard]] bool has(Value const& value) const {
        if (kind_ == Kind::values) return std::ranges::find(values_, value) != values_.end();
        if (value.index() != (kind_ == Kind::integer ? 0U : 1U)) return false;
        return number_of(value) >= low_ && number_of(value) <= high_;
    }
    /// The parameter's own value that equals a value read from a file: an integer may stand for a real number, and a
    /// number's text for the number. Throws error, naming the parameter, if there is none.
    [[nodiscard]] Value read(Value const& value) const {
        if (has(value)) return value;
        if (kind_ == Kind::real && has(number_of(value))) return number_of(value);
        for (Value const& own : values_) {
            if (text_of(own) == text_of(value)) return own;
        }
        fail("parameter ", name_, ": cannot be ", text_of(value));
    }

    friend bool operator==(Parameter const&, Parameter const&) = default;

private:
    enum class Kind { real, integer, values };

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
    [[nodiscard]] double to_scale(double value) const {
        return spacing_ == Spacing::logarithmic ? std::log(value) : value;
    }
    [[nodiscard]] double from_scale(double value) const {
        return spacing_ == Spacing::logarithmic ? std::exp(value) : value;
    }
    [[nodiscard]] double first() const { return to_scale(low_); }
    // The last integer, too, has a share.
    [[nodiscard]] double last() const { return to_scale(kind_ == Kind::integer ? high_ + 1 : high_); }

    std::string name_;
    Kind kind_;
    Spacing spacing_;
    double low_ = 0, high_ = 0;
    std::vector<Value> values_;
    bool ordered_ = true;
};

}  // namespace primsel::inline PRIMSEL_ABI::search
