#include <primsel/core/float16.hpp>
#include <primsel/engine/f16_weights.hpp>
#include <primsel/layer/all.hpp>
#include <primsel/network/graph.hpp>
#include <primsel/network/weights.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace ps = primsel;

namespace f16_weights_tests {

TEST_CASE("dense layers of which float16 has every weight") {
    ps::Graph graph;
    const std::size_t image = graph.add("image", ps::InputParams{{50, 1, 40}}, {});
    graph.add("conv", ps::ConvParams{.k = 2}, {image});
    graph.add("rows", ps::DenseRowsParams{.k = 3, .bias = false}, {image});
    struct Case {
        const char* layer;
        float last;
        bool fits;
    };
    // The last of 2000 weights; the others are multiples of 1/64.
    const Case cases[] = {{"exact", 1.0F, true},          {"least", 0x1p-24F, true},     {"largest", -65504.0F, true},
                          {"zero", -0.0F, true},          {"fine", 0.1F, false},         {"long", 1 + 0x1p-11F, false},
                          {"too small", 0x1p-25F, false}, {"too large", 65536.0F, false}};
    std::vector<std::string> expected{"rows"};
    ps::Weights weights;
    const auto add = [&weights](std::string const& name, std::int64_t k, std::size_t size, float last) {
        std::vector<float> values(size);
        for (std::size_t i = 0; i < size; ++i) values[i] = static_cast<float>(i % 100) / 64;
        values.back() = last;
        weights.add(name + ".weight", {k, static_cast<std::int64_t>(size) / k}, std::move(values));
    };
    add("conv", 2, 100, 1.0F);
    add("rows", 3, 120, 0.5F);
    for (Case const& each : cases) {
        graph.add(each.layer, ps::DenseParams{.k = 1, .bias = false}, {image});
        add(each.layer, 1, 2000, each.last);
        if (each.fits) expected.emplace_back(each.layer);
    }
    CHECK(ps::layers_of_f16_weights(graph, weights) == expected);
}

}  // namespace f16_weights_tests
