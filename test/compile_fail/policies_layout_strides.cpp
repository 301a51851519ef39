// expect: primsel: a layout's strides is no strides(shape) that returns Strides; see docs/tensor/layout.md
#include <primsel/engine/engine.hpp>

namespace ps = primsel;
using namespace ps::layer;

struct Net : ps::Network<Input<1, 4, 4>, Conv<2, 3>> {};

/// chw, whose distances nobody understands.
struct Distant : ps::chw {
    static constexpr std::string_view name = "distant";
#ifdef PRIMSEL_TEST_FIXED
    static constexpr ps::Strides strides(ps::Shape shape) { return ps::chw::strides(shape); }
#else
    static constexpr std::size_t strides(ps::Shape shape) { return shape.pixels(); }
#endif
};

struct Mine : ps::DefaultPolicies {
    using primitives = ps::TypeList<ps::DirectSum2d>;
    using layouts = ps::AllLayouts::with<Distant>;
};

void use(ps::Weights const& weights) { ps::Engine<Net, Mine> engine{weights}; }
