#include <primsel/show/svg.hpp>

#include "../plan/fakes.hpp"
#include "../plan/random_graphs.hpp"
#include "../xml_fault.hpp"
#include "count.hpp"

#include <doctest/doctest.h>
#include <primsel/network/simplify.hpp>
#include <primsel/network/zoo/googlenet.hpp>
#include <primsel/network/zoo/resnet.hpp>
#include <primsel/pbqp/exact.hpp>
#include <primsel/pbqp/greedy.hpp>

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace show_svg {

namespace ps = primsel;

namespace {

const ps::Kernels kernels = ps::make_kernels<ps::AllPrimitives, ps::default_arch, ps::AllLayouts>();

template <class Solver = ps::ExactPbqp>
ps::Plan plan_of(ps::Graph const& graph, unsigned seed = 1) {
    fakes::HashedCosts costs(seed, 0.5);
    return ps::make_plan(graph, kernels, costs, Solver{});
}

}  // namespace

TEST_CASE("the checker of XML rejects what is none") {
    CHECK(xml_fault("<a b=\"1\"><c/>&lt;</a>\n").empty());
    for (const char* wrong : {"", "a", "<a>", "<a></b>", "<a/><b/>", "<a>&</a>", "<a>&x;</a>", "<a b=1/>",
                              "<a b=\"<\"/>", "<a b=\"1\" b=\"2\"/>", "<a>\x01</a>", "<a"}) {
        CHECK_FALSE(xml_fault(wrong).empty());
    }
}

TEST_CASE("the picture shows every layer, every change of layout and the total") {
    for (ps::Graph const& unsimplified : {ps::zoo::ResNet18::graph(), ps::zoo::GoogLeNet::graph(2)}) {
        const ps::Graph graph = ps::simplify(unsimplified);
        const ps::Plan plan = plan_of<ps::GreedyPbqp>(graph);
        REQUIRE(plan.transforms.size() > 2);
        const std::string svg = ps::show::to_svg(plan, graph);
        CHECK(xml_fault(svg).empty());
        CHECK(svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\" "));
        CHECK(svg.find("<script") == std::string::npos);
        CHECK(texts::count(svg, "http") == 1);  // refers to nothing but the namespace
        CHECK(texts::count(svg, "<g><title>") == graph.size());
        for (ps::PlannedLayer const& layer : plan.layers) {
            CAPTURE(layer.name);
            CHECK(texts::count(svg, "\" font-weight=\"bold\">" + layer.name + "</text>") == 1);
            CHECK(texts::count(svg, ps::show::xml_text(plan.explain(layer.name))) == 1);
            if (layer.seconds > 0) CHECK(svg.find(ps::milliseconds(layer.seconds) + " ms</text>") != svg.npos);
            if (!layer.primitive.empty()) CHECK(svg.find('>' + layer.primitive + "</text>") != std::string::npos);
        }
        for (ps::PlannedTransform const& transform : plan.transforms) {
            const std::string label = transform.from + " \xe2\x86\x92 " + transform.to + ", " +
                                      ps::milliseconds(transform.seconds) + " ms</text>";
            CHECK(svg.find(label) != std::string::npos);
        }
        CHECK(texts::count(svg, "rx=\"7.5\"") == plan.transforms.size() + texts::count(svg, ", shared</text>"));
        CHECK(svg.find(ps::milliseconds(plan.total_seconds) + " ms</text>") != std::string::npos);
    }
}

TEST_CASE("a copy that several read is marked once with its cost, and as shared for the others") {
    const std::vector<ps::PrimitiveEntry> pixels{fakes::primitive("pixels", fakes::hwc, fakes::hwc)};
    ps::Graph graph;
    graph.add("image", ps::InputParams{{4, 9, 9}}, {});
    graph.add("a", ps::ConvParams{.k = 2}, {0});
    graph.add("b", ps::ConvParams{.k = 2}, {0});
    graph.add("c", ps::ConvParams{.k = 2}, {0});
    graph.add("all", ps::ConcatParams{}, {1, 2, 3});
    graph.add("d", ps::ConvParams{.k = 2}, {4});
    fakes::HashedCosts costs(1, 1000);
    const std::string svg =
        ps::show::to_svg(ps::make_plan(graph, fakes::kernels(pixels), costs, ps::ExactPbqp{}), graph);
    CHECK(texts::count(svg, "chw \xe2\x86\x92 hwc, shared</text>") == 2);
    CHECK(texts::count(svg, "rx=\"7.5\"") == 4);  // those, the first, and the result's
}

TEST_CASE("names are escaped, and what is no text is replaced") {
    ps::Graph graph;
    graph.add("<script>&\"'", ps::InputParams{{1, 1, 1}}, {});
    graph.add(std::string("a\xff\x01") + "b", ps::ActivationParams{}, {0});
    graph.add(std::string(200, 'x') + "-end", ps::ActivationParams{ps::ActivationKind::sigmoid}, {1});
    const std::string svg = ps::show::to_svg(plan_of(graph), graph);
    CHECK(xml_fault(svg).empty());
    CHECK(svg.find(">&lt;script&gt;&amp;&quot;'</text>") != std::string::npos);
    CHECK(svg.find(">a\xef\xbf\xbd\xef\xbf\xbd"
                   "b</text>") != std::string::npos);
    CHECK(svg.find("xx\xe2\x80\xa6xx") != std::string::npos);
    CHECK(svg.find("x-end</text>") != std::string::npos);

    CHECK(ps::show::xml_text("\xc3\xa9\xe2\x86\x92\xf0\x9f\x8e\x89") == "\xc3\xa9\xe2\x86\x92\xf0\x9f\x8e\x89");
    // Overlong, a surrogate, beyond Unicode, cut off, a lone continuation, and a character that XML has not.
    for (const std::string bad : {"\xc0\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe2\x86", "\x80", "\xef\xbf\xbf"}) {
        CHECK(ps::show::xml_text(bad).find("\xef\xbf\xbd") == 0);
        CHECK(ps::show::xml_text(bad).find(bad) == std::string::npos);
    }
    CHECK(ps::show::detail::shortened("abcdefgh", 8) == "abcdefgh");
    CHECK(ps::show::detail::shortened("abcdefghi", 8) ==
          "abc\xe2\x80\xa6"
          "fghi");
    CHECK(ps::show::detail::character_count("\xc3\xa9\xff"
                                            "a") == 3);
}

TEST_CASE("a graph that is not the plan's is an error") {
    const ps::Graph graph = ps::zoo::ResNet18::graph(), simplified = ps::simplify(graph);
    const ps::Plan plan = plan_of(simplified);
    CHECK_THROWS_WITH_AS((void)ps::show::to_svg(plan, graph),
                         "plan: the picture needs the simplified graph that the plan was made for", ps::error);
    CHECK_THROWS_AS((void)ps::show::to_svg(plan, ps::simplify(ps::zoo::ResNet34::graph())), ps::error);
    CHECK_THROWS_AS((void)ps::show::to_svg({}, ps::Graph()), ps::error);
}

TEST_CASE("readers are below what they read, and nothing of a row overlaps") {
    constexpr double width = 100, lane = 10, gap = 18;
    for (unsigned seed = 0; seed < 100; ++seed) {
        CAPTURE(seed);
        random_graphs::Maker maker(seed);
        const ps::Graph graph = maker.make(30, 1, seed % 2 == 0);
        const ps::show::detail::Rows rows(graph, width, lane, gap);
        std::vector<std::vector<std::pair<double, double>>> taken(rows.count());  // from, to
        for (std::size_t i = 0; i < graph.size(); ++i) {
            std::size_t lowest = 0;
            for (const std::size_t input : graph[i].inputs) lowest = std::max(lowest, rows.row[input] + 1);
            CHECK(rows.row[i] == lowest);
            taken[rows.row[i]].emplace_back(rows.x[i] - width / 2, rows.x[i] + width / 2);
        }
        std::size_t edges = 0;
        for (ps::Node const& node : graph.nodes()) edges += node.inputs.size();
        CHECK(rows.routes.size() == edges);
        for (ps::show::detail::Route const& route : rows.routes) {
            CHECK(graph[route.reader].inputs[route.position] == route.writer);
            CHECK(route.x.size() == rows.row[route.reader] - rows.row[route.writer] - 1);
            for (std::size_t i = 0; i < route.x.size(); ++i) {
                taken[rows.row[route.writer] + 1 + i].emplace_back(route.x[i] - lane / 2, route.x[i] + lane / 2);
            }
        }
        for (auto& row : taken) {
            std::ranges::sort(row);
            for (std::size_t i = 1; i < row.size(); ++i) CHECK(row[i].first >= row[i - 1].second + gap - 1e-6);
        }
        CHECK(xml_fault(ps::show::to_svg(plan_of(graph, seed), graph)).empty());
    }
}

TEST_CASE("a chain runs straight down, and the branches of a module stand around it") {
    const ps::Graph resnet = ps::simplify(ps::zoo::ResNet18::graph());
    const ps::show::detail::Rows chain(resnet, 100, 10, 18);
    CHECK(chain.count() == resnet.size());
    for (const double x : chain.x) CHECK(x == doctest::Approx(chain.x[0]).epsilon(0.01).scale(100));
    const ps::Graph googlenet = ps::simplify(ps::zoo::GoogLeNet::graph());
    const ps::show::detail::Rows modules(googlenet, 100, 10, 18);
    const auto x = [&](const char* name) { return modules.x[googlenet.find(name)]; };
    const double branches[] = {x("inception3a.branch1"), x("inception3a.branch2.0"), x("inception3a.branch3.0"),
                               x("inception3a.branch4.max_pool1")};
    CHECK(std::ranges::is_sorted(branches));
    CHECK((branches[0] + branches[3]) / 2 == doctest::Approx(x("max_pool2")).epsilon(0.01).scale(100));
    CHECK(x("inception3a.concat") == doctest::Approx(x("max_pool2")).epsilon(0.01).scale(100));
    CHECK(x("inception3a.branch2.1") == doctest::Approx(branches[1]).epsilon(0.01).scale(100));
}

}  // namespace show_svg
