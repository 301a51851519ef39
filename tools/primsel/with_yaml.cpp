#include "settings_file.hpp"

#include <primsel/io/yaml.hpp>

namespace cli {

ps::Settings parse_settings(std::string const& path, std::string_view text) {
    const bool is_yaml = path.ends_with(".yaml") || path.ends_with(".yml");
    return is_yaml ? ps::parse_yaml(path, text) : ps::parse_json_settings(path, text);
}
ps::Settings read_settings(std::string const& path) {
    const ps::SharedBytes file = ps::read_file(path);
    return parse_settings(path, file.text());
}

}  // namespace cli
