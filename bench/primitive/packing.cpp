// The time of packing a kernel that lay idle, as in each step of training and at an engine's start: `of copies` is the
// bandwidth that it reaches, of the kernel and the packed buffer, over that of copies from memory to memory.
#include <benchmark/benchmark.h>
#include <primsel/core/aligned_buffer.hpp>
#include <primsel/engine/policies.hpp>
#include <primsel/machine/machine.hpp>
#include <primsel/train/policies.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace {

namespace ps = primsel;

void pack(benchmark::State& state, std::string_view id, ps::ConvShape const& shape, bool rotated) {
    const ps::Kernels kernels = ps::policy_kernels<ps::DefaultTraining, ps::CompileTraining>();
    auto const& primitive = *std::ranges::find(kernels.primitives, id, &ps::PrimitiveEntry::id);
    // As many kernels as no cache holds take turns.
    const std::size_t bytes = sizeof(float) * shape.kernel_size(), count = (std::size_t{128} << 20) / bytes + 1;
    std::vector<ps::AlignedBuffer> all;
    for (std::size_t i = 0; i < count; ++i) std::ranges::fill(all.emplace_back(shape.kernel_size()).span(), 1.0F);
    ps::AlignedBuffer packed(ps::floats_for_bytes(primitive.packed_bytes(shape)));
    ps::Sequential here;
    std::size_t next = 0;
    for (auto _ : state) {
        primitive.repack(shape, {all[next++ % count].data(), rotated}, packed.data(), here);
        benchmark::ClobberMemory();
    }
    const double moved = static_cast<double>(bytes + primitive.packed_bytes(shape));
    state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(moved));
    state.counters["of copies"] =
        benchmark::Counter(moved / kernels.machine(1).bandwidth.back(), benchmark::Counter::kIsIterationInvariantRate);
}

const bool registered = [] {
    struct Case {
        int c, k, size, taps;
    };
    for (Case const& of : {Case{512, 512, 2, 3}, {256, 256, 4, 3}, {2048, 512, 2, 1}, {512, 2048, 2, 1}}) {
        const ps::ConvShape shape{.c = of.c,
                                  .k = of.k,
                                  .h = of.size,
                                  .w = of.size,
                                  .fh = of.taps,
                                  .fw = of.taps,
                                  .pad_top = of.taps / 2,
                                  .pad_bottom = of.taps / 2,
                                  .pad_left = of.taps / 2,
                                  .pad_right = of.taps / 2};
        for (const std::string_view id : {"indirect", "winograd-2x2-3x3-vec-16", "input-gradient-indirect"}) {
            if (of.taps == 1 && id.starts_with("winograd")) continue;
            for (const bool rotated : {false, true}) {
                if (rotated && id.starts_with("input")) continue;
                const std::string name =
                    ps::join("pack/", id, '/', of.c, "->", of.k, '/', of.taps, 'x', of.taps, rotated ? "/turned" : "");
                benchmark::RegisterBenchmark(name.c_str(), [=](benchmark::State& state) {
                    pack(state, id, shape, rotated);
                })->Unit(benchmark::kMicrosecond);
            }
        }
    }
    return true;
}();

}  // namespace
