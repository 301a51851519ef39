#pragma once

#include <primsel/core/type_list.hpp>
#include <primsel/engine/policies.hpp>
#include <primsel/machine/all_precisions.hpp>
#include <primsel/op/bf16.hpp>
#include <primsel/primitive/depthwise_bf16.hpp>
#include <primsel/primitive/direct_bf16.hpp>
#include <primsel/tensor/hwc_bf16.hpp>

namespace primsel::inline PRIMSEL_ABI {

/// The layouts of floats and of bfloat16.
using LayoutsWithBf16 = concatenate<AllLayouts, TypeList<hwc_bf16>>;

/// The primitives that compute in bfloat16.
using Bf16Primitives = TypeList<DirectBf16, DirectHwcBf16, DirectBf16Hwc, DirectHwcBf16Hwc, DepthwiseBf16>;

/// AllPrimitives, and those that compute in bfloat16.
using EveryPrimitive = concatenate<AllPrimitives, Bf16Primitives>;

/// Policies of engines whose plans may compute in bfloat16, if PlanOptions::precision allows it.
struct LowPrecision : DefaultPolicies {
    using primitives = concatenate<DefaultPrimitives, Bf16Primitives>;
    using layouts = LayoutsWithBf16;
    using machine = MeasuredInAllPrecisions;
};

#ifdef PRIMSEL_EXTERN_KERNELS
// Programs that take them instantiate these beside engine/instantiate.hpp.
extern template Kernels make_kernels<LowPrecision::primitives, default_arch, LayoutsWithBf16>();
extern template Kernels make_kernels<EveryPrimitive, default_arch, LayoutsWithBf16>();
#endif

}  // namespace primsel::inline PRIMSEL_ABI
