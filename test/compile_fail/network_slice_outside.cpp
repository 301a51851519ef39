// expect: primsel: this slice lies outside the input
#include <primsel/network/network.hpp>

using namespace primsel::layer;

#ifdef PRIMSEL_TEST_FIXED
struct Net : primsel::Network<Input<8, 8, 8>, Slice<4, 8>> {};
#else
struct Net : primsel::Network<Input<8, 8, 8>, Slice<4, 9>> {};
#endif
