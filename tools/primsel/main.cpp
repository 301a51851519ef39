// primsel: runs, plans, explains and compares networks. docs/cli.md has the whole of it.
#include "commands.hpp"
#include "examples.hpp"
#include "text.hpp"

#include <primsel/core/simd.hpp>
#include <primsel/version.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <exception>
#include <new>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace {

enum ExitCode { success = 0, failure = 1, usage = 2 };

/// Errors that list several things have a line for each, two spaces in. What else breaks lines came from files.
int report(std::string const& message, ExitCode code) {
    constexpr std::string_view line = "\n  ";
    std::string text;
    for (std::size_t first = 0, end = 0; end != std::string::npos; first = end + line.size()) {
        end = message.find(line, first);
        text += (first == 0 ? "" : line);
        text += primsel::printable(std::string_view(message).substr(first, end - first));
    }
    std::fprintf(stderr, "primsel: %s\n", text.c_str());
    return code;
}

std::vector<std::string> commands_of(CLI::App const& app) {
    std::vector<std::string> names;
    for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
        names.push_back(command->get_name());
    }
    return names;
}
std::vector<std::string> options_of(CLI::App const& app) {
    std::vector<std::string> names;
    for (const CLI::Option* option : app.get_options()) {
        for (std::string const& name : option->get_lnames()) names.push_back("--" + name);
    }
    return names;
}

/// The first word that nothing takes, of a command an option before others, and what it may have meant; empty where
/// there is none.
std::string unknown_word(CLI::App const& app) {
    const std::vector<CLI::App*> chosen = app.get_subcommands();
    CLI::App const& command = chosen.empty() ? app : *chosen[0];
    const std::vector<std::string> words = app.remaining(true);
    if (words.empty()) return {};
    const auto is_option = [](std::string const& word) { return word.starts_with('-'); };
    // The words where a command should stand; for a command, the option that lacks its value.
    const auto option = chosen.empty() ? words.begin() : std::ranges::find_if(words, is_option);
    if (option != words.end() && is_option(*option)) {
        const std::string name = option->substr(0, option->find('='));
        const std::string of = chosen.empty() ? "" : " of " + command.get_name();
        return name + ": no such option" + of + "; " + cli::did_you_mean(name, options_of(command));
    }
    if (chosen.empty()) {
        const std::vector<std::string> names = commands_of(app);
        return words[0] + ": no such command; " + cli::did_you_mean(words[0], names) + "there are " +
               cli::list_of_names(names);
    }
    return words[0] + ": " + command.get_name() + " takes nothing of the kind; ";
}

/// The fault of the command line, in a line.
std::string explain(CLI::App const& app, CLI::ParseError const& error) {
    const bool is_incomplete = dynamic_cast<const CLI::RequiredError*>(&error) != nullptr;
    if (is_incomplete || dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr) {
        std::string text = unknown_word(app);
        text.erase(text.find_last_not_of("; ") + 1);
        if (!text.empty()) return text;
    }
    if (is_incomplete && app.get_subcommands().empty()) {
        return "a command is needed; there are " + cli::list_of_names(commands_of(app));
    }
    return error.what();
}

}  // namespace

int main(int argc, char** argv) {
    // A file larger than the process may write is then an error with its name.
    std::signal(SIGXFSZ, SIG_IGN);
    CLI::App app("Picks the fastest primitive for each layer of a convolutional network, and runs it.", "primsel");
    try {
        // The instruction set that the program runs, of those that it may be compiled for.
        app.set_version_flag("--version", PRIMSEL_VERSION " (" + std::string(primsel::default_arch::name()) + ")");
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
        cli::add_train(app);
        cli::add_accuracy(app);
        cli::add_quantise(app);
        cli::add_prune(app);
        cli::add_sensitivity(app);
        cli::add_sweep(app);
        cli::add_worker(app);
        cli::add_report(app);
        cli::add_dynamic(app);
        cli::add_forecast(app);
        cli::add_search(app);
        cli::add_list(app);
        cli::add_machine(app);
        cli::add_export(app);
        cli::add_freeze(app);
        cli::add_completion(app);
        cli::add_manual(app);
        for (cli::Example const& example : cli::examples) {
            app.get_subcommand(std::string(example.command))->footer("For example:\n  " + std::string(example.text));
        }
        try {
            app.parse(argc, argv);
        } catch (CLI::ParseError const& error) {
            if (error.get_exit_code() != static_cast<int>(CLI::ExitCodes::Success)) {
                report(explain(app, error), usage);
                std::fprintf(stderr, "Run with --help for more information.\n");
                return usage;
            }
            std::ostringstream text;  // of --help and --version
            app.exit(error, text, text);
            cli::print(text.str());
        }
        cli::finish_printing();
        return success;
    } catch (std::bad_alloc const&) {
        return report("there is not enough memory", failure);
    } catch (std::exception const& error) {
        return report(error.what(), failure);
    }
}
