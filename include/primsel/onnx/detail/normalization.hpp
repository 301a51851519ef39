#pragma once

#include <primsel/onnx/detail/elementwise.hpp>
#include <primsel/onnx/detail/reduce.hpp>
#include <primsel/onnx/detail/window.hpp>

namespace primsel::inline PRIMSEL_ABI::onnx {

namespace detail {

/// Each less the mean, in units of the standard deviation.
struct Normal {
    Operand value, mean, variance, deviation;
};
[[nodiscard]] inline Normal emit_normal(Builder& build, Operand const& x, std::vector<std::size_t> const& axes,
                                        float epsilon) {
    const Operand mean = emit_reduce(build, ReduceKind::mean, x, axes);
    const Operand near = emit_binary(build, BinaryKind::subtract, x, mean);
    // A large mean, as a float, is rounded by a part of the deviation: what is near has a mean, too, with all its
    // digits.
    const Operand centred =
        emit_binary(build, BinaryKind::subtract, near, emit_reduce(build, ReduceKind::mean, near, axes));
    const Operand variance =
        emit_reduce(build, ReduceKind::mean, emit_unary(build, ActivationKind::power, centred, 2.0F), axes);
    const Operand deviation = emit_unary(build, ActivationKind::sqrt, build.scale(variance, 1.0F, epsilon));
    return {emit_binary(build, BinaryKind::divide, centred, deviation), mean, variance, deviation};
}

[[nodiscard]] inline float momentum_of(Call const& call) {
    const float momentum = call.real("momentum", 0.9F);
    if (!(momentum >= 0.0F && momentum <= 1.0F)) fail("its momentum must be from 0 to 1, not ", momentum);
    return momentum;
}

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
    const Normal normal = emit_normal(build, x, axes, epsilon);
    const Operand scaled = emit_binary(build, BinaryKind::multiply, normal.value, vector(1));
    call.give(emit_binary(build, BinaryKind::add, scaled, vector(2)));
    const float momentum = momentum_of(call);
    const auto moved = [&](std::size_t running, Operand const& now) {
        const Operand old = build.scale(vector(running), momentum, 0.0F),
                      fresh = build.scale(now, 1.0F - momentum, 0.0F);
        return build.reshape(emit_binary(build, BinaryKind::add, old, fresh), {x.dims[1]});
    };
    if (call.wants(1)) call.give(moved(3, normal.mean), 1);
    if (call.wants(2)) call.give(moved(4, normal.variance), 2);
}

}  // namespace detail

inline void translate_batch_norm(Call& call) {
    Sizes const& dims = call.dims(0);
    if (dims.size() < 2) fail("on a tensor of ", dims.size(), " dimensions");
    const float epsilon = call.real("epsilon", 1e-5F);
    if (call.opset() >= 14 && call.integer("training_mode", 0) != 0 && !call.build.trains()) {
        return detail::translate_batch_norm_training(call, epsilon);
    }
    if (call.opset() < 7 && call.integer("is_test", 0) == 0 && !call.build.trains())
        fail("in training mode, before opset 14");
    if (call.opset() < 9 && call.integer("spatial", 1) == 0) fail("statistics of each pixel are not supported");
    const Operand src = call.operand(0);
    const std::size_t input = call.build.view(src);
    const std::size_t node = call.build.emit(BatchNormParams{epsilon, detail::momentum_of(call)}, {input});
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
    for (const std::size_t i : {std::size_t{1}, std::size_t{2}}) {
        if (call.wants(i) && call.build.trains())
            fail("its running statistics are read in the model: it cannot be trained");
    }
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
    Builder& build = call.build;
    const Operand src = call.operand(0);
    if (params.size % 2 != 0) return call.give(build.apply(params, src, src.dims));
    // The larger half of a window of even size is ahead; the layer has it behind, as PyTorch.
    const std::size_t axis = 1 - build.hidden_axes();
    const Operand turned = detail::reversed(build, src, axis);
    call.give(detail::reversed(build, build.apply(params, turned, src.dims), axis));
}

namespace detail {
/// x * factor or x + summand, of an operand that broadcasts.
[[nodiscard]] inline Operand emit_affine_or_binary(Builder& build, BinaryKind kind, Operand const& x,
                                                   Operand const& y) {
    if (!y.node && y.constant.is_float()) {
        if (auto scaled = emit_affine(build, kind, x, y.constant)) return *scaled;
    }
    return emit_binary(build, kind, x, build.trained(y));
}
/// x * scale + bias, of inputs 1 and 2, which have one value a channel.
inline void give_scaled(Call& call, Operand x, Sizes const& channels, std::size_t first = 1) {
    for (std::size_t i = 0; i < 2; ++i) {
        if (!call.has(first + i)) continue;
        OnnxTensor const& values = call.floats(first + i, i == 0 ? "scale" : "bias");
        const Operand y{channels, std::nullopt, with_dims(values, channels)};
        x = emit_affine_or_binary(call.build, i == 0 ? BinaryKind::multiply : BinaryKind::add, x, y);
    }
    call.give(std::move(x));
}
/// One value for each of c channels, as it broadcasts with one image of the given extents.
[[nodiscard]] inline Sizes channels_of(Builder const& build, Sizes const& dims) {
    Sizes channels(dims.size(), 1);
    const std::size_t axis = 1 - build.hidden_axes();
    channels[axis] = dims[axis];
    return channels;
}
}  // namespace detail

/// Each channel of each image by its own statistics.
inline void translate_instance_norm(Call& call) {
    if (call.rank(0) < 3) fail("on a tensor of ", call.rank(0), " dimensions");
    const Operand x = call.operand(0);
    std::vector<std::size_t> axes;
    for (std::size_t axis = 2 - call.build.hidden_axes(); axis < x.dims.size(); ++axis) axes.push_back(axis);
    Operand normal = detail::emit_normal(call.build, x, axes, call.real("epsilon", 1e-5F)).value;
    detail::give_scaled(call, std::move(normal), detail::channels_of(call.build, x.dims));
}

namespace detail {
/// Gives x times input 1, plus input 2 where there is one: tensors that broadcast with the axes from `first` on.
inline void give_scaled_from(Call& call, Operand x, std::size_t first) {
    for (const std::size_t i : {std::size_t{1}, std::size_t{2}}) {
        if (!call.has(i)) continue;
        OnnxTensor const& values = call.floats(i, i == 1 ? "scale" : "bias");
        if (values.dims.size() > x.dims.size() - first) fail("its scale or bias has too many dimensions");
        const Operand y{values.dims, std::nullopt, values};
        x = emit_affine_or_binary(call.build, i == 1 ? BinaryKind::multiply : BinaryKind::add, x, y);
    }
    call.give(std::move(x));
}
/// The axes of an image from one on, which is counted as the attribute `axis` has it.
[[nodiscard]] inline std::vector<std::size_t> axes_from(Call const& call) {
    const std::size_t first = call.build.image_axis(call.integer("axis", -1), call.rank(0));
    std::vector<std::size_t> axes(call.rank(0) - call.build.hidden_axes() - first);
    std::iota(axes.begin(), axes.end(), first);
    return axes;
}
}  // namespace detail

/// All axes from one on.
inline void translate_layer_norm(Call& call) {
    const std::vector<std::size_t> axes = detail::axes_from(call);
    const Operand x = call.operand(0);
    const detail::Normal normal = detail::emit_normal(
        call.build, x, axes, call.real("epsilon", call.op() == "SkipLayerNormalization" ? 1e-12F : 1e-5F));
    if (call.wants(1)) call.give(normal.mean, 1);
    if (call.wants(2))
        call.give(emit_binary(call.build, BinaryKind::divide, scalar_operand(call.build, 1.0F), normal.deviation), 2);
    detail::give_scaled_from(call, normal.value, axes[0]);
}

/// Quotients by the root of the mean square over all axes from one on.
inline void translate_rms_norm(Call& call) {
    Builder& build = call.build;
    const std::vector<std::size_t> axes = detail::axes_from(call);
    const Operand x = call.operand(0);
    const Operand mean = emit_reduce(build, ReduceKind::mean, emit_unary(build, ActivationKind::power, x, 2.0F), axes);
    const Operand root = emit_unary(build, ActivationKind::sqrt, build.scale(mean, 1.0F, call.real("epsilon", 1e-5F)));
    detail::give_scaled_from(call, emit_binary(build, BinaryKind::divide, x, root), axes[0]);
}

/// Groups of channels by their statistics. Before opset 21, scale and bias have one value a group.
inline void translate_group_norm(Call& call) {
    if (call.rank(0) < 3) fail("on a tensor of ", call.rank(0), " dimensions");
    Builder& build = call.build;
    const Operand x = call.operand(0);
    const std::size_t axis = 1 - build.hidden_axes();
    const std::int64_t groups = bounded(call.integer("num_groups", 0), 1, x.dims[axis], "a number of groups");
    if (x.dims[axis] % groups != 0) fail(groups, " groups of ", x.dims[axis], " channels");
    Sizes grouped(x.dims.begin(), x.dims.begin() + static_cast<std::ptrdiff_t>(axis));
    grouped.push_back(groups);
    grouped.push_back(count_of(x.dims) == 0 ? 0 : elements(x.dims) / groups / (axis == 0 ? 1 : x.dims[0]));
    const Operand normal = build.reshape(
        detail::emit_normal(build, build.reshape(x, grouped), {axis + 1}, call.real("epsilon", 1e-5F)).value, x.dims);
    const Sizes channels = detail::channels_of(build, x.dims);
    if (call.dims(1) == Sizes{x.dims[axis]}) return detail::give_scaled(call, normal, channels);
    Operand result = normal;
    for (const std::size_t i : {std::size_t{1}, std::size_t{2}}) {
        OnnxTensor const& values = call.floats(i, i == 1 ? "scale" : "bias");
        const OnnxTensor each =
            with_dims(pick(with_dims(values, {groups, 1}), expansion({groups, 1}, {groups, x.dims[axis] / groups}),
                           build.constants),
                      channels);
        const Operand y{channels, std::nullopt, each};
        result = detail::emit_affine_or_binary(build, i == 1 ? BinaryKind::multiply : BinaryKind::add, result, y);
    }
    call.give(std::move(result));
}

/// By the statistics of some axes: unless others are given, all but the channels.
inline void translate_mean_variance_norm(Call& call) {
    std::vector<std::size_t> axes;
    for (const std::size_t axis : axis_indices(call.integers("axes", {0, 2, 3}), call.rank(0))) {
        axes.push_back(call.build.image_axis(static_cast<std::int64_t>(axis), call.rank(0)));
    }
    call.give(detail::emit_normal(call.build, call.operand(0), axes, 1e-9F).value);
}

/// Along an axis: each vector becomes one of length 1.
inline void translate_lp_norm(Call& call) {
    const std::size_t axis = call.build.image_axis(call.integer("axis", -1), call.rank(0));
    const std::int64_t p = call.integer("p", 2);
    if (p != 1 && p != 2) fail("a norm of p = ", p);
    const Operand x = call.operand(0);
    const Operand norm =
        detail::emit_reduction(call.build, p == 1 ? detail::Reduction::l1 : detail::Reduction::l2, x, {axis});
    call.give(emit_binary(call.build, BinaryKind::divide, x, norm));
}

/// x - log(sum(exp(x))), along the axes of Softmax.
inline void translate_log_softmax(Call& call) {
    const std::size_t rank = call.rank(0);
    const bool is_one_axis = call.opset() >= 13;
    const std::size_t axis = call.build.image_axis(call.integer("axis", is_one_axis ? -1 : 1), rank);
    const Operand x = call.operand(0);
    std::vector<std::size_t> axes;
    for (std::size_t i = axis; i < (is_one_axis ? axis + 1 : x.dims.size()); ++i) axes.push_back(i);
    const Operand top = emit_reduce(call.build, ReduceKind::max, x, axes);
    const Operand below = emit_binary(call.build, BinaryKind::subtract, x, top);
    const Operand terms = emit_unary(call.build, ActivationKind::exp, below);
    const Operand sum =
        emit_unary(call.build, ActivationKind::log, emit_reduce(call.build, ReduceKind::sum, terms, axes));
    call.give(emit_binary(call.build, BinaryKind::subtract, below, sum));
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
