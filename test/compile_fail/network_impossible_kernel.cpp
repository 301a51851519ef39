// expect: primsel: this layer's kernel or window is below 1
#include <primsel/network/network.hpp>

using namespace primsel::layer;

#ifdef PRIMSEL_TEST_FIXED
struct Net : primsel::Network<Input<3, 8, 8>, Conv<4, primsel::Extent{3, 1}>> {};
#else
struct Net : primsel::Network<Input<3, 8, 8>, Conv<4, primsel::Extent{3, 0}>> {};
#endif
