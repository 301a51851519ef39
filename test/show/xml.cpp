#include <primsel/show/xml.hpp>

#include <doctest/doctest.h>

#include <string>

namespace show_xml_tests {

namespace ps = primsel;
namespace detail = primsel::show::detail;

TEST_CASE("xml_text: markup is escaped, what no XML may hold is replaced") {
    CHECK(ps::show::xml_text("a < b && \"c\" > d") == "a &lt; b &amp;&amp; &quot;c&quot; &gt; d");
    CHECK(ps::show::xml_text("\xc3\xa4\n\t") == "\xc3\xa4\n\t");
    CHECK(ps::show::xml_text(std::string("a\0\x1f", 3)) == "a\xef\xbf\xbd\xef\xbf\xbd");
    CHECK(ps::show::xml_text("\xff"
                             "b") ==
          "\xef\xbf\xbd"
          "b");
    CHECK(ps::show::xml_text("\xef\xbf\xbe") == "\xef\xbf\xbd");
}

TEST_CASE("shortened: characters count, not bytes; the middle gives way") {
    CHECK(detail::character_count("\xc3\xa4\xff"
                                  "b") == 3);
    CHECK(detail::first_characters("\xc3\xa4"
                                   "bc",
                                   2) ==
          "\xc3\xa4"
          "b");
    CHECK(detail::shortened("abcdef", 6) == "abcdef");
    CHECK(detail::shortened("abcdefgh", 5) == "ab\xe2\x80\xa6gh");
    CHECK(detail::shortened("\xc3\xa4\xc3\xb6\xc3\xbc\xc3\x9f", 3) == "\xc3\xa4\xe2\x80\xa6\xc3\x9f");
    CHECK(detail::shortened("abcdef", 2) == "abcdef");
}

TEST_CASE("xml_number: one digit behind the point") {
    CHECK(ps::show::xml_number(1.26) == "1.3");
    CHECK(ps::show::xml_number(-2) == "-2.0");
}

}  // namespace show_xml_tests
