// ncnn's kernels for layers of the other programs; loops.py traces them.
// needs ncnn: -I DIR -I DIR/layer -I DIR/layer/arm -Wl,--unresolved-symbols=ignore-all -w
#include "layer.hpp"

#include "cpu.h"
#include "mat.h"
#include "option.h"

#include <arm_neon.h>
#include <math.h>
#include <cstddef>
#include <string>

using namespace ncnn;

#include "arm_usability.h"
#include "convolution_3x3_winograd.h"
#include "convolution_im2col_gemm.h"
#include "convolutiondepthwise_3x3_pack4.h"
#include "convolutiondepthwise_5x5_pack4.h"
#include "gelu_arm.cpp"
#include "pooling_arm.cpp"
#include "sigmoid_arm.cpp"
#include "softmax_arm.cpp"
#include "swish_arm.cpp"
#include "tanh_arm.cpp"

// Results have their room, and no image has a border.
void Mat::create(int, size_t, int, Allocator*) {}
void Mat::create(int, int, int, size_t, int, Allocator*) {}
void Pooling::make_padding(const Mat& src, Mat& dst, const Option&) const { dst = src; }

namespace {

/// Returns an object of zeros whose constructor did not run: those of options and layers need all of ncnn.
template <class T>
[[nodiscard]] T& zeros() {
    alignas(T) static std::byte memory[sizeof(T)];
    return *reinterpret_cast<T*>(memory);
}

/// Returns an image of so many vectors of four channels.
[[nodiscard]] Mat image(int operand, int w, int h, int vectors) { return {w, h, vectors, room[operand], 16U, 4}; }
/// Returns so many floats.
[[nodiscard]] Mat floats(int operand, int count) { return {count, 1, 1, room[operand], 4U, 1}; }

template <class Kernel>
void depthwise(const char* name, int size, int stride, Kernel const& kernel) {
    constexpr int out = 14, vectors = 8;
    const int in = (out - 1) * stride + size;
    const Mat src = image(0, in, in, vectors), weights(size * size, vectors, room[1], 16U, 4), bias = floats(1, 32);
    Mat dst = image(2, out, out, vectors);
    layer(name, 1L * size * size * out * out * vectors, [&] { kernel(src, dst, weights, bias, zeros<Option>()); });
}

/// One panel of 12 pixels by 8 outputs, as deep as its cache's tile.
void product() {
    constexpr int depth = 1536;
    const Mat a = floats(0, 8 * depth), b = floats(1, 12 * depth), c;
    Mat sums = floats(2, 96), dst = image(3, 12, 1, 2);
    layer("8 rows x 3 vectors", 1L * depth * 8 * 3,
          [&] { convolution_gemm_transB_packed_tile(a, b, c, sums, dst, 0, 8, 0, 12, 0, depth, true, 0); });
}

void pool(const char* name, int kind, int window) {
    Pooling_arm& of = zeros<Pooling_arm>();
    of.pooling_type = kind;
    of.kernel_w = of.kernel_h = window;
    of.stride_w = of.stride_h = 2;
    of.global_pooling = window == 0;
    of.pad_mode = of.avgpool_count_include_pad = 1;
    const Mat src = window == 0 ? image(0, 7, 7, 64) : image(0, 26 + window, 26 + window, 8);
    Mat dst = window == 0 ? Mat(64, room[2], 16U, 4) : image(2, 14, 14, 8);
    layer(name, 0, [&] { of.Pooling_arm::forward(src, dst, zeros<Option>()); });
}

template <class Kind>
void activation(const char* name) {
    Mat values = image(0, 16, 8, 8);
    layer(name, 0, [&] { zeros<Kind>().Kind::forward_inplace(values, zeros<Option>()); });
}

void softmaxes(const char* name, int lines, int count) {
    layer(name, 0, [=] {
        for (int i = 0; i < lines; ++i) softmax(room[0] + i * count, count, 1);
    });
}

}  // namespace

int main() {
    product();
    depthwise("depthwise 3x3", 3, 1, convdw3x3s1_pack4_neon);
    depthwise("depthwise 3x3, stride 2", 3, 2, convdw3x3s2_pack4_neon);
    depthwise("depthwise 5x5", 5, 1, convdw5x5s1_pack4_neon);
    depthwise("depthwise 5x5, stride 2", 5, 2, convdw5x5s2_pack4_neon);
    // 16 channels, four tiles in a row.
    const Mat bias = floats(3, 16);
    const auto transforms = [&](const char* name, int m, auto const& input, auto const& output) {
        const int size = m + 2;
        const Mat src = image(0, 4 * m + 2, size, 4);
        Mat v = floats(1, 64 * size * size), dst = image(2, 4 * m, m, 4);
        layer((std::string(name) + " of the image").c_str(), 0, [&] { input(src, v, 0, 4, 0, 16, 1); });
        layer((std::string(name) + " of the result").c_str(), 0, [&] { output(v, dst, bias, 0, 16, 0, 4); });
    };
    transforms("F(2x2, 3x3)", 2, conv3x3s1_winograd23_transform_input_tile, conv3x3s1_winograd23_transform_output_tile);
    transforms("F(4x4, 3x3)", 4, conv3x3s1_winograd43_transform_input_tile, conv3x3s1_winograd43_transform_output_tile);
    transforms("F(6x6, 3x3)", 6, conv3x3s1_winograd63_transform_input_tile, conv3x3s1_winograd63_transform_output_tile);
    pool("max pool 2x2, stride 2", 0, 2);
    pool("max pool 3x3, stride 2", 0, 3);
    pool("average pool 2x2, stride 2", 1, 2);
    pool("average pool 3x3, stride 2", 1, 3);
    pool("global average pool", 1, 0);
    softmaxes("softmax of 1000", 1, 1000);
    softmaxes("softmax of 49, 32 rows", 32, 49);
    activation<Sigmoid_arm>("sigmoid");
    activation<Swish_arm>("silu");
    activation<TanH_arm>("tanh");
    activation<GELU_arm>("gelu");
}
