// Imported layers that move elements: transposes, gathers, slices, resizes.
#include "imported.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

namespace imported {

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
    CHECK(params({1, 2, 2}, {1, 1, 1.25F}).scale_w == 1 / 1.25F);
    CHECK(is_close(run(parse(model({1, 1, 2}, {1, 1, 2})), {0, 10}), {0, 5, 10, 10}));
    CHECK(is_close(run(parse(model({2, 2}, {2, 1})), {0, 0, 10, 20}), {0, 0, 5, 10, 10, 20, 10, 20}));
    // Along other axes too.
    CHECK(params({1, 2, 2, 2}, {1, 1.25F, 1, 1}).scale_h == 1 / 1.25F);
    CHECK(is_close(run(parse(model({1, 2, 1, 3}, {1, 2, 1, 1})), {0, 1, 2, 10, 11, 12}),
                   {0, 1, 2, 5, 6, 7, 10, 11, 12, 10, 11, 12}));
    CHECK(is_close(run(parse(model({2, 1, 1, 2}, {2, 1, 1, 2})), {0, 10, 20, 30}),
                   {0, 5, 10, 10, 10, 15, 20, 20, 20, 25, 30, 30, 20, 25, 30, 30}));
    CHECK(refusal(model({1, 2, 2, 2}, {1, 1, 2})) == "file: node the node (Resize): 3 scales for 4 axes");
    CHECK(is_close(run(parse(model({4}, {2})), {0, 2, 4, 8}), {0, 1, 2, 3, 4, 6, 8, 8}));
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
    CHECK(is_close(run(parse(nearest("floor", 2, "linear")), x),
                   {0.25F, 0.75F, 1.25F, 1.75F, 2.25F, 2.75F, 3.25F, 3.75F, 4.25F, 4.75F, 5, 5}));
}

/// A resize of one row.
std::string resized(std::vector<float> const& region, std::int64_t size, std::vector<onnx::NewAttribute> attributes,
                    std::int64_t from = 6, int opset = 18) {
    attributes.push_back({"axes", Ints{2}});
    Model model({1, 1, from}, opset);
    return model.floats("r", {static_cast<std::int64_t>(region.size())}, region)
        .integers("n", {size})
        .node("Resize", {"x", "r", "", "n"}, {"y"}, attributes)
        .bytes();
}

TEST_CASE("tf_crop_and_resize takes a part of the image, and one value outside of it") {
    const auto part = [](float start, float end, std::int64_t size, std::string_view mode = "linear") {
        return run(parse(resized({start, end}, size,
                                 {{"coordinate_transformation_mode", "tf_crop_and_resize"},
                                  {"mode", mode},
                                  {"extrapolation_value", -7.0F}})),
                   {0, 1, 2, 3, 4, 5});
    };
    CHECK(is_close(part(0.2F, 0.8F, 4), {1, 2, 3, 4}));
    CHECK(is_close(part(0, 1, 11), {0, 0.5F, 1, 1.5F, 2, 2.5F, 3, 3.5F, 4, 4.5F, 5}));
    CHECK(is_close(part(0.8F, 0.2F, 4), {4, 3, 2, 1}));
    CHECK(is_close(part(0.2F, 0.8F, 1), {2.5F}));
    CHECK(is_close(part(-0.4F, 1.2F, 9), {-7, -7, 0, 1, 2, 3, 4, 5, -7}));
    CHECK(is_close(part(1.2F, 0.6F, 4, "nearest"), {-7, 5, 4, 3}));
    CHECK(is_close(part(0.4F, 0.4F, 2, "cubic"), {2, 2}));
    CHECK(refusal(resized({0}, 3, {{"coordinate_transformation_mode", "tf_crop_and_resize"}})) ==
          "file: node the node (Resize): a region of 1 values for 1 axes");
}

TEST_CASE("antialiasing, sizes that keep ratios, and scales whose size is rounded") {
    const auto of = [](std::int64_t size, std::vector<onnx::NewAttribute> const& attributes) {
        return run(parse(resized({}, size, attributes)), {0, 1, 2, 3, 4, 5});
    };
    // Weights of 1, 3, 3, 1 eighths.
    CHECK(is_close(of(3, {{"mode", "linear"}, {"antialias", std::int64_t{1}}}), {5.0F / 8, 2.5F, 4.375F}));
    CHECK(is_close(of(3, {{"mode", "linear"}, {"antialias", std::int64_t{1}}, {"exclude_outside", std::int64_t{1}}}),
                   {5.0F / 7, 2.5F, 30.0F / 7}));
    CHECK(refusal(resized({}, 3, {{"antialias", std::int64_t{1}}}))
              .ends_with("antialiasing needs a linear or cubic resize"));
    const auto sizes = [](std::string_view policy) {
        Model model({1, 1, 4, 6}, 18);
        return parse(model.integers("n", {3, 9})
                         .node("Resize", {"x", "", "", "n"}, {"y"},
                               {{"axes", Ints{2, -1}}, {"mode", "linear"}, {"keep_aspect_ratio_policy", policy}})
                         .bytes())
            .outputs[0]
            .dims;
    };
    // Halves are rounded up.
    CHECK(sizes("stretch") == Ints{1, 1, 3, 9});
    CHECK(sizes("not_larger") == Ints{1, 1, 3, 5});
    CHECK(sizes("not_smaller") == Ints{1, 1, 6, 9});
    // 5 * 1.7 is 8.5: the last of 8 pixels is that of the image.
    Model corners({1, 1, 5}, 13);
    corners.floats("f", {3}, {1, 1, 1.7F})
        .node("Resize", {"x", "", "f"}, {"y"},
              {{"mode", "linear"}, {"coordinate_transformation_mode", "align_corners"}});
    CHECK(is_close(run(parse(corners.bytes()), {0, 7, 14, 21, 28}), {0, 4, 8, 12, 16, 20, 24, 28}));
    // From onnx.reference: (x + 0.5) / 0.7 - 0.5, moved so that both ends are as far outside.
    Model middle({1, 1, 5}, 19);
    middle.floats("f", {3}, {1, 1, 0.7F})
        .node("Resize", {"x", "", "f"}, {"y"},
              {{"mode", "linear"}, {"coordinate_transformation_mode", "half_pixel_symmetric"}});
    CHECK(is_close(run(parse(middle.bytes()), {0, 7, 14, 21, 28}), {4, 14, 24}));
}

TEST_CASE("Pad goes round, and mirrors as often as it takes") {
    const auto padded = [](std::string_view mode, Ints const& pads, std::vector<float> const& x = {0, 1, 2}) {
        Model model({1, 1, static_cast<std::int64_t>(x.size())}, 19);
        return run(parse(model.integers("p", {0, 0, pads[0], 0, 0, pads[1]})
                             .node("Pad", {"x", "p"}, {"y"}, {{"mode", mode}})
                             .bytes()),
                   x);
    };
    CHECK(padded("wrap", {1, 2}) == Line{2, 0, 1, 2, 0, 1});
    CHECK(padded("wrap", {0, 3}) == Line{0, 1, 2, 0, 1, 2});
    CHECK(padded("wrap", {4, 7}) == Line{2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0});
    // The rest goes round.
    CHECK(padded("wrap", {-1, 3}) == Line{1, 2, 1, 2, 1});
    CHECK(padded("edge", {-2, 3}) == Line{2, 2, 2, 2});
    CHECK(padded("reflect", {7, 6}) == Line{1, 2, 1, 0, 1, 2, 1, 0, 1, 2, 1, 0, 1, 2, 1, 0});
    CHECK(padded("reflect", {1, 8}, {0, 1, 2, 3}) == Line{1, 0, 1, 2, 3, 2, 1, 0, 1, 2, 3, 2, 1});
    CHECK(padded("reflect", {2, 3}, {5}) == Line(6, 5));
    Model rows({1, 2, 3, 2}, 19);
    rows.integers("p", {1, 1, 1, 0}).integers("a", {-1, 1}).node("Pad", {"x", "p", "", "a"}, {"y"}, {{"mode", "wrap"}});
    CHECK(run(parse(rows.bytes()), {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}) ==
          Line{7, 6, 7, 6, 9, 8, 9, 8, 11, 10, 11, 10, 1, 0, 1,  0,  3,  2,
               3, 2, 5, 4, 5, 4, 7, 6, 7,  6,  9,  8,  9, 8, 11, 10, 11, 10});
}

TEST_CASE("a cubic resize is read with its coefficient and with what it does outside") {
    const auto cubic = [](std::vector<onnx::NewAttribute> const& more, int opset = 13) {
        std::vector<onnx::NewAttribute> attributes{{"mode", "cubic"}};
        attributes.insert(attributes.end(), more.begin(), more.end());
        const std::vector<std::string> inputs =
            opset < 11 ? std::vector<std::string>{"x", "f"} : std::vector<std::string>{"x", "", "f"};
        Model model({1, 1, 4}, opset);
        return model.floats("f", {3}, {1, 1, 1.75F}).node("Resize", inputs, {"y"}, attributes).bytes();
    };
    const auto params = [](std::string const& bytes) {
        const ps::OnnxModel model = parse(bytes);
        for (ps::Node const& node : model.graph.nodes()) {
            if (const auto* found = std::get_if<ps::ResizeParams>(&node.layer)) return *found;
        }
        return ps::ResizeParams{};
    };
    CHECK(params(cubic({})).mode == ps::ResizeMode::cubic);
    CHECK(params(cubic({})).cubic_coefficient == -0.75F);
    CHECK_FALSE(params(cubic({})).exclude_outside);
    CHECK(params(cubic({{"cubic_coeff_a", -0.5F}})).cubic_coefficient == -0.5F);
    CHECK(params(cubic({{"exclude_outside", std::int64_t{1}}})).exclude_outside);
    // From onnx.reference of ONNX 1.19.
    const Line y = run(parse(cubic({})), {1, 2, 3, 4});
    const Line expected{0.9007837F, 1.279245F, 1.896592F, 2.5F, 3.103407F, 3.720754F, 4.099216F};
    REQUIRE(y.size() == expected.size());
    for (std::size_t i = 0; i < y.size(); ++i) CHECK(y[i] == doctest::Approx(expected[i]).epsilon(1e-6));
    CHECK(params(cubic({{"antialias", std::int64_t{1}}}, 18)).antialias);
    CHECK(refusal(cubic({}, 10)) == "file: node the node (Resize): mode cubic is unknown");
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
    // An element that is not there is zero.
    CHECK(gathered({1, 2}, 2, {2, 0}) == Line{0, 0, 0, 2, 0, 4, 0, 6, 0, 8, 0, 10});
    CHECK(refusal(Model({2, 3}).node("Gather", {"x", "f"}, {"y"}).input("f", {1}).bytes()) ==
          "file: node the node (Gather): its indices are of float32");
    CHECK(refusal(Model({2, 3}).node("Abs", {"x"}, {"f"}).node("Gather", {"x", "f"}, {"y"}).bytes()) ==
          "file: node the node (Gather): its indices are of float32");
}

TEST_CASE("GatherElements takes indices that are computed, from smaller tensors and along every axis") {
    const Ints from{2, 3, 4};
    std::vector<float> table(24);
    for (std::size_t i = 0; i < table.size(); ++i) table[i] = static_cast<float>(i);
    const auto model = [&](Ints const& dims, std::int64_t axis) {
        return Model(dims)
            .floats("table", from, table)
            .node("Cast", {"x"}, {"i"}, {{"to", std::int64_t{7}}})
            .node("GatherElements", {"table", "i"}, {"y"}, {{"axis", axis}})
            .bytes();
    };
    for (Ints const& dims : {Ints{2, 3, 4}, Ints{2, 5, 4}, Ints{1, 7, 3}, Ints{2, 2, 1}, Ints{1, 1, 1}}) {
        for (const std::int64_t axis : {0, 1, 2}) {
            const auto along = static_cast<std::size_t>(axis);
            bool fits = true;
            for (std::size_t i = 0; i < 3; ++i) fits = fits && (i == along || dims[i] <= from[i]);
            if (!fits) {
                CHECK(refusal(model(dims, axis))
                          .starts_with("file: node the node (GatherElements): indices of " + ps::to_string(dims) +
                                       " into 2x3x4"));
                continue;
            }
            std::vector<float> x;
            Line wanted;
            for (std::int64_t a = 0; a < dims[0]; ++a) {
                for (std::int64_t b = 0; b < dims[1]; ++b) {
                    for (std::int64_t c = 0; c < dims[2]; ++c) {
                        Ints place{a, b, c};
                        const auto count = static_cast<std::int64_t>(x.size());
                        x.push_back(static_cast<float>(count * 5 % (2 * from[along]) - from[along]));
                        place[along] = static_cast<std::int64_t>(x.back());
                        if (place[along] < 0) place[along] += from[along];
                        wanted.push_back(static_cast<double>((place[0] * 3 + place[1]) * 4 + place[2]));
                    }
                }
            }
            const ps::OnnxModel parsed = parse(model(dims, axis));
            CHECK(parsed.outputs[0].dims == dims);
            CHECK(run(parsed, x) == wanted);
        }
    }
}

TEST_CASE("whole numbers and booleans are given at run time, as token numbers are") {
    Model tokens(Model::writer_only, 13);
    tokens.input("x", {1, 3}, onnx::DataType::int64).floats("table", {4, 2}, {0, 1, 2, 3, 4, 5, 6, 7});
    const ps::OnnxModel embedded = parse(tokens.node("Gather", {"table", "x"}, {"y"}).bytes());
    CHECK(embedded.inputs[0].type == ps::OnnxType::int64);
    CHECK(run(embedded, {3, 0, -2}) == Line{6, 7, 0, 1, 4, 5});
    Model mask(Model::writer_only, 13);
    mask.input("x", {1, 3}, onnx::DataType::boolean).floats("one", {1, 3}, {1, 2, 3}).floats("other", {}, {-1});
    CHECK(run(parse(mask.node("Where", {"x", "one", "other"}, {"y"}).bytes()), {1, 0, 1}) == Line{1, -1, 3});
    Model halves(Model::writer_only, 13);
    halves.input("x", {1, 3}, onnx::DataType::int64).integers("two", {2});
    CHECK(run(parse(halves.node("Div", {"x", "two"}, {"y"}).bytes()), {7, -7, 6}) == Line{3, -3, 3});
    Model words(Model::writer_only, 13);
    words.input("x", {1, 3}, onnx::DataType::string);
    CHECK(refusal(words.node("Identity", {"x"}, {"y"}).bytes()) ==
          "file: node the node (Identity): it reads x, an input of string: only floats, integers and booleans can be "
          "given at run time; give its value in OnnxOptions::values");
}

TEST_CASE("SpaceToDepth and DepthToSpace undo each other in both orders") {
    const std::vector<float> x = numbers(2 * 4 * 6);
    const Line expected(x.begin(), x.end());
    const auto there_and_back = [&](std::string_view there, std::string_view back) {
        return run(parse(Model({1, 2, 4, 6}, 28)
                             .node("SpaceToDepth", {"x"}, {"a"}, {{"blocksize", std::int64_t{2}}, {"mode", there}})
                             .node("DepthToSpace", {"a"}, {"y"}, {{"blocksize", std::int64_t{2}}, {"mode", back}})
                             .bytes()),
                   x);
    };
    CHECK(there_and_back("DCR", "DCR") == expected);
    CHECK(there_and_back("CRD", "CRD") == expected);
    CHECK(there_and_back("CRD", "DCR") != expected);
    CHECK(refusal(Model().node("SpaceToDepth", {"x"}, {"y"}, {{"blocksize", std::int64_t{2}}, {"mode", "RDC"}}).bytes())
              .ends_with("mode RDC is unknown"));
}

}  // namespace imported
