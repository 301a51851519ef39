#pragma once

#include <primsel/kernels/kernels.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

/// The facts about a run of a network that affect a kernel's time. A reuse distance is the number of bytes that pass
/// through the caches between two uses of the same data. It decides which memory level the second use reads from.
struct RunContext {
    int batch = 1;  ///< images
    /// Each run packs the kernel, because weights change between runs.
    bool packs = false;
    /// All images go through a layer before any goes through the next, as in a step of training.
    bool layer_by_layer = false;
    /// Reuse distance of the layer's inputs and output. 0 stands for the layer's own bytes.
    double data_reuse_bytes = 0;
    /// Reuse distance of the layer's weights; 0: they come from memory.
    double weight_reuse_bytes = 0;
    /// Operations of convolutions between two uses of the weights. They give the time between the uses, during which
    /// other programs evict the weights from shared caches.
    double weight_reuse_operations = 0;
    int threads = 1;  ///< threads that share each layer
    /// The number of threads that do the same at the same time, each with images of its own.
    int apart = 1;

    friend bool operator==(RunContext const&, RunContext const&) = default;
};

/// Asks for the seconds of a primitive on all images of the batch, without bias and activation. `shape` is that of one
/// image; `primitive` is a position in Kernels::primitives.
struct ConvQuery {
    ConvShape shape;
    std::size_t primitive;
    RunContext run = {};
};
/// Asks for the seconds of a layout transform of all images of the batch. `shape` is that of one image; `from` and `to`
/// are positions in Kernels::layouts.
struct TransformQuery {
    Shape shape;
    std::size_t from, to;
    RunContext run = {};
};
/// Asks for the seconds of any other layer on all images of the batch. `layout` is a position in Kernels::layouts. A
/// ConvParams layer stands for the pass that adds bias and residual (the second input, if there is one) and clamps; it
/// follows primitives that do not do so themselves.
struct OpQuery {
    AnyLayer const* layer;
    std::span<const Shape> inputs;
    Shape output;
    std::size_t layout;
    RunContext run = {};
};

/// Predicts seconds. Each call answers queries of one kind: seconds[i] for queries[i]. An answer is >= 0, or infinite
/// if the model has no price, and the planner then does not use that choice. predict may throw error. An answer may
/// depend on every field of its query except the fields of RunContext that the optional list `M::ignores` names.
template <class M>
concept CostModel =
    requires(M& model, Kernels const& kernels, std::span<const ConvQuery> convs,
             std::span<const TransformQuery> transforms, std::span<const OpQuery> ops, std::span<double> seconds) {
        { M::name } -> std::convertible_to<std::string_view>;
        model.predict(kernels, convs, seconds);
        model.predict(kernels, transforms, seconds);
        model.predict(kernels, ops, seconds);
    };

/// Returns whether M::ignores names this field of RunContext.
template <CostModel M>
[[nodiscard]] constexpr bool ignores(std::string_view field) {
    if constexpr (requires { M::ignores; }) return std::ranges::find(M::ignores, field) != std::end(M::ignores);
    return false;
}

/// Turns the seconds of one thread into those of the threads that each query names, sharing layers or apart, in the
/// proportion that the model predicts: for models of times that were measured on one thread.
template <CostModel M, class Query>
void scale_to_threads(M& model, Kernels const& kernels, std::span<const Query> queries, std::span<double> seconds) {
    std::vector<std::size_t> positions;
    std::vector<Query> asked;  // those on several threads, then the same on one
    for (std::size_t i = 0; i < queries.size(); ++i) {
        if (queries[i].run.threads > 1 || queries[i].run.apart > 1) positions.push_back(i), asked.push_back(queries[i]);
    }
    if (positions.empty()) return;
    for (const std::size_t i : positions) {
        asked.push_back(queries[i]);
        asked.back().run.threads = asked.back().run.apart = 1;
    }
    std::vector<double> predicted(asked.size());
    model.predict(kernels, std::span<const Query>(asked), std::span(predicted));
    for (std::size_t i = 0; i < positions.size(); ++i) {
        const double ratio = predicted[i] / predicted[positions.size() + i];
        if (ratio > 0 && ratio < std::numeric_limits<double>::infinity()) seconds[positions[i]] *= ratio;
    }
}

}  // namespace primsel::inline PRIMSEL_ABI
