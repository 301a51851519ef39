// Any bytes are a PNG, JPEG or WebP image or are refused with primsel::error; what was read is the same when it is
// written as PNG and read again. EXIF data only turn an image, and any bytes are EXIF data.
#include <exif.hpp>
#include <image.hpp>

#include <primsel/core/error.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace fuzz_image {

std::optional<image::Image> decode(std::span<const std::byte> bytes, int channels,
                                   image::Orientation orientation = image::Orientation::from_exif) {
    // A few bytes may say that they are many pixels; more of them would find nothing else.
    constexpr std::size_t most_pixels = std::size_t{1} << 18;
    try {
        return image::decode("fuzz", bytes, channels, orientation, most_pixels);
    } catch (primsel::error const& error) {
        if (!std::string_view(error.what()).starts_with("fuzz:")) std::abort();
        return std::nullopt;
    }
}

void check(std::span<const std::byte> bytes, int channels) {
    const auto read = decode(bytes, channels);
    const auto stored = decode(bytes, channels, image::Orientation::as_stored);
    if (read.has_value() != stored.has_value()) std::abort();
    if (!read) return;
    if (read->pixels.size() != stored->pixels.size()) std::abort();
    const std::string file = image::to_png("fuzz", *read);
    const auto again = decode(std::as_bytes(std::span(file)), channels);
    if (!again || again->h != read->h || again->w != read->w || again->pixels != read->pixels) std::abort();
}

int run(const std::uint8_t* data, std::size_t size) {
    const int orientation = image::exif_orientation(std::as_bytes(std::span(data, size)));
    if (orientation < 1 || orientation > 8) std::abort();
    for (const int channels : {1, 3, 4}) check(std::as_bytes(std::span(data, size)), channels);
    return 0;
}

}  // namespace fuzz_image
