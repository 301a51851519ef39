#include <primsel/core/rational.hpp>

#include <doctest/doctest.h>

using primsel::Rational;

static_assert(Rational(2, 4) == Rational(1, 2));
static_assert(Rational(1, -2) == Rational(-1, 2) && Rational(-3, -6) == Rational(1, 2));
static_assert(Rational(0, 7) == Rational() && Rational(0, -7) == 0);
static_assert(Rational(std::ratio<-6, 4>{}) == Rational(-3, 2));
static_assert(Rational(-3, 2).value() == -1.5);

TEST_CASE("fractions add, subtract, multiply and divide exactly") {
    for (int a = -4; a <= 4; ++a) {
        for (int b = 1; b <= 4; ++b) {
            for (int c = -4; c <= 4; ++c) {
                for (int d = 1; d <= 4; ++d) {
                    const Rational x(a, b), y(c, d);
                    CHECK((x + y) - y == x);
                    CHECK(x + y == y + x);
                    CHECK(x * (x + y) == x * x + x * y);
                    CHECK((x + y).value() == doctest::Approx(x.value() + y.value()));
                    if (c != 0) CHECK(x / y * y == x);
                }
            }
        }
    }
}
