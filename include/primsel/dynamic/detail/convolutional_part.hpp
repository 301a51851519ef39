#pragma once

#include <primsel/core/error.hpp>
#include <primsel/network/graph.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::dynamic::detail {

/// Cuts a network in two: the convolutional part, and the dense part behind it.
class ConvolutionalPart {
public:
    /// `head` names the first layer of the dense part; if it is empty, a cut is looked for. Throws error, naming the
    /// layer, if the network cannot be cut there or anywhere, or if layers are fused.
    ConvolutionalPart(Graph const& graph, std::string const& head) : graph_(graph) {
        for (Node const& node : graph.nodes()) {
            if (node.epilogue != Epilogue{}) {
                fail("grouped: layer ", node.name, " has others fused into it; group first, and simplify then");
            }
        }
        if (!head.empty()) {
            cut_before(graph.find(head));
            if (const std::string why = fault(); !why.empty()) fail("grouped: ", why);
        } else {
            find_cut();
        }
        take_out_of_group();
    }

    /// The positions of the convolutional part's layers, with the Input's.
    [[nodiscard]] std::vector<std::size_t> const& layers() const { return layers_; }
    /// The position of the convolutional part's last layer.
    [[nodiscard]] std::size_t end() const { return end_; }
    /// The position of the layer whose result the dense part reads: end(), or a concatenation of end() alone.
    [[nodiscard]] std::size_t result() const { return result_; }
    /// The positions of the dense part's layers, ascending.
    [[nodiscard]] std::vector<std::size_t> const& behind() const { return behind_; }
    /// The layer's name without the prefix "group1.", if the network already is in a single group.
    [[nodiscard]] std::string_view name_in_group(std::size_t layer) const {
        const std::string_view name = graph_[layer].name;
        return is_group_ ? name.substr(only_group.size()) : name;
    }
    [[nodiscard]] std::string name_of_concat() const {
        const auto taken = [&](std::string const& name) {
            return std::ranges::any_of(behind_, [&](std::size_t i) { return graph_[i].name == name; });
        };
        for (int number = 1;; ++number) {
            if (std::string name = join("concat", number); !taken(name)) return name;
        }
    }

private:
    static constexpr std::string_view only_group = "group1.";

    /// Cuts before `head`, and before Dropout and Flatten layers that only it reads.
    void cut_before(std::size_t head) {
        std::vector<bool> is_behind(graph_.size(), false);
        const std::vector<std::size_t> uses = graph_.uses();
        std::size_t first = head;
        while (graph_[first].inputs.size() == 1) {
            const std::size_t before = graph_[first].inputs[0];
            const bool moves = std::holds_alternative<DropoutParams>(graph_[before].layer) ||
                               std::holds_alternative<FlattenParams>(graph_[before].layer);
            if (!moves || uses[before] != 1) break;
            first = before;
        }
        layers_.clear(), behind_.clear();
        end_ = graph_[first].inputs.empty() ? first : graph_[first].inputs[0];
        for (std::size_t i = 0; i < graph_.size(); ++i) {
            is_behind[i] = i == first;
            for (const std::size_t input : graph_[i].inputs) is_behind[i] = is_behind[i] || is_behind[input];
            (is_behind[i] ? behind_ : layers_).push_back(i);
        }
    }
    /// Why the network cannot be cut here; empty if it can.
    [[nodiscard]] std::string fault() const {
        if (behind_.empty() || graph_[behind_[0]].inputs.size() != 1) return "the dense part has not one input";
        if (graph_[end_].inputs.empty()) return "nothing comes before the dense part";
        for (const std::size_t i : behind_) {
            for (const std::size_t input : graph_[i].inputs) {
                if (input == end_ || std::ranges::binary_search(behind_, input)) continue;
                if (std::holds_alternative<ConstantParams>(graph_[input].layer)) continue;
                return join("layer ", graph_[i].name, ", behind ", graph_[behind_[0]].name, ", reads ",
                            graph_[input].name, ", which comes before");
            }
        }
        for (const std::size_t output : graph_.outputs()) {
            if (!std::ranges::binary_search(behind_, output)) {
                return join("layer ", graph_[output].name, ", before ", graph_[behind_[0]].name, ", is a result");
            }
        }
        return "";
    }
    void find_cut() {
        std::string first_fault;
        const auto cuts = [&](std::size_t i) {
            cut_before(i);
            const std::string why = fault();
            if (first_fault.empty()) first_fault = why;
            return why.empty();
        };
        for (std::size_t i = 0; i < graph_.size(); ++i) {
            if (std::holds_alternative<DenseParams>(graph_[i].layer) && cuts(i)) return;
        }
        for (std::size_t i = graph_.size(); i-- > 0;) {
            if (std::holds_alternative<ConvParams>(graph_[i].layer) && cuts(i)) return;
        }
        fail("grouped: the network has no dense part that groups could be concatenated before",
             first_fault.empty() ? "" : ": ", first_fault);
    }
    /// Moves constants that only the dense part reads to it. Of a network in a single group, also leaves out the
    /// concatenation of that one group.
    void take_out_of_group() {
        const auto read_before = [&](std::size_t constant) {
            return std::ranges::any_of(layers_, [&](std::size_t i) {
                return std::ranges::find(graph_[i].inputs, constant) != graph_[i].inputs.end();
            });
        };
        for (std::size_t i = 0; i < graph_.size(); ++i) {
            if (!std::holds_alternative<ConstantParams>(graph_[i].layer) || read_before(i)) continue;
            if (std::erase(layers_, i) > 0) behind_.push_back(i);
        }
        std::ranges::sort(behind_);
        result_ = end_;
        const std::size_t image = graph_.input();
        const auto* concat = std::get_if<ConcatParams>(&graph_[end_].layer);
        const bool of_one = concat != nullptr && graph_[end_].inputs.size() == 1;
        is_group_ = std::ranges::all_of(layers_, [&](std::size_t i) {
            return i == image || (of_one && i == end_) || graph_[i].name.starts_with(only_group);
        });
        if (is_group_ && of_one) {
            std::erase(layers_, end_);
            end_ = graph_[end_].inputs[0];
        }
    }

    Graph const& graph_;
    std::vector<std::size_t> layers_, behind_;
    std::size_t end_ = 0, result_ = 0;
    bool is_group_ = false;
};

}  // namespace primsel::inline PRIMSEL_ABI::dynamic::detail
