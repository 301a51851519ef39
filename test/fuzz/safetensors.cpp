// Any bytes parse as safetensors or are refused with primsel::error; what parsed reads back as the same when written.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include "safetensors_file.hpp"

#include <primsel/io/safetensors.hpp>
#include <span>
#include <string>

namespace fuzz_safetensors {

std::optional<primsel::Weights> parse(std::span<const std::byte> bytes) {
    try {
        return primsel::parse_safetensors("fuzz", {bytes, nullptr});
    } catch (primsel::error const&) {
        return std::nullopt;
    }
}

void check(std::span<const std::byte> bytes) {
    const auto parsed = parse(bytes);
    if (!parsed) return;
    const auto metadata = primsel::safetensors_metadata("fuzz", {bytes, nullptr});
    const std::string file = safetensors_file(*parsed, metadata);
    const auto written = std::as_bytes(std::span(file));
    const auto again = parse(written);
    // The header holds names, shapes and texts, so equal bytes are equal weights.
    if (!again || safetensors_file(*again, primsel::safetensors_metadata("fuzz", {written, nullptr})) != file)
        std::abort();
}

int run(const std::uint8_t* data, std::size_t size) {
    check_as_file_and_header(data, size, check);
    return 0;
}

}  // namespace fuzz_safetensors
