// The network of Xun et al. 2019 (table II), and what the paper says of it.
#pragma once

#include <primsel/network/network.hpp>

#include <array>
#include <string_view>

namespace reproduce {

namespace ps = primsel;

/// Table II before its channels are divided into four groups.
struct WholeAlexNet
    : ps::Network<ps::layer::Input<3, 32, 32>, ps::layer::Named<"conv1", ps::layer::Conv<64, 3, ps::layer::Pad<0>>>,
                  ps::layer::Relu, ps::layer::Lrn<>, ps::layer::MaxPool<4, ps::layer::Stride<1>>,
                  ps::layer::Named<"conv2", ps::layer::Conv<64, 5>>, ps::layer::Relu, ps::layer::Lrn<>,
                  ps::layer::MaxPool<3, ps::layer::Stride<2>>, ps::layer::Named<"conv3", ps::layer::Conv<64, 3>>,
                  ps::layer::Relu, ps::layer::Named<"conv4", ps::layer::Conv<64, 3>>, ps::layer::Relu,
                  ps::layer::Named<"conv5", ps::layer::Conv<64, 3>>, ps::layer::Relu,
                  ps::layer::MaxPool<3, ps::layer::Stride<2>>, ps::layer::Named<"fc6", ps::layer::Dense<10>>,
                  ps::layer::Softmax> {};

namespace paper {

inline constexpr double kilobytes = 318.4, channel_wise_kilobytes = 773.9, accuracy = 71.2;
/// Table III. "Dynamic range" of Xu et al. is (largest - smallest) / largest, that of the others (largest - smallest) /
/// smallest, as far as their text tells; the up to 4 times of section IV-E is largest / smallest.
struct Row {
    std::string_view name, recoverable, range, kilobytes;
};
inline constexpr std::array table3{Row{"filter pruning (Xu)", "20 %", "0.25", "773.9 * N"},
                                   Row{"channel-wise (Tann)", "75 %", "1.29", "773.9"},
                                   Row{"groups", "75 %", "3.53", "318.4"}};

}  // namespace paper
}  // namespace reproduce
