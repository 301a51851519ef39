// The results of layers whose inputs are all known when a model is loaded.
#pragma once

#include <primsel/onnx/detail/activation.hpp>
#include <primsel/onnx/detail/reduce.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::onnx {

namespace detail {

/// The activation of one number; NaN stays NaN.
[[nodiscard]] inline double activated(ActivationParams const& params, double x) {
    const double alpha = static_cast<double>(params.alpha), beta = static_cast<double>(params.beta);
    const auto sigmoid = [](double z) { return 1 / (1 + std::exp(-z)); };
    switch (params.kind) {
        case ActivationKind::relu:
            return std::max(x, 0.0);
        case ActivationKind::relu6:
            return std::min(std::max(x, 0.0), 6.0);
        case ActivationKind::leaky_relu:
            return x < 0 ? alpha * x : x;
        case ActivationKind::sigmoid:
            return sigmoid(x);
        case ActivationKind::hard_swish:
            return x * std::min(std::max(x + 3, 0.0), 6.0) / 6;
        case ActivationKind::elu:
            return x < 0 ? alpha * std::expm1(x) : x;
        case ActivationKind::hard_sigmoid:
            return std::min(std::max(alpha * x + beta, 0.0), 1.0);
        case ActivationKind::tanh:
            return std::tanh(x);
        case ActivationKind::clip:
            return std::min(std::max(x, alpha), beta);
        case ActivationKind::truncate:
            return std::trunc(x);
        case ActivationKind::power:
            return std::pow(x, alpha);
        case ActivationKind::silu:
            return x * sigmoid(x);
        case ActivationKind::mish:
            return x * std::tanh(std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))));
        case ActivationKind::gelu:
            return x / 2 * std::erfc(-x / std::sqrt(2.0));
        case ActivationKind::gelu_tanh:
            return x / 2 * (1 + std::tanh(std::sqrt(2 / 3.14159265358979323846) * (x + 0.044715 * x * x * x)));
        case ActivationKind::softsign:
            return x / (1 + std::abs(x));
        case ActivationKind::log_sigmoid:
            return std::min(x, 0.0) - std::log1p(std::exp(-std::abs(x)));
        case ActivationKind::swish:
            return x * sigmoid(alpha * x);
        case ActivationKind::selu:
            return beta * (x < 0 ? alpha * std::expm1(x) : x);
        case ActivationKind::celu:
            return x < 0 ? alpha * std::expm1(x / alpha) : x;
        case ActivationKind::thresholded_relu:
            return x > alpha ? x : 0.0;
        case ActivationKind::shrink:
            return x < -beta ? x + alpha : x > beta ? x - alpha : 0.0;
        default:
            break;
    }
    // All others are functions that ONNX has by name.
    static_assert(activation_kinds == 43);
    for (Function const& function : functions) {
        if (function.kind == params.kind) return static_cast<double>(function.of(static_cast<float>(x)));
    }
    return std::nan("");
}

/// Products of matrices of c x m x depth and c x depth x n, of which one may be the same for all c. Nothing if they
/// would take long.
[[nodiscard]] inline std::optional<OnnxTensor> fold_product(Builder& build, OnnxTensor const& a, OnnxTensor const& b) {
    constexpr std::int64_t most = std::int64_t{1} << 27;
    const std::int64_t c = std::max(a.dims[0], b.dims[0]), m = a.dims[1], depth = a.dims[2], n = b.dims[2];
    if (static_cast<double>(c * m) * static_cast<double>(depth) * static_cast<double>(n) > static_cast<double>(most))
        return std::nullopt;
    std::vector<float> result = build.constants.make<float>(static_cast<std::size_t>(c * m * n));
    std::vector<double> row(static_cast<std::size_t>(n));
    for (std::int64_t i = 0; i < c * m; ++i) {
        const std::int64_t from_a = a.dims[0] == 1 ? i % m : i, from_b = b.dims[0] == 1 ? 0 : i / m;
        std::ranges::fill(row, 0.0);
        for (std::int64_t d = 0; d < depth; ++d) {
            const auto x = static_cast<double>(a.floats[static_cast<std::size_t>(from_a * depth + d)]);
            const auto at = static_cast<std::size_t>((from_b * depth + d) * n);
            for (std::size_t j = 0; j < row.size(); ++j) row[j] += x * static_cast<double>(b.floats[at + j]);
        }
        for (std::size_t j = 0; j < row.size(); ++j)
            result[static_cast<std::size_t>(i) * row.size() + j] = to_float(row[j]);
    }
    return own_elements<float>({c, m, n}, OnnxType::float32, std::move(result));
}

/// The result of a layer, of which the results of those before it are known, as c x h x w. Nothing for layers that are
/// not computed at loading.
[[nodiscard]] inline std::optional<OnnxTensor> fold_layer(Builder& build, std::size_t position,
                                                          std::span<const OnnxTensor> known) {
    Node const& node = build.graph()[position];
    AnyLayer const& layer = node.layer;
    const auto in = [&](std::size_t i) -> OnnxTensor const& { return known[node.inputs[i]]; };
    const Sizes dims{node.shape.c, node.shape.h, node.shape.w};
    const auto weight = [&](std::string_view suffix, Sizes of) {
        for (auto const& [name, tensor] : build.weights(position)) {
            if (name != suffix) continue;
            return OnnxTensor{.name = {},
                              .dims = std::move(of),
                              .type = OnnxType::float32,
                              .floats = tensor.values,
                              .integers = {},
                              .owner = tensor.owner};
        }
        fail("a constant layer lacks its ", suffix);
    };
    const auto binary = [&](BinaryKind kind, OnnxTensor const& a, OnnxTensor const& b) {
        return fold_binary(build, kind, a, b);
    };
    const auto number = [&](float value) { return build.constants.splat({1, 1, 1}, OnnxType::float32, value); };
    const auto activate = [&](ActivationParams const& params, OnnxTensor const& x) {
        std::vector<float> values = build.constants.make<float>(x.size());
        for (std::size_t i = 0; i < values.size(); ++i)
            values[i] = to_float(activated(params, static_cast<double>(x.floats[i])));
        return own_elements(x.dims, OnnxType::float32, std::move(values));
    };
    const auto reduce = [&](Reduction reduction, OnnxTensor const& x, std::vector<std::size_t> const& axes) {
        return fold_reduce(build, reduction, x, axes);
    };
    if (const auto* constant = std::get_if<ConstantParams>(&layer)) {
        return weight(constant->parameter ? "" : ".value", dims);
    }
    if (std::holds_alternative<ReshapeParams>(layer) || std::holds_alternative<FlattenParams>(layer)) {
        return with_dims(in(0), dims);
    }
    if (const auto* params = std::get_if<ActivationParams>(&layer)) return activate(*params, in(0));
    if (const auto* params = std::get_if<BinaryParams>(&layer)) return binary(params->kind, in(0), in(1));
    if (std::holds_alternative<AddParams>(layer)) {
        OnnxTensor sum = in(0);
        for (std::size_t i = 1; i < node.inputs.size(); ++i) sum = binary(BinaryKind::add, sum, in(i));
        return sum;
    }
    const Sizes channels{dims[0], 1, 1};
    if (const auto* params = std::get_if<ScaleParams>(&layer)) {
        const OnnxTensor factor = params->known ? number(params->factor) : weight(".weight", channels),
                         shift = params->known ? number(params->shift) : weight(".bias", channels);
        return binary(BinaryKind::add, binary(BinaryKind::multiply, in(0), factor), shift);
    }
    if (const auto* params = std::get_if<BatchNormParams>(&layer)) {
        const OnnxTensor variance = binary(BinaryKind::add, weight(".running_var", channels), number(params->epsilon)),
                         deviation = activate({ActivationKind::sqrt}, variance),
                         centred = binary(BinaryKind::subtract, in(0), weight(".running_mean", channels)),
                         normal = binary(BinaryKind::divide, centred, deviation);
        return binary(BinaryKind::add, binary(BinaryKind::multiply, normal, weight(".weight", channels)),
                      weight(".bias", channels));
    }
    if (const auto* params = std::get_if<GlobalPoolParams>(&layer)) {
        return reduce(params->kind == PoolKind::max ? Reduction::max : Reduction::mean, in(0), {1, 2});
    }
    if (const auto* params = std::get_if<ReduceParams>(&layer)) {
        const std::vector<std::size_t> axes{static_cast<std::size_t>(params->axis)};
        if (params->kind == ReduceKind::sum) return reduce(Reduction::sum, in(0), axes);
        if (params->kind == ReduceKind::mean) return reduce(Reduction::mean, in(0), axes);
        if (params->kind == ReduceKind::max) return reduce(Reduction::max, in(0), axes);
        return std::nullopt;
    }
    if (const auto* params = std::get_if<SoftmaxParams>(&layer)) {
        const std::vector<std::size_t> axes{static_cast<std::size_t>(params->axis)};
        const OnnxTensor below = binary(BinaryKind::subtract, in(0), reduce(Reduction::max, in(0), axes)),
                         terms = activate({ActivationKind::exp}, below);
        return binary(BinaryKind::divide, terms, reduce(Reduction::sum, terms, axes));
    }
    if (const auto* params = std::get_if<AsStridedParams>(&layer)) {
        Strided places{{}, {}, params->offset};
        for (std::size_t axis = 0; axis < params->dims.rank(); ++axis) {
            places.dims.push_back(params->dims[axis]);
            places.strides.push_back(params->strides[axis]);
        }
        return with_dims(pick(in(0), places, build.constants), dims);
    }
    if (const auto* params = std::get_if<SliceParams>(&layer)) {
        const Sizes strides = row_major(in(0).dims);
        return pick(in(0), {dims, strides, params->first * strides[static_cast<std::size_t>(params->axis)]},
                    build.constants);
    }
    if (std::holds_alternative<MatMulParams>(layer)) return fold_product(build, in(0), in(1));
    const auto* const dense = std::get_if<DenseParams>(&layer);
    const auto* const rows = std::get_if<DenseRowsParams>(&layer);
    if (dense != nullptr || rows != nullptr) {
        // A dense layer is the product of its weight and a column, one on rows that of rows and its weight.
        const auto depth = static_cast<std::int64_t>(dense != nullptr ? in(0).size() : 0);
        std::optional<OnnxTensor> product =
            dense != nullptr
                ? fold_product(build, weight(".weight", {1, dense->k, depth}), with_dims(in(0), {1, depth, 1}))
                : fold_product(build, with_dims(in(0), {1, dims[0] * dims[1], in(0).dims[2]}),
                               weight(".weight", {1, in(0).dims[2], rows->k}));
        if (!product) return std::nullopt;
        OnnxTensor result = with_dims(std::move(*product), dims);
        if (dense != nullptr ? dense->bias : rows->bias) {
            const Sizes each = dense != nullptr ? channels : Sizes{1, 1, dims[2]};
            result = binary(BinaryKind::add, result, weight(".bias", each));
        }
        return result;
    }
    return std::nullopt;
}

/// The same for a layer and all that it needs, of which none is an input.
[[nodiscard]] inline std::optional<OnnxTensor> fold_layers(Builder& build, std::size_t last) {
    std::vector<bool> needed(last + 1, false);
    needed[last] = true;
    for (std::size_t i = last + 1; i-- > 0;) {
        if (!needed[i]) continue;
        for (const std::size_t input : build.graph()[i].inputs) needed[input] = true;
    }
    std::vector<OnnxTensor> known(last + 1);
    for (std::size_t i = 0; i <= last; ++i) {
        if (!needed[i]) continue;
        std::optional<OnnxTensor> result = fold_layer(build, i, known);
        if (!result) return std::nullopt;
        known[i] = std::move(*result);
    }
    return known[last];
}

}  // namespace detail

}  // namespace primsel::inline PRIMSEL_ABI::onnx
