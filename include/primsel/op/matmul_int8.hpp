// Products of two tensors in 8 bits.
#pragma once

#include <primsel/core/aligned_buffer.hpp>
#include <primsel/core/amx.hpp>
#include <primsel/core/config.hpp>
#include <primsel/core/simd.hpp>
#include <primsel/core/work.hpp>
#include <primsel/gemm/u8s8_rows.hpp>
#include <primsel/layer/combine.hpp>
#include <primsel/op/detail/blocks.hpp>
#include <primsel/op/detail/vectors.hpp>
#include <primsel/op/op.hpp>
#include <primsel/tensor/bytes.hpp>
#include <primsel/tensor/hwc_u8.hpp>
#include <primsel/tensor/layout.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <string_view>
#include <type_traits>

namespace primsel::inline PRIMSEL_ABI {

/// Matrices of floats, each of which becomes the bytes of its tensor's range. With integers in the sum, which is exact:
///   result = float(sum over the depth of (a - a_zero) * (b - b_zero)) * (a_scale * b_scale), in floats, rounded.
/// The bytes of the second matrix less 128 are the weights of the products of bytes, in panels of 32 columns:
///   sum (a - a_zero) * (b - b_zero) = sum a * (b - 128) - a_zero * sum (b - 128) - (b_zero - 128) * sum (a - a_zero).
template <>
struct OpIn<MatMulParams, hwc_u8> {
    using tensors = chw;
    static constexpr std::string_view id = "matmul-int8";
    static constexpr Precision precision = Precision::int8;
    static constexpr double error_bound = 0.1;  // as that of convolutions
    /// The three sums of this many products fit 32 bits together.
    static constexpr std::size_t deepest = 8192;

    template <class Arch>
    [[nodiscard]] static OpCounts work(MatMulParams const&, std::span<const Shape> inputs, Shape) {
        const Sizes s(inputs);
        // Products of bytes beside operations of vectors of floats on streamed data.
        constexpr double faster = PRIMSEL_HAS_AMX ? 64 : gemm::widens_bytes ? 2.5 : 8;
        const auto of = [](std::size_t a, std::size_t b, std::size_t c) {
            return static_cast<double>(a) * static_cast<double>(b) * static_cast<double>(c);
        };
        const double a = of(s.a_matrices, s.m, s.depth), b = of(s.b_matrices, s.panels * columns, s.depth),
                     sums = of(s.matrices, s.m, s.panels * columns), results = of(s.matrices, s.m, s.n),
                     products = 2 * sums * static_cast<double>(s.run);
        return {.operations = s.depth > deepest ? std::numeric_limits<double>::infinity()
                                                : products / faster + 4 * (a + 2 * b + sums),
                .rows = of(s.matrices, s.panels, (s.m + rows_at_once - 1) / rows_at_once),
                .bytes = sizeof(float) * (a + of(s.b_matrices, s.n, s.depth) + results) + 2 * (a + b)};
    }

    template <class Arch>
    [[nodiscard]] static std::size_t scratch_floats(MatMulParams const&, std::span<const Shape> inputs, std::size_t) {
        return Room(Sizes(inputs), nullptr).floats;
    }

    template <class Arch>
    static void run(MatMulParams const&, OpArgs const& args) noexcept {
        const Sizes s(args.src_shape);
        const Room room(s, args.scratch);
        for (int image = 0; image < args.batch; ++image) {
            const auto at = static_cast<std::size_t>(image);
            const float *const a = args.src[0] + at * args.src_shape[0].size(), *const b =
                                                                                    args.src[1] +
                                                                                    at * args.src_shape[1].size();
            op::detail::for_ranges(args.executor, s.a_matrices * s.m, s.depth,
                                   [&](std::size_t first, std::size_t last) {
                                       round_rows<Arch>(s, a, args.src_range[0], room, first, last);
                                   });
            op::detail::for_ranges(args.executor, s.b_matrices * s.panels, s.depth * columns,
                                   [&](std::size_t first, std::size_t last) {
                                       for (; first < last; ++first) round_panel<Arch>(s, b, args, room, first);
                                   });
            float* const dst = args.dst + at * args.dst_shape.size();
            const std::size_t blocks = (s.m + s.at_once - 1) / s.at_once;
            args.executor.parallel_for(s.matrices * blocks, [&, blocks, dst](std::size_t item, std::size_t) {
                multiply<Arch>(s, args, room, item / blocks, item % blocks, dst);
            });
        }
    }

private:
    using Rows = gemm::U8S8Rows;
    using Factor = std::remove_cvref_t<decltype(*Rows{}.a)>;  // wider than bytes without dot products of four
    static constexpr std::size_t columns = gemm::dot_columns, word = Rows::word, rows_at_once = gemm::dot_rows;
    using Word = std::conditional_t<word == 4, std::uint32_t, std::uint16_t>;

    struct Sizes {
        std::size_t m, n, depth, run, panels, a_matrices, b_matrices, matrices;
        core::AmxTiles tiles{};
        std::size_t at_once;  ///< the rows of a product

        explicit Sizes(std::span<const Shape> inputs) {
            const Shape a = inputs[0], b = inputs[1];
            const auto channels = static_cast<std::size_t>(a.c), h = static_cast<std::size_t>(a.h);
            // The rows of all channels meet the same second matrix, if there is only one.
            m = b.c == 1 ? channels * h : h;
            a_matrices = b.c == 1 ? 1 : channels;
            n = static_cast<std::size_t>(b.w), depth = static_cast<std::size_t>(a.w);
            b_matrices = static_cast<std::size_t>(b.c);
            matrices = std::max(a_matrices, b_matrices);
            panels = (n + columns - 1) / columns;
            // The matrix unit takes lines of 64 bytes.
            const std::size_t step = PRIMSEL_HAS_AMX ? 64 : word;
            run = (depth + step - 1) / step * step;
            const std::size_t products = (m + rows_at_once - 1) / rows_at_once;
            at_once = (m + products - 1) / products;
            if (core::may_use_amx()) {
                tiles = {.rows = static_cast<int>(std::min<std::size_t>(16, m)), .words = 16};
                at_once = m < 32 ? static_cast<std::size_t>(tiles.rows) : 32;
            }
        }
    };
    /// Where rounded matrices lie: rows of the first ones, panels of the second ones, the sums of the rows' bytes less
    /// a_zero, and what the sums of each column start from.
    struct Room {
        Factor* a;
        std::int8_t* b;
        std::int32_t *row_sums, *starts;
        std::size_t floats = 0;

        Room(Sizes const& s, float* scratch) {
            const auto take = [this, scratch](std::size_t bytes) {
                float* const begin = scratch == nullptr ? nullptr : scratch + floats;
                floats += round_up_floats(floats_for_bytes(bytes));
                return begin;
            };
            a = reinterpret_cast<Factor*>(take(s.a_matrices * s.m * s.run * sizeof(Factor)));
            b = reinterpret_cast<std::int8_t*>(take(s.b_matrices * s.panels * s.run * columns));
            row_sums = reinterpret_cast<std::int32_t*>(take(s.a_matrices * s.m * sizeof(std::int32_t)));
            starts = reinterpret_cast<std::int32_t*>(take(s.b_matrices * s.panels * columns * sizeof(std::int32_t)));
        }
    };

    /// Rounds rows [first, last) of all first matrices.
    template <class Arch>
    static void round_rows(Sizes const& s, const float* a, TensorRange const& range, Room const& room,
                           std::size_t first, std::size_t last) noexcept {
        const ToBytes to(range);
        const ByteStore<Arch> store(to);
        const auto factor = broadcast<Arch>(to.factor);
        for (std::size_t row = first; row < last; ++row) {
            const float* const src = a + row * s.depth;
            Factor* const dst = room.a + row * s.run;
            std::size_t i = 0;
            for (; i + lanes<Arch> <= s.depth; i += lanes<Arch>) {
                std::uint8_t some[lanes<Arch>];
                store(some, load<Arch>(src + i) * factor);
                std::copy_n(some, lanes<Arch>, dst + i);
            }
            if (i < s.depth) {
                std::uint8_t some[lanes<Arch>];
                store(some, op::detail::load_up_to<Arch>(src + i, s.depth - i) * factor);
                std::copy_n(some, s.depth - i, dst + i);
            }
            std::int32_t sum = 0;
            for (i = 0; i < s.depth; ++i) sum += dst[i];
            std::fill(dst + s.depth, dst + s.run, Factor{});
            room.row_sums[row] = sum - range.zero_point * static_cast<std::int32_t>(s.depth);
        }
    }

    /// Rounds 32 columns of a second matrix.
    template <class Arch>
    static void round_panel(Sizes const& s, const float* b, OpArgs const& args, Room const& room,
                            std::size_t panel) noexcept {
        const ToBytes to(args.src_range[1]);
        const ByteStore<Arch> store(to);
        const auto factor = broadcast<Arch>(to.factor);
        const std::size_t matrix = panel / s.panels, column = panel % s.panels * columns,
                          count = std::min(columns, s.n - column);
        const float* const src = b + matrix * s.depth * s.n + column;
        std::int8_t* dst = room.b + panel * s.run * columns;
        std::int32_t sums[columns]{};
        constexpr std::uint8_t middle = 128;
        for (std::size_t row = 0; row < s.run; row += word, dst += word * columns) {
            std::uint8_t bytes[word][columns];
            for (std::size_t i = 0; i < word; ++i) {
                if (row + i >= s.depth) {
                    std::fill_n(bytes[i], columns, middle);
                    continue;
                }
                const float* const from = src + (row + i) * s.n;
                for (std::size_t at = 0; at < count; at += lanes<Arch>) {
                    store(bytes[i] + at, op::detail::load_up_to<Arch>(from + at, count - at) * factor);
                }
                std::fill_n(bytes[i] + count, columns - count, middle);
            }
            // Whole words, which compilers make of vectors of bytes.
            Word words[columns];
            for (std::size_t at = 0; at < columns; ++at) {
                Word bits = 0;
                std::int32_t all = -static_cast<std::int32_t>(word) * middle;
                PRIMSEL_UNROLL
                for (std::size_t i = 0; i < word; ++i) {
                    bits = static_cast<Word>(bits | static_cast<Word>(bytes[i][at] ^ middle) << 8 * i);
                    all += bytes[i][at];
                }
                words[at] = bits, sums[at] += all;
            }
            std::memcpy(dst, words, sizeof(words));
        }
        std::int32_t* const start = room.starts + panel * columns;
        for (std::size_t at = 0; at < columns; ++at) start[at] = -args.src_range[0].zero_point * sums[at];
    }

    /// Multiplies a block of rows of a matrix.
    template <class Arch>
    static void multiply(Sizes const& s, OpArgs const& args, Room const& room, std::size_t matrix, std::size_t block,
                         float* dst) noexcept {
        const std::size_t begin = block * s.at_once;
        std::size_t first = begin, count = std::min(s.at_once, s.m - first);
        // For the matrix unit, the last product begins earlier: it computes some rows again.
        if (s.tiles.rows != 0) first = std::min(first, s.m - s.at_once), count = s.at_once;
        const std::size_t row = (s.a_matrices == 1 ? 0 : matrix * s.m) + first,
                          panels = s.b_matrices == 1 ? 0 : matrix * s.panels;
        const core::AmxScope scope(s.tiles);
        Rows product{.a = room.a + row * s.run, .a_stride = s.run, .run = static_cast<int>(s.run)};
        alignas(alignment) std::int32_t sums[rows_at_once * columns];
        const auto factor = broadcast<Arch>(args.src_range[0].scale * args.src_range[1].scale);
        const std::int32_t zero = args.src_range[1].zero_point - 128;
        for (std::size_t panel = 0; panel < s.panels; ++panel) {
            const std::size_t used = std::min(columns, s.n - panel * columns);
            product.b = room.b + (panels + panel) * s.run * columns;
            product.start = room.starts + (panels + panel) * columns;
            product.columns = static_cast<int>(used);
            gemm::multiply<Arch>(product, static_cast<int>(count), s.tiles, sums);
            float* to = dst + (matrix * s.m + begin) * s.n + panel * columns;
            for (std::size_t i = begin - first; i < count; ++i, to += s.n) {
                std::int32_t* const of_row = sums + i * columns;
                if (zero != 0) {
                    // Unsigned, as sums behind those used are any numbers.
                    const auto less = static_cast<std::uint32_t>(zero * room.row_sums[row + i]);
                    for (std::size_t at = 0; at < columns; ++at) {
                        of_row[at] = static_cast<std::int32_t>(static_cast<std::uint32_t>(of_row[at]) - less);
                    }
                }
                for (std::size_t at = 0; at < used; at += lanes<Arch>) {
                    op::detail::store_up_to<Arch>(to + at, load_integers<Arch>(of_row + at) * factor, used - at);
                }
            }
        }
    }
};

}  // namespace primsel::inline PRIMSEL_ABI
