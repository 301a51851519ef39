#include "laws.hpp"

#include <primsel/op/dense.hpp>

namespace {

namespace ps = primsel;

TEST_CASE("dense agrees with the reference in every layout, batch and number of outputs") {
    laws::Random random(3);
    for (const int k : {1, 7, 10, 16, 17, 31, 32, 33, 48, 49, 100, 150}) {
        for (ps::Shape const& shape : {ps::Shape{1, 1, 1}, ps::Shape{5, 1, 1}, ps::Shape{3, 4, 7}, ps::Shape{2, 1, 5},
                                       ps::Shape{512, 1, 1}, ps::Shape{513, 1, 1}, ps::Shape{37, 6, 5}}) {
            const float range = 1.0F / std::sqrt(static_cast<float>(shape.size()));
            const std::vector<float> kernel = random.floats(static_cast<std::size_t>(k) * shape.size(), range);
            const std::vector<float> bias = random.floats(static_cast<std::size_t>(k));
            CAPTURE(k);
            laws::check(ps::DenseParams{.k = k}, shape, 2e-6, {.kernel = kernel, .bias = bias});
            laws::check(ps::DenseParams{.k = k, .bias = false}, shape, 2e-6, {.kernel = kernel, .bias = {}}, 1, 2.0F,
                        {-0.5F, 0.25F});
        }
    }
}

TEST_CASE("an image's result is the same alone and in any place of a batch") {
    laws::Random random(4);
    const ps::Shape shape{19, 9, 7};
    constexpr int k = 165;  // panels side by side, alone, and a half
    const ps::DenseParams params{.k = k};
    const std::vector<float> kernel = random.floats(k * shape.size()), bias = random.floats(k);
    laws::Images batch;
    for (int i = 0; i < 13; ++i) batch.push_back(random.image(shape));
    ps::Sequential sequential;
    const std::vector<float> together =
        laws::run<ps::hwc>(params, {batch}, {kernel, bias}, sequential, false, ps::relu_clamp);
    for (std::size_t i = 0; i < batch.size(); ++i) {
        const std::vector<float> alone =
            laws::run<ps::hwc>(params, {{batch[i]}}, {kernel, bias}, sequential, false, ps::relu_clamp);
        CHECK(std::equal(alone.begin(), alone.end(), together.begin() + static_cast<std::ptrdiff_t>(i * k)));
    }
}

TEST_CASE("dense rows agree with the reference") {
    laws::Random random(5);
    for (const int k : {1, 10, 17, 32, 49, 100}) {
        for (ps::Shape const& shape :
             {ps::Shape{1, 1, 1}, ps::Shape{1, 5, 3}, ps::Shape{3, 4, 7}, ps::Shape{2, 57, 70}, ps::Shape{1, 10, 20},
              ps::Shape{11, 1, 2}, ps::Shape{1, 7, 530}, ps::Shape{1, 13, 1100}}) {
            const float range = 1.0F / std::sqrt(static_cast<float>(shape.w));
            const std::vector<float> kernel = random.floats(static_cast<std::size_t>(k * shape.w), range);
            const std::vector<float> bias = random.floats(static_cast<std::size_t>(k));
            CAPTURE(k);
            laws::check(ps::DenseRowsParams{.k = k}, shape, 2e-6, {.kernel = kernel, .bias = bias});
            laws::check(ps::DenseRowsParams{.k = k, .bias = false}, shape, 2e-6, {.kernel = kernel, .bias = {}}, 1,
                        2.0F, {-0.5F, 0.25F});
        }
    }
}

TEST_CASE("dense rows with weights larger than half of L2 agree with the reference") {
    laws::Random random(6);
    const ps::Shape shape{1, 97, 100};
    const std::vector<float> kernel = random.floats(132'000, 0.1F), bias = random.floats(1320);
    laws::check(ps::DenseRowsParams{.k = 1320}, shape, 2e-6, {.kernel = kernel, .bias = bias});
}

TEST_CASE("the clamp of dense keeps NaN") {
    const std::vector<float> kernel(40, 1.0F);
    const ps::DenseParams params{.k = 40, .bias = false};
    for (const float y :
         laws::run_one<ps::chw>(params, {1, 1, 1}, {std::nanf("")}, {.kernel = kernel, .bias = {}}, ps::relu6_clamp))
        CHECK(std::isnan(y));
}

}  // namespace
