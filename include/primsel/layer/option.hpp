// The options of layer types: Conv<64, 3, Stride<2>, NoBias>.
#pragma once

#include <primsel/layer/layer.hpp>

namespace primsel::inline PRIMSEL_ABI::layer {

template <Extent value>
struct Stride {};
template <Padding value>
struct Pad {};
template <Extent value>
struct Dilation {};
template <int value>
struct Groups {};
/// No bias: a batch norm follows.
struct NoBias {};
/// Pooling rounds its output size up.
struct CeilMode {};
/// Average pooling divides by the pixels inside the image only.
struct ExcludePad {};

}  // namespace primsel::inline PRIMSEL_ABI::layer
