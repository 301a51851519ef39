#include <primsel/gemm/panel.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <random>
#include <vector>

namespace ps = primsel;
namespace gemm = primsel::gemm;

using Arch = ps::default_arch;

TEST_CASE("panels cover the columns, each padded to whole vectors") {
    for (int n = 1; n <= 3 * gemm::panel_width<Arch> + 1; ++n) {
        CAPTURE(n);
        int sum = 0, panels = 0;
        for (int first = 0; first < n; first += gemm::panel_width<Arch>, ++panels) {
            const int columns = gemm::panel_columns<Arch>(first, n);
            CHECK(columns >= std::min(gemm::panel_width<Arch>, n - first));
            CHECK(columns % ps::lanes<Arch> == 0);
            sum += columns;
        }
        CHECK(panels == gemm::panel_count<Arch>(n));
        CHECK(sum == gemm::padded_columns<Arch>(n));
        CHECK(sum - n < ps::lanes<Arch>);
        CHECK(gemm::packed_size<Arch>(5, n) == 5 * static_cast<std::size_t>(sum));
        // At least the multiply-adds of the product.
        CHECK(gemm::tile_operations<Arch>(7, n, 9) >= 2.0 * 7 * n * 9);
    }
}

TEST_CASE("pack_panels: rows of a panel are neighbours, zeros beyond the columns, for rows and columns first") {
    for (const int n : {1, 3, gemm::panel_width<Arch>, gemm::panel_width<Arch> + 5}) {
        for (const bool transposed : {false, true}) {
            const int k = 6;
            CAPTURE(n);
            CAPTURE(transposed);
            const auto rows = static_cast<std::size_t>(k), columns = static_cast<std::size_t>(n);
            std::vector<float> b(rows * columns);
            for (std::size_t i = 0; i < b.size(); ++i) b[i] = static_cast<float>(i + 1);
            const ps::MatrixView view{b.data(), transposed ? 1 : columns, transposed ? rows : 1};
            std::vector<float> packed(gemm::packed_size<Arch>(k, n), -1.0F), expected;
            for (int first = 0; first < n; first += gemm::panel_width<Arch>) {
                const int width = gemm::panel_columns<Arch>(first, n);
                for (std::size_t row = 0; row < rows; ++row) {
                    for (int column = first; column < first + width; ++column) {
                        const auto at = static_cast<std::size_t>(column);
                        expected.push_back(column < n ? b[row * view.row_stride + at * view.column_stride] : 0.0F);
                    }
                }
            }
            gemm::pack_panels<Arch>(view, k, n, packed.data());
            CHECK(packed == expected);
        }
    }
}

TEST_CASE(
    "multiply_panel: kernel rows, taps and runs too long for one part add up as in double, the same bits for any "
    "rows") {
    struct Walk {
        int outer, inner, run, skipped;
    };
    const int m = 9;
    for (const int width : {gemm::panel_width<Arch>, ps::lanes<Arch>}) {
        // The depth of a part, of those in L1 and those in L2; all walks but the first have several parts.
        const int near = gemm::near_part_floats / width, far = gemm::part_floats / width;
        for (const Walk walk :
             {Walk{1, 1, near, 0}, Walk{1, 1, 2 * near + 3, 0}, Walk{3, 1, near + 1, 0}, Walk{3, 2, near / 2 + 5, 7},
              Walk{1, 3, near + 2, 0}, Walk{5, 1, near / 3, 2}, Walk{1, 1, far + 3, 0}, Walk{3, 1, far / 2, 2}}) {
            const int outer = walk.outer, inner = walk.inner, run = walk.run, skipped = walk.skipped;
            CAPTURE(outer);
            CAPTURE(inner);
            CAPTURE(run);
            CAPTURE(width);
            const int columns = width - 1, inner_step = run + 1, outer_step = inner * inner_step + 2,
                      a_stride = outer * outer_step + 1, depth = outer * (inner * run + skipped);
            const auto size = [](int rows, int row) { return static_cast<std::size_t>(rows * row); };
            std::mt19937 random(1);
            const auto draw = [&random](std::size_t count) {
                std::vector<float> drawn(count);
                for (float& value : drawn) value = std::normal_distribution<float>{}(random);
                return drawn;
            };
            const std::vector<float> a = draw(size(m, a_stride)), b = draw(size(depth, width)),
                                     bias = draw(size(1, columns)), residual = draw(size(m, columns));
            std::vector<float> whole(size(m, columns), -7.0F), halves = whole;
            gemm::TileArgs t{.a = a.data(),
                             .a_stride = static_cast<std::size_t>(a_stride),
                             .outer = outer,
                             .inner = inner,
                             .run = run,
                             .outer_step = static_cast<std::size_t>(outer_step),
                             .inner_step = static_cast<std::size_t>(inner_step),
                             .skipped_of_b = skipped,
                             .b = b.data(),
                             .near_parts = outer * inner * run < far,
                             .c = whole.data(),
                             .c_stride = static_cast<std::size_t>(columns),
                             .columns = columns,
                             .column_bias = bias.data(),
                             .residual = residual.data(),
                             .clamp = {.low = -20.0F, .high = 20.0F}};
            gemm::multiply_panel<Arch>(t, 0, m, width);
            t.c = halves.data();
            t.later = a.data();
            t.later_floats = a.size();
            gemm::multiply_panel<Arch>(t, 0, 4, width);
            gemm::multiply_panel<Arch>(t, 4, m, width);
            CHECK(whole == halves);
            double worst = 0;
            for (int row = 0; row < m; ++row) {
                for (int column = 0; column < columns; ++column) {
                    const std::size_t at = size(row, columns) + static_cast<std::size_t>(column);
                    double sum =
                        static_cast<double>(bias[static_cast<std::size_t>(column)]) + static_cast<double>(residual[at]);
                    for (int o = 0; o < outer; ++o) {
                        for (int i = 0; i < inner; ++i) {
                            for (int r = 0; r < run; ++r) {
                                const int of_a = row * a_stride + o * outer_step + i * inner_step + r,
                                          of_b = (o * (inner * run + skipped) + i * run + r) * width + column;
                                sum += static_cast<double>(a[static_cast<std::size_t>(of_a)]) *
                                       static_cast<double>(b[static_cast<std::size_t>(of_b)]);
                            }
                        }
                    }
                    worst = std::max(worst, std::abs(std::clamp(sum, -20.0, 20.0) - static_cast<double>(whole[at])));
                }
            }
            CHECK(worst < 1e-5 * std::sqrt(static_cast<double>(depth)));
        }
    }
}
