// A TensorProto as it lies in a file.
#pragma once

#include <primsel/core/error.hpp>
#include <primsel/onnx/detail/message.hpp>
#include <primsel/onnx/detail/tensor.hpp>

#include <cstdint>
#include <string_view>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::onnx {

/// A TensorProto: where its elements lie, not yet what they are.
struct TensorProto {
    std::string_view name;
    std::vector<std::int64_t> dims;
    OnnxType type = OnnxType::undefined;
    bool is_external = false, has_raw = false, has_segment = false;
    std::string_view raw;
    /// The elements of a type of their own, where they are not raw: as packed lists. Those that come one by one are
    /// gathered in `single` instead.
    std::string_view packed;
    std::vector<std::string_view> more_packed;
    std::vector<std::int64_t> single_integers;
    std::vector<float> single_floats;
    std::vector<StringEntry> external;
};

[[nodiscard]] inline TensorProto read_tensor_proto(std::string_view bytes) {
    TensorProto tensor;
    const auto add_packed = [&](std::string_view packed) {
        if (tensor.packed.empty())
            tensor.packed = packed;
        else
            tensor.more_packed.push_back(packed);
    };
    for (Message<TensorField> message(bytes); message.next();) {
        switch (message.field()) {
            case TensorField::dims:
                message.append_integers(tensor.dims);
                break;
            case TensorField::data_type:
                tensor.type = static_cast<OnnxType>(message.integer());
                break;
            case TensorField::segment:
                tensor.has_segment = true;
                message.skip();
                break;
            case TensorField::float_data:
                if (message.is_packed())
                    add_packed(message.bytes());
                else
                    tensor.single_floats.push_back(message.real());
                break;
            case TensorField::double_data:
                add_packed(message.bytes());
                break;
            case TensorField::int32_data:
            case TensorField::int64_data:
            case TensorField::uint64_data:
                if (message.is_packed())
                    add_packed(message.bytes());
                else
                    tensor.single_integers.push_back(message.integer());
                break;
            case TensorField::name:
                tensor.name = message.bytes();
                break;
            case TensorField::raw_data:
                tensor.has_raw = true;
                tensor.raw = message.bytes();
                break;
            case TensorField::external_data:
                tensor.external.push_back(read_string_entry(message.bytes()));
                break;
            case TensorField::data_location:
                tensor.is_external = message.integer() == static_cast<std::int64_t>(DataLocation::external);
                break;
            default:
                message.skip();
        }
    }
    if (tensor.dims.size() > 64) fail("a tensor of ", tensor.dims.size(), " dimensions");
    return tensor;
}

}  // namespace primsel::inline PRIMSEL_ABI::onnx
