// Branches, with a condition that is known or computed.
#include "imported.hpp"

#include <protozero/pbf_builder.hpp>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace imported {

namespace {

/// The bytes of the graph in those of a model.
std::string graph_of(std::string const& model) {
    protozero::pbf_reader reader(model);
    while (reader.next()) {
        if (reader.tag() == static_cast<protozero::pbf_tag_type>(onnx::ModelField::graph)) {
            const protozero::data_view view = reader.get_view();
            return {view.data(), view.size()};
        }
        reader.skip();
    }
    return {};
}
/// A model of the graph in another, with an If in front of all its nodes.
std::string with_if(std::string const& model, std::string const& condition, std::string const& result,
                    std::string const& yes, std::string const& no) {
    std::string graph = graph_of(model), node;
    protozero::pbf_builder<onnx::NodeField> fields(node);
    fields.add_bytes(onnx::NodeField::input, condition);
    fields.add_bytes(onnx::NodeField::output, result);
    fields.add_bytes(onnx::NodeField::name, "if");
    fields.add_bytes(onnx::NodeField::op_type, "If");
    for (auto const& [name, branch] : {std::pair{"then_branch", yes}, {"else_branch", no}}) {
        protozero::pbf_builder<onnx::AttributeField> attribute(fields, onnx::NodeField::attribute);
        attribute.add_bytes(onnx::AttributeField::name, name);
        attribute.add_bytes(onnx::AttributeField::g, branch);
    }
    std::string all, opset;
    protozero::pbf_builder<onnx::OperatorSetIdField>(opset).add_int64(onnx::OperatorSetIdField::version, 13);
    protozero::pbf_builder<onnx::GraphField>(graph).add_bytes(onnx::GraphField::node, node);
    protozero::pbf_builder<onnx::ModelField> whole(all);
    whole.add_bytes(onnx::ModelField::opset_import, opset);
    whole.add_bytes(onnx::ModelField::graph, graph);
    return all;
}
/// One that makes `result` of a value around it.
std::string branch_of(std::string_view op, std::string const& source, std::string const& result) {
    return graph_of(Model().input("z", {1}).node(op, {source}, {result}, {}, std::string(op)).bytes(result));
}

}  // namespace

TEST_CASE("of an If, the branch that is taken stands in its place") {
    // r comes from around the branches; both call their result z. Their names do not meet those of the other.
    for (const bool taken : {false, true}) {
        Model around;
        around.integers("c", {taken ? 1 : 0}).node("Relu", {"x"}, {"r"}).node("Tanh", {"i"}, {"y"});
        const std::string bytes =
            with_if(around.bytes(), "c", "i", branch_of("Exp", "r", "z"), branch_of("Abs", "r", "z"));
        const ps::OnnxModel model = parse(bytes);
        CHECK(kinds_of(model) == Kinds{"input", "relu", taken ? "exp" : "abs", "tanh"});
    }
    // A branch within a branch.
    const auto inner = [](std::string const& op) {
        return graph_of(with_if(Model().input("z", {1}).integers("d", {0}).bytes("deep"), "d", "deep",
                                branch_of("LSTM", "r", "z"), branch_of(op, "r", "z")));
    };
    const std::string nested =
        with_if(Model().integers("c", {1}).node("Relu", {"x"}, {"r"}).bytes("i"), "c", "i", inner("Exp"), inner("Abs"));
    CHECK(kinds_of(parse(nested)) == Kinds{"input", "relu", "exp"});
}

TEST_CASE("of an If whose condition is computed, the result is that of the branch that would be taken") {
    // The condition: whether the sum is positive.
    const auto model = [](std::string const& yes, std::string const& no) {
        Model around({1, 3});
        around.floats("zero", {}, {0}).node("ReduceSum", {"x"}, {"sum"}, {{"keepdims", std::int64_t{0}}});
        around.node("Greater", {"sum", "zero"}, {"c"}).node("Neg", {"i"}, {"y"});
        return with_if(around.bytes(), "c", "i", yes, no);
    };
    // Its inputs are from around the branches; a NaN or infinity of the other branch is not in the result.
    const ps::OnnxModel parsed = parse(model(branch_of("Abs", "x", "z"), branch_of("Reciprocal", "x", "z")));
    CHECK(parsed.outputs[0].dims == Ints{1, 3});
    CHECK(run(parsed, {3, 0, -2}) == Line{-3, 0, -2});
    CHECK(run(parsed, {-4, 1, 2}) == Line{0.25, -1, -0.5});
    // Tensors of five axes, too.
    Model deep({1, 2, 1, 2, 1});
    deep.floats("zero", {}, {0}).node("ReduceSum", {"x"}, {"sum"}, {{"keepdims", std::int64_t{0}}});
    deep.node("Greater", {"sum", "zero"}, {"c"}).node("Neg", {"i"}, {"y"});
    const ps::OnnxModel of_five =
        parse(with_if(deep.bytes(), "c", "i", branch_of("Abs", "x", "z"), branch_of("Floor", "x", "z")));
    CHECK(of_five.outputs[0].dims == Ints{1, 2, 1, 2, 1});
    CHECK(run(of_five, {3, -1, -2, 1}) == Line{-3, -1, -2, -1});
    CHECK(run(of_five, {-4.5, 1, -2, 1}) == Line{5, -1, 2, -1});
    CHECK(refusal(model(branch_of("Abs", "x", "z"), branch_of("Abs", "sum", "z"))) ==
          "file: node if (If): its branches give 1x3 of float32 and scalar of float32, and which one is taken is not "
          "known when the model is loaded");
    CHECK(refusal(model(branch_of("Abs", "x", "z"), branch_of("Det", "x", "z"))) ==
          "file: node if (If): unsupported operators: Det (node Det)");
}

TEST_CASE("the branch of an If is refused by its node") {
    const auto refused = [](std::string const& yes) {
        return refusal(with_if(Model().integers("c", {1}).bytes("i"), "c", "i", yes, yes));
    };
    CHECK(refused(branch_of("Det", "x", "z")) == "file: node if (If): unsupported operators: Det (node Det)");
    CHECK(refused(branch_of("Exp", "nothing", "z")) ==
          "file: node if (If): node Exp (Exp): its input nothing is defined nowhere");
    CHECK(refused(graph_of(Model().node("Exp", {"x"}, {"u"}).bytes_of({"u", "u"}))) ==
          "file: node if (If): its then_branch has another number of outputs");
    // Deeper than anyone needs.
    std::string deep = branch_of("Exp", "x", "z");
    for (int i = 0; i < 40; ++i) {
        deep = graph_of(with_if(Model().input("z", {1}).integers("c", {1}).bytes("i"), "c", "i", deep, ""));
    }
    CHECK(refused(deep) == "file: subgraphs within more than 16 others");
}

}  // namespace imported
