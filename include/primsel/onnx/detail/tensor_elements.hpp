// A TensorProto's elements, of every type that is read.
#pragma once

#include <primsel/core/error.hpp>
#include <primsel/core/half.hpp>
#include <primsel/io/safetensors.hpp>
#include <primsel/onnx/detail/stored_integers.hpp>
#include <primsel/onnx/detail/tensor_proto.hpp>

#include <protozero/varint.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::onnx {

/// Bytes of an element; 0 for what is not read.
[[nodiscard]] constexpr std::size_t element_bytes(OnnxType type) {
    switch (type) {
        case OnnxType::uint8:
        case OnnxType::int8:
        case OnnxType::boolean:
            return 1;
        case OnnxType::uint16:
        case OnnxType::int16:
        case OnnxType::float16:
        case OnnxType::bfloat16:
            return 2;
        case OnnxType::float32:
        case OnnxType::int32:
        case OnnxType::uint32:
            return 4;
        case OnnxType::float64:
        case OnnxType::int64:
        case OnnxType::uint64:
            return 8;
        default:
            return 0;
    }
}

/// Calls f with a number of the C++ type of the elements; halves as std::uint16_t.
template <class F>
void with_type(OnnxType type, F const& f) {
    switch (type) {
        case OnnxType::boolean:
        case OnnxType::uint8:
            return f(std::uint8_t{});
        case OnnxType::int8:
            return f(std::int8_t{});
        case OnnxType::uint16:
        case OnnxType::float16:
        case OnnxType::bfloat16:
            return f(std::uint16_t{});
        case OnnxType::int16:
            return f(std::int16_t{});
        case OnnxType::float32:
            return f(float{});
        case OnnxType::int32:
            return f(std::int32_t{});
        case OnnxType::uint32:
            return f(std::uint32_t{});
        case OnnxType::float64:
            return f(double{});
        case OnnxType::int64:
            return f(std::int64_t{});
        case OnnxType::uint64:
            return f(std::uint64_t{});
        default:
            return;
    }
}

[[nodiscard]] inline float to_float(double value) {
    // Beyond the largest float a conversion is undefined; infinity is what rounding gives.
    constexpr double limit = 0x1.ffffffp127, infinity = std::numeric_limits<double>::infinity();
    return static_cast<float>(value >= limit ? infinity : value <= -limit ? -infinity : value);
}
[[nodiscard]] inline float half_to_float(OnnxType type, std::uint16_t half) {
    return type == OnnxType::float16 ? primsel::core::half_to_float(half)
                                     : std::bit_cast<float>(std::uint32_t{half} << 16U);
}

/// Two elements a byte, the first in its lower half.
[[nodiscard]] inline OnnxTensor read_nibbles(std::vector<std::int64_t> dims, OnnxType type, std::string_view raw) {
    const std::size_t count = count_of(dims);
    if (raw.size() != count / 2 + count % 2) {
        fail(raw.size(), " bytes cannot fill ", to_string(dims), " of ", to_string(type));
    }
    std::vector<std::int64_t> values(count);
    for (std::size_t i = 0; i < count; ++i) {
        const int nibble = static_cast<unsigned char>(raw[i / 2]) >> (i % 2 * 4) & 15;
        values[i] = type == OnnxType::int4 && nibble >= 8 ? nibble - 16 : nibble;
    }
    return own_elements(std::move(dims), type, std::move(values));
}

/// The elements that lie at `raw`, as the file has them. float32 and many bytes are not copied but share `owner`.
[[nodiscard]] inline OnnxTensor read_raw(std::vector<std::int64_t> dims, OnnxType type, std::string_view raw,
                                         std::shared_ptr<const void> const& owner) {
    if (type == OnnxType::int4 || type == OnnxType::uint4) return read_nibbles(std::move(dims), type, raw);
    const std::size_t count = count_of(dims), bytes = element_bytes(type);
    if (bytes == 0) fail("elements of ", to_string(type), " are not supported");
    if (raw.size() % bytes != 0 || raw.size() / bytes != count) {
        fail(raw.size(), " bytes cannot fill ", to_string(dims), " of ", to_string(type));
    }
    if (type == OnnxType::float32) {
        return {.name = {},
                .dims = std::move(dims),
                .type = type,
                .floats = StoredFloats::of_bytes(std::as_bytes(std::span(raw))),
                .integers = {},
                .owner = owner};
    }
    // Many bytes stay where they are: as std::int64_t they would take eight times the memory.
    const bool is_signed = type == OnnxType::int8;
    if ((is_signed || type == OnnxType::uint8) && count >= many_bytes) {
        return {.name = {},
                .dims = std::move(dims),
                .type = type,
                .floats = {},
                .integers = StoredIntegers::of_bytes(std::as_bytes(std::span(raw)), is_signed),
                .owner = owner};
    }
    OnnxTensor tensor;
    const auto* src = reinterpret_cast<const std::byte*>(raw.data());
    with_type(type, [&]<class From>(From) {
        const auto at = [&](std::size_t i) { return primsel::io::read_unaligned<From>(src + i * sizeof(From)); };
        if (type == OnnxType::float16 || type == OnnxType::bfloat16 || std::is_floating_point_v<From>) {
            std::vector<float> values(count);
            for (std::size_t i = 0; i < count; ++i) {
                if constexpr (std::is_same_v<From, double>)
                    values[i] = to_float(at(i));
                else if constexpr (std::is_same_v<From, float>)
                    values[i] = at(i);
                else
                    values[i] = half_to_float(type, static_cast<std::uint16_t>(at(i)));
            }
            tensor = own_elements(std::move(dims), type, std::move(values));
        } else {
            std::vector<std::int64_t> values(count);
            for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<std::int64_t>(at(i));
            tensor = own_elements(std::move(dims), type, std::move(values));
        }
    });
    return tensor;
}

/// The elements of a tensor that has them in a list of their type.
[[nodiscard]] inline OnnxTensor read_typed(TensorProto const& proto) {
    const bool is_nibbles = proto.type == OnnxType::int4 || proto.type == OnnxType::uint4;
    const std::size_t count = count_of(proto.dims), bytes = is_nibbles ? 1 : element_bytes(proto.type);
    if (bytes == 0) fail("elements of ", to_string(proto.type), " are not supported");
    const auto require_full = [&](std::size_t found) {
        if (found != count) fail(found, " elements cannot fill ", to_string(proto.dims));
    };
    std::vector<std::string_view> lists{proto.packed};
    lists.insert(lists.end(), proto.more_packed.begin(), proto.more_packed.end());
    if (proto.type == OnnxType::float32 || proto.type == OnnxType::float64) {
        std::vector<float> values = proto.single_floats;
        for (const std::string_view list : lists) {
            if (list.size() % bytes != 0) fail("a list of floats ends within one");
            for (std::size_t i = 0; i < list.size(); i += bytes) {
                const auto* src = reinterpret_cast<const std::byte*>(list.data()) + i;
                values.push_back(bytes == 4 ? primsel::io::read_unaligned<float>(src)
                                            : to_float(primsel::io::read_unaligned<double>(src)));
            }
        }
        require_full(values.size());
        return own_elements(proto.dims, proto.type, std::move(values));
    }
    std::vector<std::int64_t> values = proto.single_integers;
    for (const std::string_view list : lists) {
        const char *at = list.data(), *const end = at + list.size();
        while (at != end) values.push_back(static_cast<std::int64_t>(protozero::decode_varint(&at, end)));
    }
    const bool is_signed = proto.type == OnnxType::int8;
    for (const std::int64_t value : values) {
        if (bytes == 1 && value != (is_signed ? std::int64_t{static_cast<std::int8_t>(value)} : value & 255)) {
            fail("an element of ", value, " in ", to_string(proto.type));
        }
    }
    if (is_nibbles) {
        std::string raw;
        for (const std::int64_t value : values) raw.push_back(static_cast<char>(value));
        return read_nibbles(proto.dims, proto.type, raw);
    }
    require_full(values.size());
    if (proto.type != OnnxType::float16 && proto.type != OnnxType::bfloat16) {
        return own_elements(proto.dims, proto.type, std::move(values));
    }
    std::vector<float> halves(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
        halves[i] = half_to_float(proto.type, static_cast<std::uint16_t>(values[i]));
    }
    return own_elements(proto.dims, proto.type, std::move(halves));
}

}  // namespace primsel::inline PRIMSEL_ABI::onnx
