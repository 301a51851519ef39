// expect: primsel: Policies::layouts is empty
#include <primsel/engine/engine.hpp>

namespace ps = primsel;
using namespace ps::layer;

struct Net : ps::Network<Input<1, 4, 4>, Conv<2, 3>> {};

struct Mine : ps::DefaultPolicies {
    using primitives = ps::TypeList<ps::DirectSum2d>;
#ifdef PRIMSEL_TEST_FIXED
    using layouts = ps::TypeList<ps::chw>;
#else
    using layouts = ps::TypeList<>;
#endif
};

void use(ps::Weights const& weights) { ps::Engine<Net, Mine> engine{weights}; }
