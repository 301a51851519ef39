#include <primsel/engine/calibrate_ranges.hpp>
#include <primsel/engine/engine.hpp>
#include <primsel/engine/low_precision.hpp>
#include <primsel/network/network.hpp>
#include <primsel/network/prepare.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <random>
#include <string_view>
#include <vector>

namespace ps = primsel;

namespace low_precision_tests {

using namespace ps::layer;  // NOLINT(google-build-using-namespace): layers, as networks are written

struct Net : ps::Network<Input<3, 20, 24>, Conv<20, 3, Stride<2>>, Relu, Conv<40, 3, Pad<1>>, Relu6, MaxPool<2>,
                         Conv<35, 1>, Relu, GlobalAvgPool, Dense<10>> {};

/// A machine with these speeds of products.
template <int bf16_gflops, int int8_gops>
struct FastIn : ps::LowPrecision {
    struct machine {
        template <class Arch>
        static ps::Machine const& speeds() {
            static const ps::Machine one = [] {
                ps::Machine usual;
                usual.bf16_flops = 1e9 * bf16_gflops;
                usual.int8_flops = 1e9 * int8_gops;
                return usual;
            }();
            return one;
        }
    };
};
using Fast = FastIn<10'000, 1>;
using FastBytes = FastIn<1, 10'000>;

[[nodiscard]] std::vector<float> image(std::size_t size) {
    std::mt19937 bits(4);
    std::normal_distribution<float> normal;
    std::vector<float> values(size);
    for (float& value : values) value = normal(bits);
    return values;
}
[[nodiscard]] std::ptrdiff_t count(ps::Plan const& plan, std::string_view primitives) {
    return std::ranges::count_if(plan.layers, [primitives](ps::PlannedLayer const& layer) {
        return std::string_view(layer.primitive).starts_with(primitives);
    });
}
[[nodiscard]] std::ptrdiff_t in_bf16(ps::Plan const& plan) { return count(plan, "direct-bf16"); }
/// The RMS of the differences over the RMS of what is expected.
[[nodiscard]] double relative_error(std::vector<float> const& result, std::vector<float> const& expected) {
    double error = 0, squares = 0;
    for (std::size_t i = 0; i < result.size(); ++i) {
        error += std::pow(static_cast<double>(result[i] - expected[i]), 2);
        squares += std::pow(static_cast<double>(expected[i]), 2);
    }
    return std::sqrt(error / squares);
}

TEST_CASE("a plan takes bfloat16 where it is allowed and faster, and says so") {
    for (const int batch : {1, 3}) {
        CAPTURE(batch);
        const ps::Graph graph = Net::graph(batch);
        const ps::Weights weights = ps::random_weights(graph, 3);
        ps::Engine<ps::Graph, Fast> exact(graph, weights);
        ps::Engine<ps::Graph, Fast> fast(graph, weights, ps::PlanOptions{.precision = ps::Precision::bf16});
        ps::Engine<ps::Graph, Fast> bounded(graph, weights,
                                            ps::PlanOptions{.precision = ps::Precision::bf16, .max_error = 1e-3});
        CHECK(in_bf16(exact.plan()) == 0);
        CHECK(in_bf16(bounded.plan()) == 0);
        CHECK(in_bf16(fast.plan()) == 3);
        CHECK(exact.plan().explain("conv1").find("precision is below the allowed one") != std::string::npos);

        const std::vector<float> src = image(static_cast<std::size_t>(batch) * 3 * 20 * 24);
        std::vector<float> expected(static_cast<std::size_t>(batch) * 10), result(expected.size()), again(result);
        exact.run(src, expected);
        fast.run(src, result);
        fast.run(src, again);
        CHECK(result == again);
        CHECK(relative_error(result, expected) < 0.02);
        CHECK(relative_error(result, expected) > 0);
    }
}

TEST_CASE("a plan takes 8 bits where they are allowed, faster, and ranges are known") {
    for (const int batch : {1, 3}) {
        CAPTURE(batch);
        const ps::Graph graph = Net::graph(batch);
        const ps::Weights weights = ps::random_weights(graph, 3);
        const std::vector<float> src = image(static_cast<std::size_t>(batch) * 3 * 20 * 24);
        std::vector<float> expected(static_cast<std::size_t>(batch) * 10), result(expected.size()), again(result);
        ps::Engine<ps::Graph, FastBytes>(graph, weights).run(src, expected);
        for (const ps::RangeMethod method :
             {ps::RangeMethod::min_max, ps::RangeMethod::percentile, ps::RangeMethod::mse}) {
            CAPTURE(to_string_view(method));
            const ps::Graph ranged = ps::with_ranges(graph, ps::calibrate_ranges(graph, weights, src, method));
            ps::Engine<ps::Graph, FastBytes> engine(ranged, weights, ps::PlanOptions{.precision = ps::Precision::int8});
            CHECK(count(engine.plan(), "direct-int8") == 3);
            engine.run(src, result);
            engine.run(src, again);
            CHECK(result == again);
            CHECK(relative_error(result, expected) < 0.05);
            CHECK(relative_error(result, expected) > 0);
        }
    }
}

}  // namespace low_precision_tests
