// Depthwise convolutions in hwc, 14x14 results of 32 channels without padding; loops.py traces them.
#include "layer.hpp"

#include <primsel/primitive/depthwise.hpp>

#include <string>

namespace ps = primsel;
using Arch = ps::default_arch;

int main() {
    for (const int size : {3, 5}) {
        for (const int stride : {1, 2}) {
            const int in = 13 * stride + size;
            const ps::ConvShape s{.c = 32,
                                  .k = 32,
                                  .h = in,
                                  .w = in,
                                  .fh = size,
                                  .fw = size,
                                  .stride_h = stride,
                                  .stride_w = stride,
                                  .groups = 32};
            ps::Sequential executor;
            const ps::ConvArgs args{
                .src = room[0], .weights = room[1], .bias = room[2], .dst = room[3], .executor = executor};
            const auto kernel = std::to_string(size) + "x" + std::to_string(size);
            layer(("depthwise " + kernel + (stride == 2 ? ", stride 2" : "")).c_str(), 1L * size * size * 14 * 14 * 8,
                  [&] { ps::DepthwiseHwc::run<Arch>(s, args); });
        }
    }
}
