// Fourier transforms of a length that is known, as products with a matrix.
#pragma once

#include <primsel/onnx/detail/fold.hpp>
#include <primsel/onnx/detail/matmul.hpp>
#include <primsel/onnx/detail/positions.hpp>
#include <primsel/onnx/detail/reshape.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <numeric>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::onnx {

namespace detail {

/// A transform of `inputs` numbers, to which zeros are added up to `length`, into `outputs` ones. Numbers are real or
/// complex: they have one part or two.
struct Transform {
    std::int64_t length = 0, inputs = 0, outputs = 0, input_parts = 1, output_parts = 2;
    bool is_inverse = false;
    /// Whether the inputs are the first half of a spectrum, of which the other half is the conjugate.
    bool is_half = false;
    /// Factors of the inputs, if any.
    std::span<const float> window{};
};
/// The matrix by which the row of all inputs is multiplied: x[n] of e^(-+2 pi i n k / length), over the length if
/// inverse.
[[nodiscard]] inline Operand transform_matrix(Builder& build, Transform const& t) {
    const Sizes dims{t.inputs * t.input_parts, t.outputs * t.output_parts};
    (void)elements(dims);
    std::vector<float> values = build.constants.make<float>(count_of(dims));
    auto at = values.begin();
    for (std::int64_t n = 0; n < t.inputs; ++n) {
        double factor = t.is_inverse ? 1.0 / static_cast<double>(t.length) : 1.0;
        if (t.is_half && n > 0 && 2 * n != t.length) factor *= 2;
        if (!t.window.empty()) factor *= static_cast<double>(t.window[static_cast<std::size_t>(n)]);
        for (std::int64_t part = 0; part < t.input_parts; ++part) {
            for (std::int64_t k = 0; k < t.outputs; ++k) {
                const double angle = 2 * std::numbers::pi * static_cast<double>(n * k % t.length) /
                                     static_cast<double>(t.length) * (t.is_inverse ? 1 : -1);
                // The real part of i * e^(i angle) is -sin(angle).
                *at++ = static_cast<float>(factor * (part == 0 ? std::cos(angle) : -std::sin(angle)));
                if (t.output_parts == 2)
                    *at++ = static_cast<float>(factor * (part == 0 ? std::sin(angle) : std::cos(angle)));
            }
        }
    }
    return {dims, std::nullopt, own_elements(dims, OnnxType::float32, std::move(values))};
}
/// Transforms rows of all inputs, which are the last axis, and gives the results other extents.
[[nodiscard]] inline Operand emit_transform(Builder& build, Operand const& rows, Transform const& transform,
                                            Sizes dims) {
    const std::int64_t size = transform.inputs * transform.input_parts, count = elements(rows.dims) / size;
    return build.reshape(emit_matmul(build, build.reshape(rows, {1, count, size}), transform_matrix(build, transform)),
                         std::move(dims));
}
/// Lengths beyond this are refused: a matrix has twice its square in floats.
inline constexpr std::int64_t longest_transform = 1 << 14;

}  // namespace detail

/// The discrete Fourier transform along an axis; the last axis has the real and imaginary parts.
inline void translate_dft(Call& call) {
    Builder& build = call.build;
    const std::size_t rank = call.rank(0);
    if (rank < 2) fail("on a tensor of ", rank, " dimensions");
    const bool as_input = call.opset() >= 20;
    std::int64_t given = as_input ? -2 : call.integer("axis", 1);
    if (as_input && call.has(2)) given = detail::single_integer(call, 2, "axis");
    const std::size_t axis = build.image_axis(given, rank);
    Operand x = call.operand(0);
    const std::size_t last = x.dims.size() - 1;
    if (axis == last) fail("along the axis of the real and imaginary parts");
    const std::int64_t parts = x.dims[last], n = x.dims[axis];
    if (parts != 1 && parts != 2) fail("its last axis has ", parts, " elements, not the real and imaginary parts");
    const bool is_inverse = call.integer("inverse", 0) != 0, is_half = call.integer("onesided", 0) != 0;
    if (is_half && !is_inverse && parts != 1) fail("one side of the spectrum of complex numbers");
    std::int64_t length = is_half && is_inverse ? 2 * (n - 1) : n;
    if (call.has(1)) length = detail::single_integer(call, 1, "length");
    length = bounded(length, 1, detail::longest_transform, "a length");
    const std::int64_t half = length / 2 + 1;
    const detail::Transform transform{.length = length,
                                      .inputs = std::min(n, is_half && is_inverse ? half : length),
                                      .outputs = is_half && !is_inverse ? half : length,
                                      .input_parts = parts,
                                      .output_parts = is_half && is_inverse ? 1 : 2,
                                      .is_inverse = is_inverse,
                                      .is_half = is_half && is_inverse};
    std::vector<Range> ranges;
    for (const std::int64_t dim : x.dims) ranges.push_back({0, dim, 1});
    ranges[axis].count = transform.inputs;
    x = emit_slice(build, x, ranges);
    // The axis stands before that of the parts, and goes back.
    std::vector<std::size_t> there(last + 1), back;
    std::iota(there.begin(), there.end(), std::size_t{0});
    std::rotate(there.begin() + static_cast<std::ptrdiff_t>(axis),
                there.begin() + static_cast<std::ptrdiff_t>(axis) + 1, there.end() - 1);
    for (std::size_t i = 0; i <= last; ++i) back.push_back(i < axis || i == last ? i : i == axis ? last - 1 : i - 1);
    x = transposed(build, x, there);
    Sizes dims = x.dims;
    dims[last - 1] = transform.outputs, dims[last] = transform.output_parts;
    call.give(transposed(build, detail::emit_transform(build, x, transform, std::move(dims)), back));
}

/// Fourier transforms of frames of a signal, each times a window.
inline void translate_stft(Call& call) {
    Builder& build = call.build;
    const std::size_t rank = call.rank(0);
    if (rank != 2 && rank != 3) fail("on a tensor of ", rank, " dimensions");
    const Operand x = call.operand(0);
    const bool has_parts = rank == 3, is_half = call.integer("onesided", 1) != 0;
    const std::int64_t parts = has_parts ? x.dims.back() : 1, n = x.dims[1 - build.hidden_axes()];
    if (parts != 1 && parts != 2) fail("its last axis has ", parts, " elements, not the real and imaginary parts");
    if (is_half && parts != 1) fail("one side of the spectrum of complex numbers");
    const std::int64_t step = bounded(detail::single_integer(call, 1, "frame step"), 1, largest_tensor, "a frame step");
    const OnnxTensor* const window = call.has(2) ? &call.floats(2, "window") : nullptr;
    if (window == nullptr && !call.has(3)) fail("without a window or the length of a frame");
    const std::int64_t length = bounded(
        call.has(3) ? detail::single_integer(call, 3, "frame length") : static_cast<std::int64_t>(window->size()), 1,
        detail::longest_transform, "a length");
    if (window != nullptr && window->dims != Sizes{length}) {
        fail("a window of ", to_string(window->dims), " for frames of ", length);
    }
    if (length > n) fail("frames of ", length, " of a signal of ", n);
    detail::Transform transform{
        .length = length, .inputs = length, .outputs = is_half ? length / 2 + 1 : length, .input_parts = parts};
    if (window != nullptr) transform.window = window->floats;
    const std::int64_t frames = (n - length) / step + 1;
    Strided places{{frames, length * parts}, {step * parts, 1}};
    Sizes dims{frames, transform.outputs, 2};
    if (build.is_whole()) {
        places.dims.insert(places.dims.begin(), x.dims[0]), places.strides.insert(places.strides.begin(), n * parts);
        dims.insert(dims.begin(), x.dims[0]);
    }
    call.give(detail::emit_transform(build, build.strided(x, places), transform, std::move(dims)));
}

/// A window of a known length. A periodic one, the default, is that of one element more without its last.
inline void translate_window_function(Call& call) {
    const Sizes length = call.integers(0, "size");
    if (length.size() != 1 || length[0] < 0 || length[0] > largest_tensor) fail("its size is impossible");
    const std::int64_t size = length[0];
    const std::int64_t period = call.integer("periodic", 1) != 0 ? size : size - 1;
    std::vector<float> values = call.build.constants.make<float>(static_cast<std::size_t>(size));
    for (std::int64_t i = 0; i < size; ++i) {
        const double angle =
            2 * std::numbers::pi * static_cast<double>(i) / static_cast<double>(std::max<std::int64_t>(period, 1));
        double value = 0.5 - 0.5 * std::cos(angle);
        if (call.op() == "HammingWindow") value = 25.0 / 46 - 21.0 / 46 * std::cos(angle);
        if (call.op() == "BlackmanWindow") value = 0.42 - 0.5 * std::cos(angle) + 0.08 * std::cos(2 * angle);
        values[static_cast<std::size_t>(i)] = static_cast<float>(value);
    }
    const auto type = static_cast<OnnxType>(call.integer("output_datatype", 1));
    call.give(fold_cast(call.build, own_elements(Sizes{size}, OnnxType::float32, std::move(values)), type));
}

}  // namespace primsel::inline PRIMSEL_ABI::onnx
