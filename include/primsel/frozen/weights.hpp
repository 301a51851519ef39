// The packed weights of a frozen network, as bytes in a file or in the program. Nothing here allocates or throws: a
// refusal is a text, and null says that all is well.
#pragma once

#include <primsel/core/config.hpp>
#include <primsel/core/mapped_file.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace primsel::inline PRIMSEL_ABI::frozen {

/// The instruction set that this translation unit is compiled for, with its extensions. Packed weights belong to one.
inline constexpr std::string_view arch_name = PRIMSEL_ARCH_TEXT;

/// The beginning of a file of weights. Behind it lie the plans that it has weights of, then the sections of each in
/// turn, zeros up to a multiple of 64 bytes, and the data. Plans whose data are equal share them. All numbers are
/// little-endian; offsets count from the beginning of the file.
struct WeightsHeader {
    static constexpr std::uint32_t this_format = 2;
    static constexpr std::array<char, 8> this_magic{'p', 'r', 'i', 'm', 's', 'e', 'l', 'W'};

    std::array<char, 8> magic = this_magic;
    std::uint32_t format = this_format;
    std::uint32_t plans = 0;
    std::array<char, 32> version{};  ///< of the library, filled up with zeros
    std::uint64_t bytes = 0;         ///< of the whole file
    std::uint64_t reserved = 0;
};
static_assert(sizeof(WeightsHeader) == 64);

/// The weights of a plan in a file: those of an instruction set.
struct WeightsPlan {
    std::array<char, 64> arch{};
    std::uint64_t sections = 0;
    std::uint64_t checksum = 0;  ///< checksum_of, of its sections
};
static_assert(sizeof(WeightsPlan) == 80);

/// Some of a plan's weights, a multiple of 64 bytes.
struct WeightsSection {
    std::uint64_t offset = 0, bytes = 0;
};

/// Returns a checksum that changes with any one word of the bytes; fast enough to read them once at the speed of
/// memory.
[[nodiscard]] constexpr std::uint64_t checksum(std::span<const std::byte> bytes) noexcept {
    constexpr std::size_t lanes = 8;
    constexpr std::uint64_t prime = 0x9e3779b97f4a7c15;
    std::array<std::uint64_t, lanes> sums{};
    for (std::size_t i = 0; i < lanes; ++i) sums[i] = prime + i;
    std::size_t at = 0;
    for (; at + sizeof(sums) <= bytes.size(); at += sizeof(sums)) {
        std::array<std::uint64_t, lanes> words{};
        std::memcpy(words.data(), bytes.data() + at, sizeof(words));
        for (std::size_t i = 0; i < lanes; ++i) {
            sums[i] = (sums[i] ^ words[i]) * prime;
            sums[i] ^= sums[i] >> 29;
        }
    }
    std::uint64_t all = bytes.size();
    for (; at < bytes.size(); ++at) all = (all ^ static_cast<std::uint64_t>(bytes[at])) * prime;
    for (const std::uint64_t sum : sums) {
        all = (all ^ sum) * prime;
        all ^= all >> 31;
    }
    return all;
}

/// The checksum of several sections in their order. It begins at 0.
[[nodiscard]] constexpr std::uint64_t add_section(std::uint64_t all, std::span<const std::byte> section) noexcept {
    all = (all ^ checksum(section)) * 0x9e3779b97f4a7c15;
    return all ^ (all >> 31);
}

/// The weights that a frozen network was frozen with.
struct WeightsKey {
    std::string_view version, arch;
    std::uint64_t checksum = 0;
};

/// Finds the sections of the plan with that key, of which the sizes are known: sections[i] becomes the beginning of the
/// section of sizes[i] bytes. Returns why the bytes are not the weights of that plan; null if they are.
[[nodiscard]] inline const char* find_sections(std::span<const std::byte> file, WeightsKey const& key,
                                               std::span<const std::size_t> sizes,
                                               std::span<const std::byte*> sections) noexcept {
    const auto is_text = [](auto const& field, std::string_view text) {
        for (std::size_t i = 0; i < field.size(); ++i) {
            if (field[i] != (i < text.size() ? text[i] : '\0')) return false;
        }
        return text.size() <= field.size();
    };
    WeightsHeader header;
    if (file.size() < sizeof(header)) return "the weights end before their header does: this is no file of weights";
    std::memcpy(&header, file.data(), sizeof(header));
    if (header.magic != WeightsHeader::this_magic) return "these are no weights that `primsel freeze` wrote";
    if (header.format != WeightsHeader::this_format || header.reserved != 0) {
        return "the weights are in a format of another version of primsel";
    }
    if (!is_text(header.version, key.version)) return "the weights were packed by another version of primsel";
    if (header.bytes != file.size()) return "the weights are cut short, or something follows them";

    constexpr const char* damaged = "the weights were changed after they were written: their table is damaged";
    std::size_t at = sizeof(header);
    if (header.plans > (file.size() - at) / sizeof(WeightsPlan)) return damaged;
    std::size_t data = at + header.plans * sizeof(WeightsPlan), table = 0;  // 0: the plan is not found yet
    for (std::size_t i = 0; i < header.plans; ++i, at += sizeof(WeightsPlan)) {
        WeightsPlan plan;
        std::memcpy(&plan, file.data() + at, sizeof(plan));
        if (plan.sections > (file.size() - data) / sizeof(WeightsSection)) return damaged;
        if (table == 0 && is_text(plan.arch, key.arch)) {
            if (plan.sections != sizes.size() || plan.checksum != key.checksum) {
                return "the weights are those of another network, or of another freezing of this one";
            }
            table = data;
        }
        data += plan.sections * sizeof(WeightsSection);
    }
    if (table == 0) return "the weights were packed for another instruction set";
    for (; data % 64 != 0; ++data) {
        if (data == file.size() || file[data] != std::byte{0}) return damaged;
    }
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < sizes.size(); ++i, table += sizeof(WeightsSection)) {
        WeightsSection section;
        std::memcpy(&section, file.data() + table, sizeof(section));
        if (section.bytes != sizes[i] || section.offset % 64 != 0 || section.offset < data ||
            section.offset > file.size() || section.bytes > file.size() - section.offset) {
            return damaged;
        }
        sections[i] = file.data() + section.offset;
        sum = add_section(sum, {sections[i], sizes[i]});
    }
    return sum == key.checksum ? nullptr : "the weights were changed after they were written: their checksum differs";
}

/// A file of weights, mapped into memory. Several engines and processes may share it; it must outlive them.
using WeightsFile = core::MappedFile;

}  // namespace primsel::inline PRIMSEL_ABI::frozen
