// expect: primsel: Policies::machine has no speeds<Arch>(int) that returns a Machine; see docs/engine/policies.md
#include <primsel/engine/engine.hpp>

namespace ps = primsel;
using namespace ps::layer;

struct Net : ps::Network<Input<1, 4, 4>, Conv<2, 3>> {};

/// Knows its speeds, but not those of an instruction set.
struct Known {
#ifdef PRIMSEL_TEST_FIXED
    template <class Arch>
#endif
    static ps::Machine const& speeds(int) {
        static const ps::Machine machine;
        return machine;
    }
};

struct Mine : ps::DefaultPolicies {
    using primitives = ps::TypeList<ps::DirectSum2d>;
    using machine = Known;
};

void use(ps::Weights const& weights) { ps::Engine<Net, Mine> engine{weights}; }
