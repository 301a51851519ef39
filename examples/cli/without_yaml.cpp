#include "settings_file.hpp"

namespace cli {

ps::Settings read_settings(std::string const& path) {
    if (path.ends_with(".yaml") || path.ends_with(".yml")) {
        ps::fail(path, ": this program was built without yaml-cpp; the same in JSON is read");
    }
    return ps::read_json_settings(path);
}

}  // namespace cli
