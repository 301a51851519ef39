// A model file as plain structs. Strings and elements stay where they are, in the file's bytes.
#pragma once

#include <primsel/io/foreign_file.hpp>
#include <primsel/onnx/detail/read_tensor.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::onnx {

struct AttributeProto {
    std::string_view name;
    AttributeType type = AttributeType::undefined;
    float f = 0.0F;
    std::int64_t i = 0;
    std::string_view s;
    /// Bytes of a TensorProto, or of a SparseTensorProto.
    std::string_view t;
    /// Bytes of a GraphProto.
    std::string_view g;
    std::vector<float> floats;
    std::vector<std::int64_t> ints;
    std::vector<std::string_view> strings;
    /// The attribute of the function around the node whose value this one has; empty where it has its own.
    std::string_view refers_to;
};

struct NodeProto {
    std::vector<std::string_view> inputs, outputs;
    std::string_view name, op, domain, overload, doc;
    std::vector<AttributeProto> attributes;
    /// Names that its subgraphs read from around them.
    std::vector<std::string_view> captured;
};

/// A dimension without a value is open.
struct ValueInfoProto {
    std::string_view name;
    bool is_tensor = false, has_shape = false;
    OnnxType type = OnnxType::undefined;
    std::vector<std::optional<std::int64_t>> dims;
    /// Their names; empty where they have none.
    std::vector<std::string_view> names;
};

/// The bytes of a TensorProto, or of a SparseTensorProto, and its name: the rest is read for those that something
/// needs.
struct InitializerProto {
    std::string_view name, bytes;
    bool is_sparse = false;
};

/// The bytes of a FunctionProto, and the names by which nodes call it.
struct FunctionProto {
    std::string_view name, domain, overload, bytes;
};

struct ModelProto {
    std::string_view producer;
    /// The opset of ONNX's own operators; 0: not stated.
    std::int64_t opset = 0;
    std::vector<NodeProto> nodes;
    std::vector<InitializerProto> initializers;
    std::vector<ValueInfoProto> inputs, outputs;
    std::vector<StringEntry> metadata;
    std::vector<FunctionProto> functions;
    bool has_graph = false;
};

/// A function of a model: its nodes, and the names of what it takes and gives.
struct FunctionBody {
    /// 0: that of the model.
    std::int64_t opset = 0;
    std::vector<NodeProto> nodes;
    std::vector<std::string_view> inputs, outputs;
    /// The values of attributes that a node need not give.
    std::vector<AttributeProto> defaults;
};

/// "" and "ai.onnx" are the same domain.
[[nodiscard]] inline bool is_own_domain(std::string_view domain) { return domain.empty() || domain == "ai.onnx"; }

[[nodiscard]] inline AttributeProto read_attribute(std::string_view bytes) {
    AttributeProto attribute;
    // Files of the first versions state no type: the field that is there tells it.
    AttributeType found = AttributeType::undefined;
    for (Message<AttributeField> message(bytes); message.next();) {
        switch (message.field()) {
            case AttributeField::name:
                attribute.name = message.bytes();
                break;
            case AttributeField::f:
                attribute.f = message.real(), found = AttributeType::f;
                break;
            case AttributeField::i:
                attribute.i = message.integer(), found = AttributeType::i;
                break;
            case AttributeField::s:
                attribute.s = message.bytes(), found = AttributeType::s;
                break;
            case AttributeField::t:
                attribute.t = message.bytes(), found = AttributeType::tensor;
                break;
            case AttributeField::sparse_tensor:
                attribute.t = message.bytes(), found = AttributeType::sparse_tensor;
                break;
            case AttributeField::ref_attr_name:
                attribute.refers_to = message.bytes();
                break;
            case AttributeField::floats:
                message.append_reals(attribute.floats), found = AttributeType::floats;
                break;
            case AttributeField::ints:
                message.append_integers(attribute.ints), found = AttributeType::ints;
                break;
            case AttributeField::strings:
                attribute.strings.push_back(message.bytes()), found = AttributeType::strings;
                break;
            case AttributeField::g:
                attribute.g = message.bytes(), found = AttributeType::graph;
                break;
            case AttributeField::graphs:
                message.skip(), found = AttributeType::graph;
                break;
            case AttributeField::type:
                attribute.type = static_cast<AttributeType>(message.integer());
                break;
            default:
                message.skip();
        }
    }
    if (attribute.type == AttributeType::undefined) attribute.type = found;
    if (attribute.name.empty()) fail("an attribute without a name");
    return attribute;
}

namespace detail {
inline void read_dimension(std::string_view bytes, ValueInfoProto& info) {
    std::optional<std::int64_t> value;
    std::string_view name;
    for (Message<DimensionField> message(bytes); message.next();) {
        if (message.field() == DimensionField::dim_value)
            value = message.integer();
        else if (message.field() == DimensionField::dim_param)
            name = message.bytes();
        else
            message.skip();
    }
    // Some exporters write 0 or -1 for an open dimension.
    info.dims.push_back(value.value_or(0) < 1 ? std::nullopt : value);
    info.names.push_back(name);
}
inline void read_tensor_type(std::string_view bytes, ValueInfoProto& info) {
    info.is_tensor = true;
    for (Message<TensorTypeField> message(bytes); message.next();) {
        if (message.field() == TensorTypeField::elem_type) {
            info.type = static_cast<OnnxType>(message.integer());
        } else if (message.field() == TensorTypeField::shape) {
            info.has_shape = true;
            for (Message<TensorShapeField> shape(message.bytes()); shape.next();) {
                if (shape.field() == TensorShapeField::dim)
                    read_dimension(shape.bytes(), info);
                else
                    shape.skip();
            }
        } else {
            message.skip();
        }
    }
}
}  // namespace detail

[[nodiscard]] inline ValueInfoProto read_value_info(std::string_view bytes) {
    ValueInfoProto info;
    for (Message<ValueInfoField> message(bytes); message.next();) {
        if (message.field() == ValueInfoField::name) {
            info.name = message.bytes();
        } else if (message.field() == ValueInfoField::type) {
            for (Message<TypeField> type(message.bytes()); type.next();) {
                if (type.field() == TypeField::tensor_type)
                    detail::read_tensor_type(type.bytes(), info);
                else
                    type.skip();
            }
        } else {
            message.skip();
        }
    }
    if (info.name.empty()) fail("an input or output of the graph without a name");
    return info;
}

[[nodiscard]] inline InitializerProto read_initializer(std::string_view bytes) {
    InitializerProto initializer{{}, bytes};
    for (Message<TensorField> message(bytes); message.next();) {
        if (message.field() == TensorField::name)
            initializer.name = message.bytes();
        else
            message.skip();
    }
    if (initializer.name.empty()) fail("an initializer without a name");
    return initializer;
}
/// The name of a sparse one is that of its values.
[[nodiscard]] inline InitializerProto read_sparse_initializer(std::string_view bytes) {
    for (Message<SparseTensorField> message(bytes); message.next();) {
        if (message.field() == SparseTensorField::values) return {read_initializer(message.bytes()).name, bytes, true};
        message.skip();
    }
    fail("a sparse initializer without values");
}

namespace detail {
/// Appends the names that a subgraph, or one within it, reads and does not define.
inline void append_captured(std::string_view graph, std::vector<std::string_view>& captured, int depth);
}  // namespace detail

/// depth: how many graphs lie around it.
[[nodiscard]] inline NodeProto read_node(std::string_view bytes, int depth = 0) {
    NodeProto node;
    for (Message<NodeField> message(bytes); message.next();) {
        switch (message.field()) {
            case NodeField::input:
                node.inputs.push_back(message.bytes());
                break;
            case NodeField::output:
                node.outputs.push_back(message.bytes());
                break;
            case NodeField::name:
                node.name = message.bytes();
                break;
            case NodeField::op_type:
                node.op = message.bytes();
                break;
            case NodeField::attribute:
                node.attributes.push_back(read_attribute(message.bytes()));
                break;
            case NodeField::domain:
                node.domain = message.bytes();
                break;
            case NodeField::doc_string:
                node.doc = message.bytes();
                break;
            case NodeField::overload:
                node.overload = message.bytes();
                break;
            default:
                message.skip();
        }
    }
    if (node.op.empty()) fail("a node without an operator");
    for (AttributeProto const& attribute : node.attributes) {
        if (!attribute.g.empty()) detail::append_captured(attribute.g, node.captured, depth + 1);
    }
    return node;
}

namespace detail {
inline void append_captured(std::string_view graph, std::vector<std::string_view>& captured, int depth) {
    constexpr int deepest = 16;
    if (depth > deepest) fail("subgraphs within more than ", deepest, " others");
    std::vector<std::string_view> read;
    std::unordered_set<std::string_view> defined;
    for (Message<GraphField> message(graph); message.next();) {
        if (message.field() == GraphField::node) {
            const NodeProto node = read_node(message.bytes(), depth);
            read.insert(read.end(), node.inputs.begin(), node.inputs.end());
            read.insert(read.end(), node.captured.begin(), node.captured.end());
            defined.insert(node.outputs.begin(), node.outputs.end());
        } else if (message.field() == GraphField::initializer) {
            defined.insert(read_initializer(message.bytes()).name);
        } else if (message.field() == GraphField::sparse_initializer) {
            defined.insert(read_sparse_initializer(message.bytes()).name);
        } else if (message.field() == GraphField::input) {
            defined.insert(read_value_info(message.bytes()).name);
        } else if (message.field() == GraphField::output) {
            read.push_back(read_value_info(message.bytes()).name);
        } else {
            message.skip();
        }
    }
    for (const std::string_view name : read) {
        if (!name.empty() && !defined.contains(name)) captured.push_back(name);
    }
}
}  // namespace detail

namespace detail {
inline void read_graph(std::string_view bytes, ModelProto& model) {
    model.has_graph = true;
    for (Message<GraphField> message(bytes); message.next();) {
        switch (message.field()) {
            case GraphField::node:
                model.nodes.push_back(read_node(message.bytes()));
                break;
            case GraphField::initializer:
                model.initializers.push_back(read_initializer(message.bytes()));
                break;
            case GraphField::input:
                model.inputs.push_back(read_value_info(message.bytes()));
                break;
            case GraphField::output:
                model.outputs.push_back(read_value_info(message.bytes()));
                break;
            case GraphField::sparse_initializer:
                model.initializers.push_back(read_sparse_initializer(message.bytes()));
                break;
            default:
                message.skip();
        }
    }
}
/// Sets the version if it is that of ONNX's own operators.
inline void read_opset(std::string_view bytes, std::int64_t& opset) {
    std::string_view domain;
    std::int64_t version = 0;
    for (Message<OperatorSetIdField> message(bytes); message.next();) {
        if (message.field() == OperatorSetIdField::domain)
            domain = message.bytes();
        else if (message.field() == OperatorSetIdField::version)
            version = message.integer();
        else
            message.skip();
    }
    if (is_own_domain(domain)) opset = version;
}
}  // namespace detail

[[nodiscard]] inline FunctionProto read_function(std::string_view bytes) {
    FunctionProto function{{}, {}, {}, bytes};
    for (Message<FunctionField> message(bytes); message.next();) {
        if (message.field() == FunctionField::name)
            function.name = message.bytes();
        else if (message.field() == FunctionField::domain)
            function.domain = message.bytes();
        else if (message.field() == FunctionField::overload)
            function.overload = message.bytes();
        else
            message.skip();
    }
    return function;
}
[[nodiscard]] inline FunctionBody read_function_body(std::string_view bytes) {
    FunctionBody body;
    for (Message<FunctionField> message(bytes); message.next();) {
        switch (message.field()) {
            case FunctionField::input:
                body.inputs.push_back(message.bytes());
                break;
            case FunctionField::output:
                body.outputs.push_back(message.bytes());
                break;
            case FunctionField::node:
                body.nodes.push_back(read_node(message.bytes()));
                break;
            case FunctionField::attribute_proto:
                body.defaults.push_back(read_attribute(message.bytes()));
                break;
            case FunctionField::opset_import:
                detail::read_opset(message.bytes(), body.opset);
                break;
            default:
                message.skip();
        }
    }
    return body;
}

/// Throws error for a file of another format. A model begins with its version.
inline void refuse_foreign_model(std::string const& name, std::string_view bytes) {
    if (!bytes.starts_with('\x08')) refuse_foreign_format(name, "an ONNX model", bytes);
}

/// Throws error or protozero::exception for what is no ModelProto.
[[nodiscard]] inline ModelProto read_model(std::string_view bytes) {
    ModelProto model;
    for (Message<ModelField> message(bytes); message.next();) {
        switch (message.field()) {
            case ModelField::producer_name:
                model.producer = message.bytes();
                break;
            case ModelField::graph:
                if (model.has_graph) fail("two graphs");
                detail::read_graph(message.bytes(), model);
                break;
            case ModelField::opset_import:
                detail::read_opset(message.bytes(), model.opset);
                break;
            case ModelField::functions:
                model.functions.push_back(read_function(message.bytes()));
                break;
            case ModelField::metadata_props:
                model.metadata.push_back(read_string_entry(message.bytes()));
                break;
            default:
                message.skip();
        }
    }
    return model;
}

}  // namespace primsel::inline PRIMSEL_ABI::onnx
