#pragma once

#include <primsel/core/error.hpp>

#include <zlib.h>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

/// The idx files of MNIST and its kin, gzipped or not.
namespace fashion {

struct Bytes {
    std::vector<std::size_t> dims;
    std::vector<std::uint8_t> values;
};

/// Throws primsel::error when the file is missing, cut short or no idx file of bytes.
inline Bytes read_idx(std::string const& path) {
    struct Closer {
        gzFile file;
        ~Closer() { gzclose(file); }
    };
    const gzFile file = gzopen(path.c_str(), "rb");
    if (file == nullptr) primsel::fail(path, ": cannot be opened (Debian's package dataset-fashion-mnist has it)");
    const Closer closer{file};
    const auto read = [&](void* to, std::size_t bytes) {
        if (gzread(file, to, static_cast<unsigned>(bytes)) != static_cast<int>(bytes))
            primsel::fail(path, ": cut short");
    };
    std::array<std::uint8_t, 4> word{};
    read(word.data(), 4);
    if (word[0] != 0 || word[1] != 0 || word[2] != 8 || word[3] == 0 || word[3] > 3) {
        primsel::fail(path, ": not an idx file of bytes");
    }
    Bytes bytes;
    std::size_t size = 1;
    for (std::size_t left = word[3]; left > 0; --left) {
        std::array<std::uint8_t, 4> dim{};
        read(dim.data(), 4);
        bytes.dims.push_back((std::size_t{dim[0]} << 24) | (std::size_t{dim[1]} << 16) | (std::size_t{dim[2]} << 8) |
                             dim[3]);
        size *= bytes.dims.back();
        if (size == 0 || size > (std::size_t{1} << 30)) primsel::fail(path, ": impossible dimensions");
    }
    bytes.values.resize(size);
    read(bytes.values.data(), size);
    return bytes;
}

}  // namespace fashion
