// The transforms of Winograd's filters, four tiles of 16 channels; loops.py traces them.
#include "layer.hpp"

#include <primsel/primitive/winograd.hpp>

#include <string>

namespace ps = primsel;

namespace {

/// `vec` is the number of channels side by side in the primitives that are chosen from.
template <int m, int vec>
void transforms() {
    using Tiles = ps::primitive::detail::WinogradTiles<m, 3, ps::DefaultPoints<m + 1>>;
    const ps::ConvShape s{.c = 16, .k = 16, .h = m + 2, .w = 4 * m + 2, .fh = 3, .fw = 3};
    ps::Sequential executor;
    const ps::ConvArgs args{.bias = room[1], .dst = room[2], .executor = executor};
    const std::string filter = "F(" + std::to_string(m) + "x" + std::to_string(m) + ", 3x3)";
    layer((filter + " of the image").c_str(), 0, [&] {
        for (int tile = 0; tile < 4; ++tile)
            Tiles::template transform_input<vec>(s, room[0], room[3], tile, room[2], 64);
    });
    layer((filter + " of the result").c_str(), 0, [&] {
        for (int tile = 0; tile < 4; ++tile) Tiles::template transform_output<vec>(s, args, 0, tile, room[0], 64);
    });
}

}  // namespace

int main() {
    transforms<2, 8>();
    transforms<4, 8>();
    transforms<6, 16>();
}
