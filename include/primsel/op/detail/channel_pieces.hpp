// Sums over all pixels of a batch for each channel. One block computes each sum: in float over a piece that stays in
// L1, in double over the pieces, so that long sums stay accurate.
#pragma once

#include <primsel/op/detail/elements.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>

namespace primsel::inline PRIMSEL_ABI::op::detail {

/// The channels that a block takes where channels are contiguous: two cache lines of each pixel.
inline constexpr std::size_t channel_group = 32;
template <class Arch>
inline constexpr std::size_t group_vectors = channel_group / static_cast<std::size_t>(lanes<Arch>);

/// Rows of contiguous floats, the first at `at`, `step` floats apart. A row belongs to one channel, or has one float
/// for each of several channels.
struct ChannelPiece {
    std::size_t at, rows, floats, step;
    bool one_channel;
    /// The distance in floats to the row that is prefetched while this one is read; 0 if prefetching does not pay.
    std::size_t next;

    /// Returns the elements of each channel.
    [[nodiscard]] std::size_t elements() const { return one_channel ? rows * floats : rows; }
};

/// Loads the values of n channels from c on from a table with one value for each channel. If n is 0, all lanes have the
/// value of channel c.
template <class Arch>
PRIMSEL_INLINE Floats<Arch> channel_values(const float* table, std::size_t c, std::size_t n) {
    return n == 0 ? Floats<Arch>(table[c]) : load_up_to<Arch>(table + c, n);
}

/// Loads like load_up_to and prefetches the cache line `ahead` floats further on. The rows are too short or too far
/// apart for hardware prefetchers.
template <class Arch>
PRIMSEL_INLINE Floats<Arch> load_and_prefetch(const float* src, std::size_t n, std::size_t ahead) {
    __builtin_prefetch(src + ahead);
    return load_up_to<Arch>(src, n);
}

/// The most groups of channels processed side by side.
inline constexpr std::size_t most_groups = 16;

/// Processes several groups of contiguous channels side by side, as for_channel_pieces does.
template <class Work, class Make>
void for_side_by_side(AxisView view, std::size_t first, std::size_t groups, Make const& make) noexcept {
    constexpr std::size_t pixels = 64;
    struct Group {
        std::optional<Work> work{};
        std::size_t c = 0, n = 0;
    } all[most_groups];
    const std::span<Group> side_by_side(all, groups);
    for (std::size_t c = first * channel_group; Group & of : side_by_side) {
        of.c = c, of.n = std::min(channel_group, view.count - c);
        of.work.emplace(make(of.c, of.n));
        c += channel_group;
    }
    const std::size_t together = std::max(pixels / groups, std::size_t{8});
    for (std::size_t pixel = 0; pixel < view.outer; pixel += pixels) {
        const std::size_t rows = std::min(pixels, view.outer - pixel);
        const auto piece = [&view, pixel, together](Group const& of, std::size_t row, std::size_t count) {
            return ChannelPiece{
                (pixel + row) * view.count + of.c, count, of.n, view.count, false, together * view.count};
        };
        for (std::size_t pass = 0; pass < Work::passes; ++pass) {
            for (Group& of : side_by_side) of.work->begin(pass);
            for (std::size_t row = 0; row < rows; row += together) {
                for (Group& of : side_by_side) of.work->add(pass, piece(of, row, std::min(together, rows - row)));
            }
            for (Group& of : side_by_side) of.work->end(pass, piece(of, 0, rows));
        }
    }
    for (Group& of : side_by_side) of.work->finish();
}

/// Makes work = make(c, n) for each n channels from c on; n is 0 if channels are not contiguous. Then goes through the
/// pieces of these channels, Work::passes times each. For each pass it calls work.begin(pass), work.add(pass, rows) for
/// the rows in order, and work.end(pass, whole). At the end it calls work.finish().
template <class Make>
void for_channel_pieces(ExecutorRef executor, AxisView view, Make const& make) noexcept {
    using Work = decltype(make(std::size_t{}, std::size_t{}));
    const std::size_t outer = view.outer, count = view.count, inner = view.inner;
    if (inner > 1 || outer == 1) {
        constexpr std::size_t piece = 2048;
        const std::size_t together = std::max(piece / inner, std::size_t{1});
        // Short rows are not prefetched: those of many images may compete for the same cache lines.
        const std::size_t next = inner > piece ? piece : inner < 256 ? 0 : count * inner;
        for_ranges(executor, count, outer * inner, [=, &make](std::size_t first, std::size_t last) {
            for (std::size_t c = first; c < last; ++c) {
                Work work = make(c, 0);
                for (std::size_t row = 0; row < outer; row += together) {
                    for (std::size_t i = 0; i < inner; i += piece) {
                        const ChannelPiece whole{(row * count + c) * inner + i,
                                                 std::min(together, outer - row),
                                                 std::min(piece, inner - i),
                                                 count * inner,
                                                 true,
                                                 next};
                        for (std::size_t pass = 0; pass < Work::passes; ++pass) {
                            work.begin(pass);
                            work.add(pass, whole);
                            work.end(pass, whole);
                        }
                    }
                }
                work.finish();
            }
        });
        return;
    }
    // Takes a few rows of several groups at a time, so that memory is read in its order. No sum depends on which worker
    // computes its neighbours, so there may be as few blocks as threads.
    const std::size_t groups = (count + channel_group - 1) / channel_group, workers = executor.concurrency();
    const std::size_t parts = workers == 1 ? 1 : std::min(groups, 2 * workers);
    executor.parallel_for(parts, [=, &make](std::size_t part, std::size_t) {
        const std::size_t last = (part + 1) * groups / parts;
        for (std::size_t group = part * groups / parts; group < last; group += most_groups) {
            for_side_by_side<Work>(view, group, std::min(last - group, most_groups), make);
        }
    });
}

/// Sums over the rows of a piece of the vectors that each(at, n, v, terms) writes to terms[sums]. They are computed
/// from the n floats at `at`, which belong to vector v of the group's channels. For a single channel, terms in lanes
/// beyond n must be 0.
template <class Arch, std::size_t sums>
class VectorSums {
    using V = Floats<Arch>;
    static constexpr std::size_t width = lanes<Arch>, several = group_vectors<Arch>;

public:
    void clear() {
        for (auto& of_vector : total_) {
            for (V& sum : of_vector) sum = V(0.0F);
        }
    }
    template <class F>
    PRIMSEL_INLINE void add(ChannelPiece const& piece, F const& each) {
        V total[several][sums];
        copy(total_, total);
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
                PRIMSEL_UNROLL
                for (std::size_t v = 0; v < several; ++v) {
                    if (v * width >= piece.floats) break;
                    add(piece.at + row * piece.step + v * width, piece.floats - v * width, v, v);
                }
            }
        }
        copy(total, total_);
    }
    /// Returns the sums of each channel in `result`.
    void get(bool one_channel, double (&result)[sums][channel_group]) const {
        for (std::size_t s = 0; s < sums; ++s) {
            alignas(64) float lane[channel_group];
            for (std::size_t v = 0; v < several; ++v) store<Arch>(lane + v * width, total_[v][s]);
            if (one_channel) {
                result[s][0] = 0;
                for (const float value : lane) result[s][0] += static_cast<double>(value);
            } else {
                for (std::size_t i = 0; i < channel_group; ++i) result[s][i] = static_cast<double>(lane[i]);
            }
        }
    }

private:
    static PRIMSEL_INLINE void copy(V const (&from)[several][sums], V (&to)[several][sums]) {
        PRIMSEL_UNROLL
        for (std::size_t v = 0; v < several; ++v) {
            PRIMSEL_UNROLL
            for (std::size_t s = 0; s < sums; ++s) to[v][s] = from[v][s];
        }
    }

    V total_[several][sums] = {};
};

}  // namespace primsel::inline PRIMSEL_ABI::op::detail
