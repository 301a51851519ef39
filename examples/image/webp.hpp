// WebP images: with_webp.cpp reads them by libwebp, without_webp.cpp takes its place where that is not there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace image {

/// Red, green, blue and opacity of each pixel, or cyan, magenta, yellow and black.
struct Quads {
    int h = 0, w = 0;
    std::vector<std::uint8_t> bytes;
    /// By the EXIF data, 1 to 8.
    int orientation = 1;
};

/// Throws error for sizes that no image has, or that are beyond the limits; otherwise makes room for the pixels.
[[nodiscard]] Quads room_for(std::string const& name, std::uint64_t h, std::uint64_t w, std::size_t pixels_limit);

/// Whether the program was built to read them.
[[nodiscard]] bool reads_webp();
/// Throws error for what is no such image, and for all of them where reads_webp() is false.
[[nodiscard]] Quads read_webp(std::string const& name, std::span<const std::byte> file, std::size_t pixels_limit);

}  // namespace image
