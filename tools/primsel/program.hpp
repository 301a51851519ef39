// Other programs: they do trials, and measure networks.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace cli {

/// Runs a program, the first word by PATH, with these variables added to the environment. line(text) gets each line of
/// its output and says whether to go on; if not, the program is ended. Throws error, with the last line of its error
/// output, if it cannot be run, fails, or is killed by another.
void run_program(std::vector<std::string> const& words, std::map<std::string, std::string> const& environment,
                 std::function<bool(std::string_view)> const& line);

/// The words that run a shell command in which each {model} is the file.
[[nodiscard]] std::vector<std::string> shell_command(std::string command, std::string const& file);

}  // namespace cli
