// Imported convolutions and poolings: what lies under their windows.
#include "imported.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

namespace imported {

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

/// The result of a node on [1, 1, n] with the elements 1, 2, ..., n; a kernel of those taps, where there are any.
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

}  // namespace imported
