#pragma once

#include <primsel/core/csv.hpp>
#include <primsel/core/error.hpp>
#include <primsel/core/nearest.hpp>
#include <primsel/core/printable.hpp>
#include <primsel/io/file.hpp>
#include <primsel/io/json.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

/// A value of a JSON or YAML file that people write. It knows its line; an access that does not fit the value throws
/// error with the file and the line. Scalars are texts until they are asked for as numbers.
class Settings {
public:
    enum class Kind { nothing, text, list, map };

    /// `file`: the name of the file in errors.
    explicit Settings(std::shared_ptr<const std::string> file, std::size_t line = 1, Kind kind = Kind::nothing,
                      std::string text = {})
        : file_(std::move(file)), line_(line), kind_(kind), text_(std::move(text)) {}

    [[nodiscard]] Kind kind() const { return kind_; }
    [[nodiscard]] std::size_t line() const { return line_; }
    /// "file:12"
    [[nodiscard]] std::string place() const { return join(*file_, ':', line_); }
    /// Throws error with the file, the line and the parts.
    template <class... Parts>
    [[noreturn]] void fail(Parts const&... parts) const {
        primsel::fail(place(), ": ", printable(join(parts...)));
    }

    [[nodiscard]] std::string const& text() const {
        if (kind_ != Kind::text) fail("expected a text or a number, not ", kind_name());
        return text_;
    }
    /// Reads the whole text as a number into `value`; returns whether it is one. A leading plus is allowed, as in YAML.
    template <class T>
    [[nodiscard]] bool is_number(T& value) const {
        std::string_view digits = text();
        if (digits.starts_with('+') && !digits.starts_with("+-")) digits.remove_prefix(1);
        return read_number(digits, value);
    }
    [[nodiscard]] double number(double low, double high) const {
        double value = 0;
        if (is_number(value) && value >= low && value <= high) return value;
        constexpr double largest = std::numeric_limits<double>::max();
        if (low == -largest && high == largest) fail("expected a finite number, not ", text());
        if (low == std::numeric_limits<double>::min() && high == largest) {
            fail("expected a finite number above 0, not ", text());
        }
        fail("expected a number from ", low, " to ", high, ", not ", text());
    }
    [[nodiscard]] std::int64_t integer(std::int64_t low, std::int64_t high) const {
        std::int64_t value = 0;
        if (!is_number(value) || value < low || value > high) {
            fail("expected an integer from ", low, " to ", high, ", not ", text());
        }
        return value;
    }
    /// The text, which must be one of the names. Throws error for any other, with the nearest name.
    [[nodiscard]] std::string const& one_of(std::initializer_list<std::string_view> names) const {
        if (std::ranges::find(names, text()) == names.end()) {
            fail('\'', text_, "' is none of ", listed(names), nearest_of(text_, strings(names)));
        }
        return text_;
    }
    [[nodiscard]] std::vector<Settings> const& elements() const {
        if (kind_ != Kind::list) fail("expected a list, not ", kind_name());
        return elements_;
    }
    [[nodiscard]] std::vector<std::pair<std::string, Settings>> const& members() const {
        if (kind_ != Kind::map) fail("expected names with values, not ", kind_name());
        return members_;
    }
    /// Throws error, naming the line, if a member has none of these names.
    void allow(std::initializer_list<std::string_view> names) const {
        for (auto const& [name, value] : members()) {
            if (std::ranges::find(names, name) != names.end()) continue;
            value.fail('\'', name, "' is none of ", listed(names), nearest_of(name, strings(names)));
        }
    }
    [[nodiscard]] const Settings* find(std::string_view name) const {
        for (auto const& [own, value] : members()) {
            if (own == name) return &value;
        }
        return nullptr;
    }
    [[nodiscard]] Settings const& at(std::string_view name) const {
        const Settings* found = find(name);
        if (found == nullptr) fail("'", name, "' is missing");
        return *found;
    }

    /// Adds an element to a list, or a member to a map, while the file is read. Throws error if the map has the name
    /// already.
    void add(Settings element) { elements_.push_back(std::move(element)); }
    void add(std::string name, Settings value) {
        if (find(name) != nullptr) value.fail('\'', name, "' is given twice");
        members_.emplace_back(std::move(name), std::move(value));
    }

private:
    [[nodiscard]] std::string_view kind_name() const {
        constexpr std::string_view names[] = {"nothing", "a text or a number", "a list", "names with values"};
        return names[static_cast<std::size_t>(kind_)];
    }
    [[nodiscard]] static std::vector<std::string> strings(std::initializer_list<std::string_view> names) {
        return {names.begin(), names.end()};
    }
    [[nodiscard]] static std::string listed(std::initializer_list<std::string_view> names) {
        std::string text;
        for (const std::string_view name : names) text += (text.empty() ? "" : ", ") + std::string(name);
        return text;
    }

    std::shared_ptr<const std::string> file_;
    std::size_t line_;
    Kind kind_;
    std::string text_;
    std::vector<Settings> elements_;
    std::vector<std::pair<std::string, Settings>> members_;
};

namespace io::detail {

/// The limits of a settings file's depth and number of values. A choice: more than anybody writes by hand.
inline constexpr std::size_t settings_depth = 16, settings_values = 100'000;

[[nodiscard]] inline Settings settings_of(Json const& json, std::shared_ptr<const std::string> const& file) {
    const auto as = [&](Settings::Kind kind, std::string text = {}) {
        return Settings(file, json.line(), kind, std::move(text));
    };
    if (json.is_null()) return as(Settings::Kind::nothing);
    if (const auto* text = json.get<std::string>()) return as(Settings::Kind::text, *text);
    if (const auto* array = json.get<Json::Array>()) {
        Settings list = as(Settings::Kind::list);
        for (Json const& element : *array) list.add(settings_of(element, file));
        return list;
    }
    const auto* object = json.get<Json::Object>();
    if (object == nullptr) return as(Settings::Kind::text, to_string(json));
    Settings map = as(Settings::Kind::map);
    for (auto const& [name, value] : *object) map.add(name, settings_of(value, file));
    return map;
}

}  // namespace io::detail

/// Reads settings from JSON. Throws error, naming the file and the line, if the text is no JSON.
[[nodiscard]] inline Settings parse_json_settings(std::string const& name, std::string_view text) {
    const JsonCursor root = parse_json(name, text, {io::detail::settings_depth, io::detail::settings_values});
    return io::detail::settings_of(root.value(), std::make_shared<const std::string>(name));
}
[[nodiscard]] inline Settings read_json_settings(std::string const& path) {
    const SharedBytes file = read_file(path);
    return parse_json_settings(path, file.text());
}

}  // namespace primsel::inline PRIMSEL_ABI
