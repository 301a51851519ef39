#include <primsel/gemm/panel.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
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
