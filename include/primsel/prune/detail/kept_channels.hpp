#pragma once

#include <primsel/core/visit.hpp>
#include <primsel/network/graph.hpp>
#include <primsel/network/prepare.hpp>
#include <primsel/prune/coupling.hpp>
#include <primsel/prune/detail/channel_walk.hpp>
#include <primsel/prune/detail/passes_channels.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <set>
#include <string_view>
#include <variant>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::prune::detail {

/// The channels of each layer's result that stay, ascending.
class KeptChannels {
public:
    KeptChannels(Graph const& graph, Coupling const& coupling, std::set<std::size_t> const& gone) {
        std::vector<bool> goes(coupling.groups().size(), false);
        for (const std::size_t group : gone) goes[group] = true;
        for (std::size_t i = 0; i < graph.size(); ++i) {
            std::vector<std::size_t> const& groups = coupling.groups_of(i);
            kept_.emplace_back();
            kept_.back().reserve(groups.size());
            for (std::size_t c = 0; c < groups.size(); ++c) {
                if (!goes[groups[c]]) kept_.back().push_back(c);
            }
        }
    }
    [[nodiscard]] std::vector<std::size_t> const& of(std::size_t node) const { return kept_[node]; }
    [[nodiscard]] int count(std::size_t node) const { return static_cast<int>(kept_[node].size()); }
    /// The number of channels kept before this one.
    [[nodiscard]] int count_before(std::size_t node, int channel) const {
        const auto end = std::ranges::lower_bound(kept_[node], static_cast<std::size_t>(channel));
        return static_cast<int>(end - kept_[node].begin());
    }

private:
    std::vector<std::vector<std::size_t>> kept_;
};

/// Makes a layer's parameters for the channels that stay.
struct KeptLayer {
    Graph const& graph;
    std::size_t at;
    KeptChannels const& kept;

    [[nodiscard]] std::size_t input() const { return graph[at].inputs[0]; }

    template <Convolves Params>
    AnyLayer operator()(Params const& whole) const {
        Params conv = whole;
        if (is_depthwise(conv, graph[input()].shape.c) && conv.groups > 1) conv.groups = kept.count(input());
        conv.k = kept.count(at);
        return conv;
    }
    AnyLayer operator()(DenseParams dense) const {
        dense.k = kept.count(at);
        return dense;
    }
    AnyLayer operator()(ReshapeParams reshape) const {
        reshape.shape.c = kept.count(at);
        return reshape;
    }
    AnyLayer operator()(ConstantParams constant) const {
        constant.shape.c = kept.count(at);
        return constant;
    }
    AnyLayer operator()(AsStridedParams const& strided) const {
        const auto walk = ChannelWalk::of(strided, graph[input()].shape);
        const int whole = graph[at].shape.c, left = kept.count(at);
        if (!walk || left == whole) return strided;
        return walk->with(static_cast<int>(walk->positions()) * left / whole);
    }
    AnyLayer operator()(PadParams pad) const {
        const int behind = graph[at].shape.c - pad.back;
        pad.back = kept.count(at) - kept.count_before(at, behind);
        pad.front = kept.count_before(at, pad.front);
        return pad;
    }
    AnyLayer operator()(SliceParams slice) const {
        if (slice.axis != Axis::c) return slice;
        slice.first = kept.count_before(input(), slice.first);
        slice.last = kept.count_before(input(), slice.last);
        return slice;
    }
    template <class Params>
    AnyLayer operator()(Params const& params) const {
        return params;
    }
};

/// The values of a weight that stay: rows of the channels that are made, and in each row columns of the channels that
/// are read.
class WeightSlices {
public:
    WeightSlices(Graph const& graph, std::size_t at, WeightSpec const& spec, KeptChannels const& kept) {
        Node const& node = graph[at];
        const auto dim = [&](std::size_t i) {
            return i < spec.dims.size() ? static_cast<std::size_t>(spec.dims[i]) : 1;
        };
        width_ = dim(1);
        for (std::size_t i = 2; i < spec.dims.size(); ++i) depth_ *= dim(i);
        // A transposed convolution's weights have a row for each channel that it reads.
        const auto* transposed = spec.dims.size() > 1 ? std::get_if<ConvTransposeParams>(&node.layer) : nullptr;
        const auto* own = std::get_if<OwnLayerParams>(&node.layer);
        // Nor has a dense layer on rows or a recurrent one a weight for each channel.
        if (std::holds_alternative<ParameterParams>(node.layer) ||
            std::holds_alternative<DenseRowsParams>(node.layer) ||
            std::holds_alternative<RecurrentParams>(node.layer) || (own != nullptr && !own->channel_wise())) {
            rows_ = all(dim(0)), columns_ = all(width_);
            return;
        }
        rows_ = transposed != nullptr ? kept.of(node.inputs[0]) : kept.of(at);
        if (spec.dims.size() == 1) {
            columns_ = {0};
            return;
        }
        const auto* conv = std::get_if<ConvParams>(&node.layer);
        const bool dense = std::holds_alternative<DenseParams>(node.layer);
        if (conv == nullptr && transposed == nullptr && !dense) {  // a constant
            columns_ = all(width_);
            return;
        }
        const bool depthwise =
            (conv != nullptr && conv->groups > 1 && is_depthwise(*conv, graph[node.inputs[0]].shape.c)) ||
            (transposed != nullptr && transposed->groups > 1 &&
             is_depthwise(*transposed, graph[node.inputs[0]].shape.c));
        if (depthwise) {
            columns_ = all(width_);
            return;
        }
        // In a grouped convolution each row has the channels of one group; all groups keep the same ones.
        const std::size_t pixels = dense ? graph[node.inputs[0]].shape.pixels() : 1;
        for (const std::size_t channel : kept.of(transposed != nullptr ? at : node.inputs[0])) {
            if (channel * pixels >= width_) break;
            for (std::size_t pixel = 0; pixel < pixels; ++pixel) columns_.push_back(channel * pixels + pixel);
        }
    }

    [[nodiscard]] std::size_t rows() const { return rows_.size(); }
    [[nodiscard]] std::size_t columns() const { return columns_.size(); }
    /// Calls visit(position) with the positions of the values that stay, ascending.
    void each_kept(auto const& visit) const {
        for (const std::size_t row : rows_) {
            for (const std::size_t column : columns_) {
                for (std::size_t i = 0; i < depth_; ++i) visit((row * width_ + column) * depth_ + i);
            }
        }
    }

private:
    [[nodiscard]] static std::vector<std::size_t> all(std::size_t count) {
        std::vector<std::size_t> each(count);
        std::iota(each.begin(), each.end(), std::size_t{0});
        return each;
    }

    std::vector<std::size_t> rows_, columns_;
    std::size_t width_ = 1, depth_ = 1;
};

/// Calls visit(layer's position, spec) for every weight of the graph.
void each_weight(Graph const& graph, auto const& visit) {
    for (std::size_t i = 0; i < graph.size(); ++i) {
        Node const& node = graph[i];
        const Shape input = node.inputs.empty() ? Shape{} : graph[node.inputs[0]].shape;
        const auto add = [&](std::string_view weight, WeightDims dims, WeightValues values) {
            visit(i, WeightSpec{network::weight_name(node.name, weight), dims, values});
        };
        core::visit(
            [&](auto const& layer) {
                if constexpr (requires { layer.each_weight(input, add); }) layer.each_weight(input, add);
            },
            node.layer);
    }
}

}  // namespace primsel::inline PRIMSEL_ABI::prune::detail
