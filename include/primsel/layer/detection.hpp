#pragma once

#include <primsel/core/finite.hpp>
#include <primsel/layer/layer.hpp>

namespace primsel::inline PRIMSEL_ABI {

/// Keeps, class by class, the box with the best score among boxes that overlap: ONNX's NonMaxSuppression. Inputs: the
/// corners (y, x, y, x) of boxes, images x boxes x 4, and their scores, images x classes x boxes. Output: 1 x rows x 3
/// with a row of image, class and box for each box that stays, by image, by class, the best scores first, of equal
/// scores the first box first. How many stay is known only at run time; the rows are as many as there can be, images *
/// classes * min(boxes_per_class, boxes), and those behind the last box are -1, -1, -1. A box whose score is NaN never
/// stays.
struct NonMaxSuppressionParams {
    int boxes_per_class = 1;
    /// A box is dropped if its intersection over union with a better box that is kept is larger than this.
    float iou_threshold = 0.0F;
    /// A box is dropped if its score is not larger than this. Minus infinity disables the threshold.
    float score_threshold = -std::numeric_limits<float>::infinity();
    /// The boxes are given as centre x, centre y, width, height.
    bool centers = false;

    [[nodiscard]] static constexpr std::string_view name() { return "non_max_suppression"; }
    constexpr void each_field(auto const& visit) const {
        visit("boxes_per_class", boxes_per_class), visit("iou_threshold", iou_threshold),
            visit("score_threshold", score_threshold), visit("centers", centers);
    }
    [[nodiscard]] constexpr Fault check(std::span<const Shape> inputs) const {
        if (inputs.size() != 2) return Fault::wrong_input_count;
        if (!impossible().empty()) return Fault::impossible_parameter;
        const Shape boxes = inputs[0], scores = inputs[1];
        if (boxes.w != 4 || boxes.c != scores.c || boxes.h != scores.w) return Fault::shapes_differ;
        // Positions are stored as floats, which are exact up to 2^24.
        if (boxes.h > 1 << 24 || rows(scores) > max_extent) return Fault::too_large;
        return within_bounds(output(inputs)) ? Fault::none : Fault::too_large;
    }
    [[nodiscard]] constexpr std::string_view impossible() const {
        if (!layer::detail::is_size(boxes_per_class)) return "the boxes of a class must be from 1 to 2^29";
        if (is_nan(iou_threshold) || !(iou_threshold >= 0.0F && iou_threshold <= 1.0F))
            return "the threshold of the overlap must be from 0 to 1";
        return score_threshold == score_threshold ? "" : "the threshold of the scores must be a number";
    }
    [[nodiscard]] constexpr Shape output(std::span<const Shape> inputs) const {
        return {.c = 1, .h = static_cast<int>(rows(inputs[1])), .w = 3};
    }
    /// The largest number of boxes that are kept for a class of an image.
    [[nodiscard]] constexpr int kept(Shape const& scores) const { return std::min(boxes_per_class, scores.w); }
    friend constexpr bool operator==(NonMaxSuppressionParams const&, NonMaxSuppressionParams const&) = default;

private:
    [[nodiscard]] constexpr std::int64_t rows(Shape const& scores) const {
        return bounded_product({scores.c, scores.h, kept(scores)});
    }
};

/// Selects rows of the first input, c x h x w, by the row numbers in the second input, n elements of any shape. Output:
/// c x n x w. Fractions of a row number are truncated. A row number that is out of range or NaN gives a row of zeros.
struct GatherParams {
    /// Whether negative numbers count from the end: -1 is the last row. If false, they are out of range.
    bool from_end = true;
    /// Whether each element has a row number of its own: ONNX's GatherElements. The second input and the output are
    /// then c x n x w, and an element comes from its row of the same channel and column.
    bool elements = false;

    [[nodiscard]] static constexpr std::string_view name() { return "gather"; }
    constexpr void each_field(auto const& visit) const { visit("from_end", from_end), visit("elements", elements); }
    [[nodiscard]] constexpr Fault check(std::span<const Shape> inputs) const {
        if (inputs.size() != 2) return Fault::wrong_input_count;
        if (elements && (inputs[1].c != inputs[0].c || inputs[1].w != inputs[0].w)) return Fault::shapes_differ;
        if (bounded_product({inputs[1].c, inputs[1].h, inputs[1].w}) > max_extent) return Fault::too_large;
        return within_bounds(output(inputs)) ? Fault::none : Fault::too_large;
    }
    [[nodiscard]] constexpr Shape output(std::span<const Shape> inputs) const {
        if (elements) return inputs[1];
        return {.c = inputs[0].c, .h = static_cast<int>(inputs[1].size()), .w = inputs[0].w};
    }
    friend constexpr bool operator==(GatherParams const&, GatherParams const&) = default;
};

/// How a channel is changed: by one that takes its place, or elementwise. A maximum or minimum with NaN is NaN.
enum class ScatterKind { replace, add, multiply, maximum, minimum };

/// The first input, c x h x w, with some channels changed by those of the third, n x h x w. The second input, n
/// elements of any shape, has the number of the channel that each of these changes; fractions are truncated. They come
/// one after the other: of several that replace one channel, the last stays. A number that is out of range or NaN
/// changes nothing.
struct ScatterParams {
    ScatterKind kind = ScatterKind::replace;

    [[nodiscard]] static constexpr std::string_view name() { return "scatter"; }
    constexpr void each_field(auto const& visit) const { visit("kind", kind); }
    [[nodiscard]] constexpr Fault check(std::span<const Shape> inputs) const {
        if (inputs.size() != 3) return Fault::wrong_input_count;
        const Shape changes = inputs[2];
        const bool fits = changes.h == inputs[0].h && changes.w == inputs[0].w &&
                          static_cast<std::size_t>(changes.c) == inputs[1].size();
        return fits ? Fault::none : Fault::shapes_differ;
    }
    [[nodiscard]] constexpr Shape output(std::span<const Shape> inputs) const { return inputs[0]; }
    friend constexpr bool operator==(ScatterParams const&, ScatterParams const&) = default;
};

}  // namespace primsel::inline PRIMSEL_ABI
