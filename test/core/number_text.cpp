#include <primsel/core/csv.hpp>
#include <primsel/core/error.hpp>
#include <primsel/core/text_table.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <string>

#include "../other_locale.hpp"

namespace {

namespace ps = primsel;
using ps::core::exact_text, ps::core::fixed_text, ps::core::rounded_text;

TEST_CASE("numbers have the same text in every locale") {
    for (const bool other : {false, true}) {
        CAPTURE(other);
        const tests::OtherLocale locale(other);
        CHECK(exact_text(1473.25) == "1473.25");
        CHECK(exact_text(0.1F) == "0.1");
        CHECK(exact_text(1234567) == "1234567");
        CHECK(exact_text(-std::numeric_limits<double>::infinity()) == "-inf");
        CHECK(fixed_text(1473.2502, 3) == "1473.250");
        CHECK(fixed_text(-0.5, 0) == "-0");
        CHECK(fixed_text(std::numeric_limits<double>::max(), 30).size() == 309 + 1 + 30);
        CHECK(rounded_text(1473.25, 2) == "1.5e+03");
        CHECK(rounded_text(0.5, 2) == "0.5");
        CHECK(rounded_text(std::nan(""), 2) == "nan");
        CHECK(ps::join(1473, ' ', 1473.25, ' ', 1e30F) == "1473 1473.25 1e+30");
        CHECK(ps::milliseconds(1.4732504) == "1473.250");
        double number = 0;
        CHECK((ps::read_number("1473.25", number) && number == 1473.25));
        CHECK_FALSE(ps::read_number("1473,25", number));
    }
}

}  // namespace
