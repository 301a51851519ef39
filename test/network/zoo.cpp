#include <primsel/network/zoo.hpp>

#include "zoo/counts.hpp"

#include <doctest/doctest.h>
#include <primsel/network/prepare.hpp>
#include <primsel/network/simplify.hpp>

#include <cstdint>
#include <string>

namespace ps = primsel;

namespace {

template <class Net>
void check_shapes(std::string_view name) {
    CAPTURE(name);
    const ps::Graph graph = ps::zoo::graph(name, 2);
    CHECK(graph == Net::graph(2));
    CHECK(graph.batch() == 2);
    CHECK(graph[graph.input()].shape == Net::input_shape);
    CHECK(graph[graph.output_node()].shape == Net::output_shape);
    CHECK(Net::input_shape == ps::Shape{3, 224, 224});
    CHECK(Net::output_shape == ps::Shape{1000, 1, 1});
    const ps::Graph simplified = ps::simplify(graph);
    CHECK(simplified[simplified.output_node()].shape == Net::output_shape);
}

}  // namespace

TEST_CASE("zoo: static shapes are those of the graphs") {
    check_shapes<ps::zoo::AlexNet>("alexnet");
    check_shapes<ps::zoo::Vgg11>("vgg11");
    check_shapes<ps::zoo::Vgg19>("vgg19");
    check_shapes<ps::zoo::GoogLeNet>("googlenet");
    check_shapes<ps::zoo::ResNet18>("resnet18");
    check_shapes<ps::zoo::ResNet34>("resnet34");
}

TEST_CASE("zoo: as many parameters as published") {
    // torchvision's counts; GoogLeNet's is that of its authors' network without the auxiliary classifiers.
    CHECK(counts::parameters(ps::zoo::AlexNet::graph()) == 61'100'840);
    CHECK(counts::parameters(ps::zoo::Vgg11::graph()) == 132'863'336);
    CHECK(counts::parameters(ps::zoo::Vgg19::graph()) == 143'667'240);
    CHECK(counts::parameters(ps::zoo::GoogLeNet::graph()) == 6'998'552);
    CHECK(counts::parameters(ps::zoo::ResNet18::graph()) == 11'689'512);
    CHECK(counts::parameters(ps::zoo::ResNet34::graph()) == 21'797'672);
}

TEST_CASE("zoo: simplified, every batch norm, ReLU, residual sum, dropout and flatten is part of another layer") {
    struct Expected {
        std::string_view name;
        std::size_t layers, convolutions;
    };
    // ResNets: input, convolutions, two poolings, dense. VGG and AlexNet: input, convolutions, poolings, three dense.
    // GoogLeNet: nine modules of six convolutions, pooling and concat; and input, three convolutions, two LRN, five
    // poolings, dense.
    for (Expected const& expected :
         {Expected{"alexnet", 1 + 5 + 3 + 3, 5}, Expected{"vgg11", 1 + 8 + 5 + 3, 8},
          Expected{"vgg19", 1 + 16 + 5 + 3, 16}, Expected{"googlenet", 9 * 8 + 1 + 3 + 2 + 5 + 1, 57},
          Expected{"resnet18", 1 + 20 + 2 + 1, 20}, Expected{"resnet34", 1 + 36 + 2 + 1, 36}}) {
        CAPTURE(expected.name);
        const ps::Graph graph = ps::zoo::graph(expected.name);
        const ps::Graph simplified = ps::simplify(graph);
        CHECK(simplified.size() == expected.layers);
        CHECK(counts::layers<ps::ConvParams>(simplified) == expected.convolutions);
        CHECK(counts::layers<ps::ConvParams>(graph) == expected.convolutions);
        CHECK(counts::parameters(simplified) == counts::parameters(graph));
        CHECK(ps::simplify(simplified) == simplified);
        for (ps::Node const& node : simplified.nodes()) {
            CAPTURE(node.name);
            CHECK_FALSE(std::holds_alternative<ps::BatchNormParams>(node.layer));
            CHECK_FALSE(std::holds_alternative<ps::ActivationParams>(node.layer));
            CHECK_FALSE(std::holds_alternative<ps::AddParams>(node.layer));
            CHECK_FALSE(std::holds_alternative<ps::DropoutParams>(node.layer));
        }
    }
}

TEST_CASE("zoo: ResNet-18 names its weights as torchvision does") {
    const ps::Graph graph = ps::simplify(ps::zoo::ResNet18::graph());
    std::size_t found = 0;
    for (ps::WeightSpec const& spec : ps::weight_specs(graph)) {
        found += spec.name == "layer2.0.downsample.0.weight" && spec.dims == std::vector<std::int64_t>{128, 64, 1, 1};
        found += spec.name == "layer2.0.downsample.1.running_var" && spec.dims == std::vector<std::int64_t>{128};
        found += spec.name == "conv1.weight" && spec.dims == std::vector<std::int64_t>{64, 3, 7, 7};
        found += spec.name == "layer4.1.bn2.bias" && spec.dims == std::vector<std::int64_t>{512};
        found += spec.name == "fc.weight" && spec.dims == std::vector<std::int64_t>{1000, 512};
        CHECK(spec.name != "conv1.bias");
    }
    CHECK(found == 5);
    CHECK(ps::weight_specs(graph).size() == 102);
}
