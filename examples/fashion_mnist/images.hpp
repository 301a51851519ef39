#pragma once

#include "idx.hpp"

#include <primsel/tensor/shape.hpp>
#include <primsel/train/data.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

namespace fashion {

/// The images of Debian's package dataset-fashion-mnist, "train" or "t10k", in a network's shape: with a border of
/// zeros around the 28x28 pixels, and the same values in each channel. Throws primsel::error when a file is missing or
/// damaged.
inline primsel::LabelledImages read_images(std::string const& part, primsel::Shape shape) {
    const std::string folder = "/usr/share/datasets/fashion-mnist/";
    const Bytes labels = read_idx(folder + part + "-labels-idx1-ubyte.gz");
    Bytes pixels = read_idx(folder + part + "-images-idx3-ubyte.gz");
    constexpr primsel::Shape own{1, 28, 28};
    primsel::LabelledImages images{.image = shape, .class_count = 10};
    images.labels.assign(labels.values.begin(), labels.values.end());
    if (pixels.values.size() != images.size() * own.size()) primsel::fail(part, ": the images do not match the labels");
    if (shape == own) {
        images.bytes = std::move(pixels.values);
        return images;
    }
    const auto w = static_cast<std::size_t>(shape.w), top = static_cast<std::size_t>(shape.h - own.h) / 2,
               left = static_cast<std::size_t>(shape.w - own.w) / 2, row = static_cast<std::size_t>(own.w);
    images.bytes.resize(images.size() * shape.size());
    for (std::size_t i = 0; i < images.size(); ++i) {
        for (std::size_t c = 0; c < static_cast<std::size_t>(shape.c); ++c) {
            for (std::size_t y = 0; y < static_cast<std::size_t>(own.h); ++y) {
                std::copy_n(&pixels.values[i * own.size() + y * row], row,
                            &images.bytes[i * shape.size() + c * shape.pixels() + (top + y) * w + left]);
            }
        }
    }
    return images;
}

}  // namespace fashion
