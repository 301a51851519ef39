// The results of a graph: each layer in double precision from the definitions alone, folded layers one by one.
#pragma once

#include "../op/reference.hpp"

#include <primsel/network/graph.hpp>
#include <primsel/network/weights.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

namespace evaluate {

namespace ps = primsel;
using reference::Image;
using reference::Images;

inline Image conv(ps::ConvParams const& p, Image const& in, ps::Shape output, std::span<const float> kernel,
                  std::span<const float> bias, ps::KernelPart const& part = {}) {
    const ps::Extent whole = part == ps::KernelPart{} ? p.kernel : part.whole;
    const int group_c = in.shape.c / p.groups, group_k = p.k / p.groups;
    Image result(output);
    const std::ptrdiff_t pixels = static_cast<std::ptrdiff_t>(output.h) * output.w;
    for (int k = 0; k < output.c; ++k) {
        double* const plane = result.data.data() + k * pixels;
        std::fill_n(plane, pixels, bias.empty() ? 0.0 : bias[static_cast<std::size_t>(k)]);
        for (int c = 0; c < group_c; ++c) {
            for (int fh = 0; fh < p.kernel.h; ++fh) {
                for (int fw = 0; fw < p.kernel.w; ++fw) {
                    const int at = ((k * group_c + c) * whole.h + part.first.h + fh) * whole.w + part.first.w + fw;
                    const double weight = kernel[static_cast<std::size_t>(at)];
                    // The outputs whose tap lies within the row.
                    const int left = fw * p.dilation.w - p.padding.left, stride = p.stride.w;
                    const int first = left < 0 ? (-left + stride - 1) / stride : 0,
                              end = left < in.shape.w ? std::min(output.w, (in.shape.w - 1 - left) / stride + 1) : 0;
                    for (int oh = 0; oh < output.h && first < end; ++oh) {
                        const int h = oh * p.stride.h - p.padding.top + fh * p.dilation.h;
                        if (h < 0 || h >= in.shape.h) continue;
                        const std::ptrdiff_t row = (k / group_k * group_c + c) * in.shape.h + h;
                        const double* from = in.data.data() + row * in.shape.w + first * stride + left;
                        double *to = plane + oh * output.w + first, *const stop = plane + oh * output.w + end;
                        for (;;) {
                            *to += *from * weight;
                            if (++to == stop) break;
                            from += stride;
                        }
                    }
                }
            }
        }
    }
    return result;
}

inline Image affine(std::string const& name, const ps::BatchNormParams* batch_norm, ps::Weights const& weights,
                    Image image, ps::ScaleParams const& scale = {}, int repeat = 1) {
    if (scale.known) {
        return reference::build(image.shape, [&](int c, int h, int w) {
            return image(c, h, w) * static_cast<double>(scale.factor) + static_cast<double>(scale.shift);
        });
    }
    const auto weight = weights.at(name + ".weight").values, bias = weights.at(name + ".bias").values;
    return reference::build(image.shape, [&](int c, int h, int w) {
        const auto i = static_cast<std::size_t>(c / repeat);
        double x = image(c, h, w);
        if (batch_norm != nullptr) {
            const double variance = weights.at(name + ".running_var").values[i], epsilon = batch_norm->epsilon;
            x = (x - weights.at(name + ".running_mean").values[i]) / std::sqrt(variance + epsilon);
        }
        return x * weight[i] + bias[i];
    });
}

inline Image with_folded(ps::Epilogue const& epilogue, ps::Weights const& weights, Image result) {
    for (ps::Folded const& folded : epilogue.folded) {
        const auto* scale = std::get_if<ps::ScaleParams>(&folded.layer);
        result = affine(folded.name, std::get_if<ps::BatchNormParams>(&folded.layer), weights, result,
                        scale == nullptr ? ps::ScaleParams{} : *scale, folded.repeat);
    }
    return result;
}

/// One layer. Folded layers, the bounds of a summand, the residual and the clamp come in this order.
inline Image layer(ps::Node const& node, Images const& inputs, ps::Weights const& weights) {
    return std::visit(
        [&](auto const& params) {
            using Params = std::remove_cvref_t<decltype(params)>;
            if constexpr (std::is_same_v<Params, ps::ConvParams> || std::is_same_v<Params, ps::DenseParams> ||
                          std::is_same_v<Params, ps::DenseRowsParams>) {
                const std::span<const float> kernel = weights.at(node.name + ".weight").values;
                std::span<const float> bias;
                if (params.bias) bias = weights.at(node.name + ".bias").values;
                Image result(node.shape);
                if constexpr (std::is_same_v<Params, ps::ConvParams>) {
                    result = conv(params, inputs[0], node.shape, kernel, bias, node.epilogue.kernel);
                } else {
                    result = reference::run(params, inputs, {kernel, bias}, node.shape);
                }
                result = with_folded(node.epilogue, weights, result);
                for (std::size_t i = 0; i < result.data.size(); ++i) {
                    if (node.epilogue.summand.known()) {
                        result.data[i] = reference::held(result.data[i], ps::bounds_of(node.epilogue.summand));
                    }
                    if (node.epilogue.residual) result.data[i] += inputs[1].data[i];
                    result.data[i] = reference::held(result.data[i], node.epilogue.clamp);
                }
                return result;
            } else if constexpr (std::is_same_v<Params, ps::StandardizeParams>) {
                const auto channels = static_cast<std::size_t>(node.shape.c);
                const std::vector<float> ones(channels, 1.0F), zeros(channels, 0.0F);
                Image result = reference::run(params, inputs, {ones, zeros}, node.shape);
                result = with_folded(node.epilogue, weights, result);
                for (double& value : result.data) value = reference::held(value, node.epilogue.clamp);
                return result;
            } else if constexpr (std::is_same_v<Params, ps::AddParams>) {
                Image result = reference::run(params, inputs, {}, node.shape);
                for (double& value : result.data) value = reference::held(value, node.epilogue.clamp);
                return result;
            } else if constexpr (std::is_same_v<Params, ps::BatchNormParams>) {
                return affine(node.name, &params, weights, inputs[0]);
            } else if constexpr (std::is_same_v<Params, ps::ScaleParams>) {
                return affine(node.name, nullptr, weights, inputs[0], params);
            } else if constexpr (std::is_same_v<Params, ps::InputParams>) {
                return Image(node.shape);
            } else if constexpr (std::is_same_v<Params, ps::ConstantParams>) {
                const auto values = weights.at(params.parameter ? node.name : node.name + ".value").values;
                Image image(node.shape);
                image.data.assign(values.begin(), values.end());
                return image;
            } else if constexpr (std::is_same_v<Params, ps::ConvTransposeParams> ||
                                 std::is_same_v<Params, ps::RecurrentParams>) {
                std::span<const float> bias;
                if (params.bias) bias = weights.at(node.name + ".bias").values;
                return reference::run(params, inputs, {weights.at(node.name + ".weight").values, bias}, node.shape);
            } else {
                return reference::run(params, inputs, {}, node.shape);
            }
        },
        node.layer);
}

/// The result of the first output.
inline Image graph(ps::Graph const& graph, Image const& image, ps::Weights const& weights) {
    Images results;
    for (ps::Node const& node : graph.nodes()) {
        Images inputs;
        for (const std::size_t input : node.inputs) inputs.push_back(results[input]);
        const bool is_image = std::holds_alternative<ps::InputParams>(node.layer);
        results.push_back(is_image ? image : layer(node, inputs, weights));
    }
    return results[graph.outputs()[0]];
}

}  // namespace evaluate
