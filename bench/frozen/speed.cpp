// A frozen network beside the engine of the same plan, in turns in one process, one thread: for speed.py.
//
//     bench_frozen_speed freeze NET FOLDER         writes net.hpp, net.bin and net.plan
//     bench_frozen_speed run NET FOLDER SECONDS    loads net.so, in which speed.py compiled net.hpp
//
// NET: readme, a name of the zoo, or an .onnx file.
#include <primsel/frozen/write_frozen.hpp>
#include <primsel/kernels/extern_kernels.hpp>
#include <primsel/network/zoo/by_name.hpp>
#include <primsel/onnx/import.hpp>
#include <primsel/plan/plan_file.hpp>
#include <primsel/primsel.hpp>

#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace {

namespace ps = primsel;
using namespace ps::layer;

template <int C>
using Basic = Residual<Conv<C, 3>, Relu, Conv<C, 3>>;
struct Tiny : ps::Network<Input<3, 32, 32>, Named<"stem", Conv<64, 3>>, Relu, Basic<64>, Relu, MaxPool<2>,
                          GlobalAvgPool, Dense<10>, Softmax> {};

struct Model {
    ps::Graph graph;
    ps::Weights weights;
};
Model load(std::string const& net) {
    if (net.ends_with(".onnx")) {
        ps::OnnxModel model = ps::load_onnx(net);
        return {std::move(model.graph), std::move(model.weights)};
    }
    ps::Graph graph = net == "readme" ? Tiny::graph() : ps::zoo::graph(net, 1);
    ps::Weights weights = ps::random_weights(graph);
    return {std::move(graph), std::move(weights)};
}

double median(std::vector<double>& seconds) {
    std::ranges::sort(seconds);
    return seconds[seconds.size() / 2];
}

int compare(Model const& model, std::string const& folder, double seconds) {
    ps::Engine<ps::Graph> engine(model.graph, model.weights, ps::read_plan(folder + "/net.plan"));
    void* const library = ::dlopen((folder + "/net.so").c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return std::puts(::dlerror()), 1;
    const auto open_frozen = reinterpret_cast<const char* (*)(const char*)>(::dlsym(library, "open_frozen"));
    const auto run_frozen = reinterpret_cast<void (*)(const float*, float*)>(::dlsym(library, "run_frozen"));
    if (open_frozen == nullptr || run_frozen == nullptr) return std::puts("speed: net.so has not its functions"), 1;
    if (const char* const refusal = open_frozen((folder + "/net.bin").c_str())) return std::puts(refusal), 1;
    ps::Tensor<> image(engine.in_shape()), ours(engine.out_shape()), theirs(engine.out_shape());
    for (std::size_t i = 0; i < image.size(); ++i) image.span()[i] = static_cast<float>(i % 17) / 8 - 1;
    const auto time = [](auto const& run) {
        const auto begin = std::chrono::steady_clock::now();
        run();
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    };
    const auto frozen_run = [&] { return time([&] { run_frozen(image.span().data(), ours.span().data()); }); };
    const auto engine_run = [&] { return time([&] { engine.run(image.span(), theirs.span()); }); };
    for (int i = 0; i < 3; ++i) frozen_run(), engine_run();
    std::vector<double> frozen, live;
    // The second of two runs finds other data in the caches than the first.
    for (double total = 0; total < seconds || frozen.size() % 2 != 0;) {
        const bool first = frozen.size() % 2 == 0;
        if (first) frozen.push_back(frozen_run());
        live.push_back(engine_run());
        if (!first) frozen.push_back(frozen_run());
        total += frozen.back() + live.back();
    }
    const bool same = std::memcmp(ours.span().data(), theirs.span().data(), ours.span().size_bytes()) == 0;
    if (!same) return std::puts("speed: the results differ"), 1;
    const double ours_median = median(frozen), theirs_median = median(live);
    std::printf(
        "{\"runs\": %zu, \"frozen_ms\": %.4f, \"engine_ms\": %.4f, \"of_medians\": %.4f, "
        "\"frozen_least_ms\": %.4f, \"engine_least_ms\": %.4f}\n",
        frozen.size(), 1e3 * ours_median, 1e3 * theirs_median, ours_median / theirs_median, 1e3 * frozen[0],
        1e3 * live[0]);
    return 0;
}

}  // namespace

int main(int count, char** words) {
    if (count < 4) return 2;
    const std::string command = words[1], folder = words[3];
    try {
        const Model model = load(words[2]);
        if (command == "run") return count < 5 ? 2 : compare(model, folder, std::atof(words[4]));
        const ps::Engine<ps::Graph> engine(model.graph, model.weights);
        ps::write_plan(folder + "/net.plan", engine.plan());
        ps::write_frozen(engine, model.weights, {.header = folder + "/net.hpp"});
    } catch (ps::error const& error) {
        return std::fprintf(stderr, "%s\n", error.what()), 1;
    }
}
