#include <primsel/core/read_number.hpp>

#include <doctest/doctest.h>

#include <clocale>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>

namespace ps = primsel;

namespace {

/// Both ways of reading answer alike, to the last bit.
template <class T>
void check_alike(std::string_view text) {
    CAPTURE(text);
    T by_library = 0, by_strtod = 0;
    const bool is_number = ps::read_number(text, by_library);
    CHECK(ps::core::detail::read_number_by_strtod(text, by_strtod) == is_number);
    if (is_number) CHECK(std::memcmp(&by_library, &by_strtod, sizeof(T)) == 0);
}

}  // namespace

TEST_CASE("read_number: the whole text or nothing") {
    double value = 0;
    CHECK(ps::read_number("-2.5e1", value));
    CHECK(value == -25);
    for (const std::string_view text :
         {"", "-", "+1", " 1", "1 ", "1,5", "0x10", "1e", "1e5x", "e5", "1e999", "1e-999"}) {
        CAPTURE(text);
        CHECK_FALSE(ps::read_number(text, value));
    }
    std::int64_t whole = 0;
    CHECK(ps::read_number("-9223372036854775808", whole));
    CHECK(whole == std::numeric_limits<std::int64_t>::min());
    for (const std::string_view text : {"", "9223372036854775808", "1.0", "1e3", "inf"}) {
        CAPTURE(text);
        CHECK_FALSE(ps::read_number(text, whole));
    }
}

TEST_CASE("read_number: without the standard library's reader of floats, the same") {
    const std::string locale = std::setlocale(LC_NUMERIC, nullptr);
    for (const char* const name : {"C", "de_DE.UTF-8", "fr_FR.UTF-8"}) {
        if (std::setlocale(LC_NUMERIC, name) == nullptr) continue;
        for (const std::string_view text : {"0",
                                            "-0",
                                            "0.1",
                                            ".5",
                                            "5.",
                                            "-.5e-3",
                                            "1e+5",
                                            "1E5",
                                            "0e999",
                                            "123456789.123456789",
                                            "1.7976931348623157e308",
                                            "1.8e308",
                                            "1e400",
                                            "-1e400",
                                            "1e39",
                                            "3.4028235e38",
                                            "4.9e-324",
                                            "1e-324",
                                            "1e-46",
                                            "1.4e-45",
                                            "1e-400",
                                            "0.0000000000000000000000000000000000000000000001",
                                            "inf",
                                            "-inf",
                                            "INF",
                                            "infinity",
                                            "nan",
                                            "-nan",
                                            "in",
                                            "",
                                            "-",
                                            ".",
                                            "+1",
                                            "--1",
                                            " 1",
                                            "1 ",
                                            "\t1",
                                            "1,5",
                                            "0x10",
                                            "-0x1p3",
                                            "1e",
                                            "1e+",
                                            "1e5x",
                                            "e5",
                                            "i",
                                            "n1"}) {
            check_alike<double>(text);
            check_alike<float>(text);
        }
        check_alike<double>(std::string_view("1\0", 2));
    }
    std::setlocale(LC_NUMERIC, locale.c_str());
}
