#pragma once

#include <primsel/network/network.hpp>
#include <primsel/network/zoo/detail/conv_norm.hpp>
#include <primsel/network/zoo/detail/numbered.hpp>
#include <primsel/network/zoo/detail/width.hpp>

#include <type_traits>

namespace primsel::inline PRIMSEL_ABI::zoo {

namespace detail {

/// Two 3x3 convolutions.
template <class Width>
struct Basic {
    static constexpr int expansion = 1;
    template <int k>
    static constexpr int out = wide<Width, k>;
    template <int k, int stride>
    using path = layer::Path<ConvNorm<"conv1", "bn1", out<k>, 3, layer::Stride<stride>>, layer::Relu,
                             ConvNorm<"conv2", "bn2", out<k>, 3>>;
};

/// 1x1; 3x3 in groups, each of so many channels where k is 64; 1x1 to four times k. It is the 3x3 convolution that
/// halves the image, as in torchvision.
template <class Width, int groups = 1, int group_width = 64>
struct Bottleneck {
    static constexpr int expansion = 4;
    template <int k>
    static constexpr int out = wide<Width, expansion * k>;
    template <int k>
    static constexpr int inner = wide<Width, k * group_width / 64 * groups>;
    template <int k, int stride>
    using path = layer::Path<ConvNorm<"conv1", "bn1", inner<k>, 1>, layer::Relu,
                             ConvNorm<"conv2", "bn2", inner<k>, 3, layer::Groups<groups>, layer::Stride<stride>>,
                             layer::Relu, ConvNorm<"conv3", "bn3", out<k>, 1>>;
};

template <class Path, class Shortcut>
using ResidualRelu = layer::Path<layer::Named<"", layer::Sum<Path, Shortcut>>, layer::Relu>;

/// `count` blocks, named as in torchvision: `layer1.0.conv1`. The first has a shortcut of its own.
template <FixedString name, class Block, int k, unsigned count, int stride, class Shortcut>
using ResNetStage =
    layer::Named<name,
                 layer::Path<layer::Named<"0", ResidualRelu<typename Block::template path<k, stride>, Shortcut>>,
                             Numbered<1, count - 1, ResidualRelu<typename Block::template path<k, 1>, layer::Path<>>>>>;

template <class Block, int k, int stride>
using Projection = layer::Named<"downsample", ConvNorm<"0", "1", Block::template out<k>, 1, layer::Stride<stride>>>;

/// n: blocks in each stage.
template <int size, int classes, class Width, class Block, unsigned n1, unsigned n2, unsigned n3, unsigned n4>
using ResNet = Network<layer::Input<3, size, size>, ConvNorm<"conv1", "bn1", wide<Width, 64>, 7, layer::Stride<2>>,
                       layer::Relu, layer::MaxPool<3, layer::Stride<2>, layer::Pad<1>>,
                       ResNetStage<"layer1", Block, 64, n1, 1,
                                   std::conditional_t<Block::expansion == 1, layer::Path<>, Projection<Block, 64, 1>>>,
                       ResNetStage<"layer2", Block, 128, n2, 2, Projection<Block, 128, 2>>,
                       ResNetStage<"layer3", Block, 256, n3, 2, Projection<Block, 256, 2>>,
                       ResNetStage<"layer4", Block, 512, n4, 2, Projection<Block, 512, 2>>,  //
                       layer::GlobalAvgPool, layer::Named<"fc", layer::Dense<classes>>>;

}  // namespace detail

/// ResNet-18 (He et al. 2016), as torchvision.models.resnet18: same names, same weights.
template <int size = 224, int classes = 1000, class Width = std::ratio<1>>
struct ResNet18Of : detail::ResNet<size, classes, Width, detail::Basic<Width>, 2, 2, 2, 2> {};
using ResNet18 = ResNet18Of<>;

/// ResNet-34, as torchvision.models.resnet34.
template <int size = 224, int classes = 1000, class Width = std::ratio<1>>
struct ResNet34Of : detail::ResNet<size, classes, Width, detail::Basic<Width>, 3, 4, 6, 3> {};
using ResNet34 = ResNet34Of<>;

/// ResNet-50, as torchvision.models.resnet50.
template <int size = 224, int classes = 1000, class Width = std::ratio<1>>
struct ResNet50Of : detail::ResNet<size, classes, Width, detail::Bottleneck<Width>, 3, 4, 6, 3> {};
using ResNet50 = ResNet50Of<>;

/// ResNet-101, as torchvision.models.resnet101.
template <int size = 224, int classes = 1000, class Width = std::ratio<1>>
struct ResNet101Of : detail::ResNet<size, classes, Width, detail::Bottleneck<Width>, 3, 4, 23, 3> {};
using ResNet101 = ResNet101Of<>;

/// ResNet-152, as torchvision.models.resnet152.
template <int size = 224, int classes = 1000, class Width = std::ratio<1>>
struct ResNet152Of : detail::ResNet<size, classes, Width, detail::Bottleneck<Width>, 3, 8, 36, 3> {};
using ResNet152 = ResNet152Of<>;

/// ResNeXt-50 32x4d (Xie et al. 2017), as torchvision.models.resnext50_32x4d. Its groups stay 32 whatever the width.
template <int size = 224, int classes = 1000, class Width = std::ratio<1>>
struct ResNeXt50Of : detail::ResNet<size, classes, Width, detail::Bottleneck<Width, 32, 4>, 3, 4, 6, 3> {};
using ResNeXt50 = ResNeXt50Of<>;

/// ResNeXt-101 32x8d, as torchvision.models.resnext101_32x8d.
template <int size = 224, int classes = 1000, class Width = std::ratio<1>>
struct ResNeXt101Of : detail::ResNet<size, classes, Width, detail::Bottleneck<Width, 32, 8>, 3, 4, 23, 3> {};
using ResNeXt101 = ResNeXt101Of<>;

namespace detail {

/// Every other pixel, and zeros for the new half of the channels: He et al. 2016, section 3.3, option A.
template <class Width, int k>
using PaddedShortcut = layer::Path<layer::MaxPool<1, layer::Stride<2>>, layer::ChannelPad<0, wide<Width, k> / 2>>;

}  // namespace detail

/// ResNet-56 for CIFAR-10 (He et al. 2016, section 4.2, n = 9), named as those of torchvision.
template <int size = 32, int classes = 10, class Width = std::ratio<1>>
struct ResNet56Of
    : Network<layer::Input<3, size, size>, detail::ConvNorm<"conv1", "bn1", detail::wide<Width, 16>, 3>, layer::Relu,
              detail::ResNetStage<"layer1", detail::Basic<Width>, 16, 9, 1, layer::Path<>>,
              detail::ResNetStage<"layer2", detail::Basic<Width>, 32, 9, 2, detail::PaddedShortcut<Width, 32>>,
              detail::ResNetStage<"layer3", detail::Basic<Width>, 64, 9, 2, detail::PaddedShortcut<Width, 64>>,
              layer::GlobalAvgPool, layer::Named<"fc", layer::Dense<classes>>> {};
using ResNet56 = ResNet56Of<>;

}  // namespace primsel::inline PRIMSEL_ABI::zoo
