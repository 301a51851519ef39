// Runs a network by the primitives of several families and compares the results with those of an x86-64 processor. The
// same program may be compiled for any processor.
#include <primsel/engine/compare.hpp>
#include <primsel/primsel.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <vector>

namespace ps = primsel;

namespace {

using namespace ps::layer;

struct Net : ps::Network<Input<3, 20, 20>, Conv<16, 3>, Relu, Conv<24, 3>, Relu, MaxPool<2>, Conv<32, 1>, GlobalAvgPool,
                         Dense<10>, Softmax> {};

struct Few : ps::DefaultPolicies {
    using primitives =
        ps::TypeList<ps::DirectSum2d, ps::DirectHwc,
                     ps::Im2<ps::Patch::row, ps::PatchCopy::copy_short, ps::GemmForm::abt, ps::GemmOut::ki>,
                     ps::Winograd<2, 3, 4>>;
};

// Results of g++ 12 for AVX2.
constexpr std::array<float, 10> expected{0.0759892240F, 0.290617079F,  0.0170894898F, 0.0339631028F, 0.0738067180F,
                                         0.147635207F,  0.0817123726F, 0.0699403882F, 0.0695933402F, 0.139653057F};

}  // namespace

int main() try {
    const ps::Graph graph = Net::graph(), simplified = ps::simplify(graph);
    const ps::Weights weights = ps::random_weights(graph);
    const ps::Kernels kernels = ps::policy_kernels<Few>();
    ps::SemiEmpiricalCosts model;
    ps::Sequential sequential;
    bool good = true;
    std::vector<float> image(Net::input_shape.size());
    for (std::size_t i = 0; i < image.size(); ++i) image[i] = static_cast<float>(i * 31 % 101) / 101 - 0.5F;
    for (ps::ComparedPlan const& rival : ps::rival_plans(simplified, kernels, model)) {
        ps::Program program(simplified, kernels, rival.plan, weights, 1);
        std::array<float, 10> scores{};
        program.run(image.data(), scores.data(), sequential);
        float worst = 0;
        for (std::size_t i = 0; i < scores.size(); ++i) worst = std::max(worst, std::abs(scores[i] - expected[i]));
        good = good && worst < 1e-5F;
        std::printf("%-12s differs by %.1e; the first score is %.9g\n", rival.name.c_str(), static_cast<double>(worst),
                    static_cast<double>(scores[0]));
    }
    // Errors are caught by their type, and go through frames of the library.
    try {
        (void)ps::read_file("there is no such file");
        good = false;
    } catch (ps::error const& fault) {
        std::printf("refused as it should be: %s\n", fault.what());
    }
    return good ? 0 : 1;
} catch (std::exception const& fault) {
    std::fprintf(stderr, "%s\n", fault.what());
    return 1;
}
