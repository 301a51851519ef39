// The primitives of a training step.
#pragma once

#include <primsel/core/type_list.hpp>
#include <primsel/primitive/all.hpp>
#include <primsel/primitive/depthwise_gradient.hpp>
#include <primsel/primitive/input_gradient.hpp>
#include <primsel/primitive/weight_gradient.hpp>
#include <primsel/primitive/weight_gradient_direct.hpp>
#include <primsel/primitive/winograd_weight_gradient.hpp>

namespace primsel::inline PRIMSEL_ABI {

using InputGradientPrimitives = TypeList<IndirectInputGradient, DepthwiseInputGradient>;
using WeightGradientPrimitives = TypeList<WeightGradientRow, WeightGradientDirect, WeightGradientCol,
                                          WinogradWeightGradient<4, 3>, DepthwiseWeightGradient>;
/// The primitives for both gradients of a convolution. With stride 1, forward primitives with a rotated kernel also
/// compute the gradient of the input.
using GradientPrimitives = concatenate<InputGradientPrimitives, WeightGradientPrimitives>;

/// The primitives that a training step considers by default: the forward ones that take a whole batch or are fastest on
/// some layers, and all gradients.
using TrainingPrimitives = concatenate<
    TypeList<Indirect, DirectHwc, DepthwiseHwc, GroupedHwc, Winograd<2, 3, 16>, Winograd<4, 3, 16>,
             Conv1x1Gemm<GemmForm::ab, GemmOut::ik>, Im2<Patch::col, PatchCopy::copy_short, GemmForm::ab, GemmOut::ki>>,
    GradientPrimitives>;

}  // namespace primsel::inline PRIMSEL_ABI
