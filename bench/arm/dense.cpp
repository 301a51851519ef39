// A dense layer on rows; loops.py reads its assembly.
#include <primsel/op/dense.hpp>

namespace ps = primsel;

void run(ps::DenseRowsParams const& params, ps::OpArgs const& args) {
    ps::Op<ps::DenseRowsParams>::run<ps::default_arch, ps::chw>(params, args);
}
