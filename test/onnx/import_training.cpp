// Nodes as they are when a network is to be trained: what they say of the training, and nodes in training mode.
#include "imported.hpp"

#include <primsel/network/weight_specs.hpp>
#include <primsel/onnx/export.hpp>
#include <primsel/onnx/replace_weights.hpp>
#include <primsel/train/differentiate.hpp>

#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace training_nodes {
namespace {

using namespace imported;

std::string normalised(std::vector<onnx::NewAttribute> const& attributes) {
    Model model({4, 2, 3, 3}, 15);
    for (const char* name : {"scale", "bias", "mean", "variance"}) model.floats(name, {2}, {0.5F, 2.0F});
    return model.node("BatchNormalization", {"x", "scale", "bias", "mean", "variance"}, {"y"}, attributes).bytes();
}
/// training: null where the node has no such input.
std::string dropping(std::vector<float> const& ratio, const bool* training) {
    Model model({4, 2, 3, 3}, 15);
    model.floats("r", {}, ratio);
    std::vector<std::string> inputs{"x", "r"};
    if (training != nullptr) {
        model.floats("t", {}, {*training ? 1.0F : 0.0F});
        inputs.emplace_back("t");
    }
    return model.node("Dropout", inputs, {"d"}).node("Relu", {"d"}, {"y"}).bytes();
}
const ps::OnnxOptions to_train{.trains = true};

TEST_CASE("a batch norm keeps the file's momentum, and exports it") {
    const ps::OnnxModel model = parse(normalised({{"momentum", 0.5F}, {"epsilon", 0.25F}}));
    CHECK(std::get<ps::BatchNormParams>(model.graph[1].layer) == ps::BatchNormParams{0.25F, 0.5F});
    CHECK(std::get<ps::BatchNormParams>(parse(normalised({})).graph[1].layer).momentum == 0.9F);
    const ps::OnnxModel again = parse(ps::to_onnx(model.graph, model.weights, {}));
    CHECK(again.graph[1].layer == model.graph[1].layer);
}

TEST_CASE("a momentum that is not from 0 to 1 is refused by the node's name, whatever the model is for") {
    for (const float momentum : {-0.5F, 1.5F, std::numeric_limits<float>::quiet_NaN()}) {
        for (const std::int64_t training : {0, 1}) {
            const std::string bytes = normalised({{"training_mode", training}, {"momentum", momentum}});
            for (const bool trains : {false, true}) {
                const std::string why = refusal(bytes, {.trains = trains});
                CHECK(why.find("(BatchNormalization): its momentum must be from 0 to 1") != std::string::npos);
            }
        }
    }
}

TEST_CASE("a batch norm in training mode is the ordinary layer when it is to be trained") {
    const std::string bytes = normalised({{"training_mode", std::int64_t{1}}, {"momentum", 0.5F}});
    const ps::OnnxModel model = parse(bytes, to_train);
    CHECK(kinds_of(model) == Kinds{"input", "batch_norm"});
    CHECK(model.graph.batch() == 4);
    CHECK(std::get<ps::BatchNormParams>(model.graph[1].layer).momentum == 0.5F);
    // Otherwise it normalises by the batch.
    CHECK(std::ranges::count(kinds_of(parse(bytes)), "batch_norm") == 0);
}

TEST_CASE("dropout is a layer that inference leaves out, and exports as it was") {
    const bool yes = true, no = false;
    for (const bool* mode : {static_cast<const bool*>(nullptr), &no}) {
        const ps::OnnxModel model = parse(dropping({0.25F}, mode));
        CHECK(kinds_of(model) == Kinds{"input", "dropout", "relu"});
        CHECK(std::get<ps::DropoutParams>(model.graph[1].layer).rate == 0.25F);
        CHECK(kinds(ps::simplify(model.graph)) == Strings{"input", "relu"});
        const ps::OnnxModel again = parse(ps::to_onnx(model.graph, model.weights, {}));
        CHECK(kinds_of(again) == kinds_of(model));
        CHECK(again.graph[1].layer == model.graph[1].layer);
    }
    CHECK(kinds_of(parse(dropping({0.25F}, &yes), to_train)) == Kinds{"input", "dropout", "relu"});
    CHECK(refusal(dropping({0.25F}, &yes)).find("in training mode: what it drops is random") != std::string::npos);
    // Drops nothing, or nothing that makes sense.
    for (const float ratio : {0.0F, 1.0F, -1.0F}) {
        CHECK(kinds_of(parse(dropping({ratio}, &no))) == Kinds{"input", "relu"});
    }
    Model old({4, 2, 3, 3}, 11);
    old.node("Dropout", {"x"}, {"d"}, {{"ratio", 0.75F}}).node("Relu", {"d"}, {"y"});
    CHECK(std::get<ps::DropoutParams>(parse(old.bytes()).graph[1].layer).rate == 0.75F);
}

TEST_CASE("a transposed convolution of stride 1 is a convolution, but not where its kernel is trained") {
    const auto kinds_with = [](ps::OnnxOptions const& options) {
        Model model({1, 2, 5, 5});
        model.floats("w", {2, 3, 3, 3}, numbers(54));
        return kinds(parse(model.node("ConvTranspose", {"x", "w"}, {"y"}).bytes(), options).graph);
    };
    CHECK(kinds_with({}) == Strings{"input", "conv"});
    CHECK(kinds_with(to_train) == Strings{"input", "conv_transpose"});
}

TEST_CASE("products and sums with a constant a channel are weights to train, quotients, differences and numbers not") {
    const auto scale = [](const char* op, std::vector<float> const& values) {
        Model model({2, 3, 4, 5});
        model.floats("k", {static_cast<std::int64_t>(values.size()), 1, 1}, values).node(op, {"x", "k"}, {"y"});
        return std::get<ps::ScaleParams>(parse(model.bytes(), to_train).graph[1].layer);
    };
    CHECK(scale("Mul", {1, 1, 1}) == ps::ScaleParams{.trains_bias = false});
    CHECK(scale("Add", {0, 0, 0}) == ps::ScaleParams{.trains_weight = false});
    CHECK(scale("Mul", {0.5F}) == ps::ScaleParams{.known = true, .factor = 0.5F});
    CHECK(scale("Add", {0.5F}) == ps::ScaleParams{.known = true, .shift = 0.5F});
    const ps::ScaleParams constant{.trains_weight = false, .trains_bias = false};
    CHECK(scale("Sub", {1, 2, 3}) == constant);
    CHECK(scale("Div", {1, 2, 3}) == constant);
    CHECK(scale("Add", {0, -std::numeric_limits<float>::infinity(), 0}) == constant);
}

TEST_CASE(
    "what a model multiplies by or adds is a weight to train, whatever axes it has, and goes back into the file") {
    const auto trainable = [](ps::OnnxModel const& read) {
        Strings found;
        for (ps::Node const& node : read.graph.nodes()) {
            for (ps::WeightSpec const& spec : ps::weight_specs(read.graph, node)) {
                if (ps::is_trainable(node, spec.name)) found.push_back(spec.name);
            }
        }
        return found;
    };
    const auto trained = [&](Model& model, Strings const& names) {
        const std::string bytes = model.bytes();
        ps::OnnxModel read = parse(bytes, to_train);
        CHECK(trainable(read) == names);
        // A product with a matrix that is not trained is one layer.
        const Strings of_training = kinds(read.graph);
        const bool is_product = std::ranges::find(of_training, "matmul") != of_training.end();
        CHECK(kinds(parse(bytes).graph) == (is_product ? Strings{"input", "dense_rows"} : of_training));
        // Other values are written where they were.
        ps::Weights others;
        for (auto const& [name, tensor] : read.weights) {
            std::vector<float> values(tensor.values.size());
            tensor.values.read(0, values);
            if (std::ranges::find(names, name) != names.end()) {
                for (float& value : values) value = 2 * value + 1;
            }
            others.add(name, tensor.dims, std::move(values));
        }
        const auto written = ps::replace_onnx_weights("file", shared(bytes), read, others, to_train);
        REQUIRE(written.has_value());
        const ps::OnnxModel again = parse(*written, to_train);
        for (std::string const& name : names)
            CHECK(ps::network::same_values(again.weights.at(name), others.at(name), false));
        // Another file of the same network.
        const ps::OnnxModel exported = parse(ps::to_onnx(read.graph, read.weights, {}), to_train);
        CHECK(trainable(exported).size() == names.size());
    };
    for (const char* op : {"Mul", "Add", "PRelu"}) {
        Model model({2, 3, 4, 5});
        model.floats("k", {4, 5}, numbers(20)).node(op, {"x", "k"}, {"y"});
        trained(model, {"k"});
    }
    for (Ints const& slopes : {Ints{1}, Ints{3, 1, 1}}) {
        Model model({2, 3, 4, 5});
        const auto count = static_cast<std::size_t>(slopes[0]);
        model.floats("slope", slopes, std::vector<float>(count, 0.25F)).node("PRelu", {"x", "slope"}, {"y"});
        trained(model, {"slope"});
    }
    Model rows({2, 7, 4});
    rows.floats("w", {4, 5}, numbers(20)).node("MatMul", {"x", "w"}, {"y"});
    trained(rows, {"w"});
    Model rotated({2, 7, 4});
    rotated.floats("w", {5, 4}, numbers(20)).node("Transpose", {"w"}, {"t"}).node("MatMul", {"x", "t"}, {"y"}, {}, "m");
    trained(rotated, {"m.weight"});
    Model norm({2, 7, 4}, 17);
    norm.floats("scale", {4}, {1, 1, 1, 1}).floats("bias", {4}, {0, 0, 0, 0});
    norm.node("LayerNormalization", {"x", "scale", "bias"}, {"y"});
    trained(norm, {"scale", "bias"});
}

TEST_CASE("a parameter is not called as the weight of a layer that reads the same tensor") {
    Model model({2, 7, 4});
    model.floats("encode.weight", {4, 4}, numbers(16)).floats("encode.bias", {4}, numbers(4, 2));
    model.node("MatMul", {"x", "encode.weight"}, {"h"}, {}, "decode")
        .node("Add", {"h", "encode.bias"}, {"i"}, {}, "add");
    model.node("Flatten", {"i"}, {"f"}).floats("w", {4, 28}, numbers(112));
    model.node("Gemm", {"f", "w"}, {"g"}, {{"transB", std::int64_t{1}}}, "first");
    model.node("Gemm", {"g", "encode.weight", "encode.bias"}, {"y"}, {{"transB", std::int64_t{1}}}, "encode");
    const ps::OnnxModel read = parse(model.bytes(), to_train);
    const auto owners = ps::weight_owners(read.graph);
    REQUIRE((owners.contains("encode_1.weight") && owners.contains("encode_1.bias")));
    CHECK(owners.at("encode_1.weight").name == "encode.weight");
    CHECK(owners.at("encode_1.bias").name == "add.bias");
}

TEST_CASE("equal values that are no initializer are a constant, as exporters scale what they normalise") {
    for (const char* op : {"Mul", "Add"}) {
        Model model({2, 3, 4, 5});
        model.integers("shape", {3, 1, 1}).node("ConstantOfShape", {"shape"}, {"k"}).node(op, {"x", "k"}, {"y"});
        const ps::OnnxModel read = parse(model.bytes(), to_train);
        CHECK(std::get<ps::ScaleParams>(read.graph[1].layer).known);
    }
}

TEST_CASE("a matrix that is transposed twice is itself, and shared with who reads it so") {
    Model model({2, 6});
    model.floats("t", {5, 6}, numbers(30));
    model.node("Gemm", {"x", "t"}, {"h"}, {{"transB", std::int64_t{1}}}, "encode");
    model.node("Transpose", {"t"}, {"u"}).node("Gemm", {"h", "u"}, {"y"}, {{"transB", std::int64_t{1}}}, "decode");
    const ps::OnnxModel read = parse(model.bytes(), to_train);
    const auto owners = ps::weight_owners(read.graph);
    REQUIRE(owners.contains("decode.weight"));
    CHECK(owners.at("decode.weight").name == "encode.weight");
    CHECK(owners.at("decode.weight").transposed);
    Model twice({2, 6});
    twice.floats("t", {5, 6}, numbers(30)).node("Transpose", {"t"}, {"u"}).node("MatMul", {"x", "u"}, {"y"}, {}, "m");
    CHECK(parse(twice.bytes(), to_train).origins.at("m.weight").tensor == "t");
}

TEST_CASE("rows of a table that are looked up several times stay one weight") {
    const auto file = [](Ints const& rows) {
        Model model({1, 3, 2});
        model.floats("table", {4, 2}, numbers(8)).integers("rows", rows);
        model.node("Gather", {"table", "rows"}, {"r"}).node("Add", {"x", "r"}, {"y"});
        return model.bytes();
    };
    const ps::OnnxModel shared = parse(file({1, 3, 1}), to_train);
    CHECK(shared.origins.at("table").tensor == "table");
    CHECK(ps::differentiate(shared.graph).weights[0].weight == "table");
    const ps::OnnxModel once = parse(file({1, 3, 1}));
    CHECK(once.graph.size() < shared.graph.size());
    CHECK(is_close(run(shared, numbers(6, 2)), run(once, numbers(6, 2))));
    // So do those that are looked up by numbers of the input.
    Model words({1, 2});
    words.floats("table", {4, 3}, numbers(12)).node("Cast", {"x"}, {"n"}, {{"to", std::int64_t{7}}});
    words.node("Gather", {"table", "n"}, {"y"});
    CHECK(ps::differentiate(parse(words.bytes(), to_train).graph).weights[0].weight == "table");
}

TEST_CASE("a file of one image is trained by several, and comes back open") {
    Model model({1, 3, 4, 5});
    model.node("Relu", {"x"}, {"y"});
    const std::string bytes = model.bytes();
    const ps::OnnxModel trained = parse(bytes, {.batch = 4, .trains = true});
    CHECK(trained.graph.batch() == 4);
    CHECK(trained.inputs[0].dims == Ints{4, 3, 4, 5});
    CHECK(trained.inputs[0].open_batch.has_value());
    Model two({2, 3, 4, 5});
    two.node("Relu", {"x"}, {"y"});
    CHECK(parse(two.bytes(), {.batch = 3, .trains = true}).graph.batch() == 3);
}

TEST_CASE("what is trained of a scale comes back from an export") {
    for (const char* op : {"Mul", "Add"}) {
        Model model({2, 3, 4, 5});
        model.floats("k", {3, 1, 1}, {1, 2, 3}).node(op, {"x", "k"}, {"y"});
        const ps::OnnxModel once = parse(model.bytes(), to_train);
        const ps::OnnxModel again = parse(ps::to_onnx(once.graph, once.weights, {}), to_train);
        CHECK(again.graph[1].layer == once.graph[1].layer);
    }
}

TEST_CASE("a tagger of words, LSTMs of both directions and a dense layer has gradients of all its weights") {
    Model model(Model::writer_only, 14);
    model.input("words", {6, 1}, onnx::DataType::int64);
    model.floats("table", {9, 5}, numbers(45));
    model.floats("W", {2, 12, 5}, numbers(120)).floats("R", {2, 12, 3}, numbers(72)).floats("B", {2, 24}, numbers(48));
    model.floats("tags", {6, 4}, numbers(24)).integers("flat", {6, 6});
    model.node("Gather", {"table", "words"}, {"embedded"}, {}, "embedding")
        .node("LSTM", {"embedded", "W", "R", "B"}, {"both"},
              {{"hidden_size", std::int64_t{3}}, {"direction", std::string_view("bidirectional")}}, "lstm")
        .node("Transpose", {"both"}, {"turned"}, {{"perm", Ints{0, 2, 1, 3}}}, "turn")
        .node("Reshape", {"turned", "flat"}, {"rows"}, {}, "flatten")
        .node("MatMul", {"rows", "tags"}, {"y"}, {}, "tagger");
    const ps::OnnxModel tagger = parse(model.bytes(), to_train);
    const ps::TrainingGraph step = ps::differentiate(tagger.graph);
    const auto with = [&](std::string_view part) {
        return std::ranges::count_if(step.weights, [&](ps::WeightGradient const& weight) {
            return weight.weight.find(part) != std::string::npos;
        });
    };
    CHECK(with("forward") == 4);
    CHECK(with("backward") == 4);
    CHECK(step.weights.size() == 10);
}

}  // namespace
}  // namespace training_nodes
