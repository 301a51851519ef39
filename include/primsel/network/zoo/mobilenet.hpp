#pragma once

#include <primsel/network/network.hpp>
#include <primsel/network/zoo/detail/conv_norm.hpp>
#include <primsel/network/zoo/detail/inverted_residual.hpp>
#include <primsel/network/zoo/detail/numbered.hpp>
#include <primsel/network/zoo/detail/width.hpp>

#include <ratio>

namespace primsel::inline PRIMSEL_ABI::zoo {

namespace detail {

/// Depthwise 3x3, then 1x1.
template <int c, int k, int stride>
using DepthwiseSeparable =
    layer::Path<DepthwiseNorm<"0", "1", c, 3, stride>, layer::Relu, ConvNorm<"3", "4", k, 1>, layer::Relu>;

template <unsigned index, class Width, int c, int k, int stride>
using MobileNetV1Layer =
    layer::Named<fixed_decimal<index>(), DepthwiseSeparable<wide<Width, c>, wide<Width, k>, stride>>;

}  // namespace detail

/// MobileNet v1 (Howard et al. 2017, table 1); Width is the paper's alpha. Weights are named by position:
/// `features.0.0`, `features.1.0` (depthwise), `features.1.3` (1x1), `classifier`.
template <int size = 224, int classes = 1000, class Width = std::ratio<1>>
struct MobileNetV1Of
    : Network<
          layer::Input<3, size, size>,
          layer::Named<
              "features",
              layer::Path<
                  layer::Named<
                      "0", layer::Path<detail::ConvNorm<"0", "1", detail::wide<Width, 32>, 3, layer::Stride<2>>,
                                       layer::Relu>>,                                                                //
                  detail::MobileNetV1Layer<1, Width, 32, 64, 1>, detail::MobileNetV1Layer<2, Width, 64, 128, 2>,     //
                  detail::MobileNetV1Layer<3, Width, 128, 128, 1>, detail::MobileNetV1Layer<4, Width, 128, 256, 2>,  //
                  detail::MobileNetV1Layer<5, Width, 256, 256, 1>, detail::MobileNetV1Layer<6, Width, 256, 512, 2>,  //
                  detail::Numbered<7, 5,
                                   detail::DepthwiseSeparable<detail::wide<Width, 512>, detail::wide<Width, 512>, 1>>,
                  detail::MobileNetV1Layer<12, Width, 512, 1024, 2>,
                  detail::MobileNetV1Layer<13, Width, 1024, 1024, 1>>>,
          layer::GlobalAvgPool, layer::Named<"classifier", layer::Dense<classes>>> {};
using MobileNetV1 = MobileNetV1Of<>;

namespace detail {

template <FixedString name, class Layers>
using Relu6After = layer::Named<name, layer::Path<Layers, layer::Relu6>>;

/// 1x1 to so many times the channels, depthwise 3x3, 1x1; the first block does without the first of these.
template <int c, int k, int stride, int expansion>
struct MobileNetV2Path {
    using type =
        layer::Path<Relu6After<"0", ConvNorm<"0", "1", expansion * c, 1>>,
                    Relu6After<"1", DepthwiseNorm<"0", "1", expansion * c, 3, stride>>, ConvNorm<"2", "3", k, 1>>;
};
template <int c, int k, int stride>
struct MobileNetV2Path<c, k, stride, 1> {
    using type = layer::Path<Relu6After<"0", DepthwiseNorm<"0", "1", c, 3, stride>>, ConvNorm<"1", "2", k, 1>>;
};

template <int c, int k, int stride, int expansion>
using MobileNetV2Block = InvertedResidual<layer::Named<"conv", typename MobileNetV2Path<c, k, stride, expansion>::type>,
                                          stride == 1 && c == k>;

/// `count` blocks from a position of `features` on (Sandler et al. 2018, table 2).
template <unsigned first, class Width, int c, int k, unsigned count, int stride, int expansion = 6>
using MobileNetV2Stage = layer::Path<
    layer::Named<fixed_decimal<first>(), MobileNetV2Block<rounded<Width, c>, rounded<Width, k>, stride, expansion>>,
    Numbered<first + 1, count - 1, MobileNetV2Block<rounded<Width, k>, rounded<Width, k>, 1, expansion>>>;

}  // namespace detail

/// MobileNetV2 (Sandler et al. 2018), as torchvision.models.mobilenet_v2: same names, same weights. Channels times
/// Width are rounded to multiples of 8, and the last convolution has no fewer than 1280, as in torchvision.
template <int size = 224, int classes = 1000, class Width = std::ratio<1>>
struct MobileNetV2Of
    : Network<
          layer::Input<3, size, size>,
          layer::Named<
              "features",
              layer::Path<
                  detail::Relu6After<"0", detail::ConvNorm<"0", "1", detail::rounded<Width, 32>, 3, layer::Stride<2>>>,
                  detail::MobileNetV2Stage<1, Width, 32, 16, 1, 1, 1>,  //
                  detail::MobileNetV2Stage<2, Width, 16, 24, 2, 2>,     //
                  detail::MobileNetV2Stage<4, Width, 24, 32, 3, 2>,     //
                  detail::MobileNetV2Stage<7, Width, 32, 64, 4, 2>,     //
                  detail::MobileNetV2Stage<11, Width, 64, 96, 3, 1>,    //
                  detail::MobileNetV2Stage<14, Width, 96, 160, 3, 2>,   //
                  detail::MobileNetV2Stage<17, Width, 160, 320, 1, 1>,  //
                  detail::Relu6After<
                      "18",
                      detail::ConvNorm<"0", "1", (Width::num > Width::den ? detail::rounded<Width, 1280> : 1280), 1>>>>,
          layer::GlobalAvgPool,
          layer::Named<"classifier",
                       layer::Path<layer::DropoutOf<std::ratio<1, 5>>, layer::Named<"1", layer::Dense<classes>>>>> {};
using MobileNetV2 = MobileNetV2Of<>;

}  // namespace primsel::inline PRIMSEL_ABI::zoo
