#include <primsel/train/loss.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "values.hpp"

namespace ps = primsel;

namespace losses {

struct Case {
    std::vector<float> result, target;
    int batch;
};
/// The test case of a loss: classes, or as many targets as results.
Case case_of(ps::SoftmaxCrossEntropy const&) { return {values::drawn(4 * 5, 1), {3, 0, 4, 1}, 4}; }
Case case_of(ps::MeanSquaredError const&) { return {values::drawn(12, 2), values::drawn(12, 3), 3}; }
Case case_of(ps::BinaryCrossEntropy const&) { return {values::drawn(6, 4), {0, 1, 0.25F, 1, 0, 0.5F}, 2}; }

/// A softmax with smoothing.
struct Smoothed : ps::SoftmaxCrossEntropy {
    Smoothed() : ps::SoftmaxCrossEntropy{0.1F} {}
};

template <class Loss>
double loss_of(Loss const& loss, Case const& of, std::vector<float>& gradient) {
    gradient.assign(of.result.size(), std::numeric_limits<float>::quiet_NaN());
    return loss(of.result, of.target, gradient, of.batch);
}
template <class Loss>
double loss_of(Loss const& loss, Case const& of) {
    std::vector<float> gradient;
    return loss_of(loss, of, gradient);
}

}  // namespace losses

TEST_CASE_TEMPLATE("the gradient is the slope of the loss", Loss, ps::SoftmaxCrossEntropy, losses::Smoothed,
                   ps::MeanSquaredError, ps::BinaryCrossEntropy) {
    const Loss loss{};
    losses::Case at = losses::case_of(loss);
    std::vector<float> gradient;
    losses::loss_of(loss, at, gradient);
    constexpr float step = 0x1p-8F;  // exact beside multiples of 2^-10
    for (std::size_t i = 0; i < at.result.size(); ++i) {
        CAPTURE(i);
        const float value = at.result[i];
        at.result[i] = value + step;
        const double above = losses::loss_of(loss, at);
        at.result[i] = value - step;
        const double below = losses::loss_of(loss, at);
        at.result[i] = value;
        CHECK(static_cast<double>(gradient[i]) == doctest::Approx((above - below) / (2 * step)).epsilon(2e-5));
    }
}

TEST_CASE_TEMPLATE("twice the same batch has the loss of one, and half its gradient", Loss, ps::SoftmaxCrossEntropy,
                   losses::Smoothed, ps::MeanSquaredError, ps::BinaryCrossEntropy) {
    const Loss loss{};
    const losses::Case once = losses::case_of(loss);
    losses::Case twice = once;
    twice.result.insert(twice.result.end(), once.result.begin(), once.result.end());
    twice.target.insert(twice.target.end(), once.target.begin(), once.target.end());
    twice.batch *= 2;
    std::vector<float> whole, half;
    CHECK(losses::loss_of(loss, twice, half) == doctest::Approx(losses::loss_of(loss, once, whole)).epsilon(1e-12));
    for (std::size_t i = 0; i < half.size(); ++i) CHECK(2 * half[i] == doctest::Approx(whole[i % whole.size()]));
}

TEST_CASE_TEMPLATE("large results have a finite loss", Loss, ps::SoftmaxCrossEntropy, losses::Smoothed,
                   ps::BinaryCrossEntropy) {
    const Loss loss{};
    losses::Case at = losses::case_of(loss);
    for (std::size_t i = 0; i < at.result.size(); ++i) at.result[i] = i % 2 == 0 ? 1e30F : -1e30F;
    std::vector<float> gradient;
    CHECK(std::isfinite(losses::loss_of(loss, at, gradient)));
    for (const float slope : gradient) CHECK(std::abs(slope) <= 1);
}

TEST_CASE("losses worked by hand") {
    std::vector<float> gradient(4);
    const double log2 = std::log(2.0);
    // Even odds; then 3 to 1 for the class, and 1 to 3 against it.
    const std::vector<float> even{1, 1},
        odds{static_cast<float>(std::log(3.0)), 0, static_cast<float>(std::log(3.0)), 0};
    const std::span<float> two = std::span(gradient).first(2);
    CHECK(ps::SoftmaxCrossEntropy{}(even, std::vector<float>{1}, two, 1) == doctest::Approx(log2));
    CHECK(gradient[0] == 0.5F);
    CHECK(gradient[1] == -0.5F);
    CHECK(ps::SoftmaxCrossEntropy{}(odds, std::vector<float>{0, 1}, gradient, 2) ==
          doctest::Approx((std::log(4.0 / 3.0) + std::log(4.0)) / 2));
    CHECK(gradient[0] == doctest::Approx(-0.125));
    CHECK(gradient[3] == doctest::Approx(-0.375));
    // Smoothed by 0.2: the class is wanted with 0.9, the other with 0.1.
    CHECK(ps::SoftmaxCrossEntropy{0.2F}(odds, std::vector<float>{0, 0}, gradient, 2) ==
          doctest::Approx(0.9 * std::log(4.0 / 3.0) + 0.1 * std::log(4.0)));

    CHECK(ps::MeanSquaredError{}(std::vector<float>{1, 2, 3, 4}, std::vector<float>{1, 0, 3, 7}, gradient, 2) ==
          13.0 / 4);
    CHECK(gradient == std::vector<float>{0, 1, 0, -1.5F});

    CHECK(ps::BinaryCrossEntropy{}(std::vector<float>{0, 0}, std::vector<float>{1, 0}, two, 1) ==
          doctest::Approx(log2));
    CHECK(gradient[0] == -0.25F);
    CHECK(gradient[1] == 0.25F);
}

TEST_CASE("losses are PyTorch's") {
    const std::vector<float> result{1, 2, -1, 0.5F, 0.25F, 3}, target{1, 0, 0.5F, 0, 1, 0.25F}, classes{0, 2};
    const auto check = [&](auto const& loss, std::vector<float> const& wanted, double mean,
                           std::vector<float> const& slopes) {
        std::vector<float> gradient(6);
        CHECK(loss(result, wanted, gradient, 2) == doctest::Approx(mean).epsilon(1e-6));
        for (std::size_t i = 0; i < 6; ++i) CHECK(gradient[i] == doctest::Approx(slopes[i]).epsilon(1e-5));
    };
    check(ps::SoftmaxCrossEntropy{}, classes, 0.742650509,
          {-0.370251775F, 0.352692276F, 0.0175595153F, 0.0358132944F, 0.0278914236F, -0.0637047291F});
    check(ps::SoftmaxCrossEntropy{0.1F}, classes, 0.846817136,
          {-0.336918414F, 0.336025596F, 0.000892847776F, 0.0191466268F, 0.011224756F, -0.0303713977F});
    check(ps::BinaryCrossEntropy{}, target, 1.18367577,
          {-0.0448235683F, 0.146799505F, -0.0385097601F, 0.103743225F, -0.0729705766F, 0.117095686F});
    check(ps::MeanSquaredError{}, target, 2.4375, {0, 0.666666687F, -0.5F, 0.166666672F, -0.25F, 0.916666687F});
}

TEST_CASE("samples whose target is no class are passed over") {
    const std::vector<float> result = values::drawn(3 * 4, 9);
    std::vector<float> gradient(12, 7), alone(4);
    const std::vector<float> target{-1, 2, 4};
    const double loss = ps::SoftmaxCrossEntropy{}(result, target, gradient, 3);
    CHECK(loss == ps::SoftmaxCrossEntropy{}(std::span(result).subspan(4, 4), std::vector<float>{2}, alone, 1));
    for (std::size_t i = 0; i < 12; ++i) CHECK(gradient[i] == (i / 4 == 1 ? alone[i % 4] : 0.0F));
    const std::vector<float> none{-1, std::numeric_limits<float>::quiet_NaN(), 1e9F};
    CHECK(ps::SoftmaxCrossEntropy{}(result, none, gradient, 3) == 0);
    for (const float slope : gradient) CHECK(slope == 0);
}
