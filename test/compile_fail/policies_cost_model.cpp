// expect: primsel: Policies::cost_model has no predict(kernels, span of TransformQuery, span of seconds); see
#include <primsel/engine/engine.hpp>

namespace ps = primsel;
using namespace ps::layer;

struct Net : ps::Network<Input<1, 4, 4>, Conv<2, 3>> {};

/// Knows what convolutions cost, and nothing else.
struct OnlyConvolutions {
    static constexpr std::string_view name = "only_convolutions";
    void predict(ps::Kernels const&, std::span<const ps::ConvQuery>, std::span<double>) const {}
#ifdef PRIMSEL_TEST_FIXED
    void predict(ps::Kernels const&, std::span<const ps::TransformQuery>, std::span<double>) const {}
    void predict(ps::Kernels const&, std::span<const ps::OpQuery>, std::span<double>) const {}
#endif
};

struct Mine : ps::DefaultPolicies {
    using primitives = ps::TypeList<ps::DirectSum2d>;
    using cost_model = OnlyConvolutions;
};

void use(ps::Weights const& weights) { ps::Engine<Net, Mine> engine{weights}; }
