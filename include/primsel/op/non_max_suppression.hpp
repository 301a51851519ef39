#pragma once

#include <primsel/layer/detection.hpp>
#include <primsel/op/detail/blocks.hpp>
#include <primsel/op/op.hpp>
#include <primsel/tensor/layout.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <limits>

namespace primsel::inline PRIMSEL_ABI {

/// Each class works in its own part of the result's rows, three floats for every box that may be kept. The first two
/// thirds hold a heap of the next candidates, the last third the kept boxes. At the end the kept boxes are written as
/// rows.
template <>
struct Op<NonMaxSuppressionParams> {
    static constexpr bool in_place = false;

    /// Approximate: the number of comparisons depends on the image.
    template <class Arch, StridedLayout L>
    [[nodiscard]] static OpCounts work(NonMaxSuppressionParams const& params, std::span<const Shape> inputs,
                                       Shape output) {
        const double kept = params.kept(inputs[1]), boxes = inputs[1].w,
                     classes = static_cast<double>(inputs[1].size()) / boxes, heap = 2 * kept;
        const double moved = heap * (2 + std::max(std::log(boxes / heap), 0.0));
        return {.scalars = classes * (3 * boxes + 8 * moved * std::log2(heap + 1) + 5 * kept * kept),
                .rows = static_cast<double>(output.h)};
    }

    template <class Arch, StridedLayout L>
        requires std::same_as<L, chw>
    static void run(NonMaxSuppressionParams const& params, OpArgs const& args) noexcept {
        const Shape scores = args.src_shape[1];
        const auto batch = static_cast<std::size_t>(args.batch), images = static_cast<std::size_t>(scores.c),
                   classes = static_cast<std::size_t>(scores.h), boxes = static_cast<std::size_t>(scores.w),
                   kept = static_cast<std::size_t>(params.kept(scores));
        op::detail::for_ranges(args.executor, batch * images * classes, 4 * boxes,
                               [&params, &args, classes, boxes, kept](std::size_t first, std::size_t last) {
                                   for (std::size_t i = first; i < last; ++i) {
                                       one_class(params, args.src[0] + i / classes * boxes * 4, args.src[1] + i * boxes,
                                                 boxes, kept, args.dst + i * 3 * kept);
                                   }
                               });
        for (std::size_t i = 0; i < batch; ++i) {
            write_rows(images, classes, kept, args.dst + i * 3 * kept * images * classes);
        }
    }

private:
    static void one_class(NonMaxSuppressionParams const& params, const float* boxes, const float* scores,
                          std::size_t count, std::size_t kept, float* room) noexcept {
        // A position is exact as a float up to 2^24.
        const auto score = [scores](float position) { return scores[static_cast<std::size_t>(position)]; };
        const auto better = [&score](float i, float j) { return score(i) == score(j) ? i < j : score(i) > score(j); };
        constexpr float none = -std::numeric_limits<float>::infinity();
        const auto is_candidate = [&params](float x) {
            return x > params.score_threshold || (params.score_threshold == none && x == none);
        };
        float *const heap = room, *const stays = room + 2 * kept;
        std::fill_n(stays, kept, -1.0F);
        std::size_t found = 0;
        // Takes as many candidates at a time as there is room for, starting after the last one taken before.
        for (float last = -1;;) {
            std::size_t size = 0;
            for (std::size_t i = 0; i < count; ++i) {
                const auto position = static_cast<float>(i);
                if (!is_candidate(scores[i]) || (last >= 0 && !better(last, position))) continue;
                if (size == 2 * kept) {
                    if (!better(position, heap[0])) continue;
                    std::pop_heap(heap, heap + size--, better);
                }
                heap[size++] = position;
                std::push_heap(heap, heap + size, better);
            }
            std::sort_heap(heap, heap + size, better);
            for (std::size_t i = 0; i < size; ++i) {
                const Box box(params, boxes, heap[i]);
                const auto is_far = [&](float other) { return !overlap(params, box, Box(params, boxes, other)); };
                if (!std::all_of(stays, stays + found, is_far)) continue;
                stays[found++] = heap[i];
                if (found == kept) return;
            }
            if (size < 2 * kept) return;
            last = heap[size - 1];
        }
    }
    /// Writing a row of three floats never overwrites a box that is still to be read, since boxes are stored behind it.
    static void write_rows(std::size_t images, std::size_t classes, std::size_t kept, float* dst) noexcept {
        float* row = dst;
        for (std::size_t i = 0; i < images * classes; ++i) {
            const float* stays = dst + (3 * i + 2) * kept;
            for (std::size_t j = 0; j < kept && stays[j] >= 0; ++j) {
                const float box = stays[j];
                *row++ = static_cast<float>(i / classes);
                *row++ = static_cast<float>(i % classes);
                *row++ = box;
            }
        }
        std::fill(row, dst + 3 * kept * images * classes, -1.0F);
    }

    struct Box {
        float top, left, bottom, right;

        Box(NonMaxSuppressionParams const& params, const float* boxes, float position) noexcept {
            const float* box = boxes + 4 * static_cast<std::size_t>(position);
            if (params.centers) {
                top = box[1] - box[3] / 2, bottom = box[1] + box[3] / 2;
                left = box[0] - box[2] / 2, right = box[0] + box[2] / 2;
            } else {
                // The corners may be any two opposite ones.
                top = std::min(box[0], box[2]), bottom = std::max(box[0], box[2]);
                left = std::min(box[1], box[3]), right = std::max(box[1], box[3]);
            }
        }
        [[nodiscard]] float area() const noexcept { return (bottom - top) * (right - left); }
    };
    /// Returns whether two boxes overlap too much. A box without area or with NaN overlaps no other.
    static bool overlap(NonMaxSuppressionParams const& params, Box const& a, Box const& b) noexcept {
        const float height = std::min(a.bottom, b.bottom) - std::max(a.top, b.top);
        const float width = std::min(a.right, b.right) - std::max(a.left, b.left);
        if (!(height > 0 && width > 0 && a.area() > 0 && b.area() > 0)) return false;
        const float common = height * width;
        return common / (a.area() + b.area() - common) > params.iou_threshold;
    }
};

}  // namespace primsel::inline PRIMSEL_ABI
