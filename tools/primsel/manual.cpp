// primsel manual: the man page, taken from the commands themselves.
#include "commands.hpp"
#include "examples.hpp"
#include "text.hpp"

#include <primsel/version.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <set>

namespace cli {
namespace {

/// As roff prints it. A line that begins with a dot or an apostrophe would be a request.
std::string roff(std::string const& text) {
    std::string result;
    for (const char c : text) {
        if (result.empty() && (c == '.' || c == '\'')) result += "\\&";
        if (c == '\\') {
            result += "\\e";
        } else if (c == '-' || c == '\'' || c == '`' || c == '^' || c == '~') {
            const char* const names[] = {"\\-", "\\(aq", "\\(ga", "\\(ha", "\\(ti"};
            result += names[std::string_view("-'`^~").find(c)];
        } else {
            result += c;
        }
    }
    return result;
}
std::string bold(std::string const& text) { return "\\fB" + roff(text) + "\\fR"; }
std::string italic(std::string const& text) { return "\\fI" + roff(text) + "\\fR"; }

/// "; not with --a, --b", in the order of their names.
std::string relation(std::string const& words, std::set<CLI::Option*> const& others) {
    std::vector<std::string> names;
    for (const CLI::Option* option : others) names.push_back(option->get_name());
    std::ranges::sort(names);
    return names.empty() ? "" : "; " + words + " " + list_of_names(names);
}

std::string entry_of(CLI::Option const& option) {
    const std::string type = option.get_type_name();
    std::string head;
    for (std::string const& name : option.get_snames()) head += bold("-" + name) + ", ";
    for (std::string const& name : option.get_lnames()) head += bold("--" + name) + ", ";
    head.resize(head.empty() ? 0 : head.size() - 2);
    if (option.get_positional()) {
        head = italic(option.get_name());
    } else if (option.get_items_expected_max() > 0) {
        head += " " + italic(type.substr(0, type.find(':')));
    }
    return ".TP\n" + head + '\n' +
           roff(option.get_description() + relation("needs", option.get_needs()) +
                relation("not with", option.get_excludes())) +
           '\n';
}

std::string manual(CLI::App const& app) {
    std::string text = ".TH PRIMSEL 1 \"\" \"primsel " PRIMSEL_VERSION "\" \"User Commands\"\n.SH NAME\nprimsel \\- ";
    std::string what = app.get_description();
    what[0] = static_cast<char>(what[0] - 'A' + 'a');
    text += roff(what.substr(0, what.find_last_not_of('.') + 1)) + "\n.SH SYNOPSIS\n" + bold("primsel") + ' ' +
            italic("COMMAND") + " [" + italic("OPTION") + "]...\n.SH OPTIONS\n";
    for (const CLI::Option* option : app.get_options()) text += entry_of(*option);
    text += ".SH COMMANDS\n";
    for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
        std::string head = command->get_name(), entries;
        for (const CLI::Option* option : command->get_options()) {
            if (option->get_positional()) head += ' ' + option->get_name();
            if (option != command->get_help_ptr()) entries += entry_of(*option);
        }
        text += ".SS \"" + roff("primsel " + head) + "\"\n" + roff(command->get_description()) + ".\n" + entries;
    }
    text += ".SH EXIT STATUS\n0 for success, 1 for an error, 2 for misuse of the command line.\n.SH EXAMPLES\n";
    for (Example const& example : examples) text += ".PP\n.nf\n" + bold(std::string(example.text)) + "\n.fi\n";
    return text;
}

}  // namespace

void add_manual(CLI::App& app) {
    CLI::App& command = *app.add_subcommand("manual", "Print this manual as a man page");
    command.callback([&app] { print(manual(app)); });
}

}  // namespace cli
