// Files that people write, in JSON or YAML.
#pragma once

#include <primsel/io/settings.hpp>

#include <string>

namespace cli {

namespace ps = primsel;

/// YAML by the name's end, .yaml or .yml, or else JSON. Throws error, also for YAML in a program without it.
[[nodiscard]] ps::Settings read_settings(std::string const& path);

}  // namespace cli
