// expect: primsel: this layer's kernel is larger than its padded input
#include <primsel/network/network.hpp>

using namespace primsel::layer;

#ifdef PRIMSEL_TEST_FIXED
struct Net : primsel::Network<Input<3, 8, 8>, MaxPool<2>, MaxPool<2>, MaxPool<2>> {};
#else
struct Net : primsel::Network<Input<3, 6, 6>, MaxPool<2>, MaxPool<2>, MaxPool<2>> {};
#endif
