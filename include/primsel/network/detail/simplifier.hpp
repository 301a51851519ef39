#pragma once

#include <primsel/network/detail/gates.hpp>
#include <primsel/network/detail/normalizations.hpp>
#include <primsel/network/detail/reordering.hpp>
#include <primsel/network/graph_editor.hpp>
#include <primsel/network/trimmed.hpp>
#include <primsel/network/weight_specs.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <utility>
#include <variant>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::network::detail {

/// One pass of simplify: from the first layer to the last, each is tried with every rule until none applies. A rule
/// that applies says so.
class Simplifier {
public:
    explicit Simplifier(Graph const& graph) : edit_(graph), parts_(graph.size()) {}

    [[nodiscard]] Graph run() {
        for (std::size_t i = 0; i < edit_.size(); ++i) {
            while (!edit_.removed(i) &&
                   (drop_identity(i) || plain_pool(i) || reorder(i) || fold_affine(i) || fuse_pad(i) || trim(i) ||
                    join_concats(i) || join_ranges(i) || fuse_add(i) || fuse_clamp(i) || join_gate(i) ||
                    standardize(i) || regroup(i) || fuse_places(i))) {
            }
        }
        return edit_.graph();
    }

    /// The same, with the rules for reorderings of elements alone.
    [[nodiscard]] Graph run_reorderings() {
        for (std::size_t i = 0; i < edit_.size(); ++i) {
            const auto reshapes = [&] { return as<FlattenParams>(i) || as<ReshapeParams>(i); };
            const auto strides = [&](std::size_t reader) { return as<AsStridedParams>(reader) != nullptr; };
            const auto drop = [&] { return std::ranges::any_of(edit_.readers(i), strides) && drop_identity(i); };
            while (!edit_.removed(i) && ((reshapes() && (join_reshape(i) || drop())) || reorder(i))) {
            }
        }
        return edit_.graph();
    }

private:
    template <class Params>
    [[nodiscard]] Params const* as(std::size_t i) const {
        return std::get_if<Params>(&edit_[i].layer);
    }
    [[nodiscard]] bool read_once(std::size_t i) const { return edit_.uses(i) == 1; }
    [[nodiscard]] std::size_t first_input(std::size_t i) const { return edit_[i].inputs[0]; }
    [[nodiscard]] Shape shape(std::size_t i) const { return edit_[i].shape; }
    [[nodiscard]] Shape input_shape(std::size_t i) const { return shape(first_input(i)); }

    /// Whether the layer is read once and may still be given a clamp, and so whatever comes before that.
    [[nodiscard]] bool open(std::size_t i) const {
        Node const& node = edit_[i];
        return epilogue_parts(node.layer).clamp && !node.epilogue.clamp.bounded() && read_once(i);
    }

    [[nodiscard]] bool is_identity(std::size_t i) const {
        if (edit_[i].inputs.size() != 1) return false;
        if (as<DropoutParams>(i) || as<ConcatParams>(i)) return true;
        if (as<FlattenParams>(i) || as<ReshapeParams>(i)) return input_shape(i) == shape(i) || only_flat_reads(i);
        if (auto* pad = as<PadParams>(i)) return pad->padding == Padding{} && pad->front == 0 && pad->back == 0;
        if (as<SliceParams>(i) || as<GlobalPoolParams>(i)) return input_shape(i) == shape(i);
        if (auto* shuffle = as<ChannelShuffleParams>(i)) return shuffle->groups == 1 || shuffle->groups == shape(i).c;
        if (auto* pool = as<PoolParams>(i)) {
            return pool->window == Extent{1} && pool->stride == Extent{1} && pool->padding == Padding{};
        }
        return false;
    }
    /// Whether all that read the layer take the elements in chw order, whatever the shape.
    [[nodiscard]] bool only_flat_reads(std::size_t i) const {
        if (edit_.is_output(i)) return false;
        return std::ranges::all_of(edit_.readers(i), [this](std::size_t reader) {
            if (as<DropoutParams>(reader)) return only_flat_reads(reader);
            return as<DenseParams>(reader) || as<ReshapeParams>(reader) || as<AsStridedParams>(reader);
        });
    }
    /// A result must stay one: an identity there goes only if its input is not read elsewhere.
    bool drop_identity(std::size_t i) {
        if (!is_identity(i)) return false;
        const std::size_t before = first_input(i);
        const bool stays = !read_once(before) || as<InputParams>(before) || shape(before) != shape(i);
        if (edit_.is_output(i) && stays) return false;
        edit_.remove(i);
        return true;
    }

    /// Gives a pooling the plainest of the parameters that mean the same; a window as large as the image is global
    /// pooling.
    bool plain_pool(std::size_t i) {
        if (auto* indices = as<MaxPoolIndicesParams>(i); indices != nullptr && !indices->pool.count_include_pad) {
            MaxPoolIndicesParams plain = *indices;
            plain.pool.count_include_pad = true;
            edit_.replace(i, plain);
            return true;
        }
        if (as<PoolParams>(i) == nullptr) return false;
        const Shape input = input_shape(i);
        PoolParams pool = *as<PoolParams>(i), floor = pool;
        floor.ceil_mode = false;
        if (floor.check({&input, 1}) == Fault::none && floor.output({&input, 1}) == shape(i)) pool = floor;
        const bool nothing_beyond = pool.padding == Padding{} && !pool.ceil_mode;
        if (pool.kind == PoolKind::max || nothing_beyond) pool.count_include_pad = true;
        const bool global = pool.window == Extent{input.h, input.w} && pool.padding == Padding{} &&
                            pool.dilation == Extent{1} && shape(i).pixels() == 1;
        if (!global && pool == *as<PoolParams>(i)) return false;
        edit_.replace(i, global ? AnyLayer(GlobalPoolParams{pool.kind}) : AnyLayer(pool));
        return true;
    }

    /// Reorderings of elements: one in place of two, and by their names where they have one.
    bool reorder(std::size_t i) {
        if (as<ReshapeParams>(i)) return join_reshape(i);
        if (as<AsStridedParams>(i) == nullptr) return false;
        const AsStridedParams strided = *as<AsStridedParams>(i), merged = merge_axes(strided);
        if (merged != strided) {
            edit_.replace(i, merged);
            return true;
        }
        if (is_reshape(strided, input_shape(i))) {
            edit_.replace(i, ReshapeParams{strided.shape});
            return true;
        }
        const int groups = shuffled_groups(strided, input_shape(i));
        if (groups > 0) edit_.replace(i, ChannelShuffleParams{groups});
        return groups > 0;
    }
    /// A reshape of reordered elements is in how they are reordered.
    bool join_reshape(std::size_t i) {
        const std::size_t before = first_input(i);
        if (as<AsStridedParams>(before) == nullptr || !read_once(before)) return false;
        AsStridedParams joined = *as<AsStridedParams>(before);
        joined.shape = shape(i);
        edit_.replace(i, joined);
        edit_.rewire(i, edit_[before].inputs);
        edit_.remove(before);
        return true;
    }

    /// Whether weights of a convolution or dense layer change between runs: what they are multiplied by stays beside.
    [[nodiscard]] bool changes(std::size_t i) const {
        return edit_.trainable().contains(weight_name(edit_[i].name, "weight")) ||
               edit_.trainable().contains(weight_name(edit_[i].name, "bias"));
    }
    bool fold_affine(std::size_t i) {
        Folded folded{edit_[i].name, {}};
        if (auto* batch_norm = as<BatchNormParams>(i))
            folded.layer = *batch_norm;
        else if (auto* scale = as<ScaleParams>(i))
            folded.layer = *scale;
        else
            return false;
        const std::size_t before = first_input(i);
        Epilogue epilogue = edit_[before].epilogue;
        if (!open(before) || !epilogue_parts(edit_[before].layer).folded || epilogue.residual) return false;
        if (auto* norm = as<StandardizeParams>(before); norm != nullptr && (norm->scales || norm->shifts)) return false;
        if (changes(before)) return false;
        epilogue.folded.push_back(std::move(folded));
        become_part(i, before, std::move(epilogue));
        return true;
    }

    /// Layer i is computed in the epilogue of its only input.
    void become_part(std::size_t i, std::size_t before, Epilogue epilogue) {
        edit_.set_epilogue(before, std::move(epilogue));
        edit_.set_range(before, edit_[i].range);
        edit_.remove(i);
    }

    /// A border of zeros becomes the convolution's or average pooling's own.
    bool fuse_pad(std::size_t i) {
        auto* conv = as<ConvParams>(i);
        auto* pool = as<PoolParams>(i);
        if (conv == nullptr && (pool == nullptr || pool->kind != PoolKind::average)) return false;
        const std::size_t before = first_input(i);
        auto* pad = as<PadParams>(before);
        const bool border = pad != nullptr && pad->mode == PadMode::constant && pad->front == 0 && pad->back == 0;
        if (!border || pad->value != 0.0F || !read_once(before)) return false;
        if (conv != nullptr) {
            ConvParams padded = *conv;
            padded.padding = sum(padded.padding, pad->padding);
            edit_.replace(i, padded);
        } else {
            if (!pool->count_include_pad && pool->padding != Padding{}) return false;
            PoolParams padded = *pool;
            padded.count_include_pad = true;
            padded.padding = sum(padded.padding, pad->padding);
            const Shape input = input_shape(before);
            if (padded.check({&input, 1}) != Fault::none) return false;
            edit_.replace(i, padded);
        }
        edit_.remove(before);
        return true;
    }
    [[nodiscard]] static Padding sum(Padding const& a, Padding const& b) {
        return {a.top + b.top, a.bottom + b.bottom, a.left + b.left, a.right + b.right};
    }

    /// Leaves out the taps of a convolution that only ever meet padding, unless training may change its weight.
    bool trim(std::size_t i) {
        auto* conv = as<ConvParams>(i);
        if (conv == nullptr || !edit_.trainable().empty()) return false;
        const TrimmedConv result = trimmed(*conv, input_shape(i));
        if (result.params == *conv) return false;
        if (result.part != KernelPart{}) {
            Epilogue epilogue = edit_[i].epilogue;
            const Extent first = epilogue.kernel.first, more = result.part.first;
            if (epilogue.kernel == KernelPart{}) epilogue.kernel.whole = result.part.whole;
            epilogue.kernel.first = {first.h + more.h, first.w + more.w};
            edit_.set_epilogue(i, std::move(epilogue));
        }
        edit_.replace(i, result.params);
        return true;
    }

    /// Concatenations within concatenations: one that nobody else reads is taken apart, and one that begins as an
    /// earlier one does reads that one.
    bool join_concats(std::size_t i) {
        if (as<ConcatParams>(i) == nullptr) return false;
        return take_apart(i) || share_beginning(i) || gather(i);
    }
    /// Some elements of one tensor, and others in the same order behind them (the slices with steps of a Focus layer,
    /// an image as quarters): one reordering.
    bool gather(std::size_t i) {
        std::vector<std::size_t> const parts = edit_[i].inputs;
        auto* first = as<AsStridedParams>(parts[0]);
        if (as<ConcatParams>(i)->axis != Axis::c || parts.size() < 2 || first == nullptr) return false;
        std::vector<std::ptrdiff_t> begins;
        for (const std::size_t part : parts) {
            auto* other = as<AsStridedParams>(part);
            if (other == nullptr || !read_once(part) || first_input(part) != first_input(parts[0])) return false;
            AsStridedParams same = *other;
            same.offset = first->offset;
            if (same != *first) return false;
            begins.push_back(other->offset);
        }
        const auto joined = concatenated(*first, std::move(begins));
        if (!joined) return false;
        edit_.replace(i, *joined);
        edit_.rewire(i, edit_[parts[0]].inputs);
        for (const std::size_t part : parts) edit_.remove(part);
        return true;
    }
    bool take_apart(std::size_t i) {
        std::vector<std::size_t> inputs = edit_[i].inputs;
        for (auto at = inputs.begin(); at != inputs.end(); ++at) {
            const std::size_t inner = *at;
            auto* other = as<ConcatParams>(inner);
            if (other == nullptr || other->axis != as<ConcatParams>(i)->axis || !read_once(inner)) continue;
            at = inputs.erase(at);
            inputs.insert(at, edit_[inner].inputs.begin(), edit_[inner].inputs.end());
            edit_.rewire(i, std::move(inputs));
            edit_.remove(inner);
            return true;
        }
        return false;
    }
    bool share_beginning(std::size_t i) {
        const Axis axis = as<ConcatParams>(i)->axis;
        std::vector<std::size_t> inputs = edit_[i].inputs;
        parts_[i].clear();
        for (const std::size_t input : inputs) {
            for (const std::size_t part : parts_of(input, axis)) parts_[i].push_back(part);
        }
        std::size_t longest = i, length = parts_of(inputs[0], axis).size();
        for (std::size_t j = 0; j < i; ++j) {
            if (edit_.removed(j) || as<ConcatParams>(j) == nullptr || as<ConcatParams>(j)->axis != axis) continue;
            auto const& begin = parts_[j];
            if (begin.size() > length && begin.size() < parts_[i].size() &&
                std::equal(begin.begin(), begin.end(), parts_[i].begin())) {
                longest = j, length = begin.size();
            }
        }
        if (longest == i) return false;
        std::size_t covered = 0, count = 0;
        while (covered < length) covered += parts_of(inputs[count++], axis).size();
        if (covered != length) return false;
        inputs.erase(inputs.begin() + 1, inputs.begin() + static_cast<std::ptrdiff_t>(count));
        inputs[0] = longest;
        edit_.rewire(i, std::move(inputs));
        return true;
    }
    /// The tensors that are concatenated along the axis in the end: inputs of inputs, as far as they are
    /// concatenations.
    [[nodiscard]] std::span<const std::size_t> parts_of(std::size_t const& i, Axis axis) const {
        auto* concat = as<ConcatParams>(i);
        if (concat == nullptr || concat->axis != axis) return {&i, 1};
        return parts_[i];
    }

    /// The bytes of convolutions that only a concatenation reads are those of its range: they are rounded once.
    bool join_ranges(std::size_t i) {
        const TensorRange range = edit_[i].range;
        if (as<ConcatParams>(i) == nullptr || !range.known()) return false;
        bool any = false;
        for (const std::size_t input : edit_[i].inputs) {
            if (as<ConvParams>(input) == nullptr || !read_once(input)) continue;
            if (!edit_[input].range.known() || edit_[input].range == range) continue;
            edit_.set_range(input, range);
            any = true;
        }
        return any;
    }

    /// One of the two summands is a convolution that nobody else reads: it adds the other to its result. The later one,
    /// so that the other is there by then.
    bool fuse_add(std::size_t i) {
        if (as<AddParams>(i) == nullptr || edit_[i].inputs.size() != 2) return false;
        const std::size_t earlier = std::min(edit_[i].inputs[0], edit_[i].inputs[1]);
        const std::size_t later = std::max(edit_[i].inputs[0], edit_[i].inputs[1]);
        return earlier != later && (add_within(later, earlier, i) || add_within(earlier, later, i));
    }
    bool add_within(std::size_t conv, std::size_t other, std::size_t add) {
        Epilogue epilogue = edit_[conv].epilogue;
        if (!read_once(conv) || as<ConvParams>(conv) == nullptr || epilogue.residual) return false;
        if (epilogue.clamp.bounded()) {
            TensorRange const& range = edit_[conv].range;
            if (!range.known() || epilogue.clamp != bounds_of(range) || as<ConvParams>(conv)->groups != 1) return false;
            epilogue.summand = range;
        }
        epilogue.residual = true;
        epilogue.clamp = edit_[add].epilogue.clamp;
        edit_.set_epilogue(conv, std::move(epilogue));
        edit_.set_range(conv, edit_[add].range);
        edit_.replace_readers(add, conv);
        edit_.remove(add);
        edit_.rewire(conv, {first_input(conv), other});
        return true;
    }

    /// Bounds become part of the layer before, within those that it has.
    bool fuse_clamp(std::size_t i) {
        auto* activation = as<ActivationParams>(i);
        if (activation == nullptr) return false;
        const std::size_t before = first_input(i);
        Clamp clamp;
        if (activation->kind == ActivationKind::relu)
            clamp = relu_clamp;
        else if (activation->kind == ActivationKind::relu6)
            clamp = relu6_clamp;
        else if (activation->kind == ActivationKind::clip)
            clamp = {activation->alpha, activation->beta};
        else
            return false;
        if (!epilogue_parts(edit_[before].layer).clamp || !read_once(before)) return false;
        Epilogue epilogue = edit_[before].epilogue;
        const auto within = [&clamp](float bound) { return std::min(std::max(bound, clamp.low), clamp.high); };
        if (epilogue.clamp.bounded()) clamp = {within(epilogue.clamp.low), within(epilogue.clamp.high)};
        epilogue.clamp = clamp;
        become_part(i, before, std::move(epilogue));
        return true;
    }

    /// An activation that several layers compute becomes one layer.
    bool join_gate(std::size_t i) {
        const std::optional<Gates::Found> found = Gates(edit_).find(i);
        if (!found) return false;
        become(i, found->activation, {found->source});
        return true;
    }
    /// Replaces a layer by another one that reads these, and removes what nobody reads any more.
    void become(std::size_t i, AnyLayer layer, std::vector<std::size_t> inputs) {
        std::vector<std::size_t> unread = edit_[i].inputs;
        edit_.replace(i, std::move(layer));
        edit_.rewire(i, std::move(inputs));
        while (!unread.empty()) {
            const std::size_t layer = unread.back();
            unread.pop_back();
            if (edit_.removed(layer) || edit_.uses(layer) > 0) continue;
            unread.insert(unread.end(), edit_[layer].inputs.begin(), edit_[layer].inputs.end());
            edit_.remove(layer);
        }
    }

    /// A normalisation that is written out becomes one layer, unless its weights are to be trained.
    bool standardize(std::size_t i) {
        if (!edit_.trainable().empty()) return false;
        const std::optional<Normalizations::Found> found = Normalizations(edit_).find(i);
        if (!found) return false;
        become(i, found->params, {found->source});
        return true;
    }
    /// A normalisation of each channel between reshapes from and to an image is one of groups of the image's channels.
    bool regroup(std::size_t i) {
        if (as<ReshapeParams>(i) == nullptr) return false;
        const std::size_t before = first_input(i);
        auto* norm = as<StandardizeParams>(before);
        if (norm == nullptr || !read_once(before) || norm->scales || norm->shifts) return false;
        const std::size_t view = first_input(before);
        if (as<ReshapeParams>(view) == nullptr || input_shape(view) != shape(i)) return false;
        const Shape parts = shape(before), set = norm->set_shape(parts);
        const bool whole = set == parts, each_channel = set == Shape{.c = 1, .h = parts.h, .w = parts.w};
        const int groups = whole ? 1 : parts.c, c = shape(i).c;
        if ((!whole && !each_channel) || norm->groups != 1 || c % groups != 0) return false;
        StandardizeParams grouped = *norm;
        grouped.along_c = groups < c, grouped.along_h = grouped.along_w = true;
        grouped.groups = groups < c ? groups : 1;
        Epilogue epilogue = edit_[before].epilogue;
        for (Folded& folded : epilogue.folded) {
            // The weights of an image of one set have a value for each of the parts.
            if (whole && parts.c != 1 && !is_known(folded)) return false;
            folded.repeat = c / groups;
        }
        edit_.set_epilogue(i, std::move(epilogue));
        become(i, grouped, {first_input(view)});
        return true;
    }
    [[nodiscard]] static bool is_known(Folded const& folded) {
        const auto* scale = std::get_if<ScaleParams>(&folded.layer);
        return scale != nullptr && scale->known;
    }
    /// A product with or a sum with a value for each place of a set becomes part of the normalisation.
    bool fuse_places(std::size_t i) {
        auto* binary = as<BinaryParams>(i);
        const bool multiplies = binary != nullptr && binary->kind == BinaryKind::multiply,
                   adds = as<AddParams>(i) != nullptr || (binary != nullptr && binary->kind == BinaryKind::add);
        if ((!multiplies && !adds) || edit_[i].inputs.size() != 2) return false;
        for (const bool swapped : {false, true}) {
            const std::size_t before = edit_[i].inputs[swapped ? 1 : 0], places = edit_[i].inputs[swapped ? 0 : 1];
            auto* norm = as<StandardizeParams>(before);
            if (norm == nullptr || !read_once(before) || edit_[before].epilogue.changes_result()) continue;
            if (norm->shifts || (multiplies && norm->scales) || !norm->may_have_tensors(shape(before))) continue;
            if (shape(places) != norm->set_shape(shape(before))) continue;
            StandardizeParams placed = *norm;
            (multiplies ? placed.scales : placed.shifts) = true;
            std::vector<std::size_t> inputs = edit_[before].inputs;
            inputs.push_back(places);
            become(i, placed, std::move(inputs));
            return true;
        }
        return false;
    }

    GraphEditor edit_;
    std::vector<std::vector<std::size_t>> parts_;  // of the concatenations so far
};

}  // namespace primsel::inline PRIMSEL_ABI::network::detail
