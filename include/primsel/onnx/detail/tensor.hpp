// A tensor in memory: of any rank, of the types that ONNX has.
#pragma once

#include <primsel/core/error.hpp>
#include <primsel/network/weights.hpp>
#include <primsel/onnx/detail/proto.hpp>
#include <primsel/onnx/detail/stored_integers.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

/// The element type of an ONNX tensor, with the numbers of the standard.
using OnnxType = onnx::DataType;

[[nodiscard]] constexpr std::string_view to_string(OnnxType type) {
    constexpr std::string_view names[] = {
        "undefined", "float32",    "uint8",      "int8",         "uint16",         "int16",      "int32",
        "int64",     "string",     "boolean",    "float16",      "float64",        "uint32",     "uint64",
        "complex64", "complex128", "bfloat16",   "float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz",
        "uint4",     "int4",       "float4e2m1", "float8e8m0",   "uint2",          "int2"};
    const auto number = static_cast<std::uint32_t>(type);
    return number < std::size(names) ? names[number] : "unknown type";
}

namespace onnx {
/// Whether elements are held as float; those of all other types are integers.
[[nodiscard]] constexpr bool is_float(OnnxType type) {
    return type == OnnxType::float32 || type == OnnxType::float16 || type == OnnxType::bfloat16 ||
           type == OnnxType::float64;
}
}  // namespace onnx

/// Numbers of any rank, row-major. Copies share the elements.
struct OnnxTensor {
    std::string name;
    std::vector<std::int64_t> dims;
    /// As in the file. Elements of float32, float16, bfloat16 and float64 are held as float (float64 rounded), those of
    /// the integer types and of boolean as std::int64_t, or as the bytes that the file has.
    OnnxType type = OnnxType::float32;
    /// One of the two is filled.
    StoredFloats floats;
    StoredIntegers integers;
    /// Keeps the elements alive.
    std::shared_ptr<const void> owner;

    [[nodiscard]] bool is_float() const { return onnx::is_float(type); }
    [[nodiscard]] std::size_t size() const { return is_float() ? floats.size() : integers.size(); }
};

namespace onnx {

/// Elements of a tensor. Throws error when a dimension is negative or the product overflows.
[[nodiscard]] inline std::size_t count_of(std::vector<std::int64_t> const& dims) {
    // A zero anywhere makes it empty, however large the others are.
    if (std::ranges::any_of(dims, [](std::int64_t dim) { return dim < 0; })) {
        fail("impossible dimensions ", to_string(dims));
    }
    if (std::ranges::find(dims, 0) != dims.end()) return 0;
    std::size_t count = 1;
    for (const std::int64_t dim : dims) {
        if (__builtin_mul_overflow(count, static_cast<std::size_t>(dim), &count)) {
            fail("impossibly large dimensions ", to_string(dims));
        }
    }
    return count;
}

template <class T>
[[nodiscard]] OnnxTensor own_elements(std::vector<std::int64_t> dims, OnnxType type, std::vector<T> values) {
    OnnxTensor tensor{.name = {}, .dims = std::move(dims), .type = type, .floats = {}, .integers = {}, .owner = {}};
    auto owner = std::make_shared<const std::vector<T>>(std::move(values));
    if constexpr (std::is_same_v<T, float>)
        tensor.floats = *owner;
    else
        tensor.integers = *owner;
    tensor.owner = std::move(owner);
    return tensor;
}

/// A tensor with an extent of 0.
[[nodiscard]] inline OnnxTensor empty_tensor(std::vector<std::int64_t> dims, OnnxType type) {
    return is_float(type) ? own_elements<float>(std::move(dims), type, {})
                          : own_elements<std::int64_t>(std::move(dims), type, {});
}

}  // namespace onnx

/// A tensor of float32 that owns its elements. Throws error when they do not fill the dimensions.
[[nodiscard]] inline OnnxTensor make_onnx_tensor(std::string name, std::vector<std::int64_t> dims,
                                                 std::vector<float> values) {
    if (onnx::count_of(dims) != values.size()) fail(name, ": ", values.size(), " values cannot fill ", to_string(dims));
    OnnxTensor tensor = onnx::own_elements(std::move(dims), OnnxType::float32, std::move(values));
    tensor.name = std::move(name);
    return tensor;
}
/// The same of int64.
[[nodiscard]] inline OnnxTensor make_onnx_tensor(std::string name, std::vector<std::int64_t> dims,
                                                 std::vector<std::int64_t> values) {
    if (onnx::count_of(dims) != values.size()) fail(name, ": ", values.size(), " values cannot fill ", to_string(dims));
    OnnxTensor tensor = onnx::own_elements(std::move(dims), OnnxType::int64, std::move(values));
    tensor.name = std::move(name);
    return tensor;
}

}  // namespace primsel::inline PRIMSEL_ABI
