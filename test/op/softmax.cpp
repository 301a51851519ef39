#include "laws.hpp"

#include <primsel/op/softmax.hpp>

#include <cmath>

namespace op_softmax {

namespace {

namespace ps = primsel;

using laws::infinity;

TEST_CASE("softmax agrees with the reference along any axis in every layout") {
    for (ps::Shape const& shape : laws::odd_shapes()) {
        for (const ps::Axis axis : {ps::Axis::c, ps::Axis::h, ps::Axis::w}) {
            laws::check(ps::SoftmaxParams{axis}, shape, 1e-6);
            laws::check(ps::SoftmaxParams{axis}, shape, 1e-6, {}, 1, 80.0F);
        }
    }
    laws::check(ps::SoftmaxParams{}, {1000, 1, 1}, 1e-6);
    laws::check(ps::SoftmaxParams{}, {21, 20, 31}, 1e-6);
}

TEST_CASE("softmax of many lines of any length, short ones and long ones") {
    for (const int length : {1, 2, 3, 4, 5, 7, 8, 9, 12, 13, 16, 24, 25, 33, 48, 49, 64}) {
        laws::check(ps::SoftmaxParams{ps::Axis::w}, {5, 13, length}, 1e-6);
        laws::check(ps::SoftmaxParams{ps::Axis::c}, {length, 16, 6}, 1e-6);
    }
    laws::check(ps::SoftmaxParams{ps::Axis::w}, {1, 19, 111}, 1e-6);
    for (const int length : {512, 513, 1024, 1025}) laws::check(ps::SoftmaxParams{ps::Axis::w}, {1, 2, length}, 1e-6);
}

template <class L>
void check_special_values(int w) {
    const auto of = [w](std::vector<float> const& channels) {
        const ps::Shape shape{static_cast<int>(channels.size()), 1, w};
        std::vector<float> elements;
        for (const float x : channels) elements.insert(elements.end(), static_cast<std::size_t>(w), x);
        const std::vector<float> y = laws::run_one<L>(ps::SoftmaxParams{}, shape, elements);
        std::vector<float> last;
        for (int c = 0; c < shape.c; ++c) last.push_back(y[L::offset(shape, {c, 0, w - 1})]);
        return last;
    };
    // Large values do not overflow; only differences count.
    CHECK(of({1000, 1000}) == std::vector<float>{0.5F, 0.5F});
    CHECK(of({-3e38F, 3e38F}) == std::vector<float>{0, 1});
    CHECK(of({-infinity, 0, 0, -infinity}) == std::vector<float>{0, 0.5F, 0.5F, 0});
    // As PyTorch: nothing can be said of NaN, of two infinities, of nothing but minus infinity.
    for (auto const& x : {std::vector<float>{1, std::nanf(""), 2}, {infinity, 1}, {-infinity, -infinity}}) {
        const std::vector<float> y = of(x);
        CHECK(std::isnan(y[0]));
    }
    // From PyTorch 1.13.
    const std::vector<float> y = of({1, 2, -3, 0.5F}), expected{0.23024878F, 0.62588108F, 0.004217153F, 0.13965295F};
    for (std::size_t i = 0; i < 4; ++i) CHECK(y[i] == doctest::Approx(expected[i]).epsilon(1e-6));
}

TEST_CASE("softmax of extreme values") {
    for (const int w : {1, 2, 19}) {
        check_special_values<ps::chw>(w);
        check_special_values<ps::hcw>(w);
        check_special_values<ps::hwc>(w);
    }
}

TEST_CASE("a line of minus infinity alone has no softmax") {
    const std::vector<float> x(3, -laws::infinity);
    for (const float y : laws::run_one<ps::chw>(ps::SoftmaxParams{ps::Axis::w}, {1, 1, 3}, x)) CHECK(std::isnan(y));
}

TEST_CASE("elements of minus infinity have no share, in lines of any length") {
    for (const std::size_t length : {3U, 40U, 100U, 600U, 1100U}) {
        std::vector<float> x(5 * length, -laws::infinity);
        for (std::size_t line = 0; line < 5; ++line) x[line * length + line % 3] = x[line * length + length - 1] = 7;
        const auto y = laws::run_one<ps::chw>(ps::SoftmaxParams{ps::Axis::w}, {1, 5, static_cast<int>(length)}, x);
        for (std::size_t i = 0; i < y.size(); ++i) {
            const std::size_t line = i / length, at = i % length;
            const bool alone = line % 3 == length - 1;
            CHECK(y[i] == (at == line % 3 || at == length - 1 ? (alone ? 1.0F : 0.5F) : 0.0F));
        }
    }
}

}  // namespace

}  // namespace op_softmax
