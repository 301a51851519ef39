#include <primsel/core/csv.hpp>

#include <doctest/doctest.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace ps = primsel;

TEST_CASE("csv: lines with cells are numbered, comments collected") {
    std::map<std::string, std::string> about;
    ps::core::CsvLines lines("# cpu: mine: fast\n#\n\na,b\r\n1,\n# cpu: other\n# arch: avx2\n2,3", about);
    std::string_view line;
    REQUIRE(lines.next(line));
    CHECK(line == "a,b");
    CHECK(lines.number() == 4);
    CHECK(lines.whole());
    CHECK(about.size() == 1);
    REQUIRE(lines.next(line));
    CHECK(line == "1,");
    REQUIRE(lines.next(line));
    CHECK(line == "2,3");
    CHECK(lines.number() == 8);
    CHECK_FALSE(lines.whole());
    CHECK_FALSE(lines.next(line));
    CHECK(about.at("cpu") == "mine: fast");
    CHECK(about.at("arch") == "avx2");
}

TEST_CASE("csv: cells stand between commas, empty ones too") {
    CHECK(ps::core::cells_of("a,,b,") == std::vector<std::string>{"a", "", "b", ""});
    CHECK(ps::core::cells_of("") == std::vector<std::string>{""});
    int value = 0;
    CHECK(ps::read_number("-12", value));
    CHECK(value == -12);
    for (const char* text : {"", " 1", "1 ", "1.5", "x", "99999999999"}) {
        CAPTURE(text);
        CHECK_FALSE(ps::read_number(text, value));
    }
}
