#include <primsel/gemm/multiply_panel.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <random>
#include <vector>

namespace gemm_multiply_panel {

namespace ps = primsel;
namespace gemm = primsel::gemm;

using Arch = ps::default_arch;
struct NoTiles : Arch {
    using instructions = Arch;
    static constexpr gemm::TileSet tiles = gemm::no_tile;
};

TEST_CASE(
    "multiply_panel: kernel rows, taps and runs too long for one part add up as in double, the same bits for any "
    "rows") {
    struct Walk {
        int outer, inner, run, skipped;
    };
    const int m = 9;
    // The last columns of a panel fill part of a vector, or half of one.
    struct Panel {
        int width, columns;
    };
    const int most = gemm::panel_width<Arch>, two = std::min(2 * ps::lanes<Arch>, most), half = ps::lanes<Arch> / 2;
    for (const Panel panel : {Panel{most, most - 1}, Panel{ps::lanes<Arch>, ps::lanes<Arch> - 1},
                              Panel{two, two - half}, Panel{two, two - half - 1}}) {
        const int width = panel.width, columns = panel.columns;
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
            CAPTURE(columns);
            const int inner_step = run + 1, outer_step = inner * inner_step + 2, a_stride = outer * outer_step + 1,
                      depth = outer * (inner * run + skipped);
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
            t.fetch_end = b.data() + b.size();
            gemm::multiply_panel<Arch>(t, 0, 4, width);
            gemm::multiply_panel<Arch>(t, 4, m, width);
            CHECK(whole == halves);
            const auto same_bits_without_tiles = [&] {
                std::vector<float> with = draw(size(m, columns)), without = with;
                t.c = with.data();
                gemm::multiply_panel<Arch>(t, 0, m, width);
                t.c = without.data();
                gemm::multiply_panel<NoTiles>(t, 0, 4, width);
                gemm::multiply_panel<NoTiles>(t, 4, m, width);
                return with == without;
            };
            CHECK(same_bits_without_tiles());
            const std::vector<float> row_bias = draw(size(m, 1));
            t.row_bias = row_bias.data();
            t.row_length = 4, t.row_step = static_cast<std::size_t>(2 * a_stride);  // images whose rows overlap
            t.accumulate = true;
            CHECK(same_bits_without_tiles());
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

TEST_CASE("a transposed product has the same bits with and without tiles") {
    const int m = 9, depth = 21, width = gemm::panel_width<Arch>, columns = width - 1;
    std::mt19937 random(2);
    const auto draw = [&random](int rows, int row) {
        std::vector<float> drawn(static_cast<std::size_t>(rows * row));
        for (float& value : drawn) value = std::normal_distribution<float>{}(random);
        return drawn;
    };
    const std::vector<float> a = draw(depth, m + 2), b = draw(depth, width), bias = draw(1, m), rest = draw(m, columns);
    std::vector<float> with(rest.size()), without = with;
    gemm::TileArgs t{.a = a.data(),
                     .a_stride = m + 2,
                     .run = depth,
                     .b = b.data(),
                     .c = with.data(),
                     .c_stride = static_cast<std::size_t>(columns),
                     .columns = columns,
                     .row_bias = bias.data(),
                     .residual = rest.data(),
                     .clamp = {.low = -2.0F, .high = 2.0F}};
    gemm::multiply_panel_transposed<Arch>(t, m, width);
    t.c = without.data();
    gemm::multiply_panel_transposed<NoTiles>(t, m, width);
    CHECK(with == without);
    CHECK(std::ranges::any_of(with, [](float value) { return value != 0; }));
}

}  // namespace gemm_multiply_panel
