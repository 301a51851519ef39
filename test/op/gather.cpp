#include "laws.hpp"

#include <primsel/op/gather.hpp>

#include <limits>

namespace {

namespace ps = primsel;
using ps::GatherParams;

std::vector<float> gather(GatherParams params, ps::Shape shape, std::vector<float> const& indices) {
    laws::Image data(shape), at({static_cast<int>(indices.size()), 1, 1});
    for (std::size_t i = 0; i < data.data.size(); ++i) data.data[i] = static_cast<double>(i + 1);
    std::ranges::copy(indices, at.data.begin());
    ps::Sequential sequential;
    return laws::run<ps::chw>(params, {{data}, {at}}, {}, sequential);
}

TEST_CASE("gather agrees with the reference") {
    for (ps::Shape const& shape : laws::odd_shapes()) {
        for (const bool from_end : {false, true}) {
            // Some are outside.
            laws::check(GatherParams{from_end}, {shape, ps::Shape{5, 3, 7}}, 0, {},
                        1.25F * static_cast<float>(shape.h));
            laws::check(GatherParams{from_end, true}, {shape, ps::Shape{shape.c, 4, shape.w}}, 0, {},
                        1.25F * static_cast<float>(shape.h));
        }
    }
}

TEST_CASE("an index that names nothing gives zeros") {
    constexpr float huge = std::numeric_limits<float>::max(), infinity = std::numeric_limits<float>::infinity();
    const std::vector<float> indices{2, 3, std::nanf(""), infinity, -infinity, huge, -huge, 1e10F, -1e10F, 0};
    CHECK(gather({}, {1, 3, 1}, indices) == std::vector<float>{3, 0, 0, 0, 0, 0, 0, 0, 0, 1});
}

TEST_CASE("indices below zero count from the end, or name nothing") {
    const std::vector<float> indices{-1, -3, -4, -0.0F, 1};
    CHECK(gather({true}, {1, 3, 2}, indices) == std::vector<float>{5, 6, 1, 2, 0, 0, 1, 2, 3, 4});
    CHECK(gather({false}, {1, 3, 2}, indices) == std::vector<float>{0, 0, 0, 0, 0, 0, 1, 2, 3, 4});
}

}  // namespace
