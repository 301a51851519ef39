// The messages of ONNX's protocol buffers, as far as they are read and written here: a field's number in its message.
// For protozero's pbf_message<...> and pbf_builder<...>.
#pragma once

#include <primsel/core/config.hpp>

#include <cstdint>

namespace primsel::inline PRIMSEL_ABI::onnx {

enum class ModelField : std::uint32_t {
    ir_version = 1,
    producer_name = 2,
    producer_version = 3,
    domain = 4,
    model_version = 5,
    doc_string = 6,
    graph = 7,
    opset_import = 8,
    metadata_props = 14,
    training_info = 20,
    functions = 25
};

enum class OperatorSetIdField : std::uint32_t { domain = 1, version = 2 };

enum class StringStringEntryField : std::uint32_t { key = 1, value = 2 };

enum class GraphField : std::uint32_t {
    node = 1,
    name = 2,
    initializer = 5,
    doc_string = 10,
    input = 11,
    output = 12,
    value_info = 13,
    quantization_annotation = 14,
    sparse_initializer = 15
};

enum class NodeField : std::uint32_t {
    input = 1,
    output = 2,
    name = 3,
    op_type = 4,
    attribute = 5,
    doc_string = 6,
    domain = 7,
    overload = 8
};

enum class FunctionField : std::uint32_t {
    name = 1,
    input = 4,
    output = 5,
    attribute = 6,
    node = 7,
    doc_string = 8,
    opset_import = 9,
    domain = 10,
    attribute_proto = 11,
    overload = 13
};

enum class AttributeField : std::uint32_t {
    name = 1,
    f = 2,
    i = 3,
    s = 4,
    t = 5,
    g = 6,
    floats = 7,
    ints = 8,
    strings = 9,
    tensors = 10,
    graphs = 11,
    doc_string = 13,
    type = 20,
    ref_attr_name = 21,
    sparse_tensor = 22
};

/// Values of AttributeField::type.
enum class AttributeType : std::int32_t {
    undefined = 0,
    f = 1,
    i = 2,
    s = 3,
    tensor = 4,
    graph = 5,
    floats = 6,
    ints = 7,
    strings = 8,
    tensors = 9,
    graphs = 10,
    sparse_tensor = 11
};

enum class TensorField : std::uint32_t {
    dims = 1,
    data_type = 2,
    segment = 3,
    float_data = 4,
    int32_data = 5,
    string_data = 6,
    int64_data = 7,
    name = 8,
    raw_data = 9,
    double_data = 10,
    uint64_data = 11,
    doc_string = 12,
    external_data = 13,
    data_location = 14
};

/// Values of TensorField::data_type and TensorTypeField::elem_type.
enum class DataType : std::int32_t {
    undefined = 0,
    float32 = 1,
    uint8 = 2,
    int8 = 3,
    uint16 = 4,
    int16 = 5,
    int32 = 6,
    int64 = 7,
    string = 8,
    boolean = 9,
    float16 = 10,
    float64 = 11,
    uint32 = 12,
    uint64 = 13,
    complex64 = 14,
    complex128 = 15,
    bfloat16 = 16,
    uint4 = 21,
    int4 = 22
};

enum class SparseTensorField : std::uint32_t { values = 1, indices = 2, dims = 3 };

/// Values of TensorField::data_location.
enum class DataLocation : std::int32_t { inline_data = 0, external = 1 };

enum class ValueInfoField : std::uint32_t { name = 1, type = 2, doc_string = 3 };

enum class TypeField : std::uint32_t { tensor_type = 1, sequence_type = 4, map_type = 5, denotation = 6 };

enum class TensorTypeField : std::uint32_t { elem_type = 1, shape = 2 };

enum class TensorShapeField : std::uint32_t { dim = 1 };

enum class DimensionField : std::uint32_t { dim_value = 1, dim_param = 2, denotation = 3 };

}  // namespace primsel::inline PRIMSEL_ABI::onnx
