// expect: primsel: a layer of your own has no output(inputs) const that returns a Shape; see docs/layer/own_layer.md
#include <primsel/kernels/own_layer.hpp>
#include <primsel/network/network.hpp>

namespace ps = primsel;
using namespace ps::layer;

/// Nobody knows what shape it gives.
struct Twice {
    static constexpr std::string_view name = "twice";
#ifdef PRIMSEL_TEST_FIXED
    static constexpr ps::Shape output(std::span<const ps::Shape> inputs) { return inputs[0]; }
#endif
    template <class Arch, class L>
    void run(ps::OpArgs const&) const noexcept {}
};

struct Net : ps::Network<Input<3, 8, 8>, Conv<8, 3>, Own<Twice>> {};
