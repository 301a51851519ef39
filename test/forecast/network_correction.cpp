// A correction learns what a family is off by, leaves other families nearly as they are, and never lets a forecast
// fall.
#include <primsel/forecast/network_correction.hpp>
#include <primsel/network/zoo.hpp>

#include <doctest/doctest.h>

#include <vector>

#include "noisy.hpp"

namespace forecast_network_correction {
namespace {

namespace ps = primsel;
namespace fc = ps::forecast;

TEST_CASE("a correction is of its family, and rises with the batch as its base does") {
    const ps::Graph known = ps::zoo::ResNet18::graph(), other = ps::zoo::SqueezeNet11::graph();
    std::vector<fc::NetworkLoad> loads;
    std::vector<double> base, values;
    tests::Noise off(0.02);
    for (const int batch : {2, 4, 8, 16, 32, 64}) {
        loads.push_back(fc::network_load(known, batch)), base.push_back(batch), values.push_back(1.4 * batch * off());
        loads.push_back(fc::network_load(other, batch)), base.push_back(batch), values.push_back(batch * off());
    }
    const auto correction = fc::NetworkCorrection::fit(loads, base, values);
    const auto at = [&](ps::Graph const& graph, int batch) {
        return correction(fc::network_load(graph, batch), [](double images) { return images; });
    };
    CHECK(at(known, 16).value == doctest::Approx(1.4 * 16).epsilon(0.05));
    CHECK(at(other, 16).value == doctest::Approx(16).epsilon(0.05));
    CHECK(at(ps::zoo::MobileNetV2::graph(), 16).value == doctest::Approx(16 * 1.2).epsilon(0.25));
    CHECK(at(ps::zoo::MobileNetV2::graph(), 16).deviation > at(known, 16).deviation);
    // Far beyond all samples it follows its base.
    CHECK(at(known, 6400).value == doctest::Approx(100 * at(known, 64).value));
    // A dip in the samples is levelled.
    values[4] *= 0.2;
    const auto dented = fc::NetworkCorrection::fit(loads, base, values);
    double before = 0;
    for (int batch = 1; batch < 100; ++batch) {
        const double value = dented(fc::network_load(known, batch), [](double images) { return images; }).value;
        CHECK(value >= before);
        before = value;
    }
}

TEST_CASE("all families that no sample is of are corrected alike") {
    const auto graph_of = [](int kernel, int layers) {
        ps::Graph graph;
        std::size_t last = graph.add("image", ps::InputParams{{4, 16, 16}}, {});
        for (int i = 0; i < layers; ++i)
            last = graph.add(ps::join("conv", i), ps::ConvParams{.k = 4, .kernel = {kernel}, .padding = {kernel / 2}},
                             {last});
        return graph;
    };
    std::vector<fc::NetworkLoad> loads;
    std::vector<double> base, values;
    for (const int layers : {1, 2, 3, 4}) {
        for (const int batch : {2, 8, 32}) {
            loads.push_back(fc::network_load(graph_of(3, layers), batch));
            base.push_back(batch), values.push_back(1.3 * batch);
        }
    }
    const auto correction = fc::NetworkCorrection::fit(loads, base, values);
    const auto at = [&](int kernel) {
        return correction(fc::network_load(graph_of(kernel, 2), 8), [](double images) { return images; }).value;
    };
    CHECK(at(5) > 8);
    for (const int kernel : {1, 7, 9, 11}) CHECK(at(kernel) == at(5));
}

}  // namespace
}  // namespace forecast_network_correction
