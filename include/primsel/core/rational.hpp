#pragma once

#include <primsel/core/config.hpp>

#include <cstdint>
#include <numeric>
#include <ratio>

namespace primsel::inline PRIMSEL_ABI {

/// A fraction in lowest terms with a positive denominator, for exact arithmetic at compile time, where an overflow is
/// an error. It is not meant for run time, where overflows are not detected.
class Rational {
public:
    constexpr Rational() = default;
    // NOLINTNEXTLINE(google-explicit-constructor): an integer is a fraction
    constexpr Rational(std::int64_t numerator, std::int64_t denominator = 1) {
        const std::int64_t common = std::gcd(numerator, denominator) * (denominator < 0 ? -1 : 1);
        numerator_ = numerator / common;
        denominator_ = denominator / common;
    }
    template <std::intmax_t numerator, std::intmax_t denominator>
    // NOLINTNEXTLINE(google-explicit-constructor)
    constexpr Rational(std::ratio<numerator, denominator>) : Rational(numerator, denominator) {}

    [[nodiscard]] constexpr double value() const {
        return static_cast<double>(numerator_) / static_cast<double>(denominator_);
    }

    friend constexpr Rational operator+(Rational a, Rational b) {
        return {a.numerator_ * b.denominator_ + b.numerator_ * a.denominator_, a.denominator_ * b.denominator_};
    }
    friend constexpr Rational operator-(Rational a, Rational b) {
        return {a.numerator_ * b.denominator_ - b.numerator_ * a.denominator_, a.denominator_ * b.denominator_};
    }
    friend constexpr Rational operator*(Rational a, Rational b) {
        return {a.numerator_ * b.numerator_, a.denominator_ * b.denominator_};
    }
    friend constexpr Rational operator/(Rational a, Rational b) {
        return {a.numerator_ * b.denominator_, a.denominator_ * b.numerator_};
    }
    friend constexpr bool operator==(Rational const&, Rational const&) = default;

private:
    std::int64_t numerator_ = 0, denominator_ = 1;
};

}  // namespace primsel::inline PRIMSEL_ABI
