#pragma once

#include <primsel/network/network.hpp>

namespace primsel::inline PRIMSEL_ABI::zoo {

namespace detail {

/// The convolution at a position of torchvision's `features`, and its ReLU.
template <unsigned index, int k>
using VggConv = layer::Path<layer::Named<fixed_decimal<index>(), layer::Conv<k, 3>>, layer::Relu>;

template <int size, int classes, class... Features>
using Vgg =
    Network<layer::Input<3, size, size>, layer::Named<"features", layer::Path<Features...>>,
            layer::Named<"classifier", layer::Path<layer::Named<"0", layer::Dense<4096>>, layer::Relu, layer::Dropout,
                                                   layer::Named<"3", layer::Dense<4096>>, layer::Relu, layer::Dropout,
                                                   layer::Named<"6", layer::Dense<classes>>>>>;

}  // namespace detail

/// VGG with 11 weight layers (Simonyan and Zisserman 2014, table 1, column A), as torchvision.models.vgg11.
template <int size = 224, int classes = 1000>
struct Vgg11Of : detail::Vgg<size, classes,                                                          //
                             detail::VggConv<0, 64>, layer::MaxPool<2>,                              //
                             detail::VggConv<3, 128>, layer::MaxPool<2>,                             //
                             detail::VggConv<6, 256>, detail::VggConv<8, 256>, layer::MaxPool<2>,    //
                             detail::VggConv<11, 512>, detail::VggConv<13, 512>, layer::MaxPool<2>,  //
                             detail::VggConv<16, 512>, detail::VggConv<18, 512>, layer::MaxPool<2>> {};
using Vgg11 = Vgg11Of<>;

/// VGG with 19 weight layers (column E), as torchvision.models.vgg19.
template <int size = 224, int classes = 1000>
struct Vgg19Of
    : detail::Vgg<
          size, classes,                                                        //
          detail::VggConv<0, 64>, detail::VggConv<2, 64>, layer::MaxPool<2>,    //
          detail::VggConv<5, 128>, detail::VggConv<7, 128>, layer::MaxPool<2>,  //
          detail::VggConv<10, 256>, detail::VggConv<12, 256>, detail::VggConv<14, 256>, detail::VggConv<16, 256>,
          layer::MaxPool<2>,  //
          detail::VggConv<19, 512>, detail::VggConv<21, 512>, detail::VggConv<23, 512>, detail::VggConv<25, 512>,
          layer::MaxPool<2>,  //
          detail::VggConv<28, 512>, detail::VggConv<30, 512>, detail::VggConv<32, 512>, detail::VggConv<34, 512>,
          layer::MaxPool<2>> {};
using Vgg19 = Vgg19Of<>;

}  // namespace primsel::inline PRIMSEL_ABI::zoo
