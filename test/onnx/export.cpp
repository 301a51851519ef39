#include "../io/scratch.hpp"
#include "exported.hpp"
#include "random_graph.hpp"

#include <doctest/doctest.h>

#include <primsel/network/simplify.hpp>
#include <primsel/network/zoo.hpp>
#include <primsel/onnx/export.hpp>

#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <ratio>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace ps = primsel;
using namespace exports;
using scratch::error_of;

TEST_CASE("a network: nodes and weights have the layers' names") {
    ps::Graph graph;
    const std::size_t image = graph.add("image", ps::InputParams{{.c = 3, .h = 8, .w = 8}}, {});
    const std::size_t conv =
        graph.add("conv", ps::ConvParams{.k = 4, .kernel = {3, 1}, .stride = 2, .padding = {1, 0, 2, 3}}, {image});
    const std::size_t relu = graph.add("relu", ps::ActivationParams{}, {conv});
    graph.add("fc", ps::DenseParams{.k = 2, .bias = false}, {relu});
    const ps::Weights weights = ps::random_weights(graph);
    const ExportedModel model = read(ps::to_onnx(graph, weights));
    CHECK(model.ir_version == 8);
    CHECK(model.opset == 17);
    CHECK(model.producer == "primsel");
    CHECK(model.inputs == Strings{"float image[batch,3,8,8]"});
    CHECK(model.outputs == Strings{"float fc[batch,2]"});
    CHECK(model.nodes ==
          Strings{"conv = Conv(image, conv.weight, conv.bias) {kernel_shape=3 1, strides=2 2, pads=1 2 0 3, "
                  "dilations=1 1, group=1}",
                  "relu = Relu(conv)", "fc/Flatten = Flatten(relu) {axis=1}",
                  "fc = Gemm(fc/Flatten, fc.weight) {transB=1}"});
    CHECK(model.initializers.size() == 3);
    for (auto const& initializer : model.initializers) {
        std::string const& name = initializer.first;
        auto const& tensor = initializer.second;
        CAPTURE(name);
        CHECK(tensor.dims == weights.at(name).dims);
        CHECK(std::ranges::equal(tensor.floats(), weights.at(name).values));
    }
}

TEST_CASE("what simplify fused becomes nodes again, and folded weights are multiplied in") {
    ps::Graph graph(3);
    const std::size_t x = graph.add("x", ps::InputParams{{.c = 4, .h = 3, .w = 3}}, {});
    const std::size_t conv = graph.add("conv", ps::ConvParams{.k = 4, .kernel = 1, .bias = false}, {x});
    const std::size_t bn = graph.add("bn", ps::BatchNormParams{}, {conv});
    const std::size_t add = graph.add("add", ps::AddParams{}, {bn, x});
    graph.add("relu", ps::ActivationParams{}, {add});
    const ps::Graph simple = ps::simplify(graph);
    REQUIRE(simple.size() == 2);
    const ps::Weights weights = ps::random_weights(graph);
    const ExportedModel model = read(ps::to_onnx(simple, weights, {.open_batch = false}));
    CHECK(model.inputs == Strings{"float x[3,4,3,3]"});
    CHECK(model.outputs == Strings{"float conv[3,4,3,3]"});
    CHECK(model.nodes == Strings{"conv/Conv = Conv(x, conv.weight, conv.bias) {kernel_shape=1 1, strides=1 1, "
                                 "pads=0 0 0 0, dilations=1 1, group=1}",
                                 "conv/Add = Add(conv/Conv, x)", "conv = Relu(conv/Add)"});
    const ps::PreparedWeights prepared = ps::prepare_weights(simple[1], weights);
    CHECK(std::ranges::equal(model.initializers.at("conv.weight").floats(), prepared.kernel));
    CHECK(std::ranges::equal(model.initializers.at("conv.bias").floats(), prepared.bias));
}

TEST_CASE("after a dense layer values are flat, until an image is needed") {
    ps::Graph graph;
    const std::size_t x = graph.add("x", ps::InputParams{{.c = 2, .h = 2, .w = 2}}, {});
    const std::size_t fc = graph.add("fc", ps::DenseParams{.k = 8}, {x});
    const std::size_t relu = graph.add("relu", ps::ActivationParams{}, {fc});
    const std::size_t scale = graph.add("scale", ps::ScaleParams{}, {relu});
    const std::size_t both = graph.add("both", ps::ConcatParams{}, {scale, relu});
    graph.add("last", ps::DenseParams{.k = 2}, {both});
    const std::size_t conv = graph.add("conv", ps::ConvParams{.k = 8}, {relu});
    graph.add("sum", ps::AddParams{}, {conv, relu});
    graph.set_outputs({graph.find("last"), graph.find("sum")});
    const ExportedModel model = exported(graph);
    CHECK(model.nodes ==
          Strings{"fc/Flatten = Flatten(x) {axis=1}", "fc = Gemm(fc/Flatten, fc.weight, fc.bias) {transB=1}",
                  "relu = Relu(fc)",
                  "scale = BatchNormalization(relu, scale.weight, scale.bias, scale.mean, scale.var) {epsilon=0}",
                  "both = Concat(scale, relu) {axis=1}", "last = Gemm(both, last.weight, last.bias) {transB=1}",
                  "conv/Reshape = Reshape(relu, conv.shape)",
                  "conv = Conv(conv/Reshape, conv.weight, conv.bias) {kernel_shape=1 1, strides=1 1, pads=0 0 0 0, "
                  "dilations=1 1, group=1}",
                  "sum = Add(conv, conv/Reshape)"});
    CHECK(model.initializers.at("conv.shape").ints() == Ints{0, 8, 1, 1});
    CHECK(model.outputs == Strings{"float last[batch,2]", "float sum[batch,8,1,1]"});
}

TEST_CASE("constants are one for all images") {
    ps::Graph graph(2);
    const std::size_t x = graph.add("x", ps::InputParams{{.c = 2, .h = 2, .w = 2}}, {});
    const std::size_t c = graph.add("c", ps::ConstantParams{{.c = 2, .h = 2, .w = 2}}, {});
    graph.add("sum", ps::AddParams{}, {x, c});
    const std::size_t concat = graph.add("concat", ps::ConcatParams{}, {x, c});
    graph.set_outputs({concat, c});
    const ps::Weights weights = ps::random_weights(graph);
    const ExportedModel fixed = read(ps::to_onnx(graph, weights, {.open_batch = false}));
    CHECK(fixed.nodes == Strings{"sum = Add(x, c)", "concat/Expand = Expand(c, concat.batch)",
                                 "concat = Concat(x, concat/Expand) {axis=1}", "c_output = Expand(c, c.batch)"});
    CHECK(fixed.initializers.at("concat.batch").ints() == Ints{2, 1, 1, 1});
    CHECK(fixed.initializers.at("c").dims == Ints{1, 2, 2, 2});
    CHECK(std::ranges::equal(fixed.initializers.at("c").floats(), weights.at("c.value").values));
    CHECK(fixed.outputs == Strings{"float concat[2,4,2,2]", "float c_output[2,2,2,2]"});

    const ExportedModel open = read(ps::to_onnx(graph, weights));
    CHECK(open.nodes[1] == "concat/Shape = Shape(x)");
    CHECK(open.nodes[2] == "concat/Slice = Slice(concat/Shape, concat.first, concat.last)");
    CHECK(open.outputs[1] == "float c_output[batch,2,2,2]");
}

TEST_CASE("results that are inputs, given twice, or read further") {
    ps::Graph graph;
    const std::size_t x = graph.add("x", ps::InputParams{{.c = 2, .h = 2, .w = 2}}, {});
    const std::size_t y = graph.add("y", ps::ActivationParams{}, {x});
    graph.set_outputs({x, y, y});
    const ExportedModel model = exported(graph);
    CHECK(model.nodes == Strings{"y = Relu(x)", "x_output = Identity(x)", "y_output = Identity(y)"});
    CHECK(model.outputs ==
          Strings{"float x_output[batch,2,2,2]", "float y[batch,2,2,2]", "float y_output[batch,2,2,2]"});
}

TEST_CASE("names that are taken") {
    ps::Graph graph;
    const std::size_t x = graph.add("y.weight", ps::InputParams{{.c = 2, .h = 2, .w = 2}}, {});
    const std::size_t y = graph.add("y", ps::ConvParams{.k = 2}, {x}, {.clamp = ps::relu_clamp});
    const std::size_t z = graph.add("y/Conv", ps::ActivationParams{}, {y});
    graph.add("", ps::ActivationParams{}, {z});
    CHECK(exported(graph).nodes ==
          Strings{"y/Conv_ = Conv(y.weight, y.weight_, y.bias) {kernel_shape=1 1, strides=1 1, pads=0 0 0 0, "
                  "dilations=1 1, group=1}",
                  "y = Relu(y/Conv_)", "y/Conv = Relu(y)", "_ = Relu(y/Conv)"});
}

TEST_CASE("what depends on the version of the operators") {
    CHECK(exported(one(ps::ActivationParams{ps::ActivationKind::hard_swish}), {.opset = 13}).nodes.size() == 2);
    CHECK(exported(one(ps::ReduceParams{}), {.opset = 18}).nodes == Strings{"y = ReduceMean(x, y.axes) {keepdims=1}"});
    const ps::PoolParams dilated{.kind = ps::PoolKind::average, .dilation = 2};
    CHECK(exported(one(dilated), {.opset = 19}).nodes.size() == 1);
    CHECK(error_of([&] { (void)exported(one(dilated), {.opset = 18}); }) ==
          "ONNX export: layer y (average_pool): dilated average pooling needs opset 19");
    for (const auto& [opset, ir_version] : {std::pair{13, 7}, {15, 8}, {18, 8}, {19, 9}, {21, 10}}) {
        CHECK(exported(one(ps::ReduceParams{}), {.opset = opset}).ir_version == ir_version);
        CHECK(exported(one(ps::ReduceParams{}), {.opset = opset}).opset == opset);
    }
    for (const int opset : {0, 12, 22}) {
        CHECK(error_of([&] { (void)exported(one(ps::ReduceParams{}), {.opset = opset}); }) ==
              ps::join("ONNX export: opset ", opset, " is not supported; 13 to 21 are"));
    }
}

TEST_CASE("what cannot be exported is refused, naming the layer") {
    CHECK(error_of([] { (void)exported(one(ps::ConvTransposeParams{.kernel = 3, .stride = 2, .extra_h = 2})); }) ==
          "ONNX export: layer y (conv_transpose): its extra rows or columns are not fewer than its stride or "
          "dilation");
    // Those that are taken away again need not be there.
    CHECK(nodes_of(ps::ConvTransposeParams{.kernel = 3, .stride = 2, .padding = {0, 2, 0, 0}, .extra_h = 2}).size() ==
          1);
    CHECK(error_of([] { (void)exported(one(ps::GatherParams{}, {.c = 4, .h = 6, .w = 5}, 2)); }) ==
          "ONNX export: layer y (gather): it gives zeros for what is outside, which ONNX does not do");
    CHECK(error_of([] { (void)exported(one(ps::ChannelSumParams{})); }) ==
          "ONNX export: layer y (channel_sum): it is a part of a training step");
    ps::Graph boxes;
    const std::size_t corners = boxes.add("corners", ps::InputParams{{.c = 1, .h = 9, .w = 4}}, {});
    const std::size_t scores = boxes.add("scores", ps::InputParams{{.c = 1, .h = 2, .w = 9}}, {});
    boxes.add("y", ps::NonMaxSuppressionParams{}, {corners, scores});
    CHECK(error_of([&] { (void)exported(boxes); }) ==
          "ONNX export: layer y (non_max_suppression): its rows are padded, which ONNX does not do");
    CHECK(error_of([] { (void)ps::to_onnx(one(ps::ConvParams{}), {}); }).find("missing: y.weight") !=
          std::string::npos);
}

TEST_CASE("more than a protocol buffer may have is refused before anything is copied") {
    const ps::Graph graph = one(ps::DenseParams{.k = 8, .bias = false}, {.c = 100'000'000, .h = 1, .w = 1});
    constexpr std::size_t bytes = 3'200'000'000;
    void* pages = ::mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    REQUIRE(pages != MAP_FAILED);
    ps::Weights weights;
    weights.add("y.weight", {{8, 100'000'000}, {static_cast<const float*>(pages), bytes / sizeof(float)}, nullptr});
    const scratch::Folder folder;
    CHECK(error_of([&] { ps::save_onnx(folder.file("m.onnx"), graph, weights); }) ==
          "ONNX export: the weights take 3200000000 bytes; a model may have 2147483647");
    CHECK(folder.entries() == 0);
    ::munmap(pages, bytes);
}

TEST_CASE("random graphs: every name once, everything read is there before, and the same bytes each time") {
    for (unsigned seed = 0; seed < 200; ++seed) {
        CAPTURE(seed);
        const ps::Graph graph = random_graph::draw(seed, 12);
        const ps::OnnxExportOptions options{.opset = 13 + static_cast<int>(seed % 9), .open_batch = seed % 2 == 0};
        const std::string bytes = ps::to_onnx(graph, ps::random_weights(graph), options);
        CHECK((bytes == ps::to_onnx(graph, ps::random_weights(graph), options)));
        const ExportedModel model = read(bytes);
        std::set<std::string> known{""};
        for (auto const& [name, tensor] : model.initializers) known.insert(name);
        for (std::string const& input : model.inputs) known.insert(input.substr(6, input.find('[') - 6));
        for (std::size_t i = 0; i < model.nodes.size(); ++i) {
            for (std::string const& name : model.reads[i]) CHECK_MESSAGE(known.contains(name), model.nodes[i]);
            std::istringstream results(model.nodes[i].substr(0, model.nodes[i].find(" = ")));
            for (std::string name; std::getline(results, name, ',');) known.insert(name.substr(name.starts_with(' ')));
        }
        for (std::string const& name : model.names) CHECK_MESSAGE(model.names.count(name) == 1, name);
        REQUIRE(model.outputs.size() == graph.outputs().size());
        for (std::string const& output : model.outputs) {
            const std::size_t begin = output.find(' ') + 1;
            CHECK(known.contains(output.substr(begin, output.find('[') - begin)));
        }
    }
}

TEST_CASE("a network of the zoo in a file") {
    const scratch::Folder folder;
    using Net = ps::zoo::ResNet18Of<32, 10, std::ratio<1, 4>>;
    const ps::Weights weights = ps::random_weights(Net::graph());
    const std::string path = folder.file("resnet.onnx");
    ps::save_onnx<Net>(path, weights);
    const ExportedModel model = read(scratch::content(path));
    CHECK(model.nodes.size() == Net::graph().size());  // a flatten more, an input less
    CHECK(model.initializers.size() == weights.size());
    for (auto const& [name, tensor] : weights) CHECK(model.initializers.contains(name));
}
