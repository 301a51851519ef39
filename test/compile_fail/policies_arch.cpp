// expect: primsel: Policies::arch is not an instruction set that this translation unit is compiled for; see
// docs/engine/policies.md
#include <primsel/engine/engine.hpp>

namespace ps = primsel;
using namespace ps::layer;

struct Net : ps::Network<Input<1, 4, 4>, Conv<2, 3>> {};

struct Mine : ps::DefaultPolicies {
    using primitives = ps::TypeList<ps::DirectSum2d>;
#ifndef PRIMSEL_TEST_FIXED
    using arch = xsimd::neon64;  // of another processor
#endif
};

void use(ps::Weights const& weights) { ps::Engine<Net, Mine> engine{weights}; }
