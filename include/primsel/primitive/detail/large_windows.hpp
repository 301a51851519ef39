#pragma once

#include <primsel/core/aligned_buffer.hpp>
#include <primsel/core/simd.hpp>
#include <primsel/primitive/conv_args.hpp>
#include <primsel/primitive/conv_shape.hpp>
#include <primsel/primitive/detail/padded_rows.hpp>

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <limits>
#include <numeric>
#include <utility>

namespace primsel::inline PRIMSEL_ABI::primitive::detail {

/// Convolution of a few channels a group in chw by kernels of many rows, and by any kernel if a group has several
/// channels. Strips of a group's planes are copied with their padding. A block of a few output rows and vectors of
/// columns stays in registers, and each input that it loads serves all its rows.
///
/// The copy lets a vector of results run on from the end of a row to the next row of the same place in a block, so that
/// narrow images fill vectors as wide ones do. Columns are grouped by their remainder modulo the stride; lines, by the
/// place in a block whose first tap they are. Within a group, columns and lines are neighbours.
template <class Arch>
class LargeWindows {
public:
    /// Returns whether a group has several channels, or four rows of a block share input lines. Of these, a 5x5 kernel
    /// is left to DepthwisePlanes, which keeps its weights in registers.
    [[nodiscard]] static bool suits(ConvShape const& s) {
        const bool one_way = s.stride_h == 1 || s.dilation_h == 1, small = s.fh == 5 && s.fw == 5 && s.stride_h == 1;
        return s.group_c() > 1 || (s.out_h() >= 4 && s.out_w() >= 8 && s.fh > 3 * s.stride_h && one_way && !small);
    }

    explicit LargeWindows(ConvShape const& s)
        : s_(without_idle_steps(s)),
          out_h_(s.out_h()),
          out_w_(s.out_w()),
          pitch_(
              std::max({out_w_, (s_.pad_left + s_.w - 1) / s_.stride_w + 1,
                        ((out_w_ - 1) * s_.stride_w + s_.span_w() - 1) / s_.stride_w + 1 - s_.pad_left / s_.stride_w})),
          across_(vectors_for(out_w_) * width > pitch_) {
        const int divisor = std::gcd(s_.stride_h, s_.dilation_h);
        if (s_.stride_h == 1 || s_.dilation_h == divisor) {
            apart_ = s_.dilation_h / divisor, lines_apart_ = s_.stride_h / divisor;
            line_step_ = apart_ == 1 ? s_.dilation_h : 1;
            double least = std::numeric_limits<double>::infinity();
            for (const int rows : {4, 2, 1}) {
                if (rows > 1 && (s_.fh - 1) / (rows - 1) < lines_apart_) continue;
                const double slots = kernel_slots(rows);
                if (slots < least) rows_ = rows, least = slots;
            }
            line_classes_ = lines_apart_ * rows_;
        } else {
            line_classes_ = s_.stride_h, tap_lines_ = s_.dilation_h;
        }
        const std::ptrdiff_t line = std::ptrdiff_t{pitch_} * s_.stride_w, span = s_.span_h(),
                             step = std::ptrdiff_t{rows_} * apart_,
                             rows = std::max({(strip_most / s_.group_c() / line - span) / s_.stride_h,
                                              2 * span / s_.stride_h, std::ptrdiff_t{1}});
        strip_rows_ = static_cast<int>(std::min<std::ptrdiff_t>((rows + step - 1) / step * step, out_h_));
        beyond_ = s_.span_w() / s_.stride_w + (wide + 1) * width;
        part_ = (std::ptrdiff_t{strip_lines(strip_rows_)} * pitch_ + beyond_ + width - 1) / width * width;
        columns_ = Steps(s_.stride_w, s_.dilation_w, part_, 1);
        lines_ = Steps(line_classes_, tap_lines_, part_ * s_.stride_w, std::ptrdiff_t{apart_} * pitch_);
    }

    /// Returns the floats of scratch of a worker: a copied strip, and sums.
    [[nodiscard]] std::size_t scratch_floats() const {
        return round_up_floats(strip_floats() * static_cast<std::size_t>(s_.group_c()) +
                               static_cast<std::size_t>(rows_) * chunk);
    }

    /// Returns the floats of the packed weights of an output plane.
    [[nodiscard]] std::size_t kernel_floats() const { return static_cast<std::size_t>(s_.depth() * rows_); }
    /// Packs the weights of an output plane in the order in which blocks use them: for each channel, input line of a
    /// block and tap, those of the output rows that read the line.
    void pack(const float* kernel, float* dst) const {
        for (int c = 0; c < s_.group_c(); ++c, kernel += s_.taps()) {
            for (int line = 0; line < s_.fh + (rows_ - 1) * lines_apart_; ++line) {
                for (int fw = 0; fw < s_.fw; ++fw) {
                    for (int row = 0; row < rows_; ++row) {
                        const int fh = line - row * lines_apart_;
                        if (fh >= 0 && fh < s_.fh) *dst++ = kernel[fh * s_.fw + fw];
                    }
                }
            }
        }
    }

    /// Computes the output planes of a group, strip after strip of output rows.
    void run(ConvArgs const& args, int group, float* scratch) const noexcept {
        const int channels = s_.group_c(), kernels = s_.group_k();
        for (int first = 0; first < out_h_; first += strip_rows_) {
            const int last = std::min(first + strip_rows_, out_h_);
            for (int c = 0; c < channels; ++c) {
                copy_strip(args.src + static_cast<std::size_t>(group * channels + c) * s_.in_pixels(), first, last,
                           scratch + static_cast<std::size_t>(c) * strip_floats());
            }
            for (int i = 0; i < kernels; ++i) run_kernel(args, scratch, group * kernels + i, first, last);
        }
    }

    /// Returns the time of copying one channel, and of computing one output plane, as vector multiply-adds at the FMA
    /// peak.
    [[nodiscard]] double copy_slots() const {
        const int strips = (out_h_ + strip_rows_ - 1) / strip_rows_;
        return static_cast<double>(strips) * strip_lines(strip_rows_) * line_classes_ *
               (14.0 + 4.0 * static_cast<double>(pitch_ * s_.stride_w) / width);
    }
    [[nodiscard]] double kernel_slots() const { return kernel_slots(rows_); }

private:
    static constexpr int width = lanes<Arch>;
    /// The vectors of a block, and of the last block of a row or strip.
    static constexpr int wide = registers<Arch> == 32 ? 4 : 2, narrow = wide / 2;
    /// The columns whose sums are kept before they are written; whole blocks.
    static constexpr int chunk = 512;
    /// The floats of a strip: half of a usual L1 cache.
    static constexpr int strip_most = 6144;

    /// Steps through a sequence whose element n lies in class n % classes, at place n / classes: to every `step`-th
    /// element.
    class Steps {
    public:
        Steps() = default;
        Steps(int classes, int step, std::ptrdiff_t class_size, std::ptrdiff_t place_size)
            : classes_(classes),
              step_(step % classes),
              offset_step_(step / classes * place_size + step_ * class_size),
              wrap_(classes * class_size - place_size) {}
        /// Moves a pointer from one of the elements to the next.
        PRIMSEL_INLINE void move(const float*& at) {
            at += offset_step_;
            class_ += step_;
            if (class_ < classes_) return;
            class_ -= classes_;
            at -= wrap_;
        }

    private:
        int classes_ = 1, step_ = 0, class_ = 0;
        std::ptrdiff_t offset_step_ = 0, wrap_ = 0;
    };

    /// The same convolution where strides along an axis of one output, and dilations along one of one tap, are 1.
    [[nodiscard]] static ConvShape without_idle_steps(ConvShape s) {
        const bool one_row = s.out_h() == 1, one_column = s.out_w() == 1;
        if (one_row) s.stride_h = 1;
        if (one_column) s.stride_w = 1;
        if (s.fh == 1) s.dilation_h = 1;
        if (s.fw == 1) s.dilation_w = 1;
        return s;
    }
    /// Returns the vectors of the blocks that compute so many neighbouring columns.
    [[nodiscard]] static int vectors_for(int columns) {
        const int whole = columns / (wide * width), rest = columns - whole * wide * width;
        return whole * wide + (rest == 0 ? 0 : rest <= narrow * width ? narrow : wide);
    }
    /// Returns the lines of results, one behind the other, of the first rows of blocks.
    [[nodiscard]] int places(int rows, int rows_at_once) const {
        const std::ptrdiff_t block = std::ptrdiff_t{rows_at_once} * apart_, blocks = (rows - 1) / block;
        return static_cast<int>(blocks * apart_ + std::min<std::ptrdiff_t>(rows - blocks * block, apart_));
    }
    /// Returns the lines of a class in a strip of so many output rows.
    [[nodiscard]] int strip_lines(int rows) const {
        return places(rows, rows_) + (tap_lines_ * (s_.fh - 1) + lines_apart_ * (rows_ - 1)) / line_classes_ * apart_;
    }
    /// Returns the time of an output plane in blocks of so many rows. Beside its multiply-adds, a block loses some to
    /// latency at every input line, and some to loads that cross cache lines at every tap of it.
    [[nodiscard]] double kernel_slots(int rows) const {
        constexpr double of_a_line = 12, of_a_tap = 1.3, of_a_result = 10;
        const int lines = places(out_h_, rows), runs = across_ ? 1 : lines,
                  columns = across_ ? (lines - 1) * pitch_ + out_w_ : out_w_;
        const double vectors = 1.0 * runs * vectors_for(columns),
                     blocks = 1.0 * runs * ((columns + wide * width - 1) / (wide * width)),
                     block_lines = s_.fh + (rows - 1.0) * lines_apart_;
        return s_.group_c() * (vectors * rows * s_.taps() + blocks * block_lines * (of_a_line + of_a_tap * s_.fw)) +
               of_a_result * vectors * rows;
    }
    [[nodiscard]] std::size_t strip_floats() const {
        return static_cast<std::size_t>(part_) * static_cast<std::size_t>(s_.stride_w) *
               static_cast<std::size_t>(line_classes_);
    }

    /// Copies the padded input of output rows [first, last).
    void copy_strip(const float* src, int first, int last, float* dst) const noexcept {
        const int above = first * s_.stride_h - s_.pad_top, lines = strip_lines(last - first);
        const PaddedRows<Arch> rows{
            .columns = s_.w, .stride = s_.stride_w, .padding = s_.pad_left, .lead = 0, .length = pitch_, .part = part_};
        int h = above;
        for (int block = 0; block < lines; block += apart_) {
            for (int c = 0; c < line_classes_; ++c) {
                float* to = dst + c * part_ * s_.stride_w + static_cast<std::ptrdiff_t>(block) * pitch_;
                for (int i = 0; i < apart_; ++i, to += pitch_, h += line_step_) {
                    if (block + i >= lines) continue;
                    const float* from = src + static_cast<std::ptrdiff_t>(h) * s_.w;
                    // Zeros stored beyond a line lie in the next one, which is copied next.
                    if (h < 0 || h >= s_.h)
                        rows.clear(to);
                    else
                        rows.copy(from, to);
                }
            }
        }
        float* end = dst + static_cast<std::ptrdiff_t>(lines) * pitch_;
        for (int i = 0; i < line_classes_ * s_.stride_w; ++i, end += part_) std::fill_n(end, beyond_, 0.0F);
    }
    /// A strip of an output plane, and a copied input.
    struct Plane {
        ConvArgs const& args;
        const float *src, *weights;
        float bias;
        std::size_t dst;
        int rows;
        float* sums;
    };

    /// Computes the output rows [begin, end) of kernel k.
    void run_kernel(ConvArgs const& args, float* scratch, int k, int begin, int end) const noexcept {
        const Plane of{
            .args = args,
            .src = scratch,
            .weights = args.weights + static_cast<std::size_t>(k) * kernel_floats(),
            .bias = args.bias == nullptr ? 0.0F : args.bias[k],
            .dst = (static_cast<std::size_t>(k) * static_cast<std::size_t>(out_h_) + static_cast<std::size_t>(begin)) *
                   static_cast<std::size_t>(out_w_),
            .rows = end - begin,
            .sums = scratch + strip_floats() * static_cast<std::size_t>(s_.group_c())};
        switch (rows_) {
            case 4:
                return run_rows<4>(of);
            case 2:
                return run_rows<2>(of);
            default:
                return run_rows<1>(of);
        }
    }
    /// Computes a strip in blocks of so many rows.
    template <int rows>
    void run_rows(Plane const& of) const noexcept {
        const int lines = places(of.rows, rows), runs = across_ ? 1 : lines,
                  length = across_ ? (lines - 1) * pitch_ + out_w_ : out_w_;
        for (int run = 0; run < runs; ++run) {
            for (int at = 0; at < length; at += chunk) {
                const int first = run * pitch_ + at, count = std::min(chunk, length - at);
                int i = 0;
                for (; count - i > narrow * width; i += wide * width) run_block<rows, wide>(of, first, i);
                if (i < count) run_block<rows, narrow>(of, first, i);
                finish<rows>(of, first, count);
            }
        }
    }

    /// Sums the taps of a block, from column `first` + `at` on. In each channel, the first input lines are read only
    /// for the first output rows, those in the middle for all, and the last ones for the last rows.
    template <int rows, int vectors>
    void run_block(Plane const& of, int first, int at) const noexcept {
        Floats<Arch> sums[rows][vectors];
        PRIMSEL_UNROLL
        for (int r = 0; r < rows; ++r) {
            PRIMSEL_UNROLL
            for (int v = 0; v < vectors; ++v) sums[r][v] = broadcast<Arch>(0.0F);
        }
        const float *src = of.src + first + at, *weights = of.weights;
        for (int c = 0; c < s_.group_c(); ++c, src += strip_floats()) {
            Steps lines = lines_;
            const float* line = src;
            add_lines<0>(lines, line, weights, sums);
        }
        PRIMSEL_UNROLL
        for (int r = 0; r < rows; ++r) {
            PRIMSEL_UNROLL
            for (int v = 0; v < vectors; ++v) store<Arch>(of.sums + r * chunk + at + v * width, sums[r][v]);
        }
    }
    /// Adds a channel's input lines to the sums: those that only rows up to `row` read, the lines between, and those
    /// that only as many last rows read.
    template <int row, int rows, int vectors>
    PRIMSEL_INLINE void add_lines(Steps& lines, const float*& line, const float*& weights,
                                  Floats<Arch> (&sums)[rows][vectors]) const noexcept {
        if constexpr (row + 1 < rows) {
            add_lines<0, row + 1>(lines_apart_, lines, line, weights, sums);
            add_lines<row + 1>(lines, line, weights, sums);
            add_lines<rows - 1 - row, rows>(lines_apart_, lines, line, weights, sums);
        } else {
            add_lines<0, rows>(s_.fh - row * lines_apart_, lines, line, weights, sums);
        }
    }
    /// Adds `count` input lines to the output rows [first, last) of a block, and moves on behind them and their
    /// weights.
    template <int first, int last, int rows, int vectors>
    PRIMSEL_INLINE void add_lines(int count, Steps& lines, const float*& line, const float*& weights,
                                  Floats<Arch> (&sums)[rows][vectors]) const noexcept {
        for (int i = 0; i < count; ++i, lines.move(line)) {
            Steps columns = columns_;
            const float* tap = line;
            for (const float* const end = weights + (last - first) * s_.fw; weights != end; columns.move(tap)) {
                Floats<Arch> x[vectors];
                PRIMSEL_UNROLL
                for (int v = 0; v < vectors; ++v) x[v] = load_once<Arch>(tap + v * width);
                PRIMSEL_UNROLL
                for (int r = first; r < last; ++r) {
                    const auto weight = in_register<Arch>(broadcast<Arch>(*weights++));
                    PRIMSEL_UNROLL
                    for (int v = 0; v < vectors; ++v) sums[r][v] = fma<Arch>(weight, x[v], sums[r][v]);
                }
            }
        }
    }

    /// Writes the results among `count` sums from column `first` on.
    template <int rows>
    void finish(Plane const& of, int first, int count) const noexcept {
        for (int line = first / pitch_, begin = line * pitch_ - first; begin < count; ++line, begin += pitch_) {
            const int from = std::max(begin, 0), columns = std::min(begin + out_w_, count) - from;
            if (columns <= 0) continue;
            int row = line / apart_ * rows * apart_ + line % apart_;
            for (int r = 0; r < rows && row < of.rows; ++r, row += apart_) {
                write(of, of.sums + r * chunk + from, columns,
                      of.dst + static_cast<std::size_t>(row) * static_cast<std::size_t>(out_w_) +
                          static_cast<std::size_t>(from - begin));
            }
        }
    }
    PRIMSEL_INLINE static void write(Plane const& of, const float* sums, int columns, std::size_t at) noexcept {
        const auto bias = broadcast<Arch>(of.bias), low = broadcast<Arch>(of.args.clamp.low),
                   high = broadcast<Arch>(of.args.clamp.high);
        const float* const residual = of.args.residual;
        float* const dst = of.args.dst;
        const auto one = [&](auto const& part) {
            Floats<Arch> sum = load<Arch>(sums) + bias;
            if (residual != nullptr) sum += part.load(residual + at);
            part.store(dst + at, clamp<Arch>(sum, low, high));
        };
        for (; columns >= width; columns -= width, sums += width, at += width) one(AllLanes<Arch>{});
        if (columns > 0) one(FirstLanes<Arch>(columns));
    }

    ConvShape s_;
    int out_h_, out_w_;
    /// The floats from one line of the strip to the next. The padding behind a line is that before the next.
    int pitch_;
    /// Whether vectors of results run from line to line.
    bool across_;
    /// The output rows of a block: they are apart_ rows of the result apart, which are lines_apart_ times the dilation
    /// in the input.
    int rows_ = 1, apart_ = 1, lines_apart_ = 1;
    /// Every line_step_-th line of the input is copied, to as many classes; so many lie between those of two taps.
    int line_step_ = 1, line_classes_ = 1, tap_lines_ = 1;
    int strip_rows_ = 0;
    /// The floats of the columns of a class of lines that have one remainder modulo the stride, and how many of them
    /// blocks may read beyond the last line.
    std::ptrdiff_t part_ = 0;
    int beyond_ = 0;
    Steps columns_, lines_;
};

}  // namespace primsel::inline PRIMSEL_ABI::primitive::detail
