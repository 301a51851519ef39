// Fits the time of a layer in 8 bits, bfloat16 and float16 as that of its products and of the end of each sum. The
// layers are 1x1 convolutions of MobileNetV2 and ResNet-50, of few and of many channels: bench_primitive_end_of_product
#include <primsel/core/aligned_buffer.hpp>
#include <primsel/machine/all_precisions.hpp>
#include <primsel/primitive/direct_bf16.hpp>
#include <primsel/primitive/direct_int8.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <limits>
#include <vector>

namespace ps = primsel;

namespace {

struct Layer {
    ps::ConvShape shape;
    double products, sums, seconds = std::numeric_limits<double>::infinity();
};

template <class P>
void time(Layer& layer) {
    using Traits = ps::PrimitiveTraits<P, ps::default_arch>;
    ps::ConvShape const& s = layer.shape;
    using L = typename P::in_layout;
    constexpr std::size_t element = sizeof(ps::element_of<L>);
    ps::Sequential here;
    ps::AlignedBuffer src(L::size(s.in_shape()) * element / 4), dst(L::size(s.out_shape()) * element / 4),
        kernel(s.kernel_size()), bias(static_cast<std::size_t>(s.k)), packed(Traits::packed_floats(s)),
        scratch(Traits::scratch_floats(s, 1));
    std::ranges::fill(kernel.span(), 0.5F);
    Traits::pack(s, kernel.data(), packed.data());
    for (int i = 0; i < 20; ++i) {
        const auto begin = std::chrono::steady_clock::now();
        P::template run<ps::default_arch>(s, {.src = src.data(),
                                              .weights = packed.data(),
                                              .bias = bias.data(),
                                              .clamp = {.low = 0},
                                              .dst = dst.data(),
                                              .scratch = scratch.data(),
                                              .executor = here,
                                              .src_range = {.scale = 0.1F, .zero_point = 3},
                                              .dst_range = {.scale = 0.1F}});
        const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
        layer.seconds = std::min(layer.seconds, taken.count());
    }
}

/// Minimises the squares of relative errors of seconds = a products + b sums.
template <class P>
void fit(const char* name, double measured, double operations) {
    std::vector<Layer> layers;
    for (const auto& [c, k, im] : {std::array{64, 256, 56},
                                   {64, 64, 56},
                                   {16, 96, 112},
                                   {24, 144, 56},
                                   {32, 192, 28},
                                   {256, 64, 56},
                                   {512, 128, 28},
                                   {64, 384, 14},
                                   {384, 64, 14},
                                   {1024, 256, 14}}) {
        const ps::ConvShape s{.c = c, .k = k, .h = im, .w = im, .fh = 1, .fw = 1};
        layers.push_back({s, s.operations(), static_cast<double>(s.out_pixels()) * ((k + 31) / 32 * 32)});
    }
    for (int round = 0; round < 5; ++round) {
        for (Layer& layer : layers) time<P>(layer);
    }
    double pp = 0, cross = 0, ss = 0, p = 0, q = 0;
    for (Layer const& layer : layers) {
        const double a = layer.products / layer.seconds, b = layer.sums / layer.seconds;
        pp += a * a, cross += a * b, ss += b * b, p += a, q += b;
    }
    const double determinant = pp * ss - cross * cross, of_products = (p * ss - q * cross) / determinant,
                 of_sums = (q * pp - p * cross) / determinant;
    std::printf("%s: products at %.2f times the measured rate; the end of a sum is %.1f operations in registers\n",
                name, 1 / of_products / measured, of_sums * operations);
    for (Layer const& layer : layers) {
        std::printf("  %4d -> %4d, %3d x %3d: %7.1f us, fitted %7.1f us\n", layer.shape.c, layer.shape.k, layer.shape.h,
                    layer.shape.w, 1e6 * layer.seconds, 1e6 * (of_products * layer.products + of_sums * layer.sums));
    }
}

}  // namespace

int main() {
    ps::Machine const& machine = ps::this_machine_in_all_precisions<ps::default_arch>();
    std::printf("FMA %.0f, vector %.0f, int8 %.0f, bf16 %.0f Gop/s\n", machine.fma_flops / 1e9,
                machine.vector_flops / 1e9, machine.int8_flops / 1e9, machine.bf16_flops / 1e9);
    fit<ps::DirectInt8>("int8", machine.int8_flops, 0.5 * machine.fma_flops);
    fit<ps::DirectBf16>("bf16", machine.bf16_flops, 0.5 * machine.fma_flops);
}
