// The best classes of a classifier, against all of its scores sorted.
#include "../error_of.hpp"

#include <primsel/network/top_classes.hpp>
#include <primsel/primsel.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <vector>

namespace network_top_classes_tests {

namespace ps = primsel;

namespace {

using tests::error_of;

struct Policies : ps::DefaultPolicies {
    using primitives = ps::TypeList<ps::DirectSum2d>;
};

ps::Graph classifier(int classes, int batch, bool softmax) {
    ps::Graph graph(batch);
    graph.add("image", ps::InputParams{{6, 1, 1}}, {});
    graph.add("scores", ps::DenseParams{.k = classes}, {0});
    if (softmax) graph.add("softmax", ps::SoftmaxParams{}, {1});
    return graph;
}

}  // namespace

TEST_CASE("top classes: those of a stable sort of all scores, softmax or not") {
    std::mt19937 bits(11);
    const auto number = [&](int low, int high) { return std::uniform_int_distribution(low, high)(bits); };
    int equal = 0;
    for (int repetition = 0; repetition < 60; ++repetition) {
        const int classes = number(1, 200), k = number(1, std::min(classes, 9)), batch = number(1, 3);
        const ps::Graph plain = classifier(classes, batch, false);
        // With weights of few values, many scores are equal.
        const int values = number(1, 9);
        ps::Weights weights;
        std::vector<float> matrix(static_cast<std::size_t>(6 * classes));
        for (float& weight : matrix) weight = static_cast<float>(number(-values, values));
        weights.add("scores.weight", {classes, 6}, matrix);
        weights.add("scores.bias", {classes}, std::vector<float>(static_cast<std::size_t>(classes), 0.5F));
        std::vector<float> image(static_cast<std::size_t>(6 * batch)),
            scores(static_cast<std::size_t>(classes * batch));
        for (float& value : image) value = static_cast<float>(number(0, 2));
        ps::Engine<ps::Graph, Policies>(plain, weights).run(image, scores);

        const ps::Graph graph = ps::with_top_classes(classifier(classes, batch, bits() % 2 == 0), k);
        ps::Engine<ps::Graph, Policies> engine(graph, weights);
        std::vector<float> best(static_cast<std::size_t>(k * batch), NAN), values_of = best;
        const std::array<std::span<const float>, 1> srcs{image};
        const std::array<std::span<float>, 2> dsts{best, values_of};
        engine.run(srcs, dsts);
        for (int i = 0; i < batch; ++i) {
            const float* const own = scores.data() + i * classes;
            std::vector<int> order(static_cast<std::size_t>(classes));
            std::iota(order.begin(), order.end(), 0);
            std::ranges::stable_sort(order, [own](int a, int b) { return own[a] > own[b]; });
            for (int j = 0; j < k; ++j) {
                const auto at = static_cast<std::size_t>(i * k + j);
                const int wanted = order[static_cast<std::size_t>(j)];
                CHECK(best[at] == static_cast<float>(wanted));
                CHECK(values_of[at] == own[wanted]);
                if (j > 0) equal += values_of[at] == values_of[at - 1];
            }
        }
    }
    CHECK(equal > 50);
}

TEST_CASE("top classes: a softmax that is read elsewhere, or over something else, stays") {
    const auto kinds = [](ps::Graph const& graph) {
        std::string text;
        for (ps::Node const& node : graph.nodes()) text += std::string(ps::layer_kind(node.layer)) + ' ';
        return text;
    };
    const ps::Graph dropped = ps::with_top_classes(classifier(9, 2, true), 3);
    CHECK(kinds(dropped) == "input dense reshape top_k_positions top_k ");
    CHECK(dropped.batch() == 2);
    CHECK(dropped.outputs().size() == 2);
    CHECK(dropped[dropped.outputs()[0]].shape == ps::Shape{.c = 1, .h = 1, .w = 3});
    // Over one score each: every one becomes 1.
    ps::Graph ones = classifier(9, 1, false);
    ones.add("ones", ps::SoftmaxParams{ps::Axis::w}, {1});
    CHECK(kinds(ps::with_top_classes(ones, 1)) == "input dense softmax reshape top_k_positions top_k ");
    // A layer that has the name of a new one.
    ps::Graph named = classifier(9, 1, false);
    named.add("y", ps::ActivationParams{}, {1});
    named.add("y_classes", ps::ActivationParams{}, {1});
    named.set_outputs({2});
    CHECK(ps::with_top_classes(named, 1).size() == 7);
}

TEST_CASE("top classes: what is no row of scores, or has fewer, is refused in words") {
    CHECK(error_of([] { (void)ps::with_top_classes(classifier(9, 1, false), 10); }) ==
          "classes: the 10 best of 9 scores of layer scores");
    CHECK(error_of([] { (void)ps::with_top_classes(classifier(9, 1, false), 0); }) ==
          "classes: the 0 best of 9 scores of layer scores");
    ps::Graph image;
    image.add("image", ps::InputParams{{3, 4, 5}}, {});
    CHECK(error_of([&] { (void)ps::with_top_classes(image); }) ==
          "classes: layer image gives 3x4x5, not a row of scores");
    image.add("other", ps::ActivationParams{}, {0});
    image.set_outputs({0, 1});
    CHECK(error_of([&] { (void)ps::with_top_classes(image); }) == "graph: two outputs, image and other");
}

}  // namespace network_top_classes_tests
