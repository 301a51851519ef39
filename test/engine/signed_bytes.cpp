// Files of signed bytes: a plan keeps them as hwc_u8, 128 more each, and computes the standard's integers.
#include "../onnx/models.hpp"

#include <primsel/engine/engine.hpp>
#include <primsel/engine/low_precision.hpp>
#include <primsel/network/prepare.hpp>
#include <primsel/onnx/import.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace signed_bytes_tests {

namespace ps = primsel;
namespace onnx = models::onnx;
using models::Ints;
using models::Model;
using onnx::DataType;

/// Integers of type s8 or u8 for real numbers. Scales are powers of two, for which products of scales are exact.
struct Bytes {
    DataType type;
    float scale;
    std::int64_t zero;

    [[nodiscard]] std::int64_t integer(double real) const {
        const double low = type == DataType::int8 ? -128 : 0;
        const double steps = std::nearbyint(real / static_cast<double>(scale)) + static_cast<double>(zero);
        return static_cast<std::int64_t>(std::clamp(steps, low, low + 255));
    }
    [[nodiscard]] double real(std::int64_t integer) const {
        return static_cast<double>(integer - zero) * static_cast<double>(scale);
    }
};

/// An image of integers.
struct Integers {
    int c, h, w;
    Ints values;
    [[nodiscard]] std::size_t place(int channel, int y, int x) const {
        return static_cast<std::size_t>((channel * h + y) * w + x);
    }
};
/// Weights k x c x f x f in s8, of which each output has one of 127.
struct Kernel {
    int k, c, f;
    Ints weights, bias;
    std::vector<float> scales;

    Kernel(int outputs, int channels, int side, std::mt19937& bits) : k(outputs), c(channels), f(side) {
        const auto depth = static_cast<std::size_t>(c * f * f);
        for (int output = 0; output < k; ++output) {
            for (std::size_t i = 0; i < depth; ++i) weights.push_back(static_cast<std::int64_t>(bits() % 255) - 127);
            weights[weights.size() - 1 - bits() % depth] = 127;
            bias.push_back(static_cast<std::int64_t>(bits() % 4001) - 2000);
            scales.push_back(std::ldexp(1.0F, -9 - static_cast<int>(bits() % 2)));
        }
    }
    [[nodiscard]] std::vector<float> bias_scales(Bytes const& of) const {
        std::vector<float> result;
        for (const float scale : scales) result.push_back(scale * of.scale);
        return result;
    }
    /// The real result of an output: a sum of integers times the scales of image and weights.
    [[nodiscard]] double at(Integers const& image, Bytes const& of, int output, int y, int x) const {
        std::int64_t sum = bias[static_cast<std::size_t>(output)];
        for (int channel = 0; channel < c; ++channel) {
            for (int i = 0; i < f; ++i) {
                for (int j = 0; j < f; ++j) {
                    const int h = y + i - f / 2, v = x + j - f / 2;
                    if (h < 0 || h >= image.h || v < 0 || v >= image.w) continue;
                    sum += (image.values[image.place(channel, h, v)] - of.zero) *
                           weights[static_cast<std::size_t>(((output * c + channel) * f + i) * f + j)];
                }
            }
        }
        return static_cast<double>(sum) * static_cast<double>(of.scale) *
               static_cast<double>(scales[static_cast<std::size_t>(output)]);
    }
};

/// x, a 3x3 convolution to a, a 1x1 convolution of a plus a to y.
struct Net {
    std::mt19937 bits{7};
    Bytes x, a, y;
    Kernel first{20, 5, 3, bits}, second{20, 20, 1, bits};
    Integers image{5, 9, 7, {}};

    explicit Net(DataType type)
        : x{type, 0x1p-5F, type == DataType::int8 ? -9 : 119},
          a{type, 0x1p-3F, type == DataType::int8 ? 30 : 158},
          y{type, 0x1p-2F, type == DataType::int8 ? -128 : 0} {
        for (int i = 0; i < 5 * 9 * 7; ++i) {
            image.values.push_back(static_cast<std::int64_t>(bits() % 256) - (type == DataType::int8 ? 128 : 0));
        }
    }
    [[nodiscard]] std::vector<double> expected() const {
        Integers of_a{20, 9, 7, {}};
        for (int k = 0; k < 20; ++k) {
            for (int at = 0; at < 63; ++at) of_a.values.push_back(a.integer(first.at(image, x, k, at / 7, at % 7)));
        }
        std::vector<double> result;
        for (int k = 0; k < 20; ++k) {
            for (int at = 0; at < 63; ++at) {
                const double added = a.real(of_a.values[of_a.place(k, at / 7, at % 7)]);
                result.push_back(y.real(y.integer(second.at(of_a, a, k, at / 7, at % 7) + added)));
            }
        }
        return result;
    }
    void add(Model& model, std::string const& name, Bytes const& bytes) const {
        model.floats(name + "_s", {}, {bytes.scale}).numbers_of(bytes.type, name + "_z", {}, {bytes.zero});
    }
    void add(Model& model, std::string const& name, Kernel const& kernel, Bytes const& of) const {
        model.numbers_of(DataType::int8, name, {kernel.k, kernel.c, kernel.f, kernel.f}, kernel.weights);
        model.floats(name + "_s", {kernel.k}, kernel.scales);
        model.numbers_of(DataType::int8, name + "_z", {kernel.k}, Ints(static_cast<std::size_t>(kernel.k), 0));
        model.numbers_of(DataType::int32, name + "_b", {kernel.k}, kernel.bias);
        model.floats(name + "_b_s", {kernel.k}, kernel.bias_scales(of));
    }
    [[nodiscard]] std::string file(bool pairs) const {
        Model model(Model::writer_only, 13);
        model.input("q", {1, 5, 9, 7}, x.type);
        add(model, "x", x), add(model, "a", a), add(model, "y", y), add(model, "v", first, x),
            add(model, "w", second, a);
        model.node("DequantizeLinear", {"q", "x_s", "x_z"}, {"xr"});
        const std::vector<onnx::NewAttribute> along{{"axis", std::int64_t{0}}}, padded{{"pads", Ints{1, 1, 1, 1}}};
        for (const std::string name : {"v", "w"}) {
            model.node("DequantizeLinear", {name, name + "_s", name + "_z"}, {name + "_r"}, along);
            model.node("DequantizeLinear", {name + "_b", name + "_b_s"}, {name + "_c"}, along);
        }
        if (pairs) {
            model.node("Conv", {"xr", "v_r", "v_c"}, {"c"}, padded, "first");
            model.node("QuantizeLinear", {"c", "a_s", "a_z"}, {"aq"});
        } else {
            model.node("QLinearConv", {"q", "x_s", "x_z", "v", "v_s", "v_z", "a_s", "a_z", "v_b"}, {"aq"}, padded,
                       "first");
        }
        model.node("DequantizeLinear", {"aq", "a_s", "a_z"}, {"ar"});
        model.node("Conv", {"ar", "w_r", "w_c"}, {"d"}, {}, "second").node("Add", {"d", "ar"}, {"sum"});
        model.node("QuantizeLinear", {"sum", "y_s", "y_z"}, {"yq"})
            .node("DequantizeLinear", {"yq", "y_s", "y_z"}, {"y"});
        return model.bytes();
    }
};

/// A machine on which products of bytes are fast.
struct Fast : ps::LowPrecision {
    struct machine {
        template <class Arch>
        static ps::Machine const& speeds(int) {
            static const ps::Machine one = [] {
                ps::Machine usual;
                usual.int8_flops = 1e13;
                return usual;
            }();
            return one;
        }
    };
};

TEST_CASE("files of signed and of unsigned bytes run in 8 bits as the standard's integers, with a sum") {
    for (const DataType type : {DataType::int8, DataType::uint8}) {
        const Net net(type);
        const std::vector<double> expected = net.expected();
        CHECK(*std::ranges::max_element(expected) > *std::ranges::min_element(expected));
        for (const bool pairs : {true, false}) {
            CAPTURE(ps::to_string(type));
            CAPTURE(pairs);
            const ps::OnnxModel model = ps::parse_onnx("file", models::shared(net.file(pairs)), {});
            ps::Engine<ps::Graph, Fast> engine(
                model.graph, model.weights,
                ps::PlanOptions{.primitive = "direct-int8", .precision = ps::Precision::int8});
            CHECK(std::ranges::count(engine.plan().layers, "direct-int8", &ps::PlannedLayer::primitive) == 2);
            const std::vector<float> src(net.image.values.begin(), net.image.values.end());
            std::vector<float> dst(expected.size());
            engine.run(src, dst);
            CHECK(std::equal(dst.begin(), dst.end(), expected.begin(), expected.end(),
                             [](float got, double want) { return static_cast<double>(got) == want; }));
        }
    }
}

}  // namespace signed_bytes_tests
