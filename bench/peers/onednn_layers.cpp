// peers/onednn_layers [ROUNDS]: twenty convolutions of well-known networks by primsel and by oneDNN, taking turns on
// one core; onednn_layers.py makes a table of the lines of JSON that this prints.
//
// The time of primsel is that of its fastest primitive by Measured, which runs the best few to the end. The time of
// oneDNN is that of the fastest implementation of its direct and of its Winograd algorithm. Each is in the layouts that
// it prefers. Changes of layout and packing of weights are not counted on either side. Each run has other weights than
// the last ones, so that they come from beyond the caches as in a network; the images stay where the run before left
// them.
#include "probe.hpp"

#include <primsel/core/error.hpp>
#include <primsel/core/statistics.hpp>
#include <primsel/kernels/extern_kernels.hpp>
#include <primsel/measure/measured.hpp>
#include <primsel/primitive/conv_shape.hpp>

#include <omp.h>
#include <dnnl.hpp>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace {

namespace ps = primsel;

struct Layer {
    const char* name;
    ps::ConvShape shape;
};

constexpr ps::ConvShape square(int c, int k, int im, int f, int stride = 1, int groups = 1) {
    // AlexNet's first layer is padded by 2, all others as much as keeps the size.
    const int pad = f == 11 ? 2 : f / 2;
    return {.c = c,
            .k = k,
            .h = im,
            .w = im,
            .fh = f,
            .fw = f,
            .stride_h = stride,
            .stride_w = stride,
            .pad_top = pad,
            .pad_bottom = pad,
            .pad_left = pad,
            .pad_right = pad,
            .groups = groups};
}

constexpr Layer layers[] = {
    {"VGG conv1_1", square(3, 64, 224, 3)},
    {"VGG-19 conv1_2", square(64, 64, 224, 3)},
    {"VGG conv2_1", square(64, 128, 112, 3)},
    {"VGG conv3_2", square(256, 256, 56, 3)},
    {"VGG conv4_2", square(512, 512, 28, 3)},
    {"VGG conv5_1", square(512, 512, 14, 3)},
    {"ResNet-18 layer1", square(64, 64, 56, 3)},
    {"ResNet-18 layer2", square(128, 128, 28, 3)},
    {"ResNet-18 layer3", square(256, 256, 14, 3)},
    {"ResNet-18 layer4", square(512, 512, 7, 3)},
    {"ResNet-18 layer2.0.conv1", square(64, 128, 56, 3, 2)},
    {"ResNet conv1", square(3, 64, 224, 7, 2)},
    {"AlexNet conv1", square(3, 64, 224, 11, 4)},
    {"AlexNet conv2", square(64, 192, 27, 5)},
    {"ResNet-50 layer1 conv3", square(64, 256, 56, 1)},
    {"ResNet-50 layer3 conv1", square(1024, 256, 14, 1)},
    {"ResNet-50 layer2 downsample", square(256, 512, 56, 1, 2)},
    {"MobileNetV2 features.14 expand", square(160, 960, 7, 1)},
    {"MobileNetV2 features.3 depthwise", square(144, 144, 56, 3, 1, 144)},
    {"MobileNetV2 features.2 depthwise", square(96, 96, 112, 3, 2, 96)},
};

/// Weights that together are larger than the caches; at most so many.
std::size_t copies_of(std::size_t bytes) {
    return std::clamp((std::size_t{64} << 20) / std::max<std::size_t>(bytes, 1), std::size_t{2}, std::size_t{256});
}

void fill(float* values, std::size_t count) {
    unsigned state = 1;
    for (std::size_t i = 0; i < count; ++i) {
        state = state * 1664525U + 1013904223U;
        values[i] = static_cast<float>(state >> 8) * (2.0F / (1U << 24)) - 1.0F;
    }
}

/// One way to compute a layer, and what it took in each round.
struct Contender {
    std::string name;
    std::size_t copies;
    /// With the weights of that copy.
    std::function<void(std::size_t)> run;
    std::size_t next = 0;
    std::vector<double> ms{};

    void once() {
        run(next);
        next = (next + 1) % copies;
    }
    /// The median of a turn; its first run is not counted.
    void turn(double seconds) {
        once();
        std::vector<double> times;
        const ps::Timer whole;
        while (times.size() < 3 || whole.seconds() < seconds) {
            const ps::Timer timer;
            once();
            times.push_back(timer.seconds() * 1e3);
        }
        ms.push_back(ps::median(std::move(times)));
    }
};

Contender make_primsel(ps::Kernels const& kernels, ps::PrimitiveEntry const& primitive, ps::ConvShape const& shape) {
    struct Buffers {
        ps::AlignedBuffer src, dst, scratch;
        std::vector<ps::AlignedBuffer> weights;
        ps::Sequential executor;
    };
    auto buffers = std::make_shared<Buffers>();
    const auto buffer = [](std::size_t bytes) { return ps::AlignedBuffer(ps::floats_for_bytes(bytes)); };
    buffers->src = buffer(kernels.layouts[primitive.in_layout].image_bytes(shape.in_shape()));
    buffers->dst = buffer(kernels.layouts[primitive.out_layout].image_bytes(shape.out_shape()));
    buffers->scratch = buffer(primitive.scratch_bytes(shape, 1, 1));
    fill(buffers->src.data(), buffers->src.size());
    ps::AlignedBuffer kernel(shape.kernel_size()), packed = buffer(primitive.packed_bytes(shape));
    fill(kernel.data(), kernel.size());
    primitive.pack(shape, kernel.data(), packed.data());
    const std::size_t copies = copies_of(packed.size() * sizeof(float));
    for (std::size_t i = 0; i < copies; ++i) {
        std::copy_n(packed.data(), packed.size(), buffers->weights.emplace_back(packed.size()).data());
    }
    return {std::string(primitive.id), copies, [buffers, primitive, shape](std::size_t copy) {
                primitive.run(shape, {.src = buffers->src.data(),
                                      .weights = buffers->weights[copy].data(),
                                      .dst = buffers->dst.data(),
                                      .scratch = buffers->scratch.data(),
                                      .executor = buffers->executor});
            }};
}

/// The primitives that Measured puts first, fastest first.
std::vector<Contender> best_of_primsel(ps::Kernels const& kernels, ps::ConvShape const& shape, std::size_t count) {
    std::vector<ps::ConvQuery> queries;
    for (std::size_t i = 0; i < kernels.primitives.size(); ++i) {
        if (kernels.primitives[i].supports(shape)) queries.push_back({.shape = shape, .primitive = i});
    }
    std::vector<double> seconds(queries.size());
    ps::measure::Measured().predict(kernels, std::span<const ps::ConvQuery>(queries), seconds);
    std::vector<Contender> best;
    for (count = std::min(count, queries.size()); count > 0; --count) {
        const auto least = std::min_element(seconds.begin(), seconds.end());
        best.push_back(make_primsel(
            kernels, kernels.primitives[queries[static_cast<std::size_t>(least - seconds.begin())].primitive], shape));
        *least = 1e9;
    }
    return best;
}

/// One at a time: the next call takes the iteration over implementations away from the result of the last.
dnnl::convolution_forward::primitive_desc describe(dnnl::engine const& engine, dnnl::algorithm algorithm,
                                                   ps::ConvShape const& s) {
    using Dims = dnnl::memory::dims;
    const auto any = [](Dims const& dims) {
        return dnnl::memory::desc(dims, dnnl::memory::data_type::f32, dnnl::memory::format_tag::any);
    };
    const auto src = any({1, s.c, s.h, s.w}), dst = any({1, s.k, s.out_h(), s.out_w()});
    const auto weights =
        any(s.groups == 1 ? Dims{s.k, s.c, s.fh, s.fw} : Dims{s.groups, s.group_k(), s.group_c(), s.fh, s.fw});
    const Dims strides{s.stride_h, s.stride_w}, before{s.pad_top, s.pad_left}, after{s.pad_bottom, s.pad_right};
    constexpr auto inference = dnnl::prop_kind::forward_inference;
#if DNNL_VERSION_MAJOR >= 3
    return {engine, inference, algorithm, src, weights, dst, strides, before, after};
#else
    // It must outlive the result: next_impl() goes back to it.
    static std::optional<dnnl::convolution_forward::desc> asked;
    asked.emplace(inference, algorithm, src, weights, dst, strides, before, after);
    return {*asked, engine};
#endif
}

/// The first three implementations that oneDNN has of the algorithm for the layer, but for its reference.
std::vector<Contender> make_onednn(dnnl::engine const& engine, dnnl::algorithm algorithm, ps::ConvShape const& shape) {
    struct Buffers {
        dnnl::stream stream;
        dnnl::convolution_forward primitive;
        dnnl::memory src, dst;
        std::vector<dnnl::memory> weights;
    };
    const auto make = [&](dnnl::memory::desc const& desc) {
        dnnl::memory memory(desc, engine);
        fill(static_cast<float*>(memory.get_data_handle()), desc.get_size() / sizeof(float));
        return memory;
    };
    std::vector<Contender> made;
    try {
        auto desc = describe(engine, algorithm, shape);
        do {
            const std::string name = desc.impl_info_str();
            if (name.starts_with("ref")) continue;
            auto buffers = std::make_shared<Buffers>(Buffers{dnnl::stream(engine),
                                                             dnnl::convolution_forward(desc),
                                                             make(desc.src_desc()),
                                                             make(desc.dst_desc()),
                                                             {}});
            const std::size_t copies = copies_of(desc.weights_desc().get_size());
            for (std::size_t i = 0; i < copies; ++i) buffers->weights.push_back(make(desc.weights_desc()));
            made.push_back({name, copies, [buffers](std::size_t copy) {
                                buffers->primitive.execute(buffers->stream, {{DNNL_ARG_SRC, buffers->src},
                                                                             {DNNL_ARG_WEIGHTS, buffers->weights[copy]},
                                                                             {DNNL_ARG_DST, buffers->dst}});
                                buffers->stream.wait();
                            }});
        } while (made.size() < 3 && desc.next_impl());
    } catch (dnnl::error const& fault) {
        if (fault.status != dnnl_unimplemented) throw;
    }
    return made;
}

bool faster(Contender const& a, Contender const& b) { return ps::median(a.ms) < ps::median(b.ms); }

void compare(Layer const& layer, ps::Kernels const& kernels, dnnl::engine const& engine, int rounds) {
    std::pair<const char*, std::vector<Contender>> sides[] = {
        {"primsel", best_of_primsel(kernels, layer.shape, 3)},
        {"onednn_direct", make_onednn(engine, dnnl::algorithm::convolution_direct, layer.shape)},
        {"onednn_winograd", make_onednn(engine, dnnl::algorithm::convolution_winograd, layer.shape)}};
    std::vector<double> peaks{peers::fma_gflops(0.01)};
    for (int round = 0; round < rounds; ++round) {
        for (auto& [name, contenders] : sides) {
            for (Contender& contender : contenders) contender.turn(0.03);
        }
        peaks.push_back(peers::fma_gflops(0.01));
    }
    std::printf("{\"layer\": \"%s\", \"shape\": \"%s\", \"gflop\": %.9f, ", layer.name, to_string(layer.shape).c_str(),
                layer.shape.operations() / 1e9);
    for (auto const& [name, contenders] : sides) {
        if (contenders.empty()) continue;
        Contender const& best = *std::min_element(contenders.begin(), contenders.end(), faster);
        std::printf("\"%s\": {\"name\": \"%s\", \"ms\": %.6f}, ", name, best.name.c_str(), ps::median(best.ms));
    }
    std::printf("\"fma_gflops\": [");
    for (std::size_t i = 0; i < peaks.size(); ++i) std::printf("%s%.3f", i == 0 ? "" : ", ", peaks[i]);
    std::printf("]}\n");
    std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
    const int rounds = argc > 1 ? std::atoi(argv[1]) : 15;
    if (rounds < 1) {
        std::fprintf(stderr, "onednn_layers [ROUNDS]: at least one round\n");
        return 2;
    }
    omp_set_num_threads(1);  // oneDNN's
    try {
        if (!peers::pin(0)) ps::fail("may not run on processor 0");
        const auto version = dnnl::version();
        std::printf("{\"onednn\": \"%d.%d.%d\"}\n", version->major, version->minor, version->patch);
        const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
        const ps::Kernels kernels = ps::make_kernels<ps::AllPrimitives, ps::default_arch, ps::AllLayouts>();
        for (Layer const& layer : layers) compare(layer, kernels, engine, rounds);
    } catch (std::exception const& fault) {
        std::fprintf(stderr, "onednn_layers: %s\n", fault.what());
        return 1;
    }
}
