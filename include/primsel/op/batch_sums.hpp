#pragma once

#include <primsel/layer/training.hpp>
#include <primsel/op/detail/channel_pieces.hpp>
#include <primsel/op/op.hpp>

#include <algorithm>
#include <cstddef>

namespace primsel::inline PRIMSEL_ABI {

/// Computes the mean of each piece, then sums of deviations from it and of their squares, which cancel less than sums
/// of the values. The pieces are combined as deviations from the mean of the first one.
template <>
struct Op<BatchStatisticsParams> {
    static constexpr bool in_place = false;

    template <class Arch, StridedLayout L>
    [[nodiscard]] static OpCounts work(BatchStatisticsParams const&, std::span<const Shape> inputs, Shape output) {
        return op::element_counts<L>(5 * static_cast<double>(inputs[0].size()), inputs, output);
    }

    template <class Arch, StridedLayout L>
    static void run(BatchStatisticsParams const&, OpArgs const& args) noexcept {
        statistics<Arch>(op::detail::channel_view<L>(args.src_shape[0], args.batch), args);
    }

private:
    template <class Arch>
    static void statistics(op::detail::AxisView view, OpArgs const& args) noexcept {
        const float* x = args.src[0];
        float* dst = args.dst;
        op::detail::for_channel_pieces(args.executor, view, [=](std::size_t c, std::size_t n) {
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
        double sum[op::detail::channel_group] = {}, squares[op::detail::channel_group] = {};
        alignas(64) float mean[op::detail::channel_group] = {};  // the mean of the current piece
        double start[op::detail::channel_group] = {};            // the mean of the first piece
        bool started = false;
        op::detail::VectorSums<Arch, 1> total{};
        op::detail::VectorSums<Arch, 2> deviations{};

        static constexpr std::size_t passes = 2;
        void begin(std::size_t pass) { pass == 0 ? total.clear() : deviations.clear(); }
        void add(std::size_t pass, op::detail::ChannelPiece const& piece) {
            if (pass == 0) {
                total.add(piece, [x = x, next = piece.next](std::size_t at, std::size_t n, std::size_t, V* terms) {
                    terms[0] = op::detail::load_and_prefetch<Arch>(x + at, n, next);
                });
            } else if (piece.one_channel) {
                deviations.add(piece, [this](std::size_t at, std::size_t n, std::size_t, V* terms) {
                    terms[0] = op::detail::load_up_to<Arch>(x + at, n, mean[0]) - V(mean[0]);
                    terms[1] = terms[0] * terms[0];
                });
            } else {
                deviations.add(piece, [this](std::size_t at, std::size_t n, std::size_t v, V* terms) {
                    terms[0] = op::detail::load_up_to<Arch>(x + at, n) - load<Arch>(mean + v * lanes<Arch>);
                    terms[1] = terms[0] * terms[0];
                });
            }
        }
        void end(std::size_t pass, op::detail::ChannelPiece const& piece) {
            const double count = static_cast<double>(piece.elements());
            if (pass == 0) {
                double of_piece[1][op::detail::channel_group];
                total.get(piece.one_channel, of_piece);
                for (std::size_t i = 0; i < channels; ++i) mean[i] = static_cast<float>(of_piece[0][i] / count);
                return;
            }
            double off[2][op::detail::channel_group];
            deviations.get(piece.one_channel, off);
            for (std::size_t i = 0; i < channels; ++i) {
                if (!started) start[i] = static_cast<double>(mean[i]);
                const double centre = static_cast<double>(mean[i]) - start[i];
                sum[i] += count * centre + off[0][i];
                squares[i] += off[1][i] + centre * (2 * off[0][i] + count * centre);
            }
            started = true;
        }
        void finish() {
            for (std::size_t i = 0; i < channels; ++i) {
                const double from_start = sum[i] / elements;
                const double variance = squares[i] / elements - from_start * from_start;
                means[i] = static_cast<float>(start[i] + from_start);
                variances[i] = static_cast<float>(variance < 0 ? 0 : variance);  // NaN stays NaN
            }
        }
    };
};

template <>
struct Op<ChannelSumParams> {
    static constexpr bool in_place = false;

    template <class Arch, StridedLayout L>
    [[nodiscard]] static OpCounts work(ChannelSumParams const&, std::span<const Shape> inputs, Shape output) {
        return op::element_counts<L>(static_cast<double>(inputs[0].size()), inputs, output);
    }

    template <class Arch, StridedLayout L>
    static void run(ChannelSumParams const&, OpArgs const& args) noexcept {
        sum<Arch>(op::detail::channel_view<L>(args.src_shape[0], args.batch), args);
    }

private:
    template <class Arch>
    static void sum(op::detail::AxisView view, OpArgs const& args) noexcept {
        const float* src = args.src[0];
        float* dst = args.dst;
        op::detail::for_channel_pieces(args.executor, view, [=](std::size_t c, std::size_t n) {
            return Total<Arch>{.src = src, .dst = dst + c, .channels = std::max(n, std::size_t{1})};
        });
    }

    template <class Arch>
    struct Total {
        const float* src;
        float* dst;
        std::size_t channels;
        double total[op::detail::channel_group] = {};

        op::detail::VectorSums<Arch, 1> sums{};

        static constexpr std::size_t passes = 1;
        void begin(std::size_t) { sums.clear(); }
        void add(std::size_t, op::detail::ChannelPiece const& piece) {
            sums.add(piece,
                     [src = src, next = piece.next](std::size_t at, std::size_t n, std::size_t, Floats<Arch>* terms) {
                         terms[0] = op::detail::load_and_prefetch<Arch>(src + at, n, next);
                     });
        }
        void end(std::size_t, op::detail::ChannelPiece const& piece) {
            double of_piece[1][op::detail::channel_group];
            sums.get(piece.one_channel, of_piece);
            for (std::size_t i = 0; i < channels; ++i) total[i] += of_piece[0][i];
        }
        void finish() {
            for (std::size_t i = 0; i < channels; ++i) dst[i] = static_cast<float>(total[i]);
        }
    };
};

}  // namespace primsel::inline PRIMSEL_ABI
