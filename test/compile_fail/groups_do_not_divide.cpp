// expect: primsel: this layer's groups do not divide the channels
#include <primsel/network/network.hpp>

using namespace primsel::layer;
#ifdef PRIMSEL_TEST_FIXED
constexpr int groups = 3;
#else
constexpr int groups = 4;
#endif
struct Net : primsel::Network<Input<6, 8, 8>, Conv<12, 3, Groups<groups>>> {};
static_assert(Net::output_shape.c == 12);
