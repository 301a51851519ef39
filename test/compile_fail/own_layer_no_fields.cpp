// expect: primsel: a layer of your own has parameters and no each_field(visit) const; see docs/layer/own_layer.md
#include <primsel/kernels/own_layer.hpp>
#include <primsel/network/network.hpp>

namespace ps = primsel;
using namespace ps::layer;

/// Plans cannot name its parameter.
struct Twice {
    static constexpr std::string_view name = "twice";
    int factor = 2;
    static constexpr ps::Shape output(std::span<const ps::Shape> inputs) { return inputs[0]; }
    friend bool operator==(Twice const&, Twice const&) = default;
#ifdef PRIMSEL_TEST_FIXED
    constexpr void each_field(auto const& visit) const { visit("factor", factor); }
#endif
    template <class Arch, class L>
    void run(ps::OpArgs const&) const noexcept {}
};

struct Net : ps::Network<Input<3, 8, 8>, Conv<8, 3>, Own<Twice>> {};
