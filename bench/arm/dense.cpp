// Dense layers of 512 inputs and 64 outputs, on one image and on several rows; loops.py traces them.
#include "layer.hpp"

#include <primsel/op/dense.hpp>

#include <string>

namespace ps = primsel;
using Arch = ps::default_arch;

int main() {
    for (const int rows : {1, 12}) {
        const ps::Shape in{.c = 1, .h = rows, .w = 512}, out{.c = 1, .h = rows, .w = 64};
        const float* src = room[0];
        ps::Sequential executor;
        const ps::OpArgs args{.src = {&src, 1},
                              .src_shape = {&in, 1},
                              .dst = room[2],
                              .dst_shape = out,
                              .weights = room[1],
                              .executor = executor};
        layer(("dense, " + std::to_string(rows) + " rows").c_str(), 512L * 16 * rows,
              [&] { ps::Op<ps::DenseRowsParams>::run<Arch, ps::chw>({.k = 64}, args); });
    }
}
