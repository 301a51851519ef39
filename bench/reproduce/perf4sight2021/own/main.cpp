// Measures our own trainer and engine for the tables of Rajagopal and Bouganis 2021. What is in the table already is
// not measured again, and after so many seconds no more is begun: call it until it says that nothing is left.
//
//     reproduce_perf4sight2021_own measure networks|levels|strategies|subnets TABLE.csv [SECONDS]
//     reproduce_perf4sight2021_own table2
#include <primsel/core/statistics.hpp>
#include <primsel/core/timer.hpp>
#include <primsel/forecast/measure_network.hpp>
#include <primsel/forecast/network_profile_file.hpp>
#include <primsel/forecast/thinned.hpp>
#include <primsel/machine/machine.hpp>
#include <primsel/network/resized.hpp>
#include <primsel/network/zoo/by_name.hpp>
#include <primsel/search/evolution.hpp>
#include <primsel/search/subnet_forecasts.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace own {
namespace {

namespace ps = primsel;

struct Task {
    ps::forecast::ProfileKey key;
    ps::Graph graph;
};

ps::Graph zoo_graph(ps::forecast::ProfileKey const& key) {
    const ps::Graph graph = ps::resized(ps::zoo::graph(key.network, key.batch), {3, key.height, key.width});
    return ps::forecast::thinned(graph, key.thinning);
}
/// Sizes and batches that fit a small machine.
std::vector<ps::forecast::ProfileKey> networks() {
    struct Net {
        const char* name;
        int size;
        std::vector<int> batches;
    };
    const std::vector<Net> all{{"resnet18", 64, {4, 16, 32}},     {"resnet50", 64, {2, 8}},
                               {"mobilenet_v2", 64, {4, 16, 32}}, {"squeezenet1_1", 96, {4, 16, 32}},
                               {"mnasnet1_0", 64, {4, 16, 32}},   {"googlenet-bn", 64, {4, 16}}};
    std::vector<ps::forecast::ProfileKey> keys;
    for (Net const& net : all) {
        for (const int batch : net.batches) {
            for (const double level : {0.0, 0.5}) {
                keys.push_back({net.name, net.size, net.size, {level, "random", 1}, batch, true});
            }
        }
    }
    return keys;
}
/// Training and inference of networks thinned to the paper's levels, and to some that it tests.
std::vector<ps::forecast::ProfileKey> levels() {
    std::vector<ps::forecast::ProfileKey> keys;
    for (const bool training : {true, false}) {
        for (const char* const name : {"resnet18", "mobilenet_v2", "squeezenet1_1", "mnasnet1_0"}) {
            const int size = std::string_view(name) == "squeezenet1_1" ? 96 : 64;
            for (const int batch : {2, 8, 24}) {
                for (const double level : {0.0, 0.2, 0.3, 0.5, 0.6, 0.7, 0.9})
                    keys.push_back({name, size, size, {level, "random", 1}, batch, training});
            }
        }
    }
    return keys;
}
/// A hundred ways to take half of MobileNetV2's filters.
std::vector<ps::forecast::ProfileKey> strategies() {
    std::vector<ps::forecast::ProfileKey> keys;
    for (std::uint32_t i = 0; i < 100; ++i) {
        const std::string strategy(std::array{"random", "early", "middle", "late", "mixed"}[i % 5]);
        keys.push_back({"mobilenet_v2", 64, 64, {0.5, strategy, 1 + i}, 16, true});
    }
    return keys;
}

const ps::search::ResNetSupernet supernet{.sizes = {64, 80, 96}};

std::vector<Task> tasks_of(std::string_view what) {
    std::vector<Task> tasks;
    if (what == "subnets") {
        // Two more than a hundred: the smallest and the largest are left out.
        const std::vector<ps::search::Subnet> subnets = ps::search::sample_subnets(supernet.choices(), 102, 1);
        for (std::size_t i = 2; i < subnets.size(); ++i) {
            for (const int batch : {1, 8}) {
                const int size = supernet.sizes[subnets[i][0]];
                tasks.push_back({{"subnet:" + ps::search::text_of(subnets[i]), size, size, {}, batch, false},
                                 supernet.graph(subnets[i], batch)});
            }
        }
        return tasks;
    }
    for (ps::forecast::ProfileKey const& key : what == "strategies" ? strategies()
                                               : what == "levels"   ? levels()
                                                                    : networks())
        tasks.push_back({key, ps::Graph()});
    return tasks;
}

void measure(std::string_view what, std::string const& path, double seconds) {
    const ps::Timer timer;
    ps::forecast::NetworkProfileFile file(path, {{"cpu", ps::cpu_name()}});
    std::size_t left = 0;
    for (Task const& task : tasks_of(what)) {
        if (ps::forecast::has_row(file.rows(), task.key)) continue;
        if (timer.seconds() > seconds) {
            ++left;
            continue;
        }
        const ps::Graph graph = what == "subnets" ? task.graph : zoo_graph(task.key);
        constexpr std::size_t most = std::size_t{3} << 30U;
        file.append({task.key, ps::forecast::measure_network(
                                   graph, {.training = task.key.training, .runs = 5, .max_bytes = most})});
    }
    std::printf("%s: %zu rows, %zu left\n", path.c_str(), file.rows().size(), left);
}

// --- table 2

struct Measured {
    ps::search::SubnetCosts costs;
    double megabytes = 0;
};
Measured run(ps::search::Subnet const& subnet, ps::search::ResNetSupernet const& space,
             ps::search::SubnetBatches const& batches) {
    const ps::Graph graph = space.graph(subnet, batches.inference);
    const ps::forecast::NetworkMeasurement inference = ps::forecast::measure_network(graph, {.runs = 9}),
                                           training = ps::forecast::measure_network(
                                               space.graph(subnet, batches.training), {.training = true, .runs = 1});
    double parameters = 0;
    for (ps::WeightSpec const& spec : ps::weight_specs(graph)) {
        double floats = 1;
        for (const std::int64_t extent : spec.dims) floats *= static_cast<double>(extent);
        parameters += floats;
    }
    return {{static_cast<double>(training.held_bytes), static_cast<double>(inference.held_bytes), inference.seconds},
            4 * parameters / 1e6};
}
void print(const char* name, Measured const& of, ps::search::SubnetBounds const& bounds) {
    std::printf("%-4s %8.1f %12.1f %10.1f %9.2f", name, of.megabytes, of.costs.training_bytes / 1e6,
                of.costs.inference_bytes / 1e6, of.costs.seconds * 1e3);
    if (std::isfinite(bounds.seconds)) {
        std::printf("   within %.1f MB, %.1f MB, %.2f ms: %s", bounds.training_bytes / 1e6,
                    bounds.inference_bytes / 1e6, bounds.seconds * 1e3, bounds.hold(of.costs) ? "yes" : "NO");
    }
    std::printf("\n");
}

void table2() {
    const ps::search::ResNetSupernet space{.sizes = {96, 112, 128}};
    const ps::search::SubnetBatches batches{.training = 8, .inference = 1};
    const std::vector<std::size_t> choices = space.choices();
    const ps::search::Subnet smallest = ps::search::smallest_subnet(choices),
                             largest = ps::search::largest_subnet(choices);
    const Measured most = run(largest, space, batches), least = run(smallest, space, batches);

    const ps::Timer learning;
    const std::vector<ps::search::Subnet> subnets = ps::search::sample_subnets(choices, 24, 7);
    std::vector<ps::search::SubnetCosts> costs;
    for (ps::search::Subnet const& subnet : subnets) costs.push_back(ps::search::engine_costs(space, subnet, batches));
    // Plans know no time exactly: forecasts are moved to what the two ends take.
    const double slower = std::max(least.costs.seconds / costs[0].seconds, most.costs.seconds / costs[1].seconds);
    for (ps::search::SubnetCosts& each : costs) each.seconds *= slower;
    const auto forecasts = ps::search::SubnetForecasts<>::fit(space, subnets, costs, batches);
    std::printf("learned from the plans of %zu sub-networks in %.1f s; measured / predicted time %.2f\n",
                subnets.size(), learning.seconds(), slower);
    std::printf("     model MB  training MB     run MB        ms\n");
    print("MAX", most, {});
    struct SweepGoal {
        const char* name;
        double training, run, time;
    };
    for (SweepGoal const& goal : {SweepGoal{"A", 1.6, 1.05, 1.8}, SweepGoal{"B", 1.9, 1.1, 2.8}}) {
        const ps::search::SubnetBounds bounds{most.costs.training_bytes / goal.training,
                                              most.costs.inference_bytes / goal.run, most.costs.seconds / goal.time};
        const auto judge = [&](ps::search::Subnet const& subnet) -> std::optional<double> {
            const std::vector<ps::forecast::ConvSizes> sizes = space.convolutions(subnet);
            if (!bounds.hold(forecasts(sizes))) return std::nullopt;
            double weights = 0;
            for (ps::forecast::ConvSizes const& conv : sizes) {
                weights += static_cast<double>(conv.n) * conv.m / conv.groups * conv.kernel_h * conv.kernel_w;
            }
            return weights;
        };
        const ps::Timer timer;
        const ps::search::Evolution found = ps::search::evolve(choices, judge, {.start = {smallest}, .seed = 1});
        const double seconds = timer.seconds();
        std::size_t tried = 0;
        bool done = false;
        for (std::size_t i = 0; i < found.best.size() && i < 20 && !done; ++i) {
            const Measured of = run(found.best[i].subnet, space, batches);
            ++tried;
            done = bounds.hold(of.costs);
            if (done) print(goal.name, of, bounds);
        }
        std::printf(
            "     %zu sub-networks asked about in %.1f s, %zu within the bounds; %zu run until one kept them%s\n",
            found.asked, seconds, found.kept, tried, done ? "" : ": NONE DID");
    }
    print("MIN", least, {});
}

int run(int argc, char** argv) {
    const std::string_view mode = argc > 1 ? argv[1] : "";
    if (mode == "table2") {
        table2();
        return 0;
    }
    const std::string_view what = argc > 2 ? argv[2] : "";
    if (mode != "measure" || argc < 4 ||
        (what != "networks" && what != "levels" && what != "strategies" && what != "subnets")) {
        std::puts(
            "reproduce_perf4sight2021_own: measure networks|levels|strategies|subnets TABLE.csv [SECONDS], or table2");
        return 2;
    }
    double seconds = std::numeric_limits<double>::infinity();
    if (argc > 4 && !ps::read_number(argv[4], seconds)) ps::fail(argv[4], ": is no number of seconds");
    measure(what, argv[3], seconds);
    return 0;
}

}  // namespace
}  // namespace own

int main(int argc, char** argv) {
    try {
        return own::run(argc, argv);
    } catch (std::exception const& fault) {
        std::fprintf(stderr, "reproduce_perf4sight2021_own: %s\n", fault.what());
        return 1;
    }
}
