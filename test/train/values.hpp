// Shared parts of this room's tests.
#pragma once

#include "../error_of.hpp"

#include <cstddef>
#include <cstdint>
#include <primsel/core/error.hpp>
#include <primsel/train/data.hpp>
#include <primsel/train/random.hpp>
#include <string>
#include <vector>

namespace values {

/// From -range to range, multiples of 2^-10.
inline std::vector<float> drawn(std::size_t count, std::uint64_t seed, float range = 2) {
    primsel::Random random(seed);
    std::vector<float> values(count);
    for (float& value : values) value = (static_cast<float>(random.below(2049)) / 1024 - 1) * range;
    return values;
}

/// Images of bytes whose values and labels tell which they are.
inline primsel::LabelledImages numbered(std::size_t count, primsel::Shape shape = {1, 2, 3}, int classes = 3) {
    primsel::LabelledImages images{.image = shape, .class_count = classes};
    for (std::size_t i = 0; i < count; ++i) {
        for (std::size_t p = 0; p < shape.size(); ++p) images.bytes.push_back(static_cast<std::uint8_t>(i + 40 * p));
        images.labels.push_back(static_cast<int>(i) % classes);
    }
    return images;
}

using tests::error_of;

}  // namespace values
