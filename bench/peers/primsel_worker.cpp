// peers/primsel_worker MODEL.onnx INPUT.npy[,INPUT.npy...] THREADS [--costs default|measured] [--plan FILE]
// [--max-error E] [--precision float32|f16|bf16|int8]
//
// primsel among the engines that engines.py and layers.py compare: loads the model, plans, and runs it once on the
// processors 0 to THREADS - 1; says so in the line `ready {...}`; and then answers the lines of the standard input as
// engine_worker.py does, which describes them.
#include "probe.hpp"

#include <primsel/core/thread_pool.hpp>
#include <primsel/cost/semi_empirical.hpp>
#include <primsel/engine/fit.hpp>
#include <primsel/engine/low_precision.hpp>
#include <primsel/engine/program.hpp>
#include <primsel/io/npy.hpp>
#include <primsel/kernels/extern_kernels.hpp>
#include <primsel/measure/machine_file.hpp>
#include <primsel/measure/measured.hpp>
#include <primsel/network/simplify.hpp>
#include <primsel/onnx/import.hpp>
#include <primsel/pbqp/exact.hpp>
#include <primsel/plan/plan_file.hpp>
#include <primsel/version.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace {

namespace ps = primsel;

struct Options {
    std::string model, costs = "default", plan;
    std::vector<std::string> inputs;
    std::size_t threads = 1;
    ps::PlanOptions planning;
};

Options parse(int argc, char** argv) {
    if (argc < 4)
        ps::fail(
            "primsel_worker MODEL.onnx INPUT.npy[,INPUT.npy...] THREADS [--costs C] [--plan F] [--max-error E] "
            "[--precision P]");
    Options options;
    options.model = argv[1];
    std::istringstream list(argv[2]);
    for (std::string input; std::getline(list, input, ',');) options.inputs.push_back(input);
    options.threads = static_cast<std::size_t>(std::atoi(argv[3]));
    for (int i = 4; i < argc; i += 2) {
        const std::string_view option = argv[i];
        if (i + 1 == argc) ps::fail(option, ": needs a value");
        if (option == "--costs")
            options.costs = argv[i + 1];
        else if (option == "--plan")
            options.plan = argv[i + 1];
        else if (option == "--max-error")
            options.planning.max_error = std::strtod(argv[i + 1], nullptr);
        else if (const auto* const type = std::ranges::find_if(
                     ps::all_precisions, [&](ps::Precision each) { return to_string_view(each) == argv[i + 1]; });
                 option == "--precision" && type != ps::all_precisions.end())
            options.planning.precision = *type;
        else
            ps::fail(option, ": no such option");
    }
    if (options.costs != "default" && options.costs != "measured") ps::fail("--costs ", options.costs, "?");
    return options;
}

/// A line of /proc/self/status in KiB: VmRSS, VmHWM, RssAnon.
long status_kib(std::string_view key) {
    std::ifstream file("/proc/self/status");
    for (std::string line; std::getline(file, line);) {
        if (line.starts_with(key)) return std::strtol(line.c_str() + key.size() + 1, nullptr, 10);
    }
    return 0;
}

/// From here on VmHWM is the peak of what follows.
void reset_peak() { std::ofstream("/proc/self/clear_refs") << "5\n"; }

/// Seconds of the clock that is the same for all processes.
double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

ps::Plan make_plan(ps::Graph const& graph, ps::Kernels const& kernels, Options const& options) {
    if (!options.plan.empty()) return ps::read_plan(options.plan);
    const auto plan = [&](auto costs) {
        return ps::make_fitting_plan(graph, kernels, costs, ps::ExactPbqp{}, options.planning, options.threads);
    };
    return options.costs == "measured" ? plan(ps::measure::Measured{}) : plan(ps::SemiEmpiricalCosts{});
}

struct Network {
    ps::ThreadPool executor;
    ps::Plan plan;
    ps::Program program;
    std::vector<std::vector<float>> results;

    /// Loads a file for images of this extent, where it leaves extents open.
    static Network load(Options const& options, ps::Extent image) {
        ps::OnnxOptions sizes;
        sizes.image = image;
        ps::OnnxModel file = ps::load_onnx(options.model, sizes);
        const ps::Graph graph = ps::simplify(file.graph);
        ps::Kernels kernels = ps::make_kernels<ps::EveryPrimitive, ps::default_arch, ps::EveryLayout>();
        kernels.machine = &ps::measure::KeptSpeeds<ps::MeasuredInAllPrecisions>::speeds<ps::default_arch>;
        ps::Plan plan = make_plan(graph, kernels, options);
        ps::ThreadPool executor(options.threads);
        ps::Program program(graph, kernels, plan, file.weights, options.threads, executor);
        std::vector<std::vector<float>> results;
        for (std::size_t i = 0; i < program.out_shapes().size(); ++i) results.emplace_back(program.out_floats(i));
        return {std::move(executor), std::move(plan), std::move(program), std::move(results)};
    }
    /// Milliseconds.
    double run(std::vector<ps::NpyArray> const& inputs) {
        std::vector<const float*> srcs;
        std::vector<float*> dsts;
        for (ps::NpyArray const& input : inputs) srcs.push_back(input.values.data());
        for (std::vector<float>& result : results) dsts.push_back(result.data());
        const ps::Timer timer;
        program.run(srcs, dsts, executor);
        return timer.seconds() * 1e3;
    }
};

/// Writes the first results of each image of an array; two paths with a space between them.
void answer_all(Network& network, std::string const& paths) {
    const std::size_t space = paths.find(' ');
    if (space == std::string::npos) ps::fail(paths, ": a second path is missing");
    const ps::NpyArray images = ps::read_npy(paths.substr(0, space));
    const std::size_t size = network.program.in_floats(0), count = images.values.size() / size;
    if (network.program.in_shapes().size() != 1 || count * size != images.values.size())
        ps::fail(paths, ": these are not images of ", size, " values");
    std::vector<float> all;
    std::vector<ps::NpyArray> image(1);
    for (std::size_t i = 0; i < count; ++i) {
        const auto first = images.values.begin() + static_cast<std::ptrdiff_t>(i * size);
        image[0].values.assign(first, first + static_cast<std::ptrdiff_t>(size));
        network.run(image);
        all.insert(all.end(), network.results[0].begin(), network.results[0].end());
    }
    const std::vector<std::int64_t> dims{static_cast<std::int64_t>(count),
                                         static_cast<std::int64_t>(network.results[0].size())};
    ps::write_npy(paths.substr(space + 1), dims, all, ps::NpyType::float32);
}

void serve(Network& network, std::vector<ps::NpyArray> const& inputs) {
    for (std::string line; std::getline(std::cin, line) && line != "quit";) {
        if (line.starts_with("run ")) {
            const int runs = std::atoi(line.c_str() + 4);
            for (int i = 0; i < runs; ++i) std::printf("%s%.6f", i == 0 ? "" : " ", network.run(inputs));
            std::printf("\n");
        } else if (line.starts_with("output ")) {
            std::vector<float> const& first = network.results[0];
            const std::vector<std::int64_t> dims{1, static_cast<std::int64_t>(first.size())};
            ps::write_npy(line.substr(7), dims, first, ps::NpyType::float32);
            std::printf("ok\n");
        } else if (line.starts_with("answers ")) {
            answer_all(network, line.substr(8));
            std::printf("ok\n");
        } else if (line == "memory") {
            std::printf("{\"peak_kib\": %ld, \"held_kib\": %ld}\n", status_kib("VmHWM"), status_kib("RssAnon"));
        } else {
            ps::fail(line, "?");
        }
        std::fflush(stdout);
    }
}

void work(Options const& options) {
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    for (std::size_t cpu = 0; cpu < options.threads; ++cpu) CPU_SET(cpu, &cpus);
    if (sched_setaffinity(0, sizeof(cpus), &cpus) != 0) ps::fail("may not run on ", options.threads, " processors");

    std::vector<ps::NpyArray> inputs;
    for (std::string const& input : options.inputs) inputs.push_back(ps::read_npy(input));
    std::vector<std::int64_t> const& dims = inputs[0].dims;
    ps::Extent image{0, 0};
    if (inputs.size() == 1 && dims.size() == 4)
        image = {static_cast<int>(dims.rbegin()[1]), static_cast<int>(dims.rbegin()[0])};
    reset_peak();
    const long before = status_kib("VmRSS"), before_anon = status_kib("RssAnon");
    const double start = now();
    Network network = Network::load(options, image);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        if (inputs.size() != network.program.in_shapes().size() ||
            inputs[i].values.size() != network.program.in_floats(i))
            ps::fail(options.inputs[i], ": ", inputs[i].values.size(), " values, which is not what the model takes");
    }
    const double loaded = now(), first = network.run(inputs);
    std::printf(
        "ready {\"version\": \"%s\", \"import_end\": %.6f, \"answered\": %.6f, \"load_ms\": %.3f, "
        "\"first_run_ms\": %.3f, \"before_kib\": %ld, \"before_anon_kib\": %ld, \"predicted_ms\": %.4f}\n",
        ps::version.data(), start, now(), (loaded - start) * 1e3, first, before, before_anon,
        network.plan.total_seconds * 1e3);
    std::fflush(stdout);
    serve(network, inputs);
}

}  // namespace

int main(int argc, char** argv) {
    try {
        work(parse(argc, argv));
    } catch (std::exception const& fault) {
        std::fprintf(stderr, "primsel_worker: %s\n", fault.what());
        return 1;
    }
}
