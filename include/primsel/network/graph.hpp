#pragma once

#include <primsel/core/error.hpp>
#include <primsel/core/visit.hpp>
#include <primsel/layer/all.hpp>
#include <primsel/network/epilogue.hpp>
#include <primsel/tensor/range.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <functional>
#include <iosfwd>
#include <map>
#include <ostream>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

[[nodiscard]] inline Fault check(AnyLayer const& layer, std::span<const Shape> inputs) {
    return core::visit([&](auto const& params) { return params.check(inputs); }, layer);
}
/// The fault in words: names an impossible parameter, the shape that the layer asks for, or the reason why a layer of
/// the user's own refuses its inputs.
[[nodiscard]] inline std::string message(AnyLayer const& layer, Fault fault, std::span<const Shape> inputs) {
    std::string text(message(fault));
    const auto* own = std::get_if<OwnLayerParams>(&layer);
    if (own != nullptr && fault == Fault::refused) return std::string(own->supports(inputs).reason());
    if (fault != Fault::impossible_parameter && fault != Fault::too_large) return text;
    core::visit(
        [&]<class Params>([[maybe_unused]] Params const& params) {
            if constexpr (requires { params.impossible(); }) {
                if (fault == Fault::impossible_parameter) text = params.impossible();
            }
            if constexpr (requires { params.shape; }) text += join("; the shape is ", params.shape);
        },
        layer);
    return text;
}
[[nodiscard]] inline Shape output(AnyLayer const& layer, std::span<const Shape> inputs) {
    return core::visit([&](auto const& params) { return params.output(inputs); }, layer);
}

namespace network::detail {
template <class Layer>
concept MakesLayer = is_kind_of_layer<Layer> || std::convertible_to<Layer const&, AnyLayer>;
}  // namespace network::detail

/// A layer in its place: its name (which is also that of its weights), its inputs and its output shape.
struct Node {
    std::string name;
    AnyLayer layer;
    /// Positions in the graph, all before this one's.
    std::vector<std::size_t> inputs;
    Shape shape;
    Epilogue epilogue;
    /// The range of the result, if it is known: where it is, plans may store the result as bytes.
    TensorRange range{};
    friend bool operator==(Node const&, Node const&) = default;
};

/// A weight that shares its values with the others of its group.
struct SharedWeight {
    std::string group;
    /// Whether this weight is a matrix that holds the group's values transposed.
    bool transposed = false;
    friend bool operator==(SharedWeight const&, SharedWeight const&) = default;
};
/// Maps the names of weights to their groups.
using SharedWeights = std::map<std::string, SharedWeight, std::less<>>;

/// A network as layers in an order in which they can run. The only intermediate representation; a plain value. Its
/// outputs are results of some of its nodes: by default of the last.
class Graph {
public:
    /// batch: the number of images in a run. Throws error unless it is at least 1.
    explicit Graph(int batch = 1) : batch_(batch) {
        if (batch < 1) fail("graph: impossible batch ", batch);
    }

    /// A compile-time error that names the member a type lacks to be a layer.
    template <class Layer>
        requires(!network::detail::MakesLayer<Layer>)
    std::size_t add(std::string const&, Layer const&, std::vector<std::size_t> const&, Epilogue const& = {}) {
        static_assert(CheckOwnLayer<Layer>::value);
        return 0;
    }
    /// Appends a layer and returns its position. Throws error, naming the layer and the shapes, when the name is taken,
    /// the layer does not fit its inputs, or cannot have such an epilogue.
    std::size_t add(std::string name, AnyLayer layer, std::vector<std::size_t> inputs, Epilogue epilogue = {}) {
        std::vector<Shape> shapes;
        for (const std::size_t input : inputs) {
            if (input >= nodes_.size()) fail("graph: layer ", name, " reads a layer that does not come before it");
            shapes.push_back(nodes_[input].shape);
        }
        const std::string_view excess = network::detail::excess(epilogue, epilogue_parts(layer));
        if (!excess.empty()) fail("graph: layer ", name, " (", layer_kind(layer), ") cannot have ", excess);
        // The shapes that the layer itself reads.
        std::span<const Shape> own(shapes);
        if (epilogue.residual && !own.empty()) own = own.first(own.size() - 1);
        Fault fault = primsel::check(layer, own);
        if (fault == Fault::none && epilogue.residual && shapes.back() != output(layer, own))
            fault = Fault::shapes_differ;
        const bool batched = fault == Fault::none && too_large(output(layer, own));
        if (batched) fault = Fault::too_large;
        if (fault != Fault::none) {
            std::string list;
            for (Shape const& shape : shapes) list += (list.empty() ? "" : ", ") + to_string(shape);
            fail("graph: layer ", name, " (", layer_kind(layer), ") on ", list.empty() ? "nothing" : list, ": ",
                 message(layer, fault, own), batched ? join(", in a batch of ", batch_) : "");
        }
        if (!positions_.emplace(name, nodes_.size()).second) fail("graph: two layers are named ", name);
        const Shape shape = output(layer, own);
        nodes_.push_back({std::move(name), std::move(layer), std::move(inputs), shape, std::move(epilogue), {}});
        return nodes_.size() - 1;
    }

    [[nodiscard]] std::vector<Node> const& nodes() const { return nodes_; }
    [[nodiscard]] Node const& operator[](std::size_t position) const { return nodes_[position]; }
    [[nodiscard]] std::size_t size() const { return nodes_.size(); }
    [[nodiscard]] int batch() const { return batch_; }

    /// Sets the range of a layer's result.
    void set_range(std::size_t position, TensorRange range) { nodes_.at(position).range = range; }

    /// Position of the layer. Throws error when there is none.
    [[nodiscard]] std::size_t find(std::string_view name) const {
        const auto found = positions_.find(std::string(name));
        if (found == positions_.end()) fail("graph: no layer is named ", name);
        return found->second;
    }
    /// Positions of the inputs, in their order.
    [[nodiscard]] std::vector<std::size_t> inputs() const {
        std::vector<std::size_t> inputs;
        for (std::size_t i = 0; i < nodes_.size(); ++i) {
            if (std::holds_alternative<InputParams>(nodes_[i].layer)) inputs.push_back(i);
        }
        return inputs;
    }
    /// Positions of the nodes whose results are the graph's, in the order of the results. Throws error when there are
    /// no layers.
    [[nodiscard]] std::vector<std::size_t> outputs() const {
        if (!outputs_.empty()) return outputs_;
        if (nodes_.empty()) fail("graph: no layers");
        return {nodes_.size() - 1};
    }
    /// Sets the positions of the outputs. Throws error if the list is empty or a position is out of range.
    void set_outputs(std::vector<std::size_t> outputs) {
        if (outputs.empty()) fail("graph: no outputs");
        for (const std::size_t output : outputs) {
            if (output >= nodes_.size()) fail("graph: an output of a layer that is not there");
        }
        outputs_ = std::move(outputs);
    }
    /// The position of the one image. Throws error when the graph has not exactly one input.
    [[nodiscard]] std::size_t input() const {
        const std::vector<std::size_t> all = inputs();
        if (all.empty()) fail("graph: no input");
        if (all.size() > 1) fail("graph: two inputs, ", nodes_[all[0]].name, " and ", nodes_[all[1]].name);
        return all[0];
    }
    /// The position of the one result. Throws error when the graph has several.
    [[nodiscard]] std::size_t output_node() const {
        const std::vector<std::size_t> all = outputs();
        if (all.size() > 1) fail("graph: two outputs, ", nodes_[all[0]].name, " and ", nodes_[all[1]].name);
        return all[0];
    }
    /// The names of the trainable weights, which change between runs. All others are constant.
    [[nodiscard]] std::set<std::string, std::less<>> const& trainable() const { return trainable_; }
    void set_trainable(std::set<std::string, std::less<>> weights) { trainable_ = std::move(weights); }
    /// Weights that several layers share. Training keeps them equal, pruning takes the same filters from all of them,
    /// and files have them once. Names of weights that the graph lacks mean nothing.
    [[nodiscard]] SharedWeights const& shared() const { return shared_; }
    void set_shared(SharedWeights weights) { shared_ = std::move(weights); }
    /// How many inputs read each node; each result of the graph counts as read once more.
    [[nodiscard]] std::vector<std::size_t> uses() const {
        std::vector<std::size_t> uses(nodes_.size(), 0);
        for (Node const& node : nodes_) {
            for (const std::size_t input : node.inputs) ++uses[input];
        }
        if (nodes_.empty()) return uses;
        for (const std::size_t output : outputs()) ++uses[output];
        return uses;
    }
    [[nodiscard]] std::vector<Shape> input_shapes(std::size_t position) const {
        std::vector<Shape> shapes;
        for (const std::size_t input : nodes_[position].inputs) shapes.push_back(nodes_[input].shape);
        return shapes;
    }

    friend bool operator==(Graph const& a, Graph const& b) {
        if (a.batch_ != b.batch_ || a.nodes_ != b.nodes_ || a.trainable_ != b.trainable_ || a.shared_ != b.shared_)
            return false;
        return a.nodes_.empty() || a.outputs() == b.outputs();
    }

private:
    /// All images of the batch together.
    [[nodiscard]] bool too_large(Shape const& shape) const {
        return bounded_product({batch_, shape.c, shape.h, shape.w}) > max_floats;
    }

    int batch_;
    std::vector<Node> nodes_;
    std::vector<std::size_t> outputs_;  // empty: the last node
    std::unordered_map<std::string, std::size_t> positions_;
    std::set<std::string, std::less<>> trainable_;
    SharedWeights shared_;
};

/// Whether all images of a batch go through a layer before any goes through the next, as in a step of training.
[[nodiscard]] inline bool goes_layer_by_layer(Graph const& graph) {
    return std::ranges::any_of(graph.nodes(), [](Node const& node) { return of_batch(node.layer); });
}

/// Prints a line for each layer: name, kind, inputs, output shape.
inline std::ostream& operator<<(std::ostream& out, Graph const& graph) {
    for (Node const& node : graph.nodes()) {
        out << node.name << ": " << layer_kind(node.layer);
        const char* separator = "(";
        for (const std::size_t input : node.inputs) {
            out << separator << graph[input].name;
            separator = ", ";
        }
        out << (node.inputs.empty() ? "" : ")") << " -> " << to_string(node.shape) << '\n';
    }
    return out;
}

}  // namespace primsel::inline PRIMSEL_ABI
