#include <primsel/train/idx.hpp>

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "../allocations.hpp"
#include "../io/scratch.hpp"
#include "labelled.hpp"

namespace ps = primsel;
using scratch::error_of;

namespace idx_files {

using namespace std::string_literals;

const std::string two_images = "\0\0\x08\x03\0\0\0\2\0\0\0\1\0\0\0\3abcdef"s, two_labels = "\0\0\x08\x01\0\0\0\2\4\0"s;

ps::LabelledImages parsed(std::string const& images, std::string const& labels, int classes = 0) {
    return ps::parse_idx("i", labelled::bytes(images), "l", labelled::bytes(labels), classes);
}
std::string error_in(std::string const& images, std::string const& labels = two_labels, int classes = 0) {
    return error_of([&] { (void)parsed(images, labels, classes); });
}
std::string with(std::string text, std::size_t at, std::string const& bytes) {
    return text.replace(at, bytes.size(), bytes);
}

}  // namespace idx_files

TEST_CASE("images and labels of idx files") {
    const ps::LabelledImages images = idx_files::parsed(idx_files::two_images, idx_files::two_labels);
    CHECK(images.image == ps::Shape{1, 1, 3});
    CHECK(images.bytes == std::vector<std::uint8_t>{'a', 'b', 'c', 'd', 'e', 'f'});
    CHECK(images.labels == std::vector<int>{4, 0});
    CHECK(images.class_count == 5);
    CHECK(idx_files::parsed(idx_files::two_images, idx_files::two_labels, 10).class_count == 10);
}

TEST_CASE("what is written as idx reads back the same") {
    const scratch::Folder folder;
    for (const ps::Shape shape : {ps::Shape{1, 5, 4}, ps::Shape{3, 2, 7}, ps::Shape{1, 1, 1}}) {
        CAPTURE(ps::to_string(shape));
        const ps::LabelledImages images = labelled::images(13, shape, 4);
        ps::write_idx(folder.file("images"), folder.file("labels"), images);
        CHECK(labelled::same(ps::read_idx(folder.file("images"), folder.file("labels")), images));
    }
    const std::string written = scratch::content(folder.file("labels"));
    CHECK(written.substr(0, 8) == std::string("\0\0\x08\x01\0\0\0\x0d", 8));
    ps::LabelledImages images = labelled::images(2, {1, 1, 1}, 300);
    const auto refused = [&] { return error_of([&] { ps::write_idx(folder.file("i"), folder.file("l"), images); }); };
    CHECK(refused() == folder.file("l") + ": label 299 does not fit a byte");
    images.labels = {0, 1};
    images.floats.assign(images.bytes.begin(), images.bytes.end());
    images.bytes.clear();
    CHECK(refused() == folder.file("i") + ": idx files have images of bytes, not of floats");
    CHECK(error_of([] { (void)ps::to_idx("f", std::vector<std::int64_t>{2}, std::vector<std::uint8_t>(3)); }) ==
          "f: 3 values cannot fill 1 dimensions of 2");
    CHECK(error_of([] { (void)ps::to_idx("f", std::vector<std::int64_t>{0}, {}); }) ==
          "f: a dimension of 0 cannot be written");
    CHECK(folder.entries() == 2);
}

TEST_CASE("what is no idx file is refused, naming file and byte") {
    using namespace idx_files;
    CHECK(error_in("\x1f\x8b\x08\0"s) == "i: is compressed by gzip; decompress it first: gunzip i");
    CHECK(error_in(""s) == "i: byte 0: the file ends within its first 4 bytes");
    CHECK(error_in("PNG\0"s) == "i: byte 0: not an idx file");
    CHECK(error_in(with(two_images, 2, "\x0d"s)) == "i: byte 2: elements of type 13 are not supported; 8, bytes, are");
    CHECK(error_in(with(two_images, 3, "\0"s)) == "i: byte 3: 0 dimensions, where 1 to 4 may be");
    CHECK(error_in(with(two_images, 3, "\5"s)) == "i: byte 3: 5 dimensions, where 1 to 4 may be");
    CHECK(error_in(two_labels) == "i: byte 3: 1 dimensions are no images: these have 3 or 4");
    CHECK(error_in(two_images, two_images) == "l: byte 3: 3 dimensions, where 1 to 1 may be");
    CHECK(error_in(two_images.substr(0, 13)) == "i: byte 13: the file ends within its dimensions");
    CHECK(error_in(with(two_images, 11, "\0"s)) == "i: byte 8: a dimension of 0");
    CHECK(error_in(with(two_images, 4, std::string(12, '\xff'))) == "i: byte 8: the dimensions are impossibly large");
    CHECK(error_in(two_images + "g") == "i: byte 16: the dimensions say 6 elements, but 7 bytes follow");
    CHECK(error_in(two_images, "\0\0\x08\x01\0\0\0\3\4\0\1"s) == "l: byte 4: 3 labels for 2 images in i");
    CHECK(error_in(two_images, two_labels, 4) == "l: byte 8: label 4 is none of the 4 classes");
    CHECK(error_in(two_images, two_labels, -1) == "l: there cannot be -1 classes");
}

TEST_CASE("every truncation and every changed bit of idx files parses or is refused, and books no memory for a claim") {
    using namespace idx_files;
    for (std::size_t size = 0; size < two_images.size(); ++size) {
        CHECK(error_in(two_images.substr(0, size)).starts_with("i: byte "));
    }
    for (std::size_t size = 0; size < two_labels.size(); ++size) {
        CHECK(error_in(two_images, two_labels.substr(0, size)).starts_with("l: byte "));
    }
    for (std::size_t bit = 0; bit < 8 * two_images.size(); ++bit) {
        CAPTURE(bit);
        std::string changed = two_images, message;
        changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << bit % 8));
        const std::size_t booked = scratch::allocated_by([&] { message = error_in(changed); });
        CHECK((message.empty() || message.starts_with("i: ") || message.starts_with("l: ")));
        CHECK(booked < 10'000);
    }
}
