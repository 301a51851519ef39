// primsel freeze NET --out NET.hpp: a network's plan as a header of constants, and its packed weights.
#include "commands.hpp"
#include "options.hpp"
#include "session.hpp"
#include "text.hpp"

#include <primsel/engine/low_precision.hpp>
#include <primsel/frozen/freeze.hpp>
#include <primsel/io/file.hpp>

#include <CLI/CLI.hpp>

#include <cctype>
#include <filesystem>
#include <memory>
#include <string>

namespace cli {
namespace {

struct FreezeCommand : Options {
    std::string out, bin, name;
    bool embed = false;
};

/// A text as the name of a struct: what is no letter, digit or '_' becomes '_'.
std::string identifier(std::string text) {
    for (char& c : text) {
        if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
    }
    return text.empty() || std::isdigit(static_cast<unsigned char>(text[0])) != 0 ? "net_" + text : text;
}

void freeze(FreezeCommand options) {
    const std::filesystem::path header(options.out);
    if (options.bin.empty()) options.bin = std::filesystem::path(header).replace_extension(".bin").string();
    if (options.name.empty()) options.name = header.stem().string();
    options.name = identifier(options.name);
    const Model model = load_to_plan(options);
    const ps::Plan plan = plan_for(model, options.planning, options.threads);
    const std::string absolute = std::filesystem::absolute(options.bin).string();
    ps::ThreadPool packing(options.threads);
    const ps::FrozenFiles files =
        ps::freeze(model.simplified, kernels_of(model), plan, model.weights,
                   ps::frozen::kernel_types<ps::EveryPrimitive, ps::EveryLayout>(),
                   {.name = options.name, .workers = options.threads, .embed = options.embed ? absolute : ""}, packing);
    // The header refuses weights of another freezing: a new one with old weights is never run.
    ps::write_file(options.bin, files.weights);
    ps::write_file(options.out, files.header);
    const std::size_t arena = ps::arena_bytes(model.simplified, kernels_of(model), plan, options.threads);
    if (options.json) {
        return print_json(ps::Json::Object{{"model", model.name},
                                           {"header", options.out},
                                           {"weights", options.bin},
                                           {"weights_bytes", files.weights.size()},
                                           {"arena_bytes", arena},
                                           {"struct", options.name},
                                           {"arch", std::string(ps::frozen::arch_name)},
                                           {"predicted_ms", plan.total_seconds * 1e3}});
    }
    print_line(model.name, ": struct ", options.name, " in ", options.out, ", ", megabytes(files.weights.size()),
               " of weights in ", options.bin, ", arena ", megabytes(arena));
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
    command.add_flag("--embed", options->embed, "Make the weights a part of the program: the header takes them in");
    command.callback([options, &command] {
        refuse_same_file(command, {"--out", "--bin"});
        refuse_idle(command, {{"--seed", !has_random_weights(options->model), random_weights_need}});
        freeze(*options);
    });
}

}  // namespace cli
