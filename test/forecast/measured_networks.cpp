// Tables that other programs made: rows are read as they were written, and what is no such table is refused with file
// and line.
#include <primsel/forecast/measured_networks.hpp>

#include <doctest/doctest.h>

#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "../error_of.hpp"

namespace forecast_measured_networks {
namespace {

namespace ps = primsel;
namespace fc = ps::forecast;
using tests::error_of;

template <class Format>
std::vector<typename Format::Row> parse(std::string const& rows) {
    std::map<std::string, std::string> about;
    return ps::parse_table<Format>("t.csv", ps::join(Format::columns, '\n', rows), about);
}

TEST_CASE("a plain table is read as it was written, unknown cells too") {
    const double none = std::numeric_limits<double>::quiet_NaN();
    std::string text;
    for (fc::MeasuredNetwork const& row :
         {fc::MeasuredNetwork{"nets/a.onnx", 2, 0.1, 123456789}, fc::MeasuredNetwork{"b.onnx", 256, 1.0 / 3, none},
          fc::MeasuredNetwork{"c.onnx", 1, none, 1e12}}) {
        text += fc::MeasuredNetworkFormat::line(row) + '\n';
    }
    const std::vector<fc::MeasuredNetwork> rows = parse<fc::MeasuredNetworkFormat>(text);
    REQUIRE(rows.size() == 3);
    CHECK(rows[1].network == "b.onnx");
    CHECK(rows[1].batch == 256);
    CHECK(rows[1].seconds == 1.0 / 3);
    CHECK(ps::is_nan(rows[1].bytes));
    CHECK(ps::is_nan(rows[2].seconds));
    std::string again;
    for (fc::MeasuredNetwork const& row : rows) again += fc::MeasuredNetworkFormat::line(row) + '\n';
    CHECK(again == text);
}

TEST_CASE("rows that are none are refused with file and line") {
    for (const char* bad : {"a.onnx,0,1,1", "a.onnx,x,1,1", ",1,1,1", "a.onnx,1,-1,1", "a.onnx,1,0,1", "a.onnx,1,nan,1",
                            "a.onnx,1,1", "a.onnx,1,1,1,1", "a.onnx,1,inf,1"}) {
        CAPTURE(bad);
        const std::string fault =
            error_of([&] { (void)parse<fc::MeasuredNetworkFormat>(ps::join("a.onnx,1,1,1\n", bad, '\n')); });
        CHECK_MESSAGE(fault.starts_with("t.csv:3: "), fault);
    }
    for (const char* bad : {"n,0,0,8,3,3,3,1,1,1,2,8,8", "n,0,0,8,0,3,3,1,1,1,1,8,8",
                            "n,0,0,8,3,40000000,3,1,1,1,1,8,8", "n,0,0,8,3,3,3,1,1,1,1,8"}) {
        CHECK(error_of([&] { (void)parse<fc::LevelConvFormat>(ps::join(bad, '\n')); }).starts_with("t.csv:2: "));
    }
}

TEST_CASE("the rows of a network's convolutions may come in any order") {
    const auto family = [](const char* rows) {
        const std::string layers = ps::join(fc::LevelConvFormat::columns, rows),
                          times = ps::join(fc::MeasuredLevelFormat::columns, "\nresnet,0,2,1,1\n");
        return fc::family_of(fc::join_levels("l.csv", layers, "t.csv", times)[0].profile.load.layers);
    };
    CHECK(family("\nresnet,0,0,8,3,3,3,1,1,1,1,8,8\nresnet,0,1,8,8,5,5,1,2,2,1,8,8\n") ==
          family("\nresnet,0,1,8,8,5,5,1,2,2,1,8,8\nresnet,0,0,8,3,3,3,1,1,1,1,8,8\n"));
}

TEST_CASE("perf4sight's tables are joined by network and level") {
    const std::string layers = ps::join(fc::LevelConvFormat::columns,
                                        "\nresnet,0,0,8,3,3,3,1,1,1,1,8,8\nresnet,50,0,4,3,3,3,1,1,1,1,8,8\n"
                                        "squeezenet,0,0,8,3,3,3,1,1,1,1,8,8\n"),
                      times = ps::join(fc::MeasuredLevelFormat::columns,
                                       "\nresnet,0,2,1.5,100\nresnet,50,4,,90\nresnet,70,4,1,1\nsqueezenet,0,2,1,50\n");
    const std::vector<fc::ProfiledLevel> rows = fc::join_levels("l.csv", layers, "t.csv", times);
    REQUIRE(rows.size() == 3);
    CHECK(rows[0].profile.seconds == doctest::Approx(1.5e-3));
    CHECK(rows[0].profile.bytes == doctest::Approx(1e8));
    CHECK(ps::is_nan(rows[1].profile.seconds));
    CHECK(rows[1].profile.load.features(1) == 4 * 3 * 9);
    CHECK(rows[0].profile.load.layers.size() == 3);
    CHECK(rows[2].profile.load.layers.size() == 2);
    const std::string strangers = ps::join(fc::MeasuredLevelFormat::columns, "\nalexnet,0,2,1,1\n");
    CHECK(error_of([&] { (void)fc::join_levels("l.csv", layers, "t.csv", strangers); }).starts_with("t.csv: "));
    CHECK(error_of([&] { (void)fc::join_levels("l.csv", times, "t.csv", times); }).starts_with("l.csv:1: "));
}

}  // namespace
}  // namespace forecast_measured_networks
