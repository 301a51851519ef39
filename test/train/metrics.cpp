#include <primsel/train/metrics.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "values.hpp"

namespace ps = primsel;

TEST_CASE("metrics worked by hand") {
    ps::Metrics metrics(3);
    CHECK(metrics.accuracy() == 0);
    CHECK(metrics.loss() == 0);
    CHECK(metrics.class_accuracy(1) == 0);
    metrics.add(std::vector<float>{0, 5, 1, 9, 5, 1, 2, 2, 1}, std::vector<float>{1, 1, 0}, 2.0);
    metrics.add(std::vector<float>{2, 2, 1, 0, 0, 0}, std::vector<float>{1, -1}, 6.0);
    CHECK(metrics.samples() == 4);
    CHECK(metrics.accuracy() == 0.5);  // of equal results the first counts
    CHECK(metrics.top5_accuracy() == 1);
    CHECK(metrics.count(1, 1) == 1);
    CHECK(metrics.count(1, 0) == 2);
    CHECK(metrics.count(0, 0) == 1);
    CHECK(metrics.class_accuracy(1) == doctest::Approx(1.0 / 3));
    CHECK(metrics.loss() == 3.0);
    CHECK(values::error_of([] { (void)ps::Metrics(0); }) == "metrics: there cannot be 0 classes");
}

TEST_CASE("the five largest are those that sorting says") {
    ps::Metrics metrics(20);
    int first = 0, five = 0;
    for (std::uint64_t i = 0; i < 300; ++i) {
        const std::vector<float> result = values::drawn(20, i);
        const std::vector<float> target{static_cast<float>(i % 20)};
        metrics.add(result, target);
        int larger = 0;
        for (const float value : result) larger += value > result[i % 20] ? 1 : 0;
        first += larger < 1 ? 1 : 0;
        five += larger < 5 ? 1 : 0;
    }
    CHECK(metrics.accuracy() == doctest::Approx(first / 300.0).epsilon(0.02));
    CHECK(metrics.top5_accuracy() == doctest::Approx(five / 300.0).epsilon(0.02));
}

TEST_CASE("a network whose results are not numbers is wrong") {
    ps::Metrics metrics(6);
    metrics.add(std::vector<float>(6, NAN), std::vector<float>{0});
    CHECK(metrics.samples() == 1);
    CHECK(metrics.accuracy() == 0);
    CHECK(metrics.top5_accuracy() == 0);
}
