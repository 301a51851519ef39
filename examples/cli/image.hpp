#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace cli {

/// Pixels of 8 bits a channel, row by row, the channels of a pixel side by side.
struct Image {
    int channels = 0, h = 0, w = 0;
    std::vector<std::uint8_t> pixels;
};

/// A PNG or JPEG file in so many channels: 1 grey, 3 colours, 4 with opacity; 0: those of the file. Throws error.
[[nodiscard]] Image read_image(std::string const& path, int channels);

}  // namespace cli
