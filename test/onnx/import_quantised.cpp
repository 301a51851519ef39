// Models whose tensors are quantised: real numbers behind integers, ranges, weights that are folded, and integers where
// something reads them.
#include "hostile.hpp"
#include "imported.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace quantised {
namespace {

using namespace imported;  // NOLINT(google-build-using-namespace)
using onnx::DataType;
using ps::TensorRange;

/// Floats that bytes of this scale and zero point hold exactly, one more than they do, and some between.
struct Bytes {
    DataType type;
    float scale;
    std::int64_t zero;

    [[nodiscard]] std::int64_t low() const {
        return type == DataType::int8 ? -128 : type == DataType::int16 ? -32768 : 0;
    }
    [[nodiscard]] std::int64_t high() const {
        return type == DataType::uint8 ? 255 : type == DataType::int8 ? 127 : type == DataType::int16 ? 32767 : 65535;
    }
    /// The standard's QuantizeLinear.
    [[nodiscard]] double integer(float x) const {
        const double steps = std::nearbyint(static_cast<double>(x / scale)) + static_cast<double>(zero);
        return std::clamp(steps, static_cast<double>(low()), static_cast<double>(high()));
    }
    [[nodiscard]] double real(double q) const { return (q - static_cast<double>(zero)) * static_cast<double>(scale); }
    /// Adds its scale and zero point to a model.
    void add(Model& model, std::string const& name) const {
        model.floats(name + "_s", {}, {scale}).numbers_of(type, name + "_z", {}, {zero});
    }
};
constexpr Bytes kinds_of_bytes[] = {{DataType::uint8, 0.25F, 0},      {DataType::uint8, 0.5F, 128},
                                    {DataType::uint8, 0.125F, 255},   {DataType::int8, 0.25F, 0},
                                    {DataType::int8, 0.5F, -128},     {DataType::int8, 0.0625F, 37},
                                    {DataType::uint16, 0.0625F, 700}, {DataType::int16, 0.03125F, -12}};

Ints some_bytes(std::size_t count, DataType type, unsigned seed) {
    std::mt19937 bits(seed);
    Ints values(count);
    for (std::int64_t& value : values)
        value = static_cast<std::int64_t>(bits() % 256) - (type == DataType::int8 ? 128 : 0);
    return values;
}
std::vector<float> as_floats(Ints const& values) { return {values.begin(), values.end()}; }
std::vector<float> real_numbers(Ints const& values, std::vector<float> const& scales, Ints const& zeros) {
    std::vector<float> result(values.size());
    const std::size_t inner = values.size() / scales.size();
    for (std::size_t i = 0; i < values.size(); ++i)
        result[i] = static_cast<float>(values[i] - zeros[i / inner]) * scales[i / inner];
    return result;
}
Model& pair(Model& model, std::string const& from, std::string const& to, std::string const& numbers) {
    return model.node("QuantizeLinear", {from, numbers + "_s", numbers + "_z"}, {to + "_q"}, {}, to)
        .node("DequantizeLinear", {to + "_q", numbers + "_s", numbers + "_z"}, {to});
}

TEST_CASE("quantised results are the standard's integers, for each type and zero point") {
    std::vector<float> x;
    for (int i = -400; i < 400; ++i) x.push_back(static_cast<float>(i) / 16.0F + (i % 3 == 0 ? 0.0F : 1e-3F));
    x.insert(x.end(), {1e6F, -1e6F, 3000.0F, -3000.0F});
    for (Bytes const& bytes : kinds_of_bytes) {
        CAPTURE(ps::to_string(bytes.type));
        CAPTURE(bytes.zero);
        Model model({1, static_cast<std::int64_t>(x.size())}, 21);
        bytes.add(model, "y");
        const ps::OnnxModel read = parse(model.node("QuantizeLinear", {"x", "y_s", "y_z"}, {"y"}).bytes());
        std::vector<double> right;
        for (const float value : x) right.push_back(bytes.integer(value));
        CHECK(run(read, x) == right);
        const bool is_byte = bytes.type == DataType::uint8 || bytes.type == DataType::int8;
        const std::int32_t zero = static_cast<std::int32_t>(bytes.zero) + (bytes.type == DataType::int8 ? 128 : 0);
        CHECK(read.graph[read.graph.input()].range ==
              (is_byte ? TensorRange{.scale = bytes.scale, .zero_point = zero} : TensorRange{}));
    }
}

TEST_CASE("the same along an axis, and folded") {
    const std::vector<float> x = numbers(2 * 3 * 5, 4), scales{0.5F, 0.25F, 0.125F};
    const Ints zeros{3, 128, 250};
    std::vector<double> right;
    for (std::size_t i = 0; i < x.size(); ++i) {
        const std::size_t at = i / 5 % 3;
        right.push_back(Bytes{DataType::uint8, scales[at], zeros[at]}.integer(x[i]));
    }
    const auto rest = [&](Model& model) {
        return run(parse(model.floats("s", {3}, scales)
                             .numbers_of(DataType::uint8, "z", {3}, zeros)
                             .node("QuantizeLinear", {"v", "s", "z"}, {"q"}, {{"axis", std::int64_t{-2}}})
                             .node("Cast", {"q"}, {"f"}, {{"to", std::int64_t{1}}})
                             .node("Add", {"f", "x"}, {"y"})
                             .bytes()),
                   std::vector<float>(30, 0.0F));
    };
    Model known({2, 3, 5}, 13), open({2, 3, 5}, 13);
    CHECK(rest(known.floats("v", {2, 3, 5}, x)) == right);
    std::vector<double> sums =
        run(parse(open.floats("s", {3}, scales)
                      .numbers_of(DataType::uint8, "z", {3}, zeros)
                      .node("QuantizeLinear", {"x", "s", "z"}, {"y"}, {{"axis", std::int64_t{1}}})
                      .bytes()),
            x);
    CHECK(sums == right);
}

TEST_CASE("weights of any axis, zero point and block are those numbers") {
    const Ints q = some_bytes(4 * 6, DataType::uint8, 3);
    const auto folded = [&](Ints const& dims, std::vector<float> const& scales, Ints const& zeros,
                            std::vector<onnx::NewAttribute> const& attributes) {
        Model model({4, 6}, 21);
        model.numbers_of(DataType::uint8, "q", {4, 6}, q).floats("s", dims, scales);
        model.numbers_of(DataType::uint8, "z", dims, zeros);
        model.node("DequantizeLinear", {"q", "s", "z"}, {"w"}, attributes).node("Add", {"x", "w"}, {"y"});
        return run(parse(model.bytes()), std::vector<float>(24, 0.0F));
    };
    const auto right = [&](auto const& place, std::vector<float> const& scales, Ints const& zeros) {
        std::vector<double> values;
        for (std::size_t i = 0; i < q.size(); ++i) {
            const std::size_t at = place(i / 6, i % 6);
            values.push_back(static_cast<double>(static_cast<float>(q[i] - zeros[at]) * scales[at]));
        }
        return values;
    };
    const std::vector<float> scales{0.5F, 0.3F, 0.25F, 0.7F, 1.5F, 0.11F, 2.0F, 0.9F};
    const Ints zeros{0, 255, 128, 7, 200, 31, 90, 1};
    const auto first = [](auto const& values, std::ptrdiff_t n) {
        return std::remove_cvref_t<decltype(values)>(values.begin(), values.begin() + n);
    };
    CHECK(folded({}, {0.3F}, {77}, {}) == right([](auto, auto) { return 0U; }, {0.3F}, {77}));
    CHECK(folded({6}, first(scales, 6), first(zeros, 6), {}) == right([](auto, auto x) { return x; }, scales, zeros));
    CHECK(folded({4}, first(scales, 4), first(zeros, 4), {{"axis", std::int64_t{0}}}) ==
          right([](auto y, auto) { return y; }, scales, zeros));
    // Blocks of four of six columns: the second is of two.
    CHECK(folded({4, 2}, scales, zeros, {{"axis", std::int64_t{1}}, {"block_size", std::int64_t{4}}}) ==
          right([](auto y, auto x) { return y * 2 + x / 4; }, scales, zeros));
    CHECK(folded({1, 6}, first(scales, 6), first(zeros, 6),
                 {{"axis", std::int64_t{0}}, {"block_size", std::int64_t{4}}}) ==
          right([](auto, auto x) { return x; }, scales, zeros));
}

TEST_CASE("many bytes stay bytes until somebody reads their real numbers, in whatever parts") {
    constexpr std::int64_t rows = 160, columns = 128;
    for (const DataType type : {DataType::uint8, DataType::int8}) {
        const Ints q = some_bytes(rows * columns, type, 9);
        for (const int axis : {-1, 0, 1}) {
            CAPTURE(ps::to_string(type));
            CAPTURE(axis);
            const std::int64_t count = axis < 0 ? 1 : axis == 0 ? rows : columns;
            std::vector<float> scales;
            Ints zeros = some_bytes(static_cast<std::size_t>(count), type, 10);
            for (std::int64_t i = 0; i < count; ++i) scales.push_back(0.01F * static_cast<float>(i + 1));
            const Ints dims = axis < 0 ? Ints{} : Ints{count};
            Model model({1, columns, 2, 3}, 13);
            model.numbers_of(type, "q", {rows, columns, 1, 1}, q).floats("s", dims, scales);
            model.numbers_of(type, "z", dims, zeros);
            const std::vector<onnx::NewAttribute> along{{"axis", std::int64_t{std::max(axis, 0)}}};
            for (const std::string name : {"a", "b"}) {  // the same initializer twice
                model.node("DequantizeLinear", {"q", "s", "z"}, {"w" + name}, along);
                model.node("Conv", {"x", "w" + name}, {name}, {}, name);
            }
            const ps::OnnxModel read = parse(model.node("Sub", {"a", "b"}, {"y"}).bytes());
            for (const std::string name : {"a.weight", "b.weight"}) {
                ps::StoredFloats const& values = read.weights.at(name).values;
                CHECK(!values.is_ready());
                std::vector<float> parts(q.size()), right(q.size());
                for (std::size_t at = 0, size = 1; at < parts.size(); at += size, size = size * 3 % 1009) {
                    size = std::min(size, parts.size() - at);
                    values.read(at, std::span(parts).subspan(at, size));
                }
                for (std::size_t i = 0; i < q.size(); ++i) {
                    const std::size_t place = axis < 0 ? 0 : axis == 0 ? i / columns : i % columns;
                    right[i] = static_cast<float>(q[i] - zeros[place]) * scales[place];
                }
                CHECK(parts == right);
            }
            std::vector<float> x(static_cast<std::size_t>(columns * 6), 0.5F);
            CHECK(run(read, x) == std::vector<double>(static_cast<std::size_t>(rows * 6), 0.0));
        }
    }
}

/// A convolution with a shared input pair, weights a channel and a bias of 32 bits, a sum and a pool.
struct Net {
    Ints w = some_bytes(3 * 2 * 9, DataType::int8, 5), b{40, -300, 7};
    std::vector<float> scales{0.01F, 0.02F, 0.03F};
    Bytes x{DataType::uint8, 0.05F, 120}, a{DataType::uint8, 0.04F, 0}, s{DataType::int8, 0.1F, -128};

    [[nodiscard]] std::vector<float> weights() const { return real_numbers(w, scales, {0, 0, 0}); }
    [[nodiscard]] std::vector<float> bias_scales() const {
        std::vector<float> result;
        for (const float scale : scales) result.push_back(scale * x.scale);
        return result;
    }
    void add(Model& model) const {
        x.add(model, "x"), a.add(model, "a"), s.add(model, "s");
        model.numbers_of(DataType::int8, "w", {3, 2, 3, 3}, w).floats("w_s", {3}, scales);
        model.numbers_of(DataType::int8, "w_z", {3}, {0, 0, 0}).numbers_of(DataType::int32, "b", {3}, b);
        model.floats("b_s", {3}, bias_scales());
    }
};
const std::vector<onnx::NewAttribute> padded{{"pads", Ints{1, 1, 1, 1}}};

std::string qdq_file(Net const& net) {
    Model model({1, 2, 5, 6}, 13);
    net.add(model);
    pair(model, "x", "xr", "x");
    model.node("DequantizeLinear", {"w", "w_s", "w_z"}, {"wr"}, {{"axis", std::int64_t{0}}});
    model.node("DequantizeLinear", {"b", "b_s"}, {"br"}, {{"axis", std::int64_t{0}}});
    model.node("Conv", {"xr", "wr", "br"}, {"c"}, padded, "conv");
    pair(model, "c", "cr", "a");
    model.node("MaxPool", {"cr"}, {"m"}, {{"kernel_shape", Ints{3, 3}}, {"pads", Ints{1, 1, 1, 1}}}, "pool");
    pair(model, "m", "mr", "a");
    model.node("Add", {"mr", "cr"}, {"sum"}, {}, "sum");
    pair(model, "sum", "y", "s");
    return model.bytes();
}
std::string qlinear_file(Net const& net) {
    Model model({1, 2, 5, 6}, 13);
    net.add(model);
    model.node("QuantizeLinear", {"x", "x_s", "x_z"}, {"xq"});
    model.node("QLinearConv", {"xq", "x_s", "x_z", "w", "w_s", "w_z", "a_s", "a_z", "b"}, {"c"}, padded, "conv");
    model.node("MaxPool", {"c"}, {"m"}, {{"kernel_shape", Ints{3, 3}}, {"pads", Ints{1, 1, 1, 1}}}, "pool");
    model.node_of("com.microsoft", "QLinearAdd", {"m", "a_s", "a_z", "c", "a_s", "a_z", "s_s", "s_z"}, {"sum"});
    model.node("DequantizeLinear", {"sum", "s_s", "s_z"}, {"y"});
    return model.bytes();
}
std::string float_file(Net const& net) {
    Model model({1, 2, 5, 6}, 13);
    model.floats("w", {3, 2, 3, 3}, net.weights()).floats("b", {3}, real_numbers(net.b, net.bias_scales(), {0, 0, 0}));
    model.floats("zero", {}, {0.0F}).floats("top", {}, {255 * net.a.scale}).floats("most", {}, {255 * net.s.scale});
    model.node("Conv", {"x", "w", "b"}, {"c"}, padded).node("Clip", {"c", "zero", "top"}, {"a"});
    model.node("MaxPool", {"a"}, {"m"}, {{"kernel_shape", Ints{3, 3}}, {"pads", Ints{1, 1, 1, 1}}});
    model.node("Add", {"m", "a"}, {"s"}).node("Clip", {"s", "zero", "most"}, {"y"});
    return model.bytes();
}

TEST_CASE("pairs and operators on integers are the same layers: floats between the file's bounds, with its ranges") {
    const Net net;
    const std::vector<float> x = numbers(60, 9);
    const std::vector<double> right = run(parse(float_file(net)), x);
    REQUIRE(*std::ranges::max_element(right) == doctest::Approx(2 * 255 * 0.04));  // both summands at their bound
    for (const bool pairs : {true, false}) {
        CAPTURE(pairs);
        const ps::OnnxModel model = parse(pairs ? qdq_file(net) : qlinear_file(net));
        CHECK(is_close(run(model, x), right));
        const ps::Graph simple = ps::simplify(model.graph);
        CHECK(kinds(simple) == Strings{"input", "conv", "max_pool", "add"});
        CHECK(simple[0].range == TensorRange{.scale = 0.05F, .zero_point = 120});
        CHECK(simple[1].range == TensorRange{.scale = 0.04F, .zero_point = 0});
        CHECK(simple[2].range == TensorRange{.scale = 0.04F, .zero_point = 0});
        CHECK(simple[3].range == TensorRange{.scale = 0.1F, .zero_point = 0});
        CHECK(simple[1].epilogue.clamp == ps::Clamp{0.0F, 255 * 0.04F});
    }
}

TEST_CASE("a convolution has the bounds of a pair, of the ReLU behind it, and of the pair behind that") {
    const Net net;
    Model model({1, 2, 5, 6}, 13), plain({1, 2, 5, 6}, 13);
    net.add(model);
    Bytes{DataType::int8, 0.05F, -20}.add(model, "c");
    model.node("DequantizeLinear", {"w", "w_s", "w_z"}, {"wr"}, {{"axis", std::int64_t{0}}});
    model.node("Conv", {"x", "wr"}, {"c"}, padded, "conv");
    pair(model, "c", "cr", "c").node("Relu", {"cr"}, {"r"});
    pair(model, "r", "y", "a");
    plain.floats("w", {3, 2, 3, 3}, net.weights()).floats("low", {}, {-5.4F}).floats("high", {}, {7.35F});
    plain.floats("zero", {}, {0.0F}).floats("top", {}, {255 * net.a.scale});
    plain.node("Conv", {"x", "w"}, {"c"}, padded).node("Clip", {"c", "low", "high"}, {"d"});
    plain.node("Clip", {"d", "zero", "top"}, {"y"});
    const ps::OnnxModel read = parse(model.bytes());
    const ps::Graph simple = ps::simplify(read.graph);
    CHECK(kinds(simple) == Strings{"input", "conv"});
    CHECK(simple[1].range == TensorRange{.scale = 0.04F, .zero_point = 0});
    const std::vector<double> right = run(parse(plain.bytes()), numbers(60, 9));
    REQUIRE(*std::ranges::max_element(right) == doctest::Approx(7.35));
    CHECK(is_close(run(read, numbers(60, 9)), right));
}

TEST_CASE("each operator on integers is the one on floats between a pair") {
    struct Case {
        std::string_view name, plain;
        std::vector<onnx::NewAttribute> attributes;
    };
    const Case cases[] = {{"QLinearAveragePool", "AveragePool", {{"kernel_shape", Ints{2, 2}}}},
                          {"QLinearGlobalAveragePool", "GlobalAveragePool", {}},
                          {"QLinearSigmoid", "Sigmoid", {}},
                          {"QLinearLeakyRelu", "LeakyRelu", {{"alpha", 0.2F}}},
                          {"QLinearSoftmax", "Softmax", {{"axis", std::int64_t{1}}}}};
    const std::vector<float> x = numbers(32, 6);
    for (Case const& each : cases) {
        CAPTURE(each.name);
        const auto build = [&](bool on_integers) {
            Model model({1, 2, 4, 4}, 13);
            Bytes{DataType::uint8, 0.02F, 100}.add(model, "x");
            Bytes{DataType::uint8, 0.01F, 9}.add(model, "y");
            if (on_integers) {
                model.node("QuantizeLinear", {"x", "x_s", "x_z"}, {"q"});
                model.node_of("com.microsoft", each.name, {"q", "x_s", "x_z", "y_s", "y_z"}, {"r"}, each.attributes);
                model.node("DequantizeLinear", {"r", "y_s", "y_z"}, {"y"});
            } else {
                pair(model, "x", "a", "x").node(each.plain, {"a"}, {"b"}, each.attributes);
                pair(model, "b", "y", "y");
            }
            return parse(model.bytes());
        };
        const ps::OnnxModel one = build(true), other = build(false);
        CHECK(run(one, x) == run(other, x));
        CHECK(one.graph[one.graph.output_node()].range == TensorRange{.scale = 0.01F, .zero_point = 9});
        CHECK(kinds(one.graph) == kinds(other.graph));
    }
}

TEST_CASE("products, concatenations and matrices of integers are those of the real numbers") {
    Model model({1, 2, 3, 4}, 13);
    Bytes{DataType::uint8, 0.25F, 100}.add(model, "x");
    Bytes{DataType::uint8, 0.5F, 10}.add(model, "p");
    const Ints w = some_bytes(12 * 5, DataType::uint8, 8), c{100, -50, 3, 0, 9};
    const std::vector<float> scales{0.01F, 0.02F, 0.005F, 0.04F, 0.03F};
    const Ints zeros{128, 0, 255, 7, 100};
    model.integers("rows", {4, 12}).numbers_of(DataType::uint8, "w", {12, 5}, w).floats("w_s", {5}, scales);
    model.numbers_of(DataType::uint8, "w_z", {5}, zeros).numbers_of(DataType::int32, "c", {5}, c);
    model.node("QuantizeLinear", {"x", "x_s", "x_z"}, {"q"});
    model.node_of("com.microsoft", "QLinearMul", {"q", "x_s", "x_z", "q", "x_s", "x_z", "p_s", "p_z"}, {"m"});
    model.node_of("com.microsoft", "QLinearConcat", {"p_s", "p_z", "m", "p_s", "p_z", "q", "x_s", "x_z"}, {"k"},
                  {{"axis", std::int64_t{1}}});
    model.node("Reshape", {"k", "rows"}, {"flat"});
    model.node_of("com.microsoft", "QGemm", {"flat", "p_s", "p_z", "w", "w_s", "w_z", "c"}, {"y"}, {{"alpha", 0.5F}});
    const std::vector<float> x = numbers(24, 3);
    std::vector<double> row;
    for (const float value : x) row.push_back(std::clamp(static_cast<double>(value * value), -5.0, 122.5));
    for (const float value : x) row.push_back(static_cast<double>(value));
    std::vector<double> right;
    for (std::size_t i = 0; i < 4; ++i) {
        for (std::size_t j = 0; j < 5; ++j) {
            double sum = static_cast<double>(c[j]) * 0.5;
            for (std::size_t k = 0; k < 12; ++k) sum += row[i * 12 + k] * static_cast<double>(w[k * 5 + j] - zeros[j]);
            right.push_back(0.5 * static_cast<double>(scales[j]) * sum);
        }
    }
    CHECK(is_close(run(parse(model.bytes()), x), right));
}

TEST_CASE("a choice between integers is that between real numbers") {
    Model model({1, 2, 3, 4}, 13), plain({1, 2, 3, 4}, 13);
    for (Model* each : {&model, &plain}) {
        Bytes{DataType::uint8, 0.25F, 100}.add(*each, "x");
        Bytes{DataType::uint8, 0.5F, 10}.add(*each, "y");
        each->floats("zero", {}, {0.5F}).node("Greater", {"x", "zero"}, {"condition"});
    }
    model.numbers_of(DataType::uint8, "c", {2, 1, 1}, {90, 200}).node("QuantizeLinear", {"x", "x_s", "x_z"}, {"q"});
    model.node_of("com.microsoft", "QLinearWhere", {"condition", "q", "x_s", "x_z", "c", "y_s", "y_z", "y_s", "y_z"},
                  {"r"});
    model.node("DequantizeLinear", {"r", "y_s", "y_z"}, {"y"});
    plain.floats("c", {2, 1, 1}, {40.0F, 95.0F});
    pair(plain, "x", "a", "x").node("Where", {"condition", "a", "c"}, {"b"});
    const ps::OnnxModel one = parse(model.bytes()), other = parse(pair(plain, "b", "y", "y").bytes());
    const std::vector<float> x = numbers(24, 4);
    CHECK(run(one, x) == run(other, x));
    CHECK(one.graph[one.graph.output_node()].range == TensorRange{.scale = 0.5F, .zero_point = 10});
}

TEST_CASE("products of integers with scales and a bias are those of the real numbers") {
    const Ints w = some_bytes(12 * 5, DataType::int8, 31), zeros{3, -7, 0, 100, -128};
    const std::vector<float> scales{0.01F, 0.02F, 0.005F, 0.04F, 0.03F}, c{0.5F, -3.0F, 0.0F, 1.0F, 2.0F};
    std::vector<float> floats(60);
    for (std::size_t i = 0; i < 60; ++i) floats[i] = static_cast<float>(w[i] - zeros[i % 5]) * scales[i % 5];
    for (const std::int64_t rows : {1, 3}) {
        const std::vector<float> x = numbers(static_cast<std::size_t>(rows) * 12, 2);
        Model plain({rows, 12}, 13), dynamic({rows, 12}, 13), apart({rows, 12}, 13), still({rows, 12}, 13);
        for (Model* each : {&dynamic, &apart, &still}) {
            each->numbers_of(DataType::int8, "w", {12, 5}, w).numbers_of(DataType::int8, "w_z", {5}, zeros);
            each->floats("w_s", {5}, scales).floats("c", {5}, c);
        }
        plain.floats("w", {12, 5}, floats).floats("c", {5}, c).node("MatMul", {"x", "w"}, {"p"});
        dynamic.node_of("com.microsoft", "DynamicQuantizeMatMul", {"x", "w", "w_s", "w_z", "c"}, {"y"});
        apart.node("DynamicQuantizeLinear", {"x"}, {"q", "s", "z"});
        apart.node_of("com.microsoft", "MatMulIntegerToFloat", {"q", "w", "s", "w_s", "z", "w_z", "c"}, {"y"});
        Bytes{DataType::uint8, 0.25F, 100}.add(still, "x");
        still.node("QuantizeLinear", {"x", "x_s", "x_z"}, {"q"});
        still.node_of("com.microsoft", "MatMulIntegerToFloat", {"q", "w", "x_s", "w_s", "x_z", "w_z", "c"}, {"y"});
        const std::vector<double> right = run(parse(plain.node("Add", {"p", "c"}, {"y"}).bytes()), x);
        for (Model* each : {&dynamic, &apart, &still}) {
            const ps::OnnxModel one = parse(each->bytes());
            CHECK(is_close(run(one, x), right));
            const Strings layers = kinds(one.graph);
            CHECK(std::ranges::none_of(layers, [](std::string const& kind) { return kind.starts_with("reduce"); }));
        }
    }
}

TEST_CASE("matrices of a few bits are those real numbers, in blocks, with zero points or without") {
    constexpr std::size_t rows = 40, columns = 3, block = 16, blocks = 3;
    for (const std::size_t bits : {2U, 4U, 8U}) {
        for (const int zero_points : {0, 1, 2}) {
            CAPTURE(bits);
            CAPTURE(zero_points);
            const std::size_t column_bytes = blocks * block * bits / 8, zero_bytes = (blocks * bits + 7) / 8;
            const Ints packed = some_bytes(columns * column_bytes, DataType::uint8, 5),
                       zeros = some_bytes(columns * zero_bytes, DataType::uint8, 6);
            std::vector<float> scales, halves, floats(rows * columns);
            for (std::size_t i = 0; i < columns * blocks; ++i) {
                scales.push_back(0.01F * static_cast<float>(i + 1)), halves.push_back(static_cast<float>(i) + 0.5F);
            }
            const auto digit = [bits](Ints const& bytes, std::size_t first, std::size_t i) {
                std::int64_t value = 0;
                for (std::size_t bit = 0; bit < bits; ++bit) {
                    const std::size_t at = i * bits + bit;
                    value += (bytes[first + at / 8] >> at % 8 & 1) << bit;
                }
                return static_cast<float>(value);
            };
            for (std::size_t i = 0; i < rows * columns; ++i) {
                const std::size_t row = i / columns, column = i % columns, at = column * blocks + row / block;
                const float zero = zero_points == 0   ? static_cast<float>(1U << (bits - 1))
                                   : zero_points == 1 ? digit(zeros, column * zero_bytes, row / block)
                                                      : halves[at];
                floats[i] = (digit(packed, column * column_bytes, row) - zero) * scales[at];
            }
            Model model({2, rows}, 13), plain({2, rows}, 13);
            model.numbers_of(DataType::uint8, "w", {columns, blocks, static_cast<std::int64_t>(block * bits / 8)},
                             packed);
            model.floats("s", {columns * blocks}, scales).floats("c", {3}, {1.0F, 2.0F, 3.0F});
            if (zero_points == 1) {
                model.numbers_of(DataType::uint8, "z", {static_cast<std::int64_t>(columns * zero_bytes)}, zeros);
            } else {
                model.floats("z", {columns * blocks}, halves);
            }
            model.node_of("com.microsoft", "MatMulNBits", {"x", "w", "s", zero_points == 0 ? "" : "z", "", "c"}, {"y"},
                          {{"K", std::int64_t{rows}},
                           {"N", std::int64_t{columns}},
                           {"bits", static_cast<std::int64_t>(bits)},
                           {"block_size", std::int64_t{block}}});
            plain.floats("w", {rows, columns}, floats).floats("c", {3}, {1.0F, 2.0F, 3.0F});
            plain.node("MatMul", {"x", "w"}, {"p"}).node("Add", {"p", "c"}, {"y"});
            const std::vector<float> x = numbers(2 * rows, 9);
            CHECK(is_close(run(parse(model.bytes()), x), run(parse(plain.bytes()), x)));
        }
    }
}

TEST_CASE("attention of quantised matrices is attention of the real numbers") {
    const Ints w = some_bytes(8 * 24, DataType::int8, 12);
    const std::vector<float> c = numbers(24, 7), x = numbers(2 * 5 * 8, 3);
    for (const std::int64_t is_causal : {0, 1}) {
        Model model({2, 5, 8}, 23), plain({2, 5, 8}, 23);
        model.numbers_of(DataType::int8, "w", {8, 24}, w).numbers_of(DataType::int8, "w_z", {}, {9});
        model.floats("w_s", {}, {0.02F}).floats("c", {24}, c).node("DynamicQuantizeLinear", {"x"}, {"q", "s", "z"});
        model.node_of("com.microsoft", "QAttention", {"q", "w", "c", "s", "w_s", "", "z", "w_z"}, {"y"},
                      {{"num_heads", std::int64_t{2}}, {"unidirectional", is_causal}});
        Model floats({2, 5, 8}, 23);
        for (Model* each : {&plain, &floats}) {
            each->floats("w", {8, 24}, real_numbers(w, {0.02F}, {9})).floats("c", {24}, c);
        }
        floats.node_of("com.microsoft", "Attention", {"x", "w", "c"}, {"y"},
                       {{"num_heads", std::int64_t{2}}, {"unidirectional", is_causal}});
        plain.node("MatMul", {"x", "w"}, {"p"}).node("Add", {"p", "c"}, {"sum"});
        plain.node("Split", {"sum"}, {"queries", "keys", "values"},
                   {{"axis", std::int64_t{-1}}, {"num_outputs", std::int64_t{3}}});
        plain.node("Attention", {"queries", "keys", "values"}, {"y"},
                   {{"q_num_heads", std::int64_t{2}}, {"kv_num_heads", std::int64_t{2}}, {"is_causal", is_causal}});
        const std::vector<double> right = run(parse(plain.bytes()), x);
        CHECK(is_close(run(parse(model.bytes()), x), right));
        CHECK(is_close(run(parse(floats.bytes()), x), right));
    }
    Model model({2, 5, 8}, 23), plain({2, 5, 8}, 23);
    for (Model* each : {&model, &plain}) {
        each->floats("skip", {2, 5, 8}, numbers(80, 5)).floats("g", {8}, numbers(8, 6));
        each->floats("c", {8}, numbers(8, 7)).floats("b", {8}, numbers(8, 8));
    }
    model.node_of("com.microsoft", "SkipLayerNormalization", {"x", "skip", "g", "c", "b"}, {"n", "", "", "sum"},
                  {{"epsilon", 0.01F}});
    plain.node("Add", {"x", "skip"}, {"a"}).node("Add", {"a", "b"}, {"sum"});
    plain.node("LayerNormalization", {"sum", "g", "c"}, {"n"}, {{"epsilon", 0.01F}});
    for (Model* each : {&model, &plain}) each->node("Mul", {"n", "sum"}, {"y"});
    CHECK(is_close(run(parse(model.bytes()), x), run(parse(plain.bytes()), x)));
}

// --- scales found at run time

/// The standard's DynamicQuantizeLinear; scale 1 for zeros alone, as ONNX Runtime has it.
Bytes dynamic_bytes(std::vector<float> const& x) {
    const float low = std::min(0.0F, *std::ranges::min_element(x)), high = std::max(0.0F, *std::ranges::max_element(x));
    const float scale = low == high ? 1.0F : (high - low) / 255;
    return {DataType::uint8, scale, static_cast<std::int64_t>(std::nearbyint(-low / scale))};
}

TEST_CASE("DynamicQuantizeLinear gives the standard's integers, scale and zero point") {
    for (const float factor : {1.0F, -1.0F, 0.0F}) {
        CAPTURE(factor);
        std::vector<float> x = numbers(60, 12);
        for (std::size_t i = 0; i < x.size(); ++i) x[i] = factor * (x[i] + static_cast<float>(i) / 37 + 0.3F);
        const Bytes bytes = dynamic_bytes(x);
        for (const bool known : {false, true}) {
            Model model({1, 3, 4, 5}, 13);
            model.floats("v", {1, 3, 4, 5}, x).floats("none", {}, {0.0F});
            model.node("DynamicQuantizeLinear", {known ? "v" : "x"}, {"q", "s", "z"});
            const std::string file = model.node("Cast", {"q"}, {"qf"}, {{"to", std::int64_t{1}}})
                                         .node("Cast", {"z"}, {"zf"}, {{"to", std::int64_t{1}}})
                                         .node("Mul", {"x", "none"}, {"nothing"})
                                         .node("Add", {"qf", "nothing"}, {"a"})
                                         .node("Add", {"s", "nothing"}, {"b"})
                                         .node("Add", {"zf", "nothing"}, {"c"})
                                         .node("Concat", {"a", "b", "c"}, {"y"}, {{"axis", std::int64_t{1}}})
                                         .bytes();
            const std::vector<double> y = run(parse(file), x);
            REQUIRE(y.size() == 180);
            for (std::size_t i = 0; i < 60; ++i) {
                CHECK(y[i] == bytes.integer(x[i]));
                CHECK(y[60 + i] == doctest::Approx(static_cast<double>(bytes.scale)).epsilon(1e-6));
                CHECK(y[120 + i] == static_cast<double>(bytes.zero));
            }
        }
    }
}

TEST_CASE("sums of products whose scale is found at run time are those of floats, without that scale") {
    const Ints w = some_bytes(12 * 5, DataType::int8, 31);
    const std::vector<float> scales{0.01F, 0.02F, 0.005F, 0.04F, 0.03F};
    std::vector<float> floats(60);
    for (std::size_t i = 0; i < 60; ++i) floats[i] = static_cast<float>(w[i] - 3) * scales[i % 5];
    for (const std::int64_t rows : {1, 3}) {
        Model model({rows, 12}, 13), plain({rows, 12}, 13);
        model.numbers_of(DataType::int8, "w", {12, 5}, w).numbers_of(DataType::int8, "w_z", {}, {3});
        model.floats("w_s", {5}, scales).node("DynamicQuantizeLinear", {"x"}, {"q", "s", "z"});
        model.node("MatMulInteger", {"q", "w", "z", "w_z"}, {"i"})
            .node("Cast", {"i"}, {"f"}, {{"to", std::int64_t{1}}});
        model.node("Mul", {"s", "w_s"}, {"factor"}).node("Mul", {"f", "factor"}, {"y"});
        plain.floats("w", {12, 5}, floats).node("MatMul", {"x", "w"}, {"y"});
        const std::vector<float> x = numbers(static_cast<std::size_t>(rows) * 12, 2);
        const ps::OnnxModel one = parse(model.bytes());
        CHECK(is_close(run(one, x), run(parse(plain.bytes()), x)));
        const Strings layers = kinds(one.graph);
        CHECK(std::ranges::none_of(layers, [](std::string const& kind) { return kind.starts_with("reduce"); }));
    }
    Model model({1, 2, 5, 5}, 13), plain({1, 2, 5, 5}, 13);
    const Ints k = some_bytes(2 * 2 * 9, DataType::uint8, 7);
    model.numbers_of(DataType::uint8, "w", {2, 2, 3, 3}, k).numbers_of(DataType::uint8, "w_z", {}, {130});
    model.floats("w_s", {}, {0.02F}).node("DynamicQuantizeLinear", {"x"}, {"q", "s", "z"});
    model.node("ConvInteger", {"q", "w", "z", "w_z"}, {"i"}, padded)
        .node("Cast", {"i"}, {"f"}, {{"to", std::int64_t{1}}});
    model.node("Mul", {"s", "w_s"}, {"factor"}).node("Mul", {"f", "factor"}, {"y"});
    plain.floats("w", {2, 2, 3, 3}, real_numbers(k, {0.02F, 0.02F}, {130, 130}))
        .node("Conv", {"x", "w"}, {"y"}, padded);
    const std::vector<float> x = numbers(50, 5);
    CHECK(is_close(run(parse(model.bytes()), x), run(parse(plain.bytes()), x)));
}

TEST_CASE("sums of products of integers are exact, with padding of the zero point") {
    const Ints k = some_bytes(2 * 2 * 9, DataType::uint8, 7), q = some_bytes(50, DataType::uint8, 8);
    Model model(Model::writer_only, 13);
    model.input("x", {1, 2, 5, 5}, DataType::uint8);
    model.numbers_of(DataType::uint8, "w", {2, 2, 3, 3}, k).numbers_of(DataType::uint8, "w_z", {}, {130});
    model.numbers_of(DataType::uint8, "x_z", {}, {90}).node("ConvInteger", {"x", "w", "x_z", "w_z"}, {"y"}, padded);
    const ps::OnnxModel read = parse(model.bytes());
    CHECK(read.inputs[0].type == DataType::uint8);
    CHECK(read.graph[read.graph.input()].range == TensorRange{.scale = 1, .zero_point = 0});
    std::vector<double> right;
    for (int out = 0; out < 2; ++out) {
        for (int at = 0; at < 25; ++at) {
            std::int64_t sum = 0;
            for (int tap = 0; tap < 18; ++tap) {
                const int c = tap / 9, y = at / 5 + tap % 9 / 3 - 1, x = at % 5 + tap % 3 - 1;
                if (y < 0 || y > 4 || x < 0 || x > 4) continue;
                sum += (q[static_cast<std::size_t>(c * 25 + y * 5 + x)] - 90) *
                       (k[static_cast<std::size_t>(out * 18 + tap)] - 130);
            }
            right.push_back(static_cast<double>(sum));
        }
    }
    CHECK(run(read, as_floats(q)) == right);
}

// --- inputs and results that are integers

TEST_CASE("images of bytes are inputs, as floats that are whole numbers") {
    for (const DataType type : {DataType::uint8, DataType::int8}) {
        const Bytes bytes{type, 0.02F, type == DataType::int8 ? -7 : 120};
        Model model(Model::writer_only, 13);
        model.input("x", {1, 1, 3, 4}, type);
        bytes.add(model, "x");
        Bytes{DataType::uint8, 0.1F, 4}.add(model, "y");
        model.node("DequantizeLinear", {"x", "x_s", "x_z"}, {"a"}).node("Relu", {"a"}, {"b"});
        const ps::OnnxModel read = parse(model.node("QuantizeLinear", {"b", "y_s", "y_z"}, {"y"}).bytes());
        CHECK(read.inputs[0].type == type);
        const Ints q = some_bytes(12, type, 3);
        std::vector<double> right;
        for (const std::int64_t value : q) {
            const double real = std::max(0.0, bytes.real(static_cast<double>(value)));
            right.push_back(Bytes{DataType::uint8, 0.1F, 4}.integer(static_cast<float>(real)));
        }
        CHECK(run(read, as_floats(q)) == right);
    }
}

TEST_CASE("half precision: inputs, weights and results of the model's type, computed in floats") {
    for (const DataType type : {DataType::float16, DataType::bfloat16}) {
        Model model(Model::writer_only, 13);
        model.input("x", {1, 2, 3, 3}, type);
        // 1.5, -2, 0.25, 3
        const Ints w =
            type == DataType::float16 ? Ints{0x3e00, 0xc000, 0x3400, 0x4200} : Ints{0x3fc0, 0xc000, 0x3e80, 0x4040};
        model.numbers_of(type, "w", {2, 2, 1, 1}, w).node("Conv", {"x", "w"}, {"a"});
        model.node("Cast", {"a"}, {"b"}, {{"to", std::int64_t{1}}})
            .node("Cast", {"b"}, {"y"}, {{"to", static_cast<std::int64_t>(type)}});
        const ps::OnnxModel read = parse(model.bytes());
        CHECK(read.inputs[0].type == type);
        CHECK(read.outputs[0].type == DataType::float32);  // as the file says
        const std::vector<float> x = numbers(18, 3);
        Model plain({1, 2, 3, 3}, 13);
        plain.floats("w", {2, 2, 1, 1}, {1.5F, -2.0F, 0.25F, 3.0F}).node("Conv", {"x", "w"}, {"y"});
        CHECK(run(read, x) == run(parse(plain.bytes()), x));
    }
}

TEST_CASE("batches stay apart, but for a scale that is that of all images") {
    const Net net;
    const auto batch = [&](std::string const& file) { return parse(file, {.dims = {{"x", {3, 2, 5, 6}}}}); };
    const ps::OnnxModel model = batch(qdq_file(net));
    CHECK(model.graph.batch() == 3);
    const std::vector<float> x = numbers(180, 9);
    CHECK(is_close(run(model, x), run(batch(float_file(net)), x)));
    Model dynamic({3, 2, 4, 4}, 13);
    dynamic.node("DynamicQuantizeLinear", {"x"}, {"q", "s", "z"});
    CHECK(parse(dynamic.node("DequantizeLinear", {"q", "s", "z"}, {"y"}).bytes()).graph.batch() == 3);
    Model whole({3, 2, 4, 4}, 13);
    whole.node("DynamicQuantizeLinear", {"x"}, {"q", "s", "z"}).node("Cast", {"q"}, {"y"}, {{"to", std::int64_t{1}}});
    CHECK(parse(whole.bytes()).graph.batch() == 1);
}

TEST_CASE("bounds that nothing reaches are left out; those behind others are not") {
    const auto layers = [](auto const& between, Bytes const& bytes) {
        Model model({1, 2, 4, 4}, 13);
        Bytes{DataType::uint8, 0.1F, 128}.add(model, "x");
        bytes.add(model, "y");
        pair(model, "x", "a", "x");
        between(model);
        pair(model, "b", "y", "y");
        return kinds(parse(model.bytes()).graph);
    };
    const auto op = [](std::string const& name) { return [name](Model& model) { model.node(name, {"a"}, {"b"}); }; };
    const Bytes same{DataType::uint8, 0.1F, 128}, narrow{DataType::uint8, 0.02F, 128}, one{DataType::uint8, 0.003F, 0};
    CHECK(layers(op("GlobalAveragePool"), same) == Strings{"input", "global_average_pool"});
    CHECK(layers(op("GlobalAveragePool"), narrow) == Strings{"input", "global_average_pool", "clip"});
    CHECK(layers(op("Sigmoid"), one) == Strings{"input", "sigmoid"});
    CHECK(layers(op("Relu"), same) == Strings{"input", "relu"});
    // An image that is quantised twice.
    CHECK(layers(op("Identity"), narrow) == Strings{"input", "clip"});
    CHECK(layers(
              [](Model& model) {
                  model.node("Concat", {"a", "a"}, {"b"}, {{"axis", std::int64_t{1}}});
              },
              same) == Strings{"input", "concat"});
}

TEST_CASE("what cannot be is refused, in words") {
    const auto refused = [](Bytes const& bytes, std::string_view op = "QuantizeLinear") {
        Model model({1, 2, 4, 4}, 21);
        bytes.add(model, "y");
        return refusal(model.node(op, {"x", "y_s", "y_z"}, {"y"}).bytes());
    };
    CHECK(refused({DataType::uint8, 0.0F, 0}).find("a scale of 0") != std::string::npos);
    CHECK(refused({DataType::uint8, -1.0F, 0}).find("a scale of -1") != std::string::npos);
    CHECK(refused({DataType::uint8, std::nanf(""), 0}).find("a scale of nan") != std::string::npos);
    CHECK(refused({DataType::uint8, 1.0F, 0}, "DequantizeLinear").find("it dequantises float32") != std::string::npos);
    const auto with = [](Ints const& scale, Ints const& zero, std::vector<onnx::NewAttribute> const& attributes) {
        Model model({1, 2, 4, 4}, 21);
        model.floats("s", scale, std::vector<float>(ps::onnx::count_of(scale), 0.5F));
        model.numbers_of(DataType::uint8, "z", zero, Ints(ps::onnx::count_of(zero), 1));
        return refusal(model.node("QuantizeLinear", {"x", "s", "z"}, {"y"}, attributes).bytes());
    };
    CHECK(with({2}, {2}, {}).empty());
    CHECK(with({3}, {3}, {}) ==
          "file: node the node (QuantizeLinear): a scale of 3 for a tensor of 1x2x4x4 along axis 1");
    CHECK(with({2}, {1}, {}).find("its zero point is 1, its scale 2") != std::string::npos);
    CHECK(with({2}, {2}, {{"axis", std::int64_t{9}}}).find("axis 9 of a tensor of 4 dimensions") != std::string::npos);
    CHECK(with({1, 2, 4, 2}, {1, 2, 4, 2}, {{"axis", std::int64_t{3}}, {"block_size", std::int64_t{2}}})
              .find("in blocks must be known") != std::string::npos);
    CHECK(with({}, {}, {{"output_dtype", std::int64_t{17}}}).empty());  // the zero point's type counts
    Model open({1, 2, 4, 4}, 21);
    open.input("s", {2});
    CHECK(refusal(open.node("QuantizeLinear", {"x", "s"}, {"y"}).bytes()).find("its scales must be known") !=
          std::string::npos);
    Model last({1, 2, 4, 4}, 13);
    Bytes{DataType::uint8, 0.5F, 3}.add(last, "y");
    last.node("QuantizeLinear", {"x", "y_s", "y_z"}, {"q"});
    last.node_of("com.microsoft", "QLinearSigmoid", {"q", "y_s", "y_z", "y_s", "y_z"}, {"y"},
                 {{"channels_last", std::int64_t{1}}});
    CHECK(refusal(last.bytes()).find("channels_last is not supported") != std::string::npos);
    const auto few_bits = [](std::int64_t bits, Ints const& dims, std::string const& order = "") {
        Model model({2, 40}, 13);
        model.numbers_of(DataType::uint8, "w", dims, Ints(ps::onnx::count_of(dims), 7));
        model.floats("s", {9}, std::vector<float>(9, 0.5F)).integers("order", std::vector<std::int64_t>(40, 0));
        model.node_of(
            "com.microsoft", "MatMulNBits", {"x", "w", "s", "", order}, {"y"},
            {{"K", std::int64_t{40}}, {"N", std::int64_t{3}}, {"bits", bits}, {"block_size", std::int64_t{16}}});
        return refusal(model.bytes());
    };
    CHECK(few_bits(4, {3, 3, 8}).empty());
    CHECK(few_bits(4, {3, 3, 7}).find("3x3x7 for a matrix of 40 x 3 in blocks of 16") != std::string::npos);
    CHECK(few_bits(3, {3, 3, 8}).find("3 bits in blocks of 16") != std::string::npos);
    CHECK(few_bits(4, {3, 3, 8}, "order").find("an order of its rows is not supported") != std::string::npos);
}

TEST_CASE("a quantised file with changed bits is a model or refused, and takes no more memory for it") {
    const Net net;
    std::mt19937 random(2);
    std::size_t refused = 0;
    for (std::string const& file : {qdq_file(net), qlinear_file(net)}) {
        for (int i = 0; i < 1500; ++i) {
            std::string changed = file;
            for (std::size_t flips = 1 + random() % 3; flips > 0; --flips) {
                const std::size_t at = random() % changed.size();
                changed[at] = static_cast<char>(changed[at] ^ (1 << random() % 8));
            }
            CAPTURE(i);
            bool is_refused = false;
            const std::size_t allocated =
                scratch::allocated_by([&] { is_refused = !hostile::refusal(changed).empty(); });
            CHECK(hostile::is_justified(allocated, changed.size()));
            refused += is_refused ? 1 : 0;
        }
    }
    CHECK(refused > 100);
}

}  // namespace
}  // namespace quantised
