#pragma once

#include <primsel/onnx/detail/constant.hpp>
#include <primsel/onnx/detail/join.hpp>
#include <primsel/onnx/detail/matmul.hpp>
#include <primsel/onnx/detail/reshape.hpp>
#include <primsel/onnx/detail/window.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::onnx {

namespace detail {

struct Kernels {
    OnnxTensor weight;
    std::optional<OnnxTensor> bias;
    int groups = 1;
};
/// The weight and bias of a convolution, of which the image has c channels. k is what the bias has values for.
[[nodiscard]] inline Kernels read_kernels(Call const& call, std::int64_t c, bool transposed) {
    Kernels result;
    result.weight = call.floats(1, "weight");
    Sizes const& dims = result.weight.dims;
    if (dims.size() != call.rank(0)) {
        fail("a weight of ", to_string(dims), " for a tensor of ", call.rank(0), " dimensions");
    }
    (void)elements(dims);
    result.groups = bounded(call.integer("group", 1), 1, largest_tensor, "a number of groups");
    const std::int64_t channels = transposed ? dims[0] : dims[1] * result.groups;
    if (channels != c) fail("a weight of ", to_string(dims), " with ", result.groups, " groups for ", c, " channels");
    const Sizes spatial(dims.begin() + 2, dims.end());
    if (call.integers("kernel_shape", spatial) != spatial) fail("its kernel_shape is not that of its weight");
    const std::int64_t k = transposed ? dims[1] * result.groups : dims[0];
    if (k > largest_tensor) fail(k, " channels are too many");
    if (call.has(2)) {
        result.bias = call.floats(2, "bias");
        if (result.bias->dims != Sizes{k}) fail("a bias of ", to_string(result.bias->dims), " for ", k, " channels");
    }
    return result;
}
inline Operand emit_convolution(Call const& call, AnyLayer layer, Kernels const& kernels, Sizes dims) {
    Builder& build = call.build;
    // Signals that the batch does not keep apart are rows of one image.
    const bool as_rows = build.is_whole() && dims[0] != 1;
    const Operand src = call.operand(0);
    const auto rows = [&] {
        const Shape shape{.c = product(dims, 1, 2), .h = product(dims, 0, 1), .w = product(dims, 2, 3)};
        return build.view(transposed(build, src, {1, 0, 2}), shape);
    };
    const std::size_t input = as_rows ? rows() : build.view(src), node = build.emit(std::move(layer), {input});
    Sizes weight_dims = kernels.weight.dims;
    if (weight_dims.size() == 3) weight_dims.insert(weight_dims.begin() + 2, 1);
    build.add_weight(node, ".weight", weight_dims, kernels.weight);
    if (kernels.bias) build.add_weight(node, ".bias", kernels.bias->dims, *kernels.bias);
    const Shape out = build.graph()[node].shape;
    if (as_rows) return transposed(build, build.operand(node, {out.c, out.h, out.w}), {1, 0, 2});
    dims[1] = out.c;
    set_image_size(dims, dims.size() - 2, {out.h, out.w});
    return build.operand(node, build.image_dims(dims));
}

}  // namespace detail

namespace detail {
/// A convolution whose weight is computed: its matrix times one that has a column for each pixel of the result.
[[nodiscard]] inline Operand emit_conv_of_computed(Call& call) {
    Builder& build = call.build;
    if (!build.is_whole()) throw MixesImages{"its weight is computed"};
    const Operand x = call.operand(0), weight = call.operand(1);
    const Extent image = image_size(x.dims);
    const std::int64_t n = x.dims[0], c = x.dims[1];
    if (weight.dims.size() != x.dims.size()) {
        fail("a weight of ", to_string(weight.dims), " for a tensor of ", x.dims.size(), " dimensions");
    }
    const std::int64_t k = weight.dims[0], each = weight.dims[1],
                       groups = bounded(call.integer("group", 1), 1, largest_tensor, "a number of groups");
    if (each * groups != c || k % groups != 0) {
        fail("a weight of ", to_string(weight.dims), " with ", groups, " groups for ", c, " channels");
    }
    const Window window = read_window(call, x.dims, {weight.dims.begin() + 2, weight.dims.end()});
    Padding const& pad = window.padding;
    const std::int64_t h = std::int64_t{image.h} + pad.top + pad.bottom,
                       w = std::int64_t{image.w} + pad.left + pad.right,
                       span_h = std::int64_t{window.kernel.h - 1} * window.dilation.h + 1,
                       span_w = std::int64_t{window.kernel.w - 1} * window.dilation.w + 1;
    if (span_h > h || span_w > w) fail("its kernel is larger than the padded image");
    const std::int64_t rows = (h - span_h) / window.stride.h + 1, columns = (w - span_w) / window.stride.w + 1;
    const Operand padded = emit_pad(build, build.reshape(x, {n, c, image.h, image.w}), {0, 0, pad.top, pad.left},
                                    {0, 0, pad.bottom, pad.right}, PadMode::constant, 0.0F);
    const Strided taps{
        {n, c, window.kernel.h, window.kernel.w, rows, columns},
        {c * h * w, h * w, window.dilation.h * w, window.dilation.w, window.stride.h * w, window.stride.w}};
    const std::int64_t depth = each * window.kernel.h * window.kernel.w;
    Operand result = emit_matmul(build, build.reshape(weight, {groups, k / groups, depth}),
                                 build.strided(padded, taps, {n, groups, depth, rows * columns}));
    if (call.has(2)) {
        if (call.dims(2) != Sizes{k}) fail("a bias of ", to_string(call.dims(2)), " for ", k, " channels");
        const Operand bias = build.reshape(call.operand(2), {k, 1});
        result = emit_binary(build, BinaryKind::add, build.reshape(result, {n, k, rows * columns}), bias);
    }
    Sizes dims = x.dims;
    dims[1] = k;
    set_image_size(dims, dims.size() - 2, {static_cast<int>(rows), static_cast<int>(columns)});
    return build.reshape(result, std::move(dims));
}
[[nodiscard]] inline Operand emit_conv(Call& call) {
    Sizes const& dims = call.dims(0);
    (void)image_size(dims);
    if (call.known(1) == nullptr && call.input(1).given == nullptr) return emit_conv_of_computed(call);
    if (dims.size() == 4) require_one_image(call.build, dims);
    const Kernels kernels = read_kernels(call, dims[1], false);
    const Window window = read_window(call, dims, {kernels.weight.dims.begin() + 2, kernels.weight.dims.end()});
    const ConvParams params{.k = static_cast<int>(kernels.weight.dims[0]),
                            .kernel = window.kernel,
                            .stride = window.stride,
                            .padding = window.padding,
                            .dilation = window.dilation,
                            .groups = kernels.groups,
                            .bias = kernels.bias.has_value()};
    return emit_convolution(call, params, kernels, dims);
}
}  // namespace detail

inline void translate_conv(Call& call) { call.give(detail::emit_conv(call)); }

namespace detail {
/// Padding and extra pixels along an axis of a transposed convolution so that its result has a given size.
inline void pad_to(std::int64_t wanted, std::int64_t natural, bool more_at_end, int& before, int& after, int& extra) {
    // Extra pixels that were asked for are part of the natural size. More are added at the end, where output_padding
    // adds them too: TensorFlow, where SAME comes from, has no negative padding either.
    const int total = bounded(natural - wanted, -largest_padding, largest_padding, "a padding");
    if (total < 0) {
        extra -= total;
        return;
    }
    before = more_at_end ? total / 2 : total - total / 2;
    after = total - before;
}
}  // namespace detail

namespace detail {
/// Returns the convolution that a transposed one of stride 1 is: by the rotated kernel, over a wider border. Nothing if
/// more is cropped than the border is wide.
[[nodiscard]] inline std::optional<ConvParams> plain_convolution(ConvTransposeParams const& params,
                                                                 Shape const& image) {
    if (params.stride != Extent{1}) return std::nullopt;
    const std::int64_t h = std::int64_t{params.kernel.h - 1} * params.dilation.h,
                       w = std::int64_t{params.kernel.w - 1} * params.dilation.w;
    const std::int64_t border[] = {h - params.padding.top, h - params.padding.bottom + params.extra_h,
                                   w - params.padding.left, w - params.padding.right + params.extra_w};
    const auto is_padding = [](std::int64_t size) { return size >= 0 && size <= largest_padding; };
    if (!std::ranges::all_of(border, is_padding)) return std::nullopt;
    const ConvParams conv{.k = params.k,
                          .kernel = params.kernel,
                          .padding = {static_cast<int>(border[0]), static_cast<int>(border[1]),
                                      static_cast<int>(border[2]), static_cast<int>(border[3])},
                          .dilation = params.dilation,
                          .groups = params.groups,
                          .bias = params.bias};
    if (conv.check({&image, 1}) != Fault::none) return std::nullopt;
    return conv;
}
/// Returns the kernel of that convolution, k x c/groups x taps, from that of the transposed one, c x k/groups x taps:
/// its taps are in the opposite order.
[[nodiscard]] inline OnnxTensor rotated_kernel(OnnxTensor const& weight, int groups, Constants& constants) {
    Sizes dims = weight.dims;
    dims[0] = weight.dims[1] * groups, dims[1] = weight.dims[0] / groups;
    const auto c = static_cast<std::size_t>(dims[1]), k = static_cast<std::size_t>(weight.dims[1]);
    return map_elements(weight, dims, [&]<class T>(std::span<const T> src) {
        std::vector<T> dst = constants.make<T>(src.size());
        const std::size_t taps = src.size() / (c * k * static_cast<std::size_t>(groups));
        for (std::size_t group = 0; group < static_cast<std::size_t>(groups); ++group) {
            for (std::size_t from = 0; from < c; ++from) {
                for (std::size_t to = 0; to < k; ++to) {
                    const auto kernel = src.subspan(((group * c + from) * k + to) * taps, taps);
                    std::ranges::reverse_copy(
                        kernel, dst.begin() + static_cast<std::ptrdiff_t>(((group * k + to) * c + from) * taps));
                }
            }
        }
        return dst;
    });
}
}  // namespace detail

inline void translate_conv_transpose(Call& call) {
    Sizes const& dims = call.dims(0);
    const Extent image = image_size(dims);
    require_one_image(call.build, dims);
    const std::size_t axes = dims.size() - 2;
    detail::Kernels kernels = detail::read_kernels(call, dims[1], true);
    const Sizes kernel(kernels.weight.dims.begin() + 2, kernels.weight.dims.end());
    const Window window = read_window(call, dims, kernel);
    ConvTransposeParams params{.k = static_cast<int>(kernels.weight.dims[1] * kernels.groups),
                               .kernel = window.kernel,
                               .stride = window.stride,
                               .padding = window.padding,
                               .dilation = window.dilation,
                               .groups = kernels.groups,
                               .bias = kernels.bias.has_value()};
    const Extent extra =
        spatial(call.integers("output_padding", Sizes(axes, 0)), axes, 0, largest_window, "an output padding", 0);
    params.extra_h = extra.h;
    params.extra_w = extra.w;
    const std::string_view rule = call.text("auto_pad", "NOTSET");
    const bool is_same = rule.starts_with("SAME");
    if (call.has_attribute("output_shape") || is_same) {
        Extent wanted{
            static_cast<int>(std::min<std::int64_t>(largest_tensor, std::int64_t{image.h} * params.stride.h)),
            static_cast<int>(std::min<std::int64_t>(largest_tensor, std::int64_t{image.w} * params.stride.w))};
        if (call.has_attribute("output_shape")) {
            wanted = spatial(call.integers("output_shape", {}), axes, 1, largest_tensor, "an output shape");
        }
        const auto natural = [](std::int64_t in, int stride, int size, int dilation, int more) {
            return (in - 1) * stride + std::int64_t{size - 1} * dilation + 1 + more;
        };
        params.padding = {};
        detail::pad_to(wanted.h, natural(image.h, params.stride.h, params.kernel.h, params.dilation.h, params.extra_h),
                       rule == "SAME_UPPER", params.padding.top, params.padding.bottom, params.extra_h);
        detail::pad_to(wanted.w, natural(image.w, params.stride.w, params.kernel.w, params.dilation.w, params.extra_w),
                       rule == "SAME_UPPER", params.padding.left, params.padding.right, params.extra_w);
    }
    const auto too_large = [](std::int64_t in, int stride, int size, int dilation, int more) {
        return (in - 1) * stride + std::int64_t{size - 1} * dilation + 1 + more > largest_tensor;
    };
    if (too_large(image.h, params.stride.h, params.kernel.h, params.dilation.h, params.extra_h) ||
        too_large(image.w, params.stride.w, params.kernel.w, params.dilation.w, params.extra_w)) {
        fail("its result is too large");
    }
    const Shape src{.c = static_cast<int>(dims[1]), .h = image.h, .w = image.w};
    const std::optional<ConvParams> conv = detail::plain_convolution(params, src);
    // A network that is to be trained keeps its weights as the file has them, and shares them.
    if (conv && !call.build.trains()) {
        kernels.weight = detail::rotated_kernel(kernels.weight, kernels.groups, call.build.constants);
        return call.give(detail::emit_convolution(call, *conv, kernels, dims));
    }
    call.give(detail::emit_convolution(call, params, kernels, dims));
}

}  // namespace primsel::inline PRIMSEL_ABI::onnx
