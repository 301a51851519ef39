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
/// Rows and columns of a transposed convolution's result beyond the last that it reaches.
template <Extent value>
struct OutputPad {};
/// No bias: a batch norm follows.
struct NoBias {};
/// Pooling rounds its output size up.
struct CeilMode {};
/// Average pooling divides by the pixels inside the image only.
struct ExcludePad {};
/// Resizing takes weighted means of the four pixels around a place, rather than the nearest.
struct Bilinear {};
/// Resizing puts the corners of the result on those of the image.
struct AlignCorners {};

}  // namespace primsel::inline PRIMSEL_ABI::layer
