#include <primsel/core/float16.hpp>
#include <primsel/engine/calibrate_ranges.hpp>
#include <primsel/engine/engine.hpp>
#include <primsel/engine/low_precision.hpp>
#include <primsel/network/network.hpp>
#include <primsel/network/prepare.hpp>
#include <primsel/plan/plan_file.hpp>
#include <primsel/plan/print.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ps = primsel;

namespace low_precision_tests {

using namespace ps::layer;  // NOLINT(google-build-using-namespace): layers, as networks are written

struct Net : ps::Network<Input<3, 20, 24>, Conv<20, 3, Stride<2>>, Relu, Conv<40, 3, Pad<1>>, Relu6, MaxPool<2>,
                         Conv<35, 1>, Relu, GlobalAvgPool, Dense<10>> {};

/// A machine with these speeds of products.
template <int bf16_gflops, int int8_gops, int vector_gflops = 0>
struct FastIn : ps::LowPrecision {
    struct machine {
        template <class Arch>
        static ps::Machine const& speeds(int) {
            static const ps::Machine one = [] {
                ps::Machine usual;
                usual.bf16_flops = 1e9 * bf16_gflops;
                usual.int8_flops = 1e9 * int8_gops;
                if (vector_gflops > 0) usual.vector_flops = 1e9 * vector_gflops;
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

TEST_CASE("a sum with bytes is part of the convolution, after the bounds of its range") {
    const ps::TensorRange summand{.scale = 0.006F, .zero_point = 120}, of_sum = ps::range_of(-3, 3.5F);
    const auto network = [&](int batch, bool fuses, bool bounds) {
        ps::Graph graph(batch);
        const auto add = [&graph](const char* name, ps::AnyLayer const& layer, std::vector<std::size_t> inputs) {
            return graph.add(name, layer, std::move(inputs));
        };
        const auto clip = [](ps::TensorRange const& range) {
            const ps::Clamp clamp = ps::bounds_of(range);
            return ps::ActivationParams{ps::ActivationKind::clip, clamp.low, clamp.high};
        };
        const std::size_t x = add("image", ps::InputParams{{32, 19, 20}}, {});
        std::size_t a = add("a", ps::ConvParams{.k = 32, .kernel = 3, .padding = 1, .bias = true}, {x});
        if (bounds) a = add("q", clip(summand), {a});
        if (fuses) graph.set_range(a, summand);
        const std::size_t sum = add("sum", ps::AddParams{}, {a, x}), r = add("r", clip(of_sum), {sum}),
                          b = add("b", ps::ConvParams{.k = 20}, {r});
        graph.set_range(x, ps::range_of(-4, 4)), graph.set_range(r, of_sum), graph.set_range(b, ps::range_of(-6, 6));
        return graph;
    };
    for (const int batch : {1, 3}) {
        CAPTURE(batch);
        const ps::Graph fused = network(batch, true, true);
        const ps::Weights weights = ps::random_weights(fused, 5);
        const std::vector<float> src = image(static_cast<std::size_t>(batch) * 32 * 19 * 20);
        const auto run = [&](ps::Graph const& graph, ps::Precision precision) {
            ps::Engine<ps::Graph, FastBytes> engine(graph, weights, ps::PlanOptions{.precision = precision});
            auto const& layers = engine.plan().layers;
            const std::string a = std::ranges::find(layers, "a", &ps::PlannedLayer::name)->primitive;
            CHECK(a.starts_with("direct-int8") == (precision == ps::Precision::int8));
            std::vector<float> result(static_cast<std::size_t>(batch) * 20 * 19 * 20);
            engine.run(src, result);
            return result;
        };
        const std::vector<float> expected = run(network(batch, false, true), ps::Precision::float32);
        CHECK(relative_error(run(fused, ps::Precision::float32), expected) < 1e-5);
        CHECK(relative_error(run(fused, ps::Precision::int8), expected) < 0.03);
        CHECK(relative_error(run(network(batch, false, false), ps::Precision::float32), expected) > 0.1);
    }
}

/// Prices by the size of elements.
struct SmallElements {
    static constexpr std::string_view name = "small elements";

    static void predict(ps::Kernels const& kernels, std::span<const ps::ConvQuery> queries, std::span<double> seconds) {
        for (std::size_t i = 0; i < queries.size(); ++i) {
            ps::PrimitiveEntry const& entry = kernels.primitives[queries[i].primitive];
            seconds[i] = bytes(kernels, entry.in_layout) + bytes(kernels, entry.out_layout);
        }
    }
    static void predict(ps::Kernels const&, std::span<const ps::TransformQuery>, std::span<double> seconds) {
        std::ranges::fill(seconds, 1.0);
    }
    static void predict(ps::Kernels const& kernels, std::span<const ps::OpQuery> queries, std::span<double> seconds) {
        for (std::size_t i = 0; i < queries.size(); ++i) seconds[i] = bytes(kernels, queries[i].layout);
    }

private:
    static double bytes(ps::Kernels const& kernels, std::size_t layout) {
        return static_cast<double>(kernels.layouts[layout].element_bytes);
    }
};

/// Convolutions with layers between them that move or combine elements.
[[nodiscard]] ps::Graph with_movers(int batch) {
    ps::Graph graph(batch);
    const ps::ConvParams conv{.k = 32, .kernel = 3, .padding = 1, .bias = true}, point{.k = 32, .bias = true};
    const auto add = [&graph](const char* name, ps::AnyLayer const& layer, std::vector<std::size_t> const& inputs) {
        graph.add(name, layer, inputs);
        return graph.size() - 1;
    };
    const std::size_t first = add("first", conv, {add("image", ps::InputParams{{16, 12, 10}}, {})}),
                      gate = add("gate", point, {add("mean", ps::GlobalPoolParams{ps::PoolKind::average}, {first})}),
                      gated = add("gated", ps::BinaryParams{ps::BinaryKind::multiply},
                                  {first, add("sigmoid", ps::ActivationParams{ps::ActivationKind::sigmoid}, {gate})}),
                      shuffled = add("shuffled", ps::ChannelShuffleParams{4}, {gated}),
                      left = add("left", ps::SliceParams{0, 20}, {shuffled}),
                      small = add("small", conv, {add("half", ps::SliceParams{3, 9, ps::Axis::h}, {left})}),
                      large = add("large", ps::ResizeParams{.size = {12, 10}, .mode = ps::ResizeMode::linear}, {small}),
                      twice = add("twice", ps::ResizeParams{.size = {12, 10}}, {small}),
                      sum = add("sum", ps::BinaryParams{}, {large, add("weights", ps::ConstantParams{{32, 1, 1}}, {})}),
                      up = add("up",
                               ps::ConvTransposeParams{.k = 32, .kernel = 3, .stride = {2, 1}, .padding = {1, 0, 1, 1}},
                               {small}),
                      both = add("both", ps::ConcatParams{}, {left, sum, twice, up}),
                      padded = add("padded", ps::PadParams{.padding = 2, .mode = ps::PadMode::reflect}, {both});
    add("last", conv, {padded});
    return graph;
}

TEST_CASE("layers that move or combine elements do not force a return to floats") {
    for (const int batch : {1, 2}) {
        CAPTURE(batch);
        const ps::Graph graph = with_movers(batch);
        const ps::Weights weights = ps::random_weights(graph, 3);
        const std::vector<float> src = image(static_cast<std::size_t>(batch) * 16 * 12 * 10);
        const ps::Graph ranged = ps::with_ranges(graph, ps::calibrate_ranges(graph, weights, src));
        ps::Engine<ps::Graph, FastBytes> exact(graph, weights);
        std::vector<float> expected(exact.program().out_floats(0)), result(expected.size());
        exact.run(src, expected);
        const auto check = [&](ps::Graph const& network, ps::Precision precision, std::string_view layout,
                               double most) {
            CAPTURE(std::string(layout));
            ps::Engine<ps::Graph, FastBytes> engine(
                network, weights,
                ps::Predict(SmallElements{}, ps::OfPolicies{}, ps::PlanOptions{.precision = precision}));
            CHECK(engine.plan().transforms.size() == 2);  // of the image and of the result
            for (ps::PlannedLayer const& layer : engine.plan().layers) {
                CAPTURE(layer.name);
                CHECK((layer.out_layout == layout || layer.kind == "input"));
            }
            engine.run(src, result);
            CHECK(relative_error(result, expected) < most);
            const ps::Engine<ps::Graph, FastBytes> bounded(
                network, weights,
                ps::Predict(SmallElements{}, ps::OfPolicies{},
                            ps::PlanOptions{.precision = precision, .max_error = 1e-3}));
            const auto up = std::ranges::find(bounded.plan().layers, "up", &ps::PlannedLayer::name);
            CHECK(up->out_layout == "chw");
        };
        check(ranged, ps::Precision::int8, "hwc_u8", 0.05);
        check(graph, ps::Precision::bf16, "hwc_bf16", 0.02);
    }
}

/// Three convolutions of one image that are concatenated; if they are shared, each has another reader.
[[nodiscard]] ps::Graph with_parts(int batch, bool shared, bool one_range) {
    ps::Graph graph(batch);
    const std::size_t image = graph.add("image", ps::InputParams{{16, 9, 11}}, {});
    std::vector<std::size_t> parts;
    for (const int k : {24, 8, 36}) {
        const std::size_t part =
            graph.add(ps::join("part", k), ps::ConvParams{.k = k, .kernel = 3, .padding = 1}, {image});
        parts.push_back(part);
        graph.set_range(part, {0.03F, one_range ? 120 : k});
    }
    const std::size_t both = graph.add("both", ps::ConcatParams{}, parts);
    const std::size_t last = graph.add("last", ps::ConvParams{.k = 8, .kernel = 3}, {both});
    graph.set_range(image, {0.02F, 128}), graph.set_range(both, {0.03F, 120}), graph.set_range(last, {0.1F, 128});
    if (shared) graph.set_outputs({last, parts[0], parts[1], parts[2]});
    return graph;
}

TEST_CASE("convolutions write their bytes into a concatenation where nobody else reads them") {
    const std::vector<float> src = image(std::size_t{3} * 16 * 9 * 11);
    for (const int batch : {1, 3}) {
        std::vector<float> copied;
        for (const auto& [shared, one_range] :
             {std::pair(true, true), std::pair(false, true), std::pair(false, false)}) {
            const ps::Graph graph = with_parts(batch, shared, one_range);
            ps::Engine<ps::Graph, FastBytes> engine(graph, ps::random_weights(graph, 3),
                                                    ps::PlanOptions{.precision = ps::Precision::int8});
            CHECK(count(engine.plan(), "direct-int8") == 4);
            bool copies = false;
            for (std::size_t i = 0; i < engine.program().steps(); ++i)
                copies |= engine.program().step_name(i) == "both";
            CHECK(copies == shared);
            std::vector<std::vector<float>> results;
            std::vector<std::span<float>> dsts;
            for (std::size_t i = 0; i < engine.program().out_shapes().size(); ++i) {
                dsts.emplace_back(results.emplace_back(engine.program().out_floats(i)));
            }
            const std::span<const float> srcs[] = {std::span(src).first(engine.program().in_floats())};
            engine.run(srcs, dsts);
            if (shared) copied = results[0];
            CHECK(results[0] == copied);
        }
    }
}

struct Wide : ps::Network<Input<3, 9, 11>, Conv<8, 3>, Relu, Dense<700>, Relu, Dense<90>> {};

[[nodiscard]] std::string by(ps::Plan const& plan, std::string_view layer) { return plan.layer(layer).primitive; }

TEST_CASE("dense layers may have weights in 16 and 8 bits alone, which take less memory") {
    for (const int batch : {1, 3}) {
        CAPTURE(batch);
        const ps::Graph graph = Wide::graph(batch);
        const ps::Weights weights = ps::random_weights(graph, 3);
        const auto images = static_cast<std::size_t>(batch);
        const std::vector<float> src = image(images * 3 * 9 * 11);
        const ps::Graph ranged = ps::with_ranges(graph, ps::calibrate_ranges(graph, weights, src));
        using Slow = FastIn<1, 1, 10'000>;  // convolutions stay floats, and dense layers wait for their weights
        const auto engine_of = [&](ps::PlanOptions const& options) {
            return ps::Engine<ps::Graph, Slow>(ranged, weights, options);
        };
        auto floats = engine_of({}), f16 = engine_of({.precision = ps::Precision::f16}),
             bf16 = engine_of({.precision = ps::Precision::bf16}), int8 = engine_of({.precision = ps::Precision::int8}),
             bounded = engine_of({.precision = ps::Precision::int8, .max_error = 0.02}),
             refused = engine_of({.precision = ps::Precision::int8,
                                  .refused = {{.layer = "dense1", .primitive = "dense-int8", .reason = "not here"}}});
        CHECK(by(floats.plan(), "dense1") == "");
        CHECK(by(f16.plan(), "dense1") == "dense-f16");
        CHECK(by(f16.plan(), "dense2") == "dense-f16");
        CHECK(by(bf16.plan(), "dense1") == "dense-bf16");
        CHECK(by(bf16.plan(), "dense2") == "dense-bf16");
        CHECK(by(int8.plan(), "dense1") == "dense-int8");
        CHECK(by(bounded.plan(), "dense1") == "dense-bf16");
        CHECK(by(refused.plan(), "dense1") == "dense-bf16");
        CHECK(by(refused.plan(), "dense2") == "dense-int8");
        CHECK(refused.plan().explain("dense1").find("not here") != std::string::npos);
        CHECK(floats.plan().explain("dense1").find("its precision is below the allowed one") != std::string::npos);
        CHECK(bounded.plan().explain("dense1").find("its error bound exceeds the allowed error") != std::string::npos);
        CHECK(f16.program().weight_bytes() == bf16.program().weight_bytes());
        CHECK(bf16.program().weight_bytes() < 0.55 * static_cast<double>(floats.program().weight_bytes()));
        CHECK(int8.program().weight_bytes() < 0.3 * static_cast<double>(floats.program().weight_bytes()));

        std::vector<float> expected(images * 90), result(expected.size()), again(expected.size());
        floats.run(src, expected);
        for (auto* engine : {&f16, &bf16, &int8}) {
            engine->run(src, result);
            const double bound = engine == &f16 ? 0.001 : engine == &bf16 ? 0.01 : 0.05;
            CHECK(relative_error(result, expected) > 0);
            CHECK(relative_error(result, expected) < bound);
            // A plan that was saved is the same plan.
            ps::Engine<ps::Graph, Slow> saved(ranged, weights,
                                              ps::parse_plan("saved", ps::to_string(ps::to_json(engine->plan()))));
            saved.run(src, again);
            CHECK(result == again);
        }
    }
}

struct Vectors : ps::Network<Input<504, 1, 1>, Dense<700>, Relu, Dense<90>> {};

TEST_CASE("dense layers whose weights float16 has keep them in it, with the bits of floats") {
    const ps::Graph graph = Vectors::graph();
    ps::Weights weights;
    for (auto const& [name, tensor] : ps::random_weights(graph, 3)) {
        const std::span<const float> drawn = tensor.values;
        std::vector<float> values(drawn.begin(), drawn.end());
        // One weight of the last layer is none of float16.
        const bool all = name.starts_with("dense1") || name.ends_with("bias");
        for (float& value : values) value = to_float(ps::float16::nearest(value));
        if (!all) values.back() = 0.1F;
        weights.add(name, tensor.dims, std::move(values));
    }
    using Slow = FastIn<1, 1, 10'000>;
    ps::Engine<ps::Graph, Slow> engine(graph, weights), floats(graph, weights, ps::Predict<>());
    CHECK(by(engine.plan(), "dense1") == "dense-f16");
    CHECK(by(engine.plan(), "dense2") == "");
    CHECK(by(floats.plan(), "dense1") == "");
    const std::vector<float> src = image(504);
    std::vector<float> result(90), expected(90);
    engine.run(src, result);
    floats.run(src, expected);
    CHECK(result == expected);
    CHECK(engine.program().weight_bytes() < 0.6 * static_cast<double>(floats.program().weight_bytes()));
}

TEST_CASE("a plan that gives a layer weights of a kind that it has not is refused") {
    const ps::Graph graph = Wide::graph();
    const ps::Weights weights = ps::random_weights(graph, 3);
    ps::Plan plan =
        ps::Engine<ps::Graph, Fast>(graph, weights, ps::PlanOptions{.precision = ps::Precision::bf16}).plan();
    for (ps::PlannedLayer& layer : plan.layers) {
        if (layer.name == "dense1") layer.primitive = "dense-int4", layer.in_layout = layer.out_layout = "chw";
    }
    CHECK_THROWS_WITH_AS(([&] { const ps::Engine<ps::Graph, Fast> engine(graph, weights, plan); })(),
                         "plan: layer dense1 (dense) cannot run chw -> chw by dense-int4", ps::error);
    // Nor can it run among bytes itself.
    for (ps::PlannedLayer& layer : plan.layers) {
        if (layer.name == "dense1") layer.primitive = {}, layer.in_layout = layer.out_layout = ps::hwc_bf16::name;
    }
    CHECK_THROWS_WITH_AS(([&] { const ps::Engine<ps::Graph, Fast> engine(graph, weights, plan); })(),
                         "plan: layer dense1 (dense) cannot run hwc_bf16 -> hwc_bf16", ps::error);
}

}  // namespace low_precision_tests
