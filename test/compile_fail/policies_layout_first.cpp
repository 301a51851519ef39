// expect: primsel: images come and results go in the first of the layouts, which must be of floats
#include <primsel/engine/engine.hpp>

#include <cstdint>

namespace ps = primsel;
using namespace ps::layer;

struct Net : ps::Network<Input<1, 4, 4>, Conv<2, 3>> {};

struct First : ps::chw {
    static constexpr std::string_view name = "first";
#ifndef PRIMSEL_TEST_FIXED
    using element = std::int8_t;
#endif
};

struct Mine : ps::DefaultPolicies {
    using primitives = ps::TypeList<ps::DirectSum2d>;
    using layouts = ps::TypeList<First, ps::chw>;
};

void use(ps::Weights const& weights) { ps::Engine<Net, Mine> engine{weights}; }
