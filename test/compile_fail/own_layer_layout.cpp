// expect: primsel: a layer of your own has no run<Arch, Layout>(args) const noexcept in one of its layouts; see
#include <primsel/kernels/own_layer.hpp>
#include <primsel/network/network.hpp>

namespace ps = primsel;
using namespace ps::layer;

/// It names a layout that it does not run in.
struct Twice {
    static constexpr std::string_view name = "twice";
#ifdef PRIMSEL_TEST_FIXED
    using layouts = ps::TypeList<ps::chw>;
#else
    using layouts = ps::TypeList<ps::chw, ps::hwc>;
#endif
    static constexpr ps::Shape output(std::span<const ps::Shape> inputs) { return inputs[0]; }
    template <class Arch, class L>
        requires std::same_as<L, ps::chw>
    void run(ps::OpArgs const&) const noexcept {}
};

struct Net : ps::Network<Input<3, 8, 8>, Conv<8, 3>, Own<Twice>> {};
