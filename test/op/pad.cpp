#include "laws.hpp"

#include <primsel/op/pad.hpp>

namespace {

namespace ps = primsel;
using ps::PadMode;

TEST_CASE("pad puts a constant border around every channel") {
    for (ps::Shape const& shape : laws::odd_shapes()) {
        for (ps::PadParams const& params : {ps::PadParams{}, ps::PadParams{1}, ps::PadParams{{3, 0, 0, 1}, -1.5F},
                                            ps::PadParams{{0, 2, 17, 5}, 0.25F}}) {
            laws::check(params, shape, 0);
        }
    }
}

TEST_CASE("pad puts constant channels before and after") {
    for (ps::Shape const& shape : laws::odd_shapes()) {
        laws::check(ps::PadParams{.value = 0.5F, .front = 2}, shape, 0);
        laws::check(ps::PadParams{.back = 17}, shape, 0);
        laws::check(ps::PadParams{.padding = {1, 0, 2, 3}, .value = -3.0F, .front = 1, .back = 4}, shape, 0);
    }
}

TEST_CASE("pad mirrors the image or repeats its edge") {
    for (ps::Shape const& shape : laws::odd_shapes()) {
        for (const ps::Padding padding :
             {ps::Padding{0}, ps::Padding{1}, ps::Padding{0, 2, 3, 1}, ps::Padding{4, 6, 16, 10}}) {
            const ps::PadParams reflect{.padding = padding, .mode = PadMode::reflect};
            if (reflect.check({&shape, 1}) == ps::Fault::none) laws::check(reflect, shape, 0);
            laws::check(ps::PadParams{.padding = padding, .mode = PadMode::edge}, shape, 0);
        }
    }
    // Borders wider than a vector, and rows too wide for a table.
    for (const ps::PadMode mode : {PadMode::reflect, PadMode::edge}) {
        laws::check(ps::PadParams{.padding = {1, 0, 39, 38}, .mode = mode}, ps::Shape{2, 2, 40}, 0);
        laws::check(ps::PadParams{.padding = {0, 1, 3, 2}, .mode = mode}, ps::Shape{1, 2, 1500}, 0);
    }
    // From PyTorch 1.13.
    const auto row = [](PadMode mode) {
        return laws::run_one<ps::hwc>(ps::PadParams{.padding = {0, 0, 3, 2}, .mode = mode}, {1, 1, 4}, {1, 2, 3, 4});
    };
    CHECK(row(PadMode::reflect) == std::vector<float>{4, 3, 2, 1, 2, 3, 4, 3, 2});
    CHECK(row(PadMode::edge) == std::vector<float>{1, 1, 1, 1, 2, 3, 4, 4, 4});
}

}  // namespace
