#pragma once

#include <primsel/core/error.hpp>
#include <primsel/onnx/detail/proto.hpp>

#include <protozero/pbf_builder.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::onnx {

/// An attribute to write.
struct NewAttribute {
    std::string_view name;
    std::variant<std::int64_t, float, std::string_view, std::vector<std::int64_t>, std::vector<float>,
                 std::vector<std::string_view>>
        value;
};

/// A dimension of an input or output that is left open.
inline constexpr std::int64_t open_dimension = -1;

/// Bytes that a protocol buffer may have.
inline constexpr std::size_t largest_model = std::numeric_limits<std::int32_t>::max();

/// Writes a model, node by node, into one string.
class ModelWriter {
public:
    /// expected_bytes: of all tensors, about.
    ModelWriter(int opset, std::string_view producer, std::string_view version, std::size_t expected_bytes)
        : model_((text_.reserve(expected_bytes), text_)) {
        // The first release of the format that knows the operator set.
        model_.add_int64(ModelField::ir_version, opset < 15 ? 7 : opset < 19 ? 8 : opset < 21 ? 9 : 10);
        model_.add_string(ModelField::producer_name, view(producer));
        model_.add_string(ModelField::producer_version, view(version));
        {
            protozero::pbf_builder<OperatorSetIdField> import(model_, ModelField::opset_import);
            import.add_string(OperatorSetIdField::domain, "");
            import.add_int64(OperatorSetIdField::version, opset);
        }
        graph_ = protozero::pbf_builder<GraphField>(model_, ModelField::graph);
        graph_.add_string(GraphField::name, view(producer));
    }
    ModelWriter(ModelWriter const&) = delete;
    ModelWriter& operator=(ModelWriter const&) = delete;

    /// The name, or, where something is called so, a longer one.
    [[nodiscard]] std::string unique(std::string name) {
        if (name.empty()) name = "_";
        while (!names_.insert(name).second) name += '_';
        return name;
    }

    void node(std::string const& name, std::string_view op, std::span<const std::string> inputs,
              std::span<const std::string> outputs, std::span<const NewAttribute> attributes,
              std::string_view domain = {}, std::string_view doc = {}) {
        protozero::pbf_builder<NodeField> node(graph_, GraphField::node);
        for (std::string const& input : inputs) node.add_string(NodeField::input, input);
        for (std::string const& output : outputs) node.add_string(NodeField::output, output);
        node.add_string(NodeField::name, name);
        node.add_string(NodeField::op_type, view(op));
        for (NewAttribute const& attribute : attributes) add(node, attribute);
        if (!doc.empty()) node.add_string(NodeField::doc_string, view(doc));
        if (domain.empty()) return;
        node.add_string(NodeField::domain, view(domain));
        domains_.emplace(domain);
    }
    /// The bytes of the elements as they are in memory. Throws error when the model becomes larger than a protocol
    /// buffer may be.
    void initializer(std::string const& name, DataType type, std::span<const std::int64_t> dims,
                     std::span<const std::byte> bytes) {
        require_room(bytes.size());
        protozero::pbf_builder<TensorField> tensor(graph_, GraphField::initializer);
        for (const std::int64_t dim : dims) tensor.add_int64(TensorField::dims, dim);
        tensor.add_int32(TensorField::data_type, static_cast<std::int32_t>(type));
        tensor.add_string(TensorField::name, name);
        tensor.add_bytes(TensorField::raw_data, reinterpret_cast<const char*>(bytes.data()), bytes.size());
    }
    void initializer(std::string const& name, std::span<const std::int64_t> dims, std::span<const float> values) {
        initializer(name, DataType::float32, dims, std::as_bytes(values));
    }
    void initializer(std::string const& name, std::span<const std::int64_t> dims,
                     std::span<const std::int64_t> values) {
        initializer(name, DataType::int64, dims, std::as_bytes(values));
    }
    /// One without elements.
    void empty_initializer(std::string const& name, DataType type, std::span<const std::int64_t> dims) {
        initializer(name, type, dims, std::span<const std::byte>());
    }
    /// An input or output of the graph; open dimensions have that name, or none.
    void value(GraphField input_or_output, std::string const& name, DataType type, std::span<const std::int64_t> dims,
               std::string const& open = "batch") {
        value(input_or_output, name, type, dims, std::vector<std::string>(dims.size(), open));
    }
    /// Each has a name of its own.
    void value(GraphField input_or_output, std::string const& name, DataType type, std::span<const std::int64_t> dims,
               std::vector<std::string> const& open) {
        protozero::pbf_builder<ValueInfoField> info(graph_, input_or_output);
        info.add_string(ValueInfoField::name, name);
        protozero::pbf_builder<TypeField> type_of(info, ValueInfoField::type);
        protozero::pbf_builder<TensorTypeField> tensor(type_of, TypeField::tensor_type);
        tensor.add_int32(TensorTypeField::elem_type, static_cast<std::int32_t>(type));
        // As text, so that what is empty is written too.
        std::string shape, dim;
        for (std::size_t axis = 0; axis < dims.size(); ++axis) {
            protozero::pbf_builder<DimensionField> of(dim);
            if (dims[axis] != open_dimension)
                of.add_int64(DimensionField::dim_value, dims[axis]);
            else if (!open[axis].empty())
                of.add_string(DimensionField::dim_param, open[axis]);
            protozero::pbf_builder<TensorShapeField>(shape).add_message(TensorShapeField::dim, dim);
            dim.clear();
        }
        tensor.add_message(TensorTypeField::shape, shape);
    }

    /// The model's bytes. Nothing can be added after.
    [[nodiscard]] std::string finish(std::span<const std::pair<std::string, std::string>> metadata = {}) {
        graph_.commit();
        for (std::string const& domain : domains_) {
            protozero::pbf_builder<OperatorSetIdField> import(model_, ModelField::opset_import);
            import.add_string(OperatorSetIdField::domain, domain);
            import.add_int64(OperatorSetIdField::version, 1);
        }
        for (auto const& [key, value] : metadata) {
            protozero::pbf_builder<StringStringEntryField> entry(model_, ModelField::metadata_props);
            entry.add_string(StringStringEntryField::key, key);
            entry.add_string(StringStringEntryField::value, value);
        }
        require_room(0);
        return std::move(text_);
    }

private:
    static protozero::data_view view(std::string_view text) { return {text.data(), text.size()}; }

    void require_room(std::size_t more) const {
        if (text_.size() + more > largest_model) {
            fail("ONNX export: the model takes more than the ", largest_model, " bytes that it may have");
        }
    }

    static void add(protozero::pbf_builder<NodeField>& node, NewAttribute const& attribute) {
        protozero::pbf_builder<AttributeField> out(node, NodeField::attribute);
        out.add_string(AttributeField::name, view(attribute.name));
        auto type = AttributeType::undefined;
        if (const auto* i = std::get_if<std::int64_t>(&attribute.value)) {
            out.add_int64(AttributeField::i, *i), type = AttributeType::i;
        } else if (const auto* f = std::get_if<float>(&attribute.value)) {
            out.add_float(AttributeField::f, *f), type = AttributeType::f;
        } else if (const auto* s = std::get_if<std::string_view>(&attribute.value)) {
            out.add_bytes(AttributeField::s, view(*s)), type = AttributeType::s;
        } else if (const auto* reals = std::get_if<std::vector<float>>(&attribute.value)) {
            for (const float value : *reals) out.add_float(AttributeField::floats, value);
            type = AttributeType::floats;
        } else if (const auto* texts = std::get_if<std::vector<std::string_view>>(&attribute.value)) {
            for (const std::string_view text : *texts) out.add_bytes(AttributeField::strings, view(text));
            type = AttributeType::strings;
        } else {
            for (const std::int64_t value : std::get<std::vector<std::int64_t>>(attribute.value)) {
                out.add_int64(AttributeField::ints, value);
            }
            type = AttributeType::ints;
        }
        out.add_enum(AttributeField::type, static_cast<std::int32_t>(type));
    }

    std::string text_;
    protozero::pbf_builder<ModelField> model_;
    protozero::pbf_builder<GraphField> graph_;
    std::unordered_set<std::string> names_;
    std::set<std::string> domains_;  // of operators that are not ONNX's own
};

}  // namespace primsel::inline PRIMSEL_ABI::onnx
