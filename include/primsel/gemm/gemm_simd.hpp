#pragma once

#include <primsel/core/cache_sizes.hpp>
#include <primsel/gemm/gemm.hpp>
#include <primsel/gemm/panel.hpp>

#include <algorithm>
#include <cstddef>

namespace primsel::inline PRIMSEL_ABI {

/// primsel's own matrix multiplication: register tiles over packed panels of B, packed at every call. If B has no more
/// columns than A has rows, all of B is packed first; otherwise a few panels are packed before their use.
struct SimdGemm {
    static constexpr FixedString id = "simd";

    template <class Arch>
    [[nodiscard]] static std::size_t scratch_floats(int m, int n, int k, std::size_t workers) {
        if (pack_at_first(m, n)) return gemm::packed_size<Arch>(k, n);
        return workers * panels_at_once<Arch>(m, n, k) * panel_floats<Arch>(k);
    }

    template <class Arch>
    static void run(GemmArgs const& args) noexcept {
        if (pack_at_first(args.m, args.n)) {
            run_by_rows<Arch>(args);
        } else {
            run_by_panels<Arch>(args);
        }
    }

    template <class Arch>
    [[nodiscard]] static Work work(int m, int n, int k, int threads = 1) {
        const double rows = m, columns = gemm::padded_columns<Arch>(n), depth = k;
        const double packed = 4.0 * depth * columns, a = 4.0 * rows * depth, c = 4.0 * rows * n;
        // Where a panel writes a few lines of every row, and C is beyond L2, that takes half as long again.
        const bool is_scattered =
            !pack_at_first(m, n) && c > sizeof(float) * l2_floats && panels_at_once<Arch>(m, n, k) == 1;
        const bool first = pack_at_first(m, n);
        const auto panels = static_cast<double>(gemm::panel_count<Arch>(n)),
                   groups = static_cast<double>(panel_groups<Arch>(m, n, k, static_cast<std::size_t>(threads)));
        return Work{}  // The cost of calling a product and of its set-up.
            .add({.rate = Rate::scalar, .operations = 100, .bytes = 8, .working_set = 8, .blocks = 1})
            .add({.rate = Rate::vector,
                  .operations = 0,
                  .bytes = 2 * packed,
                  .working_set = packed,
                  .blocks = first ? panels : groups,
                  .loops = 1})
            .add({.rate = Rate::gemm,
                  .operations = gemm::tile_operations<Arch>(rows, n, depth),
                  .bytes = a + packed + (is_scattered ? 3 : 2) * c,
                  .working_set = a + packed + c,
                  .blocks = first ? static_cast<double>(row_blocks<Arch>(m)) * panels : groups,
                  .loops = first ? 1.0 : 0.0});
    }

    /// The panels that are packed together: as many as fill a quarter of L2, at most 16, if C is larger than twice L2;
    /// else one. A panel writes a few lines of every row of C, which nothing prefetches, and in small pages looks up
    /// each row's page again; with several panels a few rows are written in longer runs. In L2, one panel at a time is
    /// faster.
    template <class Arch>
    [[nodiscard]] static constexpr std::size_t panels_at_once(int m, int n, int k) {
        if (static_cast<std::size_t>(m) * static_cast<std::size_t>(n) <= 2 * l2_floats) return 1;
        return std::clamp<std::size_t>(l2_floats / 4 / panel_floats<Arch>(k), 1, 16);
    }

private:
    /// The blocks of rows that share a panel.
    template <class Arch>
    [[nodiscard]] static constexpr std::size_t row_blocks(int m) {
        return static_cast<std::size_t>((m + gemm::block_rows<Arch> - 1) / gemm::block_rows<Arch>);
    }
    /// The panels that a thread packs together, and the groups of so many.
    template <class Arch>
    [[nodiscard]] static constexpr std::size_t group_panels(int m, int n, int k, std::size_t threads) {
        const auto panels = static_cast<std::size_t>(gemm::panel_count<Arch>(n));
        return std::min(panels_at_once<Arch>(m, n, k), (panels + threads - 1) / threads);
    }
    template <class Arch>
    [[nodiscard]] static constexpr std::size_t panel_groups(int m, int n, int k, std::size_t threads) {
        const std::size_t each = group_panels<Arch>(m, n, k, threads);
        return (static_cast<std::size_t>(gemm::panel_count<Arch>(n)) + each - 1) / each;
    }
    [[nodiscard]] static constexpr bool pack_at_first(int m, int n) { return n <= m; }
    template <class Arch>
    [[nodiscard]] static constexpr std::size_t panel_floats(int k) {
        return round_up_floats(static_cast<std::size_t>(k) * static_cast<std::size_t>(gemm::panel_width<Arch>));
    }

    [[nodiscard]] static gemm::TileArgs tile_args(GemmArgs const& args) {
        const bool a_transposed = args.a.column_stride != 1;
        return {.a = args.a.data,
                .a_stride = a_transposed ? args.a.column_stride : args.a.row_stride,
                .run = args.k,
                .c = args.c,
                .c_stride = args.c_stride,
                .accumulate = args.accumulate,
                .row_bias = args.row_bias,
                .column_bias = args.column_bias,
                .residual = args.residual,
                .clamp = args.clamp};
    }

    /// Computes rows [begin, end) and columns [first, first + columns) of C from a packed panel.
    template <class Arch>
    static void run_panel(GemmArgs const& args, int begin, int end, int first, const float* panel) noexcept {
        const auto row = static_cast<std::size_t>(begin), column = static_cast<std::size_t>(first);
        const int width = gemm::panel_columns<Arch>(first, args.n);
        gemm::TileArgs t = tile_args(args);
        t.a += row * args.a.row_stride;
        t.b = panel;
        t.c += row * args.c_stride + column;
        t.columns = width < args.n - first ? width : args.n - first;
        if (t.row_bias != nullptr) t.row_bias += row;
        if (t.column_bias != nullptr) t.column_bias += column;
        if (t.residual != nullptr) t.residual += row * args.c_stride + column;
        if (args.a.column_stride == 1) {
            gemm::multiply_panel<Arch>(t, 0, end - begin, width);
        } else {
            gemm::multiply_panel_transposed<Arch>(t, end - begin, width);
        }
    }

    template <class Arch>
    static void run_by_rows(GemmArgs const& args) noexcept {
        constexpr int width = gemm::panel_width<Arch>, rows = gemm::block_rows<Arch>;
        const auto depth = static_cast<std::size_t>(args.k);
        const auto panels = static_cast<std::size_t>(gemm::panel_count<Arch>(args.n));
        args.executor.parallel_for(panels, [&args, depth](std::size_t panel, std::size_t) {
            const int first = static_cast<int>(panel) * width;
            const int columns = gemm::panel_columns<Arch>(first, args.n);
            gemm::pack_panel(args.b, args.k, first, std::min(columns, args.n - first), columns,
                             args.scratch + static_cast<std::size_t>(first) * depth);
        });
        args.executor.parallel_for(
            row_blocks<Arch>(args.m) * panels, [&args, depth, panels](std::size_t i, std::size_t) {
                const int begin = static_cast<int>(i / panels) * rows, first = static_cast<int>(i % panels) * width;
                run_panel<Arch>(args, begin, std::min(begin + rows, args.m), first,
                                args.scratch + static_cast<std::size_t>(first) * depth);
            });
    }

    template <class Arch>
    static void run_by_panels(GemmArgs const& args) noexcept {
        constexpr int width = gemm::panel_width<Arch>;
        const std::size_t panel_size = panel_floats<Arch>(args.k), threads = args.executor.concurrency(),
                          panels = static_cast<std::size_t>(gemm::panel_count<Arch>(args.n)),
                          most = panels_at_once<Arch>(args.m, args.n, args.k),
                          at_once = group_panels<Arch>(args.m, args.n, args.k, threads);
        const int rows = most > 1 ? 28 / gemm::tile_rows<Arch> * gemm::tile_rows<Arch> : args.m;
        args.executor.parallel_for(
            panel_groups<Arch>(args.m, args.n, args.k, threads), [&](std::size_t group, std::size_t worker) {
                const std::size_t begin = group * at_once, end = std::min(begin + at_once, panels);
                float* const packed = args.scratch + worker * most * panel_size;
                const auto first = [](std::size_t panel) { return static_cast<int>(panel) * width; };
                for (std::size_t panel = begin; panel < end; ++panel) {
                    const int columns = gemm::panel_columns<Arch>(first(panel), args.n);
                    gemm::pack_panel(args.b, args.k, first(panel), std::min(columns, args.n - first(panel)), columns,
                                     packed + (panel - begin) * panel_size);
                }
                for (int row = 0; row < args.m; row += rows) {
                    for (std::size_t panel = begin; panel < end; ++panel) {
                        run_panel<Arch>(args, row, std::min(row + rows, args.m), first(panel),
                                        packed + (panel - begin) * panel_size);
                    }
                }
            });
    }
};

}  // namespace primsel::inline PRIMSEL_ABI
