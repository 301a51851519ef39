#pragma once

#include <primsel/onnx/detail/call.hpp>

namespace primsel::inline PRIMSEL_ABI::onnx {

/// As many rows as there can be; those that there are not at run time are -1.
inline void translate_non_max_suppression(Call& call) {
    Builder& build = call.build;
    Sizes const &boxes = call.dims(0), &scores = call.dims(1);
    if (boxes.size() != 3 || scores.size() != 3 || boxes[2] != 4 || boxes[0] != scores[0] || boxes[1] != scores[2]) {
        fail("boxes of ", to_string(boxes), " with scores of ", to_string(scores));
    }
    const int centers = bounded(call.integer("center_point_box", 0), 0, 1, "center_point_box");
    const Sizes most = call.has(2) ? call.integers(2, "max_output_boxes_per_class") : Sizes{0};
    if (most.size() != 1) fail("its max_output_boxes_per_class has ", most.size(), " elements");
    NonMaxSuppressionParams params{.centers = centers == 1};
    if (call.has(3)) params.iou_threshold = call.scalar(3, "iou_threshold");
    if (call.has(4)) params.score_threshold = call.scalar(4, "score_threshold");
    if (most[0] <= 0 || count_of(boxes) == 0 || count_of(scores) == 0) {
        return call.give(empty_tensor({0, 3}, OnnxType::int64));
    }
    if (!build.is_whole()) throw MixesImages{"its rows name the images"};
    params.boxes_per_class = static_cast<int>(std::min<std::int64_t>(most[0], bounded(boxes[1], 1, 1 << 24, "boxes")));
    (void)elements(boxes), (void)elements(scores);
    const auto shape = [](Sizes const& dims) {
        return Shape{.c = static_cast<int>(dims[0]), .h = static_cast<int>(dims[1]), .w = static_cast<int>(dims[2])};
    };
    const std::size_t where = build.view(call.operand(0), shape(boxes)),
                      how_good = build.view(call.operand(1), shape(scores));
    const std::size_t node = build.emit(params, {where, how_good});
    call.give(build.operand(node, {build.graph()[node].shape.h, 3}), 0, OnnxType::int64);
}

}  // namespace primsel::inline PRIMSEL_ABI::onnx
