// Sensitivity: every layer at every sparsity, once; layers that bear it alike are put together.
#include "thinned.hpp"

#include <doctest/doctest.h>
#include <primsel/io/file.hpp>
#include <primsel/layer/compose.hpp>
#include <primsel/prune/prune_to.hpp>
#include <primsel/prune/sensitivity.hpp>
#include <primsel/prune/sensitivity_file.hpp>
#include <primsel/show/sensitivity_charts.hpp>

#include <cstddef>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

namespace sensitivity {
namespace {

namespace ps = primsel;
using namespace ps::layer;  // NOLINT(google-build-using-namespace): layers, as networks are written
using namespace thinned;    // NOLINT(google-build-using-namespace)

ps::Graph network(int batch = 1) {
    struct Net : ps::Network<Input<2, 6, 6>, Named<"a", Conv<8, 3>>, Relu, Named<"b", Conv<10, 3>>, Relu, GlobalAvgPool,
                             Named<"c", Dense<3>>> {};
    return Net::graph(batch);
}

struct Study {
    ps::Graph graph = network();
    ps::Weights weights = ps::random_weights(graph, 7);
    ps::prune::Coupling coupling{graph};
    std::vector<ps::prune::Ranking> rankings = ps::prune::rank_filters(graph, weights, coupling, ps::prune::L1Norm{});
    std::vector<double> sparsities{0.25, 0.5};
    double accuracy = 0.9;
    int judged = 0;
    std::vector<ps::prune::SensitivityPoint> kept;

    std::vector<ps::prune::SensitivityPoint> run(std::vector<ps::prune::SensitivityPoint> const& known = {}) {
        const auto judge = [this](ps::Graph const& thin, ps::Weights const& its) {
            ps::check_weights(thin, its);
            ++judged;
            return accuracy - 0.01 * (8 - thin[thin.find("a")].shape.c) - 0.05 * (10 - thin[thin.find("b")].shape.c);
        };
        const auto predict = [](ps::Graph const& thin) { return ps::multiply_adds(thin) * 1e-9; };
        return ps::prune::sensitivity(graph, weights, {coupling, rankings}, {.sparsities = sparsities, .known = known},
                                      judge, predict,
                                      [this](ps::prune::SensitivityPoint const& point) { kept.push_back(point); });
    }
};

TEST_CASE("every layer at every sparsity, and nothing twice") {
    Study study;
    const auto points = study.run();
    REQUIRE(points.size() == 5);
    CHECK(points == study.kept);
    CHECK(points[0].layer.empty());
    CHECK(points[0].accuracy == 0.9);
    CHECK(points[1] == ps::prune::SensitivityPoint{"a", 0.25, 8, 6, 0.9 - 0.02, points[1].seconds});
    CHECK(points[4].layer == "b");
    CHECK(points[4].left == 5);
    CHECK(points[4].accuracy == doctest::Approx(0.65));
    CHECK(points[4].seconds < points[3].seconds);
    CHECK(points[3].seconds < points[0].seconds);

    Study rest;
    CHECK(rest.run({points.begin(), points.begin() + 3}) == points);
    CHECK(rest.judged == 3);  // the whole network, always
    CHECK(rest.kept.size() == 2);
    Study other;
    other.accuracy = 0.8;
    CHECK_THROWS_WITH_AS((void)other.run(points), doctest::Contains("other weights or images"), ps::error);
}

TEST_CASE("layers that bear pruning alike are put together, the least sensitive first") {
    std::vector<ps::prune::SensitivityPoint> points{{.accuracy = 0.9}};
    const auto add = [&](const char* layer, double half, double most) {
        points.push_back({.layer = layer, .sparsity = 0.5, .channels = 8, .left = 4, .accuracy = half});
        points.push_back({.layer = layer, .sparsity = 0.9, .channels = 8, .left = 1, .accuracy = most});
    };
    add("a", 0.5, 0.1), add("b", 0.89, 0.8), add("c", 0.52, 0.12), add("d", 0.88, 0.79), add("e", 0.7, 0.5);
    using Groups = std::vector<std::vector<std::string>>;
    CHECK(ps::prune::similar_groups(points) == Groups{{"b", "d"}, {"e"}, {"a", "c"}});
    CHECK(ps::prune::similar_groups(points, 1).size() == 1);
    CHECK(ps::prune::similar_groups(points, 0).size() == 5);
    CHECK_THROWS_WITH_AS((void)ps::prune::similar_groups({}), doctest::Contains("nothing is known"), ps::error);
    const auto charts = ps::show::sensitivity_charts(points);
    REQUIRE(charts.size() == 2);
    REQUIRE(charts[0].series.size() == 5);
    CHECK(charts[0].series[1].x == std::vector<double>{0, 0.5, 0.875});
    CHECK(charts[0].series[1].y == std::vector<double>{0.9, 0.89, 0.8});
}

TEST_CASE("a file of points that grows, and belongs to one network") {
    const std::string path = "sensitivity_test.csv";
    std::remove(path.c_str());
    const std::map<std::string, std::string> about{{"criterion", "l1"}, {"network", "1"}};
    Study study;
    const auto points = study.run();
    {
        ps::prune::SensitivityFile file(path, about);
        for (ps::prune::SensitivityPoint const& point : points) file.append(point);
        CHECK_THROWS_WITH_AS(file.append({.layer = "a,b"}), doctest::Contains("would not read back"), ps::error);
    }
    CHECK(ps::prune::SensitivityFile(path, about).rows() == points);
    const ps::SharedBytes bytes_of_file = ps::read_file(path);
    const std::string whole(bytes_of_file.text());
    for (std::size_t bytes = 0; bytes <= whole.size(); ++bytes) {  // killed while it was written
        ps::write_file(path, whole.substr(0, bytes));
        ps::prune::SensitivityFile file(path, about);
        for (std::size_t i = file.rows().size(); i < points.size(); ++i) file.append(points[i]);
        REQUIRE(file.rows() == points);
    }
    const ps::SharedBytes again = ps::read_file(path);
    CHECK(again.text() == whole);
    CHECK_THROWS_WITH_AS(ps::prune::SensitivityFile(path, {{"criterion", "l2"}, {"network", "1"}}),
                         "sensitivity_test.csv: cannot append to it: its criterion is l1, here l2", ps::error);
    for (const char* line : {"a,0.5,8,4,0.9\n", "a,0.5,8,-4,0.9,1\n", "a,nan,8,4,0.9,1\n", "a,0.5,8,4,0.9,1,2\n"}) {
        std::map<std::string, std::string> found;
        CHECK_THROWS_WITH_AS((void)ps::prune::parse_sensitivity("s.csv", whole + line, found),
                             doctest::Contains("s.csv:9: is no line"), ps::error);
    }
    std::map<std::string, std::string> found;
    CHECK_THROWS_WITH_AS((void)ps::prune::parse_sensitivity("s.csv", "a,b\n", found),
                         doctest::Contains("expected the columns"), ps::error);
    std::remove(path.c_str());
}

}  // namespace
}  // namespace sensitivity
