// expect: primsel: a layout of other elements than floats must bring its own transform_from and transform_to
#include <primsel/engine/engine.hpp>

#include <cstdint>

namespace ps = primsel;
using namespace ps::layer;

struct Net : ps::Network<Input<1, 4, 4>, Conv<2, 3>> {};

struct Bytes : ps::chw {
    using element = std::int8_t;
    static constexpr std::string_view name = "bytes";
#ifdef PRIMSEL_TEST_FIXED
    static void transform_from(ps::chw, ps::Shape, const float*, float*, ps::ExecutorRef) noexcept {}
    static void transform_to(ps::chw, ps::Shape, const float*, float*, ps::ExecutorRef) noexcept {}
#endif
};

struct Mine : ps::DefaultPolicies {
    using primitives = ps::TypeList<ps::DirectSum2d>;
    using layouts = ps::TypeList<ps::chw, Bytes>;
};

void use(ps::Weights const& weights) { ps::Engine<Net, Mine> engine{weights}; }
