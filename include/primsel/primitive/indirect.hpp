#pragma once

#include <primsel/core/aligned_buffer.hpp>
#include <primsel/core/fixed_string.hpp>
#include <primsel/primitive/detail/panel.hpp>
#include <primsel/primitive/detail/pixel_pointers.hpp>
#include <primsel/primitive/direct.hpp>
#include <primsel/primitive/primitive.hpp>

#include <algorithm>
#include <array>
#include <new>
#include <utility>

namespace primsel::inline PRIMSEL_ABI {

namespace detail {

/// Rows of a tile whose rows are found through pointers: a pointer a row must fit the general registers.
inline constexpr int indirect_rows = 6;

/// C = A B for a few rows, whose depth is `taps` runs that begin where pointers[tap * rows + row] + offset says. `t`
/// holds the rest.
template <class Arch, int rows, int vectors>
void tile_indirect(TileArgs const& t, const float* const* pointers, int taps, std::size_t offset) noexcept {
    Floats<Arch> sums[rows][vectors];
    PRIMSEL_UNROLL
    for (int row = 0; row < rows; ++row) {
        PRIMSEL_UNROLL
        for (int v = 0; v < vectors; ++v) sums[row][v] = broadcast<Arch>(0.0F);
    }
    const float* b = t.b;
    for (int tap = 0; tap < taps; ++tap, pointers += rows) {
        const float* a[rows];
        PRIMSEL_UNROLL
        for (int row = 0; row < rows; ++row) a[row] = pointers[row] + offset;
        for (int step = 0; step < t.run; ++step) {
            Floats<Arch> row_of_b[vectors];
            PRIMSEL_UNROLL
            for (int v = 0; v < vectors; ++v) row_of_b[v] = load<Arch>(b + v * lanes<Arch>);
            b += vectors * lanes<Arch>;
            PRIMSEL_UNROLL
            for (int row = 0; row < rows; ++row) {
                const auto element = broadcast<Arch>(a[row][step]);
                PRIMSEL_UNROLL
                for (int v = 0; v < vectors; ++v) sums[row][v] = fma<Arch>(element, row_of_b[v], sums[row][v]);
            }
        }
    }
    finish<Arch>(t, sums);
}

}  // namespace detail

/// Indirect convolution (Dukhan 2019, arXiv 1907.02129): a buffer of pointers to the pixels under each tap takes the
/// place of a patch matrix; a tap in the padding points to zeros. Tiles run over all output pixels, whatever the rows.
struct Indirect {
    static constexpr FixedString id = "indirect";
    static constexpr Family family = Family::other;
    using in_layout = hwc;
    using out_layout = hwc;
    static constexpr bool fuses_epilogue = true;

    [[nodiscard]] static constexpr Support supports(ConvShape const&) { return Support::yes(); }

    template <class Arch>
    [[nodiscard]] static std::size_t packed_floats(ConvShape const& s) {
        return DirectHwc::packed_floats<Arch>(s);
    }
    template <class Arch>
    static void pack(ConvShape const& s, const float* kernel, float* dst) {
        DirectHwc::pack<Arch>(s, kernel, dst);
    }
    template <class Arch>
    [[nodiscard]] static std::size_t scratch_floats(ConvShape const& s, std::size_t workers) {
        return round_up_floats(static_cast<std::size_t>(s.c)) + workers * pointer_floats(s);
    }

    template <class Arch>
    static void run(ConvShape const& s, ConvArgs const& args) noexcept {
        const std::size_t zeros = round_up_floats(static_cast<std::size_t>(s.c));
        std::fill_n(args.scratch, zeros, 0.0F);
        const int pixels = static_cast<int>(s.out_pixels());
        const auto blocks = static_cast<std::size_t>((pixels + block_pixels - 1) / block_pixels);
        // Where blocks are few, the panels of each are shared out too.
        const auto threads = args.executor.concurrency(),
                   panels = static_cast<std::size_t>(detail::panel_count<Arch>(s.group_k())),
                   shares = blocks < 2 * threads ? std::min(threads, panels) : 1;
        args.executor.parallel_for(blocks * shares, [=, &s, &args](std::size_t i, std::size_t worker) {
            const std::size_t block = i / shares, share = i % shares;
            const int first_panel = static_cast<int>(share * panels / shares),
                      last_panel = static_cast<int>((share + 1) * panels / shares);
            const int first = static_cast<int>(block) * block_pixels, last = std::min(first + block_pixels, pixels);
            auto* slot = args.scratch + zeros + worker * pointer_floats(s);
            auto* pointers = ::new (static_cast<void*>(slot)) const float*[block_pointers(s)];
            for (int pixel = first; pixel < last; pixel += rows) {
                detail::point_to_pixels(s, args.src, args.scratch, pixel, std::min(rows, last - pixel),
                                        pointers + (pixel - first) * s.taps());
            }
            for (int group = 0; group < s.groups; ++group) {
                for (int panel = first_panel; panel < last_panel; ++panel) {
                    multiply<Arch>(s, args, pointers, first, last, group, panel);
                }
            }
        });
    }

    template <class Arch>
    [[nodiscard]] static Work work(ConvShape const& s) {
        const double pixels = static_cast<double>(s.out_pixels()), in = 4.0 * static_cast<double>(s.in_shape().size());
        const double columns = static_cast<double>(s.groups) * detail::padded_columns<Arch>(s.group_k());
        const double weights = 4.0 * s.depth() * columns, out = 4.0 * pixels * s.k;
        return Work{}
            .add({.rate = Rate::scalar,
                  .operations = pixels * s.taps(),
                  .bytes = 8.0 * pixels * s.taps(),
                  .working_set = 8.0 * block_pixels * s.taps()})
            .add({.rate = Rate::gemm,
                  .operations = 2 * pixels * columns * s.depth(),
                  .bytes = in + weights * std::max(1.0, pixels / block_pixels) + 2 * out,
                  .working_set = in + weights + out});
    }

private:
    static constexpr int rows = detail::indirect_rows;
    static constexpr int block_pixels = 20 * rows;

    [[nodiscard]] static constexpr std::size_t block_pointers(ConvShape const& s) {
        return static_cast<std::size_t>(block_pixels) * static_cast<std::size_t>(s.taps());
    }
    [[nodiscard]] static constexpr std::size_t pointer_floats(ConvShape const& s) {
        return detail::pointer_floats(block_pointers(s));
    }

    template <class Arch>
    static void multiply(ConvShape const& s, ConvArgs const& args, const float* const* pointers, int first, int last,
                         int group, int panel) noexcept {
        const auto k = static_cast<std::size_t>(s.k), first_k = static_cast<std::size_t>(group * s.group_k());
        const float* packed =
            args.weights + static_cast<std::size_t>(group) * detail::packed_size<Arch>(s.depth(), s.group_k());
        const int column = panel * detail::panel_width<Arch>;
        const int width = detail::panel_columns<Arch>(column, s.group_k());
        const std::size_t at = first_k + static_cast<std::size_t>(column);
        const float* weights = packed + static_cast<std::size_t>(s.depth()) * static_cast<std::size_t>(column);
        // As many taps at a time as leave their part of the panel in L2; their sums meet in C.
        const int tap_floats = s.group_c() * width, most_taps = std::max(1, detail::part_floats / tap_floats);
        for (int tap = 0; tap < s.taps(); tap += most_taps) {
            const int taps = std::min(most_taps, s.taps() - tap);
            const bool last_part = tap + taps == s.taps();
            detail::TileArgs t{.run = s.group_c(), .c_stride = k, .accumulate = tap > 0};
            t.b = weights + static_cast<std::size_t>(tap) * static_cast<std::size_t>(tap_floats);
            t.columns = std::min(width, s.group_k() - column);
            if (last_part) t.clamp = args.clamp;
            if (last_part && args.bias != nullptr) t.column_bias = args.bias + at;
            for (int pixel = first; pixel < last; pixel += rows) {
                const int count = std::min(rows, last - pixel);
                t.c = args.dst + static_cast<std::size_t>(pixel) * k + at;
                if (last_part && args.residual != nullptr) {
                    t.residual = args.residual + static_cast<std::size_t>(pixel) * k + at;
                }
                detail::with_vectors<Arch>(width, [&]<int vectors>(std::integral_constant<int, vectors>) {
                    kernels<Arch, vectors>[static_cast<std::size_t>(count - 1)](
                        t, pointers + (pixel - first) * s.taps() + tap * count, taps,
                        static_cast<std::size_t>(group * s.group_c()));
                });
            }
        }
    }

    using Kernel = void (*)(detail::TileArgs const&, const float* const*, int, std::size_t) noexcept;
    /// kernels[rows - 1]
    template <class Arch, int vectors>
    static constexpr auto kernels = []<int... i>(std::integer_sequence<int, i...>) {
        return std::array<Kernel, sizeof...(i)>{&detail::tile_indirect<Arch, i + 1, vectors>...};
    }(std::make_integer_sequence<int, rows>{});
};

}  // namespace primsel::inline PRIMSEL_ABI
