#include "laws.hpp"

#include <primsel/op/top_k.hpp>

namespace {

namespace ps = primsel;
using ps::TopKParams;

TEST_CASE("the largest and the smallest of each row, and where they lie, are those of a sorted row") {
    laws::Random random(3);
    for (ps::Shape const& shape : {ps::Shape{1, 1, 1}, ps::Shape{3, 7, 5}, ps::Shape{1, 2, 300}}) {
        laws::Image image = random.image(shape, 4.0F);
        for (double& x : image.data) x = std::round(4 * x);  // many are equal
        for (const int k : {1, std::max(1, shape.w / 3), shape.w}) {
            for (const bool largest : {false, true}) {
                for (const bool positions : {false, true}) {
                    laws::check(TopKParams{k, largest, positions}, {{image, image}}, {}, 0);
                }
            }
        }
    }
}

TEST_CASE("NaN comes last") {
    const std::vector<float> row{std::nanf(""), 1, std::nanf(""), 2};
    CHECK(laws::run_one<ps::chw>(TopKParams{4, true, true}, {1, 1, 4}, row) == std::vector<float>{3, 1, 0, 2});
    CHECK(laws::run_one<ps::chw>(TopKParams{4, false, true}, {1, 1, 4}, row) == std::vector<float>{1, 3, 0, 2});
}

}  // namespace
