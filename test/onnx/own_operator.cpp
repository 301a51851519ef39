// Operators of a user's own: from nodes to layers and back, and refusals.
#include <primsel/onnx/own_operator.hpp>

#include "../layer/own_layers.hpp"
#include "exported.hpp"
#include "imported.hpp"

#include <primsel/engine/engine.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace onnx_own_operator_tests {

namespace {

namespace ps = primsel;
using namespace imported;
using own::Gate, own::Mirror;

const std::vector<ps::OnnxOwnOperator> operators{
    {.domain = "my.domain",
     .name = "Mirror",
     .layer = [](ps::OnnxNode const& node) -> ps::AnyLayer {
         if (node.text("along", "w") != "w") ps::fail("only rows are mirrored");
         return Mirror{static_cast<int>(node.integer("shift", 0))};
     },
     .attributes = [](ps::AnyLayer const& layer) -> std::optional<ps::OnnxAttributes> {
         const auto* mirror = ps::own_params<Mirror>(layer);
         if (mirror == nullptr) return std::nullopt;
         return ps::OnnxAttributes{{"shift", std::int64_t{mirror->shift}}};
     }},
    {.domain = "my.domain",
     .name = "Gate",
     .layer = [](ps::OnnxNode const&) -> ps::AnyLayer { return Gate{}; },
     .attributes = [](ps::AnyLayer const& layer) -> std::optional<ps::OnnxAttributes> {
         if (ps::own_params<Gate>(layer) == nullptr) return std::nullopt;
         return ps::OnnxAttributes{};
     }}};

struct Few : ps::DefaultPolicies {
    using primitives = ps::TypeList<ps::DirectSum2d>;
};
std::vector<float> run(ps::Graph const& graph, ps::Weights const& weights) {
    ps::Engine<ps::Graph, Few> engine(graph, weights);
    const auto batch = static_cast<std::size_t>(engine.batch());
    const std::vector<float> image = numbers(engine.in_shape().size() * batch);
    std::vector<float> result(engine.out_shape().size() * batch);
    engine.run(image, result);
    return result;
}

std::string mirrored(std::vector<onnx::NewAttribute> const& attributes = {}, Ints const& dims = {2, 3, 4, 5}) {
    Model model(dims);
    model.node_of("my.domain", "Mirror", {"x"}, {"y"}, attributes);
    return model.bytes();
}

TEST_CASE("a node of a domain and name of the user's becomes the user's layer") {
    const ps::OnnxModel model = parse(mirrored({{"shift", std::int64_t{3}}}), {.own_operators = operators});
    REQUIRE(model.graph.size() == 2);
    CHECK(model.graph.batch() == 2);
    CHECK(model.graph[1].layer == ps::AnyLayer(Mirror{3}));
    CHECK(model.graph[1].shape == ps::Shape{3, 4, 5});
    const std::vector<float> image = numbers(2 * 60), result = run(model.graph, model.weights);
    for (std::size_t i = 0; i < image.size(); ++i) CHECK(result[i] == image[i - i % 5 + 4 - i % 5] + 3.0F);
}

TEST_CASE("tensors of fewer axes are images too") {
    const ps::OnnxModel model = parse(mirrored({}, {1, 3, 4, 5}), {.own_operators = operators});
    CHECK(model.outputs[0].dims == Ints{1, 3, 4, 5});
    // A signal is an image of one row.
    const ps::OnnxModel signal = parse(mirrored({}, {1, 3, 4}), {.own_operators = operators});
    CHECK(signal.outputs[0].dims == Ints{1, 3, 4});
    CHECK(signal.graph[1].shape == ps::Shape{.c = 3, .h = 1, .w = 4});
    const std::string thin = refusal(mirrored({}, {1, 3, 4, 1}), {.own_operators = operators});
    CHECK_MESSAGE(thin.find("needs rows of two pixels or more") != std::string::npos, thin);
}

TEST_CASE("it is refused by name unless it is registered, and for the reasons of its function and its layer") {
    CHECK(refusal(mirrored()) == "file: unsupported operators: my.domain.Mirror (node the node)");
    const std::string reason = refusal(mirrored({{"along", std::string_view("h")}}), {.own_operators = operators});
    CHECK_MESSAGE(reason.ends_with(": only rows are mirrored"), reason);
    CHECK_MESSAGE(reason.find("Mirror") != std::string::npos, reason);
    const std::string type = refusal(mirrored({{"shift", 1.0F}}), {.own_operators = operators});
    CHECK_MESSAGE(type.find("attribute shift is of another type") != std::string::npos, type);
}

TEST_CASE("constants behind the inputs are its weights") {
    Model model({1, 2, 3, 4});
    model.input("z", {1, 2, 3, 4}).floats("gain", {2}, {2, 3}).floats("shift", {2}, {5, 7});
    model.node_of("my.domain", "Gate", {"x", "z", "gain", "shift"}, {"y"});
    const ps::OnnxModel read = parse(model.bytes(), {.own_operators = operators});
    CHECK(read.weights.at("the node.gain").values[1] == 3);
    CHECK(read.weights.at("the node.shift").values[1] == 7);
    CHECK(read.graph.inputs().size() == 2);

    Model few({1, 2, 3, 4});
    few.input("z", {1, 2, 3, 4}).floats("gain", {2}, {2, 3});
    few.node_of("my.domain", "Gate", {"x", "z", "gain"}, {"y"});
    const std::string reason = refusal(few.bytes(), {.own_operators = operators});
    CHECK_MESSAGE(reason.ends_with("it has 1 constants, its layer 2 weights"), reason);

    Model other({1, 2, 3, 4});
    other.input("z", {1, 2, 3, 4}).floats("gain", {3}, {2, 3, 4}).floats("shift", {2}, {5, 7});
    other.node_of("my.domain", "Gate", {"x", "z", "gain", "shift"}, {"y"});
    const std::string shape = refusal(other.bytes(), {.own_operators = operators});
    CHECK_MESSAGE(shape.find("its gain is 3, the layer needs 2") != std::string::npos, shape);
}

ps::Graph network() {
    ps::Graph graph;
    graph.add("image", ps::InputParams{{3, 6, 7}}, {});
    graph.add("conv", ps::ConvParams{.k = 4, .kernel = 3, .padding = 1, .bias = true}, {0});
    graph.add("mirror", Mirror{2}, {1});
    graph.add("gate", Gate{}, {2, 1});
    graph.add("relu", ps::ActivationParams{}, {3});
    return graph;
}

TEST_CASE("export writes it back, in its domain, and import reads the same network") {
    const ps::Graph graph = network();
    const ps::Weights weights = ps::random_weights(graph);
    const std::string bytes = ps::to_onnx(graph, weights, {.own_operators = operators});
    CHECK(bytes.find("my.domain") != std::string::npos);
    const ps::OnnxModel read = parse(bytes, {.own_operators = operators});
    CHECK(read.graph[2].layer == graph[2].layer);
    CHECK(read.graph[3].name == "gate");
    CHECK(run(read.graph, read.weights) == run(graph, weights));
}

TEST_CASE("export refuses a layer by name for which no operator is given") {
    const ps::Graph graph = network();
    const ps::Weights weights = ps::random_weights(graph);
    CHECK_THROWS_WITH_AS(
        (void)ps::to_onnx(graph, weights),
        "ONNX export: layer mirror (mirror): no operator of OnnxExportOptions::own_operators writes it", ps::error);
}

}  // namespace

}  // namespace onnx_own_operator_tests
