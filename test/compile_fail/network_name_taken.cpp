// expect: primsel: two layers of this network have the same name, that of this NameTaken
// expect: "block.same"
#include <primsel/network/network.hpp>

using namespace primsel::layer;

#ifdef PRIMSEL_TEST_FIXED
struct Net : primsel::Network<Input<3, 8, 8>, Named<"block", Path<Named<"same", Relu>>>, Named<"same", Relu>> {};
#else
struct Net : primsel::Network<Input<3, 8, 8>, Named<"block", Path<Named<"same", Relu>>>, Named<"block.same", Relu>> {};
#endif
