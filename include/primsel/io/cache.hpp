#pragma once

#include <primsel/core/error.hpp>
#include <primsel/io/file.hpp>

#include <sys/stat.h>

#include <cstddef>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

namespace primsel::inline PRIMSEL_ABI {

/// The folder for cached files, which can be made again: $XDG_CACHE_HOME/primsel, else $HOME/.cache/primsel. Empty if
/// neither variable is set.
[[nodiscard]] inline std::string cache_directory() {
    // The XDG Base Directory Specification ignores relative paths.
    for (auto const& [variable, below] : {std::pair{"XDG_CACHE_HOME", "/primsel"}, {"HOME", "/.cache/primsel"}}) {
        const char* const value = std::getenv(variable);
        if (value != nullptr && value[0] == '/') return join(value, below);
    }
    return {};
}

/// Writes a file of the cache, and makes its folders. Returns whether all of it is on the disk. A failure is no error,
/// since the file can be made again.
[[nodiscard]] inline bool write_cache_file(std::string const& path, std::string_view text) {
    if (path.empty()) return false;
    for (std::size_t slash = path.find('/', 1); slash != std::string::npos; slash = path.find('/', slash + 1)) {
        ::mkdir(path.substr(0, slash).c_str(), 0777);  // most are there; if the last is not, writing fails
    }
    // Opening a pipe for writing would block until something reads it.
    struct stat status {};
    if (::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) return false;
    try {
        write_file(path, text);
    } catch (error const&) {
        return false;
    }
    return true;
}

}  // namespace primsel::inline PRIMSEL_ABI
