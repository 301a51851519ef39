// expect: primsel: a Network begins with an Input<channels, height, width>
#include <primsel/network/network.hpp>

using namespace primsel::layer;

#ifdef PRIMSEL_TEST_FIXED
struct Net : primsel::Network<Input<3, 8, 8>, Conv<8, 3>, Relu> {};
#else
struct Net : primsel::Network<Conv<8, 3>, Relu> {};
#endif
