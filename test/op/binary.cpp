#include "laws.hpp"

#include <primsel/op/binary.hpp>

namespace op_binary {

namespace {

namespace ps = primsel;
using ps::BinaryKind;

using laws::infinity;
const std::vector<BinaryKind> all_kinds = {BinaryKind::add, BinaryKind::subtract, BinaryKind::multiply,
                                           BinaryKind::divide, BinaryKind::prelu};

TEST_CASE("a binary function broadcasts either input along any axes in every layout") {
    laws::Random random(9);
    for (const BinaryKind kind : all_kinds) {
        for (ps::Shape const& shape : laws::odd_shapes()) {
            for (int one_in_a = 0; one_in_a < 8; ++one_in_a) {
                for (const int one_in_b : {0, 1, 3, 6, 7}) {
                    const auto with_ones = [&shape](int ones) {
                        return ps::Shape{ones & 1 ? 1 : shape.c, ones & 2 ? 1 : shape.h, ones & 4 ? 1 : shape.w};
                    };
                    const ps::Shape shapes[] = {with_ones(one_in_a), with_ones(one_in_b)};
                    std::vector<laws::Images> inputs(2);
                    for (std::size_t i = 0; i < 2; ++i) {
                        for (int n = 0; n < 2; ++n) {
                            inputs[i].push_back(random.image(shapes[i]));
                            // Nothing close to zero to divide by.
                            if (i == 1 && kind == BinaryKind::divide) {
                                for (double& x : inputs[i].back().data) x += x < 0 ? -0.5 : 0.5;
                            }
                        }
                    }
                    CAPTURE(one_in_a);
                    CAPTURE(one_in_b);
                    laws::check(ps::BinaryParams{kind}, inputs, {}, 1e-6);
                }
            }
        }
    }
}

TEST_CASE("prelu at zero, of infinities and of NaN") {
    const auto prelu = [](float a, float b) {
        laws::Image x({1, 1, 1}), y({1, 1, 1});
        x.data[0] = a, y.data[0] = b;
        ps::Sequential sequential;
        return laws::run<ps::chw>(ps::BinaryParams{BinaryKind::prelu}, {{x}, {y}}, {}, sequential)[0];
    };
    CHECK(prelu(3, 0.5F) == 3.0F);
    CHECK(prelu(-3, 0.5F) == -1.5F);
    CHECK(prelu(0, infinity) == 0.0F);
    CHECK(prelu(-infinity, 0.5F) == -infinity);
    CHECK(std::isnan(prelu(std::nanf(""), 0.5F)));
}

TEST_CASE("powers, bounds, rests, comparisons and choices agree with the reference") {
    laws::Random random(11);
    for (const BinaryKind kind :
         {BinaryKind::power, BinaryKind::minimum, BinaryKind::maximum, BinaryKind::modulo, BinaryKind::remainder,
          BinaryKind::equal, BinaryKind::greater, BinaryKind::greater_or_equal, BinaryKind::keep}) {
        for (ps::Shape const& shape : {ps::Shape{3, 7, 5}, ps::Shape{17, 5, 8}, ps::Shape{33, 4, 3}}) {
            for (ps::Shape const& other :
                 {shape, ps::Shape{shape.c, 1, 1}, ps::Shape{1, 1, 1}, ps::Shape{1, shape.h, 1}}) {
                laws::Image a = random.image(shape), b = random.image(other);
                // Quarters: sums and rests are exact, and many are equal.
                for (double& x : a.data) x = std::round(4 * x) / 4;
                for (double& x : b.data) x = std::round(4 * x) / 4;
                if (kind == BinaryKind::power) {
                    for (double& x : a.data) x = std::abs(x) + 0.25;
                }
                if (kind == BinaryKind::modulo || kind == BinaryKind::remainder) {
                    for (double& x : b.data) x = x == 0 ? 0.75 : x;
                }
                laws::check(ps::BinaryParams{kind}, {{a}, {b}}, {}, kind == BinaryKind::power ? 1e-6 : 0);
                const bool any_order =
                    kind != BinaryKind::power && kind != BinaryKind::modulo && kind != BinaryKind::remainder;
                if (any_order) laws::check(ps::BinaryParams{kind}, {{b}, {a}}, {}, 0);
            }
        }
    }
}

TEST_CASE("bounds keep NaN; a choice hides what is not chosen; rests have a sign") {
    const auto of = [](BinaryKind kind, float a, float b) {
        laws::Image x({1, 1, 1}), y({1, 1, 1});
        x.data[0] = a, y.data[0] = b;
        ps::Sequential sequential;
        return laws::run<ps::chw>(ps::BinaryParams{kind}, {{x}, {y}}, {}, sequential)[0];
    };
    const float nan = std::nanf("");
    for (const BinaryKind kind : {BinaryKind::minimum, BinaryKind::maximum}) {
        CHECK(std::isnan(of(kind, nan, 1)));
        CHECK(std::isnan(of(kind, 1, nan)));
    }
    CHECK(of(BinaryKind::keep, 0, nan) == 0.0F);
    CHECK(of(BinaryKind::keep, 1, infinity) == infinity);
    CHECK(of(BinaryKind::equal, nan, nan) == 0.0F);
    CHECK(of(BinaryKind::greater, infinity, 1) == 1.0F);
    CHECK(of(BinaryKind::modulo, -7, 3) == 2.0F);
    CHECK(of(BinaryKind::modulo, 7, -3) == -2.0F);
    CHECK(of(BinaryKind::remainder, -7, 3) == -1.0F);
}

}  // namespace

}  // namespace op_binary
