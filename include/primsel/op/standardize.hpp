#pragma once

#include <primsel/core/cache_sizes.hpp>
#include <primsel/layer/norm.hpp>
#include <primsel/op/detail/elements.hpp>
#include <primsel/op/detail/long_sums.hpp>
#include <primsel/op/detail/short_rows.hpp>
#include <primsel/op/op.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <type_traits>

namespace primsel::inline PRIMSEL_ABI {

namespace op::detail {

/// A view of a batch of images as [outer][across][sets][along]: a set consists of `across` rows of `along` contiguous
/// elements each, and its neighbours lie between its rows. If `across` is 1, so is `sets`.
struct SetView {
    std::size_t outer = 1, across = 1, sets = 1, along = 1;
};

template <StridedLayout L>
[[nodiscard]] SetView set_view(StandardizeParams const& params, Shape shape, int batch) {
    std::array<std::size_t, 4> extents{static_cast<std::size_t>(batch), 1, 1, 1};
    std::size_t level = 0;
    // Levels of sets and of elements of a set alternate.
    const auto add = [&](int extent, bool within) {
        if (extent == 1) return;
        if ((level % 2 == 1) != within) ++level;
        extents[level] *= static_cast<std::size_t>(extent);
    };
    for (const Axis axis : axis_order<L>()) {
        if (axis == Axis::c) {
            if (params.along_c) add(params.groups, false);
            add(params.along_c ? shape.c / params.groups : shape.c, params.along_c);
        } else {
            add(extent(shape, axis), axis == Axis::h ? params.along_h : params.along_w);
        }
    }
    if (extents[2] == 1) return {extents[0], 1, 1, extents[1] * extents[3]};
    if (extents[1] == 1) return {extents[0] * extents[2], 1, 1, extents[3]};
    return {extents[0], extents[1], extents[2], extents[3]};
}

/// The statistics of a set. The mean is near + rest, where `near` is a float close to it: a large mean, as one float,
/// is rounded by a part of the deviation.
struct Standard {
    float near = 0, rest = 0, inverse = 0;
};

/// The count, the mean and the sum of squared differences from it of a set that is added block by block (Chan, Golub
/// and LeVeque 1979). A block is small enough to stay in L1 while it is read twice: for its mean, and for the
/// differences from that. If centres is false, the mean stays 0.
template <class Arch, bool centres>
class Moments {
    using V = Floats<Arch>;
    static constexpr std::size_t width = lanes<Arch>, several = 4, block = several * width * 2 * block_terms;

public:
    /// Adds contiguous elements.
    void add(const float* src, std::size_t count) {
        for (std::size_t first = 0; first < count; first += block) {
            add_block(src + first, std::min(block, count - first));
        }
    }
    /// Adds a block of which these are known: the count, the mean and the sum of squared differences.
    void add(double count, double mean, double squares) {
        const double all = count_ + count;
        if constexpr (centres) {
            const double apart = mean - mean_, share = count / all;
            mean_ += apart * share;
            squares += apart * apart * count_ * share;
        }
        squares_ += squares;
        count_ = all;
    }
    [[nodiscard]] Standard standard(float epsilon) const {
        const float near = static_cast<float>(mean_);
        return {near, static_cast<float>(mean_ - static_cast<double>(near)),
                static_cast<float>(1 / std::sqrt(squares_ / count_ + static_cast<double>(epsilon)))};
    }

private:
    /// Calls f(vector, part) for vectors that cover the elements; lanes beyond them are `fill`.
    template <class F>
    static PRIMSEL_INLINE void each(const float* src, std::size_t count, float fill, F const& f) {
        std::size_t i = 0;
        for (; i + several * width <= count; i += several * width) {
            PRIMSEL_UNROLL
            for (std::size_t part = 0; part < several; ++part) f(load<Arch>(src + i + part * width), part);
        }
        for (; i < count; i += width) f(load_up_to<Arch>(src + i, count - i, fill), 0);
    }
    static PRIMSEL_INLINE double total(V const (&parts)[several]) {
        return sum_lanes<Arch>((parts[0] + parts[1]) + (parts[2] + parts[3]));
    }
    void add_block(const float* src, std::size_t n) {
        const auto count = static_cast<double>(n);
        float near = 0;
        if constexpr (centres) {
            V sums[several] = {V(0.0F), V(0.0F), V(0.0F), V(0.0F)};
            each(src, n, 0.0F, [&](V const& x, std::size_t part) PRIMSEL_INLINE_LAMBDA { sums[part] += x; });
            near = static_cast<float>(total(sums) / count);
        }
        V sums[several] = {V(0.0F), V(0.0F), V(0.0F), V(0.0F)}, squares[several] = {V(0.0F), V(0.0F), V(0.0F), V(0.0F)};
        each(src, n, near, [&, mean = V(near)](V const& x, std::size_t part) PRIMSEL_INLINE_LAMBDA {
            const V apart = centres ? x - mean : x;
            if constexpr (centres) sums[part] += apart;
            squares[part] = fma<Arch>(apart, apart, squares[part]);
        });
        const double sum = centres ? total(sums) : 0;
        add(count, static_cast<double>(near) + sum / count, std::max(total(squares) - sum * sum / count, 0.0));
    }

    double count_ = 0, mean_ = 0, squares_ = 0;
};

/// The channel of successive elements, where `inner` elements in a row have the same one. Counts instead of dividing.
class ChannelOf {
public:
    ChannelOf(std::size_t at, std::size_t inner, std::size_t channels)
        : inner_(inner), channels_(channels), left_(inner - at % inner), c_(at / inner % channels) {}
    [[nodiscard]] std::size_t c() const { return c_; }
    void advance() {
        if (--left_ != 0) return;
        left_ = inner_;
        c_ = c_ + 1 == channels_ ? 0 : c_ + 1;
    }

private:
    std::size_t inner_, channels_, left_, c_;
};

/// Standardises the sets of a view. A result is ((x - near) * inverse + offset) * factor + shift, where offset = -rest
/// * inverse; factor and shift are those of the element's channel, or those of its place in the set.
template <class Arch, bool centres>
class Standardize {
    using V = Floats<Arch>;
    template <std::size_t n>
    using Size = std::integral_constant<std::size_t, n>;
    static constexpr std::size_t width = lanes<Arch>;

public:
    /// The most neighbouring elements whose statistics are computed together.
    static constexpr std::size_t widest = 512;

    Standardize(StandardizeParams const& params, OpArgs const& args, AxisView channels)
        : epsilon_(params.epsilon),
          src_(args.src[0]),
          dst_(args.dst),
          factors_(args.weights),
          shifts_(args.weights + channels.count),
          place_factors_(params.scales ? args.src[1] : nullptr),
          place_shifts_(params.shifts ? args.src[params.scales ? 2 : 1] : nullptr),
          place_floats_(params.set_shape(args.dst_shape).size()),
          image_(args.dst_shape.size()),
          channels_(channels.count),
          // All elements have the same channel if there is but one.
          inner_(channels.count == 1 ? image_ : channels.inner),
          low_(args.clamp.low),
          high_(args.clamp.high),
          executor_(args.executor) {}

    /// Returns the number of neighbouring columns, in whole sets, that are handled together. The rows are read twice:
    /// a strip of them should stay in L2. If not even the narrowest one fits, the widest one has the longest rows.
    [[nodiscard]] static std::size_t strip_of(SetView const& view) {
        constexpr std::size_t narrowest = 4 * width;
        const std::size_t room = l2_floats / 4 / view.across,
                          fits = room < narrowest ? widest : std::min(room / narrowest * narrowest, widest);
        return std::max(fits / view.along, std::size_t{1}) * view.along;
    }

    void run(SetView const& view) const noexcept {
        if (view.across == 1) {
            const std::size_t along = view.along;
            return for_ranges(executor_, view.outer, along, [this, along](std::size_t first, std::size_t last) {
                along <= longest_short_row<Arch> ? short_rows(first, last, along) : long_rows(first, last, along);
            });
        }
        const std::size_t inner = view.sets * view.along;
        if (view.along > widest) {
            return for_ranges(executor_, view.outer * view.sets, view.across * view.along,
                              [this, view, inner](std::size_t first, std::size_t last) {
                                  for (std::size_t item = first; item < last; ++item) {
                                      const std::size_t at = item / view.sets * view.across * inner;
                                      rows_of_set(at + item % view.sets * view.along, view, inner);
                                  }
                              });
        }
        const std::size_t strip = strip_of(view), strips = (inner + strip - 1) / strip;
        for_ranges(executor_, view.outer * strips, view.across * std::min(strip, inner),
                   [=, this](std::size_t first, std::size_t last) {
                       for (std::size_t item = first; item < last; ++item) {
                           const std::size_t begin = item % strips * strip;
                           columns(item / strips * view.across * inner + begin, std::min(strip, inner - begin), view,
                                   inner);
                       }
                   });
    }

private:
    /// Handles contiguous sets one at a time.
    void long_rows(std::size_t first, std::size_t last, std::size_t along) const noexcept {
        for (std::size_t row = first; row < last; ++row) {
            Moments<Arch, centres> moments;
            moments.add(src_ + row * along, along);
            write(row * along, along, 0, moments.standard(epsilon_));
        }
    }
    /// Handles a set of several rows.
    void rows_of_set(std::size_t at, SetView const& view, std::size_t inner) const noexcept {
        Moments<Arch, centres> moments;
        for (std::size_t row = 0; row < view.across; ++row) moments.add(src_ + at + row * inner, view.along);
        const Standard standard = moments.standard(epsilon_);
        for (std::size_t row = 0; row < view.across; ++row) {
            write(at + row * inner, view.along, row * view.along, standard);
        }
    }

    /// Handles short contiguous sets, as many at a time as a vector has lanes.
    void short_rows(std::size_t first, std::size_t last, std::size_t along) const noexcept {
        const V each(1.0F / static_cast<float>(along));
        for (std::size_t row = first; row < last; row += width) {
            const std::size_t n = std::min(width, last - row);
            const float* from = src_ + row * along;
            alignas(64) float near[width] = {}, rest[width], inverse[width];
            const auto add_halves = [](auto& low, auto const& high) PRIMSEL_INLINE_LAMBDA {
                low[0] += high[0];
                if constexpr (std::extent_v<std::remove_reference_t<decltype(low)>> > 1) low[1] += high[1];
            };
            if constexpr (centres) {
                for_folded_rows<Arch, 1>(
                    n,
                    [=](std::size_t i, V(&sum)[1]) PRIMSEL_INLINE_LAMBDA {
                        V even(0.0F), odd(0.0F);
                        in_pairs(from + i * along, along, 0.0F,
                                 [&](V const& x, bool is_odd) PRIMSEL_INLINE_LAMBDA { (is_odd ? odd : even) += x; });
                        sum[0] = even + odd;
                    },
                    add_halves,
                    [&](std::size_t, std::size_t, V const(&sum)[1])
                        PRIMSEL_INLINE_LAMBDA { store<Arch>(near, sum[0] * each); });
            }
            for_folded_rows<Arch, 2>(
                n,
                [&](std::size_t i, V(&sums)[2]) PRIMSEL_INLINE_LAMBDA {
                    const V mean(near[i]);
                    V even(0.0F), odd(0.0F), even_squares(0.0F), odd_squares(0.0F);
                    in_pairs(from + i * along, along, near[i], [&](V const& x, bool is_odd) PRIMSEL_INLINE_LAMBDA {
                        const V apart = centres ? x - mean : x;
                        V& squares = is_odd ? odd_squares : even_squares;
                        if constexpr (centres) (is_odd ? odd : even) += apart;
                        squares = fma<Arch>(apart, apart, squares);
                    });
                    sums[0] = even + odd, sums[1] = even_squares + odd_squares;
                },
                add_halves,
                [&](std::size_t, std::size_t, V const(&sums)[2]) PRIMSEL_INLINE_LAMBDA {
                    const V more = sums[0] * each;
                    const V variance = max<Arch>(V(0.0F), fma<Arch>(-more, more, sums[1] * each));
                    store<Arch>(rest, more);
                    store<Arch>(inverse, quotient<Arch>(V(1.0F), square_root<Arch>(variance + V(epsilon_))));
                });
            for (std::size_t i = 0; i < n; ++i) {
                write((row + i) * along, along, 0, {near[i], rest[i], inverse[i]});
            }
        }
    }
    /// Calls f(vector, is odd) for vectors that cover a row; lanes beyond it are `fill`.
    template <class F>
    static PRIMSEL_INLINE void in_pairs(const float* row, std::size_t count, float fill, F const& f) {
        std::size_t i = 0;
        for (; i + 2 * width <= count; i += 2 * width) {
            f(load<Arch>(row + i), false);
            f(load<Arch>(row + i + width), true);
        }
        for (; i < count; i += width) f(load_up_to<Arch>(row + i, count - i, fill), false);
    }

    /// Writes contiguous results of one set. `place` is the first one's place in the set.
    PRIMSEL_INLINE void write(std::size_t at, std::size_t count, std::size_t place, Standard const& of) const noexcept {
        const V inverse(of.inverse), offset(-of.rest * of.inverse);
        if (place_factors_ != nullptr || place_shifts_ != nullptr) {
            const std::size_t table = at / image_ * place_floats_ + place;
            const auto load_place = [table](const float* values, float otherwise, std::size_t i, std::size_t n) {
                return values == nullptr ? V(otherwise) : load_up_to<Arch>(values + table + i, n);
            };
            return write_run(at, count, of.near, [=, this](V const& x, std::size_t i, std::size_t n) {
                return fma<Arch>(fma<Arch>(x, inverse, offset), load_place(place_factors_, 1.0F, i, n),
                                 load_place(place_shifts_, 0.0F, i, n));
            });
        }
        for (std::size_t done = 0, n = 0; done < count; done += n) {
            const std::size_t from = at + done;
            if (inner_ > 1) {
                n = std::min(count - done, inner_ - from % inner_);
                const std::size_t c = from / inner_ % channels_;
                const V factor(of.inverse * factors_[c]), shift(shifts_[c] - of.rest * of.inverse * factors_[c]);
                write_run(from, n, of.near,
                          [=](V const& x, std::size_t, std::size_t) { return fma<Arch>(x, factor, shift); });
            } else {
                const std::size_t c = from % channels_;
                n = std::min(count - done, channels_ - c);
                write_run(
                    from, n, of.near,
                    [=, factors = factors_ + c, shifts = shifts_ + c](V const& x, std::size_t i, std::size_t rest) {
                        return fma<Arch>(fma<Arch>(x, inverse, offset), load_up_to<Arch>(factors + i, rest),
                                         load_up_to<Arch>(shifts + i, rest));
                    });
            }
        }
    }
    /// Writes f(x - near, i, n) for vectors of up to n elements from i on.
    template <class F>
    PRIMSEL_INLINE void write_run(std::size_t at, std::size_t count, float near, F const& f) const noexcept {
        const float* from = src_ + at;
        float* to = dst_ + at;
        const V mean(near), low(low_), high(high_);
        const auto one = [&](std::size_t i, std::size_t n) PRIMSEL_INLINE_LAMBDA {
            const V x = load_up_to<Arch>(from + i, n);
            store_up_to<Arch>(to + i, clamp<Arch>(f(centres ? x - mean : x, i, n), low, high), n);
        };
        std::size_t i = 0;
        for (; i + width <= count; i += width) one(i, width);
        if (i < count) one(i, count - i);
    }

    /// Handles neighbouring columns, whose elements are `inner` apart. A set consists of view.along columns.
    void columns(std::size_t at, std::size_t count, SetView const& view, std::size_t inner) const noexcept {
        alignas(64) double means[widest], squares[widest];
        statistics(src_ + at, count, view.across, inner, means, squares);
        alignas(64) float near[widest], factor[widest], shift[widest];
        const bool has_places = place_factors_ != nullptr || place_shifts_ != nullptr;
        // One channel for all columns of a row, or one for all rows of a column.
        const bool channel_of_row = inner_ % inner == 0, by_row = has_places || channel_of_row;
        const auto rows = static_cast<double>(view.across), along = static_cast<double>(view.along);
        if (view.along > 1) {
            for (std::size_t set = 0; set < count; set += view.along) {
                double *const of_set = means + set, *const squares_of_set = squares + set;
                const double mean = sum_of(view.along, [=](std::size_t i) { return of_set[i]; }) / along;
                const double square = sum_of(view.along, [=](std::size_t i) {
                    const double apart = of_set[i] - mean;
                    return centres ? squares_of_set[i] + rows * apart * apart : squares_of_set[i];
                });
                std::fill_n(of_set, view.along, mean);
                std::fill_n(squares_of_set, view.along, square);
            }
        }
        const double each = 1 / (rows * along), epsilon = static_cast<double>(epsilon_);
        for (std::size_t i = 0; i < count; ++i) {
            near[i] = static_cast<float>(means[i]);
            shift[i] = static_cast<float>(means[i] - static_cast<double>(near[i]));
            factor[i] = static_cast<float>(squares[i] * each + epsilon);
        }
        for (std::size_t i = 0; i < count; i += width) {
            const V inverse = quotient<Arch>(V(1.0F), square_root<Arch>(load_up_to<Arch>(factor + i, count - i, 1.0F)));
            store_up_to<Arch>(shift + i, -load_up_to<Arch>(shift + i, count - i) * inverse, count - i);
            store_up_to<Arch>(factor + i, inverse, count - i);
        }
        if (!by_row) {
            ChannelOf channel(at, inner_, channels_);
            for (std::size_t i = 0; i < count; ++i, channel.advance()) {
                shift[i] = shift[i] * factors_[channel.c()] + shifts_[channel.c()];
                factor[i] *= factors_[channel.c()];
            }
        }
        const std::size_t table = at / image_ * place_floats_;
        const V low(low_), high(high_);
        const auto write_tile = [&]<std::size_t vectors>(Size<vectors>, std::size_t i) PRIMSEL_INLINE_LAMBDA {
            const std::size_t n = count - i;
            V mean[vectors], factors[vectors], shifts[vectors];
            PRIMSEL_UNROLL
            for (std::size_t v = 0; v < vectors; ++v) {
                mean[v] = load_up_to<Arch>(near + i + v * width, n - v * width);
                factors[v] = load_up_to<Arch>(factor + i + v * width, n - v * width);
                shifts[v] = load_up_to<Arch>(shift + i + v * width, n - v * width);
            }
            ChannelOf channel_of(at / inner, std::max(inner_ / inner, std::size_t{1}), channels_);
            for (std::size_t row = 0; row < view.across; ++row, channel_of.advance()) {
                V times(1.0F), plus(0.0F);
                if (has_places) {
                    times = V(place_factors_ == nullptr ? 1.0F : place_factors_[table + row]);
                    plus = V(place_shifts_ == nullptr ? 0.0F : place_shifts_[table + row]);
                } else if (channel_of_row) {
                    times = V(factors_[channel_of.c()]), plus = V(shifts_[channel_of.c()]);
                }
                PRIMSEL_UNROLL
                for (std::size_t v = 0; v < vectors; ++v) {
                    const std::size_t to = at + row * inner + i + v * width;
                    const V x = load_up_to<Arch>(src_ + to, n - v * width);
                    V result = fma<Arch>(centres ? x - mean[v] : x, factors[v], shifts[v]);
                    if (by_row) result = fma<Arch>(result, times, plus);
                    store_up_to<Arch>(dst_ + to, clamp<Arch>(result, low, high), n - v * width);
                }
            }
        };
        std::size_t i = 0;
        for (; i + 4 * width <= count; i += 4 * width) write_tile(Size<4>{}, i);
        for (; i < count; i += width) write_tile(Size<1>{}, i);
    }
    /// Returns the sum of f(i) for i below n. Consecutive additions do not wait for each other.
    template <class F>
    static PRIMSEL_INLINE double sum_of(std::size_t n, F const& f) {
        double parts[4] = {};
        std::size_t i = 0;
        for (; i + 4 <= n; i += 4) {
            for (std::size_t part = 0; part < 4; ++part) parts[part] += f(i + part);
        }
        for (; i < n; ++i) parts[0] += f(i);
        return (parts[0] + parts[1]) + (parts[2] + parts[3]);
    }
    /// Computes the mean and the sum of squared differences of each column.
    static void statistics(const float* src, std::size_t count, std::size_t rows, std::size_t inner, double* means,
                           double* squares) noexcept {
        constexpr std::size_t block = 2 * block_terms;
        std::fill_n(means, count, 0.0);
        std::fill_n(squares, count, 0.0);
        for (std::size_t first = 0; first < rows; first += block) {
            const std::size_t n = std::min(block, rows - first);
            const float* from = src + first * inner;
            std::size_t i = 0;
            for (; i + 4 * width <= count; i += 4 * width) {
                add_tile<4, 1>(from + i, 4 * width, n, inner, first, means + i, squares + i);
            }
            for (; i < count; i += width) {
                add_tile<1, 4>(from + i, std::min(width, count - i), n, inner, first, means + i, squares + i);
            }
        }
    }
    /// Adds a block of n rows to the statistics of the columns of some vectors. Rows are distributed over several sums
    /// in turn, so that consecutive additions do not wait for each other. `before` is the number of rows already added.
    template <std::size_t vectors, std::size_t several>
    static PRIMSEL_INLINE void add_tile(const float* src, std::size_t columns, std::size_t n, std::size_t inner,
                                        std::size_t before, double* means, double* squares) noexcept {
        const auto each_row = [=](auto const& f) PRIMSEL_INLINE_LAMBDA {
            const auto add = [=, &f](std::size_t row, std::size_t part) PRIMSEL_INLINE_LAMBDA {
                PRIMSEL_UNROLL
                for (std::size_t v = 0; v < vectors; ++v) {
                    const float* from = src + row * inner + v * width;
                    f(vectors > 1 ? load<Arch>(from) : load_up_to<Arch>(from, columns), part * vectors + v, v);
                }
            };
            std::size_t row = 0;
            for (; row + several <= n; row += several) {
                PRIMSEL_UNROLL
                for (std::size_t part = 0; part < several; ++part) add(row + part, part);
            }
            for (; row < n; ++row) add(row, 0);
        };
        const auto join = [](V(&parts)[vectors * several]) PRIMSEL_INLINE_LAMBDA {
            PRIMSEL_UNROLL
            for (std::size_t i = vectors; i < vectors * several; ++i) parts[i % vectors] += parts[i];
        };
        const auto start = [](V(&parts)[vectors * several]) PRIMSEL_INLINE_LAMBDA {
            PRIMSEL_UNROLL
            for (std::size_t i = 0; i < vectors * several; ++i) parts[i] = V(0.0F);
        };
        alignas(64) float near[vectors * width] = {}, sum[vectors * width] = {}, square[vectors * width];
        if constexpr (centres) {
            V sums[vectors * several];
            start(sums);
            each_row([&](V const& x, std::size_t i, std::size_t) PRIMSEL_INLINE_LAMBDA { sums[i] += x; });
            join(sums);
            PRIMSEL_UNROLL
            for (std::size_t v = 0; v < vectors; ++v) {
                store<Arch>(near + v * width, sums[v] * V(1.0F / static_cast<float>(n)));
            }
        }
        V sums[vectors * several], products[vectors * several], mean[vectors];
        start(sums), start(products);
        PRIMSEL_UNROLL
        for (std::size_t v = 0; v < vectors; ++v) mean[v] = load<Arch>(near + v * width);
        each_row([&](V const& x, std::size_t i, std::size_t v) PRIMSEL_INLINE_LAMBDA {
            const V apart = centres ? x - mean[v] : x;
            if constexpr (centres) sums[i] += apart;
            products[i] = fma<Arch>(apart, apart, products[i]);
        });
        join(sums), join(products);
        PRIMSEL_UNROLL
        for (std::size_t v = 0; v < vectors; ++v) {
            store<Arch>(sum + v * width, sums[v]);
            store<Arch>(square + v * width, products[v]);
        }
        const auto rows = static_cast<double>(n), earlier = static_cast<double>(before);
        const double each = 1 / rows, share = rows / (earlier + rows), both = earlier * share;
        for (std::size_t i = 0; i < columns; ++i) {
            if constexpr (centres) {
                const double more = static_cast<double>(sum[i]), here = static_cast<double>(near[i]) + more * each,
                             apart = here - means[i];
                means[i] += apart * share;
                squares[i] += static_cast<double>(square[i]) - more * more * each + apart * apart * both;
            } else {
                squares[i] += static_cast<double>(square[i]);
            }
        }
    }

    float epsilon_;
    const float* src_;
    float* dst_;
    const float *factors_, *shifts_, *place_factors_, *place_shifts_;
    std::size_t place_floats_, image_, channels_, inner_;
    float low_, high_;
    ExecutorRef executor_;
};

}  // namespace op::detail

/// Computes statistics block by block while a block is in cache. Packed weights: the factors of all channels, then the
/// shifts.
template <>
struct Op<StandardizeParams> {
    static constexpr bool in_place = true;

    /// A sum, then a difference, a sum and a square, then the result: each is a pass of inner loops. In strips, the
    /// statistics of each column pass through scalar code.
    template <class Arch, StridedLayout L>
    [[nodiscard]] static OpCounts work(StandardizeParams const& params, std::span<const Shape>, Shape output) {
        using Kernel = op::detail::Standardize<Arch, true>;
        const op::detail::SetView view = op::detail::set_view<L>(params, output, 1);
        const double each = params.centres ? 9 : 6, passes = params.centres ? 2 : 1;
        const auto size = static_cast<double>(output.size());
        if (view.across > 1 && view.along <= Kernel::widest) {
            const std::size_t inner = view.sets * view.along, strip = std::min(Kernel::strip_of(view), inner);
            const auto columns = static_cast<double>(view.outer * inner), rows = static_cast<double>(view.across);
            const double strips = columns / static_cast<double>(strip);
            // Tiles of four vectors, then of one.
            constexpr std::size_t tile = 4 * lanes<Arch>;
            const std::size_t tiles = strip / tile + (strip % tile + lanes<Arch> - 1) / lanes<Arch>;
            return {.operations = each * strips * rows * op::detail::covering_lanes<Arch>(strip),
                    .scalars = columns,
                    .rows = (passes + 1) * rows * strips * static_cast<double>(tiles),
                    .form = "strips"};
        }
        // Results are written in runs of elements of one channel or of one pixel.
        const auto [outer, channels, inner] = op::detail::channel_view<L>(output, 1);
        const bool has_tensors = params.scales || params.shifts;
        const std::size_t together = channels == 1 || has_tensors ? output.size()
                                     : inner > 1                  ? inner
                                                                  : channels,
                          run = std::min(view.along, together);
        const auto sets = static_cast<double>(view.outer * view.across * view.sets),
                   runs = size / static_cast<double>(run);
        // Sets that L2 does not keep between the passes are read again.
        const bool again = view.across * view.along > static_cast<std::size_t>(l2_floats);
        return {.operations = (each - 2) * sets * op::detail::covering_lanes<Arch>(view.along) +
                              2 * runs * op::detail::covering_lanes<Arch>(run),
                .rows = passes * sets + runs,
                .bytes = again ? 3 * sizeof(float) * size : 0,
                .form = view.across > 1                                     ? "rows"
                        : view.along <= op::detail::longest_short_row<Arch> ? "short"
                                                                            : "long"};
    }

    [[nodiscard]] static std::size_t packed_floats(StandardizeParams const&, Shape input) {
        return 2 * static_cast<std::size_t>(input.c);
    }
    template <StridedLayout L>
    static void pack(StandardizeParams const&, Shape input, OpWeights const& weights, float* dst) {
        float* shifts = std::ranges::copy(weights.kernel, dst).out;
        std::fill_n(shifts, input.c, 0.0F);
        std::ranges::copy(weights.bias, shifts);
    }

    template <class Arch, StridedLayout L>
    static void run(StandardizeParams const& params, OpArgs const& args) noexcept {
        const op::detail::AxisView channels = op::detail::channel_view<L>(args.dst_shape, args.batch);
        const op::detail::SetView view = op::detail::set_view<L>(params, args.dst_shape, args.batch);
        if (params.centres)
            op::detail::Standardize<Arch, true>(params, args, channels).run(view);
        else
            op::detail::Standardize<Arch, false>(params, args, channels).run(view);
    }
};

}  // namespace primsel::inline PRIMSEL_ABI
