#include <primsel/core/fixed_string.hpp>

#include <doctest/doctest.h>

#include <string_view>

namespace {

namespace ps = primsel;

template <ps::FixedString text>
struct Named {
    static constexpr std::string_view name = text;
};

TEST_CASE("a fixed string is a template argument and a string_view") {
    CHECK(Named<"stem">::name == "stem");
    CHECK(Named<"">::name.empty());
    CHECK(std::is_same_v<Named<"a">, Named<"a">>);
    CHECK_FALSE(std::is_same_v<Named<"a">, Named<"b">>);
}

TEST_CASE("fixed strings join") {
    constexpr ps::FixedString left = "im2";
    CHECK((left + "row").view() == "im2row");
    CHECK((left + ps::FixedString("col") + "").view() == "im2col");
    CHECK(Named<left + "row" + "-" + ps::fixed_decimal<4>()>::name == "im2row-4");
}

TEST_CASE("numbers in decimal") {
    CHECK(ps::fixed_decimal<0>().view() == "0");
    CHECK(ps::fixed_decimal<7>().view() == "7");
    CHECK(ps::fixed_decimal<10>().view() == "10");
    CHECK(ps::fixed_decimal<4294967295U>().view() == "4294967295");
}

}  // namespace
