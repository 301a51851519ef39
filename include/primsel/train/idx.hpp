#pragma once

#include <primsel/core/error.hpp>
#include <primsel/io/file.hpp>
#include <primsel/tensor/shape.hpp>
#include <primsel/train/data.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// The idx format of MNIST and its kin (Fashion-MNIST, EMNIST, KMNIST): two bytes of zero, the type of the elements (8:
// unsigned bytes), the number of dimensions, each dimension as four bytes, big-endian, and the elements, row-major.
namespace primsel::inline PRIMSEL_ABI {

namespace train::detail {

/// Bytes as unsigned numbers.
[[nodiscard]] inline std::span<const std::uint8_t> as_numbers(std::span<const std::byte> bytes) {
    return {reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()};
}

struct IdxArray {
    std::vector<std::int64_t> dims;
    std::span<const std::uint8_t> values;
    std::size_t begin;  // of the values in the file
};

/// Throws error, naming the file and the byte, unless it is an idx file of bytes with so few dimensions, all of it.
[[nodiscard]] inline IdxArray parse_idx_array(std::string const& name, std::span<const std::byte> file, int most_dims) {
    const std::span<const std::uint8_t> bytes = as_numbers(file);
    if (bytes.size() >= 2 && bytes[0] == 0x1f && bytes[1] == 0x8b) {
        fail(name, ": is compressed by gzip; decompress it first: gunzip ", name);
    }
    if (bytes.size() < 4) fail(name, ": byte ", bytes.size(), ": the file ends within its first 4 bytes");
    if (bytes[0] != 0 || bytes[1] != 0) fail(name, ": byte 0: not an idx file");
    if (bytes[2] != 8) fail(name, ": byte 2: elements of type ", bytes[2], " are not supported; 8, bytes, are");
    if (bytes[3] < 1 || bytes[3] > most_dims) {
        fail(name, ": byte 3: ", bytes[3], " dimensions, where 1 to ", most_dims, " may be");
    }
    const std::size_t begin = 4 + 4 * std::size_t{bytes[3]};
    if (bytes.size() < begin) fail(name, ": byte ", bytes.size(), ": the file ends within its dimensions");
    IdxArray array{{}, bytes.subspan(begin), begin};
    std::int64_t values = 1;
    for (std::size_t at = 4; at < begin; at += 4) {
        std::int64_t dim = 0;
        for (std::size_t i = 0; i < 4; ++i) dim = dim << 8 | bytes[at + i];
        if (dim == 0) fail(name, ": byte ", at, ": a dimension of 0");
        array.dims.push_back(dim);
        values = bounded_product({values, dim});
        if (values > max_floats) fail(name, ": byte ", at, ": the dimensions are impossibly large");
    }
    if (static_cast<std::uint64_t>(values) != array.values.size()) {
        fail(name, ": byte ", begin, ": the dimensions say ", values, " elements, but ", array.values.size(),
             " bytes follow");
    }
    return array;
}

/// The labels, and one class more than the largest where 0 is given as their number. Throws error for a label that is
/// none of the classes; label i is the byte `begin + i * stride` of the file.
[[nodiscard]] inline int classes_of(std::string const& name, std::span<const int> labels, int classes,
                                    std::size_t begin, std::size_t stride) {
    if (classes < 0) fail(name, ": there cannot be ", classes, " classes");
    int largest = -1;
    for (std::size_t i = 0; i < labels.size(); ++i) {
        largest = std::max(largest, labels[i]);
        if (classes != 0 && labels[i] >= classes) {
            fail(name, ": byte ", begin + i * stride, ": label ", labels[i], " is none of the ", classes, " classes");
        }
    }
    return classes == 0 ? largest + 1 : classes;
}

}  // namespace train::detail

/// The images of one idx file, of bytes: so many of h x w, or of c x h x w; and the labels of another, one an image.
/// `classes` is how many there are; 0: one more than the largest label. The names are what errors call the files.
/// Throws error, naming file and byte, for what is not idx, not of bytes or not as long as its dimensions say, where
/// images and labels are not equally many, and for a label that is no class.
[[nodiscard]] inline LabelledImages parse_idx(std::string const& images_name, std::span<const std::byte> images_file,
                                              std::string const& labels_name, std::span<const std::byte> labels_file,
                                              int classes = 0) {
    const train::detail::IdxArray images = train::detail::parse_idx_array(images_name, images_file, 4);
    const train::detail::IdxArray labels = train::detail::parse_idx_array(labels_name, labels_file, 1);
    const std::size_t dims = images.dims.size();
    if (dims < 3) fail(images_name, ": byte 3: ", dims, " dimensions are no images: these have 3 or 4");
    if (images.dims[0] != labels.dims[0]) {
        fail(labels_name, ": byte 4: ", labels.dims[0], " labels for ", images.dims[0], " images in ", images_name);
    }
    const std::int64_t c = dims == 4 ? images.dims[1] : 1, h = images.dims[dims - 2], w = images.dims[dims - 1];
    if (!within_bounds(c, h, w)) fail(images_name, ": byte 8: images of ", c, 'x', h, 'x', w, " are too large");
    LabelledImages read{.image = {static_cast<int>(c), static_cast<int>(h), static_cast<int>(w)}};
    read.bytes.assign(images.values.begin(), images.values.end());
    read.labels.assign(labels.values.begin(), labels.values.end());
    read.class_count = train::detail::classes_of(labels_name, read.labels, classes, labels.begin, 1);
    return read;
}

/// The same of files, as of Fashion-MNIST's train-images-idx3-ubyte and train-labels-idx1-ubyte, decompressed. Throws
/// error as read_file and parse_idx do.
[[nodiscard]] inline LabelledImages read_idx(std::string const& images_path, std::string const& labels_path,
                                             int classes = 0) {
    return parse_idx(images_path, read_file(images_path).bytes, labels_path, read_file(labels_path).bytes, classes);
}

/// An idx file of bytes. Throws error for a dimension below 1 or beyond four bytes, and values that do not fill them.
[[nodiscard]] inline std::string to_idx(std::string const& name, std::span<const std::int64_t> dims,
                                        std::span<const std::uint8_t> values) {
    std::string file{'\0', '\0', '\x08', static_cast<char>(dims.size())};
    std::int64_t expected = 1;
    for (const std::int64_t dim : dims) {
        if (dim < 1 || dim > 0xffffffff) fail(name, ": a dimension of ", dim, " cannot be written");
        expected = bounded_product({expected, dim});
        for (int shift = 24; shift >= 0; shift -= 8) file += static_cast<char>(dim >> shift & 0xff);
    }
    if (dims.empty() || dims.size() > 255 || static_cast<std::uint64_t>(expected) != values.size()) {
        fail(name, ": ", values.size(), " values cannot fill ", dims.size(), " dimensions of ", expected);
    }
    return file.append(reinterpret_cast<const char*>(values.data()), values.size());
}

/// Writes images of bytes and their labels, as read_idx reads them. Throws error as write_file does, and for images of
/// floats or labels beyond 255.
inline void write_idx(std::string const& images_path, std::string const& labels_path, LabelledImages const& images) {
    check_images(images_path, images);
    if (images.bytes.empty()) fail(images_path, ": idx files have images of bytes, not of floats");
    std::vector<std::uint8_t> labels;
    for (const int label : images.labels) {
        if (label > 255) fail(labels_path, ": label ", label, " does not fit a byte");
        labels.push_back(static_cast<std::uint8_t>(label));
    }
    const auto count = static_cast<std::int64_t>(images.size());
    std::vector<std::int64_t> dims{count, images.image.c, images.image.h, images.image.w};
    if (images.image.c == 1) dims.erase(dims.begin() + 1);
    write_file(images_path, to_idx(images_path, dims, images.bytes));
    write_file(labels_path, to_idx(labels_path, std::span(&count, 1), labels));
}

}  // namespace primsel::inline PRIMSEL_ABI
