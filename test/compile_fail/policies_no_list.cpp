// expect: primsel: Policies::primitives is not a TypeList; see docs/primitive/primitive.md
#include <primsel/engine/engine.hpp>

namespace ps = primsel;
using namespace ps::layer;

struct Net : ps::Network<Input<1, 4, 4>, Conv<2, 3>> {};

struct Mine : ps::DefaultPolicies {
#ifdef PRIMSEL_TEST_FIXED
    using primitives = ps::TypeList<ps::DirectSum2d>;
#else
    using primitives = ps::DirectSum2d;
#endif
};

void use(ps::Weights const& weights) { ps::Engine<Net, Mine> engine{weights}; }
