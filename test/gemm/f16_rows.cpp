#include <primsel/gemm/f16_rows.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <vector>

namespace ps = primsel;

namespace f16_rows_tests {

/// Small integers: products and sums of them are exact.
float element(std::size_t i) { return static_cast<float>(i * 7919 % 13) - 6.0F; }

/// An element of the product by definition.
float expected(ps::gemm::F16Rows const& t, int row, int column) {
    float sum = 0;
    const ps::float16* b = t.b + column;
    for (int outer = 0; outer < t.outer; ++outer) {
        for (int inner = 0; inner < t.inner; ++inner) {
            const float* const a = t.a + t.place(row) +
                                   static_cast<std::ptrdiff_t>(static_cast<std::size_t>(outer) * t.outer_step +
                                                               static_cast<std::size_t>(inner) * t.inner_step);
            for (int i = 0; i < t.run; ++i, b += ps::gemm::dot_columns) sum += a[i] * to_float(*b);
        }
    }
    return sum;
}

TEST_CASE("products of rows of floats with a panel in float16") {
    std::vector<float> a(40'000);
    std::vector<ps::float16> b(40'000);
    for (std::size_t i = 0; i < a.size(); ++i) {
        a[i] = element(i) / 512 + element(i + 1);  // float16 has not all of these, and all sums are exact
        b[i] = ps::float16::nearest(element(3 * i + 1));
    }
    std::vector<std::ptrdiff_t> places(ps::gemm::dot_rows);
    for (std::size_t i = 0; i < places.size(); ++i) places[i] = static_cast<std::ptrdiff_t>(i * i % 41 * 17);
    for (int rows = 1; rows <= ps::gemm::dot_rows; ++rows) {
        for (const int columns : {1, 15, 16, 17, 32}) {
            for (const int run : {1, 7, 96}) {
                const ps::gemm::F16Rows t{.a = a.data(),
                                          .a_stride = 100,
                                          .places = run == 7 ? places.data() : nullptr,
                                          .outer = 1 + rows % 3,
                                          .inner = 1 + run % 4,
                                          .run = run,
                                          .outer_step = 700,
                                          .inner_step = 130,
                                          .b = b.data(),
                                          .columns = columns};
                std::vector<float> sums(ps::gemm::dot_rows * ps::gemm::dot_columns, 9e9F);
                ps::gemm::multiply<ps::default_arch>(t, rows, {}, sums.data());
                std::size_t wrong = 0;
                for (int row = 0; row < rows; ++row) {
                    for (int column = 0; column < columns; ++column) {
                        const auto at = static_cast<std::size_t>(row * ps::gemm::dot_columns + column);
                        wrong += sums[at] == expected(t, row, column) ? 0U : 1U;
                    }
                }
                CAPTURE(rows);
                CAPTURE(columns);
                CAPTURE(run);
                CHECK(wrong == 0);
            }
        }
    }
}

}  // namespace f16_rows_tests
