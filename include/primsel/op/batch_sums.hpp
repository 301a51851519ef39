#pragma once

#include <primsel/layer/training.hpp>
#include <primsel/op/detail/channel_pieces.hpp>
#include <primsel/op/op.hpp>

#include <algorithm>
#include <cstddef>

namespace primsel::inline PRIMSEL_ABI {

/// Of each piece first the mean, then sums of deviations from it and of their squares: neither is small beside what it
/// is computed from.
template <>
struct Op<BatchStatisticsParams> {
    static constexpr bool in_place = false;

    [[nodiscard]] static double operations(BatchStatisticsParams const&, std::span<const Shape> inputs, Shape) {
        return 5 * static_cast<double>(inputs[0].size());
    }

    template <class Arch, StridedLayout L>
    static void run(BatchStatisticsParams const&, OpArgs const& args) noexcept {
        statistics<Arch>(detail::channel_view<L>(args.src_shape[0], args.batch), args);
    }

private:
    template <class Arch>
    static void statistics(detail::AxisView view, OpArgs const& args) noexcept {
        const float* x = args.src[0];
        float* dst = args.dst;
        detail::for_channel_pieces(args.executor, view, [=](std::size_t c, std::size_t n) {
            return Moments<Arch>{.x = x,
                                 .means = dst + c,
                                 .variances = dst + view.count + c,
                                 .channels = std::max(n, std::size_t{1}),
                                 .elements = static_cast<double>(view.outer * view.inner)};
        });
    }

    template <class Arch>
    struct Moments {
        using V = Floats<Arch>;
        const float* x;
        float *means, *variances;
        std::size_t channels;
        double elements;
        double sum[detail::channel_group] = {}, squares[detail::channel_group] = {};

        void operator()(detail::ChannelPiece const& piece) {
            constexpr std::size_t width = lanes<Arch>;
            detail::PieceSums<1> total;
            detail::sum_piece<Arch, 1>(piece, total, [this](std::size_t at, std::size_t n, std::size_t, V* terms) {
                terms[0] = detail::load_up_to<Arch>(x + at, n);
            });
            const double count = static_cast<double>(piece.elements());
            alignas(64) float mean[detail::channel_group] = {};
            for (std::size_t i = 0; i < channels; ++i) mean[i] = static_cast<float>(total[0][i] / count);
            detail::PieceSums<2> deviations;
            if (piece.one_channel) {
                detail::sum_piece<Arch, 2>(piece, deviations,
                                           [this, &mean](std::size_t at, std::size_t n, std::size_t, V* terms) {
                                               terms[0] = detail::load_up_to<Arch>(x + at, n, mean[0]) - V(mean[0]);
                                               terms[1] = terms[0] * terms[0];
                                           });
            } else {
                detail::sum_piece<Arch, 2>(
                    piece, deviations, [this, &mean](std::size_t at, std::size_t n, std::size_t v, V* terms) {
                        terms[0] = detail::load_up_to<Arch>(x + at, n) - load<Arch>(mean + v * width);
                        terms[1] = terms[0] * terms[0];
                    });
            }
            for (std::size_t i = 0; i < channels; ++i) {
                const double centre = static_cast<double>(mean[i]), off = deviations[0][i];
                sum[i] += count * centre + off;
                squares[i] += deviations[1][i] + centre * (2 * off + count * centre);
            }
        }
        void finish() {
            for (std::size_t i = 0; i < channels; ++i) {
                const double mean = sum[i] / elements, variance = squares[i] / elements - mean * mean;
                means[i] = static_cast<float>(mean);
                variances[i] = static_cast<float>(variance < 0 ? 0 : variance);  // NaN stays
            }
        }
    };
};

template <>
struct Op<ChannelSumParams> {
    static constexpr bool in_place = false;

    [[nodiscard]] static double operations(ChannelSumParams const&, std::span<const Shape> inputs, Shape) {
        return static_cast<double>(inputs[0].size());
    }

    template <class Arch, StridedLayout L>
    static void run(ChannelSumParams const&, OpArgs const& args) noexcept {
        sum<Arch>(detail::channel_view<L>(args.src_shape[0], args.batch), args);
    }

private:
    template <class Arch>
    static void sum(detail::AxisView view, OpArgs const& args) noexcept {
        const float* src = args.src[0];
        float* dst = args.dst;
        detail::for_channel_pieces(args.executor, view, [=](std::size_t c, std::size_t n) {
            return Total<Arch>{.src = src, .dst = dst + c, .channels = std::max(n, std::size_t{1})};
        });
    }

    template <class Arch>
    struct Total {
        const float* src;
        float* dst;
        std::size_t channels;
        double total[detail::channel_group] = {};

        void operator()(detail::ChannelPiece const& piece) {
            detail::PieceSums<1> sums;
            detail::sum_piece<Arch, 1>(piece, sums,
                                       [this](std::size_t at, std::size_t n, std::size_t, Floats<Arch>* terms) {
                                           terms[0] = detail::load_up_to<Arch>(src + at, n);
                                       });
            for (std::size_t i = 0; i < channels; ++i) total[i] += sums[0][i];
        }
        void finish() {
            for (std::size_t i = 0; i < channels; ++i) dst[i] = static_cast<float>(total[i]);
        }
    };
};

}  // namespace primsel::inline PRIMSEL_ABI
