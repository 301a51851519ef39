// expect: primsel: this type is not a layer
#include <primsel/network/network.hpp>

using namespace primsel::layer;
struct Surprise {
#ifdef PRIMSEL_TEST_FIXED
    static constexpr primsel::ActivationParams params{};
#endif
};
struct Net : primsel::Network<Input<3, 8, 8>, Surprise> {};
static_assert(Net::output_shape.c == 3);
