// expect: primsel: a primitive's layout is missing from the policies' layouts
#include <primsel/engine/engine.hpp>

namespace ps = primsel;
using namespace ps::layer;

struct Net : ps::Network<Input<1, 4, 4>, Conv<2, 3>> {};

struct Mine : ps::DefaultPolicies {
    using primitives = ps::TypeList<ps::DirectSum2d, ps::DirectHwc>;
#ifdef PRIMSEL_TEST_FIXED
    using layouts = ps::TypeList<ps::chw, ps::hwc>;
#else
    using layouts = ps::TypeList<ps::chw>;
#endif
};

void use(ps::Weights const& weights) { ps::Engine<Net, Mine> engine{weights}; }
