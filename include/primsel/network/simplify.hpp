#pragma once

#include <primsel/network/graph.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

namespace detail {

/// A copy of a graph's nodes that is rewritten in place. A node that absorbs the one before it takes over its own
/// position; the other is gone, and nobody else read it.
class Rewriter {
public:
    explicit Rewriter(Graph const& graph)
        : nodes_(graph.nodes()),
          outputs_(graph.outputs()),
          uses_(graph.uses()),
          gone_(graph.size(), false),
          is_output_(graph.size(), false),
          parts_(graph.size()) {
        alias_.reserve(graph.size());
        for (std::size_t i = 0; i < graph.size(); ++i) alias_.push_back(i);
        for (const std::size_t output : outputs_) is_output_[output] = true;
    }

    void run() {
        for (std::size_t i = 0; i < nodes_.size(); ++i) {
            for (std::size_t& input : nodes_[i].inputs) input = alias_[input];
            while (!gone_[i] && (drop_identity(i) || pool_all(i) || reorder(i) || fold_affine(i) || fuse_pad(i) ||
                                 join_concats(i) || fuse_add(i) || fuse_clamp(i))) {
            }
        }
    }

    [[nodiscard]] Graph graph(int batch) const {
        Graph result(batch);
        std::vector<std::size_t> position(nodes_.size(), 0);
        for (std::size_t i = 0; i < nodes_.size(); ++i) {
            if (gone_[i]) continue;
            std::vector<std::size_t> inputs;
            for (const std::size_t input : nodes_[i].inputs) inputs.push_back(position[input]);
            position[i] = result.add(nodes_[i].name, nodes_[i].layer, std::move(inputs), nodes_[i].epilogue);
        }
        std::vector<std::size_t> outputs;
        for (const std::size_t output : outputs_) outputs.push_back(position[output]);
        result.set_outputs(std::move(outputs));
        return result;
    }

private:
    template <class Params>
    [[nodiscard]] Params* as(std::size_t i) {
        return std::get_if<Params>(&nodes_[i].layer);
    }
    [[nodiscard]] bool read_once(std::size_t i) const { return uses_[i] == 1; }
    [[nodiscard]] Shape input_shape(std::size_t i) const { return nodes_[nodes_[i].inputs[0]].shape; }

    /// The clamp of a node that may still be given one.
    [[nodiscard]] Clamp* free_clamp(std::size_t i) {
        const bool free = epilogue_parts(nodes_[i].layer).clamp && !nodes_[i].epilogue.clamp.bounded();
        return free ? &nodes_[i].epilogue.clamp : nullptr;
    }

    /// The node before i moves to i's place and stands for both.
    void absorb(std::size_t i, std::size_t before, std::vector<std::size_t> inputs) {
        const Shape shape = nodes_[i].shape;
        nodes_[i] = std::move(nodes_[before]);
        nodes_[i].inputs = std::move(inputs);
        nodes_[i].shape = shape;
        gone_[before] = true;
    }
    void absorb(std::size_t i) {
        const std::size_t before = nodes_[i].inputs[0];
        absorb(i, before, nodes_[before].inputs);
    }

    [[nodiscard]] bool is_identity(std::size_t i) {
        if (nodes_[i].inputs.size() != 1) return false;
        if (as<DropoutParams>(i) || as<ConcatParams>(i)) return true;
        if (as<FlattenParams>(i) || as<ReshapeParams>(i)) {
            return input_shape(i) == nodes_[i].shape || only_flat_reads(i);
        }
        if (auto* pad = as<PadParams>(i)) return pad->padding == Padding{} && pad->front == 0 && pad->back == 0;
        if (as<SliceParams>(i)) return input_shape(i) == nodes_[i].shape;
        if (auto* shuffle = as<ChannelShuffleParams>(i)) {
            return shuffle->groups == 1 || shuffle->groups == nodes_[i].shape.c;
        }
        if (as<GlobalPoolParams>(i)) return input_shape(i) == nodes_[i].shape;
        if (auto* pool = as<PoolParams>(i)) {
            return pool->window == Extent{1} && pool->stride == Extent{1} && pool->padding == Padding{};
        }
        return false;
    }
    /// Whether what a layer reads counts only in chw order, whatever its shape.
    [[nodiscard]] bool reads_flat(std::size_t i) {
        return as<DenseParams>(i) || as<ReshapeParams>(i) || as<AsStridedParams>(i);
    }
    [[nodiscard]] bool only_flat_reads(std::size_t i) {
        if (is_output_[i]) return false;
        for (std::size_t j = i + 1; j < nodes_.size(); ++j) {
            for (const std::size_t input : nodes_[j].inputs) {
                if (alias_[input] == i && !reads_flat(j) && !as<DropoutParams>(j)) return false;
                if (alias_[input] == i && as<DropoutParams>(j) && !only_flat_reads(j)) return false;
            }
        }
        return true;
    }
    /// A result must stay one: an identity there goes only if its input is not read elsewhere.
    bool drop_identity(std::size_t i) {
        if (!is_identity(i)) return false;
        const std::size_t before = nodes_[i].inputs[0];
        if (is_output_[i]) {
            if (!read_once(before) || as<InputParams>(before) || nodes_[before].shape != nodes_[i].shape) return false;
            absorb(i, before, nodes_[before].inputs);
            return true;
        }
        gone_[i] = true;
        alias_[i] = before;
        uses_[before] += uses_[i] - 1;
        return true;
    }

    /// Of several parameters for the same pooling the plainest; a window as large as the image is global pooling.
    bool pool_all(std::size_t i) {
        if (auto* indices = as<MaxPoolIndicesParams>(i)) indices->pool.count_include_pad = true;
        auto* pool = as<PoolParams>(i);
        if (pool == nullptr) return false;
        PoolParams floor = *pool;
        floor.ceil_mode = false;
        const Shape input = input_shape(i);
        if (floor.check({&input, 1}) == Fault::none && floor.output({&input, 1}) == nodes_[i].shape) *pool = floor;
        const bool nothing_beyond = pool->padding == Padding{} && !pool->ceil_mode;
        if (pool->kind == PoolKind::max || nothing_beyond) pool->count_include_pad = true;
        if (pool->window != Extent{input_shape(i).h, input_shape(i).w} || pool->padding != Padding{} ||
            pool->dilation != Extent{1} || nodes_[i].shape.pixels() != 1) {
            return false;
        }
        nodes_[i].layer = GlobalPoolParams{pool->kind};
        return true;
    }

    /// Reorderings of elements: one in place of two, and by their names where they have one.
    bool reorder(std::size_t i) {
        const bool reshape = as<ReshapeParams>(i) != nullptr;
        if (auto* before = reshape ? as<AsStridedParams>(nodes_[i].inputs[0]) : nullptr) {
            if (!read_once(nodes_[i].inputs[0])) return false;
            before->shape = nodes_[i].shape;
            absorb(i);
            nodes_[i].shape = as<AsStridedParams>(i)->shape;
            return true;
        }
        auto* strided = as<AsStridedParams>(i);
        if (strided == nullptr) return false;
        const AsStridedParams merged = merge_axes(*strided);
        if (merged != *strided) {
            *strided = merged;
            return true;
        }
        if (strided->offset == 0 && strided->dims == Dims{static_cast<int>(strided->shape.size())} &&
            strided->strides[0] == 1 && strided->shape.size() == input_shape(i).size()) {
            nodes_[i].layer = ReshapeParams{strided->shape};
            return true;
        }
        const int groups = shuffled_groups(*strided, input_shape(i));
        if (groups > 0) nodes_[i].layer = ChannelShuffleParams{groups};
        return groups > 0;
    }
    /// The same elements with as few axes as can be.
    [[nodiscard]] static AsStridedParams merge_axes(AsStridedParams const& params) {
        AsStridedParams result = params;
        result.dims = {};
        result.strides = {};
        for (std::size_t axis = 0; axis < params.dims.rank(); ++axis) {
            if (params.dims[axis] == 1) continue;
            const std::size_t rank = result.dims.rank();
            if (rank > 0 && result.strides[rank - 1] == params.dims[axis] * params.strides[axis]) {
                result.dims[rank - 1] *= params.dims[axis];
                result.strides[rank - 1] = params.strides[axis];
            } else {
                result.strides[rank] = params.strides[axis];
                result.dims.push_back(params.dims[axis]);
            }
        }
        if (result.dims.rank() == 0) {
            result.dims.push_back(1);
            result.strides[0] = 1;
        }
        return result;
    }
    /// The groups of the channel shuffle that this is; 0 if it is none.
    [[nodiscard]] static int shuffled_groups(AsStridedParams const& params, Shape input) {
        if (params.shape != input || params.offset != 0 || params.dims.rank() < 2) return 0;
        const int groups = params.dims[1];
        if (groups < 2 || input.c % groups != 0 || params.dims[0] != input.c / groups) return 0;
        const auto pixels = static_cast<std::ptrdiff_t>(input.pixels());
        const bool swapped = params.strides[0] == pixels && params.strides[1] == params.dims[0] * pixels;
        const bool whole = pixels == 1 ? params.dims.rank() == 2
                                       : params.dims.rank() == 3 && params.dims[2] == pixels && params.strides[2] == 1;
        return swapped && whole ? groups : 0;
    }

    bool fold_affine(std::size_t i) {
        auto* batch_norm = as<BatchNormParams>(i);
        if (batch_norm == nullptr && as<ScaleParams>(i) == nullptr) return false;
        const std::size_t before = nodes_[i].inputs[0];
        const bool open = epilogue_parts(nodes_[before].layer).folded && !nodes_[before].epilogue.residual;
        if (!open || !read_once(before) || free_clamp(before) == nullptr) return false;
        Folded folded{nodes_[i].name, ScaleParams{}};
        if (batch_norm != nullptr)
            folded.layer = *batch_norm;
        else
            folded.layer = *as<ScaleParams>(i);
        absorb(i);
        nodes_[i].epilogue.folded.push_back(std::move(folded));
        return true;
    }

    /// A border of zeros becomes the convolution's or average pooling's own.
    bool fuse_pad(std::size_t i) {
        auto* conv = as<ConvParams>(i);
        auto* pool = as<PoolParams>(i);
        if (conv == nullptr && (pool == nullptr || pool->kind != PoolKind::average)) return false;
        const std::size_t before = nodes_[i].inputs[0];
        auto* pad = as<PadParams>(before);
        const bool border = pad != nullptr && pad->mode == PadMode::constant && pad->front == 0 && pad->back == 0;
        if (!border || pad->value != 0.0F || !read_once(before)) return false;
        const auto widen = [&pad](Padding& padding) {
            padding.top += pad->padding.top;
            padding.bottom += pad->padding.bottom;
            padding.left += pad->padding.left;
            padding.right += pad->padding.right;
        };
        if (conv != nullptr) {
            widen(conv->padding);
        } else {
            if (!pool->count_include_pad && pool->padding != Padding{}) return false;
            PoolParams padded = *pool;
            padded.count_include_pad = true;
            widen(padded.padding);
            const Shape input = input_shape(before);
            if (padded.check({&input, 1}) != Fault::none) return false;
            *pool = padded;
        }
        nodes_[i].inputs[0] = nodes_[before].inputs[0];
        gone_[before] = true;
        return true;
    }

    /// Concatenations within concatenations: one that nobody else reads is taken apart, and one that begins as an
    /// earlier one does reads that one.
    bool join_concats(std::size_t i) {
        auto* concat = as<ConcatParams>(i);
        if (concat == nullptr) return false;
        auto& inputs = nodes_[i].inputs;
        for (std::size_t k = 0; k < inputs.size(); ++k) {
            const std::size_t inner = inputs[k];
            auto* other = as<ConcatParams>(inner);
            if (other == nullptr || other->axis != concat->axis || !read_once(inner)) continue;
            inputs.erase(inputs.begin() + static_cast<std::ptrdiff_t>(k));
            inputs.insert(inputs.begin() + static_cast<std::ptrdiff_t>(k), nodes_[inner].inputs.begin(),
                          nodes_[inner].inputs.end());
            gone_[inner] = true;
            return true;
        }
        parts_[i].clear();
        for (const std::size_t input : inputs) {
            for (const std::size_t part : parts_of(input, concat->axis)) parts_[i].push_back(part);
        }
        std::size_t longest = i, length = parts_of(inputs[0], concat->axis).size();
        for (std::size_t j = 0; j < i; ++j) {
            auto* other = as<ConcatParams>(j);
            if (gone_[j] || other == nullptr || other->axis != concat->axis) continue;
            auto const& begin = parts_[j];
            if (begin.size() > length && begin.size() < parts_[i].size() &&
                std::equal(begin.begin(), begin.end(), parts_[i].begin())) {
                longest = j, length = begin.size();
            }
        }
        if (longest == i) return false;
        std::size_t covered = 0, count = 0;
        while (covered < length) covered += parts_of(inputs[count++], concat->axis).size();
        if (covered != length) return false;
        for (std::size_t k = 0; k < count; ++k) --uses_[inputs[k]];
        inputs.erase(inputs.begin() + 1, inputs.begin() + static_cast<std::ptrdiff_t>(count));
        inputs[0] = longest;
        ++uses_[longest];
        return true;
    }
    /// What is concatenated along the axis in the end: the inputs of inputs, as far as they are concatenations.
    [[nodiscard]] std::span<const std::size_t> parts_of(std::size_t const& i, Axis axis) {
        auto* concat = as<ConcatParams>(i);
        if (concat == nullptr || concat->axis != axis) return {&i, 1};
        return parts_[i];
    }

    /// One of the two summands is a convolution that nobody else reads: it adds the other to its result. The later one,
    /// so that the other is there by then.
    bool fuse_add(std::size_t i) {
        if (as<AddParams>(i) == nullptr || nodes_[i].inputs.size() != 2) return false;
        const auto inputs = nodes_[i].inputs;
        for (const auto& [before, other] :
             {std::pair{std::max(inputs[0], inputs[1]), std::min(inputs[0], inputs[1])},
              std::pair{std::min(inputs[0], inputs[1]), std::max(inputs[0], inputs[1])}}) {
            Epilogue& epilogue = nodes_[before].epilogue;
            const bool open = epilogue_parts(nodes_[before].layer).residual && !epilogue.residual;
            if (!open || before == other || !read_once(before) || free_clamp(before) == nullptr) continue;
            epilogue.residual = true;
            epilogue.clamp = nodes_[i].epilogue.clamp;
            absorb(i, before, {nodes_[before].inputs[0], other});
            return true;
        }
        return false;
    }

    bool fuse_clamp(std::size_t i) {
        auto* activation = as<ActivationParams>(i);
        if (activation == nullptr) return false;
        const std::size_t before = nodes_[i].inputs[0];
        Clamp* clamp = free_clamp(before);
        if (clamp == nullptr || !read_once(before)) return false;
        if (activation->kind == ActivationKind::relu)
            *clamp = relu_clamp;
        else if (activation->kind == ActivationKind::relu6)
            *clamp = relu6_clamp;
        else if (activation->kind == ActivationKind::clip)
            *clamp = {activation->alpha, activation->beta};
        else
            return false;
        absorb(i);
        return true;
    }

    std::vector<Node> nodes_;
    std::vector<std::size_t> outputs_;
    std::vector<std::size_t> uses_;
    std::vector<bool> gone_, is_output_;
    std::vector<std::size_t> alias_;
    std::vector<std::vector<std::size_t>> parts_;  // of the concatenations so far
};

/// Whether simplify may turn a layer of one kind into another kind; both are positions in AnyLayer.
[[nodiscard]] constexpr bool simplify_makes(std::size_t from, std::size_t to) {
    constexpr std::size_t pool = AnyLayer(PoolParams{}).index(), global_pool = AnyLayer(GlobalPoolParams{}).index(),
                          strided = AnyLayer(AsStridedParams{}).index(), reshape = AnyLayer(ReshapeParams{}).index(),
                          shuffle = AnyLayer(ChannelShuffleParams{}).index();
    return (from == pool && to == global_pool) || (from == strided && (to == reshape || to == shuffle));
}
}  // namespace detail

/// The same function in fewer layers: identities are dropped (dropout, a flatten that only dense layers read, ...),
/// reorderings of elements are joined and known again as reshape or channel shuffle, batch norm and scale fold into the
/// convolution or dense layer before them, zero padding becomes that of the convolution or average pooling, a
/// concatenation of concatenations is taken apart or shared, and the sum of a convolution with something else, as well
/// as ReLU, ReLU6 and clip, become part of the layer before them. Needs no weights.
[[nodiscard]] inline Graph simplify(Graph const& graph) {
    Graph result = graph;
    // Once one layer is gone, another may have become an identity; each pass but the last removes some.
    for (std::size_t before = graph.size() + 1; result.size() < before;) {
        before = result.size();
        detail::Rewriter rewriter(result);
        rewriter.run();
        result = rewriter.graph(graph.batch());
    }
    return result;
}

}  // namespace primsel::inline PRIMSEL_ABI
