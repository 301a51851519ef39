// expect: primsel: a primitive's pack is no pack<Arch>(shape, kernel, dst) nor one of (shape, kernel_view, dst,
#include <primsel/engine/engine.hpp>

namespace ps = primsel;
using namespace ps::layer;

struct Net : ps::Network<Input<1, 4, 4>, Conv<2, 3>> {};

/// Rearranges the kernel, but for no instruction set that anybody asks for.
struct Packing {
    static constexpr std::string_view id = "packing";
    static constexpr ps::Family family = ps::Family::other;
    using in_layout = ps::chw;
    using out_layout = ps::chw;
    static ps::Support supports(ps::ConvShape const&) { return ps::Support::no("is a test"); }
    template <class Arch>
    static void run(ps::ConvShape const&, ps::ConvArgs const&) noexcept {}
#ifdef PRIMSEL_TEST_FIXED
    template <class Arch>
#endif
    static void pack(ps::ConvShape const&, const float*, float*) {
    }
};

struct Mine : ps::DefaultPolicies {
    using primitives = ps::TypeList<ps::DirectSum2d>::with<Packing>;
};

void use(ps::Weights const& weights) { ps::Engine<Net, Mine> engine{weights}; }
