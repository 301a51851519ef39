// What every op must compute: plain loops in double precision over chw images, written from the definitions alone.
#pragma once

#include <primsel/layer/all.hpp>
#include <primsel/op/op.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

namespace reference {

namespace ps = primsel;

struct Image {
    ps::Shape shape;
    std::vector<double> data;

    explicit Image(ps::Shape of) : shape(of), data(of.size()) {}
    double& operator()(int c, int h, int w) { return data[index(c, h, w)]; }
    double operator()(int c, int h, int w) const { return data[index(c, h, w)]; }

private:
    [[nodiscard]] std::size_t index(int c, int h, int w) const {
        return (static_cast<std::size_t>(c) * static_cast<std::size_t>(shape.h) + static_cast<std::size_t>(h)) *
                   static_cast<std::size_t>(shape.w) +
               static_cast<std::size_t>(w);
    }
};
using Images = std::vector<Image>;

template <class F>
Image build(ps::Shape shape, F const& element) {
    Image image(shape);
    for (int c = 0; c < shape.c; ++c) {
        for (int h = 0; h < shape.h; ++h) {
            for (int w = 0; w < shape.w; ++w) image(c, h, w) = element(c, h, w);
        }
    }
    return image;
}

inline double held(double value, ps::Clamp clamp) {
    if (value < clamp.low) return clamp.low;
    return value > clamp.high ? clamp.high : value;
}

/// The inputs are those of one image of the batch.
inline Image run(ps::PoolParams const& p, Images const& inputs, ps::OpWeights const&, ps::Shape output) {
    Image const& in = inputs[0];
    return build(output, [&](int c, int oh, int ow) {
        const int top = oh * p.stride.h - p.padding.top, left = ow * p.stride.w - p.padding.left;
        double sum = 0, largest = -std::numeric_limits<double>::infinity();
        int inside = 0, in_padded = 0;
        for (int h = top; h < top + p.window.h; ++h) {
            for (int w = left; w < left + p.window.w; ++w) {
                in_padded += h < in.shape.h + p.padding.bottom && w < in.shape.w + p.padding.right;
                if (h < 0 || w < 0 || h >= in.shape.h || w >= in.shape.w) continue;
                ++inside;
                sum += in(c, h, w);
                largest = std::max(largest, in(c, h, w));
            }
        }
        if (p.kind == ps::PoolKind::max) return largest;
        return sum / (p.count_include_pad ? in_padded : inside);
    });
}

inline Image run(ps::GlobalPoolParams const& p, Images const& inputs, ps::OpWeights const&, ps::Shape output) {
    Image const& in = inputs[0];
    return build(output, [&](int c, int, int) {
        double sum = 0, largest = -std::numeric_limits<double>::infinity();
        for (int h = 0; h < in.shape.h; ++h) {
            for (int w = 0; w < in.shape.w; ++w) {
                sum += in(c, h, w);
                largest = std::max(largest, in(c, h, w));
            }
        }
        return p.kind == ps::PoolKind::max ? largest : sum / in.shape.h / in.shape.w;
    });
}

inline Image run(ps::ActivationParams const& p, Images const& inputs, ps::OpWeights const&, ps::Shape output) {
    return build(output, [&](int c, int h, int w) {
        const double x = inputs[0](c, h, w);
        switch (p.kind) {
            case ps::ActivationKind::relu:
                return std::max(x, 0.0);
            case ps::ActivationKind::relu6:
                return std::min(std::max(x, 0.0), 6.0);
            case ps::ActivationKind::leaky_relu:
                return x < 0 ? static_cast<double>(p.alpha) * x : x;
            case ps::ActivationKind::sigmoid:
                return 1 / (1 + std::exp(-x));
            case ps::ActivationKind::hard_swish:
                return x * std::min(std::max(x + 3, 0.0), 6.0) / 6;
        }
        return 0.0;
    });
}

inline Image run(ps::LrnParams const& p, Images const& inputs, ps::OpWeights const&, ps::Shape output) {
    return build(output, [&](int c, int h, int w) {
        double squares = 0;
        for (int i = 0; i < p.size; ++i) {
            const int channel = c - p.size / 2 + i;
            if (channel >= 0 && channel < output.c) squares += std::pow(inputs[0](channel, h, w), 2);
        }
        return inputs[0](c, h, w) / std::pow(p.k + p.alpha * squares / p.size, p.beta);
    });
}

inline Image affine(Images const& inputs, ps::OpWeights const& weights, ps::Shape output) {
    return build(output, [&](int c, int h, int w) {
        const auto i = static_cast<std::size_t>(c);
        const double shift = weights.bias.empty() ? 0.0 : weights.bias[i];
        return inputs[0](c, h, w) * weights.kernel[i] + shift;
    });
}
inline Image run(ps::BatchNormParams const&, Images const& inputs, ps::OpWeights const& weights, ps::Shape output) {
    return affine(inputs, weights, output);
}
inline Image run(ps::ScaleParams const&, Images const& inputs, ps::OpWeights const& weights, ps::Shape output) {
    return affine(inputs, weights, output);
}

inline Image run(ps::DenseParams const& p, Images const& inputs, ps::OpWeights const& weights, ps::Shape output) {
    std::vector<double> const& x = inputs[0].data;
    return build(output, [&](int k, int, int) {
        const auto row = static_cast<std::size_t>(k);
        double sum = weights.bias.empty() ? 0.0 : weights.bias[row];
        for (std::size_t i = 0; i < x.size(); ++i) sum += x[i] * weights.kernel[row * x.size() + i];
        return held(sum, p.clamp);
    });
}

inline Image run(ps::SoftmaxParams const&, Images const& inputs, ps::OpWeights const&, ps::Shape output) {
    Image const& in = inputs[0];
    return build(output, [&](int c, int h, int w) {
        double sum = 0;
        for (int i = 0; i < output.c; ++i) sum += std::exp(in(i, h, w) - in(c, h, w));
        return 1 / sum;
    });
}

inline Image run(ps::AddParams const& p, Images const& inputs, ps::OpWeights const&, ps::Shape output) {
    return build(output, [&](int c, int h, int w) {
        double sum = 0;
        for (Image const& in : inputs) sum += in(c, h, w);
        return held(sum, p.clamp);
    });
}

inline Image run(ps::ConcatParams const&, Images const& inputs, ps::OpWeights const&, ps::Shape output) {
    return build(output, [&](int c, int h, int w) {
        std::size_t input = 0;
        for (; c >= inputs[input].shape.c; ++input) c -= inputs[input].shape.c;
        return inputs[input](c, h, w);
    });
}

inline Image run(ps::FlattenParams const&, Images const& inputs, ps::OpWeights const&, ps::Shape output) {
    return build(output, [&](int c, int, int) { return inputs[0].data[static_cast<std::size_t>(c)]; });
}

inline Image run(ps::DropoutParams const&, Images const& inputs, ps::OpWeights const&, ps::Shape) { return inputs[0]; }

inline Image run(ps::PadParams const& p, Images const& inputs, ps::OpWeights const&, ps::Shape output) {
    Image const& in = inputs[0];
    return build(output, [&](int c, int h, int w) {
        const int y = h - p.padding.top, x = w - p.padding.left;
        const bool inside = y >= 0 && x >= 0 && y < in.shape.h && x < in.shape.w;
        return inside ? in(c, y, x) : static_cast<double>(p.value);
    });
}

inline Image run(ps::ChannelShuffleParams const& p, Images const& inputs, ps::OpWeights const&, ps::Shape output) {
    const int rest = output.c / p.groups;
    return build(output, [&](int c, int h, int w) { return inputs[0](c % p.groups * rest + c / p.groups, h, w); });
}

inline Image run(ps::SliceParams const& p, Images const& inputs, ps::OpWeights const&, ps::Shape output) {
    return build(output, [&](int c, int h, int w) { return inputs[0](p.first + c, h, w); });
}

}  // namespace reference
