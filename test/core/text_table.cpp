#include <primsel/core/text_table.hpp>

#include <doctest/doctest.h>

#include <string>

namespace ps = primsel;

TEST_CASE("tables: columns are as wide as their widest cell, rows as long as what is in them") {
    ps::TextTable table;
    CHECK(table.text().empty());
    table.add({"layer", "ms"});
    table.add({"a longer one", ps::milliseconds(0.0012504), "said of it"});
    table.add({"x"});
    CHECK(table.text() ==
          "layer         ms\n"
          "a longer one  1.250  said of it\n"
          "x\n");
}

TEST_CASE("tables: a name from a file stays on its line") {
    ps::TextTable table;
    table.add({"two\nlines\x1b[2J", "1"});
    const std::string text = table.text();
    CHECK(text.find('\n') == text.size() - 1);
    CHECK(text.find('\x1b') == std::string::npos);
}
