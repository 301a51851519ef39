#pragma once

#include <primsel/core/clamp.hpp>
#include <primsel/core/simd.hpp>
#include <primsel/primitive/conv_args.hpp>

#include <cstddef>

namespace primsel::inline PRIMSEL_ABI::primitive::detail {

/// Stores clamp(sum + bias + residual) at `at` for a vector's lanes. Null pointers stand for zeros.
template <class Arch, class Part = AllLanes<Arch>>
PRIMSEL_INLINE void finish_depthwise(ConvArgs const& args, Floats<Arch> sum, const float* bias, std::size_t at,
                                     Part const& part = {}) {
    if (bias != nullptr) sum += part.load(bias);
    if (args.residual != nullptr) sum += part.load(args.residual + at);
    part.store(args.dst + at, clamp<Arch>(sum, broadcast<Arch>(args.clamp.low), broadcast<Arch>(args.clamp.high)));
}

}  // namespace primsel::inline PRIMSEL_ABI::primitive::detail
