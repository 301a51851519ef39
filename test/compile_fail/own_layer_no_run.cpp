// expect: primsel: a layer of your own has no run<Arch, Layout>(args) const noexcept in one of its layouts; see
#include <primsel/kernels/own_layer.hpp>
#include <primsel/network/network.hpp>

namespace ps = primsel;
using namespace ps::layer;

/// It may throw while an image runs.
struct Twice {
    static constexpr std::string_view name = "twice";
    static constexpr ps::Shape output(std::span<const ps::Shape> inputs) { return inputs[0]; }
    template <class Arch, class L>
    void run(ps::OpArgs const&) const
#ifdef PRIMSEL_TEST_FIXED
        noexcept
#endif
    {
    }
};

struct Net : ps::Network<Input<3, 8, 8>, Conv<8, 3>, Own<Twice>> {};
