// primsel reproduce mulder2020 --data DIR: the tables and figures of a paper, made again from its data.
#include "reproduce/reproduce.hpp"

#include "commands.hpp"

#include <CLI/CLI.hpp>

#include <memory>

namespace cli {

void add_reproduce(CLI::App& app) {
    struct Reproduction {
        std::string paper;
        reproduce::Options options;
    };
    const auto chosen = std::make_shared<Reproduction>();
    reproduce::Options& options = chosen->options;
    CLI::App& command = *app.add_subcommand(
        "reproduce", "Make a paper's tables and figures again from its data, with its models and ours: a report");
    command.add_option("WHAT", chosen->paper, "mulder2020")->required()->check(CLI::IsMember({"mulder2020"}));
    command.add_option("--data", options.data, "Folder of the published measurements: of mulder2020/ or its files")
        ->required()
        ->type_name("DIR");
    command
        .add_option_function<std::vector<std::string>>(
            "--machines",
            [&options](std::vector<std::string> const& names) {
                options.machines = {.source = names[0], .target = names[1]};
            },
            "Of other profiles in it: A,B for A_primitives.csv, A_layouts.csv and B's (default intel,amd)")
        ->delimiter(',')
        ->expected(2)
        ->type_name("A,B");
    command.add_option("--out", options.out, "Folder of the report, gone on with if it is there (default report)")
        ->type_name("DIR");
    command.add_flag("--quick", options.quick, "A minute and rough, in place of hours");
    command.add_option("--threads", options.threads, "Experiments at a time, each on one thread (default 1)")
        ->check(CLI::Range(1, 1024))
        ->type_name("N");
    command.add_option("--seed", options.seed, "Draws splits, subsets and weights (default 1)")->type_name("S");
    command.add_flag("--json", options.json, "Print one JSON object");
    command.callback([chosen] { reproduce::run(chosen->options); });
}

}  // namespace cli
