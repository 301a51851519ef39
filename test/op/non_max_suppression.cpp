#include "laws.hpp"

#include <primsel/op/non_max_suppression.hpp>

#include <limits>

namespace op_non_max_suppression {

namespace {

namespace ps = primsel;
using ps::NonMaxSuppressionParams;
using Floats = std::vector<float>;

using laws::infinity;

Floats suppress(NonMaxSuppressionParams const& params, Floats const& boxes, Floats const& scores, int classes = 1) {
    const int count = static_cast<int>(boxes.size() / 4);
    laws::Image corners({1, count, 4}), values({1, classes, count});
    std::ranges::copy(boxes, corners.data.begin());
    std::ranges::copy(scores, values.data.begin());
    ps::Sequential sequential;
    return laws::run<ps::chw>(params, {{corners}, {values}}, {}, sequential);
}
// The boxes of ONNX's tests: the first three overlap, the next three too, but for the last.
const Floats six{0, 0, 1, 1, 0, 0.1F, 1, 1.1F, 0, -0.1F, 1, 0.9F, 0, 10, 1, 11, 0, 10.1F, 1, 11.1F, 0, 100, 1, 101};
const Floats scores{0.9F, 0.75F, 0.6F, 0.95F, 0.5F, 0.3F};

TEST_CASE("what stays is what the definition says") {
    laws::Random random(7);
    for (const int count : {1, 2, 9, 60, 300}) {
        for (const int classes : {1, 3}) {
            std::vector<laws::Images> inputs(2);
            for (int image = 0; image < 2; ++image) {
                // Whole numbers: many overlaps and many scores are equal.
                laws::Image boxes = random.image({2, count, 4}, 8.0F), values = random.image({2, classes, count}, 8.0F);
                for (double& x : boxes.data) x = std::round(x);
                for (double& x : values.data) x = std::round(x);
                inputs[0].push_back(boxes), inputs[1].push_back(values);
            }
            for (const int most : {1, 2, 7, 1000}) {
                for (const float threshold : {0.0F, 0.25F, 0.75F, 1.0F}) {
                    for (const bool centers : {false, true}) {
                        CAPTURE(count);
                        CAPTURE(most);
                        CAPTURE(threshold);
                        NonMaxSuppressionParams params{
                            .boxes_per_class = most, .iou_threshold = threshold, .centers = centers};
                        laws::check(params, inputs, {}, 0);
                        params.score_threshold = 2;
                        laws::check(params, inputs, {}, 0);
                    }
                }
            }
        }
    }
}

TEST_CASE("rows without a box are -1") {
    const NonMaxSuppressionParams params{.boxes_per_class = 4, .iou_threshold = 0.5F};
    CHECK(suppress(params, six, scores) == Floats{0, 0, 3, 0, 0, 0, 0, 0, 5, -1, -1, -1});
    Floats twice = scores;
    twice.insert(twice.end(), {0, 0, 0, 0, 0, 1});
    // The rows of a class follow those of the class before.
    CHECK(suppress({.boxes_per_class = 2, .iou_threshold = 0.5F, .score_threshold = 0.92F}, six, twice, 2) ==
          Floats{0, 0, 3, 0, 1, 5, -1, -1, -1, -1, -1, -1});
    CHECK(suppress({.boxes_per_class = 2, .score_threshold = infinity}, six, scores) == Floats(6, -1));
}

TEST_CASE("more boxes that overlap the first than there is room for") {
    Floats boxes, values;
    for (int i = 0; i < 1000; ++i) boxes.insert(boxes.end(), {0, 0, 1, 1}), values.push_back(1);
    boxes.insert(boxes.end(), {5, 5, 6, 6}), values.push_back(0.5F);
    CHECK(suppress({.boxes_per_class = 2, .iou_threshold = 0.5F}, boxes, values) == Floats{0, 0, 0, 0, 0, 1000});
    CHECK(suppress({.boxes_per_class = 3, .iou_threshold = 0.5F}, boxes, values) ==
          Floats{0, 0, 0, 0, 0, 1000, -1, -1, -1});
}

TEST_CASE("a score that is NaN keeps no box, and a box of NaN overlaps none") {
    const float nan = std::nanf("");
    const NonMaxSuppressionParams params{.boxes_per_class = 6, .iou_threshold = 0.5F};
    CHECK(suppress(params, six, Floats(6, nan)) == Floats(18, -1));
    Floats some = scores;
    some[3] = nan, some[1] = -infinity, some[0] = infinity;
    CHECK(suppress(params, six, some) == Floats{0, 0, 0, 0, 0, 4, 0, 0, 5, -1, -1, -1, -1, -1, -1, -1, -1, -1});
    CHECK(suppress(params, Floats(24, nan), scores) == Floats{0, 0, 3, 0, 0, 0, 0, 0, 1, 0, 0, 2, 0, 0, 4, 0, 0, 5});
    // Minus infinity is a score as any other where none is too small.
    CHECK(suppress({.boxes_per_class = 1}, {0, 0, 1, 1}, {-infinity}) == Floats{0, 0, 0});
}

}  // namespace

}  // namespace op_non_max_suppression
