#include "networks.hpp"

#include <primsel/network/graph_editor.hpp>
#include <primsel/prune.hpp>

#include <utility>
#include <variant>

namespace reproduce {

ps::Graph table_2_graph(int width, int pixels) {
    ps::GraphEditor editor(WholeAlexNet::graph());
    for (std::size_t i = 0; i < editor.size(); ++i) {
        if (const auto* conv = std::get_if<ps::ConvParams>(&editor[i].layer)) {
            ps::ConvParams params = *conv;
            params.k = width;
            editor.replace(i, params);
        }
        if (std::holds_alternative<ps::InputParams>(editor[i].layer)) {
            editor.replace(i, ps::InputParams{{3, pixels, pixels}});
        }
    }
    return editor.graph();
}

Subject in_groups(std::string name, ps::Graph const& graph, int groups, std::uint32_t seed) {
    Subject subject{std::move(name), ps::dynamic::grouped(graph, groups, {.round = true}), {}, {}};
    subject.configurations = ps::dynamic::configurations(subject.graph);
    subject.weights = ps::random_weights(subject.graph, seed);
    return subject;
}

Subject by_channels(std::string name) {
    Subject subject{std::move(name), WholeAlexNet::graph(), {}, {}};
    subject.configurations = ps::dynamic::nested(subject.graph, 4);
    subject.weights = ps::random_weights(subject.graph, 1);
    return subject;
}

Subject named(Subject of, std::string name) {
    of.name = std::move(name);
    return of;
}

Subject only_last(Subject of) {
    of.configurations.erase(of.configurations.begin(), of.configurations.end() - 1);
    return of;
}

Subject pruned(Subject const& whole, double share) {
    const ps::prune::Coupling coupling(whole.graph);
    ps::prune::RemovedGroups choice;
    for (ps::prune::Ranking const& ranking :
         ps::prune::rank_filters(whole.graph, whole.weights, coupling, ps::prune::L1Norm{})) {
        choice.merge(ps::prune::choose(ranking, share));
    }
    ps::prune::Pruned thin = ps::prune::remove_channels(whole.graph, whole.weights, coupling, choice);
    Subject subject{"pruned", thin.graph, {}, thin.weights};
    subject.configurations.push_back(ps::dynamic::configuration_of(thin.graph, thin.graph));
    return subject;
}

double kilobytes(Subject const& subject) {
    std::size_t floats = 0;
    for (auto const& [name, tensor] : subject.weights) floats += tensor.values.size();
    return static_cast<double>(floats * sizeof(float)) / 1e3;
}

}  // namespace reproduce
