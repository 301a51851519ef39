// The register tiles that a plan needs, so that a frozen network has no others.
#pragma once

#include <primsel/core/simd.hpp>
#include <primsel/gemm/panel.hpp>
#include <primsel/gemm/tile_set.hpp>
#include <primsel/primitive/conv_shape.hpp>
#include <primsel/primitive/depthwise.hpp>

#include <string_view>

namespace primsel::inline PRIMSEL_ABI::frozen::detail {

/// Returns the tiles that a convolution takes in a primitive of that type.
[[nodiscard]] inline gemm::TileSet tiles_of(std::string_view type, ConvShape const& s, bool residual) {
    const auto has = [type](std::string_view text) { return type.find(text) != std::string_view::npos; };
    const auto is = [name = type.substr(0, type.find('<'))](std::string_view text) { return name == text; };
    gemm::TileSet tiles = gemm::no_tile;
    if (has("Depthwise")) tiles.depthwise = DepthwiseHwc::block<default_arch>(s);
    if (has("Depthwise") || has("DirectSum2d") || has("GroupedHwc") || has("Bf16") || has("Int8")) return tiles;
    const bool kernel_is_a = has("GemmOut::ki");
    const int columns = kernel_is_a ? static_cast<int>(s.out_pixels()) : s.group_k();
    for (int first = 0; first < columns; first += gemm::panel_width<default_arch>) {
        tiles.widths |= 1U << (gemm::panel_columns<default_arch>(first, columns) / lanes<default_arch> - 1);
    }
    const int rest = columns % lanes<default_arch>;
    tiles.halves = rest > 0 && rest <= lanes<default_arch> / 2;
    if (is("primsel::Winograd") || is("primsel::WinogradLine")) {
        tiles.few_channels = s.c < 16 || s.k < 16;
        return tiles;
    }
    if (is("primsel::WinogradStem")) {
        tiles.walks = tiles.places = true;
        return tiles;
    }
    tiles.residual = residual;
    if (is("primsel::Indirect")) return tiles;
    if (is("primsel::DirectHwc") || is("primsel::DirectChwHwc")) {
        const int run = s.groups == 1 && s.dilation_w == 1 ? s.c * s.fw : s.group_c();
        tiles.walks = s.taps() > 1;
        tiles.places = tiles.walks && run < 32;
        return tiles;
    }
    if ((is("primsel::Conv1x1Gemm") || is("primsel::Im2")) && (kernel_is_a || has("GemmOut::ik"))) {
        tiles.row_bias = kernel_is_a;
        tiles.transposed = has("GemmForm::atb");
        return tiles;
    }
    return gemm::every_tile;
}

}  // namespace primsel::inline PRIMSEL_ABI::frozen::detail
