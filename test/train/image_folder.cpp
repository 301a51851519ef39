#include <primsel/train/image_folder.hpp>

#include <doctest/doctest.h>

#include <filesystem>
#include <primsel/train/batches.hpp>
#include <string>
#include <vector>

#include "../io/scratch.hpp"
#include "labelled.hpp"

namespace ps = primsel;
using scratch::error_of;

namespace image_folders {

/// An image whose two pixels are the first letters of the file.
ps::Tensor<ps::chw> letters(std::string const& path) {
    const std::string text = scratch::content(path);
    if (text.empty()) ps::fail(path, ": is empty");
    ps::Tensor<ps::chw> image({1, 1, static_cast<int>(text.size())});
    for (std::size_t i = 0; i < text.size(); ++i) image.data()[i] = static_cast<float>(text[i]);
    return image;
}

}  // namespace image_folders

TEST_CASE("a folder for each class") {
    const scratch::Folder folder;
    for (const char* name : {"b", "a", "c", ".hidden"}) std::filesystem::create_directory(folder.file(name));
    scratch::write(folder.file("notes.txt"), "no class");
    scratch::write(folder.file("a/2.PNG"), "xy");
    scratch::write(folder.file("a/1.jpg"), "uv");
    scratch::write(folder.file("a/.3.png"), "--");
    scratch::write(folder.file("a/readme"), "--");
    scratch::write(folder.file("b/1.png"), "st");
    scratch::write(folder.file("c/9.Jpeg"), "qr");
    const ps::ImageFolder images(folder.file(""), {1, 1, 2}, image_folders::letters);
    static_assert(ps::DataSource<decltype(images)>);
    CHECK(images.size() == 4);
    CHECK(images.classes() == 3);
    CHECK(images.class_names() == std::vector<std::string>{"a", "b", "c"});
    const std::string expected = "uvxystqr";
    for (std::size_t i = 0; i < 4; ++i) {
        float values[2];
        images.read(i, values);
        CHECK(values[0] == static_cast<float>(expected[2 * i]));
        CHECK(values[1] == static_cast<float>(expected[2 * i + 1]));
        CHECK(images.label(i) == (i < 2 ? 0 : static_cast<int>(i) - 1));
    }
    CHECK(images.left_out() == std::vector<std::string>{"a/readme"});
    CHECK(images.left_out_summary() == "1 file is left out: a/readme");
    ps::Batches batches(images, ps::evaluation_batches(3));
    CHECK(batches.next().images[5] == 't');
    CHECK(batches.next().labels[0] == 2);

    scratch::write(folder.file("c/9.Jpeg"), "too long");
    float values[2];
    CHECK(error_of([&] { images.read(3, values); }) == images.path(3) + ": is 1x1x1x8, not 1x1x2");
    scratch::write(folder.file("c/9.Jpeg"), "");
    CHECK(error_of([&] { images.read(3, values); }) == images.path(3) + ": is empty");
}

TEST_CASE("every file that is left out of a folder is named, but for the system's") {
    const scratch::Folder folder;
    for (const char* name : {"a", "b", "b/more.png.d"}) std::filesystem::create_directory(folder.file(name));
    for (const char* name : {"a/1.png", "a/2.webp", "a/3.BMP", "a/.DS_Store", "a/Thumbs.db", "a/desktop.ini"}) {
        scratch::write(folder.file(name), "xy");
    }
    for (const char* name : {"b/1.png", "b/2.gif", "b/3.tiff", "b/4"}) scratch::write(folder.file(name), "xy");
    const ps::ImageFolder images(folder.file("."), {1, 1, 2}, image_folders::letters);
    CHECK(images.size() == 2);
    CHECK(images.left_out() ==
          std::vector<std::string>{"a/2.webp", "a/3.BMP", "b/2.gif", "b/3.tiff", "b/4", "b/more.png.d"});
    CHECK(images.left_out_summary() == "6 files are left out: a/2.webp, a/3.BMP, b/2.gif and 3 more");
    std::filesystem::remove(folder.file("b/1.png"));
    CHECK(error_of([&] {
              (void)ps::ImageFolder(folder.file("."), {1, 1, 2}, image_folders::letters);
          }) == folder.file("./b") + ": has no images; left out: b/2.gif, b/3.tiff, b/4 and 1 more");
}

TEST_CASE("folders without images are refused") {
    const scratch::Folder folder;
    const auto refused = [&](std::string const& path) {
        return error_of([&] { (void)ps::ImageFolder(path, {1, 1, 2}, image_folders::letters); });
    };
    CHECK(refused(folder.file("none")).starts_with(folder.file("none") + ": cannot read"));
    CHECK(refused(folder.file("")) == folder.file("") + ": has no folder for a class");
    std::filesystem::create_directory(folder.file("a"));
    scratch::write(folder.file("a/x.txt"), "x");
    CHECK(refused(folder.file(".")) == folder.file("./a") + ": has no images; left out: a/x.txt");
    std::filesystem::remove(folder.file("a/x.txt"));
    CHECK(refused(folder.file(".")) == folder.file("./a") + ": has no images");
}
