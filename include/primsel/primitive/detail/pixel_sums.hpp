// Sums over pixels of products of two images' channels, from which the gradient of a kernel's tap is computed.
#pragma once

#include <primsel/core/simd.hpp>
#include <primsel/gemm/tile.hpp>

#include <array>
#include <cstddef>
#include <type_traits>
#include <utility>

namespace primsel::inline PRIMSEL_ABI::primitive::detail {

/// The pixels of two batches of images, visited together, with the floats from one pixel to the next, from row to row,
/// and from image to image.
struct PixelPairs {
    struct Steps {
        std::size_t column, row, image;
    };
    const float* a = nullptr;
    const float* b = nullptr;
    Steps a_steps{}, b_steps{};
    int columns = 0, rows = 0, images = 0;
};

/// The most vectors of b's channels summed at once: a power of two, so that few widths suffice for all numbers.
template <class Arch>
inline constexpr int most_pair_vectors = gemm::panel_vectors<Arch>;
/// The channels of a summed with so many vectors of b: their sums and operands fit the registers. One vector of b
/// leaves room for more channels, which gains nothing: from eight sums on, none waits for the previous pixel's.
template <class Arch, int vectors>
inline constexpr int most_pair_rows = vectors == most_pair_vectors<Arch>     ? 6
                                      : vectors == 2 || registers<Arch> < 32 ? 12
                                                                             : 16;

/// Computes sums[row * stride + column] (+)= the sum over the pixels of a[row] * b[column].
template <class Arch, int rows, int vectors>
void sum_pairs(PixelPairs const& p, float* sums, std::size_t stride, bool accumulate) noexcept {
    Floats<Arch> in_registers[rows][vectors];
    PRIMSEL_UNROLL
    for (int row = 0; row < rows; ++row) {
        PRIMSEL_UNROLL
        for (int v = 0; v < vectors; ++v) in_registers[row][v] = broadcast<Arch>(0.0F);
    }
    for (int image = 0; image < p.images; ++image) {
        const float* row_of_a = p.a + static_cast<std::size_t>(image) * p.a_steps.image;
        const float* row_of_b = p.b + static_cast<std::size_t>(image) * p.b_steps.image;
        for (int h = 0; h < p.rows; ++h, row_of_a += p.a_steps.row, row_of_b += p.b_steps.row) {
            const float* a = row_of_a;
            const float* b = row_of_b;
            for (int w = 0; w < p.columns; ++w, a += p.a_steps.column, b += p.b_steps.column) {
                Floats<Arch> of_b[vectors];
                PRIMSEL_UNROLL
                for (int v = 0; v < vectors; ++v) of_b[v] = load<Arch>(b + v * lanes<Arch>);
                PRIMSEL_UNROLL
                for (int row = 0; row < rows; ++row) {
                    const auto element = broadcast<Arch>(a[row]);
                    PRIMSEL_UNROLL
                    for (int v = 0; v < vectors; ++v) {
                        in_registers[row][v] = fma<Arch>(element, of_b[v], in_registers[row][v]);
                    }
                }
            }
        }
    }
    PRIMSEL_UNROLL
    for (int row = 0; row < rows; ++row) {
        float* to = sums + static_cast<std::size_t>(row) * stride;
        PRIMSEL_UNROLL
        for (int v = 0; v < vectors; ++v) {
            if (accumulate) in_registers[row][v] += load<Arch>(to + v * lanes<Arch>);
            store<Arch>(to + v * lanes<Arch>, in_registers[row][v]);
        }
    }
}

/// Computes the sums for any number of channels of a, in tiles of nearly equal height.
template <class Arch, int vectors>
void sum_pairs_of(int channels, PixelPairs p, float* sums, std::size_t stride, bool accumulate) noexcept {
    using Kernel = void (*)(PixelPairs const&, float*, std::size_t, bool) noexcept;
    constexpr int most = most_pair_rows<Arch, vectors>;
    static constexpr auto kernels = []<int... i>(std::integer_sequence<int, i...>) {
        return std::array<Kernel, sizeof...(i)>{&sum_pairs<Arch, i + 1, vectors>...};
    }(std::make_integer_sequence<int, most>{});
    const int tiles = (channels + most - 1) / most;
    for (int i = 0; i < tiles; ++i) {
        const int rows = channels / tiles + (i < channels % tiles ? 1 : 0);
        kernels[static_cast<std::size_t>(rows - 1)](p, sums, stride, accumulate);
        p.a += rows;
        sums += static_cast<std::size_t>(rows) * stride;
    }
}

/// Calls work(integral_constant) for the powers of two, at most `most`, that add up to `vectors`.
template <int most, class Work>
void with_powers(int vectors, Work const& work) noexcept {
    for (; vectors >= most; vectors -= most) work(std::integral_constant<int, most>{});
    if constexpr (most > 1) with_powers<most / 2>(vectors, work);
}

}  // namespace primsel::inline PRIMSEL_ABI::primitive::detail
