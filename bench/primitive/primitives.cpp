// Every primitive on ten layers that span the networks: bench_primitive_primitives --benchmark_filter=<id or layer>
// GFLOP/s count the operations of the direct algorithm; of_peak is their share of this core's FMA peak, measured first.
#include <primsel/core/aligned_buffer.hpp>
#include <primsel/kernels/extern_kernels.hpp>
#include <primsel/learn/configuration.hpp>
#include <primsel/machine/measure_machine.hpp>

#include <benchmark/benchmark.h>

#include <algorithm>
#include <string>

namespace ps = primsel;

namespace {

struct Layer {
    const char* name;
    ps::ConvShape shape;
};

constexpr ps::ConvShape square(int c, int k, int im, int f, int stride = 1, int groups = 1) {
    ps::ConvShape shape = ps::learn::ConvConfiguration{.c = c, .k = k, .im = im, .f = f, .s = stride}.shape();
    shape.groups = groups;
    return shape;
}
constexpr ps::ConvShape row_kernel(int c, int k, int im, int f) {
    return {.c = c, .k = k, .h = im, .w = im, .fh = 1, .fw = f, .pad_left = f / 2, .pad_right = f / 2};
}

constexpr Layer layers[] = {
    {"alexnet-conv2", square(64, 192, 27, 5)},         {"vgg-conv2_1", square(64, 128, 112, 3)},
    {"googlenet-4a-1x1", square(480, 192, 14, 1)},     {"inception3-1x7", row_kernel(128, 128, 17, 7)},
    {"resnet-conv1", square(3, 64, 224, 7, 2)},        {"resnet-conv2", square(64, 64, 56, 3)},
    {"resnet-conv3_1", square(64, 128, 56, 3, 2)},     {"resnet-conv5", square(512, 512, 7, 3)},
    {"resnext-conv2", square(128, 128, 56, 3, 1, 32)}, {"mobilenet-conv8", square(256, 256, 28, 3, 1, 256)},
};

void run(benchmark::State& state, ps::PrimitiveEntry const& primitive, ps::ConvShape const& shape) {
    ps::Sequential sequential;
    ps::AlignedBuffer kernel(shape.kernel_size()), packed(ps::floats_for_bytes(primitive.packed_bytes(shape)));
    ps::AlignedBuffer src(shape.in_shape().size()), dst(shape.out_shape().size());
    ps::AlignedBuffer scratch(ps::floats_for_bytes(primitive.scratch_bytes(shape, 1, 1)));
    for (auto* buffer : {&kernel, &src, &dst, &scratch}) std::ranges::fill(buffer->span(), 0.5F);
    primitive.pack(shape, kernel.data(), packed.data());
    for (auto _ : state) {
        primitive.run(shape, {.src = src.data(),
                              .weights = packed.data(),
                              .dst = dst.data(),
                              .scratch = scratch.data(),
                              .executor = sequential});
        benchmark::ClobberMemory();
    }
    using benchmark::Counter;
    const double operations = shape.operations();
    state.counters["GFLOP/s"] = Counter(operations / 1e9, Counter::kIsIterationInvariantRate);
    state.counters["of_peak"] = Counter(operations / ps::this_machine().fma_flops, Counter::kIsIterationInvariantRate);
}

const bool registered = [] {
    const ps::Kernels kernels = ps::make_kernels<ps::AllPrimitives, ps::default_arch, ps::AllLayouts>();
    for (Layer const& layer : layers) {
        for (ps::PrimitiveEntry const& primitive : kernels.primitives) {
            if (!primitive.supports(layer.shape)) continue;
            const std::string name = std::string(primitive.id) + '/' + layer.name;
            benchmark::RegisterBenchmark(
                name.c_str(), [&primitive, &layer](benchmark::State& state) { run(state, primitive, layer.shape); })
                ->Unit(benchmark::kMillisecond)
                ->MinTime(0.05);
        }
    }
    return true;
}();

}  // namespace
