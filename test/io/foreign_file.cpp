#include <doctest/doctest.h>

#include <primsel/io/foreign_file.hpp>
#include <primsel/io/json.hpp>
#include <primsel/io/npy.hpp>
#include <primsel/io/safetensors.hpp>

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "scratch.hpp"

namespace ps = primsel;
using scratch::error_of;

TEST_CASE("a file of another format is called what it is, by every reader") {
    using namespace std::string_view_literals;
    const std::pair<std::string_view, std::string_view> files[] = {
        {"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1845\n"sv, "a Git LFS pointer"},
        {"<!DOCTYPE html>\n<html></html>"sv, "an HTML page"},
        {"\xef\xbb\xbf\n <HTML lang=\"en\">"sv, "an HTML page"},
        {"\x1f\x8b\x08\0\0\0\0\0\0\x03"sv, "compressed by gzip"},
        {"PK\x03\x04\x14\0\0\0\x08\0"sv, "a zip archive"},
        {"\x89HDF\r\n\x1a\n\0\0"sv, "an HDF5 file"},
    };
    for (auto const& [text, format] : files) {
        const auto name = format;
        CAPTURE(name);
        // As long as a file is, and cut short.
        for (const int more : {0, 5000}) {
            const std::string file = std::string(text) + std::string(static_cast<std::size_t>(more), '\0');
            CHECK(ps::foreign_format(file).starts_with(name));
            const scratch::Folder folder;
            const std::string path = folder.file("f");
            ps::write_file(path, file);
            CHECK(error_of([&] { (void)ps::read_npy(path); }).starts_with(path + ": not an .npy file: it is "));
            CHECK(error_of([&] {
                      (void)ps::read_safetensors(path);
                  }).starts_with(path + ": not a safetensors file: it is "));
            CHECK(error_of([&] { (void)ps::read_json(path); }).starts_with(path + ": not JSON: it is "));
        }
    }
    CHECK(ps::foreign_format("").empty());
    CHECK(ps::foreign_format("hello").empty());
    CHECK(ps::foreign_format("\x08\x08\x12\x04xxxx").empty());
}

TEST_CASE("a file is not called its own format where it is broken") {
    const scratch::Folder folder;
    const std::string path = folder.file("f");
    ps::write_file(path, std::string_view("{\"a\": 1"));
    CHECK(error_of([&] { (void)ps::read_json(path); }).find("it is") == std::string::npos);
    ps::write_file(path, std::string("\x07\0\0\0\0\0\0\0{\"a\": 1", 15));
    CHECK(error_of([&] { (void)ps::read_safetensors(path); }).find("it is") == std::string::npos);
    CHECK(error_of([&] { (void)ps::read_npy(path); }) == path + ": not an .npy file: it is a safetensors file");
}
