// expect: primsel: this layer has the wrong number of inputs
#include <primsel/network/network.hpp>

using namespace primsel::layer;

#ifdef PRIMSEL_TEST_FIXED
struct Net : primsel::Network<Input<3, 8, 8>, Product<Conv<3, 3>, Path<>>> {};
#else
struct Net : primsel::Network<Input<3, 8, 8>, Product<Conv<3, 3>>> {};
#endif
