// expect: primsel: Policies::solver is missing; see docs/engine/policies.md
#include <primsel/engine/engine.hpp>

namespace ps = primsel;
using namespace ps::layer;

struct Net : ps::Network<Input<1, 4, 4>, Conv<2, 3>> {};

/// Inherits no defaults.
struct Mine {
    using arch = ps::default_arch;
    using primitives = ps::TypeList<ps::DirectSum2d>;
    using gemm = ps::SimdGemm;
    using layouts = ps::AllLayouts;
    using cost_model = ps::Analytical;
    using machine = ps::MeasuredMachine;
#ifdef PRIMSEL_TEST_FIXED
    using solver = ps::ExactPbqp;
#endif
    using executor = ps::Sequential;
};

void use(ps::Weights const& weights) { ps::Engine<Net, Mine> engine{weights}; }
