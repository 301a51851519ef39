// Shared parts of this room's tests.
#pragma once

#include "../error_of.hpp"

#include <doctest/doctest.h>

#if !defined(_WIN32)
#include <sys/resource.h>

#include <csignal>
#endif

#include <filesystem>
#include <fstream>
#include <iterator>
#include <primsel/core/error.hpp>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace scratch {

/// The bytes of values in memory.
template <class T>
std::string bytes_of(std::vector<T> const& values) {
    return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

/// A folder of its own, gone at the end of the scope.
class Folder {
public:
    Folder() {
        std::random_device bits;
        do path_ = std::filesystem::temp_directory_path() / ("primsel-test-" + std::to_string(bits()));
        while (!std::filesystem::create_directory(path_));
    }
    Folder(Folder const&) = delete;
    Folder& operator=(Folder const&) = delete;
    ~Folder() { std::filesystem::remove_all(path_); }

    /// The path of a file in UTF-8, as is its name.
    [[nodiscard]] std::string file(std::string_view name) const {
        const std::u8string text = (path_ / std::u8string(name.begin(), name.end())).u8string();
        return {text.begin(), text.end()};
    }
    [[nodiscard]] std::ptrdiff_t entries() const {
        return std::distance(std::filesystem::directory_iterator(path_), std::filesystem::directory_iterator());
    }

private:
    std::filesystem::path path_;
};

#if !defined(_WIN32)
/// While it lives, no file may become larger: as on a disk with that much space left.
class SmallDisk {
public:
    explicit SmallDisk(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
        ::getrlimit(RLIMIT_FSIZE, &limit_);
        const rlimit small{bytes, limit_.rlim_max};
        ::setrlimit(RLIMIT_FSIZE, &small);
    }
    SmallDisk(SmallDisk const&) = delete;
    SmallDisk& operator=(SmallDisk const&) = delete;
    ~SmallDisk() {
        ::setrlimit(RLIMIT_FSIZE, &limit_);
        std::signal(SIGXFSZ, handler_);
    }

private:
    void (*handler_)(int);
    rlimit limit_{};
};
#endif

using tests::error_of;

inline std::filesystem::path path_of(std::string const& utf8) { return std::u8string(utf8.begin(), utf8.end()); }
/// A file's bytes, read without the library.
inline std::string content(std::string const& path) {
    std::ifstream file(path_of(path), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}
inline void write(std::string const& path, std::string_view text) {
    std::ofstream(path_of(path), std::ios::binary) << text;
}

}  // namespace scratch
