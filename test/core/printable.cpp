#include <primsel/core/printable.hpp>

#include <doctest/doctest.h>

#include <string>
#include <string_view>

namespace {

namespace ps = primsel;

TEST_CASE("what is text stays what it is") {
    for (const std::string_view text :
         {"", "conv1 -> 3x224x224", "\\n is two characters", "gr\xc3\xbc\xc3\x9f \xe6\xb7\xb1 \xf0\x9f\x90\x88"}) {
        CHECK(ps::printable(text) == text);
    }
}

TEST_CASE("control characters and bytes that are no text are escaped") {
    CHECK(ps::printable("a\nb\tc\rd") == "a\\nb\\tc\\x0dd");
    CHECK(ps::printable(std::string_view("\x1b[2J\x7f\0", 6)) == "\\x1b[2J\\x7f\\x00");
    CHECK(ps::printable("\xc2\x9b"
                        "2J \xc2\xa0") == "\\u009b2J \xc2\xa0");
    CHECK(ps::printable("\xe2\x80\xaeolleh\xe2\x81\xa9 \xe2\x80\xa8") == "\\u202eolleh\\u2069 \\u2028");
    CHECK(ps::printable("\xff\xc3(\xed\xa0\x80\xe2\x80") == "\\xff\\xc3(\\xed\\xa0\\x80\\xe2\\x80");
}

TEST_CASE("what is printable stays what it is, and nothing else comes out, for every pair of bytes") {
    std::size_t wrong = 0;
    for (int first = 0; first < 256; ++first) {
        for (int second = 0; second < 256; ++second) {
            const char bytes[] = {static_cast<char>(first), static_cast<char>(second)};
            const std::string once = ps::printable({bytes, 2});
            wrong += ps::printable(once) != once ? 1U : 0U;
            for (const char c : once) wrong += (c >= 0 && c < 0x20) || c == 0x7f ? 1U : 0U;
        }
    }
    CHECK(wrong == 0);
}

}  // namespace
