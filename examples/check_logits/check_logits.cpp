// check_logits DIR [NETWORK...]
//
// Runs networks on the weights and input that bench/peers/torch_reference.py wrote to DIR, with the plan and with each
// uniform plan, and compares the logits with PyTorch's: the largest difference relative to the logits' RMS.
#include "../difference.hpp"

#include <primsel/kernels/extern_kernels.hpp>
#include <primsel/primsel.hpp>

#include <cstdio>
#include <span>
#include <string>
#include <vector>

namespace ps = primsel;

namespace {

/// Returns whether every plan stays within the bound.
bool check(std::string const& directory, std::string const& name) {
    constexpr double bound = 1e-4;
    // Every primitive there is, for each family to be at its best.
    const ps::Kernels kernels = ps::make_kernels<ps::AllPrimitives, ps::default_arch, ps::AllLayouts>();
    const ps::Graph graph = ps::zoo::graph(name), simplified = ps::simplify(graph);
    const ps::Weights weights = ps::read_weights(directory + "/" + name + ".safetensors", graph);
    const ps::Weights reference = ps::read_safetensors(directory + "/" + name + ".reference.safetensors");
    const auto input = reference.at("input").values, logits = reference.at("logits").values,
               exact = reference.at("logits_double").values;
    ps::SemiEmpiricalCosts model;
    ps::Sequential sequential;
    bool good = true;
    std::printf("%s: PyTorch in single precision against double: %.1e\n", name.c_str(), difference(logits, exact));
    for (ps::ComparedPlan const& rival : ps::rival_plans(simplified, kernels, model)) {
        ps::Program program(simplified, kernels, rival.plan, weights, 1);
        std::vector<float> result(logits.size());
        program.run(input.data(), result.data(), sequential);
        const double worst = difference(result, logits);
        good = good && worst < bound;
        std::printf("  %-18s against PyTorch %.1e, against double precision %.1e%s\n", rival.name.c_str(), worst,
                    difference(result, exact), worst < bound ? "" : "  TOO FAR");
    }
    std::fflush(stdout);
    return good;
}

}  // namespace

int main(int argc, char** argv) try {
    if (argc < 2) ps::fail("usage: check_logits DIR [NETWORK...]");
    std::vector<std::string> names(argv + 2, argv + argc);
    if (names.empty()) {
        for (ps::zoo::Entry const& entry : ps::zoo::entries) names.emplace_back(entry.name);
    }
    bool good = true;
    for (std::string const& name : names) good = check(argv[1], name) && good;
    return good ? 0 : 1;
} catch (std::exception const& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}
