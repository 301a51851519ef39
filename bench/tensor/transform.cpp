// The speed of the layout transforms as bytes read and written per second, one thread, beside memcpy in the same run.
#include <benchmark/benchmark.h>
#include <primsel/core/aligned_buffer.hpp>
#include <primsel/tensor/transform.hpp>

#include <algorithm>
#include <cstring>
#include <string>

namespace {

namespace ps = primsel;

template <class From, class To>
void move(benchmark::State& state, ps::Shape shape) {
    ps::AlignedBuffer src(shape.size()), dst(shape.size());
    std::ranges::fill(src.span(), 1.0F);
    std::ranges::fill(dst.span(), 0.0F);
    ps::Sequential executor;
    for (auto _ : state) {
        if constexpr (std::same_as<From, To>) {
            std::memcpy(dst.data(), src.data(), shape.size() * sizeof(float));
        } else {
            ps::transform<From, To>(shape, src.data(), dst.data(), executor);
        }
        benchmark::ClobberMemory();
    }
    state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations()) *
                            static_cast<std::int64_t>(2 * shape.size() * sizeof(float)));
}

const bool registered = [] {
    for (const ps::Shape shape :
         {ps::Shape{3, 224, 224}, ps::Shape{64, 112, 112}, ps::Shape{64, 56, 56}, ps::Shape{192, 28, 28},
          ps::Shape{256, 14, 14}, ps::Shape{512, 7, 7}, ps::Shape{512, 16, 16}, ps::Shape{64, 224, 224}}) {
        const std::string size = '/' + ps::to_string(shape);
        benchmark::RegisterBenchmark(("memcpy" + size).c_str(), move<ps::chw, ps::chw>, shape);
        benchmark::RegisterBenchmark(("chw_hcw" + size).c_str(), move<ps::chw, ps::hcw>, shape);
        benchmark::RegisterBenchmark(("chw_hwc" + size).c_str(), move<ps::chw, ps::hwc>, shape);
        benchmark::RegisterBenchmark(("hcw_chw" + size).c_str(), move<ps::hcw, ps::chw>, shape);
        benchmark::RegisterBenchmark(("hcw_hwc" + size).c_str(), move<ps::hcw, ps::hwc>, shape);
        benchmark::RegisterBenchmark(("hwc_chw" + size).c_str(), move<ps::hwc, ps::chw>, shape);
        benchmark::RegisterBenchmark(("hwc_hcw" + size).c_str(), move<ps::hwc, ps::hcw>, shape);
    }
    return true;
}();

}  // namespace
