// compare [--costs analytical|measured] [--rounds N] [NETWORK...]
//
// Times the plan of each network against greedy and each uniform plan, in turns, one thread, seeded random weights.
#include <primsel/kernels/extern_kernels.hpp>
#include <primsel/primsel.hpp>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace ps = primsel;

namespace {

template <ps::CostModel Model>
void compare(std::string const& name, Model& model, std::size_t rounds) {
    // Every primitive there is, for each family to be at its best.
    const ps::Kernels kernels = ps::make_kernels<ps::AllPrimitives, ps::default_arch, ps::AllLayouts>();
    const ps::Graph graph = ps::zoo::graph(name), simplified = ps::simplify(graph);
    std::vector<ps::ComparedPlan> plans = ps::rival_plans(simplified, kernels, model);
    ps::Sequential sequential;
    ps::time_plans(plans, simplified, kernels, ps::random_weights(graph), sequential, rounds);
    std::printf("%s, costs %s: predicted in %.3f ms, solved in %.3f ms, %s\n", name.c_str(), Model::name.data(),
                plans[0].plan.predict_seconds * 1e3, plans[0].plan.solve_seconds * 1e3,
                plans[0].plan.optimal ? "proven optimal" : "not proven optimal");
    for (ps::ComparedPlan const& plan : plans) {
        std::printf("  %-18s predicted %9.3f ms  measured %9.3f ms  %6.2fx the plan\n", plan.name.c_str(),
                    plan.plan.total_seconds * 1e3, plan.seconds * 1e3, plan.seconds / plans[0].seconds);
    }
    std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) try {
    bool measured = false;
    std::size_t rounds = 9;
    std::vector<std::string> names;
    for (int i = 1; i < argc; ++i) {
        const std::string argument = argv[i];
        const auto value = [&] {
            if (++i == argc) ps::fail("compare: ", argument, " needs a value");
            return std::string(argv[i]);
        };
        if (argument == "--costs")
            measured = value() == "measured";
        else if (argument == "--rounds")
            rounds = std::strtoul(value().c_str(), nullptr, 10);
        else
            names.push_back(argument);
    }
    if (rounds == 0) ps::fail("compare: --rounds needs a number above 0");
    if (names.empty()) {
        for (ps::zoo::Entry const& entry : ps::zoo::entries) names.emplace_back(entry.name);
    }
    ps::measure::Measured by_measuring;
    ps::SemiEmpiricalCosts by_formula;
    for (std::string const& name : names) {
        if (measured)
            compare(name, by_measuring, rounds);
        else
            compare(name, by_formula, rounds);
    }
} catch (std::exception const& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}
