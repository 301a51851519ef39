// Laws of memory that is computed from all layers: no negative factor, nothing falls with the batch, networks that were
// not shown are computed, and what a device has is not exceeded.
#include <primsel/forecast/layer_memory.hpp>
#include <primsel/network/zoo.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "noisy.hpp"

namespace forecast_layer_memory {
namespace {

namespace ps = primsel;
namespace fc = ps::forecast;

struct Samples {
    std::vector<fc::NetworkLoad> loads;
    std::vector<double> bytes;
};
/// The computed memory and 70 MB, each off by up to `noise`.
Samples samples(bool training, double noise) {
    Samples result;
    tests::Noise off(noise);
    for (ps::Graph const& graph : {ps::zoo::ResNet18::graph(), ps::zoo::SqueezeNet11::graph()}) {
        for (const int batch : {1, 4, 16, 64, 100}) {
            const fc::NetworkLoad load = fc::network_load(graph, batch, training);
            result.bytes.push_back(off() * (7e7 + fc::computed_memory(load, batch).tensors));
            result.loads.push_back(load);
        }
    }
    return result;
}

TEST_CASE("a layer's memory by hand") {
    ps::Graph graph;
    const auto image = graph.add("image", ps::InputParams{{1, 4, 4}}, {});
    const auto first = graph.add("first", ps::ConvParams{.k = 2, .bias = false}, {image});
    (void)graph.add("second", ps::ConvParams{.k = 3, .bias = false}, {first});
    const fc::NetworkLoad run = fc::network_load(graph, 10, false), step = fc::network_load(graph, 10);
    // Weights 2 + 6, images 16, and the second convolution's input and result.
    CHECK(fc::computed_memory(run, 10).tensors == 4 * (8 + 160 + 10 * (32 + 48)));
    // Momentum too, the first result kept, and at the second convolution the gradients of both and of its weights.
    CHECK(fc::computed_memory(step, 10).tensors == 4 * (2 * 8 + 160 + 320 + 10 * (32 + 48) + 6));
    CHECK(fc::computed_memory(step, 10).workspace == 4 * 10 * (32 + 48));
}

TEST_CASE("memory has no negative factor and never falls with the batch, however noisy its samples") {
    for (const bool training : {false, true}) {
        const Samples of = samples(training, 0.4);
        const fc::LayerMemory model = fc::LayerMemory::fit(of.loads, of.bytes);
        for (const double factor : model.factor()) CHECK(factor >= 0);
        double before = 0;
        for (int batch = 1; batch <= 150; batch += batch < 20 ? 1 : 7) {
            const double bytes = model.predict(fc::network_load(ps::zoo::MobileNetV2::graph(), batch, training)).value;
            CHECK(bytes >= before);
            before = bytes;
        }
    }
}

TEST_CASE("memory stays within what a device has, where samples show it") {
    Samples of = samples(true, 0);
    for (double& bytes : of.bytes) bytes = std::min(bytes, 1.2e9);
    const fc::LayerMemory model = fc::LayerMemory::fit(of.loads, of.bytes);
    for (const int batch : {64, 200, 1000}) {
        CHECK(model.predict(fc::network_load(ps::zoo::ResNet18::graph(), batch)).value <= 1.2e9);
    }
    CHECK(model.predict(fc::network_load(ps::zoo::ResNet18::graph(), 1000)).value > 1.15e9);
}

TEST_CASE("a network that was not shown is computed, whatever is learned") {
    const Samples of = samples(true, 0);
    const fc::LayerMemory model = fc::LayerMemory::fit(of.loads, of.bytes);
    const fc::NetworkLoad other = fc::network_load(ps::zoo::ResNet34::graph(), 32);
    CHECK(model.predict(other).value == doctest::Approx(7e7 + fc::computed_memory(other, 32).tensors).epsilon(0.03));
}

}  // namespace
}  // namespace forecast_layer_memory
