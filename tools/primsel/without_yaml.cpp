#include "settings_file.hpp"

namespace cli {

ps::Settings parse_settings(std::string const& path, std::string_view text) {
    if (path.ends_with(".yaml") || path.ends_with(".yml")) {
        ps::fail(path, ": this program was built without yaml-cpp; the same in JSON is read");
    }
    return ps::parse_json_settings(path, text);
}
ps::Settings read_settings(std::string const& path) {
    const ps::SharedBytes file = ps::read_file(path);
    return parse_settings(path, file.text());
}

}  // namespace cli
