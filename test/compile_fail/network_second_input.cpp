// expect: primsel: this layer has the wrong number of inputs
#include <primsel/network/network.hpp>

using namespace primsel::layer;

#ifdef PRIMSEL_TEST_FIXED
struct Net : primsel::Network<Input<3, 8, 8>, Conv<8, 3>> {};
#else
struct Net : primsel::Network<Input<3, 8, 8>, Conv<8, 3>, Input<8, 8, 8>> {};
#endif
