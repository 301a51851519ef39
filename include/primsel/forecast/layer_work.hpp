// The work of each layer of a network, all layers included: what time and memory are computed from.
#pragma once

#include <primsel/core/visit.hpp>
#include <primsel/forecast/features.hpp>
#include <primsel/network/graph.hpp>
#include <primsel/network/weight_specs.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::forecast {

/// The work of a layer for one image. Values are floats.
struct LayerWork {
    enum class Kind : std::uint8_t { convolution, depthwise, dense, normalization, activation, add, pool, other };
    Kind kind = Kind::other;
    /// Multiply-adds, or of pooling the values of all windows; values read and written; values of one channel of the
    /// result.
    double multiply_adds = 0, in = 0, out = 0, plane = 0;
    /// Trained values, and the tensors that hold them.
    double weights = 0, tensors = 0;
    /// Channels read and written by a group.
    int in_channels = 1, out_channels = 1;
    /// Bytes that PyTorch keeps for the backward pass from this layer on, and bytes of a copy that it keeps of the
    /// input of a clip, which works in place.
    double kept = 0, copied = 0;
    /// Values of other layers' results that live while this layer runs.
    double live = 0;
    /// The result takes the place of the input.
    bool in_place = false;
    /// The sizes that thinning leaves as they are: the same in all networks of a family.
    int form = 0;
};

/// The number of a network's family: networks that differ in channels alone, as thinned ones do, have the same.
[[nodiscard]] inline std::uint64_t family_of(std::span<const LayerWork> layers) {
    std::uint64_t hash = 1469598103934665603U;  // FNV-1a
    const auto add = [&](std::uint64_t value) { hash = (hash ^ value) * 1099511628211U; };
    for (LayerWork const& layer : layers) {
        add(static_cast<std::uint64_t>(layer.kind));
        add(static_cast<std::uint64_t>(layer.form));
        add(static_cast<std::uint64_t>(layer.plane));
    }
    return hash;
}

namespace detail {

[[nodiscard]] inline LayerWork conv_work(ConvSizes const& conv, bool bias) {
    const double in_plane = static_cast<double>(conv.in_h) * conv.in_w,
                 plane = static_cast<double>(conv.out_h) * conv.out_w,
                 area = static_cast<double>(conv.kernel_h) * conv.kernel_w;
    const bool depthwise = conv.groups > 1 && conv.groups == conv.m;
    LayerWork work{.kind = depthwise ? LayerWork::Kind::depthwise : LayerWork::Kind::convolution};
    work.in = conv.m * in_plane, work.out = conv.n * plane, work.plane = plane;
    work.in_channels = conv.m / conv.groups, work.out_channels = conv.n / conv.groups;
    work.multiply_adds = work.out * work.in_channels * area;
    work.weights = static_cast<double>(conv.n) * work.in_channels * area + (bias ? conv.n : 0);
    work.tensors = bias ? 2 : 1;
    work.form = conv.kernel_h * 64 + conv.kernel_w;
    return work;
}

/// Makes the works of a graph, with PyTorch's rules for what the backward pass needs: convolutions, dense layers and
/// batch norms keep their inputs, activations in place their results, max pooling its input, its result and 8 bytes of
/// indices a value. Nothing is kept twice.
class GraphWorks {
public:
    explicit GraphWorks(Graph const& graph) : graph_(graph), root_(graph.size()), last_use_(graph.size(), 0) {
        for (std::size_t i = 0; i < graph.size(); ++i) {
            root_[i] = in_place(i) ? root_[graph[i].inputs[0]] : i;
            for (const std::size_t input : graph[i].inputs) last_use_[root_[input]] = i;
        }
    }
    [[nodiscard]] std::vector<LayerWork> all() {
        std::vector<LayerWork> works;
        for (std::size_t i = 0; i < graph_.size(); ++i) {
            const bool stored = std::holds_alternative<InputParams>(graph_[i].layer) ||
                                std::holds_alternative<ConstantParams>(graph_[i].layer);
            if (!stored) works.push_back(of(i));
            if (root_[i] == i) alive_.push_back(i);
        }
        return works;
    }

private:
    template <class... Kinds>
    [[nodiscard]] bool is(std::size_t i) const {
        return (std::holds_alternative<Kinds>(graph_[i].layer) || ...);
    }
    [[nodiscard]] bool in_place(std::size_t i) const {
        return is<ActivationParams, FlattenParams, DropoutParams, ReshapeParams>(i) && graph_[i].inputs.size() == 1;
    }
    [[nodiscard]] double size(std::size_t i) const { return static_cast<double>(graph_[i].shape.size()); }
    void keep(LayerWork& work, std::size_t i) {
        const bool image = is<InputParams, ConstantParams>(root_[i]);
        if (!image && kept_.insert(root_[i]).second) work.kept += sizeof(float) * size(i);
    }
    [[nodiscard]] LayerWork of(std::size_t i) {
        using Kind = LayerWork::Kind;
        Node const& node = graph_[i];
        LayerWork work;
        if (const auto* conv = std::get_if<ConvParams>(&node.layer)) {
            work = conv_work(conv_sizes(*conv, graph_[node.inputs[0]].shape), conv->bias);
        } else if (const auto* up = std::get_if<ConvTransposeParams>(&node.layer)) {
            work = conv_work(conv_sizes(*up, graph_[node.inputs[0]].shape), up->bias);
        } else {
            add_weights(work, node);
        }
        work.in = 0;
        for (const std::size_t input : node.inputs) work.in += size(input);
        work.out = size(i);
        work.plane = static_cast<double>(node.shape.h) * node.shape.w;
        work.in_place = in_place(i);
        const bool convolves = is<ConvParams, ConvTransposeParams>(i), dense = is<DenseParams, DenseRowsParams>(i);
        if (dense) {
            work.kind = Kind::dense, work.in_channels = static_cast<int>(work.in), work.out_channels = node.shape.c;
            work.multiply_adds = work.weights;
        }
        if (is<BatchNormParams>(i)) work.kind = Kind::normalization;
        if (is<AddParams>(i)) work.kind = Kind::add;
        if (is<PoolParams, GlobalPoolParams, MaxPoolIndicesParams>(i))
            work.kind = Kind::pool, work.multiply_adds = work.in;
        if (!node.inputs.empty() && (convolves || dense || is<BatchNormParams, GlobalPoolParams, PoolParams>(i)))
            keep(work, node.inputs[0]);
        if (const auto* pool = std::get_if<PoolParams>(&node.layer)) {
            work.form = pool->window.h * 64 + pool->window.w;
            work.multiply_adds = size(i) * pool->window.h * pool->window.w;
            if (pool->kind == PoolKind::max) keep(work, i), work.kept += 8 * size(i);
        }
        if (const auto* activation = std::get_if<ActivationParams>(&node.layer)) {
            work.kind = Kind::activation, work.form = static_cast<int>(activation->kind);
            keep(work, i);
            const bool clips = activation->kind == ActivationKind::relu6 || activation->kind == ActivationKind::clip;
            if (clips) work.copied = sizeof(float) * size(i);
        }
        for (const std::size_t other : alive_) {
            const bool own = other == root_[i] ||
                             std::ranges::any_of(node.inputs, [&](std::size_t input) { return root_[input] == other; });
            if (!own && last_use_[other] > i && !is<InputParams, ConstantParams>(other)) work.live += size(other);
        }
        return work;
    }
    void add_weights(LayerWork& work, Node const& node) const {
        for (WeightSpec const& spec : weight_specs(graph_, node)) {
            if (spec.name.find(".running_") != std::string::npos) continue;
            double values = 1;
            for (const std::int64_t extent : spec.dims) values *= static_cast<double>(extent);
            work.weights += values, work.tensors += 1;
        }
    }

    Graph const& graph_;
    std::vector<std::size_t> root_, last_use_, alive_;
    std::set<std::size_t> kept_;
};

}  // namespace detail

/// The works of a graph's layers, in its order; inputs and constants have none.
[[nodiscard]] inline std::vector<LayerWork> layer_works(Graph const& graph) { return detail::GraphWorks(graph).all(); }

/// The works of a network of which only the convolutions are known, in their order: an activation behind each, a batch
/// norm between them where `batch_norms`, and max pooling by windows of 3x3 where the next input is smaller.
[[nodiscard]] inline std::vector<LayerWork> layer_works(std::span<const ConvSizes> convolutions,
                                                        bool batch_norms = true) {
    using Kind = LayerWork::Kind;
    std::vector<LayerWork> works;
    ConvSizes const* before = nullptr;
    for (ConvSizes const& conv : convolutions) {
        const double in = static_cast<double>(conv.m) * conv.in_h * conv.in_w,
                     plane = static_cast<double>(conv.out_h) * conv.out_w, out = conv.n * plane;
        if (before != nullptr && (conv.in_h < before->out_h || conv.in_w < before->out_w)) {
            works.push_back({.kind = Kind::pool,
                             .multiply_adds = 9 * in,
                             .in = static_cast<double>(conv.m) * before->out_h * before->out_w,
                             .out = in,
                             .plane = static_cast<double>(conv.in_h) * conv.in_w,
                             .kept = 12 * in});
        }
        works.push_back(detail::conv_work(conv, !batch_norms));
        if (batch_norms) {
            works.push_back({.kind = Kind::normalization,
                             .in = out,
                             .out = out,
                             .plane = plane,
                             .weights = 2.0 * conv.n,
                             .tensors = 2,
                             .kept = 4 * out});
        }
        works.push_back(
            {.kind = Kind::activation, .in = out, .out = out, .plane = plane, .kept = 4 * out, .in_place = true});
        before = &conv;
    }
    return works;
}

}  // namespace primsel::inline PRIMSEL_ABI::forecast
