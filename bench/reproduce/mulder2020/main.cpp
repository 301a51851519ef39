// reproduce_mulder2020 --data DIR: the tables and figures of a paper, made again from its data.
#include "reproduce.hpp"

#include <text.hpp>

#include <primsel/version.hpp>

#include <CLI/CLI.hpp>

#include <cstdio>
#include <exception>
#include <new>
#include <sstream>
#include <string>
#include <vector>

namespace {

enum ExitCode { success = 0, failure = 1, usage = 2 };

int report(std::string const& message, ExitCode code) {
    std::fprintf(stderr, "reproduce_mulder2020: %s\n", primsel::printable(message).c_str());
    return code;
}

void add_options(CLI::App& app, reproduce::Options& options) {
    app.add_option("--data", options.data, "Folder of the published measurements: of mulder2020/ or its files")
        ->required()
        ->type_name("DIR");
    app.add_option_function<std::vector<std::string>>(
           "--machines",
           [&options](std::vector<std::string> const& names) {
               options.machines = {.source = names[0], .target = names[1]};
           },
           "Of other profiles in it: A,B for A_primitives.csv, A_layouts.csv and B's (default intel,amd)")
        ->delimiter(',')
        ->expected(2)
        ->type_name("A,B");
    app.add_option("--out", options.out, "Folder of the report, gone on with if it is there (default report)")
        ->type_name("DIR");
    app.add_flag("--quick", options.quick, "A minute and rough, in place of hours");
    app.add_option("--threads", options.threads, "Experiments at a time, each on one thread (default 1)")
        ->check(CLI::Range(1, 1024))
        ->type_name("N");
    app.add_option("--seed", options.seed, "Draws splits, subsets and weights (default 1)")->type_name("S");
    app.add_option("--only", options.only, "Of the experiments, those whose name has TEXT; the others stay open")
        ->type_name("TEXT");
    app.add_flag("--json", options.json, "Print one JSON object");
    app.footer("For example:\n  reproduce_mulder2020 --data data --out report --quick");
}

}  // namespace

int main(int argc, char** argv) {
    CLI::App app("Makes the tables and figures of Mulder et al. 2020 again from its data, with its models and ours.",
                 "reproduce_mulder2020");
    try {
        reproduce::Options options;
        app.set_version_flag("--version", PRIMSEL_VERSION);
        add_options(app, options);
        try {
            app.parse(argc, argv);
        } catch (CLI::ParseError const& error) {
            if (error.get_exit_code() != static_cast<int>(CLI::ExitCodes::Success)) {
                report(error.what(), usage);
                std::fprintf(stderr, "Run with --help for more information.\n");
                return usage;
            }
            std::ostringstream text;  // of --help and --version
            app.exit(error, text, text);
            cli::print(text.str());
            cli::finish_printing();
            return success;
        }
        reproduce::run(options);
        cli::finish_printing();
        return success;
    } catch (std::bad_alloc const&) {
        return report("there is not enough memory", failure);
    } catch (std::exception const& error) {
        return report(error.what(), failure);
    }
}
