#pragma once

#include <primsel/kernels/kernels.hpp>

#include <concepts>
#include <cstddef>
#include <span>
#include <string_view>

namespace primsel::inline PRIMSEL_ABI {

/// What would this primitive take for this convolution (all images of the batch, without bias and activation)?
struct ConvQuery {
    ConvShape shape;
    std::size_t primitive;
    int batch = 1;
    /// Whether packing the kernel counts, as it does where weights change between runs.
    bool packs = false;
    /// Whether all images go through a layer before any goes through the next, as in a step of training: what the batch
    /// is larger than no longer feeds it.
    bool together = false;
    /// Then the bytes that go by between the last use of what the layer reads and writes and this one; 0: no more than
    /// its own.
    double apart = 0;
    /// Bytes that a run of the whole network reads before it reads these weights again, which then come from the cache
    /// that holds so many; 0: from memory.
    double run_bytes = 0;
    /// Operations of that run's convolutions, which say about how long weights lie idle: whoever shares the caches
    /// pushes them out.
    double run_operations = 0;
};
/// What would changing a tensor from one layout to another take?
struct TransformQuery {
    Shape shape;
    int batch;
    std::size_t from, to;
    bool together = false;  ///< as in ConvQuery
};
/// What would this other layer take in this layout? A ConvParams layer stands for the pass that adds its bias and its
/// residual, the second input where there is one, and clamps, after a primitive that does not.
struct OpQuery {
    AnyLayer const* layer;
    std::span<const Shape> inputs;
    Shape output;
    int batch;
    std::size_t layout;
    bool together = false;                     ///< as in ConvQuery
    double apart = 0;                          ///< as in ConvQuery
    double run_bytes = 0, run_operations = 0;  ///< as in ConvQuery
};

/// Predicts seconds. Each call answers a batch of questions of one kind, seconds[i] for queries[i]: >= 0, or infinite
/// where the model has no price, which forbids it. May throw error, as set-up may.
template <class M>
concept CostModel =
    requires(M& model, Kernels const& kernels, std::span<const ConvQuery> convs,
             std::span<const TransformQuery> transforms, std::span<const OpQuery> ops, std::span<double> seconds) {
        { M::name } -> std::convertible_to<std::string_view>;
        model.predict(kernels, convs, seconds);
        model.predict(kernels, transforms, seconds);
        model.predict(kernels, ops, seconds);
    };

}  // namespace primsel::inline PRIMSEL_ABI
