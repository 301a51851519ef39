// Influences are found: a parameter that decides, one that does nothing, one that falls.
#include <primsel/search/influence.hpp>
#include <primsel/search/random_search.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace influence {
namespace {

namespace ps = primsel;

TEST_CASE("rank correlation is 1 for any rising curve, -1 for a falling one, and 0 for neither") {
    const std::vector<double> x{1, 2, 3, 4, 5}, rising{-9, 0, 1, 50, 1e6}, falling{3, 2, 1, 0, -7}, bump{1, 2, 3, 2, 1};
    CHECK(ps::search::rank_correlation(x, rising) == doctest::Approx(1));
    CHECK(ps::search::rank_correlation(x, falling) == doctest::Approx(-1));
    CHECK(ps::search::rank_correlation(x, bump) == doctest::Approx(0));
    CHECK(std::isnan(ps::search::rank_correlation(x, std::vector<double>(5, 1.0))));
}

TEST_CASE("importance goes to what decides, whether it has an order or not") {
    const ps::search::Space space(
        {ps::search::Parameter::real("falls", 0, 1), ps::search::Parameter::real("idle", 0, 1),
         ps::search::Parameter::values("kind", {"a", "b", "c"}), ps::search::Parameter::constant("one", 1)});
    ps::search::RandomSearch random(space, 1);
    std::vector<ps::search::SearchPoint> points;
    std::vector<double> metric;
    for (int i = 0; i < 120; ++i) {
        points.push_back(random.ask().value());
        const bool is_b = points.back().values[2] == ps::search::Value("b");
        metric.push_back(i % 10 == 0 ? std::nan("")
                                     : (is_b ? 2.0 : 0.0) - ps::search::number_of(points.back().values[0]));
    }
    const std::vector<ps::search::Influence> found = ps::search::influences(space, points, metric);
    REQUIRE(found.size() == 4);
    CHECK(found[2].importance > found[0].importance);
    CHECK(found[0].importance > 3 * found[1].importance);
    CHECK(found[3].importance == 0);
    CHECK(found[0].correlation < -0.2);
    CHECK(std::abs(found[1].correlation) < 0.25);
    CHECK(std::isnan(found[2].correlation));
    double sum = 0;
    for (ps::search::Influence const& each : found) sum += each.importance;
    CHECK(sum == doctest::Approx(1));
    CHECK(ps::search::influences(space, {}, {}).size() == 4);
}

TEST_CASE("two parameters that only act together rank above those that do nothing") {
    // An exclusive or: alone, neither says anything of the metric.
    for (const bool texts : {false, true}) {
        const auto parameter = [&](const char* name) {
            return texts ? ps::search::Parameter::values(name, {"off", "on"}) : ps::search::Parameter::real(name, 0, 1);
        };
        const ps::search::Space space({parameter("a"), parameter("b"), ps::search::Parameter::real("noise", 0, 1),
                                       ps::search::Parameter::values("idle", {"x", "y", "z"})});
        for (std::uint64_t seed = 1; seed <= 10; ++seed) {
            ps::search::RandomSearch random(space, seed);
            std::vector<ps::search::SearchPoint> points;
            std::vector<double> metric;
            for (int i = 0; i < 60; ++i) {
                points.push_back(random.ask().value());
                const std::vector<double> shares = space.shares_of(points.back());
                metric.push_back((shares[0] < 0.5) != (shares[1] < 0.5) ? 1 : 0);
            }
            const std::vector<ps::search::Influence> found = ps::search::influences(space, points, metric, seed);
            CAPTURE(texts);
            CAPTURE(seed);
            const double idle = std::max(found[2].importance, found[3].importance);
            CHECK(found[0].importance > 2 * idle);
            CHECK(found[1].importance > 2 * idle);
        }
    }
}

}  // namespace
}  // namespace influence
