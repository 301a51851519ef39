// Files that are broken, or made to break their reader: each is refused with a message, and takes no more memory than
// its size justifies.
#include "../io/allocations.hpp"
#include "../io/scratch.hpp"
#include "models.hpp"

#include <doctest/doctest.h>

#include <primsel/network/network.hpp>
#include <primsel/network/prepare.hpp>
#include <primsel/onnx/export.hpp>
#include <primsel/onnx/import.hpp>

#include <protozero/pbf_builder.hpp>
#include <protozero/varint.hpp>

#include <pthread.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <random>
#include <string>
#include <vector>

namespace ps = primsel;
namespace onnx = primsel::onnx;
using namespace ps::layer;
using namespace models;

namespace {

/// The message with which the bytes are refused; empty when they are a model.
std::string refusal(std::string_view bytes, ps::OnnxOptions const& options = {}, std::string const& folder = "") {
    try {
        const ps::OnnxModel model = ps::parse_onnx("file", shared(bytes), options, folder);
        ps::check_weights(model.graph, model.weights);
        return "";
    } catch (ps::error const& fault) {
        REQUIRE(std::string_view(fault.what()).starts_with("file: "));
        return fault.what();
    }
}
/// The same on a stack that has no room for a frame a level of nesting.
std::string refusal_on_small_stack(std::string const& bytes) {
    struct Work {
        std::string const& bytes;
        std::string message;
    } work{bytes, {}};
    pthread_attr_t attributes;
    REQUIRE(pthread_attr_init(&attributes) == 0);
    REQUIRE(pthread_attr_setstacksize(&attributes, std::size_t{1} << 20U) == 0);
    pthread_t thread{};
    const auto run = [](void* given) -> void* {
        auto& here = *static_cast<Work*>(given);
        here.message = refusal(here.bytes);
        return nullptr;
    };
    REQUIRE(pthread_create(&thread, &attributes, run, &work) == 0);
    pthread_join(thread, nullptr);
    pthread_attr_destroy(&attributes);
    return work.message;
}

/// Fields of a message as they are in a file.
template <class Field>
std::string tag(Field number, unsigned wire_type) {
    std::string bytes;
    protozero::write_varint(std::back_inserter(bytes), static_cast<std::uint64_t>(number) << 3U | wire_type);
    return bytes;
}
template <class Field>
std::string field(Field number, std::string const& value) {
    std::string bytes = tag(number, 2);
    protozero::write_varint(std::back_inserter(bytes), value.size());
    return bytes + value;
}
template <class Field>
std::string field(Field number, int value) {
    std::string bytes = tag(number, 0);
    protozero::write_varint(std::back_inserter(bytes), static_cast<std::uint64_t>(value));
    return bytes;
}
/// A message in a message in a message: the innermost is empty, each is the last field of the one around it.
class Nested {
public:
    /// before: the other fields of the message around.
    template <class Field>
    void wrap(Field number, std::string const& before) {
        std::string start = before + tag(number, 2);
        protozero::write_varint(std::back_inserter(start), size_);
        size_ += start.size();
        starts_.push_back(std::move(start));
    }
    [[nodiscard]] std::string bytes() const {
        std::string all;
        for (std::size_t i = starts_.size(); i-- > 0;) all += starts_[i];
        return all;
    }

private:
    std::vector<std::string> starts_;
    std::size_t size_ = 0;
};

/// What reading takes, beside the bytes themselves: so much for each of them, and something for the rest.
bool is_justified(std::size_t allocated, std::size_t bytes) { return allocated <= 64 * bytes + 100'000; }

struct Branches : ps::Network<Input<3, 17, 17>, Conv<8, 3, Stride<2>, NoBias>, BatchNorm, Relu, MaxPool<3, Stride<2>>,
                              Residual<Conv<8, 3>, Relu, Conv<8, 3>>, Relu,
                              Concat<Path<Conv<4, 1>>, Path<Conv<4, 3>, Sigmoid>>, GlobalAvgPool, Dense<10>, Softmax> {
};
std::string real_file() { return ps::to_onnx(Branches::graph(), ps::random_weights(Branches::graph())); }

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

TEST_CASE("a file cut off at every hundredth of its length is refused") {
    const std::string file = real_file();
    REQUIRE(refusal(file).empty());
    for (std::size_t percent = 0; percent < 100; ++percent) {
        CAPTURE(percent);
        const std::string cut = file.substr(0, file.size() * percent / 100);
        std::string message;
        const std::size_t allocated = scratch::allocated_by([&] { message = refusal(cut); });
        CHECK(message.find("not an ONNX model") != std::string::npos);
        CHECK(is_justified(allocated, cut.size()));
    }
}

TEST_CASE("a file with changed bits is a model or refused, and takes no more memory for it") {
    const std::string file = real_file();
    std::mt19937 random(1);
    std::size_t refused = 0;
    for (int i = 0; i < 4000; ++i) {
        std::string changed = file;
        // Most of a file is weights; what they are matters to nobody here.
        for (std::size_t flips = 1 + random() % 3; flips > 0; --flips) {
            const std::size_t at = random() % changed.size();
            changed[at] = static_cast<char>(changed[at] ^ (1 << random() % 8));
        }
        CAPTURE(i);
        bool is_refused = false;
        const std::size_t allocated = scratch::allocated_by([&] { is_refused = !refusal(changed).empty(); });
        CHECK(is_justified(allocated, changed.size()));
        refused += is_refused ? 1 : 0;
    }
    CHECK(refused > 100);
}

TEST_CASE("every byte of a small file, changed to what hurts most") {
    const std::string file = Model()
                                 .floats("w", {2, 2, 3, 3}, std::vector<float>(36, 0.5F))
                                 .integers("shape", {1, -1})
                                 .node("Conv", {"x", "w"}, {"a"}, {{"pads", Ints{1, 1, 1, 1}}})
                                 .node("Reshape", {"a", "shape"}, {"y"})
                                 .bytes();
    REQUIRE(refusal(file).empty());
    for (std::size_t at = 0; at < file.size(); ++at) {
        for (const int value : {0x00, 0x01, 0x7f, 0x80, 0xff}) {
            std::string changed = file;
            changed[at] = static_cast<char>(value);
            CAPTURE(at);
            CAPTURE(value);
            const std::size_t allocated = scratch::allocated_by([&] { (void)refusal(changed); });
            CHECK(is_justified(allocated, changed.size()));
        }
    }
}

TEST_CASE("what is no model") {
    CHECK(refusal("") == "file: not an ONNX model: it has no graph");
    CHECK(refusal("hello, world").starts_with("file: "));
    CHECK(refusal(std::string(1000, '\0')).starts_with("file: not an ONNX model"));
    CHECK(refusal(std::string(1000, '\xff')).starts_with("file: not an ONNX model"));
    CHECK(refusal(Model({1, 2}, 22).node("Relu", {"x"}, {"y"}).bytes()) ==
          "file: opset 22 is not supported; versions up to 21 are");
    CHECK(refusal(Model({1, 2}, 0).node("Relu", {"x"}, {"y"}).bytes()).find("states no version") != std::string::npos);
    CHECK_THROWS_WITH_AS((void)ps::load_onnx("/nowhere/model.onnx"),
                         "/nowhere/model.onnx: cannot read: No such file or directory", ps::error);
}

TEST_CASE("graphs that cannot run are refused, naming where") {
    // A node that needs its own result, directly and through another.
    CHECK(refusal(Model().node("Add", {"x", "y"}, {"y"}).bytes()) ==
          "file: node the node (Add): needs its own result: the graph has a cycle");
    CHECK(refusal(Model().node("Add", {"x", "b"}, {"a"}).node("Relu", {"a"}, {"b"}).node("Relu", {"b"}, {"y"}).bytes())
              .find("cycle") != std::string::npos);
    CHECK(refusal(Model().node("Relu", {"x"}, {"y"}).node("Tanh", {"x"}, {"y"}).bytes()) ==
          "file: node the node (Tanh): its output y is another node's too");
    CHECK(refusal(Model().node("Relu", {"z"}, {"y"}).bytes()) ==
          "file: node the node (Relu): its input z is defined nowhere");
    CHECK(refusal(Model().node("Conv", {"x", "w"}, {"y"}).bytes()) ==
          "file: node the node (Conv): its input w is defined nowhere");
    CHECK(refusal(Model().node("Relu", {"x"}, {"z"}).bytes()) == "file: output y is defined nowhere");
    CHECK(refusal(Model().node("Loop", {"x"}, {"y"}).bytes()) ==
          "file: node the node (Loop): the operator is not supported");
    CHECK(refusal(Model().node("If", {"x"}, {"y"}).bytes()) ==
          "file: node the node (If): its condition x must be known when the model is loaded");
    CHECK(refusal(Model().node("If", {}, {"y"}).bytes()) ==
          "file: node the node (If): its condition is defined nowhere");
    CHECK(refusal(Model().integers("c", {1}).node("If", {"c"}, {"y"}).bytes()) ==
          "file: node the node (If): its then_branch is missing");
    CHECK(refusal(Model().integers("c", {1, 0}).node("If", {"c"}, {"y"}).bytes()) ==
          "file: node the node (If): its condition c is not one boolean");
    CHECK(refusal(Model().node("Relu", {}, {"y"}).bytes()) == "file: node the node (Relu): input 0 is missing");
    CHECK(refusal(Model().node("Relu", {"x"}, {"x"}).bytes("x")).find("cycle") != std::string::npos);
    CHECK(refusal(Model().floats("w", {1}, {1}).node("Relu", {"w"}, {"x"}).bytes("x")) ==
          "file: node the node (Relu): its output x is an input or initializer too");
    CHECK(refusal(Model().floats("w", {1}, {1}).floats("w", {1}, {1}).node("Relu", {"x"}, {"y"}).bytes()) ==
          "file: tensor w is there twice");
    // What no output needs does not matter.
    CHECK(refusal(Model().node("If", {"q"}, {"z"}).node("Relu", {"x"}, {"y"}).bytes()).empty());
    // Nodes may come in any order, although the standard wants them sorted.
    CHECK(refusal(Model().node("Relu", {"a"}, {"y"}).node("Tanh", {"x"}, {"a"}).bytes()).empty());
}

TEST_CASE("operands without an axis, of which one is known") {
    for (const std::string_view op : {"Add", "Max", "Equal", "Xor", "Where"}) {
        CAPTURE(op);
        std::vector<std::string> inputs{"x", "c"};
        if (op == "Where") inputs = {"x", "c", "x"};
        const std::string message = refusal(Model(Ints{}).floats("c", {}, {1}).node(op, inputs, {"y"}).bytes());
        CHECK((message.empty() || message.starts_with("file: ")));
    }
}
TEST_CASE("long chains need no stack") {
    Model forward, backward;
    const std::size_t length = 20'000;
    const auto name = [](std::size_t i) { return i == 0 ? "x" : i == length ? "y" : "v" + std::to_string(i); };
    for (std::size_t i = 0; i < length; ++i) {
        forward.node("Identity", {name(i)}, {name(i + 1)});
        backward.node("Identity", {name(length - 1 - i)}, {name(length - i)});
    }
    CHECK(refusal(forward.bytes()).empty());
    CHECK(refusal(backward.bytes()).empty());
}

TEST_CASE("a hundred thousand layers in a row need no stack") {
    Model chain({1, 1, 1, 1});
    const std::size_t length = 100'000;
    const auto name = [](std::size_t i) { return i == 0 ? "x" : i == length ? "y" : "v" + std::to_string(i); };
    for (std::size_t i = 0; i < length; ++i) chain.node("Relu", {name(i)}, {name(i + 1)}, {}, "n" + std::to_string(i));
    CHECK(refusal_on_small_stack(chain.bytes()).empty());
}

TEST_CASE("subgraphs, functions and types within each other, ten thousand deep") {
    using onnx::AttributeField, onnx::GraphField, onnx::ModelField, onnx::NodeField, onnx::TypeField;
    const std::string opset = field(onnx::OperatorSetIdField::version, 13);
    const std::string output = field(GraphField::output, field(onnx::ValueInfoField::name, "y"));
    // If, Loop and Scan hold graphs, by themselves and in lists; their results are needed, or not.
    for (const AttributeField graphs : {AttributeField::g, AttributeField::graphs}) {
        for (const std::string op : {"If", "Loop", "Scan"}) {
            const auto level = [&](Nested inner) {
                inner.wrap(graphs, field(AttributeField::name, "body"));
                inner.wrap(NodeField::attribute, field(NodeField::op_type, op) + field(NodeField::output, "y"));
                inner.wrap(GraphField::node, output);
                return inner;
            };
            Nested graph;
            for (int i = 0; i < 10'000; ++i) graph = level(std::move(graph));
            graph.wrap(ModelField::graph, field(ModelField::opset_import, opset));
            const std::string message = refusal_on_small_stack(graph.bytes());
            if (graphs == AttributeField::g)
                CHECK(message == "file: subgraphs within more than 16 others");
            else
                CHECK(message.starts_with("file: node y (" + op + "): "));
        }
    }
    // Beside a graph that can run: functions, training, and a node that nothing needs.
    const std::string real = Model().node("Relu", {"x"}, {"y"}).bytes();
    for (const ModelField beside : {ModelField::functions, ModelField::training_info}) {
        Nested graph;
        for (int i = 0; i < 30'000; ++i) graph.wrap(GraphField::node, "");
        graph.wrap(beside, "");
        CHECK(refusal_on_small_stack(real + graph.bytes()).empty());
    }
    // Sequences (4) and optional values (9) of each other, as an input of the model.
    for (const auto of : {TypeField::sequence_type, static_cast<TypeField>(9)}) {
        Nested type;
        for (int i = 0; i < 10'000; ++i) {
            type.wrap(TypeField::tensor_type, "");  // the type of the elements
            type.wrap(of, "");
        }
        type.wrap(onnx::ValueInfoField::type, field(onnx::ValueInfoField::name, "x"));
        type.wrap(GraphField::input,
                  output + field(GraphField::node, field(NodeField::op_type, "Relu") + field(NodeField::input, "x") +
                                                       field(NodeField::output, "y")));
        type.wrap(ModelField::graph, field(ModelField::opset_import, opset));
        CHECK(refusal_on_small_stack(type.bytes()) == "file: input x: only tensors are supported");
    }
    // Groups, which protocol buffers once had: a start (3) in a start.
    CHECK(refusal_on_small_stack(real + std::string(100'000, '\x0b')).starts_with("file: "));
}

TEST_CASE("nodes of very many inputs, outputs or attributes") {
    const std::size_t count = 20'000;
    const std::vector<std::string> inputs(count, "x");
    std::vector<std::string> outputs;
    for (std::size_t i = 0; i < count; ++i) outputs.push_back("y" + std::to_string(i));
    CHECK(refusal(Model({1, 1, 1, 1}).node("Sum", inputs, {"y"}).bytes()).empty());
    CHECK(refusal(Model({1, 1, 1, 1}).node("Concat", inputs, {"y"}, {{"axis", std::int64_t{1}}}).bytes()).empty());
    CHECK(refusal(Model({1, 1, 1, 1}).node("Split", {"x"}, outputs).bytes("y7")).find("Split") != std::string::npos);
    const std::vector<onnx::NewAttribute> attributes(count, {"axis", std::int64_t{1}});
    CHECK(refusal(Model().node("Softmax", {"x"}, {"y"}, attributes).bytes()).empty());
    CHECK(refusal(Model(Ints(count, 1)).node("Relu", {"x"}, {"y"}).bytes()).find("dimensions") != std::string::npos);
}

TEST_CASE("weights that would make every result NaN are refused by the file\'s name") {
    const float nan = std::nanf("");
    const std::string bytes =
        Model().floats("w", {1, 2, 1, 1}, {1, nan}).node("Conv", {"x", "w"}, {"y"}, {}, "head").bytes();
    const ps::OnnxModel model = ps::parse_onnx("face.onnx", shared(bytes));
    CHECK_THROWS_WITH_AS(ps::check_weights(model.graph, model.weights),
                         "face.onnx: 0 of 1 weights fit the network\n  not a number: head.weight[0, 1, 0, 0] is nan",
                         ps::error);
}

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
    // A weight that many layers want in another order is copied for each of them: that counts too.
    Model many({1, 512});
    many.floats("w", {512, 512}, std::vector<float>(512 * 512, 0.0F));
    for (int i = 0; i < 100; ++i) {
        many.node("Gemm", {i == 0 ? "x" : "g" + std::to_string(i), "w"}, {i == 99 ? "y" : "g" + std::to_string(i + 1)});
    }
    CHECK(refusal(many.bytes(), {.max_constant_bytes = 10 << 20}).find("bytes allowed") != std::string::npos);
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
