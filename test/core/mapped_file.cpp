#include <primsel/core/mapped_file.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace fs = std::filesystem;
namespace core = primsel::core;

TEST_CASE("MappedFile: the bytes of a file whose name is UTF-8, then those of another") {
    const fs::path folder = fs::temp_directory_path() / "primsel_mapped_file";
    fs::create_directories(folder);
    const auto utf8 = [](fs::path const& path) {
        const std::u8string text = path.u8string();
        return std::string(text.begin(), text.end());
    };
    const auto text = [](core::MappedFile const& file) {
        return std::string_view(reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size());
    };
    const fs::path first = folder / u8"\u00fcmlaut \u03b1", second = folder / "large", empty = folder / "empty";
    // Ends of lines, and the byte that ends a text on Windows, are bytes as any other.
    const std::string lines = "a\r\nb\nc\x1a d", large(3'000'001, 'x');
    std::ofstream(first, std::ios::binary) << lines;
    std::ofstream(second, std::ios::binary) << large;
    std::ofstream(empty, std::ios::binary).flush();

    core::MappedFile file;
    CHECK(file.bytes().empty());
    REQUIRE(file.open(utf8(first).c_str()) == nullptr);
    CHECK((text(file) == lines));
    CHECK(reinterpret_cast<std::uintptr_t>(file.bytes().data()) % 64 == 0);
    REQUIRE(file.open(utf8(second).c_str()) == nullptr);
    CHECK((text(file) == large));
    // A refusal leaves no file.
    for (fs::path const& none : {folder / "none", empty, folder}) {
        REQUIRE(file.open(utf8(second).c_str()) == nullptr);
        CHECK(file.open(utf8(none).c_str()) != nullptr);
        CHECK(file.bytes().empty());
    }
    fs::remove_all(folder);
}
