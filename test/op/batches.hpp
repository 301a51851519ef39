#pragma once

#include "gradient_laws.hpp"

#include <utility>
#include <vector>

namespace batches_of_images {

namespace ps = primsel;
using laws::Image;
using laws::Images;

/// Shapes with their batches: odd ones, and some of several blocks and pieces.
inline std::vector<std::pair<ps::Shape, int>> batches() {
    std::vector<std::pair<ps::Shape, int>> result;
    for (ps::Shape const& shape : laws::odd_shapes()) result.push_back({shape, 1}), result.push_back({shape, 3});
    result.push_back({{3, 71, 70}, 2}), result.push_back({{70, 13, 11}, 4}), result.push_back({{600, 2, 2}, 2});
    return result;
}

inline ps::Shape vector_of(int n) { return {n, 1, 1}; }

template <class F>
void each_pixel(Images const& x, F const& f) {
    for (std::size_t n = 0; n < x.size(); ++n) {
        for (int h = 0; h < x[n].shape.h; ++h) {
            for (int w = 0; w < x[n].shape.w; ++w) f(n, h, w);
        }
    }
}

inline Image statistics(Images const& x) {
    const int channels = x[0].shape.c;
    const double count = static_cast<double>(x.size() * x[0].shape.pixels());
    Image result(vector_of(2 * channels));
    for (int c = 0; c < channels; ++c) {
        double sum = 0, squares = 0;
        each_pixel(x, [&](std::size_t n, int h, int w) { sum += x[n](c, h, w); });
        const double mean = sum / count;
        each_pixel(x, [&](std::size_t n, int h, int w) { squares += (x[n](c, h, w) - mean) * (x[n](c, h, w) - mean); });
        result(c, 0, 0) = mean, result(channels + c, 0, 0) = squares / count;
    }
    return result;
}

/// As float, so that op and reference start from the same numbers.
inline Image rounded(Image image) {
    for (double& value : image.data) value = static_cast<double>(static_cast<float>(value));
    return image;
}

}  // namespace batches_of_images
