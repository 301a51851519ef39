#pragma once

#include <primsel/core/error.hpp>
#include <primsel/dynamic/detail/convolutional_part.hpp>
#include <primsel/dynamic/detail/divided_layer.hpp>
#include <primsel/engine/kernels_for.hpp>
#include <primsel/network/graph.hpp>
#include <primsel/network/network.hpp>
#include <primsel/network/weight_specs.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::dynamic {

/// Options of grouped().
struct GroupOptions {
    /// The name of the first layer of the dense part, before which groups are concatenated. Empty: the first dense
    /// layer for which no layer from it on reads one before it; if there is none, the last such convolution.
    std::string head = {};
    /// Rounds up channels that the number of groups does not divide; if false, they are an error.
    bool round = false;
};

/// Splits a network into groups of channels that do not meet before the dense part (Xun et al. 2019, figure 1a). The
/// convolutional part is copied `groups` times, each copy with a share of the channels, and the results are
/// concatenated. Layers of the first group are named `group1.<layer>`, and so on; layers behind the concatenation keep
/// their names. Throws error if `groups` is below 1 or weights are shared, and, naming the layer, if the groups do not
/// divide its channels, if it mixes channels otherwise, if the convolutional part does not end in a single result, or
/// if simplify() has fused layers: call grouped() first, then simplify().
[[nodiscard]] inline Graph grouped(Graph const& graph, int groups, GroupOptions const& options = {}) {
    if (groups < 1) fail("grouped: impossible number of groups ", groups);
    if (const auto owners = weight_owners(graph); !owners.empty()) {
        auto const& [name, owner] = *owners.begin();
        fail("grouped: weights ", owner.name, " and ", name, " are shared; groups have weights of their own");
    }
    const detail::ConvolutionalPart part(graph, options.head);
    const detail::DividedLayer divided(graph, groups, options.round);
    Graph result(graph.batch());
    std::vector<std::size_t> at(graph.size(), 0);
    const std::size_t image = graph.input();
    at[image] = result.add(graph[image].name, graph[image].layer, {});
    result.set_range(at[image], graph[image].range);
    std::vector<std::size_t> ends;
    const auto add = [&](std::size_t i, std::string name, AnyLayer layer) {
        std::vector<std::size_t> inputs;
        for (const std::size_t input : graph[i].inputs) inputs.push_back(at[input]);
        at[i] = result.add(std::move(name), std::move(layer), std::move(inputs));
        result.set_range(at[i], graph[i].range);
    };
    for (int group = 1; group <= groups; ++group) {
        for (const std::size_t i : part.layers()) {
            if (i == image) continue;
            add(i, join("group", group, '.', part.name_in_group(i)), divided(i));
        }
        ends.push_back(at[part.end()]);
    }
    at[part.result()] = result.add(part.name_of_concat(), ConcatParams{}, ends);
    result.set_range(at[part.result()], graph[part.end()].range);
    for (const std::size_t i : part.behind()) add(i, graph[i].name, graph[i].layer);
    std::vector<std::size_t> outputs;
    for (const std::size_t output : graph.outputs()) outputs.push_back(at[output]);
    result.set_outputs(std::move(outputs));
    return result;
}

/// The number of the group that a layer or weight of this name belongs to: 2 for "group2.conv1"; 0 if it is in none.
[[nodiscard]] constexpr int group_number(std::string_view name) {
    constexpr std::string_view prefix = "group";
    if (!name.starts_with(prefix)) return 0;
    int number = 0;
    for (std::size_t i = prefix.size(); i < name.size() && i < prefix.size() + 6; ++i) {
        if (name[i] == '.') return number;
        if (name[i] < '0' || name[i] > '9') return 0;
        number = 10 * number + (name[i] - '0');
    }
    return 0;
}

/// The number of groups of a network. Throws error if it has none, or if one before the last is missing.
[[nodiscard]] inline int group_count(Graph const& graph) {
    std::vector<bool> has;
    for (Node const& node : graph.nodes()) {
        const auto number = static_cast<std::size_t>(group_number(node.name));
        if (number > has.size()) has.resize(number);
        if (number > 0) has[number - 1] = true;
    }
    if (has.empty()) fail("grouped: the network has no groups: no layer is named group1.<layer>");
    for (std::size_t i = 0; i < has.size(); ++i) {
        if (!has[i]) fail("grouped: the network has ", has.size(), " groups, but no layer of group ", i + 1);
    }
    return static_cast<int>(has.size());
}

namespace detail {
/// Whether `groups` divides the number of kernels of every convolution before the first dense layer.
template <class Net>
consteval bool groups_divide(int groups) {
    bool all = true, dense = false;
    if constexpr (engine::ListsLayers<Net>) {
        Net::each_layer([&](AnyLayer const& layer, Shape) {
            dense = dense || std::holds_alternative<DenseParams>(layer);
            if (const auto* conv = std::get_if<ConvParams>(&layer); conv != nullptr && !dense) {
                all = all && conv->k % groups == 0;
            }
        });
    }
    return all;
}
}  // namespace detail

/// grouped() of a network type: `struct Mine : primsel::dynamic::Grouped<Tiny, 4> {};`.
template <NetworkType Net, int groups>
struct Grouped {
    static_assert(groups > 0, "primsel: Grouped<Net, groups> takes a number of groups");
    static_assert(detail::groups_divide<Net>(groups),
                  "primsel: Grouped<Net, groups>: the groups do not divide the channels of a convolution; "
                  "grouped(Net::graph(), groups, {.round = true}) rounds them up");
    static constexpr Shape input_shape = Net::input_shape;
    static constexpr Shape output_shape = Net::output_shape;
    /// The graph for `batch` images at once.
    [[nodiscard]] static Graph graph(int batch = 1) { return grouped(Net::graph(batch), groups); }
};

}  // namespace primsel::inline PRIMSEL_ABI::dynamic
