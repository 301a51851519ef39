// Any bytes are the weights of a frozen network or are refused in words, whatever their header says; what is taken is
// whole.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <primsel/frozen/weights.hpp>
#include <span>
#include <string_view>

namespace fuzz_frozen {

namespace frozen = primsel::frozen;

template <class Field>
std::string_view text_of(Field const& field) {
    return {field.data(), static_cast<std::size_t>(std::find(field.begin(), field.end(), '\0') - field.begin())};
}

int run(const std::uint8_t* data, std::size_t size) {
    const std::span<const std::byte> file = std::as_bytes(std::span(data, size));
    frozen::WeightsHeader header;
    if (size >= sizeof(header)) std::memcpy(&header, data, sizeof(header));
    // A key as an attacker would have it, and one that the bytes cannot know.
    const frozen::WeightsKey same{text_of(header.version), text_of(header.arch), header.bytes, header.checksum};
    const frozen::WeightsKey other{"0.0.0", "none", 64, 1};
    const char* const refusal = frozen::refusal_of(file, same);
    if (refusal != nullptr && *refusal == '\0') std::abort();
    if (refusal == nullptr) {
        const auto weights = file.subspan(sizeof(header));
        if (weights.size() != header.bytes || frozen::checksum(weights) != header.checksum) std::abort();
        if (frozen::refusal_of(file.first(size - 1), same) == nullptr) std::abort();
    }
    if (frozen::refusal_of(file, other) == nullptr && same.version != other.version) std::abort();
    return 0;
}

}  // namespace fuzz_frozen
