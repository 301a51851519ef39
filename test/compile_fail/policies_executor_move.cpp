// expect: primsel: Policies::executor cannot be moved; see docs/core/executor.md
#include <primsel/engine/engine.hpp>

namespace ps = primsel;
using namespace ps::layer;

struct Net : ps::Network<Input<1, 4, 4>, Conv<2, 3>> {};

struct Pinned : ps::Sequential {
#ifndef PRIMSEL_TEST_FIXED
    Pinned() = default;
    Pinned(Pinned const&) = delete;
#endif
};

struct Mine : ps::DefaultPolicies {
    using primitives = ps::TypeList<ps::DirectSum2d>;
    using executor = Pinned;
};

void use(ps::Weights const& weights) { ps::Engine<Net, Mine> engine{weights}; }
