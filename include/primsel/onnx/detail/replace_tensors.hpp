// A model's bytes with other elements for some of its tensors; all else is copied as it lies.
#pragma once

#include <primsel/onnx/detail/read_tensor.hpp>
#include <primsel/onnx/detail/writer.hpp>

#include <protozero/pbf_builder.hpp>
#include <protozero/pbf_message.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::onnx {

using NewElements = std::map<std::string, std::vector<float>, std::less<>>;

/// Calls each(field, its bytes where it has a length, the field as it lies) for every field of a message.
template <class Field, class Each>
void for_fields(std::string_view bytes, Each const& each) {
    protozero::pbf_message<Field> message(bytes.data(), bytes.size());
    for (const char* at = bytes.data(); message.next();) {
        const Field field = message.tag();
        std::string_view inside;
        if (message.wire_type() == protozero::pbf_wire_type::length_delimited) {
            inside = to_text(message.get_view());
        } else {
            message.skip();
        }
        const char* const end = message.data().data();
        each(field, inside, std::string_view(at, static_cast<std::size_t>(end - at)));
        at = end;
    }
}
template <class Field>
void append_message(std::string& text, Field field, std::string_view bytes) {
    protozero::pbf_builder<Field>(text).add_message(field, protozero::data_view(bytes.data(), bytes.size()));
}

/// A TensorProto with these elements.
[[nodiscard]] inline std::string with_elements(std::string_view tensor, std::string_view raw) {
    std::string text;
    for_fields<TensorField>(tensor, [&](TensorField field, std::string_view, std::string_view whole) {
        switch (field) {
            case TensorField::float_data:
            case TensorField::int32_data:
            case TensorField::int64_data:
            case TensorField::double_data:
            case TensorField::uint64_data:
            case TensorField::raw_data:
            case TensorField::external_data:
            case TensorField::data_location:
                return;
            default:
                text += whole;
        }
    });
    protozero::pbf_builder<TensorField>(text).add_bytes(TensorField::raw_data, raw.data(), raw.size());
    return text;
}
/// The TensorProto of that name with the new elements, where there are some, and with those of other files.
[[nodiscard]] inline std::string replaced_tensor(std::string_view tensor, std::string_view name,
                                                 NewElements const& values, ExternalData& external) {
    const TensorProto proto = read_tensor_proto(tensor);
    const auto found = values.find(name);
    if (found != values.end() && proto.type == OnnxType::float32) {
        return with_elements(
            tensor, {reinterpret_cast<const char*>(found->second.data()), found->second.size() * sizeof(float)});
    }
    return proto.is_external ? with_elements(tensor, external.raw(proto).first) : std::string(tensor);
}
/// A Constant with the new elements.
[[nodiscard]] inline std::string replaced_constant(std::string_view node, std::string_view name,
                                                   NewElements const& values, ExternalData& external) {
    std::string text;
    for_fields<NodeField>(node, [&](NodeField field, std::string_view inside, std::string_view whole) {
        if (field != NodeField::attribute) {
            text += whole;
            return;
        }
        std::string attribute;
        for_fields<AttributeField>(inside, [&](AttributeField of, std::string_view tensor, std::string_view as_it_is) {
            if (of == AttributeField::t)
                append_message(attribute, of, replaced_tensor(tensor, name, values, external));
            else
                attribute += as_it_is;
        });
        append_message(text, field, attribute);
    });
    return text;
}

/// The model with the elements of tensors replaced by their names, and properties by their keys. All elements of the
/// graph's own tensors are in it. Throws error for more than a protocol buffer holds.
[[nodiscard]] inline std::string replace_tensors(std::string_view model, NewElements const& values,
                                                 std::vector<std::pair<std::string, std::string>> const& metadata,
                                                 ExternalData& external) {
    const auto replaced_graph = [&](std::string_view graph) {
        std::string text;
        text.reserve(graph.size());
        for_fields<GraphField>(graph, [&](GraphField field, std::string_view inside, std::string_view whole) {
            if (field == GraphField::initializer) {
                const std::string_view name = read_tensor_proto(inside).name;
                append_message(text, field, replaced_tensor(inside, name, values, external));
                return;
            }
            if (field == GraphField::node) {
                std::string_view op, output;
                for_fields<NodeField>(inside, [&](NodeField of, std::string_view value, std::string_view) {
                    if (of == NodeField::op_type) op = value;
                    if (of == NodeField::output) output = value;
                });
                if (op == "Constant") {
                    append_message(text, field, replaced_constant(inside, output, values, external));
                    return;
                }
            }
            text += whole;
        });
        return text;
    };
    std::string text;
    text.reserve(model.size());
    for_fields<ModelField>(model, [&](ModelField field, std::string_view inside, std::string_view whole) {
        if (field == ModelField::graph) return append_message(text, field, replaced_graph(inside));
        if (field == ModelField::metadata_props) {
            const std::string_view key = read_string_entry(inside).key;
            for (auto const& [replaced, value] : metadata) {
                if (replaced == key) return;
            }
        }
        text += whole;
    });
    for (auto const& [key, value] : metadata) {
        std::string entry;
        protozero::pbf_builder<StringStringEntryField> of(entry);
        of.add_string(StringStringEntryField::key, key);
        of.add_string(StringStringEntryField::value, value);
        append_message(text, ModelField::metadata_props, entry);
    }
    if (text.size() > largest_model) fail("the model takes more than the ", largest_model, " bytes that it may have");
    return text;
}

}  // namespace primsel::inline PRIMSEL_ABI::onnx
