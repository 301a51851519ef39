#pragma once

#include <primsel/network/network.hpp>

/// The network that train.py trains: names and weights are those of its PyTorch module.
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

}  // namespace fashion
