#include <doctest/doctest.h>

#include <primsel/network/prepare.hpp>
#include <primsel/network/simplify.hpp>
#include <primsel/onnx/import.hpp>

#include <protozero/pbf_builder.hpp>

#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <sstream>

#include "../io/scratch.hpp"
#include "../network/evaluate.hpp"
#include "models.hpp"

using namespace models;
using evaluate::Image;

namespace {

ps::OnnxModel parse(std::string const& bytes, ps::OnnxOptions const& options = {}) {
    ps::OnnxModel model = ps::parse_onnx("file", shared(bytes), options);
    ps::check_weights(model.graph, model.weights);
    ps::check_weights(ps::simplify(model.graph), model.weights);
    return model;
}
std::string refusal(std::string const& bytes, ps::OnnxOptions const& options = {}) {
    try {
        (void)parse(bytes, options);
        return "";
    } catch (ps::error const& fault) {
        return fault.what();
    }
}
std::vector<float> numbers(std::size_t count, unsigned seed = 1) {
    std::mt19937 bits(seed);
    std::vector<float> values(count);
    for (float& value : values) value = static_cast<float>(static_cast<int>(bits() % 17) - 8) / 4.0F;
    return values;
}
std::vector<std::string> kinds(ps::Graph const& graph) {
    std::vector<std::string> kinds;
    for (ps::Node const& node : graph.nodes()) kinds.emplace_back(ps::kind(node.layer));
    return kinds;
}
using Strings = std::vector<std::string>;

/// The first result of a model of one input, image by image, as its simplified graph computes it.
std::vector<double> run(ps::OnnxModel const& model, std::vector<float> const& x) {
    const ps::Graph graph = ps::simplify(model.graph);
    const std::size_t size = graph[graph.input()].shape.size();
    std::vector<double> result;
    for (std::size_t first = 0; first < x.size(); first += size) {
        Image image(graph[graph.input()].shape);
        for (std::size_t i = 0; i < size; ++i) image.data[i] = static_cast<double>(x[first + i]);
        const Image out = evaluate::graph(graph, image, model.weights);
        result.insert(result.end(), out.data.begin(), out.data.end());
    }
    return result;
}
bool is_close(std::vector<double> const& a, std::vector<double> const& b) {
    if (a.size() != b.size()) return false;
    for (std::size_t i = 0; i < a.size(); ++i) {
        if (!(std::abs(a[i] - b[i]) <= 1e-5 * (1 + std::abs(b[i])))) return false;
    }
    return true;
}

}  // namespace

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
    CHECK(refusal(file({1, 3, 8, 9}), {.batch = 2}).find("dimension 0 is 1 in the file") != std::string::npos);
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

TEST_CASE("Gemm: factors, a transposed weight and every form of the sum are folded into a dense layer") {
    const std::vector<float> weight = numbers(12), x = numbers(8, 7);
    for (const bool turned : {false, true}) {
        for (Ints const& bias : {Ints{}, Ints{1}, Ints{3}, Ints{1, 3}, Ints{1, 1}, Ints{2, 3}}) {
            CAPTURE(turned);
            CAPTURE(ps::to_string(bias));
            const std::size_t size = onnx::count_of(bias);
            std::vector<float> sum = numbers(size, 3);
            if (bias == Ints{2, 3}) std::copy_n(sum.begin(), 3, sum.begin() + 3);
            const ps::OnnxModel model =
                parse(Model({2, 4})
                          .floats("fc.weight", turned ? Ints{3, 4} : Ints{4, 3}, weight)
                          .floats("c", bias, sum)
                          .node("Gemm", {"x", "fc.weight", "c"}, {"y"},
                                {{"alpha", 0.5F}, {"beta", 2.0F}, {"transB", std::int64_t{turned ? 1 : 0}}})
                          .bytes());
            CHECK(kinds(model.graph) == Strings{"input", "dense"});
            CHECK(model.graph[1].name == "fc");
            std::vector<double> expected;
            for (std::size_t row = 0; row < 2; ++row) {
                for (std::size_t k = 0; k < 3; ++k) {
                    double value = 2.0 * static_cast<double>(sum[size == 1 ? 0 : k]);
                    for (std::size_t i = 0; i < 4; ++i) {
                        value += 0.5 * static_cast<double>(x[row * 4 + i] * weight[turned ? k * 4 + i : i * 3 + k]);
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

TEST_CASE("values of inputs are constants for those who need one, and only for them") {
    const auto weight = ps::make_onnx_tensor("w", {2, 2, 1, 1}, std::vector<float>{1, 2, 3, 4});
    const std::string conv = Model().input("w", {2, 2, 1, 1}).node("Conv", {"x", "w"}, {"y"}).bytes();
    CHECK(refusal(conv) ==
          "file: node the node (Conv): its weight (input w) must be known when the model is loaded: a "
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

TEST_CASE("reordering is known by its name where it has one") {
    const auto shuffled = [](Ints const& order) {
        return kinds(ps::simplify(parse(Model({1, 6, 2, 2})
                                            .integers("split", {1, 3, 2, 2, 2})
                                            .integers("join", {1, 6, 2, 2})
                                            .node("Reshape", {"x", "split"}, {"a"})
                                            .node("Transpose", {"a"}, {"b"}, {{"perm", order}})
                                            .node("Reshape", {"b", "join"}, {"y"})
                                            .bytes())
                                      .graph));
    };
    CHECK(shuffled({0, 2, 1, 3, 4}) == Strings{"input", "channel_shuffle"});
    CHECK(shuffled({0, 1, 2, 4, 3}) == Strings{"input", "as_strided"});
    // Axes of one element may change their places.
    CHECK(
        kinds(parse(Model({1, 6, 1, 1}).node("Transpose", {"x"}, {"y"}, {{"perm", Ints{0, 2, 3, 1}}}).bytes()).graph) ==
        Strings{"input", "reshape"});
    CHECK(kinds(ps::simplify(parse(Model()
                                       .node("Dropout", {"x"}, {"a"})
                                       .node("Identity", {"a"}, {"b"})
                                       .node("Flatten", {"b"}, {"c"})
                                       .node("Relu", {"c"}, {"y"})
                                       .bytes())
                                 .graph)) == Strings{"input", "flatten", "relu"});
}

TEST_CASE("gathering along indices of every kind") {
    const std::vector<float> x = numbers(30);
    for (Ints const& indices : {Ints{0, 1, 2}, Ints{1, 2}, Ints{4, 2, 0}, Ints{-1}, Ints{0, 3, 1, 4}, Ints{0, 0, 0},
                                Ints{4, 0, 1, 1, 3, 3, 2}, Ints{0, 1, 2, 1, 2, 3, 2, 3, 4}}) {
        CAPTURE(ps::to_string(indices));
        const ps::OnnxModel model = parse(Model({1, 2, 5, 3})
                                              .integers("i", indices)
                                              .node("Gather", {"x", "i"}, {"y"}, {{"axis", std::int64_t{2}}})
                                              .bytes());
        std::vector<double> expected;
        for (std::size_t c = 0; c < 2; ++c) {
            for (const std::int64_t index : indices) {
                const auto row = static_cast<std::size_t>(index < 0 ? index + 5 : index);
                for (std::size_t w = 0; w < 3; ++w) expected.push_back(static_cast<double>(x[(c * 5 + row) * 3 + w]));
            }
        }
        CHECK(model.outputs[0].dims == Ints{1, 2, static_cast<std::int64_t>(indices.size()), 3});
        CHECK(run(model, x) == expected);
    }
    CHECK(
        refusal(
            Model({1, 2}).integers("i", {2}).node("Gather", {"x", "i"}, {"y"}, {{"axis", std::int64_t{1}}}).bytes()) ==
        "file: node the node (Gather): axis 2 of a tensor of 2 dimensions");
}

TEST_CASE("resizing works on the last two axes, also where a factor leaves their size as it is") {
    const auto model = [](Ints const& dims, std::vector<float> const& factors) {
        return Model(dims)
            .floats("f", {static_cast<std::int64_t>(factors.size())}, factors)
            .node("Resize", {"x", "", "f"}, {"y"},
                  {{"coordinate_transformation_mode", "asymmetric"}, {"mode", "linear"}})
            .bytes();
    };
    // 2 * 1.25 rounds down to 2, but pixels lie as the factor says.
    const auto params = [&](Ints const& dims, std::vector<float> const& factors) {
        const ps::OnnxModel resized = parse(model(dims, factors));
        for (ps::Node const& node : resized.graph.nodes()) {
            if (const auto* found = std::get_if<ps::ResizeParams>(&node.layer)) return *found;
        }
        FAIL("nothing is resized");
        return ps::ResizeParams{};
    };
    CHECK(params({1, 1, 2, 3}, {1, 1, 1.25F, 2}).size == ps::Extent{2, 6});
    CHECK(params({1, 1, 2, 3}, {1, 1, 1.25F, 2}).scale_h == 1 / 1.25F);
    CHECK(params({1, 1, 2, 3}, {1, 1, 1.25F, 2}).scale_w == 0.0F);
    // 0.7F is less than 0.7, and so the size less than 7.
    CHECK(params({1, 1, 10, 3}, {1, 1, 0.7F, 2}).size == ps::Extent{6, 6});
    CHECK(params({1, 2, 2}, {1, 1.25F, 1}).size == ps::Extent{2, 2});
    CHECK(params({1, 2, 2}, {1, 1.25F, 1}).scale_h == 1 / 1.25F);
    CHECK(params({1, 2, 2}, {1, 1, 1.25F}).scale_h == 1 / 1.25F);
    CHECK(is_close(run(parse(model({1, 1, 2}, {1, 1, 2})), {0, 10}), {0, 5, 10, 10}));
    CHECK(is_close(run(parse(model({2, 2}, {2, 1})), {0, 0, 10, 20}), {0, 0, 5, 10, 10, 20, 10, 20}));
    CHECK(refusal(model({1, 2, 2, 2}, {1, 1.25F, 1, 1})) ==
          "file: node the node (Resize): only the last two axes can be resized");
    CHECK(refusal(model({1, 2, 2, 2}, {1, 1, 2})) == "file: node the node (Resize): 3 scales for 4 axes");
    CHECK(refusal(model({4}, {2})) == "file: node the node (Resize): on a tensor of 1 dimensions");
}

TEST_CASE("transposed convolutions reach the size that is asked for") {
    const auto dims = [](std::vector<onnx::NewAttribute> const& attributes) {
        return parse(Model({1, 1, 3, 3})
                         .floats("w", {1, 2, 3, 3}, std::vector<float>(18, 1.0F))
                         .node("ConvTranspose", {"x", "w"}, {"y"}, attributes)
                         .bytes())
            .outputs[0]
            .dims;
    };
    CHECK(dims({}) == Ints{1, 2, 5, 5});
    CHECK(dims({{"strides", Ints{2, 3}}}) == Ints{1, 2, 7, 9});
    CHECK(dims({{"strides", Ints{2, 3}}, {"pads", Ints{1, 0, 1, 2}}}) == Ints{1, 2, 5, 7});
    CHECK(dims({{"strides", Ints{2, 3}}, {"output_padding", Ints{1, 2}}}) == Ints{1, 2, 8, 11});
    CHECK(dims({{"strides", Ints{2, 3}}, {"auto_pad", "SAME_UPPER"}}) == Ints{1, 2, 6, 9});
    CHECK(dims({{"strides", Ints{3, 2}}, {"output_shape", Ints{10, 8}}}) == Ints{1, 2, 10, 8});
}

namespace {

using Attributes = std::vector<onnx::NewAttribute>;

/// What a node makes of [1, 1, n] with the elements 1, 2, ..., n; a kernel of those taps, where there are any.
std::vector<double> of_line(std::string_view op, std::int64_t n, Attributes const& attributes,
                            std::vector<float> const& taps = {}, int opset = 19) {
    Model model({1, 1, n}, opset);
    std::vector<std::string> inputs{"x"};
    if (!taps.empty()) {
        inputs.emplace_back("w");
        model.floats("w", {1, 1, static_cast<std::int64_t>(taps.size())}, taps);
    }
    std::vector<float> x(static_cast<std::size_t>(n));
    std::iota(x.begin(), x.end(), 1.0F);
    const ps::OnnxModel parsed = parse(model.node(op, inputs, {"y"}, attributes).bytes());
    std::vector<double> result = run(parsed, x);
    CHECK(parsed.outputs[0].dims == Ints{1, 1, static_cast<std::int64_t>(result.size())});
    return result;
}
using Line = std::vector<double>;

}  // namespace

TEST_CASE("auto_pad SAME counts the gaps of a window as part of it") {
    const auto pool = [](std::string_view op, std::string_view rule, std::int64_t kernel, std::int64_t stride) {
        return of_line(
            op, 7,
            {{"kernel_shape", Ints{kernel}}, {"strides", Ints{stride}}, {"dilations", Ints{2}}, {"auto_pad", rule}});
    };
    // Three taps two apart span five pixels. At a stride of 1, two of padding on either side.
    CHECK(pool("MaxPool", "SAME_UPPER", 3, 1) == Line{3, 4, 5, 6, 7, 6, 7});
    CHECK(pool("MaxPool", "SAME_LOWER", 3, 1) == Line{3, 4, 5, 6, 7, 6, 7});
    CHECK(pool("AveragePool", "SAME_UPPER", 3, 1) == Line{2, 3, 3, 4, 5, 5, 6});
    // At a stride of 2, (4 - 1) * 2 + 5 - 7 = 4 of padding.
    CHECK(pool("MaxPool", "SAME_UPPER", 3, 2) == Line{3, 5, 7, 7});
    CHECK(pool("AveragePool", "SAME_LOWER", 3, 2) == Line{2, 3, 5, 6});
    // Two taps span three pixels: at a stride of 3, (3 - 1) * 3 + 3 - 7 = 2.
    CHECK(pool("MaxPool", "SAME_UPPER", 2, 3) == Line{2, 5, 6});
    // At a stride of 1 an odd padding of 3 (two taps three apart) tells the two rules apart.
    const auto odd = [](std::string_view rule) {
        return of_line("MaxPool", 5, {{"kernel_shape", Ints{2}}, {"dilations", Ints{3}}, {"auto_pad", rule}});
    };
    CHECK(odd("SAME_UPPER") == Line{3, 4, 5, 3, 4});  // 1 before, 2 after
    CHECK(odd("SAME_LOWER") == Line{2, 3, 4, 5, 3});
    // A convolution: x[i] + 10 x[i + 2], from 0 and from 4, and with the padding before.
    const auto conv = [](std::string_view rule) {
        return of_line("Conv", 6, {{"strides", Ints{4}}, {"dilations", Ints{2}}, {"auto_pad", rule}}, {1, 10});
    };
    CHECK(conv("SAME_UPPER") == Line{31, 5});
    CHECK(conv("SAME_LOWER") == Line{20, 64});
}

TEST_CASE("auto_pad SAME shares out the pixels that windows leave out to both ends, and takes none from convolutions") {
    for (const std::string_view rule : {"SAME_UPPER", "SAME_LOWER"}) {
        CAPTURE(rule);
        const auto sparse = [rule](std::string_view op, std::int64_t n, std::int64_t kernel, std::int64_t stride) {
            return of_line(op, n, {{"kernel_shape", Ints{kernel}}, {"strides", Ints{stride}}, {"auto_pad", rule}});
        };
        CHECK(of_line("Conv", 6, {{"strides", Ints{4}}, {"auto_pad", rule}}, {1}) == Line{1, 5});
        CHECK(of_line("Conv", 6, {{"strides", Ints{3}}, {"auto_pad", rule}}, {1}) == Line{1, 4});
        for (const std::string_view op : {"MaxPool", "AveragePool"}) {
            CHECK(sparse(op, 6, 1, 4) == Line{1, 5});  // one, at the end
            CHECK(sparse(op, 6, 1, 3) == Line{2, 5});  // one at either end
            CHECK(sparse(op, 9, 1, 3) == Line{2, 5, 8});
            CHECK(sparse(op, 8, 1, 4) == Line{2, 6});
            CHECK(sparse(op, 10, 1, 5) == Line{3, 8});
        }
        CHECK(sparse("MaxPool", 12, 2, 6) == Line{4, 10});
        CHECK(sparse("AveragePool", 12, 2, 6) == Line{3.5, 9.5});
        const auto rounded_up = [rule](std::int64_t n) {
            return of_line(
                "MaxPool", n,
                {{"kernel_shape", Ints{1}}, {"strides", Ints{3}}, {"auto_pad", rule}, {"ceil_mode", std::int64_t{1}}});
        };
        CHECK(rounded_up(6) == Line{2, 5});
    }
}

TEST_CASE("the indices of maxima count the pixels that windows leave out") {
    // Rows 1 and 4 of 6, and columns 1, 4, 7 of 9; an image after another.
    std::vector<float> x(2 * 54);
    std::iota(x.begin(), x.end(), 0.0F);
    const auto indices = [&x](Ints const& dims, Ints const& stride, std::int64_t order) {
        const Attributes attributes{
            {"kernel_shape", Ints{1, 1}}, {"strides", stride}, {"auto_pad", "SAME_UPPER"}, {"storage_order", order}};
        const ps::OnnxModel model = parse(Model(dims).node("MaxPool", {"x"}, {"m", "y"}, attributes).bytes());
        return run(model, x);
    };
    CHECK(indices({1, 2, 6, 9}, {3, 3}, 0) == Line{10, 13, 16, 37, 40, 43, 64, 67, 70, 91, 94, 97});
    CHECK(indices({1, 2, 6, 9}, {6, 9}, 0) == Line{2 * 9 + 4, 54 + 2 * 9 + 4});
    CHECK(indices({1, 2, 6, 9}, {6, 9}, 1) == Line{4 * 6 + 2, 54 + 4 * 6 + 2});
}

TEST_CASE("tf_half_pixel_for_nn is the pixel in which the middle of one lies") {
    const auto nearest = [](std::string_view rounding, float factor, std::string_view mode = "nearest") {
        Model model({1, 1, 6}, 11);
        model.floats("f", {3}, {1, 1, factor})
            .node("Resize", {"x", "", "f"}, {"y"},
                  {{"coordinate_transformation_mode", "tf_half_pixel_for_nn"},
                   {"nearest_mode", rounding},
                   {"mode", mode}});
        return model.bytes();
    };
    const std::vector<float> x{0, 1, 2, 3, 4, 5};
    CHECK(run(parse(nearest("floor", 0.5F)), x) == Line{1, 3, 5});
    CHECK(run(parse(nearest("floor", 1.5F)), x) == Line{0, 1, 1, 2, 3, 3, 4, 5, 5});
    CHECK(run(parse(nearest("floor", 0.7F)), x) == Line{0, 2, 3, 5});
    // (x + 0.5) / 1.5 is 0.33, 1, 1.67, ...
    CHECK(run(parse(nearest("round_prefer_floor", 1.5F)), x) == Line{0, 1, 2, 2, 3, 4, 4, 5, 5});
    CHECK(run(parse(nearest("round_prefer_floor", 0.5F)), x) == Line{1, 3, 5});
    CHECK(refusal(nearest("ceil", 2)) ==
          "file: node the node (Resize): coordinate_transformation_mode tf_half_pixel_for_nn goes with nearest_mode "
          "floor or round_prefer_floor only");
    CHECK(refusal(nearest("floor", 2, "linear")) ==
          "file: node the node (Resize): coordinate_transformation_mode tf_half_pixel_for_nn is not supported");
}

TEST_CASE("ceil_mode: windows reach beyond the image, but start inside it, and do not count what they lack") {
    const auto average = [](Ints const& pads, std::int64_t kernel, std::int64_t stride, std::int64_t counts) {
        return of_line("AveragePool", 7,
                       {{"kernel_shape", Ints{kernel}},
                        {"strides", Ints{stride}},
                        {"pads", pads},
                        {"ceil_mode", std::int64_t{1}},
                        {"count_include_pad", counts}});
    };
    CHECK(average({0, 0}, 2, 2, 0) == Line{1.5, 3.5, 5.5, 7});
    CHECK(average({0, 0}, 2, 2, 1) == Line{1.5, 3.5, 5.5, 7});
    CHECK(average({1, 0}, 4, 3, 0) == Line{2, 4.5, 6.5});
    CHECK(average({1, 0}, 4, 3, 1) == Line{1.5, 4.5, 6.5});
    CHECK(is_close(average({0, 2}, 3, 3, 1), {2, 5, 7.0 / 3}));
    // A window that would start at pixel 7, in the padding, is none.
    CHECK(average({0, 1}, 2, 7, 0) == Line{1.5});
    // The sizes of VALID are rounded down in either mode.
    for (const std::int64_t ceil_mode : {0, 1}) {
        const Attributes valid{
            {"kernel_shape", Ints{2}}, {"strides", Ints{2}}, {"auto_pad", "VALID"}, {"ceil_mode", ceil_mode}};
        CHECK(of_line("MaxPool", 7, valid) == Line{2, 4, 6});
        CHECK(of_line("AveragePool", 7, valid) == Line{1.5, 3.5, 5.5});
    }
}

TEST_CASE("a window whose taps all lie in the padding has no maximum, and an average of the padding alone") {
    const Attributes gaps{{"kernel_shape", Ints{2}}, {"pads", Ints{2, 2}}, {"dilations", Ints{4}}};
    const double infinity = std::numeric_limits<double>::infinity();
    CHECK(of_line("MaxPool", 2, gaps) == Line{-infinity, -infinity});
    Attributes counting = gaps;
    counting.push_back({"count_include_pad", std::int64_t{1}});
    CHECK(of_line("AveragePool", 2, counting) == Line{0, 0});
    for (const double value : of_line("AveragePool", 2, gaps)) CHECK(std::isnan(value));
}

TEST_CASE("a transposed convolution whose kernel does not fill its stride") {
    const auto transposed = [](Attributes attributes, std::int64_t stride) {
        attributes.push_back({"strides", Ints{stride}});
        return of_line("ConvTranspose", 3, attributes, {10, 100});
    };
    const Line natural{10, 100, 0, 20, 200, 0, 30, 300};
    const auto with_zeros = [&](std::size_t count) {
        Line line = natural;
        line.resize(line.size() + count, 0);
        return line;
    };
    CHECK(transposed({}, 3) == natural);
    CHECK(transposed({{"auto_pad", "VALID"}}, 3) == natural);
    CHECK(transposed({{"output_padding", Ints{1}}}, 3) == with_zeros(1));
    // The size is that of the input times the stride; what is missing is added at the end.
    for (const std::string_view rule : {"SAME_UPPER", "SAME_LOWER"}) {
        CHECK(transposed({{"auto_pad", rule}}, 3) == with_zeros(1));
        CHECK(transposed({{"auto_pad", rule}, {"output_padding", Ints{1}}}, 3) == with_zeros(1));
        CHECK(transposed({{"auto_pad", rule}}, 4) == Line{10, 100, 0, 0, 20, 200, 0, 0, 30, 300, 0, 0});
        CHECK(transposed({{"auto_pad", rule}, {"output_shape", Ints{10}}}, 3) == with_zeros(2));
    }
    for (const std::int64_t size : {8, 9, 10}) {
        CHECK(transposed({{"output_shape", Ints{size}}}, 3) == with_zeros(static_cast<std::size_t>(size - 8)));
    }
    // Where there is too much, SAME_UPPER takes the odd one from the end, all others from the beginning.
    CHECK(transposed({{"output_shape", Ints{6}}}, 3) == Line{100, 0, 20, 200, 0, 30});
    CHECK(transposed({{"output_shape", Ints{7}}}, 3) == Line{100, 0, 20, 200, 0, 30, 300});
    CHECK(transposed({{"output_shape", Ints{7}}, {"auto_pad", "SAME_LOWER"}}, 3) == Line{100, 0, 20, 200, 0, 30, 300});
    CHECK(transposed({{"output_shape", Ints{7}}, {"auto_pad", "SAME_UPPER"}}, 3) == Line{10, 100, 0, 20, 200, 0, 30});
}

TEST_CASE("a slice backwards from before the first element takes the first") {
    const auto slice = [](std::int64_t start, std::int64_t end) {
        Model model({1, 5});
        model.integers("s", {start}).integers("e", {end}).integers("a", {1}).integers("t", {-2});
        const ps::OnnxModel parsed = parse(model.node("Slice", {"x", "s", "e", "a", "t"}, {"y"}).bytes());
        return parsed.outputs[0].dims == Ints{1, 0} ? Line{} : run(parsed, {1, 2, 3, 4, 5});
    };
    const std::int64_t lowest = std::numeric_limits<std::int64_t>::min();
    CHECK(slice(-6, lowest) == Line{1});
    CHECK(slice(-5, lowest) == Line{1});
    CHECK(slice(-6, -5).empty());
    CHECK(slice(-1, lowest) == Line{5, 3, 1});
    CHECK(slice(99, -5) == Line{5, 3});
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
    CHECK(message(Model().node("LSTM", {"x"}, {"y"})) == "file: node the node (LSTM): the operator is not supported");
    CHECK(message(Model().node("LSTM", {"x"}, {"y"}, {}, "")) == "file: node y (LSTM): the operator is not supported");
    CHECK(message(Model().node("LRN", {"x"}, {"y"}, {{"size", std::int64_t{2}}})) ==
          "file: node the node (LRN): windows of an even number of channels are not supported");
    CHECK(message(Model().node("Relu", {"x"}, {"z", "y"})) ==
          "file: node the node (Relu): its output y is not supported");
    CHECK(message(Model().node("Softmax", {"x"}, {"y"}, {{"axis", std::int64_t{4}}})) ==
          "file: node the node (Softmax): axis 4 of a tensor of 4 dimensions");
    CHECK(message(Model().node("LeakyRelu", {"x"}, {"y"}, {{"alpha", std::int64_t{1}}})) ==
          "file: node the node (LeakyRelu): its attribute alpha is of another type than the standard's");
    CHECK(message(Model().node("MaxPool", {"x"}, {"y"})) == "file: node the node (MaxPool): without a kernel_shape");
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
        for (ps::Node const& node : graph.nodes()) result.emplace_back(ps::kind(node.layer));
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
    CHECK(refusal(fused({}, "elsewhere")) ==
          "file: node the node (FusedConv): the operator of the domain elsewhere is not supported");
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
    CHECK(tensor(DataType::int64, {0}, [](auto&) {}).integers.empty());
    CHECK(tensor(DataType::float32, {}, raw(3.0F)).floats[0] == 3.0F);
    CHECK_THROWS_AS((void)ps::parse_onnx_tensor("file", shared("\x0a\xff")), ps::error);
}

TEST_CASE("data beside the model are read from its folder") {
    const scratch::Folder folder;
    const std::vector<float> values{1, 2, 3, 4};
    const std::span<const std::byte> parts[] = {std::as_bytes(std::span("skip")).first(4),
                                                std::as_bytes(std::span(values))};
    ps::write_file(folder.file("weights.bin"), parts);
    std::string text = Model({1, 2, 1, 1}).node("Conv", {"x", "w"}, {"y"}).bytes();
    std::string tensor, graph;
    protozero::pbf_builder<onnx::TensorField> builder(tensor);
    builder.add_string(onnx::TensorField::name, "w");
    for (const std::int64_t dim : {2, 2, 1, 1}) builder.add_int64(onnx::TensorField::dims, dim);
    builder.add_int32(onnx::TensorField::data_type, static_cast<std::int32_t>(onnx::DataType::float32));
    builder.add_enum(onnx::TensorField::data_location, static_cast<std::int32_t>(onnx::DataLocation::external));
    for (auto const& [key, value] : {std::pair("location", "weights.bin"), {"offset", "4"}, {"length", "16"}}) {
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
    ps::write_file(folder.file("model.onnx"), model);

    const ps::OnnxModel loaded = ps::load_onnx(folder.file("model.onnx"));
    CHECK(run(loaded, {1, 10}) == std::vector<double>{21, 43});
    CHECK_THROWS_AS((void)ps::parse_onnx("file", shared(model)), ps::error);
}

namespace {

/// The bytes of the graph in those of a model.
std::string graph_of(std::string const& model) {
    protozero::pbf_reader reader(model);
    while (reader.next()) {
        if (reader.tag() == static_cast<protozero::pbf_tag_type>(onnx::ModelField::graph)) {
            const protozero::data_view view = reader.get_view();
            return {view.data(), view.size()};
        }
        reader.skip();
    }
    return {};
}
/// A model of the graph in another, with an If in front of all its nodes.
std::string with_if(std::string const& model, std::string const& condition, std::string const& result,
                    std::string const& yes, std::string const& no) {
    std::string graph = graph_of(model), node;
    protozero::pbf_builder<onnx::NodeField> fields(node);
    fields.add_bytes(onnx::NodeField::input, condition);
    fields.add_bytes(onnx::NodeField::output, result);
    fields.add_bytes(onnx::NodeField::name, "if");
    fields.add_bytes(onnx::NodeField::op_type, "If");
    for (auto const& [name, branch] : {std::pair{"then_branch", yes}, {"else_branch", no}}) {
        protozero::pbf_builder<onnx::AttributeField> attribute(fields, onnx::NodeField::attribute);
        attribute.add_bytes(onnx::AttributeField::name, name);
        attribute.add_bytes(onnx::AttributeField::g, branch);
    }
    std::string all, opset;
    protozero::pbf_builder<onnx::OperatorSetIdField>(opset).add_int64(onnx::OperatorSetIdField::version, 13);
    protozero::pbf_builder<onnx::GraphField>(graph).add_bytes(onnx::GraphField::node, node);
    protozero::pbf_builder<onnx::ModelField> whole(all);
    whole.add_bytes(onnx::ModelField::opset_import, opset);
    whole.add_bytes(onnx::ModelField::graph, graph);
    return all;
}
/// One that makes `result` of a value around it.
std::string branch_of(std::string_view op, std::string const& source, std::string const& result) {
    return graph_of(Model().input("z", {1}).node(op, {source}, {result}, {}, std::string(op)).bytes(result));
}
std::vector<std::string_view> kinds_of(ps::OnnxModel const& model) {
    std::vector<std::string_view> kinds;
    for (ps::Node const& node : model.graph.nodes()) kinds.push_back(ps::kind(node.layer));
    return kinds;
}
using Kinds = std::vector<std::string_view>;

}  // namespace

TEST_CASE("of an If, the branch that is taken stands in its place") {
    // r comes from around the branches; both call their result z. Their names do not meet those of the other.
    for (const bool taken : {false, true}) {
        Model around;
        around.integers("c", {taken ? 1 : 0}).node("Relu", {"x"}, {"r"}).node("Tanh", {"i"}, {"y"});
        const std::string bytes =
            with_if(around.bytes(), "c", "i", branch_of("Exp", "r", "z"), branch_of("Abs", "r", "z"));
        const ps::OnnxModel model = parse(bytes);
        CHECK(kinds_of(model) == Kinds{"input", "relu", taken ? "exp" : "abs", "tanh"});
    }
    // A branch within a branch.
    const auto inner = [](std::string const& op) {
        return graph_of(with_if(Model().input("z", {1}).integers("d", {0}).bytes("deep"), "d", "deep",
                                branch_of("LSTM", "r", "z"), branch_of(op, "r", "z")));
    };
    const std::string nested =
        with_if(Model().integers("c", {1}).node("Relu", {"x"}, {"r"}).bytes("i"), "c", "i", inner("Exp"), inner("Abs"));
    CHECK(kinds_of(parse(nested)) == Kinds{"input", "relu", "exp"});
}

TEST_CASE("the branch of an If is refused by its node") {
    const auto refused = [](std::string const& yes) {
        return refusal(with_if(Model().integers("c", {1}).bytes("i"), "c", "i", yes, yes));
    };
    CHECK(refused(branch_of("LSTM", "x", "z")) ==
          "file: node if (If): node LSTM (LSTM): the operator is not supported");
    CHECK(refused(branch_of("Exp", "nothing", "z")) ==
          "file: node if (If): node Exp (Exp): its input nothing is defined nowhere");
    CHECK(refused(graph_of(Model().node("Exp", {"x"}, {"u"}).bytes_of({"u", "u"}))) ==
          "file: node if (If): its then_branch has another number of outputs");
    // Deeper than anyone needs.
    std::string deep = branch_of("Exp", "x", "z");
    for (int i = 0; i < 40; ++i) {
        deep = graph_of(with_if(Model().input("z", {1}).integers("c", {1}).bytes("i"), "c", "i", deep, ""));
    }
    CHECK(refused(deep) == "file: subgraphs within more than 16 others");
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

TEST_CASE("results know their type") {
    const ps::OnnxModel whole = parse(
        Model().node("Cast", {"x"}, {"i"}, {{"to", std::int64_t{7}}}).node("Div", {"i", "i"}, {"y"}, {}, "").bytes());
    CHECK(ps::kind(whole.graph[whole.graph.outputs()[0]].layer) == "truncate");  // whole numbers are divided as such
    CHECK(kinds_of(whole) == Kinds{"input", "truncate", "divide", "truncate"});
}

TEST_CASE("the k of TopK is one whole number that the axis has") {
    const auto refused = [](Model& model) { return refusal(model.bytes()); };
    CHECK(kinds_of(parse(Model().integers("k", {3}).node("TopK", {"x", "k"}, {"y"}).bytes())) ==
          Kinds{"input", "reshape", "top_k", "reshape"});
    CHECK(refused(Model().integers("k", {5}).node("TopK", {"x", "k"}, {"y"})) ==
          "file: node the node (TopK): k of 5 is outside of what is supported, 1 to 4");
    CHECK(refused(Model().integers("k", {1, 2}).node("TopK", {"x", "k"}, {"y"})) ==
          "file: node the node (TopK): its k has 2 elements");
    CHECK(refused(Model().floats("k", {}, {NAN}).node("TopK", {"x", "k"}, {"y"})) ==
          "file: node the node (TopK): its k is of float32");
}

namespace {

const std::vector<float> two_groups{0, 0, 1, 1, 0, 0.1F, 1, 1.1F, 0, 10, 1, 11, 0, 10, 1, 11.1F};

/// Boxes that are known, and their scores at run time: x.
struct Detector : Model {
    explicit Detector(std::int64_t most, std::vector<std::string> const& thresholds = {"iou", "score"})
        : Model({1, 2, 4}) {
        std::vector<std::string> read{"boxes", "x", "most"};
        read.insert(read.end(), thresholds.begin(), thresholds.end());
        floats("boxes", {1, 4, 4}, two_groups).floats("iou", {1}, {0.5F}).floats("score", {1}, {0.1F});
        integers("most", {most}).node("NonMaxSuppression", read, {"rows"}, {}, "detect");
    }
};
const std::vector<float> two_classes{0.5F, 0.6F, 0.7F, 0.8F, 0, 0, 0, 1};

}  // namespace

TEST_CASE("NonMaxSuppression has a row for each box that there can be") {
    const ps::OnnxModel model = parse(Detector(3).bytes("rows"));
    CHECK(model.outputs[0].dims == Ints{6, 3});
    CHECK(model.outputs[0].type == ps::OnnxType::float32);  // as the file says
    CHECK(run(model, two_classes) == Line{0, 0, 3, 0, 0, 1, 0, 1, 3, -1, -1, -1, -1, -1, -1, -1, -1, -1});
    CHECK(parse(Detector(1LL << 40).bytes("rows")).outputs[0].dims == Ints{8, 3});
    // Without thresholds every overlap is too much, and no score too small.
    const std::vector<double> rows = run(parse(Detector(3, {}).bytes("rows")), two_classes);
    CHECK(Line(rows.begin(), rows.begin() + 12) == Line{0, 0, 3, 0, 0, 1, 0, 1, 3, 0, 1, 0});
    CHECK(parse(Detector(0).bytes("rows")).outputs[0].dims == Ints{0, 3});
    CHECK(parse(Detector(-1).bytes("rows")).outputs[0].dims == Ints{0, 3});
}

TEST_CASE("the images of a batch are those of the rows") {
    Model batch({2, 1, 4});
    std::vector<float> boxes = two_groups;
    boxes.insert(boxes.end(), two_groups.begin(), two_groups.end());
    batch.floats("boxes", {2, 4, 4}, boxes).floats("iou", {1}, {0.5F}).integers("most", {2});
    batch.node("NonMaxSuppression", {"boxes", "x", "most", "iou"}, {"y"});
    const ps::OnnxModel model = parse(batch.bytes());
    CHECK(model.graph.batch() == 1);
    CHECK(run(model, two_classes) == Line{0, 0, 3, 0, 0, 1, 1, 0, 3, 1, 0, 0});
}

TEST_CASE("boxes and thresholds that do not fit are refused") {
    const auto refused = [](Ints const& boxes, Ints const& scores, float threshold, std::int64_t centers = 0) {
        return refusal(
            Model(scores)
                .input("boxes", boxes)
                .integers("most", {2})
                .floats("iou", {1}, {threshold})
                .node("NonMaxSuppression", {"boxes", "x", "most", "iou"}, {"y"}, {{"center_point_box", centers}})
                .bytes());
    };
    CHECK(refused({1, 9, 4}, {1, 2, 9}, 0.5F) == "");
    CHECK(refused({1, 9, 4}, {1, 2, 8}, 0.5F) ==
          "file: node the node (NonMaxSuppression): boxes of 1x9x4 with scores of 1x2x8");
    CHECK(refused({1, 9, 5}, {1, 2, 9}, 0.5F) ==
          "file: node the node (NonMaxSuppression): boxes of 1x9x5 with scores of 1x2x9");
    CHECK(refused({9, 4}, {2, 9}, 0.5F) == "file: node the node (NonMaxSuppression): boxes of 9x4 with scores of 2x9");
    CHECK(refused({1, 9, 4}, {1, 2, 9}, 1.5F).find("the threshold of the overlap must be from 0 to 1") !=
          std::string::npos);
    CHECK(refused({1, 9, 4}, {1, 2, 9}, 0.5F, 2).find("center_point_box of 2 is outside") != std::string::npos);
    CHECK(refused({1, 1 << 20, 4}, {1, 1 << 12, 1 << 20}, 0.5F) != "");
}

TEST_CASE("boxes by the indices of those that stay; zeros where there are no more") {
    Detector model(3);
    model.floats("table", {4, 2}, {10, 11, 20, 21, 30, 31, 40, 41}).integers("column", {2}).integers("axis", {1});
    model.node("Gather", {"rows", "column"}, {"which"}, {{"axis", std::int64_t{1}}})
        .node("Squeeze", {"which", "axis"}, {"list"})
        .node("Gather", {"table", "list"}, {"y"});
    const ps::OnnxModel parsed = parse(model.bytes());
    CHECK(parsed.outputs[0].dims == Ints{6, 2});
    CHECK(run(parsed, two_classes) == Line{40, 41, 20, 21, 40, 41, 0, 0, 0, 0, 0, 0});
}

TEST_CASE("Gather takes indices that are computed, also from the end") {
    const auto model = [](Ints const& dims, std::int64_t axis) {
        return Model(dims)
            .floats("table", {2, 3, 2}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11})
            .node("Cast", {"x"}, {"i"}, {{"to", std::int64_t{7}}})
            .node("Gather", {"table", "i"}, {"y"}, {{"axis", axis}})
            .bytes();
    };
    const auto gathered = [&](Ints const& dims, std::int64_t axis, std::vector<float> const& x) {
        return run(parse(model(dims, axis)), x);
    };
    CHECK(parse(model({1, 4}, 1)).outputs[0].dims == Ints{2, 1, 4, 2});
    CHECK(gathered({1, 2}, 0, {1, -2}) == Line{6, 7, 8, 9, 10, 11, 0, 1, 2, 3, 4, 5});
    CHECK(gathered({1, 2}, -2, {2, -1.5F}) == Line{4, 5, 4, 5, 10, 11, 10, 11});
    CHECK(gathered({1, 1}, 2, {1}) == Line{1, 3, 5, 7, 9, 11});
    // What is not there is zero.
    CHECK(gathered({1, 2}, 2, {2, 0}) == Line{0, 0, 0, 2, 0, 4, 0, 6, 0, 8, 0, 10});
    CHECK(refusal(Model({2, 3}).integers("k", {1}).node("Gather", {"x", "f"}, {"y"}).input("f", {1}).bytes()) ==
          "file: node the node (Gather): its indices (input f) must be known when the model is loaded: a constant, or "
          "given in OnnxOptions::values");
    CHECK(refusal(Model({2, 3}).node("Abs", {"x"}, {"f"}).node("Gather", {"x", "f"}, {"y"}).bytes()) ==
          "file: node the node (Gather): its indices are of float32");
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
