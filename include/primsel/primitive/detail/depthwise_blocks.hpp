#pragma once

#include <primsel/core/simd.hpp>
#include <primsel/primitive/conv_args.hpp>
#include <primsel/primitive/conv_shape.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

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

    /// Returns whether the layer has such a kernel, small padding and at least a vector of channels.
    template <class Arch>
    [[nodiscard]] static bool supports(ConvShape const& s) {
        const bool square =
            s.fh == s.fw && (s.fw == 3 || s.fw == 5) && s.stride_h == s.stride_w && s.stride_w <= 2 && !s.dilated();
        const int beside = s.fw / 2, last = (s.out_w() - 1) * s.stride_w + s.fw - 1 - s.pad_left;
        const bool narrow = s.pad_left <= beside && s.pad_top <= beside && last < s.w + beside;
        return square && narrow && s.k >= lanes<Arch> && s.out_w() >= 2;
    }

    /// Returns the work as operations at the FMA peak. It counts two for each multiply-add, including those of
    /// overlapping last blocks and channels. It adds the operations of five taps for the start and the end of each
    /// block.
    template <class Arch>
    [[nodiscard]] static double operations(ConvShape const& s) {
        constexpr int width = lanes<Arch>;
        const int columns = columns_of(s);
        return 2.0 * (s.taps() + 5) * s.out_h() * ((s.out_w() + columns - 1) / columns * columns) *
               ((s.k + width - 1) / width * width);
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
    template <class Arch>
    static constexpr int block_rows = registers<Arch> == 32 ? 2 : 1;
    /// Returns the output columns of a block: seven, or for narrower images four or two.
    [[nodiscard]] static constexpr int columns_of(ConvShape const& s) {
        return s.out_w() >= 7 ? 7 : s.out_w() >= 4 ? 4 : 2;
    }

    template <class Arch, int size>
    static void run_blocks(ConvShape const& s, ConvArgs const& args, const Element* src) noexcept {
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

    template <class Arch, int size, int columns, int stride>
    static void run_blocks(ConvShape const& s, ConvArgs const& args, const Element* src) noexcept {
        // The channels of one range; the last range has at least one vector, plus the remaining channels.
        constexpr int rows = block_rows<Arch>, channels = registers<Arch> == 32 ? 8 * lanes<Arch> : 32 * lanes<Arch>;
        const int all = static_cast<int>(Pixels::size(s.k)),
                  parts = std::max(1, (all + channels - lanes<Arch>) / channels);
        const auto items = static_cast<std::size_t>((s.out_h() + rows - 1) / rows * parts);
        args.executor.parallel_for(items, [&s, &args, src, all, parts](std::size_t item, std::size_t) {
            const int first = static_cast<int>(item) / parts * rows, part = static_cast<int>(item) % parts,
                      begin = part * channels, end = part + 1 == parts ? all : begin + channels;
            if (first + rows <= s.out_h()) {
                run_block_row<Arch, size, rows, columns, stride>(s, args, src, first, begin, end);
            } else {
                run_block_row<Arch, size, 1, columns, stride>(s, args, src, first, begin, end);
            }
        });
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
        const Steps<Arch> steps(channels * sizeof(Element));
        const int out_w = s.out_w();  // divides
        const std::size_t row = static_cast<std::size_t>(out_w) * channels;
        for (int column = 0; column < out_w; column += columns) {
            const int ow = std::min(column, out_w - columns), left = ow * stride - s.pad_left;
            const std::size_t to = static_cast<std::size_t>(first) * row + static_cast<std::size_t>(ow) * channels;
            for (int k = begin; k < end; k += lanes<Arch>) {
                const auto at = static_cast<std::size_t>(std::min(k, end - lanes<Arch>));
                run_block<Arch, size, rows, columns, stride>(s, args, lines, steps, left, at, to + at, row);
            }
        }
    }

    /// Whether loads add a distance in bytes to an address, but scale none in elements: ARM's.
    template <class Arch>
    static constexpr bool unscaled = registers<Arch> == 32 && lanes<Arch> == 4;

    /// The distances in bytes between pixels of a row, where loads are unscaled.
    template <class Arch>
    class Steps {
    public:
        PRIMSEL_INLINE explicit Steps(std::size_t pixel_bytes) : pixels_(kept * pixel_bytes) {
            PRIMSEL_UNROLL
            for (std::size_t i = 0; i < kept; ++i) {
                bytes_[i] = i * pixel_bytes;
                // Otherwise the compiler adds one step to the address before, for each load.
                if constexpr (unscaled<Arch>) asm("" : "+r"(bytes_[i]));
            }
        }
        /// Returns the address of pixel i of the row at an address.
        template <class E>
        [[nodiscard]] PRIMSEL_INLINE E* at(E* row, std::size_t i) const {
            return reinterpret_cast<E*>(reinterpret_cast<std::uintptr_t>(row) + i / kept * pixels_ + bytes_[i % kept]);
        }

    private:
        static constexpr std::size_t kept = unscaled<Arch> ? 8 : 1;
        std::size_t bytes_[kept], pixels_;
    };

    /// Returns the address of an element of a row: `to`, which is step i from `from`.
    template <class Arch, class E>
    [[nodiscard]] PRIMSEL_INLINE static E* address(Steps<Arch> const& steps, E* row, std::ptrdiff_t to,
                                                   std::ptrdiff_t from, int i) {
        if constexpr (unscaled<Arch>) {
            return steps.at(row + from, static_cast<std::size_t>(i));
        } else {
            return row + to;
        }
    }

    /// Computes a block from column `first` of the image, for the vector of channels at `at`. The first result goes to
    /// `to`; the next row's results lie `row` floats further on.
    template <class Arch, int size, int rows, int columns, int stride>
    PRIMSEL_INLINE static void run_block(ConvShape const& s, ConvArgs const& args, const Element* const* lines,
                                         Steps<Arch> const& steps, int first, std::size_t at, std::size_t to,
                                         std::size_t row) noexcept {
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
        PRIMSEL_UNROLL
        for (int i = 0; i < in_rows; ++i) {
            if (i < size) {
                PRIMSEL_UNROLL
                for (std::ptrdiff_t tap = size * i; tap < size * (i + 1); ++tap) {
                    if constexpr (unscaled<Arch> && sizeof(Element) == sizeof(float)) {
                        weights[tap] = load<Arch>(steps.at(args.weights + at, static_cast<std::size_t>(tap)));
                    } else {
                        weights[tap] = load<Arch>(args.weights + tap * channels + at);
                    }
                }
            }
            if (lines[i] == nullptr) continue;
            auto pixel = first * channels +
                         static_cast<std::ptrdiff_t>(at);  // may lie before the line, for columns that are skipped
            PRIMSEL_UNROLL
            for (int j = 0; j < in_columns; ++j, pixel += channels) {
                if ((j < beside && j < left) || (in_columns - j <= beside && in_columns - j <= right)) continue;
                const Floats<Arch> x = block.load(
                    address<Arch>(steps, lines[i], pixel, first * channels + static_cast<std::ptrdiff_t>(at), j));
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
        constexpr bool bounds_first = slow_clamp && requires { end.bounded; };
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
            PRIMSEL_UNROLL
            for (int c = 0; c < columns; ++c) {
                Element* const at = address<Arch>(steps, dst + static_cast<std::size_t>(r) * row, c * channels, 0, c);
                if constexpr (bounds_first) {
                    end.store_bounded(at, sums[r][c]);
                } else {
                    end.store(at, sums[r][c]);
                }
            }
        }
    }
};

}  // namespace primsel::inline PRIMSEL_ABI::primitive::detail
