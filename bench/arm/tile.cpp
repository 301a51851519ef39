// The register tiles of a product; loops.py reads their assembly.
#include <primsel/gemm/panel.hpp>

namespace ps = primsel;

void multiply(ps::gemm::TileArgs const& t, int rows) {
    ps::gemm::multiply_panel<ps::default_arch>(t, 0, rows, ps::gemm::panel_width<ps::default_arch>);
}
