// expect: primsel: AveragePool has no such option; it has Stride, Pad, CeilMode and ExcludePad: see
// docs/layer/layers.md
#include <primsel/network/network.hpp>

using namespace primsel::layer;

#ifdef PRIMSEL_TEST_FIXED
struct Net : primsel::Network<Input<3, 8, 8>, AveragePool<3, Pad<1>, ExcludePad>> {};
#else
struct Net : primsel::Network<Input<3, 8, 8>, AveragePool<3, Pad<1>, Groups<1>>> {};
#endif
