// Opt-in: needs yaml-cpp, which must be linked.
#pragma once

#include <primsel/core/error.hpp>
#include <primsel/io/file.hpp>
#include <primsel/io/settings.hpp>

#include <yaml-cpp/yaml.h>

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace primsel::inline PRIMSEL_ABI {

namespace io::detail {

/// Converts a YAML node. `values` counts the values so far, since aliases may repeat a large part many times.
[[nodiscard]] inline Settings settings_of(YAML::Node const& node, std::shared_ptr<const std::string> const& file,
                                          std::size_t depth, std::size_t& values) {
    // yaml-cpp counts lines from 0; an unknown line is -1.
    const auto line = static_cast<std::size_t>(node.Mark().line + 1);
    const auto as = [&](Settings::Kind kind, std::string text = {}) {
        return Settings(file, line, kind, std::move(text));
    };
    if (depth > settings_depth) as(Settings::Kind::nothing).fail("more than ", settings_depth, " levels");
    if (++values > settings_values) as(Settings::Kind::nothing).fail("more than ", settings_values, " values");
    if (node.IsScalar()) return as(Settings::Kind::text, node.Scalar());
    if (node.IsSequence()) {
        Settings list = as(Settings::Kind::list);
        for (YAML::Node const& element : node) list.add(settings_of(element, file, depth + 1, values));
        return list;
    }
    if (!node.IsMap()) return as(Settings::Kind::nothing);
    Settings map = as(Settings::Kind::map);
    for (auto const& member : node) {
        if (!member.first.IsScalar()) map.fail("a name is needed before the colon");
        Settings value = settings_of(member.second, file, depth + 1, values);
        // A member without a value has the line of its name.
        if (value.kind() == Settings::Kind::nothing) {
            value = Settings(file, static_cast<std::size_t>(member.first.Mark().line + 1));
        }
        map.add(member.first.Scalar(), std::move(value));
    }
    return map;
}

}  // namespace io::detail

/// Reads settings from a YAML text of one document. Throws error, naming the file and the line, if it is no YAML.
[[nodiscard]] inline Settings parse_yaml(std::string const& name, std::string_view text) {
    const auto file = std::make_shared<const std::string>(name);
    try {
        std::size_t values = 0;
        return io::detail::settings_of(YAML::Load(std::string(text)), file, 0, values);
    } catch (YAML::Exception const& fault) {
        fail(name, ':', fault.mark.line + 1, ": ", fault.msg);
    }
}
[[nodiscard]] inline Settings read_yaml(std::string const& path) {
    const SharedBytes file = read_file(path);
    return parse_yaml(path, file.text());
}

}  // namespace primsel::inline PRIMSEL_ABI
