// expect: primsel: Policies::executor has no noexcept parallel_for(std::size_t, BlockFunction); see
#include <primsel/engine/engine.hpp>

namespace ps = primsel;
using namespace ps::layer;

struct Net : ps::Network<Input<1, 4, 4>, Conv<2, 3>> {};

/// An executor that may throw: run() calls it, so it must not compile.
struct Throwing {
    std::size_t concurrency() const noexcept { return 1; }
#ifdef PRIMSEL_TEST_FIXED
    void parallel_for(std::size_t blocks, ps::BlockFunction function) noexcept {
        while (blocks-- > 0) function(blocks, 0);
    }
#else
    void parallel_for(std::size_t blocks, ps::BlockFunction function) {
        while (blocks-- > 0) function(blocks, 0);
    }
#endif
};

struct Mine : ps::DefaultPolicies {
    using primitives = ps::TypeList<ps::DirectSum2d>;
    using executor = Throwing;
};

void use(ps::Weights const& weights) { ps::Engine<Net, Mine> engine{weights}; }
