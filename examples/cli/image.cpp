#include "image.hpp"

#include <primsel/io/file.hpp>

#include <climits>
#include <memory>

#define STB_IMAGE_IMPLEMENTATION
#define STB_IMAGE_STATIC
#define STBI_ONLY_PNG
#define STBI_ONLY_JPEG
#define STBI_NO_STDIO
#define STBI_NO_LINEAR
#define STBI_NO_HDR
#define STBI_MAX_DIMENSIONS 65536
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"
#include <stb/stb_image.h>
#pragma GCC diagnostic pop

namespace cli {

namespace ps = primsel;

Image read_image(std::string const& path, int channels) {
    const ps::SharedBytes file = ps::read_file(path, INT_MAX);
    const auto* bytes = reinterpret_cast<const stbi_uc*>(file.bytes.data());
    Image image;
    int own_channels = 0;
    const std::unique_ptr<stbi_uc, void (*)(void*)> pixels(
        stbi_load_from_memory(bytes, static_cast<int>(file.bytes.size()), &image.w, &image.h, &own_channels, channels),
        &stbi_image_free);
    if (pixels == nullptr) ps::fail(path, ": no PNG or JPEG image: ", stbi_failure_reason());
    image.channels = channels == 0 ? own_channels : channels;
    const std::size_t size = static_cast<std::size_t>(image.channels) * static_cast<std::size_t>(image.h) *
                             static_cast<std::size_t>(image.w);
    image.pixels.assign(pixels.get(), pixels.get() + size);
    return image;
}

}  // namespace cli
