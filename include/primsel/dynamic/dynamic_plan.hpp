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

struct DynamicOptions {
    /// How often each configuration is expected to run; empty: all alike.
    std::vector<double> uses = {};
    PlanOptions plan = {};
    GroupThreads threads = GroupThreads::faster;
};

namespace detail {

/// "0-15" or each number.
[[nodiscard]] inline std::string channels_text(std::vector<std::size_t> const& channels) {
    const bool in_a_row = !channels.empty() && channels.back() - channels.front() + 1 == channels.size();
    if (in_a_row) return join(channels.front(), '-', channels.back());
    std::string text;
    for (const std::size_t channel : channels) text += join(channel, ' ');
    return text;
}

/// By which name each layer of a configuration's simplified graph agrees with others: those with weights that are the
/// same part of the whole network's, on the same shape.
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

/// Plans for all configurations of a network, made together: layers of which several configurations have the same part
/// agree on primitive and layouts, and so on how their weights are packed. The cost model and solver are those of the
/// policies, unless others are given. Throws error as make_plans does, and for uses that are not as many as the
/// configurations.
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
