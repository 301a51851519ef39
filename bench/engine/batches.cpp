// Batches on several threads: the time where the threads share each layer, and where each runs images of its own, in
// turns, beside the predictions. bench_engine_batches [THREADS [SECONDS [NETWORK...]]]
#include <primsel/core/statistics.hpp>
#include <primsel/core/thread_pool.hpp>
#include <primsel/kernels/extern_kernels.hpp>
#include <primsel/primsel.hpp>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

namespace ps = primsel;

void compare(std::string const& net, int batch, std::size_t threads, double seconds) {
    const ps::Graph graph = ps::simplify(ps::with_batch(ps::zoo::graph(net), batch));
    const std::size_t parts = ps::parts_of_batch(graph, threads);
    if (parts == 1) return;
    const ps::Weights weights = ps::random_weights(graph);
    const ps::Kernels kernels = ps::Engine<ps::Graph>::kernels();
    ps::SemiEmpiricalCosts model;
    const ps::ExactPbqp solver;
    const ps::Plan shared = ps::make_plan(graph, kernels, model, solver, {.workers = threads});
    ps::Plan apart = ps::make_plan(ps::part_of_batch(graph, parts), kernels, model, solver, {.apart = parts});
    apart.key = shared.key, apart.images_apart = true;
    const ps::Plan chosen = ps::make_fitting_plan(graph, kernels, model, solver, {}, threads);
    ps::Plan alone = apart;
    alone.images_apart = false;
    ps::Program sharing(graph, kernels, shared, weights, threads), own(graph, kernels, apart, weights, threads),
        same(graph, kernels, alone, weights, 1);
    ps::ThreadPool pool(threads);
    ps::Sequential here;
    std::vector<float> images(own.in_floats()), result(own.out_floats()), expected(own.out_floats());
    unsigned state = 1;
    for (float& value : images)
        value = static_cast<float>((state = state * 1664525U + 1013904223U) >> 8) / (1U << 23) - 1;
    same.run(images.data(), expected.data(), here);
    const auto timed = [&](ps::Program& program) {
        const ps::Timer timer;
        program.run(images.data(), result.data(), pool);
        return timer.seconds();
    };
    timed(sharing), timed(own);
    const bool equal = std::memcmp(result.data(), expected.data(), result.size() * sizeof(float)) == 0;
    std::vector<double> of_sharing, of_own, ratios;
    const ps::Timer since;
    while (ratios.size() < 5 || since.seconds() < seconds) {
        of_sharing.push_back(timed(sharing)), of_own.push_back(timed(own));
        ratios.push_back(of_sharing.back() / of_own.back());
    }
    std::printf("%-14s%6d%10.2f%10.2f%8.3f%12.2f%10.2f%8s%8s\n", net.c_str(), batch, 1e3 * ps::median(of_sharing),
                1e3 * ps::median(of_own), ps::median(ratios), 1e3 * shared.total_seconds, 1e3 * apart.total_seconds,
                chosen.images_apart ? "apart" : "shared", equal ? "equal" : "other");
    std::fflush(stdout);
}

}  // namespace

int main(int count, char** arguments) {
    const std::size_t threads = count > 1 ? std::strtoul(arguments[1], nullptr, 10) : ps::usable_threads().count();
    const double seconds = count > 2 ? std::strtod(arguments[2], nullptr) : 3;
    std::vector<std::string> nets(arguments + (count > 3 ? 3 : count), arguments + count);
    if (nets.empty()) nets = {"mobilenet_v2", "resnet18", "squeezenet1_0"};
    std::printf("%zu threads, ms  batch    shared     apart   ratio   predicted     apart  choice    bits\n", threads);
    for (std::string const& net : nets) {
        for (const int batch : {2, 4, 8}) compare(net, batch, threads, seconds);
    }
}
