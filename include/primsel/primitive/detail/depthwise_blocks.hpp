#pragma once

#include <primsel/core/simd.hpp>
#include <primsel/gemm/tile_set.hpp>
#include <primsel/primitive/conv_args.hpp>
#include <primsel/primitive/conv_shape.hpp>

#include <algorithm>
#include <cstddef>
#include <type_traits>

namespace primsel::inline PRIMSEL_ABI::primitive::detail {

/// A block of DepthwiseBlocks whose sums are results: those of one vector of channels.
template <class Arch, class Pixels>
struct FloatSums {
    using V = Floats<Arch>;
    using Element = typename Pixels::Element;
    ConvArgs const& args;
    std::size_t at;  ///< the first channel
    int channels;

    [[nodiscard]] PRIMSEL_INLINE V load(const Element* src) const { return Pixels::template load<Arch>(src); }
    /// Returns the values from which sums start.
    [[nodiscard]] PRIMSEL_INLINE V start() const {
        return args.bias == nullptr ? broadcast<Arch>(0.0F) : Pixels::template bias<Arch>(args.bias, at, channels);
    }

    /// Stores results. A residual is added to what `of` returns.
    struct End {
        V low, high;
        bool bounded;
        [[nodiscard]] PRIMSEL_INLINE V of(V const& sum) const { return sum; }
        [[nodiscard]] PRIMSEL_INLINE V residual(const Element* src) const { return Pixels::template load<Arch>(src); }
        PRIMSEL_INLINE void store(Element* dst, V const& value) const {
            store_bounded(dst, clamp<Arch>(value, low, high));
        }
        PRIMSEL_INLINE void store_bounded(Element* dst, V const& value) const {
            Pixels::template store<Arch>(dst, value);
        }
    };
    [[nodiscard]] PRIMSEL_INLINE End end(const float* /*behind the weights*/) const {
        return {broadcast<Arch>(args.clamp.low), broadcast<Arch>(args.clamp.high), args.clamp.bounded()};
    }
};

/// Pixels of floats, for DepthwiseBlocks.
struct FloatPixels {
    using Element = float;
    template <class Arch>
    using Block = FloatSums<Arch, FloatPixels>;
    /// Returns the elements of a pixel, and of the packed weights of a tap.
    [[nodiscard]] static constexpr std::size_t size(int channels) { return static_cast<std::size_t>(channels); }
    template <class Arch>
    PRIMSEL_INLINE static Floats<Arch> load(const float* src) {
        return load_once<Arch>(src);
    }
    template <class Arch>
    PRIMSEL_INLINE static void store(float* dst, Floats<Arch> const& value) {
        primsel::store<Arch>(dst, value);
    }
    /// Loads the biases of a vector of channels.
    template <class Arch>
    PRIMSEL_INLINE static Floats<Arch> bias(const float* all, std::size_t at, int) {
        return primsel::load<Arch>(all + at);
    }
};

/// Depthwise convolution in hwc by a 3x3 or 5x5 kernel of stride 1 or 2: one block of neighbouring outputs of a vector
/// of channels at a time.
template <class Pixels>
struct DepthwiseBlocks {
    using Element = typename Pixels::Element;

    /// Returns the bit of the layer's block in TileSet::depthwise. The layer's kernel is 3x3 or 5x5, its stride 1 or 2.
    [[nodiscard]] static constexpr unsigned block(ConvShape const& s) { return block(s.fw, columns_of(s), s.stride_w); }

    /// Returns whether the layer has such a kernel, small padding and at least a vector of channels, and Arch its
    /// block.
    template <class Arch>
    [[nodiscard]] static bool supports(ConvShape const& s) {
        const bool square =
            s.fh == s.fw && (s.fw == 3 || s.fw == 5) && s.stride_h == s.stride_w && s.stride_w <= 2 && !s.dilated();
        const int beside = s.fw / 2, last = (s.out_w() - 1) * s.stride_w + s.fw - 1 - s.pad_left;
        const bool narrow = s.pad_left <= beside && s.pad_top <= beside && last < s.w + beside;
        return square && narrow && s.k >= lanes<Arch> && s.out_w() >= 2 &&
               (gemm::tile_set<Arch>.depthwise & block(s)) != 0;
    }

    /// Returns the work as operations at the FMA peak. It counts two for each multiply-add, including those of
    /// overlapping last blocks of columns_of and channels. It adds the operations of five taps for the start and the
    /// end of each block.
    template <class Arch>
    [[nodiscard]] static double operations(ConvShape const& s) {
        constexpr int width = lanes<Arch>;
        const int columns = columns_of(s);
        return 2.0 * (s.taps() + 5) * s.out_h() * ((s.out_w() + columns - 1) / columns * columns) *
               ((s.k + width - 1) / width * width);
    }

    /// Returns the blocks of rows and ranges of channels that threads share.
    template <class Arch>
    [[nodiscard]] static std::size_t count(ConvShape const& s) {
        const int rows = two_by_four<Arch>(s) ? 2 : s.fw == 3 ? block_rows<Arch, 3> : block_rows<Arch, 5>;
        return static_cast<std::size_t>((s.out_h() + rows - 1) / rows * channel_ranges<Arch>(s));
    }

    template <class Arch>
    static void run(ConvShape const& s, ConvArgs const& args, const Element* src) noexcept {
        if (s.fw == 3) {
            run_blocks<Arch, 3>(s, args, src);
        } else {
            run_blocks<Arch, 5>(s, args, src);
        }
    }

private:
    /// The output rows of a block. Its sums, the weights of the kernel rows that use an input row, and one input fit
    /// the registers. Each input is loaded once for all its outputs.
    template <class Arch, int size>
    static constexpr int block_rows = registers<Arch> != 32                                   ? 1
                                      : on_arm && size == 3 && std::is_same_v<Element, float> ? 3
                                                                                              : 2;
    /// Returns the output columns of a block: seven, or for narrower images four or two.
    [[nodiscard]] static constexpr int columns_of(ConvShape const& s) {
        return s.out_w() >= 7 ? 7 : s.out_w() >= 4 ? 4 : 2;
    }
    [[nodiscard]] static constexpr unsigned block(int size, int columns, int stride) {
        return 1U << (6 * (size == 5) + 2 * (columns / 3) + stride - 1);
    }

    /// Returns whether blocks are two rows of four columns. Their sums, the six weights of two kernel rows and one
    /// input fit 16 registers, and rows are read twice, not three times. With a stride, nine weights would be needed at
    /// a time.
    template <class Arch>
    [[nodiscard]] static constexpr bool two_by_four(ConvShape const& s) {
        return registers<Arch> == 16 && s.fw == 3 && s.stride_w == 1 && s.out_w() % 4 == 0;
    }

    template <class Arch, int size>
    static void run_blocks(ConvShape const& s, ConvArgs const& args, const Element* src) noexcept {
        constexpr unsigned any = block(3, 7, 1) | block(3, 4, 1);
        if constexpr (registers<Arch> == 16 && size == 3 && (gemm::tile_set<Arch>.depthwise & any) != 0) {
            if (two_by_four<Arch>(s)) return run_blocks<Arch, size, 2, 4, 1>(s, args, src);
        }
        switch (columns_of(s)) {
            case 7:
                return run_blocks<Arch, size, 7>(s, args, src);
            case 4:
                return run_blocks<Arch, size, 4>(s, args, src);
            default:
                return run_blocks<Arch, size, 2>(s, args, src);
        }
    }
    template <class Arch, int size, int columns>
    static void run_blocks(ConvShape const& s, ConvArgs const& args, const Element* src) noexcept {
        if (s.stride_w == 1) {
            run_blocks<Arch, size, columns, 1>(s, args, src);
        } else {
            run_blocks<Arch, size, columns, 2>(s, args, src);
        }
    }

    /// The channels of one range; the last range has at least one vector, plus the remaining channels.
    template <class Arch>
    static constexpr int range_channels = registers<Arch> == 32 ? 8 * lanes<Arch> : 32 * lanes<Arch>;
    template <class Arch>
    [[nodiscard]] static int channel_ranges(ConvShape const& s) {
        constexpr int channels = range_channels<Arch>;
        return std::max(1, (static_cast<int>(Pixels::size(s.k)) + channels - lanes<Arch>) / channels);
    }

    template <class Arch, int size, int columns, int stride>
    static void run_blocks(ConvShape const& s, ConvArgs const& args, const Element* src) noexcept {
        if constexpr ((gemm::tile_set<Arch>.depthwise & block(size, columns, stride)) != 0) {
            run_blocks<Arch, size, block_rows<Arch, size>, columns, stride>(s, args, src);
        }
    }
    template <class Arch, int size, int rows, int columns, int stride>
    static void run_blocks(ConvShape const& s, ConvArgs const& args, const Element* src) noexcept {
        constexpr int channels = range_channels<Arch>;
        const int all = static_cast<int>(Pixels::size(s.k)), parts = channel_ranges<Arch>(s);
        const std::size_t items = count<Arch>(s);
        args.executor.parallel_for(items, [&s, &args, src, all, parts](std::size_t item, std::size_t) {
            const int first = static_cast<int>(item) / parts * rows, part = static_cast<int>(item) % parts,
                      begin = part * channels, end = part + 1 == parts ? all : begin + channels;
            run_rows<Arch, size, rows, columns, stride>(s, args, src, first, begin, end);
        });
    }
    /// Computes `rows` output rows, or those that are left.
    template <class Arch, int size, int rows, int columns, int stride>
    PRIMSEL_INLINE static void run_rows(ConvShape const& s, ConvArgs const& args, const Element* src, int first,
                                        int begin, int end) noexcept {
        if constexpr (rows > 1) {
            if (first + rows > s.out_h())
                return run_rows<Arch, size, rows - 1, columns, stride>(s, args, src, first, begin, end);
        }
        run_block_row<Arch, size, rows, columns, stride>(s, args, src, first, begin, end);
    }

    /// Computes `rows` output rows of channels [begin, end), at least one vector. The last block and the last vector
    /// overlap those before if they are not full.
    template <class Arch, int size, int rows, int columns, int stride>
    static void run_block_row(ConvShape const& s, ConvArgs const& args, const Element* src, int first, int begin,
                              int end) noexcept {
        constexpr int in_rows = (rows - 1) * stride + size;
        const std::size_t channels = Pixels::size(s.k);
        const Element* lines[in_rows];
        for (int i = 0; i < in_rows; ++i) {
            const int h = first * stride - s.pad_top + i;
            lines[i] = h >= 0 && h < s.h ? src + static_cast<std::size_t>(h * s.w) * channels : nullptr;
        }
        const int out_w = s.out_w();  // divides
        const std::size_t row = static_cast<std::size_t>(out_w) * channels;
        for (int column = 0; column < out_w; column += columns) {
            const int ow = std::min(column, out_w - columns), left = ow * stride - s.pad_left;
            const std::size_t to = static_cast<std::size_t>(first) * row + static_cast<std::size_t>(ow) * channels;
            for (int k = begin; k < end; k += lanes<Arch>) {
                const auto at = static_cast<std::size_t>(std::min(k, end - lanes<Arch>));
                run_block<Arch, size, rows, columns, stride>(s, args, lines, left, at, to + at, row);
            }
        }
    }

    /// Loads a vector of a pixel and advances the address by `step` elements.
    template <class Arch, class Block>
    PRIMSEL_INLINE static Floats<Arch> next_pixel(Block const& block, const Element*& src, std::ptrdiff_t step) {
        if constexpr (std::is_same_v<Element, float>) {
            return in_register<Arch>(load_and_advance<Arch>(src, step));
        } else {
            const Floats<Arch> x = block.load(src);
            src += step;
            return x;
        }
    }

    /// Computes a block from column `first` of the image, for the vector of channels at `at`. The first result goes to
    /// `to`; the next row's results lie `row` floats further on.
    template <class Arch, int size, int rows, int columns, int stride>
    PRIMSEL_INLINE static void run_block(ConvShape const& s, ConvArgs const& args, const Element* const* lines,
                                         int first, std::size_t at, std::size_t to, std::size_t row) noexcept {
        constexpr int in_rows = (rows - 1) * stride + size, in_columns = (columns - 1) * stride + size,
                      beside = size / 2;
        const auto channels = static_cast<std::ptrdiff_t>(Pixels::size(s.k));
        // The columns of padding on each side, at most `beside`.
        const int left = -first, right = first + in_columns - s.w;
        Floats<Arch> weights[size * size];
        const typename Pixels::template Block<Arch> block{args, at, s.k};
        const Floats<Arch> start = block.start();
        Floats<Arch> sums[rows][columns];
        PRIMSEL_UNROLL
        for (int r = 0; r < rows; ++r) {
            PRIMSEL_UNROLL
            for (int c = 0; c < columns; ++c) sums[r][c] = start;
        }
        const float* next_weights = args.weights + at;
        PRIMSEL_UNROLL
        for (int i = 0; i < in_rows; ++i) {
            if (i < size) {
                PRIMSEL_UNROLL
                for (int tap = size * i; tap < size * (i + 1); ++tap) {
                    weights[tap] = load_and_advance<Arch>(next_weights, channels);
                }
            }
            if (lines[i] == nullptr) continue;
            // May lie before the line, for columns that are skipped.
            const Element* pixel = lines[i] + (first * channels + static_cast<std::ptrdiff_t>(at));
            PRIMSEL_UNROLL
            for (int j = 0; j < in_columns; ++j) {
                if ((j < beside && j < left) || (in_columns - j <= beside && in_columns - j <= right)) {
                    pixel += channels;
                    continue;
                }
                Floats<Arch> x = next_pixel<Arch>(block, pixel, channels);
                if constexpr (size == 3 || stride == 2) x = in_order<Arch>(x);
                PRIMSEL_UNROLL
                for (int r = 0; r < rows; ++r) {
                    PRIMSEL_UNROLL
                    for (int c = 0; c < columns; ++c) {
                        const int fh = i - r * stride, fw = j - c * stride;
                        if (fh < 0 || fh >= size || fw < 0 || fw >= size) continue;
                        sums[r][c] = fma<Arch>(weights[fh * size + fw], x, sums[r][c]);
                    }
                }
            }
        }
        const auto end = block.end(args.weights + size * size * channels);
        const auto* const residual = reinterpret_cast<const Element*>(args.residual);
        Element* const dst = reinterpret_cast<Element*>(args.dst) + to;
        PRIMSEL_UNROLL
        for (int r = 0; r < rows; ++r) {
            PRIMSEL_UNROLL
            for (int c = 0; c < columns; ++c) sums[r][c] = end.of(sums[r][c]);
        }
        if (residual != nullptr) {
            PRIMSEL_UNROLL
            for (int r = 0; r < rows; ++r) {
                PRIMSEL_UNROLL
                for (int c = 0; c < columns; ++c) {
                    sums[r][c] += end.residual(residual + to + static_cast<std::size_t>(r) * row + c * channels);
                }
            }
        }
        constexpr bool bounds_first = on_arm && requires { end.bounded; };
        if constexpr (bounds_first) {
            if (end.bounded) {
                PRIMSEL_UNROLL
                for (int r = 0; r < rows; ++r) {
                    PRIMSEL_UNROLL
                    for (int c = 0; c < columns; ++c) sums[r][c] = clamp<Arch>(sums[r][c], end.low, end.high);
                }
            }
        }
        PRIMSEL_UNROLL
        for (int r = 0; r < rows; ++r) {
            Element* next = dst + static_cast<std::size_t>(r) * row;
            PRIMSEL_UNROLL
            for (int c = 0; c < columns; ++c) {
                if constexpr (bounds_first && std::is_same_v<Element, float>) {
                    store_and_advance<Arch>(next, sums[r][c], channels);
                } else {
                    if constexpr (bounds_first) {
                        end.store_bounded(next, sums[r][c]);
                    } else {
                        end.store(next, sums[r][c]);
                    }
                    next += channels;
                }
            }
        }
    }
};

}  // namespace primsel::inline PRIMSEL_ABI::primitive::detail
