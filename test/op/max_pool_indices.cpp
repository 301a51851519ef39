#include "laws.hpp"

#include <primsel/op/max_pool_indices.hpp>

namespace {

namespace ps = primsel;
using ps::MaxPoolIndicesParams;

TEST_CASE("indices of maxima agree with the reference") {
    const std::vector<ps::PoolParams> all = {
        {.window = 2, .stride = 2},
        {.window = 3, .stride = 2, .padding = 1, .ceil_mode = true},
        {.window = {5, 4}, .stride = {1, 3}, .padding = {2, 1}},
        {.window = 3, .stride = 1, .padding = 2, .dilation = 2},
    };
    for (ps::PoolParams const& pool : all) {
        for (ps::Shape const& shape : laws::odd_shapes()) {
            if (pool.check({&shape, 1}) != ps::Fault::none) continue;
            laws::check(MaxPoolIndicesParams{pool}, shape, 0);
            // Many equal ones.
            laws::Random random(3);
            laws::Image image = random.image(shape);
            for (double& x : image.data) x = std::floor(x);
            laws::check(MaxPoolIndicesParams{pool}, {{image}}, {}, 0);
        }
    }
}

TEST_CASE("the first of equal maxima counts, and the first NaN") {
    const auto index = [](std::vector<float> const& x) {
        return laws::run_one<ps::chw>(MaxPoolIndicesParams{{.window = {1, 4}, .stride = 1}}, {1, 1, 4}, x)[0];
    };
    CHECK(index({1, 3, 3, 2}) == 1.0F);
    CHECK(index({1, 3, std::nanf(""), std::nanf("")}) == 2.0F);
    const float infinity = std::numeric_limits<float>::infinity();
    CHECK(index({-infinity, -infinity, -infinity, -infinity}) == 0.0F);
    // Both taps in the padding.
    const MaxPoolIndicesParams gaps{{.window = {1, 2}, .stride = 1, .padding = {0, 1}, .dilation = 3}};
    CHECK(laws::run_one<ps::chw>(gaps, {1, 1, 2}, {5, 6}) == std::vector<float>{-1.0F});
}

}  // namespace
