#pragma once

#include <primsel/primitive/conv_shape.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <numeric>

namespace primsel::inline PRIMSEL_ABI {

namespace cost::detail {

/// The features of one configuration. Each add function appends the natural logarithm of a positive value.
template <std::size_t count>
struct FeatureRow {
    std::array<float, count> values{};
    std::size_t size = 0;

    void add(double value) { values[size++] = static_cast<float>(std::log(value)); }
    /// Appends log(ceil(value / block) * block / value): how much padding to whole blocks enlarges the value.
    void add_waste(double value, double block) { add(std::ceil(value / block) * block / value); }
    /// Appends the logarithm of the largest power of two, up to 1024, that divides the value. The limit is 1024 because
    /// rows at any multiple of 1024 floats map to the same set of an L1 cache with 64 sets of 64 bytes.
    void add_power_of_two(double value) { add(static_cast<double>(std::gcd(std::llround(value), 1024LL))); }
};

}  // namespace cost::detail

/// The features of a convolution, all as natural logarithms. The first are c, k, im, f and s of Mulder et al. 2020. The
/// others are derived from them:
/// - sizes: operations, floats of images, weights and patches, and the dimensions of the matrix product;
/// - waste: the enlargement by padding to whole tiles, vectors and blocks;
/// - powers of two: the largest that divides each extent. Rows at a distance of a power of two share cache sets, which
/// makes some primitives several times slower.
///
/// im, f and s are geometric means of height and width. c and k are those of one group. The number of groups and the
/// batch are not features.
struct ConvFeatures {
    /// The first five are the raw ones: c, k, im, f, s.
    static constexpr std::size_t raw = 5;
    /// The positions at which the sizes, the waste and the powers of two end. Then follow `per_tile` features for each
    /// of the four Winograd tile sizes: the tiles across the output, their waste and their powers of two.
    static constexpr std::size_t sizes_end = raw + 10, waste_end = sizes_end + 12, powers_end = waste_end + 6,
                                 tile_waste = 3, tile_powers = 3, per_tile = 1 + tile_waste + tile_powers;
    static constexpr std::size_t count = powers_end + 4 * per_tile;

    enum class Kind : std::size_t { image, kernel, size, waste, power_of_two };
    static constexpr std::size_t kinds = 5;
    [[nodiscard]] static constexpr Kind kind_of(std::size_t feature) {
        if (feature < raw) return feature < 3 ? Kind::image : Kind::kernel;
        if (feature < sizes_end) return Kind::size;
        if (feature < powers_end) return feature < waste_end ? Kind::waste : Kind::power_of_two;
        const std::size_t of_tile = (feature - powers_end) % per_tile;
        if (of_tile == 0) return Kind::size;
        return of_tile <= tile_waste ? Kind::waste : Kind::power_of_two;
    }

    [[nodiscard]] static std::array<float, count> of(ConvShape const& s) {
        const double c = s.group_c(), k = s.group_k(), im = side(s.h, s.w), f = side(s.fh, s.fw),
                     stride = side(s.stride_h, s.stride_w), out = side(s.out_h(), s.out_w());
        const double pixels = static_cast<double>(s.out_pixels()), depth = s.depth();
        const double input = c * static_cast<double>(s.in_pixels()), output = k * pixels, weights = k * depth,
                     patches = pixels * depth, operations = 2 * weights * pixels, traffic = input + output + weights;
        cost::detail::FeatureRow<count> row;
        for (const double value : {c, k, im, f, stride, out, operations, input, output, weights, patches, depth, pixels,
                                   traffic, operations / traffic}) {
            row.add(value);
        }
        // Blocks of 4, 8 and 16 are the floats of a vector of SSE4.2, AVX2 and AVX-512; tiles of 2, 3, 4 and 6 are
        // Winograd's.
        for (const double value : {c, k}) {
            for (const double block : {4.0, 8.0, 16.0}) row.add_waste(value, block);
        }
        for (const double block : {2.0, 3.0, 4.0, 6.0}) row.add_waste(out, block);
        row.add_waste(pixels, 8);
        row.add_waste(im, 8);
        for (const double value : {c, k, im, out, pixels, depth}) row.add_power_of_two(value);
        for (const double tile : {2.0, 3.0, 4.0, 6.0}) {
            const double across = std::ceil(out / tile), tiles = across * across;
            row.add(across);
            for (const double block : {4.0, 8.0, 16.0}) row.add_waste(tiles, block);
            for (const double value : {across, tiles, across * out}) row.add_power_of_two(value);
        }
        return row.values;
    }

private:
    [[nodiscard]] static double side(int h, int w) { return std::sqrt(1.0 * h * w); }
};

/// The features of a layout transform of c channels of im x im pixels, as natural logarithms: c, im, and the largest
/// power of two that divides c, im and im * im. They are few because profiles have few samples of transforms.
struct LayoutFeatures {
    /// The first two are the raw ones: c and im.
    static constexpr std::size_t raw = 2;
    static constexpr std::size_t count = 2 + 3;

    [[nodiscard]] static std::array<float, count> of(double c, double im) {
        cost::detail::FeatureRow<count> row;
        for (const double value : {c, im}) row.add(value);
        for (const double value : {c, im, im * im}) row.add_power_of_two(value);
        return row.values;
    }
};

}  // namespace primsel::inline PRIMSEL_ABI
