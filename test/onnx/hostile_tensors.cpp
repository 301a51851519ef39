// Tensors that are not as large as the file says, larger than it justifies, or elsewhere.
#include "../io/scratch.hpp"
#include "hostile.hpp"

#include <doctest/doctest.h>

#include <primsel/io/file.hpp>

#include <protozero/pbf_builder.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace ps = primsel;
namespace onnx = primsel::onnx;
using namespace models;
using namespace hostile;

namespace {

/// A model with one initializer, `w`, of the given fields: its result is ReLU of that.
template <class Fill>
std::string with_tensor(Fill const& fill) {
    std::string text, opset, graph, node, input, output, tensor;
    protozero::pbf_builder<onnx::OperatorSetIdField>(opset).add_int64(onnx::OperatorSetIdField::version, 13);
    protozero::pbf_builder<onnx::TensorField> tensor_builder(tensor);
    tensor_builder.add_string(onnx::TensorField::name, "w");
    fill(tensor_builder);
    protozero::pbf_builder<onnx::NodeField> node_builder(node);
    node_builder.add_string(onnx::NodeField::input, "w");
    node_builder.add_string(onnx::NodeField::output, "y");
    node_builder.add_string(onnx::NodeField::op_type, "Relu");
    node_builder.add_string(onnx::NodeField::name, "the node");
    protozero::pbf_builder<onnx::ValueInfoField>(output).add_string(onnx::ValueInfoField::name, "y");
    protozero::pbf_builder<onnx::GraphField> graph_builder(graph);
    graph_builder.add_message(onnx::GraphField::node, node);
    graph_builder.add_message(onnx::GraphField::initializer, tensor);
    graph_builder.add_message(onnx::GraphField::output, output);
    protozero::pbf_builder<onnx::ModelField> model(text);
    model.add_message(onnx::ModelField::graph, graph);
    model.add_message(onnx::ModelField::opset_import, opset);
    return text;
}

}  // namespace

TEST_CASE("tensors whose elements do not fill them") {
    const auto type = [](auto& tensor, onnx::DataType value) {
        tensor.add_int32(onnx::TensorField::data_type, static_cast<std::int32_t>(value));
    };
    const auto message = [&](Ints const& dims, std::size_t raw_bytes) {
        const std::string raw(raw_bytes, '\0');
        return refusal(with_tensor([&](auto& tensor) {
            for (const std::int64_t dim : dims) tensor.add_int64(onnx::TensorField::dims, dim);
            type(tensor, onnx::DataType::float32);
            tensor.add_bytes(onnx::TensorField::raw_data, raw);
        }));
    };
    CHECK(message({2, 3}, 24).empty());
    CHECK(message({2, 3}, 20).find("20 bytes cannot fill 2x3 of float32") != std::string::npos);
    CHECK(message({2, 3}, 28).find("cannot fill") != std::string::npos);
    CHECK(message({2, 3}, 23).find("cannot fill") != std::string::npos);
    // 4 GiB, 2^64 elements, a product that wraps around to 6, negative sizes.
    for (Ints const& dims : {Ints{32768, 32768}, Ints{1LL << 32, 1LL << 32}, Ints{(1LL << 62) + 3, 2, 2}, Ints{-2, -3},
                             Ints{-1}, Ints{std::numeric_limits<std::int64_t>::min()}}) {
        CAPTURE(dims.size());
        const std::size_t allocated = scratch::allocated_by([&] { CHECK(!message(dims, 24).empty()); });
        CHECK(is_justified(allocated, 100));
    }
    // Elements in a list of their type.
    CHECK(refusal(with_tensor([&](auto& tensor) {
              tensor.add_int64(onnx::TensorField::dims, 2);
              type(tensor, onnx::DataType::float32);
              const float values[] = {1, 2};
              tensor.add_packed_float(onnx::TensorField::float_data, std::begin(values), std::end(values));
          })).empty());
    CHECK(refusal(with_tensor([&](auto& tensor) {
              tensor.add_int64(onnx::TensorField::dims, 1 << 30);
              type(tensor, onnx::DataType::float32);
              tensor.add_float(onnx::TensorField::float_data, 1);
          })).find("1 elements cannot fill 1073741824") != std::string::npos);
    CHECK(refusal(with_tensor([&](auto& tensor) {
              tensor.add_int64(onnx::TensorField::dims, 1);
              type(tensor, onnx::DataType::string);
              tensor.add_bytes(onnx::TensorField::raw_data, "a");
          })).find("elements of string are not supported") != std::string::npos);
    CHECK(refusal(with_tensor([&](auto& tensor) {
              tensor.add_int32(onnx::TensorField::data_type, 77);
              tensor.add_bytes(onnx::TensorField::raw_data, "a");
          })).find("unknown type") != std::string::npos);
    CHECK(refusal(with_tensor([&](auto& tensor) {
              for (int i = 0; i < 100; ++i) tensor.add_int64(onnx::TensorField::dims, 1);
              type(tensor, onnx::DataType::float32);
              tensor.add_bytes(onnx::TensorField::raw_data, "abcd");
          })).find("100 dimensions") != std::string::npos);
}

TEST_CASE("a small file that asks for much memory gets none") {
    const auto refused = [](std::string const& file, ps::OnnxOptions const& options = {}) {
        std::string message;
        const std::size_t allocated = scratch::allocated_by([&] { message = refusal(file, options); });
        CHECK(is_justified(allocated, file.size()));
        return message;
    };
    const std::int64_t huge = 1LL << 40, gigabytes = 1LL << 30;
    for (Ints const& dims : {Ints{gigabytes}, Ints{huge}, Ints{huge, huge}, Ints{-1}}) {
        const std::string message = refused(Model().integers("s", dims).node("ConstantOfShape", {"s"}, {"y"}).bytes());
        CHECK(message.starts_with("file: node the node (ConstantOfShape): "));
    }
    CHECK(refused(Model().integers("s", {64, 1000, 1000}).node("ConstantOfShape", {"s"}, {"y"}).bytes(),
                  {.max_constant_bytes = 1 << 20})
              .find("more than the 1048576 bytes allowed") != std::string::npos);
    CHECK(refused(Model({1, 1, 1, 1}).integers("s", {1, 1, 1 << 20, 1 << 20}).node("Expand", {"x", "s"}, {"y"}).bytes())
              .find("too large") != std::string::npos);
    CHECK(refused(Model().floats("w", {1}, {1}).integers("s", {huge}).node("Expand", {"w", "s"}, {"y"}).bytes())
              .find("bytes allowed") != std::string::npos);
    CHECK(!refused(Model()
                       .integers("p", {0, 0, 1 << 20, 1 << 20, 0, 0, 1 << 20, 1 << 20})
                       .node("Pad", {"x", "p"}, {"y"})
                       .bytes())
               .empty());
    CHECK(!refused(Model().integers("p", {0, 0, huge, huge, 0, 0, huge, huge}).node("Pad", {"x", "p"}, {"y"}).bytes())
               .empty());
    CHECK(
        !refused(Model().floats("s", {4}, {1, 1, 1e30F, 1e30F}).node("Resize", {"x", "", "s"}, {"y"}).bytes()).empty());
    CHECK(
        !refused(Model().integers("s", {1, 2, huge, huge}).node("Resize", {"x", "", "", "s"}, {"y"}).bytes()).empty());
    CHECK(!refused(Model()
                       .floats("w", {2, 1, 1, 1}, {1, 1})
                       .node("ConvTranspose", {"x", "w"}, {"y"}, {{"strides", Ints{huge, huge}}})
                       .bytes())
               .empty());
    CHECK(!refused(
               Model()
                   .floats("w", {2, 1, 1, 1}, {1, 1})
                   .node("ConvTranspose", {"x", "w"}, {"y"}, {{"output_shape", Ints{(1LL << 31) - 1, (1LL << 31) - 1}}})
                   .bytes())
               .empty());
    CHECK(!refused(Model()
                       .floats("w", {2, 2, 1, 1}, {1, 1, 1, 1})
                       .node("Conv", {"x", "w"}, {"y"}, {{"pads", Ints{huge, huge, huge, huge}}})
                       .bytes())
               .empty());
    CHECK(!refused(Model({1, 1 << 16, 1 << 16, 1}).node("Relu", {"x"}, {"y"}).bytes()).empty());
    CHECK(!refused(Model({1LL << 62, 1LL << 62}).node("Relu", {"x"}, {"y"}).bytes()).empty());
    // Doubled again and again: at run time, and as constants.
    Model doubled, constants;
    constants.floats("c0", {1, 1}, {1});
    for (int i = 0; i < 60; ++i) {
        const auto name = [](std::string const& letter, int at) { return letter + std::to_string(at); };
        const std::string from = i == 0 ? "x" : name("v", i), to = i == 59 ? "y" : name("v", i + 1);
        doubled.node("Concat", {from, from}, {to}, {{"axis", std::int64_t{3}}});
        const std::string known = name("c", i), next = i == 59 ? "y" : name("c", i + 1);
        constants.node("Concat", {known, known}, {next}, {{"axis", std::int64_t{1}}});
    }
    CHECK(refused(doubled.bytes()).find("too large") != std::string::npos);
    const std::string message = refusal(constants.bytes(), {.max_constant_bytes = 1 << 16});
    CHECK(message.find("bytes allowed") != std::string::npos);
    // A weight that many layers want multiplied is copied for each of them: that counts too. In another order it is
    // one weight for all of them.
    const auto many = [](float factor) {
        Model model({1, 512});
        model.floats("w", {512, 512}, std::vector<float>(512 * 512, 0.0F));
        for (int i = 0; i < 100; ++i) {
            model.node("Gemm", {i == 0 ? "x" : "g" + std::to_string(i), "w"},
                       {i == 99 ? "y" : "g" + std::to_string(i + 1)}, {{"alpha", factor}});
        }
        return model.bytes();
    };
    CHECK(refusal(many(2.0F), {.max_constant_bytes = 10 << 20}).find("bytes allowed") != std::string::npos);
    CHECK(refusal(many(1.0F), {.max_constant_bytes = 10 << 20}).empty());
}

TEST_CASE("data outside the file stay inside its folder and its size") {
    const scratch::Folder folder;
    ps::write_file(folder.file("data"), std::string(40, '\0'));
    const auto message = [&](std::vector<std::pair<std::string, std::string>> const& entries, bool has_folder = true) {
        const std::string file = with_tensor([&](auto& tensor) {
            tensor.add_int64(onnx::TensorField::dims, 4);
            tensor.add_int32(onnx::TensorField::data_type, static_cast<std::int32_t>(onnx::DataType::float32));
            tensor.add_enum(onnx::TensorField::data_location, static_cast<std::int32_t>(onnx::DataLocation::external));
            for (auto const& [key, value] : entries) {
                std::string entry;
                protozero::pbf_builder<onnx::StringStringEntryField> builder(entry);
                builder.add_string(onnx::StringStringEntryField::key, key);
                builder.add_string(onnx::StringStringEntryField::value, value);
                tensor.add_message(onnx::TensorField::external_data, entry);
            }
        });
        std::string result;
        const std::size_t allocated =
            scratch::allocated_by([&] { result = refusal(file, {}, has_folder ? folder.file("") : ""); });
        CHECK(is_justified(allocated, 100));
        return result;
    };
    CHECK(message({{"location", "data"}}).empty());
    CHECK(message({{"location", "data"}, {"offset", "24"}, {"length", "16"}}).empty());
    CHECK(message({{"location", "data"}}, false).find("no folder") != std::string::npos);
    CHECK(message({{"location", "data"}, {"offset", "25"}}).find("only 15 bytes") != std::string::npos);
    CHECK(message({{"location", "data"}, {"offset", "25"}, {"length", "16"}}).find("reach byte") != std::string::npos);
    CHECK(message({{"location", "data"}, {"offset", "41"}}).find("begin at byte 41") != std::string::npos);
    CHECK(message({{"location", "data"}, {"length", "4294967296"}}).find("reach byte") != std::string::npos);
    CHECK(message({{"location", "data"}, {"offset", "18446744073709551615"}}).find("begin at byte") !=
          std::string::npos);
    CHECK(message({{"location", "data"}, {"offset", "-4"}}).find("is no number") != std::string::npos);
    CHECK(message({{"location", "data"}, {"length", "20"}}).find("cannot fill") != std::string::npos);
    CHECK(message({{"location", "gone"}}).find("gone") != std::string::npos);
    for (const char* outside : {"/etc/passwd", "../data", "a/../../data", "", "."}) {
        CAPTURE(outside);
        CHECK(!message({{"location", outside}}).empty());
    }
    std::filesystem::create_symlink("/etc/passwd", folder.file("link"));
    CHECK(message({{"location", "link"}}).find("leads away") != std::string::npos);
}
