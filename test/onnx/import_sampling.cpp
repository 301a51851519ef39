// Operators that read images at computed places: GridSample, AffineGrid, RoiAlign, DeformConv; and Col2Im.
#include "imported.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace imported {

namespace {

/// Samples a known image at the places in x, one row of them.
std::string sampled(std::vector<onnx::NewAttribute> const& attributes, int opset = 20,
                    Ints const& dims = {1, 1, 2, 2}) {
    std::vector<float> image;
    std::int64_t count = 1;
    for (const std::int64_t dim : dims) count *= dim;
    for (std::int64_t i = 0; i < count; ++i) image.push_back(static_cast<float>(i));
    const auto axes = static_cast<std::int64_t>(dims.size()) - 2;
    Ints places(dims.size(), 1);
    places.back() = axes;
    places[dims.size() - 2] = 3;
    Model model(places, opset);
    return model.floats("image", dims, image).node("GridSample", {"image", "x"}, {"y"}, attributes).bytes();
}

}  // namespace

TEST_CASE("GridSample reads images and volumes, by its old names and its new ones") {
    const std::vector<float> places{0, 0, 1, -1, -2, 0};
    CHECK(is_close(run(parse(sampled({{"align_corners", std::int64_t{1}}})), places), {1.5F, 1, 0.5F}));
    CHECK(is_close(run(parse(sampled({{"mode", "bilinear"}}, 16)), places), {1.5F, 0.25F, 0}));
    CHECK(is_close(run(parse(sampled({{"mode", "nearest"}, {"padding_mode", "border"}})), places), {0, 1, 0}));
    CHECK(is_close(run(parse(sampled({{"mode", "bicubic"}, {"padding_mode", "reflection"}}, 16)), {0, 0, 0, 0, 0, 0}),
                   {1.5F, 1.5F, 1.5F}));
    CHECK(is_close(
        run(parse(sampled({{"align_corners", std::int64_t{1}}}, 20, {1, 1, 2, 1, 2})), {0, 0, 0, 1, 0, -1, 1, 0, 1}),
        {1.5F, 1, 3}));
    CHECK(parse(sampled({}, 20, {1, 1, 2, 1, 2})).outputs[0].dims == Ints{1, 1, 1, 1, 3});
    CHECK(refusal(sampled({{"mode", "cubic"}}, 20, {1, 1, 2, 1, 2})).ends_with("a volume has no cubic means"));
    CHECK(refusal(sampled({{"mode", "area"}})) == "file: node the node (GridSample): mode area is unknown");
    CHECK(refusal(sampled({{"padding_mode", "wrap"}})) ==
          "file: node the node (GridSample): padding_mode wrap is unknown");
    CHECK(refusal(Model({2, 3, 4, 4}).input("g", {1, 5, 5, 2}).node("GridSample", {"x", "g"}, {"y"}, {}).bytes()) ==
          "file: node the node (GridSample): a grid of 1x5x5x2 for 2x3x4x4");
}

TEST_CASE("AffineGrid is the product of points and matrices") {
    const auto grid = [](Ints const& size, std::int64_t corners) {
        Model model({1, 2, 3}, 20);
        return model.integers("size", size)
            .node("AffineGrid", {"x", "size"}, {"y"}, {{"align_corners", corners}})
            .bytes();
    };
    const std::vector<float> matrix{1, 0, 10, 0, 2, 20};
    CHECK(is_close(run(parse(grid({1, 1, 2, 2}, 0)), matrix), {9.5F, 19, 10.5F, 19, 9.5F, 21, 10.5F, 21}));
    // One row is in the middle.
    CHECK(is_close(run(parse(grid({1, 1, 1, 3}, 1)), matrix), {9, 20, 10, 20, 11, 20}));
    CHECK(parse(grid({1, 7, 4, 3}, 1)).outputs[0].dims == Ints{1, 4, 3, 2});
    CHECK(refusal(grid({1, 1, 2, 2, 2}, 0)) ==
          "file: node the node (AffineGrid): matrices of 1x2x3 for a size of 1x1x2x2x2");
}

TEST_CASE("RoiAlign pools boxes of any image; its places are counted otherwise before opset 16") {
    const auto pooled = [](int opset, std::vector<onnx::NewAttribute> const& attributes) {
        Model model({2, 1, 2, 2}, opset);
        return model.floats("boxes", {2, 4}, {0, 0, 2, 2, 0, 0, 1, 1})
            .integers("images", {1, 0})
            .node("RoiAlign", {"x", "boxes", "images"}, {"y"}, attributes)
            .bytes();
    };
    const std::vector<float> x{0, 1, 2, 3, 10, 11, 12, 13};
    CHECK(is_close(run(parse(pooled(16, {})), x), {11.5F, 0}));
    CHECK(is_close(run(parse(pooled(10, {{"sampling_ratio", std::int64_t{1}}})), x), {13, 1.5F}));
    CHECK(is_close(run(parse(pooled(16, {{"mode", "max"}, {"sampling_ratio", std::int64_t{1}}})), x), {3.25F, 0}));
    CHECK(parse(pooled(16, {{"output_width", std::int64_t{3}}})).outputs[0].dims == Ints{2, 1, 1, 3});
    CHECK(refusal(pooled(16, {{"mode", "sum"}})).starts_with("file: node the node (RoiAlign): mode sum is unknown"));
}

TEST_CASE("DeformConv without offsets is a convolution") {
    Model model({1, 2, 4, 5}, 19);
    std::vector<float> weight;
    for (int i = 0; i < 3 * 2 * 2 * 3; ++i) weight.push_back(static_cast<float>(i % 7) - 3);
    model.floats("w", {3, 2, 2, 3}, weight).floats("b", {3}, {1, 2, 3});
    Model plain({1, 2, 4, 5}, 19);
    plain.floats("w", {3, 2, 2, 3}, weight).floats("b", {3}, {1, 2, 3});
    const std::vector<onnx::NewAttribute> attributes{{"strides", Ints{1, 2}}, {"pads", Ints{1, 2, 0, 1}}};
    model.floats("o", {1, 24, 4, 3}, std::vector<float>(24 * 12, 0.0F))
        .floats("m", {1, 12, 4, 3}, std::vector<float>(12 * 12, 2.0F));
    std::vector<onnx::NewAttribute> grouped = attributes;
    grouped.push_back({"offset_group", std::int64_t{2}});
    const std::vector<float> x = numbers(40);
    const Line expected = run(parse(plain.node("Conv", {"x", "w", "b"}, {"y"}, attributes).bytes()), x);
    Line actual = run(parse(model.node("DeformConv", {"x", "w", "o", "b", "m"}, {"y"}, grouped).bytes()), x);
    // The mask doubles all but the bias.
    for (std::size_t i = 0; i < actual.size(); ++i) {
        const double bias = 1 + static_cast<double>(i / 12);
        actual[i] = (actual[i] - bias) / 2 + bias;
    }
    CHECK(is_close(actual, expected));
    Model wrong({1, 2, 4, 5}, 19);
    wrong.floats("w", {3, 2, 2, 3}, weight).floats("o", {1, 24, 4, 3}, std::vector<float>(24 * 12, 0.0F));
    CHECK(refusal(wrong.node("DeformConv", {"x", "w", "o"}, {"y"}, attributes).bytes()) ==
          "file: node the node (DeformConv): offsets of 1x24x4x3 in 1 groups for 1x2x4x5");
}

TEST_CASE("Col2Im adds windows up, also for several images") {
    Model model({2, 4, 3}, 18);
    model.integers("i", {4}).integers("k", {2}).node("Col2Im", {"x", "i", "k"}, {"y"});
    CHECK(
        run(parse(model.bytes()), {1, 2, 3, 10, 20, 30, 4, 5, 6, 40, 50, 60, 7, 8, 9, 70, 80, 90, 1, 1, 1, 2, 2, 2}) ==
        Line{1, 12, 23, 30, 4, 45, 56, 60, 7, 78, 89, 90, 1, 3, 3, 2});
    Model wrong({1, 4, 3}, 18);
    wrong.integers("i", {5}).integers("k", {2}).node("Col2Im", {"x", "i", "k"}, {"y"});
    CHECK(refusal(wrong.bytes()) == "file: node the node (Col2Im): windows of 1x4x3 for an image of 5");
}

}  // namespace imported
