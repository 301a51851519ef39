#pragma once

#include <primsel/core/aligned_buffer.hpp>
#include <primsel/core/fixed_string.hpp>
#include <primsel/primitive/detail/cook_toom.hpp>
#include <primsel/primitive/detail/lanes.hpp>
#include <primsel/primitive/detail/panel.hpp>
#include <primsel/primitive/detail/tap.hpp>
#include <primsel/primitive/primitive.hpp>

#include <algorithm>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

namespace detail {

/// The sum of matrix[row][j] * in[j * step] over j, leaving out what is zero and not multiplying by one.
template <auto const& matrix, std::size_t row, class V>
PRIMSEL_INLINE V combine(const V* in, int step) {
    constexpr auto factors = matrix[row];
    constexpr std::size_t first = [] {
        std::size_t j = 0;
        while (matrix[row][j] == 0.0) ++j;
        return j;
    }();
    V sum = in[static_cast<int>(first) * step];
    if constexpr (factors[first] != 1.0) sum = static_cast<float>(factors[first]) * sum;
    [&]<std::size_t... j>(std::index_sequence<j...>) {
        const auto add = [&]<std::size_t i>(std::integral_constant<std::size_t, i>) {
            constexpr auto factor = static_cast<float>(factors[i]);
            [[maybe_unused]] V const& term = in[static_cast<int>(i) * step];
            if constexpr (i <= first || factor == 0.0F)
                return;
            else if constexpr (factor == 1.0F)
                sum = sum + term;
            else if constexpr (factor == -1.0F)
                sum = sum - term;
            else
                sum = sum + factor * term;
        };
        (add(std::integral_constant<std::size_t, j>{}), ...);
    }(std::make_index_sequence<factors.size()>{});
    return sum;
}

/// out = matrix * in * matrix', for an `in` of as many rows and columns as the matrix has columns.
template <auto const& matrix, class V>
PRIMSEL_INLINE void sandwich(const V* in, V* out) {
    constexpr std::size_t rows = matrix.size();
    constexpr int height = static_cast<int>(rows), size = static_cast<int>(matrix[0].size());
    V half[rows * matrix[0].size()];
    [&]<std::size_t... i>(std::index_sequence<i...>) {
        for (int column = 0; column < size; ++column) {
            ((half[static_cast<int>(i) * size + column] = combine<matrix, i>(in + column, size)), ...);
        }
        for (int row = 0; row < height; ++row) {
            ((out[row * height + static_cast<int>(i)] = combine<matrix, i>(half + row * size, 1)), ...);
        }
    }(std::make_index_sequence<rows>{});
}

}  // namespace detail

/// Winograd's minimal filtering in two dimensions, F(m x m, r x r) (Lavin and Gray 2016). Tiles of the image and the
/// kernel are transformed; each of the (m + r - 1)^2 taps is then a product of tiles x c and c x k; the result is
/// transformed back. `vec` channels are transformed side by side; 1 is the scalar version.
template <int m, int r, int vec>
struct Winograd {
private:
    static constexpr int size = m + r - 1, taps = size * size;
    static_assert(detail::cook_toom<m, r>.defect() < 1e-9);
    template <int n>
    static constexpr auto square = fixed_decimal<n>() + "x" + fixed_decimal<n>();
    static constexpr auto scalar_id = FixedString("winograd-") + square<m> + "-" + square<r>;

public:
    static constexpr auto id = [] {
        if constexpr (vec == 1)
            return scalar_id;
        else
            return scalar_id + "-vec-" + fixed_decimal<vec>();
    }();
    static constexpr Family family = r == 3 ? Family::wino3 : r == 5 ? Family::wino5 : Family::other;
    using in_layout = hwc;
    using out_layout = hwc;
    static constexpr bool fuses_epilogue = true;
    /// Measured over the law tests' shapes; relative to the RMS of the output.
    static constexpr double error_bound = size <= 4 ? 5e-6 : size <= 6 ? 1e-4 : 2e-4;

    [[nodiscard]] static constexpr Support supports(ConvShape const& s) {
        if (s.fh != r || s.fw != r) return Support::no(r == 3 ? "needs a 3x3 kernel" : "needs a 5x5 kernel");
        if (s.strided()) return Support::no("needs stride 1");
        if (s.dilated()) return Support::no("needs dilation 1");
        return s.groups != 1 ? Support::no("needs one group") : Support::yes();
    }

    template <class Arch>
    [[nodiscard]] static std::size_t packed_floats(ConvShape const& s) {
        return taps * detail::packed_size<Arch>(s.c, s.k);
    }
    /// Tap after tap, the transformed kernel as a packed matrix c x k.
    template <class Arch>
    static void pack(ConvShape const& s, const float* kernel, float* dst) {
        constexpr auto& g = detail::cook_toom<m, r>.kernel;
        const auto c = static_cast<std::size_t>(s.c), k = static_cast<std::size_t>(s.k);
        std::vector<float> matrices(taps * c * k);
        for (std::size_t row = 0; row < k; ++row) {
            for (std::size_t column = 0; column < c; ++column) {
                const float* taps_of = kernel + (row * c + column) * (r * r);
                double half[size][r];
                for (std::size_t i = 0; i < size; ++i) {
                    for (std::size_t j = 0; j < r; ++j) {
                        half[i][j] = 0;
                        for (std::size_t t = 0; t < r; ++t)
                            half[i][j] += g[i][t] * static_cast<double>(taps_of[t * r + j]);
                    }
                }
                for (std::size_t i = 0; i < size; ++i) {
                    for (std::size_t j = 0; j < size; ++j) {
                        double sum = 0;
                        for (std::size_t t = 0; t < r; ++t) sum += half[i][t] * g[j][t];
                        matrices[((i * size + j) * c + column) * k + row] = static_cast<float>(sum);
                    }
                }
            }
        }
        for (std::size_t tap = 0; tap < taps; ++tap) {
            detail::pack_panels<Arch>(row_major(matrices.data() + tap * c * k, k), s.c, s.k,
                                      dst + tap * detail::packed_size<Arch>(s.c, s.k));
        }
    }

    template <class Arch>
    [[nodiscard]] static std::size_t scratch_floats(ConvShape const& s, std::size_t workers) {
        const Blocks blocks = blocks_of<Arch>(s);
        return (blocks.count >= few_blocks ? workers : 1) * block_floats(s, blocks.tiles);
    }

    /// Blocks of tiles are independent. Where they are few, the steps within each are shared out instead.
    template <class Arch>
    static void run(ConvShape const& s, ConvArgs const& args) noexcept {
        const Blocks blocks = blocks_of<Arch>(s);
        const int tiles = tiles_h(s) * tiles_w(s);
        if (blocks.count >= few_blocks) {
            const std::size_t slot = block_floats(s, blocks.tiles);
            args.executor.parallel_for(static_cast<std::size_t>(blocks.count),
                                       [&](std::size_t block, std::size_t worker) {
                                           const int first = static_cast<int>(block) * blocks.tiles;
                                           Sequential sequential;
                                           run_block<Arch>(s, args, first, std::min(first + blocks.tiles, tiles),
                                                           args.scratch + worker * slot, sequential);
                                       });
        } else {
            for (int first = 0; first < tiles; first += blocks.tiles) {
                run_block<Arch>(s, args, first, std::min(first + blocks.tiles, tiles), args.scratch, args.executor);
            }
        }
    }

    template <class Arch>
    [[nodiscard]] static Work work(ConvShape const& s) {
        const Blocks blocks = blocks_of<Arch>(s);
        const double tiles = 1.0 * tiles_h(s) * tiles_w(s), columns = detail::padded_columns<Arch>(s.k);
        const double u = 4.0 * taps * s.c * columns, v = 4.0 * taps * tiles * s.c, y = 4.0 * taps * tiles * s.k;
        const double in_cache = 4.0 * static_cast<double>(block_floats(s, blocks.tiles));
        const Rate rate = vec == 1 ? Rate::scalar : Rate::vector;
        // Each of the two passes of a transform makes about `size` operations an element; narrow vectors make more.
        const double narrow = std::max(1.0, static_cast<double>(lanes<Arch>) / vec);
        const double passes = 2.0 * size * (vec == 1 ? 1.0 : narrow);
        return Work{}
            .add({.rate = rate, .operations = tiles * taps * s.c * passes, .bytes = 2 * v, .working_set = in_cache})
            .add({.rate = Rate::gemm,
                  .operations = 2 * taps * tiles * s.c * columns,
                  .bytes = v + y + u * blocks.count,
                  .working_set = in_cache + u})
            .add(
                {.rate = rate, .operations = tiles * taps * s.k * passes, .bytes = y + y / 2, .working_set = in_cache});
    }

private:
    static constexpr int few_blocks = 4;
    struct Blocks {
        int count, tiles;
    };

    [[nodiscard]] static constexpr int tiles_h(ConvShape const& s) { return (s.out_h() + m - 1) / m; }
    [[nodiscard]] static constexpr int tiles_w(ConvShape const& s) { return (s.out_w() + m - 1) / m; }
    /// Floats between tiles: 16 more than a power of two, so that neighbours do not meet in one cache set.
    [[nodiscard]] static constexpr std::size_t tile_stride(int channels) {
        return round_up_floats(static_cast<std::size_t>(channels)) + 16;
    }
    [[nodiscard]] static constexpr std::size_t block_floats(ConvShape const& s, int tiles) {
        return static_cast<std::size_t>(taps * tiles) * (tile_stride(s.c) + tile_stride(s.k));
    }
    /// The transformed tiles of a block stay in L2, unless the kernels are so large that reading them once a block
    /// costs more than that.
    template <class Arch>
    [[nodiscard]] static constexpr Blocks blocks_of(ConvShape const& s) {
        constexpr std::size_t l2 = 160 << 10, large = 768 << 10;
        constexpr int step = detail::tile_rows<Arch>;
        const int tiles = tiles_h(s) * tiles_w(s);
        const std::size_t kernels =
            static_cast<std::size_t>(taps) * static_cast<std::size_t>(s.c) * static_cast<std::size_t>(s.k);
        const std::size_t room = kernels > 2 * l2 ? large : l2;
        const auto most = static_cast<int>(room / block_floats(s, 1));
        const int wanted = std::clamp(most / step * step, step, (tiles + step - 1) / step * step);
        const int count = (tiles + wanted - 1) / wanted;
        return {count, std::min(tiles, ((tiles + count - 1) / count + step - 1) / step * step)};
    }

    template <class Arch>
    static void run_block(ConvShape const& s, ConvArgs const& args, int first, int last, float* scratch,
                          ExecutorRef executor) noexcept {
        const int tiles = last - first;
        const std::size_t v_stride = tile_stride(s.c), y_stride = tile_stride(s.k);
        const std::size_t v_tap = static_cast<std::size_t>(tiles) * v_stride,
                          y_tap = static_cast<std::size_t>(tiles) * y_stride;
        float* v = scratch;
        float* y = scratch + taps * v_tap;
        executor.parallel_for(static_cast<std::size_t>(tiles), [&](std::size_t tile, std::size_t) {
            transform_input(s, args.src, first + static_cast<int>(tile), v + tile * v_stride, v_tap);
        });
        executor.parallel_for(taps, [&](std::size_t tap, std::size_t) {
            const detail::TileArgs product{
                .a = v + tap * v_tap, .a_stride = v_stride, .run = s.c, .c = y + tap * y_tap, .c_stride = y_stride};
            detail::multiply_panels<Arch>(product, 0, tiles, s.k,
                                          args.weights + tap * detail::packed_size<Arch>(s.c, s.k));
        });
        executor.parallel_for(static_cast<std::size_t>(tiles), [&](std::size_t tile, std::size_t) {
            transform_output(s, args, first + static_cast<int>(tile), y + tile * y_stride, y_tap);
        });
    }

    /// One tile of the image, all channels: dst[tap * tap_stride + c].
    static void transform_input(ConvShape const& s, const float* src, int tile, float* dst,
                                std::size_t tap_stride) noexcept {
        const int h0 = tile / tiles_w(s) * m - s.pad_top, w0 = tile % tiles_w(s) * m - s.pad_left;
        const auto c = static_cast<std::size_t>(s.c);
        const float* pixels[taps];
        for (int i = 0; i < taps; ++i) {
            const int h = h0 + i / size, w = w0 + i % size;
            const bool in = h >= 0 && h < s.h && w >= 0 && w < s.w;
            pixels[i] = in ? src + static_cast<std::size_t>(h * s.w + w) * c : nullptr;
        }
        const auto channels = [&]<int n>(std::integral_constant<int, n>, std::size_t at) {
            using V = detail::Lanes<n>;
            V in[taps], out[taps];
            for (int i = 0; i < taps; ++i) in[i] = pixels[i] != nullptr ? V::load(pixels[i] + at) : V::all(0.0F);
            detail::sandwich<detail::input_matrix<m, r>>(in, out);
            for (std::size_t i = 0; i < taps; ++i) out[i].store(dst + i * tap_stride + at);
        };
        std::size_t at = 0;
        for (; at + vec <= c; at += vec) channels(std::integral_constant<int, vec>{}, at);
        for (; at < c; ++at) channels(std::integral_constant<int, 1>{}, at);
    }

    static void transform_output(ConvShape const& s, ConvArgs const& args, int tile, const float* src,
                                 std::size_t tap_stride) noexcept {
        const int h0 = tile / tiles_w(s) * m, w0 = tile % tiles_w(s) * m;
        const int rows = std::min(m, s.out_h() - h0), columns = std::min(m, s.out_w() - w0);
        const auto k = static_cast<std::size_t>(s.k);
        const auto kernels = [&]<int n>(std::integral_constant<int, n>, std::size_t at) {
            using V = detail::Lanes<n>;
            V in[taps], out[m * m];
            for (std::size_t i = 0; i < taps; ++i) in[i] = V::load(src + i * tap_stride + at);
            detail::sandwich<detail::output_matrix<m, r>>(in, out);
            const V bias = args.bias == nullptr ? V::all(0.0F) : V::load(args.bias + at);
            for (int row = 0; row < rows; ++row) {
                for (int column = 0; column < columns; ++column) {
                    const std::size_t to = static_cast<std::size_t>((h0 + row) * s.out_w() + w0 + column) * k + at;
                    V value = out[row * m + column] + bias;
                    if (args.residual != nullptr) value = value + V::load(args.residual + to);
                    value.clamped(args.clamp.low, args.clamp.high).store(args.dst + to);
                }
            }
        };
        std::size_t at = 0;
        for (; at + vec <= k; at += vec) kernels(std::integral_constant<int, vec>{}, at);
        for (; at < k; ++at) kernels(std::integral_constant<int, 1>{}, at);
    }
};

}  // namespace primsel::inline PRIMSEL_ABI
