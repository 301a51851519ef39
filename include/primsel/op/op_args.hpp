#pragma once

#include <primsel/core/clamp.hpp>
#include <primsel/core/executor.hpp>
#include <primsel/tensor/range.hpp>
#include <primsel/tensor/shape.hpp>

#include <cstddef>
#include <span>

namespace primsel::inline PRIMSEL_ABI {

/// The arguments of an op. Every tensor is a batch of images in the op's layout. Exceptions are results and parameters
/// of the whole batch (of_batch in layer/all.hpp), which exist once.
struct OpArgs {
    std::span<const float* const> src;
    std::span<const Shape> src_shape;
    float* dst = nullptr;
    Shape dst_shape;
    int batch = 1;
    /// The number of the first image within the run, whose images may be processed one by one.
    std::size_t first_image = 0;
    /// The packed weights; null for an op without weights.
    const float* weights = nullptr;
    /// The bounds of the result; only for dense layers, sums and normalisations.
    Clamp clamp{};
    /// Room that belongs to the op while it runs; null where it asks for none.
    float* scratch = nullptr;
    ExecutorRef executor;
    /// The ranges of the inputs and of the result, in a layout of bytes.
    std::span<const TensorRange> src_range{};
    TensorRange dst_range{};
};

/// The weights of a layer as they are stored. The kernel of a dense layer is k x (c * h * w) in chw order. For batch
/// norm and scale it is the factor of each channel, and the shift is the bias. An absent bias is empty. The sizes are
/// checked before.
struct OpWeights {
    std::span<const float> kernel;
    std::span<const float> bias;
};

}  // namespace primsel::inline PRIMSEL_ABI
