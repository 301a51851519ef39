// expect: primsel: two layers of this network have the same name, that of this NameTaken
// expect: "input"
#include <primsel/network/network.hpp>

using namespace primsel::layer;

#ifdef PRIMSEL_TEST_FIXED
struct Net : primsel::Network<Input<3, 8, 8>, Named<"stem", Path<Named<"input", Relu>>>> {};
#else
struct Net : primsel::Network<Input<3, 8, 8>, Named<"input", Relu>> {};
#endif
