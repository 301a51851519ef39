#pragma once

#include <primsel/network/network.hpp>
#include <primsel/network/zoo/mobilenet.hpp>

#include <ratio>

/// The networks that are trained, with names and weights of the PyTorch modules in torch_twin.py.
namespace fashion {

using namespace primsel::layer;

template <int k>
using ConvNorm = Path<Named<"conv1", Conv<k, 3, NoBias>>, Named<"norm1", BatchNorm>>;
template <int k>
using Block = Residual<ConvNorm<k>, Relu, Named<"conv2", Conv<k, 3, NoBias>>, Named<"norm2", BatchNorm>>;

struct Net : primsel::Network<Input<1, 28, 28>,                               //
                              Named<"stem", ConvNorm<32>>, Relu, MaxPool<2>,  //
                              Named<"block1", Block<32>>, Relu,               //
                              Named<"widen", ConvNorm<64>>, Relu,             //
                              Named<"block2", Block<64>>, Relu, MaxPool<2>,   //
                              Named<"block3", Block<64>>, Relu,               //
                              GlobalAvgPool, Named<"classifier", Dense<10>>, Softmax> {};

/// ResNet-20 (He et al., Deep residual learning for image recognition, 2016, section 4.2) with 1x1 convolutions in its
/// shortcuts.
template <int k>
using Down = Sum<Path<Named<"conv1", Conv<k, 3, Stride<2>, NoBias>>, Named<"norm1", BatchNorm>, Relu,
                      Named<"conv2", Conv<k, 3, NoBias>>, Named<"norm2", BatchNorm>>,
                 Path<Named<"shortcut", Conv<k, 1, Stride<2>, NoBias>>, Named<"norm3", BatchNorm>>>;

struct ResNet20
    : primsel::Network<Input<1, 28, 28>, Named<"stem", ConvNorm<16>>, Relu, Named<"block1", Block<16>>, Relu,
                       Named<"block2", Block<16>>, Relu, Named<"block3", Block<16>>, Relu, Named<"block4", Down<32>>,
                       Relu, Named<"block5", Block<32>>, Relu, Named<"block6", Block<32>>, Relu,
                       Named<"block7", Down<64>>, Relu, Named<"block8", Block<64>>, Relu, Named<"block9", Block<64>>,
                       Relu, GlobalAvgPool, Named<"classifier", Dense<10>>, Softmax> {};

/// MobileNetV2 of half the width on 3x32x32.
struct MobileNetV2 : primsel::zoo::MobileNetV2Of<32, 10, std::ratio<1, 2>> {};

}  // namespace fashion
