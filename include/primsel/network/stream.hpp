#pragma once

#include <primsel/core/config.hpp>
#include <primsel/core/error.hpp>
#include <primsel/layer/all.hpp>
#include <primsel/network/graph.hpp>
#include <primsel/network/graph_editor.hpp>
#include <primsel/network/simplify.hpp>
#include <primsel/tensor/dims.hpp>
#include <primsel/tensor/shape.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

/// A result of a layer together with its past, which a convolution reads: an image of one row with `past` columns of
/// earlier blocks before those of this block. Input and result are positions among the graph's inputs and outputs. The
/// last columns of the input are the result: in hwc they are one memory, so that nothing is copied.
struct StreamWindow {
    std::size_t input = 0, result = 0;
    int past = 0;
};
/// A state of a recurrent layer: the result of one block is the input of the next. Positions as in StreamWindow.
struct StreamState {
    std::size_t input = 0, result = 0;
};

/// A network on one block of a signal, as stream() makes it. The graph is simplified. Its layers are in an order in
/// which the result of a window comes before the layers that read the window.
struct StreamGraph {
    Graph graph;
    /// The input that is the block, channels x 1 x samples. The graph's first output is the block's result, in the same
    /// form.
    std::size_t signal = 0;
    std::vector<StreamWindow> windows;
    std::vector<StreamState> states;
    /// The number of results at the beginning of a stream that the network on the whole signal does not have: its
    /// convolutions have no padding there.
    int late = 0;
};

namespace network::detail {

/// Follows the axis of time through a network.
class Streamer {
public:
    Streamer(Graph const& whole, int block, std::optional<Axis> time) : whole_(whole), block_(block) {
        if (block < 1) fail("stream: a block of ", block, " samples");
        if (whole.batch() != 1) fail("stream: a batch of ", whole.batch(), "; a stream is one signal");
        Node const& input = whole[whole.input()];
        time_ = time.value_or(input.shape.w > 1 ? Axis::w : Axis::c);
        samples_ = extent(input.shape, time_);
        if (samples_ < 2) {
            fail("stream: input ", input.name, " is ", to_string(input.shape),
                 ": the axis of time must have more than one sample");
        }
    }

    [[nodiscard]] StreamGraph stream() {
        for (at_ = 0; at_ < whole_.size(); ++at_) signals_.push_back(layer());
        const std::size_t output = whole_.output_node();
        at_ = output;
        Signal result = signals_[output];
        if (!result.axis) refuse("is the result, and does not change with the signal");
        if (result.first < 0) refuse("is the result, and begins before the signal");
        if (result.last > samples_) refuse_ahead(result);
        std::vector<std::size_t> outputs{as_columns(result)};
        for (auto const& [input, source] : windows_) outputs.push_back(source);
        for (auto const& [input, next] : states_) outputs.push_back(next);
        graph_.set_outputs(std::move(outputs));
        graph_.set_shared(whole_.shared());
        return finished(result.first);
    }

private:
    /// A layer of the whole network as it is in the stream.
    struct Signal {
        std::size_t node = 0;
        std::optional<Axis> axis{};  ///< of time; none: it is the same at all times
        /// The times of the whole result's first column, and of the one after its last.
        int first = 0, last = 0;
        std::size_t ahead = 0;  ///< the layer whose result is the first to end after the signal
    };
    /// A shape by its axis of time: the elements outside of it, its extent, the elements inside of it.
    struct Around {
        std::ptrdiff_t outer = 1, times = 1, inner = 1;
        Around(Shape const& shape, Axis axis) : times(extent(shape, axis)) {
            outer = axis == Axis::c ? 1 : axis == Axis::h ? shape.c : std::ptrdiff_t{shape.c} * shape.h;
            inner = axis == Axis::w ? 1 : axis == Axis::h ? shape.w : std::ptrdiff_t{shape.h} * shape.w;
        }
    };

    template <class... Parts>
    [[noreturn]] void refuse(Parts const&... parts) const {
        fail("stream: layer ", whole_[at_].name, " (", layer_kind(whole_[at_].layer), ") ", parts...);
    }
    [[noreturn]] void refuse_ahead(Signal const& signal) {
        at_ = signal.ahead;
        refuse("is not causal: its last results read ", signal.last - samples_,
               " samples after the signal's end, which no later layer crops");
    }

    [[nodiscard]] Signal layer() {
        Node const& node = whole_[at_];
        if (std::holds_alternative<InputParams>(node.layer)) return input();
        const bool changes =
            std::ranges::any_of(node.inputs, [&](std::size_t i) { return signals_[i].axis.has_value(); });
        if (!changes) return {.node = add(node.layer, inputs())};
        if (node.epilogue.kernel != KernelPart{}) {
            refuse("reads a part of its kernel only: make the stream of the graph before simplify, or of a longer one");
        }
        if (const auto* conv = std::get_if<ConvParams>(&node.layer)) return convolution(*conv);
        if (const auto* pad = std::get_if<PadParams>(&node.layer)) return padding(*pad);
        if (const auto* slice = std::get_if<SliceParams>(&node.layer); slice != nullptr && cuts(*slice)) {
            return crop(*slice);
        }
        if (const auto* recurrent = std::get_if<RecurrentParams>(&node.layer)) return steps(*recurrent);
        if (const auto* strided = std::get_if<AsStridedParams>(&node.layer)) return reordered(*strided);
        if (is<ReshapeParams, FlattenParams>(node.layer)) return reshaped(node.shape);
        if (std::holds_alternative<MatMulParams>(node.layer)) return product();
        Signal signal = common();
        const std::string_view fault = mixes_times(node.layer, *signal.axis);
        if (!fault.empty()) refuse(fault);
        signal.node = add(node.layer, inputs());
        return signal;
    }

    template <class... Params>
    [[nodiscard]] static bool is(AnyLayer const& layer) {
        return (std::holds_alternative<Params>(layer) || ...);
    }
    /// Why the layer needs other times than that of its result; "" if it does not. Layers that have a function of their
    /// own here are not asked.
    [[nodiscard]] static std::string_view mixes_times(AnyLayer const& layer, Axis time) {
        constexpr std::string_view across = "computes across the times of the signal",
                                   by_channel = "has a value for each channel, and the channels are times";
        if (is<ActivationParams, DropoutParams, AddParams, BinaryParams>(layer)) return "";
        if (is<BatchNormParams, ChannelShuffleParams, LrnParams>(layer)) return time == Axis::c ? by_channel : "";
        if (const auto* scale = std::get_if<ScaleParams>(&layer))
            return time == Axis::c && !scale->known ? by_channel : "";
        if (const auto* softmax = std::get_if<SoftmaxParams>(&layer)) return softmax->axis == time ? across : "";
        if (const auto* reduce = std::get_if<ReduceParams>(&layer)) return reduce->axis == time ? across : "";
        if (const auto* concat = std::get_if<ConcatParams>(&layer)) return concat->axis == time ? across : "";
        if (const auto* slice = std::get_if<SliceParams>(&layer)) return slice->axis == time ? across : "";
        if (is<DenseRowsParams>(layer)) return time == Axis::w ? across : "";
        if (const auto* norm = std::get_if<StandardizeParams>(&layer)) {
            const bool along = time == Axis::c ? norm->along_c : time == Axis::h ? norm->along_h : norm->along_w;
            return along ? across : "";
        }
        return "cannot run on a block of a signal";
    }

    [[nodiscard]] std::vector<std::size_t> inputs() const {
        std::vector<std::size_t> nodes;
        for (const std::size_t input : whole_[at_].inputs) nodes.push_back(signals_[input].node);
        return nodes;
    }
    /// Adds this layer.
    std::size_t add(AnyLayer layer, std::vector<std::size_t> inputs) {
        Node const& node = whole_[at_];
        const std::size_t added = graph_.add(node.name, std::move(layer), std::move(inputs), node.epilogue);
        graph_.set_range(added, node.range);
        return added;
    }
    std::size_t add(std::string_view suffix, AnyLayer layer, std::vector<std::size_t> inputs) {
        return graph_.add(whole_[at_].name + std::string(suffix), std::move(layer), std::move(inputs));
    }

    /// The times of all inputs that change, which must be the same.
    [[nodiscard]] Signal common() const {
        std::optional<Signal> found;
        for (const std::size_t input : whole_[at_].inputs) {
            Signal const& signal = signals_[input];
            if (!signal.axis) continue;
            if (signal.first < 0) {
                refuse("reads ", whole_[input].name,
                       ", which begins before the signal: only convolutions read padding");
            }
            if (!found) found = signal;
            if (signal.axis != found->axis) refuse("reads signals whose times lie along different axes");
            if (signal.first != found->first || signal.last != found->last) {
                refuse("reads results of different times: those of ", whole_[input].name, " are from ", signal.first,
                       " to before ", signal.last, ", of another input from ", found->first, " to before ",
                       found->last);
            }
        }
        for (const std::size_t input : whole_[at_].inputs) {
            if (!signals_[input].axis && extent(whole_[input].shape, *found->axis) != 1) {
                refuse("reads ", whole_[input].name, ", which has a value of its own for each time");
            }
        }
        return *found;
    }

    [[nodiscard]] Signal input() {
        const Shape shape = whole_[at_].shape;
        const Around all(shape, time_);
        const std::size_t columns =
            add(InputParams{{.c = static_cast<int>(all.outer * all.inner), .h = 1, .w = block_}}, {});
        Signal signal{.node = columns, .axis = time_, .last = samples_};
        if (time_ == Axis::w && shape.h == 1) return signal;
        Shape block = shape;
        extent(block, time_) = block_;
        const int outer = static_cast<int>(all.outer), inner = static_cast<int>(all.inner);
        signal.node = add(
            ".block",
            AsStridedParams{.dims = {outer, block_, inner}, .strides = {all.inner * block_, 1, block_}, .shape = block},
            {columns});
        return signal;
    }
    /// The signal as an image of one row, a column for each time.
    [[nodiscard]] std::size_t as_columns(Signal const& signal) {
        const Shape shape = graph_[signal.node].shape;
        if (*signal.axis == Axis::w && shape.h == 1) return signal.node;
        const Around all(shape, *signal.axis);
        const int outer = static_cast<int>(all.outer), inner = static_cast<int>(all.inner);
        return add(".columns",
                   AsStridedParams{.dims = {outer, inner, block_},
                                   .strides = {all.inner * block_, 1, all.inner},
                                   .shape = {.c = outer * inner, .h = 1, .w = block_}},
                   {signal.node});
    }

    /// The signal with its past.
    [[nodiscard]] std::size_t window(std::size_t source, int past) {
        const auto [found, is_new] = window_of_.try_emplace({source, past}, 0);
        if (!is_new) return found->second;
        Shape shape = graph_[source].shape;
        shape.w += past;
        found->second = graph_.add(graph_[source].name + ".past" + std::to_string(past), InputParams{shape}, {});
        windows_.push_back({found->second, source});
        return found->second;
    }
    [[nodiscard]] Signal convolution(ConvParams conv) {
        Node const& node = whole_[at_];
        Signal result = signals_[node.inputs[0]];
        const std::int64_t reach = (std::int64_t{conv.kernel.w} - 1) * conv.dilation.w;
        if (!result.axis || *result.axis != Axis::w) refuse("slides over an axis that is not time");
        if (conv.stride.w != 1) refuse("has a stride of ", conv.stride.w, ", fewer results than samples");
        const Shape image = whole_[node.inputs[0]].shape;
        if (reach > 0 && image.h != 1) refuse("reads an image of ", image.h, " rows; the past has one");
        const int left = conv.padding.left, past = static_cast<int>(reach);
        if (left > 0 && result.first > 0) {
            refuse("pads a result that begins ", result.first, " samples after the signal");
        }
        const int zeros = left - std::min(result.first, 0);
        if (zeros > past) refuse("has ", zeros, " columns of padding before the signal, and reaches back ", past);
        const bool was_ahead = result.last > samples_;
        result.first += past - left, result.last += conv.padding.right;
        if (!was_ahead && result.last > samples_) result.ahead = at_;
        conv.padding.left = conv.padding.right = 0;
        std::vector<std::size_t> sources = inputs();
        if (node.epilogue.residual) {
            Signal const& added = signals_[node.inputs.back()];
            if (!added.axis || added.first != result.first || added.last != result.last) {
                refuse("adds ", whole_[node.inputs.back()].name, ", which is of other times");
            }
        }
        if (past > 0) sources[0] = window(sources[0], past);
        result.node = add(conv, std::move(sources));
        return result;
    }
    /// Zeros before the signal are those with which a stream begins; what comes after it must be cropped.
    [[nodiscard]] Signal padding(PadParams pad) {
        Signal result = signals_[whole_[at_].inputs[0]];
        int& left = *result.axis == Axis::w ? pad.padding.left : *result.axis == Axis::h ? pad.padding.top : pad.front;
        int& right = *result.axis == Axis::w   ? pad.padding.right
                     : *result.axis == Axis::h ? pad.padding.bottom
                                               : pad.back;
        if (left > 0 && (pad.mode != PadMode::constant || pad.value != 0.0F)) {
            refuse("puts other values than zeros before the signal");
        }
        if (left > 0 && result.first > 0) {
            refuse("pads a result that begins ", result.first, " samples after the signal");
        }
        const bool was_ahead = result.last > samples_;
        result.first -= left, result.last += right;
        if (!was_ahead && result.last > samples_) result.ahead = at_;
        left = right = 0;
        const bool pads = pad.padding != Padding{} || pad.front > 0 || pad.back > 0;
        if (!pads) return result;
        if (result.first < 0) refuse("pads channels or rows of the padding before the signal");
        result.node = add(pad, inputs());
        return result;
    }
    [[nodiscard]] bool cuts(SliceParams const& slice) const {
        return signals_[whole_[at_].inputs[0]].axis == slice.axis;
    }
    /// Columns that are cropped are of times that other layers do not have: in a stream nothing is cropped.
    [[nodiscard]] Signal crop(SliceParams const& slice) const {
        Signal result = signals_[whole_[at_].inputs[0]];
        result.last = result.first + slice.last;
        result.first += slice.first;
        return result;
    }

    [[nodiscard]] std::size_t state(std::string const& name, Shape const& shape) {
        const std::size_t input = add("." + name, InputParams{shape}, {});
        states_.push_back({input, 0});
        return input;
    }
    /// The state that was added `back` states ago becomes the result's channel.
    void next_state(std::size_t back, std::string const& name, std::size_t result, int channel) {
        states_[states_.size() - back].second =
            add(".next_" + name, SliceParams{channel, channel + 1, Axis::c}, {result});
    }
    [[nodiscard]] Signal steps(RecurrentParams params) {
        Node const& node = whole_[at_];
        Signal result = signals_[node.inputs[0]];
        for (const std::size_t input : std::span(node.inputs).subspan(1)) {
            if (signals_[input].axis) refuse("reads ", whole_[input].name, ", which changes with the signal");
        }
        if (*result.axis != Axis::c) refuse("takes steps that are no times of the signal");
        if (params.reverse) refuse("begins at the end of the signal");
        if (params.has_lengths) refuse("has sequences of given lengths; a stream has no end");
        if (params.starts_h || params.starts_cell) refuse("begins with states of its own; streams begin with zeros");
        if (params.gives_last || params.gives_cell) refuse("gives the states of the signal's end");
        if (result.first != 0) refuse("begins ", std::abs(result.first), " samples before or after the signal");
        const bool has_cell = params.kind == RecurrentKind::lstm;
        params.starts_h = params.gives_last = true;
        params.starts_cell = params.gives_cell = has_cell;
        std::vector<std::size_t> sources = inputs();
        const Shape in = whole_[node.inputs[0]].shape, shape{.c = 1, .h = in.h, .w = params.hidden(in)};
        if (has_cell) sources.insert(sources.begin() + 1, state("cell", shape));
        sources.insert(sources.begin() + 1, state("h", shape));
        const std::size_t all = add(params, std::move(sources));
        next_state(1, "h", all, block_);
        if (has_cell) next_state(2, "cell", all, block_ + 1);
        result.node = add(".steps", SliceParams{0, block_, Axis::c}, {all});
        return result;
    }

    [[nodiscard]] Signal one_input() const {
        const Signal signal = signals_[whole_[at_].inputs[0]];
        if (signal.first < 0) refuse("reads padding before the signal; only convolutions do");
        return signal;
    }
    /// The axis of a shape with so many elements outside and so many times.
    [[nodiscard]] Axis axis_of(Shape const& shape, std::ptrdiff_t outer, std::ptrdiff_t times) const {
        for (const Axis axis : {Axis::c, Axis::h, Axis::w}) {
            const Around all(shape, axis);
            if (all.outer == outer && all.times == times) return axis;
        }
        refuse("mixes the signal's times with other elements");
    }
    [[nodiscard]] Signal reshaped(Shape shape) {
        Signal result = one_input();
        const Around all(whole_[whole_[at_].inputs[0]].shape, *result.axis);
        result.axis = axis_of(shape, all.outer, all.times);
        extent(shape, *result.axis) = block_;
        result.node = add(ReshapeParams{shape}, inputs());
        return result;
    }
    /// An axis steps from time to time, and the others within one time.
    [[nodiscard]] Signal reordered(AsStridedParams params) {
        Signal result = one_input();
        const Around all(whole_[whole_[at_].inputs[0]].shape, *result.axis);
        const std::ptrdiff_t outer = all.times * all.inner, block = block_ * all.inner;
        std::ptrdiff_t lowest = params.offset % outer, highest = lowest, before = 1, before_time = 0;
        params.offset = params.offset / outer * block + lowest;
        for (std::size_t i = 0; i < params.dims.rank(); ++i) {
            std::ptrdiff_t& stride = params.strides[i];
            const int dim = params.dims[i];
            if (before_time == 0 && stride == all.inner && dim == all.times) {
                before_time = before;
                params.dims[i] = block_;
            } else if (dim > 1 && stride % outer == 0) {
                stride = stride / outer * block;
            } else if (dim > 1) {
                (stride < 0 ? lowest : highest) += stride * (dim - 1);
            }
            before *= dim;
        }
        if (before_time == 0 || lowest < 0 || highest >= all.inner) {
            refuse("mixes the signal's times with other elements");
        }
        result.axis = axis_of(params.shape, before_time, all.times);
        extent(params.shape, *result.axis) = block_;
        result.node = add(params, inputs());
        return result;
    }
    /// A product of rows that are times, or of a matrix for each time, and one that does not change.
    [[nodiscard]] Signal product() {
        Node const& node = whole_[at_];
        Signal const &left = signals_[node.inputs[0]], &right = signals_[node.inputs[1]];
        const bool rows = left.axis == Axis::h && !right.axis,
                   matrices = (left.axis == Axis::c && !right.axis && whole_[node.inputs[1]].shape.c == 1) ||
                              (right.axis == Axis::c && !left.axis && whole_[node.inputs[0]].shape.c == 1);
        if (!rows && !matrices) refuse("computes across the times of the signal");
        Signal result = left.axis ? left : right;
        if (result.first < 0) refuse("reads padding before the signal; only convolutions do");
        result.node = add(node.layer, inputs());
        return result;
    }

    [[nodiscard]] StreamGraph finished(int late) const {
        StreamGraph result{.graph = in_order(simplify(graph_)), .windows = {}, .states = {}, .late = late};
        const std::vector<std::size_t> nodes = result.graph.inputs();
        const auto input = [&](std::size_t node) {
            const std::size_t now = result.graph.find(graph_[node].name);
            return static_cast<std::size_t>(std::ranges::find(nodes, now) - nodes.begin());
        };
        result.signal = input(graph_.find(whole_[whole_.input()].name));
        std::size_t output = 1;
        for (auto const& [node, source] : windows_) {
            result.windows.push_back({input(node), output++, graph_[node].shape.w - block_});
        }
        for (auto const& [node, next] : states_) result.states.push_back({input(node), output++});
        return result;
    }
    /// The layers of a simplified graph in an order in which windows are complete when they are read.
    [[nodiscard]] Graph in_order(Graph const& graph) const {
        std::map<std::size_t, std::size_t> source;  // of a window
        const std::vector<std::size_t> outputs = graph.outputs();
        for (std::size_t i = 0; i < windows_.size(); ++i) {
            source.emplace(graph.find(graph_[windows_[i].first].name), outputs[1 + i]);
        }
        std::vector<std::size_t> order;
        std::vector<bool> placed(graph.size(), false);
        const auto is_ready = [&](std::size_t input) {
            const auto found = source.find(input);
            return placed[input] && (found == source.end() || placed[found->second]);
        };
        for (std::size_t before = graph.size(); order.size() < graph.size(); before = order.size()) {
            if (order.size() == before) fail("stream: layers read each other in a circle");
            for (std::size_t i = 0; i < graph.size(); ++i) {
                if (placed[i] || !std::ranges::all_of(graph[i].inputs, is_ready)) continue;
                placed[i] = true;
                order.push_back(i);
            }
        }
        return GraphEditor(graph).graph(order);
    }

    Graph const& whole_;
    int block_, samples_ = 0;
    Axis time_ = Axis::w;
    Graph graph_;
    std::size_t at_ = 0;  // the layer of the whole network
    std::vector<Signal> signals_;
    std::map<std::pair<std::size_t, int>, std::size_t> window_of_;
    std::vector<std::pair<std::size_t, std::size_t>> windows_, states_;  // input, and what becomes of it
};

}  // namespace network::detail

/// The network on a block of so many samples of a signal: a causal network of one input and one result whose layers
/// keep what they need of earlier blocks. Convolutions over time read windows, recurrent layers have states; windows
/// and states are 0 when a stream begins. `time` is the input's axis of time; by default its columns, or its channels
/// if it has one column, as in recurrent networks. Results do not depend on how a signal is cut into blocks, if they
/// are computed by primitives whose sums do not depend on the width of an image.
///
/// Crops align layers without padding, and vanish. Throws error, naming the layer and the reason, where a result needs
/// later samples, or the whole signal, or there are fewer results than samples.
[[nodiscard]] inline StreamGraph stream(Graph const& graph, int block, std::optional<Axis> time = {}) {
    return network::detail::Streamer(graph, block, time).stream();
}

}  // namespace primsel::inline PRIMSEL_ABI
