// Successive halving: the best go on, whatever the order; what is not finite never does.
#include <primsel/search/halving.hpp>

#include "../error_of.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>

namespace halving {
namespace {

namespace ps = primsel;
using tests::error_of;

TEST_CASE("of trials that come one after another about one in three goes on from each rung, and always the best") {
    ps::search::SuccessiveHalving halving({.least_steps = 2, .factor = 3});
    double best = 1e9;
    std::size_t went_on = 0;
    unsigned drawn = 1;
    for (std::size_t trial = 0; trial < 300; ++trial) {
        drawn = drawn * 1664525U + 1013904223U;
        const double loss = drawn / 4294967296.0;
        const bool goes_on = halving.goes_on(trial, 2, loss);
        if (loss < best) CHECK(goes_on);
        best = std::min(best, loss);
        went_on += goes_on ? 1 : 0;
        CHECK(halving.goes_on(trial, 2, loss) == goes_on);
        CHECK(halving.goes_on(trial, 3, 1e30));
        CHECK_FALSE(halving.goes_on(trial, 3, std::nan("")));
    }
    CHECK(went_on > 80);
    CHECK(went_on < 125);
}

TEST_CASE("strict or not, a rung judges at its own step; the worse of two stops only if it is strict") {
    for (const bool strict : {false, true}) {
        ps::search::SuccessiveHalving halving({.least_steps = 3, .factor = 3, .strict = strict});
        CHECK(halving.goes_on(0, 2, 9.0));
        CHECK(halving.goes_on(0, 3, 1.0));
        CHECK(std::isfinite(halving.limit(3)) == strict);
        CHECK(halving.goes_on(1, 3, 2.0) != strict);
        CHECK_FALSE(halving.goes_on(2, 3, 3.0));
        CHECK(halving.goes_on(3, 3, 0.5));
    }
}

TEST_CASE("rungs lie at powers of the factor") {
    const ps::search::SuccessiveHalving halving({.least_steps = 2, .factor = 3});
    for (std::size_t steps = 0; steps < 60; ++steps) {
        CHECK(halving.is_rung(steps) == (steps == 2 || steps == 6 || steps == 18 || steps == 54));
    }
    CHECK_FALSE(halving.is_rung(static_cast<std::size_t>(-1)));
    CHECK(error_of([] { (void)ps::search::SuccessiveHalving({.factor = 1}); }) ==
          "successive halving: a factor of 1 stops nothing");
    CHECK(error_of([] { (void)ps::search::SuccessiveHalving({.least_steps = 0}); }) ==
          "successive halving: judges after at least one step");
}

}  // namespace
}  // namespace halving
