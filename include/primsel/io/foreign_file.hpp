#pragma once

#include <primsel/core/error.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

namespace primsel::inline PRIMSEL_ABI {

/// The name of the format that a file begins with, if it is one often saved under another's name; else empty.
[[nodiscard]] inline std::string_view foreign_format(std::string_view text) {
    using namespace std::string_view_literals;
    struct Format {
        std::string_view magic, name;
        std::size_t at = 0;
    };
    constexpr Format formats[] = {
        {"version https://git-lfs"sv, "a Git LFS pointer, which `git lfs pull` replaces by the file"},
        {"\x1f\x8b\x08"sv, "compressed by gzip; unpack it first"},
        {"PK\x03\x04"sv, "a zip archive, as .npz files and PyTorch's checkpoints are"},
        {"PK\x05\x06"sv, "a zip archive, and an empty one"},
        {"\xfd"
         "7zXZ\0"sv,
         "compressed by xz; unpack it first"},
        {"BZh"sv, "compressed by bzip2; unpack it first"},
        {"7z\xbc\xaf\x27\x1c"sv, "a 7z archive"},
        {"\x28\xb5\x2f\xfd"sv, "compressed by zstd; unpack it first"},
        {"ustar"sv, "a tar archive", 257},
        {"\x89HDF\r\n\x1a\n"sv, "an HDF5 file, as Keras writes them"},
        {"\x93NUMPY"sv, "an .npy file"},
        {"TFL3"sv, "a TensorFlow Lite model", 4},
        {"\x89PNG\r\n\x1a\n"sv, "a PNG image"},
        {"\xff\xd8\xff"sv, "a JPEG image"},
        {"%PDF-"sv, "a PDF document"},
        {"<?xml"sv, "an XML document"},
        {"{\""sv, "JSON, perhaps a server's error message"},
        {"{\""sv, "a safetensors file", 8},
    };
    for (Format const& format : formats) {
        if (text.size() >= format.at && text.substr(format.at).starts_with(format.magic)) return format.name;
    }
    // HTML may begin with a byte order mark and blanks, in letters of any case.
    if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
    text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
    for (const std::string_view begin : {"<!doctype html"sv, "<html"sv, "<head"sv, "<!--"sv}) {
        std::string lower(text.substr(0, begin.size()));
        for (char& letter : lower)
            letter = static_cast<char>(letter >= 'A' && letter <= 'Z' ? letter - 'A' + 'a' : letter);
        if (lower == begin) return "an HTML page, perhaps a login or an error instead of the file";
    }
    return "";
}

/// Throws error if the text is of such a format, and not a file of the format `wanted`.
inline void refuse_foreign_format(std::string const& name, std::string_view wanted, std::string_view text) {
    const std::string_view format = foreign_format(text);
    if (!format.empty()) fail(name, ": not ", wanted, ": it is ", format);
}

}  // namespace primsel::inline PRIMSEL_ABI
