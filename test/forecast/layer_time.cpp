// Laws of times that are computed from all layers: costs are positive, nothing falls with the batch, and what costs
// made is found again.
#include <primsel/forecast/layer_time.hpp>
#include <primsel/forecast/thinned.hpp>
#include <primsel/network/zoo.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "noisy.hpp"

namespace forecast_layer_time {
namespace {

namespace ps = primsel;
namespace fc = ps::forecast;

struct Samples {
    std::vector<fc::NetworkLoad> loads;
    std::vector<double> seconds;
};
/// Times by known costs on a device that multiplies tiles of so many filters, each off by up to `noise`.
Samples samples(double noise, std::vector<int> const& batches, int tile = 1) {
    Samples result;
    fc::detail::LayerCosts costs{}, slopes{};
    costs.fill(1e-3);
    costs[1] = costs[2] = costs[3] = 2e-5;
    costs[10] = costs[11] = 4e-2, costs[13] = 1e-2;
    tests::Noise off(noise);
    const ps::Graph resnet = ps::zoo::ResNet18::graph();
    for (ps::Graph const& graph :
         {resnet, ps::forecast::thinned(resnet, {.level = 0.45}), ps::zoo::SqueezeNet11::graph()}) {
        for (const int batch : batches) {
            const fc::NetworkLoad load = fc::network_load(graph, batch);
            const auto amounts = fc::detail::amounts_of(load.layers, batch, true, tile);
            result.seconds.push_back(off() * fc::detail::seconds_of(amounts, costs, true, slopes));
            result.loads.push_back(load);
        }
    }
    return result;
}

TEST_CASE_TEMPLATE("a time has positive costs and never falls with the batch, however noisy its samples", Model,
                   fc::LayerTime<true, true>, fc::LayerTime<true, false>, fc::LayerTime<false, true>,
                   fc::LayerTime<false, false>) {
    const Samples of = samples(0.4, {1, 4, 16, 64, 100});
    const Model model = Model::fit(of.loads, of.seconds);
    for (std::size_t i = 0; i < fc::layer_costs; ++i) CHECK(model.cost(static_cast<fc::LayerCost>(i)) > 0);
    for (ps::Graph const& graph : {ps::zoo::ResNet18::graph(), ps::zoo::MobileNetV2::graph()}) {
        double before = 0;
        for (int batch = 1; batch <= 150; batch += batch < 20 ? 1 : 7) {
            const fc::Estimate of_batch = model.predict(fc::network_load(graph, batch));
            CHECK(of_batch.value >= before);
            CHECK(of_batch.deviation > 0);
            before = of_batch.value;
        }
    }
}

TEST_CASE("costs and tiles that made the samples are found and forecast batches that were not shown") {
    for (const int tile : {1, 64}) {
        const Samples of = samples(0, {1, 4, 16, 64, 100}, tile), others = samples(0, {2, 8, 32, 128}, tile);
        const auto time = fc::LayerTime<true, true>::fit(of.loads, of.seconds);
        CHECK(time.tile() == tile);
        for (std::size_t i = 0; i < others.loads.size(); ++i) {
            CHECK(time.predict(others.loads[i]).value == doctest::Approx(others.seconds[i]).epsilon(0.05));
        }
    }
}

TEST_CASE("a tile that is partly empty takes as long as a full one") {
    CHECK(fc::detail::whole_tiles(64, 64) == 1);
    CHECK(fc::detail::whole_tiles(65, 64) * 65 == doctest::Approx(128));
    CHECK(fc::detail::whole_tiles(7, 1) == 1);
}

}  // namespace
}  // namespace forecast_layer_time
