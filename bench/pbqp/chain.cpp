// Solving is linear in the length of a chain and of a string of residual blocks; a core that does not reduce is
// searched.
#include <benchmark/benchmark.h>
#include <primsel/pbqp/exact.hpp>
#include <primsel/pbqp/reduce.hpp>

#include <cstddef>
#include <random>
#include <vector>

namespace ps = primsel;

namespace {

class Random {
public:
    std::vector<double> costs(std::size_t count) {
        std::vector<double> result(count);
        for (double& value : result) value = static_cast<double>(bits_() >> 8U) * 0x1p-24;
        return result;
    }
    std::size_t below(std::size_t bound) { return bits_() % bound; }

private:
    std::mt19937 bits_{1};
};

/// Nodes in a row, of 9 alternatives each: the pairs of three layouts. As between layers, few matrices are distinct.
ps::PbqpProblem chain(std::size_t nodes, bool skips) {
    constexpr std::size_t alternatives = 9, distinct = 10;
    Random random;
    ps::PbqpProblem problem;
    std::vector<std::size_t> matrices;
    for (std::size_t i = 0; i < distinct; ++i) {
        matrices.push_back(problem.add_matrix({alternatives, alternatives, random.costs(alternatives * alternatives)}));
    }
    for (std::size_t node = 0; node < nodes; ++node) {
        problem.add_node(random.costs(alternatives));
        if (node > 0) problem.add_edge(node - 1, node, matrices[random.below(distinct)]);
        if (skips && node >= 2 && node % 2 == 0) problem.add_edge(node - 2, node, matrices[random.below(distinct)]);
    }
    return problem;
}

ps::PbqpProblem complete(std::size_t nodes, std::size_t alternatives) {
    Random random;
    ps::PbqpProblem problem;
    for (std::size_t node = 0; node < nodes; ++node) {
        problem.add_node(random.costs(alternatives));
        for (std::size_t before = 0; before < node; ++before) {
            problem.add_edge(before, node, {alternatives, alternatives, random.costs(alternatives * alternatives)});
        }
    }
    return problem;
}

void solve(benchmark::State& state, ps::PbqpProblem const& problem) {
    ps::PbqpSolution solution;
    for (auto _ : state) {
        solution = ps::ExactPbqp{}.solve(problem);
        benchmark::DoNotOptimize(solution.cost);
    }
    if (!solution.optimal) state.SkipWithError("not optimal");
    state.SetComplexityN(static_cast<benchmark::IterationCount>(problem.node_count()));
    state.counters["time_per_node"] =
        benchmark::Counter(static_cast<double>(problem.node_count()),
                           benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
    state.counters["branches"] = static_cast<double>(solution.branches);
}

void chain(benchmark::State& state) { solve(state, chain(static_cast<std::size_t>(state.range(0)), false)); }
void residual_blocks(benchmark::State& state) { solve(state, chain(static_cast<std::size_t>(state.range(0)), true)); }
void dense_core(benchmark::State& state) { solve(state, complete(static_cast<std::size_t>(state.range(0)), 4)); }

BENCHMARK(chain)->RangeMultiplier(10)->Range(10, 100'000)->Complexity(benchmark::oN)->Unit(benchmark::kMillisecond);
BENCHMARK(residual_blocks)
    ->RangeMultiplier(10)
    ->Range(10, 100'000)
    ->Complexity(benchmark::oN)
    ->Unit(benchmark::kMillisecond);
BENCHMARK(dense_core)->DenseRange(6, 14, 2)->Unit(benchmark::kMillisecond);

}  // namespace
