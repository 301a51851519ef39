// expect: primsel: a primitive has no supports(shape) that returns Support; see docs/primitive/primitive.md
#include <primsel/engine/engine.hpp>

namespace ps = primsel;
using namespace ps::layer;

struct Net : ps::Network<Input<1, 4, 4>, Conv<2, 3>> {};

/// Never says which shapes it can compute.
struct Unsure {
    static constexpr std::string_view id = "unsure";
    static constexpr ps::Family family = ps::Family::other;
    using in_layout = ps::chw;
    using out_layout = ps::chw;
#ifdef PRIMSEL_TEST_FIXED
    static ps::Support supports(ps::ConvShape const&) { return ps::Support::no("is a test"); }
#endif
    template <class Arch>
    static void run(ps::ConvShape const&, ps::ConvArgs const&) noexcept {}
};

struct Mine : ps::DefaultPolicies {
    using primitives = ps::TypeList<ps::DirectSum2d>::with<Unsure>;
};

void use(ps::Weights const& weights) { ps::Engine<Net, Mine> engine{weights}; }
