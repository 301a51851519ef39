#include <primsel/network/graph_editor.hpp>

#include "../io/scratch.hpp"

#include <doctest/doctest.h>
#include <primsel/network/simplify.hpp>
#include <primsel/network/zoo/googlenet.hpp>
#include <primsel/network/zoo/mobilenet.hpp>
#include <primsel/network/zoo/resnet.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace ps = primsel;
using scratch::error_of;

namespace {

std::vector<ps::Graph> networks() {
    ps::Graph two_results(2);
    const std::size_t image = two_results.add("image", ps::InputParams{{2, 8, 8}}, {});
    const std::size_t conv = two_results.add("conv", ps::ConvParams{.k = 2, .kernel = 3, .padding = 1}, {image});
    const std::size_t sum = two_results.add("sum", ps::AddParams{}, {conv, conv});
    two_results.add("unread", ps::PoolParams{}, {conv});
    two_results.set_outputs({sum, conv, sum});
    return {ps::zoo::ResNet18Of<64>::graph(3), ps::zoo::GoogLeNet::graph(), ps::simplify(ps::zoo::MobileNetV2::graph()),
            two_results, ps::Graph()};
}

}  // namespace

TEST_CASE("graph editor: nothing changed is the same graph") {
    for (ps::Graph const& graph : networks()) CHECK(ps::GraphEditor(graph).graph() == graph);
}

TEST_CASE("graph editor: what is inserted and removed again leaves the same graph") {
    for (ps::Graph const& graph : networks()) {
        ps::GraphEditor after(graph), before(graph);
        std::vector<std::size_t> added_after, added_before;
        for (std::size_t i = 0; i < graph.size(); ++i) {
            added_after.push_back(after.insert_after(i, graph[i].name + ".after", ps::DropoutParams{}));
            for (std::size_t place = 0; place < graph[i].inputs.size(); ++place) {
                const std::string name = ps::join(graph[i].name, ".before.", place);
                added_before.push_back(before.insert_before(i, place, name, ps::DropoutParams{}));
            }
        }
        const ps::Graph with_after = after.graph(), with_before = before.graph();
        CHECK(with_after.size() == 2 * graph.size());
        CHECK(with_before.size() == graph.size() + added_before.size());
        // They do nothing: whatever is simple without them, is simple with them.
        if (graph.size() > 0) CHECK(ps::simplify(with_before).size() == ps::simplify(graph).size());
        for (const std::size_t layer : added_after) after.remove(layer);
        for (const std::size_t layer : added_before) before.remove(layer);
        CHECK(after.graph() == graph);
        CHECK(before.graph() == graph);
    }
}

TEST_CASE("graph editor: layers keep their numbers, and new ones come before who reads them") {
    ps::Graph graph;
    const std::size_t image = graph.add("image", ps::InputParams{{2, 8, 8}}, {});
    const std::size_t conv = graph.add("conv", ps::ConvParams{.k = 4}, {image});
    const std::size_t pool = graph.add("pool", ps::PoolParams{}, {conv});
    ps::GraphEditor editor(graph);
    CHECK(editor.readers(conv) == std::vector{pool});
    editor.replace(conv, ps::ConvParams{.k = 6});
    const std::size_t relu = editor.insert_before(pool, 0, "relu", ps::ActivationParams{});
    const std::size_t side = editor.insert("side", ps::ConvParams{.k = 6}, {image});
    const std::size_t sum = editor.insert_after(relu, "sum", ps::AddParams{});
    editor.rewire(sum, {relu, side});
    editor.set_outputs({pool, sum});
    CHECK(editor.readers(image) == std::vector{conv, side});
    const ps::Graph result = editor.graph();
    std::string order;
    for (ps::Node const& node : result.nodes()) order += node.name + " ";
    CHECK(order == "image conv relu side sum pool ");
    CHECK(result[result.find("sum")].inputs == std::vector{result.find("relu"), result.find("side")});
    CHECK(result.outputs() == std::vector{result.find("pool"), result.find("sum")});
    CHECK(result[result.find("pool")].shape == ps::Shape{6, 4, 4});

    editor.replace_readers(sum, conv);
    editor.remove(sum);
    CHECK(editor.removed(sum));
    editor.remove(side);
    editor.remove(relu);
    CHECK(editor.outputs() == std::vector{pool, conv});
    CHECK(editor.graph().size() == 3);
}

TEST_CASE("graph editor: a layer in the place of another keeps the epilogue, unless it is given another") {
    const ps::ConvParams conv{.k = 2, .kernel = 3, .padding = 1};
    const ps::Epilogue epilogue{.folded = {{"norm", ps::BatchNormParams{}}}, .residual = true, .clamp = ps::relu_clamp};
    ps::Graph graph;
    const std::size_t image = graph.add("image", ps::InputParams{{2, 8, 8}}, {});
    const std::size_t fused = graph.add("conv", conv, {image, image}, epilogue);
    ps::GraphEditor editor(graph);
    editor.replace(fused, ps::ConvParams{.k = 2, .kernel = 1});
    CHECK(editor.graph()[fused].epilogue == epilogue);
    editor.replace(fused, ps::DenseParams{10});
    CHECK(error_of([&] { (void)editor.graph(); }) == "graph: layer conv (dense) cannot have a residual");
    editor.set_epilogue(fused, {.clamp = ps::relu6_clamp});
    editor.rewire(fused, {image});
    const ps::Graph after = editor.graph();
    CHECK(after[fused].inputs == std::vector{image});
    CHECK(after[fused].epilogue == ps::Epilogue{.clamp = ps::relu6_clamp});
}

TEST_CASE("graph editor: what no result needs goes, and layers come first where that is asked for") {
    ps::Graph graph;
    const std::size_t left = graph.add("left", ps::InputParams{{2, 8, 8}}, {});
    const std::size_t twice = graph.add("twice", ps::AddParams{}, {left, left});
    const std::size_t unread = graph.add("unread", ps::AddParams{}, {twice, twice});
    const std::size_t right = graph.add("right", ps::InputParams{{2, 8, 8}}, {});
    const std::size_t needed = graph.add("needed", ps::DropoutParams{}, {left});
    const std::size_t result = graph.add("result", ps::AddParams{}, {needed, right});
    graph.add("last", ps::DropoutParams{}, {result});
    graph.set_outputs({result});
    ps::GraphEditor editor(graph);
    CHECK(editor.uses(twice) == 2);
    CHECK(editor.uses(result) == 2);
    editor.remove_unneeded();
    CHECK(editor.removed(unread));
    CHECK(editor.removed(twice));
    const ps::Graph after = editor.graph(std::vector{right, left});
    std::string names;
    for (ps::Node const& node : after.nodes()) names += node.name + " ";
    CHECK(names == "right left needed result ");
}

TEST_CASE("graph editor: what cannot be is an error that names the layer") {
    ps::Graph graph;
    const std::size_t image = graph.add("image", ps::InputParams{{2, 8, 8}}, {});
    const std::size_t left = graph.add("left", ps::ConvParams{.k = 4}, {image});
    const std::size_t right = graph.add("right", ps::ConvParams{.k = 4}, {image});
    const std::size_t sum = graph.add("sum", ps::AddParams{}, {left, right});
    const auto after = [&](auto const& edit) {
        ps::GraphEditor editor(graph);
        return error_of([&] {
            edit(editor);
            (void)editor.graph();
        });
    };
    using Editor = ps::GraphEditor;
    CHECK(after([&](Editor&) {}).empty());
    CHECK(after([&](Editor& e) { e.remove(9); }) == "graph editor: there is no layer 9 of 4");
    CHECK(after([&](Editor& e) { e.remove(sum); }) ==
          "graph editor: layer sum is read, and has not one input to read in its place but 2");
    CHECK(after([&](Editor& e) { e.remove(image); }) ==
          "graph editor: layer image is read, and has not one input to read in its place but 0");
    CHECK(after([&](Editor& e) { e.remove(left), e.rewire(sum, 0, left); }) == "graph editor: layer left was removed");
    CHECK(after([&](Editor& e) { e.rewire(left, 1, right); }) ==
          "graph editor: layer left has 1 inputs, and no input 1");
    CHECK(after([&](Editor& e) { e.rewire(left, 0, sum); }) ==
          "graph editor: layer sum reads left, which depends on it");
    CHECK(after([&](Editor& e) { e.rewire(left, 0, left); }) ==
          "graph editor: layer left reads left, which depends on it");
    CHECK(after([&](Editor& e) { e.set_outputs({}); }) == "graph editor: no outputs");
    // As Graph::add says it.
    CHECK(after([&](Editor& e) {
              e.replace(left, ps::ConvParams{.k = 5});
          }).starts_with("graph: layer sum (add) on 5x8x8, 4x8x8: "));
    CHECK(after([&](Editor& e) { e.insert_after(sum, "left", ps::DropoutParams{}); }) ==
          "graph: two layers are named left");
}

TEST_CASE("graph editor: a chain of any length") {
    ps::Graph graph;
    graph.add("image", ps::InputParams{{1, 2, 2}}, {});
    ps::GraphEditor editor(graph);
    for (int i = 0; i < 20000; ++i) editor.insert(ps::join("d", i), ps::DropoutParams{}, {static_cast<std::size_t>(i)});
    // Its last layer is what the first results come from, so that all others must be placed before.
    editor.set_outputs({20000});
    CHECK(editor.graph().size() == 20001);
}
