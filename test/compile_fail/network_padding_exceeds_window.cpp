// expect: primsel: this padding is larger than the pooling window
#include <primsel/network/network.hpp>

using namespace primsel::layer;

#ifdef PRIMSEL_TEST_FIXED
struct Net : primsel::Network<Input<8, 8, 8>, MaxPool<3, Pad<2>>> {};
#else
struct Net : primsel::Network<Input<8, 8, 8>, MaxPool<2, Pad<2>>> {};
#endif
