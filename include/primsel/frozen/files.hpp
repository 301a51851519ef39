// The files of a frozen network, and one of several plans that were frozen for an instruction set each.
#pragma once

#include <primsel/core/error.hpp>
#include <primsel/frozen/detail/cpp_text.hpp>
#include <primsel/frozen/weights.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

/// The files of a frozen network.
struct FrozenFiles {
    std::string header;   ///< a C++ header
    std::string weights;  ///< bytes, with a frozen::WeightsHeader at their beginning
    /// C++ of the weights within the program, if the header does not have them itself: with several plans.
    std::string source{};
};

namespace frozen {

/// The packed weights of a plan. Sections are multiples of 64 bytes.
struct PackedPlan {
    std::string arch;
    std::vector<std::string> sections;
};

[[nodiscard]] inline std::uint64_t checksum_of(PackedPlan const& plan) {
    std::uint64_t sum = 0;
    for (std::string const& section : plan.sections) sum = add_section(sum, std::as_bytes(std::span(section)));
    return sum;
}

/// Writes a file of weights. Equal sections are written once.
[[nodiscard]] inline std::string weights_file(std::span<const PackedPlan> plans) {
    std::string tables, data;
    const auto append = [&tables](auto const& value) {
        tables.append(reinterpret_cast<const char*>(&value), sizeof(value));
    };
    const auto set = [](auto& field, std::string_view text) {
        if (text.size() > field.size()) fail("freeze: ", text, " is longer than ", field.size(), " characters");
        std::ranges::copy(text, field.begin());
    };
    std::size_t sections = 0;
    for (PackedPlan const& plan : plans) {
        WeightsPlan entry{.sections = plan.sections.size(), .checksum = checksum_of(plan)};
        set(entry.arch, plan.arch);
        append(entry);
        sections += plan.sections.size();
    }
    const std::size_t end = sizeof(WeightsHeader) + tables.size() + sections * sizeof(WeightsSection);
    const std::size_t begin = (end + 63) / 64 * 64;
    std::map<std::string_view, std::size_t> places;
    for (PackedPlan const& plan : plans) {
        for (std::string const& section : plan.sections) {
            const auto [found, fresh] = places.try_emplace(section, begin + data.size());
            if (fresh) data += section;
            append(WeightsSection{found->second, section.size()});
        }
    }
    tables.append(begin - end, '\0');
    WeightsHeader header{.plans = static_cast<std::uint32_t>(plans.size()), .bytes = begin + data.size()};
    set(header.version, PRIMSEL_VERSION);
    return std::string(reinterpret_cast<const char*>(&header), sizeof(header)) + tables + data;
}

/// Reads the plans of a file that this version of the library wrote; throws error for any other.
[[nodiscard]] inline std::vector<PackedPlan> packed_plans(std::string_view file) {
    const auto bytes = std::as_bytes(std::span(file));
    WeightsHeader header;
    if (bytes.size() >= sizeof(header)) std::memcpy(&header, bytes.data(), sizeof(header));
    std::vector<PackedPlan> plans;
    std::size_t at = sizeof(header), table = at + header.plans * sizeof(WeightsPlan);
    for (std::size_t i = 0; i < header.plans && table <= bytes.size(); ++i, at += sizeof(WeightsPlan)) {
        WeightsPlan entry;
        std::memcpy(&entry, bytes.data() + at, sizeof(entry));
        const std::size_t arch = std::string_view(entry.arch.data(), entry.arch.size()).find('\0');
        plans.push_back({std::string(entry.arch.data(), std::min(arch, entry.arch.size())), {}});
        std::vector<std::size_t> sizes;
        for (std::size_t s = 0; s < entry.sections && table + sizeof(WeightsSection) <= bytes.size(); ++s) {
            WeightsSection section;
            std::memcpy(&section, bytes.data() + table, sizeof(section));
            sizes.push_back(section.bytes);
            table += sizeof(section);
        }
        std::vector<const std::byte*> sections(sizes.size());
        const char* const refusal =
            find_sections(bytes, {PRIMSEL_VERSION, plans.back().arch, entry.checksum}, sizes, sections);
        if (refusal != nullptr) fail("freeze: ", refusal);
        for (std::size_t s = 0; s < sizes.size(); ++s) {
            plans.back().sections.emplace_back(reinterpret_cast<const char*>(sections[s]), sizes[s]);
        }
    }
    if (plans.empty()) fail("freeze: this is no file of weights");
    return plans;
}

namespace detail {

/// The symbol of the weights of a struct within a program.
[[nodiscard]] inline std::string weights_symbol(std::string_view name) { return join("primsel_weights_of_", name); }

/// The bytes of a file as a part of the program, of which the linker keeps one.
[[nodiscard]] inline std::string embedded_weights(std::string_view name, std::string_view path) {
    const std::string symbol = weights_symbol(name);
    return join("\nasm(\".pushsection .rodata.", symbol, ",\\\"aG\\\",%progbits,", symbol, ",comdat\\n\"\n",
                "    \".balign 64\\n.weak ", symbol, "\\n", symbol, ":\\n.incbin \" ", cpp_string(cpp_string(path)),
                " \"\\n.popsection\");\n");
}
/// The function that returns them.
[[nodiscard]] inline std::string weights_function(std::string_view name, std::size_t bytes) {
    const std::string symbol = weights_symbol(name);
    return join("extern \"C\" const std::byte ", symbol, "[];\n/// The weights, a part of the program.\n",
                "[[nodiscard]] inline std::span<const std::byte> ", name, "_weights() noexcept { return {", symbol,
                ", ", bytes, "}; }\n");
}

/// A level of core/config.hpp, and the macro of a unit that is compiled for at least that. The widest come first.
struct Level {
    std::string_view name, macro;
};
inline constexpr Level levels[] = {
    {"avx512", "__AVX512F__"}, {"avx2", "__AVX2__"},         {"avx", "__AVX__"},        {"sse4_2", "__SSE4_2__"},
    {"sse2", "__SSE2__"},      {"sve", "__ARM_FEATURE_SVE"}, {"neon64", "__aarch64__"},
};

}  // namespace detail

/// The level of an instruction set, e.g. avx2 of arch_name "avx2_7cc8000000".
[[nodiscard]] constexpr std::string_view level_of(std::string_view arch) {
    for (detail::Level const& level : detail::levels) {
        if (arch.starts_with(level.name) && arch.substr(level.name.size()).starts_with('_')) return level.name;
    }
    return arch;
}

/// One header and one file of weights of several plans, each frozen with that struct's name, without its weights in the
/// header, by a program of another instruction set. A unit that includes the header takes the plan of its own level.
/// embed: as in FreezeOptions; the weights are then in FrozenFiles::source. Throws error if two have the same level.
[[nodiscard]] inline FrozenFiles join_plans(std::string_view name, std::span<const FrozenFiles> parts,
                                            std::string_view embed = {}) {
    std::vector<PackedPlan> plans;
    std::map<std::string_view, std::string_view> headers;  // by level
    for (FrozenFiles const& part : parts) {
        for (PackedPlan& plan : packed_plans(part.weights)) {
            if (!headers.try_emplace(level_of(plan.arch), part.header).second) {
                fail("freeze: there are two plans for ", level_of(plan.arch));
            }
            plans.push_back(std::move(plan));
        }
    }
    FrozenFiles all{"// Written by `primsel freeze`; not to be edited.\n#pragma once\n\n", weights_file(plans), {}};
    std::string_view condition = "#if";
    std::string there;
    for (detail::Level const& level : detail::levels) {
        const auto found = headers.find(level.name);
        if (found == headers.end()) continue;
        all.header += join(condition, " defined(", level.macro, ")\n", found->second);
        condition = "#elif";
        there = join(level.name, there.empty() ? "" : ", ", there);
    }
    all.header += join("#else\n#error \"primsel: ", name, " was frozen for ", there,
                       ", and this unit is compiled for less\"\n#endif\n");
    if (!embed.empty()) {
        all.header += '\n' + detail::weights_function(name, all.weights.size());
        all.source = join("// Written by `primsel freeze`: the weights of ", name, ", once in a program.\n",
                          detail::embedded_weights(name, embed));
    }
    return all;
}

}  // namespace frozen

}  // namespace primsel::inline PRIMSEL_ABI
