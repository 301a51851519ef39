#pragma once

#include <primsel/network/network.hpp>
#include <primsel/network/zoo/detail/width.hpp>

namespace primsel::inline PRIMSEL_ABI::zoo {

namespace detail {

/// 1x1 to few channels, then as many 1x1 as 3x3 kernels beside each other.
template <FixedString name, class Width, int squeeze, int expand>
using Fire = layer::Named<
    name,
    layer::Path<
        layer::Named<"squeeze", layer::Conv<wide<Width, squeeze>, 1>>, layer::Relu,
        layer::Named<
            "",
            layer::Concat<layer::Path<layer::Named<"expand1x1", layer::Conv<wide<Width, expand>, 1>>, layer::Relu>,
                          layer::Path<layer::Named<"expand3x3", layer::Conv<wide<Width, expand>, 3>>, layer::Relu>>>>>;

using FirePool = layer::MaxPool<3, layer::Stride<2>, layer::CeilMode>;

template <int classes>
using SqueezeNetClassifier =
    layer::Named<"classifier", layer::Path<layer::Dropout, layer::Named<"1", layer::Conv<classes, 1>>, layer::Relu,
                                           layer::GlobalAvgPool>>;

}  // namespace detail

/// SqueezeNet 1.0 (Iandola et al. 2016), as torchvision.models.squeezenet1_0: same names, same weights.
template <int size = 224, int classes = 1000, class Width = std::ratio<1>>
struct SqueezeNet10Of
    : Network<
          layer::Input<3, size, size>,
          layer::Named<
              "features",
              layer::Path<layer::Named<"0", layer::Conv<detail::wide<Width, 96>, 7, layer::Stride<2>, layer::Pad<0>>>,
                          layer::Relu, detail::FirePool,  //
                          detail::Fire<"3", Width, 16, 64>, detail::Fire<"4", Width, 16, 64>,
                          detail::Fire<"5", Width, 32, 128>, detail::FirePool,  //
                          detail::Fire<"7", Width, 32, 128>, detail::Fire<"8", Width, 48, 192>,
                          detail::Fire<"9", Width, 48, 192>, detail::Fire<"10", Width, 64, 256>, detail::FirePool,  //
                          detail::Fire<"12", Width, 64, 256>>>,
          detail::SqueezeNetClassifier<classes>> {};
using SqueezeNet10 = SqueezeNet10Of<>;

/// SqueezeNet 1.1, with less than half the work, as torchvision.models.squeezenet1_1.
template <int size = 224, int classes = 1000, class Width = std::ratio<1>>
struct SqueezeNet11Of
    : Network<
          layer::Input<3, size, size>,
          layer::Named<
              "features",
              layer::Path<layer::Named<"0", layer::Conv<detail::wide<Width, 64>, 3, layer::Stride<2>, layer::Pad<0>>>,
                          layer::Relu, detail::FirePool,                                                           //
                          detail::Fire<"3", Width, 16, 64>, detail::Fire<"4", Width, 16, 64>, detail::FirePool,    //
                          detail::Fire<"6", Width, 32, 128>, detail::Fire<"7", Width, 32, 128>, detail::FirePool,  //
                          detail::Fire<"9", Width, 48, 192>, detail::Fire<"10", Width, 48, 192>,
                          detail::Fire<"11", Width, 64, 256>, detail::Fire<"12", Width, 64, 256>>>,
          detail::SqueezeNetClassifier<classes>> {};
using SqueezeNet11 = SqueezeNet11Of<>;

}  // namespace primsel::inline PRIMSEL_ABI::zoo
