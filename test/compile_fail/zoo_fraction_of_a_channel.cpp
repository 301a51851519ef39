// expect: primsel: this width leaves a fraction of a channel
#include <primsel/network/zoo/resnet.hpp>

#ifdef PRIMSEL_TEST_FIXED
using Width = std::ratio<1, 64>;
#else
using Width = std::ratio<1, 100>;
#endif
static_assert(primsel::zoo::ResNet18Of<224, 1000, Width>::output_shape.c == 1000);
