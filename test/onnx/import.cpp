// Names, weights, batches, inputs and results of imported models, and what is refused.
#include "../io/scratch.hpp"
#include "imported.hpp"

#include <protozero/pbf_builder.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace imported {

TEST_CASE("layers have the names of their weights, or of their nodes, and their weights go with them") {
    const ps::OnnxModel model = parse(Model()
                                          .floats("stem.conv.weight", {2, 2, 1, 1}, {1, 2, 3, 4})
                                          .floats("stem.conv.bias", {2}, {5, 6})
                                          .floats("w", {2, 2, 1, 1}, {1, 2, 3, 4})
                                          .node("Conv", {"x", "stem.conv.weight", "stem.conv.bias"}, {"a"}, {}, "c1")
                                          .node("Conv", {"a", "w"}, {"b"}, {}, "c2")
                                          .node("Conv", {"b", "w"}, {"c"}, {}, "c2")
                                          .node("Relu", {"c"}, {"d"}, {}, "")
                                          .node("Relu", {"d"}, {"y"}, {}, "")
                                          .bytes());
    Strings names;
    for (ps::Node const& node : model.graph.nodes()) names.push_back(node.name);
    CHECK(names == Strings{"x", "stem.conv", "c2", "c2_1", "Relu_1", "Relu_2"});
    CHECK(model.weights.at("stem.conv.weight").dims == Ints{2, 2, 1, 1});
    CHECK(model.weights.at("stem.conv.bias").values[1] == 6.0F);
    CHECK(model.weights.at("c2.weight").values.data() == model.weights.at("c2_1.weight").values.data());
    CHECK(model.weights.find("c2.bias") == nullptr);
    CHECK(model.inputs.size() == 1);
    CHECK(model.inputs[0].name == "x");
    CHECK(model.outputs[0].name == "y");
    CHECK(model.outputs[0].dims == Ints{1, 2, 4, 4});
}

TEST_CASE("the newest versions of the operators mean the same") {
    const auto layers = [](int opset) {
        const ps::OnnxModel model = parse(Model({1, 2, 4, 4}, opset)
                                              .floats("w", {4, 2, 3, 3}, numbers(72))
                                              .integers("shape", {1, 4})
                                              .node("Conv", {"x", "w"}, {"a"})
                                              .node("MaxPool", {"a"}, {"b"}, {{"kernel_shape", Ints{2, 2}}})
                                              .node("HardSwish", {"b"}, {"c"})
                                              .node("Reshape", {"c", "shape"}, {"d"})
                                              .node("Identity", {"d"}, {"y"})
                                              .bytes());
        return run(model, numbers(32, 2));
    };
    for (int opset = 22; opset <= onnx::newest_opset; ++opset) CHECK(layers(opset) == layers(21));
}

TEST_CASE("names that are not UTF-8 become so") {
    const ps::OnnxModel model = parse(Model().node("Relu", {"x"}, {"y"}, {}, "caf\xe9").bytes());
    CHECK(model.graph[1].name == "caf?");
}

TEST_CASE("weights that are aligned in the file share its bytes, others are copied") {
    int shares = 0;
    for (const char* weight : {"w", "ww", "www", "wwww"}) {
        const ps::SharedBytes file =
            shared(Model().floats(weight, {2, 2, 1, 1}, {1, 2, 3, 4}).node("Conv", {"x", weight}, {"y"}).bytes());
        const ps::OnnxModel model = ps::parse_onnx("file", file);
        const auto* values = reinterpret_cast<const std::byte*>(model.weights.at("the node.weight").values.data());
        shares += values >= file.bytes.data() && values < file.bytes.data() + file.bytes.size() ? 1 : 0;
        CHECK(model.weights.at("the node.weight").values[3] == 4.0F);
    }
    // Each letter moves the values by a byte.
    CHECK(shares == 1);
}

TEST_CASE("batch and image size are as the file says, or as the options say where it leaves them open") {
    const auto file = [](Ints const& dims) { return Model(dims).node("GlobalAveragePool", {"x"}, {"y"}).bytes(); };
    const std::int64_t open = onnx::open_dimension;
    const auto shape = [&](Ints const& dims, ps::OnnxOptions const& options) {
        const ps::OnnxModel model = parse(file(dims), options);
        return ps::join(model.graph.batch(), "x", model.graph[0].shape, " ", ps::to_string(model.inputs[0].dims));
    };
    CHECK(shape({2, 3, 8, 9}, {}) == "2x3x8x9 2x3x8x9");
    CHECK(shape({open, 3, 8, 9}, {}) == "1x3x8x9 1x3x8x9");
    CHECK(shape({open, 3, 8, 9}, {.batch = 4}) == "4x3x8x9 4x3x8x9");
    CHECK(shape({open, 3, open, open}, {.batch = 4, .image = {5, 6}}) == "4x3x5x6 4x3x5x6");
    CHECK(shape({1, 3, 8, 9}, {.dims = {{"x", {5, 3, 4, 4}}}}) == "5x3x4x4 5x3x4x4");
    CHECK(refusal(file({open, 3, open, open})) ==
          "file: input x: the file leaves dimension 2 open; give OnnxOptions::image");
    CHECK(refusal(file({1, open, 8, 8})) == "file: input x: the file leaves dimension 1 open; give OnnxOptions::dims");
    CHECK(refusal(file({1, 3, 8, 9}), {.image = 8}) ==
          "file: input x: dimension 3 is 9 in the file, not 8; OnnxOptions::dims can change it");
    CHECK(shape({4, 3, 8, 9}, {.batch = 2}) == "2x3x8x9 2x3x8x9");
    CHECK(refusal(Model({4}).node("Relu", {"x"}, {"y"}).bytes(), {.batch = 2}).find("dimension 0 is 4 in the file") !=
          std::string::npos);
    CHECK(refusal(file({1, 3, 8, 9}), {.dims = {{"x", {5, 3, 4}}}}) == "file: input x has 4 dimensions, not 3");
    CHECK(!refusal(file({1, 3, 8, 9}), {.dims = {{"x", {-5, 3, 4, 4}}}}).empty());
}

TEST_CASE("the images of a batch stay apart where they can") {
    // Sizes that the network computes: rows of the batch times what is left.
    const std::string file = Model({onnx::open_dimension, 4, 3, 3})
                                 .floats("w", {4, 2, 1, 1}, numbers(8))
                                 .floats("b", {4}, numbers(4))
                                 .floats("fc", {36, 5}, numbers(180))
                                 .floats("row", {5}, numbers(5))
                                 .integers("zero", {0})
                                 .integers("rest", {-1})
                                 .node("Conv", {"x", "w", "b"}, {"c"}, {{"group", std::int64_t{2}}})
                                 .node("Shape", {"c"}, {"s"})
                                 .node("Gather", {"s", "zero"}, {"n"})
                                 .node("Concat", {"n", "rest"}, {"to"}, {{"axis", std::int64_t{0}}})
                                 .node("Reshape", {"c", "to"}, {"flat"})
                                 .node("MatMul", {"flat", "fc"}, {"m"}, {}, "fc")
                                 .node("Add", {"m", "row"}, {"a"})
                                 .node("Softmax", {"a"}, {"y"}, {{"axis", std::int64_t{1}}})
                                 .bytes();
    const std::vector<float> x = numbers(3 * 36, 5);
    const ps::OnnxModel three = parse(file, {.batch = 3}), one = parse(file);
    CHECK(three.graph.batch() == 3);
    CHECK(three.outputs[0].dims == Ints{3, 5});
    CHECK(kinds(three.graph) == kinds(one.graph));
    CHECK(kinds(ps::simplify(three.graph)) == Strings{"input", "conv", "dense", "softmax"});
    const std::vector<double> all = run(three, x);
    REQUIRE(all.size() == 15);
    for (std::size_t i = 0; i < 3; ++i) {
        const auto first = x.begin() + static_cast<std::ptrdiff_t>(36 * i);
        const auto from = all.begin() + static_cast<std::ptrdiff_t>(5 * i);
        CHECK(is_close(run(one, {first, first + 36}), {from, from + 5}));
        CHECK(std::abs(std::accumulate(from, from + 5, 0.0) - 1.0) < 1e-6);
    }
}

TEST_CASE("where images meet, the batch becomes an axis as any other") {
    // Reversed along the axis of the images.
    const ps::OnnxModel model = parse(Model({2, 3})
                                          .integers("starts", {-1})
                                          .integers("ends", {-3})
                                          .integers("axes", {0})
                                          .integers("steps", {-1})
                                          .node("Slice", {"x", "starts", "ends", "axes", "steps"}, {"y"})
                                          .bytes());
    CHECK(model.graph.batch() == 1);
    CHECK(model.outputs[0].dims == Ints{2, 3});
    CHECK(run(model, {1, 2, 3, 4, 5, 6}) == std::vector<double>{4, 5, 6, 1, 2, 3});
    // The same with steps that take nothing away would be one image as before.
    CHECK(parse(Model({2, 3}).node("Relu", {"x"}, {"y"}).bytes()).graph.batch() == 2);

    // A convolution sees each image by itself: together with the above it is refused, with both reasons.
    const std::string mixed = refusal(Model({2, 3, 4, 4})
                                          .floats("w", {1, 3, 1, 1}, {1, 2, 3})
                                          .node("Conv", {"x", "w"}, {"a"}, {}, "conv")
                                          .node("Softmax", {"a"}, {"y"}, {{"axis", std::int64_t{0}}}, "soft")
                                          .bytes());
    CHECK(mixed ==
          "file: node conv (Conv): needs separate images (the 2 images cannot run one by one: node soft "
          "(Softmax): it works along the axis of the images)");
    // An input that is one tensor for all images is told of, and what is told of works.
    const std::string one_for_all = Model({2, 3, 4, 4})
                                        .input("k", {1, 3, 1, 1})
                                        .floats("w", {1, 3, 1, 1}, {1, 2, 3})
                                        .node("Conv", {"x", "w"}, {"a"}, {}, "conv")
                                        .node("Conv", {"k", "w"}, {"b"}, {}, "gate")
                                        .node("Mul", {"a", "b"}, {"y"})
                                        .bytes();
    CHECK(refusal(one_for_all) ==
          "file: node conv (Conv): needs separate images (the 2 images cannot run one by one: node gate (Conv): a "
          "tensor of 1x3x1x1 has no leading axis of 2 images); input k is one tensor for all images: by "
          "OnnxOptions::dims k=2x3x1x1 it has one for each, and takes as many copies");
    CHECK(parse(one_for_all, {.dims = {{"k", {2, 3, 1, 1}}}}).graph.batch() == 2);
    // A constant that differs from image to image.
    CHECK(parse(Model({2, 3}).floats("k", {2, 3}, {1, 2, 3, 4, 5, 6}).node("Add", {"x", "k"}, {"y"}).bytes())
              .graph.batch() == 1);
    CHECK(parse(Model({2, 3}).floats("k", {2, 3}, {1, 2, 3, 1, 2, 3}).node("Add", {"x", "k"}, {"y"}).bytes())
              .graph.batch() == 2);
    CHECK(parse(Model({2, 3}).floats("k", {2, 1}, {1, 2}).node("Add", {"x", "k"}, {"y"}).bytes()).graph.batch() == 1);
}

TEST_CASE("matrix products of two tensors whose sizes look like a batch") {
    // 2 x 2 times 2 x 2: the rows of the second are no images.
    const ps::OnnxModel model = parse(Model({2, 2}).input("z", {2, 2}).node("MatMul", {"x", "z"}, {"y"}).bytes());
    CHECK(model.graph.batch() == 1);
    CHECK(model.inputs.size() == 2);
    CHECK(model.outputs[0].dims == Ints{2, 2});
    const ps::OnnxModel gemm = parse(Model({2, 2}).input("z", {2, 2}).node("Gemm", {"x", "z"}, {"y"}).bytes());
    CHECK(gemm.graph.batch() == 1);
}

TEST_CASE("values of inputs are constants for those who need one, and only for them") {
    const auto weight = ps::make_onnx_tensor("w", {2, 2, 1, 1}, std::vector<float>{1, 2, 3, 4});
    const std::string conv = Model().input("w", {2, 2, 1, 1}).node("Conv", {"x", "w"}, {"y"}).bytes();
    CHECK(parse(conv).graph.inputs().size() == 2);
    CHECK(refusal(Model().input("w", {2, 2, 1, 1}).node("ConvTranspose", {"x", "w"}, {"y"}).bytes()) ==
          "file: node the node (ConvTranspose): its weight (input w) must be known when the model is loaded: a "
          "constant, or given in OnnxOptions::values");
    const ps::OnnxModel model = parse(conv, {.values = {{"w", weight}}});
    CHECK(model.inputs.size() == 1);
    CHECK(model.graph.inputs().size() == 1);
    // Read as a tensor too, it stays an input.
    const ps::OnnxModel both = parse(Model({1, 2, 1, 1})
                                         .input("w", {2, 2, 1, 1})
                                         .node("Conv", {"x", "w"}, {"a"})
                                         .node("Relu", {"w"}, {"b"})
                                         .bytes_of({"a", "b"}),
                                     {.values = {{"w", weight}}});
    CHECK(both.inputs.size() == 2);
    CHECK(both.outputs[1].dims == Ints{2, 2, 1, 1});
    // A value of another type or size than it claims.
    const auto wrong = ps::make_onnx_tensor("w", {4}, Ints{1, 2, 3, 4});
    CHECK(refusal(conv, {.values = {{"w", wrong}}}) == "file: input w is of float32, its value of int64");
    ps::OnnxTensor short_one = weight;
    short_one.dims = {3, 2, 1, 1};
    CHECK(refusal(conv, {.values = {{"w", short_one}}}) == "file: input w: its value is misshapen");
    CHECK_THROWS_AS((void)ps::make_onnx_tensor("w", {3}, std::vector<float>{1}), ps::error);
}

TEST_CASE("outputs may be inputs, constants, each other, or without elements") {
    const ps::OnnxModel model = parse(Model({1, 2})
                                          .floats("k", {2}, {3, 4})
                                          .floats("nothing", {0, 2}, {})
                                          .node("Relu", {"x"}, {"y"})
                                          .node("Shape", {"x"}, {"s"})
                                          .bytes_of({"y", "x", "k", "y", "s", "nothing"}));
    CHECK(model.outputs.size() == 6);
    const auto outputs = model.graph.outputs();
    CHECK(outputs[0] == outputs[3]);
    CHECK(outputs[1] == model.graph.input());
    CHECK(kinds(model.graph) == Strings{"input", "relu", "constant", "constant", "constant"});
    CHECK(model.outputs[4].dims == Ints{2});
    CHECK(model.outputs[5].dims == Ints{0, 2});
    CHECK(model.weights.at(model.graph[outputs[4]].name + ".value").values[1] == 2.0F);
    // Inputs that nothing reads are none of the graph's.
    const ps::OnnxModel unused = parse(Model({1, 2}).input("z", {1, 2}).node("Relu", {"z"}, {"y"}).bytes());
    REQUIRE(unused.inputs.size() == 1);
    CHECK(unused.inputs[0].name == "z");
    // Inputs come in the order of the file, whatever reads them first.
    const ps::OnnxModel swapped = parse(Model({1, 2}).input("z", {1, 2}).node("Sub", {"z", "x"}, {"y"}).bytes());
    CHECK(swapped.inputs[0].name == "x");
    CHECK(swapped.graph[swapped.graph.inputs()[0]].name == "x");
}

TEST_CASE("refusals name the node, its operator and the reason") {
    const auto message = [](Model& model) { return refusal(model.bytes()); };
    CHECK(message(Model({1, 2, 3, 3, 3}).floats("w", {1, 2, 1, 1, 1}, {1, 2}).node("Conv", {"x", "w"}, {"y"})) ==
          "file: node the node (Conv): on a tensor of 5 dimensions; images have 4 (n, c, h, w) or 3 (n, c, l)");
    CHECK(message(Model().floats("w", {1, 3, 1, 1}, {1, 2, 3}).node("Conv", {"x", "w"}, {"y"})) ==
          "file: node the node (Conv): a weight of 1x3x1x1 with 1 groups for 2 channels");
    CHECK(message(Model().floats("w", {1, 2, 5, 5}, numbers(50)).node("Conv", {"x", "w"}, {"y"})) ==
          "file: node the node (Conv): conv on 2x4x4: the kernel is larger than the padded input");
    CHECK(message(Model().node("Scan", {"x"}, {"y"})) == "file: unsupported operators: Scan (node the node)");
    CHECK(message(Model().node("Scan", {"x"}, {"y"}, {}, "")) == "file: unsupported operators: Scan (node y)");
    // All of them that the result needs.
    CHECK(message(Model()
                      .node("Scan", {"x"}, {"a"}, {}, "one")
                      .node("Det", {"a"}, {"b"}, {}, "")
                      .node("Scan", {"b"}, {"c"}, {}, "two")
                      .node_of("elsewhere", "Odd", {"c"}, {"y"})
                      .node("Loop", {"x"}, {"unread"})) ==
          "file: unsupported operators: Det (node b), Scan (2 nodes, the first is one), elsewhere.Odd (node the "
          "node)");
    CHECK(message(Model().node("Relu", {"x"}, {"z", "y"})) ==
          "file: node the node (Relu): its output y is not supported");
    CHECK(message(Model().node("Softmax", {"x"}, {"y"}, {{"axis", std::int64_t{4}}})) ==
          "file: node the node (Softmax): axis 4 of a tensor of 4 dimensions");
    CHECK(message(Model().node("LeakyRelu", {"x"}, {"y"}, {{"alpha", std::int64_t{1}}})) ==
          "file: node the node (LeakyRelu): its attribute alpha is of another type than the standard's");
    CHECK(message(Model().node("MaxPool", {"x"}, {"y"})) == "file: node the node (MaxPool): without a kernel_shape");
}

TEST_CASE("numbers of every type are read from either of their places") {
    const auto tensor = [](onnx::DataType type, Ints const& dims, auto const& fill) {
        std::string text;
        protozero::pbf_builder<onnx::TensorField> builder(text);
        for (const std::int64_t dim : dims) builder.add_int64(onnx::TensorField::dims, dim);
        builder.add_int32(onnx::TensorField::data_type, static_cast<std::int32_t>(type));
        fill(builder);
        return ps::parse_onnx_tensor("file", shared(text));
    };
    const auto raw = [](auto const&... values) {
        return [=](auto& builder) {
            std::string bytes;
            (bytes.append(reinterpret_cast<const char*>(&values), sizeof(values)), ...);
            builder.add_bytes(onnx::TensorField::raw_data, bytes);
        };
    };
    using onnx::DataType;
    CHECK(tensor(DataType::float32, {2}, raw(1.5F, -2.0F)).floats[1] == -2.0F);
    CHECK(tensor(DataType::float64, {2}, raw(1.5, 1e300)).floats[0] == 1.5F);
    CHECK(tensor(DataType::float64, {2}, raw(1.5, 1e300)).floats[1] == std::numeric_limits<float>::infinity());
    CHECK(tensor(DataType::float16, {2}, raw(std::uint16_t{0x3c00}, std::uint16_t{0xc000})).floats[1] == -2.0F);
    CHECK(tensor(DataType::bfloat16, {1}, raw(std::uint16_t{0x3fc0})).floats[0] == 1.5F);
    CHECK(tensor(DataType::int8, {2}, raw(std::int8_t{-3}, std::int8_t{4})).integers[0] == -3);
    CHECK(tensor(DataType::uint8, {1}, raw(std::uint8_t{253})).integers[0] == 253);
    CHECK(tensor(DataType::boolean, {1}, raw(std::uint8_t{1})).integers[0] == 1);
    CHECK(tensor(DataType::int16, {1}, raw(std::int16_t{-300})).integers[0] == -300);
    CHECK(tensor(DataType::int32, {1}, raw(std::int32_t{-70000})).integers[0] == -70000);
    CHECK(tensor(DataType::uint32, {1}, raw(std::uint32_t{4000000000U})).integers[0] == 4000000000);
    CHECK(tensor(DataType::int64, {1}, raw(std::int64_t{-5})).integers[0] == -5);
    // Lists of their type, packed or one by one.
    CHECK(tensor(DataType::float32, {2}, [](auto& builder) {
              builder.add_float(onnx::TensorField::float_data, 1.0F);
              builder.add_float(onnx::TensorField::float_data, 2.0F);
          }).floats[1] == 2.0F);
    CHECK(tensor(DataType::float64, {2}, [](auto& builder) {
              const double values[] = {1, 2};
              builder.add_packed_double(onnx::TensorField::double_data, std::begin(values), std::end(values));
          }).floats[1] == 2.0F);
    CHECK(tensor(DataType::float16, {1}, [](auto& builder) {
              builder.add_int32(onnx::TensorField::int32_data, 0x3c00);
          }).floats[0] == 1.0F);
    CHECK(tensor(DataType::int8, {2}, [](auto& builder) {
              const std::int32_t values[] = {-1, 7};
              builder.add_packed_int32(onnx::TensorField::int32_data, std::begin(values), std::end(values));
          }).integers[0] == -1);
    // Two elements a byte, raw or in a list of bytes.
    for (const DataType type : {DataType::int4, DataType::uint4}) {
        const ps::OnnxTensor one = tensor(type, {3}, raw(std::uint8_t{0x2f}, std::uint8_t{0x08}));
        const ps::OnnxTensor other = tensor(type, {3}, [](auto& builder) {
            const std::int32_t values[] = {0x2f, 0x08};
            builder.add_packed_int32(onnx::TensorField::int32_data, std::begin(values), std::end(values));
        });
        const Ints right = type == DataType::int4 ? Ints{-1, 2, -8} : Ints{15, 2, 8};
        CHECK(Ints(one.integers.begin(), one.integers.end()) == right);
        CHECK(Ints(other.integers.begin(), other.integers.end()) == right);
    }
    CHECK(tensor(DataType::int64, {0}, [](auto&) {}).integers.empty());
    CHECK(tensor(DataType::float32, {}, raw(3.0F)).floats[0] == 3.0F);
    CHECK_THROWS_AS((void)ps::parse_onnx_tensor("file", shared("\x0a\xff")), ps::error);
}

namespace {
/// A model with a weight in weights.bin.
std::string with_data_beside(std::string const& checksum = "") {
    std::string text = Model({1, 2, 1, 1}).node("Conv", {"x", "w"}, {"y"}).bytes();
    std::string tensor, graph;
    protozero::pbf_builder<onnx::TensorField> builder(tensor);
    builder.add_string(onnx::TensorField::name, "w");
    for (const std::int64_t dim : {2, 2, 1, 1}) builder.add_int64(onnx::TensorField::dims, dim);
    builder.add_int32(onnx::TensorField::data_type, static_cast<std::int32_t>(onnx::DataType::float32));
    builder.add_enum(onnx::TensorField::data_location, static_cast<std::int32_t>(onnx::DataLocation::external));
    std::vector<std::pair<std::string, std::string>> entries{
        {"location", "weights.bin"}, {"offset", "4"}, {"length", "16"}};
    if (!checksum.empty()) entries.emplace_back("checksum", checksum);
    for (auto const& [key, value] : entries) {
        std::string entry;
        protozero::pbf_builder<onnx::StringStringEntryField> fields(entry);
        fields.add_string(onnx::StringStringEntryField::key, key);
        fields.add_string(onnx::StringStringEntryField::value, value);
        builder.add_message(onnx::TensorField::external_data, entry);
    }
    // The graph is the model's last field: it grows by the initializer.
    const onnx::ModelProto before = onnx::read_model(text);
    CHECK(before.initializers.empty());
    for (onnx::Message<onnx::ModelField> message(text); message.next();) {
        if (message.field() == onnx::ModelField::graph)
            graph = std::string(message.bytes());
        else
            message.skip();
    }
    protozero::pbf_builder<onnx::GraphField>(graph).add_message(onnx::GraphField::initializer, tensor);
    std::string model, opset;
    protozero::pbf_builder<onnx::OperatorSetIdField>(opset).add_int64(onnx::OperatorSetIdField::version, 13);
    protozero::pbf_builder<onnx::ModelField> file(model);
    file.add_message(onnx::ModelField::graph, graph);
    file.add_message(onnx::ModelField::opset_import, opset);
    return model;
}
}  // namespace

TEST_CASE("data beside the model are read from its folder") {
    const scratch::Folder folder;
    const std::vector<float> values{1, 2, 3, 4};
    const std::span<const std::byte> parts[] = {std::as_bytes(std::span("skip")).first(4),
                                                std::as_bytes(std::span(values))};
    ps::write_file(folder.file("weights.bin"), parts);
    const std::string model = with_data_beside();
    ps::write_file(folder.file("model.onnx"), model);

    const ps::OnnxModel loaded = ps::load_onnx(folder.file("model.onnx"));
    CHECK(run(loaded, {1, 10}) == std::vector<double>{21, 43});
    CHECK_THROWS_AS((void)ps::parse_onnx("file", shared(model)), ps::error);
}

TEST_CASE("links to data may lead to where the model's own link leads, as in the hub's cache") {
    namespace fs = std::filesystem;
    const scratch::Folder folder;
    for (const char* name : {"blobs", "snapshot", "elsewhere"}) fs::create_directory(folder.file(name));
    const std::string data(20, '\0');
    ps::write_file(folder.file("blobs/a"), with_data_beside());
    ps::write_file(folder.file("blobs/b"), data);
    ps::write_file(folder.file("elsewhere/b"), data);
    const std::string model = folder.file("snapshot/model.onnx"), weights = folder.file("snapshot/weights.bin");
    fs::create_symlink("../blobs/a", model);
    fs::create_symlink("../blobs/b", weights);
    CHECK(scratch::error_of([&] { (void)ps::load_onnx(model); }).empty());
    fs::remove(weights);
    fs::create_symlink("../elsewhere/b", weights);
    const std::string message = scratch::error_of([&] { (void)ps::load_onnx(model); });
    CHECK(message.find("leads away from the model, to ") != std::string::npos);
    CHECK(message.find("where the model's own file is a link to") != std::string::npos);
    // A model that is no link has none of its own.
    fs::remove(weights);
    fs::create_symlink("../blobs/b", weights);
    fs::remove(model);
    ps::write_file(model, with_data_beside());
    CHECK(scratch::error_of([&] { (void)ps::load_onnx(model); }).find("leads away") != std::string::npos);
}

TEST_CASE("data beside the model are those of which the model states the checksum") {
    const scratch::Folder folder;
    const std::string path = folder.file("model.onnx"), beside = folder.file("weights.bin");
    const std::string data(20, '\0');
    ps::write_file(beside, data);
    std::string digest = ps::sha1(std::as_bytes(std::span(data)));
    const auto refusal_of = [&](std::string const& checksum) {
        ps::write_file(path, with_data_beside(checksum));
        return scratch::error_of([&] { (void)ps::load_onnx(path); });
    };
    CHECK(digest == "6768033e216468247bd031a0a2d9876d79818f8f");
    CHECK(refusal_of(digest).empty());
    CHECK(refusal_of("6768033E216468247BD031A0A2D9876D79818F8F").empty());
    CHECK(
        refusal_of("7768033e216468247bd031a0a2d9876d79818f8f")
            .ends_with("tensor w: its data are in weights.bin, which is another file than the model's: its SHA-1 is " +
                       digest + ", not 7768033e216468247bd031a0a2d9876d79818f8f"));
    CHECK_FALSE(refusal_of(digest.substr(1)).empty());
    ps::write_file(beside, data + "1");
    CHECK_FALSE(refusal_of(digest).empty());
    ps::write_file(beside, std::string_view("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 20\n"));
    CHECK(refusal_of("").find("which is a Git LFS pointer") != std::string::npos);
}

TEST_CASE("elements of four bits") {
    const auto tensor = [](onnx::DataType type, std::string const& raw, std::int64_t count) {
        std::string bytes;
        protozero::pbf_builder<onnx::TensorField> builder(bytes);
        builder.add_int64(onnx::TensorField::dims, count);
        builder.add_int32(onnx::TensorField::data_type, static_cast<std::int32_t>(type));
        builder.add_bytes(onnx::TensorField::raw_data, raw);
        const ps::OnnxTensor read = ps::parse_onnx_tensor("file", shared(bytes));
        return Ints(read.integers.begin(), read.integers.end());
    };
    CHECK(tensor(onnx::DataType::int4, "\x71\xf8", 4) == Ints{1, 7, -8, -1});
    CHECK(tensor(onnx::DataType::uint4, "\x71\x0f", 3) == Ints{1, 7, 15});
    CHECK(scratch::error_of([&] {
              (void)tensor(onnx::DataType::int4, "\x71", 3);
          }).find("1 bytes cannot fill 3 of int4") != std::string::npos);
    CHECK(scratch::error_of([&] {
              (void)tensor(static_cast<onnx::DataType>(23), "\x71", 2);
          }).find("elements of float4e2m1 are not supported") != std::string::npos);
}

TEST_CASE("files of another format") {
    CHECK(refusal("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1845\n")
              .starts_with("file: not an ONNX model: it is a Git LFS pointer"));
    CHECK(refusal("<!DOCTYPE html>").starts_with("file: not an ONNX model: it is an HTML page"));
}

TEST_CASE("a model's file that is cut, overwritten, replaced or removed before its weights are packed") {
    const scratch::Folder folder;
    const std::string path = folder.file("model.onnx");
    std::vector<float> many(64 * 64 * 9);
    for (std::size_t i = 0; i < many.size(); ++i) many[i] = static_cast<float>(i % 7) - 3.0F;
    const std::string bytes = Model()
                                  .floats("few", {64, 2, 1, 1}, std::vector<float>(128, 0.5F))
                                  .floats("many", {64, 64, 3, 3}, many)
                                  .node("Conv", {"x", "few"}, {"a"})
                                  .node("Conv", {"a", "many"}, {"y"})
                                  .bytes();
    const auto loaded = [&] {
        ps::write_file(path, bytes);
        return ps::load_onnx(path);
    };
    const ps::OnnxModel whole = ps::parse_onnx("file", shared(bytes));
    const auto last_of = [](ps::OnnxModel const& model) {
        std::vector<float> values;
        for (auto const& [name, tensor] : model.weights) {
            values.resize(values.size() + 10);
            tensor.values.read(tensor.values.size() - 10, std::span(values).last(10));
        }
        return values;
    };
    const std::string reason = path + ": was changed while it was in use";
    for (const std::uintmax_t size : {std::size_t{0}, bytes.size() / 2, bytes.size() - 1, bytes.size() + 1}) {
        const ps::OnnxModel model = loaded();
        std::filesystem::resize_file(path, size);
        CHECK(scratch::error_of([&] { (void)last_of(model); }) == reason);
    }
    const ps::OnnxModel overwritten = loaded();
    scratch::write(path, bytes + "1");
    CHECK(scratch::error_of([&] { (void)last_of(overwritten); }) == reason);
    const ps::OnnxModel replaced = loaded();
    ps::write_file(path, "another");
    CHECK(last_of(replaced) == last_of(whole));
    const ps::OnnxModel removed = loaded();
    std::filesystem::remove(path);
    CHECK(last_of(removed) == last_of(whole));
}

TEST_CASE("results know their type") {
    const ps::OnnxModel whole = parse(
        Model().node("Cast", {"x"}, {"i"}, {{"to", std::int64_t{7}}}).node("Div", {"i", "i"}, {"y"}, {}, "").bytes());
    CHECK(ps::layer_kind(whole.graph[whole.graph.outputs()[0]].layer) ==
          "truncate");  // whole numbers are divided as such
    CHECK(kinds_of(whole) == Kinds{"input", "truncate", "divide", "truncate"});
}

}  // namespace imported
