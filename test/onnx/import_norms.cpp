// Normalisations of a mean that is large beside the deviation keep their digits.
#include "imported.hpp"

#include <primsel/engine/engine.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <random>
#include <string>
#include <vector>

namespace norms {
namespace {

using namespace imported;  // NOLINT(google-build-using-namespace)

std::vector<float> normal(std::size_t count, float mean) {
    std::mt19937 bits(3);
    std::normal_distribution<float> values(mean, 1.0F);
    std::vector<float> result(count);
    for (float& value : result) value = values(bits);
    return result;
}

/// The largest error of an engine's result, where each part of so many elements has its own statistics.
double error_of_parts(std::string const& bytes, std::vector<float> const& x, std::size_t part) {
    const ps::OnnxModel model = parse(bytes);
    ps::Engine<ps::Graph> engine(model.graph, model.weights);
    std::vector<float> y(x.size());
    engine.run(x, y);
    double worst = 0;
    for (std::size_t first = 0; first < x.size(); first += part) {
        double mean = 0, variance = 0;
        for (std::size_t i = first; i < first + part; ++i)
            mean += static_cast<double>(x[i]) / static_cast<double>(part);
        for (std::size_t i = first; i < first + part; ++i) {
            const double apart = static_cast<double>(x[i]) - mean;
            variance += apart * apart / static_cast<double>(part);
        }
        for (std::size_t i = first; i < first + part; ++i) {
            const double right = (static_cast<double>(x[i]) - mean) / std::sqrt(variance + 1e-5);
            worst = std::max(worst, std::abs(static_cast<double>(y[i]) - right));
        }
    }
    return worst;
}

TEST_CASE("whatever the mean, results are right to a few units of the sixth digit") {
    const std::vector<float> ones(16, 1.0F), zeros(16, 0.0F);
    for (const float mean : {0.0F, 1e3F, 1e4F, 1e5F}) {
        CAPTURE(mean);
        const std::vector<float> image = normal(16 * 40 * 33, mean);
        Model instance({1, 16, 40, 33});
        instance.floats("s", {16}, ones).floats("b", {16}, zeros);
        instance.node("InstanceNormalization", {"x", "s", "b"}, {"y"});
        CHECK(error_of_parts(instance.bytes(), image, 40 * 33) < 5e-6);
        Model group({1, 16, 40, 33}, 21);
        group.floats("s", {16}, ones).floats("b", {16}, zeros);
        group.node("GroupNormalization", {"x", "s", "b"}, {"y"}, {{"num_groups", std::int64_t{4}}});
        CHECK(error_of_parts(group.bytes(), image, 4 * 40 * 33) < 5e-6);
        Model layer({64, 768}, 17);
        layer.floats("s", {768}, std::vector<float>(768, 1.0F));
        layer.node("LayerNormalization", {"x", "s"}, {"y"});
        CHECK(error_of_parts(layer.bytes(), normal(64 * 768, mean), 768) < 5e-6);
    }
}

}  // namespace
}  // namespace norms
