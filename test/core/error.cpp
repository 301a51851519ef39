#include <primsel/core/error.hpp>

#include <doctest/doctest.h>

#include <string>

namespace {

namespace ps = primsel;

struct Size {
    int h, w;
    friend std::string to_string(Size const& size) { return std::to_string(size.h) + "x" + std::to_string(size.w); }
};

TEST_CASE("join puts strings, characters, numbers and whatever has a to_string together") {
    CHECK(ps::join() == "");
    CHECK(ps::join("a ", std::string("b"), std::string_view(" c"), '!') == "a b c!");
    CHECK(ps::join(-3, ' ', 18446744073709551615ULL, ' ', 0.5) == "-3 18446744073709551615 0.5");
    CHECK(ps::join(1e30F, ' ', 0.1F, ' ', 1e300, ' ', -0.0, ' ', 3.0) == "1e+30 0.1 1e+300 -0 3");
    CHECK(ps::join("is ", Size{3, 4}) == "is 3x4");
}

TEST_CASE("fail throws an error with that message") {
    CHECK_THROWS_WITH_AS(ps::fail("conv1: ", Size{1, 2}, " is too small by ", 7), "conv1: 1x2 is too small by 7",
                         ps::error);
    CHECK_THROWS_AS(ps::fail("x"), std::runtime_error);
}

}  // namespace
