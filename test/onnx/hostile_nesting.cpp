// Graphs that are long, deep or wide take no stack for it.
#include "../quick.hpp"
#include "hostile.hpp"

#include <doctest/doctest.h>

#include <protozero/varint.hpp>

#include <pthread.h>

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

namespace ps = primsel;
namespace onnx = primsel::onnx;
using namespace models;
using namespace hostile;

namespace {

/// The message with which the bytes are refused, on a stack that has no room for a frame a level of nesting.
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

}  // namespace

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

TEST_CASE("very many layers in a row need no stack") {
    Model chain({1, 1, 1, 1});
    const std::size_t length = quick() ? 25'000 : 100'000;
    const auto name = [length](std::size_t i) { return i == 0 ? "x" : i == length ? "y" : "v" + std::to_string(i); };
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
                CHECK(message.starts_with(op == "If" ? "file: node y (If): " : "file: unsupported operators: " + op));
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
