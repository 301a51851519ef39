// A tensor of the file that several layers read is one weight of theirs, unless exporters merged it because it was
// equal to another by chance; and it is exported as one.
#include "../io/scratch.hpp"
#include "exported.hpp"
#include "imported.hpp"

#include <primsel/engine/engine.hpp>
#include <primsel/network/weight_specs.hpp>

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace sharing {
namespace {

using namespace imported;  // NOLINT(google-build-using-namespace)

const Ints pads{1, 1, 1, 1};

/// The groups of weights that are one, each with "'" behind those that are transposed.
std::set<std::set<std::string>> groups(ps::Graph const& graph) {
    std::map<std::string, std::set<std::string>> by_owner;
    for (auto const& [name, owner] : ps::weight_owners(graph)) {
        by_owner[owner.name].insert({owner.name, name + (owner.transposed ? "'" : "")});
    }
    std::set<std::set<std::string>> groups;
    for (auto const& [owner, names] : by_owner) groups.insert(names);
    return groups;
}
using Groups = std::set<std::set<std::string>>;

/// The file with the weights of the layers, read again: the same groups, and each tensor of the file once.
void check_export(ps::OnnxModel const& model, std::size_t tensors_of_weights) {
    const std::string bytes = ps::to_onnx(model.graph, model.weights, {.open_batch = false});
    const ps::OnnxModel again = parse(bytes);
    CHECK(groups(again.graph).size() == groups(model.graph).size());
    std::size_t tensors = 0;
    for (auto const& [name, tensor] : exports::read(bytes).initializers) tensors += tensor.dims.size() > 1 ? 1 : 0;
    CHECK(tensors == tensors_of_weights);
}

TEST_CASE("two convolutions that read one kernel share it, at any image size, and export it once") {
    Model model({1, 4, 9, 9});
    model.floats("w", {4, 4, 3, 3}, numbers(4 * 4 * 9)).floats("b", {4}, numbers(4, 2));
    model.node("Conv", {"x", "w", "b"}, {"h"}, {{"pads", pads}}, "first");
    model.node("MaxPool", {"h"}, {"i"}, {{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}}, "pool");
    model.node("Conv", {"i", "w", "b"}, {"y"}, {{"pads", pads}}, "second");
    const ps::OnnxModel read = parse(model.bytes());
    CHECK(groups(read.graph) == Groups{{"first.weight", "second.weight"}, {"first.bias", "second.bias"}});
    CHECK(read.weights.at("first.weight").values.data() == read.weights.at("second.weight").values.data());
    check_export(read, 1);
}

TEST_CASE("a matrix that one layer reads as it is and another transposed is one weight") {
    Model model({1, 6});
    model.floats("t", {5, 6}, numbers(30));
    model.node("Gemm", {"x", "t"}, {"h"}, {{"transB", std::int64_t{1}}}, "encode");
    model.node("Gemm", {"h", "t"}, {"y"}, {}, "decode");
    const ps::OnnxModel read = parse(model.bytes());
    CHECK(groups(read.graph) == Groups{{"encode.weight", "decode.weight'"}});
    check_export(read, 1);
}

TEST_CASE("a cell that is unrolled has its matrices once") {
    Model model({1, 6});
    model.floats("w", {6, 6}, numbers(36));
    model.node("MatMul", {"x", "w"}, {"h1"}, {}, "step1").node("Tanh", {"h1"}, {"a1"}, {}, "t1");
    model.node("MatMul", {"a1", "w"}, {"h2"}, {}, "step2").node("Tanh", {"h2"}, {"a2"}, {}, "t2");
    model.node("MatMul", {"a2", "w"}, {"y"}, {}, "step3");
    const ps::OnnxModel read = parse(model.bytes());
    CHECK(groups(read.graph) == Groups{{"step1.weight", "step2.weight", "step3.weight"}});
    CHECK(read.weights.at("step1.weight").values.data() == read.weights.at("step3.weight").values.data());
    check_export(read, 1);
}

TEST_CASE("what is equal by chance stays apart: statistics, and values that are all the same") {
    Model model({1, 4, 6, 6});
    model.floats("w1", {4, 4, 1, 1}, numbers(16, 1)).floats("w2", {4, 4, 1, 1}, numbers(16, 2));
    model.floats("zeros", {4}, {0, 0, 0, 0}).floats("ones", {4}, {1, 1, 1, 1});
    model.node("Conv", {"x", "w1", "zeros"}, {"a"}, {}, "c1");
    model.node("BatchNormalization", {"a", "ones", "zeros", "zeros", "ones"}, {"b"}, {}, "n1");
    model.node("Conv", {"b", "w2", "zeros"}, {"c"}, {}, "c2");
    model.node("BatchNormalization", {"c", "ones", "zeros", "zeros", "ones"}, {"y"}, {}, "n2");
    CHECK(groups(parse(model.bytes()).graph).empty());
}

TEST_CASE("layers that share a kernel share its bias and the factors after it, never statistics") {
    Model model({1, 4, 6, 6});
    model.input("x2", {1, 4, 6, 6});
    model.floats("w", {4, 4, 1, 1}, numbers(16));
    model.floats("zeros", {4}, {0, 0, 0, 0}).floats("ones", {4}, {1, 1, 1, 1});
    model.node("Conv", {"x", "w", "zeros"}, {"a"}, {}, "c1").node("Conv", {"x2", "w", "zeros"}, {"b"}, {}, "c2");
    model.node("BatchNormalization", {"a", "ones", "zeros", "zeros", "ones"}, {"c"}, {}, "n1");
    model.node("BatchNormalization", {"b", "ones", "zeros", "zeros", "ones"}, {"d"}, {}, "n2");
    model.node("Sub", {"c", "d"}, {"y"}, {}, "difference");
    CHECK(
        groups(parse(model.bytes()).graph) ==
        Groups{{"c1.weight", "c2.weight"}, {"c1.bias", "c2.bias"}, {"n1.weight", "n2.weight"}, {"n1.bias", "n2.bias"}});
}

TEST_CASE("weights of a file are packed once, however small they are") {
    for (const std::int64_t c : {4, 40}) {  // of which the smaller ones are copied, the larger ones read when packed
        CAPTURE(c);
        Model model({1, c, 9, 9});
        model.floats("w", {c, c, 3, 3}, numbers(static_cast<std::size_t>(c * c * 9)));
        model.node("Conv", {"x", "w"}, {"h"}, {{"pads", pads}}, "first");
        model.node("Conv", {"h", "w"}, {"y"}, {{"pads", pads}}, "second");
        const scratch::Folder folder;
        ps::write_file(folder.file("m.onnx"), model.bytes());
        const ps::OnnxModel read = ps::load_onnx(folder.file("m.onnx"));
        CHECK(read.weights.at("first.weight").values.place() == read.weights.at("second.weight").values.place());
        ps::Weights apart;
        for (auto const& [name, tensor] : read.weights) {
            apart.add(name, tensor.dims, {tensor.values.begin(), tensor.values.end()});
        }
        const ps::PlanOptions direct{.primitive = "direct-hwc"};
        const ps::Engine<ps::Graph> one(read.graph, read.weights, direct), two(read.graph, apart, direct);
        CHECK(2 * one.program().weight_bytes() == two.program().weight_bytes());
    }
}

}  // namespace
}  // namespace sharing
