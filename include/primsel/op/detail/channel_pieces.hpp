// Sums over all pixels of a batch, one or more a channel. Each is the work of one block: floats add up over a piece
// that stays in L1, doubles over the pieces, so that long sums keep their digits.
#pragma once

#include <primsel/op/detail/elements.hpp>

#include <algorithm>
#include <cstddef>

namespace primsel::inline PRIMSEL_ABI::detail {

/// Channels that a block takes where they are neighbours: two cache lines of each pixel.
inline constexpr std::size_t channel_group = 32;
template <class Arch>
inline constexpr std::size_t group_vectors = channel_group / static_cast<std::size_t>(lanes<Arch>);

/// Rows of floats that are neighbours, the first of them at `at` and `step` floats apart. A row is of one channel, or
/// it has one float of each of some channels.
struct ChannelPiece {
    std::size_t at, rows, floats, step;
    bool one_channel;

    /// Elements of each channel.
    [[nodiscard]] std::size_t elements() const { return one_channel ? rows * floats : rows; }
};

/// The values of n channels from c on, of a table of one a channel; of channel c in all lanes where n is 0.
template <class Arch>
PRIMSEL_INLINE Floats<Arch> channel_values(const float* table, std::size_t c, std::size_t n) {
    return n == 0 ? Floats<Arch>(table[c]) : load_up_to<Arch>(table + c, n);
}

/// Makes work = make(c, n) for each n channels from c on (n is 0 where each channel is by itself), calls work(piece)
/// for the pieces that make up these channels, then work.finish().
template <class Make>
void for_channel_pieces(ExecutorRef executor, AxisView view, Make const& make) noexcept {
    const std::size_t outer = view.outer, count = view.count, inner = view.inner;
    if (inner > 1 || outer == 1) {
        constexpr std::size_t piece = 4096;
        const std::size_t together = std::max(piece / inner, std::size_t{1});
        for_ranges(executor, count, outer * inner, [=, &make](std::size_t first, std::size_t last) {
            for (std::size_t c = first; c < last; ++c) {
                auto work = make(c, 0);
                for (std::size_t row = 0; row < outer; row += together) {
                    for (std::size_t i = 0; i < inner; i += piece) {
                        work(ChannelPiece{(row * count + c) * inner + i, std::min(together, outer - row),
                                          std::min(piece, inner - i), count * inner, true});
                    }
                }
                work.finish();
            }
        });
        return;
    }
    constexpr std::size_t pixels = 64;
    const std::size_t groups = (count + channel_group - 1) / channel_group;
    for_ranges(executor, groups, outer * channel_group, [=, &make](std::size_t first, std::size_t last) {
        for (std::size_t c = first * channel_group; c < std::min(last * channel_group, count); c += channel_group) {
            const std::size_t n = std::min(channel_group, count - c);
            auto work = make(c, n);
            for (std::size_t pixel = 0; pixel < outer; pixel += pixels) {
                work(ChannelPiece{pixel * count + c, std::min(pixels, outer - pixel), n, count, false});
            }
            work.finish();
        }
    });
}

/// What a piece adds to `sums` sums of each channel.
template <std::size_t sums>
using PieceSums = double[sums][channel_group];

/// The sums of the vectors that each(at, n, v, terms) writes to terms[sums]: for the n floats at `at`, which belong to
/// the v-th vector of the group's channels. In lanes beyond n the terms of a single channel must be 0.
template <class Arch, std::size_t sums, class F>
PRIMSEL_INLINE void sum_piece(ChannelPiece const& piece, PieceSums<sums>& result, F const& each) {
    using V = Floats<Arch>;
    constexpr std::size_t width = lanes<Arch>, several = group_vectors<Arch>;
    V total[several][sums];
    for (auto& of_vector : total) {
        for (V& sum : of_vector) sum = V(0.0F);
    }
    const auto add = [&](std::size_t at, std::size_t n, std::size_t v, std::size_t to) {
        V terms[sums];
        each(at, n, v, terms);
        PRIMSEL_UNROLL
        for (std::size_t s = 0; s < sums; ++s) total[to][s] += terms[s];
    };
    if (piece.one_channel) {
        for (std::size_t row = 0; row < piece.rows; ++row) {
            const std::size_t at = piece.at + row * piece.step;
            std::size_t i = 0;
            for (; i + several * width <= piece.floats; i += several * width) {
                PRIMSEL_UNROLL
                for (std::size_t v = 0; v < several; ++v) add(at + i + v * width, width, 0, v);
            }
            for (; i < piece.floats; i += width) add(at + i, piece.floats - i, 0, 0);
        }
    } else if (piece.floats == channel_group) {
        for (std::size_t row = 0; row < piece.rows; ++row) {
            PRIMSEL_UNROLL
            for (std::size_t v = 0; v < several; ++v) add(piece.at + row * piece.step + v * width, width, v, v);
        }
    } else {
        for (std::size_t row = 0; row < piece.rows; ++row) {
            for (std::size_t v = 0; v * width < piece.floats; ++v) {
                add(piece.at + row * piece.step + v * width, piece.floats - v * width, v, v);
            }
        }
    }
    for (std::size_t s = 0; s < sums; ++s) {
        alignas(64) float lane[channel_group];
        for (std::size_t v = 0; v < several; ++v) store<Arch>(lane + v * width, total[v][s]);
        if (piece.one_channel) {
            result[s][0] = 0;
            for (const float value : lane) result[s][0] += static_cast<double>(value);
        } else {
            for (std::size_t i = 0; i < channel_group; ++i) result[s][i] = static_cast<double>(lane[i]);
        }
    }
}

}  // namespace primsel::inline PRIMSEL_ABI::detail
