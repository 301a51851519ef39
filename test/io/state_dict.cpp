#include <doctest/doctest.h>

#include <primsel/io/state_dict.hpp>
#include <primsel/network/zoo.hpp>
#include <string>
#include <vector>

#include "scratch.hpp"

namespace ps = primsel;
using namespace ps::layer;
using scratch::error_of;
using Dims = std::vector<std::int64_t>;

namespace {

struct Small : ps::Network<Input<3, 8, 8>, Named<"conv", Conv<4, 3, NoBias>>, Named<"bn", BatchNorm>, Relu,
                           GlobalAvgPool, Named<"fc", Dense<2>>> {};

/// Tensors of a network under other names, with what PyTorch adds.
ps::Weights renamed(ps::Weights const& weights, std::string const& prefix) {
    ps::Weights result;
    for (auto const& [name, tensor] : weights) result.add(prefix + name, tensor);
    return result;
}
bool same_weights(ps::Weights const& a, ps::Weights const& b) {
    if (a.size() != b.size()) return false;
    for (auto const& [name, tensor] : a) {
        const ps::WeightTensor* other = b.find(name);
        if (other == nullptr || other->dims != tensor.dims ||
            !std::equal(tensor.values.begin(), tensor.values.end(), other->values.begin(), other->values.end())) {
            return false;
        }
    }
    return true;
}

}  // namespace

TEST_CASE("a state dict becomes the network's weights, without copying them") {
    const ps::Graph graph = Small::graph();
    const ps::Weights expected = ps::random_weights(graph);
    ps::Weights tensors = renamed(expected, "");
    tensors.add("bn.num_batches_tracked", Dims{}, {17.0F});
    const ps::Weights weights = ps::state_dict(tensors, graph);
    CHECK(same_weights(weights, expected));
    CHECK(weights.at("conv.weight").values.data() == expected.at("conv.weight").values.data());
}

TEST_CASE("rules rename tensors and leave some out, each after the other") {
    const ps::NameMap map =
        ps::NameMap().prefix("module.", "").prefix("backbone.", "").rename("classifier", "fc.bias").ignore("aux.");
    CHECK(map("module.backbone.conv.weight") == "conv.weight");
    CHECK(map("backbone.module.conv.weight") == "module.conv.weight");
    CHECK(map("module.classifier") == "fc.bias");
    CHECK(map("classifier.weight") == "classifier.weight");
    CHECK(map("module.backbone.aux.weight") == std::nullopt);
    CHECK(map("aux") == "aux");
    CHECK(ps::NameMap().prefix("", "net.")("conv") == "net.conv");

    const ps::Graph graph = Small::graph();
    const ps::Weights expected = ps::random_weights(graph);
    ps::Weights tensors;
    for (auto const& [name, tensor] : expected) {
        tensors.add(name == "fc.bias" ? "module.classifier" : "module.backbone." + name, tensor);
    }
    tensors.add("module.aux.weight", {1}, {1.0F});
    tensors.add("module.backbone.bn.num_batches_tracked", {1}, {1.0F});
    CHECK(same_weights(ps::state_dict(tensors, graph, map), expected));
}

TEST_CASE("shapes may differ in ones at the end") {
    ps::Graph graph;
    const std::size_t image = graph.add("image", ps::InputParams{{.c = 3, .h = 2, .w = 2}}, {});
    const std::size_t conv = graph.add("conv", ps::ConvParams{.k = 2, .kernel = 1}, {image});
    graph.add("fc", ps::DenseParams{.k = 5}, {conv});
    ps::Weights tensors;
    const auto add = [&tensors](std::string const& name, Dims const& dims, std::size_t size) {
        tensors.add(name, dims, std::vector<float>(size, 1.0F));
    };
    add("conv.weight", {2, 3}, 6);
    add("conv.bias", {2, 1, 1}, 2);
    add("fc.weight", {5, 8, 1, 1}, 40);
    add("fc.bias", {5}, 5);
    const ps::Weights weights = ps::state_dict(tensors, graph);
    CHECK(weights.at("conv.weight").dims == Dims{2, 3, 1, 1});
    CHECK(weights.at("conv.bias").dims == Dims{2});
    CHECK(weights.at("fc.weight").dims == Dims{5, 8});
}

TEST_CASE("all that does not fit is named in one error") {
    ps::Weights tensors;
    const auto add = [&tensors](std::string const& name, Dims const& dims, std::size_t size) {
        tensors.add(name, dims, std::vector<float>(size, 1.0F));
    };
    add("module.conv.weight", {4, 3, 3, 1}, 36);
    add("module.bn.weight", {4}, 4);
    add("module.bn.bias", {4}, 4);
    add("module.bn.running_mean", {4}, 4);
    add("module.fc.weight", {4, 2}, 8);
    add("module.fc.bias", {2}, 2);
    add("module.conv.bias", {4}, 4);
    add("other", {1}, 1);
    const ps::Graph graph = Small::graph();
    const ps::NameMap map = ps::NameMap().prefix("module.", "");
    CHECK(error_of([&] { (void)ps::state_dict(tensors, graph, map); }) ==
          "weights: 4 of 7 weights fit the network"
          "\n  wrong shape: conv.weight is 4x3x3x1, the layer needs 4x3x3x3"
          "\n  missing: bn.running_var (4)"
          "\n  wrong shape: fc.weight is 4x2, the layer needs 2x4"
          "\n  not in the network: conv.bias, there module.conv.bias (4)"
          "\n  not in the network: other (1)");
    add("fc.bias", {2}, 2);
    CHECK(error_of([&] { (void)ps::state_dict(tensors, graph, map); }) ==
          "weights: fc.bias and module.fc.bias both become fc.bias");
}

TEST_CASE("tensors that are not read are named where they are missing or unknown, and matter to nobody else") {
    const ps::Graph graph = Small::graph();
    ps::Weights tensors = renamed(ps::random_weights(graph), "");
    tensors.add_unread("conv.mask", "4x3x3x3 of BOOL");
    CHECK(ps::state_dict(tensors, graph, ps::NameMap().ignore("conv.mask")).size() == tensors.size());
    CHECK(error_of([&] {
              (void)ps::state_dict(tensors, graph);
          }).find("not in the network: conv.mask (4x3x3x3 of BOOL)") != std::string::npos);
    ps::Weights lacking;
    for (auto const& [name, tensor] : tensors) {
        if (name != "fc.bias") lacking.add(name, tensor);
    }
    lacking.add_unread("fc.bias", "2 of I8");
    CHECK(error_of([&] {
              (void)ps::state_dict(lacking, graph);
          }).ends_with("\n  missing: fc.bias (2); the file has it as 2 of I8"));
}

TEST_CASE("a network of the zoo reads its file, whoever wrapped the model that wrote it") {
    const scratch::Folder folder;
    const std::string path = folder.file("resnet.safetensors");
    using Net = ps::zoo::ResNet18Of<32, 10>;
    const ps::Weights expected = ps::random_weights(Net::graph());
    ps::write_safetensors(path, renamed(expected, "module."));
    CHECK(same_weights(ps::read_state_dict<Net>(path, ps::NameMap().prefix("module.", "")), expected));
    const std::string message = error_of([&] { (void)ps::read_state_dict<Net>(path); });
    CHECK(message.starts_with(path + ": 0 of 102 weights fit the network\n  missing: conv1.weight (64x3x7x7)"));
    CHECK(message.find("\n  not in the network: module.fc.weight (10x512)") != std::string::npos);
}
