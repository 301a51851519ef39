#include <doctest/doctest.h>

#include <primsel/core/sha1.hpp>

#include <span>
#include <string>

namespace ps = primsel;

namespace {
std::string digest(std::string const& text) { return ps::sha1(std::as_bytes(std::span(text))); }
}  // namespace

TEST_CASE("SHA-1 of the standard's messages, and of those whose padding begins another block") {
    CHECK(digest("") == "da39a3ee5e6b4b0d3255bfef95601890afd80709");
    CHECK(digest("abc") == "a9993e364706816aba3e25717850c26c9cd0d89d");
    CHECK(digest("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq") ==
          "84983e441c3bd26ebaae4aa1f95129e5e54670f1");
    CHECK(digest(std::string(1'000'000, 'a')) == "34aa973cd4c4daa4f61eeb2bdbad27316534016f");
    CHECK(digest(std::string(55, 'a')) == "c1c8bbdc22796e28c0e15163d20899b65621d65a");
    CHECK(digest(std::string(56, 'a')) == "c2db330f6083854c99d4b5bfb6e8f29f201be699");
    CHECK(digest(std::string(63, 'a')) == "03f09f5b158a7a8cdad920bddc29b81c18a551f5");
    CHECK(digest(std::string(64, 'a')) == "0098ba824b5c16427bd7a1122a5a442a25ec644d");
    CHECK(digest(std::string(65, 'a')) == "11655326c708d70319be2610e8a57d9a5b959d3b");
    CHECK(digest(std::string(119, 'a')) == "ee971065aaa017e0632a8ca6c77bb3bf8b1dfc56");
    CHECK(digest(std::string(120, 'a')) == "f34c1488385346a55709ba056ddd08280dd4c6d6");
}
