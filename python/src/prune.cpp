// Smaller networks.
#include "rooms.hpp"

#include <primsel/cost/semi_empirical.hpp>
#include <primsel/pbqp/exact.hpp>
#include <primsel/prune.hpp>

#include <nanobind/stl/string.h>

#include <algorithm>
#include <array>

namespace bindings {

using nb::literals::operator""_a;

namespace {

namespace pr = ps::prune;

pr::Measure measure_of(std::string const& name) {
    if (name == "seconds") return pr::Measure::seconds;
    if (name == "operations") return pr::Measure::operations;
    if (name == "filters") return pr::Measure::filters;
    ps::fail("measure ", name, ": there are seconds, operations and filters");
}

std::vector<pr::Ranking> ranked(foreign::Network const& network, pr::Coupling const& coupling,
                                std::string const& criterion) {
    const auto by = [&](auto const& of) { return pr::rank_filters(network.graph, network.weights, coupling, of); };
    if (criterion == "l1") return by(pr::L1Norm{});
    if (criterion == "l2") return by(pr::L2Norm{});
    if (criterion == "median") return by(pr::GeometricMedian{});
    if (criterion == "batch-norm") return by(pr::BatchNormScale{});
    ps::fail("criterion ", criterion, ": there are l1, l2, median and batch-norm");
}

foreign::Network pruned(foreign::Network network, double share, std::string const& measure,
                        std::string const& criterion, std::size_t multiple) {
    network.graph = ps::join_reorderings(network.graph);
    const pr::Coupling coupling(network.graph);
    const auto rankings = ranked(network, coupling, criterion);
    ps::SemiEmpiricalCosts costs;
    const pr::PruneTarget target{.measure = measure_of(measure), .share = share, .multiple = multiple};
    const pr::PrunedTo found =
        pr::prune_to(network.graph, {coupling, rankings}, foreign::kernels(), costs, ps::ExactPbqp{}, target);
    pr::Pruned thin = pr::remove_channels(network.graph, network.weights, coupling, found.choice);
    network.graph = std::move(thin.graph), network.weights = std::move(thin.weights);
    return network;
}

}  // namespace

void add_prune(NetworkClass& network) {
    network.def(
        "pruned", &pruned, "share"_a = 0.5, nb::kw_only(), "measure"_a = "seconds", "criterion"_a = "l1",
        "multiple"_a = 8, nb::call_guard<nb::gil_scoped_release>(),
        "The network without the filters that matter least: no more than `share` of its predicted time is left. "
        "measure: seconds, operations or filters; criterion: l1, l2, median or batch-norm. As many filters of a "
        "layer stay as a multiple of `multiple`. Load files to be pruned with trains=True.");
}

}  // namespace bindings
