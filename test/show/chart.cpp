// Charts: well-formed whatever the values, and points where the axes say they are.
#include <primsel/show/chart.hpp>

#include "../xml_fault.hpp"
#include "count.hpp"

#include <doctest/doctest.h>
#include <primsel/core/error.hpp>

#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace charts {
namespace {

namespace ps = primsel;

std::string svg_of(std::vector<double> x, std::vector<double> y) {
    const std::vector<ps::show::Chart> charts{{"title", "x", {{"one", std::move(x), std::move(y)}}}};
    return ps::show::to_svg(charts);
}

TEST_CASE("an axis goes from round number to round number around all values, with a handful of ticks") {
    std::mt19937 bits(3);
    std::uniform_real_distribution<double> powers(-30, 30), numbers(-1, 1);
    for (int i = 0; i < 2000; ++i) {
        const double size = std::pow(10.0, powers(bits)), shift = i % 3 == 0 ? 0 : numbers(bits) * size;
        std::vector<double> values;
        for (int k = 0; k < 1 + i % 5; ++k) values.push_back(shift + numbers(bits) * size);
        const ps::show::detail::Scale scale(values);
        const std::vector<double> ticks = scale.ticks();
        CAPTURE(values);
        CHECK(ticks.size() >= 2);
        CHECK(ticks.size() <= 11);
        CHECK(scale.share(ticks.front()) == doctest::Approx(0).epsilon(1e-6));
        CHECK(scale.share(ticks.back()) == doctest::Approx(1).epsilon(1e-6));
        for (const double value : values) {
            CHECK(scale.share(value) >= -1e-6);
            CHECK(scale.share(value) <= 1 + 1e-6);
        }
        for (std::size_t k = 1; k < ticks.size(); ++k) CHECK(scale.text(ticks[k]) != scale.text(ticks[k - 1]));
    }
    CHECK(ps::show::detail::Scale({}).ticks().size() > 1);
    for (const double most : {std::numeric_limits<double>::max(), std::numeric_limits<double>::denorm_min()}) {
        const std::vector<double> values{-most, most};
        CHECK(ps::show::detail::Scale(values).ticks().size() <= 11);
    }
    const std::vector<double> shares{0.912, 0.935};
    CHECK(ps::show::detail::Scale(shares).text(0.915) == "0.915");
}

TEST_CASE("a chart is well-formed SVG with a point for each finite pair") {
    const double nan = std::nan(""), infinity = std::numeric_limits<double>::infinity();
    const std::string svg = svg_of({1, 2, 3, 4, 5}, {0.5, nan, 0.25, infinity, 0.75});
    CHECK(xml_fault(svg).empty());
    CHECK(texts::count(svg, "<circle ") == 3);
    CHECK(texts::count(svg, "<title>one: 3, 0.25</title>") == 1);
    CHECK(texts::count(svg, "nan") + texts::count(svg, "inf") == 0);
    for (auto const& [x, y] :
         {std::pair(std::vector<double>{}, std::vector<double>{}), std::pair(std::vector{1.0}, std::vector{1.0}),
          std::pair(std::vector{nan}, std::vector{nan})}) {
        CHECK(xml_fault(svg_of(x, y)).empty());
    }
    CHECK(xml_fault(ps::show::to_svg(std::vector<ps::show::Chart>{{"<a> & b", "", {{"\"'\x01", {1}, {2}, false}}}, {}}))
              .empty());
}

TEST_CASE("a series whose x and y are not as many is refused by its name") {
    CHECK_THROWS_WITH_AS((void)svg_of({1, 2}, {1}), "chart: series 'one' has 2 x and 1 y", ps::error);
}

}  // namespace
}  // namespace charts
