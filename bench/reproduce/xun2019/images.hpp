// Images of 3 x 32 x 32: Fashion-MNIST, as Debian's package dataset-fashion-mnist has it, padded; or CIFAR-10's files.
#pragma once

#include "../../../examples/fashion_mnist/idx.hpp"

#include <primsel/core/error.hpp>
#include <primsel/tensor/shape.hpp>
#include <primsel/train/cifar.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace reproduce {

class PaddedImages {
public:
    /// The first so many of them; 0: all. Throws error for other files.
    PaddedImages(std::string const& folder, std::string const& part, std::size_t count)
        : images_(fashion::read_idx(folder + '/' + part + "-images-idx3-ubyte.gz")),
          labels_(fashion::read_idx(folder + '/' + part + "-labels-idx1-ubyte.gz")) {
        const bool fits = images_.dims.size() == 3 && images_.dims[1] == side && images_.dims[2] == side &&
                          labels_.values.size() == images_.dims[0];
        if (!fits) primsel::fail(folder, ": the images of ", part, " are not of 28 x 28, with a label each");
        count_ = count == 0 ? labels_.values.size() : std::min(count, labels_.values.size());
    }
    [[nodiscard]] std::size_t size() const { return count_; }
    [[nodiscard]] primsel::Shape shape() const { return {3, 32, 32}; }
    [[nodiscard]] int classes() const { return 10; }
    [[nodiscard]] int label(std::size_t i) const { return labels_.values[i]; }
    /// Two pixels of zeros around, the same in each channel.
    void read(std::size_t i, float* dst) const {
        std::fill_n(dst, std::size_t{3} * 32 * 32, 0.0F);
        for (std::size_t y = 0; y < side; ++y) {
            for (std::size_t x = 0; x < side; ++x) {
                const float value = static_cast<float>(images_.values[(i * side + y) * side + x]) / 255.0F;
                for (std::size_t c = 0; c < 3; ++c) dst[(c * 32 + y + 2) * 32 + x + 2] = value;
            }
        }
    }

private:
    static constexpr std::size_t side = 28;
    fashion::Bytes images_, labels_;
    std::size_t count_ = 0;
};

/// The images that networks are trained with, or judged by.
class Images {
public:
    enum class Part { train, test };

    /// Reads CIFAR-10's binary version if its folder is given, otherwise Fashion-MNIST's. count: how many of the first
    /// images; 0: all. pixels: 32, or 16 for the means of 2 x 2 pixels. Throws error for other files.
    Images(std::string const& fashion, std::string const& cifar, Part part, std::size_t count, int pixels)
        : pixels_(pixels),
          images_(cifar.empty() ? Either(PaddedImages(fashion, part == Part::train ? "train" : "t10k", count))
                                : Either(of_cifar(cifar, part, count))) {}
    [[nodiscard]] std::size_t size() const {
        return std::visit([](auto const& images) { return images.size(); }, images_);
    }
    [[nodiscard]] primsel::Shape shape() const { return {3, pixels_, pixels_}; }
    [[nodiscard]] int classes() const { return 10; }
    [[nodiscard]] int label(std::size_t i) const {
        return std::visit([i](auto const& images) { return images.label(i); }, images_);
    }
    void read(std::size_t i, float* dst) const {
        if (pixels_ == 32) return std::visit([=](auto const& images) { images.read(i, dst); }, images_);
        std::array<float, std::size_t{3} * 32 * 32> whole;
        std::visit([&](auto const& images) { images.read(i, whole.data()); }, images_);
        for (std::size_t row = 0; row < 3 * 16; ++row) {
            const float* above = whole.data() + row * 64;
            for (std::size_t x = 0; x < 32; x += 2) {
                *dst++ = (above[x] + above[x + 1] + above[32 + x] + above[32 + x + 1]) / 4;
            }
        }
    }

private:
    using Either = std::variant<PaddedImages, primsel::LabelledImages>;

    [[nodiscard]] static primsel::LabelledImages of_cifar(std::string const& folder, Part part, std::size_t count) {
        std::vector<std::string> files;
        if (part == Part::test) files.push_back(folder + "/test_batch.bin");
        for (int i = 1; part == Part::train && i <= 5; ++i) {
            files.push_back(primsel::join(folder, "/data_batch_", i, ".bin"));
        }
        primsel::LabelledImages images = primsel::read_cifar10(files);
        if (count > 0 && count < images.size()) {
            images.labels.resize(count);
            images.bytes.resize(count * images.image.size());
        }
        return images;
    }

    int pixels_;
    Either images_;
};

}  // namespace reproduce
