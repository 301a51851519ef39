#pragma once

#include <primsel/core/aligned_buffer.hpp>
#include <primsel/core/simd.hpp>
#include <primsel/primitive/conv_args.hpp>
#include <primsel/primitive/conv_shape.hpp>
#include <primsel/primitive/detail/padded_rows.hpp>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>

namespace primsel::inline PRIMSEL_ABI::primitive::detail {

/// Depthwise convolution in chw, plane by plane. Each plane is copied with its padding, and its columns are grouped by
/// their remainder modulo the stride, so that every tap reads neighbours. A block of a few output rows and vectors of
/// columns stays in registers.
template <class Arch>
class DepthwisePlanes {
public:
    explicit DepthwisePlanes(ConvShape const& s)
        : s_(without_idle_strides(s)),
          out_h_(s.out_h()),
          out_w_(s.out_w()),
          lead_((width - s_.pad_left / s_.stride_w % width) % width),
          part_((lead_ + std::max(s_.padded_w() / s_.stride_w, out_w_ + s_.span_w() / s_.stride_w) + 2 * width - 1) /
                width * width),
          line_(static_cast<std::ptrdiff_t>(part_) * s_.stride_w),
          apart_(s_.dilation_h / std::gcd(s_.stride_h, s_.dilation_h)),
          lines_apart_(s_.stride_h / std::gcd(s_.stride_h, s_.dilation_h)) {
        const std::ptrdiff_t span = s_.span_h(), step = std::ptrdiff_t{most_rows} * apart_,
                             rows = std::max({(strip_most / line_ - span) / s_.stride_h, 2 * span / s_.stride_h,
                                              std::ptrdiff_t{1}});
        strip_rows_ = static_cast<int>(std::min<std::ptrdiff_t>((rows + step - 1) / step * step, out_h_));
    }

    /// Returns the floats of a copied strip.
    [[nodiscard]] std::size_t scratch_floats() const {
        return round_up_floats(static_cast<std::size_t>(line_) * static_cast<std::size_t>(lines(strip_rows_)));
    }

    /// Computes the output planes of channel c, strip after strip of output rows. The input of each is copied to
    /// `strip`.
    void run(ConvArgs const& args, int c, float* strip) const noexcept {
        const int times = s_.k / s_.c;
        for (int first = 0; first < out_h_; first += strip_rows_) {
            const int last = std::min(first + strip_rows_, out_h_);
            copy_strip(args.src + static_cast<std::size_t>(c) * s_.in_pixels(), first, last, strip);
            for (int i = 0; i < times; ++i) run_kernel(args, strip, c * times + i, first, last);
        }
    }

    /// Returns the time of copying one channel, and of computing one output plane, as vector multiply-adds at the FMA
    /// peak. An input of a tap mostly lies across two cache lines, so that its load takes one and a half. A block that
    /// is one vector wide has four sums and takes twice its multiply-adds. The other numbers are fitted to times on a
    /// Xeon.
    [[nodiscard]] double copy_slots() const {
        const int strips = (out_h_ + strip_rows_ - 1) / strip_rows_;
        return (lines(out_h_) + static_cast<double>(strips - 1) * std::max(s_.span_h() - s_.stride_h, 0)) *
               (14.0 + 4.0 * static_cast<double>(line_) / width);
    }
    [[nodiscard]] double kernel_slots() const {
        constexpr double load = 1.5, around_a_block = 20;
        const int vectors = (out_w_ + width - 1) / width;
        double sum = 0;
        // Rows that are apart_ rows apart make a series: so many have one row more than the others.
        const int longer = out_h_ % apart_;
        for (const int extra : {0, 1}) {
            const int count = out_h_ / apart_ + extra, series = extra == 1 ? longer : apart_ - longer;
            if (count == 0) continue;
            const int rows = rows_at_once(count), most = rows == 1 ? 4 : 2, narrow = vectors % 2,
                      wide = vectors - narrow;
            const bool shared = small(3) || small(5);
            const double taps = s_.taps(),
                         loads = shared ? static_cast<double>(s_.fw) * (s_.fh + rows - 1.0) / rows : taps,
                         blocks = (count + rows - 1) / rows;
            sum += series * blocks *
                   (rows * (wide * (taps + load * loads) + narrow * 2 * taps) +
                    around_a_block * ((vectors + most - 1) / most));
        }
        return sum;
    }

private:
    static constexpr int most_rows = 4, width = lanes<Arch>;
    /// The floats of a strip: half of a usual L1 cache.
    static constexpr int strip_most = 6144;

    /// The same convolution where the stride along an axis of one output is 1.
    [[nodiscard]] static ConvShape without_idle_strides(ConvShape s) {
        const bool one_row = s.out_h() == 1, one_column = s.out_w() == 1;
        if (one_row) s.stride_h = 1;
        if (one_column) s.stride_w = 1;
        return s;
    }

    [[nodiscard]] int lines(int rows) const { return (rows - 1) * s_.stride_h + s_.span_h(); }
    [[nodiscard]] int rows_at_once(int count) const {
        return s_.fh == 1 || count < 2 ? 1 : count < most_rows ? 2 : most_rows;
    }
    /// Returns whether the kernel is of size x size and rows of a block are one dilated kernel row apart.
    [[nodiscard]] bool small(int size) const { return s_.fh == size && s_.fw == size && lines_apart_ == 1; }

    /// Copies the padded input of output rows [first, last). Rows that no tap reads may be left out.
    void copy_strip(const float* src, int first, int last, float* dst) const noexcept {
        const int step = s_.dilation_h % s_.stride_h == 0 ? s_.stride_h : 1, end = lines(last - first),
                  above = first * s_.stride_h - s_.pad_top;
        const PaddedRows<Arch> rows{.columns = s_.w,
                                    .stride = s_.stride_w,
                                    .padding = s_.pad_left,
                                    .lead = lead_,
                                    .length = lead_ + (s_.padded_w() + s_.stride_w - 1) / s_.stride_w,
                                    .part = part_};
        for (int line = 0; line < end; line += step) {
            float* to = dst + line * line_;
            const int h = above + line;
            const float* from = src + static_cast<std::ptrdiff_t>(h) * s_.w;
            if (h < 0 || h >= s_.h)
                rows.clear(to);
            else
                rows.copy(from, to);
        }
    }
    /// A strip of an output plane.
    struct Plane {
        ConvArgs const& args;
        const float *src, *weights;
        float bias;
        std::size_t dst;
    };

    /// Computes the output rows [begin, end) of kernel k.
    void run_kernel(ConvArgs const& args, const float* strip, int k, int begin, int end) const noexcept {
        const int rows = end - begin;
        const Plane of{
            .args = args,
            .src = strip + lead_,
            .weights = args.weights + k * s_.taps(),
            .bias = args.bias == nullptr ? 0.0F : args.bias[k],
            .dst = (static_cast<std::size_t>(k) * static_cast<std::size_t>(out_h_) + static_cast<std::size_t>(begin)) *
                   static_cast<std::size_t>(out_w_)};
        // Output rows that are apart_ rows apart read the same input rows.
        for (int first = 0; first < std::min(apart_, rows); ++first) {
            const int count = (rows - first + apart_ - 1) / apart_;
            switch (rows_at_once(count)) {
                case most_rows:
                    run_rows<most_rows>(of, first, count);
                    break;
                case 2:
                    run_rows<2>(of, first, count);
                    break;
                default:
                    run_rows<1>(of, first, count);
            }
        }
    }

    /// Returns the input of the first tap for row oh of the strip and the output columns from ow on.
    [[nodiscard]] PRIMSEL_INLINE const float* line(Plane const& of, int oh, int ow) const {
        return of.src + std::ptrdiff_t{oh} * s_.stride_h * line_ + ow;
    }
    /// Steps through the kernel columns: the offset of each in a row of the strip.
    class TapColumn {
    public:
        PRIMSEL_INLINE explicit TapColumn(DepthwisePlanes const& planes)
            : stride_(planes.s_.stride_w),
              step_(stride_ == 1 ? 0 : planes.s_.dilation_w % stride_),
              offset_step_(stride_ == 1 ? planes.s_.dilation_w
                                        : planes.s_.dilation_w / stride_ + std::ptrdiff_t{step_} * planes.part_),
              wrap_(planes.line_ - 1) {}
        [[nodiscard]] PRIMSEL_INLINE std::ptrdiff_t offset() const { return offset_; }
        PRIMSEL_INLINE void next() {
            offset_ += offset_step_;
            remainder_ += step_;
            if (remainder_ < stride_) return;
            remainder_ -= stride_;
            offset_ -= wrap_;
        }

    private:
        int stride_, step_, remainder_ = 0;
        std::ptrdiff_t offset_step_, wrap_, offset_ = 0;
    };

    /// Computes the output rows first, first + apart, ..., `count` of them, `rows` at a time. The last block overlaps
    /// the one before if it is not full.
    template <int rows>
    void run_rows(Plane const& of, int first, int count) const noexcept {
        const bool three = small(3), five = small(5);
        for (int row = 0; row < count; row += rows) {
            const int oh = first + std::min(row, count - rows) * apart_;
            const auto columns = [&]<int vectors>(int ow, std::integral_constant<int, vectors>) {
                if constexpr (rows > 1) {
                    if (three) return run_block<rows, vectors, 3>(of, oh, ow);
                    if (five) return run_block<rows, vectors, 5>(of, oh, ow);
                }
                run_taps<rows, vectors>(of, oh, ow);
            };
            int ow = 0;
            if constexpr (rows == 1) {
                for (; out_w_ - ow > 3 * width; ow += 4 * width) columns(ow, std::integral_constant<int, 4>{});
            }
            for (; out_w_ - ow > width; ow += 2 * width) columns(ow, std::integral_constant<int, 2>{});
            if (ow < out_w_) columns(ow, std::integral_constant<int, 1>{});
        }
    }

    template <int rows, int vectors>
    using Sums = Floats<Arch>[rows][vectors];
    template <int rows, int vectors>
    PRIMSEL_INLINE static void clear(Sums<rows, vectors>& sums) {
        PRIMSEL_UNROLL
        for (int r = 0; r < rows; ++r) {
            PRIMSEL_UNROLL
            for (int v = 0; v < vectors; ++v) sums[r][v] = broadcast<Arch>(0.0F);
        }
    }

    /// Computes a block by a kernel of size x size, whose rows are one input row apart. Each input is loaded once.
    template <int rows, int vectors, int size>
    void run_block(Plane const& of, int oh, int ow) const noexcept {
        Sums<rows, vectors> sums;
        clear<rows, vectors>(sums);
        const float* line = this->line(of, oh, ow);
        const std::ptrdiff_t line_step = static_cast<std::ptrdiff_t>(s_.dilation_h) * line_;
        std::ptrdiff_t column[size];
        TapColumn next(*this);
        for (int fw = 0; fw < size; ++fw, next.next()) column[fw] = next.offset();
        PRIMSEL_UNROLL
        for (int i = 0; i < rows + size - 1; ++i, line += line_step) {
            PRIMSEL_UNROLL
            for (int fw = 0; fw < size; ++fw) {
                Floats<Arch> x[vectors];
                PRIMSEL_UNROLL
                for (int v = 0; v < vectors; ++v) x[v] = load_once<Arch>(line + column[fw] + v * width);
                PRIMSEL_UNROLL
                for (int r = 0; r < rows; ++r) {
                    if (i - r < 0 || i - r >= size) continue;
                    const auto weight = broadcast<Arch>(of.weights[(i - r) * size + fw]);
                    PRIMSEL_UNROLL
                    for (int v = 0; v < vectors; ++v) sums[r][v] = fma<Arch>(weight, x[v], sums[r][v]);
                }
            }
        }
        finish<rows, vectors>(of, sums, oh, ow);
    }

    /// Computes a block by any kernel; all its sums share a weight.
    template <int rows, int vectors>
    void run_taps(Plane const& of, int oh, int ow) const noexcept {
        Sums<rows, vectors> sums;
        clear<rows, vectors>(sums);
        const std::ptrdiff_t step = std::ptrdiff_t{lines_apart_} * s_.dilation_h * line_;
        const float* line = this->line(of, oh, ow);
        const float* weights = of.weights;
        for (int i = 0; i < s_.fh; ++i, line += static_cast<std::ptrdiff_t>(s_.dilation_h) * line_) {
            TapColumn column(*this);
            for (int j = 0; j < s_.fw; ++j, column.next()) {
                const float* at = line + column.offset();
                const auto weight = broadcast<Arch>(*weights++);
                PRIMSEL_UNROLL
                for (int r = 0; r < rows; ++r) {
                    PRIMSEL_UNROLL
                    for (int v = 0; v < vectors; ++v) {
                        sums[r][v] = fma<Arch>(weight, load<Arch>(at + r * step + v * width), sums[r][v]);
                    }
                }
            }
        }
        finish<rows, vectors>(of, sums, oh, ow);
    }

    /// Writes the columns of a block that lie in the row: all but some of the last vector.
    template <int rows, int vectors>
    PRIMSEL_INLINE void finish(Plane const& of, Sums<rows, vectors> const& sums, int oh, int ow) const noexcept {
        const int rest = out_w_ - ow - (vectors - 1) * width;
        const std::size_t at =
            of.dst + static_cast<std::size_t>(oh) * static_cast<std::size_t>(out_w_) + static_cast<std::size_t>(ow);
        if (rest >= width) {
            write<rows, vectors>(of, sums, at, AllLanes<Arch>{});
        } else {
            write<rows, vectors>(of, sums, at, FirstLanes<Arch>(rest));
        }
    }
    template <int rows, int vectors, class Part>
    PRIMSEL_INLINE void write(Plane const& of, Sums<rows, vectors> const& sums, std::size_t at,
                              Part const& last) const noexcept {
        const auto bias = broadcast<Arch>(of.bias), low = broadcast<Arch>(of.args.clamp.low),
                   high = broadcast<Arch>(of.args.clamp.high);
        const float* const residual = of.args.residual;
        float* const dst = of.args.dst;
        const std::size_t step = static_cast<std::size_t>(apart_) * static_cast<std::size_t>(out_w_);
        PRIMSEL_UNROLL
        for (int r = 0; r < rows; ++r, at += step) {
            const auto one = [&](Floats<Arch> sum, std::size_t to, auto const& part) {
                sum += bias;
                if (residual != nullptr) sum += part.load(residual + to);
                part.store(dst + to, clamp<Arch>(sum, low, high));
            };
            PRIMSEL_UNROLL
            for (int v = 0; v + 1 < vectors; ++v) {
                one(sums[r][v], at + static_cast<std::size_t>(v * width), AllLanes<Arch>{});
            }
            one(sums[r][vectors - 1], at + static_cast<std::size_t>((vectors - 1) * width), last);
        }
    }

    ConvShape s_;
    int out_h_, out_w_;
    /// The floats before the padding of a row, which align its first column.
    int lead_;
    /// The floats of the columns with one remainder modulo the stride: lead_, the padded columns, and room for the last
    /// vector to read beyond; whole vectors. And those of a row of the strip.
    int part_;
    std::ptrdiff_t line_;
    /// Rows of a block are apart_ rows of the result apart, which are lines_apart_ times the dilation in the input.
    int apart_, lines_apart_;
    int strip_rows_ = 0;
};

}  // namespace primsel::inline PRIMSEL_ABI::primitive::detail
