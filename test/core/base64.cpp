#include <primsel/core/base64.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace ps = primsel;

namespace {

std::vector<std::byte> bytes_of(std::string_view text) {
    const auto bytes = std::as_bytes(std::span(text));
    return {bytes.begin(), bytes.end()};
}

}  // namespace

TEST_CASE("base64: the examples of RFC 4648, section 10") {
    const std::pair<std::string_view, std::string_view> examples[] = {{"", ""},
                                                                      {"f", "Zg=="},
                                                                      {"fo", "Zm8="},
                                                                      {"foo", "Zm9v"},
                                                                      {"foob", "Zm9vYg=="},
                                                                      {"fooba", "Zm9vYmE="},
                                                                      {"foobar", "Zm9vYmFy"}};
    for (auto const& [plain, encoded] : examples) {
        CHECK(ps::to_base64(bytes_of(plain)) == encoded);
        CHECK(ps::from_base64("example", encoded) == bytes_of(plain));
    }
}

TEST_CASE("base64: whatever bytes come back") {
    std::mt19937 generator(1);
    for (std::size_t size = 0; size < 200; ++size) {
        std::vector<std::byte> bytes(size);
        for (std::byte& byte : bytes) byte = static_cast<std::byte>(generator() & 255U);
        CHECK(ps::from_base64("bytes", ps::to_base64(bytes)) == bytes);
    }
}

TEST_CASE("base64: what is none is refused, and where") {
    for (const std::string_view text : {"Zg", "Zg=", "Z===", "====", "Zg==Zg==", "Zm9v\n", "Zm-v", "=m9v", "Z=9v"}) {
        CAPTURE(text);
        CHECK_THROWS_WITH_AS((void)ps::from_base64("file", text), doctest::Contains("file: "), ps::error);
    }
}
