#include <primsel/core/timer.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <thread>

namespace {

TEST_CASE("a timer counts seconds from its start or restart") {
    const primsel::Timer total;
    primsel::Timer timer;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    const double slept = timer.seconds();
    CHECK(slept >= 0.02);
    CHECK(timer.seconds() >= slept);
    timer.restart();
    const double since_restart = timer.seconds();
    CHECK(since_restart >= 0);
    CHECK(since_restart <= total.seconds() - 0.02);
}

}  // namespace
