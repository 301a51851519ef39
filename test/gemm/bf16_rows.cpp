#include <primsel/gemm/bf16_rows.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <vector>

namespace ps = primsel;

namespace bf16_rows_tests {

/// Small integers: products and sums of them are exact.
ps::bfloat16 element(std::size_t i) { return ps::to_bfloat16(static_cast<float>(i * 7919 % 13) - 6.0F); }

/// The definition, for the walk of a product.
std::vector<float> expected(ps::gemm::Bf16Rows const& t, int rows) {
    std::vector<float> sums(static_cast<std::size_t>(rows * ps::gemm::dot_columns));
    for (int row = 0; row < rows; ++row) {
        for (int column = 0; column < t.columns; ++column) {
            float sum = 0;
            std::size_t step = 0;
            for (int outer = 0; outer < t.outer; ++outer) {
                for (int inner = 0; inner < t.inner; ++inner) {
                    for (int i = 0; i < t.run; ++i, ++step) {
                        const std::size_t at = static_cast<std::size_t>(row) * t.a_stride +
                                               static_cast<std::size_t>(outer) * t.outer_step +
                                               static_cast<std::size_t>(inner) * t.inner_step +
                                               static_cast<std::size_t>(i);
                        const std::size_t pair = step / 2 * 2 * ps::gemm::dot_columns;
                        sum +=
                            to_float(t.a[at]) * to_float(t.b[pair + 2 * static_cast<std::size_t>(column) + step % 2]);
                    }
                }
            }
            sums[static_cast<std::size_t>(row * ps::gemm::dot_columns + column)] = sum;
        }
    }
    return sums;
}

void check(ps::gemm::Bf16Rows const& t, int rows, std::vector<float> const& sums) {
    const std::vector<float> exact = expected(t, rows);
    std::size_t wrong = 0;
    for (int row = 0; row < rows; ++row) {
        for (int column = 0; column < t.columns; ++column) {
            const auto at = static_cast<std::size_t>(row * ps::gemm::dot_columns + column);
            wrong += sums[at] == exact[at] ? 0U : 1U;
        }
    }
    CAPTURE(rows);
    CAPTURE(t.columns);
    CAPTURE(t.run);
    CHECK(wrong == 0);
}

TEST_CASE("products of bfloat16 rows with a panel, in every way that this machine has") {
    std::vector<ps::bfloat16> a(40'000), b(40'000);
    for (std::size_t i = 0; i < a.size(); ++i) a[i] = element(i), b[i] = element(3 * i + 1);
    for (int rows = 1; rows <= ps::gemm::dot_rows; ++rows) {
        for (const int columns : {1, 15, 16, 17, 32}) {
            for (const int run : {2, 6, 28, 32, 96}) {
                ps::gemm::Bf16Rows t{.a = a.data(),
                                     .a_stride = 100,
                                     .outer = 1 + rows % 3,
                                     .inner = 1 + run % 4,
                                     .run = run,
                                     .outer_step = 700,
                                     .inner_step = 130,
                                     .b = b.data(),
                                     .columns = columns,
                                     .fetches = rows % 2 == 0};
                std::vector<float> sums(ps::gemm::dot_rows * ps::gemm::dot_columns, 9e9F);
                ps::gemm::multiply<ps::default_arch>(t, rows, {}, sums.data());
                check(t, rows, sums);
                if (!ps::core::may_use_amx() || (rows > 16 && rows % 2 != 0)) continue;
                const int words = run == 28 ? 14 : run == 6 ? 3 : run == 2 ? 1 : 16;
                const ps::core::AmxTiles tiles{rows > 16 ? rows / 2 : rows, words};
                const ps::core::AmxScope scope(tiles);
                std::fill(sums.begin(), sums.end(), 9e9F);
                ps::gemm::multiply<ps::default_arch>(t, rows, tiles, sums.data());
                check(t, rows, sums);
            }
        }
    }
}

}  // namespace bf16_rows_tests
