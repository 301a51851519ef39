#pragma once

#include <primsel/network/network.hpp>

namespace primsel::inline PRIMSEL_ABI::zoo::detail {

/// A convolution without bias and its batch norm.
template <FixedString conv, FixedString norm, int k, Extent kernel, class... Options>
using ConvNorm = layer::Path<layer::Named<conv, layer::Conv<k, kernel, Options..., layer::NoBias>>,
                             layer::Named<norm, layer::BatchNorm>>;

/// The same of a depthwise convolution.
template <FixedString conv, FixedString norm, int k, Extent kernel, int stride>
using DepthwiseNorm = ConvNorm<conv, norm, k, kernel, layer::Groups<k>, layer::Stride<stride>>;

/// With torchvision's names for Inception networks: `<name>.conv`, `<name>.bn`; and their epsilon.
template <FixedString name, int k, Extent kernel, class... Options>
using ConvNormRelu =
    layer::Named<name, layer::Path<layer::Named<"conv", layer::Conv<k, kernel, Options..., layer::NoBias>>,
                                   layer::Named<"bn", layer::BatchNormWith<std::ratio<1, 1000>>>, layer::Relu>>;

}  // namespace primsel::inline PRIMSEL_ABI::zoo::detail
