#include "gradient_laws.hpp"

#include <primsel/op/repeat.hpp>

namespace {

namespace ps = primsel;
using laws::Image;
using laws::Images;

TEST_CASE("a parameter is repeated for each image, in every layout") {
    laws::Random random(5);
    for (const int count : {1, 7, 64, 1000}) {
        const Images values = laws::random_images(random, {count, 1, 1}, 1);
        laws::check_step(ps::RepeatParams{}, {{values}, 3}, {values[0], values[0], values[0]}, 0);
    }
}

}  // namespace
