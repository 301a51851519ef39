#include "laws.hpp"

#include <primsel/op/binary.hpp>

namespace {

namespace ps = primsel;
using ps::BinaryKind;

constexpr float infinity = std::numeric_limits<float>::infinity();
const std::vector<BinaryKind> all = {BinaryKind::add, BinaryKind::subtract, BinaryKind::multiply, BinaryKind::divide,
                                     BinaryKind::prelu};

TEST_CASE("a binary function broadcasts either input along any axes in every layout") {
    laws::Random random(9);
    for (const BinaryKind kind : all) {
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

}  // namespace
