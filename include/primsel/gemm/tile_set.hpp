// Which register tiles a program has.
#pragma once

#include <primsel/core/config.hpp>

namespace primsel::inline PRIMSEL_ABI::gemm {

/// The tiles that are compiled for an Arch: every_tile, unless Arch::tiles says less. Products in panels for
/// which there are none are computed by a small loop, with the same bits.
struct TileSet {
    /// The widths of panels: bit v for v + 1 vectors.
    unsigned widths = ~0U;
    /// The blocks of depthwise convolutions: bits of DepthwiseHwc::block.
    unsigned depthwise = ~0U;
    bool row_bias = true;  ///< a bias for each row of C
    bool residual = true;
    bool walks = true;   ///< an A that is an image in place, of several taps
    bool places = true;  ///< the same, of short runs
    bool places_of_b = true;
    bool transposed = true;    ///< an A that is stored transposed
    bool few_channels = true;  ///< Winograd's tiles of fewer than 16 channels
    bool halves = true;        ///< panels that end with half a vector of columns, where has_halves

    friend bool operator==(TileSet const&, TileSet const&) = default;
    /// Returns the tiles of both.
    friend constexpr TileSet operator|(TileSet const& a, TileSet const& b) {
        return {.widths = a.widths | b.widths,
                .depthwise = a.depthwise | b.depthwise,
                .row_bias = a.row_bias || b.row_bias,
                .residual = a.residual || b.residual,
                .walks = a.walks || b.walks,
                .places = a.places || b.places,
                .places_of_b = a.places_of_b || b.places_of_b,
                .transposed = a.transposed || b.transposed,
                .few_channels = a.few_channels || b.few_channels,
                .halves = a.halves || b.halves};
    }
};

inline constexpr TileSet every_tile{};
inline constexpr TileSet no_tile{.widths = 0,
                                 .depthwise = 0,
                                 .row_bias = false,
                                 .residual = false,
                                 .walks = false,
                                 .places = false,
                                 .places_of_b = false,
                                 .transposed = false,
                                 .few_channels = false,
                                 .halves = false};

template <class Arch>
inline constexpr TileSet tile_set = every_tile;
template <class Arch>
    requires requires { Arch::tiles; }
inline constexpr TileSet tile_set<Arch> = Arch::tiles;

}  // namespace primsel::inline PRIMSEL_ABI::gemm
