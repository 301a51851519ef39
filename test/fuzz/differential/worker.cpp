// bin/differential_worker: runs ONNX models for differential.py, one after the other. Each line of the standard input
// is
//     SEED MODEL DIR INPUT...
// with MODEL an .onnx file and INPUT the .npy files of its inputs, in its order; its i-th output goes to DIR/i.npy. The
// answer is one line: `ok`, or `refused` and why. SEED 0 plans as every program does; any other draws the costs, so
// that primitives and layouts are chosen by chance. DIR/exported.onnx is what to_onnx makes of the imported graph,
// where it can express that; otherwise there is no such file.
#include <primsel/cost/analytical.hpp>
#include <primsel/engine/program.hpp>
#include <primsel/io/npy.hpp>
#include <primsel/kernels/extern_kernels.hpp>
#include <primsel/network/simplify.hpp>
#include <primsel/onnx/export.hpp>
#include <primsel/onnx/import.hpp>
#include <primsel/pbqp/exact.hpp>
#include <primsel/plan/make_plan.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <random>
#include <sstream>
#include <string>
#include <vector>

namespace {

namespace ps = primsel;

/// Any cost is as good as another.
struct DrawnCosts {
    static constexpr std::string_view name = "drawn";
    std::mt19937 generator;

    void predict(ps::Kernels const&, auto const&, std::span<double> seconds) {
        for (double& second : seconds) second = static_cast<double>(generator() % 1000);
    }
};

/// Without the primitives whose errors come near what is taken for a wrong result.
const ps::PlanOptions planning{.max_error = 3e-5};

ps::Plan plan_for(ps::Graph const& graph, ps::Kernels const& kernels, unsigned seed) {
    const auto plan = [&](auto costs) { return ps::make_plan(graph, kernels, costs, ps::ExactPbqp{}, planning); };
    return seed == 0 ? plan(ps::Analytical{}) : plan(DrawnCosts{std::mt19937{seed}});
}

std::vector<ps::NpyArray> read_inputs(ps::OnnxModel const& model, std::vector<std::string> const& files) {
    if (files.size() != model.inputs.size()) ps::fail(model.inputs.size(), " inputs in place of ", files.size());
    std::vector<ps::NpyArray> inputs;
    for (std::size_t i = 0; i < files.size(); ++i) {
        inputs.push_back(ps::read_npy(files[i]));
        if (inputs[i].dims != model.inputs[i].dims) {
            ps::fail("input ", model.inputs[i].name, " is ", ps::to_string(model.inputs[i].dims), ", not ",
                     ps::to_string(inputs[i].dims));
        }
    }
    return inputs;
}

void export_again(ps::OnnxModel const& model, std::string const& path) {
    std::filesystem::remove(path);
    try {
        ps::save_onnx(path, model.graph, model.weights);
    } catch (ps::error const&) {
        // ONNX cannot express every layer.
    }
}

void run(ps::Kernels const& kernels, unsigned seed, std::string const& file, std::string const& folder,
         std::vector<std::string> const& files) {
    const ps::OnnxModel model = ps::load_onnx(file);
    export_again(model, folder + "/exported.onnx");
    const std::vector<ps::NpyArray> inputs = read_inputs(model, files);
    const ps::Graph graph = ps::simplify(model.graph);
    ps::Program program(graph, kernels, plan_for(graph, kernels, seed), model.weights, 1);
    std::vector<const float*> srcs;
    std::vector<std::vector<float>> results;
    std::vector<float*> dsts;
    for (ps::NpyArray const& input : inputs) srcs.push_back(input.values.data());
    for (std::size_t i = 0; i < model.outputs.size(); ++i) results.emplace_back(program.out_floats(i));
    for (auto& result : results) dsts.push_back(result.data());
    ps::Sequential here;
    program.run(srcs, dsts, here);
    for (std::size_t i = 0; i < results.size(); ++i) {
        std::size_t count = 1;
        for (const std::int64_t dim : model.outputs[i].dims) count *= static_cast<std::size_t>(dim);
        results[i].resize(count);  // without elements, the graph has one
        ps::write_npy(ps::join(folder, '/', i, ".npy"), model.outputs[i].dims, results[i]);
    }
}

}  // namespace

int main() {
    const ps::Kernels kernels = ps::make_kernels<ps::AllPrimitives, ps::default_arch, ps::AllLayouts>();
    for (std::string line; std::getline(std::cin, line);) {
        std::istringstream words(line);
        unsigned seed = 0;
        std::string model, folder;
        words >> seed >> model >> folder;
        std::vector<std::string> inputs;
        for (std::string input; words >> input;) inputs.push_back(input);
        try {
            run(kernels, seed, model, folder, inputs);
            std::puts("ok");
        } catch (std::exception const& fault) {
            std::string reason = fault.what();
            std::ranges::replace(reason, '\n', ';');
            std::printf("refused %s\n", reason.c_str());
        }
        std::fflush(stdout);
    }
}
