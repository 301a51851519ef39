// Any bytes parse as safetensors or are refused with primsel::error; what parsed reads back as the same when written.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <primsel/io/safetensors.hpp>
#include <span>
#include <string>

namespace {

std::optional<primsel::Weights> parse(std::span<const std::byte> bytes) {
    try {
        return primsel::parse_safetensors("fuzz", {bytes, nullptr});
    } catch (primsel::error const&) {
        return std::nullopt;
    }
}

std::string write(primsel::Weights const& weights, primsel::SafetensorsMetadata const& metadata) {
    std::string file = primsel::detail::safetensors_header("fuzz", weights, metadata);
    for (auto const& [name, tensor] : weights) {
        const auto bytes = tensor.values.bytes();
        file.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    }
    return file;
}

void check(std::span<const std::byte> bytes) {
    const auto parsed = parse(bytes);
    if (!parsed) return;
    const auto metadata = primsel::safetensors_metadata("fuzz", {bytes, nullptr});
    const std::string file = write(*parsed, metadata);
    const auto written = std::as_bytes(std::span(file));
    const auto again = parse(written);
    // The header holds names, shapes and texts, so equal bytes are equal weights.
    if (!again || write(*again, primsel::safetensors_metadata("fuzz", {written, nullptr})) != file) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    check(std::as_bytes(std::span(data, size)));
    if (size == 0) return 0;
    // Few changes keep a header's size right: so once more as a header, after a byte with the size of the data.
    const std::uint64_t header_bytes = size - 1;
    std::string file(reinterpret_cast<const char*>(&header_bytes), sizeof(header_bytes));
    file.append(reinterpret_cast<const char*>(data + 1), size - 1).append(data[0], '\x7e');
    check(std::as_bytes(std::span(file)));
    return 0;
}
