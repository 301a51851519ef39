#include <primsel/onnx/detail/stored_integers.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace stored_integers {

using primsel::StoredIntegers;

TEST_CASE("all bytes are the numbers that their type says, and are widened once for all copies") {
    std::array<std::byte, 256> bytes{};
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i);
    for (const bool is_signed : {false, true}) {
        const StoredIntegers integers = StoredIntegers::of_bytes(bytes, is_signed), copy = integers;
        REQUIRE(integers.size() == bytes.size());
        CHECK(integers.is_bytes());
        CHECK(integers.bytes().data() == bytes.data());
        for (std::size_t i = 0; i < bytes.size(); ++i) {
            const auto expected = static_cast<std::int64_t>(i) - (is_signed && i >= 128 ? 256 : 0);
            CHECK(integers[i] == expected);
        }
        CHECK(copy.data() == integers.data());
    }
}

TEST_CASE("the first of them are as many, of bytes and of integers") {
    const std::vector<std::int64_t> values{5, -7, 9};
    const StoredIntegers some = StoredIntegers(values).first(2);
    CHECK(std::vector<std::int64_t>(some.begin(), some.end()) == std::vector<std::int64_t>{5, -7});
    CHECK_FALSE(some.is_bytes());

    const std::array<std::byte, 3> bytes{std::byte{1}, std::byte{255}, std::byte{3}};
    const StoredIntegers first = StoredIntegers::of_bytes(bytes, true).first(2);
    CHECK(std::vector<std::int64_t>(first.begin(), first.end()) == std::vector<std::int64_t>{1, -1});
    CHECK(first.bytes().size() == 2);
    CHECK(StoredIntegers().empty());
}

}  // namespace stored_integers
