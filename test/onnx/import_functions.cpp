// Functions that a model brings, and tensors that it has as values and their positions.
#include "imported.hpp"

#include <protozero/pbf_builder.hpp>

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace import_functions {

using namespace imported;

namespace {

template <class Field>
std::string field(Field number, std::string const& bytes) {
    std::string text;
    protozero::pbf_builder<Field>(text).add_bytes(number, bytes);
    return text;
}
/// A node in a function; attributes take their values from those of the function.
std::string node(std::string const& domain, std::string const& op, Strings const& inputs, Strings const& outputs,
                 std::vector<std::pair<std::string, std::string>> const& refers = {}) {
    std::string text;
    protozero::pbf_builder<onnx::NodeField> fields(text);
    for (std::string const& input : inputs) fields.add_bytes(onnx::NodeField::input, input);
    for (std::string const& output : outputs) fields.add_bytes(onnx::NodeField::output, output);
    fields.add_bytes(onnx::NodeField::op_type, op);
    fields.add_bytes(onnx::NodeField::domain, domain);
    for (auto const& [name, of] : refers) {
        protozero::pbf_builder<onnx::AttributeField> attribute(fields, onnx::NodeField::attribute);
        attribute.add_bytes(onnx::AttributeField::name, name);
        attribute.add_bytes(onnx::AttributeField::ref_attr_name, of);
        attribute.add_enum(onnx::AttributeField::type, static_cast<std::int32_t>(onnx::AttributeType::f));
    }
    return text;
}
/// The bytes of a model's field with a function of the domain "my".
std::string function(std::string const& name, Strings const& inputs, Strings const& outputs, Strings const& nodes,
                     std::string const& more = {}) {
    std::string text = more;
    protozero::pbf_builder<onnx::FunctionField> fields(text);
    fields.add_bytes(onnx::FunctionField::name, name);
    fields.add_bytes(onnx::FunctionField::domain, "my");
    for (std::string const& input : inputs) fields.add_bytes(onnx::FunctionField::input, input);
    for (std::string const& output : outputs) fields.add_bytes(onnx::FunctionField::output, output);
    for (std::string const& each : nodes) fields.add_bytes(onnx::FunctionField::node, each);
    return field(onnx::ModelField::functions, text);
}
std::string opset(std::int64_t version) {
    std::string text;
    protozero::pbf_builder<onnx::OperatorSetIdField>(text).add_int64(onnx::OperatorSetIdField::version, version);
    return field(onnx::FunctionField::opset_import, text);
}
/// A default value of a function's attribute.
std::string otherwise(std::string const& name, float value) {
    std::string text;
    protozero::pbf_builder<onnx::AttributeField> attribute(text);
    attribute.add_bytes(onnx::AttributeField::name, name);
    attribute.add_float(onnx::AttributeField::f, value);
    attribute.add_enum(onnx::AttributeField::type, static_cast<std::int32_t>(onnx::AttributeType::f));
    return field(onnx::FunctionField::attribute_proto, text);
}
const std::vector<float> weight{1, 2, 3, -4};

}  // namespace

TEST_CASE("a function stands for its nodes, within others, with attributes that are passed on") {
    const std::string act = function("Act", {"a"}, {"b"}, {node("", "LeakyRelu", {"a"}, {"b"}, {{"alpha", "slope"}})});
    // The names within are those of the model, too; the third input may be left out.
    const std::string block =
        function("Block", {"x", "w", "bias"}, {"r", "c"},
                 {node("", "Conv", {"x", "w", "bias"}, {"c"}), node("my", "Act", {"c"}, {"r"}, {{"slope", "slope"}})});
    const auto called = [&](std::vector<onnx::NewAttribute> const& attributes, std::string const& more = {}) {
        Model model({1, 2, 2, 2});
        model.floats("k.weight", {2, 2, 1, 1}, weight).node("Abs", {"x"}, {"c"});
        model.node_of("my", "Block", {"c", "k.weight"}, {"w"}, attributes).node("Neg", {"w"}, {"y"});
        return parse(model.bytes() + block + (more.empty() ? act : more));
    };
    const auto plain = [](float alpha) {
        Model model({1, 2, 2, 2});
        model.floats("k.weight", {2, 2, 1, 1}, weight).node("Abs", {"x"}, {"a"}).node("Conv", {"a", "k.weight"}, {"c"});
        return parse(model.node("LeakyRelu", {"c"}, {"w"}, {{"alpha", alpha}}).node("Neg", {"w"}, {"y"}).bytes());
    };
    const std::vector<float> x = numbers(8, 5);
    const ps::OnnxModel model = called({{"slope", 0.25F}});
    CHECK(kinds_of(model) == kinds_of(plain(0.25F)));
    CHECK(is_close(run(model, x), run(plain(0.25F), x)));
    // Weights have the names that they have outside.
    CHECK(model.weights.find("k.weight") != nullptr);
    CHECK(model.origins.at("k.weight").tensor == "k.weight");
    // Without a value: the operator's own, or that of the function.
    CHECK(is_close(run(called({}), x), run(plain(0.01F), x)));
    const std::string with_default = function(
        "Act", {"a"}, {"b"}, {node("", "LeakyRelu", {"a"}, {"b"}, {{"alpha", "slope"}})}, otherwise("slope", 0.5F));
    CHECK(is_close(run(called({}, with_default), x), run(plain(0.5F), x)));
    CHECK(is_close(run(called({{"slope", 0.25F}}, with_default), x), run(plain(0.25F), x)));
}

TEST_CASE("a function has an opset of its own, results that nothing needs, and inputs that are results") {
    // Before opset 13, Softmax normalises all axes from one on.
    const std::string norm =
        function("Norm", {"a"}, {"a2", "b", "a"},
                 {node("", "Softmax", {"a"}, {"b"}), node("no", "Such", {"a"}, {"a2"})}, opset(11));
    Model model({1, 3, 2, 2}), old({1, 3, 2, 2}, 11);
    model.node_of("my", "Norm", {"x"}, {"", "s", "same"}).node("Add", {"s", "same"}, {"y"});
    old.node("Softmax", {"x"}, {"s"}).node("Add", {"s", "x"}, {"y"});
    const std::vector<float> x = numbers(12);
    CHECK(is_close(run(parse(model.bytes() + norm), x), run(parse(old.bytes()), x)));
}

TEST_CASE("the library's own operator comes before a function of its name") {
    const std::string wrong = function("Relu", {"a"}, {"b"}, {node("", "Abs", {"a"}, {"b"})});
    Model model;
    model.node("Relu", {"x"}, {"y"});
    CHECK(kinds_of(parse(model.bytes() + wrong)) == Kinds{"input", "relu"});
}

TEST_CASE("functions that cannot be are refused by the nodes that call them") {
    const auto message = [](std::string const& functions, Strings const& inputs = {"x"},
                            Strings const& outputs = {"y"}) {
        Model model({1, 1, 1, 1});
        model.node_of("my", "F", inputs, outputs);
        return refusal(model.bytes() + functions);
    };
    CHECK(message("").find("unsupported operators: my.F (node the node)") != std::string::npos);
    CHECK(message(function("F", {"a"}, {"b"}, {node("", "Nothing", {"a"}, {"b"})})) ==
          "file: node the node (F): unsupported operators: Nothing (node b)");
    CHECK(message(function("F", {"a"}, {"b"}, {node("my", "F", {"a"}, {"b"})})).find("functions within more than 16") !=
          std::string::npos);
    // Names around a function are not known in it.
    CHECK(message(function("F", {"a"}, {"b"}, {node("", "Abs", {"x"}, {"b"})})) ==
          "file: node the node (F): node b (Abs): its input x is defined nowhere");
    CHECK(message(function("F", {"a"}, {"b"}, {node("", "Abs", {"a"}, {"c"})})).find("output b of its function") !=
          std::string::npos);
    CHECK(message(function("F", {"a", "z"}, {"b"}, {node("", "Add", {"a", "z"}, {"b"})})).find("input 1 is missing") !=
          std::string::npos);
    const std::string one = function("F", {"a"}, {"b"}, {node("", "Abs", {"a"}, {"b"})});
    CHECK(message(one, {"x", "x"}).find("1 inputs and 1 outputs") != std::string::npos);
    CHECK(message(one, {"x"}, {"y", "z"}).find("1 inputs and 1 outputs") != std::string::npos);
    CHECK(message(function("F", {"a", "a"}, {"a"}, {})).find("input twice") != std::string::npos);
    Model attribute({1, 1, 1, 1});
    std::string graph = attribute.node("Relu", {"x"}, {"y"}).bytes();
    CHECK(refusal(graph).empty());
}

TEST_CASE("a small file cannot call functions without end") {
    // Each calls the next four times.
    std::string functions;
    for (int level = 0; level < 14; ++level) {
        const std::string next = "F" + std::to_string(level + 1), op = level == 13 ? "Abs" : next;
        Strings nodes;
        for (int i = 0; i < 4; ++i) {
            nodes.push_back(node(level == 13 ? "" : "my", op, {i == 0 ? "a" : "v" + std::to_string(i)},
                                 {i == 3 ? "b" : "v" + std::to_string(i + 1)}));
        }
        functions += function(level == 0 ? "F" : "F" + std::to_string(level), {"a"}, {"b"}, nodes);
    }
    Model model({1, 1, 1, 1});
    model.node_of("my", "F", {"x"}, {"y"});
    CHECK(refusal(model.bytes() + functions).find("functions and branches with more than") != std::string::npos);
}

namespace {

/// A model y = x * w where w is a sparse initializer, or a Constant that is sparse, with its values at these positions.
std::string with_sparse(Ints const& dims, std::vector<float> const& values, Ints const& positions, Ints const& of,
                        bool is_constant) {
    const auto tensor = [](onnx::DataType type, std::string const& name, Ints const& extents, std::string const& raw) {
        std::string text;
        protozero::pbf_builder<onnx::TensorField> fields(text);
        for (const std::int64_t extent : extents) fields.add_int64(onnx::TensorField::dims, extent);
        fields.add_int32(onnx::TensorField::data_type, static_cast<std::int32_t>(type));
        fields.add_bytes(onnx::TensorField::name, name);
        fields.add_bytes(onnx::TensorField::raw_data, raw);
        return text;
    };
    const auto raw = [](auto const& elements) {
        return std::string(reinterpret_cast<const char*>(elements.data()), elements.size() * sizeof(elements[0]));
    };
    std::string sparse, graph;
    protozero::pbf_builder<onnx::SparseTensorField> fields(sparse);
    fields.add_bytes(onnx::SparseTensorField::values,
                     tensor(onnx::DataType::float32, "w", {static_cast<std::int64_t>(values.size())}, raw(values)));
    fields.add_bytes(onnx::SparseTensorField::indices, tensor(onnx::DataType::int64, "", of, raw(positions)));
    for (const std::int64_t dim : dims) fields.add_int64(onnx::SparseTensorField::dims, dim);
    if (is_constant) {
        std::string constant = node("", "Constant", {}, {"w"});
        protozero::pbf_builder<onnx::NodeField> of_node(constant);
        {
            protozero::pbf_builder<onnx::AttributeField> attribute(of_node, onnx::NodeField::attribute);
            attribute.add_bytes(onnx::AttributeField::name, "sparse_value");
            attribute.add_bytes(onnx::AttributeField::sparse_tensor, sparse);
            attribute.add_enum(onnx::AttributeField::type,
                               static_cast<std::int32_t>(onnx::AttributeType::sparse_tensor));
        }
        graph = field(onnx::GraphField::node, constant);
    } else {
        graph = field(onnx::GraphField::sparse_initializer, sparse);
    }
    const std::string model = Model({2, 3}).node("Mul", {"x", "w"}, {"y"}).bytes();
    std::string all;
    protozero::pbf_reader reader(model);
    protozero::pbf_builder<onnx::ModelField> whole(all);
    while (reader.next()) {
        const auto tag = static_cast<onnx::ModelField>(reader.tag());
        if (tag != onnx::ModelField::graph && tag != onnx::ModelField::opset_import) {
            reader.skip();
            continue;
        }
        const protozero::data_view view = reader.get_view();
        std::string bytes(view.data(), view.size());
        if (tag == onnx::ModelField::graph) bytes += graph;
        whole.add_bytes(tag, bytes);
    }
    return all;
}

}  // namespace

TEST_CASE("sparse tensors are read, by positions of elements or by an index for each axis") {
    const std::vector<float> x = numbers(6, 3);
    std::vector<double> expected(6, 0.0);
    expected[1] = 5.0 * static_cast<double>(x[1]), expected[5] = 7.0 * static_cast<double>(x[5]);
    for (const bool is_constant : {false, true}) {
        CHECK(is_close(run(parse(with_sparse({2, 3}, {5, 7}, {1, 5}, {2}, is_constant)), x), expected));
        CHECK(is_close(run(parse(with_sparse({2, 3}, {5, 7}, {0, 1, 1, 2}, {2, 2}, is_constant)), x), expected));
        for (Ints const& outside : {Ints{1, 6}, Ints{-1, 0}}) {
            CHECK(refusal(with_sparse({2, 3}, {5, 7}, outside, {2}, is_constant)).find("outside of 2x3") !=
                  std::string::npos);
        }
        // Its own axes are checked each.
        CHECK(refusal(with_sparse({2, 3}, {5, 7}, {0, 1, 0, 3}, {2, 2}, is_constant)).find("outside of 2x3") !=
              std::string::npos);
        CHECK(refusal(with_sparse({2, 3}, {5, 7}, {0, 1, 0}, {3}, is_constant)).find("2 values and positions of 3") !=
              std::string::npos);
        CHECK(refusal(with_sparse({1 << 20, 1 << 20}, {5}, {1}, {1}, is_constant)).find("bytes allowed") !=
              std::string::npos);
    }
}

}  // namespace import_functions
