#pragma once

#include <primsel/core/clamp.hpp>
#include <primsel/core/executor.hpp>
#include <primsel/tensor/shape.hpp>

#include <cstddef>
#include <span>

namespace primsel::inline PRIMSEL_ABI {

/// The arguments of an op. Every tensor is a batch of images, one after the other, all in the op's one layout; but for
/// results and parameters of the whole batch (of_batch in layer/all.hpp), of which there is one.
struct OpArgs {
    std::span<const float* const> src;
    std::span<const Shape> src_shape;
    float* dst = nullptr;
    Shape dst_shape;
    int batch = 1;
    /// Where the first of them stands among all images of a run, which may come one by one.
    std::size_t first_image = 0;
    /// The packed weights; null for an op without weights.
    const float* weights = nullptr;
    /// Bounds of the result; only for dense layers, sums and normalisations.
    Clamp clamp{};
    /// Room that belongs to the op while it runs; null where it asks for none.
    float* scratch = nullptr;
    ExecutorRef executor;
};

/// The weights of a layer as they are stored: the kernel of dense is k x (c * h * w) in chw order; of batch norm and
/// scale it is the factor of each channel, with the shift as bias. An absent bias is empty; whoever fills this has
/// checked the sizes.
struct OpWeights {
    std::span<const float> kernel;
    std::span<const float> bias;
};

}  // namespace primsel::inline PRIMSEL_ABI
