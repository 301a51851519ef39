#pragma once

#include <primsel/network/network.hpp>
#include <primsel/network/zoo/detail/conv_norm.hpp>
#include <primsel/network/zoo/detail/width.hpp>

namespace primsel::inline PRIMSEL_ABI::zoo {

namespace detail {

constexpr Extent across{1, 7}, down{7, 1}, row{1, 3}, column{3, 1};

template <FixedString name, class Width, int k>
using InceptionPooled =
    layer::Path<layer::AveragePool<3, layer::Stride<1>, layer::Pad<1>>, ConvNormRelu<name, wide<Width, k>, 1>>;

/// Szegedy et al. 2016, figure 4, with a 5x5 kernel.
template <FixedString name, class Width, int k_pool>
using InceptionA = layer::Named<name, layer::Concat<ConvNormRelu<"branch1x1", wide<Width, 64>, 1>,
                                                    layer::Path<ConvNormRelu<"branch5x5_1", wide<Width, 48>, 1>,
                                                                ConvNormRelu<"branch5x5_2", wide<Width, 64>, 5>>,
                                                    layer::Path<ConvNormRelu<"branch3x3dbl_1", wide<Width, 64>, 1>,
                                                                ConvNormRelu<"branch3x3dbl_2", wide<Width, 96>, 3>,
                                                                ConvNormRelu<"branch3x3dbl_3", wide<Width, 96>, 3>>,
                                                    InceptionPooled<"branch_pool", Width, k_pool>>>;

/// Figure 10: to 17x17.
template <FixedString name, class Width>
using InceptionB = layer::Named<
    name,
    layer::Concat<ConvNormRelu<"branch3x3", wide<Width, 384>, 3, layer::Stride<2>, layer::Pad<0>>,
                  layer::Path<ConvNormRelu<"branch3x3dbl_1", wide<Width, 64>, 1>,
                              ConvNormRelu<"branch3x3dbl_2", wide<Width, 96>, 3>,
                              ConvNormRelu<"branch3x3dbl_3", wide<Width, 96>, 3, layer::Stride<2>, layer::Pad<0>>>,
                  layer::MaxPool<3, layer::Stride<2>>>>;

/// Figure 6: 7x7 kernels as 1x7 and 7x1.
template <FixedString name, class Width, int k7>
using InceptionC =
    layer::Named<name, layer::Concat<ConvNormRelu<"branch1x1", wide<Width, 192>, 1>,
                                     layer::Path<ConvNormRelu<"branch7x7_1", wide<Width, k7>, 1>,
                                                 ConvNormRelu<"branch7x7_2", wide<Width, k7>, across>,
                                                 ConvNormRelu<"branch7x7_3", wide<Width, 192>, down>>,
                                     layer::Path<ConvNormRelu<"branch7x7dbl_1", wide<Width, k7>, 1>,
                                                 ConvNormRelu<"branch7x7dbl_2", wide<Width, k7>, down>,
                                                 ConvNormRelu<"branch7x7dbl_3", wide<Width, k7>, across>,
                                                 ConvNormRelu<"branch7x7dbl_4", wide<Width, k7>, down>,
                                                 ConvNormRelu<"branch7x7dbl_5", wide<Width, 192>, across>>,
                                     InceptionPooled<"branch_pool", Width, 192>>>;

/// To 8x8.
template <FixedString name, class Width>
using InceptionD = layer::Named<
    name,
    layer::Concat<layer::Path<ConvNormRelu<"branch3x3_1", wide<Width, 192>, 1>,
                              ConvNormRelu<"branch3x3_2", wide<Width, 320>, 3, layer::Stride<2>, layer::Pad<0>>>,
                  layer::Path<ConvNormRelu<"branch7x7x3_1", wide<Width, 192>, 1>,
                              ConvNormRelu<"branch7x7x3_2", wide<Width, 192>, across>,
                              ConvNormRelu<"branch7x7x3_3", wide<Width, 192>, down>,
                              ConvNormRelu<"branch7x7x3_4", wide<Width, 192>, 3, layer::Stride<2>, layer::Pad<0>>>,
                  layer::MaxPool<3, layer::Stride<2>>>>;

/// Figure 7: 3x3 kernels as 1x3 beside 3x1.
template <FixedString name, class Width>
using InceptionE = layer::Named<
    name, layer::Concat<
              ConvNormRelu<"branch1x1", wide<Width, 320>, 1>,
              layer::Path<ConvNormRelu<"branch3x3_1", wide<Width, 384>, 1>,
                          layer::Named<"", layer::Concat<ConvNormRelu<"branch3x3_2a", wide<Width, 384>, row>,
                                                         ConvNormRelu<"branch3x3_2b", wide<Width, 384>, column>>>>,
              layer::Path<ConvNormRelu<"branch3x3dbl_1", wide<Width, 448>, 1>,
                          ConvNormRelu<"branch3x3dbl_2", wide<Width, 384>, 3>,
                          layer::Named<"", layer::Concat<ConvNormRelu<"branch3x3dbl_3a", wide<Width, 384>, row>,
                                                         ConvNormRelu<"branch3x3dbl_3b", wide<Width, 384>, column>>>>,
              InceptionPooled<"branch_pool", Width, 192>>>;

}  // namespace detail

/// Inception v3 (Szegedy et al. 2016), as torchvision.models.inception_v3: same names, same weights, but for the
/// auxiliary classifier. Its published weights want images of mean and deviation 0.5 (transform_input).
template <int size = 299, int classes = 1000, class Width = std::ratio<1>>
struct InceptionV3Of
    : Network<layer::Input<3, size, size>,                                                                         //
              detail::ConvNormRelu<"Conv2d_1a_3x3", detail::wide<Width, 32>, 3, layer::Stride<2>, layer::Pad<0>>,  //
              detail::ConvNormRelu<"Conv2d_2a_3x3", detail::wide<Width, 32>, 3, layer::Pad<0>>,                    //
              detail::ConvNormRelu<"Conv2d_2b_3x3", detail::wide<Width, 64>, 3>,
              layer::MaxPool<3, layer::Stride<2>>,                                                     //
              detail::ConvNormRelu<"Conv2d_3b_1x1", detail::wide<Width, 80>, 1>,                       //
              detail::ConvNormRelu<"Conv2d_4a_3x3", detail::wide<Width, 192>, 3, layer::Pad<0>>,       //
              layer::MaxPool<3, layer::Stride<2>>,                                                     //
              detail::InceptionA<"Mixed_5b", Width, 32>, detail::InceptionA<"Mixed_5c", Width, 64>,    //
              detail::InceptionA<"Mixed_5d", Width, 64>,                                               //
              detail::InceptionB<"Mixed_6a", Width>,                                                   //
              detail::InceptionC<"Mixed_6b", Width, 128>, detail::InceptionC<"Mixed_6c", Width, 160>,  //
              detail::InceptionC<"Mixed_6d", Width, 160>, detail::InceptionC<"Mixed_6e", Width, 192>,  //
              detail::InceptionD<"Mixed_7a", Width>,                                                   //
              detail::InceptionE<"Mixed_7b", Width>, detail::InceptionE<"Mixed_7c", Width>,            //
              layer::GlobalAvgPool, layer::Dropout, layer::Named<"fc", layer::Dense<classes>>> {};
using InceptionV3 = InceptionV3Of<>;

}  // namespace primsel::inline PRIMSEL_ABI::zoo
