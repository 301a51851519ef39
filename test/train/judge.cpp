#include <doctest/doctest.h>
#include <primsel/layer/compose.hpp>
#include <primsel/train/judge.hpp>

namespace judging {
namespace {

namespace ps = primsel;
using namespace ps::layer;  // NOLINT(google-build-using-namespace): layers, as networks are written

ps::Graph network(int batch = 1) {
    struct Net : ps::Network<Input<2, 6, 6>, Named<"a", Conv<8, 3>>, Relu, Named<"b", Conv<10, 3>>, Relu, GlobalAvgPool,
                             Named<"c", Dense<3>>> {};
    return Net::graph(batch);
}

TEST_CASE("a network is judged in batches whose last is padded") {
    ps::LabelledImages images{.image = {2, 6, 6}, .class_count = 3};
    for (int i = 0; i < 7; ++i) {
        images.labels.push_back(i % 3);
        images.floats.insert(images.floats.end(), 72, 0.1F * static_cast<float>(i));
    }
    const ps::Weights weights = ps::random_weights(network(), 7);
    const ps::Metrics one = ps::judge(network(), weights, images), four = ps::judge(network(4), weights, images);
    CHECK(one.samples() == 7);
    CHECK(four.samples() == 7);
    for (int i = 0; i < 3; ++i) {
        for (int j = 0; j < 3; ++j) CHECK(one.count(i, j) == four.count(i, j));
    }
    images.image = {2, 3, 12};
    CHECK_THROWS_WITH_AS((void)ps::judge(network(), weights, images), doctest::Contains("judge: images of 2x3x12"),
                         ps::error);
}

}  // namespace
}  // namespace judging
