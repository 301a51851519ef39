// Dense layers of which the weights alone have 16 or 8 bits. A network's large dense layers take as long as it takes to
// read their weights.
#pragma once

#include <primsel/core/bfloat16.hpp>
#include <primsel/core/work.hpp>
#include <primsel/layer/dense.hpp>
#include <primsel/op/detail/dense_panels.hpp>
#include <primsel/op/op.hpp>
#include <primsel/tensor/hwc_bf16.hpp>
#include <primsel/tensor/hwc_u8.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace primsel::inline PRIMSEL_ABI {

namespace op::detail {
/// Weights are rounded to the nearest number of 8 bits of precision, sums are those of floats.
struct WeightsInBf16 {
    using tensors = chw;
    static constexpr Precision precision = Precision::bf16;
    static constexpr double error_bound = 0.01;
};
/// Weights are integers from -127 to 127 and a scale for each output: see gemm::int8_weight. Sums of floats times these
/// integers are multiplied by the scale. The weights of an output of which one is not finite are NaN.
struct WeightsInInt8 {
    using tensors = chw;
    static constexpr Precision precision = Precision::int8;
    static constexpr double error_bound = 0.05;
};
}  // namespace op::detail

template <>
struct OpIn<DenseParams, hwc_bf16> : op::detail::WeightsInBf16, op::detail::DenseImages<bfloat16> {
    static constexpr std::string_view id = "dense-bf16";
    static constexpr std::size_t outputs_apart = Panels::panel;
};
template <>
struct OpIn<DenseParams, hwc_u8> : op::detail::WeightsInInt8, op::detail::DenseImages<std::int8_t> {
    static constexpr std::string_view id = "dense-int8";
    static constexpr std::size_t outputs_apart = Panels::panel;
};
template <>
struct OpIn<DenseRowsParams, hwc_bf16> : op::detail::WeightsInBf16, op::detail::DenseRows<bfloat16> {
    static constexpr std::string_view id = "dense-rows-bf16";
};
template <>
struct OpIn<DenseRowsParams, hwc_u8> : op::detail::WeightsInInt8, op::detail::DenseRows<std::int8_t> {
    static constexpr std::string_view id = "dense-rows-int8";
};

}  // namespace primsel::inline PRIMSEL_ABI
