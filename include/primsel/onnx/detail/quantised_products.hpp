// Products and attention of com.microsoft. Those of quantised matrices are those of the real numbers.
#pragma once

#include <primsel/onnx/detail/attention.hpp>
#include <primsel/onnx/detail/elementwise.hpp>
#include <primsel/onnx/detail/matmul.hpp>
#include <primsel/onnx/detail/quantised.hpp>
#include <primsel/onnx/detail/slice.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::onnx {

namespace detail {

/// a * b, to which input `bias` of the node is added if there is one.
[[nodiscard]] inline Value product_and_bias(Call const& call, Value& a, Value& b, std::size_t bias) {
    Value product = compute(call, translate_matmul, {&a, &b});
    return call.has(bias) ? compute(call, translate_add, {&product, &call.input(bias)}) : product;
}

/// The matrix K x N of MatMulNBits. Its inputs 1 to 3 are, for each column and each block of its rows: integers of a
/// few bits, the first in the lowest bits of a byte; a scale; a zero point, of as many bits, or a float.
[[nodiscard]] inline OnnxTensor matrix_of_few_bits(Call const& call) {
    const auto attribute = [&call](std::string_view name, std::int64_t otherwise) {
        return static_cast<std::size_t>(bounded(call.integer(name, otherwise), 1, max_extent, name));
    };
    const std::size_t rows = attribute("K", 0), columns = attribute("N", 0), bits = attribute("bits", 4),
                      block = attribute("block_size", 0);
    if ((bits != 2 && bits != 4 && bits != 8) || block * bits % 8 != 0) fail(bits, " bits in blocks of ", block);
    OnnxTensor const &packed = call.constant(1, "matrix"), &scale = call.floats(2, "scale");
    const OnnxTensor* zero = call.has(3) ? &call.constant(3, "zero point") : nullptr;
    const std::size_t blocks = (rows + block - 1) / block, zero_bytes = (blocks * bits + 7) / 8;
    const auto check = [&](OnnxTensor const& tensor, std::size_t size) {
        if (tensor.size() == size) return;
        fail(to_string(tensor.dims), " for a matrix of ", rows, " x ", columns, " in blocks of ", block);
    };
    check(packed, columns * blocks * (block * bits / 8)), check(scale, columns * blocks);
    if (packed.type != OnnxType::uint8) fail("its matrix is of ", to_string(packed.type));
    if (zero != nullptr) check(*zero, columns * (zero->is_float() ? blocks : zero_bytes));
    const auto integer = [bits](OnnxTensor const& bytes, std::size_t row_bytes, std::size_t row, std::size_t i) {
        const auto byte = static_cast<std::uint64_t>(bytes.integers[row * row_bytes + i * bits / 8]);
        return static_cast<float>(byte >> i * bits % 8 & ((1U << bits) - 1));
    };
    Sizes dims{static_cast<std::int64_t>(rows), static_cast<std::int64_t>(columns)};
    (void)elements(dims);
    std::vector<float> values = call.build.constants.make<float>(rows * columns);
    for (std::size_t column = 0; column < columns; ++column) {
        for (std::size_t row = 0; row < rows; ++row) {
            const std::size_t at = column * blocks + row / block;
            const float middle = zero == nullptr    ? static_cast<float>(1U << (bits - 1))
                                 : zero->is_float() ? zero->floats[at]
                                                    : integer(*zero, zero_bytes, column, row / block);
            values[row * columns + column] =
                (integer(packed, blocks * (block * bits / 8), column, row) - middle) * scale.floats[at];
        }
    }
    return own_elements(std::move(dims), OnnxType::float32, std::move(values));
}

}  // namespace detail

/// A, B, scale and zero point of B, bias. B's integers and A are multiplied as real numbers.
inline void translate_dynamic_quantize_matmul(Call& call) {
    Value given = detail::weight_of(call.input(1)), b = detail::dequantised(call, given, 2, 3, -1);
    call.give(detail::product_and_bias(call, call.input(0), b, 4));
}
/// A, B, scales of both, zero points of both, bias.
inline void translate_matmul_integer_to_float(Call& call) {
    Value given = detail::weight_of(call.input(1)), a = detail::dequantised(call, call.input(0), 2, 4, -2),
          b = detail::dequantised(call, given, 3, 5, -1);
    call.give(detail::product_and_bias(call, a, b, 6));
}
inline void translate_matmul_n_bits(Call& call) {
    if (call.has(4)) fail("an order of its rows is not supported");
    Value b = detail::known_value(detail::matrix_of_few_bits(call));
    call.give(detail::product_and_bias(call, call.input(0), b, 5));
}

namespace detail {
/// Gives attention whose queries, keys and values are thirds of x * w + bias, input 2 of the node.
inline void give_attention(Call const& call, Value& x, Value& w) {
    if (call.has_attribute("qkv_hidden_sizes")) fail("its qkv_hidden_sizes are not supported");
    if (call.integer("do_rotary", 0) != 0) fail("its do_rotary is not supported");
    Value all = product_and_bias(call, x, w, 2);
    const Operand product = call.operand_of(all);
    const std::int64_t size = product.dims.empty() ? 0 : product.dims.back() / 3;
    if (all.dims.size() != 3 || product.dims.back() != 3 * size) {
        fail("queries, keys and values of ", to_string(all.dims));
    }
    Value thirds[3];
    std::vector<Range> ranges;
    for (const std::int64_t dim : product.dims) ranges.push_back({0, dim, 1});
    for (std::size_t i = 0; i < 3; ++i) {
        ranges.back() = {static_cast<std::int64_t>(i) * size, size, 1};
        thirds[i] = value_of(call.build, emit_slice(call.build, product, ranges), OnnxType::float32);
    }
    call.give(compute(call, translate_attention, {&thirds[0], &thirds[1], &thirds[2]}));
}
}  // namespace detail

/// Attention of com.microsoft.
inline void translate_packed_attention(Call& call) {
    for (std::size_t i = 3; i < call.input_count(); ++i) {
        if (call.has(i)) fail("a mask, a bias of its scores or a past is not supported");
    }
    detail::give_attention(call, call.input(0), call.input(1));
}
inline void translate_quantised_attention(Call& call) {
    if (call.has(5) || call.has(8)) fail("a mask or a past is not supported");
    Value x = detail::dequantised(call, call.input(0), 3, 6, 1), given = detail::weight_of(call.input(1)),
          w = detail::dequantised(call, given, 4, 7, -1);
    detail::give_attention(call, x, w);
}

}  // namespace primsel::inline PRIMSEL_ABI::onnx
