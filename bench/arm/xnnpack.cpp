// XNNPACK's kernels for layers of the other programs, those that it chooses on aarch64; loops.py traces them.
// needs xnnpack: -I DIR DIR/src/f32-gemm/gen/f32-gemm-6x8-minmax-asm-aarch64-neonfma-cortex-a75.S -x c -DNDEBUG -w
// needs xnnpack: DIR/src/f32-dwconv/gen/f32-dwconv-9p8c-minmax-neonfma.c
// needs xnnpack: DIR/src/f32-dwconv/gen/f32-dwconv-25p8c-minmax-neonfma-acc2.c
// needs xnnpack: DIR/src/f32-maxpool/gen/f32-maxpool-9p-minmax-neon-u4.c
// needs xnnpack: DIR/src/f32-rdsum/gen/f32-rdsum-7p7x-minmax-neon-u16.c
// needs xnnpack: DIR/src/f32-rminmax/gen/f32-rmax-neon-u16-acc4.c DIR/src/f32-vbinary/gen/f32-vmulc-neon-u8.c
// needs xnnpack: DIR/src/f32-raddstoreexpminusmax/gen/f32-raddstoreexpminusmax-neonfma-rr1-lut64-p2-u16-acc2.c
// needs xnnpack: DIR/src/f32-vsigmoid/gen/f32-vsigmoid-neonfma-rr1-lut64-p2-nr2recps-u16.c
// needs xnnpack: DIR/src/f32-vgelu/gen/f32-vgelu-neon-rational-12-10-div.c
// needs xnnpack: DIR/src/f32-vtanh/gen/f32-vtanh-neon-rational-9-8-div.c
// needs xnnpack: DIR/src/tables/exp2-k-over-64.c DIR/src/tables/exp2minus-k-over-64.c
#include "layer.hpp"

#include "src/xnnpack/dwconv.h"
#include "src/xnnpack/gemm.h"
#include "src/xnnpack/maxpool.h"
#include "src/xnnpack/microparams.h"
#include "src/xnnpack/raddstoreexpminusmax.h"
#include "src/xnnpack/reduce.h"
#include "src/xnnpack/vbinary.h"
#include "src/xnnpack/vunary.h"

#include <cstddef>
#include <limits>
#include <string>

namespace {

constexpr std::size_t channels = 32, out = 14;
constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr xnn_f32_minmax_params bounds{.scalar = {.min = -infinity, .max = infinity}};
const float* pixels[out][out][25];

/// Sets the pointers to the pixels of all windows.
void place_windows(std::size_t size, std::size_t stride) {
    const std::size_t in = (out - 1) * stride + size;
    for (std::size_t h = 0; h < out; ++h) {
        for (std::size_t w = 0; w < out; ++w) {
            for (std::size_t tap = 0; tap < size * size; ++tap) {
                const std::size_t pixel = (h * stride + tap / size) * in + w * stride + tap % size;
                pixels[h][w][tap] = room[0] + pixel * channels;
            }
        }
    }
}

void depthwise(const char* name, std::size_t size, std::size_t stride) {
    place_windows(size, stride);
    const auto kernel =
        size == 3 ? xnn_f32_dwconv_minmax_ukernel_9p8c__neonfma : xnn_f32_dwconv_minmax_ukernel_25p8c__neonfma_acc2;
    layer(name, static_cast<long>(size * size * out * out * channels / 4), [&] {
        for (std::size_t h = 0; h < out; ++h) {
            kernel(channels, out, pixels[h][0], room[1], room[2] + h * out * channels, sizeof(pixels[0][0]), 0, 0, 0,
                   room[3], &bounds);
        }
    });
}

void max_pool(const char* name, std::size_t size) {
    place_windows(size, 2);
    layer(name, 0, [&] {
        xnn_f32_maxpool_minmax_ukernel_9p__neon_u4(out * out, size * size, channels, pixels[0][0], 0, 0, room[2],
                                                   sizeof(pixels[0][0]), channels * sizeof(float), &bounds);
    });
}

void softmax(const char* name, std::size_t lines, std::size_t count) {
    layer(name, 0, [=] {
        const std::size_t bytes = count * sizeof(float);
        for (std::size_t i = 0; i < lines; ++i) {
            const float* src = room[0] + i * count;
            float* dst = room[1] + i * count;
            float largest = -infinity, sum = 0;
            xnn_f32_rmax_ukernel__neon_u16_acc4(bytes, src, &largest, nullptr);
            xnn_f32_raddstoreexpminusmax_ukernel__neonfma_rr1_lut64_p2_u16_acc2(bytes, src, &largest, dst, &sum,
                                                                                nullptr);
            const float factor = 1 / sum;
            xnn_f32_vmulc_ukernel__neon_u8(bytes, dst, &factor, dst, nullptr);
        }
    });
}

template <class Kernel>
void activation(const char* name, Kernel const& kernel) {
    layer(name, 0, [&] { kernel(4096 * sizeof(float), room[0], room[1], nullptr); });
}

}  // namespace

int main() {
    constexpr std::size_t depth = 1536;
    layer("6 rows x 2 vectors", long{depth} * 6 * 2, [] {
        xnn_f32_gemm_minmax_ukernel_6x8__asm_aarch64_neonfma_cortex_a75(
            6, 8, depth * sizeof(float), room[0], depth * sizeof(float), room[1], room[2], 32, 32, &bounds);
    });
    depthwise("depthwise 3x3", 3, 1);
    depthwise("depthwise 3x3, stride 2", 3, 2);
    depthwise("depthwise 5x5", 5, 1);
    depthwise("depthwise 5x5, stride 2", 5, 2);
    max_pool("max pool 2x2, stride 2", 2);
    max_pool("max pool 3x3, stride 2", 3);
    constexpr std::size_t pixel = 256 * sizeof(float);
    static constexpr xnn_f32_scale_params mean{.scalar = {.scale = 1.0F / 49}};
    layer("global average pool", 0, [] {
        xnn_f32_rdsum_ukernel_7p7x__neon_u16(256, 49, 1, 1, room[0], pixel, pixel, pixel, room[3], room[1], &mean);
    });
    softmax("softmax of 1000", 1, 1000);
    softmax("softmax of 49, 32 rows", 32, 49);
    activation("sigmoid", xnn_f32_vsigmoid_ukernel__neonfma_rr1_lut64_p2_nr2recps_u16);
    activation("tanh", xnn_f32_vtanh_ukernel__neon_rational_9_8_div_u16);
    activation("gelu", xnn_f32_vgelu_ukernel__neon_rational_12_10_div_u8);
}
