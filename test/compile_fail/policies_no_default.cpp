// expect: primsel: Policies::solver has no default constructor: hand one over, Predict{model, solver}; see
// docs/engine/planner.md
#include <primsel/engine/engine.hpp>

namespace ps = primsel;
using namespace ps::layer;

struct Net : ps::Network<Input<1, 4, 4>, Conv<2, 3>> {};

struct Patient : ps::ExactPbqp {
#ifdef PRIMSEL_TEST_FIXED
    Patient() = default;
#endif
    explicit Patient(double seconds);
};

struct Mine : ps::DefaultPolicies {
    using primitives = ps::TypeList<ps::DirectSum2d>;
    using solver = Patient;
};

void use(ps::Weights const& weights) { ps::Engine<Net, Mine> engine{weights}; }
