#pragma once

#include <primsel/network/network.hpp>
#include <primsel/network/zoo/detail/conv_norm.hpp>
#include <primsel/network/zoo/detail/numbered.hpp>
#include <primsel/network/zoo/detail/width.hpp>

namespace primsel::inline PRIMSEL_ABI::zoo {

namespace detail {

/// From any channels to k: 1x1, depthwise 3x3, 1x1.
template <int k, int stride>
using ShuffleBranch =
    layer::Named<"branch2", layer::Path<ConvNorm<"0", "1", k, 1>, layer::Relu, DepthwiseNorm<"3", "4", k, 3, stride>,
                                        ConvNorm<"5", "6", k, 1>, layer::Relu>>;

/// Halves the image (Ma et al. 2018, figure 3d).
template <int c, int k>
using ShuffleDown = layer::Path<
    layer::Named<"", layer::Concat<layer::Named<"branch1", layer::Path<DepthwiseNorm<"0", "1", c, 3, 2>,
                                                                       ConvNorm<"2", "3", k / 2, 1>, layer::Relu>>,
                                   ShuffleBranch<k / 2, 2>>>,
    layer::ChannelShuffle<2>>;

/// Half of the channels go by (figure 3c).
template <int k>
using ShuffleUnit =
    layer::Path<layer::Named<"", layer::Concat<layer::Slice<0, k / 2>,
                                               layer::Path<layer::Slice<k / 2, k>, ShuffleBranch<k / 2, 1>>>>,
                layer::ChannelShuffle<2>>;

template <FixedString name, int c, int k, unsigned count>
using ShuffleStage =
    layer::Named<name, layer::Path<layer::Named<"0", ShuffleDown<c, k>>, Numbered<1, count - 1, ShuffleUnit<k>>>>;

template <FixedString name, int k, Extent kernel, int stride>
using ShuffleConv = layer::Named<name, layer::Path<ConvNorm<"0", "1", k, kernel, layer::Stride<stride>>, layer::Relu>>;

/// k: channels of each stage (table 5).
template <int size, int classes, int k1, int k2, int k3, int k4, int k5>
using ShuffleNetV2 =
    Network<layer::Input<3, size, size>, ShuffleConv<"conv1", k1, 3, 2>,
            layer::MaxPool<3, layer::Stride<2>, layer::Pad<1>>,  //
            ShuffleStage<"stage2", k1, k2, 4>, ShuffleStage<"stage3", k2, k3, 8>, ShuffleStage<"stage4", k3, k4, 4>,
            ShuffleConv<"conv5", k5, 1, 1>, layer::GlobalAvgPool, layer::Named<"fc", layer::Dense<classes>>>;

}  // namespace detail

/// ShuffleNet v2 x0.5 (Ma et al. 2018), as torchvision.models.shufflenet_v2_x0_5: same names, same weights.
template <int size = 224, int classes = 1000, class Width = std::ratio<1>>
struct ShuffleNetV2X05Of
    : detail::ShuffleNetV2<size, classes, detail::wide<Width, 24>, detail::wide<Width, 48>, detail::wide<Width, 96>,
                           detail::wide<Width, 192>, detail::wide<Width, 1024>> {};
using ShuffleNetV2X05 = ShuffleNetV2X05Of<>;

/// ShuffleNet v2 x1.0, as torchvision.models.shufflenet_v2_x1_0.
template <int size = 224, int classes = 1000, class Width = std::ratio<1>>
struct ShuffleNetV2X10Of
    : detail::ShuffleNetV2<size, classes, detail::wide<Width, 24>, detail::wide<Width, 116>, detail::wide<Width, 232>,
                           detail::wide<Width, 464>, detail::wide<Width, 1024>> {};
using ShuffleNetV2X10 = ShuffleNetV2X10Of<>;

/// ShuffleNet v2 x1.5, as torchvision.models.shufflenet_v2_x1_5.
template <int size = 224, int classes = 1000, class Width = std::ratio<1>>
struct ShuffleNetV2X15Of
    : detail::ShuffleNetV2<size, classes, detail::wide<Width, 24>, detail::wide<Width, 176>, detail::wide<Width, 352>,
                           detail::wide<Width, 704>, detail::wide<Width, 1024>> {};
using ShuffleNetV2X15 = ShuffleNetV2X15Of<>;

/// ShuffleNet v2 x2.0, as torchvision.models.shufflenet_v2_x2_0.
template <int size = 224, int classes = 1000, class Width = std::ratio<1>>
struct ShuffleNetV2X20Of
    : detail::ShuffleNetV2<size, classes, detail::wide<Width, 24>, detail::wide<Width, 244>, detail::wide<Width, 488>,
                           detail::wide<Width, 976>, detail::wide<Width, 2048>> {};
using ShuffleNetV2X20 = ShuffleNetV2X20Of<>;

}  // namespace primsel::inline PRIMSEL_ABI::zoo
