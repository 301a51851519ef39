// Plans and engines with layouts of bytes, by a plain primitive.
#include "../tensor/chw_u8.hpp"

#include <primsel/engine/engine.hpp>
#include <primsel/network/prepare.hpp>
#include <primsel/network/ranges.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace ps = primsel;

namespace range_tests {

/// Computes in floats, from bytes to bytes.
struct FromBytesToBytes {
    static constexpr std::string_view id = "bytes";
    static constexpr ps::Family family = ps::Family::direct;
    using in_layout = chw_u8;
    using out_layout = chw_u8;
    static constexpr bool fuses_epilogue = true;
    static constexpr ps::Precision precision = ps::Precision::int8;
    static constexpr double error_bound = 0.1;
    static ps::Support supports(ps::ConvShape const& shape) {
        return shape.groups == 1 ? ps::Support::yes() : ps::Support::no("has groups");
    }
    template <class Arch>
    static ps::Work work(ps::ConvShape const& shape) {
        return ps::Work{}.add({.rate = ps::Rate::int8, .operations = shape.operations()});
    }
    template <class Arch>
    static void run(ps::ConvShape const& s, ps::ConvArgs const& args) noexcept {
        auto const* const src = reinterpret_cast<const std::uint8_t*>(args.src);
        auto const* const residual = reinterpret_cast<const std::uint8_t*>(args.residual);
        auto* const dst = reinterpret_cast<std::uint8_t*>(args.dst);
        for (int k = 0; k < s.k; ++k) {
            for (int y = 0; y < s.out_h(); ++y) {
                for (int x = 0; x < s.out_w(); ++x) {
                    const std::size_t to = ps::chw::offset(s.out_shape(), {k, y, x});
                    float sum = args.bias == nullptr ? 0 : args.bias[k];
                    for (int c = 0; c < s.c; ++c) {
                        for (int i = 0; i < s.fh; ++i) {
                            for (int j = 0; j < s.fw; ++j) {
                                const int h = y * s.stride_h + i * s.dilation_h - s.pad_top,
                                          w = x * s.stride_w + j * s.dilation_w - s.pad_left;
                                if (h < 0 || h >= s.h || w < 0 || w >= s.w) continue;
                                sum +=
                                    chw_u8::from_byte(src[ps::chw::offset(s.in_shape(), {c, h, w})], args.src_range) *
                                    args.weights[((k * s.c + c) * s.fh + i) * s.fw + j];
                            }
                        }
                    }
                    if (residual != nullptr) sum += chw_u8::from_byte(residual[to], args.residual_range);
                    dst[to] = chw_u8::to_byte(std::clamp(sum, args.clamp.low, args.clamp.high), args.dst_range);
                }
            }
        }
    }
};

struct Policies : ps::DefaultPolicies {
    using primitives = ps::TypeList<ps::DirectSum2d, FromBytesToBytes>;
    using layouts = ps::TypeList<ps::chw, chw_u8>;
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
    static constexpr bool warns_of_slow_build = false;
};
using Engine = ps::Engine<ps::Graph, Policies>;

ps::Graph network(int batch) {
    ps::Graph graph(batch);
    const ps::ConvParams conv{.k = 20, .kernel = 3, .padding = 1, .bias = true};
    graph.add("image", ps::InputParams{{3, 12, 10}}, {});
    graph.add("a", conv, {0});
    graph.add("relu", ps::ActivationParams{ps::ActivationKind::relu}, {1});
    graph.add("b", conv, {2});
    graph.add("sum", ps::AddParams{}, {3, 2});
    graph.add("c", conv, {4});
    graph.add("pool", ps::GlobalPoolParams{ps::PoolKind::average}, {5});
    return graph;
}
std::vector<float> image(std::size_t size) {
    std::mt19937 bits(4);
    std::normal_distribution<float> normal;
    std::vector<float> values(size);
    for (float& value : values) value = normal(bits);
    return values;
}
/// Ranges of that image's tensors, widely.
const ps::TensorRanges ranges{{"image", ps::range_of(-4, 4)},
                              {"relu", ps::range_of(0, 8)},
                              {"sum", ps::range_of(-10, 14)},
                              {"c", ps::range_of(-12, 12)}};

std::ptrdiff_t of_bytes(ps::Plan const& plan) {
    return std::ranges::count(plan.layers, "bytes", &ps::PlannedLayer::primitive);
}

TEST_CASE("ranges: convolutions between tensors of known ranges may be of bytes, and no others") {
    for (const int batch : {1, 3}) {
        CAPTURE(batch);
        const ps::Graph graph = network(batch), known = ps::with_ranges(graph, ranges);
        const ps::Weights weights = ps::random_weights(graph, 3);
        const ps::PlanOptions allowed{.precision = ps::Precision::int8};
        Engine floats(graph, weights), unasked(known, weights), bytes(known, weights, allowed);
        CHECK(of_bytes(floats.plan()) == 0);
        CHECK(of_bytes(unasked.plan()) == 0);
        CHECK(of_bytes(bytes.plan()) == 3);
        Engine bf16(known, weights, ps::PlanOptions{.precision = ps::Precision::bf16});
        CHECK(of_bytes(bf16.plan()) == 0);
        CHECK(std::ranges::none_of(bf16.plan().transforms,
                                   [](ps::PlannedTransform const& transform) { return transform.to == chw_u8::name; }));

        const std::vector<float> src = image(static_cast<std::size_t>(batch) * 3 * 12 * 10);
        std::vector<float> expected(static_cast<std::size_t>(batch) * 20), result(expected), again(expected);
        floats.run(src, expected);
        bytes.run(src, result);
        bytes.run(src, again);
        CHECK(result == again);
        double error = 0, squares = 0;
        for (std::size_t i = 0; i < result.size(); ++i) {
            error += std::pow(static_cast<double>(result[i] - expected[i]), 2);
            squares += std::pow(static_cast<double>(expected[i]), 2);
        }
        CHECK(error > 0);
        CHECK(std::sqrt(error / squares) < 0.03);
    }
}

TEST_CASE("ranges: what is unknown is named") {
    const ps::Graph graph = network(1);
    const ps::Weights weights = ps::random_weights(graph, 3);
    const ps::PlanOptions allowed{.precision = ps::Precision::int8};
    CHECK_THROWS_WITH_AS(Engine(graph, weights, allowed),
                         "plan: precision int8 needs ranges of tensors, and the network has none: see "
                         "docs/plan/precision.md",
                         ps::error);
    ps::TensorRanges some = ranges;
    some.erase("sum");
    const Engine engine(ps::with_ranges(graph, some), weights, allowed);
    CHECK(of_bytes(engine.plan()) == 1);
    CHECK(engine.plan().explain("b").find("the range of its result, or of what is added to it, is unknown") !=
          std::string::npos);
    CHECK(engine.plan().explain("c").find("the range of its input is unknown") != std::string::npos);
}

}  // namespace range_tests
