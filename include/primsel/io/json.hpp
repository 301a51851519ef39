// The only header that includes RapidJSON. It uses the event parser alone, not the document.
#pragma once

#include <primsel/core/error.hpp>
#include <primsel/core/printable.hpp>
#include <primsel/core/read_number.hpp>
#include <primsel/io/file.hpp>
#include <primsel/io/foreign_file.hpp>
#include <primsel/io/json_value.hpp>

#include <rapidjson/error/en.h>
#include <rapidjson/memorystream.h>
#include <rapidjson/reader.h>

#include <algorithm>
#include <charconv>
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

namespace io {

/// The number of bytes before the first that is not valid UTF-8; the text's size if all of it is valid.
[[nodiscard]] inline std::size_t utf8_prefix(std::string_view text) {
    rapidjson::MemoryStream stream(text.data(), text.size());
    while (stream.Tell() < text.size()) {
        const std::size_t start = stream.Tell();
        unsigned codepoint = 0;
        if (!rapidjson::UTF8<>::Decode(stream, &codepoint)) return start;
    }
    return text.size();
}

/// Builds a Json from RapidJSON's events; the members' names are RapidJSON's. Parsing ends at an event that returns
/// false.
class JsonBuilder : public rapidjson::BaseReaderHandler<rapidjson::UTF8<>, JsonBuilder> {
public:
    /// `text` is the original text. `at` reads a copy, whose part before the present position parsing in place may have
    /// overwritten.
    JsonBuilder(JsonLimits limits, std::string_view text, rapidjson::InsituStringStream& at)
        : limits_(limits), text_(text), at_(at) {}

    [[nodiscard]] std::string const& refusal() const { return refusal_; }
    [[nodiscard]] Json take() { return std::move(root_); }

    // NOLINTBEGIN(readability-identifier-naming)
    bool Default() { return refuse("unexpected event"); }
    bool Null() { return add(nullptr); }
    bool Bool(bool value) { return add(value); }
    bool RawNumber(const char* text, rapidjson::SizeType size, bool) {
        const std::string_view digits(text, size);
        std::int64_t integer = 0;
        if (read_number(digits, integer)) return add(integer);
        double number = 0;
        if (!read_number(digits, number)) return refuse(join("the number ", digits, " does not fit double precision"));
        return add(number);
    }
    bool String(const char* text, rapidjson::SizeType size, bool) {
        const std::string_view string(text, size);
        return check_utf8(string) && add(string);
    }
    bool StartObject() { return open(true); }
    bool Key(const char* text, rapidjson::SizeType size, bool) {
        const std::string_view key(text, size);
        if (!check_utf8(key)) return false;
        open_.back().members.emplace_back(key, nullptr);
        return true;
    }
    bool EndObject(rapidjson::SizeType) {
        Json::Object members = std::move(open_.back().members);
        const std::uint32_t line = open_.back().line;
        open_.pop_back();
        keys_.clear();
        for (auto const& [key, value] : members) keys_.emplace_back(key, value.line());
        std::sort(keys_.begin(), keys_.end());
        const auto same = [](auto const& a, auto const& b) { return a.first == b.first; };
        const auto twice = std::adjacent_find(keys_.begin(), keys_.end(), same);
        if (twice == keys_.end()) return add(std::move(members), line);
        return refuse(join("the key \"", twice->first, "\" is given twice, in lines ", twice->second, " and ",
                           (twice + 1)->second));
    }
    bool StartArray() { return open(false); }
    bool EndArray(rapidjson::SizeType) {
        Json::Array elements = std::move(open_.back().elements);
        const std::uint32_t line = open_.back().line;
        open_.pop_back();
        return add(std::move(elements), line);
    }
    // NOLINTEND(readability-identifier-naming)

private:
    bool refuse(std::string reason) {
        refusal_ = std::move(reason);
        return false;
    }
    bool check_utf8(std::string_view text) {
        return utf8_prefix(text) == text.size() || refuse("a string is not UTF-8");
    }
    bool open(bool object) {
        if (open_.size() == limits_.depth) return refuse(join("it is nested deeper than ", limits_.depth, " levels"));
        open_.push_back({object, line(), {}, {}});
        return true;
    }
    /// The line that is being read, from 1.
    std::uint32_t line() {
        const std::size_t end = std::min(at_.Tell(), text_.size());
        line_ += static_cast<std::uint32_t>(std::count(text_.data() + counted_, text_.data() + end, '\n'));
        counted_ = end;
        return line_;
    }
    bool add(Json value) { return add(std::move(value), line()); }
    bool add(Json value, std::uint32_t line) {
        if (++values_ > limits_.values) return refuse(join("there are more than ", limits_.values, " values"));
        value = std::move(value).with_line(line);
        if (open_.empty()) {
            root_ = std::move(value);
        } else if (open_.back().object) {
            open_.back().members.back().second = std::move(value);
        } else {
            open_.back().elements.push_back(std::move(value));
        }
        return true;
    }

    // An object or array that has begun and not ended.
    struct Open {
        bool object;
        std::uint32_t line;
        Json::Object members;
        Json::Array elements;
    };
    JsonLimits limits_;
    std::string_view text_;
    rapidjson::InsituStringStream& at_;
    std::size_t values_ = 0, counted_ = 0;  // counted_: the bytes of the text whose lines are in line_
    std::uint32_t line_ = 1;
    Json root_;
    std::vector<Open> open_;                                        // outermost first
    std::vector<std::pair<std::string_view, std::uint32_t>> keys_;  // scratch, to find a key that is given twice
    std::string refusal_;
};

}  // namespace io

/// Reads a JSON text (RFC 8259). Errors call it `name`, usually a path. Throws error with line and column if it is not
/// JSON, has a number beyond double precision, a string that is not UTF-8, the same key twice in one object, or exceeds
/// the limits.
[[nodiscard]] inline JsonCursor parse_json(std::string const& name, std::string_view text, JsonLimits limits = {}) {
    const auto refuse = [&](std::size_t offset, std::string_view reason) {
        if (!text.starts_with('{')) refuse_foreign_format(name, "JSON", text);
        const std::string_view before = text.substr(0, offset);
        const auto line = 1 + std::count(before.begin(), before.end(), '\n');
        fail(name, ':', line, ':', offset - (before.rfind('\n') + 1) + 1, ": not valid JSON: ", reason);
    };
    // RapidJSON counts in 32 bits and treats a zero byte as the end.
    constexpr std::size_t most = std::size_t{1} << 30;
    if (text.size() > most) fail(name, ": ", text.size(), " bytes are more than the ", most, " allowed for JSON");
    if (const std::size_t zero = text.find('\0'); zero != std::string_view::npos) refuse(zero, "a zero byte");

    // Parsing in place, with numbers as texts, avoids RapidJSON 1.1's stack, which adds to null pointers, and its
    // number conversion, which reads outside its table of powers. The builder's limit of depth bounds the recursion.
    // RapidJSON's vector code, if the user enables it, reads 16 bytes at a time.
    std::vector<char> copy(text.size() + 16);
    std::copy(text.begin(), text.end(), copy.begin());
    rapidjson::InsituStringStream stream(copy.data());
    io::JsonBuilder builder(limits, text, stream);
    rapidjson::Reader reader;
    constexpr unsigned flags = rapidjson::kParseInsituFlag | rapidjson::kParseNumbersAsStringsFlag;
    const rapidjson::ParseResult result = reader.Parse<flags>(stream, builder);
    if (result.Code() == rapidjson::kParseErrorTermination) refuse(result.Offset(), builder.refusal());
    if (result.IsError()) refuse(result.Offset(), rapidjson::GetParseError_En(result.Code()));
    return {name, builder.take()};
}

/// Reads a JSON file. Throws error as read_file and parse_json do.
[[nodiscard]] inline JsonCursor read_json(std::string const& path, JsonLimits limits = {}) {
    const SharedBytes file = read_file(path);
    return parse_json(path, file.text(), limits);
}

namespace io::detail {

/// Writes a Json as text: to_string(Json) below.
class JsonPrinter {
public:
    JsonPrinter(int indent, JsonStrings strings) : indent_(indent), strings_(strings) {}

    [[nodiscard]] std::string take() { return std::move(text_); }

    void print(Json const& json) {
        if (const auto* array = json.get<Json::Array>()) {
            // An array of scalars, such as a shape, stays on one line.
            const bool lines = std::any_of(array->begin(), array->end(), [](Json const& element) {
                return element.get<Json::Array>() != nullptr || element.get<Json::Object>() != nullptr;
            });
            print_list('[', *array, ']', lines, [this](Json const& element) { print(element); });
        } else if (const auto* object = json.get<Json::Object>()) {
            print_list('{', *object, '}', true, [this](auto const& member) {
                print(member.first);
                text_ += indent_ > 0 ? ": " : ":";
                print(member.second);
            });
        } else if (const auto* string = json.get<std::string>()) {
            print(*string);
        } else if (const auto* number = json.get<double>()) {
            print(*number);
        } else if (const auto* integer = json.get<std::int64_t>()) {
            core::append(text_, *integer);
        } else if (const auto* boolean = json.get<bool>()) {
            text_ += *boolean ? "true" : "false";
        } else {
            text_ += "null";
        }
    }

private:
    template <class List, class PrintItem>
    void print_list(char begin, List const& list, char end, bool lines, PrintItem const& print_item) {
        lines = lines && indent_ > 0 && !list.empty();
        text_ += begin;
        depth_ += indent_;
        bool first = true;
        for (auto const& item : list) {
            if (!first) text_ += lines || indent_ == 0 ? "," : ", ";
            if (lines) text_.append(1, '\n').append(static_cast<std::size_t>(depth_), ' ');
            print_item(item);
            first = false;
        }
        depth_ -= indent_;
        if (lines) text_.append(1, '\n').append(static_cast<std::size_t>(depth_), ' ');
        text_ += end;
    }
    void print(std::string const& string) {
        if (strings_ == JsonStrings::any) return print_any(string);
        if (utf8_prefix(string) != string.size()) fail("JSON: the string \"", string, "\" is not UTF-8");
        text_ += '"';
        for (const char c : string) {
            constexpr std::string_view digits = "0123456789abcdef";
            const auto code = static_cast<unsigned char>(c);
            if (c == '"' || c == '\\') {
                text_.append(1, '\\').append(1, c);
            } else if (code < 0x20) {
                text_.append("\\u00").append(1, digits[code / 16]).append(1, digits[code % 16]);
            } else {
                text_ += c;
            }
        }
        text_ += '"';
    }
    void print_any(std::string_view string) {
        const auto escape = [this](std::uint32_t unit) {
            text_ += "\\u";
            core::append_hex(text_, unit, 4);
        };
        text_ += '"';
        core::for_each_character(
            string,
            [&](std::string_view sequence) {
                if (sequence == "\"" || sequence == "\\") text_ += '\\';
                text_ += sequence;
            },
            escape, [&](unsigned char byte) { escape(0xdc00U + byte); });
        text_ += '"';
    }
    void print(double number) {
        char digits[32];
        const auto end = std::to_chars(std::begin(digits), std::end(digits), number).ptr;
        const std::string_view shortest(digits, static_cast<std::size_t>(end - digits));
        // Finds "inf" and "nan". A comparison would be optimised away by -ffast-math.
        if (shortest.find('n') != std::string_view::npos) fail("JSON: the number ", shortest, " is not finite");
        text_ += shortest;
        // A floating-point number reads back as one.
        if (shortest.find_first_of(".e") == std::string_view::npos) text_ += ".0";
    }

    int indent_;
    JsonStrings strings_;
    int depth_ = 0;
    std::string text_;
};

}  // namespace io::detail

/// The value as JSON text. Numbers have the fewest digits that read back as the same double. With an indent, the
/// members of objects, and of arrays that hold objects or arrays, are on lines of their own; with indent 0 all is on
/// one line. Throws error for a number that is not finite, and for a string that is not UTF-8 unless `strings` is
/// JsonStrings::any.
[[nodiscard]] inline std::string to_string(Json const& json, int indent = 0, JsonStrings strings = JsonStrings::utf8) {
    io::detail::JsonPrinter printer(indent, strings);
    printer.print(json);
    return printer.take();
}

/// Writes a JSON file with an indent of 2. Throws error as write_file and to_string(Json) do.
inline void write_json(std::string const& path, Json const& json) { write_file(path, to_string(json, 2) + '\n'); }

}  // namespace primsel::inline PRIMSEL_ABI
