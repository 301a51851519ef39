// expect: primsel: Policies::gemm has no id, a FixedString; see docs/primitive/gemm.md
#include <primsel/engine/engine.hpp>

namespace ps = primsel;
using namespace ps::layer;

struct Net : ps::Network<Input<1, 4, 4>, Conv<2, 3>> {};

/// Multiplies, but has no name for the ids of primitives.
struct Anonymous : ps::SimdGemm {
#ifndef PRIMSEL_TEST_FIXED
private:
#endif
    static constexpr ps::FixedString id = "anonymous";
};

struct Mine : ps::DefaultPolicies {
    using primitives = ps::TypeList<ps::Kn2Row<>>;
    using gemm = Anonymous;
};

void use(ps::Weights const& weights) { ps::Engine<Net, Mine> engine{weights}; }
