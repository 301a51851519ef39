#include <primsel/layer/layer.hpp>

#include <doctest/doctest.h>

#include <set>

namespace {

namespace ps = primsel;
using ps::Fault;

TEST_CASE("each fault has a message of its own") {
    std::set<std::string_view> messages;
    constexpr int count = static_cast<int>(Fault::too_large) + 1;
    for (int i = 0; i < count; ++i) {
        const std::string_view text = ps::message(static_cast<Fault>(i));
        CHECK(text.empty() == (i == 0));
        messages.insert(text);
    }
    CHECK(messages.size() == count);
}

TEST_CASE("extents and paddings from one, two or four numbers") {
    CHECK(ps::Extent(3) == ps::Extent(3, 3));
    CHECK(ps::Extent() == ps::Extent(1, 1));
    CHECK(ps::Padding(2) == ps::Padding(2, 2, 2, 2));
    const ps::Padding padding(1, 2);
    CHECK(padding == ps::Padding(1, 1, 2, 2));
    CHECK(padding.bottom == 1);
    CHECK(padding.left == 2);
    CHECK_FALSE(padding.negative());
    CHECK(ps::Padding(-1, 0, 0, 0).negative());
    CHECK(ps::Padding(0, -1, 0, 0).negative());
    CHECK(ps::Padding(0, 0, -1, 0).negative());
    CHECK(ps::Padding(0, 0, 0, -1).negative());
}

TEST_CASE("ratios as floats") {
    CHECK(ps::as_float<std::ratio<3, 4>> == 0.75F);
    CHECK(ps::as_float<std::ratio<1, 100'000>> == 1e-5F);
}

}  // namespace
