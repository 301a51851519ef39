#pragma once

#include <primsel/core/error.hpp>
#include <primsel/onnx/detail/proto.hpp>

#include <protozero/pbf_message.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::onnx {

[[nodiscard]] inline std::string_view to_text(protozero::data_view view) { return {view.data(), view.size()}; }

/// Reads a message field by field. A field of another wire type than asked for is an error; protozero itself only
/// asserts that.
template <class Field>
class Message {
public:
    explicit Message(std::string_view bytes) : message_(bytes.data(), bytes.size()) {}

    [[nodiscard]] bool next() { return message_.next(); }
    [[nodiscard]] Field field() const { return message_.tag(); }
    void skip() { message_.skip(); }

    /// A string, or the bytes of a message.
    [[nodiscard]] std::string_view bytes() {
        require(protozero::pbf_wire_type::length_delimited);
        return to_text(message_.get_view());
    }
    [[nodiscard]] std::int64_t integer() {
        require(protozero::pbf_wire_type::varint);
        return message_.get_int64();
    }
    [[nodiscard]] float real() {
        require(protozero::pbf_wire_type::fixed32);
        return message_.get_float();
    }
    /// One or several elements of a repeated field: they come packed, or each by itself.
    void append_integers(std::vector<std::int64_t>& values) {
        if (message_.wire_type() != protozero::pbf_wire_type::length_delimited) {
            values.push_back(integer());
            return;
        }
        for (const std::int64_t value : message_.get_packed_int64()) values.push_back(value);
    }
    void append_reals(std::vector<float>& values) {
        if (message_.wire_type() != protozero::pbf_wire_type::length_delimited) {
            values.push_back(real());
            return;
        }
        const std::string_view packed = bytes();
        if (packed.size() % sizeof(float) != 0) fail("a list of floats ends within one");
        const std::size_t size = values.size();
        values.resize(size + packed.size() / sizeof(float));
        if (!packed.empty()) std::memcpy(values.data() + size, packed.data(), packed.size());
    }
    [[nodiscard]] bool is_packed() const { return message_.wire_type() == protozero::pbf_wire_type::length_delimited; }

private:
    void require(protozero::pbf_wire_type type) const {
        if (message_.wire_type() != type) {
            fail("field ", static_cast<std::uint32_t>(field()), " has wire type ",
                 static_cast<std::uint32_t>(message_.wire_type()), ", not ", static_cast<std::uint32_t>(type));
        }
    }

    protozero::pbf_message<Field> message_;
};

/// The string that a StringStringEntryProto holds under its key.
struct StringEntry {
    std::string_view key, value;
};
[[nodiscard]] inline StringEntry read_string_entry(std::string_view bytes) {
    StringEntry entry;
    for (Message<StringStringEntryField> message(bytes); message.next();) {
        if (message.field() == StringStringEntryField::key)
            entry.key = message.bytes();
        else if (message.field() == StringStringEntryField::value)
            entry.value = message.bytes();
        else
            message.skip();
    }
    return entry;
}

}  // namespace primsel::inline PRIMSEL_ABI::onnx
