#pragma once

#include <primsel/network/network.hpp>

namespace primsel::inline PRIMSEL_ABI::zoo {

namespace detail {

template <FixedString name, int k, Extent kernel, class... Options>
using ConvRelu = layer::Path<layer::Named<name, layer::Conv<k, kernel, Options...>>, layer::Relu>;

/// An inception module: 1x1; 1x1 then 3x3; 1x1 then 5x5; pooling then 1x1.
template <FixedString name, int k1, int k3_reduce, int k3, int k5_reduce, int k5, int k_pool>
using Inception =
    layer::Named<name,
                 layer::Concat<ConvRelu<"branch1", k1, 1>,
                               layer::Named<"branch2", layer::Path<ConvRelu<"0", k3_reduce, 1>, ConvRelu<"1", k3, 3>>>,
                               layer::Named<"branch3", layer::Path<ConvRelu<"0", k5_reduce, 1>, ConvRelu<"1", k5, 5>>>,
                               layer::Named<"branch4", layer::Path<layer::MaxPool<3, layer::Stride<1>, layer::Pad<1>>,
                                                                   ConvRelu<"1", k_pool, 1>>>>>;

using InceptionPool = layer::MaxPool<3, layer::Stride<2>, layer::CeilMode>;

}  // namespace detail

/// GoogLeNet, the original Inception v1 (Szegedy et al. 2015, table 1): with local response normalisation and 5x5
/// kernels, without the auxiliary classifiers.
template <int size = 224, int classes = 1000>
struct GoogLeNetOf
    : Network<layer::Input<3, size, size>,                                                              //
              detail::ConvRelu<"conv1", 64, 7, layer::Stride<2>>, detail::InceptionPool, layer::Lrn<>,  //
              detail::ConvRelu<"conv2", 64, 1>, detail::ConvRelu<"conv3", 192, 3>, layer::Lrn<>,        //
              detail::InceptionPool,                                                                    //
              detail::Inception<"inception3a", 64, 96, 128, 16, 32, 32>,                                //
              detail::Inception<"inception3b", 128, 128, 192, 32, 96, 64>, detail::InceptionPool,       //
              detail::Inception<"inception4a", 192, 96, 208, 16, 48, 64>,                               //
              detail::Inception<"inception4b", 160, 112, 224, 24, 64, 64>,                              //
              detail::Inception<"inception4c", 128, 128, 256, 24, 64, 64>,                              //
              detail::Inception<"inception4d", 112, 144, 288, 32, 64, 64>,                              //
              detail::Inception<"inception4e", 256, 160, 320, 32, 128, 128>, detail::InceptionPool,     //
              detail::Inception<"inception5a", 256, 160, 320, 32, 128, 128>,                            //
              detail::Inception<"inception5b", 384, 192, 384, 48, 128, 128>,                            //
              layer::GlobalAvgPool, layer::Dropout, layer::Named<"fc", layer::Dense<classes>>> {};
using GoogLeNet = GoogLeNetOf<>;

}  // namespace primsel::inline PRIMSEL_ABI::zoo
