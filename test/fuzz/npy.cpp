// Any bytes parse as an .npy file or are refused with primsel::error; what parsed reads back as the same when written.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <primsel/io/npy.hpp>
#include <span>
#include <string>
#include <string_view>

namespace fuzz_npy {

std::optional<primsel::NpyArray> parse(std::span<const std::byte> bytes) {
    try {
        return primsel::parse_npy("fuzz", bytes);
    } catch (primsel::error const& error) {
        if (!std::string_view(error.what()).starts_with("fuzz:")) std::abort();
        return std::nullopt;
    }
}

int run(const std::uint8_t* data, std::size_t size) {
    const auto parsed = parse(std::as_bytes(std::span(data, size)));
    if (!parsed) return 0;
    // As float32, which holds them all; equal bytes are equal shapes and values, NaN included.
    const std::string file = primsel::to_npy("fuzz", parsed->dims, parsed->values);
    const auto again = parse(std::as_bytes(std::span(file)));
    if (!again || primsel::to_npy("fuzz", again->dims, again->values) != file) std::abort();
    return 0;
}

}  // namespace fuzz_npy
