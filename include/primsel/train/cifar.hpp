#pragma once

#include <primsel/core/error.hpp>
#include <primsel/io/file.hpp>
#include <primsel/train/data.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

// The binary versions of CIFAR-10 and CIFAR-100 (Krizhevsky, Learning multiple layers of features from tiny images,
// 2009): of each image the label, in CIFAR-100 first the coarse one and then the fine one, and 3x32x32 bytes, chw.
namespace primsel::inline PRIMSEL_ABI {

/// The labels of CIFAR-100 to read: the 100 classes or the 20 superclasses.
enum class CifarLabel { fine, coarse };

namespace train::detail {

inline constexpr Shape cifar_shape{3, 32, 32};

/// Which of a record's leading bytes is its label, and how many values that and the others may have.
struct CifarRecord {
    std::vector<int> values;
    std::size_t label;
};
[[nodiscard]] inline CifarRecord cifar10_record() { return {{10}, 0}; }
[[nodiscard]] inline CifarRecord cifar100_record(CifarLabel label) {
    return {{20, 100}, label == CifarLabel::coarse ? std::size_t{0} : std::size_t{1}};
}

inline void append_cifar(LabelledImages& images, CifarRecord const& record, std::string const& name,
                         std::span<const std::byte> file) {
    const std::size_t head = record.values.size(), each = head + cifar_shape.size();
    if (file.empty()) fail(name, ": byte 0: the file is empty");
    if (file.size() % each != 0) {
        fail(name, ": byte ", file.size() / each * each, ": the file ends within a record of ", each, " bytes");
    }
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(file.data());
    images.bytes.reserve(images.bytes.size() + file.size() / each * cifar_shape.size());
    for (std::size_t begin = 0; begin < file.size(); begin += each) {
        for (std::size_t i = 0; i < head; ++i) {
            if (bytes[begin + i] >= record.values[i]) {
                fail(name, ": byte ", begin + i, ": label ", bytes[begin + i], " is none of the ", record.values[i],
                     " classes");
            }
        }
        images.labels.push_back(bytes[begin + record.label]);
        images.bytes.insert(images.bytes.end(), bytes + begin + head, bytes + begin + each);
    }
}

[[nodiscard]] inline LabelledImages no_cifar(CifarRecord const& record) {
    return {.image = cifar_shape, .class_count = record.values[record.label]};
}

[[nodiscard]] inline LabelledImages read_cifar(CifarRecord const& record, std::span<const std::string> paths) {
    if (paths.empty()) fail("cifar: no file is given");
    LabelledImages images = no_cifar(record);
    for (std::string const& path : paths) append_cifar(images, record, path, read_file(path).bytes);
    return images;
}

inline void name_cifar10(LabelledImages& images) {
    images.class_names = {"airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"};
}

}  // namespace train::detail

/// The images in a binary file of CIFAR-10, 3x32x32 bytes each; `name` is what errors call it. Throws error, naming the
/// byte, for an empty file, one that ends within an image, and a label that is no class.
[[nodiscard]] inline LabelledImages parse_cifar10(std::string const& name, std::span<const std::byte> file) {
    LabelledImages images = train::detail::no_cifar(train::detail::cifar10_record());
    train::detail::append_cifar(images, train::detail::cifar10_record(), name, file);
    train::detail::name_cifar10(images);
    return images;
}
/// The same of CIFAR-100, with one of its two labels.
[[nodiscard]] inline LabelledImages parse_cifar100(std::string const& name, std::span<const std::byte> file,
                                                   CifarLabel label = CifarLabel::fine) {
    LabelledImages images = train::detail::no_cifar(train::detail::cifar100_record(label));
    train::detail::append_cifar(images, train::detail::cifar100_record(label), name, file);
    return images;
}

/// The images in files of CIFAR-10, as data_batch_1.bin to data_batch_5.bin, one after the other. Throws error as
/// read_file and parse_cifar10 do.
[[nodiscard]] inline LabelledImages read_cifar10(std::vector<std::string> const& paths) {
    LabelledImages images = train::detail::read_cifar(train::detail::cifar10_record(), paths);
    train::detail::name_cifar10(images);
    return images;
}
/// The same of CIFAR-100, as of train.bin.
[[nodiscard]] inline LabelledImages read_cifar100(std::vector<std::string> const& paths,
                                                  CifarLabel label = CifarLabel::fine) {
    return train::detail::read_cifar(train::detail::cifar100_record(label), paths);
}

}  // namespace primsel::inline PRIMSEL_ABI
