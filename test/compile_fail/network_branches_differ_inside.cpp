// expect: primsel: the branches that are added here differ in shape
#include <primsel/network/network.hpp>

using namespace primsel::layer;

#ifdef PRIMSEL_TEST_FIXED
struct Net : primsel::Network<Input<8, 8, 8>, Named<"block", Concat<Relu, Sum<Sigmoid, Path<Relu, Conv<8, 3>>>>>> {};
#else
struct Net : primsel::Network<Input<8, 8, 8>, Named<"block", Concat<Relu, Sum<MaxPool<2>, Path<Relu, Conv<8, 3>>>>>> {};
#endif
