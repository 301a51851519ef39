// primsel completion bash|zsh|fish: what the shell completes, taken from the commands themselves.
#include "commands.hpp"
#include "model.hpp"
#include "session.hpp"
#include "text.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <iterator>
#include <memory>
#include <set>

namespace cli {
namespace {

enum class OtherValues { none, files, folders };

/// The words that an option or an argument takes.
struct Taken {
    std::vector<std::string> names;
    OtherValues others = OtherValues::none;
    friend bool operator==(Taken const&, Taken const&) = default;
};

/// An option or an argument that takes something.
struct Taker {
    const CLI::Option* option;
    /// <command>/<option> or <command>/<1, 2, ... of the argument>; the command itself is /1.
    std::string key;
    Taken taken;
};

std::vector<const CLI::App*> all_commands(CLI::App const& app) {
    return app.get_subcommands([](const CLI::App*) { return true; });
}

std::string option_words(CLI::App const& command) {
    std::string words;
    for (const CLI::Option* option : command.get_options()) {
        if (option->get_group().empty()) continue;  // hidden
        for (std::string const& name : option->get_lnames()) words += (words.empty() ? "--" : " --") + name;
    }
    return words;
}

std::string command_words(CLI::App const& app) {
    std::string words;
    for (const CLI::App* command : all_commands(app)) words += (words.empty() ? "" : " ") + command->get_name();
    return words;
}

std::string joined(std::vector<std::string> const& names) {
    std::string text;
    for (std::string const& name : names) text += (text.empty() ? "" : " ") + name;
    return text;
}

std::vector<std::string> names_of(std::vector<CostsEntry> const& entries) {
    std::vector<std::string> names;
    // FILE and ID stand for what the user has.
    for (CostsEntry const& entry : entries) {
        if (entry.name != "FILE" && !entry.name.ends_with("ID")) names.push_back(entry.name);
    }
    return names;
}

std::vector<std::string> primitives_and_families() {
    const ps::Kernels all = kernels();
    std::set<std::string> families;
    std::vector<std::string> names;
    for (ps::PrimitiveEntry const& entry : all.primitives) {
        families.emplace(to_string_view(entry.family));
        names.emplace_back(entry.id);
    }
    names.insert(names.begin(), families.begin(), families.end());
    return names;
}

/// The names of the check for one of several, which CLI11 writes behind the type: NAME:{a,b}.
std::vector<std::string> listed_names(std::string const& type) {
    std::vector<std::string> names;
    const std::size_t last = type.rfind('}');
    for (std::size_t at = type.find('{'); at < last && last != std::string::npos;) {
        const std::size_t end = std::min(type.find(',', at + 1), last);
        names.push_back(type.substr(at + 1, end - at - 1));
        at = end;
    }
    return names;
}

Taken taken_by(CLI::Option const& option) {
    const std::string name = option.get_name(), whole = option.get_type_name(), type = whole.substr(0, whole.find(':'));
    if (auto names = listed_names(whole); !names.empty()) return {std::move(names)};
    if (name == "NET" || type == "NET,...") {
        std::vector<std::string> names;
        for (ListedNetwork const& network : list_networks()) names.push_back(network.name);
        return {std::move(names), OtherValues::files};
    }
    if (name == "--costs" || name == "--against") return {names_of(list_costs()), OtherValues::files};
    if (name == "--solver") return {names_of(list_solvers())};
    if (name == "--primitives") return {primitives_and_families()};
    if (type == "DIR") return {{}, OtherValues::folders};
    // "F", "F.csv", "[NAME=]X.npy|X.pb", but not "NAME,..."
    const std::size_t dot = type.find('.');
    const bool has_suffix = dot != std::string::npos && type.find("..") == std::string::npos;
    return {{}, name == "OUT" || type == "F" || has_suffix ? OtherValues::files : OtherValues::none};
}

std::vector<Taker> takers_of(CLI::App const& command) {
    std::vector<Taker> takers;
    int arguments = 0;
    for (const CLI::Option* option : command.get_options()) {
        if (option->get_items_expected_max() == 0 || option->get_group().empty()) continue;
        const std::string place = option->get_positional() ? std::to_string(++arguments) : option->get_name();
        takers.push_back({option, command.get_name() + "/" + place, taken_by(*option)});
    }
    return takers;
}

/// The shell function _primsel_values, for bash and zsh: sets names and others for a key, or fails where nothing is
/// taken.
std::string function_of_values(CLI::App const& app) {
    std::vector<std::pair<Taken, std::string>> cases;
    for (const CLI::App* command : all_commands(app)) {
        for (Taker const& taker : takers_of(*command)) {
            const auto same = std::ranges::find(cases, taker.taken, &std::pair<Taken, std::string>::first);
            if (same == cases.end()) {
                cases.emplace_back(taker.taken, taker.key);
            } else {
                same->second += " | " + taker.key;
            }
        }
    }
    std::string text = "_primsel_values() {\n    names='' others=''\n    case $1 in\n        /1)\n            names='" +
                       command_words(app) + "' ;;\n";
    for (auto const& [taken, keys] : cases) {
        const char* const others[] = {"", "files", "folders"};
        text += "        " + keys + ")\n            names='" + joined(taken.names) + "' others='" +
                others[static_cast<int>(taken.others)] + "' ;;\n";
    }
    return text + "        *) return 1 ;;\n    esac\n}\n";
}

std::string for_bash(CLI::App const& app) {
    std::string text =
        "# bash completion of primsel, written by `primsel completion bash`.\n\n" + function_of_values(app);
    text += "_primsel_options() {\n    case $1 in\n";
    for (const CLI::App* command : all_commands(app)) {
        text += "        " + command->get_name() + ") names='" + option_words(*command) + "' ;;\n";
    }
    text += "        *) names='" + option_words(app) + "' ;;\n    esac\n}\n";
    return text + R"SHELL(_primsel() {
    local current=${COMP_WORDS[COMP_CWORD]} command='' option='' arguments=0 names='' others='' word i
    for ((i = 1; i < COMP_CWORD; ++i)); do
        word=${COMP_WORDS[i]}
        case $word in
            =) ;; # bash splits --plan=F and uniform:im2
            :) ((++i)) ;;
            *)
                if [[ -n $option ]]; then
                    option=''
                elif [[ $word == -* ]]; then
                    if _primsel_values "$command/$word"; then option=$word; fi
                elif [[ -z $command ]]; then
                    command=$word
                else
                    ((++arguments))
                fi
                ;;
        esac
    done
    [[ $current == = ]] && current=''
    names='' others=''
    if [[ -n $option ]]; then
        _primsel_values "$command/$option"
    elif [[ $current == -* ]]; then
        _primsel_options "$command"
    else
        _primsel_values "$command/$((arguments + 1))" || _primsel_options "$command"
    fi
    mapfile -t COMPREPLY < <(
        compgen -W "$names" -- "$current"
        case $others in
            files) compgen -f -- "$current" ;;
            folders) compgen -d -- "$current" ;;
        esac
    )
    if [[ -n $others ]]; then compopt -o filenames 2>/dev/null; fi
}
complete -F _primsel primsel
)SHELL";
}

/// For within single quotes: `quote` stands for one, and a backslash goes before each of the characters.
std::string escaped(std::string const& text, std::string_view characters, std::string_view quote) {
    std::string result;
    for (const char c : text) {
        if (characters.find(c) != std::string_view::npos) result += '\\';
        if (c == '\'') {
            result += quote;
        } else {
            result += c;
        }
    }
    return result;
}
std::string zsh_text(std::string const& text) { return escaped(text, ":[]\\", "'\\''"); }
std::string fish_text(std::string const& text) { return escaped(text, "\\", "\\'"); }

std::string for_zsh(CLI::App const& app) {
    std::string text = "#compdef primsel\n# zsh completion of primsel, written by `primsel completion zsh`.\n\n" +
                       function_of_values(app) + R"(_primsel_offer() {
    local names others
    _primsel_values "$1"
    if [[ -n $names ]]; then compadd -- ${=names}; fi
    case $others in
        files) _files ;;
        folders) _files -/ ;;
    esac
}
_primsel() {
    local context state state_descr line ret=1
    local -a subcommands
    typeset -A opt_args
    subcommands=(
)";
    for (const CLI::App* command : all_commands(app)) {
        text += "        '" + command->get_name() + ":" + zsh_text(command->get_description()) + "'\n";
    }
    text += R"(    )
    _arguments -C '(- *)'{-h,--help}'[Print what there is]' '(- *)--version[Print the version]' \
        '1:command:->command' '*::argument:->argument' && ret=0
    case $state in
        command) _describe command subcommands && ret=0 ;;
        argument)
            case $words[1] in
)";
    for (const CLI::App* command : all_commands(app)) {
        text += "                " + command->get_name() + ")\n                    _arguments";
        const std::vector<Taker> takers = takers_of(*command);
        for (const CLI::Option* option : command->get_options()) {
            const auto taker = std::ranges::find(takers, option, &Taker::option);
            const bool takes = taker != takers.end();
            const std::string offer = takes ? ": _primsel_offer " + taker->key : "";
            text += " \\\n                        '";
            if (option->get_positional()) {
                text += taker->key.substr(taker->key.find('/') + 1) + ":" + option->get_name() + offer + "'";
            } else {
                text += (takes && option->get_items_expected_max() > 1 ? "*--" : "--") + option->get_lnames()[0] +
                        (takes ? "=[" : "[") + zsh_text(option->get_description()) + (takes ? "]:value" : "]") + offer +
                        "'";
            }
        }
        text += " && ret=0 ;;\n";
    }
    return text + R"(            esac
            ;;
    esac
    return ret
}
if [[ $funcstack[1] == _primsel ]]; then _primsel "$@"; else compdef _primsel primsel; fi
)";
}

std::string for_fish(CLI::App const& app) {
    std::string text = "# fish completion of primsel, written by `primsel completion fish`.\ncomplete -c primsel -f\n";
    const auto add_flags = [&text](CLI::App const& of, std::string const& when) {
        for (const CLI::Option* option : of.get_options()) {
            if (option->get_positional() || option->get_items_expected_max() > 0) continue;
            text += when + " -l " + option->get_lnames()[0] + " -d '" + fish_text(option->get_description()) + "'\n";
        }
    };
    const std::string first = "complete -c primsel -n __fish_use_subcommand";
    add_flags(app, first);
    for (const CLI::App* command : all_commands(app)) {
        const std::string name = command->get_name();
        text += first + " -a " + name + " -d '" + fish_text(command->get_description()) + "'\n";
        const std::string when = "complete -c primsel -n '__fish_seen_subcommand_from " + name + "'";
        add_flags(*command, when);
        for (Taker const& taker : takers_of(*command)) {
            Taken const& taken = taker.taken;
            const bool is_option = !taker.option->get_positional();
            if (!is_option && taken == Taken{}) continue;
            text += when;
            if (is_option) text += " -r -l " + taker.option->get_lnames()[0];
            text += taken.others == OtherValues::files ? " -F" : " -f";
            if (taken.others == OtherValues::folders) text += " -a '(__fish_complete_directories)'";
            if (!taken.names.empty()) text += " -a '" + joined(taken.names) + "'";
            if (is_option) text += " -d '" + fish_text(taker.option->get_description()) + "'";
            text += '\n';
        }
    }
    return text;
}

}  // namespace

void add_completion(CLI::App& app) {
    const auto shell = std::make_shared<std::string>();
    CLI::App& command = *app.add_subcommand("completion", "Print the completion of commands for a shell");
    command.add_option("SHELL", *shell, "bash, zsh or fish")->required()->check(CLI::IsMember({"bash", "zsh", "fish"}));
    command.callback([&app, shell] {
        print(*shell == "bash" ? for_bash(app) : *shell == "zsh" ? for_zsh(app) : for_fish(app));
    });
}

}  // namespace cli
