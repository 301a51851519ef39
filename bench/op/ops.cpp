// The speed of the ops as bytes of input, output and weights per second, one thread, beside that of memcpy and of
// reading alone in the same run. Names: op, layer, shape, batch, layout.
#include <benchmark/benchmark.h>
#include <primsel/core/aligned_buffer.hpp>
#include <primsel/kernels/op_table.hpp>
#include <primsel/op/all.hpp>
#include <primsel/op/bf16.hpp>
#include <primsel/op/dense_narrow.hpp>
#include <primsel/op/int8.hpp>
#include <primsel/op/narrow.hpp>
#include <primsel/tensor/hwc_short_floats.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <string>
#include <vector>

namespace {

namespace ps = primsel;

ps::AlignedBuffer buffer(std::size_t floats) {
    ps::AlignedBuffer result(floats);
    for (std::size_t i = 0; i < floats; ++i) result.data()[i] = static_cast<float>(i * 7919 % 1021) / 1021 - 0.5F;
    return result;
}

void set_rate(benchmark::State& state, std::size_t floats) {
    state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations()) *
                            static_cast<std::int64_t>(floats * sizeof(float)));
}

void copy(benchmark::State& state) {
    const auto floats = static_cast<std::size_t>(state.range(0)) * 1024 / sizeof(float);
    ps::AlignedBuffer src = buffer(floats), dst = buffer(floats);
    for (auto _ : state) {
        std::memcpy(dst.data(), src.data(), floats * sizeof(float));
        benchmark::ClobberMemory();
    }
    set_rate(state, 2 * floats);
}

void read(benchmark::State& state) {
    using V = ps::Floats<ps::default_arch>;
    constexpr std::size_t width = ps::lanes<ps::default_arch>;
    const auto floats = static_cast<std::size_t>(state.range(0)) * 1024 / sizeof(float);
    ps::AlignedBuffer src = buffer(floats);
    for (auto _ : state) {
        V sum[4] = {V(0.0F), V(0.0F), V(0.0F), V(0.0F)};
        for (std::size_t i = 0; i < floats; i += 4 * width) {
            for (std::size_t j = 0; j < 4; ++j) sum[j] += ps::load<ps::default_arch>(src.data() + i + j * width);
        }
        float result[width];
        ps::store<ps::default_arch>(result, (sum[0] + sum[1]) + (sum[2] + sum[3]));
        benchmark::DoNotOptimize(result);
    }
    set_rate(state, floats);
}

template <class L, class Params>
void run(benchmark::State& state, Params const& params, std::vector<ps::Shape> const& shapes, int batch) {
    const ps::Shape output = params.output(shapes);
    const auto images = static_cast<std::size_t>(batch);
    std::vector<ps::AlignedBuffer> sources;
    std::vector<const float*> src;
    std::size_t floats = output.size() * images;
    for (ps::Shape const& shape : shapes) {
        sources.push_back(buffer(shape.size() * images));
        src.push_back(sources.back().data());
        floats += shape.size() * images;
    }
    ps::AlignedBuffer dst = buffer(output.size() * images), packed;
    if constexpr (ps::has_weights<Params>) {
        packed = buffer(ps::Op<Params>::packed_floats(params, shapes[0]));
        floats += packed.size();
    }
    ps::AlignedBuffer scratch;
    if constexpr (requires { ps::Op<Params>::template scratch_floats<ps::default_arch>(params, shapes, 1); }) {
        scratch = buffer(ps::Op<Params>::template scratch_floats<ps::default_arch>(params, shapes, 1));
    }
    ps::Sequential executor;
    const ps::OpArgs args{.src = src,
                          .src_shape = shapes,
                          .dst = dst.data(),
                          .dst_shape = output,
                          .batch = batch,
                          .weights = packed.data(),
                          .scratch = scratch.data(),
                          .executor = executor};
    for (auto _ : state) {
        ps::Op<Params>::template run<ps::default_arch, L>(params, args);
        benchmark::ClobberMemory();
    }
    set_rate(state, floats);
}

/// A layer in a layout of small elements.
template <class L, class Params>
void run_narrow(benchmark::State& state, Params const& params, std::vector<ps::Shape> const& shapes, int batch) {
    const ps::Shape output = params.output(shapes);
    const auto images = static_cast<std::size_t>(batch);
    const auto floats_of = [images](ps::Shape const& shape) {
        return ps::floats_for_bytes(images * L::size(shape) * sizeof(ps::element_of<L>));
    };
    std::vector<ps::AlignedBuffer> sources;
    std::vector<const float*> src;
    std::size_t floats = floats_of(output);
    for (ps::Shape const& shape : shapes) {
        sources.push_back(ps::AlignedBuffer(floats_of(shape)));
        std::memset(sources.back().data(), 60, floats_of(shape) * sizeof(float));
        src.push_back(sources.back().data());
        floats += floats_of(shape);
    }
    ps::AlignedBuffer dst(floats_of(output));
    ps::Sequential executor;
    const std::vector<ps::TensorRange> ranges(src.size(), ps::range_of(-3, 3));
    const ps::OpArgs args{.src = src,
                          .src_shape = shapes,
                          .dst = dst.data(),
                          .dst_shape = output,
                          .batch = batch,
                          .executor = executor,
                          .src_range = ranges,
                          .dst_range = ranges[0]};
    for (auto _ : state) {
        ps::OpIn<Params, L>::template run<ps::default_arch>(params, args);
        benchmark::ClobberMemory();
    }
    set_rate(state, floats);
}

template <class Params>
void add(Params const& params, std::string const& detail, std::vector<ps::Shape> const& shapes, int batch = 1) {
    const auto name = [&](std::string_view layout) {
        return std::string(params.name()) + detail + '/' + ps::to_string(shapes[0]) + '/' + std::to_string(batch) +
               '/' + std::string(layout);
    };
    benchmark::RegisterBenchmark(name("chw").c_str(), run<ps::chw, Params>, params, shapes, batch);
    if constexpr (ps::runs_in<Params, ps::default_arch, ps::hcw>) {
        benchmark::RegisterBenchmark(name("hcw").c_str(), run<ps::hcw, Params>, params, shapes, batch);
        benchmark::RegisterBenchmark(name("hwc").c_str(), run<ps::hwc, Params>, params, shapes, batch);
    }
    if constexpr (
        requires(ps::OpArgs const& args) {
            ps::OpIn<Params, ps::hwc_u8>::template run<ps::default_arch>(params, args);
        } && !requires { typename ps::OpIn<Params, ps::hwc_u8>::tensors; }) {
        benchmark::RegisterBenchmark(name("hwc_bf16").c_str(), run_narrow<ps::hwc_bf16, Params>, params, shapes, batch);
        benchmark::RegisterBenchmark(name("hwc_u8").c_str(), run_narrow<ps::hwc_u8, Params>, params, shapes, batch);
    }
}

/// A dense layer with weights in fewer bits.
template <class L>
void narrow_dense(benchmark::State& state, ps::DenseParams const& params, ps::Shape shape, int batch) {
    using Op = ps::OpIn<ps::DenseParams, L>;
    const auto images = static_cast<std::size_t>(batch), k = static_cast<std::size_t>(params.k);
    ps::AlignedBuffer src = buffer(images * shape.size()), dst = buffer(images * k), kernel = buffer(k * shape.size()),
                      packed(ps::floats_for_bytes(Op::packed_bytes(params, shape)));
    Op::template pack<ps::chw>(params, shape, {kernel.span(), {}}, packed.data());
    const float* const from = src.data();
    ps::Sequential executor;
    const ps::OpArgs args{.src = {&from, 1},
                          .src_shape = {&shape, 1},
                          .dst = dst.data(),
                          .dst_shape = {params.k, 1, 1},
                          .batch = batch,
                          .weights = packed.data(),
                          .executor = executor};
    for (auto _ : state) {
        Op::template run<ps::default_arch>(params, args);
        benchmark::ClobberMemory();
    }
    set_rate(state, src.size() + dst.size() + packed.size());
}

template <class L>
void epilogue(benchmark::State& state, ps::Shape shape) {
    ps::AlignedBuffer data = buffer(shape.size()), residual = buffer(shape.size());
    ps::AlignedBuffer bias = buffer(static_cast<std::size_t>(shape.c));
    ps::Sequential executor;
    for (auto _ : state) {
        ps::apply_epilogue<ps::default_arch, L>(shape, 1, data.data(), bias.data(), residual.data(), ps::Clamp{},
                                                ps::relu_clamp, executor);
        benchmark::ClobberMemory();
    }
    set_rate(state, 3 * shape.size());
}

// Squeeze and excitation, attention, the necks of detectors and segmenters.
void add_new_kinds() {
    using ps::Axis;
    const ps::BinaryParams multiply{ps::BinaryKind::multiply};
    add(multiply, "_per_channel", {{96, 56, 56}, {96, 1, 1}});
    add(multiply, "_per_channel", {{3, 224, 224}, {3, 1, 1}});
    add(multiply, "_per_channel", {{960, 7, 7}, {960, 1, 1}});
    add(multiply, "_of_one_shape", {{64, 56, 56}, {64, 56, 56}});
    add(multiply, "_per_pixel", {{64, 56, 56}, {1, 56, 56}});
    add(ps::BinaryParams{ps::BinaryKind::prelu}, "", {{64, 56, 56}, {64, 1, 1}});
    add(ps::ConcatParams{Axis::h}, "_h", {{64, 28, 28}, {64, 28, 28}});
    add(ps::SliceParams{0, 14, Axis::w}, "_w", {{64, 28, 28}});
    add(ps::SoftmaxParams{Axis::w}, "_w", {{12, 197, 197}});
    for (const int classes : {2, 3, 4, 7, 16, 21, 32, 40}) add(ps::SoftmaxParams{Axis::w}, "_w", {{1, 32768, classes}});
    add(ps::SoftmaxParams{Axis::h}, "_h", {{12, 197, 197}});
    add(ps::StandardizeParams{.along_c = true}, "_c", {{96, 56, 56}});
    add(ps::StandardizeParams{.along_h = true, .along_w = true}, "_plane", {{16, 104, 104}});
    add(ps::StandardizeParams{.along_c = true, .along_h = true, .along_w = true, .groups = 32}, "_groups",
        {{320, 32, 32}});
    add(ps::StandardizeParams{.along_w = true}, "_w", {{197, 1, 768}});
    add(ps::ReduceParams{.axis = Axis::w}, "_w", {{64, 56, 56}});
    add(ps::ReduceParams{.axis = Axis::c}, "_c", {{64, 56, 56}});
    add(ps::PadParams{.padding = 3, .mode = ps::PadMode::reflect}, "_reflect", {{64, 56, 56}});
    add(ps::PoolParams{.window = 3, .stride = 1, .padding = 2, .dilation = 2}, "_3x3d2", {{64, 56, 56}});
    add(ps::ResizeParams{.size = 56}, "_nearest_x2", {{64, 28, 28}});
    add(ps::ResizeParams{.size = 56, .mode = ps::ResizeMode::linear}, "_linear_x2", {{64, 28, 28}});
    add(ps::ResizeParams{.size = 520, .mode = ps::ResizeMode::linear}, "_linear_x8", {{21, 65, 65}});
    add(ps::ReshapeParams{{64 * 56, 1, 56}}, "", {{64, 56, 56}});
    add(ps::AsStridedParams{{56, 56, 64}, {56, 1, 56 * 56}, 0, {56, 56, 64}}, "_transpose", {{64, 56, 56}});
    add(ps::AsStridedParams{{16, 56, 2, 56, 2}, {4 * 56 * 56, 56, 2 * 56 * 56, 1, 56 * 56}, 0, {16, 112, 112}},
        "_depth_to_space", {{64, 56, 56}});
    add(ps::MatMulParams{}, "", {{12, 197, 64}, {12, 64, 197}});
    add(ps::MatMulParams{}, "", {{12, 197, 197}, {12, 197, 64}});
    add(ps::MatMulParams{}, "", {{1, 197, 768}, {1, 768, 768}});
    add(ps::RecurrentParams{}, "_128", {{100, 1, 512}});
    add(ps::RecurrentParams{}, "_128", {{100, 8, 512}});
    add(ps::RecurrentParams{.kind = ps::RecurrentKind::gru, .resets_product = true}, "_256", {{100, 1, 768}});
    add(ps::MaxPoolIndicesParams{{.window = 2, .stride = 2}}, "_2x2s2", {{64, 112, 112}});
    add(ps::ConvTransposeParams{.k = 64, .kernel = 2, .stride = 2}, "_64_2x2s2", {{128, 56, 56}});
    add(ps::ConvTransposeParams{.k = 256, .kernel = 4, .stride = 2, .padding = 1}, "_256_4x4s2", {{512, 8, 8}});
    add(ps::ConvTransposeParams{.k = 21, .kernel = 16, .stride = 8, .padding = 4, .groups = 21}, "_21_16x16s8",
        {{21, 34, 34}});
}

// The layers of AlexNet, VGG, GoogLeNet and ResNet, and what hides in no cache.
const bool registered = [] {
    using ps::PoolKind;
    for (const int kilobytes : {256, 3136, 65536}) {
        benchmark::RegisterBenchmark("memcpy", copy)->Arg(kilobytes);
        benchmark::RegisterBenchmark("read", read)->Arg(kilobytes);
    }
    add(ps::PoolParams{.window = 3, .stride = 2, .padding = 1}, "_3x3s2", {{64, 112, 112}});
    add(ps::PoolParams{.window = 2, .stride = 2}, "_2x2s2", {{64, 224, 224}});
    add(ps::PoolParams{.window = 2, .stride = 2}, "_2x2s2", {{512, 14, 14}});
    add(ps::PoolParams{.window = 3, .stride = 1, .padding = 1}, "_3x3s1", {{192, 28, 28}});
    add(ps::PoolParams{.window = 3, .stride = 1, .padding = 1}, "_3x3s1", {{832, 7, 7}});
    add(ps::PoolParams{.kind = PoolKind::average, .window = 3, .stride = 2, .padding = 1}, "_3x3s2", {{64, 112, 112}});
    add(ps::GlobalPoolParams{}, "", {{512, 7, 7}});
    add(ps::GlobalPoolParams{}, "", {{64, 112, 112}});
    add(ps::LrnParams{}, "", {{192, 56, 56}});
    add(ps::LrnParams{}, "", {{96, 27, 27}});
    add(ps::LrnParams{.beta = 0.7F}, "_any_beta", {{96, 27, 27}});
    add(ps::BatchNormParams{}, "", {{64, 112, 112}});
    add(ps::BatchNormParams{}, "", {{3, 224, 224}});
    add(ps::ActivationParams{ps::ActivationKind::relu}, "", {{64, 112, 112}});
    add(ps::ActivationParams{ps::ActivationKind::sigmoid}, "", {{64, 112, 112}});
    add(ps::ActivationParams{ps::ActivationKind::hard_swish}, "", {{64, 112, 112}});
    add(ps::AddParams{}, "", {{64, 56, 56}, {64, 56, 56}});
    add(ps::AddParams{}, "", {{64, 224, 224}, {64, 224, 224}});
    add(ps::ConcatParams{}, "", {{64, 28, 28}, {128, 28, 28}, {32, 28, 28}, {32, 28, 28}});
    add(ps::PadParams{.padding = 1}, "", {{64, 56, 56}});
    add(ps::ChannelShuffleParams{2}, "", {{116, 28, 28}});
    add(ps::SliceParams{58, 116}, "", {{116, 28, 28}});
    add(ps::FlattenParams{}, "", {{512, 7, 7}});
    add(ps::SoftmaxParams{}, "", {{1000, 1, 1}});
    add(ps::SoftmaxParams{}, "", {{21, 128, 128}});
    add(ps::DenseParams{.k = 10}, "_10", {{512, 1, 1}});
    add(ps::DenseParams{.k = 1000}, "_1000", {{512, 1, 1}});
    add(ps::DenseParams{.k = 4096}, "_4096", {{4096, 1, 1}});
    add(ps::DenseParams{.k = 4096}, "_4096", {{4096, 1, 1}}, 16);
    // The first of AlexNet.
    add(ps::DenseParams{.k = 4096}, "_4096", {{9216, 1, 1}});
    for (const int batch : {1, 16}) {
        const std::string name = "_4096/9216x1x1/" + std::to_string(batch);
        const ps::DenseParams params{.k = 4096, .bias = false};
        const ps::Shape shape{9216, 1, 1};
        benchmark::RegisterBenchmark(("dense-bf16" + name).c_str(), narrow_dense<ps::hwc_bf16>, params, shape, batch);
        benchmark::RegisterBenchmark(("dense-f16" + name).c_str(), narrow_dense<ps::hwc_f16>, params, shape, batch);
        benchmark::RegisterBenchmark(("dense-int8" + name).c_str(), narrow_dense<ps::hwc_u8>, params, shape, batch);
    }
    add_new_kinds();
    const ps::Shape shape{64, 56, 56};
    benchmark::RegisterBenchmark("epilogue/64x56x56/1/chw", epilogue<ps::chw>, shape);
    benchmark::RegisterBenchmark("epilogue/64x56x56/1/hcw", epilogue<ps::hcw>, shape);
    benchmark::RegisterBenchmark("epilogue/64x56x56/1/hwc", epilogue<ps::hwc>, shape);
    return true;
}();

}  // namespace
