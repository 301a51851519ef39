// Fourier transforms against sums of complex numbers.
#include "imported.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace import_spectrum {

using namespace imported;
using Complex = std::complex<double>;

/// The sum of x[n] * e^(+-2 pi i n k / length) over all n below the length; x is 0 beyond its end.
Complex sum_of(std::vector<Complex> const& x, std::int64_t k, std::int64_t length, bool inverse) {
    Complex sum = 0;
    for (std::int64_t n = 0; n < std::min(length, std::ssize(x)); ++n) {
        const double angle = 2 * std::numbers::pi * static_cast<double>(n * k) / static_cast<double>(length);
        sum += x[static_cast<std::size_t>(n)] * std::polar(1.0, inverse ? angle : -angle);
    }
    return inverse ? sum / static_cast<double>(length) : sum;
}

struct Case {
    std::int64_t parts = 2, length = 0;
    bool inverse = false, half = false;
};

/// The transform along the middle axis of outer x n x inner numbers.
std::vector<double> transformed(Case const& c, std::vector<float> const& x, std::int64_t outer, std::int64_t n,
                                std::int64_t inner) {
    const bool is_back = c.half && c.inverse;
    const std::int64_t length = c.length > 0 ? c.length
                                : is_back    ? 2 * (n - 1)
                                             : n,
                       bins = c.half && !c.inverse ? length / 2 + 1 : length, parts = is_back ? 1 : 2;
    std::vector<double> result(static_cast<std::size_t>(outer * bins * inner * parts));
    for (std::int64_t o = 0; o < outer; ++o) {
        for (std::int64_t i = 0; i < inner; ++i) {
            std::vector<Complex> line;
            for (std::int64_t at = 0; at < n; ++at) {
                const auto place = static_cast<std::size_t>(((o * n + at) * inner + i) * c.parts);
                line.emplace_back(static_cast<double>(x[place]),
                                  c.parts == 2 ? static_cast<double>(x[place + 1]) : 0.0);
            }
            if (is_back) {
                // The other half are the conjugates of the first one.
                line.resize(static_cast<std::size_t>(length / 2 + 1));
                line.resize(static_cast<std::size_t>(length));
                for (std::int64_t k = length / 2 + 1; k < length; ++k) {
                    line[static_cast<std::size_t>(k)] = std::conj(line[static_cast<std::size_t>(length - k)]);
                }
                line[0] = line[0].real();
                if (length % 2 == 0)
                    line[static_cast<std::size_t>(length / 2)] = line[static_cast<std::size_t>(length / 2)].real();
            }
            for (std::int64_t k = 0; k < bins; ++k) {
                const Complex value = sum_of(line, k, length, c.inverse);
                const auto place = static_cast<std::size_t>(((o * bins + k) * inner + i) * parts);
                result[place] = value.real();
                if (parts == 2) result[place + 1] = value.imag();
            }
        }
    }
    return result;
}

TEST_CASE("a discrete Fourier transform along any axis, forwards and back, whole or half, cut or filled up") {
    for (Case const& c :
         {Case{}, Case{.inverse = true}, Case{.parts = 1}, Case{.parts = 1, .half = true}, Case{.length = 4},
          Case{.length = 9, .inverse = true}, Case{.parts = 1, .length = 8, .half = true},
          Case{.inverse = true, .half = true}, Case{.length = 7, .inverse = true, .half = true},
          Case{.length = 12, .inverse = true, .half = true}}) {
        for (const std::int64_t axis : {0, 1, 2}) {
            for (const int opset : {17, 20}) {
                CAPTURE(c.parts);
                CAPTURE(c.length);
                CAPTURE(c.inverse);
                CAPTURE(c.half);
                CAPTURE(axis);
                CAPTURE(opset);
                const Ints dims{3, 5, 6, c.parts};
                std::int64_t outer = 1, inner = 1;
                for (std::int64_t i = 0; i < 3; ++i) {
                    if (i < axis) outer *= dims[static_cast<std::size_t>(i)];
                    if (i > axis) inner *= dims[static_cast<std::size_t>(i)];
                }
                Model file(dims, opset);
                Strings names{"x", ""};
                if (c.length > 0) file.integers("length", {c.length}), names[1] = "length";
                std::vector<onnx::NewAttribute> attributes{{"inverse", std::int64_t{c.inverse}},
                                                           {"onesided", std::int64_t{c.half}}};
                if (opset < 20)
                    attributes.push_back({"axis", axis});
                else
                    file.integers("axis", {axis - 4}), names.emplace_back("axis");
                const ps::OnnxModel model = parse(file.node("DFT", names, {"y"}, attributes).bytes());
                const std::vector<float> x = numbers(static_cast<std::size_t>(90 * c.parts), 3);
                const std::int64_t n = dims[static_cast<std::size_t>(axis)];
                CHECK(is_close(run_inputs(model, {x})[0], transformed(c, x, outer, n, inner)));
                CHECK(model.graph.batch() == (axis == 0 ? 1 : 3));
            }
        }
    }
    const auto fault = [](Ints const& dims, std::vector<onnx::NewAttribute> const& attributes) {
        return refusal(Model(dims, 17).node("DFT", {"x"}, {"y"}, attributes).bytes());
    };
    const std::string node = "file: node the node (DFT): ";
    CHECK(fault({1, 4, 3}, {}) == node + "its last axis has 3 elements, not the real and imaginary parts");
    CHECK(fault({1, 4, 2}, {{"axis", std::int64_t{2}}}) == node + "along the axis of the real and imaginary parts");
    CHECK(fault({1, 4, 2}, {{"onesided", std::int64_t{1}}}) == node + "one side of the spectrum of complex numbers");
    CHECK(fault({1, 1 << 15, 2}, {}) == node + "a length of 32768 is outside of what is supported, 1 to 16384");
}

TEST_CASE("a short-time transform is that of each frame times the window") {
    const std::vector<float> x = numbers(2 * 19, 3), window = numbers(6, 5);
    for (const bool has_parts : {false, true}) {
        for (const bool has_window : {false, true}) {
            for (const std::int64_t half : {0, 1}) {
                for (const std::int64_t step : {1, 4, 6, 9}) {
                    CAPTURE(has_parts);
                    CAPTURE(has_window);
                    CAPTURE(half);
                    CAPTURE(step);
                    Model file(has_parts ? Ints{2, 19, 1} : Ints{2, 19}, 17);
                    file.integers("step", {step}).integers("length", {6}).floats("window", {6}, window);
                    const Strings names =
                        has_window ? Strings{"x", "step", "window"} : Strings{"x", "step", "", "length"};
                    const ps::OnnxModel model = parse(file.node("STFT", names, {"y"}, {{"onesided", half}}).bytes());
                    const std::int64_t frames = (19 - 6) / step + 1, bins = half != 0 ? 4 : 6;
                    CHECK(model.outputs[0].dims == Ints{2, frames, bins, 2});
                    std::vector<double> expected;
                    for (std::int64_t image = 0; image < 2; ++image) {
                        for (std::int64_t frame = 0; frame < frames; ++frame) {
                            std::vector<Complex> part;
                            for (std::size_t i = 0; i < 6; ++i) {
                                const float value = x[static_cast<std::size_t>(image * 19 + frame * step) + i];
                                part.emplace_back(static_cast<double>(has_window ? value * window[i] : value));
                            }
                            for (std::int64_t k = 0; k < bins; ++k) {
                                const Complex value = sum_of(part, k, 6, false);
                                expected.push_back(value.real()), expected.push_back(value.imag());
                            }
                        }
                    }
                    CHECK(is_close(run_inputs(model, {x})[0], expected));
                }
            }
        }
    }
    const auto fault = [](Strings const& names, Ints const& dims) {
        return refusal(Model(dims, 17)
                           .integers("step", {2})
                           .integers("length", {6})
                           .floats("window", {5}, numbers(5))
                           .node("STFT", names, {"y"})
                           .bytes());
    };
    const std::string node = "file: node the node (STFT): ";
    CHECK(fault({"x", "step"}, {1, 9}) == node + "without a window or the length of a frame");
    CHECK(fault({"x", "step", "window", "length"}, {1, 9}) == node + "a window of 5 for frames of 6");
    CHECK(fault({"x", "step", "", "length"}, {1, 5}) == node + "frames of 6 of a signal of 5");
    CHECK(fault({"x", "step", "", "length"}, {1, 9, 2}) == node + "one side of the spectrum of complex numbers");
}

TEST_CASE("windows of a known length are constants") {
    const auto window = [](std::string_view op, std::int64_t size, std::int64_t periodic) {
        Model model({1, size}, 17);
        model.writer.initializer("size", Ints{}, std::span<const std::int64_t>(&size, 1));
        model.node(op, {"size"}, {"w"}, {{"periodic", periodic}}, "window").node("Add", {"x", "w"}, {"y"}, {}, "sum");
        return run(parse(model.bytes()), std::vector<float>(static_cast<std::size_t>(size)));
    };
    CHECK(is_close(window("HannWindow", 4, 1), {0, 0.5, 1, 0.5}));
    CHECK(is_close(window("HannWindow", 5, 0), {0, 0.5, 1, 0.5, 0}));
    CHECK(is_close(window("HammingWindow", 2, 1), {4.0 / 46, 1}));
    CHECK(is_close(window("HammingWindow", 3, 0), {4.0 / 46, 1, 4.0 / 46}));
    CHECK(is_close(window("BlackmanWindow", 3, 0), {0, 1, 0}));
    CHECK(is_close(window("BlackmanWindow", 4, 1), {0, 0.34, 1, 0.34}));
    CHECK(window("HannWindow", 1, 0) == Line{0});
}

}  // namespace import_spectrum
