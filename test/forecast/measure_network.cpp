// A measurement in a process of its own holds what was forecast; what would not fit is not tried, and what fails there
// fails there alone.
#include <doctest/doctest.h>
#include <primsel/forecast/detail/child_process.hpp>
#include <primsel/forecast/features.hpp>
#include <primsel/forecast/measure_network.hpp>
#include <primsel/network/zoo.hpp>

#include <cmath>
#include <csignal>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

namespace forecast_profile {
namespace {

namespace ps = primsel;
using namespace ps::layer;  // NOLINT(google-build-using-namespace): layers, as networks are written
using Outcome = ps::forecast::NetworkMeasurement::Outcome;

struct Net
    : ps::Network<Input<3, 16, 16>, Conv<40, 3, Pad<1>>, BatchNorm, Relu, Residual<Conv<40, 3>, Relu, Conv<40, 3>>,
                  Relu, Conv<60, 3>, Relu, Conv<80, 3>, Relu, GlobalAvgPool, Dense<5>> {};

TEST_CASE("a measurement tells what a process of its own held, which was forecast") {
    for (const bool training : {false, true}) {
        const ps::forecast::NetworkMeasurement of =
            ps::forecast::measure_network(Net::graph(2), {.training = training, .runs = 2});
        REQUIRE(of.outcome == Outcome::measured);
        CHECK(of.seconds > 0);
        CHECK(of.predicted_seconds > 0);
        const double off = static_cast<double>(of.forecast_bytes) - static_cast<double>(of.held_bytes);
        CHECK(std::abs(off) <= 0.01 * static_cast<double>(of.held_bytes) + 256);
        CHECK(of.resident_bytes > of.held_bytes / 2);
    }
    CHECK_THROWS_AS((void)ps::forecast::measure_network(Net::graph(), {.runs = 0}), ps::error);
}

TEST_CASE("what would not fit is recorded and not tried") {
    const ps::forecast::NetworkMeasurement of = ps::forecast::measure_network(Net::graph(2), {.max_bytes = 1000});
    CHECK(of.outcome == Outcome::too_large);
    CHECK(of.forecast_bytes > 1000);
    CHECK(of.held_bytes == 0);
    CHECK(of.seconds == 0);
}

TEST_CASE("what fails in a process of its own fails there alone") {
    CHECK(ps::forecast::detail::in_child([] { return 7; }, 1U << 30U) == 7);
    CHECK(!ps::forecast::detail::in_child([]() -> int { throw std::runtime_error("no"); }, 1U << 30U));
    CHECK(!ps::forecast::detail::in_child([]() -> int { ::_exit(0); }, 1U << 30U));
    CHECK(!ps::forecast::detail::in_child(
        []() -> int {
            ::raise(SIGKILL);
            return 1;
        },
        1U << 30U));
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // which have address spaces of their own
    const auto asks = [](std::size_t bytes) { return [bytes] { return std::vector<char>(bytes, 'x')[bytes / 2]; }; };
    CHECK(ps::forecast::detail::in_child(asks(std::size_t{64} << 20U), std::size_t{128} << 20U) == 'x');
    if (ps::forecast::detail::address_bytes() > 0)
        CHECK(!ps::forecast::detail::in_child(asks(std::size_t{512} << 20U), std::size_t{128} << 20U));
#endif
}

}  // namespace
}  // namespace forecast_profile
