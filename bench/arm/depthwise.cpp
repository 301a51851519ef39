// A depthwise convolution; loops.py reads its assembly.
#include <primsel/primitive/depthwise.hpp>

namespace ps = primsel;

void run(ps::ConvShape const& shape, ps::ConvArgs const& args) { ps::DepthwiseHwc::run<ps::default_arch>(shape, args); }
