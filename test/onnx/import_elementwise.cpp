// Imported products, sums, broadcasts and functions of elements.
#include "imported.hpp"

#include <primsel/onnx/export.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace imported {

TEST_CASE("Gemm: factors, a transposed weight and every form of the sum are folded into a dense layer") {
    const std::vector<float> weight = numbers(12), x = numbers(8, 7);
    for (const bool rotated : {false, true}) {
        for (Ints const& bias : {Ints{}, Ints{1}, Ints{3}, Ints{1, 3}, Ints{1, 1}, Ints{2, 3}}) {
            CAPTURE(rotated);
            CAPTURE(ps::to_string(bias));
            const std::size_t size = onnx::count_of(bias);
            std::vector<float> sum = numbers(size, 3);
            if (bias == Ints{2, 3}) std::copy_n(sum.begin(), 3, sum.begin() + 3);
            const ps::OnnxModel model =
                parse(Model({2, 4})
                          .floats("fc.weight", rotated ? Ints{3, 4} : Ints{4, 3}, weight)
                          .floats("c", bias, sum)
                          .node("Gemm", {"x", "fc.weight", "c"}, {"y"},
                                {{"alpha", 0.5F}, {"beta", 2.0F}, {"transB", std::int64_t{rotated ? 1 : 0}}})
                          .bytes());
            CHECK(kinds(model.graph) == Strings{"input", "dense"});
            CHECK(model.graph[1].name == "fc");
            std::vector<double> expected;
            for (std::size_t row = 0; row < 2; ++row) {
                for (std::size_t k = 0; k < 3; ++k) {
                    double value = 2.0 * static_cast<double>(sum[size == 1 ? 0 : k]);
                    for (std::size_t i = 0; i < 4; ++i) {
                        value += 0.5 * static_cast<double>(x[row * 4 + i] * weight[rotated ? k * 4 + i : i * 3 + k]);
                    }
                    expected.push_back(value);
                }
            }
            CHECK(is_close(run(model, x), expected));
        }
    }
    CHECK(refusal(Model({2, 4}).floats("w", {5, 3}, numbers(15)).node("Gemm", {"x", "w"}, {"y"}).bytes()) ==
          "file: node the node (Gemm): matrices of 2x4 and 5x3 cannot multiply");
    CHECK(refusal(Model({2, 4})
                      .floats("w", {4, 3}, numbers(12))
                      .floats("c", {4}, numbers(4))
                      .node("Gemm", {"x", "w", "c"}, {"y"})
                      .bytes())
              .find("broadcast") != std::string::npos);
}

TEST_CASE("rows of matrices times a constant are dense layers on rows, unless they are to be trained") {
    const std::vector<float> weight = numbers(12), bias = numbers(3, 3), x = numbers(40, 7);
    for (const bool gemm : {false, true}) {
        for (Ints const& dims : gemm ? std::vector<Ints>{{5, 4}} : std::vector<Ints>{{5, 4}, {1, 5, 4}, {2, 5, 4}}) {
            CAPTURE(gemm);
            CAPTURE(ps::to_string(dims));
            Model file(dims);
            // The transposes keep the rows of a matrix from being images.
            const bool turns = dims.size() == 2;
            file.floats("m.weight", {4, 3}, weight).floats("b", {3}, bias);
            if (turns) {
                file.node("Transpose", {"x"}, {"t"}).node("Relu", {"t"}, {"r"}).node("Transpose", {"r"}, {"rows"});
            } else {
                file.node("Relu", {"x"}, {"rows"});
            }
            if (gemm) {
                file.node("Gemm", {"rows", "m.weight", "b"}, {"y"}, {{"alpha", 0.5F}}, "m");
            } else {
                file.node("MatMul", {"rows", "m.weight"}, {"y"}, {}, "m");
            }
            const std::string bytes = file.bytes();
            const ps::OnnxModel model = parse(bytes), trained = parse(bytes, {.trains = true});
            const auto count = [](ps::OnnxModel const& of, std::string_view kind) {
                return std::ranges::count(kinds(of.graph), kind);
            };
            CHECK(count(model, "dense_rows") == 1);
            CHECK(count(model, "matmul") == 0);
            CHECK(count(trained, "dense_rows") == 0);
            const std::size_t rows = onnx::count_of(dims) / 4;
            std::vector<double> expected;
            for (std::size_t row = 0; row < rows; ++row) {
                for (std::size_t k = 0; k < 3; ++k) {
                    double value = gemm ? static_cast<double>(bias[k]) : 0;
                    for (std::size_t i = 0; i < 4; ++i) {
                        value += (gemm ? 0.5 : 1.0) *
                                 static_cast<double>(std::max(x[row * 4 + i], 0.0F) * weight[i * 3 + k]);
                    }
                    expected.push_back(value);
                }
            }
            const std::vector<float> images(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(rows * 4));
            CHECK(is_close(run(model, images), expected));
            // A file that is written again gives the same.
            CHECK(is_close(run(parse(ps::to_onnx(model.graph, model.weights, {.opset = 17})), images), expected));
        }
    }
}

TEST_CASE("elementwise constants: a value a channel is a scale, which folds into the convolution before") {
    const auto layers = [](Ints const& dims) {
        const std::size_t size = onnx::count_of(dims);
        return kinds(parse(Model({2, 3, 4, 5})
                               .floats("k", dims, std::vector<float>(size, 2.0F))
                               .node("Mul", {"x", "k"}, {"y"})
                               .bytes())
                         .graph)
            .back();
    };
    CHECK(layers({}) == "scale");
    CHECK(layers({1}) == "scale");
    CHECK(layers({3, 1, 1}) == "scale");
    CHECK(layers({1, 3, 1, 1}) == "scale");
    CHECK(layers({5}) == "multiply");
    CHECK(layers({4, 1}) == "multiply");
    CHECK(layers({1, 3, 4, 5}) == "multiply");
    const ps::OnnxModel model = parse(Model({1, 2, 2, 2})
                                          .floats("w", {2, 2, 1, 1}, {1, 2, 3, 4})
                                          .floats("by", {2, 1, 1}, {2, 4})
                                          .floats("plus", {1, 2, 1, 1}, {10, 20})
                                          .floats("less", {}, {1})
                                          .node("Conv", {"x", "w"}, {"a"})
                                          .node("Mul", {"by", "a"}, {"b"})
                                          .node("Add", {"plus", "b"}, {"c"})
                                          .node("Sub", {"c", "less"}, {"d"})
                                          .node("Div", {"d", "by"}, {"y"})
                                          .bytes());
    CHECK(kinds(ps::simplify(model.graph)) == Strings{"input", "conv"});
    std::vector<double> expected;
    const std::vector<float> x = numbers(8);
    for (const auto& [k, by, plus] : {std::array<double, 3>{0, 2, 10}, std::array<double, 3>{1, 4, 20}}) {
        for (std::size_t i = 0; i < 4; ++i) {
            const double sum = (2 * k + 1) * static_cast<double>(x[i]) + (2 * k + 2) * static_cast<double>(x[i + 4]);
            expected.push_back((sum * by + plus - 1) / by);
        }
    }
    CHECK(is_close(run(model, x), expected));
}

TEST_CASE("elementwise constants of one value are scales without weights") {
    const auto scale = [](const char* kind, std::vector<float> const& values) {
        const ps::OnnxModel model = parse(Model({2, 3, 4, 5})
                                              .floats("k", {static_cast<std::int64_t>(values.size()), 1, 1}, values)
                                              .node(kind, {"x", "k"}, {"y"})
                                              .bytes());
        return std::get<ps::ScaleParams>(model.graph.nodes().back().layer);
    };
    CHECK(scale("Mul", {2}) == ps::ScaleParams{.known = true, .factor = 2});
    CHECK(scale("Mul", {2, 2, 2}) == ps::ScaleParams{.known = true, .factor = 2});
    CHECK(scale("Div", {4}) == ps::ScaleParams{.known = true, .factor = 0.25F});
    CHECK(scale("Add", {3}) == ps::ScaleParams{.known = true, .shift = 3});
    CHECK(scale("Sub", {3, 3, 3}) == ps::ScaleParams{.known = true, .shift = -3});
    CHECK(scale("Mul", {2, 2, 1}) == ps::ScaleParams{.trains_bias = false});
}

TEST_CASE("broadcasting of every pattern of five axes") {
    // Each axis is 2 long in both, or 1 in one of them.
    const std::vector<float> values = numbers(32), others = numbers(32, 9);
    for (int pattern = 0; pattern < 243; ++pattern) {
        Ints a, b, dims(5, 2);
        for (int axis = 0, rest = pattern; axis < 5; ++axis, rest /= 3) {
            a.push_back(rest % 3 == 1 ? 1 : 2);
            b.push_back(rest % 3 == 2 ? 1 : 2);
        }
        CAPTURE(ps::to_string(a));
        CAPTURE(ps::to_string(b));
        const std::size_t size_a = onnx::count_of(a), size_b = onnx::count_of(b);
        std::vector<float> x(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(size_a)),
            k(others.begin(), others.begin() + static_cast<std::ptrdiff_t>(size_b));
        const ps::OnnxModel model = parse(Model(a).floats("k", b, k).node("Sub", {"k", "x"}, {"y"}).bytes());
        CHECK(model.outputs[0].dims == dims);
        std::vector<double> expected;
        const onnx::Strided of_a = onnx::expansion(a, dims), of_b = onnx::expansion(b, dims);
        onnx::walk(of_a, of_b, [&](std::size_t at_a, std::size_t at_b) {
            expected.push_back(static_cast<double>(k[at_b] - x[at_a]));
        });
        CHECK(is_close(run(model, x), expected));
    }
}

TEST_CASE("clips are ReLU and ReLU6 where they are") {
    const float infinity = std::numeric_limits<float>::infinity(), largest = std::numeric_limits<float>::max();
    const auto clip = [](float low, float high) {
        return kinds(parse(Model()
                               .floats("l", {}, {low})
                               .floats("h", {}, {high})
                               .node("Clip", {"x", "l", "h"}, {"y"})
                               .bytes())
                         .graph)
            .back();
    };
    CHECK(clip(0, infinity) == "relu");
    CHECK(clip(0, largest) == "relu");
    CHECK(clip(0, 6) == "relu6");
    CHECK(clip(-1, 1) == "clip");
    CHECK(kinds(parse(Model({1, 2}, 6).node("Clip", {"x"}, {"y"}, {{"min", 0.0F}, {"max", 6.0F}}).bytes()).graph)
              .back() == "relu6");
    CHECK(refusal(Model().floats("l", {}, {std::nanf("")}).node("Clip", {"x", "l"}, {"y"}).bytes())
              .find("not a number") != std::string::npos);
}

TEST_CASE("convolutions that ONNX Runtime has fused are what they were made of") {
    using Attributes = std::vector<onnx::NewAttribute>;
    const auto fused = [](Attributes const& attributes, std::string_view domain = "com.microsoft", bool sum = false) {
        const Strings inputs = sum ? Strings{"x", "w", "", "x"} : Strings{"x", "w"};
        Model model;
        model.floats("w", {2, 2, 1, 1}, {1, 2, 3, 4}).node_of(domain, "FusedConv", inputs, {"y"}, attributes);
        return model.bytes();
    };
    const auto kinds = [](std::string const& bytes) {
        Strings result;
        const ps::Graph graph = ps::simplify(parse(bytes).graph);
        for (ps::Node const& node : graph.nodes()) result.emplace_back(ps::layer_kind(node.layer));
        return result;
    };
    const Attributes relu{{"activation", std::string_view("Relu")}};
    CHECK(kinds(fused({})) == Strings{"input", "conv"});
    CHECK(kinds(fused(relu)) == Strings{"input", "conv"});
    CHECK(kinds(fused(relu, "com.microsoft", true)) == Strings{"input", "conv"});
    CHECK(kinds(fused({{"activation", std::string_view("LeakyRelu")},
                       {"activation_params", std::vector<float>{0.1F}}})) == Strings{"input", "conv", "leaky_relu"});
    CHECK(refusal(fused({{"activation", std::string_view("Odd")}})) ==
          "file: node the node (FusedConv): its activation \"Odd\" is not supported");
    CHECK(refusal(fused({}, "elsewhere")) == "file: unsupported operators: elsewhere.FusedConv (node the node)");
}

TEST_CASE("functions of computed tensors become the layers that compute them") {
    const auto kinds = [](Model& model) { return kinds_of(parse(model.bytes())); };
    const auto of_two = [&kinds](std::string_view op, float number) {
        return kinds(Model().floats("k", {}, {number}).node(op, {"x", "k"}, {"y"}));
    };
    CHECK(of_two("Pow", 2.0F) == Kinds{"input", "power"});
    CHECK(of_two("Pow", 0.5F) == Kinds{"input", "sqrt"});
    CHECK(of_two("Max", 0.0F) == Kinds{"input", "relu"});
    CHECK(of_two("Min", 3.0F) == Kinds{"input", "clip"});
    CHECK(of_two("Less", 3.0F) == Kinds{"input", "constant", "greater"});
    CHECK(kinds(Model().node("Cast", {"x"}, {"y"}, {{"to", std::int64_t{7}}})) == Kinds{"input", "truncate"});
    CHECK(kinds(Model().node("Cast", {"x"}, {"y"}, {{"to", std::int64_t{10}}})) == Kinds{"input"});
    // Where nothing is not zero, one layer is enough.
    Model fill;
    fill.floats("k", {}, {0.0F}).node("Greater", {"x", "k"}, {"c"}).node("Where", {"c", "x", "k"}, {"y"});
    CHECK(kinds(fill) == Kinds{"input", "constant", "greater", "keep"});
}

TEST_CASE("a quotient by a constant before a function with steps is no product with the rounded reciprocal") {
    for (const float divisor : {3.0F, 10.0F, 49.0F, -41.0F}) {
        CAPTURE(divisor);
        std::vector<float> x;
        std::vector<double> expected;
        for (int i = -40; i < 40; ++i) {
            x.push_back(static_cast<float>(i) * divisor);
            expected.push_back(i);
        }
        const auto made = [&](std::string const& op, std::vector<onnx::NewAttribute> const& attributes) {
            Model model({1, 80});
            model.floats("d", {}, {divisor}).node("Div", {"x", "d"}, {"q"}).node(op, {"q"}, {"y"}, attributes);
            return parse(model.bytes());
        };
        CHECK(run(made("Floor", {}), x) == expected);
        CHECK(run(made("Ceil", {}), x) == expected);
        CHECK(run(made("Cast", {{"to", std::int64_t{7}}}), x) == expected);
        CHECK(kinds(ps::simplify(made("Abs", {}).graph)) == Strings{"input", "scale", "abs"});
        CHECK(kinds(ps::simplify(made("Floor", {}).graph)).size() == 4);
    }
    // The quotient has the axes that it has where it is read: the sums are those of rows of six.
    std::vector<float> x;
    for (int i = 0; i < 24; ++i) x.push_back(static_cast<float>(i) * 49.0F);
    Model squeezed({1, 4, 1, 6});
    squeezed.floats("d", {}, {49.0F}).integers("two", {2}).node("Div", {"x", "d"}, {"q"});
    squeezed.node("Squeeze", {"q", "two"}, {"s"}).node("Floor", {"s"}, {"f"}).node("ReduceSum", {"f", "two"}, {"y"});
    CHECK(run(parse(squeezed.bytes()), x) == std::vector<double>{15, 51, 87, 123});
}

TEST_CASE("Not takes booleans only") {
    CHECK(refusal(Model().floats("k", {2, 3}, numbers(6)).node("Not", {"k"}, {"y"}).bytes()) ==
          "file: node the node (Not): its input k, 2x3 of float32, is not of booleans");
    CHECK(refusal(Model({1, 2}).node("Not", {"x"}, {"y"}).bytes()) ==
          "file: node the node (Not): its input x, 1x2 of float32, is not of booleans");
    onnx::Constants constants(1000);
    CHECK_THROWS_WITH_AS((void)constants.splat({2, 3}, ps::OnnxType::float32, std::int64_t{0}),
                         "a constant of 2x3 float32 from a value of another type", ps::error);
}

TEST_CASE("activations of ONNX are one layer each") {
    const auto layers = [](Model& model) { return kinds(parse(model.bytes()).graph); };
    CHECK(layers(Model({1, 8}, 24).node("Swish", {"x"}, {"y"})) == Strings{"input", "silu"});
    CHECK(layers(Model({1, 8}, 24).node("Swish", {"x"}, {"y"}, {{"alpha", 1.702F}})) == Strings{"input", "swish"});
    CHECK(layers(Model().node("Softsign", {"x"}, {"y"})) == Strings{"input", "softsign"});
    CHECK(layers(Model().node("Selu", {"x"}, {"y"})) == Strings{"input", "selu"});
    CHECK(layers(Model().node("Celu", {"x"}, {"y"}, {{"alpha", 0.5F}})) == Strings{"input", "celu"});
    CHECK(layers(Model().node("ThresholdedRelu", {"x"}, {"y"})) == Strings{"input", "thresholded_relu"});
    CHECK(layers(Model().node("Shrink", {"x"}, {"y"})) == Strings{"input", "shrink"});
    CHECK(refusal(Model().node("Celu", {"x"}, {"y"}, {{"alpha", -1.0F}}).bytes()) ==
          "file: node the node (Celu): alpha is -1; it must be positive");
    CHECK(layers(Model({1, 8}, 24).node("Mish", {"x"}, {"y"})) == Strings{"input", "mish"});
    CHECK(layers(Model({1, 8}, 24).node("Gelu", {"x"}, {"y"})) == Strings{"input", "gelu"});
    CHECK(layers(Model({1, 8}, 24).node("Gelu", {"x"}, {"y"}, {{"approximate", "tanh"}})) ==
          Strings{"input", "gelu_tanh"});
}

TEST_CASE("Swish is a number times its sigmoid") {
    for (const float alpha : {1.0F, 1.5F}) {
        const ps::OnnxModel model = parse(Model({1, 8}, 24).node("Swish", {"x"}, {"y"}, {{"alpha", alpha}}).bytes());
        const std::vector<float> x = numbers(8);
        std::vector<double> expected;
        for (const float value : x) {
            const auto number = static_cast<double>(value);
            expected.push_back(number / (1 + std::exp(-static_cast<double>(alpha) * number)));
        }
        CHECK(is_close(run(model, x), expected));
    }
}

}  // namespace imported
