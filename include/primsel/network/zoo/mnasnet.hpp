#pragma once

#include <primsel/network/network.hpp>
#include <primsel/network/zoo/detail/conv_norm.hpp>
#include <primsel/network/zoo/detail/inverted_residual.hpp>
#include <primsel/network/zoo/detail/numbered.hpp>
#include <primsel/network/zoo/detail/width.hpp>

#include <ratio>

namespace primsel::inline PRIMSEL_ABI::zoo {

namespace detail {

template <int c, int k, Extent kernel, int stride, int expansion>
using MnasNetPath = layer::Named<"layers", layer::Path<ConvNorm<"0", "1", expansion * c, 1>, layer::Relu,
                                                       DepthwiseNorm<"3", "4", expansion * c, kernel, stride>,
                                                       layer::Relu, ConvNorm<"6", "7", k, 1>>>;

template <int c, int k, Extent kernel, int stride, int expansion>
using MnasNetBlock = InvertedResidual<MnasNetPath<c, k, kernel, stride, expansion>, stride == 1 && c == k>;

template <FixedString name, class Width, int c, int k, Extent kernel, int stride, int expansion, unsigned count>
using MnasNetStage = layer::Named<
    name,
    layer::Path<layer::Named<"0", MnasNetBlock<rounded<Width, c>, rounded<Width, k>, kernel, stride, expansion>>,
                Numbered<1, count - 1, MnasNetBlock<rounded<Width, k>, rounded<Width, k>, kernel, 1, expansion>>>>;

}  // namespace detail

/// MnasNet-B1 (Tan et al. 2019), as torchvision.models.mnasnet1_0, and of other widths as its others: same names, same
/// weights. Channels times Width are rounded to multiples of 8; the last convolution always has 1280.
template <int size = 224, int classes = 1000, class Width = std::ratio<1>>
struct MnasNetOf
    : Network<
          layer::Input<3, size, size>,
          layer::Named<
              "layers",
              layer::Path<detail::ConvNorm<"0", "1", detail::rounded<Width, 32>, 3, layer::Stride<2>>, layer::Relu,  //
                          detail::DepthwiseNorm<"3", "4", detail::rounded<Width, 32>, 3, 1>, layer::Relu,            //
                          detail::ConvNorm<"6", "7", detail::rounded<Width, 16>, 1>,                                 //
                          detail::MnasNetStage<"8", Width, 16, 24, 3, 2, 3, 3>,                                      //
                          detail::MnasNetStage<"9", Width, 24, 40, 5, 2, 3, 3>,                                      //
                          detail::MnasNetStage<"10", Width, 40, 80, 5, 2, 6, 3>,                                     //
                          detail::MnasNetStage<"11", Width, 80, 96, 3, 1, 6, 2>,                                     //
                          detail::MnasNetStage<"12", Width, 96, 192, 5, 2, 6, 4>,                                    //
                          detail::MnasNetStage<"13", Width, 192, 320, 3, 1, 6, 1>,                                   //
                          detail::ConvNorm<"14", "15", 1280, 1>, layer::Relu>>,
          layer::GlobalAvgPool,
          layer::Named<"classifier",
                       layer::Path<layer::DropoutOf<std::ratio<1, 5>>, layer::Named<"1", layer::Dense<classes>>>>> {};
using MnasNet05 = MnasNetOf<224, 1000, std::ratio<1, 2>>;
using MnasNet075 = MnasNetOf<224, 1000, std::ratio<3, 4>>;
using MnasNet10 = MnasNetOf<>;
using MnasNet13 = MnasNetOf<224, 1000, std::ratio<13, 10>>;

}  // namespace primsel::inline PRIMSEL_ABI::zoo
