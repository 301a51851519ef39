#pragma once

#include <primsel/io/onnx/elementwise.hpp>
#include <primsel/io/onnx/reduce.hpp>
#include <primsel/io/onnx/window.hpp>

namespace primsel::inline PRIMSEL_ABI::onnx {

namespace detail {

/// With the statistics of this very batch, which also move the running ones.
inline void translate_batch_norm_training(Call& call, float epsilon) {
    if (!call.build.is_whole()) throw MixesImages{"it normalises by statistics of the whole batch"};
    Builder& build = call.build;
    const std::size_t rank = call.rank(0);
    const Operand x = call.operand(0);
    std::vector<std::size_t> axes{0};
    for (std::size_t axis = 2; axis < rank; ++axis) axes.push_back(axis);
    Sizes channels(rank, 1);
    channels[1] = x.dims[1];
    // A vector of the channels, as it broadcasts with x.
    const auto vector = [&](std::size_t i) {
        if (call.dims(i) != Sizes{x.dims[1]}) fail("input ", i, " has not one value a channel");
        return build.reshape(call.operand(i), channels);
    };
    const Operand mean = emit_reduce(build, ReduceKind::mean, x, axes);
    const Operand centred = emit_binary(build, BinaryKind::subtract, x, mean);
    const Operand square = emit_binary(build, BinaryKind::multiply, centred, centred);
    const Operand variance = emit_reduce(build, ReduceKind::mean, square, axes);
    const Operand sum = build.scale(variance, 1.0F, epsilon);
    const Operand deviation = build.apply(ActivationParams{ActivationKind::sqrt}, sum, sum.dims);
    const Operand normal = emit_binary(build, BinaryKind::divide, centred, deviation);
    const Operand scaled = emit_binary(build, BinaryKind::multiply, normal, vector(1));
    call.give(emit_binary(build, BinaryKind::add, scaled, vector(2)));
    const float momentum = call.real("momentum", 0.9F);
    const auto moved = [&](std::size_t running, Operand const& now) {
        const Operand old = build.scale(vector(running), momentum, 0.0F),
                      fresh = build.scale(now, 1.0F - momentum, 0.0F);
        return build.reshape(emit_binary(build, BinaryKind::add, old, fresh), {x.dims[1]});
    };
    if (call.wants(1)) call.give(moved(3, mean), 1);
    if (call.wants(2)) call.give(moved(4, variance), 2);
}

}  // namespace detail

inline void translate_batch_norm(Call& call) {
    Sizes const& dims = call.dims(0);
    if (dims.size() < 2) fail("on a tensor of ", dims.size(), " dimensions");
    const float epsilon = call.real("epsilon", 1e-5F);
    if (call.opset() >= 14 && call.integer("training_mode", 0) != 0) {
        return detail::translate_batch_norm_training(call, epsilon);
    }
    if (call.opset() < 7 && call.integer("is_test", 0) == 0) fail("in training mode, before opset 14");
    if (call.opset() < 9 && call.integer("spatial", 1) == 0) fail("statistics of each pixel are not supported");
    const Operand src = call.operand(0);
    const std::size_t input = call.build.view(src);
    const std::size_t node = call.build.emit(BatchNormParams{epsilon}, {input});
    // Several images as one: the channels of each.
    const std::int64_t images = call.build.is_whole() ? dims[0] : 1, c = dims[1];
    constexpr std::string_view suffixes[] = {".weight", ".bias", ".running_mean", ".running_var"},
                               roles[] = {"scale", "bias", "mean", "variance"};
    for (std::size_t i = 0; i < 4; ++i) {
        OnnxTensor const& values = call.floats(i + 1, roles[i]);
        if (values.dims != Sizes{c}) fail("a ", roles[i], " of ", to_string(values.dims), " for ", c, " channels");
        const OnnxTensor all =
            images == 1 ? values : pick(values, expansion(values.dims, {images, c}), call.build.constants);
        call.build.add_weight(node, suffixes[i], {images * c}, all);
    }
    call.give(Operand{src.dims, node, {}});
}

inline void translate_lrn(Call& call) {
    Sizes const& dims = call.dims(0);
    if (dims.size() < 3) fail("on a tensor of ", dims.size(), " dimensions");
    require_one_image(call.build, dims);
    if (!call.has_attribute("size")) fail("without a size");
    const LrnParams params{.size = bounded(call.integer("size", 1), 1, largest_window, "a size"),
                           .alpha = call.real("alpha", 1e-4F),
                           .beta = call.real("beta", 0.75F),
                           .k = call.real("bias", 1.0F)};
    if (params.size % 2 == 0) fail("windows of an even number of channels are not supported");
    const Operand src = call.operand(0);
    call.give(call.build.apply(params, src, src.dims));
}

/// Along an axis; before opset 13, along that and all behind it.
inline void translate_softmax(Call& call) {
    const std::size_t rank = call.rank(0);
    const bool is_one_axis = call.opset() >= 13;
    const std::size_t axis = call.build.image_axis(call.integer("axis", is_one_axis ? -1 : 1), rank);
    const Operand src = call.operand(0);
    const AxisView along = call.build.view_along(src.dims, axis, is_one_axis ? axis + 1 : src.dims.size());
    const std::size_t input = call.build.view(src, along.shape),
                      node = call.build.emit(SoftmaxParams{along.axis}, {input});
    call.give(call.build.operand(node, src.dims));
}

}  // namespace primsel::inline PRIMSEL_ABI::onnx
