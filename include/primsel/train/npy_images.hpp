#pragma once

#include <primsel/core/error.hpp>
#include <primsel/core/finite.hpp>
#include <primsel/io/npy.hpp>
#include <primsel/network/weights.hpp>
#include <primsel/tensor/shape.hpp>
#include <primsel/train/data.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace primsel::inline PRIMSEL_ABI {

/// Images in an array of n x h x w or n x c x h x w, and their labels in one of n. Images of uint8 stay bytes, which
/// are read as 0 to 1; of other types they are the values that there are. `classes` is how many there are; 0: one more
/// than the largest label. The names are what errors call the arrays. Throws error for other shapes, arrays that are
/// not equally long, an element that is not finite, and a label that is no class.
[[nodiscard]] inline LabelledImages labelled_images(std::string const& images_name, NpyArray images,
                                                    std::string const& labels_name, NpyArray const& labels,
                                                    int classes = 0) {
    const std::size_t dims = images.dims.size();
    if (dims != 3 && dims != 4) {
        fail(images_name, ": its shape ", to_string(images.dims), " is neither n x h x w nor n x c x h x w");
    }
    if (labels.dims.size() != 1 || labels.dims[0] != images.dims[0]) {
        fail(labels_name, ": its shape ", to_string(labels.dims), " is not the ", images.dims[0], " of the images in ",
             images_name);
    }
    const std::int64_t c = dims == 4 ? images.dims[1] : 1, h = images.dims[dims - 2], w = images.dims[dims - 1];
    if (images.values.empty() || !within_bounds(c, h, w)) {
        fail(images_name, ": its shape ", to_string(images.dims), " is no number of images");
    }
    LabelledImages read{.image = {static_cast<int>(c), static_cast<int>(h), static_cast<int>(w)}};
    for (std::size_t i = 0; i < images.values.size(); ++i) {
        if (!is_finite(images.values[i])) fail(images_name, ": element ", i, " is not finite");
    }
    if (images.type == NpyType::uint8) {
        read.bytes.reserve(images.values.size());
        for (const float value : images.values) read.bytes.push_back(static_cast<std::uint8_t>(value));
    } else {
        read.floats = std::move(images.values);
    }
    constexpr int most_classes = 1 << 24;  // labels are floats in a batch
    const int bound = classes == 0 ? most_classes : classes;
    for (std::size_t i = 0; i < labels.values.size(); ++i) {
        const float label = labels.values[i];
        const bool is_class = label >= 0 && label < static_cast<float>(bound) && label == std::trunc(label);
        if (!is_class) {
            fail(labels_name, ": element ", i, ", ", label, ", is none of the ", bound, " classes");
        }
        read.labels.push_back(static_cast<int>(label));
    }
    read.class_count = classes == 0 ? *std::ranges::max_element(read.labels) + 1 : classes;
    check_images(images_name, read);
    return read;
}

/// The same of .npy files. Throws error as read_npy and labelled_images do.
[[nodiscard]] inline LabelledImages read_npy_images(std::string const& images_path, std::string const& labels_path,
                                                    int classes = 0) {
    return labelled_images(images_path, read_npy(images_path), labels_path, read_npy(labels_path), classes);
}

}  // namespace primsel::inline PRIMSEL_ABI
