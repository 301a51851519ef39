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
/// Both gradients of a convolution. The gradient of the input is also computed by the forward primitives, with a
/// rotated kernel, where the stride is 1.
using GradientPrimitives = concatenate<InputGradientPrimitives, WeightGradientPrimitives>;

/// The primitives that a step of training considers by default: forward ones that take a whole batch or win its layers,
/// and all gradients.
using TrainingPrimitives = concatenate<
    TypeList<Indirect, DirectHwc, DepthwiseHwc, GroupedHwc, Winograd<2, 3, 16>, Winograd<4, 3, 16>,
             Conv1x1Gemm<GemmForm::ab, GemmOut::ik>, Im2<Patch::col, PatchCopy::copy_short, GemmForm::ab, GemmOut::ki>>,
    GradientPrimitives>;

}  // namespace primsel::inline PRIMSEL_ABI
