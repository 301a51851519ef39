#pragma once

#include <primsel/core/error.hpp>
#include <primsel/core/printable.hpp>
#include <primsel/core/type_list.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

/// An immutable JSON value. Copies share strings, arrays and objects. The members of an object keep their order.
class Json {
public:
    using Array = std::vector<Json>;
    using Object = std::vector<std::pair<std::string, Json>>;
    using Types = TypeList<std::nullptr_t, bool, std::int64_t, double, std::string, Array, Object>;

    // NOLINTBEGIN(google-explicit-constructor): {"nodes", 3} is meant to convert
    Json(std::nullptr_t = nullptr) : type_(type_of<std::nullptr_t>), integer_(0) {}
    Json(std::same_as<bool> auto value) : type_(type_of<bool>), boolean_(value) {}
    /// Throws error if the value does not fit a signed 64-bit integer.
    template <std::integral T>
        requires(!std::same_as<T, bool>)
    Json(T value) : type_(type_of<std::int64_t>), integer_(static_cast<std::int64_t>(value)) {
        if (!std::in_range<std::int64_t>(value)) fail("JSON: the integer ", value, " is too large");
    }
    Json(double value) : type_(type_of<double>), number_(value) {}
    Json(std::string value) : Json(std::make_shared<const std::string>(std::move(value))) {}
    Json(std::string_view value) : Json(std::string(value)) {}
    Json(const char* value) : Json(std::string(value)) {}
    Json(Array value) : Json(std::make_shared<const Array>(std::move(value))) {}
    Json(Object value) : Json(std::make_shared<const Object>(std::move(value))) {}
    // NOLINTEND(google-explicit-constructor)

    /// A pointer to the value if it has type T, one of Types; else null.
    template <class T>
    [[nodiscard]] const T* get() const {
        static_assert(Types::contains<T>, "a Json holds one of Json::Types");
        if (type_ != type_of<T>) return nullptr;
        if constexpr (std::is_same_v<T, bool>)
            return &boolean_;
        else if constexpr (std::is_same_v<T, std::int64_t>)
            return &integer_;
        else if constexpr (std::is_same_v<T, double>)
            return &number_;
        else
            return static_cast<const T*>(held_.get());
    }
    [[nodiscard]] bool is_null() const { return type_ == type_of<std::nullptr_t>; }
    /// The line of the parsed text where the value begins, from 1; 0 for a value that was not parsed.
    [[nodiscard]] std::uint32_t line() const { return line_; }
    [[nodiscard]] Json with_line(std::uint32_t line) && {
        line_ = line;
        return std::move(*this);
    }
    /// "an object", "a string", ...
    [[nodiscard]] std::string_view type_name() const {
        constexpr std::string_view names[Types::size] = {"null",     "a boolean", "an integer", "a number",
                                                         "a string", "an array",  "an object"};
        return names[type_];
    }

private:
    template <class T>
    static constexpr auto type_of = static_cast<std::uint32_t>(Types::index_of<T>);

    template <class T>
    explicit Json(std::shared_ptr<const T> held) : type_(type_of<T>), integer_(0), held_(std::move(held)) {}

    std::uint32_t type_, line_ = 0;  // type_: the place in Types
    union {
        bool boolean_;
        std::int64_t integer_;
        double number_;
    };
    std::shared_ptr<const void> held_;
};

/// The strings that to_string(Json) accepts. utf8: valid UTF-8 only, as JSON demands. any: control characters that
/// disturb a terminal are escaped as by printable(), and a byte that is not UTF-8 becomes a lone surrogate, "\udc80" to
/// "\udcff", as in Python, whose os.fsencode gives the bytes back.
enum class JsonStrings { utf8, any };

/// Limits of what the parser builds; a text that exceeds them is refused.
struct JsonLimits {
    std::size_t depth = 64;
    std::size_t values = std::size_t{1} << 24;
};

/// A place in a parsed document, which it keeps alive. An access that does not fit the value throws error with the
/// document's name and the path to the place: "plan.json: nodes[3].primitive: expected a string, not an integer".
class JsonCursor {
public:
    struct Member;

    JsonCursor(std::string name, Json root)
        : document_(std::make_shared<const Document>(std::move(name), std::move(root))), at_(&document_->root) {}

    [[nodiscard]] Json const& value() const { return *at_; }
    [[nodiscard]] bool is_null() const { return at_->is_null(); }
    [[nodiscard]] bool boolean() const { return expect<bool>("a boolean"); }
    [[nodiscard]] std::string const& string() const { return expect<std::string>("a string"); }
    [[nodiscard]] std::int64_t integer(std::int64_t low = std::numeric_limits<std::int64_t>::min(),
                                       std::int64_t high = std::numeric_limits<std::int64_t>::max()) const {
        const std::int64_t integer = expect<std::int64_t>("an integer");
        if (integer < low) fail("expected at least ", low, ", not ", integer);
        if (integer > high) fail("expected at most ", high, ", not ", integer);
        return integer;
    }
    /// The number; an integer is converted.
    [[nodiscard]] double number() const {
        const auto* integer = at_->get<std::int64_t>();
        return integer != nullptr ? static_cast<double>(*integer) : expect<double>("a number");
    }

    /// The elements of an array.
    [[nodiscard]] std::vector<JsonCursor> elements() const {
        std::vector<JsonCursor> elements;
        for (Json const& element : expect<Json::Array>("an array")) elements.push_back({document_, &element});
        return elements;
    }
    /// The members of an object, in their order.
    [[nodiscard]] std::vector<Member> members() const;
    /// The number of elements of an array.
    [[nodiscard]] std::size_t size() const { return expect<Json::Array>("an array").size(); }
    [[nodiscard]] JsonCursor operator[](std::size_t index) const {
        auto const& array = expect<Json::Array>("an array");
        if (index >= array.size()) fail("expected more than ", array.size(), " elements");
        return {document_, &array[index]};
    }
    /// The member with this key, or nothing. Searches from the first member on.
    [[nodiscard]] std::optional<JsonCursor> find(std::string_view key) const {
        for (auto const& [name, value] : expect<Json::Object>("an object")) {
            if (name == key) return JsonCursor{document_, &value};
        }
        return std::nullopt;
    }
    [[nodiscard]] JsonCursor operator[](std::string_view key) const {
        const auto found = find(key);
        if (!found) fail("has no member \"", key, '"');
        return *found;
    }

    /// The document's name and the path to this place.
    [[nodiscard]] std::string path() const {
        std::string steps;
        find_steps(document_->root, steps);
        return steps.empty() ? document_->name : join(document_->name, ": ", steps);
    }
    /// Throws error with the path and the parts.
    template <class... Parts>
    [[noreturn]] void fail(Parts const&... parts) const {
        primsel::fail(path(), ": ", parts...);
    }

private:
    struct Document {
        std::string name;
        Json root;
        Document(std::string its_name, Json its_root) : name(std::move(its_name)), root(std::move(its_root)) {}
    };

    JsonCursor(std::shared_ptr<const Document> document, const Json* at) : document_(std::move(document)), at_(at) {}

    template <class T>
    [[nodiscard]] T const& expect(std::string_view type_name) const {
        const T* value = at_->get<T>();
        if (value == nullptr) fail("expected ", type_name, ", not ", at_->type_name());
        return *value;
    }

    // Appends the path from `from` to `at_`; returns whether `at_` is below `from`. The path is searched for only when
    // an error needs it.
    bool find_steps(Json const& from, std::string& steps) const {
        if (&from == at_) return true;
        const std::size_t before = steps.size();
        if (const auto* array = from.get<Json::Array>()) {
            for (std::size_t i = 0; i < array->size(); ++i) {
                steps += join('[', i, ']');
                if (find_steps((*array)[i], steps)) return true;
                steps.resize(before);
            }
        } else if (const auto* object = from.get<Json::Object>()) {
            for (auto const& [key, value] : *object) {
                if (before != 0) steps += '.';
                steps += key;
                if (find_steps(value, steps)) return true;
                steps.resize(before);
            }
        }
        return false;
    }

    std::shared_ptr<const Document> document_;
    const Json* at_;
};

struct JsonCursor::Member {
    std::string_view key;
    JsonCursor value;
};

inline std::vector<JsonCursor::Member> JsonCursor::members() const {
    std::vector<Member> members;
    for (auto const& [key, value] : expect<Json::Object>("an object")) {
        members.push_back({key, JsonCursor{document_, &value}});
    }
    return members;
}

}  // namespace primsel::inline PRIMSEL_ABI
