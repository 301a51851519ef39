// Works of layers, counted by hand, and which networks are a family.
#include <primsel/forecast/layer_work.hpp>
#include <primsel/forecast/thinned.hpp>
#include <primsel/network/zoo.hpp>

#include <doctest/doctest.h>

#include <vector>

namespace forecast_layer_work {
namespace {

namespace ps = primsel;
using Kind = ps::forecast::LayerWork::Kind;

TEST_CASE("works of convolution, batch norm, activation and pooling, by hand") {
    ps::Graph graph(5);
    const auto image = graph.add("image", ps::InputParams{{3, 8, 8}}, {});
    const auto conv = graph.add("conv", ps::ConvParams{.k = 4, .kernel = {3}, .padding = {1}, .bias = false}, {image});
    const auto norm = graph.add("norm", ps::BatchNormParams{}, {conv});
    const auto clip = graph.add("clip", ps::ActivationParams{ps::ActivationKind::relu6}, {norm});
    (void)graph.add("pool", ps::PoolParams{}, {clip});
    const std::vector<ps::forecast::LayerWork> works = ps::forecast::layer_works(graph);
    REQUIRE(works.size() == 4);
    CHECK(works[0].kind == Kind::convolution);
    CHECK(works[0].multiply_adds == 4 * 8 * 8 * 3 * 9);
    CHECK(works[0].weights == 4 * 3 * 9);
    CHECK(works[0].kept == 0);  // the image is there anyway
    CHECK(works[1].kind == Kind::normalization);
    CHECK(works[1].weights == 2 * 4);  // running statistics are not trained
    CHECK(works[1].kept == 4 * 4 * 8 * 8);
    CHECK(works[1].plane == 64);
    CHECK(works[2].in_place);
    CHECK(works[2].kept == 4 * 4 * 8 * 8);
    CHECK(works[2].copied == 4 * 4 * 8 * 8);
    CHECK(works[3].multiply_adds == 4 * 4 * 4 * 4);  // windows of 2x2
    CHECK(works[3].kept == (4 + 8) * 4 * 4 * 4);     // its result and 8-byte indices; its input is kept already
}

TEST_CASE("a residual is counted as alive beside its block") {
    ps::Graph graph;
    const auto image = graph.add("image", ps::InputParams{{2, 4, 4}}, {});
    const auto first = graph.add("first", ps::ConvParams{.k = 2}, {image});
    const auto second = graph.add("second", ps::ConvParams{.k = 2}, {first});
    const auto third = graph.add("third", ps::ConvParams{.k = 2}, {second});
    (void)graph.add("sum", ps::AddParams{}, {third, first});
    const std::vector<ps::forecast::LayerWork> works = ps::forecast::layer_works(graph);
    REQUIRE(works.size() == 4);
    CHECK(works[1].live == 0);
    CHECK(works[2].live == 2 * 4 * 4);
    CHECK(works[3].live == 0);
}

TEST_CASE("thinned networks are of the family of the whole one, others are not") {
    const ps::Graph whole = ps::zoo::MobileNetV2::graph();
    const auto family = [](ps::Graph const& graph) {
        return ps::forecast::family_of(ps::forecast::layer_works(graph));
    };
    CHECK(family(ps::forecast::thinned(whole, {.level = 0.5})) == family(whole));
    CHECK(family(ps::zoo::ResNet18::graph()) != family(whole));
    CHECK(family(ps::zoo::ResNet18::graph()) != family(ps::zoo::ResNet34::graph()));
}

TEST_CASE("of convolutions alone, batch norms and pooling are inferred") {
    using ps::forecast::ConvSizes;
    const std::vector<ConvSizes> convs{{4, 3, 3, 3, 1, 8, 8, 8, 8}, {4, 4, 1, 1, 1, 4, 4, 4, 4}};
    std::vector<Kind> with, without;
    for (auto const& work : ps::forecast::layer_works(convs)) with.push_back(work.kind);
    for (auto const& work : ps::forecast::layer_works(convs, false)) without.push_back(work.kind);
    CHECK(with == std::vector{Kind::convolution, Kind::normalization, Kind::activation, Kind::pool, Kind::convolution,
                              Kind::normalization, Kind::activation});
    CHECK(without == std::vector{Kind::convolution, Kind::activation, Kind::pool, Kind::convolution, Kind::activation});
}

}  // namespace
}  // namespace forecast_layer_work
