#include <primsel/core/statistics.hpp>

#include <doctest/doctest.h>

namespace ps = primsel;

TEST_CASE("statistics: the median is one of the values, the upper one of two") {
    CHECK(ps::median({}) == 0);
    CHECK(ps::median({3}) == 3);
    CHECK(ps::median({4, 1}) == 4);
    CHECK(ps::median({5, 1, 2}) == 2);
    CHECK(ps::median({4, 1, 3, 2}) == 3);
}

TEST_CASE("statistics: quantiles lie between neighbours in proportion") {
    CHECK(ps::quantile({}, 0.5) == 0);
    CHECK(ps::quantile({3}, 0.9) == 3);
    CHECK(ps::quantile({4, 1}, 0.5) == 2.5);
    CHECK(ps::quantile({5, 1, 2}, 0) == 1);
    CHECK(ps::quantile({5, 1, 2}, 0.5) == 2);
    CHECK(ps::quantile({5, 1, 2}, 0.75) == 3.5);
    CHECK(ps::quantile({5, 1, 2}, 1) == 5);
}
