// Normalisations and norms by sums over axes, channels or windows.
#include "imported.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace import_norm_kinds {

using namespace imported;

TEST_CASE("an RMS normalisation divides by the root of the mean square of all axes from one on") {
    const std::vector<float> x = numbers(2 * 3 * 4 * 5, 3);
    const std::vector<float> all = numbers(60, 4);
    for (const std::int64_t axis : {-1, -2, 1, 3}) {
        for (const bool is_vector : {false, true}) {
            CAPTURE(axis);
            CAPTURE(is_vector);
            const std::size_t first = static_cast<std::size_t>(axis < 0 ? axis + 4 : axis);
            const Ints dims{2, 3, 4, 5};
            Ints scale_dims(dims.begin() + static_cast<std::ptrdiff_t>(first), dims.end());
            std::size_t size = 1;
            for (const std::int64_t dim : scale_dims) size *= static_cast<std::size_t>(dim);
            if (is_vector) scale_dims = {5};
            const std::size_t scales = is_vector ? 5 : size;
            const ps::OnnxModel model =
                parse(Model(dims, 23)
                          .floats("s", scale_dims, {all.begin(), all.begin() + static_cast<std::ptrdiff_t>(scales)})
                          .node("RMSNormalization", {"x", "s"}, {"y"}, {{"axis", axis}, {"epsilon", 0.01F}})
                          .bytes());
            std::vector<double> expected;
            for (std::size_t at = 0; at < x.size(); at += size) {
                double sum = 0;
                for (std::size_t i = 0; i < size; ++i) sum += static_cast<double>(x[at + i] * x[at + i]);
                const double root = std::sqrt(sum / static_cast<double>(size) + static_cast<double>(0.01F));
                for (std::size_t i = 0; i < size; ++i) {
                    expected.push_back(static_cast<double>(x[at + i]) / root * static_cast<double>(all[i % scales]));
                }
            }
            CHECK(is_close(run(model, x), expected));
        }
    }
    // It is the layer that a written-out one becomes.
    const ps::OnnxModel last =
        parse(Model({1, 3, 4, 5}, 23).floats("s", {5}, numbers(5)).node("RMSNormalization", {"x", "s"}, {"y"}).bytes());
    CHECK(kinds(ps::simplify(last.graph)) == Strings{"input", "constant", "standardize"});
}

TEST_CASE("scales of groups and of channels are told apart by their number") {
    const std::vector<float> x = numbers(6 * 6, 5);
    const auto made = [&](int opset, std::vector<float> const& scale, std::vector<float> const& bias) {
        const auto count = static_cast<std::int64_t>(scale.size());
        return run(parse(Model({1, 6, 3, 2}, opset)
                             .floats("s", {count}, scale)
                             .floats("b", {count}, bias)
                             .node("GroupNormalization", {"x", "s", "b"}, {"y"}, {{"num_groups", std::int64_t{2}}})
                             .bytes()),
                   x);
    };
    const std::vector<double> groups = made(18, {2, -3}, {1, 5});
    CHECK(is_close(groups, made(21, {2, 2, 2, -3, -3, -3}, {1, 1, 1, 5, 5, 5})));
    double sum = 0;
    for (std::size_t i = 0; i < 18; ++i) sum += groups[i];
    CHECK(sum / 18 == doctest::Approx(1.0));
}

TEST_CASE("a local response normalisation over an even number of channels has the larger half of them behind") {
    const std::vector<float> x = numbers(7 * 6, 2);
    for (const std::int64_t size : {1, 2, 3, 4, 6, 16}) {
        CAPTURE(size);
        const ps::OnnxModel model = parse(
            Model({1, 7, 2, 3}).node("LRN", {"x"}, {"y"}, {{"size", size}, {"alpha", 0.5F}, {"bias", 2.0F}}).bytes());
        std::vector<double> expected;
        for (std::int64_t c = 0; c < 7; ++c) {
            for (std::int64_t pixel = 0; pixel < 6; ++pixel) {
                const auto at = [&](std::int64_t channel) {
                    return static_cast<double>(x[static_cast<std::size_t>(channel * 6 + pixel)]);
                };
                double sum = 0;
                for (std::int64_t i = std::max<std::int64_t>(0, c - (size - 1) / 2);
                     i <= std::min<std::int64_t>(6, c + size / 2); ++i) {
                    sum += at(i) * at(i);
                }
                expected.push_back(at(c) / std::pow(2 + 0.5 / static_cast<double>(size) * sum, 0.75));
            }
        }
        CHECK(is_close(run(model, x), expected));
    }
}

TEST_CASE("norms of windows sum what is there, however sizes are rounded") {
    const std::vector<float> x = numbers(2 * 7 * 8, 6);
    for (const std::int64_t p : {1, 2, 3}) {
        for (const std::int64_t ceil_mode : {0, 1}) {
            for (const std::int64_t pad : {0, 1}) {
                for (const std::int64_t dilation : {1, 2}) {
                    CAPTURE(p);
                    CAPTURE(ceil_mode);
                    CAPTURE(pad);
                    CAPTURE(dilation);
                    const ps::OnnxModel model = parse(Model({1, 2, 7, 8}, 18)
                                                          .node("LpPool", {"x"}, {"y"},
                                                                {{"kernel_shape", Ints{2, 3}},
                                                                 {"strides", Ints{2, 3}},
                                                                 {"pads", Ints{pad, pad, 0, pad}},
                                                                 {"dilations", Ints{dilation, 1}},
                                                                 {"ceil_mode", ceil_mode},
                                                                 {"p", p}})
                                                          .bytes());
                    const std::int64_t h = model.outputs[0].dims[2], w = model.outputs[0].dims[3];
                    std::vector<double> expected;
                    for (std::int64_t c = 0; c < 2; ++c) {
                        for (std::int64_t oh = 0; oh < h; ++oh) {
                            for (std::int64_t ow = 0; ow < w; ++ow) {
                                double sum = 0;
                                for (std::int64_t i = 0; i < 2; ++i) {
                                    for (std::int64_t j = 0; j < 3; ++j) {
                                        const std::int64_t y = 2 * oh - pad + i * dilation, z = 3 * ow - pad + j;
                                        if (y < 0 || z < 0 || y >= 7 || z >= 8) continue;
                                        sum += std::pow(std::abs(static_cast<double>(
                                                            x[static_cast<std::size_t>((c * 7 + y) * 8 + z)])),
                                                        static_cast<double>(p));
                                    }
                                }
                                expected.push_back(std::pow(sum, 1 / static_cast<double>(p)));
                            }
                        }
                    }
                    CHECK(is_close(run(model, x), expected));
                }
            }
        }
        const std::vector<double> all =
            run(parse(Model({1, 2, 7, 8}).node("GlobalLpPool", {"x"}, {"y"}, {{"p", p}}).bytes()), x);
        for (std::size_t c = 0; c < 2; ++c) {
            double sum = 0;
            for (std::size_t i = 0; i < 56; ++i) {
                sum += std::pow(std::abs(static_cast<double>(x[c * 56 + i])), static_cast<double>(p));
            }
            CHECK(all[c] == doctest::Approx(std::pow(sum, 1 / static_cast<double>(p))));
        }
    }
    CHECK(
        refusal(Model().node("LpPool", {"x"}, {"y"}, {{"kernel_shape", Ints{2, 2}}, {"p", std::int64_t{0}}}).bytes()) ==
        "file: node the node (LpPool): a norm of p = 0");
}

}  // namespace import_norm_kinds
