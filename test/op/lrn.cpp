#include "laws.hpp"

#include <primsel/op/lrn.hpp>

namespace {

namespace ps = primsel;

TEST_CASE("LRN agrees with the reference in every layout") {
    for (ps::LrnParams const& params :
         {ps::LrnParams{}, ps::LrnParams{.size = 1, .alpha = 0.5F},
          ps::LrnParams{.size = 4, .alpha = 0.7F, .beta = 0.75F, .k = 2.0F},
          ps::LrnParams{.size = 3, .alpha = 0.3F, .beta = 0.6F, .k = 0.5F},
          ps::LrnParams{.size = 9, .alpha = 2.0F, .beta = 1.0F, .k = 0.1F}, ps::LrnParams{.size = 64, .alpha = 1.0F},
          ps::LrnParams{.size = 200, .alpha = 1.0F}}) {
        CAPTURE(params.size);
        std::vector<ps::Shape> shapes = laws::odd_shapes();
        shapes.insert(shapes.end(), {{600, 1, 2}, {16, 9, 7}});
        for (ps::Shape const& shape : shapes) laws::check(params, shape, 2e-6);
    }
}

// Seven channels of -3, ..., 3; expected: from PyTorch 1.13. An even size reaches further back.
TEST_CASE("LRN gives PyTorch's numbers") {
    const std::vector<float> x{-3, -2, -1, 0, 1, 2, 3};
    const std::vector<float> four{-1.1419320F, -0.7421754F, -0.3710877F, 0, 0.4682745F, 0.7421754F, 1.1132631F};
    const std::vector<float> three{-1.5023110F, -0.9711868F, -0.6951126F, 0, 0.6951126F, 0.9711868F, 1.5023110F};
    const auto check = [&x](ps::LrnParams params, std::vector<float> const& expected) {
        for (const ps::Shape shape : {ps::Shape{7, 1, 1}, ps::Shape{7, 1, 2}}) {
            std::vector<float> elements;
            for (const float value : x) elements.insert(elements.end(), static_cast<std::size_t>(shape.w), value);
            const std::vector<float> chw = laws::run_one<ps::chw>(params, shape, elements);
            const std::vector<float> hwc = laws::run_one<ps::hwc>(params, shape, elements);
            for (int c = 0; c < 7; ++c) {
                const float want = expected[static_cast<std::size_t>(c)];
                CHECK(chw[ps::chw::offset(shape, {c, 0, shape.w - 1})] == doctest::Approx(want).epsilon(1e-6));
                CHECK(hwc[ps::hwc::offset(shape, {c, 0, shape.w - 1})] == doctest::Approx(want).epsilon(1e-6));
            }
        }
    };
    check({.size = 4, .alpha = 0.5F, .beta = 0.75F, .k = 2.0F}, four);
    check({.size = 3, .alpha = 0.5F, .beta = 0.6F, .k = 1.0F}, three);
}

}  // namespace
