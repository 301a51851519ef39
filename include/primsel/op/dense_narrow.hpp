// Dense layers of which the weights alone have 16 or 8 bits. A network's large dense layers take as long as it takes to
// read their weights.
#pragma once

#include <primsel/core/short_floats.hpp>
#include <primsel/core/work.hpp>
#include <primsel/layer/dense.hpp>
#include <primsel/op/detail/dense_panels.hpp>
#include <primsel/op/op.hpp>
#include <primsel/tensor/hwc_short_floats.hpp>
#include <primsel/tensor/hwc_u8.hpp>
#include <primsel/tensor/layout.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace primsel::inline PRIMSEL_ABI {

namespace op::detail {
/// Weights are rounded to the nearest bfloat16 or float16, sums are those of floats.
template <ShortFloatLayout L>
struct WeightsInShortFloats {
    using tensors = chw;
    static constexpr Precision precision = L::precision;
    static constexpr double error_bound = 2.56 * element_of<L>::rounding;
};
/// Weights are integers from -127 to 127 and a scale for each output: see gemm::int8_weight. Sums of floats times these
/// integers are multiplied by the scale. The weights of an output of which one is not finite are NaN.
struct WeightsInInt8 {
    using tensors = chw;
    static constexpr Precision precision = Precision::int8;
    static constexpr double error_bound = 0.05;
};
}  // namespace op::detail

template <ShortFloatLayout L>
struct OpIn<DenseParams, L> : op::detail::WeightsInShortFloats<L>, op::detail::DenseImages<element_of<L>> {
    using typename op::detail::DenseImages<element_of<L>>::Panels;
    static constexpr std::string_view id = L::precision == Precision::bf16 ? "dense-bf16" : "dense-f16";
    static constexpr std::size_t outputs_apart = Panels::panel;
};
template <>
struct OpIn<DenseParams, hwc_u8> : op::detail::WeightsInInt8, op::detail::DenseImages<std::int8_t> {
    static constexpr std::string_view id = "dense-int8";
    static constexpr std::size_t outputs_apart = Panels::panel;
};
template <ShortFloatLayout L>
struct OpIn<DenseRowsParams, L> : op::detail::WeightsInShortFloats<L>, op::detail::DenseRows<element_of<L>> {
    static constexpr std::string_view id = L::precision == Precision::bf16 ? "dense-rows-bf16" : "dense-rows-f16";
};
template <>
struct OpIn<DenseRowsParams, hwc_u8> : op::detail::WeightsInInt8, op::detail::DenseRows<std::int8_t> {
    static constexpr std::string_view id = "dense-rows-int8";
};

}  // namespace primsel::inline PRIMSEL_ABI
