#include "webp.hpp"

#include <primsel/core/error.hpp>

namespace image {

bool reads_webp() { return false; }
Quads read_webp(std::string const& name, std::span<const std::byte>, std::size_t) {
    primsel::fail(name, ": a WebP image, which this program was built without libwebp to read");
}

}  // namespace image
