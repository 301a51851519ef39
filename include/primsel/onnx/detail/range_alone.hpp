// A mark of the QuantizeLinear nodes that are written here.
#pragma once

#include <primsel/core/error.hpp>

#include <string>
#include <string_view>

namespace primsel::inline PRIMSEL_ABI::onnx {

/// The documentation of a QuantizeLinear whose bounds are those of a calibration alone: the file still has every layer
/// that bounds this tensor. It says which tensor, so that it no longer holds where another program has dropped a ReLU
/// between that and the node.
[[nodiscard]] inline std::string range_alone(std::string_view tensor) {
    return join("primsel: the range of ", tensor, ", no bound");
}

}  // namespace primsel::inline PRIMSEL_ABI::onnx
