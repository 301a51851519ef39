// check_onnx DIR [NETWORK...]
//
// Runs the torchvision networks that bench/peers/export_torchvision.py wrote to DIR as ONNX files, at every size for
// which it left an input there, and compares the logits with ONNX Runtime's: the largest difference relative to the
// logits' RMS. Whether the simplified graph is that of the zoo's type of the same network is said beside it.
#include "../difference.hpp"

#include <primsel/io/npy.hpp>
#include <primsel/kernels/extern_kernels.hpp>
#include <primsel/network/resized.hpp>
#include <primsel/network/zoo.hpp>
#include <primsel/onnx/import.hpp>
#include <primsel/primsel.hpp>

#include <cstdio>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

namespace ps = primsel;

namespace {

/// The zoo's network on images of that size. Torchvision's GoogLeNet is not the original one.
ps::Graph of_zoo(std::string const& name, int batch, ps::Shape image) {
    const ps::Graph graph = ps::zoo::graph(name == "googlenet" ? "googlenet-bn" : name, batch);
    return graph[graph.input()].shape == image ? graph : ps::resized(graph, image);
}

/// Imports the file for the input's size, runs it, and returns whether all is well.
bool check(std::string const& file, std::string const& name, std::string const& sample) {
    constexpr double bound = 1e-4;
    const ps::NpyArray input = ps::read_npy(sample + ".input.npy"), logits = ps::read_npy(sample + ".logits.npy");
    ps::OnnxOptions options;
    options.batch = static_cast<int>(input.dims.at(0));
    options.image = {static_cast<int>(input.dims.at(2)), static_cast<int>(input.dims.at(3))};
    const ps::OnnxModel model = ps::load_onnx(file, options);
    ps::Engine<ps::Graph> engine(model.graph, model.weights);
    std::vector<float> result(logits.values.size());
    engine.run(input.values, result);
    const double worst = difference(result, logits.values);

    const ps::Shape image = engine.in_shape();
    std::string same = "the zoo's graph";
    try {
        const ps::Graph zoo = ps::simplify(of_zoo(name, options.batch, image));
        if (ps::structure(zoo) != ps::structure(engine.graph())) same = "NOT THE ZOO'S GRAPH";
    } catch (ps::error const& error) {
        same = std::string("not in the zoo at this size: ") + error.what();
    }
    std::printf("%-34s %3dx%d  %.1e%s  %s\n", std::filesystem::path(file).filename().c_str(), image.h, image.w, worst,
                worst < bound ? "" : "  TOO FAR", same.c_str());
    std::fflush(stdout);
    return worst < bound && same.find("NOT") == std::string::npos;
}

}  // namespace

int main(int argc, char** argv) try {
    if (argc < 2) ps::fail("usage: check_onnx DIR [NETWORK...]");
    const std::set<std::string> wanted(argv + 2, argv + argc);
    std::set<std::string> files, samples;
    for (auto const& entry : std::filesystem::directory_iterator(argv[1])) {
        std::string path = entry.path().string();
        if (path.ends_with(".onnx")) files.insert(path);
        if (path.ends_with(".input.npy")) samples.insert(path.substr(0, path.size() - 10));
    }
    // NAME[.SIZE][.bn].onnx is for the samples NAME.SIZE; without a size, for those that have no file of their own.
    bool good = true;
    for (std::string const& file : files) {
        std::string stem = file.substr(0, file.size() - 5);
        if (stem.ends_with(".bn")) stem.resize(stem.size() - 3);
        for (std::string const& sample : samples) {
            const std::string base = sample.substr(0, sample.rfind('.'));
            const std::string name = std::filesystem::path(base).filename().string();
            const bool own = files.contains(sample + ".onnx");
            if ((stem != sample && (stem != base || own)) || (!wanted.empty() && !wanted.contains(name))) continue;
            good = check(file, name, sample) && good;
        }
    }
    return good ? 0 : 1;
} catch (std::exception const& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}
