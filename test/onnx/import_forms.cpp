// Forms in which exporters and optimisers write what other operators say as well.
#include "imported.hpp"

#include <primsel/network/graph.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace import_forms {

using namespace imported;

namespace {

/// All elements of x in double precision, with their dims.
struct Tensor {
    Ints dims;
    std::vector<double> values;
};
/// A pooling by its definition, over any number of axes behind the first two.
Tensor pooled(Tensor const& x, Ints const& kernel, Ints const& strides, Ints const& pads, bool is_max) {
    const std::size_t rank = x.dims.size(), axes = rank - 2;
    Tensor y{x.dims, {}};
    for (std::size_t i = 0; i < axes; ++i) {
        y.dims[i + 2] = (x.dims[i + 2] + pads[i] + pads[axes + i] - kernel[i]) / strides[i] + 1;
    }
    const auto index = [](Ints const& dims, std::size_t flat) {
        Ints place(dims.size());
        for (std::size_t axis = dims.size(); axis-- > 0;) {
            place[axis] = static_cast<std::int64_t>(flat) % dims[axis];
            flat /= static_cast<std::size_t>(dims[axis]);
        }
        return place;
    };
    const std::size_t taps = onnx::count_of(kernel), count = onnx::count_of(y.dims);
    for (std::size_t i = 0; i < count; ++i) {
        const Ints place = index(y.dims, i);
        double sum = 0, most = -std::numeric_limits<double>::infinity();
        int inside = 0;
        for (std::size_t t = 0; t < taps; ++t) {
            const Ints tap = index(kernel, t);
            std::int64_t at = 0;
            bool is_inside = true;
            for (std::size_t axis = 0; axis < rank; ++axis) {
                std::int64_t p = place[axis];
                if (axis >= 2) p = p * strides[axis - 2] - pads[axis - 2] + tap[axis - 2];
                is_inside = is_inside && p >= 0 && p < x.dims[axis];
                at = at * x.dims[axis] + p;
            }
            if (!is_inside) continue;
            ++inside;
            sum += x.values[static_cast<std::size_t>(at)];
            most = std::max(most, x.values[static_cast<std::size_t>(at)]);
        }
        y.values.push_back(is_max ? most : sum / inside);
    }
    return y;
}

}  // namespace

TEST_CASE("a pooling over many axes, of which windows move along two at most, is one of an image") {
    struct Case {
        Ints dims, kernel, strides, pads;
    };
    const Case cases[] = {
        {{1, 2, 6, 3, 2}, {3, 1, 1}, {1, 1, 1}, {1, 0, 0, 1, 0, 0}},                 // LRN of PyTorch
        {{1, 1, 3, 7, 4}, {1, 2, 1}, {1, 2, 1}, {0, 0, 0, 0, 0, 0}},                 // Keras, along a signal
        {{2, 3, 2, 3, 5}, {1, 1, 3}, {1, 1, 2}, {0, 0, 0, 0, 0, 1}},                 // the last axis alone
        {{1, 1, 2, 5, 6, 3}, {1, 2, 3, 1}, {1, 2, 1, 1}, {0, 0, 1, 0, 0, 1, 0, 0}},  // Keras, along an image
        {{1, 2, 4, 3, 5}, {2, 1, 3}, {1, 1, 2}, {0, 0, 1, 1, 0, 0}},                 // an axis between
        {{1, 2, 3, 1, 2}, {1, 1, 1}, {1, 1, 1}, {0, 0, 0, 0, 0, 0}},                 // none
        {{1, 2, 5, 3, 2}, {1, 1, 1}, {2, 1, 1}, {0, 0, 0, 0, 0, 0}},                 // strides alone
    };
    for (Case const& each : cases) {
        CAPTURE(ps::to_string(each.dims));
        CAPTURE(ps::to_string(each.kernel));
        const std::size_t size = onnx::count_of(each.dims);
        const std::vector<float> x = numbers(size, 4);
        for (const bool is_max : {true, false}) {
            const Tensor expected =
                pooled({each.dims, {x.begin(), x.end()}}, each.kernel, each.strides, each.pads, is_max);
            Model file(each.dims);
            file.node(is_max ? "MaxPool" : "AveragePool", {"x"}, {"y"},
                      {{"kernel_shape", each.kernel}, {"strides", each.strides}, {"pads", each.pads}});
            const ps::OnnxModel model = parse(file.bytes());
            CHECK(model.outputs[0].dims == expected.dims);
            CHECK(is_close(run(model, x), expected.values));
        }
    }
    const auto pool = [](Ints const& kernel, Strings const& outputs = {"y"}) {
        Model file({1, 2, 4, 4, 4});
        return refusal(file.node("MaxPool", {"x"}, outputs, {{"kernel_shape", kernel}}).bytes(outputs.back()));
    };
    CHECK(pool({2, 2, 2}).find("on a tensor of 5 dimensions") != std::string::npos);
    CHECK(pool({1, 2, 2}).empty());
    CHECK_FALSE(pool({1, 2, 2}, {"y", "i"}).empty());
}

TEST_CASE("parts without elements are left out where nothing is computed from them") {
    const std::vector<float> x = numbers(6);
    const std::vector<double> same(x.begin(), x.end());
    Model concat({2, 3});
    concat.writer.empty_initializer("e", onnx::DataType::float32, Ints{2, 0});
    CHECK(is_close(run(parse(concat.node("Concat", {"x", "e"}, {"y"}, {{"axis", std::int64_t{1}}}).bytes()), x), same));
    Model slice({2, 3});
    slice.integers("a", {5}).integers("b", {9}).integers("axes", {1});
    slice.node("Slice", {"x", "a", "b", "axes"}, {"s"}).node("Relu", {"s"}, {"r"}).node("Mul", {"r", "r"}, {"m"});
    slice.node("Concat", {"m", "x", "s"}, {"y"}, {{"axis", std::int64_t{1}}});
    CHECK(is_close(run(parse(slice.bytes()), x), same));
    // A product over no elements is zero.
    Model product({2, 3});
    product.integers("a", {5}).integers("b", {9}).integers("axes", {1}).floats("w", {0, 4}, {});
    product.node("Slice", {"x", "a", "b", "axes"}, {"s"}).node("MatMul", {"s", "w"}, {"p"});
    product.floats("k", {3, 4}, numbers(12)).node("MatMul", {"x", "k"}, {"q"}).node("Mul", {"p", "q"}, {"y"});
    const ps::OnnxModel zeros = parse(product.bytes());
    CHECK(zeros.outputs[0].dims == Ints{2, 4});
    CHECK(is_close(run(zeros, x), std::vector<double>(8, 0.0)));
}

TEST_CASE("a batch of no images gives results without elements") {
    Model file({2, 2, 4, 4});
    file.floats("w", {3, 2, 1, 1}, numbers(6)).node("Conv", {"x", "w"}, {"c"}).node("Relu", {"c"}, {"y"});
    const std::string bytes = file.bytes();
    const ps::OnnxOptions none{.dims = {{"x", {0, 2, 4, 4}}}};
    const ps::OnnxModel model = parse(bytes, none);
    CHECK(model.outputs[0].dims == Ints{0, 3, 4, 4});
    CHECK(model.inputs.empty());
    CHECK(model.graph.inputs().empty());
    CHECK(model.unread[0].name == "x");
    Model rows({2, 4});
    rows.floats("w", {4, 3}, numbers(12)).node("MatMul", {"x", "w"}, {"y"});
    CHECK(parse(rows.bytes(), {.dims = {{"x", {0, 4}}}}).outputs[0].dims == Ints{0, 3});
    // Where images meet, sums over none are zeros.
    Model mixed({2, 4});
    mixed.integers("axes", {0}).node("ReduceSum", {"x", "axes"}, {"s"}).node("Add", {"x", "s"}, {"y"});
    CHECK(parse(mixed.bytes(), {.dims = {{"x", {0, 4}}}}).outputs[0].dims == Ints{0, 4});
}

TEST_CASE("what follows from constants alone is a constant, whatever the operators") {
    // A standardised weight, as timm's ScaledStdConv2d is written: a batch norm in training mode over a weight.
    const std::vector<float> w = numbers(24, 3), x = numbers(32, 5), gain{0.5F, 1.5F, 2.0F};
    for (const std::int64_t training : {1, 0}) {
        for (const std::int64_t images : {1, 2}) {
            CAPTURE(training);
            CAPTURE(images);
            Model file({images, 2, 4, 4}, 15);
            file.floats("w", {3, 2, 2, 2}, w).floats("gain", {3}, gain).floats("zero", {3}, {0, 0, 0});
            file.floats("mean", {3}, {1, 2, -1}).floats("variance", {3}, {4, 1, 0.25F});
            file.integers("rows", {1, 3, -1}).integers("back", {3, 2, 2, 2});
            file.node("Reshape", {"w", "rows"}, {"r"});
            file.node("BatchNormalization", {"r", "gain", "zero", "mean", "variance"},
                      training == 1 ? Strings{"n", "m", "v"} : Strings{"n"},
                      {{"training_mode", training}, {"epsilon", 1e-3F}});
            file.node("Reshape", {"n", "back"}, {"k"}).node("Conv", {"x", "k"}, {"y"}, {}, "c");
            const ps::OnnxModel model = parse(file.bytes());
            CHECK(kinds_of(model) == Kinds{"input", "conv"});
            const auto kernel = model.weights.at("c.weight").values;
            for (std::size_t k = 0; k < 3; ++k) {
                double mean = 0, variance = 0;
                for (std::size_t i = 0; i < 8; ++i) mean += static_cast<double>(w[k * 8 + i]) / 8;
                for (std::size_t i = 0; i < 8; ++i)
                    variance += std::pow(static_cast<double>(w[k * 8 + i]) - mean, 2) / 8;
                if (training == 0) mean = k == 0 ? 1 : k == 1 ? 2 : -1, variance = k == 0 ? 4 : k == 1 ? 1 : 0.25;
                for (std::size_t i = 0; i < 8; ++i) {
                    const double expected = (static_cast<double>(w[k * 8 + i]) - mean) / std::sqrt(variance + 1e-3) *
                                            static_cast<double>(gain[k]);
                    CHECK(static_cast<double>(kernel[k * 8 + i]) == doctest::Approx(expected).epsilon(1e-5));
                }
            }
        }
    }
}

TEST_CASE("constants are as layers compute them") {
    // Each operator on a constant, beside the same on an input of the same values.
    struct Case {
        std::string op;
        std::vector<onnx::NewAttribute> attributes{};
        Strings more{};
    };
    const Case cases[] = {
        {"Relu"},
        {"Sigmoid"},
        {"Tanh"},
        {"LeakyRelu", {{"alpha", 0.3F}}},
        {"Elu", {{"alpha", 0.7F}}},
        {"Selu"},
        {"HardSigmoid"},
        {"HardSwish"},
        {"Softplus"},
        {"Softsign"},
        {"Mish"},
        {"Gelu"},
        {"Gelu", {{"approximate", std::string_view("tanh")}}},
        {"Swish"},
        {"Swish", {{"alpha", 1.5F}}},
        {"Celu", {{"alpha", 0.5F}}},
        {"ThresholdedRelu", {{"alpha", 0.5F}}},
        {"Shrink", {{"bias", 0.25F}, {"lambd", 0.75F}}},
        {"Clip", {}, {"low", "high"}},
        {"Softmax", {{"axis", std::int64_t{1}}}},
        {"LogSoftmax", {{"axis", std::int64_t{-1}}}},
        {"LayerNormalization", {}, {"row"}},
        {"InstanceNormalization", {}, {"pair", "pair"}},
        {"LpNormalization", {{"axis", std::int64_t{2}}}},
        {"MatMul", {}, {"matrix"}},
        {"MatMul", {}, {"matrices"}},
        {"PRelu", {}, {"row"}},
    };
    const std::vector<float> values = numbers(24, 9);
    for (Case const& each : cases) {
        CAPTURE(each.op);
        const auto file = [&](bool is_known) {
            Model model({1, 2, 3, 4}, 24);
            model.floats("k", {1, 2, 3, 4}, values).floats("low", {}, {-0.5F}).floats("high", {}, {1.0F});
            model.floats("row", {4}, {1, 2, 3, -1})
                .floats("pair", {2}, {0.5F, 2})
                .floats("matrix", {4, 2}, numbers(8, 2));
            model.floats("matrices", {2, 4, 2}, numbers(16, 3)).floats("zero", {1}, {0.0F});
            Strings inputs{is_known ? "k" : "x"};
            inputs.insert(inputs.end(), each.more.begin(), each.more.end());
            model.node(each.op, inputs, {"r"}, each.attributes);
            // The input is needed, and does not change the result.
            return model.node("Mul", {"x", "zero"}, {"none"})
                .node("ReduceSum", {"none"}, {"nothing"})
                .node("Add", {"r", "nothing"}, {"y"})
                .bytes();
        };
        const ps::OnnxModel folded = parse(file(true)), layers = parse(file(false));
        CHECK(is_close(run(folded, values), run(layers, values)));
        const auto computes = [](ps::OnnxModel const& model) {
            return std::ranges::count_if(model.graph.nodes(), [](ps::Node const& node) {
                const std::string_view kind = ps::layer_kind(node.layer);
                return kind != "input" && kind != "constant" && kind != "reshape" && kind != "flatten";
            });
        };
        CHECK(computes(folded) < computes(layers));
    }
    // A convolution of constants stays one.
    Model conv({1, 2, 4, 4});
    conv.floats("k", {1, 2, 4, 4}, numbers(32)).floats("w", {2, 2, 1, 1}, numbers(4));
    conv.node("Conv", {"k", "w"}, {"c"}).node("Add", {"x", "c"}, {"y"});
    CHECK(std::ranges::count(kinds_of(parse(conv.bytes())), "conv") == 1);
}

TEST_CASE("an initializer that is an input, too, has its value unless the caller gives another") {
    Model file({1, 2, 2, 2});
    file.input("w", {2, 2, 1, 1}).floats("w", {2, 2, 1, 1}, {1, 0, 0, 1}).node("Conv", {"x", "w"}, {"y"});
    const std::string bytes = file.bytes();
    const std::vector<float> x = numbers(8);
    const ps::OnnxModel own = parse(bytes);
    CHECK(own.inputs.size() == 1);
    CHECK(is_close(run(own, x), {x.begin(), x.end()}));
    ps::OnnxOptions options;
    options.values.emplace("w", ps::make_onnx_tensor("w", {2, 2, 1, 1}, std::vector<float>{2, 0, 0, 2}));
    const ps::OnnxModel other = parse(bytes, options);
    CHECK(other.inputs.size() == 1);
    std::vector<double> twice;
    for (const float value : x) twice.push_back(2.0 * static_cast<double>(value));
    CHECK(is_close(run(other, x), twice));
    // The same of one that would be an input where it is no constant.
    Model sum({1, 2});
    sum.input("b", {1, 2}).floats("b", {1, 2}, {1, 1}).node("Add", {"x", "b"}, {"y"});
    ps::OnnxOptions more;
    more.values.emplace("b", ps::make_onnx_tensor("b", {1, 2}, std::vector<float>{5, 6}));
    const ps::OnnxModel added = parse(sum.bytes(), more);
    CHECK(added.inputs.size() == 1);
    CHECK(run(added, {1, 2}) == Line{6, 8});
}

TEST_CASE("a file of one image runs several where they stay apart") {
    Model file({1, 2, 2, 2});
    file.floats("w", {4, 8}, numbers(32)).integers("flat", {1, 8}).integers("rest", {1, -1});
    file.node("Relu", {"x"}, {"r"}).node("Reshape", {"r", "flat"}, {"f"}).node("Reshape", {"f", "rest"}, {"g"});
    file.node("Gemm", {"g", "w"}, {"y"}, {{"transB", std::int64_t{1}}});
    const std::string bytes = file.bytes();
    const std::vector<float> x = numbers(24, 8);
    const ps::OnnxModel one = parse(bytes), three = parse(bytes, {.batch = 3});
    CHECK(three.graph.batch() == 3);
    CHECK(three.outputs[0].dims == Ints{3, 4});
    CHECK(is_close(run(three, x), run(one, x)));
    // Reshapes and constants of one image are of each.
    Model tokens({1, 2, 3});
    tokens.floats("class", {1, 1, 3}, {7, 8, 9}).integers("rows", {3, 3}).integers("back", {1, 9});
    tokens.node("Concat", {"class", "x"}, {"c"}, {{"axis", std::int64_t{1}}}).node("Reshape", {"c", "rows"}, {"r"});
    tokens.node("Softmax", {"r"}, {"s"}, {{"axis", std::int64_t{0}}}).node("Reshape", {"s", "back"}, {"y"});
    const std::string one_of_tokens = tokens.bytes();
    const ps::OnnxModel four = parse(one_of_tokens, {.batch = 4});
    CHECK(four.graph.batch() == 4);
    CHECK(four.inputs[0].dims == Ints{4, 2, 3});
    CHECK(four.outputs[0].dims == Ints{4, 9});
    CHECK(is_close(run(four, x), run(parse(one_of_tokens), x)));
    // A file of several runs more, or one, where they stay apart.
    Model pair({2, 4});
    pair.node("Relu", {"x"}, {"y"});
    const std::string two = pair.bytes();
    CHECK(parse(two, {.batch = 3}).graph.batch() == 3);
    CHECK(parse(two, {.batch = 1}).graph.batch() == 1);
    // An input beside it that is one for all has a copy for each; so has an input that is given.
    Model mask({onnx::open_dimension, 4});
    mask.input("k", {1, 4}).node("Mul", {"x", "k"}, {"y"});
    const std::string masked = mask.bytes();
    CHECK(parse(masked, {.batch = 3}).inputs[1].dims == Ints{3, 4});
    ps::OnnxOptions given{.batch = 3};
    given.values.emplace("k", ps::make_onnx_tensor("k", {3, 4}, numbers(12)));
    CHECK(parse(masked, given).inputs[1].dims == Ints{3, 4});

    const auto refused = [](Model& of, const char* why) {
        const std::string reason = refusal(of.bytes(), {.batch = 3});
        CAPTURE(reason);
        CHECK(reason.find(why) != std::string::npos);
    };
    Model row({1, 4});
    row.integers("row", {4}).node("Reshape", {"x", "row"}, {"y"});
    refused(row, "the file is of one image, and 3 cannot run one by one: result y of 4 has no leading axis of images");
    Model mixed({2, 4});
    mixed.node("Softmax", {"x"}, {"y"}, {{"axis", std::int64_t{0}}});
    refused(mixed, "the file is of 2 images, and 3 cannot run one by one: its layers mix them");
}

TEST_CASE("operators of ONNX Runtime's optimiser") {
    const std::string_view domain = "com.microsoft";
    const std::vector<float> x = numbers(24, 3), w = numbers(24, 4);
    // Products with both factors transposed and scaled, beside plain operators.
    // Rows may also lie along the first axis, before those of the batch.
    for (const bool is_known : {true, false}) {
        for (const int forms : {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}) {
            CAPTURE(is_known);
            CAPTURE(forms);
            const bool turn_a = forms % 2 != 0, turn_b = forms / 2 % 2 != 0, first_a = forms / 4 % 2 != 0,
                       first_b = forms / 8 != 0;
            // [batch, rows, columns] as the file has it, and how that comes about again.
            const auto stored = [](Ints dims, bool turns, bool first) {
                if (turns) std::swap(dims[1], dims[2]);
                if (first) std::swap(dims[0], dims[1]);
                return dims;
            };
            const auto order = [](bool turns, bool first) {
                Ints perm = first ? Ints{1, 0, 2} : Ints{0, 1, 2};
                if (turns) std::swap(perm[1], perm[2]);
                return perm;
            };
            const Ints dims_a = stored({2, 3, 4}, turn_a, first_a), dims_b = stored({2, 4, 3}, turn_b, first_b);
            Model fused({24}), plain({24});
            for (Model* model : {&fused, &plain}) {
                model->floats("half", {}, {0.5F}).integers("a dims", dims_a).integers("b dims", dims_b);
                model->node("Reshape", {"x", "a dims"}, {"a"});
                if (is_known) model->floats("b", dims_b, w);
                if (!is_known) model->node("Abs", {"x"}, {"abs"}).node("Reshape", {"abs", "b dims"}, {"b"});
            }
            fused.node_of(domain, "FusedMatMul", {"a", "b"}, {"y"},
                          {{"alpha", 0.5F},
                           {"transA", std::int64_t{turn_a}},
                           {"transB", std::int64_t{turn_b}},
                           {"transBatchA", std::int64_t{first_a}},
                           {"transBatchB", std::int64_t{first_b}}});
            plain.node("Transpose", {"a"}, {"u"}, {{"perm", order(turn_a, first_a)}});
            plain.node("Transpose", {"b"}, {"v"}, {{"perm", order(turn_b, first_b)}});
            plain.node("MatMul", {"u", "v"}, {"p"}).node("Mul", {"p", "half"}, {"y"});
            const ps::OnnxModel one = parse(fused.bytes()), other = parse(plain.bytes());
            CHECK(one.outputs[0].dims == Ints{2, 3, 3});
            CHECK(is_close(run(one, x), run(other, x)));
        }
    }
    const auto unary = [&](std::string const& op, std::vector<onnx::NewAttribute> const& attributes,
                           Strings const& more = {}) {
        Model model({1, 24});
        model.floats("bias", {24}, w);
        Strings inputs{"x"};
        inputs.insert(inputs.end(), more.begin(), more.end());
        return run(parse(model.node_of(domain, op, inputs, {"y"}, attributes).bytes()), x);
    };
    const auto expected = [&](auto const& f, bool has_bias) {
        std::vector<double> values;
        for (std::size_t i = 0; i < x.size(); ++i)
            values.push_back(f(static_cast<double>(x[i]) + (has_bias ? static_cast<double>(w[i]) : 0.0)));
        return values;
    };
    const auto swish = [](double alpha) { return [alpha](double z) { return z / (1 + std::exp(-alpha * z)); }; };
    const auto gelu = [](double z) { return z / 2 * std::erfc(-z / std::sqrt(2.0)); };
    const auto fast = [](double z) {
        return z / 2 * (1 + std::tanh(std::sqrt(2 / 3.14159265358979323846) * (z + 0.044715 * z * z * z)));
    };
    CHECK(is_close(unary("QuickGelu", {}), expected(swish(1.702F), false)));
    CHECK(is_close(unary("QuickGelu", {{"alpha", 1.0F}}), expected(swish(1.0), false)));
    CHECK(is_close(unary("Gelu", {}), expected(gelu, false)));
    CHECK(is_close(unary("BiasGelu", {}, {"bias"}), expected(gelu, true)));
    CHECK(is_close(unary("FastGelu", {}), expected(fast, false)));
    CHECK(is_close(unary("FastGelu", {}, {"bias"}), expected(fast, true)));
    const auto gemm = [&](bool is_fused) {
        Model model({1, 4});
        model.floats("k", {6, 4}, w).floats("c", {6}, numbers(6));
        const std::vector<onnx::NewAttribute> attributes{{"transB", std::int64_t{1}}};
        if (!is_fused) {
            return model.node("Gemm", {"x", "k", "c"}, {"g"}, attributes)
                .node("LeakyRelu", {"g"}, {"y"}, {{"alpha", 0.2F}})
                .bytes();
        }
        std::vector<onnx::NewAttribute> more = attributes;
        more.push_back({"activation", std::string_view("LeakyRelu")});
        more.push_back({"activation_alpha", 0.2F});
        return model.node_of(domain, "FusedGemm", {"x", "k", "c"}, {"y"}, more).bytes();
    };
    const std::vector<float> four = numbers(4);
    CHECK(is_close(run(parse(gemm(true)), four), run(parse(gemm(false)), four)));
    Model blocked;
    blocked.floats("w", {2, 2, 1, 1}, numbers(4)).node_of("com.microsoft.nchwc", "Conv", {"x", "w"}, {"y"});
    CHECK(refusal(blocked.bytes()).find("save the model at the level \"extended\"") != std::string::npos);
}

}  // namespace import_forms
