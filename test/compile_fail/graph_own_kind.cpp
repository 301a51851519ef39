// expect: primsel: this type is not a layer: it has no constexpr text `name`; see docs/layer/own_layer.md
#include <primsel/network/graph.hpp>

/// A kind of layer that no engine has an op for.
struct TwiceParams {
    float factor = 2.0F;
};

void use(primsel::Graph& graph) {
#ifdef PRIMSEL_TEST_FIXED
    graph.add("twice", primsel::ScaleParams{}, {0});
#else
    graph.add("twice", TwiceParams{}, {0});
#endif
}
