// Networks that the tests of dynamic/ are laws over.
#pragma once

#include <primsel/dynamic/configuration_weights.hpp>
#include <primsel/dynamic/grouped.hpp>
#include <primsel/engine/engine.hpp>
#include <primsel/layer/compose.hpp>
#include <primsel/network/resized.hpp>
#include <primsel/network/zoo/alexnet.hpp>
#include <primsel/network/zoo/googlenet.hpp>
#include <primsel/network/zoo/mobilenet.hpp>
#include <primsel/network/zoo/resnet.hpp>
#include <primsel/network/zoo/shufflenet.hpp>
#include <primsel/network/zoo/squeezenet.hpp>

#include <cstddef>
#include <random>
#include <string>
#include <vector>

namespace dynamic {

namespace ps = primsel;
using namespace ps::layer;  // NOLINT(google-build-using-namespace): layers, as networks are written

/// Small networks, and families of the zoo on small images: branches, residuals, depthwise convolutions, shuffles.
struct Plain
    : ps::Network<Input<3, 12, 12>, Named<"a", Conv<8, 3>>, Relu, Named<"b", Conv<16, 3>>, Named<"n", BatchNorm>, Relu,
                  MaxPool<2>, Flatten, Dropout, Named<"fc1", Dense<20>>, Relu, Named<"fc2", Dense<5>>> {};
struct Gate : ps::Network<Input<3, 8, 8>, Named<"a", Conv<8, 3>>, Relu, Named<"se", SqueezeExcite<8, 4>>,
                          Residual<Named<"b", Conv<16, 3>>, Relu, Named<"c", Conv<8, 3>>>, Named<"p", PRelu<8>>,
                          GlobalAvgPool, Named<"fc", Dense<5>>, Softmax> {};

struct Named4 {
    std::string name;
    ps::Graph graph;
};
inline std::vector<Named4> in_four_groups() {
    namespace zoo = ps::zoo;
    const auto of = [](ps::Graph const& graph, int size) {
        return ps::dynamic::grouped(ps::resized(graph, {3, size, size}), 4);
    };
    return {{"plain", ps::dynamic::grouped(Plain::graph(), 4)}, {"gate", ps::dynamic::grouped(Gate::graph(), 4)},
            {"alexnet_cifar", zoo::AlexNetCifar::graph()},      {"googlenet", of(zoo::GoogLeNet::graph(), 32)},
            {"resnet18", of(zoo::ResNet18::graph(), 32)},       {"squeezenet1_1", of(zoo::SqueezeNet11::graph(), 48)}};
}

inline std::vector<float> image_of(ps::Graph const& graph, unsigned seed = 3) {
    std::mt19937 bits(seed);
    std::normal_distribution<float> normal;
    std::vector<float> image(static_cast<std::size_t>(graph.batch()) * graph[graph.input()].shape.size());
    for (float& value : image) value = normal(bits);
    return image;
}
inline std::vector<float> result_of(ps::Graph const& graph, ps::Weights const& weights) {
    ps::Engine<ps::Graph> engine(graph, weights);
    std::vector<float> result(graph[graph.output_node()].shape.size());
    engine.run(image_of(graph), result);
    return result;
}

}  // namespace dynamic
