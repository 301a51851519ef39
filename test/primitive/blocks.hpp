#pragma once

#include <primsel/core/executor.hpp>
#include <primsel/primitive/conv_shape.hpp>

#include <cstddef>
#include <vector>

namespace blocks {

namespace ps = primsel;

/// Counts the blocks of the last loop, which computes the results, and runs none.
struct Counts {
    std::size_t last = 0;

    [[nodiscard]] std::size_t concurrency() const noexcept { return 2; }
    void parallel_for(std::size_t blocks, ps::BlockFunction) noexcept { last = blocks; }
};

/// Notes the blocks of each loop, on so many threads, and runs none.
struct Loops {
    std::size_t threads;
    std::vector<double> blocks{};

    [[nodiscard]] std::size_t concurrency() const noexcept { return threads; }
    void parallel_for(std::size_t count, ps::BlockFunction) noexcept { blocks.push_back(static_cast<double>(count)); }
};

/// Layers of 5 to 230 million multiply-adds, of ResNet-50, GoogLeNet and VGG.
[[nodiscard]] inline std::vector<ps::ConvShape> shapes() {
    struct Layer {
        int c, k, size, kernel, stride;
    };
    std::vector<ps::ConvShape> shapes;
    for (Layer const& layer :
         {Layer{64, 64, 56, 1, 1}, Layer{256, 64, 28, 1, 1}, Layer{512, 192, 14, 1, 1}, Layer{1024, 512, 14, 1, 2},
          Layer{832, 128, 7, 1, 1}, Layer{512, 2048, 7, 1, 1}, Layer{64, 64, 56, 3, 1}, Layer{128, 128, 56, 3, 2},
          Layer{256, 256, 28, 3, 2}, Layer{256, 256, 14, 3, 1}, Layer{512, 512, 14, 3, 2}, Layer{512, 512, 7, 3, 1},
          Layer{96, 208, 14, 3, 1}, Layer{32, 128, 14, 5, 1}, Layer{3, 64, 112, 7, 2}}) {
        ps::ConvShape shape;
        shape.c = layer.c, shape.k = layer.k, shape.h = shape.w = layer.size, shape.fh = shape.fw = layer.kernel;
        shape.stride_h = shape.stride_w = layer.stride;
        shape.pad_top = shape.pad_bottom = shape.pad_left = shape.pad_right = layer.kernel / 2;
        shapes.push_back(shape);
    }
    return shapes;
}

}  // namespace blocks
