// primsel: runs, plans, explains and compares networks. docs/cli.md has the whole of it.
#include "commands.hpp"

#include <primsel/version.hpp>

#include <CLI/CLI.hpp>

#include <cstdio>
#include <exception>
#include <new>
#include <string>

namespace {

enum ExitCode { success = 0, failure = 1, usage = 2 };

int report(const char* message, ExitCode code) {
    std::fprintf(stderr, "primsel: %s\n", message);
    return code;
}

}  // namespace

int main(int argc, char** argv) {
    CLI::App app("Picks the fastest primitive for each layer of a convolutional network, and runs it.", "primsel");
    try {
        app.set_version_flag("--version", PRIMSEL_VERSION);
        app.require_subcommand(1);
        cli::add_run(app);
        cli::add_plan(app);
        cli::add_explain(app);
        cli::add_trace(app);
        cli::add_compare(app);
        cli::add_calibrate(app);
        cli::add_profile(app);
        cli::add_fit(app);
        cli::add_transfer(app);
        cli::add_evaluate(app);
        cli::add_pretrain(app);
        cli::add_reproduce(app);
        cli::add_list(app);
        cli::add_export(app);
        app.parse(argc, argv);
        if (std::fflush(stdout) != 0) return report("cannot write to the standard output", failure);
        return success;
    } catch (CLI::ParseError const& error) {
        if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success)) return app.exit(error);  // --help
        report(error.what(), usage);
        std::fprintf(stderr, "Run with --help for more information.\n");
        return usage;
    } catch (std::bad_alloc const&) {
        return report("there is not enough memory", failure);
    } catch (std::exception const& error) {
        return report(error.what(), failure);
    }
}
