// expect: primsel: the branches concatenated here differ in height or width
#include <primsel/network/network.hpp>

using namespace primsel::layer;

#ifdef PRIMSEL_TEST_FIXED
struct Net : primsel::Network<Input<8, 8, 8>, Concat<Conv<4, 3>, MaxPool<3, Stride<1>, Pad<1>>>> {};
#else
struct Net : primsel::Network<Input<8, 8, 8>, Concat<Conv<4, 3>, MaxPool<3, Stride<1>>>> {};
#endif
