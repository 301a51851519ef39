// Networks in float32, float16 and bfloat16: predicted and measured time, memory of the weights, and the error of the
// results beside those in float32 (RMS of the differences over RMS). Runs are interleaved; times are medians.
// bench_plan_precisions [NETWORK of the zoo, with seeded weights, or FILE.onnx]...
#include <primsel/core/statistics.hpp>
#include <primsel/core/thread_pool.hpp>
#include <primsel/core/timer.hpp>
#include <primsel/cost/semi_empirical.hpp>
#include <primsel/engine/f16_weights.hpp>
#include <primsel/engine/fit.hpp>
#include <primsel/engine/low_precision.hpp>
#include <primsel/engine/measure_layer_errors.hpp>
#include <primsel/engine/program.hpp>
#include <primsel/network/simplify.hpp>
#include <primsel/network/zoo/by_name.hpp>
#include <primsel/onnx/import.hpp>
#include <primsel/pbqp/exact.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ps = primsel;

namespace {

struct Variant {
    ps::Precision precision;
    ps::Plan plan;
    ps::Program program;
    std::vector<float> result;
    std::vector<double> seconds{};
};

void compare(std::string const& name) {
    ps::Graph graph;
    ps::Weights weights;
    if (name.ends_with(".onnx")) {
        ps::OnnxModel file = ps::load_onnx(name);
        graph = file.graph, weights = file.weights;
    } else {
        graph = ps::zoo::graph(name), weights = ps::random_weights(graph);
    }
    const ps::Graph simplified = ps::simplify(graph);
    ps::Kernels kernels = ps::make_kernels<ps::EveryPrimitive, ps::default_arch, ps::EveryLayout>();
    kernels.machine = &ps::this_machine_in_all_precisions<ps::default_arch>;
    ps::Sequential executor;
    std::vector<Variant> variants;
    for (const ps::Precision precision : {ps::Precision::float32, ps::Precision::f16, ps::Precision::bf16}) {
        ps::SemiEmpiricalCosts costs;
        ps::Plan plan = ps::make_fitting_plan(
            simplified, kernels, costs, ps::ExactPbqp{},
            {.precision = precision, .f16_weights = ps::layers_of_f16_weights(simplified, weights)}, 1);
        ps::Program program(simplified, kernels, plan, weights, 1, executor);
        std::vector<float> result(program.out_floats(0));
        variants.push_back({precision, std::move(plan), std::move(program), std::move(result)});
    }
    std::mt19937 bits(1);
    std::normal_distribution<float> normal;
    std::vector<float> image(variants[0].program.in_floats());
    for (float& value : image) value = normal(bits);
    const ps::Timer timer;
    for (int round = 0; round < 3 || (round < 200 && timer.seconds() < 8); ++round) {
        for (Variant& variant : variants) {
            std::vector<std::vector<float>> rest;
            std::vector<float*> dsts{variant.result.data()};
            for (std::size_t i = 1; i < variant.program.out_shapes().size(); ++i) {
                dsts.push_back(rest.emplace_back(variant.program.out_floats(i)).data());
            }
            const float* const src = image.data();
            const ps::Timer run;
            variant.program.run(std::span(&src, 1), dsts, executor);
            variant.seconds.push_back(run.seconds());
        }
    }
    std::printf("%s\n%10s %13s %12s %10s %8s %16s\n", name.c_str(), "precision", "predicted ms", "measured ms", "times",
                "MB", "error");
    const double floats = ps::median(variants[0].seconds);
    for (Variant const& variant : variants) {
        const double seconds = ps::median(variant.seconds);
        const auto narrow = std::ranges::count_if(variant.plan.layers, [&](ps::PlannedLayer const& layer) {
            return variant.precision != ps::Precision::float32 &&
                   (layer.primitive.find(to_string_view(variant.precision)) != std::string::npos ||
                    layer.out_layout.ends_with(to_string_view(variant.precision)));
        });
        std::printf("%10s %13.3f %12.3f %9.2fx %8.1f %14.4f %% (%td of %zu layers in it)\n",
                    std::string(to_string_view(variant.precision)).c_str(), variant.plan.total_seconds * 1e3,
                    seconds * 1e3, floats / seconds, static_cast<double>(variant.program.weight_bytes()) * 1e-6,
                    100 * std::sqrt(ps::relative_squared_error(variant.result, variants[0].result)), narrow,
                    variant.plan.layers.size());
    }
}

}  // namespace

int main(int argc, char** argv) {
    std::vector<std::string> names(argv + 1, argv + argc);
    if (names.empty()) names = {"resnet18", "mobilenet_v2", "alexnet"};
    for (std::string const& name : names) compare(name);
}
