// The definition of every op: plain loops in double precision over chw images, written from the definitions alone.
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
        for (int i = 0; i < p.window.h; ++i) {
            for (int j = 0; j < p.window.w; ++j) {
                const int h = top + i * p.dilation.h, w = left + j * p.dilation.w;
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
            case ps::ActivationKind::elu:
                return x < 0 ? static_cast<double>(p.alpha) * (std::exp(x) - 1) : x;
            case ps::ActivationKind::hard_sigmoid:
                return std::min(std::max(static_cast<double>(p.alpha) * x + static_cast<double>(p.beta), 0.0), 1.0);
            case ps::ActivationKind::tanh:
                return std::tanh(x);
            case ps::ActivationKind::clip:
                return std::min(std::max(x, static_cast<double>(p.alpha)), static_cast<double>(p.beta));
            case ps::ActivationKind::sqrt:
                return std::sqrt(x);
            case ps::ActivationKind::exp:
                return std::exp(x);
            case ps::ActivationKind::log:
                return std::log(x);
            case ps::ActivationKind::abs:
                return std::abs(x);
            case ps::ActivationKind::sign:
                return x > 0 ? 1.0 : x < 0 ? -1.0 : 0.0;
            case ps::ActivationKind::floor:
                return std::floor(x);
            case ps::ActivationKind::ceil:
                return std::ceil(x);
            case ps::ActivationKind::round:
                return std::nearbyint(x);
            case ps::ActivationKind::truncate:
                return std::trunc(x);
            case ps::ActivationKind::erf:
                return std::erf(x);
            case ps::ActivationKind::softplus:
                return x > 40 ? x : std::log1p(std::exp(x));
            case ps::ActivationKind::silu:
                return x / (1 + std::exp(-x));
            case ps::ActivationKind::mish:
                return x * std::tanh(x > 40 ? x : std::log1p(std::exp(x)));
            case ps::ActivationKind::gelu:
                return x / 2 * std::erfc(-x / std::sqrt(2.0));
            case ps::ActivationKind::gelu_tanh:
                return x / 2 * (1 + std::tanh(std::sqrt(2 / 3.14159265358979323846) * (x + 0.044715 * x * x * x)));
            case ps::ActivationKind::softsign:
                return x / (1 + std::abs(x));
            case ps::ActivationKind::log_sigmoid:
                return std::min(x, 0.0) - std::log1p(std::exp(-std::abs(x)));
            case ps::ActivationKind::swish:
                return x / (1 + std::exp(-static_cast<double>(p.alpha) * x));
            case ps::ActivationKind::selu:
                return static_cast<double>(p.beta) * (x < 0 ? static_cast<double>(p.alpha) * (std::exp(x) - 1) : x);
            case ps::ActivationKind::celu:
                return x < 0 ? static_cast<double>(p.alpha) * (std::exp(x / static_cast<double>(p.alpha)) - 1) : x;
            case ps::ActivationKind::thresholded_relu:
                return x > static_cast<double>(p.alpha) ? x : 0.0;
            case ps::ActivationKind::shrink:
                if (x < -static_cast<double>(p.beta)) return x + static_cast<double>(p.alpha);
                return x > static_cast<double>(p.beta) ? x - static_cast<double>(p.alpha) : 0.0;
            case ps::ActivationKind::power:
                return std::pow(x, static_cast<double>(p.alpha));
            case ps::ActivationKind::sin:
                return std::sin(x);
            case ps::ActivationKind::cos:
                return std::cos(x);
            case ps::ActivationKind::tan:
                return std::tan(x);
            case ps::ActivationKind::asin:
                return std::asin(x);
            case ps::ActivationKind::acos:
                return std::acos(x);
            case ps::ActivationKind::atan:
                return std::atan(x);
            case ps::ActivationKind::sinh:
                return std::sinh(x);
            case ps::ActivationKind::cosh:
                return std::cosh(x);
            case ps::ActivationKind::asinh:
                return std::asinh(x);
            case ps::ActivationKind::acosh:
                return std::acosh(x);
            case ps::ActivationKind::atanh:
                return std::atanh(x);
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

inline Image run(ps::DenseParams const&, Images const& inputs, ps::OpWeights const& weights, ps::Shape output) {
    std::vector<double> const& x = inputs[0].data;
    return build(output, [&](int k, int, int) {
        const auto row = static_cast<std::size_t>(k);
        double sum = weights.bias.empty() ? 0.0 : weights.bias[row];
        const float* weight = weights.kernel.data() + row * x.size();
        const double* const end = x.data() + x.size();
        for (const double* value = x.data(); value != end; ++value, ++weight) sum += *value * *weight;
        return sum;
    });
}

inline Image run(ps::DenseRowsParams const&, Images const& inputs, ps::OpWeights const& weights, ps::Shape output) {
    Image const& x = inputs[0];
    return build(output, [&](int c, int h, int k) {
        const auto column = static_cast<std::size_t>(k), width = static_cast<std::size_t>(output.w);
        double sum = weights.bias.empty() ? 0.0 : weights.bias[column];
        for (int i = 0; i < x.shape.w; ++i) {
            sum += x(c, h, i) * weights.kernel[static_cast<std::size_t>(i) * width + column];
        }
        return sum;
    });
}

/// The coordinates with another place along the axis.
inline double along(Image const& image, ps::Axis axis, int place, int c, int h, int w) {
    return axis == ps::Axis::c ? image(place, h, w) : axis == ps::Axis::h ? image(c, place, w) : image(c, h, place);
}
inline int along(ps::Axis axis, int c, int h, int w) { return axis == ps::Axis::c ? c : axis == ps::Axis::h ? h : w; }

inline Image run(ps::SoftmaxParams const& p, Images const& inputs, ps::OpWeights const&, ps::Shape output) {
    Image const& in = inputs[0];
    return build(output, [&](int c, int h, int w) {
        double top = in(c, h, w), sum = 0;
        for (int i = 0; i < ps::extent(output, p.axis); ++i) top = std::max(top, along(in, p.axis, i, c, h, w));
        for (int i = 0; i < ps::extent(output, p.axis); ++i) sum += std::exp(along(in, p.axis, i, c, h, w) - top);
        return std::exp(in(c, h, w) - top) / sum;
    });
}

inline Image run(ps::StandardizeParams const& p, Images const& inputs, ps::OpWeights const& weights, ps::Shape output) {
    Image const& in = inputs[0];
    // The extents of a set.
    const int cs = p.along_c ? output.c / p.groups : 1, hs = p.along_h ? output.h : 1, ws = p.along_w ? output.w : 1;
    Image normal(output);
    for (int c = 0; c < output.c; c += cs) {
        for (int h = 0; h < output.h; h += hs) {
            for (int w = 0; w < output.w; w += ws) {
                const auto each = [&](auto const& f) {
                    for (int i = c; i < c + cs; ++i) {
                        for (int j = h; j < h + hs; ++j) {
                            for (int k = w; k < w + ws; ++k) f(in(i, j, k), normal(i, j, k));
                        }
                    }
                };
                const double count = 1.0 * cs * hs * ws;
                double sum = 0, squares = 0;
                each([&](double x, double) { sum += x; });
                const double mean = p.centres ? sum / count : 0;
                each([&](double x, double) { squares += (x - mean) * (x - mean); });
                const double deviation = std::sqrt(squares / count + static_cast<double>(p.epsilon));
                each([&](double x, double& y) { y = (x - mean) / deviation; });
            }
        }
    }
    return build(output, [&](int c, int h, int w) {
        const double x = normal(c, h, w);
        const auto channel = static_cast<std::size_t>(c);
        if (!p.scales && !p.shifts)
            return x * static_cast<double>(weights.kernel[channel]) + static_cast<double>(weights.bias[channel]);
        const auto at_place = [&](std::size_t input) {
            return inputs[input](p.along_c ? c : 0, p.along_h ? h : 0, p.along_w ? w : 0);
        };
        return x * (p.scales ? at_place(1) : 1.0) + (p.shifts ? at_place(p.scales ? 2 : 1) : 0.0);
    });
}

inline Image run(ps::ReduceParams const& p, Images const& inputs, ps::OpWeights const&, ps::Shape output) {
    Image const& in = inputs[0];
    const int count = ps::extent(in.shape, p.axis);
    return build(output, [&](int c, int h, int w) {
        double sum = 0, largest = -std::numeric_limits<double>::infinity();
        for (int i = 0; i < count; ++i) {
            sum += along(in, p.axis, i, c, h, w);
            largest = std::max(largest, along(in, p.axis, i, c, h, w));
        }
        if (p.kind == ps::ReduceKind::arg_max) {
            for (int i = 0; i < count; ++i) {
                if (along(in, p.axis, i, c, h, w) == largest) return static_cast<double>(i);
            }
            return 0.0;  // nothing but NaN
        }
        return p.kind == ps::ReduceKind::max ? largest : p.kind == ps::ReduceKind::sum ? sum : sum / count;
    });
}

inline Image run(ps::AddParams const&, Images const& inputs, ps::OpWeights const&, ps::Shape output) {
    return build(output, [&](int c, int h, int w) {
        double sum = 0;
        for (Image const& in : inputs) sum += in(c, h, w);
        return sum;
    });
}

inline Image run(ps::ConcatParams const& p, Images const& inputs, ps::OpWeights const&, ps::Shape output) {
    return build(output, [&](int c, int h, int w) {
        int place = along(p.axis, c, h, w);
        std::size_t input = 0;
        for (; place >= ps::extent(inputs[input].shape, p.axis); ++input) {
            place -= ps::extent(inputs[input].shape, p.axis);
        }
        return along(inputs[input], p.axis, place, c, h, w);
    });
}

inline Image run(ps::BinaryParams const& p, Images const& inputs, ps::OpWeights const&, ps::Shape output) {
    const auto at = [](Image const& image, int c, int h, int w) {
        return image(image.shape.c == 1 ? 0 : c, image.shape.h == 1 ? 0 : h, image.shape.w == 1 ? 0 : w);
    };
    return build(output, [&](int c, int h, int w) {
        const double a = at(inputs[0], c, h, w), b = at(inputs[1], c, h, w);
        switch (p.kind) {
            case ps::BinaryKind::add:
                return a + b;
            case ps::BinaryKind::subtract:
                return a - b;
            case ps::BinaryKind::multiply:
                return a * b;
            case ps::BinaryKind::divide:
                return a / b;
            case ps::BinaryKind::prelu:
                return a < 0 ? a * b : a;
            case ps::BinaryKind::power:
                return std::pow(a, b);
            case ps::BinaryKind::minimum:
                return std::min(a, b);
            case ps::BinaryKind::maximum:
                return std::max(a, b);
            case ps::BinaryKind::modulo: {
                const double rest = std::fmod(a, b);
                return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
            }
            case ps::BinaryKind::remainder:
                return std::fmod(a, b);
            case ps::BinaryKind::equal:
                return a == b ? 1.0 : 0.0;
            case ps::BinaryKind::greater:
                return a > b ? 1.0 : 0.0;
            case ps::BinaryKind::greater_or_equal:
                return a >= b ? 1.0 : 0.0;
            case ps::BinaryKind::keep:
                return a != 0 ? b : 0.0;
        }
        return 0.0;
    });
}

inline Image run(ps::MatMulParams const&, Images const& inputs, ps::OpWeights const&, ps::Shape output) {
    Image const &a = inputs[0], &b = inputs[1];
    return build(output, [&](int c, int h, int w) {
        const std::ptrdiff_t depth = a.shape.w, width = b.shape.w;
        const double *row = a.data.data() + ((a.shape.c == 1 ? 0 : c) * a.shape.h + h) * depth,
                     *column = b.data.data() + (b.shape.c == 1 ? 0 : c) * depth * width + w;
        double sum = 0;
        for (std::ptrdiff_t i = 0; i < depth; ++i) sum += row[i] * column[i * width];
        return sum;
    });
}

inline Image run(ps::FlattenParams const&, Images const& inputs, ps::OpWeights const&, ps::Shape output) {
    return build(output, [&](int c, int, int) { return inputs[0].data[static_cast<std::size_t>(c)]; });
}

inline Image run(ps::DropoutParams const&, Images const& inputs, ps::OpWeights const&, ps::Shape) { return inputs[0]; }

inline Image run(ps::ReshapeParams const&, Images const& inputs, ps::OpWeights const&, ps::Shape output) {
    Image image(output);
    image.data = inputs[0].data;
    return image;
}

inline Image run(ps::AsStridedParams const& p, Images const& inputs, ps::OpWeights const&, ps::Shape output) {
    Image image(output);
    for (std::size_t i = 0; i < image.data.size(); ++i) {
        std::ptrdiff_t from = p.offset;
        for (std::size_t axis = p.dims.rank(), rest = i; axis-- > 0;) {
            from += p.strides[axis] * static_cast<std::ptrdiff_t>(rest % static_cast<std::size_t>(p.dims[axis]));
            rest /= static_cast<std::size_t>(p.dims[axis]);
        }
        image.data[i] = inputs[0].data[static_cast<std::size_t>(from)];
    }
    return image;
}

inline Image run(ps::PadParams const& p, Images const& inputs, ps::OpWeights const&, ps::Shape output) {
    Image const& in = inputs[0];
    const auto inside = [&](int at, int count) {
        if (p.mode == ps::PadMode::edge) return std::min(std::max(at, 0), count - 1);
        return count - 1 - std::abs(count - 1 - std::abs(at));
    };
    return build(output, [&](int c, int h, int w) {
        const int z = c - p.front, y = h - p.padding.top, x = w - p.padding.left;
        if (p.mode != ps::PadMode::constant) return in(z, inside(y, in.shape.h), inside(x, in.shape.w));
        const bool image = z >= 0 && y >= 0 && x >= 0 && z < in.shape.c && y < in.shape.h && x < in.shape.w;
        return image ? in(z, y, x) : static_cast<double>(p.value);
    });
}

inline Image run(ps::ChannelShuffleParams const& p, Images const& inputs, ps::OpWeights const&, ps::Shape output) {
    const int rest = output.c / p.groups;
    return build(output, [&](int c, int h, int w) { return inputs[0](c % p.groups * rest + c / p.groups, h, w); });
}

inline Image run(ps::SliceParams const& p, Images const& inputs, ps::OpWeights const&, ps::Shape output) {
    return build(output, [&](int c, int h, int w) {
        return along(inputs[0], p.axis, p.first + along(p.axis, c, h, w), c, h, w);
    });
}

inline Image run(ps::TopKParams const& p, Images const& inputs, ps::OpWeights const&, ps::Shape output) {
    std::vector<int> order(static_cast<std::size_t>(inputs[0].shape.w));
    const auto sort_row = [&](int c, int h) {
        for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int>(i);
        std::ranges::stable_sort(order, [&](int i, int j) {
            const double a = inputs[0](c, h, i), b = inputs[0](c, h, j);
            if (std::isnan(a) || std::isnan(b)) return !std::isnan(a) && std::isnan(b);
            return p.largest ? a > b : a < b;
        });
    };
    return build(output, [&](int c, int h, int w) {
        if (w == 0) sort_row(c, h);
        const int at = order[static_cast<std::size_t>(w)];
        return p.positions ? static_cast<double>(at) : inputs[0](c, h, at);
    });
}

/// The boxes of a class by their scores, those that overlap a better one left out.
inline Image run(ps::NonMaxSuppressionParams const& p, Images const& inputs, ps::OpWeights const&, ps::Shape output) {
    struct Box {
        double top, left, bottom, right;
    };
    Image const &boxes = inputs[0], &scores = inputs[1];
    const auto box = [&](int image, int i) {
        const double a = boxes(image, i, 0), b = boxes(image, i, 1), c = boxes(image, i, 2), d = boxes(image, i, 3);
        return p.centers ? Box{b - d / 2, a - c / 2, b + d / 2, a + c / 2}
                         : Box{std::min(a, c), std::min(b, d), std::max(a, c), std::max(b, d)};
    };
    const auto common = [](Box const& a, Box const& b) {
        return std::max(0.0, std::min(a.bottom, b.bottom) - std::max(a.top, b.top)) *
               std::max(0.0, std::min(a.right, b.right) - std::max(a.left, b.left));
    };
    const auto overlap = [&](Box const& a, Box const& b) {
        const double both = common(a, b), all = common(a, a) + common(b, b) - both;
        return both > 0 && both / all > static_cast<double>(p.iou_threshold);
    };
    Image result(output);
    std::ranges::fill(result.data, -1.0);
    auto row = result.data.begin();
    for (int image = 0; image < scores.shape.c; ++image) {
        for (int kind = 0; kind < scores.shape.h; ++kind) {
            std::vector<int> order, stays;
            for (int i = 0; i < scores.shape.w; ++i) {
                if (scores(image, kind, i) > static_cast<double>(p.score_threshold)) order.push_back(i);
            }
            std::ranges::stable_sort(order,
                                     [&](int i, int j) { return scores(image, kind, i) > scores(image, kind, j); });
            for (const int i : order) {
                const auto hides = [&](int j) { return overlap(box(image, i), box(image, j)); };
                if (static_cast<int>(stays.size()) == p.boxes_per_class || std::ranges::any_of(stays, hides)) continue;
                stays.push_back(i);
                for (const int x : {image, kind, i}) *row++ = x;
            }
        }
    }
    return result;
}

inline Image run(ps::GatherParams const& p, Images const& inputs, ps::OpWeights const&, ps::Shape output) {
    return build(output, [&](int c, int h, int w) {
        double at = std::trunc(p.elements ? inputs[1](c, h, w) : inputs[1].data[static_cast<std::size_t>(h)]);
        if (p.from_end && at < 0) at += inputs[0].shape.h;
        return at >= 0 && at < inputs[0].shape.h ? inputs[0](c, static_cast<int>(at), w) : 0.0;
    });
}

inline Image run(ps::ScatterParams const& p, Images const& inputs, ps::OpWeights const&, ps::Shape output) {
    return build(output, [&](int c, int h, int w) {
        double x = inputs[0](c, h, w);
        for (int i = 0; i < inputs[2].shape.c; ++i) {
            if (std::trunc(inputs[1].data[static_cast<std::size_t>(i)]) != c) continue;
            const double y = inputs[2](i, h, w);
            const bool is_nan = std::isnan(x) || std::isnan(y);
            switch (p.kind) {
                case ps::ScatterKind::replace:
                    x = y;
                    break;
                case ps::ScatterKind::add:
                    x += y;
                    break;
                case ps::ScatterKind::multiply:
                    x *= y;
                    break;
                case ps::ScatterKind::maximum:
                    x = is_nan ? x + y : std::max(x, y);
                    break;
                case ps::ScatterKind::minimum:
                    x = is_nan ? x + y : std::min(x, y);
                    break;
            }
        }
        return x;
    });
}

/// The offset in this image.
inline Image run(ps::MaxPoolIndicesParams const& p, Images const& inputs, ps::OpWeights const&, ps::Shape output) {
    Image const& in = inputs[0];
    return build(output, [&](int c, int oh, int ow) {
        double largest = -std::numeric_limits<double>::infinity(), index = -1;
        for (int h = 0; h < in.shape.h; ++h) {
            for (int w = 0; w < in.shape.w; ++w) {
                const int y = h - oh * p.pool.stride.h + p.pool.padding.top,
                          x = w - ow * p.pool.stride.w + p.pool.padding.left;
                const bool tap = y >= 0 && x >= 0 && y % p.pool.dilation.h == 0 && x % p.pool.dilation.w == 0 &&
                                 y / p.pool.dilation.h < p.pool.window.h && x / p.pool.dilation.w < p.pool.window.w;
                if (tap && in(c, h, w) > largest) {
                    largest = in(c, h, w);
                    index = (c * in.shape.h + h) * in.shape.w + w;
                }
            }
        }
        return index;
    });
}

/// ONNX's Resize, of one axis: where x lies, as a fraction numerator / denominator of whole numbers.
struct Place {
    long long numerator, denominator;
    [[nodiscard]] double value() const { return static_cast<double>(numerator) / static_cast<double>(denominator); }
};
inline Place place(ps::ResizeParams const& p, long long x, long long in, long long out) {
    switch (p.coordinates) {
        case ps::ResizeCoordinates::half_pixel:
            return {(2 * x + 1) * in - out, 2 * out};
        case ps::ResizeCoordinates::pytorch_half_pixel:
            return out > 1 ? Place{(2 * x + 1) * in - out, 2 * out} : Place{0, 1};
        case ps::ResizeCoordinates::align_corners:
            return out > 1 ? Place{x * (in - 1), out - 1} : Place{0, 1};
        case ps::ResizeCoordinates::asymmetric:
            return {x * in, out};
        case ps::ResizeCoordinates::half_pixel_symmetric:
            return {(2 * x + 1) * in - out, 2 * out};
        case ps::ResizeCoordinates::affine:
            break;
    }
    return {0, 1};
}
inline int nearest(ps::ResizeParams const& p, Place at, int in) {
    const auto floor = [](long long a, long long b) { return a >= 0 ? a / b : -((-a + b - 1) / b); };
    const long long below = floor(at.numerator, at.denominator),
                    twice_rest = 2 * (at.numerator - below * at.denominator);
    bool up = false;
    switch (p.rounding) {
        case ps::ResizeRounding::round_prefer_floor:
            up = twice_rest > at.denominator;
            break;
        case ps::ResizeRounding::round_prefer_ceil:
            up = twice_rest >= at.denominator;
            break;
        case ps::ResizeRounding::floor:
            break;
        case ps::ResizeRounding::ceil:
            up = twice_rest > 0;
            break;
    }
    return static_cast<int>(std::min(std::max(below + up, 0LL), in - 1LL));
}
/// ONNX's linear: between the pixels on either side, and the first or last pixel beyond them.
template <class F>
double between(Place at, int in, F const& pixel) {
    const double held = std::min(std::max(at.value(), 0.0), in - 1.0), below = std::floor(held);
    const int first = static_cast<int>(below);
    return held == below ? pixel(first) : (1 - (held - below)) * pixel(first) + (held - below) * pixel(first + 1);
}
/// ONNX's cubic and antialiased linear and cubic: the sum over all pixels, near or far, by their distance from `at`,
/// which is divided by the extent of the kernel; beyond the ends the first or last pixel, or none.
template <class F>
double weighted(ps::ResizeParams const& p, double at, double wide, int in, F const& pixel) {
    const double a = p.cubic_coefficient, most = 2 * wide + 1;
    double sum = 0, weights = 0;
    for (double i = std::floor(at - most); i <= at + most; ++i) {
        const double x = std::abs(at - i) / wide;
        const double cubic = x <= 1  ? (a + 2) * x * x * x - (a + 3) * x * x + 1
                             : x < 2 ? a * x * x * x - 5 * a * x * x + 8 * a * x - 4 * a
                                     : 0;
        const double weight = p.mode == ps::ResizeMode::cubic ? cubic : std::max(0.0, 1 - x);
        const double held = std::min(std::max(i, 0.0), in - 1.0);
        if (weight == 0 || (p.exclude_outside && held != i)) continue;
        sum += weight * pixel(static_cast<int>(held)), weights += weight;
    }
    return sum / weights;
}
/// Places of given factors and in affine coordinates are rounded to 2^-30 pixels.
inline Image run(ps::ResizeParams const& p, Images const& inputs, ps::OpWeights const&, ps::Shape output) {
    Image const& in = inputs[0];
    struct Side {
        int in, out;
        double offset, scale;
    };
    const Side down{in.shape.h, output.h, p.offset_h, p.scale_h}, across{in.shape.w, output.w, p.offset_w, p.scale_w};
    const auto is_given = [&](Side const& side) {
        return p.coordinates == ps::ResizeCoordinates::affine ||
               (side.scale > 0 && p.coordinates != ps::ResizeCoordinates::align_corners);
    };
    const auto at = [&](Side const& side, int x) {
        if (!is_given(side)) return place(p, x, side.in, side.out);
        constexpr long long parts = 1 << 30;
        double offset = side.offset;
        if (p.coordinates == ps::ResizeCoordinates::asymmetric) offset = 0;
        if (p.coordinates == ps::ResizeCoordinates::half_pixel_symmetric) {
            const double middle = side.in / 2.0, unrounded = side.in / side.scale;
            offset = middle * (1 - side.out / unrounded) + side.scale / 2 - 0.5;
        }
        if (p.coordinates == ps::ResizeCoordinates::half_pixel) offset = side.scale / 2 - 0.5;
        if (p.coordinates == ps::ResizeCoordinates::pytorch_half_pixel)
            offset = side.out == 1 ? 0 : side.scale / 2 - 0.5;
        return Place{std::llround((offset + side.scale * x) * parts), parts};
    };
    const auto wide = [&](Side const& side) {
        const bool scaled = is_given(side) && p.coordinates != ps::ResizeCoordinates::affine;
        return p.antialias ? std::max(1.0, scaled ? side.scale : 1.0 * side.in / side.out) : 1.0;
    };
    const double tall = wide(down), broad = wide(across);
    return build(output, [&](int c, int oh, int ow) {
        const Place y = at(down, oh), x = at(across, ow);
        if (p.mode == ps::ResizeMode::nearest) return in(c, nearest(p, y, in.shape.h), nearest(p, x, in.shape.w));
        if (p.mode == ps::ResizeMode::cubic || p.antialias) {
            return weighted(p, y.value(), tall, in.shape.h, [&](int h) {
                return weighted(p, x.value(), broad, in.shape.w, [&](int w) { return in(c, h, w); });
            });
        }
        return between(y, in.shape.h,
                       [&](int h) { return between(x, in.shape.w, [&](int w) { return in(c, h, w); }); });
    });
}

/// ONNX's GridSample: a weighted sum over the pixels around a place, of which each outside is mapped inside or lost.
inline Image run(ps::GridSampleParams const& p, Images const& inputs, ps::OpWeights const&, ps::Shape output) {
    Image const &in = inputs[0], &grid = inputs[1];
    const int depth = std::max(p.depth, 1), height = in.shape.h / depth;
    const auto place = [&](double at, int size) {
        if (p.pixels) return at;
        return p.align_corners ? (at + 1) / 2 * (size - 1) : ((at + 1) * size - 1) / 2;
    };
    const auto weight = [&](double at, int pixel) {
        const double x = std::abs(at - pixel), a = -0.75;
        if (p.mode == ps::ResizeMode::nearest) return std::nearbyint(at) == pixel ? 1.0 : 0.0;
        if (p.mode == ps::ResizeMode::linear) return std::max(0.0, 1 - x);
        return x <= 1  ? (a + 2) * x * x * x - (a + 3) * x * x + 1
               : x < 2 ? a * x * x * x - 5 * a * x * x + 8 * a * x - 4 * a
                       : 0;
    };
    // -1: nowhere.
    const auto inside = [&](int pixel, int size) {
        if (p.padding == ps::SamplePadding::border) return std::clamp(pixel, 0, size - 1);
        while (p.padding == ps::SamplePadding::reflection && (pixel < 0 || pixel >= size)) {
            if (p.align_corners && size == 1) return 0;
            const int mirror = p.align_corners ? 0 : 1;
            pixel = pixel < 0 ? -pixel - mirror : 2 * (size - 1) + mirror - pixel;
        }
        return pixel >= 0 && pixel < size ? pixel : -1;
    };
    const auto each = [&](double at, int size, auto const& use) {
        for (int pixel = static_cast<int>(std::floor(at)) - 2; pixel <= at + 2; ++pixel) {
            const int held = inside(pixel, size);
            if (weight(at, pixel) != 0 && held >= 0) use(held, weight(at, pixel));
        }
    };
    return build(output, [&](int c, int h, int w) {
        const int row = c / (in.shape.c / p.groups) * output.h + h;
        double sum = 0;
        each(p.depth > 0 ? place(grid(row, w, 2), depth) : 0.0, depth, [&](int z, double by_z) {
            each(place(grid(row, w, 1), height), height, [&](int y, double by_y) {
                each(place(grid(row, w, 0), in.shape.w), in.shape.w,
                     [&](int x, double by_x) { sum += by_z * by_y * by_x * in(c, z * height + y, x); });
            });
        });
        return sum;
    });
}

/// ONNX's RoiAlign, sample by sample.
inline Image run(ps::RoiAlignParams const& p, Images const& inputs, ps::OpWeights const&, ps::Shape output) {
    Image const &in = inputs[0], &boxes = inputs[1], &images = inputs[2];
    const int channels = in.shape.c / p.images;
    return build(output, [&](int c, int h, int w) {
        const int box = c / channels;
        const double shift = p.half_pixel ? 0.5 : 0.0, image = images.data[static_cast<std::size_t>(box)];
        if (image < 0 || image >= p.images) return 0.0;
        const int plane = static_cast<int>(image) * channels + c % channels;
        const auto side = [&](int low, int bins) {
            const double start = boxes(0, box, low) * static_cast<double>(p.scale) - shift,
                         size = boxes(0, box, low + 2) * static_cast<double>(p.scale) - shift - start;
            return std::pair(start, (p.half_pixel ? size : std::max(size, 1.0)) / bins);
        };
        const auto [left, wide] = side(0, output.w);
        const auto [top, tall] = side(1, output.h);
        const auto samples = [&](double bin) {
            return p.samples > 0 ? p.samples : std::max(static_cast<int>(std::ceil(bin)), 0);
        };
        double sum = 0, most = 0;
        bool any = false;
        for (int i = 0; i < samples(tall); ++i) {
            for (int j = 0; j < samples(wide); ++j) {
                const double y = top + (h + (i + 0.5) / samples(tall)) * tall,
                             x = left + (w + (j + 0.5) / samples(wide)) * wide;
                const bool outside = y < -1 || y > in.shape.h || x < -1 || x > in.shape.w;
                const double row = std::clamp(y, 0.0, in.shape.h - 1.0), column = std::clamp(x, 0.0, in.shape.w - 1.0);
                for (int part = 0; part < 4; ++part) {
                    const double by = part / 2 == 0 ? 1 - (row - std::floor(row)) : row - std::floor(row),
                                 bx = part % 2 == 0 ? 1 - (column - std::floor(column)) : column - std::floor(column);
                    const double value = outside
                                             ? 0
                                             : by * bx *
                                                   in(plane, std::min(static_cast<int>(row) + part / 2, in.shape.h - 1),
                                                      std::min(static_cast<int>(column) + part % 2, in.shape.w - 1));
                    sum += value;
                    most = any ? std::max(most, value) : value;
                    any = true;
                }
            }
        }
        return p.kind == ps::PoolKind::max ? most : sum / std::max(samples(tall) * samples(wide), 1);
    });
}

/// Every input adds to the outputs that its kernel reaches.
inline Image run(ps::ConvTransposeParams const& p, Images const& inputs, ps::OpWeights const& weights,
                 ps::Shape output) {
    Image const& in = inputs[0];
    Image result = build(output, [&](int k, int, int) {
        return weights.bias.empty() ? 0.0 : static_cast<double>(weights.bias[static_cast<std::size_t>(k)]);
    });
    const int of_group = p.k / p.groups, c_of_group = in.shape.c / p.groups;
    std::size_t weight = 0;
    for (int c = 0; c < in.shape.c; ++c) {
        for (int k = c / c_of_group * of_group; k < (c / c_of_group + 1) * of_group; ++k) {
            for (int i = 0; i < p.kernel.h; ++i) {
                for (int j = 0; j < p.kernel.w; ++j, ++weight) {
                    for (int h = 0; h < in.shape.h; ++h) {
                        for (int w = 0; w < in.shape.w; ++w) {
                            const int y = h * p.stride.h + i * p.dilation.h - p.padding.top,
                                      x = w * p.stride.w + j * p.dilation.w - p.padding.left;
                            if (y < 0 || x < 0 || y >= output.h || x >= output.w) continue;
                            result(k, y, x) += in(c, h, w) * weights.kernel[weight];
                        }
                    }
                }
            }
        }
    }
    return result;
}

inline double gate(ps::GateFunction function, double alpha, double beta, double x) {
    switch (function) {
        case ps::GateFunction::sigmoid:
            return 1 / (1 + std::exp(-x));
        case ps::GateFunction::tanh:
            return std::tanh(x);
        case ps::GateFunction::relu:
            return x < 0 ? 0 : x;
        case ps::GateFunction::affine:
            return alpha * x + beta;
        case ps::GateFunction::leaky_relu:
            return x < 0 ? alpha * x : x;
        case ps::GateFunction::thresholded_relu:
            return x < alpha ? 0 : x;
        case ps::GateFunction::scaled_tanh:
            return alpha * std::tanh(beta * x);
        case ps::GateFunction::hard_sigmoid:
            return held(alpha * x + beta, {0, 1});
        case ps::GateFunction::elu:
            return x < 0 ? alpha * std::expm1(x) : x;
        case ps::GateFunction::softsign:
            return x / (1 + std::abs(x));
        default:
            return std::log1p(std::exp(-std::abs(x))) + (x < 0 ? 0 : x);
    }
}
/// ONNX's equations, gate by gate.
inline Image run(ps::RecurrentParams const& p, Images const& inputs, ps::OpWeights const& weights, ps::Shape output) {
    Image const& x = inputs[0];
    const int size = p.hidden(x.shape);
    const auto n = static_cast<std::size_t>(size);
    std::size_t at = 1;
    const auto next = [&](bool is_there) { return is_there ? &inputs[at++] : nullptr; };
    const Image *const start = next(p.starts_h), *const start_cell = next(p.starts_cell),
                       *const lengths = next(p.has_lengths), *const peepholes = next(p.has_peepholes);
    std::vector<double> kernel(weights.kernel.begin(), weights.kernel.end()),
        bias(weights.bias.begin(), weights.bias.end());
    if (p.reads_weights) kernel = next(true)->data, bias = p.bias ? next(true)->data : std::vector<double>();
    Image result(output);
    for (int s = 0; s < x.shape.h; ++s) {
        std::vector<double> h(n, 0.0), cell(n, 0.0);
        for (std::size_t i = 0; i < n; ++i) {
            if (start != nullptr) h[i] = start->data[static_cast<std::size_t>(s) * n + i];
            if (start_cell != nullptr) cell[i] = start_cell->data[static_cast<std::size_t>(s) * n + i];
        }
        const int steps = lengths == nullptr
                              ? x.shape.c
                              : std::clamp(static_cast<int>(lengths->data[static_cast<std::size_t>(s)]), 0, x.shape.c);
        for (int step = 0; step < steps; ++step) {
            const int time = p.reverse ? steps - 1 - step : step;
            const auto of_x = [&](int g, std::size_t i) { return x(time, s, g * size + static_cast<int>(i)); };
            const auto of_h = [&](int g, std::size_t i, std::vector<double> const& state) {
                const std::size_t row = static_cast<std::size_t>(g) * n + i;
                double sum = bias.empty() ? 0.0 : bias[row];
                for (std::size_t j = 0; j < n; ++j) sum += kernel[row * n + j] * state[j];
                return sum;
            };
            const auto peep = [&](int g, std::size_t i, double of) {
                return peepholes == nullptr ? 0.0 : peepholes->data[static_cast<std::size_t>(g) * n + i] * of;
            };
            const auto clipped = [&](double value) { return held(value, {-p.clip, p.clip}); };
            const auto f = [&](double value) {
                return gate(p.f, static_cast<double>(p.alpha[0]), static_cast<double>(p.beta[0]), clipped(value));
            };
            const auto g = [&](double value) {
                return gate(p.g, static_cast<double>(p.alpha[1]), static_cast<double>(p.beta[1]), clipped(value));
            };
            std::vector<double> new_h(n), reset(n);
            for (std::size_t i = 0; i < n; ++i) {
                if (p.kind == ps::RecurrentKind::rnn) {
                    new_h[i] = f(of_x(0, i) + of_h(0, i, h));
                } else if (p.kind == ps::RecurrentKind::lstm) {
                    const double in = f(of_x(0, i) + of_h(0, i, h) + peep(0, i, cell[i])),
                                 kept = p.couples_gates ? 1 - in : f(of_x(2, i) + of_h(2, i, h) + peep(2, i, cell[i]));
                    cell[i] = kept * cell[i] + in * g(of_x(3, i) + of_h(3, i, h));
                    new_h[i] = f(of_x(1, i) + of_h(1, i, h) + peep(1, i, cell[i])) *
                               gate(p.h, static_cast<double>(p.alpha[2]), static_cast<double>(p.beta[2]), cell[i]);
                } else {
                    reset[i] = f(of_x(1, i) + of_h(1, i, h));
                }
            }
            if (p.kind == ps::RecurrentKind::gru) {
                std::vector<double> kept(n);
                for (std::size_t i = 0; i < n; ++i) kept[i] = reset[i] * h[i];
                for (std::size_t i = 0; i < n; ++i) {
                    const double z = f(of_x(0, i) + of_h(0, i, h)),
                                 of = p.resets_product ? reset[i] * of_h(2, i, h) : of_h(2, i, kept);
                    new_h[i] = (1 - z) * g(of_x(2, i) + of) + z * h[i];
                }
            }
            h = new_h;
            for (int i = 0; i < size && p.gives_all; ++i) result(time, s, i) = h[static_cast<std::size_t>(i)];
        }
        int channel = p.gives_all ? x.shape.c : 0;
        const auto last = [&](bool is_wanted, std::vector<double> const& state) {
            if (!is_wanted) return;
            for (int i = 0; i < size; ++i)
                result(channel, s, i) = steps == 0 ? 0.0 : state[static_cast<std::size_t>(i)];
            ++channel;
        };
        last(p.gives_last, h), last(p.gives_cell, cell);
    }
    return result;
}

/// Layers of a training step have references of their own (gradient_laws.hpp), some of a whole batch: none here. Nor
/// has a user's own layer.
template <class Params>
    requires(ps::trains<Params> || std::same_as<Params, ps::OwnLayerParams>)
Image run(Params const&, Images const&, ps::OpWeights const&, ps::Shape output) {
    return build(output, [](int, int, int) { return std::numeric_limits<double>::quiet_NaN(); });
}

}  // namespace reference
