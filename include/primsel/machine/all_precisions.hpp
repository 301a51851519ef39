// The speeds of products in low precision. Only programs that compute in it measure them, and ask for the matrix unit.
#pragma once

#include <primsel/core/aligned_buffer.hpp>
#include <primsel/core/amx.hpp>
#include <primsel/core/simd.hpp>
#include <primsel/gemm/bf16_rows.hpp>
#include <primsel/gemm/u8s8_rows.hpp>
#include <primsel/machine/measure_machine.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>

namespace primsel::inline PRIMSEL_ABI {

namespace machine::detail {

/// Measures the product of 96 rows with 192 columns of a depth of 768 beside multiply-adds in registers, several times.
/// Returns fma_flops times the median of the ratios: what slows both down, as other programs do, does not matter.
template <class Arch, class Rows>
double measure_dot_product(double fma_flops) {
    constexpr std::size_t m = 96, n = 192, k = 768, rows = gemm::dot_rows, columns = gemm::dot_columns;
    constexpr std::size_t element = 4 / Rows::word;
    AlignedBuffer a(m * k * element / sizeof(float)), b(n * k * element / sizeof(float)), sums(rows * columns);
    // Small numbers of either type.
    std::memset(a.data(), 0x3e, m * k * element);
    std::memset(b.data(), 0x3e, n * k * element);
    Rows product{.a_stride = k, .run = static_cast<int>(k)};
    const auto* const a_of = reinterpret_cast<decltype(product.a)>(a.data());
    const auto* const b_of = reinterpret_cast<decltype(product.b)>(b.data());
    const core::AmxTiles tiles = core::may_use_amx() ? core::AmxTiles{16, 16} : core::AmxTiles{};
    const core::AmxScope scope(tiles);
    const auto multiply = [&] {
        for (std::size_t panel = 0; panel < n; panel += columns) {
            for (std::size_t row = 0; row < m; row += rows) {
                product.a = a_of + row * k, product.b = b_of + panel * k;
                gemm::multiply<Arch>(product, gemm::dot_rows, tiles,
                                     reinterpret_cast<typename Rows::Sum*>(sums.data()));
            }
        }
        volatile float used = sums.data()[0];
        (void)used;
    };
    std::array<double, 9> ratios{};
    for (double& ratio : ratios) {
        ratio = best_rate(0.0001, 2.0 * m * n * k, multiply) / measure_fma<Arch>(0.0001);
    }
    std::ranges::nth_element(ratios, ratios.begin() + ratios.size() / 2);
    return fma_flops * ratios[ratios.size() / 2];
}

}  // namespace machine::detail

/// Returns this_machine(threads) with the speeds of products in bfloat16 and of bytes, which take 5 ms more.
template <class Arch = default_arch>
[[nodiscard]] Machine const& this_machine_in_all_precisions(int threads = 1) {
    static const Machine one = [] {
        Machine all = this_machine<Arch>();
        all.bf16_flops = machine::detail::measure_dot_product<Arch, gemm::Bf16Rows>(all.fma_flops);
        all.int8_flops = machine::detail::measure_dot_product<Arch, gemm::U8S8Rows>(all.fma_flops);
        return all;
    }();
    if (threads <= 1) return one;
    static const Machine several = machine::with_threads<Arch>(one);
    return several;
}

/// A policy for engines, like MeasuredMachine.
struct MeasuredInAllPrecisions {
    template <class Arch>
    [[nodiscard]] static Machine const& speeds(int threads) {
        return this_machine_in_all_precisions<Arch>(threads);
    }
};

#ifdef PRIMSEL_EXTERN_KERNELS
// Programs that use it instantiate it beside engine/instantiate.hpp.
extern template Machine const& this_machine_in_all_precisions<default_arch>(int);
#endif

}  // namespace primsel::inline PRIMSEL_ABI
