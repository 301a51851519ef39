#pragma once

#include <primsel/network/network.hpp>
#include <primsel/network/zoo/detail/conv_norm.hpp>
#include <primsel/network/zoo/detail/width.hpp>

#include <ratio>

namespace primsel::inline PRIMSEL_ABI::zoo {

namespace detail {

template <FixedString name, int k, Extent kernel, class... Options>
using ConvRelu = layer::Path<layer::Named<name, layer::Conv<k, kernel, Options...>>, layer::Relu>;

/// An inception module: 1x1; 1x1 then 3x3; 1x1 then 5x5; pooling then 1x1.
template <FixedString name, class Width, int k1, int k3_reduce, int k3, int k5_reduce, int k5, int k_pool>
using Inception =
    layer::Named<name,
                 layer::Concat<ConvRelu<"branch1", wide<Width, k1>, 1>,
                               layer::Named<"branch2", layer::Path<ConvRelu<"0", wide<Width, k3_reduce>, 1>,
                                                                   ConvRelu<"1", wide<Width, k3>, 3>>>,
                               layer::Named<"branch3", layer::Path<ConvRelu<"0", wide<Width, k5_reduce>, 1>,
                                                                   ConvRelu<"1", wide<Width, k5>, 5>>>,
                               layer::Named<"branch4", layer::Path<layer::MaxPool<3, layer::Stride<1>, layer::Pad<1>>,
                                                                   ConvRelu<"1", wide<Width, k_pool>, 1>>>>>;

/// The same with batch norm and a 3x3 kernel in place of the 5x5.
template <FixedString name, class Width, int k1, int k3_reduce, int k3, int k5_reduce, int k5, int k_pool>
using InceptionBn = layer::Named<
    name,
    layer::Concat<
        ConvNormRelu<"branch1", wide<Width, k1>, 1>,
        layer::Named<"branch2",
                     layer::Path<ConvNormRelu<"0", wide<Width, k3_reduce>, 1>, ConvNormRelu<"1", wide<Width, k3>, 3>>>,
        layer::Named<"branch3",
                     layer::Path<ConvNormRelu<"0", wide<Width, k5_reduce>, 1>, ConvNormRelu<"1", wide<Width, k5>, 3>>>,
        layer::Named<"branch4", layer::Path<layer::MaxPool<3, layer::Stride<1>, layer::Pad<1>, layer::CeilMode>,
                                            ConvNormRelu<"1", wide<Width, k_pool>, 1>>>>>;

using InceptionPool = layer::MaxPool<3, layer::Stride<2>, layer::CeilMode>;

}  // namespace detail

/// GoogLeNet, the original Inception v1 (Szegedy et al. 2015, table 1): with local response normalisation and 5x5
/// kernels, without the auxiliary classifiers.
template <int size = 224, int classes = 1000, class Width = std::ratio<1>>
struct GoogLeNetOf
    : Network<layer::Input<3, size, size>,                                              //
              detail::ConvRelu<"conv1", detail::wide<Width, 64>, 7, layer::Stride<2>>,  //
              detail::InceptionPool, layer::Lrn<>,                                      //
              detail::ConvRelu<"conv2", detail::wide<Width, 64>, 1>,                    //
              detail::ConvRelu<"conv3", detail::wide<Width, 192>, 3>, layer::Lrn<>,     //
              detail::InceptionPool,                                                    //
              detail::Inception<"inception3a", Width, 64, 96, 128, 16, 32, 32>,         //
              detail::Inception<"inception3b", Width, 128, 128, 192, 32, 96, 64>,       //
              detail::InceptionPool,                                                    //
              detail::Inception<"inception4a", Width, 192, 96, 208, 16, 48, 64>,        //
              detail::Inception<"inception4b", Width, 160, 112, 224, 24, 64, 64>,       //
              detail::Inception<"inception4c", Width, 128, 128, 256, 24, 64, 64>,       //
              detail::Inception<"inception4d", Width, 112, 144, 288, 32, 64, 64>,       //
              detail::Inception<"inception4e", Width, 256, 160, 320, 32, 128, 128>,     //
              detail::InceptionPool,                                                    //
              detail::Inception<"inception5a", Width, 256, 160, 320, 32, 128, 128>,     //
              detail::Inception<"inception5b", Width, 384, 192, 384, 48, 128, 128>,     //
              layer::GlobalAvgPool, layer::DropoutOf<std::ratio<1, 5>>, layer::Named<"fc", layer::Dense<classes>>> {};
using GoogLeNet = GoogLeNetOf<>;

/// GoogLeNet as torchvision.models.googlenet: with batch norm and without 5x5 kernels; same names, same weights, but
/// for the auxiliary classifiers. Its published weights want images of mean and deviation 0.5 (transform_input).
template <int size = 224, int classes = 1000, class Width = std::ratio<1>>
struct GoogLeNetBnOf
    : Network<layer::Input<3, size, size>,                                                  //
              detail::ConvNormRelu<"conv1", detail::wide<Width, 64>, 7, layer::Stride<2>>,  //
              detail::InceptionPool,                                                        //
              detail::ConvNormRelu<"conv2", detail::wide<Width, 64>, 1>,                    //
              detail::ConvNormRelu<"conv3", detail::wide<Width, 192>, 3>,                   //
              detail::InceptionPool,                                                        //
              detail::InceptionBn<"inception3a", Width, 64, 96, 128, 16, 32, 32>,           //
              detail::InceptionBn<"inception3b", Width, 128, 128, 192, 32, 96, 64>,         //
              detail::InceptionPool,                                                        //
              detail::InceptionBn<"inception4a", Width, 192, 96, 208, 16, 48, 64>,          //
              detail::InceptionBn<"inception4b", Width, 160, 112, 224, 24, 64, 64>,         //
              detail::InceptionBn<"inception4c", Width, 128, 128, 256, 24, 64, 64>,         //
              detail::InceptionBn<"inception4d", Width, 112, 144, 288, 32, 64, 64>,         //
              detail::InceptionBn<"inception4e", Width, 256, 160, 320, 32, 128, 128>,       //
              layer::MaxPool<2, layer::CeilMode>,                                           //
              detail::InceptionBn<"inception5a", Width, 256, 160, 320, 32, 128, 128>,       //
              detail::InceptionBn<"inception5b", Width, 384, 192, 384, 48, 128, 128>,       //
              layer::GlobalAvgPool, layer::DropoutOf<std::ratio<1, 5>>, layer::Named<"fc", layer::Dense<classes>>> {};
using GoogLeNetBn = GoogLeNetBnOf<>;

}  // namespace primsel::inline PRIMSEL_ABI::zoo
