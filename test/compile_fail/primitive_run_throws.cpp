// expect: primsel: a primitive has no noexcept run<Arch>(shape, args); see docs/primitive/primitive.md
#include <primsel/engine/engine.hpp>

namespace ps = primsel;
using namespace ps::layer;

struct Net : ps::Network<Input<1, 4, 4>, Conv<2, 3>> {};

/// May throw while an image runs.
struct Throwing {
    static constexpr std::string_view id = "throwing";
    static constexpr ps::Family family = ps::Family::other;
    using in_layout = ps::chw;
    using out_layout = ps::chw;
    static ps::Support supports(ps::ConvShape const&) { return ps::Support::no("is a test"); }
    template <class Arch>
    static void run(ps::ConvShape const&, ps::ConvArgs const&)
#ifdef PRIMSEL_TEST_FIXED
        noexcept
#endif
    {
    }
};

struct Mine : ps::DefaultPolicies {
    using primitives = ps::TypeList<ps::DirectSum2d>::with<Throwing>;
};

void use(ps::Weights const& weights) { ps::Engine<Net, Mine> engine{weights}; }
