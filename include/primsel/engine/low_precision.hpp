#pragma once

#include <primsel/core/type_list.hpp>
#include <primsel/engine/f16_weights.hpp>
#include <primsel/engine/policies.hpp>
#include <primsel/machine/all_precisions.hpp>
#include <primsel/network/graph.hpp>
#include <primsel/network/weights.hpp>
#include <primsel/op/bf16.hpp>
#include <primsel/op/conv_transpose_narrow.hpp>
#include <primsel/op/int8.hpp>
#include <primsel/op/matmul_int8.hpp>
#include <primsel/op/narrow.hpp>
#include <primsel/plan/plan_options.hpp>
#include <primsel/primitive/depthwise_bf16.hpp>
#include <primsel/primitive/depthwise_int8.hpp>
#include <primsel/primitive/direct_bf16.hpp>
#include <primsel/primitive/direct_int8.hpp>
#include <primsel/tensor/hwc_short_floats.hpp>
#include <primsel/tensor/hwc_u8.hpp>

namespace primsel::inline PRIMSEL_ABI {

/// AllLayouts, and those of bfloat16, of bytes and of float16, in which only weights are.
using EveryLayout = concatenate<AllLayouts, TypeList<hwc_bf16, hwc_u8, hwc_f16>>;

/// The primitives that compute in bfloat16.
using Bf16Primitives = TypeList<DirectBf16, DirectHwcBf16, DirectBf16Hwc, DirectHwcBf16Hwc, DepthwiseBf16>;

/// The primitives that compute in 8 bits.
using Int8Primitives = TypeList<DirectInt8, DirectHwcInt8, DirectInt8Hwc, DirectHwcInt8Hwc, DepthwiseInt8>;

/// The primitives that compute in less than floats.
using LowPrecisionPrimitives = concatenate<Bf16Primitives, Int8Primitives>;

/// AllPrimitives and LowPrecisionPrimitives.
using EveryPrimitive = concatenate<AllPrimitives, LowPrecisionPrimitives>;

/// Policies of engines whose plans may compute in bfloat16 and in 8 bits, or keep weights in float16, if
/// PlanOptions::precision allows it.
struct LowPrecision : DefaultPolicies {
    using primitives = concatenate<DefaultPrimitives, LowPrecisionPrimitives>;
    using layouts = EveryLayout;
    using machine = MeasuredInAllPrecisions;

    /// Returns the options with which an engine plans that is given some.
    [[nodiscard]] static PlanOptions options_for(Graph const& graph, Weights const& weights, PlanOptions options) {
        options.f16_weights = layers_of_f16_weights(graph, weights);
        return options;
    }
};

#ifdef PRIMSEL_EXTERN_KERNELS
// Programs that take them instantiate these beside engine/instantiate.hpp.
extern template Kernels make_kernels<LowPrecision::primitives, default_arch, EveryLayout>();
extern template Kernels make_kernels<EveryPrimitive, default_arch, EveryLayout>();
#endif

}  // namespace primsel::inline PRIMSEL_ABI
