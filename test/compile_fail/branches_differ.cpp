// expect: primsel: the branches that are added here differ in shape
#include <primsel/network/network.hpp>

using namespace primsel::layer;
#ifdef PRIMSEL_TEST_FIXED
constexpr int k = 6;
#else
constexpr int k = 12;
#endif
struct Net : primsel::Network<Input<6, 8, 8>, Residual<Conv<k, 3>, Relu>> {};
static_assert(Net::output_shape.h == 8);
