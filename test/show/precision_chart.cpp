#include <primsel/show/precision_chart.hpp>

#include <doctest/doctest.h>

#include <array>
#include <string>
#include <vector>

namespace ps = primsel;

namespace precision_chart_tests {

TEST_CASE("precision chart: milliseconds over per cent") {
    std::array<ps::PrecisionPlan, 2> curve;
    curve[0].plan.total_seconds = 0.02;
    curve[1].plan.total_seconds = 0.005, curve[1].squared_error = 4e-4;
    const ps::show::Chart chart = ps::show::precision_chart(curve);
    REQUIRE(chart.series.size() == 1);
    CHECK(chart.series[0].x == std::vector<double>{0, 2});
    CHECK(chart.series[0].y == std::vector<double>{20, 5});
    CHECK(ps::show::to_svg(std::span(&chart, 1)).find("predicted: 2, 5") != std::string::npos);
}

}  // namespace precision_chart_tests
