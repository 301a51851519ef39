#pragma once

#include <primsel/core/text_table.hpp>
#include <primsel/network/graph.hpp>
#include <primsel/prune/coupling.hpp>
#include <primsel/prune/ranking.hpp>

#include <cstddef>
#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

/// Layers whose channels go together: a row of the table of what is coupled to what.
struct CoupledLayers {
    /// Whose filters go, whose results have the channels besides (depthwise convolutions, batch norms, sums, ...), and
    /// whose kernels that read them go. Names, in the order of the network.
    std::vector<std::string> made_by, passed_by, read_by;
    /// The groups of channels, by their numbers in the coupling; how many of them may go, and why others must stay.
    std::vector<std::size_t> groups;
    std::size_t may_go = 0;
    std::string fixed;
};

/// Which layers of a network lose the same channels. The image, which no layer makes, is in none of them.
[[nodiscard]] inline std::vector<CoupledLayers> coupled_layers(Graph const& graph, Coupling const& coupling) {
    constexpr std::size_t none = static_cast<std::size_t>(-1);
    const auto makers = detail::rankings_of_layers(graph, coupling);
    std::map<std::size_t, CoupledLayers> sets;
    std::vector<std::size_t> set_of(coupling.groups().size(), none);
    for (auto const& [layer, number] : makers) {
        sets[number].made_by.push_back(graph[layer].name);
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

/// A line a row: whose filters, how many channels and how many of them may go, who reads them, why others must stay.
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

}  // namespace primsel::inline PRIMSEL_ABI
