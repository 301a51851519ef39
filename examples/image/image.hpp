// PNG, JPEG and WebP images, for the programs that read or write them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace image {

/// Pixels of 8 bits a channel, row by row, the channels of a pixel side by side.
struct Image {
    int channels = 0, h = 0, w = 0;
    std::vector<std::uint8_t> pixels;
};

/// The most pixels of an image, in either direction and in all, unless the caller says less. Larger ones are refused by
/// their header, before memory is taken for them.
inline constexpr int most_extent = 65'535;
inline constexpr std::size_t most_pixels = std::size_t{1} << 27;

/// Which way up an image is read: as the file's EXIF data say, or as its pixels are stored.
enum class Orientation { from_exif, as_stored };

/// The kinds of files that this program reads: "PNG, JPEG and WebP", or without the last; `last` is that "and".
[[nodiscard]] std::string kinds(std::string_view last);
/// The endings of their names, in small letters.
[[nodiscard]] std::vector<std::string> endings();

/// The image in a PNG, JPEG or WebP file of which `file` holds all bytes, in so many channels: 1 grey, 3 colours, 4
/// with opacity; `name` is what errors call it. Colours become the grey that ITU-R BT.601 weighs them to, an opacity
/// that is not asked for is left out, and where the file has none every pixel is opaque. Of 16 bits the upper 8 are
/// kept. CMYK is taken as Adobe's programs write it, inverted, and becomes red, green and blue without a colour
/// profile. Photos are turned and mirrored as their EXIF data say; damaged data of the kind turn nothing. Throws
/// primsel::error, naming the file and the reason, for whatever is no such image, is damaged or cut off, or has more
/// pixels than the limit.
[[nodiscard]] Image decode(std::string const& name, std::span<const std::byte> file, int channels,
                           Orientation orientation = Orientation::from_exif, std::size_t pixels_limit = most_pixels);

/// The same of a file. Throws primsel::error, also when it cannot be read.
[[nodiscard]] Image read(std::string const& path, int channels, Orientation orientation = Orientation::from_exif);

/// The bytes of a PNG file of an image of 1, 3 or 4 channels. Throws primsel::error; `name` is what it calls the image.
[[nodiscard]] std::string to_png(std::string const& name, Image const& image);

/// Writes a PNG file, whole or not at all. Throws primsel::error.
void write_png(std::string const& path, Image const& image);

}  // namespace image
