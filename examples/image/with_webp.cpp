#include "exif.hpp"
#include "webp.hpp"

#include <primsel/core/error.hpp>

#include <webp/decode.h>
#include <webp/demux.h>

#include <memory>

namespace image {
namespace {

namespace ps = primsel;

int orientation_of(WebPData const& data) {
    const std::unique_ptr<WebPDemuxer, void (*)(WebPDemuxer*)> file(WebPDemux(&data), &WebPDemuxDelete);
    WebPChunkIterator chunk{};
    if (file == nullptr || WebPDemuxGetChunk(file.get(), "EXIF", 1, &chunk) == 0) return 1;
    const int orientation =
        exif_orientation(exif_of_webp(std::as_bytes(std::span(chunk.chunk.bytes, chunk.chunk.size))));
    WebPDemuxReleaseChunkIterator(&chunk);
    return orientation;
}

}  // namespace

bool reads_webp() { return true; }

Quads read_webp(std::string const& name, std::span<const std::byte> file, std::size_t pixels_limit) {
    const WebPData data{reinterpret_cast<const std::uint8_t*>(file.data()), file.size()};
    WebPBitstreamFeatures header{};
    if (WebPGetFeatures(data.bytes, data.size, &header) != VP8_STATUS_OK) {
        ps::fail(name, ": no WebP image that can be read: its header is damaged");
    }
    if (header.has_animation != 0) ps::fail(name, ": an animated WebP image; only still ones are read");
    Quads quads = room_for(name, static_cast<std::uint64_t>(header.height), static_cast<std::uint64_t>(header.width),
                           pixels_limit);
    if (WebPDecodeRGBAInto(data.bytes, data.size, quads.bytes.data(), quads.bytes.size(), 4 * header.width) ==
        nullptr) {
        ps::fail(name, ": no WebP image that can be read: it is damaged or cut off");
    }
    quads.orientation = orientation_of(data);
    return quads;
}

}  // namespace image
