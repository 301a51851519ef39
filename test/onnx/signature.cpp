// A model that is read, written and read again looks from outside as it did, and computes the same.
#include "imported.hpp"

#include <primsel/network/simplify.hpp>
#include <primsel/onnx/export.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace imported {

namespace {

using onnx::DataType;
constexpr std::int64_t open = onnx::open_dimension;

/// A tensor as a file declares it.
struct Declared {
    std::string name;
    DataType type;
    Ints dims;
    std::string batch;
};

/// A model whose nodes read "x" and whatever else is declared.
struct File : Model {
    explicit File(std::vector<Declared> const& inputs, int opset = 17) : Model(writer_only, opset) {
        for (Declared const& in : inputs) writer.value(onnx::GraphField::input, in.name, in.type, in.dims, in.batch);
    }
    [[nodiscard]] std::string with(std::vector<Declared> const& outputs,
                                   std::vector<std::pair<std::string, std::string>> const& metadata = {}) {
        for (Declared const& out : outputs) {
            writer.value(onnx::GraphField::output, out.name, out.type, out.dims, out.batch);
        }
        return writer.finish(metadata);
    }
};

/// All results of a model for images that are the same each time.
std::vector<std::vector<double>> results(ps::OnnxModel const& model) {
    const ps::Graph graph = ps::simplify(model.graph);
    std::vector<Image> images;
    for (ps::Node const& node : graph.nodes()) {
        std::vector<Image> inputs;
        for (const std::size_t input : node.inputs) inputs.push_back(images[input]);
        if (std::holds_alternative<ps::InputParams>(node.layer)) {
            Image image(node.shape);
            const std::vector<float> values = numbers(node.shape.size(), 3);
            for (std::size_t i = 0; i < values.size(); ++i) image.data[i] = static_cast<double>(values[i]);
            images.push_back(image);
        } else {
            images.push_back(evaluate::layer(node, inputs, model.weights));
        }
    }
    std::vector<std::vector<double>> outputs;
    for (const std::size_t output : graph.outputs()) {
        outputs.emplace_back(images[output].data.begin(), images[output].data.end());
    }
    return outputs;
}

void check_survives(std::string const& bytes, ps::OnnxExportOptions options = {}) {
    const ps::OnnxModel model = parse(bytes);
    options.signature = model;
    for (const bool simple : {false, true}) {
        const ps::Graph graph = simple ? ps::simplify(model.graph) : model.graph;
        const ps::OnnxModel again = parse(ps::to_onnx(graph, model.weights, options));
        const ps::OnnxSignature before = model, after = again;
        for (std::size_t i = 0; i < before.inputs.size(); ++i) CHECK(before.inputs[i].name == after.inputs[i].name);
        for (std::size_t i = 0; i < before.outputs.size(); ++i) {
            CHECK(before.outputs[i].name == after.outputs[i].name);
            CHECK(ps::to_string(before.outputs[i].dims) == ps::to_string(after.outputs[i].dims));
            CHECK(ps::to_string(before.outputs[i].type) == ps::to_string(after.outputs[i].type));
        }
        CHECK((before == after));
        CHECK(results(model) == results(again));
    }
}

}  // namespace

TEST_CASE("names, types and dimensions survive reading and writing") {
    const Ints flat{2, 12};
    for (Ints const& dims :
         {Ints{1, 2, 3, 4}, Ints{1, 6, 4}, Ints{2, 12}, Ints{24}, Ints{1, 24}, Ints{1, 2, 3, 2, 2}}) {
        for (const DataType type : {DataType::float32, DataType::float16, DataType::float64}) {
            CAPTURE(ps::to_string(dims));
            CAPTURE(ps::to_string(type));
            // The layer has the name of the result, of the input, or one of its own.
            for (const char* name : {"y", "x", "relu"}) {
                File file({{"x", type, dims, ""}});
                file.node("Relu", {"x"}, {"y"}, {}, name);
                check_survives(file.with({{"y", type, dims, ""}}));
            }
            File other({{"x", type, dims, ""}});
            other.integers("shape", flat).node("Relu", {"x"}, {"r"}).node("Reshape", {"r", "shape"}, {"scores"});
            check_survives(other.with({{"scores", type, flat, ""}}));
        }
    }
}

TEST_CASE("an open batch keeps its name, where inputs and results have one") {
    for (const std::string batch : {"N", ""}) {
        for (Ints const& dims : {Ints{open, 2, 3, 4}, Ints{open, 6, 4}, Ints{open, 24}}) {
            File file({{"x", DataType::float32, dims, batch}});
            file.node("Relu", {"x"}, {"y"});
            check_survives(file.with({{"y", DataType::float32, dims, batch}}));
        }
    }
    // A result without the batch: then it is fixed.
    File file({{"x", DataType::float32, {open, 2, 3, 4}, "N"}});
    file.integers("shape", {6, 4}).node("Reshape", {"x", "shape"}, {"y"});
    ps::OnnxModel model = parse(file.with({{"y", DataType::float32, {6, 4}, ""}}));
    CHECK(model.inputs[0].open_batch == "N");
    model = parse(ps::to_onnx(model.graph, model.weights, {.signature = model}));
    CHECK_FALSE(model.inputs[0].open_batch);
    CHECK(model.inputs[0].dims == Ints{1, 2, 3, 4});
    CHECK(model.outputs[0].dims == Ints{6, 4});
}

TEST_CASE("results that are inputs, constants, given twice, whole numbers or nothing; inputs that nothing reads") {
    const DataType f = DataType::float32;
    File same({{"x", f, {1, 4}, ""}});
    same.node("Relu", {"x"}, {"y"}).node("Identity", {"y"}, {"z"}).node("Identity", {"x"}, {"same"});
    check_survives(same.with({{"y", f, {1, 4}, ""}, {"z", f, {1, 4}, ""}, {"same", f, {1, 4}, ""}}));

    File passed({{"x", DataType::float16, {1, 4}, ""}});
    passed.node("Relu", {"x"}, {"y"});
    check_survives(passed.with({{"x", DataType::float16, {1, 4}, ""}, {"y", DataType::float16, {1, 4}, ""}}));

    File top({{"x", f, {1, 3, 5}, ""}});
    top.integers("k", {2}).node("TopK", {"x", "k"}, {"values", "places"});
    check_survives(top.with({{"values", f, {1, 3, 2}, ""}, {"places", DataType::int64, {1, 3, 2}, ""}}));

    File logic({{"x", f, {1, 4}, ""}, {"z", f, {1, 4}, ""}});
    logic.node("Greater", {"x", "z"}, {"more"}).node("ArgMax", {"x"}, {"first"}, {{"axis", std::int64_t{1}}});
    check_survives(logic.with({{"more", DataType::boolean, {1, 4}, ""}, {"first", DataType::int64, {1, 1}, ""}}));

    File constant({{"x", f, {1, 4}, ""}});
    constant.floats("c", {1, 4}, {1, 2, 3, 4}).node("Relu", {"x"}, {"y"}).node("Identity", {"c"}, {"k"});
    check_survives(constant.with({{"y", f, {1, 4}, ""}, {"k", f, {1, 4}, ""}}));

    File number({{"x", f, {3}, ""}});
    number.node("ReduceSum", {"x"}, {"y"}, {{"keepdims", std::int64_t{0}}});
    check_survives(number.with({{"y", f, {}, ""}}));

    File nothing({{"x", f, {10}, ""}});
    nothing.integers("five", {5}).node("Slice", {"x", "five", "five"}, {"y"});
    check_survives(nothing.with({{"y", f, {}, ""}}));

    File unread({{"x", f, {1, 4}, ""}, {"mask", DataType::int64, {1, open}, ""}});
    unread.node("Relu", {"x"}, {"y"});
    const std::string bytes = unread.with({{"y", f, {1, 4}, ""}}, {{"names", "{0: 'cat'}"}, {"stride", "32"}});
    check_survives(bytes);
    const ps::OnnxModel model = parse(bytes);
    CHECK(model.unread == std::vector<ps::OnnxValueInfo>{{"mask", {1, open}, DataType::int64}});
    CHECK(model.metadata.size() == 2);
}

TEST_CASE("other open sizes keep their names, and stay open where the file is the same for every size") {
    const std::vector<std::string> names{"N", "", "H", "W"};
    const auto file = [&](auto const& layers) {
        File made({});
        made.writer.value(onnx::GraphField::input, "x", DataType::float32, Ints{open, 2, open, open}, names);
        layers(made);
        made.writer.value(onnx::GraphField::output, "y", DataType::float32, Ints{open, 2, open, open}, names);
        return made.writer.finish();
    };
    const auto at = [](std::string const& bytes, ps::Extent size, bool open_sizes) {
        const ps::OnnxModel model = parse(bytes, {.image = size});
        return ps::to_onnx(model.graph, model.weights, {.open_sizes = open_sizes, .signature = model});
    };
    const std::string resized = file([](File& made) {
        made.node("Relu", {"x"}, {"r"})
            .floats("factors", {4}, {1, 1, 2, 3})
            .node("Resize", {"r", "", "factors"}, {"y"});
    });
    const std::map<std::size_t, std::string> sizes{{2, "H"}, {3, "W"}};
    const ps::OnnxModel model = parse(resized, {.image = {4, 6}});
    CHECK(model.inputs[0].open_sizes == sizes);
    CHECK(model.outputs[0].open_sizes == sizes);
    CHECK(model.outputs[0].dims == Ints{1, 2, 8, 18});
    CHECK(at(resized, {4, 6}, true) == at(resized, {8, 9}, true));
    const std::string written = at(resized, {4, 6}, true);
    const ps::OnnxModel again = parse(written, {.image = {5, 7}});
    CHECK(again.inputs[0].open_batch == "N");
    CHECK(again.outputs[0].open_sizes == sizes);
    CHECK(again.outputs[0].dims == Ints{1, 2, 10, 21});
    // Unless it is asked for, sizes are those of loading.
    CHECK(parse(at(resized, {4, 6}, false)).inputs[0].dims == Ints{1, 2, 4, 6});
    // One that depends on the size gives other files.
    const std::string fixed = file([](File& made) {
        made.integers("sizes", {1, 2, 12, 12}).node("Resize", {"x", "", "", "sizes"}, {"y"});
    });
    CHECK(at(fixed, {4, 4}, true) != at(fixed, {8, 8}, true));
}

TEST_CASE("a signature of another graph is refused") {
    ps::Graph graph;
    const std::size_t x = graph.add("x", ps::InputParams{{.c = 2, .h = 1, .w = 1}}, {});
    graph.add("y", ps::ActivationParams{}, {x});
    const auto refused = [&](ps::OnnxSignature const& signature) {
        try {
            (void)ps::to_onnx(graph, {}, {.signature = signature});
            return std::string();
        } catch (ps::error const& fault) {
            return std::string(fault.what());
        }
    };
    CHECK(refused({.inputs = {}, .outputs = {{"y", {1, 2}}}, .unread = {}, .metadata = {}}) ==
          "ONNX export: the signature has 0 inputs, the graph 1");
    CHECK(refused({.inputs = {{"x", {1, 2}}}, .outputs = {{"y", {1, 3}}}, .unread = {}, .metadata = {}}) ==
          "ONNX export: layer y has 1 x 2x1x1, which is not 1x3 of y");
}

}  // namespace imported
