// expect: primsel: this layer has an impossible parameter
#include <primsel/network/network.hpp>

using namespace primsel::layer;

#ifdef PRIMSEL_TEST_FIXED
struct Net : primsel::Network<Input<1, 8, 8>> {};
#else
struct Net : primsel::Network<Input<0, 8, 8>> {};
#endif
