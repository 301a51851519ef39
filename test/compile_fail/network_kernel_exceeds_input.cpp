// expect: primsel: this layer's kernel is larger than its padded input
#include <primsel/network/network.hpp>

using namespace primsel::layer;

#ifdef PRIMSEL_TEST_FIXED
struct Net : primsel::Network<Input<3, 8, 8>, MaxPool<2>, Conv<16, 5>> {};
#else
struct Net : primsel::Network<Input<3, 8, 8>, MaxPool<2>, Conv<16, 5, Pad<0>>> {};
#endif
