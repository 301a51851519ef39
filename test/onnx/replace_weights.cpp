// A model's file with other values for its weights: all else is the same, and it is read as those weights.
#include "../io/scratch.hpp"
#include "imported.hpp"

#include <primsel/network/network.hpp>
#include <primsel/network/weight_specs.hpp>
#include <primsel/onnx/export.hpp>
#include <primsel/onnx/replace_weights.hpp>

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace replacing {
namespace {

using namespace imported;  // NOLINT(google-build-using-namespace)

/// Other values for each weight; those that are shared stay so.
ps::Weights trained(ps::Graph const& graph, unsigned seed = 5) {
    ps::Weights weights;
    for (ps::WeightSpec const& spec : ps::own_weight_specs(graph)) {
        std::size_t count = 1;
        for (const std::int64_t dim : spec.dims) count *= static_cast<std::size_t>(dim);
        std::vector<float> values = numbers(count, ++seed);
        if (spec.name.ends_with(".running_var")) {
            for (float& value : values) value = value * value;
        }
        weights.add(spec.name, spec.dims, std::move(values));
    }
    return ps::with_shared(graph, weights);
}
void check_same(ps::Weights const& a, ps::Weights const& b) {
    REQUIRE(a.size() == b.size());
    for (auto const& each : a)
        CHECK_MESSAGE(ps::network::same_values(each.second, b.at(each.first), false), each.first);
}
/// The file without the elements of float tensors: those that are trained have nothing else.
std::string skeleton(std::string const& bytes) {
    onnx::ExternalData none("");
    const onnx::ModelProto model = onnx::read_model(bytes);
    std::string text = ps::join(model.opset, ' ', model.producer);
    for (onnx::NodeProto const& node : model.nodes) {
        text += ps::join('\n', node.name, ' ', node.op, ' ', node.attributes.size());
        for (auto const& names : {node.inputs, node.outputs}) {
            for (const std::string_view name : names) text += ps::join(' ', name);
        }
    }
    for (onnx::InitializerProto const& each : model.initializers) {
        const onnx::TensorProto tensor = onnx::read_tensor_proto(each.bytes);
        text += ps::join('\n', each.name, ' ', ps::to_string(tensor.dims), ' ', ps::to_string(tensor.type));
    }
    return text;
}
std::optional<std::string> replaced(std::string const& bytes, ps::Weights const& weights,
                                    std::vector<std::pair<std::string, std::string>> const& metadata = {}) {
    return ps::replace_onnx_weights("file", shared(bytes), parse(bytes), weights, {}, "", metadata);
}
void check_replaced(std::string const& bytes) {
    const ps::OnnxModel model = parse(bytes);
    const ps::Weights weights = trained(model.graph);
    const std::optional<std::string> text = replaced(bytes, weights);
    REQUIRE(text);
    CHECK(skeleton(*text) == skeleton(bytes));
    const ps::OnnxModel again = parse(*text);
    check_same(again.weights, weights);
    CHECK(static_cast<ps::OnnxSignature const&>(again) == static_cast<ps::OnnxSignature const&>(model));
    CHECK(replaced(*text, model.weights) == replaced(bytes, model.weights));
}

const Ints pads{1, 1, 1, 1};

using namespace ps::layer;  // NOLINT(google-build-using-namespace): layers, as networks are written
struct Net
    : ps::Network<Input<3, 8, 8>, Conv<4, 3>, BatchNorm, Relu, Residual<Conv<4, 3>, Relu>, GlobalAvgPool, Dense<3>> {};

TEST_CASE("weights of convolutions, norms and matrices are replaced where the file has them") {
    Model model({2, 3, 8, 8});
    model.floats("w", {4, 3, 3, 3}, numbers(108)).floats("b", {4}, numbers(4, 2));
    for (const char* name : {"s", "o", "m", "v"}) model.floats(name, {4}, {1, 2, 3, 4});
    model.node("Conv", {"x", "w", "b"}, {"h"}, {{"pads", pads}}, "conv");
    model.node("BatchNormalization", {"h", "s", "o", "m", "v"}, {"n"}, {}, "norm");
    model.node("GlobalAveragePool", {"n"}, {"g"}, {}, "pool").node("Flatten", {"g"}, {"f"}, {}, "flat");
    model.floats("t", {5, 4}, numbers(20, 3)).floats("c", {5}, numbers(5, 4));
    model.node("Gemm", {"f", "t", "c"}, {"k"}, {{"transB", std::int64_t{1}}}, "dense");
    model.floats("u", {5, 6}, numbers(30, 5)).node("MatMul", {"k", "u"}, {"y"}, {}, "last");
    check_replaced(model.bytes());
}

TEST_CASE("a weight that layers share is replaced once, for a transposed one too") {
    Model model({1, 6});
    model.floats("t", {5, 6}, numbers(30));
    model.node("Gemm", {"x", "t"}, {"h"}, {{"transB", std::int64_t{1}}}, "encode");
    model.node("Gemm", {"h", "t"}, {"y"}, {}, "decode");
    check_replaced(model.bytes());
}

TEST_CASE("exported networks are replaced as they are") {
    const ps::Graph graph = Net::graph();
    check_replaced(ps::to_onnx(graph, trained(graph, 40)));
}

TEST_CASE("properties of a file stay, and new ones replace those of their keys") {
    Model model({1, 6});
    model.floats("t", {5, 6}, numbers(30)).node("Gemm", {"x", "t"}, {"y"}, {{"transB", std::int64_t{1}}}, "dense");
    model.writer.value(onnx::GraphField::output, "y", onnx::DataType::float32, Ints{});
    const std::vector<std::pair<std::string, std::string>> before{{"classes", "a b"}, {"mean", "1"}};
    const std::string bytes = model.writer.finish(before);
    const auto text = replaced(bytes, parse(bytes).weights, {{"mean", "2"}, {"deviation", "3"}});
    REQUIRE(text);
    CHECK(parse(*text).metadata ==
          std::vector<std::pair<std::string, std::string>>{{"classes", "a b"}, {"mean", "2"}, {"deviation", "3"}});
}

TEST_CASE("what has no tensor of its own in the file is not replaced") {
    Model model({1, 4, 4, 4});
    model.floats("w", {4, 4, 1, 1}, numbers(16))
        .floats("v", {4, 4, 1, 1}, numbers(16, 9))
        .floats("b", {4}, {1, 1, 1, 1});
    model.node("Conv", {"x", "w", "b"}, {"h"}, {}, "first").node("Conv", {"h", "v", "b"}, {"y"}, {}, "second");
    const std::string bytes = model.bytes();
    const ps::OnnxModel read = parse(bytes);
    // The two biases are equal by chance, and become two.
    CHECK(!replaced(bytes, trained(read.graph)));
    CHECK(replaced(bytes, read.weights));
    CHECK_THROWS_WITH_AS((void)replaced(bytes, ps::Weights()), doctest::Contains("first.weight"), ps::error);
}

TEST_CASE("elements of other files come into the new one") {
    const scratch::Folder folder;
    Model model({1, 6});
    model.floats("t", {5, 6}, numbers(30)).floats("k", {5}, numbers(5, 3));
    model.node("Gemm", {"x", "t", "k"}, {"y"}, {{"transB", std::int64_t{1}}}, "dense");
    const std::string whole = model.bytes();
    // The same with its first tensor elsewhere.
    std::string beside, moved;
    onnx::for_fields<onnx::ModelField>(whole, [&](onnx::ModelField field, std::string_view graph,
                                                  std::string_view as_is) {
        if (field != onnx::ModelField::graph) {
            moved += as_is;
            return;
        }
        std::string text;
        onnx::for_fields<onnx::GraphField>(graph, [&](onnx::GraphField of, std::string_view inside,
                                                      std::string_view same) {
            if (of != onnx::GraphField::initializer) {
                text += same;
                return;
            }
            const onnx::TensorProto proto = onnx::read_tensor_proto(inside);
            std::string tensor;
            {
                protozero::pbf_builder<onnx::TensorField> out(tensor);
                for (const std::int64_t dim : proto.dims) out.add_int64(onnx::TensorField::dims, dim);
                out.add_int32(onnx::TensorField::data_type, static_cast<std::int32_t>(proto.type));
                out.add_string(onnx::TensorField::name, std::string(proto.name));
                for (auto const& [key, value] :
                     std::map<std::string, std::string>{{"location", "beside.bin"},
                                                        {"offset", std::to_string(beside.size())},
                                                        {"length", std::to_string(proto.raw.size())}}) {
                    protozero::pbf_builder<onnx::StringStringEntryField> entry(out, onnx::TensorField::external_data);
                    entry.add_string(onnx::StringStringEntryField::key, key);
                    entry.add_string(onnx::StringStringEntryField::value, value);
                }
                out.add_int32(onnx::TensorField::data_location, 1);
            }
            beside += proto.raw;
            onnx::append_message(text, of, tensor);
        });
        onnx::append_message(moved, field, text);
    });
    scratch::write(folder.file("beside.bin"), beside);
    const std::string path = folder.file("");
    const ps::SharedBytes file = shared(moved);
    const ps::OnnxModel read = ps::parse_onnx("file", file, {}, path);
    const ps::Weights weights = trained(read.graph);
    const auto text = ps::replace_onnx_weights("file", file, read, weights, {}, path);
    REQUIRE(text);
    check_same(parse(*text).weights, weights);
}

}  // namespace
}  // namespace replacing
