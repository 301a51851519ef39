#pragma once

#include <primsel/kernels/kernels.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <span>
#include <string_view>

namespace primsel::inline PRIMSEL_ABI {

/// The run of a network that a kernel is part of, as far as it decides what the kernel takes. Distances count the bytes
/// that pass through the caches between two uses of the same bytes (reuse distance): they say which level of memory the
/// second use reads from.
struct RunContext {
    int batch = 1;  ///< images
    /// Each run packs the kernel, because weights change between runs.
    bool packs = false;
    /// All images go through a layer before any goes through the next, as in a step of training.
    bool layer_by_layer = false;
    /// Reuse distance of what the layer reads and writes where it goes layer by layer; 0: its own bytes.
    double data_reuse_bytes = 0;
    /// Reuse distance of the layer's weights; 0: they come from memory.
    double weight_reuse_bytes = 0;
    /// Operations of convolutions between two uses of the weights: the longer they lie idle, the more of them other
    /// programs push out of shared caches.
    double weight_reuse_operations = 0;

    friend bool operator==(RunContext const&, RunContext const&) = default;
};

/// Seconds of a primitive for a convolution: all images of the batch, without bias and activation.
struct ConvQuery {
    ConvShape shape;
    std::size_t primitive;
    RunContext run = {};
};
/// Seconds of changing a tensor from one layout to another.
struct TransformQuery {
    Shape shape;
    std::size_t from, to;
    RunContext run = {};
};
/// Seconds of any other layer in a layout. A ConvParams layer stands for the pass that adds bias and residual (the
/// second input where there is one) and clamps, after a primitive that does not.
struct OpQuery {
    AnyLayer const* layer;
    std::span<const Shape> inputs;
    Shape output;
    std::size_t layout;
    RunContext run = {};
};

/// Predicts seconds. Each call answers a batch of questions of one kind, seconds[i] for queries[i]: >= 0, or infinite
/// where the model has no price, which forbids it. May throw error, as set-up may. An answer depends on every field of
/// its question, but for the fields of RunContext that `M::ignores`, if it is there, names.
template <class M>
concept CostModel =
    requires(M& model, Kernels const& kernels, std::span<const ConvQuery> convs,
             std::span<const TransformQuery> transforms, std::span<const OpQuery> ops, std::span<double> seconds) {
        { M::name } -> std::convertible_to<std::string_view>;
        model.predict(kernels, convs, seconds);
        model.predict(kernels, transforms, seconds);
        model.predict(kernels, ops, seconds);
    };

/// Whether answers of a model may ignore this field of RunContext.
template <CostModel M>
[[nodiscard]] constexpr bool ignores(std::string_view field) {
    if constexpr (requires { M::ignores; }) return std::ranges::find(M::ignores, field) != std::end(M::ignores);
    return false;
}

}  // namespace primsel::inline PRIMSEL_ABI
