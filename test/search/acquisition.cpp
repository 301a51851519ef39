// Acquisition: never below 0, and what random draws say, up to their error.
#include <primsel/search/acquisition.hpp>

#include <doctest/doctest.h>
#include <primsel/search/detail/draw.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace acquisition {
namespace {

namespace ps = primsel;

double area_by_squares(std::vector<ps::search::Pair> const& points, ps::search::Pair reference,
                       ps::search::detail::Draw& draw) {
    const std::size_t count = 40'000;
    std::size_t inside = 0;
    for (std::size_t i = 0; i < count; ++i) {
        const double x = draw.uniform() * reference.first, y = draw.uniform() * reference.second;
        inside += std::ranges::any_of(points, [&](ps::search::Pair const& p) { return p.first <= x && p.second <= y; })
                      ? 1
                      : 0;
    }
    return static_cast<double>(inside) / static_cast<double>(count) * reference.first * reference.second;
}
std::vector<ps::search::Pair> some_points(std::size_t count, ps::search::detail::Draw& draw) {
    std::vector<ps::search::Pair> points;
    for (std::size_t i = 0; i < count; ++i) points.push_back({draw.uniform() * 1.2, draw.uniform() * 1.2});
    return points;
}

TEST_CASE("expected improvement is what draws say, and its logarithm goes on where it is 0") {
    ps::search::detail::Draw draw(1, 0);
    for (const double mean : {-2.0, 0.0, 0.7, 3.0}) {
        for (const double deviation : {0.0, 0.3, 2.0}) {
            const double exact = ps::search::expected_improvement(mean, deviation, 0.5);
            double sum = 0;
            for (int i = 0; i < 20'000; ++i) sum += std::max(0.5 - mean - deviation * draw.normal(), 0.0);
            CHECK(exact >= 0);
            CHECK(std::abs(exact - sum / 20'000) <= 0.03 * deviation);
        }
    }
    double before = 1e9;
    for (double bound = 5; bound > -60; bound -= 0.25) {
        const double now = ps::search::log_expected_improvement(0, 1, bound);
        CHECK(now < before);
        if (bound > -8) CHECK(std::abs(std::exp(now) - ps::search::expected_improvement(0, 1, bound)) < 1e-9);
        before = now;
    }
    // Where one formula takes over from the other they agree.
    CHECK(std::abs(ps::search::log_expected_improvement(0, 1, -20.000001) -
                   ps::search::log_expected_improvement(0, 1, -19.999999)) < 1e-3);
    CHECK(std::abs(ps::search::log_probability_of_feasible(20.000001, 1) -
                   ps::search::log_probability_of_feasible(19.999999, 1)) < 1e-2);
}

TEST_CASE("the hypervolume of a front is the area that counting finds") {
    ps::search::detail::Draw draw(2, 0);
    for (const std::size_t count : {0U, 1U, 2U, 7U, 30U}) {
        const std::vector<ps::search::Pair> points = some_points(count, draw), front = ps::search::front_of(points);
        CHECK(std::abs(ps::search::hypervolume(front, {1, 1}) - area_by_squares(points, {1, 1}, draw)) < 0.01);
        for (ps::search::Pair const& a : front) {
            for (ps::search::Pair const& b : points) CHECK_FALSE((b.first < a.first && b.second < a.second));
        }
    }
}

TEST_CASE("the expected improvement of a hypervolume is what draws say, whatever is known") {
    ps::search::detail::Draw draw(3, 0);
    for (const std::size_t count : {0U, 1U, 3U, 12U}) {
        const std::vector<ps::search::Pair> front = ps::search::front_of(some_points(count, draw));
        const double before = ps::search::hypervolume(front, {1, 1});
        for (ps::search::Pair const deviation :
             {ps::search::Pair{0.2, 0.3}, ps::search::Pair{0, 0.3}, ps::search::Pair{0.2, 0}, ps::search::Pair{0, 0}}) {
            const ps::search::Pair mean{draw.uniform(), draw.uniform()};
            double sum = 0;
            for (int i = 0; i < 8'000; ++i) {
                std::vector<ps::search::Pair> more = front;
                more.push_back(
                    {mean.first + deviation.first * draw.normal(), mean.second + deviation.second * draw.normal()});
                sum += ps::search::hypervolume(ps::search::front_of(more), {1, 1}) - before;
            }
            const double exact = ps::search::expected_hypervolume_improvement(front, {1, 1}, mean, deviation);
            CHECK(exact >= 0);
            CHECK(std::abs(exact - sum / 8'000) <= 0.012);
        }
    }
}

}  // namespace
}  // namespace acquisition
