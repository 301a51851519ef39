#pragma once

#include <primsel/network/network.hpp>

namespace primsel::inline PRIMSEL_ABI::zoo {

namespace detail {

template <FixedString conv, FixedString norm, int k, Extent kernel, int stride = 1>
using ConvNorm = layer::Path<layer::Named<conv, layer::Conv<k, kernel, layer::Stride<stride>, layer::NoBias>>,
                             layer::Named<norm, layer::BatchNorm>>;

template <int k, int stride>
using BasicPath = layer::Path<ConvNorm<"conv1", "bn1", k, 3, stride>, layer::Relu, ConvNorm<"conv2", "bn2", k, 3>>;

/// A basic block, named as in torchvision: `layer1.0.conv1`. The first of a stage may halve the image.
template <FixedString name, int k>
using Basic = layer::Path<layer::Named<name, layer::Sum<BasicPath<k, 1>, layer::Path<>>>, layer::Relu>;
template <FixedString name, int k>
using Downsample = layer::Path<
    layer::Named<name, layer::Sum<BasicPath<k, 2>, layer::Named<"downsample", ConvNorm<"0", "1", k, 1, 2>>>>,
    layer::Relu>;

template <int size, int classes, class... Blocks>
using ResNet = Network<layer::Input<3, size, size>, ConvNorm<"conv1", "bn1", 64, 7, 2>, layer::Relu,
                       layer::MaxPool<3, layer::Stride<2>, layer::Pad<1>>, Blocks..., layer::GlobalAvgPool,
                       layer::Named<"fc", layer::Dense<classes>>>;

}  // namespace detail

/// ResNet-18 (He et al. 2016), as torchvision.models.resnet18: same names, same weights.
template <int size = 224, int classes = 1000>
struct ResNet18Of : detail::ResNet<size, classes,                                                        //
                                   detail::Basic<"layer1.0", 64>, detail::Basic<"layer1.1", 64>,         //
                                   detail::Downsample<"layer2.0", 128>, detail::Basic<"layer2.1", 128>,  //
                                   detail::Downsample<"layer3.0", 256>, detail::Basic<"layer3.1", 256>,  //
                                   detail::Downsample<"layer4.0", 512>, detail::Basic<"layer4.1", 512>> {};
using ResNet18 = ResNet18Of<>;

/// ResNet-34, as torchvision.models.resnet34.
template <int size = 224, int classes = 1000>
struct ResNet34Of
    : detail::ResNet<size, classes,                                                                                //
                     detail::Basic<"layer1.0", 64>, detail::Basic<"layer1.1", 64>, detail::Basic<"layer1.2", 64>,  //
                     detail::Downsample<"layer2.0", 128>, detail::Basic<"layer2.1", 128>,                          //
                     detail::Basic<"layer2.2", 128>, detail::Basic<"layer2.3", 128>,                               //
                     detail::Downsample<"layer3.0", 256>, detail::Basic<"layer3.1", 256>,                          //
                     detail::Basic<"layer3.2", 256>, detail::Basic<"layer3.3", 256>,                               //
                     detail::Basic<"layer3.4", 256>, detail::Basic<"layer3.5", 256>,                               //
                     detail::Downsample<"layer4.0", 512>, detail::Basic<"layer4.1", 512>,                          //
                     detail::Basic<"layer4.2", 512>> {};
using ResNet34 = ResNet34Of<>;

}  // namespace primsel::inline PRIMSEL_ABI::zoo
