#pragma once

#include <primsel/primitive/conv_shape.hpp>
#include <primsel/tensor/shape.hpp>

#include <array>
#include <compare>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::learn {

/// A convolution as datasets describe it (Mulder et al. 2020): a square one of one image, padded by f / 2 to keep its
/// size at stride 1.
struct ConvConfiguration {
    int c = 1, k = 1, im = 1, f = 1, s = 1;
    /// The names of a dataset's columns.
    static constexpr std::array<std::string_view, 5> columns{"c", "k", "im", "f", "s"};
    [[nodiscard]] static std::vector<std::string> inputs() { return {columns.begin(), columns.end()}; }

    [[nodiscard]] static constexpr ConvConfiguration of_row(std::span<const int> row) {
        return {.c = row[0], .k = row[1], .im = row[2], .f = row[3], .s = row[4]};
    }
    /// Returns nullopt for a convolution that c, k, im, f, s cannot describe: with groups, with dilation, or with
    /// unequal height and width. Padding is ignored.
    [[nodiscard]] static constexpr std::optional<ConvConfiguration> of(ConvShape const& shape) {
        const bool square = shape.h == shape.w && shape.fh == shape.fw && shape.stride_h == shape.stride_w;
        if (!square || shape.groups != 1 || shape.dilated()) return std::nullopt;
        return ConvConfiguration{.c = shape.c, .k = shape.k, .im = shape.h, .f = shape.fh, .s = shape.stride_h};
    }
    [[nodiscard]] constexpr std::array<int, 5> row() const { return {c, k, im, f, s}; }
    [[nodiscard]] constexpr ConvShape shape() const {
        const int pad = f / 2;
        return {.c = c,
                .k = k,
                .h = im,
                .w = im,
                .fh = f,
                .fw = f,
                .stride_h = s,
                .stride_w = s,
                .pad_top = pad,
                .pad_bottom = pad,
                .pad_left = pad,
                .pad_right = pad};
    }
    friend constexpr auto operator<=>(ConvConfiguration const&, ConvConfiguration const&) = default;
};

/// A tensor of c x im x im, as datasets of changes of layout describe it.
struct TensorConfiguration {
    int c = 1, im = 1;
    static constexpr std::array<std::string_view, 2> columns{"c", "im"};
    [[nodiscard]] static std::vector<std::string> inputs() { return {columns.begin(), columns.end()}; }

    [[nodiscard]] static constexpr TensorConfiguration of_row(std::span<const int> row) {
        return {.c = row[0], .im = row[1]};
    }
    [[nodiscard]] constexpr std::array<int, 2> row() const { return {c, im}; }
    [[nodiscard]] constexpr Shape shape() const { return {.c = c, .h = im, .w = im}; }
    friend constexpr auto operator<=>(TensorConfiguration const&, TensorConfiguration const&) = default;
};

}  // namespace primsel::inline PRIMSEL_ABI::learn
