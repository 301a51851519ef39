// Results of the types that are several layers of a graph each, against the definitions of PyTorch's documentation in
// plain loops; and the names and dimensions of their weights.
#include "evaluate.hpp"

#include <primsel/network/network.hpp>
#include <primsel/network/prepare.hpp>
#include <primsel/network/simplify.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

namespace {

namespace ps = primsel;
using namespace ps::layer;
using evaluate::Image;
using reference::build;

Image image(ps::Shape shape) {
    Image result(shape);
    unsigned state = 3;
    for (double& x : result.data) {
        state = state * 1664525U + 1013904223U;
        x = static_cast<double>(static_cast<float>(state >> 8) / (1U << 22) - 2.0F);
    }
    return result;
}

/// Whether the layer's graph, and the same simplified, give what the definition says: a function of the image and the
/// weights.
template <class Layer, ps::Shape in = ps::Shape{6, 4, 5}, class Definition>
void check(Definition const& definition, double tolerance = 1e-6) {
    struct Net : ps::Network<Input<in.c, in.h, in.w>, Named<"x", Layer>> {};
    const ps::Graph graph = Net::graph();
    const ps::Weights weights = ps::random_weights(graph);
    const Image src = image(in);
    const Image expected = definition(src, weights);
    REQUIRE(expected.shape == Net::output_shape);
    for (ps::Graph const& one : {graph, ps::simplify(graph)}) {
        const Image result = evaluate::graph(one, src, weights);
        REQUIRE(result.shape == expected.shape);
        double worst = 0;
        for (std::size_t i = 0; i < result.data.size(); ++i) {
            worst = std::max(worst, std::abs(result.data[i] - expected.data[i]));
        }
        CHECK(worst <= tolerance);
    }
}

/// Checks a function of one element.
template <class Layer, class Function>
void check_each(Function const& function, double tolerance = 1e-6) {
    check<Layer>(
        [&](Image const& x, ps::Weights const&) {
            return build(x.shape, [&](int c, int h, int w) { return function(x(c, h, w)); });
        },
        tolerance);
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

/// (x - mean) / sqrt(variance + 1e-5) over the elements of which same says that they belong with one.
template <class Same>
Image normalized(Image const& x, Same const& same) {
    return build(x.shape, [&](int c, int h, int w) {
        double count = 0, sum = 0, squares = 0;
        for (int pass = 0; pass < 2; ++pass) {
            for (int i = 0; i < x.shape.c; ++i) {
                for (int j = 0; j < x.shape.h; ++j) {
                    for (int k = 0; k < x.shape.w; ++k) {
                        if (!same(c, h, w, i, j, k)) continue;
                        if (pass == 0) count += 1, sum += x(i, j, k);
                        if (pass == 1) squares += (x(i, j, k) - sum / count) * (x(i, j, k) - sum / count);
                    }
                }
            }
        }
        return (x(c, h, w) - sum / count) / std::sqrt(squares / count + 1e-5);
    });
}
Image affine(Image const& x, ps::Weights const& weights) {
    const auto weight = weights.at("x.weight").values, bias = weights.at("x.bias").values;
    return build(x.shape, [&](int c, int h, int w) {
        return x(c, h, w) * weight[static_cast<std::size_t>(c)] + bias[static_cast<std::size_t>(c)];
    });
}

using Lines = std::vector<std::string>;
template <class Layer>
Lines weights_of() {
    struct Net : ps::Network<Input<6, 8, 8>, Named<"x", Layer>> {};
    Lines lines;
    for (ps::WeightSpec const& spec : ps::weight_specs(Net::graph())) {
        lines.push_back(spec.name + ' ' + ps::to_string(spec.dims));
    }
    return lines;
}

}  // namespace

TEST_CASE("composite: elementwise functions") {
    check_each<Silu>([](double x) { return x * sigmoid(x); });
    check_each<GeluTanh>([](double x) {
        const double pi = 3.14159265358979323846;
        return 0.5 * x * (1 + std::tanh(std::sqrt(2 / pi) * (x + 0.044715 * x * x * x)));
    });
    check_each<Gelu>([](double x) { return x / 2 * std::erfc(-x / std::sqrt(2.0)); });
    check_each<Mish>([](double x) { return x * std::tanh(std::log1p(std::exp(x))); });
    check_each<Clip<std::ratio<-1, 2>, std::ratio<1>>>([](double x) { return std::clamp(x, -0.5, 1.0); });
    check_each<ScaleBy<std::ratio<3>, std::ratio<-1, 4>>>([](double x) { return 3 * x - 0.25; });
    check_each<Path<ScaleBy<std::ratio<-1>>, Relu>>([](double x) { return std::max(-x, 0.0); });
}

TEST_CASE("composite: normalisations") {
    check<LayerNorm<>>([](Image const& x, ps::Weights const& weights) {
        return affine(normalized(x, [](int, int h, int w, int, int j, int k) { return h == j && w == k; }), weights);
    });
    check<GroupNorm<3>>([](Image const& x, ps::Weights const& weights) {
        return affine(normalized(x, [](int c, int, int, int i, int, int) { return c / 2 == i / 2; }), weights);
    });
    check<InstanceNorm<>>([](Image const& x, ps::Weights const&) {
        return normalized(x, [](int c, int, int, int i, int, int) { return c == i; });
    });
    CHECK(weights_of<LayerNorm<>>() == Lines{"x.weight 6", "x.bias 6"});
    CHECK(weights_of<GroupNorm<2>>() == Lines{"x.weight 6", "x.bias 6"});
    CHECK(weights_of<InstanceNorm<>>().empty());
}

TEST_CASE("composite: products with trained factors and gates") {
    const auto slope = [](std::size_t slopes) {
        return [slopes](Image const& x, ps::Weights const& weights) {
            const auto slope = weights.at("x.weight").values;
            return build(x.shape, [&](int c, int h, int w) {
                const double a = slope[static_cast<std::size_t>(c) % slopes];
                return x(c, h, w) < 0 ? a * x(c, h, w) : x(c, h, w);
            });
        };
    };
    check<PRelu<>>(slope(1));
    check<PRelu<6>>(slope(6));
    CHECK(weights_of<PRelu<6>>() == Lines{"x.weight 6x1x1"});
    check<Path<LayerScale<"gamma", 6>>>([](Image const& x, ps::Weights const& weights) {
        const auto gamma = weights.at("x.gamma").values;
        return build(x.shape, [&](int c, int h, int w) { return x(c, h, w) * gamma[static_cast<std::size_t>(c)]; });
    });
    check<SqueezeExcite<6, 2>>([](Image const& x, ps::Weights const& weights) {
        const auto w1 = weights.at("x.fc1.weight").values, b1 = weights.at("x.fc1.bias").values;
        const auto w2 = weights.at("x.fc2.weight").values, b2 = weights.at("x.fc2.bias").values;
        double mean[6] = {}, squeezed[2] = {};
        for (int c = 0; c < 6; ++c) {
            for (int h = 0; h < 4; ++h) {
                for (int w = 0; w < 5; ++w) mean[c] += x(c, h, w) / 20;
            }
        }
        for (std::size_t k = 0; k < 2; ++k) {
            squeezed[k] = b1[k];
            for (std::size_t c = 0; c < 6; ++c) squeezed[k] += mean[c] * w1[k * 6 + c];
            squeezed[k] = std::max(squeezed[k], 0.0);
        }
        return build(x.shape, [&](int c, int h, int w) {
            const auto k = static_cast<std::size_t>(c);
            return x(c, h, w) * sigmoid(b2[k] + squeezed[0] * w2[k * 2] + squeezed[1] * w2[k * 2 + 1]);
        });
    });
    CHECK(weights_of<SqueezeExcite<6, 2>>() ==
          Lines{"x.fc1.weight 2x6x1x1", "x.fc1.bias 2", "x.fc2.weight 6x2x1x1", "x.fc2.bias 6"});
}

TEST_CASE("composite: images of other sizes") {
    check<Upsample<ps::Extent{2, 3}>>([](Image const& x, ps::Weights const&) {
        return build({6, 8, 15}, [&](int c, int h, int w) { return x(c, h / 2, w / 3); });
    });
    // align_corners=False: the place is that of the pixels' centres, held inside the image.
    const auto bilinear = [](Image const& x, int factor, auto const& place) {
        return build({x.shape.c, x.shape.h * factor, x.shape.w * factor}, [&](int c, int h, int w) {
            const double y = std::clamp(place(h, x.shape.h), 0.0, x.shape.h - 1.0),
                         z = std::clamp(place(w, x.shape.w), 0.0, x.shape.w - 1.0);
            const int top = static_cast<int>(y), left = static_cast<int>(z);
            const int bottom = std::min(top + 1, x.shape.h - 1), right = std::min(left + 1, x.shape.w - 1);
            const double above = x(c, top, left) * (left + 1 - z) + x(c, top, right) * (z - left),
                         below = x(c, bottom, left) * (left + 1 - z) + x(c, bottom, right) * (z - left);
            return above * (top + 1 - y) + below * (y - top);
        });
    };
    check<Upsample<2, Bilinear>>([&](Image const& x, ps::Weights const&) {
        return bilinear(x, 2, [](int i, int) { return (i + 0.5) / 2 - 0.5; });
    });
    check<Upsample<3, Bilinear, AlignCorners>>([&](Image const& x, ps::Weights const&) {
        return bilinear(x, 3, [](int i, int size) { return i * (size - 1.0) / (3 * size - 1.0); });
    });
    check<PixelShuffle<2>, ps::Shape{8, 3, 4}>([](Image const& x, ps::Weights const&) {
        return build({2, 6, 8}, [&](int c, int h, int w) { return x(c * 4 + h % 2 * 2 + w % 2, h / 2, w / 2); });
    });
    check<ReflectPad<2>>([](Image const& x, ps::Weights const&) {
        const auto mirror = [](int i, int size) { return i < 0 ? -i : i >= size ? 2 * size - 2 - i : i; };
        return build({6, 8, 9}, [&](int c, int h, int w) { return x(c, mirror(h - 2, 4), mirror(w - 2, 5)); });
    });
    check<ReplicatePad<3>>([](Image const& x, ps::Weights const&) {
        return build({6, 10, 11},
                     [&](int c, int h, int w) { return x(c, std::clamp(h - 3, 0, 3), std::clamp(w - 3, 0, 4)); });
    });
    check<ConstantPad<1, std::ratio<7, 2>>>([](Image const& x, ps::Weights const&) {
        return build({6, 6, 7},
                     [&](int c, int h, int w) { return h < 1 || h > 4 || w < 1 || w > 5 ? 3.5 : x(c, h - 1, w - 1); });
    });
}

TEST_CASE("composite: a transposed convolution adds each element's kernels at its place") {
    check<ConvTranspose<4, 3, Stride<2>, Pad<1>, OutputPad<1>, Groups<2>>>(
        [](Image const& x, ps::Weights const& weights) {
            const auto kernel = weights.at("x.weight").values, bias = weights.at("x.bias").values;
            Image result = build({4, 8, 10}, [&](int k, int, int) { return bias[static_cast<std::size_t>(k)]; });
            for (int c = 0; c < 6; ++c) {
                for (int k = 0; k < 2; ++k) {
                    for (int h = 0; h < 4; ++h) {
                        for (int w = 0; w < 5; ++w) {
                            for (int i = 0; i < 9; ++i) {
                                const int to_h = 2 * h - 1 + i / 3, to_w = 2 * w - 1 + i % 3;
                                if (to_h < 0 || to_h >= 8 || to_w < 0 || to_w >= 10) continue;
                                result(c / 3 * 2 + k, to_h, to_w) +=
                                    x(c, h, w) * kernel[static_cast<std::size_t>((c * 2 + k) * 9 + i)];
                            }
                        }
                    }
                }
            }
            return result;
        });
    CHECK(weights_of<ConvTranspose<4, 3, Groups<2>>>() == Lines{"x.weight 6x2x3x3", "x.bias 4"});
    CHECK(weights_of<ConvTranspose<4, 3, NoBias>>() == Lines{"x.weight 6x4x3x3"});
}

TEST_CASE("composite: weights may lack ones at the end of their dimensions, as PyTorch's PReLU does") {
    struct Net : ps::Network<Input<6, 8, 8>, Named<"act", PRelu<6>>> {};
    const auto given = [](std::vector<std::int64_t> dims) {
        ps::Weights weights;
        weights.add("act.weight", std::move(dims), std::vector<float>(6, 0.5F));
        ps::check_weights(Net::graph(), weights);
    };
    CHECK_NOTHROW(given({6}));
    CHECK_NOTHROW(given({6, 1, 1}));
    CHECK_THROWS_AS(given({1, 6}), ps::error);
    CHECK_THROWS_AS(given({2, 3}), ps::error);
}
