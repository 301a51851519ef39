#pragma once

#include <primsel/network/graph.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

/// A copy of a graph to change: layers are replaced, removed, inserted and rewired, and graph() builds what has come of
/// it, with all the checks of Graph::add. Layers are known by numbers that never change: those of the graph are their
/// positions in it, new ones follow. See docs/network/graph_editor.md.
class GraphEditor {
public:
    explicit GraphEditor(Graph const& graph)
        : nodes_(graph.nodes()),
          readers_(graph.size()),
          removed_(graph.size(), false),
          outputs_(graph.size() == 0 ? std::vector<std::size_t>{} : graph.outputs()),
          trainable_(graph.trainable()),
          shared_(graph.shared()),
          batch_(graph.batch()) {
        for (std::size_t i = 0; i < nodes_.size(); ++i) link(i);
    }

    /// The number of layers, removed ones included.
    [[nodiscard]] std::size_t size() const { return nodes_.size(); }
    /// The layer as it is now. Its shape is that of the graph it came from, and no shape at all for a new layer:
    /// graph() infers them. Throws error where there is no such layer, or no longer.
    [[nodiscard]] Node const& operator[](std::size_t layer) const { return nodes_[known(layer)]; }
    [[nodiscard]] bool removed(std::size_t layer) const { return layer < removed_.size() && removed_[layer]; }
    [[nodiscard]] std::vector<std::size_t> const& outputs() const { return outputs_; }
    [[nodiscard]] std::set<std::string, std::less<>> const& trainable() const { return trainable_; }
    /// The layers that read this one, in the order of their numbers; twice if they read it twice.
    [[nodiscard]] std::vector<std::size_t> readers(std::size_t layer) const {
        std::vector<std::size_t> readers = readers_[known(layer)];
        std::ranges::sort(readers);
        return readers;
    }
    [[nodiscard]] bool is_output(std::size_t layer) const {
        return std::ranges::find(outputs_, known(layer)) != outputs_.end();
    }
    /// The number of inputs that read this layer; each result of the graph counts as one more.
    [[nodiscard]] std::size_t uses(std::size_t layer) const {
        return readers_[known(layer)].size() + static_cast<std::size_t>(std::ranges::count(outputs_, layer));
    }

    /// Replaces the layer's kind and parameters; its name, inputs and epilogue stay.
    void replace(std::size_t layer, AnyLayer by) { nodes_[known(layer)].layer = std::move(by); }
    /// Another epilogue. Its residual, if it has one, is the last of the layer's inputs: rewire goes along with it.
    void set_epilogue(std::size_t layer, Epilogue epilogue) { nodes_[known(layer)].epilogue = std::move(epilogue); }
    /// Sets the range of the layer's result. Other changes of a layer leave its range as it is.
    void set_range(std::size_t layer, TensorRange range) { nodes_[known(layer)].range = range; }
    /// Adds a layer that no other layer reads yet, and returns its number. Throws error if an input does not exist.
    std::size_t insert(std::string name, AnyLayer layer, std::vector<std::size_t> inputs) {
        for (const std::size_t input : inputs) (void)known(input);
        nodes_.push_back({std::move(name), std::move(layer), std::move(inputs), {}, {}, {}});
        readers_.emplace_back();
        removed_.push_back(false);
        link(nodes_.size() - 1);
        return nodes_.size() - 1;
    }
    /// Adds a layer that reads this one, and returns its number. All other readers of this layer, and results of the
    /// graph, then read the new one.
    std::size_t insert_after(std::size_t layer, std::string name, AnyLayer added) {
        (void)known(layer);
        const std::size_t next = insert(std::move(name), std::move(added), {});
        redirect(layer, next);
        rewire(next, {layer});
        return next;
    }
    /// Adds a layer between this one and its input number `place`, and returns its number.
    std::size_t insert_before(std::size_t layer, std::size_t place, std::string name, AnyLayer added) {
        const std::size_t before = insert(std::move(name), std::move(added), {input_at(layer, place)});
        rewire(layer, place, before);
        return before;
    }
    /// Makes `source` the layer's input number `place`.
    void rewire(std::size_t layer, std::size_t place, std::size_t source) {
        (void)input_at(layer, place);
        (void)known(source);
        unlink(layer);
        nodes_[layer].inputs[place] = source;
        link(layer);
    }
    /// Replaces all inputs of the layer.
    void rewire(std::size_t layer, std::vector<std::size_t> inputs) {
        for (const std::size_t input : inputs) (void)known(input);
        unlink(known(layer));
        nodes_[layer].inputs = std::move(inputs);
        link(layer);
    }
    /// Makes all readers of layer `of`, results of the graph included, read layer `by`.
    void replace_readers(std::size_t of, std::size_t by) { redirect(known(of), known(by)); }
    /// Removes a layer; its readers then read its input. Throws error, naming the layer, if it is read and does not
    /// have exactly one input.
    void remove(std::size_t layer) {
        Node const& node = nodes_[known(layer)];
        if (uses(layer) > 0) {
            if (node.inputs.size() != 1) {
                fail("graph editor: layer ", node.name, " is read, and has not one input to read in its place but ",
                     node.inputs.size());
            }
            redirect(layer, node.inputs[0]);
        }
        unlink(layer);
        removed_[layer] = true;
    }
    /// Removes the layers on which no result depends.
    void remove_unneeded() {
        std::vector<std::size_t> unread;
        for (std::size_t i = 0; i < nodes_.size(); ++i) {
            if (!removed_[i] && uses(i) == 0) unread.push_back(i);
        }
        while (!unread.empty()) {
            const std::size_t layer = unread.back();
            unread.pop_back();
            if (removed_[layer]) continue;
            remove(layer);
            for (const std::size_t input : nodes_[layer].inputs) {
                if (uses(input) == 0) unread.push_back(input);
            }
        }
    }
    /// Throws error when there are none.
    void set_outputs(std::vector<std::size_t> outputs) {
        if (outputs.empty()) fail("graph editor: no outputs");
        for (const std::size_t output : outputs) (void)known(output);
        outputs_ = std::move(outputs);
    }

    /// The graph as it is now, of the same batch: those listed first, the others in the old order, and what a layer
    /// reads always before it. Throws error as Graph::add does, and where layers read each other in a circle.
    [[nodiscard]] Graph graph(std::span<const std::size_t> first = {}) const {
        Build build{Graph(batch_), std::vector<std::size_t>(nodes_.size(), 0),
                    std::vector<State>(nodes_.size(), State::waiting)};
        for (const std::size_t layer : first) place(known(layer), build);
        for (std::size_t i = 0; i < nodes_.size(); ++i) {
            if (!removed_[i]) place(i, build);
        }
        build.graph.set_trainable(trainable_);
        build.graph.set_shared(shared_);
        if (outputs_.empty()) return std::move(build.graph);
        std::vector<std::size_t> outputs;
        for (const std::size_t output : outputs_) outputs.push_back(build.position[output]);
        build.graph.set_outputs(std::move(outputs));
        return std::move(build.graph);
    }

private:
    enum class State { waiting, entered, placed };
    struct Build {
        Graph graph;
        std::vector<std::size_t> position;
        std::vector<State> state;
    };

    /// The layer after all that it reads. Without recursion: networks may be as deep as they like.
    void place(std::size_t last, Build& build) const {
        std::vector<std::size_t> stack{last};
        while (!stack.empty()) {
            const std::size_t layer = stack.back();
            if (build.state[layer] == State::placed) {
                stack.pop_back();
                continue;
            }
            build.state[layer] = State::entered;
            const std::size_t depth = stack.size();
            Node const& node = nodes_[layer];
            for (std::size_t place = node.inputs.size(); place-- > 0;) {
                const std::size_t input = node.inputs[place];
                if (build.state[input] == State::entered) {
                    fail("graph editor: layer ", node.name, " reads ", nodes_[input].name, ", which depends on it");
                }
                if (build.state[input] == State::waiting) stack.push_back(input);
            }
            if (stack.size() > depth) continue;
            std::vector<std::size_t> inputs;
            for (const std::size_t input : node.inputs) inputs.push_back(build.position[input]);
            build.position[layer] = build.graph.add(node.name, node.layer, std::move(inputs), node.epilogue);
            build.graph.set_range(build.position[layer], node.range);
            build.state[layer] = State::placed;
            stack.pop_back();
        }
    }
    [[nodiscard]] std::size_t known(std::size_t layer) const {
        if (layer >= nodes_.size()) fail("graph editor: there is no layer ", layer, " of ", nodes_.size());
        if (removed_[layer]) fail("graph editor: layer ", nodes_[layer].name, " was removed");
        return layer;
    }
    [[nodiscard]] std::size_t input_at(std::size_t layer, std::size_t place) const {
        Node const& node = nodes_[known(layer)];
        if (place >= node.inputs.size()) {
            fail("graph editor: layer ", node.name, " has ", node.inputs.size(), " inputs, and no input ", place);
        }
        return node.inputs[place];
    }
    void redirect(std::size_t from, std::size_t to) {
        if (from == to) return;
        for (const std::size_t reader : readers_[from]) {
            std::ranges::replace(nodes_[reader].inputs, from, to);
            readers_[to].push_back(reader);
        }
        readers_[from].clear();
        std::ranges::replace(outputs_, from, to);
    }
    /// The layer is among the readers of its inputs, or no longer.
    void link(std::size_t layer) {
        for (const std::size_t input : nodes_[layer].inputs) readers_[input].push_back(layer);
    }
    void unlink(std::size_t layer) {
        for (const std::size_t input : nodes_[layer].inputs) std::erase(readers_[input], layer);
    }

    std::vector<Node> nodes_;
    std::vector<std::vector<std::size_t>> readers_;  // in any order
    std::vector<bool> removed_;
    std::vector<std::size_t> outputs_;
    std::set<std::string, std::less<>> trainable_;
    SharedWeights shared_;
    int batch_;
};

}  // namespace primsel::inline PRIMSEL_ABI
