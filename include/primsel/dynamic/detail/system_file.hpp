// The only header of dynamic/ that touches files: those of sysfs and procfs.
#pragma once

#include <primsel/core/config.hpp>
#include <primsel/core/read_number.hpp>

#ifdef __linux__
#include <fcntl.h>
#include <unistd.h>
#endif

#include <array>
#include <bitset>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#ifdef __linux__

namespace primsel::inline PRIMSEL_ABI::dynamic::detail {

inline constexpr std::size_t most_cores = 1024;
using CoreBits = std::bitset<most_cores>;

/// The text without blanks at its ends.
[[nodiscard]] inline std::string_view trimmed(std::string_view text) noexcept {
    constexpr std::string_view blanks{" \t\r\n\0", 5};
    const std::size_t first = text.find_first_not_of(blanks);
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(blanks) + 1 - first);
}
/// Reads a whole number, which blanks may surround. Returns false if the text is anything else.
[[nodiscard]] inline bool read_whole(std::string_view text, std::int64_t& value) noexcept {
    return read_number(trimmed(text), value);
}
/// Reads a list of cores such as "0-3,6". Returns false if the text is anything else, or names a core from `most_cores`
/// on.
[[nodiscard]] inline bool read_cores(std::string_view text, CoreBits& cores) noexcept {
    cores.reset();
    text = trimmed(text);
    while (!text.empty()) {
        const std::string_view piece = text.substr(0, text.find(','));
        if (piece.size() + 1 == text.size()) return false;  // ends with a comma
        text.remove_prefix(piece.size() == text.size() ? piece.size() : piece.size() + 1);
        const std::size_t dash = piece.find('-');
        std::int64_t first = 0, last = 0;
        if (!read_whole(piece.substr(0, dash), first)) return false;
        if (!read_whole(dash == std::string_view::npos ? piece : piece.substr(dash + 1), last)) return false;
        if (first < 0 || first > last || last >= static_cast<std::int64_t>(most_cores)) return false;
        for (auto core = static_cast<std::size_t>(first); core <= static_cast<std::size_t>(last); ++core) {
            cores.set(core);
        }
    }
    return true;
}

/// A system file that is kept open. Only the constructor allocates; what fails leaves a reason in errno.
class SystemFile {
public:
    SystemFile() = default;
    explicit SystemFile(std::string path) : path_(std::move(path)) { open(); }
    SystemFile(SystemFile&& other) noexcept
        : path_(std::move(other.path_)), number_(std::exchange(other.number_, -1)) {}
    SystemFile& operator=(SystemFile&& other) noexcept {
        std::swap(path_, other.path_);
        std::swap(number_, other.number_);
        return *this;
    }
    ~SystemFile() { close(); }

    [[nodiscard]] std::string const& path() const noexcept { return path_; }
    [[nodiscard]] bool is_open() const noexcept { return number_ >= 0; }

    /// Reads the file from its start, as much as `room` holds. Empty if it cannot be read. Opens the file again if
    /// reading fails, as when a core went offline and came back.
    [[nodiscard]] std::string_view read(char* room, std::size_t size) noexcept {
        for (int attempt = 0; attempt < 2; ++attempt) {
            if (is_open() || open()) {
                const ssize_t count = ::pread(number_, room, size, 0);
                if (count >= 0) return {room, static_cast<std::size_t>(count)};
            }
            close();
        }
        return {};
    }
    [[nodiscard]] bool read(std::int64_t& value) noexcept {
        std::array<char, 64> room;
        return read_whole(read(room.data(), room.size()), value);
    }
    /// Writes a number and leaves errno if that fails. The file need not be readable.
    [[nodiscard]] bool write(std::int64_t value) const noexcept {
        std::array<char, 32> room;
        const char* const end = std::to_chars(room.data(), room.data() + room.size(), value).ptr;
        const auto size = static_cast<std::size_t>(end - room.data());
        if (path_.empty()) return errno = ENOENT, false;
        const int number = ::open(path_.c_str(), O_WRONLY | O_CLOEXEC | O_TRUNC);
        if (number < 0) return false;
        const bool written = ::write(number, room.data(), size) == static_cast<ssize_t>(size);
        const int reason = errno;
        ::close(number);
        errno = reason;
        return written;
    }

private:
    bool open() noexcept {
        // Without O_NONBLOCK a pipe of this name would block until something writes to it.
        if (!path_.empty()) number_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        return is_open();
    }
    void close() noexcept {
        if (is_open()) ::close(std::exchange(number_, -1));
    }

    std::string path_;
    int number_ = -1;
};

}  // namespace primsel::inline PRIMSEL_ABI::dynamic::detail

#endif
