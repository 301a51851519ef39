// primsel freeze NET --out NET.hpp: a network's plan as a header of constants, and its packed weights.
#include "commands.hpp"
#include "freeze_archs.hpp"
#include "options.hpp"
#include "session.hpp"
#include "text.hpp"

#include <primsel/engine/low_precision.hpp>
#include <primsel/frozen/write_frozen.hpp>

#include <CLI/CLI.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace cli {
namespace {

struct FreezeCommand : Options {
    std::string out, bin, name, part;
    std::vector<std::string> archs;
    bool embed = false;
};

/// For the instruction set that this process runs with.
void freeze_here(FreezeCommand const& options, ps::FrozenPaths const& paths) {
    const Model model = load_to_plan(options);
    PlanningOptions planning = options.planning;
    planning.images_apart = false;  // frozen programs share layers
    ps::Plan plan = plan_for(model, planning, options.threads);
    plan.images_apart = false;
    ps::ThreadPool packing(options.threads);
    const std::size_t bytes = ps::write_frozen(model.simplified, kernels_of(model), plan, model.weights,
                                               ps::frozen::kernel_types<ps::EveryPrimitive, ps::EveryLayout>(), paths,
                                               options.threads, packing);
    if (!options.part.empty()) return;
    const std::size_t arena = ps::arena_bytes(model.simplified, kernels_of(model), plan, options.threads);
    if (options.json) {
        return print_json(ps::Json::Object{{"model", model.name},
                                           {"header", paths.header},
                                           {"weights", paths.weights},
                                           {"weights_bytes", bytes},
                                           {"arena_bytes", arena},
                                           {"struct", paths.name},
                                           {"arch", std::string(ps::frozen::arch_name)},
                                           {"predicted_ms", plan.total_seconds * 1e3}});
    }
    print_line(model.name, ": struct ", paths.name, " in ", paths.header, ", ", megabytes(bytes), " of weights in ",
               paths.weights, ", arena ", megabytes(arena));
}

/// For several instruction sets.
void freeze_all(FreezeCommand const& options, ps::FrozenPaths const& paths) {
    const ps::FrozenFiles files = freeze_archs(options.archs, paths);
    ps::Json::Array archs;
    std::size_t apart = 0;
    for (ps::frozen::PackedPlan const& plan : ps::frozen::packed_plans(files.weights)) {
        archs.emplace_back(plan.arch);
        for (std::string const& section : plan.sections) apart += section.size();
    }
    if (options.json) {
        return print_json(ps::Json::Object{{"header", paths.header},
                                           {"weights", paths.weights},
                                           {"weights_bytes", files.weights.size()},
                                           {"weights_bytes_apart", apart},
                                           {"struct", paths.name},
                                           {"archs", std::move(archs)}});
    }
    print_line("struct ", paths.name, " of ", options.archs.size(), " instruction sets in ", paths.header, ", ",
               megabytes(files.weights.size()), " of weights in ", paths.weights, ", which would be ", megabytes(apart),
               " apart");
}

void freeze(FreezeCommand const& options) {
    const ps::FrozenPaths paths = ps::frozen::complete(
        {.header = options.out, .weights = options.bin, .name = options.name, .embed = options.embed});
    if (!options.part.empty()) {
        freeze_here(options, part_paths(paths, options.part));
    } else if (options.archs.empty()) {
        freeze_here(options, paths);
    } else {
        freeze_all(options, paths);
    }
}

}  // namespace

void add_freeze(CLI::App& app) {
    const auto options = std::make_shared<FreezeCommand>();
    CLI::App& command = *app.add_subcommand(
        "freeze",
        "Write a network as a C++ header with its plan, and its packed weights, for a program without a planner");
    add_options(command, *options, SavedPlan::instead);
    command.add_option("--out", options->out, "The header to write")
        ->check(writable_file)
        ->type_name("F.hpp")
        ->required();
    command.add_option("--bin", options->bin, "The file of packed weights to write; as the header, with .bin")
        ->check(writable_file)
        ->type_name("F.bin");
    command.add_option("--name", options->name, "The struct that the header declares; as the header")
        ->type_name("NAME");
    command
        .add_option("--arch", options->archs,
                    "Instruction sets, of sse4_2, avx2 and avx512: a plan for each, of which a unit that includes the "
                    "header takes its own. The program must be built for every processor")
        ->delimiter(',')
        ->allow_extra_args(false)
        ->excludes(command.get_option("--plan"))
        ->type_name("A,B,...");
    command.add_option("--part", options->part)->group("");  // one of several: for freeze_archs
    command.add_flag("--embed", options->embed, "Make the weights a part of the program: the header takes them in");
    command.callback([options, &command] {
        refuse_same_file(command, {"--out", "--bin"});
        refuse_idle(command, {{"--seed", !has_random_weights(options->model), random_weights_need}});
        freeze(*options);
    });
}

}  // namespace cli
