#pragma once

#include <primsel/io/file.hpp>
#include <primsel/network/weights.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

// Weights of a file are read when they are packed, from the descriptor through which its header was read. A file that
// is replaced or removed meanwhile stays readable as it was, and each read notices if it was changed or cut. Mapping
// the file would save a copy, but a program that reads a mapped file is killed when somebody cuts it.
namespace primsel::inline PRIMSEL_ABI {

/// A file that is kept open so that weights can be read from it.
class HeldFile final : public ValueFile {
public:
    /// Throws error as OpenFile does.
    explicit HeldFile(std::string const& path) : file_(path) {}

    [[nodiscard]] OpenFile const& file() const { return file_; }
    void read(std::size_t offset, std::span<std::byte> dst) const override {
        if (!file_.read(offset, dst) || !file_.is_unchanged()) {
            fail(file_.path(), ": was changed while it was in use");
        }
    }

private:
    OpenFile file_;
};

/// Tensors of fewer bytes are read at once instead of when they are needed. A choice: 16 KiB.
inline constexpr std::size_t least_bytes_in_file = std::size_t{1} << 14;

/// A tensor of `size` floats of a file, from byte `offset` on.
[[nodiscard]] inline WeightTensor weight_of_file(std::vector<std::int64_t> dims, std::shared_ptr<const HeldFile> file,
                                                 std::size_t offset, std::size_t size) {
    if (size * sizeof(float) >= least_bytes_in_file) {
        return {std::move(dims), StoredFloats::of_file(std::move(file), offset, size), {}};
    }
    auto values = std::make_shared<std::vector<float>>(size);
    file->read(offset, std::as_writable_bytes(std::span(*values)));
    const std::span<const float> view(*values);
    return {std::move(dims), view, std::move(values)};
}

/// The same weights without the memory `bytes` into which `file` was read: tensors in that memory are read again from
/// the file when they are needed. Tensors that share bytes still share floats.
[[nodiscard]] inline Weights left_in_file(Weights const& weights, SharedBytes const& bytes,
                                          std::shared_ptr<const HeldFile> const& file) {
    const std::byte *const begin = bytes.bytes.data(), *const end = begin + bytes.bytes.size();
    Weights left(weights.source());
    std::map<std::pair<const std::byte*, std::size_t>, WeightTensor> known;
    for (auto const& [name, tensor] : weights) {
        const std::span<const std::byte> at =
            tensor.values.file() != nullptr ? std::span<const std::byte>() : tensor.values.bytes();
        const bool inside = !std::less<>()(at.data(), begin) && std::less<>()(at.data(), end);
        if (at.empty() || !inside) {
            left.add(name, tensor);
            continue;
        }
        const auto [same, is_new] = known.try_emplace({at.data(), at.size()});
        if (is_new) {
            same->second =
                weight_of_file(tensor.dims, file, static_cast<std::size_t>(at.data() - begin), tensor.values.size());
        }
        left.add(name, WeightTensor{tensor.dims, same->second.values, same->second.owner});
    }
    return left;
}

}  // namespace primsel::inline PRIMSEL_ABI
