#include <primsel/engine/correct_biases.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <random>
#include <span>
#include <string>
#include <vector>

namespace ps = primsel;

namespace correct_biases_tests {

std::vector<float> normal_values(std::size_t count, unsigned seed) {
    std::mt19937 bits(seed);
    std::normal_distribution<float> normal(0.3F, 1.0F);
    std::vector<float> values(count);
    for (float& value : values) value = normal(bits);
    return values;
}
/// The values of their bytes.
void round(std::vector<float>& values, ps::TensorRange range) {
    for (float& value : values) {
        const float byte =
            std::clamp(std::nearbyint(value / range.scale) + static_cast<float>(range.zero_point), 0.0F, 255.0F);
        value = range.scale * (byte - static_cast<float>(range.zero_point));
    }
}
/// The weights with the kernel of one layer in 8 bits.
ps::Weights with_rounded(ps::Weights const& weights, std::string const& kernel, std::size_t outputs) {
    ps::Weights result;
    for (auto const& [name, tensor] : weights) {
        std::vector<float> values(tensor.values.begin(), tensor.values.end());
        if (name == kernel) {
            const std::size_t depth = values.size() / outputs;
            for (std::size_t i = 0; i < values.size(); i += depth) {
                double largest = 0;
                for (std::size_t j = i; j < i + depth; ++j)
                    largest = std::max(largest, std::abs(static_cast<double>(values[j])));
                for (std::size_t j = i; j < i + depth; ++j) {
                    values[j] = static_cast<float>(std::nearbyint(static_cast<double>(values[j]) * 127 / largest) *
                                                   largest / 127);
                }
            }
        }
        result.add(name, tensor.dims, std::move(values));
    }
    return result;
}
/// The mean of each channel of the result.
std::vector<double> channel_means(ps::Graph const& graph, ps::Weights const& weights, std::span<const float> images) {
    ps::Engine<ps::Graph> engine(graph, weights);
    std::vector<float> result(engine.program().out_floats());
    const std::size_t pixels = engine.out_shape().pixels();
    std::vector<double> means(static_cast<std::size_t>(engine.out_shape().c));
    for (std::size_t at = 0; at < images.size(); at += engine.program().in_floats()) {
        engine.run(images.subspan(at, engine.program().in_floats()), result);
        for (std::size_t i = 0; i < result.size(); ++i) {
            means[i / pixels % means.size()] += static_cast<double>(result[i]);
        }
    }
    const auto count = static_cast<double>(images.size() / engine.in_shape().size() * pixels);
    for (double& mean : means) mean /= count;
    return means;
}
double largest_difference(std::vector<double> const& a, std::vector<double> const& b) {
    double largest = 0;
    for (std::size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(a[i] - b[i]));
    return largest;
}

TEST_CASE("with corrected biases the means of channels in 8 bits are those of floats") {
    const ps::ConvParams convs[] = {
        {.k = 5, .kernel = {3}},
        {.k = 7, .kernel = {3, 5}, .stride = {2, 1}, .padding = {1, 2, 0, 3}},
        {.k = 6, .kernel = {3}, .padding = {2, 2, 2, 2}, .dilation = {2}, .groups = 3, .bias = false},
        {.k = 3, .kernel = {1}, .stride = {3}}};
    for (ps::ConvParams const& conv : convs) {
        for (const int batch : {1, 2}) {
            CAPTURE(conv.k);
            CAPTURE(batch);
            ps::Graph graph(batch);
            graph.add("image", ps::InputParams{{3, 11, 9}}, {});
            graph.add("conv", conv, {0});
            if (!conv.bias) graph.add("norm", ps::BatchNormParams{}, {1});
            const ps::Weights weights = ps::random_weights(graph, 5);
            std::vector<float> images = normal_values(6 * 3 * 11 * 9, 3);
            // Values beyond the range count, too.
            graph.set_range(0, ps::range_of(-1.0F, 1.5F));
            const ps::Weights corrected = ps::correct_biases(graph, weights, images);
            const std::vector<double> exact = channel_means(graph, weights, images);
            round(images, graph[0].range);
            const auto in_bytes = [&](ps::Weights const& of) {
                return channel_means(graph, with_rounded(of, "conv.weight", static_cast<std::size_t>(conv.k)), images);
            };
            CHECK(largest_difference(in_bytes(weights), exact) > 1e-2);
            CHECK(largest_difference(in_bytes(corrected), exact) < 1e-5);
        }
    }
}

TEST_CASE("biases that layers share, and those behind tensors without a range, stay") {
    ps::Graph graph;
    graph.add("image", ps::InputParams{{2, 5, 5}}, {});
    graph.add("known", ps::ConvParams{.k = 2, .kernel = {3}, .padding = {1, 1, 1, 1}}, {0});
    graph.add("unknown", ps::ConvParams{.k = 2, .kernel = {3}, .padding = {1, 1, 1, 1}}, {1});
    const ps::Weights weights = ps::random_weights(graph, 2);
    const std::vector<float> images = normal_values(50, 1);
    const auto changed = [&](ps::Graph const& of, const char* name) {
        const ps::Weights corrected = ps::correct_biases(of, weights, images);
        CHECK(corrected.size() == weights.size());
        return !std::ranges::equal(std::span<const float>(corrected.at(name).values),
                                   std::span<const float>(weights.at(name).values));
    };
    CHECK(!changed(graph, "known.bias"));
    graph.set_range(0, ps::range_of(-2, 2));
    CHECK(changed(graph, "known.bias"));
    CHECK(!changed(graph, "known.weight"));
    CHECK(!changed(graph, "unknown.bias"));
    const std::vector<std::string> others{"unknown"}, both{"known", "unknown"};
    for (const bool listed : {false, true}) {
        const ps::Weights corrected = ps::correct_biases(graph, weights, images, listed ? both : others);
        CHECK(listed != std::ranges::equal(std::span<const float>(corrected.at("known.bias").values),
                                           std::span<const float>(weights.at("known.bias").values)));
    }
    CHECK_THROWS_WITH_AS((void)ps::correct_biases(graph, weights, std::span(images).first(49)),
                         "biases: 49 values are no images of 2x5x5 in batches of 1", ps::error);
    graph.set_shared({{"known.bias", {"both"}}});
    CHECK(!changed(graph, "known.bias"));
}

}  // namespace correct_biases_tests
