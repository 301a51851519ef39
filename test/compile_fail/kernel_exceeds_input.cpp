// expect: primsel: this layer's kernel is larger than its padded input
#include <primsel/network/network.hpp>

using namespace primsel::layer;
#ifdef PRIMSEL_TEST_FIXED
using Fits = Conv<4, 5, Pad<2>>;
#else
using Fits = Conv<4, 5, Pad<0>>;
#endif
struct Net : primsel::Network<Input<3, 4, 4>, Fits, Relu> {};
static_assert(Net::output_shape.c == 4);
