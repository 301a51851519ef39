#include <primsel/gemm/u8s8_rows.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

namespace ps = primsel;

namespace u8s8_rows_tests {

using Rows = ps::gemm::U8S8Rows;
/// Bytes, or the same in 16 bits.
using Element = std::remove_cvref_t<decltype(*Rows{}.a)>;
constexpr std::size_t word_elements = Rows::word;

/// The definition, for the walk of a product.
std::vector<std::int32_t> expected(Rows const& t, int rows) {
    std::vector<std::int32_t> sums(static_cast<std::size_t>(rows * ps::gemm::dot_columns));
    for (int row = 0; row < rows; ++row) {
        for (int column = 0; column < t.columns; ++column) {
            std::int32_t sum = t.start == nullptr ? 0 : t.start[column];
            std::size_t step = 0;
            for (int outer = 0; outer < t.outer; ++outer) {
                for (int inner = 0; inner < t.inner; ++inner) {
                    for (int i = 0; i < t.run; ++i, ++step) {
                        const std::size_t at =
                            static_cast<std::size_t>(t.place(row)) + static_cast<std::size_t>(outer) * t.outer_step +
                            static_cast<std::size_t>(inner) * t.inner_step + static_cast<std::size_t>(i);
                        const std::size_t word = step / word_elements * word_elements * ps::gemm::dot_columns;
                        sum += t.a[at] *
                               t.b[word + word_elements * static_cast<std::size_t>(column) + step % word_elements];
                    }
                }
            }
            sums[static_cast<std::size_t>(row * ps::gemm::dot_columns + column)] = sum;
        }
    }
    return sums;
}

void check(Rows const& t, int rows, std::vector<std::int32_t> const& sums) {
    const std::vector<std::int32_t> exact = expected(t, rows);
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

/// Numbers of the whole range, or only the largest ones.
void check_all(bool largest) {
    std::vector<Element> a(80'000);
    std::vector<std::int8_t> b(80'000);
    std::vector<std::int32_t> start(ps::gemm::dot_columns);
    std::uint32_t bits = 1;
    const auto next = [&bits] { return (bits = bits * 1664525U + 1013904223U) >> 24U; };
    for (auto& value : a) value = static_cast<Element>(largest ? 255 : next());
    for (auto& value : b) value = static_cast<std::int8_t>(!largest ? next() : next() % 8 == 0 ? 127U : 128U);
    for (auto& value : start) value = static_cast<std::int32_t>(next()) * 1001 - 90'000;
    // Rows at equal distances, and at others.
    std::vector<std::ptrdiff_t> places(ps::gemm::dot_rows);
    for (std::size_t i = 0; i < places.size(); ++i) places[i] = static_cast<std::ptrdiff_t>(316 * i + i % 5 * 72);
    for (int rows = 1; rows <= ps::gemm::dot_rows; ++rows) {
        for (const int columns : {1, 15, 16, 17, 32}) {
            for (const int run : {4, 12, 28, 64, 320}) {
                const Rows t{.a = a.data(),
                             .a_stride = 324,
                             .outer = 1 + rows % 3,
                             .inner = 1 + run % 5,
                             .run = run,
                             .outer_step = 700,
                             .inner_step = 132,
                             .b = b.data(),
                             .columns = columns,
                             .fetches = rows % 2 == 0,
                             .start = rows % 3 == 0 ? nullptr : start.data(),
                             .later = reinterpret_cast<const char*>(b.data()),
                             .later_bytes = rows % 2 == 0 ? b.size() : 0};
                std::vector<std::int32_t> sums(ps::gemm::dot_rows * ps::gemm::dot_columns, 77);
                ps::gemm::multiply<ps::default_arch>(t, rows, {}, sums.data());
                check(t, rows, sums);
                Rows apart = t;
                apart.places = places.data();
                ps::gemm::multiply<ps::default_arch>(apart, rows, {}, sums.data());
                check(apart, rows, sums);
                if (!ps::core::may_use_amx() || (rows > 16 && rows % 2 != 0)) continue;
                const ps::core::AmxTiles tiles{rows > 16 ? rows / 2 : rows, run < 64 ? run / 4 : 16};
                const ps::core::AmxScope scope(tiles);
                std::ranges::fill(sums, 77);
                ps::gemm::multiply<ps::default_arch>(t, rows, tiles, sums.data());
                check(t, rows, sums);
            }
        }
    }
}

TEST_CASE("products of 8-bit rows with a panel are exact, in every way that this machine has") {
    check_all(false);
    check_all(true);
}

}  // namespace u8s8_rows_tests
