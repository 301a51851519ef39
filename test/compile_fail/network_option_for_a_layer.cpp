// expect: primsel: this type is not a layer
#include <primsel/network/network.hpp>

using namespace primsel::layer;

#ifdef PRIMSEL_TEST_FIXED
struct Net : primsel::Network<Input<3, 8, 8>, Residual<Conv<3, 3, Stride<1>>>> {};
#else
struct Net : primsel::Network<Input<3, 8, 8>, Residual<Conv<3, 3>, Stride<2>>> {};
#endif
