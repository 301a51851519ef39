// expect: primsel: the parameters of a layer of your own take more than 64 bytes
#include <primsel/kernels/own_layer.hpp>
#include <primsel/network/network.hpp>

namespace ps = primsel;
using namespace ps::layer;

/// Its table belongs into static storage.
struct Twice {
    static constexpr std::string_view name = "twice";
#ifdef PRIMSEL_TEST_FIXED
    float table[16] = {};
#else
    float table[17] = {};
#endif
    static constexpr ps::Shape output(std::span<const ps::Shape> inputs) { return inputs[0]; }
    constexpr void each_field(auto const& visit) const { visit("first", table[0]); }
    friend bool operator==(Twice const&, Twice const&) = default;
    template <class Arch, class L>
    void run(ps::OpArgs const&) const noexcept {}
};

struct Net : ps::Network<Input<3, 8, 8>, Conv<8, 3>, Own<Twice>> {};
