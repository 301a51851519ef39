#pragma once

#include <primsel/core/config.hpp>

#include <cstddef>
#include <cstdint>

namespace primsel::inline PRIMSEL_ABI::io {

/// The status of a file, as the system knows it.
struct FileStatus {
    enum class Kind { regular, folder, pipe, other };
    Kind kind = Kind::other;
    std::size_t size = 0;
    /// When the contents changed last, in nanoseconds or hundreds of them, since some time.
    std::int64_t changed = 0;
    /// The file of a device, whatever its names; and how many names it has.
    std::uint64_t device = 0, number = 0, names = 1;
    /// As chmod sets them; 0 on Windows.
    unsigned permissions = 0;

    [[nodiscard]] bool is_same_file(FileStatus const& other) const {
        return device == other.device && number == other.number;
    }
};

// No system call moves more than about 2 GiB at once.
inline constexpr std::size_t bytes_per_call = std::size_t{1} << 30;

}  // namespace primsel::inline PRIMSEL_ABI::io
