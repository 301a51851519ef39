#include <primsel/train/augment.hpp>

#include <doctest/doctest.h>

#include <set>
#include <vector>

#include "values.hpp"

namespace ps = primsel;

namespace augmented {

constexpr ps::Shape shape{2, 5, 7};
std::size_t at(int c, int h, int w) { return static_cast<std::size_t>((c * shape.h + h) * shape.w + w); }
std::vector<float> image() {
    std::vector<float> values(shape.size());
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i + 1);
    return values;
}
std::vector<float> by(ps::Augment const& augment, int sample) {
    std::vector<float> values = image(), scratch(shape.size());
    ps::Random random(1, 2, sample);
    augment(shape, values.data(), scratch.data(), random);
    return values;
}
/// Moved down and right, with zeros.
std::vector<float> moved(int down, int right) {
    const std::vector<float> from = image();
    std::vector<float> values(shape.size());
    for (int c = 0; c < shape.c; ++c) {
        for (int h = 0; h < shape.h; ++h) {
            for (int w = 0; w < shape.w; ++w) {
                const int y = h - down, x = w - right;
                if (y >= 0 && y < shape.h && x >= 0 && x < shape.w) values[at(c, h, w)] = from[at(c, y, x)];
            }
        }
    }
    return values;
}

}  // namespace augmented

TEST_CASE("augmentation depends on the generator alone, and by default does nothing") {
    for (int sample = 0; sample < 5; ++sample) {
        CHECK(augmented::by({}, sample) == augmented::image());
        const ps::Augment all{.flip = true, .crop = 2, .erase = 3};
        CHECK(augmented::by(all, sample) == augmented::by(all, sample));
    }
}

TEST_CASE("a flip mirrors half the images") {
    std::vector<float> mirrored(augmented::shape.size());
    for (int c = 0; c < 2; ++c) {
        for (int h = 0; h < 5; ++h) {
            for (int w = 0; w < 7; ++w)
                mirrored[augmented::at(c, h, w)] = augmented::image()[augmented::at(c, h, 6 - w)];
        }
    }
    int flipped = 0;
    for (int sample = 0; sample < 1000; ++sample) {
        const std::vector<float> values = augmented::by({.flip = true}, sample);
        flipped += values == mirrored ? 1 : 0;
        CHECK_UNARY(values == mirrored || values == augmented::image());
    }
    CHECK(std::abs(flipped - 500) < 80);
}

TEST_CASE("a crop is one of all moves, also beyond the image") {
    for (const int most : {1, 2, 9}) {
        CAPTURE(most);
        std::set<std::vector<float>> moves, seen;
        for (int down = -most; down <= most; ++down) {
            for (int right = -most; right <= most; ++right) moves.insert(augmented::moved(down, right));
        }
        for (int sample = 0; sample < 3000; ++sample) seen.insert(augmented::by({.crop = most}, sample));
        CHECK(seen == moves);
    }
}

TEST_CASE("a square is erased, or what of it lies in the image") {
    std::set<std::size_t> sizes;
    for (int sample = 0; sample < 1000; ++sample) {
        const std::vector<float> values = augmented::by({.erase = 3}, sample);
        int top = 5, bottom = -1, left = 7, right = -1, zeros = 0;
        for (int h = 0; h < 5; ++h) {
            for (int w = 0; w < 7; ++w) {
                const float value = values[augmented::at(0, h, w)];
                CHECK_UNARY((value == 0) == (values[augmented::at(1, h, w)] == 0));
                CHECK_UNARY(value == 0 || value == augmented::image()[augmented::at(0, h, w)]);
                if (value != 0) continue;
                ++zeros;
                top = std::min(top, h), bottom = std::max(bottom, h), left = std::min(left, w),
                right = std::max(right, w);
            }
        }
        CHECK(zeros == (bottom - top + 1) * (right - left + 1));
        sizes.insert(static_cast<std::size_t>(zeros));
    }
    CHECK(sizes == std::set<std::size_t>{4, 6, 9});
    for (const float value : augmented::by({.erase = 100}, 1)) CHECK(value == 0);
}
