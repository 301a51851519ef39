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

/// The folder for what can be made again: primsel in $XDG_CACHE_HOME or in $HOME/.cache; empty where neither is set.
[[nodiscard]] inline std::string cache_directory() {
    // As the XDG Base Directory Specification wants it, relative paths do not count.
    for (auto const& [variable, below] : {std::pair{"XDG_CACHE_HOME", "/primsel"}, {"HOME", "/.cache/primsel"}}) {
        const char* const value = std::getenv(variable);
        if (value != nullptr && value[0] == '/') return join(value, below);
    }
    return {};
}

/// Writes a file of the cache, and makes the folders that it lies in. Whether all of it is on the disk now: that it is
/// not is no error, for it can be made again.
[[nodiscard]] inline bool write_cache_file(std::string const& path, std::string_view text) {
    if (path.empty()) return false;
    for (std::size_t slash = path.find('/', 1); slash != std::string::npos; slash = path.find('/', slash + 1)) {
        ::mkdir(path.substr(0, slash).c_str(), 0777);  // most are there; if the last is not, writing fails
    }
    // Writing to a pipe would wait for who reads it.
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
