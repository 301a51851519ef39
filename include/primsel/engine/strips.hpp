// Convolutions that are computed together, some rows at a time.
#pragma once

#include <primsel/core/aligned_buffer.hpp>
#include <primsel/core/clamp.hpp>
#include <primsel/core/executor.hpp>
#include <primsel/kernels/kernels.hpp>
#include <primsel/plan/strips.hpp>
#include <primsel/primitive/rows_of.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::engine::detail {

/// One of them: in hwc, by a primitive that computes rows by themselves.
struct StripPart {
    PrimitiveEntry const* primitive = nullptr;
    ConvShape shape{};
    Clamp clamp{};
    const float* weights = nullptr;
    const float* bias = nullptr;
    /// Laid out as the result, whole; null for none.
    const float* residual = nullptr;
};

/// Each of which reads the one before it. A worker makes the rows of a band of the last one's result, strip by strip,
/// from above to below. What a strip needs of the other results is made as it is needed, and kept as long as rows
/// below need it, in a room of its own; rows at the border of two bands are made in both.
class Strips {
public:
    /// Its parts have no weights yet.
    Strips(std::vector<StripPart> parts, int rows) : parts_(std::move(parts)), rows_(rows) {
        std::vector<ConvShape> chain;
        for (StripPart const& part : parts_) chain.push_back(part.shape);
        held_ = strip_rows(chain, rows);
        for (std::size_t i = 0; i + 1 < parts_.size(); ++i) {
            at_[i] = worker_floats_;
            worker_floats_ += round_up_floats(static_cast<std::size_t>(held_[i]) * row_floats(i));
        }
        scratch_at_ = worker_floats_;
        std::size_t scratch = 0;
        for (std::size_t i = 0; i < parts_.size(); ++i) scratch = std::max(scratch, scratch_bytes(i));
        worker_floats_ += floats_for_bytes(scratch);
    }

    /// Bytes of the room for this many workers.
    [[nodiscard]] std::size_t bytes(std::size_t workers) const { return bytes_of_floats(workers * worker_floats_); }
    [[nodiscard]] std::vector<StripPart>& parts() { return parts_; }
    [[nodiscard]] std::vector<StripPart> const& parts() const { return parts_; }
    /// The most rows of the image that are read at once.
    [[nodiscard]] int image_rows() const {
        ConvShape const& first = parts_.front().shape;
        return std::min(first.h, (held_.front() - 1) * first.stride_h + first.span_h());
    }

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
        const int height = parts_.back().shape.out_h();
        // Some for each worker, lest all wait for one that was interrupted.
        const std::size_t workers = executor.concurrency(), wanted = workers == 1 ? 1 : bands_each * workers,
                          bands = std::min(wanted, static_cast<std::size_t>((height + rows_ - 1) / rows_));
        executor.parallel_for(bands, [&](std::size_t band, std::size_t worker) {
            const auto border = [&](std::size_t i) {
                return static_cast<int>(i * static_cast<std::size_t>(height) / bands);
            };
            const auto rows_of_image = [&rows_from, worker](Rows rows) { return rows_from(rows, worker); };
            run_band({border(band), border(band + 1)}, rows_of_image, dst, dst_stride, room + worker * worker_floats_);
        });
    }

private:
    static constexpr std::size_t bands_each = 3;

    [[nodiscard]] std::size_t row_floats(std::size_t i) const {
        return static_cast<std::size_t>(parts_[i].shape.out_w()) * static_cast<std::size_t>(parts_[i].shape.k);
    }
    /// The most that any rows of a part take, at the border of the image or not.
    [[nodiscard]] std::size_t scratch_bytes(std::size_t i) const {
        ConvShape const& s = parts_[i].shape;
        std::size_t most = 0;
        for (int count = 1; count <= held_[i]; ++count) {
            const int last = s.out_h() - count, inside = std::min((s.pad_top + s.stride_h - 1) / s.stride_h, last);
            for (const int first : {0, inside, last}) {
                most = std::max(most, parts_[i].primitive->scratch_bytes(rows_of(s, {first, first + count}), 1, 1));
            }
        }
        return most;
    }

    template <class RowsOfImage>
    void run_band(Rows band, RowsOfImage const& rows_of_image, float* dst, std::size_t dst_stride,
                  float* room) const noexcept {
        const std::size_t last = parts_.size() - 1;
        // The rows of each part that are in its room.
        std::array<Rows, most_strip_layers> kept{};
        kept[last] = {band.begin, band.begin};
        for (std::size_t i = last; i > 0; --i) {
            const int first = std::max(0, kept[i].begin * parts_[i].shape.stride_h - parts_[i].shape.pad_top);
            kept[i - 1] = {first, first};
        }
        while (kept[last].end < band.end) {
            std::array<int, most_strip_layers> until{};
            until[last] = std::min(kept[last].end + rows_, band.end);
            for (std::size_t i = last; i > 0; --i) {
                const Rows under = rows_under(parts_[i].shape, {kept[i].end, until[i]});
                until[i - 1] = under.end;
                forget(i - 1, under.begin, kept[i - 1], room);
            }
            for (std::size_t i = 0; i <= last; ++i) {
                if (until[i] <= kept[i].end) continue;
                const Rows made{kept[i].end, until[i]}, under = rows_under(parts_[i].shape, made);
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
        return static_cast<std::size_t>(parts_[0].shape.w) * static_cast<std::size_t>(parts_[0].shape.c);
    }
    [[nodiscard]] std::size_t out_row_floats(std::size_t dst_stride) const {
        ConvShape const& last = parts_.back().shape;
        return static_cast<std::size_t>(last.out_w()) *
               (dst_stride != 0 ? dst_stride : static_cast<std::size_t>(last.k));
    }
    [[nodiscard]] float* in_room(std::size_t i, int row, Rows const& kept, float* room) const {
        return room + at_[i] + static_cast<std::size_t>(row - kept.begin) * row_floats(i);
    }
    /// Moves the rows from `first` on to where the room begins.
    void forget(std::size_t i, int first, Rows& kept, float* room) const noexcept {
        if (first <= kept.begin) return;
        float* rows = room + at_[i];
        if (first < kept.end) {
            std::memmove(rows, rows + static_cast<std::size_t>(first - kept.begin) * row_floats(i),
                         static_cast<std::size_t>(kept.end - first) * row_floats(i) * sizeof(float));
        }
        kept = {first, std::max(first, kept.end)};
    }
    void make(std::size_t i, Rows rows, const float* from, float* to, std::size_t stride, float* room) const noexcept {
        StripPart const& part = parts_[i];
        Sequential here;
        part.primitive->run(rows_of(part.shape, rows),
                            {.src = from,
                             .weights = part.weights,
                             .bias = part.bias,
                             .residual = part.residual == nullptr
                                             ? nullptr
                                             : part.residual + static_cast<std::size_t>(rows.begin) * row_floats(i),
                             .clamp = part.clamp,
                             .dst = to,
                             .dst_stride = stride,
                             .scratch = room + scratch_at_,
                             .executor = here});
    }

    std::vector<StripPart> parts_;
    int rows_;
    std::vector<int> held_;  // rows of each part that its room has
    std::array<std::size_t, most_strip_layers> at_{};
    std::size_t scratch_at_ = 0, worker_floats_ = 0;
};

}  // namespace primsel::inline PRIMSEL_ABI::engine::detail
