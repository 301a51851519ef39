// Any bytes are an ONNX model or are refused with primsel::error. What is a model has all of its weights, before and
// after it is simplified; only their values may be such that no engine takes them. Bytes that begin with 0xff describe
// a model instead: few changes to a file keep it one. Those that begin with 0xfe describe one with messages within
// messages, up to thousands deep, around or beside it.
#include <primsel/network/prepare.hpp>
#include <primsel/network/simplify.hpp>
#include <primsel/onnx/import.hpp>

#include <protozero/pbf_builder.hpp>
#include <protozero/varint.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fuzz_onnx {

namespace onnx = primsel::onnx;

void check_fit(primsel::Graph const& graph, primsel::Weights const& weights) {
    try {
        primsel::check_weights(graph, weights);
    } catch (primsel::error const& error) {
        for (const std::string_view fault : {"\n  missing: ", "\n  wrong shape: ", "\n  not in the network: "}) {
            if (std::string_view(error.what()).find(fault) != std::string_view::npos) std::abort();
        }
    }
}

void check(std::span<const std::byte> bytes) {
    primsel::OnnxModel model;
    try {
        model = primsel::parse_onnx("fuzz", {bytes, nullptr}, {.image = 8, .max_constant_bytes = std::size_t{1} << 22});
    } catch (primsel::error const& error) {
        if (!std::string_view(error.what()).starts_with("fuzz: ")) std::abort();
        return;
    }
    if (model.inputs.size() != model.graph.inputs().size()) std::abort();
    if (model.outputs.size() != model.graph.outputs().size()) std::abort();
    check_fit(model.graph, model.weights);
    check_fit(primsel::simplify(model.graph), model.weights);
}

/// Bytes as choices; zeros once there are none left.
class Choices {
public:
    explicit Choices(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}
    [[nodiscard]] bool done() const { return bytes_.empty(); }
    [[nodiscard]] std::uint8_t byte() {
        if (bytes_.empty()) return 0;
        const std::uint8_t byte = bytes_[0];
        bytes_ = bytes_.subspan(1);
        return byte;
    }
    [[nodiscard]] std::size_t below(std::size_t bound) { return byte() % bound; }
    /// Mostly small, now and then of any size.
    [[nodiscard]] std::int64_t integer() {
        const std::uint8_t kind = byte();
        if (kind < 200) return static_cast<std::int64_t>(kind % 9) - 2;
        std::int64_t value = 0;
        for (int i = 0; i < (kind < 240 ? 2 : 8); ++i)
            value = static_cast<std::int64_t>(static_cast<std::uint64_t>(value) << 8U | byte());
        return value;
    }
    [[nodiscard]] std::vector<std::int64_t> integers() {
        std::vector<std::int64_t> values(below(9));
        for (std::int64_t& value : values) value = integer();
        return values;
    }
    [[nodiscard]] float real() {
        const std::uint8_t kind = byte();
        if (kind < 200) return static_cast<float>(kind % 9) / 2.0F - 1.0F;
        std::uint32_t bits = 0;
        for (int i = 0; i < 4; ++i) bits = bits << 8U | byte();
        return std::bit_cast<float>(bits);
    }

private:
    std::span<const std::uint8_t> bytes_;
};

using Builder = protozero::pbf_builder<onnx::GraphField>;

void add_tensor(std::string& bytes, Choices& choices, std::string const& name) {
    protozero::pbf_builder<onnx::TensorField> tensor(bytes);
    constexpr onnx::DataType types[] = {onnx::DataType::float32, onnx::DataType::int64,   onnx::DataType::float32,
                                        onnx::DataType::int8,    onnx::DataType::float32, onnx::DataType::uint8};
    const onnx::DataType type = types[choices.below(std::size(types))];
    const bool is_float = type == onnx::DataType::float32;
    std::vector<std::int64_t> dims(choices.below(5));
    std::size_t count = 1;
    for (std::int64_t& dim : dims) {
        dim = static_cast<std::int64_t>(choices.below(5));
        count *= static_cast<std::size_t>(dim);
    }
    tensor.add_packed_int64(onnx::TensorField::dims, dims.begin(), dims.end());
    tensor.add_int32(onnx::TensorField::data_type, static_cast<std::int32_t>(type));
    if (is_float) {
        std::vector<float> values(count);
        for (float& value : values) value = choices.real();
        tensor.add_packed_float(onnx::TensorField::float_data, values.begin(), values.end());
    } else {
        std::vector<std::int64_t> values(count);
        for (std::int64_t& value : values) value = choices.integer();
        tensor.add_packed_int64(
            type == onnx::DataType::int64 ? onnx::TensorField::int64_data : onnx::TensorField::int32_data,
            values.begin(), values.end());
    }
    tensor.add_string(onnx::TensorField::name, name);
}

void add_attribute(std::string& bytes, Choices& choices) {
    constexpr const char* ints[] = {"strides",      "pads",   "dilations", "kernel_shape", "axes",
                                    "perm",         "starts", "ends",      "split",        "output_padding",
                                    "output_shape", "shape",  "value_ints"};
    constexpr const char* integers[] = {
        "axis",     "group",     "ceil_mode",     "count_include_pad", "transA",       "transB",
        "keepdims", "allowzero", "training_mode", "blocksize",         "size",         "storage_order",
        "to",       "start",     "end",           "broadcast",         "num_outputs",  "noop_with_empty_axes",
        "spatial",  "is_test",   "block_size",    "output_dtype",      "channels_last"};
    constexpr const char* reals[] = {"alpha", "beta", "epsilon", "momentum", "min", "max", "value", "bias", "ratio"};
    constexpr const char* texts[][2] = {{"auto_pad", "SAME_UPPER"},
                                        {"auto_pad", "SAME_LOWER"},
                                        {"auto_pad", "VALID"},
                                        {"mode", "reflect"},
                                        {"mode", "edge"},
                                        {"mode", "linear"},
                                        {"mode", "CRD"},
                                        {"coordinate_transformation_mode", "align_corners"},
                                        {"coordinate_transformation_mode", "asymmetric"},
                                        {"nearest_mode", "ceil"}};
    protozero::pbf_builder<onnx::AttributeField> attribute(bytes);
    const auto set_type = [&](onnx::AttributeType type) {
        attribute.add_int32(onnx::AttributeField::type, static_cast<std::int32_t>(type));
    };
    const std::size_t kind = choices.below(5);
    if (kind == 0) {
        attribute.add_string(onnx::AttributeField::name, ints[choices.below(std::size(ints))]);
        const std::vector<std::int64_t> values = choices.integers();
        for (const std::int64_t value : values) attribute.add_int64(onnx::AttributeField::ints, value);
        set_type(onnx::AttributeType::ints);
    } else if (kind == 1) {
        attribute.add_string(onnx::AttributeField::name, integers[choices.below(std::size(integers))]);
        attribute.add_int64(onnx::AttributeField::i, choices.integer());
        set_type(onnx::AttributeType::i);
    } else if (kind == 2) {
        attribute.add_string(onnx::AttributeField::name, reals[choices.below(std::size(reals))]);
        attribute.add_float(onnx::AttributeField::f, choices.real());
        set_type(onnx::AttributeType::f);
    } else if (kind == 3) {
        auto const& text = texts[choices.below(std::size(texts))];
        attribute.add_string(onnx::AttributeField::name, text[0]);
        attribute.add_string(onnx::AttributeField::s, text[1]);
        set_type(onnx::AttributeType::s);
    } else {
        std::string tensor;
        add_tensor(tensor, choices, "");
        attribute.add_string(onnx::AttributeField::name, "value");
        attribute.add_message(onnx::AttributeField::t, tensor);
        set_type(onnx::AttributeType::tensor);
    }
}

void add_info(std::string& bytes, std::string const& name, std::vector<std::int64_t> const& dims) {
    std::string shape, tensor, type;
    for (const std::int64_t dim : dims) {
        std::string dimension;
        protozero::pbf_builder<onnx::DimensionField>(dimension).add_int64(onnx::DimensionField::dim_value, dim);
        protozero::pbf_builder<onnx::TensorShapeField>(shape).add_message(onnx::TensorShapeField::dim, dimension);
    }
    protozero::pbf_builder<onnx::TensorTypeField> tensor_type(tensor);
    tensor_type.add_int32(onnx::TensorTypeField::elem_type, static_cast<std::int32_t>(onnx::DataType::float32));
    tensor_type.add_message(onnx::TensorTypeField::shape, shape);
    protozero::pbf_builder<onnx::TypeField>(type).add_message(onnx::TypeField::tensor_type, tensor);
    protozero::pbf_builder<onnx::ValueInfoField> info(bytes);
    info.add_string(onnx::ValueInfoField::name, name);
    info.add_message(onnx::ValueInfoField::type, type);
}

/// A model of some initializers and nodes that read what comes before them.
std::string describe(Choices choices) {
    std::string graph_bytes;
    Builder graph(graph_bytes);
    std::vector<std::string> values{"input"};
    std::string bytes;
    std::vector<std::int64_t> dims(choices.below(6));
    for (std::int64_t& dim : dims) dim = 1 + static_cast<std::int64_t>(choices.below(8));
    add_info(bytes, "input", dims);
    graph.add_message(onnx::GraphField::input, bytes);
    const std::int64_t opset = 1 + static_cast<std::int64_t>(choices.below(21));
    for (std::size_t i = choices.below(5); i > 0; --i) {
        values.push_back("tensor" + std::to_string(i));
        bytes.clear();
        add_tensor(bytes, choices, values.back());
        graph.add_message(onnx::GraphField::initializer, bytes);
    }
    for (std::size_t i = 0; i < 12 && !choices.done(); ++i) {
        bytes.clear();
        protozero::pbf_builder<onnx::NodeField> node(bytes);
        const std::string_view name = onnx::operators[choices.below(std::size(onnx::operators))].name;
        const std::size_t dot = name.rfind('.');
        node.add_string(onnx::NodeField::op_type, std::string(name.substr(dot + 1)));
        if (dot != std::string_view::npos) node.add_string(onnx::NodeField::domain, std::string(name.substr(0, dot)));
        for (std::size_t inputs = choices.below(9); inputs > 0; --inputs) {
            const std::size_t value = choices.below(values.size() + 1);
            // Now and then the input is left out; the last value is the most likely.
            node.add_string(onnx::NodeField::input, value == values.size() ? values.back() : values[value]);
        }
        for (std::size_t attributes = choices.below(5); attributes > 0; --attributes) {
            std::string attribute;
            add_attribute(attribute, choices);
            node.add_message(onnx::NodeField::attribute, attribute);
        }
        for (std::size_t outputs = 1 + choices.below(3); outputs > 0; --outputs) {
            values.push_back("value" + std::to_string(values.size()));
            node.add_string(onnx::NodeField::output, values.back());
        }
        graph.add_message(onnx::GraphField::node, bytes);
    }
    bytes.clear();
    add_info(bytes, values.back(), {});
    graph.add_message(onnx::GraphField::output, bytes);
    std::string model_bytes, opset_bytes;
    protozero::pbf_builder<onnx::OperatorSetIdField>(opset_bytes).add_int64(onnx::OperatorSetIdField::version, opset);
    protozero::pbf_builder<onnx::ModelField> model(model_bytes);
    model.add_message(onnx::ModelField::graph, graph_bytes);
    model.add_message(onnx::ModelField::opset_import, opset_bytes);
    return model_bytes;
}

/// A message that is the last field of another, that of another, and so on.
class Nested {
public:
    explicit Nested(std::string innermost) : size_(innermost.size()) { starts_.push_back(std::move(innermost)); }
    /// before: the other fields of the message around.
    template <class Field>
    void wrap(Field field, std::string_view before = {}) {
        std::string start(before);
        protozero::write_varint(std::back_inserter(start), static_cast<std::uint64_t>(field) << 3U | 2U);
        protozero::write_varint(std::back_inserter(start), size_);
        size_ += start.size();
        starts_.push_back(std::move(start));
    }
    [[nodiscard]] std::string bytes() const {
        std::string all;
        all.reserve(size_);
        for (std::size_t i = starts_.size(); i-- > 0;) all += starts_[i];
        return all;
    }

private:
    std::vector<std::string> starts_;
    std::size_t size_;
};

/// A graph in an attribute of a node of a graph, or a type of types; what is innermost, and beside each, is by choice.
std::string describe_nested(Choices choices) {
    using onnx::AttributeField, onnx::GraphField, onnx::ModelField, onnx::NodeField, onnx::TypeField;
    constexpr const char* ops[] = {"If", "Loop", "Scan", "SequenceMap", "Relu"};
    constexpr const char* names[] = {"then_branch", "else_branch", "body", "value"};
    constexpr AttributeField holders[] = {AttributeField::g, AttributeField::graphs, AttributeField::t};
    const std::size_t kind = choices.below(4), depth = choices.below(256) * (1 + choices.below(32));
    const std::string model = describe(choices);
    const std::string op = ops[choices.below(std::size(ops))], name = names[choices.below(std::size(names))];
    const AttributeField holder = holders[choices.below(std::size(holders))];
    std::string opset, input, node, output;
    protozero::pbf_builder<onnx::OperatorSetIdField>(opset).add_int64(onnx::OperatorSetIdField::version, 13);
    add_info(input, "input", {1, 2, 4, 4});
    protozero::pbf_builder<onnx::ValueInfoField>(output).add_string(onnx::ValueInfoField::name, "y");
    std::string beside, attribute;
    Builder(beside).add_message(GraphField::input, input);
    Builder(beside).add_message(GraphField::output, output);
    protozero::pbf_builder<AttributeField>(attribute).add_string(AttributeField::name, name);
    protozero::pbf_builder<AttributeField>(attribute).add_enum(AttributeField::type,
                                                               static_cast<std::int32_t>(onnx::AttributeType::graph));
    protozero::pbf_builder<NodeField> fields(node);
    fields.add_string(NodeField::op_type, op);
    fields.add_string(NodeField::input, "input");
    fields.add_string(NodeField::output, "y");
    // A model is no graph, but bytes of a message all the same.
    Nested nested(kind == 3 ? std::string() : model);
    for (std::size_t i = 0; i < depth; ++i) {
        if (kind == 3) {
            nested.wrap(TypeField::tensor_type);
            nested.wrap(TypeField::sequence_type);
        } else {
            nested.wrap(holder, attribute);
            nested.wrap(NodeField::attribute, node);
            nested.wrap(GraphField::node, beside);
        }
    }
    if (kind == 3) {
        nested.wrap(onnx::ValueInfoField::type, output);
        nested.wrap(GraphField::input, beside);
    }
    std::string import;
    protozero::pbf_builder<ModelField>(import).add_message(ModelField::opset_import, opset);
    // The model itself, or beside another.
    nested.wrap(kind == 1 ? ModelField::functions : ModelField::graph, kind == 1 ? model : import);
    return nested.bytes();
}

int run(const std::uint8_t* data, std::size_t size) {
    if (size > 0 && data[0] == 0xff) {
        const std::string model = describe(Choices({data + 1, size - 1}));
        check(std::as_bytes(std::span(model)));
    } else if (size > 0 && data[0] == 0xfe) {
        const std::string model = describe_nested(Choices({data + 1, size - 1}));
        check(std::as_bytes(std::span(model)));
    } else {
        check(std::as_bytes(std::span(data, size)));
    }
    return 0;
}

}  // namespace fuzz_onnx
