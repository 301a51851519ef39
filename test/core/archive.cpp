#include "../error_of.hpp"

#include <primsel/core/archive.hpp>

#include <doctest/doctest.h>

#include <array>
#include <limits>
#include <map>
#include <string>
#include <vector>

namespace ps = primsel;

namespace {

struct Inner {
    int number = 0;
    void archive(ps::Archive& archive) { archive(number); }
    friend bool operator==(Inner const&, Inner const&) = default;
};

struct Kept {
    bool flag = false;
    double real = 0;
    std::string text;
    std::vector<float> floats;
    std::vector<std::string> texts;
    std::vector<Inner> inner;
    std::array<int, 2> pair{};
    std::map<std::string, std::string> about;
    void archive(ps::Archive& archive) { archive(flag, real, text, floats, texts, inner, pair, about); }
    friend bool operator==(Kept const&, Kept const&) = default;
};

Kept some() {
    return {true, -0.1, std::string("a\0b", 3), {1.5F, -2}, {"x", ""}, {{3}, {-4}}, {5, 6}, {{"k", "v"}, {"l", ""}}};
}

std::vector<std::byte> bytes_of(Kept kept) {
    ps::Archive archive("kept");
    archive(kept);
    return {archive.bytes().begin(), archive.bytes().end()};
}

Kept read(std::span<const std::byte> bytes) {
    Kept kept;
    ps::Archive archive("kept", bytes);
    archive(kept);
    archive.finish();
    return kept;
}

}  // namespace

TEST_CASE("Archive: values read back as they were written, numbers little-endian") {
    CHECK(read(bytes_of(some())) == some());
    CHECK(read(bytes_of({})) == Kept{});
    ps::Archive archive("n");
    std::uint32_t number = 0x01020304;
    archive(number);
    REQUIRE(archive.bytes().size() == 4);
    CHECK(std::to_integer<int>(archive.bytes()[0]) == 4);
    CHECK(std::to_integer<int>(archive.bytes()[3]) == 1);
}

TEST_CASE("Archive: every cut, a byte too many and sizes larger than the bytes are refused by name") {
    std::vector<std::byte> bytes = bytes_of(some());
    for (std::size_t size = 0; size < bytes.size(); ++size) {
        CHECK(tests::error_of([&] { (void)read(std::span(bytes).first(size)); }).starts_with("kept: "));
    }
    bytes.push_back({});
    CHECK(tests::error_of([&] { (void)read(bytes); }).find("1 bytes too many") != std::string::npos);

    ps::Archive promise("size");
    std::size_t huge = std::numeric_limits<std::size_t>::max();
    promise(huge);
    const auto refused = [&](auto value) {
        return tests::error_of([&] { ps::Archive("kept", promise.bytes())(value); });
    };
    CHECK(refused(std::vector<float>{}).find("a size of") != std::string::npos);
    CHECK(refused(std::vector<Inner>{}).find("a size of") != std::string::npos);
    CHECK(refused(std::string{}).find("a size of") != std::string::npos);
    CHECK(refused(std::map<std::string, std::string>{}).find("a size of") != std::string::npos);
}

TEST_CASE("Archive: floats that are not finite are neither written nor read") {
    Kept kept = some();
    kept.floats[1] = std::numeric_limits<float>::infinity();
    CHECK(tests::error_of([&] { (void)bytes_of(kept); }).find("not finite") != std::string::npos);
    double nan = std::numeric_limits<double>::quiet_NaN();
    const auto raw = std::as_bytes(std::span(&nan, 1));
    double value = 0;
    CHECK(tests::error_of([&] { ps::Archive("n", raw, 100)(value); }).find("before byte 108") != std::string::npos);
}

TEST_CASE("Archive: keys out of order are refused") {
    ps::Archive written("m");
    std::size_t size = 2;
    std::string a = "b", b = "a", empty;
    written(size, a, empty, b, empty);
    std::map<std::string, std::string> texts;
    CHECK(tests::error_of([&] { ps::Archive("m", written.bytes())(texts); }).find("out of order") != std::string::npos);
}

TEST_CASE("checksum: FNV-1a's published values") {
    const auto of = [](std::string_view text) { return ps::checksum(std::as_bytes(std::span(text))); };
    CHECK(of("") == 0xcbf29ce484222325ULL);
    CHECK(of("a") == 0xaf63dc4c8601ec8cULL);
    CHECK(of("foobar") == 0x85944171f73967e8ULL);
}
