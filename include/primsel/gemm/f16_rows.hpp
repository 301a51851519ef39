// Products of rows of floats with a panel of 32 columns in float16, which are widened in registers.
#pragma once

#include <primsel/core/amx.hpp>
#include <primsel/core/float16.hpp>
#include <primsel/core/simd.hpp>
#include <primsel/gemm/detail/dot_rows.hpp>

#include <cstddef>

namespace primsel::inline PRIMSEL_ABI::gemm {

using F16Rows = DotRows<float, float16, float>;

namespace detail {

template <class Arch>
struct F16Words {
    using Vector = Floats<Arch>;
    static constexpr int width = lanes<Arch>, vectors = 2, rows = registers<Arch> == 32 ? 12 : 6;

    PRIMSEL_INLINE static Vector zero() { return broadcast<Arch>(0.0F); }
    PRIMSEL_INLINE static Vector load(const float* src) { return primsel::load<Arch>(src); }
    PRIMSEL_INLINE static void store(float* dst, Vector const& value) { primsel::store<Arch>(dst, value); }

    /// Adds the product of one number of each row of A with a vector of columns of B.
    template <int rows, int vectors>
    PRIMSEL_INLINE static void add(Vector (&sums)[rows][vectors], const float* a, std::ptrdiff_t const (&places)[rows],
                                   const float16* b) noexcept {
        Vector row_of_b[vectors];
        PRIMSEL_UNROLL
        for (int v = 0; v < vectors; ++v) row_of_b[v] = load_wide<Arch>(b + v * lanes<Arch>);
        PRIMSEL_UNROLL
        for (int row = 0; row < rows; ++row) {
            const auto element = broadcast<Arch>(a[places[row]]);
            PRIMSEL_UNROLL
            for (int v = 0; v < vectors; ++v) sums[row][v] = fma<Arch>(element, row_of_b[v], sums[row][v]);
        }
    }
};

}  // namespace detail

/// Computes sums[row][column] = A B in floats, for at most dot_rows rows, without the columns that are not needed.
/// Every sum is in the order of the depth.
template <class Arch>
void multiply(F16Rows const& t, int rows, core::AmxTiles, float* sums) noexcept {
    detail::dot_tiles<detail::F16Words<Arch>>(t, rows, sums);
}

}  // namespace primsel::inline PRIMSEL_ABI::gemm
