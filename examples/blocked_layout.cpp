// A layout of one's own: blocks of eight channels, which many libraries use. Any type with a name, a size and an offset
// is a layout; tensors, views and transforms then work with it.
#include <primsel/core/executor.hpp>
#include <primsel/tensor/tensor.hpp>
#include <primsel/tensor/transform.hpp>

#include <algorithm>
#include <cstdlib>
#include <iostream>

namespace ps = primsel;

/// [c / 8][h][w][8]; the last block is padded with zeros.
struct chw8c {
    static constexpr std::string_view name = "chw8c";
    static constexpr std::size_t size(ps::Shape shape) {
        return (static_cast<std::size_t>(shape.c) + 7) / 8 * 8 * shape.pixels();
    }
    static constexpr std::size_t offset(ps::Shape shape, ps::Coord at) {
        const auto c = static_cast<std::size_t>(at.c);
        const std::size_t pixel =
            static_cast<std::size_t>(at.h) * static_cast<std::size_t>(shape.w) + static_cast<std::size_t>(at.w);
        return (c / 8 * shape.pixels() + pixel) * 8 + c % 8;
    }
};
static_assert(ps::Layout<chw8c>);

int main() {
    const ps::Shape shape{.c = 11, .h = 2, .w = 3};
    ps::Tensor<ps::chw> image(shape);
    for (int c = 0; c < shape.c; ++c) {
        for (int h = 0; h < shape.h; ++h) {
            for (int w = 0; w < shape.w; ++w) image(c, h, w) = static_cast<float>(100 * c + 10 * h + w);
        }
    }

    ps::Sequential executor;
    ps::Tensor<chw8c> blocked(shape);
    ps::transform<ps::chw, chw8c>(shape, image.data(), blocked.data(), executor);

    std::cout << ps::to_string(shape) << " in " << chw8c::name << ": " << blocked.size() << " floats\n";
    for (std::size_t i = 0; i < blocked.size(); ++i) std::cout << blocked.data()[i] << (i % 8 == 7 ? '\n' : ' ');

    ps::Tensor<ps::chw> back(shape);
    ps::transform<chw8c, ps::chw>(shape, blocked.data(), back.data(), executor);
    const bool same = std::ranges::equal(image, back);
    std::cout << "and back: " << (same ? "the same image" : "another image") << '\n';
    return same ? EXIT_SUCCESS : EXIT_FAILURE;
}
