// Sets of tiles; panel.cpp tests that products without a tile have the same bits.
#include <primsel/core/simd.hpp>
#include <primsel/gemm/tile_set.hpp>

#include <doctest/doctest.h>

namespace gemm_tile_set {

namespace gemm = primsel::gemm;

struct Few : primsel::default_arch {
    static constexpr gemm::TileSet tiles{.widths = 5, .residual = false};
};

TEST_CASE("a set of tiles is all of them unless the Arch says less; sets unite") {
    CHECK(gemm::tile_set<primsel::default_arch> == gemm::every_tile);
    CHECK(gemm::tile_set<Few> == Few::tiles);
    const gemm::TileSet other{.widths = 2, .row_bias = false, .walks = false};
    for (const gemm::TileSet set : {gemm::every_tile, gemm::no_tile, Few::tiles, other}) {
        CHECK((set | set) == set);
        CHECK((set | gemm::no_tile) == set);
        CHECK((set | gemm::every_tile) == gemm::every_tile);
        CHECK((set | other) == (other | set));
    }
    CHECK((Few::tiles | other) == gemm::TileSet{.widths = 7});
}

}  // namespace gemm_tile_set
