// expect: primsel: Engine<Net> takes a type that inherits from primsel::Network, or primsel::Graph
#include <primsel/engine/engine.hpp>

namespace ps = primsel;
using namespace ps::layer;

struct Mine : ps::DefaultPolicies {
    using primitives = ps::TypeList<ps::DirectSum2d>;
};

#ifdef PRIMSEL_TEST_FIXED
struct Net : ps::Network<Input<1, 4, 4>, Conv<2, 3>> {};
#else
struct Net : Path<Input<1, 4, 4>, Conv<2, 3>> {};
#endif

void use(ps::Graph const& graph, ps::Weights const& weights) { ps::Engine<Net, Mine> engine{graph, weights}; }
