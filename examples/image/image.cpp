#include "image.hpp"

#include "exif.hpp"
#include "webp.hpp"

#include <primsel/io/file.hpp>
#include <primsel/io/foreign_file.hpp>

#include <spng.h>
#include <turbojpeg.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <new>
#include <string_view>

namespace image {

namespace ps = primsel;

namespace {

constexpr std::size_t file_limit = std::size_t{1} << 30;

}  // namespace

Quads room_for(std::string const& name, std::uint64_t h, std::uint64_t w, std::size_t pixels_limit) {
    if (h == 0 || w == 0) ps::fail(name, ": an image of ", h, 'x', w, " has no pixels");
    const auto extent = static_cast<std::uint64_t>(most_extent);
    if (h > extent || w > extent || h * w > pixels_limit) {
        ps::fail(name, ": an image of ", h, 'x', w, " is too large; the limits are ", most_extent,
                 " in each direction and ", pixels_limit, " pixels");
    }
    Quads quads{static_cast<int>(h), static_cast<int>(w), {}, 1};
    try {
        quads.bytes.resize(4 * h * w);
    } catch (std::bad_alloc const&) {
        ps::fail(name, ": there is not enough memory for an image of ", h, 'x', w);
    }
    return quads;
}

namespace {

// --- PNG

constexpr std::string_view png_magic = "\x89PNG\r\n\x1a\n";

using PngContext = std::unique_ptr<spng_ctx, void (*)(spng_ctx*)>;

PngContext make_png_context(int flags) {
    PngContext context(spng_ctx_new(flags), &spng_ctx_free);
    if (context == nullptr) throw std::bad_alloc();
    return context;
}

Quads read_png(std::string const& name, std::span<const std::byte> file, std::size_t pixels_limit) {
    const auto require = [&](int fault) {
        if (fault != 0) ps::fail(name, ": no PNG image that can be read: ", spng_strerror(fault));
    };
    const PngContext context = make_png_context(0);
    // Chunks beside the pixels, as texts and colour profiles, are of no interest; what they may take is bounded.
    constexpr std::size_t most_chunk = std::size_t{1} << 24;
    require(spng_set_chunk_limits(context.get(), most_chunk, most_chunk));
    require(spng_set_png_buffer(context.get(), file.data(), file.size()));
    spng_ihdr header{};
    require(spng_get_ihdr(context.get(), &header));
    Quads quads = room_for(name, header.height, header.width, pixels_limit);
    require(spng_decode_image(context.get(), quads.bytes.data(), quads.bytes.size(), SPNG_FMT_RGBA8, SPNG_DECODE_TRNS));
    // Chunks behind the pixels: a file that was cut off there is not to be relied on.
    require(spng_decode_chunks(context.get()));
    spng_exif exif{};
    if (spng_get_exif(context.get(), &exif) == 0) {
        quads.orientation = exif_orientation(std::as_bytes(std::span(exif.data, exif.length)));
    }
    return quads;
}

// --- JPEG

constexpr std::string_view jpeg_magic = "\xff\xd8\xff";

void convert_from_cmyk(Quads& quads) {
    for (std::size_t i = 0; i < quads.bytes.size(); i += 4) {
        const unsigned light = quads.bytes[i + 3];
        for (std::size_t c = i; c < i + 3; ++c) {
            quads.bytes[c] = static_cast<std::uint8_t>((quads.bytes[c] * light + 127) / 255);
        }
        quads.bytes[i + 3] = 255;
    }
}

Quads read_jpeg(std::string const& name, std::span<const std::byte> file, std::size_t pixels_limit) {
    const std::unique_ptr<void, int (*)(tjhandle)> decoder(tjInitDecompress(), &tjDestroy);
    if (decoder == nullptr) throw std::bad_alloc();
    const auto require = [&](int fault) {
        if (fault != 0)
            ps::fail(name, ": no JPEG image that can be read: ", std::string_view(tjGetErrorStr2(decoder.get())));
    };
    const auto* bytes = reinterpret_cast<const unsigned char*>(file.data());
    int w = 0, h = 0, subsampling = 0, colours = 0;
    require(tjDecompressHeader3(decoder.get(), bytes, file.size(), &w, &h, &subsampling, &colours));
    Quads quads = room_for(name, static_cast<std::uint64_t>(std::max(h, 0)), static_cast<std::uint64_t>(std::max(w, 0)),
                           pixels_limit);
    const bool is_cmyk = colours == TJCS_CMYK || colours == TJCS_YCCK;
    // A warning is of data that are missing or wrong: the pixels would be made up. Few scans are enough for any image,
    // and thousands of them take minutes.
    constexpr int flags = TJFLAG_STOPONWARNING | TJFLAG_LIMITSCANS | TJFLAG_ACCURATEDCT;
    require(tjDecompress2(decoder.get(), bytes, file.size(), quads.bytes.data(), w, 0, h,
                          is_cmyk ? TJPF_CMYK : TJPF_RGBA, flags));
    if (is_cmyk) convert_from_cmyk(quads);
    quads.orientation = exif_orientation(exif_of_jpeg(file));
    return quads;
}

// --- WebP: webp.hpp

bool is_webp(std::span<const std::byte> file) {
    return detail::has_at(file, 0, "RIFF") && detail::has_at(file, 8, "WEBP");
}

// --- all

Image in_channels(Quads const& quads, int channels) {
    Image image{channels, quads.h, quads.w, {}};
    const std::size_t pixels = quads.bytes.size() / 4, each = static_cast<std::size_t>(channels);
    image.pixels.resize(pixels * each);
    const std::uint8_t* src = quads.bytes.data();
    std::uint8_t* dst = image.pixels.data();
    for (std::size_t i = 0; i < pixels; ++i, src += 4, dst += each) {
        if (channels == 1) {
            const unsigned grey = 299U * src[0] + 587U * src[1] + 114U * src[2];
            dst[0] = static_cast<std::uint8_t>((grey + 500) / 1000);
        } else {
            for (std::size_t c = 0; c < each; ++c) dst[c] = src[c];
        }
    }
    return image;
}

/// From 5 on, rows become columns. Then 3, 4, 6 and 7 begin with the stored image's last row, and 2, 3, 7 and 8 with
/// its last column.
Image rotated(Image const& stored, int orientation) {
    const bool swapped = orientation >= 5;
    const bool last_row = orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
    const bool last_column = orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
    Image image{stored.channels, swapped ? stored.w : stored.h, swapped ? stored.h : stored.w, {}};
    image.pixels.resize(stored.pixels.size());
    std::uint8_t* dst = image.pixels.data();
    for (int y = 0; y < image.h; ++y) {
        for (int x = 0; x < image.w; ++x) {
            const int row = swapped ? x : y, column = swapped ? y : x;
            const auto from_row = static_cast<std::size_t>(last_row ? stored.h - 1 - row : row);
            const auto from_column = static_cast<std::size_t>(last_column ? stored.w - 1 - column : column);
            const std::size_t pixel = from_row * static_cast<std::size_t>(stored.w) + from_column;
            const auto channels = static_cast<std::size_t>(stored.channels);
            dst = std::copy_n(stored.pixels.data() + pixel * channels, channels, dst);
        }
    }
    return image;
}

}  // namespace

std::string kinds(std::string_view last) {
    return reads_webp() ? ps::join("PNG, JPEG ", last, " WebP") : ps::join("PNG ", last, " JPEG");
}
std::vector<std::string> endings() {
    std::vector<std::string> all{".png", ".jpg", ".jpeg"};
    if (reads_webp()) all.emplace_back(".webp");
    return all;
}

Image decode(std::string const& name, std::span<const std::byte> file, int channels, Orientation orientation,
             std::size_t pixels_limit) {
    if (channels != 1 && channels != 3 && channels != 4) ps::fail(name, ": no image has ", channels, " channels");
    const auto finish = [&](Quads const& quads) {
        Image image = in_channels(quads, channels);
        if (orientation == Orientation::as_stored || quads.orientation == 1) return image;
        return rotated(image, quads.orientation);
    };
    if (detail::has_at(file, 0, png_magic)) return finish(read_png(name, file, pixels_limit));
    if (detail::has_at(file, 0, jpeg_magic)) return finish(read_jpeg(name, file, pixels_limit));
    if (is_webp(file)) return finish(read_webp(name, file, pixels_limit));
    ps::refuse_foreign_format(name, ps::join("a ", kinds("or"), " image"),
                              {reinterpret_cast<const char*>(file.data()), file.size()});
    ps::fail(name, ": no ", kinds("or"), " image: it begins as none of them does");
}

Image read(std::string const& path, int channels, Orientation orientation) {
    const ps::SharedBytes file = ps::read_file(path, file_limit);
    return decode(path, file.bytes, channels, orientation);
}

std::string to_png(std::string const& name, Image const& image) {
    const std::size_t pixels = static_cast<std::size_t>(image.h) * static_cast<std::size_t>(image.w);
    const bool known = image.channels == 1 || image.channels == 3 || image.channels == 4;
    if (!known || image.pixels.size() != pixels * static_cast<std::size_t>(image.channels)) {
        ps::fail(name, ": ", image.pixels.size(), " values are no image of ", image.channels, " channels of ", image.h,
                 'x', image.w);
    }
    int fault = 0;
    const auto require = [&](int result) {
        if (result != 0) ps::fail(name, ": no PNG image can be made of it: ", spng_strerror(result));
    };
    const PngContext context = make_png_context(SPNG_CTX_ENCODER);
    require(spng_set_option(context.get(), SPNG_ENCODE_TO_BUFFER, 1));
    spng_ihdr header{};
    header.width = static_cast<std::uint32_t>(image.w);
    header.height = static_cast<std::uint32_t>(image.h);
    header.bit_depth = 8;
    header.color_type = image.channels == 1   ? SPNG_COLOR_TYPE_GRAYSCALE
                        : image.channels == 3 ? SPNG_COLOR_TYPE_TRUECOLOR
                                              : SPNG_COLOR_TYPE_TRUECOLOR_ALPHA;
    require(spng_set_ihdr(context.get(), &header));
    require(
        spng_encode_image(context.get(), image.pixels.data(), image.pixels.size(), SPNG_FMT_PNG, SPNG_ENCODE_FINALIZE));
    std::size_t size = 0;
    const std::unique_ptr<void, void (*)(void*)> bytes(spng_get_png_buffer(context.get(), &size, &fault), &std::free);
    require(fault);
    return {static_cast<const char*>(bytes.get()), size};
}

void write_png(std::string const& path, Image const& image) { ps::write_file(path, to_png(path, image)); }

}  // namespace image
