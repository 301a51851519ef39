#pragma once

#include <primsel/network/network.hpp>

namespace primsel::inline PRIMSEL_ABI::zoo {

/// AlexNet in one column (Krizhevsky 2014), as torchvision.models.alexnet: same names, same weights.
template <int size = 224, int classes = 1000>
struct AlexNetOf
    : Network<
          layer::Input<3, size, size>,
          layer::Named<"features", layer::Path<layer::Named<"0", layer::Conv<64, 11, layer::Stride<4>, layer::Pad<2>>>,
                                               layer::Relu, layer::MaxPool<3, layer::Stride<2>>,      //
                                               layer::Named<"3", layer::Conv<192, 5>>, layer::Relu,   //
                                               layer::MaxPool<3, layer::Stride<2>>,                   //
                                               layer::Named<"6", layer::Conv<384, 3>>, layer::Relu,   //
                                               layer::Named<"8", layer::Conv<256, 3>>, layer::Relu,   //
                                               layer::Named<"10", layer::Conv<256, 3>>, layer::Relu,  //
                                               layer::MaxPool<3, layer::Stride<2>>>>,                 //
          layer::Named<"classifier", layer::Path<layer::Dropout, layer::Named<"1", layer::Dense<4096>>, layer::Relu,
                                                 layer::Dropout, layer::Named<"4", layer::Dense<4096>>, layer::Relu,
                                                 layer::Named<"6", layer::Dense<classes>>>>> {};
using AlexNet = AlexNetOf<>;

}  // namespace primsel::inline PRIMSEL_ABI::zoo
