// expect: primsel: this type is not a layer: it has no constexpr text `name`; see docs/layer/own_layer.md
#include <primsel/network/network.hpp>

using namespace primsel::layer;

/// A kind of layer that no engine has an op for.
struct TwiceParams {
    static constexpr std::string_view name() { return "twice"; }
    constexpr void each_field(auto const&) const {}
    static constexpr primsel::Fault check(std::span<const primsel::Shape>) { return primsel::Fault::none; }
    static constexpr primsel::Shape output(std::span<const primsel::Shape> inputs) { return inputs[0]; }
    friend bool operator==(TwiceParams const&, TwiceParams const&) = default;
};
static_assert(primsel::LayerParams<TwiceParams>);
struct Twice {
#ifdef PRIMSEL_TEST_FIXED
    static constexpr primsel::ScaleParams params{.known = true, .factor = 2.0F};
#else
    static constexpr TwiceParams params{};
#endif
};

struct Net : primsel::Network<Input<3, 8, 8>, Conv<8, 3>, Twice> {};
