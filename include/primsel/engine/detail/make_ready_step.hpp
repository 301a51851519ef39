// Scheduled steps as plain values.
#pragma once

#include <primsel/engine/detail/make_strips.hpp>
#include <primsel/engine/ready_step.hpp>
#include <primsel/engine/step.hpp>
#include <primsel/op/op_args.hpp>
#include <primsel/tensor/range.hpp>

#include <cstddef>
#include <utility>
#include <variant>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::engine::detail {

using AnyReadyStep = std::variant<ReadyOp, ReadyConv, ReadyEpilogue, ReadyTransform, ReadyStrips>;

/// A step whose weights are packed.
struct PackedStep {
    ScheduledStep step;
    /// Positions among the packed weights, of each convolution.
    std::vector<std::size_t> weights{}, bias{};
    std::vector<TensorRange> src_ranges{};
    TensorRange dst_range{};
    AnyReadyStep ready{};
};

template <class Ready>
[[nodiscard]] ReadyStep keep_ready(PackedStep& packed, Ready const& step) {
    return ready(packed.ready.template emplace<Ready>(step));
}
[[nodiscard]] inline ReadyConv ready_conv(PackedStep const& packed, ConvStep const& step) {
    ScheduledConv const& conv = step.conv;
    std::vector<std::size_t> const& src = packed.step.src;
    return {.kernel = conv.primitive->run,
            .shape = conv.shape,
            .whole_batch = conv.primitive->whole_batch,
            .src = src[0],
            .gradient = src.size() > 1 ? src[1] : no_tensor,
            .residual = conv.residual,
            .dst = packed.step.dst,
            .scratch = step.scratch,
            .written = step.written,
            .weights = packed.weights[0],
            .bias = packed.bias[0],
            .summand = conv.summand,
            .clamp = conv.clamp,
            .src_range = packed.src_ranges.front(),
            .dst_range = packed.dst_range,
            .residual_range = packed.src_ranges.back(),
            .repack = step.packed == no_tensor ? nullptr : conv.primitive->repack,
            .rotated = conv.rotated,
            .packed = step.packed};
}
/// The step with all that a run needs; its inputs' addresses begin at op_srcs, which then moves on behind them.
[[nodiscard]] inline ReadyStep make_ready(PackedStep& packed, std::size_t& op_srcs) {
    ScheduledStep const& step = packed.step;
    if (const auto* conv = std::get_if<ConvStep>(&step.work)) {
        return keep_ready(packed, ready_conv(packed, *conv));
    }
    if (const auto* strips = std::get_if<StripsStep>(&step.work)) {
        ReadyStrips ready{.strips = make_strips(strips->convs, strips->rows),
                          .src = step.src[0],
                          .dst = step.dst,
                          .scratch = strips->scratch,
                          .written = strips->written};
        for (std::size_t i = 0; i < strips->convs.size(); ++i) {
            ready.weights[i] = packed.weights[i], ready.bias[i] = packed.bias[i];
            ready.residual[i] = strips->convs[i].residual;
        }
        return keep_ready(packed, ready);
    }
    if (const auto* epilogue = std::get_if<EpilogueStep>(&step.work)) {
        return keep_ready(packed, ReadyEpilogue{.epilogue = epilogue->layout->epilogue,
                                                .shape = step.dst_shape,
                                                .dst = step.dst,
                                                .residual = epilogue->residual,
                                                .bias = epilogue->bias ? packed.bias[0] : no_tensor,
                                                .summand = epilogue->summand,
                                                .clamp = epilogue->clamp});
    }
    if (const auto* transform = std::get_if<TransformStep>(&step.work)) {
        return keep_ready(packed, ReadyTransform{.transform = transform->transform->run,
                                                 .shape = step.dst_shape,
                                                 .src = step.src[0],
                                                 .dst = step.dst,
                                                 .range = packed.dst_range});
    }
    auto const& op = std::get<OpStep>(step.work);
    const std::size_t first = std::exchange(op_srcs, op_srcs + step.src.size());
    return keep_ready(packed, ReadyOp{.op =
                                          [](const void* layer, OpArgs const& args) noexcept {
                                              auto const& at = *static_cast<OpStep const*>(layer);
                                              at.op->run(at.layer, args);
                                          },
                                      .layer = &op,
                                      .src = step.src,
                                      .src_shapes = step.src_shapes,
                                      .src_ranges = packed.src_ranges,
                                      .op_src = first,
                                      .dst = step.dst,
                                      .scratch = op.scratch,
                                      .dst_shape = step.dst_shape,
                                      .dst_range = packed.dst_range,
                                      .weights = packed.weights.empty() ? no_tensor : packed.weights[0],
                                      .clamp = op.clamp});
}

}  // namespace primsel::inline PRIMSEL_ABI::engine::detail
