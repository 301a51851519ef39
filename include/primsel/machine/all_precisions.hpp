// The speeds of products in low precision. Only programs that compute in it measure them, and ask for the matrix unit.
#pragma once

#include <primsel/core/aligned_buffer.hpp>
#include <primsel/core/amx.hpp>
#include <primsel/core/simd.hpp>
#include <primsel/gemm/bf16_rows.hpp>
#include <primsel/gemm/u8s8_rows.hpp>
#include <primsel/machine/measure_machine.hpp>

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace primsel::inline PRIMSEL_ABI {

namespace machine::detail {

/// Measures the product of 192 rows with 192 columns of a depth of 192.
template <class Arch, class Rows>
double measure_dot_product() {
    constexpr std::size_t size = 192, rows = gemm::dot_rows, columns = gemm::dot_columns;
    constexpr std::size_t bytes = size * size * 4 / Rows::word;
    AlignedBuffer a(bytes / sizeof(float)), b(bytes / sizeof(float)), sums(rows * columns);
    // Small numbers of either type.
    std::memset(a.data(), 0x3e, bytes);
    std::memset(b.data(), 0x3e, bytes);
    Rows product{.a_stride = size, .run = static_cast<int>(size)};
    const auto* const a_of = reinterpret_cast<decltype(product.a)>(a.data());
    const auto* const b_of = reinterpret_cast<decltype(product.b)>(b.data());
    const core::AmxTiles tiles = core::may_use_amx() ? core::AmxTiles{16, 16} : core::AmxTiles{};
    const core::AmxScope scope(tiles);
    return best_rate(0.0005, 2.0 * size * size * size, [&] {
        for (std::size_t panel = 0; panel < size; panel += columns) {
            for (std::size_t row = 0; row < size; row += rows) {
                product.a = a_of + row * size, product.b = b_of + panel * size;
                gemm::multiply<Arch>(product, gemm::dot_rows, tiles,
                                     reinterpret_cast<typename Rows::Sum*>(sums.data()));
            }
        }
        volatile float used = sums.data()[0];
        (void)used;
    });
}

}  // namespace machine::detail

/// Returns the speeds of this machine, those of products in bfloat16 and of bytes included. They take 3 ms more.
template <class Arch = default_arch>
[[nodiscard]] Machine const& this_machine_in_all_precisions() {
    static const Machine machine = [] {
        Machine all = this_machine<Arch>();
        for (int round = 0; round < 3; ++round) {
            all.bf16_flops = std::max(all.bf16_flops, machine::detail::measure_dot_product<Arch, gemm::Bf16Rows>());
            all.int8_flops = std::max(all.int8_flops, machine::detail::measure_dot_product<Arch, gemm::U8S8Rows>());
        }
        return all;
    }();
    return machine;
}

/// A policy for engines, like MeasuredMachine.
struct MeasuredInAllPrecisions {
    template <class Arch>
    [[nodiscard]] static Machine const& speeds() {
        return this_machine_in_all_precisions<Arch>();
    }
};

#ifdef PRIMSEL_EXTERN_KERNELS
// Programs that use it instantiate it beside engine/instantiate.hpp.
extern template Machine const& this_machine_in_all_precisions<default_arch>();
#endif

}  // namespace primsel::inline PRIMSEL_ABI
