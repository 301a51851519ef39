// expect: primsel: the branches that are added here differ in shape
#include <primsel/network/network.hpp>

using namespace primsel::layer;

#ifdef PRIMSEL_TEST_FIXED
struct Net : primsel::Network<Input<8, 8, 8>, Residual<Conv<8, 3>, Relu>> {};
#else
struct Net : primsel::Network<Input<8, 8, 8>, Residual<Conv<16, 3>, Relu>> {};
#endif
