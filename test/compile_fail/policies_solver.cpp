// expect: primsel: Policies::solver has no name; see docs/pbqp/solver.md
#include <primsel/engine/engine.hpp>

namespace ps = primsel;
using namespace ps::layer;

struct Net : ps::Network<Input<1, 4, 4>, Conv<2, 3>> {};

/// Solves, but has no name to print.
struct Anonymous {
#ifdef PRIMSEL_TEST_FIXED
    static constexpr std::string_view name = "anonymous";
#endif
    ps::PbqpSolution solve(ps::PbqpProblem const& problem) const { return ps::ExactPbqp{}.solve(problem); }
};

struct Mine : ps::DefaultPolicies {
    using primitives = ps::TypeList<ps::DirectSum2d>;
    using solver = Anonymous;
};

void use(ps::Weights const& weights) { ps::Engine<Net, Mine> engine{weights}; }
