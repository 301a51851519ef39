#include <primsel/network/zoo/by_name.hpp>

#include "counts.hpp"

#include <doctest/doctest.h>
#include <primsel/network/simplify.hpp>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iomanip>
#include <map>
#include <sstream>

namespace ps = primsel;

namespace {

/// The findings of torchvision_weights.py.
struct Torchvision {
    int size = 0;
    std::int64_t parameters = 0, multiply_adds = 0;
    std::size_t tensors = 0;
    std::string hash;
};

std::map<std::string, Torchvision> read_torchvision() {
    std::ifstream file("test/data/torchvision_weights.txt");
    REQUIRE(file);
    std::map<std::string, Torchvision> networks;
    std::string name;
    for (Torchvision row; file >> name >> row.size >> row.parameters >> row.multiply_adds >> row.tensors >> row.hash;) {
        networks.emplace(name, row);
    }
    REQUIRE(file.eof());
    return networks;
}

/// As torchvision_weights.py hashes them.
std::string hash(std::vector<ps::WeightSpec> const& specs) {
    std::vector<std::string> lines;
    for (ps::WeightSpec const& spec : specs) lines.push_back(spec.name + ' ' + ps::to_string(spec.dims) + '\n');
    std::ranges::sort(lines);
    std::uint64_t value = 0xCBF29CE484222325U;
    for (std::string const& line : lines) {
        for (const char byte : line) value = (value ^ static_cast<unsigned char>(byte)) * 0x100000001B3U;
    }
    std::ostringstream text;
    text << std::hex << std::setw(16) << std::setfill('0') << value;
    return text.str();
}

}  // namespace

TEST_CASE("zoo: weights have the names and shapes of torchvision's, and networks do the same work") {
    const std::map<std::string, Torchvision> networks = read_torchvision();
    CHECK(networks.size() == 29);
    for (auto const& item : networks) {  // a structured binding cannot be captured with clang and OpenMP
        Torchvision const& expected = item.second;
        CAPTURE(item.first);
        const ps::Graph graph = ps::zoo::graph(item.first);
        CHECK(graph[graph.input()].shape == ps::Shape{3, expected.size, expected.size});
        CHECK(graph[graph.output_node()].shape == ps::Shape{1000, 1, 1});
        CHECK(counts::parameters(graph) == expected.parameters);
        CHECK(counts::multiply_adds(graph) == expected.multiply_adds);
        const std::vector<ps::WeightSpec> specs = ps::weight_specs(graph);
        CHECK(specs.size() == expected.tensors);
        CHECK(hash(specs) == expected.hash);
    }
}

TEST_CASE("zoo: as many multiply-adds as published") {
    // The billions that torchvision's documentation gives with its weights, as GFLOPS.
    const std::map<std::string, double> published{{"alexnet", 0.71},
                                                  {"densenet121", 2.83},
                                                  {"densenet161", 7.73},
                                                  {"densenet169", 3.36},
                                                  {"densenet201", 4.29},
                                                  {"googlenet-bn", 1.50},
                                                  {"inception_v3", 5.71},
                                                  {"mnasnet0_5", 0.10},
                                                  {"mnasnet0_75", 0.21},
                                                  {"mnasnet1_0", 0.31},
                                                  {"mnasnet1_3", 0.53},
                                                  {"mobilenet_v2", 0.30},
                                                  {"resnet18", 1.81},
                                                  {"resnet34", 3.66},
                                                  {"resnet50", 4.09},
                                                  {"resnet101", 7.80},
                                                  {"resnet152", 11.51},
                                                  {"resnext50_32x4d", 4.23},
                                                  {"resnext101_32x8d", 16.41},
                                                  {"shufflenet_v2_x0_5", 0.04},
                                                  {"shufflenet_v2_x1_0", 0.14},
                                                  {"shufflenet_v2_x1_5", 0.30},
                                                  {"shufflenet_v2_x2_0", 0.58},
                                                  {"squeezenet1_0", 0.82},
                                                  {"squeezenet1_1", 0.35},
                                                  {"vgg11", 7.61},
                                                  {"vgg13", 11.31},
                                                  {"vgg16", 15.47},
                                                  {"vgg19", 19.63}};
    CHECK(published.size() == 29);
    for (auto const& item : published) {
        CAPTURE(item.first);
        const double billions = static_cast<double>(counts::multiply_adds(ps::zoo::graph(item.first))) / 1e9;
        CHECK(std::abs(billions - item.second) <= 0.0056);  // two decimals, some cut off after the third
    }
}

TEST_CASE("zoo: every name makes a network, whose layers simplify folds as far as it can") {
    CHECK(ps::zoo::names.size() == 33);
    for (const std::string_view name : ps::zoo::names) {
        CAPTURE(name);
        const ps::Graph graph = ps::zoo::graph(name, 2), simplified = ps::simplify(graph);
        CHECK(graph.batch() == 2);
        CHECK(simplified[simplified.output_node()].shape == graph[graph.output_node()].shape);
        CHECK(counts::parameters(simplified) == counts::parameters(graph));
        CHECK(counts::multiply_adds(simplified) == counts::multiply_adds(graph));
        CHECK(counts::layers<ps::AddParams>(simplified) == 0);
        CHECK(counts::layers<ps::DropoutParams>(simplified) == 0);
        // DenseNets normalise before they convolve, what several layers read.
        if (name.starts_with("densenet")) continue;
        CHECK(counts::layers<ps::BatchNormParams>(simplified) == 0);
        CHECK(counts::layers<ps::ActivationParams>(simplified) == 0);
    }
}

TEST_CASE("zoo: an unknown name is an error that says which there are") {
    try {
        (void)ps::zoo::graph("lenet");
        FAIL("no error");
    } catch (ps::error const& error) {
        const std::string_view text = error.what();
        CHECK(text.starts_with("zoo: no network is named lenet; there are alexnet, alexnet_cifar, densenet121, "));
        for (const std::string_view name : ps::zoo::names) CHECK(text.find(name) != text.npos);
    }
    CHECK_THROWS_AS((void)ps::zoo::graph(""), ps::error);
}

TEST_CASE("zoo: the entries are those of the papers' table 4") {
    CHECK(ps::zoo::entries.size() == 6);
    for (ps::zoo::Entry const& entry : ps::zoo::entries) {
        CAPTURE(entry.name);
        CHECK(entry.graph(3) == ps::zoo::graph(entry.name, 3));
    }
}
