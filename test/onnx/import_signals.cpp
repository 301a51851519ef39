#include "imported.hpp"

#include <primsel/onnx/export.hpp>

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace imported {

namespace {

using Attributes = std::vector<onnx::NewAttribute>;
const Ints signal_dims{2, 4, 11}, row_dims{2, 4, 1, 11};

/// A node on x, a signal (n, c, l) or the image (n, c, 1, l) with the same elements, between two activations.
std::string model_of(Ints const& dims, std::string_view op, Attributes const& attributes, auto const& constants) {
    Model model(dims, 17);
    std::vector<std::string> inputs{"in"};
    model.node("LeakyRelu", {"x"}, {"in"}, {}, "before");
    constants(model, inputs);
    model.node(op, inputs, {"out"}, attributes);
    model.node("LeakyRelu", {"out"}, {"y"}, {}, "after");
    return model.bytes();
}
/// The extents of an image as those of a signal.
Ints without_row(Ints dims) {
    dims.erase(dims.end() - 2);
    return dims;
}

void check_same(std::string_view op, Attributes const& signal, Attributes const& row, auto const& constants_of) {
    CAPTURE(op);
    const auto model = [&](bool is_signal) {
        return parse(
            model_of(is_signal ? signal_dims : row_dims, op, is_signal ? signal : row,
                     [&](Model& built, std::vector<std::string>& inputs) { constants_of(built, inputs, is_signal); }));
    };
    const ps::OnnxModel one = model(true), two = model(false);
    const ps::Graph from_signal = ps::simplify(one.graph), from_row = ps::simplify(two.graph);
    REQUIRE(from_signal.size() == from_row.size());
    for (std::size_t i = 0; i < from_row.size(); ++i) {
        CAPTURE(from_row[i].name);
        CHECK(from_signal[i].layer == from_row[i].layer);
        CHECK(from_signal[i].shape == from_row[i].shape);
        CHECK(from_signal[i].inputs == from_row[i].inputs);
    }
    CHECK(one.inputs[0].dims == signal_dims);
    CHECK(one.outputs[0].dims == without_row(two.outputs[0].dims));
    const std::vector<float> x = numbers(2 * 4 * 11);
    const std::vector<double> expected = run(two, x);
    CHECK(run(one, x) == expected);
    // A file that is written again has signals too, and gives the same.
    const std::string written = ps::to_onnx(one.graph, one.weights, {.opset = 19, .signature = one});
    const ps::OnnxModel again = parse(written);
    CHECK(again.inputs[0].dims == one.inputs[0].dims);
    CHECK(again.outputs[0].dims == one.outputs[0].dims);
    CHECK(is_close(run(again, x), expected));
}
void check_same(std::string_view op, Attributes const& signal = {}, Attributes const& row = {}) {
    check_same(op, signal, row, [](Model&, std::vector<std::string>&, bool) {});
}
/// The same with a constant of floats that has dims of an image.
void check_same(std::string_view op, Attributes const& signal, Attributes const& row, Ints const& dims) {
    check_same(op, signal, row, [&dims](Model& model, std::vector<std::string>& inputs, bool is_signal) {
        std::size_t count = 1;
        for (const std::int64_t dim : dims) count *= static_cast<std::size_t>(dim);
        model.floats("w", is_signal ? without_row(dims) : dims, numbers(count, 7));
        inputs.push_back("w");
    });
}
/// The same with constants of integers, by their names.
void check_same(std::string_view op, std::vector<std::array<Ints, 2>> const& constants) {
    check_same(op, {}, {}, [&constants](Model& model, std::vector<std::string>& inputs, bool is_signal) {
        for (std::array<Ints, 2> const& constant : constants) {
            inputs.push_back("constant" + std::to_string(inputs.size()));
            model.integers(inputs.back(), constant[is_signal ? 0 : 1]);
        }
    });
}

}  // namespace

TEST_CASE("a signal is imported as the image of one row with the same elements") {
    for (const std::int64_t stride : {1, 2}) {
        for (const std::int64_t dilation : {1, 3}) {
            const Attributes signal{{"strides", Ints{stride}}, {"dilations", Ints{dilation}}, {"pads", Ints{3, 2}}},
                row{{"strides", Ints{1, stride}}, {"dilations", Ints{1, dilation}}, {"pads", Ints{0, 3, 0, 2}}};
            check_same("Conv", signal, row, {6, 4, 1, 3});
            check_same("ConvTranspose", signal, row, {4, 6, 1, 3});
            const auto with = [](Attributes attributes, onnx::NewAttribute const& more) {
                attributes.push_back(more);
                return attributes;
            };
            const onnx::NewAttribute groups{"group", std::int64_t{4}};
            check_same("Conv", with(signal, groups), with(row, groups), {4, 1, 1, 3});
            check_same("ConvTranspose", with(signal, groups), with(row, groups), {4, 1, 1, 3});
            check_same("MaxPool", with(signal, {"kernel_shape", Ints{4}}), with(row, {"kernel_shape", Ints{1, 4}}));
            if (dilation > 1) continue;
            const Attributes counted{{"strides", Ints{stride}}, {"pads", Ints{3, 2}}, {"kernel_shape", Ints{4}}},
                counted_row{{"strides", Ints{1, stride}}, {"pads", Ints{0, 3, 0, 2}}, {"kernel_shape", Ints{1, 4}}};
            check_same("AveragePool", counted, counted_row);
        }
    }
    const onnx::NewAttribute same{"auto_pad", std::string_view("SAME_UPPER")};
    check_same("Conv", {same, {"strides", Ints{2}}}, {same, {"strides", Ints{1, 2}}}, {6, 4, 1, 4});
    check_same("MaxPool", {same, {"strides", Ints{5}}, {"kernel_shape", Ints{1}}},
               {same, {"strides", Ints{1, 5}}, {"kernel_shape", Ints{1, 1}}});
    check_same("ConvTranspose", {{"strides", Ints{3}}, {"output_padding", Ints{2}}},
               {{"strides", Ints{1, 3}}, {"output_padding", Ints{0, 2}}}, {4, 6, 1, 3});
    check_same("ConvTranspose", {{"strides", Ints{3}}, {"output_shape", Ints{30}}},
               {{"strides", Ints{1, 3}}, {"output_shape", Ints{1, 30}}}, {4, 6, 1, 3});
}

TEST_CASE(
    "a transposed signal, which is transposed after the operators behind it, has the results of an image of one row") {
    const auto made = [](Ints const& dims, Ints const& perm) {
        return parse(model_of(dims, "Transpose", {{"perm", perm}}, [](Model&, std::vector<std::string>&) {}));
    };
    const std::vector<float> x = numbers(2 * 4 * 11);
    const ps::OnnxModel signal = made(signal_dims, {0, 2, 1});
    CHECK(signal.outputs[0].dims == Ints{2, 11, 4});
    CHECK(run(signal, x) == run(made(row_dims, {0, 3, 2, 1}), x));
}

TEST_CASE("so it is by layers that move, combine or normalise elements") {
    check_same("GlobalAveragePool");
    check_same("GlobalMaxPool");
    check_same("Softmax", {{"axis", std::int64_t{2}}}, {{"axis", std::int64_t{3}}});
    check_same("ReduceMean", {{"axes", Ints{2}}}, {{"axes", Ints{2, 3}}});
    check_same("ReduceMax", {{"axes", Ints{1}}}, {{"axes", Ints{1}}});
    check_same("ArgMax", {{"axis", std::int64_t{2}}}, {{"axis", std::int64_t{3}}});
    check_same("Add", {}, {}, Ints{1, 4, 1, 1});
    check_same("Mul", {}, {}, Ints{1, 1, 1, 11});
    check_same("PRelu", {}, {}, Ints{4, 1, 1});
    check_same("Slice", {{{Ints{1}, Ints{1}}, {Ints{9}, Ints{9}}, {Ints{2}, Ints{3}}, {Ints{2}, Ints{2}}}});
    check_same("Tile", {{{Ints{1, 1, 3}, Ints{1, 1, 1, 3}}}});
    check_same("Reshape", {{{Ints{2, 2, 22}, Ints{2, 2, 1, 22}}}});
    for (const std::string_view mode : {"reflect", "edge", "constant"}) {
        const Attributes attributes{{"mode", mode}};
        check_same("Pad", attributes, attributes, [](Model& model, std::vector<std::string>& inputs, bool is_signal) {
            model.integers("pads", is_signal ? Ints{0, 0, 3, 0, 0, 2} : Ints{0, 0, 0, 3, 0, 0, 0, 2});
            inputs.push_back("pads");
        });
    }
    for (const std::string_view mode : {"nearest", "linear"}) {
        const Attributes attributes{{"mode", mode}};
        check_same("Resize", attributes, attributes,
                   [](Model& model, std::vector<std::string>& inputs, bool is_signal) {
                       const std::vector<float> scales =
                           is_signal ? std::vector<float>{1, 1, 1.7F} : std::vector<float>{1, 1, 1, 1.7F};
                       model.floats("scales", {static_cast<std::int64_t>(scales.size())}, scales);
                       inputs.insert(inputs.end(), {"", "scales"});
                   });
    }
    const auto affine = [](Model& model, std::vector<std::string>& inputs, bool) {
        model.floats("scale", {4}, {1, 2, 3, 4}).floats("bias", {4}, {4, 3, 2, 1});
        inputs.insert(inputs.end(), {"scale", "bias"});
    };
    check_same("InstanceNormalization", {}, {}, affine);
    check_same("BatchNormalization", {}, {}, [&](Model& model, std::vector<std::string>& inputs, bool is_signal) {
        affine(model, inputs, is_signal);
        model.floats("mean", {4}, {0, 1, 0, 1}).floats("variance", {4}, {1, 2, 1, 2});
        inputs.insert(inputs.end(), {"mean", "variance"});
    });
}

}  // namespace imported
