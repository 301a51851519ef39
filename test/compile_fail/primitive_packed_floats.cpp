// expect: primsel: a primitive has packed_floats, but no pack that fills them; see docs/primitive/primitive.md
#include <primsel/engine/engine.hpp>

namespace ps = primsel;
using namespace ps::layer;

struct Net : ps::Network<Input<1, 4, 4>, Conv<2, 3>> {};

/// Wants room that nobody fills.
struct Roomy {
    static constexpr std::string_view id = "roomy";
    static constexpr ps::Family family = ps::Family::other;
    using in_layout = ps::chw;
    using out_layout = ps::chw;
    static ps::Support supports(ps::ConvShape const&) { return ps::Support::no("is a test"); }
    template <class Arch>
    static void run(ps::ConvShape const&, ps::ConvArgs const&) noexcept {}
    template <class Arch>
    static std::size_t packed_floats(ps::ConvShape const&) {
        return 1;
    }
#ifdef PRIMSEL_TEST_FIXED
    template <class Arch>
    static void pack(ps::ConvShape const&, const float*, float*) {}
#endif
};

struct Mine : ps::DefaultPolicies {
    using primitives = ps::TypeList<ps::DirectSum2d>::with<Roomy>;
};

void use(ps::Weights const& weights) { ps::Engine<Net, Mine> engine{weights}; }
