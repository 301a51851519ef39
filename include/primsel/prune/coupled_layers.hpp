#pragma once

#include <primsel/core/error.hpp>
#include <primsel/core/text_table.hpp>
#include <primsel/network/graph.hpp>
#include <primsel/prune/coupling.hpp>
#include <primsel/prune/detail/ranked_rows.hpp>
#include <primsel/prune/ranking.hpp>

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::prune {

/// Layers whose channels are removed together: one row of the table of coupled layers.
struct CoupledLayers {
    /// Names of layers, in the order of the network: made_by lose filters; passed_by have the channels in their results
    /// without making them (depthwise convolutions, batch norms, sums, ...); read_by lose the kernels that read the
    /// channels.
    std::vector<std::string> made_by, passed_by, read_by;
    /// The groups of channels, by their numbers in the coupling; the number of them that may be removed; and the reason
    /// why others must stay.
    std::vector<std::size_t> groups;
    std::size_t may_go = 0;
    std::string fixed;
    /// The largest number of filters of a layer of made_by.
    std::size_t filters = 0;
};

/// The sets of layers that lose the same channels. Channels of the image, which no layer makes, are in none of them.
[[nodiscard]] inline std::vector<CoupledLayers> coupled_layers(Graph const& graph, Coupling const& coupling) {
    constexpr std::size_t none = static_cast<std::size_t>(-1);
    const auto makers = detail::rankings_of_layers(graph, coupling);
    std::map<std::size_t, CoupledLayers> sets;
    std::vector<std::size_t> set_of(coupling.groups().size(), none);
    for (auto const& [layer, number] : makers) {
        sets[number].made_by.push_back(graph[layer].name);
        sets[number].filters = std::max(sets[number].filters, coupling.groups_of(layer).size());
        for (const std::size_t group : coupling.groups_of(layer)) set_of[group] = number;
    }
    const auto sets_of = [&](std::size_t layer) {
        std::set<std::size_t> of;
        for (const std::size_t group : coupling.groups_of(layer)) {
            if (set_of[group] != none) of.insert(set_of[group]);
        }
        return of;
    };
    for (std::size_t i = 0; i < graph.size(); ++i) {
        const bool makes = makers.contains(i);
        for (const std::size_t set : sets_of(makes ? graph[i].inputs[0] : i)) {
            (makes ? sets[set].read_by : sets[set].passed_by).push_back(graph[i].name);
        }
    }
    for (std::size_t group = 0; group < set_of.size(); ++group) {
        if (set_of[group] == none) continue;
        CoupledLayers& set = sets[set_of[group]];
        std::string const& fixed = coupling.groups()[group].fixed;
        set.groups.push_back(group);
        set.may_go += fixed.empty() ? 1 : 0;
        if (set.fixed.empty()) set.fixed = fixed;
    }
    std::vector<CoupledLayers> result;
    for (auto& [number, set] : sets) result.push_back(std::move(set));
    return result;
}

/// The layers that must keep filters because of a layer between them and the next filters. Layers whose channels are
/// the network's result or the image's are left out.
[[nodiscard]] inline std::vector<CoupledLayers> held_back(Graph const& graph, Coupling const& coupling) {
    // Whether the channels reach a result without passing other filters.
    std::vector<bool> last(graph.size(), false);
    for (const std::size_t output : graph.outputs()) last[output] = true;
    for (std::size_t i = graph.size(); i-- > 0;) {
        if (!last[i] || detail::makes_channels(graph, i)) continue;
        for (const std::size_t input : graph[i].inputs) last[input] = true;
    }
    std::set<std::size_t> of_image;
    for (const std::size_t input : graph.inputs()) {
        of_image.insert(coupling.groups_of(input).begin(), coupling.groups_of(input).end());
    }
    std::vector<CoupledLayers> held;
    for (CoupledLayers& set : coupled_layers(graph, coupling)) {
        bool at_an_end = false;
        for (std::string const& name : set.made_by) at_an_end = at_an_end || last[graph.find(name)];
        for (const std::size_t group : set.groups) at_an_end = at_an_end || of_image.contains(group);
        if (at_an_end) continue;
        if (set.groups.size() == 1 && set.filters > 1 && set.fixed.empty()) {
            set.may_go = 0, set.fixed = "all of them are coupled to each other";
        }
        if (set.may_go < set.groups.size()) held.push_back(std::move(set));
    }
    return held;
}

/// Says which layers keep how many channels, and why.
[[nodiscard]] inline std::string held_back_text(CoupledLayers const& set) {
    std::string names;
    for (std::string const& name : set.made_by) names += (names.empty() ? "" : ", ") + name;
    const std::size_t all = set.groups.size() == 1 ? set.filters : set.groups.size(), stay = all - set.may_go;
    return join(names, ": ", stay, " of ", all, stay == 1 ? " stays: " : " stay: ", set.fixed);
}
/// The same for several sets, separated by semicolons.
[[nodiscard]] inline std::string held_back_text(std::span<const CoupledLayers> held) {
    std::string text;
    for (CoupledLayers const& set : held) text += (text.empty() ? "" : "; ") + held_back_text(set);
    return text;
}

/// A text table with one line for each set: the layers with the filters, the number of channels and how many of them
/// may be removed, their readers, and why others must stay.
[[nodiscard]] inline std::string to_text(std::span<const CoupledLayers> table) {
    const auto list = [](std::vector<std::string> const& names) {
        std::string text;
        for (std::string const& name : names) text += (text.empty() ? "" : ", ") + name;
        return text;
    };
    TextTable text;
    text.add({"filters of", "channels", "may go", "read by", "the others stay because"});
    for (CoupledLayers const& set : table) {
        text.add({list(set.made_by), std::to_string(set.groups.size()), std::to_string(set.may_go), list(set.read_by),
                  set.fixed});
    }
    return text.text();
}

}  // namespace primsel::inline PRIMSEL_ABI::prune
