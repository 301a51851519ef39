// expect: primsel: a type among the layouts has no size(shape) that returns std::size_t; see docs/tensor/layout.md
#include <primsel/engine/engine.hpp>

namespace ps = primsel;
using namespace ps::layer;

struct Net : ps::Network<Input<1, 4, 4>, Conv<2, 3>> {};

/// Pixels one by one, last pixel first; but how many floats are there?
struct Backwards {
    static constexpr std::string_view name = "backwards";
#ifdef PRIMSEL_TEST_FIXED
    static constexpr std::size_t size(ps::Shape shape) { return shape.size(); }
#endif
    static constexpr std::size_t offset(ps::Shape shape, ps::Coord at) {
        return shape.size() - 1 - ps::chw::offset(shape, at);
    }
};

struct Mine : ps::DefaultPolicies {
    using primitives = ps::TypeList<ps::DirectSum2d>;
    using layouts = ps::AllLayouts::with<Backwards>;
};

void use(ps::Weights const& weights) { ps::Engine<Net, Mine> engine{weights}; }
