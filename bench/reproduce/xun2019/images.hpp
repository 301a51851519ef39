// Fashion-MNIST, as Debian's package dataset-fashion-mnist has it, padded to images of 3 x 32 x 32.
#pragma once

#include "../../../examples/fashion_mnist/idx.hpp"

#include <primsel/core/error.hpp>
#include <primsel/tensor/shape.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

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

}  // namespace reproduce
