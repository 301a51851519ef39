#pragma once

#include <primsel/core/archive.hpp>
#include <primsel/core/error.hpp>
#include <primsel/learn/dataset.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <span>
#include <string>

namespace primsel::inline PRIMSEL_ABI::learn {

/// A dataset, and what errors call it: the path of its file, for instance.
struct NamedDataset {
    std::string name;
    Dataset data;
};

/// Measurements of a machine: times of primitives, and of changes of layout where there are any.
struct Profile {
    NamedDataset primitives;
    std::optional<NamedDataset> layouts = {};
};

/// The kind of a dataset's subjects: "primitives" or "layouts".
[[nodiscard]] inline std::string what_of(Dataset const& data) { return data.of_layouts() ? "layouts" : "primitives"; }

/// Throws error when changes of layout were measured with the kernels of another instruction set than primitives were.
inline void require_one_arch(Profile const& profile) {
    if (!profile.layouts) return;
    auto const& [name, data] = profile.primitives;
    auto const& [other_name, other] = *profile.layouts;
    const auto here = data.about.find("arch"), there = other.about.find("arch");
    if (here == data.about.end() || there == other.about.end() || here->second == there->second) return;
    fail(other_name, ": its arch is ", there->second, ", that of ", name, " is ", here->second);
}

/// Tells a dataset's rows from others: a checksum of them, 16 hexadecimal digits.
[[nodiscard]] inline std::string fingerprint(Dataset const& data) {
    const std::uint64_t sums[]{checksum(std::as_bytes(std::span(data.configurations))),
                               checksum(std::as_bytes(std::span(data.seconds)))};
    char text[17];
    std::snprintf(text, sizeof(text), "%016llx",
                  static_cast<unsigned long long>(checksum(std::as_bytes(std::span(sums)))));
    return text;
}

}  // namespace primsel::inline PRIMSEL_ABI::learn
