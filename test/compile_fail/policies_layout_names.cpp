// expect: primsel: two of the layouts have the same name; see docs/tensor/layout.md
#include <primsel/engine/engine.hpp>

namespace ps = primsel;
using namespace ps::layer;

struct Net : ps::Network<Input<1, 4, 4>, Conv<2, 3>> {};

struct Rows : ps::chw {
#ifdef PRIMSEL_TEST_FIXED
    static constexpr std::string_view name = "rows";
#endif
};

struct Mine : ps::DefaultPolicies {
    using primitives = ps::TypeList<ps::DirectSum2d>;
    using layouts = ps::AllLayouts::with<Rows>;
};

void use(ps::Weights const& weights) { ps::Engine<Net, Mine> engine{weights}; }
