#pragma once

#include <primsel/network/network.hpp>
#include <primsel/network/zoo/detail/numbered.hpp>
#include <primsel/network/zoo/detail/width.hpp>

namespace primsel::inline PRIMSEL_ABI::zoo {

/// AlexNet in one column (Krizhevsky 2014), as torchvision.models.alexnet: same names, same weights.
template <int size = 224, int classes = 1000, class Width = std::ratio<1>>
struct AlexNetOf
    : Network<
          layer::Input<3, size, size>,
          layer::Named<
              "features",
              layer::Path<layer::Named<"0", layer::Conv<detail::wide<Width, 64>, 11, layer::Stride<4>, layer::Pad<2>>>,
                          layer::Relu, layer::MaxPool<3, layer::Stride<2>>,                           //
                          layer::Named<"3", layer::Conv<detail::wide<Width, 192>, 5>>, layer::Relu,   //
                          layer::MaxPool<3, layer::Stride<2>>,                                        //
                          layer::Named<"6", layer::Conv<detail::wide<Width, 384>, 3>>, layer::Relu,   //
                          layer::Named<"8", layer::Conv<detail::wide<Width, 256>, 3>>, layer::Relu,   //
                          layer::Named<"10", layer::Conv<detail::wide<Width, 256>, 3>>, layer::Relu,  //
                          layer::MaxPool<3, layer::Stride<2>>>>,
          layer::Named<
              "classifier",
              layer::Path<layer::Dropout, layer::Named<"1", layer::Dense<detail::wide<Width, 4096>>>, layer::Relu,
                          layer::Dropout, layer::Named<"4", layer::Dense<detail::wide<Width, 4096>>>, layer::Relu,
                          layer::Named<"6", layer::Dense<classes>>>>> {};
using AlexNet = AlexNetOf<>;

namespace detail {

/// One group, from the image to the concatenation.
template <int k>
using AlexNetCifarGroup = layer::Path<
    layer::Named<"conv1", layer::Conv<k, 3, layer::Pad<0>>>, layer::Relu, layer::Lrn<>,
    layer::MaxPool<4, layer::Stride<1>>,                                                                       //
    layer::Named<"conv2", layer::Conv<k, 5>>, layer::Relu, layer::Lrn<>, layer::MaxPool<3, layer::Stride<2>>,  //
    layer::Named<"conv3", layer::Conv<k, 3>>, layer::Relu, layer::Named<"conv4", layer::Conv<k, 3>>, layer::Relu,
    layer::Named<"conv5", layer::Conv<k, 3>>, layer::Relu, layer::MaxPool<3, layer::Stride<2>>>;

}  // namespace detail

/// AlexNet for CIFAR-10 in groups that never meet before the last layer, each trained after the ones before it and left
/// out where time is short (Xun et al. 2019, table II). With fewer than four groups, the smaller networks of figure 1.
template <int size = 32, int classes = 10, class Width = std::ratio<1>, unsigned groups = 4>
struct AlexNetCifarOf
    : Network<
          layer::Input<3, size, size>,
          layer::Named<"", detail::NumberedConcat<groups, detail::AlexNetCifarGroup<detail::wide<Width, 16>>, "group">>,
          layer::Named<"fc6", layer::Dense<classes>>, layer::Softmax> {};
using AlexNetCifar = AlexNetCifarOf<>;

}  // namespace primsel::inline PRIMSEL_ABI::zoo
