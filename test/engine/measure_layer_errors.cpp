#include <primsel/engine/calibrate_ranges.hpp>
#include <primsel/engine/engine.hpp>
#include <primsel/engine/low_precision.hpp>
#include <primsel/engine/measure_layer_errors.hpp>
#include <primsel/network/network.hpp>
#include <primsel/network/prepare.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <random>
#include <span>
#include <string>
#include <vector>

namespace ps = primsel;

namespace measure_layer_errors_tests {

using namespace ps::layer;  // NOLINT(google-build-using-namespace): layers, as networks are written

struct Net : ps::Network<Input<3, 20, 24>, Conv<20, 3, Stride<2>>, Relu, Conv<40, 3, Pad<1>>, Relu6, MaxPool<2>,
                         Conv<35, 1>, Relu, GlobalAvgPool, Dense<10>> {};

/// A machine on which 8 bits are worth every change of layout.
struct FastBytes : ps::LowPrecision {
    struct machine {
        template <class Arch>
        static ps::Machine const& speeds(int) {
            static const ps::Machine one = [] {
                ps::Machine usual;
                usual.bf16_flops = 1e9, usual.int8_flops = 1e16;
                return usual;
            }();
            return one;
        }
    };
};

std::vector<float> images_of(std::size_t size) {
    std::mt19937 bits(4);
    std::normal_distribution<float> normal;
    std::vector<float> values(size);
    for (float& value : values) value = normal(bits);
    return values;
}

/// A network with its ranges and weights, and images for it.
struct Example {
    static constexpr std::size_t image = 3 * 20 * 24;
    int batch;
    ps::Weights weights;
    std::vector<float> images = images_of(6 * image);
    ps::Graph graph;
    ps::LayerErrors errors;

    Example(int images_at_once, unsigned seed)
        : batch(images_at_once),
          weights(ps::random_weights(Net::graph(batch), seed)),
          graph(ps::simplify(
              ps::with_ranges(Net::graph(batch), ps::calibrate_ranges(Net::graph(batch), weights, images)))),
          errors(ps::measure_layer_errors<FastBytes>(graph, weights, images)) {}

    /// The error of an engine with these options, beside one of floats.
    double squared_error(ps::PlanOptions const& options) const {
        ps::Engine<ps::Graph, FastBytes> floats(graph, weights, ps::PlanOptions{}), engine(graph, weights, options);
        std::vector<float> expected(60), result(60);
        const std::size_t results = 10 * static_cast<std::size_t>(batch),
                          size = image * static_cast<std::size_t>(batch);
        for (std::size_t at = 0; at * size < images.size(); ++at) {
            const auto src = std::span(images).subspan(at * size, size);
            floats.run(src, std::span(expected).subspan(at * results, results));
            engine.run(src, std::span(result).subspan(at * results, results));
        }
        return ps::relative_squared_error(result, expected);
    }

    static bool is_conv(ps::Node const& node) { return std::holds_alternative<ps::ConvParams>(node.layer); }

    /// The sum of the errors of the layers that a plan computes with bytes.
    double sum() const {
        const ps::Engine<ps::Graph, FastBytes> engine(graph, weights,
                                                      ps::PlanOptions{.precision = ps::Precision::int8});
        double sum = 0;
        for (ps::PlannedLayer const& layer : engine.plan().layers) {
            if (layer.primitive.find("int8") != std::string::npos) sum += errors.find(layer.name)->second.int8.value();
        }
        return sum;
    }
};

TEST_CASE("layer errors are those of engines with one layer in less than floats") {
    for (const int batch : {1, 3}) {
        CAPTURE(batch);
        const Example example(batch, 3);
        for (ps::Node const& node : example.graph.nodes()) {
            CAPTURE(node.name);
            const auto found = example.errors.find(node.name);
            if (std::holds_alternative<ps::InputParams>(node.layer)) CHECK(found == example.errors.end());
            if (!Example::is_conv(node)) continue;
            REQUIRE(found != example.errors.end());
            REQUIRE(found->second.int8);
            REQUIRE(found->second.bf16);
            CHECK(*found->second.bf16 > 0);
            CHECK(*found->second.bf16 < *found->second.int8);
            ps::PlanOptions alone{.precision = ps::Precision::int8};
            for (ps::Node const& other : example.graph.nodes()) {
                if (other.name != node.name) alone.layer_precisions.push_back({other.name, ps::Precision::float32, ""});
            }
            CHECK(example.squared_error(alone) == doctest::Approx(*found->second.int8).epsilon(0.01));
        }
    }
}

// Errors of one network may happen to point the same way or against each other, so that the whole is up to three times
// the sum or a small part of it: the geometric mean over several networks is near 1. The pools between keep the
// rounding of what they read.
TEST_CASE("layer errors add up") {
    for (const int batch : {1, 3}) {
        CAPTURE(batch);
        double log_ratio = 0;
        constexpr unsigned networks = 4;
        for (unsigned seed = 1; seed <= networks; ++seed) {
            const Example example(batch, seed);
            CHECK(example.sum() > 0);
            log_ratio += std::log(example.sum() / example.squared_error({.precision = ps::Precision::int8})) / networks;
        }
        CHECK(std::abs(log_ratio) < std::log(2.0));
    }
}

TEST_CASE("layer errors: images that are none are refused") {
    const ps::Graph graph = Net::graph(2);
    const ps::Weights weights = ps::random_weights(graph, 3);
    std::vector<float> images = images_of(3UL * 3 * 20 * 24);
    CHECK_THROWS_WITH_AS((void)ps::measure_layer_errors<FastBytes>(graph, weights, images),
                         doctest::Contains("are no images of 3x20x24 in batches of 2"), ps::error);
    images.resize(2UL * 3 * 20 * 24);
    images[5] = std::numeric_limits<float>::infinity();
    CHECK_THROWS_WITH_AS((void)ps::measure_layer_errors<FastBytes>(graph, weights, images),
                         doctest::Contains("not finite"), ps::error);
}

TEST_CASE("relative squared error: sums of squares, whatever is zero") {
    CHECK(ps::relative_squared_error(std::vector<float>{1, 2, 5}, std::vector<float>{1, 2, 2}) == doctest::Approx(1.0));
    CHECK(ps::relative_squared_error(std::vector<float>{0, 0}, std::vector<float>{0, 0}) == 0);
    CHECK(ps::relative_squared_error(std::vector<float>{0, 1}, std::vector<float>{0, 0}) ==
          std::numeric_limits<double>::infinity());
}

}  // namespace measure_layer_errors_tests
