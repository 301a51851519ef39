#pragma once

#include <primsel/network/network.hpp>
#include <primsel/network/zoo/detail/width.hpp>

#include <utility>

namespace primsel::inline PRIMSEL_ABI::zoo {

namespace detail {

/// Convolutions from a position of torchvision's `features` on, each with its ReLU, and pooling.
template <unsigned first, int k, class Indices>
struct VggStageOf;
template <unsigned first, int k, unsigned... index>
struct VggStageOf<first, k, std::integer_sequence<unsigned, index...>> {
    using type =
        layer::Path<layer::Path<layer::Named<fixed_decimal<first + 2 * index>(), layer::Conv<k, 3>>, layer::Relu>...,
                    layer::MaxPool<2>>;
};
template <unsigned first, int k, unsigned count>
using VggStage = typename VggStageOf<first, k, std::make_integer_sequence<unsigned, count>>::type;

/// n: convolutions in each stage; a stage takes two positions for each, and one for the pooling.
template <int size, int classes, class Width, unsigned n1, unsigned n2, unsigned n3, unsigned n4, unsigned n5>
using Vgg = Network<
    layer::Input<3, size, size>,
    layer::Named<"features", layer::Path<VggStage<0, wide<Width, 64>, n1>,                        //
                                         VggStage<2 * n1 + 1, wide<Width, 128>, n2>,              //
                                         VggStage<2 * (n1 + n2) + 2, wide<Width, 256>, n3>,       //
                                         VggStage<2 * (n1 + n2 + n3) + 3, wide<Width, 512>, n4>,  //
                                         VggStage<2 * (n1 + n2 + n3 + n4) + 4, wide<Width, 512>, n5>>>,
    layer::Named<"classifier", layer::Path<layer::Named<"0", layer::Dense<wide<Width, 4096>>>, layer::Relu,
                                           layer::Dropout, layer::Named<"3", layer::Dense<wide<Width, 4096>>>,
                                           layer::Relu, layer::Dropout, layer::Named<"6", layer::Dense<classes>>>>>;

}  // namespace detail

/// VGG with 11 weight layers (Simonyan and Zisserman 2014, table 1, column A), as torchvision.models.vgg11: same names,
/// same weights.
template <int size = 224, int classes = 1000, class Width = std::ratio<1>>
struct Vgg11Of : detail::Vgg<size, classes, Width, 1, 1, 2, 2, 2> {};
using Vgg11 = Vgg11Of<>;

/// VGG with 13 weight layers (column B), as torchvision.models.vgg13.
template <int size = 224, int classes = 1000, class Width = std::ratio<1>>
struct Vgg13Of : detail::Vgg<size, classes, Width, 2, 2, 2, 2, 2> {};
using Vgg13 = Vgg13Of<>;

/// VGG with 16 weight layers (column D), as torchvision.models.vgg16.
template <int size = 224, int classes = 1000, class Width = std::ratio<1>>
struct Vgg16Of : detail::Vgg<size, classes, Width, 2, 2, 3, 3, 3> {};
using Vgg16 = Vgg16Of<>;

/// VGG with 19 weight layers (column E), as torchvision.models.vgg19.
template <int size = 224, int classes = 1000, class Width = std::ratio<1>>
struct Vgg19Of : detail::Vgg<size, classes, Width, 2, 2, 4, 4, 4> {};
using Vgg19 = Vgg19Of<>;

}  // namespace primsel::inline PRIMSEL_ABI::zoo
