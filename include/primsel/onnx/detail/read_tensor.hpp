// From a TensorProto to a tensor, wherever its elements are.
#pragma once

#include <primsel/core/error.hpp>
#include <primsel/io/file.hpp>
#include <primsel/onnx/detail/external_data.hpp>

#include <protozero/exception.hpp>

#include <memory>
#include <string>
#include <string_view>

namespace primsel::inline PRIMSEL_ABI {

namespace onnx {

/// All of a tensor. Throws error, naming it, when its elements do not fill its dimensions exactly.
[[nodiscard]] inline OnnxTensor read_tensor(TensorProto const& proto, std::shared_ptr<const void> const& owner,
                                            ExternalData& external) {
    try {
        if (proto.has_segment) fail("tensors in segments are not supported");
        OnnxTensor tensor = proto.is_external ? external.read(proto)
                            : proto.has_raw   ? read_raw(proto.dims, proto.type, proto.raw, owner)
                                              : read_typed(proto);
        tensor.name = proto.name;
        return tensor;
    } catch (error const& fault) {
        fail("tensor ", proto.name.empty() ? "without a name" : proto.name, ": ", std::string_view(fault.what()));
    }
}

}  // namespace onnx

/// A TensorProto of which `file` holds all bytes; `name` is what errors call it. Throws error.
[[nodiscard]] inline OnnxTensor parse_onnx_tensor(std::string const& name, SharedBytes const& file) {
    try {
        onnx::ExternalData none("");
        return onnx::read_tensor(onnx::read_tensor_proto(file.text()), file.owner, none);
    } catch (error const& fault) {
        fail(name, ": ", std::string_view(fault.what()));
    } catch (protozero::exception const& fault) {
        fail(name, ": not an ONNX tensor: ", std::string_view(fault.what()));
    }
}
/// A file with one TensorProto, such as the .pb files of ONNX's tests. Throws error.
[[nodiscard]] inline OnnxTensor read_onnx_tensor(std::string const& path) {
    return parse_onnx_tensor(path, read_file(path));
}

}  // namespace primsel::inline PRIMSEL_ABI
