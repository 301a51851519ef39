// How long planning takes with the default solver, how near its plans are to the optimum as the solver knows (within),
// and how near they are (above, in per cent of the proven optimum; -1 where an hour of work proves none).
#include <benchmark/benchmark.h>
#include <primsel/kernels/extern_kernels.hpp>
#include <primsel/network/zoo.hpp>
#include <primsel/network/zoo/by_name.hpp>
#include <primsel/primsel.hpp>

#include "graphs.hpp"

#include <string>

namespace ps = primsel;

namespace {

void plan(benchmark::State& state, ps::Graph const& whole) {
    static const ps::Kernels kernels = ps::make_kernels<ps::DefaultPrimitives, ps::default_arch, ps::AllLayouts>();
    const ps::Graph graph = ps::simplify(whole);
    ps::Analytical model;
    (void)ps::make_plan(graph, kernels, model, ps::ReductionPbqp{});  // the machine is measured once
    ps::Plan plan;
    double solving = 0;
    for (auto _ : state) {
        plan = ps::make_plan(graph, kernels, model, ps::ExactPbqp{});
        solving += plan.solve_seconds;
    }
    const ps::Plan best =
        plan.optimal ? plan
                     : ps::make_plan(graph, kernels, model,
                                     ps::ExactPbqp{.work_per_node = std::size_t{1} << 40U, .max_entries = 100'000'000});
    const double reduced = ps::make_plan(graph, kernels, model, ps::ReductionPbqp{}).total_seconds;
    state.counters["layers"] = static_cast<double>(graph.size());
    state.counters["solve_ms"] = benchmark::Counter(solving * 1e3, benchmark::Counter::kAvgIterations);
    state.counters["within_%"] = plan.optimal ? 0 : (plan.total_seconds / plan.bound_seconds - 1) * 100;
    state.counters["above_%"] = best.optimal ? (plan.total_seconds / best.total_seconds - 1) * 100 : -1;
    state.counters["reduction_above_%"] = (reduced / best.total_seconds - 1) * 100;
}

const bool registered = [] {
    const auto add = [](std::string const& name, ps::Graph const& graph) {
        benchmark::RegisterBenchmark(name.c_str(), [graph](benchmark::State& state) {
            plan(state, graph);
        })->Unit(benchmark::kMillisecond);
    };
    for (const std::string_view name : ps::zoo::names) add(std::string(name), ps::zoo::graph(name));
    add("ssr_net", graphs::ssr_net());
    add("bifpn/3", graphs::bifpn(3));
    add("bifpn/8", graphs::bifpn(8));
    add("hrnet/4/8", graphs::hrnet(4, 8));
    add("unet++/5", graphs::unet_plus_plus(5));
    add("dense_block/40", graphs::dense_block(40));
    add("randomly_wired/32", graphs::randomly_wired(32));
    add("randomly_wired/96", graphs::randomly_wired(96, 3));
    return true;
}();

}  // namespace
