// Convolutions that are computed together, some rows at a time.
#pragma once

#include <primsel/core/aligned_buffer.hpp>
#include <primsel/core/clamp.hpp>
#include <primsel/core/executor.hpp>
#include <primsel/primitive/conv_args.hpp>
#include <primsel/primitive/conv_shape.hpp>
#include <primsel/primitive/rows_of.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>

namespace primsel::inline PRIMSEL_ABI::engine {

/// One of them: in hwc, by a primitive that computes rows by themselves.
struct StripPart {
    void (*kernel)(ConvShape const&, ConvArgs const&) noexcept = nullptr;
    ConvShape shape{};
    Clamp clamp{};
    const float* weights = nullptr;
    const float* bias = nullptr;
    /// Laid out as the result, whole; null for none.
    const float* residual = nullptr;
};

/// Each of which reads the one before it. A worker makes the rows of a band of the last one's result, strip by strip,
/// from above to below. What a strip needs of the other results is made as it is needed, and kept as long as rows
/// below need it, in a room of its own; rows at the border of two bands are made in both. detail::make_strips makes
/// them.
struct Strips {
    std::array<StripPart, most_strip_layers> parts{};
    std::size_t count = 0;
    int rows_each = 0;  ///< of the last one's result, in each strip
    /// Where the rows of each part begin in a worker's room, where its scratch begins, and the floats of all.
    std::array<std::size_t, most_strip_layers> rows_at{};
    std::size_t scratch_at = 0, worker_floats = 0;

    /// Bytes of the room for this many workers.
    [[nodiscard]] std::size_t bytes(std::size_t workers) const { return bytes_of_floats(workers * worker_floats); }

    /// One image. dst: the last one's result, with so many floats from pixel to pixel, 0: its channels; room: of
    /// executor.concurrency() workers.
    void run(const float* src, float* dst, std::size_t dst_stride, float* room, ExecutorRef executor) const noexcept {
        const auto rows_from = [this, src](Rows rows, std::size_t) {
            return src + static_cast<std::size_t>(rows.begin) * in_row_floats();
        };
        run_on(rows_from, dst, dst_stride, room, executor);
    }
    /// The same with rows of the image from rows_from(rows, worker), valid until the worker asks again.
    template <class RowsFrom>
    void run_on(RowsFrom const& rows_from, float* dst, std::size_t dst_stride, float* room,
                ExecutorRef executor) const noexcept {
        const int height = parts[count - 1].shape.out_h();
        // Some for each worker, lest all wait for one that was interrupted.
        const std::size_t workers = executor.concurrency(), wanted = workers == 1 ? 1 : bands_each * workers,
                          bands = std::min(wanted, static_cast<std::size_t>((height + rows_each - 1) / rows_each));
        executor.parallel_for(bands, [&](std::size_t band, std::size_t worker) {
            const auto border = [&](std::size_t i) {
                return static_cast<int>(i * static_cast<std::size_t>(height) / bands);
            };
            const auto rows_of_image = [&rows_from, worker](Rows rows) { return rows_from(rows, worker); };
            run_band({border(band), border(band + 1)}, rows_of_image, dst, dst_stride, room + worker * worker_floats);
        });
    }

    /// Floats of a row of a part's result.
    [[nodiscard]] std::size_t row_floats(std::size_t i) const {
        return static_cast<std::size_t>(parts[i].shape.out_w()) * static_cast<std::size_t>(parts[i].shape.k);
    }

private:
    static constexpr std::size_t bands_each = 3;

    template <class RowsOfImage>
    void run_band(Rows band, RowsOfImage const& rows_of_image, float* dst, std::size_t dst_stride,
                  float* room) const noexcept {
        const std::size_t last = count - 1;
        // The rows of each part that are in its room.
        std::array<Rows, most_strip_layers> kept{};
        kept[last] = {band.begin, band.begin};
        for (std::size_t i = last; i > 0; --i) {
            const int first = std::max(0, kept[i].begin * parts[i].shape.stride_h - parts[i].shape.pad_top);
            kept[i - 1] = {first, first};
        }
        while (kept[last].end < band.end) {
            std::array<int, most_strip_layers> until{};
            until[last] = std::min(kept[last].end + rows_each, band.end);
            for (std::size_t i = last; i > 0; --i) {
                const Rows under = rows_under(parts[i].shape, {kept[i].end, until[i]});
                until[i - 1] = under.end;
                forget(i - 1, under.begin, kept[i - 1], room);
            }
            for (std::size_t i = 0; i <= last; ++i) {
                if (until[i] <= kept[i].end) continue;
                const Rows made{kept[i].end, until[i]}, under = rows_under(parts[i].shape, made);
                const float* from = i == 0 ? rows_of_image(under) : in_room(i - 1, under.begin, kept[i - 1], room);
                if (i < last) {
                    make(i, made, from, in_room(i, made.begin, kept[i], room), 0, room);
                } else {
                    make(i, made, from, dst + static_cast<std::size_t>(made.begin) * out_row_floats(dst_stride),
                         dst_stride, room);
                }
                kept[i].end = made.end;
            }
        }
    }
    [[nodiscard]] std::size_t in_row_floats() const {
        return static_cast<std::size_t>(parts[0].shape.w) * static_cast<std::size_t>(parts[0].shape.c);
    }
    [[nodiscard]] std::size_t out_row_floats(std::size_t dst_stride) const {
        ConvShape const& last = parts[count - 1].shape;
        return static_cast<std::size_t>(last.out_w()) *
               (dst_stride != 0 ? dst_stride : static_cast<std::size_t>(last.k));
    }
    [[nodiscard]] float* in_room(std::size_t i, int row, Rows const& kept, float* room) const {
        return room + rows_at[i] + static_cast<std::size_t>(row - kept.begin) * row_floats(i);
    }
    /// Moves the rows from `first` on to where the room begins.
    void forget(std::size_t i, int first, Rows& kept, float* room) const noexcept {
        if (first <= kept.begin) return;
        float* rows = room + rows_at[i];
        if (first < kept.end) {
            std::memmove(rows, rows + static_cast<std::size_t>(first - kept.begin) * row_floats(i),
                         static_cast<std::size_t>(kept.end - first) * row_floats(i) * sizeof(float));
        }
        kept = {first, std::max(first, kept.end)};
    }
    void make(std::size_t i, Rows rows, const float* from, float* to, std::size_t stride, float* room) const noexcept {
        StripPart const& part = parts[i];
        Sequential here;
        part.kernel(rows_of(part.shape, rows),
                    {.src = from,
                     .weights = part.weights,
                     .bias = part.bias,
                     .residual = part.residual == nullptr
                                     ? nullptr
                                     : part.residual + static_cast<std::size_t>(rows.begin) * row_floats(i),
                     .clamp = part.clamp,
                     .dst = to,
                     .dst_stride = stride,
                     .scratch = room + scratch_at,
                     .executor = here});
    }
};

}  // namespace primsel::inline PRIMSEL_ABI::engine
