#include <doctest/doctest.h>

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <primsel/network/simplify.hpp>
#include <primsel/network/zoo.hpp>
#include <primsel/onnx/export.hpp>
#include <protozero/pbf_reader.hpp>
#include <set>
#include <sstream>

#include "../io/scratch.hpp"
#include "random_graph.hpp"

namespace ps = primsel;
using scratch::error_of;
using Strings = std::vector<std::string>;
using Ints = std::vector<std::int64_t>;

namespace {

// A reader of its own, with the field numbers of onnx.proto.

struct Tensor {
    Ints dims;
    int type = 0;
    std::string data;

    [[nodiscard]] std::vector<float> floats() const {
        std::vector<float> values(data.size() / sizeof(float));
        std::memcpy(values.data(), data.data(), data.size());
        return values;
    }
    [[nodiscard]] Ints ints() const {
        Ints values(data.size() / sizeof(std::int64_t));
        std::memcpy(values.data(), data.data(), data.size());
        return values;
    }
};

struct ExportedModel {
    std::int64_t ir_version = 0, opset = 0;
    std::string producer;
    /// "name = Op(inputs) {attribute=value, ...}", with other results before the name.
    Strings nodes;
    std::map<std::string, Tensor> initializers;
    /// "float name[batch,3,8,8]"
    Strings inputs, outputs;
    /// Of everything: results of nodes, initializers, inputs.
    std::multiset<std::string> names;
    std::vector<Strings> reads;
};

std::string attribute(protozero::pbf_reader field) {
    std::string name, value;
    std::int64_t type = 0;
    while (field.next()) {
        switch (field.tag()) {
            case 1:
                name = field.get_string();
                break;
            case 2: {
                std::ostringstream out;
                out << field.get_float();
                value = out.str();
                break;
            }
            case 3:
                value = std::to_string(field.get_int64());
                break;
            case 4:
                value = field.get_string();
                break;
            case 8:
                value += (value.empty() ? "" : " ") + std::to_string(field.get_int64());
                break;
            case 20:
                type = field.get_enum();
                break;
            default:
                FAIL("unexpected attribute field");
        }
    }
    CHECK((type == 1 || type == 2 || type == 3 || type == 7));
    return name + "=" + value;
}

void node(protozero::pbf_reader field, ExportedModel& model) {
    Strings inputs, outputs;
    std::string name, op, attributes;
    while (field.next()) {
        switch (field.tag()) {
            case 1:
                inputs.push_back(field.get_string());
                break;
            case 2:
                outputs.push_back(field.get_string());
                break;
            case 3:
                name = field.get_string();
                break;
            case 4:
                op = field.get_string();
                break;
            case 5:
                attributes += (attributes.empty() ? "" : ", ") + attribute(field.get_message());
                break;
            default:
                FAIL("unexpected node field");
        }
    }
    REQUIRE_FALSE(outputs.empty());
    CHECK(name == outputs[0]);
    std::string text;
    for (std::string const& output : outputs) {
        text += (text.empty() ? "" : ", ") + output;
        model.names.insert(output);
    }
    text += " = " + op + "(";
    for (std::size_t i = 0; i < inputs.size(); ++i) text += (i == 0 ? "" : ", ") + inputs[i];
    model.nodes.push_back(text + ")" + (attributes.empty() ? "" : " {" + attributes + "}"));
    model.reads.push_back(inputs);
}

void tensor(protozero::pbf_reader field, ExportedModel& model) {
    Tensor tensor;
    std::string name;
    while (field.next()) {
        switch (field.tag()) {
            case 1:
                tensor.dims.push_back(field.get_int64());
                break;
            case 2:
                tensor.type = field.get_int32();
                break;
            case 8:
                name = field.get_string();
                break;
            case 9:
                tensor.data = field.get_bytes();
                break;
            default:
                FAIL("unexpected tensor field");
        }
    }
    std::int64_t bytes = tensor.type == 1 ? 4 : 8;
    CHECK((tensor.type == 1 || tensor.type == 7));
    for (const std::int64_t dim : tensor.dims) bytes *= dim;
    CHECK(bytes == static_cast<std::int64_t>(tensor.data.size()));
    model.names.insert(name);
    model.initializers[name] = tensor;
}

std::string value(protozero::pbf_reader field) {
    std::string name, type, dims;
    while (field.next()) {
        if (field.tag() == 1) {
            name = field.get_string();
            continue;
        }
        REQUIRE(field.tag() == 2);
        protozero::pbf_reader type_of(field.get_message());
        REQUIRE(type_of.next(1));
        protozero::pbf_reader tensor(type_of.get_message());
        while (tensor.next()) {
            if (tensor.tag() == 1) {
                const int code = tensor.get_int32();
                type = code == 1 ? "float" : code == 7 ? "int64" : "?";
                continue;
            }
            protozero::pbf_reader shape(tensor.get_message());
            while (shape.next(1)) {
                protozero::pbf_reader dim(shape.get_message());
                REQUIRE(dim.next());
                dims += dims.empty() ? "" : ",";
                dims += dim.tag() == 1 ? std::to_string(dim.get_int64()) : dim.get_string();
            }
        }
    }
    return type + " " + name + "[" + dims + "]";
}

ExportedModel read(std::string const& bytes) {
    ExportedModel model;
    protozero::pbf_reader field(bytes);
    while (field.next()) {
        if (field.tag() == 1) {
            model.ir_version = field.get_int64();
        } else if (field.tag() == 2) {
            model.producer = field.get_string();
        } else if (field.tag() == 8) {
            protozero::pbf_reader import(field.get_message());
            REQUIRE(import.next(2));
            model.opset = import.get_int64();
        } else if (field.tag() == 7) {
            protozero::pbf_reader graph(field.get_message());
            while (graph.next()) {
                switch (graph.tag()) {
                    case 1:
                        node(graph.get_message(), model);
                        break;
                    case 2:
                        CHECK_FALSE(graph.get_string().empty());
                        break;
                    case 5:
                        tensor(graph.get_message(), model);
                        break;
                    case 11:
                        model.inputs.push_back(value(graph.get_message()));
                        model.names.insert(model.inputs.back().substr(6, model.inputs.back().find('[') - 6));
                        break;
                    case 12:
                        model.outputs.push_back(value(graph.get_message()));
                        break;
                    default:
                        FAIL("unexpected graph field");
                }
            }
        } else {
            field.skip();
        }
    }
    return model;
}

ExportedModel exported(ps::Graph const& graph, ps::OnnxExportOptions const& options = {}) {
    return read(ps::to_onnx(graph, ps::random_weights(graph), options));
}

/// A graph of one layer on an input x of 4x6x5.
ps::Graph one(ps::AnyLayer const& layer, ps::Shape in = {.c = 4, .h = 6, .w = 5}, std::size_t inputs = 1) {
    ps::Graph graph;
    const std::size_t x = graph.add("x", ps::InputParams{in}, {});
    graph.add("y", layer, std::vector<std::size_t>(inputs, x));
    return graph;
}
Strings nodes_of(ps::AnyLayer const& layer, std::size_t inputs = 1) {
    return exported(one(layer, {.c = 4, .h = 6, .w = 5}, inputs)).nodes;
}

}  // namespace

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

TEST_CASE("each kind of layer") {
    const std::string window = "{kernel_shape=2 2, strides=2 2, pads=0 0 0 0";
    CHECK(nodes_of(ps::PoolParams{}) == Strings{"y = MaxPool(x) " + window + ", dilations=1 1, ceil_mode=0}"});
    CHECK(nodes_of(ps::PoolParams{.kind = ps::PoolKind::average, .ceil_mode = true}) ==
          Strings{"y = AveragePool(x) " + window + ", ceil_mode=1, count_include_pad=1}"});
    CHECK(nodes_of(ps::GlobalPoolParams{}) == Strings{"y = GlobalAveragePool(x)"});
    CHECK(nodes_of(ps::GlobalPoolParams{ps::PoolKind::max}) == Strings{"y = GlobalMaxPool(x)"});

    using ps::ActivationKind;
    using ps::ActivationParams;
    CHECK(nodes_of(ActivationParams{ActivationKind::relu6}) == Strings{"y = Clip(x, y.min, y.max)"});
    CHECK(nodes_of(ActivationParams{ActivationKind::leaky_relu, 0.25F}) == Strings{"y = LeakyRelu(x) {alpha=0.25}"});
    CHECK(nodes_of(ActivationParams{ActivationKind::sigmoid}) == Strings{"y = Sigmoid(x)"});
    CHECK(nodes_of(ActivationParams{ActivationKind::hard_swish}) == Strings{"y = HardSwish(x)"});
    CHECK(nodes_of(ActivationParams{ActivationKind::elu, 2.0F}) == Strings{"y = Elu(x) {alpha=2}"});
    CHECK(nodes_of(ActivationParams{ActivationKind::hard_sigmoid, 0.25F, 0.5F}) ==
          Strings{"y = HardSigmoid(x) {alpha=0.25, beta=0.5}"});
    CHECK(nodes_of(ActivationParams{ActivationKind::tanh}) == Strings{"y = Tanh(x)"});
    CHECK(nodes_of(ActivationParams{ActivationKind::sqrt}) == Strings{"y = Sqrt(x)"});
    CHECK(nodes_of(ActivationParams{ActivationKind::clip, -HUGE_VALF, 2.0F}) == Strings{"y = Clip(x, , y.max)"});
    CHECK(nodes_of(ActivationParams{ActivationKind::clip, 1.0F, HUGE_VALF}) == Strings{"y = Clip(x, y.min)"});
    CHECK(nodes_of(ActivationParams{ActivationKind::clip, -HUGE_VALF, HUGE_VALF}) == Strings{"y = Identity(x)"});

    CHECK(nodes_of(ps::LrnParams{5, 0.5F, 0.75F, 2.0F}) ==
          Strings{"y = LRN(x) {alpha=0.5, beta=0.75, bias=2, size=5}"});
    CHECK(nodes_of(ps::BatchNormParams{0.5F}) ==
          Strings{"y = BatchNormalization(x, y.weight, y.bias, y.running_mean, y.running_var) {epsilon=0.5}"});
    CHECK(nodes_of(ps::ScaleParams{}) ==
          Strings{"y = BatchNormalization(x, y.weight, y.bias, y.mean, y.var) {epsilon=0}"});
    CHECK(nodes_of(ps::SoftmaxParams{ps::Axis::w}) == Strings{"y = Softmax(x) {axis=3}"});
    ps::Graph clamped;
    clamped.add("x", ps::InputParams{{.c = 4, .h = 6, .w = 5}}, {});
    clamped.add("y", ps::AddParams{}, {0, 0}, {.clamp = ps::relu_clamp});
    CHECK(exported(clamped).nodes == Strings{"y/Add = Add(x, x)", "y = Relu(y/Add)"});
    CHECK(nodes_of(ps::AddParams{}, 3) == Strings{"y = Sum(x, x, x)"});
    CHECK(nodes_of(ps::ConcatParams{ps::Axis::h}, 2) == Strings{"y = Concat(x, x) {axis=2}"});
    CHECK(nodes_of(ps::BinaryParams{ps::BinaryKind::add}, 2) == Strings{"y = Add(x, x)"});
    CHECK(nodes_of(ps::BinaryParams{ps::BinaryKind::subtract}, 2) == Strings{"y = Sub(x, x)"});
    CHECK(nodes_of(ps::BinaryParams{ps::BinaryKind::multiply}, 2) == Strings{"y = Mul(x, x)"});
    CHECK(nodes_of(ps::BinaryParams{ps::BinaryKind::divide}, 2) == Strings{"y = Div(x, x)"});
    CHECK(nodes_of(ps::BinaryParams{ps::BinaryKind::prelu}, 2) == Strings{"y = PRelu(x, x)"});
    CHECK(nodes_of(ActivationParams{ActivationKind::exp}) == Strings{"y = Exp(x)"});
    CHECK(nodes_of(ActivationParams{ActivationKind::round}) == Strings{"y = Round(x)"});
    CHECK(nodes_of(ActivationParams{ActivationKind::softplus}) == Strings{"y = Softplus(x)"});
    CHECK(nodes_of(ActivationParams{ActivationKind::atanh}) == Strings{"y = Atanh(x)"});
    CHECK(nodes_of(ActivationParams{ActivationKind::power, 3.0F}) == Strings{"y = Pow(x, y.exponent)"});
    CHECK(nodes_of(ActivationParams{ActivationKind::truncate}) ==
          Strings{"y/Sign = Sign(x)", "y/Abs = Abs(x)", "y/Floor = Floor(y/Abs)", "y = Mul(y/Sign, y/Floor)"});
    CHECK(nodes_of(ps::BinaryParams{ps::BinaryKind::power}, 2) == Strings{"y = Pow(x, x)"});
    CHECK(nodes_of(ps::BinaryParams{ps::BinaryKind::maximum}, 2) == Strings{"y = Max(x, x)"});
    CHECK(nodes_of(ps::BinaryParams{ps::BinaryKind::remainder}, 2) == Strings{"y = Mod(x, x) {fmod=1}"});
    CHECK(nodes_of(ps::BinaryParams{ps::BinaryKind::greater_or_equal}, 2) ==
          Strings{"y/GreaterOrEqual = GreaterOrEqual(x, x)", "y = Cast(y/GreaterOrEqual) {to=1}"});
    CHECK(nodes_of(ps::BinaryParams{ps::BinaryKind::keep}, 2) ==
          Strings{"y/Cast = Cast(x) {to=9}", "y = Where(y/Cast, x, y.zero)"});
    CHECK(nodes_of(ps::ReduceParams{ps::ReduceKind::arg_max, ps::Axis::h}) ==
          Strings{"y/ArgMax = ArgMax(x) {axis=2, keepdims=1}", "y = Cast(y/ArgMax) {to=1}"});
    CHECK(nodes_of(ps::TopKParams{2}) == Strings{"y = TopK(x, y.k) {axis=3, largest=1, sorted=1}"});
    CHECK(nodes_of(ps::FlattenParams{}) == Strings{"y = Flatten(x) {axis=1}"});
    CHECK(nodes_of(ps::DropoutParams{}) == Strings{"y = Dropout(x)"});
    CHECK(nodes_of(ps::ChannelShuffleParams{2}) == Strings{"y/Reshape = Reshape(x, y.shape)",
                                                           "y/Transpose = Transpose(y/Reshape) {perm=0 2 1 3 4}",
                                                           "y = Reshape(y/Transpose, y.shape_)"});
    CHECK(nodes_of(ps::ReshapeParams{{.c = 8, .h = 3, .w = 5}}) == Strings{"y = Reshape(x, y.shape)"});
    CHECK(nodes_of(ps::SliceParams{1, 3, ps::Axis::h}) == Strings{"y = Slice(x, y.first, y.last, y.axes)"});
    CHECK(nodes_of(ps::ReduceParams{ps::ReduceKind::max, ps::Axis::c}) ==
          Strings{"y = ReduceMax(x) {axes=1, keepdims=1}"});
    CHECK(nodes_of(ps::ReduceParams{ps::ReduceKind::sum, ps::Axis::c}) ==
          Strings{"y = ReduceSum(x, y.axes) {keepdims=1}"});
    CHECK(exported(one(ps::MatMulParams{}, {.c = 2, .h = 3, .w = 3}, 2)).nodes == Strings{"y = MatMul(x, x)"});
    CHECK(
        nodes_of(ps::ConvTransposeParams{.k = 6, .kernel = 3, .stride = 2, .padding = 1, .extra_h = 1, .groups = 2}) ==
        Strings{"y = ConvTranspose(x, y.weight, y.bias) {kernel_shape=3 3, strides=2 2, pads=1 1 1 1, "
                "dilations=1 1, group=2, output_padding=1 0}"});
}

TEST_CASE("the inputs that say how") {
    const auto ints = [](ps::AnyLayer const& layer, std::string const& name) {
        return exported(one(layer)).initializers.at(name).ints();
    };
    CHECK(ints(ps::ReshapeParams{{.c = 8, .h = 3, .w = 5}}, "y.shape") == Ints{0, 8, 3, 5});
    CHECK(ints(ps::ChannelShuffleParams{2}, "y.shape") == Ints{0, 2, 2, 6, 5});
    CHECK(ints(ps::SliceParams{1, 3, ps::Axis::h}, "y.first") == Ints{1});
    CHECK(ints(ps::SliceParams{1, 3, ps::Axis::h}, "y.last") == Ints{3});
    CHECK(ints(ps::SliceParams{1, 3, ps::Axis::h}, "y.axes") == Ints{2});
    const ps::PadParams pad{{1, 2, 3, 4}, 0.5F, ps::PadMode::constant, 5, 6};
    CHECK(nodes_of(pad) == Strings{"y = Pad(x, y.pads, y.value) {mode=constant}"});
    CHECK(ints(pad, "y.pads") == Ints{0, 5, 1, 3, 0, 6, 2, 4});
    CHECK(exported(one(pad)).initializers.at("y.value").floats() == std::vector{0.5F});
    CHECK(nodes_of(ps::PadParams{1, 0.0F, ps::PadMode::edge}) == Strings{"y = Pad(x, y.pads) {mode=edge}"});
    const ExportedModel clip = exported(one(ps::ActivationParams{ps::ActivationKind::relu6}));
    CHECK(clip.initializers.at("y.min").floats() == std::vector{0.0F});
    CHECK(clip.initializers.at("y.max").floats() == std::vector{6.0F});
    CHECK(clip.initializers.at("y.max").dims.empty());
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

TEST_CASE("the places of maxima are the second result of a max pooling, integers until floats are needed") {
    ps::Graph graph;
    const std::size_t x = graph.add("x", ps::InputParams{{.c = 2, .h = 4, .w = 4}}, {});
    const std::size_t where = graph.add("where", ps::MaxPoolIndicesParams{}, {x});
    const std::size_t max = graph.add("max", ps::PoolParams{}, {x});
    const std::size_t both = graph.add("both", ps::AddParams{}, {where, max});
    const std::size_t other = graph.add("other", ps::MaxPoolIndicesParams{{.window = 3}}, {x});
    graph.set_outputs({both, where, other});
    const ExportedModel model = exported(graph);
    const std::string window = ", strides=2 2, pads=0 0 0 0, dilations=1 1, ceil_mode=0}";
    CHECK(model.nodes == Strings{"max, where = MaxPool(x) {kernel_shape=2 2" + window, "both/Cast = Cast(where) {to=1}",
                                 "both = Add(both/Cast, max)",
                                 "other/MaxPool, other = MaxPool(x) {kernel_shape=3 3" + window});
    CHECK(model.outputs == Strings{"float both[batch,2,2,2]", "int64 where[batch,2,2,2]", "int64 other[batch,2,1,1]"});
}

TEST_CASE("a window that would start behind the image does not depend on how ceil_mode is understood") {
    const ps::Shape in{.c = 1, .h = 5, .w = 5};
    const ps::PoolParams pool{.window = 2, .stride = 3, .padding = 1, .ceil_mode = true};
    REQUIRE(pool.output(std::vector{in}).h == 2);
    CHECK(exported(one(pool, in)).nodes == Strings{"y = MaxPool(x) {kernel_shape=2 2, strides=3 3, pads=1 1 0 0, "
                                                   "dilations=1 1, ceil_mode=0}"});
    ps::PoolParams average = pool;
    average.kind = ps::PoolKind::average;
    const ExportedModel model = exported(one(average, in));
    CHECK(model.nodes == Strings{"y/Pad = Pad(x, y.pads, y.value)",
                                 "y = AveragePool(y/Pad) {kernel_shape=2 2, strides=3 3, pads=0 0 0 0, ceil_mode=0, "
                                 "count_include_pad=0}"});
    CHECK(model.initializers.at("y.pads").ints() == Ints{0, 0, 1, 1, 0, 0, 0, 0});
    // Where there is none, ceil_mode stays.
    CHECK(exported(one(ps::PoolParams{.window = 3, .stride = 2, .ceil_mode = true}, {.c = 1, .h = 6, .w = 6}))
              .nodes[0]
              .find("ceil_mode=1") != std::string::npos);
}

TEST_CASE("an even window of local response normalisation, which ONNX lays elsewhere") {
    const ExportedModel model = exported(one(ps::LrnParams{4, 2.0F, 0.5F, 3.0F}));
    CHECK(model.nodes == Strings{"y/Mul = Mul(x, x)", "y/Conv = Conv(y/Mul, y.window, y.k)",
                                 "y/Pow = Pow(y/Conv, y.beta)", "y = Div(x, y/Pow)"});
    CHECK(model.initializers.at("y.window").floats() == std::vector<float>{0.5F, 0.5F, 0, 0,        //
                                                                           0.5F, 0.5F, 0.5F, 0,     //
                                                                           0.5F, 0.5F, 0.5F, 0.5F,  //
                                                                           0, 0.5F, 0.5F, 0.5F});
    CHECK(model.initializers.at("y.k").floats() == std::vector<float>(4, 3.0F));
}

TEST_CASE("the size of a resized image, whatever the batch") {
    const ps::ResizeParams resize{.size = {12, 7}, .mode = ps::ResizeMode::linear};
    const std::string how = " {mode=linear, coordinate_transformation_mode=half_pixel, nearest_mode=round_prefer_floor";
    CHECK(nodes_of(resize) == Strings{"y/Shape = Shape(x)", "y/Slice = Slice(y/Shape, y.first, y.last)",
                                      "y/Concat = Concat(y/Slice, y.sizes) {axis=0}",
                                      "y = Resize(x, , , y/Concat)" + how + "}"});
    const ExportedModel fixed = exported(one(resize), {.open_batch = false});
    CHECK(fixed.nodes == Strings{"y = Resize(x, , , y.sizes)" + how + "}"});
    CHECK(fixed.initializers.at("y.sizes").ints() == Ints{1, 4, 12, 7});
    const ExportedModel later = exported(one(resize), {.opset = 18});
    CHECK(later.nodes == Strings{"y = Resize(x, , , y.sizes)" + how + ", axes=2 3}"});
    CHECK(later.initializers.at("y.sizes").ints() == Ints{12, 7});
    const ExportedModel scaled = exported(one(ps::ResizeParams{.size = {15, 10}, .scale_h = 0.4F, .scale_w = 0.5F}));
    CHECK(scaled.nodes[0].starts_with("y = Resize(x, , y.scales)"));
    CHECK(scaled.initializers.at("y.scales").floats() == std::vector{1.0F, 1.0F, 2.5F, 2.0F});
    // 10 * 0.7F is 7 in floats and less than that in doubles: readers do either.
    const ExportedModel rounded =
        exported(one(ps::ResizeParams{.size = {7, 10}, .scale_w = 0.5F}, {.c = 4, .h = 10, .w = 5}));
    const float factor = rounded.initializers.at("y.scales").floats()[2];
    CHECK(static_cast<int>(10.0F * factor) == 7);
    CHECK(static_cast<int>(10.0 * static_cast<double>(factor)) == 7);
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
    using Net = ps::zoo::ResNet18Of<32, 10>;
    const ps::Weights weights = ps::random_weights(Net::graph());
    const std::string path = folder.file("resnet.onnx");
    ps::save_onnx<Net>(path, weights);
    const ExportedModel model = read(scratch::content(path));
    CHECK(model.nodes.size() == Net::graph().size());  // a flatten more, an input less
    CHECK(model.initializers.size() == weights.size());
    for (auto const& [name, tensor] : weights) CHECK(model.initializers.contains(name));
}
