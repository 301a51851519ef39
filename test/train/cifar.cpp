#include <primsel/train/cifar.hpp>

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "../io/scratch.hpp"
#include "labelled.hpp"

namespace ps = primsel;
using scratch::error_of;

namespace cifar_files {

constexpr std::size_t pixels = 3072;
/// A record with these leading bytes, its pixels all of one value.
std::string record(std::string const& labels, char pixel) { return labels + std::string(pixels, pixel); }

}  // namespace cifar_files

TEST_CASE("images and labels of CIFAR-10's files") {
    using cifar_files::record;
    const scratch::Folder folder;
    std::string first = record("\7", 'a');
    first[1 + 1024] = 'g';  // the first green value
    scratch::write(folder.file("1"), first + record("\2", 'b'));
    scratch::write(folder.file("2"), record("\x09", 'c'));
    const ps::LabelledImages images = ps::read_cifar10({folder.file("1"), folder.file("2")});
    ps::check_images("cifar", images);
    CHECK(images.image == ps::Shape{3, 32, 32});
    CHECK(images.labels == std::vector<int>{7, 2, 9});
    CHECK(images.class_count == 10);
    CHECK(images.class_names[7] == "horse");
    CHECK(images.bytes.size() == 3 * cifar_files::pixels);
    CHECK(images.bytes[1023] == 'a');
    CHECK(images.bytes[1024] == 'g');
    CHECK(images.bytes[2 * cifar_files::pixels] == 'c');
    CHECK(labelled::same(ps::parse_cifar10("f", labelled::bytes(first + record("\2", 'b'))),
                         ps::read_cifar10({folder.file("1")})));
    CHECK(error_of([] { (void)ps::read_cifar10({}); }) == "cifar: no file is given");
    CHECK(
        error_of([&] { (void)ps::read_cifar10({folder.file("3")}); }).starts_with(folder.file("3") + ": cannot read"));
}

TEST_CASE("CIFAR-100 has two labels") {
    const std::string file = cifar_files::record("\x13\x63", 'x') + cifar_files::record(std::string("\0\1", 2), 'y');
    const ps::LabelledImages fine = ps::parse_cifar100("f", labelled::bytes(file));
    CHECK(fine.labels == std::vector<int>{99, 1});
    CHECK(fine.class_count == 100);
    ps::check_images("f", fine);
    const ps::LabelledImages coarse = ps::parse_cifar100("f", labelled::bytes(file), ps::CifarLabel::coarse);
    CHECK(coarse.labels == std::vector<int>{19, 0});
    CHECK(coarse.class_count == 20);
    CHECK(coarse.bytes == fine.bytes);
    const scratch::Folder folder;
    scratch::write(folder.file("train.bin"), file);
    CHECK(labelled::same(ps::read_cifar100({folder.file("train.bin")}), fine));
}

TEST_CASE("what is no CIFAR file is refused, naming file and byte") {
    using cifar_files::record;
    const std::string two = record("\1", 'a') + record("\2", 'b');
    const auto error10 = [](std::string const& file) {
        return error_of([&] { (void)ps::parse_cifar10("f", labelled::bytes(file)); });
    };
    const auto error100 = [](std::string const& file) {
        return error_of([&] { (void)ps::parse_cifar100("f", labelled::bytes(file)); });
    };
    CHECK(error10("") == "f: byte 0: the file is empty");
    CHECK(error10(record("\1", 'a') + record("\x0a", 'b')) == "f: byte 3073: label 10 is none of the 10 classes");
    CHECK(error100(record("\x14\1", 'a')) == "f: byte 0: label 20 is none of the 20 classes");
    CHECK(error100(record("\1\x64", 'a')) == "f: byte 1: label 100 is none of the 100 classes");
    for (std::size_t size = 1; size < two.size(); ++size) {
        if (size == 3073) continue;
        CHECK(error10(two.substr(0, size)) == (size < 3073
                                                   ? "f: byte 0: the file ends within a record of 3073 bytes"
                                                   : "f: byte 3073: the file ends within a record of 3073 bytes"));
    }
    CHECK(error100(two) == "f: byte 3074: the file ends within a record of 3074 bytes");
}
