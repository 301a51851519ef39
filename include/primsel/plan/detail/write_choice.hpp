#pragma once

#include <primsel/core/error.hpp>
#include <primsel/kernels/kernels.hpp>
#include <primsel/network/graph.hpp>
#include <primsel/plan/conv_shape_of.hpp>
#include <primsel/plan/formulation.hpp>
#include <primsel/plan/plan.hpp>
#include <primsel/plan/pricing.hpp>
#include <primsel/plan/strips.hpp>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::plan::detail {

/// Writes into a plan, which knows its cost model and solver, the layers, changes of layout and strips that come of
/// choosing these of the alternatives of the graph's nodes. Where a solver chose a part of a chain, its layers run by
/// themselves in their layouts. Throws error where a change of layout has no price.
template <class Prices>
void write_choice(Plan& plan, Graph const& graph, Kernels const& kernels, Prices const& prices,
                  Alternatives const& alternatives, std::span<const std::size_t> choice, bool keep_candidates) {
    std::map<std::pair<std::size_t, std::size_t>, bool> moved;
    const auto move = [&](std::size_t writer, std::size_t from, std::size_t to, std::string const& reader) {
        if (kernels.same_placement(graph[writer].shape, from, to)) return;
        // Readers that want the same layout share one copy; a result is one of its own.
        if (!reader.empty() && !moved.emplace(std::pair{writer, to}, true).second) return;
        const double seconds = prices.transform_seconds(writer, from, to);
        if (seconds == std::numeric_limits<double>::infinity()) {
            fail("plan: solver ", plan.solver, " found no plan that is allowed: cost model ", plan.cost_model,
                 " has no price for changing ", graph[writer].shape, ", the result of layer ", graph[writer].name,
                 ", from layout ", kernels.layouts[from].name, " to ", kernels.layouts[to].name);
        }
        plan.transforms.push_back({graph[writer].name, reader, to_string(graph[writer].shape),
                                   std::string(kernels.layouts[from].name), std::string(kernels.layouts[to].name),
                                   seconds});
        plan.total_seconds += seconds;
    };
    std::vector<bool> whole;
    for (std::size_t c = 0; c < prices.chains.size(); ++c) {
        std::size_t count = 0;
        for (std::size_t i = prices.chains[c].first; i <= prices.chains[c].last(); ++i) {
            count += alternatives[i][choice[i]].chain == c ? 1U : 0U;
        }
        whole.push_back(count == prices.chains[c].shapes.size());
    }
    const auto chosen = [&](std::size_t i) {
        Alternative const& way = alternatives[i][choice[i]];
        if (way.chain == Alternative::no_chain || whole[way.chain]) return way;
        Alternative const* by_itself = nullptr;
        for (Alternative const& other : prices.alternatives[i]) {
            if (other.in_layout != way.in_layout || other.out_layout != way.out_layout) continue;
            if (by_itself == nullptr || other.precision == way.precision) by_itself = &other;
        }
        return *by_itself;
    };
    for (std::size_t i = 0; i < graph.size(); ++i) {
        Node const& node = graph[i];
        const Alternative way = chosen(i);
        for (std::size_t position = 0; position < node.inputs.size(); ++position) {
            const std::size_t writer = node.inputs[position];
            move(writer, chosen(writer).out_layout, read_layout(node, position, way.in_layout, way.out_layout),
                 node.name);
        }
        PlannedLayer layer{.name = node.name,
                           .kind = std::string(layer_kind(node.layer)),
                           .shape = to_string(node.shape),
                           .primitive = std::string(kernels.op(node.layer, way.op_layout).id),
                           .in_layout = std::string(kernels.layouts[way.in_layout].name),
                           .out_layout = std::string(kernels.layouts[way.out_layout].name),
                           .seconds = way.by_itself,
                           .candidates = {}};
        if (keep_candidates) layer.candidates = prices.candidates(i);
        if (const auto task = conv_task(graph, i)) {
            layer.primitive = kernels.primitives[way.primitive].id;
            layer.shape = to_string(task->shape, graph.batch());
        }
        plan.layers.push_back(std::move(layer));
        plan.total_seconds += way.by_itself;
    }
    for (std::size_t c = 0; c < prices.chains.size(); ++c) {
        if (!whole[c]) continue;
        StripChain const& chain = prices.chains[c];
        PlannedStrips strips{.layers = {}, .rows = chain.rows};
        for (std::size_t i = chain.first; i <= chain.last(); ++i) {
            strips.layers.push_back(graph[i].name);
            strips.seconds += chosen(i).seconds;
            plan.total_seconds -= chosen(i).by_itself;
        }
        plan.total_seconds += strips.seconds;
        plan.strips.push_back(std::move(strips));
    }
    for (const std::size_t output : graph.outputs()) move(output, chosen(output).out_layout, 0, "");
}

}  // namespace primsel::inline PRIMSEL_ABI::plan::detail
