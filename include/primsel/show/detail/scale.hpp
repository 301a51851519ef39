#pragma once

#include <primsel/core/config.hpp>
#include <primsel/core/number_text.hpp>

#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::show::detail {

/// An axis: finite values, up to 1e300, from round numbers to round numbers, with a tick at every multiple of 1, 2 or 5
/// times a power of ten.
class Scale {
public:
    explicit Scale(std::span<const double> values) {
        if (!values.empty()) {
            const auto [least, most] = std::ranges::minmax(values);
            low_ = std::max(least, -largest), high_ = std::min(most, largest);
        }
        // An axis around values that are equal, or that double cannot tell from each other.
        const double smallest = 1e-9 * std::max({1e-6, std::abs(low_), std::abs(high_)});
        if (high_ - low_ < smallest) {
            const double middle = low_, room = std::max(0.5, 0.5 * std::abs(middle));
            low_ = middle - room, high_ = middle + room;
        }
        const double rough = (high_ - low_) / most_ticks, power = std::pow(10.0, std::floor(std::log10(rough)));
        step_ = 10 * power;
        for (const double times : {5.0, 2.0, 1.0}) {
            if (times * power >= rough) step_ = times * power;
        }
        low_ = std::floor(low_ / step_) * step_, high_ = std::ceil(high_ / step_) * step_;
    }

    /// 0 at the lowest, 1 at the highest.
    [[nodiscard]] double share(double value) const { return (value - low_) / (high_ - low_); }
    [[nodiscard]] std::vector<double> ticks() const {
        std::vector<double> at;
        const double first = std::round(low_ / step_), count = std::round((high_ - low_) / step_);
        for (double i = 0; i <= count; ++i) at.push_back((first + i) * step_);
        return at;
    }
    /// With a digit more than ticks need; without zeros at the end.
    [[nodiscard]] std::string text(double value) const {
        const double size = std::max(std::abs(low_), std::abs(high_));
        const int needed = std::clamp(static_cast<int>(std::ceil(std::log10(size / step_))) + 2, 1, 17);
        if (std::abs(value) < 1e-9 * size) value = 0;
        return core::rounded_text(value, needed);
    }

private:
    static constexpr double most_ticks = 8, largest = 1e300;
    double low_ = 0, high_ = 1, step_ = 1;
};

}  // namespace primsel::inline PRIMSEL_ABI::show::detail
