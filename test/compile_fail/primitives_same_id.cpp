// expect: primsel: two primitives of the list have the same id
#include <primsel/engine/engine.hpp>

namespace ps = primsel;
using namespace ps::layer;

struct Net : ps::Network<Input<1, 4, 4>, Conv<2, 3>> {};

/// A user's variant that forgot its name.
struct Variant : ps::DirectSum2d {
#ifdef PRIMSEL_TEST_FIXED
    static constexpr ps::FixedString id = "direct-variant";
#endif
};

struct Mine : ps::DefaultPolicies {
    using primitives = ps::TypeList<ps::DirectSum2d, Variant>;
};

void use(ps::Weights const& weights) { ps::Engine<Net, Mine> engine{weights}; }
