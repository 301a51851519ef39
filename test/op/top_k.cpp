#include "laws.hpp"

#include <primsel/op/top_k.hpp>

namespace {

namespace ps = primsel;
using ps::TopKParams;

TEST_CASE("the largest and the smallest of each row, and where they lie, are those of a sorted row") {
    laws::Random random(3);
    for (ps::Shape const& shape :
         {ps::Shape{1, 1, 1}, ps::Shape{3, 7, 5}, ps::Shape{1, 2, 300}, ps::Shape{2, 1, 5003}}) {
        laws::Image image = random.image(shape, 4.0F);
        for (double& x : image.data) x = std::round(4 * x);  // many are equal
        for (const int k : {1, std::max(1, shape.w / 40), std::max(1, shape.w / 3), shape.w}) {
            for (const bool largest : {false, true}) {
                for (const bool positions : {false, true}) {
                    laws::check(TopKParams{k, largest, positions}, {{image, image}}, {}, 0);
                }
            }
        }
    }
}

TEST_CASE("the best of a row that ascends, and of one whose best are at its ends") {
    std::vector<float> row(1000);
    for (std::size_t i = 0; i < row.size(); ++i) row[i] = static_cast<float>(i);
    const auto of = [&row](int k, bool largest) {
        return laws::run_one<ps::chw>(TopKParams{k, largest, true}, {1, 1, 1000}, row);
    };
    CHECK(of(3, true) == std::vector<float>{999, 998, 997});
    CHECK(of(3, false) == std::vector<float>{0, 1, 2});
    row[0] = 5000, row[500] = -7;
    CHECK(of(2, true) == std::vector<float>{0, 999});
    CHECK(of(2, false) == std::vector<float>{500, 1});
}

TEST_CASE("of a row of NaN the first come first, after zeros of either sign in their order") {
    std::vector<float> row(400, std::nanf(""));
    row[7] = -0.0F, row[390] = 0.0F;
    for (const bool largest : {false, true}) {
        CHECK(laws::run_one<ps::chw>(TopKParams{4, largest, true}, {1, 1, 400}, row) ==
              std::vector<float>{7, 390, 0, 1});
    }
}

TEST_CASE("NaN comes last") {
    const std::vector<float> row{std::nanf(""), 1, std::nanf(""), 2};
    CHECK(laws::run_one<ps::chw>(TopKParams{4, true, true}, {1, 1, 4}, row) == std::vector<float>{3, 1, 0, 2});
    CHECK(laws::run_one<ps::chw>(TopKParams{4, false, true}, {1, 1, 4}, row) == std::vector<float>{1, 3, 0, 2});
}

}  // namespace
