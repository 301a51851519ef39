// expect: primsel: Dense has no such option; it has NoBias: see docs/layer/layers.md
// expect: Stride
#include <primsel/network/network.hpp>

using namespace primsel::layer;

#ifdef PRIMSEL_TEST_FIXED
struct Net : primsel::Network<Input<3, 8, 8>, Dense<10, NoBias>> {};
#else
struct Net : primsel::Network<Input<3, 8, 8>, Dense<10, Stride<2>>> {};
#endif
