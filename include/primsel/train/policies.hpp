#pragma once

#include <primsel/engine/policies.hpp>
#include <primsel/primitive/training.hpp>
#include <primsel/train/learning_rate.hpp>
#include <primsel/train/loss.hpp>
#include <primsel/train/optimizer.hpp>

namespace primsel::inline PRIMSEL_ABI {

/// The choices behind a Trainer: those of an engine and the parts of a step. Inherit and override line by line:
///     struct Recipe : primsel::DefaultTraining {
///         using optimizer = primsel::AdamW;
///         using learning_rate = primsel::Warmup<primsel::Cosine>;
///     };
struct DefaultTraining : DefaultPolicies {
    using primitives = TrainingPrimitives;
    using optimizer = Sgd;
    using loss = SoftmaxCrossEntropy;
    using learning_rate = Cosine;
};

#ifdef PRIMSEL_EXTERN_KERNELS
// Programs that train instantiate both beside engine/instantiate.hpp: for steps, and for what judges them.
extern template Kernels make_kernels<TrainingPrimitives, default_arch, AllLayouts, CompileTraining>();
extern template Kernels make_kernels<TrainingPrimitives, default_arch, AllLayouts>();
#endif

}  // namespace primsel::inline PRIMSEL_ABI
