#pragma once

#include <primsel/cost/extern_kernels.hpp>
#include <primsel/primitive/reference.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

/// What the law tests of primitives share: a convolution with its data, its exact result, and a primitive's.
namespace laws {

namespace ps = primsel;

[[nodiscard]] inline ps::Kernels kernels() {
    return ps::make_kernels<ps::AllPrimitives, ps::default_arch, ps::AllLayouts>();
}
[[nodiscard]] inline bool is_winograd(ps::PrimitiveEntry const& entry) { return entry.id.starts_with("winograd"); }

enum class Values { integers, normal };

/// One image in chw, and what the definition makes of it.
struct Problem {
    ps::ConvShape shape;
    std::vector<float> src, kernel, bias, residual;
    ps::Clamp clamp{-40.0F, 55.0F};

    Problem(ps::ConvShape const& s, Values values, unsigned seed = 1)
        : shape(s),
          src(s.in_shape().size()),
          kernel(s.kernel_size()),
          bias(static_cast<std::size_t>(s.k)),
          residual(s.out_shape().size()) {
        std::mt19937 bits(seed);
        std::normal_distribution<float> normal;
        for (auto* data : {&src, &kernel, &bias, &residual}) {
            for (float& value : *data) {
                value = values == Values::normal ? normal(bits) : static_cast<float>(static_cast<int>(bits() % 7) - 3);
            }
        }
    }
    [[nodiscard]] std::vector<double> exact(bool epilogue) const {
        std::vector<double> dst(residual.size());
        ps::reference_convolution<double>(shape, src.data(), kernel.data(), epilogue ? bias.data() : nullptr,
                                          epilogue ? residual.data() : nullptr, epilogue ? clamp : ps::Clamp{},
                                          dst.data());
        return dst;
    }
};

inline void change(ps::Kernels const& kernels, std::size_t from, std::size_t to, ps::Shape shape, const float* src,
                   float* dst) {
    ps::Sequential sequential;
    kernels.transform(from, to).run(shape, src, dst, sequential);
}

/// Runs a primitive with dirty scratch and destination, and zones around all that it writes; returns its result in chw.
/// `intact` tells whether the zones are as they were.
struct Outcome {
    std::vector<float> dst;
    bool intact = true;
};
inline Outcome run(ps::Kernels const& kernels, ps::PrimitiveEntry const& entry, Problem const& p, bool epilogue,
                   ps::ExecutorRef executor) {
    constexpr std::size_t zone = 64;
    constexpr float canary = 12345.5F;
    const float dirt = std::numeric_limits<float>::quiet_NaN();
    const std::size_t scratch_size = entry.scratch_floats(p.shape, executor.concurrency());
    std::vector<float> src(p.src.size()), residual(p.residual.size()), packed(entry.packed_floats(p.shape), dirt);
    std::vector<float> dst(p.residual.size() + 2 * zone, canary);
    ps::AlignedBuffer scratch(scratch_size + 2 * zone);
    std::ranges::fill(scratch.span(), canary);
    std::fill_n(scratch.data() + zone, scratch_size, dirt);
    std::fill_n(dst.data() + zone, p.residual.size(), dirt);
    change(kernels, 0, entry.in_layout, p.shape.in_shape(), p.src.data(), src.data());
    change(kernels, 0, entry.out_layout, p.shape.out_shape(), p.residual.data(), residual.data());
    entry.pack(p.shape, p.kernel.data(), packed.data());
    entry.run(p.shape, {.src = src.data(),
                        .weights = packed.data(),
                        .bias = epilogue ? p.bias.data() : nullptr,
                        .residual = epilogue ? residual.data() : nullptr,
                        .clamp = epilogue ? p.clamp : ps::Clamp{},
                        .dst = dst.data() + zone,
                        .scratch = scratch.data() + zone,
                        .executor = executor});
    Outcome outcome{std::vector<float>(p.residual.size())};
    for (std::size_t i = 0; i < zone; ++i) {
        outcome.intact = outcome.intact && dst[i] == canary && dst[dst.size() - 1 - i] == canary &&
                         scratch.data()[i] == canary && scratch.data()[scratch_size + 2 * zone - 1 - i] == canary;
    }
    change(kernels, entry.out_layout, 0, p.shape.out_shape(), dst.data() + zone, outcome.dst.data());
    return outcome;
}

/// The largest difference, relative to the RMS of the exact result; infinite where there is a NaN.
[[nodiscard]] inline double error(std::vector<float> const& values, std::vector<double> const& exact) {
    double worst = 0, squares = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
        const double difference = std::abs(static_cast<double>(values[i]) - exact[i]);
        worst = std::isnan(difference) ? std::numeric_limits<double>::infinity() : std::max(worst, difference);
        squares += exact[i] * exact[i];
    }
    return squares == 0 ? worst : worst / std::sqrt(squares / static_cast<double>(values.size()));
}

/// Small odd shapes: 1-pixel images, single channels, primes, all strides to 4, even and rectangular kernels,
/// asymmetric padding, kernels as large as the image, dilation, groups.
[[nodiscard]] inline std::vector<ps::ConvShape> odd_shapes() {
    std::vector<ps::ConvShape> shapes;
    const auto add = [&](ps::ConvShape const& shape) {
        if (shape.valid()) shapes.push_back(shape);
    };
    constexpr int kernels[][2] = {{1, 1}, {2, 3}, {3, 3}, {4, 4}, {5, 5}, {1, 7}, {7, 1}};
    constexpr int channels[][2] = {{1, 1}, {3, 7}, {5, 31}, {17, 33}, {32, 16}, {2, 15}};
    constexpr int images[][2] = {{1, 1}, {5, 4}, {7, 13}, {11, 8}};
    constexpr int strides[][2] = {{1, 1}, {2, 2}, {1, 3}, {4, 2}};
    constexpr int paddings[][4] = {{0, 0, 0, 0}, {1, 1, 1, 1}, {2, 0, 1, 3}};
    unsigned turn = 0;
    for (auto const& kernel : kernels) {
        for (auto const& image : images) {
            for (auto const& stride : strides) {
                for (auto const& padding : paddings) {
                    auto const& channel = channels[turn++ % std::size(channels)];
                    ps::ConvShape shape{.c = channel[0],
                                        .k = channel[1],
                                        .h = image[0],
                                        .w = image[1],
                                        .fh = kernel[0],
                                        .fw = kernel[1],
                                        .stride_h = stride[0],
                                        .stride_w = stride[1],
                                        .pad_top = padding[0],
                                        .pad_bottom = padding[1],
                                        .pad_left = padding[2],
                                        .pad_right = padding[3]};
                    add(shape);
                    shape.dilation_h = 2, shape.dilation_w = turn % 2 == 0 ? 2 : 1;
                    add(shape);
                }
            }
        }
    }
    for (const int size : {3, 5, 9}) {  // as large as the image
        add({.c = 4, .k = 6, .h = size, .w = size, .fh = size, .fw = size});
    }
    for (const int groups : {2, 4, 12}) {
        for (const int f : {1, 3, 5}) {
            for (const int stride : {1, 2}) {
                add({.c = 12,
                     .k = 24,
                     .h = 9,
                     .w = 7,
                     .fh = f,
                     .fw = f,
                     .stride_h = stride,
                     .stride_w = stride,
                     .pad_top = f / 2,
                     .pad_bottom = f / 2,
                     .pad_left = f / 2,
                     .pad_right = f / 2,
                     .groups = groups});
            }
        }
    }
    // Winograd and 1x1 on every remainder of their tiles and vectors.
    for (const int f : {1, 3, 5}) {
        for (int size = f; size < f + 9; ++size) {
            add({.c = 16 + size,
                 .k = 30 + size,
                 .h = size,
                 .w = 17 - size,
                 .fh = f,
                 .fw = f,
                 .pad_top = f / 2,
                 .pad_bottom = f / 2,
                 .pad_left = f / 2,
                 .pad_right = f / 2});
        }
    }
    return shapes;
}

}  // namespace laws
