// Options of the commands that learn, and the errors of their models.
#pragma once

#include "text.hpp"

#include <primsel/learn/evaluate.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

namespace CLI {
class App;
}

namespace cli {

/// Adds the options of every command that learns: --seed, --threads and --json.
void add_learning_options(CLI::App& command, std::uint64_t& seed, std::size_t& threads, bool& json);

[[nodiscard]] ps::Json to_json(ps::learn::Evaluation const& errors);
/// A heading, the errors of all and of families; of each subject if asked for.
[[nodiscard]] std::string to_text(std::string const& what, ps::learn::Evaluation const& errors, bool subjects);

}  // namespace cli
