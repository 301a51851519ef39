// expect: primsel: a shape's channels, height or width are below 1
#include <primsel/network/network.hpp>

using namespace primsel::layer;

#ifdef PRIMSEL_TEST_FIXED
struct Net : primsel::Network<Input<1, 8, 8>> {};
#else
struct Net : primsel::Network<Input<0, 8, 8>> {};
#endif
