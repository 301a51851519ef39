#pragma once

#include <primsel/core/config.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace primsel::inline PRIMSEL_ABI {

namespace core::detail {
/// FIPS 180-4, section 6.1.2.
inline void sha1_block(std::array<std::uint32_t, 5>& state, std::span<const std::byte, 64> block) {
    std::array<std::uint32_t, 80> w{};
    for (std::size_t i = 0; i < block.size(); ++i) {
        w[i / 4] = w[i / 4] << 8 | std::to_integer<std::uint32_t>(block[i]);
    }
    for (std::size_t t = 16; t < w.size(); ++t) w[t] = std::rotl(w[t - 3] ^ w[t - 8] ^ w[t - 14] ^ w[t - 16], 1);
    auto [a, b, c, d, e] = state;
    for (std::size_t t = 0; t < w.size(); ++t) {
        const std::uint32_t f = t < 20   ? ((b & c) | (~b & d)) + 0x5a827999U
                                : t < 40 ? (b ^ c ^ d) + 0x6ed9eba1U
                                : t < 60 ? ((b & c) | (b & d) | (c & d)) + 0x8f1bbcdcU
                                         : (b ^ c ^ d) + 0xca62c1d6U;
        const std::uint32_t next = std::rotl(a, 5) + f + e + w[t];
        e = d, d = c, c = std::rotl(b, 30), b = a, a = next;
    }
    state[0] += a, state[1] += b, state[2] += c, state[3] += d, state[4] += e;
}
}  // namespace core::detail

/// Returns the SHA-1 of the bytes as 40 hexadecimal digits. It detects damaged files, not forged ones.
[[nodiscard]] inline std::string sha1(std::span<const std::byte> bytes) {
    constexpr std::size_t block = 64, length_bytes = 8;
    std::array<std::uint32_t, 5> state{0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};
    const std::uint64_t bits = std::uint64_t{8} * bytes.size();
    for (; bytes.size() >= block; bytes = bytes.subspan(block)) core::detail::sha1_block(state, bytes.first<block>());
    // The last blocks: the remaining bytes, one set bit, zeros and the length.
    std::array<std::byte, 2 * block> last{};
    std::ranges::copy(bytes, last.begin());
    last[bytes.size()] = std::byte{0x80};
    const std::size_t end = bytes.size() + 1 + length_bytes <= block ? block : 2 * block;
    for (std::size_t i = 0; i < length_bytes; ++i) last[end - 1 - i] = static_cast<std::byte>(bits >> (8 * i) & 0xff);
    for (std::size_t at = 0; at < end; at += block) {
        core::detail::sha1_block(state, std::span<const std::byte, block>(last.data() + at, block));
    }
    std::string digits;
    for (const std::uint32_t word : state) {
        for (int shift = 28; shift >= 0; shift -= 4) digits += "0123456789abcdef"[word >> shift & 0xf];
    }
    return digits;
}

}  // namespace primsel::inline PRIMSEL_ABI
