#pragma once

#include <primsel/network/network.hpp>
#include <primsel/network/zoo/detail/numbered.hpp>
#include <primsel/network/zoo/detail/width.hpp>

namespace primsel::inline PRIMSEL_ABI::zoo {

namespace detail {

template <FixedString norm, FixedString conv, int k, Extent kernel>
using NormReluConv = layer::Path<layer::Named<norm, layer::BatchNorm>, layer::Relu,
                                 layer::Named<conv, layer::Conv<k, kernel, layer::NoBias>>>;

/// Its input, and so many new channels.
template <int growth>
using DenseLayer = layer::Concat<layer::Path<>, layer::Path<NormReluConv<"norm1", "conv1", 4 * growth, 1>,
                                                            NormReluConv<"norm2", "conv2", growth, 3>>>;

template <FixedString name, int growth, unsigned count>
using DenseBlock = layer::Named<name, Numbered<1, count, DenseLayer<growth>, "denselayer">>;

template <FixedString name, int k>
using DenseTransition = layer::Named<name, layer::Path<NormReluConv<"norm", "conv", k, 1>, layer::AveragePool<2>>>;

/// init: the first convolution's channels. n: layers in each block, and with that, channels after each transition.
template <int size, int classes, int init, int growth, int n1, int n2, int n3, int n4>
struct DenseNet {
    static constexpr int k1 = (init + n1 * growth) / 2, k2 = (k1 + n2 * growth) / 2, k3 = (k2 + n3 * growth) / 2;
    using network = Network<
        layer::Input<3, size, size>,
        layer::Named<"features",
                     layer::Path<layer::Named<"conv0", layer::Conv<init, 7, layer::Stride<2>, layer::NoBias>>,
                                 layer::Named<"norm0", layer::BatchNorm>, layer::Relu,
                                 layer::MaxPool<3, layer::Stride<2>, layer::Pad<1>>,                         //
                                 DenseBlock<"denseblock1", growth, n1>, DenseTransition<"transition1", k1>,  //
                                 DenseBlock<"denseblock2", growth, n2>, DenseTransition<"transition2", k2>,  //
                                 DenseBlock<"denseblock3", growth, n3>, DenseTransition<"transition3", k3>,  //
                                 DenseBlock<"denseblock4", growth, n4>, layer::Named<"norm5", layer::BatchNorm>>>,
        layer::Relu, layer::GlobalAvgPool, layer::Named<"classifier", layer::Dense<classes>>>;
};

}  // namespace detail

/// DenseNet-121 (Huang et al. 2017, table 1), as torchvision.models.densenet121: same names, same weights.
template <int size = 224, int classes = 1000, class Width = std::ratio<1>>
struct DenseNet121Of
    : detail::DenseNet<size, classes, detail::wide<Width, 64>, detail::wide<Width, 32>, 6, 12, 24, 16>::network {};
using DenseNet121 = DenseNet121Of<>;

/// DenseNet-161, as torchvision.models.densenet161.
template <int size = 224, int classes = 1000, class Width = std::ratio<1>>
struct DenseNet161Of
    : detail::DenseNet<size, classes, detail::wide<Width, 96>, detail::wide<Width, 48>, 6, 12, 36, 24>::network {};
using DenseNet161 = DenseNet161Of<>;

/// DenseNet-169, as torchvision.models.densenet169.
template <int size = 224, int classes = 1000, class Width = std::ratio<1>>
struct DenseNet169Of
    : detail::DenseNet<size, classes, detail::wide<Width, 64>, detail::wide<Width, 32>, 6, 12, 32, 32>::network {};
using DenseNet169 = DenseNet169Of<>;

/// DenseNet-201, as torchvision.models.densenet201.
template <int size = 224, int classes = 1000, class Width = std::ratio<1>>
struct DenseNet201Of
    : detail::DenseNet<size, classes, detail::wide<Width, 64>, detail::wide<Width, 32>, 6, 12, 48, 32>::network {};
using DenseNet201 = DenseNet201Of<>;

}  // namespace primsel::inline PRIMSEL_ABI::zoo
