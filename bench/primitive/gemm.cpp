// primsel's matrix multiplication beside Eigen's on the products of six convolutions (pixels, kernels, depth), as a
// share of this core's FMA peak.
#include <primsel/core/aligned_buffer.hpp>
#include <primsel/gemm/gemm_simd.hpp>
#include <primsel/machine/measure_machine.hpp>

#if __has_include(<Eigen/Core>)
#include <primsel/gemm/gemm_eigen.hpp>
#endif

#include <benchmark/benchmark.h>

#include <algorithm>

namespace ps = primsel;

namespace {

template <class G>
void multiply(benchmark::State& state) {
    const int m = static_cast<int>(state.range(0)), n = static_cast<int>(state.range(1)),
              k = static_cast<int>(state.range(2));
    const auto rows = static_cast<std::size_t>(m), columns = static_cast<std::size_t>(n),
               depth = static_cast<std::size_t>(k);
    ps::AlignedBuffer a(rows * depth), b(depth * columns), c(rows * columns);
    ps::AlignedBuffer scratch(G::template scratch_floats<ps::default_arch>(m, n, k, 1));
    std::ranges::fill(a.span(), 0.5F);
    std::ranges::fill(b.span(), 0.5F);
    ps::Sequential sequential;
    for (auto _ : state) {
        G::template run<ps::default_arch>({.m = m,
                                           .n = n,
                                           .k = k,
                                           .a = ps::row_major(a.data(), depth),
                                           .b = ps::row_major(b.data(), columns),
                                           .c = c.data(),
                                           .c_stride = columns,
                                           .scratch = scratch.data(),
                                           .executor = sequential});
        benchmark::ClobberMemory();
    }
    using benchmark::Counter;
    const double operations = 2.0 * m * n * k;
    state.counters["GFLOP/s"] = Counter(operations / 1e9, Counter::kIsIterationInvariantRate);
    state.counters["of_peak"] = Counter(operations / ps::this_machine().fma_flops, Counter::kIsIterationInvariantRate);
}

void shapes(benchmark::internal::Benchmark* bench) {
    bench->Args({3136, 64, 576})->Args({784, 128, 1152})->Args({196, 256, 2304});
    bench->Args({49, 512, 4608})->Args({3136, 256, 64})->Args({196, 256, 1024});
    bench->ArgNames({"pixels", "kernels", "depth"})->Unit(benchmark::kMicrosecond);
}

BENCHMARK(multiply<ps::SimdGemm>)->Apply(shapes);
#if __has_include(<Eigen/Core>)
BENCHMARK(multiply<ps::EigenGemm>)->Apply(shapes);
#endif

}  // namespace
