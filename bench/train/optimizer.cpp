// The time of an update beside the machine's own copies: `of copies` is the bandwidth that it reaches over that of
// copies of as many bytes. It reads weights and gradients, and writes weights and state.
#include <benchmark/benchmark.h>
#include <primsel/machine/measure_machine.hpp>
#include <primsel/train/optimizer.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace {

namespace ps = primsel;

template <class Optimizer>
void update(benchmark::State& state, Optimizer const& optimizer) {
    const auto count = static_cast<std::size_t>(state.range(0)), remembered = optimizer.state_per_weight();
    std::vector<float> weights(count, 1.0F), gradient(count, 0.1F), memory(count * remembered);
    std::int64_t number = 0;
    for (auto _ : state) {
        optimizer.step(weights, gradient, memory, 1e-4, ++number, 1e-4);
        benchmark::ClobberMemory();
    }
    const double floats = sizeof(float) * static_cast<double>(count),
                 moved = floats * static_cast<double>(3 + 2 * remembered);
    const double copies =
        ps::this_machine<ps::default_arch>().bandwidth_for(floats * static_cast<double>(2 + remembered));
    state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(moved));
    state.counters["of copies"] = benchmark::Counter(moved / copies, benchmark::Counter::kIsIterationInvariantRate);
}

void sizes(benchmark::internal::Benchmark* of) { of->Arg(100'000)->Arg(25'000'000)->Unit(benchmark::kMicrosecond); }

BENCHMARK_CAPTURE(update, sgd, ps::Sgd{})->Apply(sizes);
BENCHMARK_CAPTURE(update, momentum, ps::Sgd{.momentum = 0.9})->Apply(sizes);
BENCHMARK_CAPTURE(update, adam, ps::Adam{})->Apply(sizes);
BENCHMARK_CAPTURE(update, adamw, ps::AdamW{})->Apply(sizes);

}  // namespace
