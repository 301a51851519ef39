// The first-order criterion is what finite differences of the loss say.
#include "thinned.hpp"

#include <doctest/doctest.h>
#include <primsel/layer/compose.hpp>
#include <primsel/prune/taylor.hpp>

#include <cmath>
#include <cstddef>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace taylor {
namespace {

namespace ps = primsel;
using namespace ps::layer;  // NOLINT(google-build-using-namespace): layers, as networks are written
using namespace thinned;    // NOLINT(google-build-using-namespace)

ps::LabelledImages images_of(ps::Shape shape, int count) {
    ps::LabelledImages images;
    images.image = shape;
    images.class_count = 3;
    std::mt19937 bits(5);
    std::normal_distribution<float> normal;
    for (int i = 0; i < count; ++i) {
        for (std::size_t j = 0; j < shape.size(); ++j) images.floats.push_back(normal(bits));
        images.labels.push_back(i % 3);
    }
    return images;
}

/// The loss of a batch, with a filter of a layer scaled.
double loss_with(ps::Graph const& graph, ps::Weights const& weights, ps::LabelledImages const& images,
                 std::string const& layer, std::size_t filter, double scale) {
    ps::Parameters parameters(graph, weights);
    for (const char* part : {".weight", ".bias"}) {
        const std::span<float> values = parameters[layer + part];
        const std::size_t size = values.size() / static_cast<std::size_t>(graph[graph.find(layer)].shape.c);
        for (float& value : values.subspan(filter * size, size)) value = static_cast<float>(value * scale);
    }
    ps::TrainingStep<ps::DefaultTraining> step(ps::differentiate(graph), parameters, ps::Predict<>{}, {});
    const std::vector<float> labels(images.labels.begin(), images.labels.end());
    return step.run(images.floats, labels, ps::SoftmaxCrossEntropy{});
}

TEST_CASE("a filter's score is how the loss changes with it") {
    struct Net : ps::Network<Input<2, 6, 6>, Named<"a", Conv<4, 3>>, Named<"n", BatchNorm>, Relu,
                             Named<"b", Conv<5, 3>>, Relu, GlobalAvgPool, Named<"c", Dense<3>>> {};
    const ps::Graph graph = Net::graph(6);
    const ps::Weights weights = ps::random_weights(graph, 7);
    const ps::LabelledImages images = images_of({2, 6, 6}, 6);
    const ps::prune::Taylor measured = ps::prune::taylor(graph, weights, images);
    CHECK(measured.of_layers.size() == 3);
    for (auto const& pair : {std::pair{"a", "n"}, {"b", "b"}, {"c", "c"}}) {
        const char* const layer = pair.first;
        const char* const judged = pair.second;
        std::vector<double> const& scores = measured.of_layers.find(layer)->second;
        for (std::size_t k = 0; k < scores.size(); ++k) {
            CAPTURE(layer);
            CAPTURE(k);
            constexpr double step = 1.0 / 64;
            const double slope = (loss_with(graph, weights, images, judged, k, 1 + step) -
                                  loss_with(graph, weights, images, judged, k, 1 - step)) /
                                 (2 * step);
            CHECK(scores[k] == doctest::Approx(std::abs(slope)).epsilon(0.02).scale(1e-3));
        }
    }
    const ps::prune::Coupling coupling(graph);
    const auto rankings = ps::prune::rank_filters(graph, weights, coupling, measured);
    REQUIRE(rankings.size() == 2);
    check_same(graph, coupling, ps::prune::choose(rankings, 0.5));
}

TEST_CASE("the scores of batches are averaged, and what does not fit is refused") {
    struct Net : ps::Network<Input<2, 4, 4>, Named<"a", Conv<4, 3>>, Named<"c", Dense<3>>> {};
    const ps::Graph graph = Net::graph(3);
    const ps::Weights weights = ps::random_weights(graph, 7);
    const ps::LabelledImages images = images_of({2, 4, 4}, 6);
    ps::LabelledImages first = images, second = images;
    first.floats.resize(3 * 32), first.labels.resize(3);
    second.floats.erase(second.floats.begin(), second.floats.begin() + 3 * 32);
    second.labels.erase(second.labels.begin(), second.labels.begin() + 3);
    const ps::prune::Taylor all = ps::prune::taylor(graph, weights, images),
                            one = ps::prune::taylor(graph, weights, first),
                            other = ps::prune::taylor(graph, weights, second);
    for (std::size_t k = 0; k < 4; ++k) {
        CHECK(all.of_layers.at("a")[k] == doctest::Approx((one.of_layers.at("a")[k] + other.of_layers.at("a")[k]) / 2));
    }
    CHECK(ps::prune::taylor(graph, weights, images, {}, 1).of_layers == one.of_layers);
    CHECK_THROWS_WITH_AS((void)ps::prune::taylor(graph, weights, images_of({2, 5, 5}, 6)),
                         "prune: the images are 2x5x5, the network takes 2x4x4", ps::error);
    ps::LabelledImages more = images;
    more.class_count = 4;
    CHECK_THROWS_WITH_AS((void)ps::prune::taylor(graph, weights, more),
                         "prune: the labels are of 4 classes, the network's result has 3 values", ps::error);
    const ps::prune::Coupling coupling(graph);
    CHECK_THROWS_WITH_AS((void)ps::prune::rank_filters(graph, weights, coupling, ps::prune::Taylor{}),
                         "prune: no gradients were taken of layer a", ps::error);
    CHECK_THROWS_WITH_AS((void)ps::prune::rank_filters(graph, weights, coupling, all, ps::prune::GroupType::channels),
                         doctest::Contains("layer c has gradients of 3 filters, not of 4"), ps::error);
}

}  // namespace
}  // namespace taylor
