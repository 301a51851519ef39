#include "laws.hpp"

#include <primsel/op/scatter.hpp>

#include <cmath>
#include <limits>

namespace scatter_tests {

namespace ps = primsel;
using ps::ScatterKind, ps::ScatterParams;

constexpr ScatterKind all_kinds[] = {ScatterKind::replace, ScatterKind::add, ScatterKind::multiply,
                                     ScatterKind::maximum, ScatterKind::minimum};

TEST_CASE("scatter agrees with the reference") {
    for (ps::Shape const& shape : laws::odd_shapes()) {
        for (const ScatterKind kind : all_kinds) {
            for (const int count : {1, 7}) {
                // Some are outside, and some are there twice.
                const bool rounds = kind == ScatterKind::add || kind == ScatterKind::multiply;
                laws::check(ScatterParams{kind}, {shape, {count, 1, 1}, {count, shape.h, shape.w}}, rounds ? 1e-5 : 0,
                            {}, 1.25F * static_cast<float>(shape.c));
            }
        }
    }
}

TEST_CASE("changes come in their order, and those of no channel are passed over") {
    const auto scattered = [](ScatterKind kind, std::vector<float> const& places, std::vector<float> const& changes) {
        const int count = static_cast<int>(places.size());
        laws::Image data({3, 1, 1}), at({1, count, 1}), by({count, 1, 1});
        data.data = {1, 2, 3};
        std::ranges::copy(places, at.data.begin());
        std::ranges::copy(changes, by.data.begin());
        ps::Sequential sequential;
        return laws::run<ps::chw>(ScatterParams{kind}, {{data}, {at}, {by}}, {}, sequential);
    };
    constexpr float infinity = std::numeric_limits<float>::infinity();
    const std::vector<float> places{1, 3, -1, std::nanf(""), infinity, -infinity, 1, 0, 1e30F};
    const std::vector<float> changes{5, 6, 7, 8, 9, 10, 4, -2, 12};
    CHECK(scattered(ScatterKind::replace, places, changes) == std::vector<float>{-2, 4, 3});
    CHECK(scattered(ScatterKind::add, places, changes) == std::vector<float>{-1, 11, 3});
    CHECK(scattered(ScatterKind::multiply, places, changes) == std::vector<float>{-2, 40, 3});
    CHECK(scattered(ScatterKind::maximum, places, changes) == std::vector<float>{1, 5, 3});
    CHECK(scattered(ScatterKind::minimum, places, changes) == std::vector<float>{-2, 2, 3});
    CHECK(std::isnan(scattered(ScatterKind::maximum, {1, 1}, {std::nanf(""), 5})[1]));
    CHECK(std::isnan(scattered(ScatterKind::minimum, {1, 1}, {std::nanf(""), 1})[1]));
}

}  // namespace scatter_tests
