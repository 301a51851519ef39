// Labelled images as the tests of their files want them.
#pragma once

#include <primsel/train/data.hpp>
#include <primsel/train/random.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace labelled {

/// Images of random bytes.
inline primsel::LabelledImages images(std::size_t count, primsel::Shape shape, int classes) {
    primsel::LabelledImages images{.image = shape, .class_count = classes};
    primsel::Random random(count);
    for (std::size_t i = 0; i < count * shape.size(); ++i) {
        images.bytes.push_back(static_cast<std::uint8_t>(random.below(256)));
    }
    // Each class is there, the last one too.
    for (std::size_t i = 0; i < count; ++i) images.labels.push_back(classes - 1 - static_cast<int>(i) % classes);
    return images;
}
inline bool same(primsel::LabelledImages const& a, primsel::LabelledImages const& b) {
    return a.image == b.image && a.bytes == b.bytes && a.floats == b.floats && a.labels == b.labels &&
           a.class_count == b.class_count;
}
inline std::span<const std::byte> bytes(std::string_view text) { return std::as_bytes(std::span(text)); }

}  // namespace labelled
