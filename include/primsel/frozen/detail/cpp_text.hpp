// Values as C++ that makes them again, to the bit.
#pragma once

#include <primsel/core/clamp.hpp>
#include <primsel/core/error.hpp>
#include <primsel/frozen/kernel_types.hpp>
#include <primsel/layer/layer.hpp>
#include <primsel/primitive/conv_shape.hpp>
#include <primsel/tensor/dims.hpp>
#include <primsel/tensor/range.hpp>
#include <primsel/tensor/shape.hpp>

#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

namespace primsel::inline PRIMSEL_ABI::frozen::detail {

/// Parameters of a layer that each_field shows whole, so that they can be written as a constant.
template <class Params>
concept Described = requires(Params const& params) { params.each_field([](std::string_view, auto const&) {}); };

[[nodiscard]] inline std::string cpp_text(bool value) { return value ? "true" : "false"; }
template <std::integral T>
[[nodiscard]] std::string cpp_text(T value) {
    if (std::same_as<T, std::size_t> && value == static_cast<T>(-1)) return "primsel::no_tensor";
    return std::to_string(value);
}
/// A float as a hexadecimal number, which reads back as the same; by its bits if it is no number.
[[nodiscard]] inline std::string cpp_text(float value) {
    if (std::isnan(value)) return join("std::bit_cast<float>(", std::bit_cast<std::uint32_t>(value), "U)");
    const std::string sign = std::signbit(value) ? "-" : "";
    if (std::isinf(value)) return sign + "std::numeric_limits<float>::infinity()";
    std::array<char, 64> text{};
    const auto end = std::to_chars(text.data(), text.data() + text.size(), std::abs(value), std::chars_format::hex);
    return sign + "0x" + std::string(text.data(), end.ptr) + "F";
}
[[nodiscard]] inline std::string cpp_text(Clamp const& value) {
    return join("{", cpp_text(value.low), ", ", cpp_text(value.high), "}");
}
[[nodiscard]] inline std::string cpp_text(TensorRange const& value) {
    return join("{", cpp_text(value.scale), ", ", value.zero_point, "}");
}
[[nodiscard]] inline std::string cpp_text(Shape const& s) { return join("{", s.c, ", ", s.h, ", ", s.w, "}"); }
[[nodiscard]] inline std::string cpp_text(Extent const& e) { return join("{", e.h, ", ", e.w, "}"); }
[[nodiscard]] inline std::string cpp_text(Padding const& p) {
    return join("{", p.top, ", ", p.bottom, ", ", p.left, ", ", p.right, "}");
}
[[nodiscard]] inline std::string cpp_text(ConvShape const& s) {
    return join("{.c = ", s.c, ", .k = ", s.k, ", .h = ", s.h, ", .w = ", s.w, ", .fh = ", s.fh, ", .fw = ", s.fw,
                ", .stride_h = ", s.stride_h, ", .stride_w = ", s.stride_w, ", .pad_top = ", s.pad_top,
                ", .pad_bottom = ", s.pad_bottom, ", .pad_left = ", s.pad_left, ", .pad_right = ", s.pad_right,
                ", .dilation_h = ", s.dilation_h, ", .dilation_w = ", s.dilation_w, ", .groups = ", s.groups, "}");
}
template <class T>
    requires std::is_enum_v<T>
[[nodiscard]] std::string cpp_text(T value) {
    return join(type_text<T>(), "(", static_cast<std::int64_t>(value), ")");
}
[[nodiscard]] inline std::string cpp_text(Dims const& dims) {
    std::string text;
    for (const int extent : dims) text += join(text.empty() ? "" : ", ", extent);
    return "{" + text + "}";
}
template <Described Params>
[[nodiscard]] std::string cpp_text(Params const& params);
template <class T>
[[nodiscard]] std::string cpp_text(std::span<const T> values) {
    std::string text;
    for (T const& value : values) text += (text.empty() ? "" : ", ") + cpp_text(value);
    return values.empty() ? "{}" : "{{" + text + "}}";
}
template <class T, std::size_t size>
[[nodiscard]] std::string cpp_text(std::array<T, size> const& values) {
    return cpp_text(std::span<const T>(values));
}
template <Described Params>
std::string cpp_text(Params const& params) {
    std::string text;
    params.each_field([&](std::string_view name, auto const& value) {
        text += join(text.empty() ? "" : ", ", '.', name, " = ", cpp_text(value));
    });
    return "{" + text + "}";
}

/// A string literal.
[[nodiscard]] inline std::string cpp_string(std::string_view text) {
    std::string literal = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') literal += '\\';
        literal += c;
    }
    return literal + '"';
}

}  // namespace primsel::inline PRIMSEL_ABI::frozen::detail
