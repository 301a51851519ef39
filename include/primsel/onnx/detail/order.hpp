// Which nodes of a model its outputs need, and in which order they can run.
#pragma once

#include <primsel/onnx/detail/model.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::onnx {

/// A node's name, or that of its first result.
[[nodiscard]] inline std::string_view name_of(NodeProto const& node) {
    std::string_view name = node.name;
    for (std::size_t i = 0; name.empty() && i < node.outputs.size(); ++i) name = node.outputs[i];
    return name;
}
/// How errors call a node.
[[nodiscard]] inline std::string describe(NodeProto const& node) {
    return join("node ", name_of(node), " (", node.op, ")");
}

struct Order {
    /// Positions of nodes.
    std::vector<std::size_t> nodes;
    /// The values that these read, and the outputs of the model.
    std::unordered_set<std::string_view> needed;
};

/// Throws error when a value has two sources, or needs itself. Results without a name are not needed.
[[nodiscard]] inline Order order_of(std::vector<NodeProto> const& nodes, std::vector<std::string_view> const& outputs) {
    std::unordered_map<std::string_view, std::size_t> source;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        for (const std::string_view name : nodes[i].outputs) {
            if (!name.empty() && !source.emplace(name, i).second) {
                fail(describe(nodes[i]), ": its output ", name, " is another node's too");
            }
        }
    }
    const auto needs = [&](std::size_t i, auto const& f) {
        for (auto const* names : {&nodes[i].inputs, &nodes[i].captured}) {
            for (const std::string_view name : *names) {
                if (const auto found = source.find(name); found != source.end()) f(found->second);
            }
        }
    };
    Order order;
    std::vector<std::size_t> stack;
    enum class State : unsigned char { unneeded, needed, entered, done };
    std::vector<State> states(nodes.size(), State::unneeded);
    const auto want = [&](std::size_t i) {
        if (states[i] == State::unneeded) states[i] = State::needed, stack.push_back(i);
    };
    for (const std::string_view output : outputs) {
        order.needed.insert(output);
        if (const auto found = source.find(output); found != source.end()) want(found->second);
    }
    while (!stack.empty()) {
        const std::size_t i = stack.back();
        stack.pop_back();
        order.needed.insert(nodes[i].inputs.begin(), nodes[i].inputs.end());
        order.needed.insert(nodes[i].captured.begin(), nodes[i].captured.end());
        needs(i, want);
    }
    order.needed.erase(std::string_view());
    // Depth first, in the order of the file: where that is an order in which they can run, as the standard demands, it
    // stays as it is.
    for (std::size_t start = 0; start < nodes.size(); ++start) {
        if (states[start] == State::needed) stack.push_back(start);
        while (!stack.empty()) {
            const std::size_t i = stack.back();
            if (states[i] == State::done) {
                stack.pop_back();
            } else if (states[i] == State::entered) {
                states[i] = State::done;
                order.nodes.push_back(i);
                stack.pop_back();
            } else {
                states[i] = State::entered;
                needs(i, [&](std::size_t before) {
                    if (states[before] == State::entered) {
                        fail(describe(nodes[before]), ": needs its own result: the graph has a cycle");
                    }
                    if (states[before] == State::needed) stack.push_back(before);
                });
            }
        }
    }
    return order;
}
[[nodiscard]] inline std::vector<std::string_view> names_of(std::vector<ValueInfoProto> const& values) {
    std::vector<std::string_view> names;
    for (ValueInfoProto const& value : values) names.push_back(value.name);
    return names;
}
[[nodiscard]] inline Order order_of(ModelProto const& model) { return order_of(model.nodes, names_of(model.outputs)); }

}  // namespace primsel::inline PRIMSEL_ABI::onnx
