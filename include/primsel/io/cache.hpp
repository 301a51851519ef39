#pragma once

#include <primsel/core/error.hpp>
#include <primsel/io/file.hpp>

#include <cstddef>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

namespace primsel::inline PRIMSEL_ABI {

/// The folder for cached files, which can be made again: $XDG_CACHE_HOME/primsel, else $HOME/.cache/primsel; on Windows
/// %LOCALAPPDATA%/primsel. Empty if no such variable is set.
[[nodiscard]] inline std::string cache_directory() {
#if defined(_WIN32)
    const wchar_t* const local = ::_wgetenv(L"LOCALAPPDATA");
    return local == nullptr || *local == 0 ? "" : join(core::windows::narrow(local), "/primsel");
#else
    // The XDG Base Directory Specification ignores relative paths.
    for (auto const& [variable, below] : {std::pair{"XDG_CACHE_HOME", "/primsel"}, {"HOME", "/.cache/primsel"}}) {
        const char* const value = std::getenv(variable);
        if (value != nullptr && value[0] == '/') return join(value, below);
    }
    return {};
#endif
}

/// Writes a file of the cache, and makes its folders. Returns whether all of it is on the disk. A failure is no error,
/// since the file can be made again.
[[nodiscard]] inline bool write_cache_file(std::string const& path, std::string_view text) {
    if (path.empty()) return false;
    for (std::size_t slash = path.find_first_of(io::slashes, 1); slash != std::string::npos;
         slash = path.find_first_of(io::slashes, slash + 1)) {
        (void)io::make_folder(path.substr(0, slash));  // most are there; if the last is not, writing fails
    }
    // Opening a pipe for writing would block until something reads it.
    io::FileStatus status;
    if (io::status_of(path, status) && status.kind != io::FileStatus::Kind::regular) return false;
    try {
        write_file(path, text);
    } catch (error const&) {
        return false;
    }
    return true;
}

}  // namespace primsel::inline PRIMSEL_ABI
