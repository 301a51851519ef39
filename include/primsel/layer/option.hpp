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
/// Rows and columns added to a transposed convolution's result at the bottom and right: PyTorch's output_padding.
template <Extent value>
struct OutputPad {};
/// The layer has no bias, as is usual before a batch norm.
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
