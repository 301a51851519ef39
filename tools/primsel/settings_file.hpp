// Files that people write, in JSON or YAML.
#pragma once

#include <primsel/io/settings.hpp>

#include <string>
#include <string_view>

namespace cli {

namespace ps = primsel;

/// YAML by the name's end, .yaml or .yml, or else JSON. Throws error, also for YAML in a program without it.
[[nodiscard]] ps::Settings read_settings(std::string const& path);
/// The same of a file's text.
[[nodiscard]] ps::Settings parse_settings(std::string const& path, std::string_view text);

}  // namespace cli
