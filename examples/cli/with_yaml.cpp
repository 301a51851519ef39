#include "settings_file.hpp"

#include <primsel/io/yaml.hpp>

namespace cli {

ps::Settings read_settings(std::string const& path) {
    return path.ends_with(".yaml") || path.ends_with(".yml") ? ps::read_yaml(path) : ps::read_json_settings(path);
}

}  // namespace cli
