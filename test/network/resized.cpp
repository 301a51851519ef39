#include <primsel/network/resized.hpp>

#include <doctest/doctest.h>
#include <primsel/network/simplify.hpp>
#include <primsel/network/zoo/alexnet.hpp>
#include <primsel/network/zoo/resnet.hpp>
#include <primsel/network/zoo/squeezenet.hpp>

namespace ps = primsel;

TEST_CASE("resized: a network of another image size") {
    CHECK(ps::resized(ps::zoo::ResNet18::graph(3), {3, 64, 64}) == ps::zoo::ResNet18Of<64>::graph(3));
    CHECK(ps::resized(ps::zoo::SqueezeNet11::graph(), {3, 97, 97}) == ps::zoo::SqueezeNet11Of<97>::graph());
    const ps::Graph graph = ps::zoo::ResNet18::graph();
    CHECK(ps::resized(graph, {3, 224, 224}) == graph);
    CHECK(ps::resized(ps::resized(graph, {3, 40, 72}), {3, 224, 224}) == graph);
    const ps::Graph wide = ps::resized(graph, {3, 40, 72});
    CHECK(wide[wide.find("layer1.0.conv1")].shape == ps::Shape{64, 10, 18});
    CHECK(wide[wide.output_node()].shape == ps::Shape{1000, 1, 1});
    // Folded layers stay folded.
    CHECK(ps::resized(ps::simplify(graph), {3, 64, 64}) == ps::simplify(ps::zoo::ResNet18Of<64>::graph()));
}

TEST_CASE("resized: results stay the results") {
    ps::Graph graph;
    const std::size_t image = graph.add("image", ps::InputParams{{2, 8, 8}}, {});
    const std::size_t first = graph.add("first", ps::PoolParams{}, {image});
    graph.add("second", ps::PoolParams{}, {first});
    graph.set_outputs({first, image});
    const ps::Graph result = ps::resized(graph, {2, 6, 4});
    CHECK(result.outputs() == std::vector{first, image});
    CHECK(result[first].shape == ps::Shape{2, 3, 2});
}

TEST_CASE("resized: what does not fit is named") {
    const auto message = [](ps::Graph const& graph, ps::Shape const& input) -> std::string {
        try {
            (void)ps::resized(graph, input);
        } catch (ps::error const& error) {
            return error.what();
        }
        return "";
    };
    CHECK(message(ps::zoo::AlexNet::graph(), {3, 256, 256}) ==
          "resized: on images of 3x256x256, weight classifier.1.weight would have to be 4096x12544; it is 4096x9216");
    CHECK(message(ps::zoo::ResNet18::graph(), {1, 224, 224}) ==
          "resized: on images of 1x224x224, weight conv1.weight would have to be 64x1x7x7; it is 64x3x7x7");
    CHECK(message(ps::zoo::SqueezeNet10::graph(), {3, 5, 5}) ==
          "graph: layer features.0 (conv) on 3x5x5: the kernel is larger than the padded input");
    CHECK(message(ps::zoo::ResNet18::graph(), {3, 0, 224}).starts_with("graph: layer input (input) on nothing: "));

    ps::Graph branches;
    branches.add("image", ps::InputParams{{2, 8, 8}}, {});
    branches.add("half", ps::PoolParams{}, {0});
    branches.add("slow", ps::ConvParams{.k = 2, .kernel = 2, .stride = 2, .padding = ps::Padding{0, 1, 0, 1}}, {0});
    branches.add("sum", ps::AddParams{}, {1, 2});
    CHECK(message(branches, {2, 9, 9}).starts_with("graph: layer sum (add) on 2x4x4, 2x5x5: "));
    CHECK(message(ps::Graph(), {3, 8, 8}) == "graph: no input");
}
