// Which way up an image is to be shown, by the EXIF data of its file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>

namespace image {

namespace detail {

/// The unsigned number in these bytes, or nothing where they are not all there.
[[nodiscard]] inline std::optional<std::uint32_t> number_at(std::span<const std::byte> bytes, std::size_t at,
                                                            std::size_t count, bool little_endian) {
    if (at > bytes.size() || count > bytes.size() - at) return std::nullopt;
    std::uint32_t number = 0;
    for (std::size_t i = 0; i < count; ++i) {
        number = number << 8 | std::to_integer<std::uint32_t>(bytes[little_endian ? at + count - 1 - i : at + i]);
    }
    return number;
}
[[nodiscard]] inline bool has_at(std::span<const std::byte> bytes, std::size_t at, std::string_view text) {
    return at <= bytes.size() && text.size() <= bytes.size() - at &&
           std::memcmp(bytes.data() + at, text.data(), text.size()) == 0;
}

}  // namespace detail

/// The tag Orientation, 1 to 8, of EXIF data, which begin with a TIFF header; 1, which leaves the image as it is
/// stored, where they have none or are damaged. See CIPA DC-008, Exif 2.32, 4.6.4.
[[nodiscard]] inline int exif_orientation(std::span<const std::byte> exif) {
    using namespace std::string_view_literals;
    const bool little = detail::has_at(exif, 0, "II*\0"sv);
    if (!little && !detail::has_at(exif, 0, "MM\0*"sv)) return 1;
    const std::size_t directory = detail::number_at(exif, 4, 4, little).value_or(0);
    const std::size_t entries = detail::number_at(exif, directory, 2, little).value_or(0);
    constexpr std::uint32_t orientation = 0x0112, short_type = 3;
    for (std::size_t i = 0, at = directory + 2; i < entries && at < exif.size(); ++i, at += 12) {
        if (detail::number_at(exif, at, 2, little) != orientation) continue;
        const bool is_one_short = detail::number_at(exif, at + 2, 2, little) == short_type &&
                                  detail::number_at(exif, at + 4, 4, little) == 1U;
        const std::uint32_t value = detail::number_at(exif, at + 8, 2, little).value_or(0);
        return is_one_short && value >= 1 && value <= 8 ? static_cast<int>(value) : 1;
    }
    return 1;
}

/// The EXIF data of a JPEG file: those of its first segment that has any, before the first scan. Empty without.
[[nodiscard]] inline std::span<const std::byte> exif_of_jpeg(std::span<const std::byte> file) {
    using namespace std::string_view_literals;
    constexpr std::string_view magic = "Exif\0\0"sv;
    constexpr std::byte prefix{0xff}, app1{0xe1}, end{0xd9}, scan{0xda};
    std::size_t at = 2;
    while (at + 4 <= file.size() && file[at] == prefix) {
        const std::byte marker = file[at + 1];
        if (marker == prefix) {  // padding
            ++at;
            continue;
        }
        const std::size_t size = *detail::number_at(file, at + 2, 2, false);
        if (marker == end || marker == scan || size < 2 || size > file.size() - at - 2) break;
        const std::span<const std::byte> segment = file.subspan(at + 4, size - 2);
        if (marker == app1 && detail::has_at(segment, 0, magic)) return segment.subspan(magic.size());
        at += 2 + size;
    }
    return {};
}

/// The EXIF data in a chunk of a WebP file. Some programs write JPEG's magic in front of them.
[[nodiscard]] inline std::span<const std::byte> exif_of_webp(std::span<const std::byte> chunk) {
    using namespace std::string_view_literals;
    constexpr std::string_view magic = "Exif\0\0"sv;
    return chunk.subspan(detail::has_at(chunk, 0, magic) ? magic.size() : 0);
}

}  // namespace image
