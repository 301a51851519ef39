#pragma once

#include <primsel/core/error.hpp>
#include <primsel/dynamic/configuration.hpp>
#include <primsel/dynamic/detail/weight_block.hpp>
#include <primsel/dynamic/group_threads.hpp>
#include <primsel/engine/predict.hpp>
#include <primsel/network/simplify.hpp>
#include <primsel/plan/make_plans.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::dynamic {

/// Options of DynamicEngine and plan_configurations.
struct DynamicOptions {
    /// How often each sub-network is expected to run, relative to the others; empty: all equally often.
    std::vector<double> uses = {};
    PlanOptions plan = {};
    GroupThreads threads = GroupThreads::faster;
};

namespace detail {

/// The channels as text: "0-15" if they follow one another, else each number and a space.
[[nodiscard]] inline std::string channels_text(std::vector<std::size_t> const& channels) {
    const bool in_a_row = !channels.empty() && channels.back() - channels.front() + 1 == channels.size();
    if (in_a_row) return join(channels.front(), '-', channels.back());
    std::string text;
    for (const std::size_t channel : channels) text += join(channel, ' ');
    return text;
}

/// For each layer of a sub-network's simplified graph, the key of the layers that must get the same primitive and
/// layouts. Layers of two sub-networks have equal keys if their weights are the same part of the whole network's and
/// their shapes are equal. The key of a layer without weights is empty.
[[nodiscard]] inline std::vector<std::string> names_to_agree_by(Configuration const& configuration,
                                                                Graph const& simplified) {
    std::vector<std::string> names(simplified.size());
    for (std::size_t i = 0; i < simplified.size(); ++i) {
        Node const& node = simplified[i];
        bool has_weights = false;
        each_weight_of(simplified, i, [&](auto const&, auto const&) { has_weights = true; });
        if (!has_weights || node.inputs.empty()) continue;
        const std::size_t own = configuration.graph.find(node.name);
        const std::size_t input = configuration.graph[own].inputs[0];
        names[i] = join(node.name, ": ", channels_text(configuration.channels[input]), " of ",
                        to_string(simplified[node.inputs[0]].shape), " -> ", channels_text(configuration.channels[own]),
                        " of ", to_string(node.shape));
    }
    return names;
}

}  // namespace detail

/// Plans all sub-networks of a network together. A layer that several sub-networks have with the same weights and
/// shapes gets the same primitive and layouts in all of them, so its weights are packed once. The cost model and solver
/// are those of the policies, unless others are given. Throws error as make_plans does, and if `options.uses` is
/// neither empty nor as long as `configurations`.
template <class Policies, class Compiled = CompileAll, class Model = OfPolicies, class S = OfPolicies>
[[nodiscard]] JointPlans plan_configurations(std::vector<Configuration> const& configurations,
                                             DynamicOptions const& options = {}, Model const& given_model = {},
                                             S const& given_solver = {}) {
    if (!options.uses.empty() && options.uses.size() != configurations.size()) {
        fail("dynamic: ", options.uses.size(), " uses for ", configurations.size(), " configurations");
    }
    std::vector<Graph> simplified;
    for (Configuration const& configuration : configurations) simplified.push_back(simplify(configuration.graph));
    std::vector<PlannedGraph> graphs;
    for (std::size_t c = 0; c < configurations.size(); ++c) {
        graphs.push_back({simplified[c], options.uses.empty() ? 1.0 : options.uses[c],
                          detail::names_to_agree_by(configurations[c], simplified[c])});
    }
    auto model = engine::model_of<Policies>(given_model);
    return make_plans(graphs, policy_kernels<Policies, Compiled>(), model, engine::solver_of<Policies>(given_solver),
                      options.plan);
}

}  // namespace primsel::inline PRIMSEL_ABI::dynamic
