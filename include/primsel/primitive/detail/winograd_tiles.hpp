// The tiles of Winograd filtering F(m x m, r x r), independent of the width of vectors.
#pragma once

#include <primsel/core/aligned_buffer.hpp>
#include <primsel/gemm/panel.hpp>
#include <primsel/primitive/detail/depth_panels.hpp>
#include <primsel/primitive/detail/lanes.hpp>
#include <primsel/primitive/detail/tile_matrices.hpp>
#include <primsel/primitive/primitive.hpp>

#include <primsel/core/work.hpp>

#include <algorithm>
#include <array>
#include <type_traits>
#include <utility>

namespace primsel::inline PRIMSEL_ABI::primitive::detail {

template <std::size_t rows, std::size_t columns>
using Factors = std::array<std::array<double, columns>, rows>;

/// Returns the factors in columns of the given parity, with zeros in the other columns.
template <std::size_t rows, std::size_t columns>
[[nodiscard]] constexpr Factors<rows, columns> with_parity(Factors<rows, columns> matrix, std::size_t parity) {
    for (auto& row : matrix) {
        for (std::size_t j = 0; j < columns; ++j) row[j] = j % 2 == parity ? row[j] : 0.0;
    }
    return matrix;
}
template <auto const& matrix>
inline constexpr auto even_columns = with_parity(matrix, 0);
template <auto const& matrix>
inline constexpr auto odd_columns = with_parity(matrix, 1);

/// Returns whether rows i and i + 1 belong to interpolation points p and -p, so that only the signs of their odd
/// columns differ. Rows with zeros in all odd or all even columns do not.
template <std::size_t rows, std::size_t columns>
[[nodiscard]] constexpr bool rows_mirrored(Factors<rows, columns> const& matrix, std::size_t i) {
    if (i + 1 >= rows) return false;
    bool parities[2]{};
    for (std::size_t j = 0; j < columns; ++j) {
        if (matrix[i + 1][j] != (j % 2 == 0 ? matrix[i][j] : -matrix[i][j])) return false;
        if (matrix[i][j] != 0.0) parities[j % 2] = true;
    }
    return parities[0] && parities[1];
}
/// Returns whether columns j and j + 1 differ only in the signs of their odd rows.
template <std::size_t rows, std::size_t columns>
[[nodiscard]] constexpr bool columns_mirrored(Factors<rows, columns> const& matrix, std::size_t j) {
    if (j + 1 >= columns) return false;
    for (std::size_t i = 0; i < rows; ++i) {
        if (matrix[i][j + 1] != (i % 2 == 0 ? matrix[i][j] : -matrix[i][j])) return false;
    }
    return true;
}
/// Returns the first column of the mirrored pair to which column j belongs, or `columns` if there is none.
template <std::size_t rows, std::size_t columns>
[[nodiscard]] constexpr std::size_t pair_of_column(Factors<rows, columns> const& matrix, std::size_t j) {
    for (std::size_t first = 0; first <= j; ++first) {
        if (!columns_mirrored(matrix, first)) continue;
        if (j <= first + 1) return first;
        ++first;
    }
    return columns;
}
/// Returns the factors that remain when each mirrored pair of columns is replaced by its sum and its difference. Even
/// rows use the sum, odd rows the difference.
template <std::size_t rows, std::size_t columns>
[[nodiscard]] constexpr Factors<rows, columns> after_pairing(Factors<rows, columns> const& matrix) {
    Factors<rows, columns> left = matrix;
    for (std::size_t j = 0; j < columns; ++j) {
        const std::size_t first = pair_of_column(matrix, j);
        for (std::size_t i = 0; i < rows && first < columns; ++i) {
            left[i][j] = i % 2 == j - first ? matrix[i][first] : 0.0;
        }
    }
    return left;
}
template <auto const& matrix>
inline constexpr auto paired = after_pairing(matrix);

/// Returns the sum of matrix[row][j] * in[j] over j; zeros are skipped and ones need no multiplication.
template <auto const& matrix, std::size_t row, class V>
PRIMSEL_INLINE V combine(const V* in) {
    constexpr auto factors = matrix[row];
    constexpr std::size_t first = [] {
        for (std::size_t j = 0; j < matrix[row].size(); ++j) {
            if (matrix[row][j] == 1.0) return j;
        }
        std::size_t j = 0;
        while (matrix[row][j] == 0.0) ++j;
        return j;
    }();
    V sum = in[first];
    if constexpr (factors[first] != 1.0) sum = static_cast<float>(factors[first]) * sum;
    [&]<std::size_t... j>(std::index_sequence<j...>) PRIMSEL_INLINE_LAMBDA_ON_ARM {
        const auto add = [&]<std::size_t i>(std::integral_constant<std::size_t, i>) PRIMSEL_INLINE_LAMBDA_ON_ARM {
            constexpr auto factor = static_cast<float>(factors[i]);
            if constexpr (i == first || factor == 0.0F)
                return;
            else if constexpr (factor == 1.0F)
                sum = sum + in[i];
            else if constexpr (factor == -1.0F)
                sum = sum - in[i];
            else
                sum = fma(factor, in[i], sum);
        };
        (add(std::integral_constant<std::size_t, j>{}), ...);
    }(std::make_index_sequence<factors.size()>{});
    return sum;
}

/// Calls put(i, value) with each element of matrix * in. Terms that interpolation points p and -p share are computed
/// once.
template <auto const& matrix, class V, class Put>
PRIMSEL_INLINE void transform(V (&in)[matrix[0].size()], Put const& put) {
    constexpr std::size_t rows = matrix.size(), columns = matrix[0].size();
    [&]<std::size_t... j>(std::index_sequence<j...>) PRIMSEL_INLINE_LAMBDA_ON_ARM {
        const auto pair = [&]<std::size_t first>(std::integral_constant<std::size_t, first>)
                              PRIMSEL_INLINE_LAMBDA_ON_ARM {
                                  if constexpr (pair_of_column(matrix, first) == first) {
                                      const V sum = in[first] + in[first + 1];
                                      in[first + 1] = in[first] - in[first + 1];
                                      in[first] = sum;
                                  }
                              };
        (pair(std::integral_constant<std::size_t, j>{}), ...);
    }(std::make_index_sequence<columns>{});
    [&]<std::size_t... i>(std::index_sequence<i...>) PRIMSEL_INLINE_LAMBDA_ON_ARM {
        const auto row = [&]<std::size_t at>(std::integral_constant<std::size_t, at>) PRIMSEL_INLINE_LAMBDA_ON_ARM {
            if constexpr (rows_mirrored(matrix, at)) {
                const V even = combine<even_columns<matrix>, at>(in), odd = combine<odd_columns<matrix>, at>(in);
                put(at, even + odd);
                put(at + 1, even - odd);
            } else if constexpr (at == 0 || !rows_mirrored(matrix, at - 1)) {
                put(at, combine<paired<matrix>, at>(in));
            }
        };
        (row(std::integral_constant<std::size_t, i>{}), ...);
    }(std::make_index_sequence<rows>{});
}

/// Calls put(row, column, value) with each element of matrix * in * matrix'. get(row, column) returns the elements of
/// the square matrix `in`.
template <auto const& matrix, class V, class Get, class Put>
PRIMSEL_INLINE void sandwich(Get const& get, Put const& put) {
    constexpr std::size_t rows = matrix.size(), size = matrix[0].size();
    V half[rows][size];
    for (std::size_t column = 0; column < size; ++column) {
        V in[size];
        PRIMSEL_UNROLL
        for (std::size_t row = 0; row < size; ++row) in[row] = get(row, column);
        transform<matrix>(in, [&](std::size_t row, V const& value) { half[row][column] = value; });
    }
    for (std::size_t row = 0; row < rows; ++row) {
        const auto put_column = [&](std::size_t column, V const& value) { put(row, column, value); };
        if constexpr (on_arm && paired<matrix> != matrix) {
            V in[size];  // a copy, as pairs would go back to memory
            PRIMSEL_UNROLL
            for (std::size_t column = 0; column < size; ++column) in[column] = half[row][column];
            transform<matrix>(in, put_column);
        } else {
            transform<matrix>(half[row], put_column);
        }
    }
}

/// Returns the distance in floats between tiles: whole cache lines plus 16 floats, so that neighbouring tiles use
/// different cache sets.
[[nodiscard]] constexpr std::size_t tile_stride(int channels) {
    return round_up_floats(static_cast<std::size_t>(channels)) + 16;
}

/// The most channels that are transformed side by side: more than a vector leave ARM too few registers for a tile.
inline constexpr int widest_transformed = on_arm ? 4 : 16;

/// The number of `vec` channels that are transformed side by side where a transform has so many inputs: if these took
/// all of 16 registers, one vector.
template <int vec, int inputs>
inline constexpr int side_by_side = [] {
    constexpr int vector = lanes<default_arch>;
    return registers<default_arch> == 16 && vec > vector && inputs * vec >= 16 * vector ? vector : vec;
}();

/// Calls work(width, begin, end) for the channels in vectors of `vec`. A last vector that is not full ends at the last
/// channel and overlaps the one before, so computing a channel twice must do no harm. Fewer channels than a vector use
/// vectors of half the width; fewer than four are taken one by one. `many`: there are widest_transformed or more.
template <int vec, bool many = false, class F>
PRIMSEL_INLINE void for_channels(std::size_t channels, F const& work) {
    if constexpr (vec > widest_transformed) {
        for_channels<widest_transformed, many>(channels, work);
    } else if (many || channels >= vec) {
        constexpr std::integral_constant<int, vec> width;
        work(width, std::size_t{0}, channels / vec * vec);
        if (channels % vec != 0) work(width, channels - vec, channels);
    } else if constexpr (vec > 1 && !many) {
        for_channels<(vec > 4 ? vec / 2 : 1)>(channels, work);
    }
}

/// Returns the phase of transforms by for_channels: `operations` for each channel, including those computed twice.
template <class Arch, int vec>
[[nodiscard]] Phase transform_phase(int channels, double operations, double bytes, double working_set) {
    if constexpr (vec > widest_transformed) {
        return transform_phase<Arch, widest_transformed>(channels, operations, bytes, working_set);
    } else if constexpr (vec > 1) {
        if (channels < vec) {
            return transform_phase<Arch, (vec > 4 ? vec / 2 : 1)>(channels, operations, bytes, working_set);
        }
    }
    return {.rate = Rate::registers,
            .operations = operations * ((channels + vec - 1) / vec * vec),
            .narrow = std::max(1.0, static_cast<double>(lanes<Arch>) / vec),
            .bytes = bytes,
            .working_set = working_set};
}

/// Stores an output pixel of n channels: dst = clamp(value + bias + residual). It copies the arguments, because the
/// compiler must assume that a store of floats may change them.
template <int n>
class Finish {
public:
    using V = Lanes<n>;
    PRIMSEL_INLINE Finish(ConvArgs const& args, std::size_t at)
        : residual_(args.residual),
          dst_(args.dst),
          bias_(args.bias == nullptr ? V::all(0.0F) : V::load(args.bias + at)),
          clamp_(args.clamp),
          bounded_(on_arm && args.clamp.bounded()) {}
    /// Sets the biases that are added.
    PRIMSEL_INLINE void add(V const& bias) { bias_ = bias; }
    PRIMSEL_INLINE void operator()(V value, std::size_t to) const {
        value = value + bias_;
        if (residual_ != nullptr) value = value + V::load(residual_ + to);
        if (!on_arm || bounded_) value = value.clamped(clamp_.low, clamp_.high);
        value.store(dst_ + to);
    }
    /// Stores the first `count` of some neighbours, `stride` floats apart: one test for all of them.
    template <std::size_t most>
    PRIMSEL_INLINE void operator()(V const (&values)[most], std::size_t to, std::size_t stride,
                                   std::size_t count) const {
        if (residual_ != nullptr || bounded_ || count < most) {
            PRIMSEL_UNROLL
            for (std::size_t i = 0; i < most; ++i, to += stride) {
                if (i < count) (*this)(values[i], to);
            }
            return;
        }
        float* dst = dst_ + to;
        PRIMSEL_UNROLL
        for (std::size_t i = 0; i < most; ++i) (values[i] + bias_).store_and_advance(dst, stride);
    }

private:
    const float* residual_;
    float* dst_;
    V bias_;
    Clamp clamp_;
    bool bounded_;
};

/// One element of each of several kernels, one for each lane of a vector.
template <class Arch>
using KernelLanes = std::array<double, static_cast<std::size_t>(lanes<Arch>)>;

/// Returns the sum of factors[t] * in[t * step] over t.
template <class Arch, std::size_t r>
[[nodiscard]] PRIMSEL_INLINE KernelLanes<Arch> weigh(std::array<double, r> const& factors, const KernelLanes<Arch>* in,
                                                     std::size_t step) {
    KernelLanes<Arch> sum{};
    PRIMSEL_UNROLL
    for (std::size_t t = 0; t < r; ++t) {
        for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += factors[t] * in[t * step][i];
    }
    return sum;
}
/// Reads `count` elements of each of `kernels` kernels, which are `stride` floats apart; missing kernels give zeros.
template <class Arch, std::size_t count>
PRIMSEL_INLINE void gather(KernelLanes<Arch> (&to)[count], const float* src, std::size_t stride, std::size_t kernels) {
    for (std::size_t t = 0; t < count; ++t) to[t] = {};
    for (std::size_t i = 0; i < std::min(kernels, to[0].size()); ++i) {
        for (std::size_t t = 0; t < count; ++t) to[t][i] = static_cast<double>(src[i * stride + t]);
    }
}
template <class Arch>
PRIMSEL_INLINE void scatter(KernelLanes<Arch> const& from, float* dst) {
    for (std::size_t i = 0; i < from.size(); ++i) dst[i] = static_cast<float>(from[i]);
}

/// A tile is `size` squared pixels of the image, from which m squared outputs are computed.
template <int m, int r, class P, int stride = 1>
struct WinogradTiles {
    using Matrices = TileMatrices<m, r, stride, P>;
    static constexpr int size = Matrices::size, taps = size * size;
    /// The channels of `vec` that are transformed side by side.
    template <int vec>
    static constexpr int at_once = stride == 1 ? side_by_side<vec, size> : vec;

    [[nodiscard]] static constexpr int rows(ConvShape const& s) { return (s.out_h() + m - 1) / m; }
    [[nodiscard]] static constexpr int columns(ConvShape const& s) { return (s.out_w() + m - 1) / m; }

    /// Packs the transformed kernel, tap after tap, each as a matrix c x k in panels. Parallel over panels.
    template <class Arch>
    static void pack(ConvShape const& s, KernelView kernel, float* dst, ExecutorRef executor) {
        const std::size_t matrix = gemm::packed_size<Arch>(s.c, s.k);
        executor.parallel_for(static_cast<std::size_t>(gemm::panel_count<Arch>(s.k)), [&](std::size_t i, std::size_t) {
            const int first = static_cast<int>(i) * gemm::panel_width<Arch>,
                      width = gemm::panel_columns<Arch>(first, s.k);
            float* panel = dst + static_cast<std::size_t>(s.c) * static_cast<std::size_t>(first);
            for_kernel_rows<Arch>(s, kernel, 0, first, [&](int c, int, int, const float* rows) {
                transform_kernels<Arch>(kernel.rotated, rows, panel + c * width, width, matrix);
            });
        });
    }

    /// Transforms one tile of the image, all channels: dst[tap * tap_stride + c]. `zeros` has as many floats as there
    /// are channels and stands for pixels outside the image.
    template <int vec, bool many = false>
    static void transform_input(ConvShape const& s, const float* src, const float* zeros, int tile, float* dst,
                                std::size_t tap_stride) noexcept {
        constexpr int step = m * stride;
        const int h0 = tile / columns(s) * step - s.pad_top, w0 = tile % columns(s) * step - s.pad_left;
        const auto c = static_cast<std::size_t>(s.c);
        const float* pixels[taps];
        for (int i = 0; i < taps; ++i) {
            const int h = h0 + Matrices::position(i / size), w = w0 + Matrices::position(i % size);
            const bool in = h >= 0 && h < s.h && w >= 0 && w < s.w;
            pixels[i] = in ? src + static_cast<std::size_t>(h * s.w + w) * c : zeros;
        }
        for_channels<at_once<vec>, many>(
            c, [&]<int n>(std::integral_constant<int, n>, std::size_t begin, std::size_t end) {
                transform_channels<n>(pixels, begin, end, dst, tap_stride);
            });
    }

    /// Computes one tile of the result of the image whose pixels begin at `first`.
    template <int vec, bool many = false>
    static void transform_output(ConvShape const& s, ConvArgs const& args, std::size_t first, int tile,
                                 const float* src, std::size_t tap_stride) noexcept {
        const int h0 = tile / columns(s) * m, w0 = tile % columns(s) * m;
        const Target target{first + static_cast<std::size_t>(h0 * s.out_w() + w0), static_cast<std::size_t>(s.out_w()),
                            args.pixel_stride(s), static_cast<std::size_t>(std::min(m, s.out_h() - h0)),
                            static_cast<std::size_t>(std::min(m, s.out_w() - w0))};
        for_channels<at_once<vec>, many>(static_cast<std::size_t>(s.k), [&]<int n>(std::integral_constant<int, n>,
                                                                                   std::size_t begin, std::size_t end) {
            finish_channels<n>(args, target, begin, end, src, tap_stride);
        });
    }

    /// Transforms one tile of the gradient of the result, all channels: the transpose of transform_output.
    template <int vec>
    static void transform_gradient(ConvShape const& s, const float* gradient, const float* zeros, int tile, float* dst,
                                   std::size_t tap_stride) noexcept {
        const int h0 = tile / columns(s) * m, w0 = tile % columns(s) * m;
        const auto k = static_cast<std::size_t>(s.k);
        const float* pixels[m * m];
        for (int i = 0; i < m * m; ++i) {
            const int h = h0 + i / m, w = w0 + i % m;
            const bool in = h < s.out_h() && w < s.out_w();
            pixels[i] = in ? gradient + static_cast<std::size_t>(h * s.out_w() + w) * k : zeros;
        }
        for_channels<vec>(k, [&]<int n>(std::integral_constant<int, n>, std::size_t begin, std::size_t end) {
            spread_channels<n>(pixels, begin, end, dst, tap_stride);
        });
    }
    /// Transforms the sums of all taps, of n kernels side by side, into the gradients of the kernels' taps,
    /// dst[tap][kernel]: the transpose of transform_kernels.
    template <int n>
    static void transform_sums(const float* sums, std::size_t tap_stride, float* dst) noexcept {
        using V = Lanes<n>;
        sandwich<transposed_kernel_matrix<m, r, P>, V>(
            [&](std::size_t row, std::size_t column) { return V::load(sums + (row * size + column) * tap_stride); },
            [&](std::size_t row, std::size_t column, V const& value) { value.store(dst + (row * r + column) * n); });
    }

private:
    template <int n>
    PRIMSEL_NOINLINE static void spread_channels(const float* const* pixels, std::size_t begin, std::size_t end,
                                                 float* dst, std::size_t tap_stride) noexcept {
        using V = Lanes<n>;
        for (std::size_t at = begin; at < end; at += n) {
            sandwich<transposed_output_matrix<m, r, P>, V>(
                [&](std::size_t row, std::size_t column) { return V::load(pixels[row * m + column] + at); },
                [&](std::size_t row, std::size_t column, V const& value) {
                    value.store(dst + (row * size + column) * tap_stride + at);
                });
        }
    }
    /// Transforms one channel of `width` kernels side by side.
    template <class Arch>
    PRIMSEL_NOINLINE static void transform_kernels(bool rotated, const float* rows, float* dst, int width,
                                                   std::size_t tap_stride) noexcept {
        using V = Lanes<lanes<Arch>>;
        const std::ptrdiff_t step = rotated ? -gemm::panel_width<Arch> : gemm::panel_width<Arch>;
        if (rotated) rows += (r * r - 1) * gemm::panel_width<Arch>;
        for (int n = 0; n < width; n += lanes<Arch>) {
            sandwich<Matrices::kernel, V>(
                [&](std::size_t row, std::size_t column) {
                    const int tap = Matrices::tap(static_cast<int>(row)) * r + Matrices::tap(static_cast<int>(column));
                    return V::load(rows + tap * step + n);
                },
                [&](std::size_t row, std::size_t column, V const& value) {
                    value.store(dst + (row * size + column) * tap_stride + n);
                });
        }
    }

    /// A function for each width, to compile once and not for each pair of a width and its remainder.
    template <int n>
    PRIMSEL_NOINLINE static void transform_channels(const float* const* pixels, std::size_t begin, std::size_t end,
                                                    float* dst, std::size_t tap_stride) noexcept {
        using V = Lanes<n>;
        for (std::size_t at = begin; at < end; at += n) {
            sandwich<Matrices::input, V>(
                [&](std::size_t row, std::size_t column) { return V::load(pixels[row * size + column] + at); },
                [&](std::size_t row, std::size_t column, V const& value) {
                    value.store(dst + (row * size + column) * tap_stride + at);
                });
        }
    }

    /// The positions of a tile's outputs: the first pixel, the pixels of a row, the floats of a pixel, and how many
    /// rows and columns exist.
    struct Target {
        std::size_t first, row, pixel, height, width;
    };
    template <int n>
    PRIMSEL_NOINLINE static void finish_channels(ConvArgs const& args, Target const& of_tile, std::size_t begin,
                                                 std::size_t end, const float* src, std::size_t tap_stride) noexcept {
        const Target target = of_tile;  // a store of floats may not change the copy
        if constexpr (on_arm) {
            Finish<n> finish(args, begin);
            const float* const bias = args.bias;
            for (std::size_t at = begin; at < end; at += n) {
                finish_vector(finish, target, at, src + at, tap_stride, bias);
            }
        } else {
            using V = Lanes<n>;
            for (std::size_t at = begin; at < end; at += n) {
                const Finish<n> finish(args, at);
                sandwich<Matrices::output, V>(
                    [&](std::size_t row, std::size_t column) {
                        return V::load(src + (row * size + column) * tap_stride + at);
                    },
                    [&](std::size_t row, std::size_t column, V const& value) {
                        if (row >= target.height || column >= target.width) return;
                        finish(value, (target.first + row * target.row + column) * target.pixel + at);
                    });
            }
        }
    }

    /// The same on ARM, by instructions that advance addresses. Their operands stay in registers only if no array has
    /// an index that is not a constant.
    template <int n>
    PRIMSEL_INLINE static void finish_vector(Finish<n>& finish, Target const& target, std::size_t at, const float* src,
                                             std::size_t tap_stride, const float* bias) noexcept {
        constexpr std::make_index_sequence<size> columns{};
        Lanes<n> half[m][size];
        const std::size_t to = target.first * target.pixel + at;
        if constexpr (m * size <= 24) {  // registers
            [&]<std::size_t... column>(std::index_sequence<column...>) PRIMSEL_INLINE_LAMBDA {
                (half_of_column<n>(half, column, src + column * tap_stride, size * tap_stride, columns), ...);
            }(columns);
            if (bias != nullptr) finish.add(Lanes<n>::load(bias + at));
            [&]<std::size_t... row>(std::index_sequence<row...>) PRIMSEL_INLINE_LAMBDA {
                ((row < target.height ? finish_row<n>(half, row, finish, to, target, columns) : void()), ...);
            }(std::make_index_sequence<m>{});
        } else {
            for (std::size_t column = 0; column < size; ++column) {
                half_of_column<n>(half, column, src + column * tap_stride, size * tap_stride, columns);
            }
            if (bias != nullptr) finish.add(Lanes<n>::load(bias + at));
            for (std::size_t row = 0; row < target.height; ++row) {
                finish_row<n>(half, row, finish, to, target, columns);
            }
        }
    }
    template <int n, std::size_t... row>
    PRIMSEL_INLINE static void half_of_column(Lanes<n> (&half)[m][size], std::size_t column, const float* src,
                                              std::size_t step, std::index_sequence<row...>) noexcept {
        Lanes<n> in[size] = {(void(row), Lanes<n>::load_and_advance(src, step))...};
        transform<Matrices::output>(in, [&](std::size_t i, Lanes<n> const& value)
                                            PRIMSEL_INLINE_LAMBDA { half[i][column] = value.in_order(); });
    }
    template <int n, std::size_t... column>
    PRIMSEL_INLINE static void finish_row(Lanes<n> const (&half)[m][size], std::size_t row, Finish<n> const& finish,
                                          std::size_t to, Target const& target,
                                          std::index_sequence<column...>) noexcept {
        Lanes<n> in[size] = {half[row][column]...}, out[m];
        transform<Matrices::output>(
            in, [&](std::size_t i, Lanes<n> const& value) PRIMSEL_INLINE_LAMBDA { out[i] = value.in_order(); });
        finish(out, to + row * target.row * target.pixel, target.pixel, target.width);
    }
};

}  // namespace primsel::inline PRIMSEL_ABI::primitive::detail
