#pragma once

#include <primsel/kernels/compiled.hpp>
#include <primsel/network/network.hpp>
#include <primsel/network/simplify.hpp>
#include <primsel/network/trimmed.hpp>
#include <primsel/plan/conv_shape_of.hpp>

#include <array>
#include <cstddef>
#include <type_traits>
#include <variant>

namespace primsel::inline PRIMSEL_ABI {

namespace engine {

/// A network type that says at compile time what its layers are.
template <class Net>
concept ListsLayers = requires { Net::each_layer([](AnyLayer const&, Shape) {}); };

template <class Net>
consteval auto layers_of() {
    std::array<bool, std::variant_size_v<AnyLayer>> listed{};
    Net::each_layer([&](AnyLayer const& layer, Shape) { listed[layer.index()] = true; });
    auto has = listed;
    for (std::size_t kind = 0; kind < has.size(); ++kind) {
        for (std::size_t other = 0; other < has.size(); ++other) {
            if (listed[kind] && network::simplify_makes(kind, other)) has[other] = true;
        }
    }
    return has;
}

/// Whether the primitive supports any convolution of the network; true where it cannot say so at compile time.
template <class Net, class P>
consteval bool supports_any() {
    if constexpr (requires { typename std::bool_constant<(P::supports(ConvShape{}), true)>; }) {
        bool any = false;
        Net::each_layer([&](AnyLayer const& layer, Shape input) {
            if (const auto* conv = std::get_if<ConvParams>(&layer)) {
                any = any || static_cast<bool>(P::supports(conv_shape_of(*conv, input))) ||
                      static_cast<bool>(P::supports(conv_shape_of(network::trimmed(*conv, input).params, input)));
            }
        });
        return any;
    } else {
        return true;
    }
}

/// Selects the ops of the network's kinds of layers and the primitives that support one of its convolutions.
template <class Net>
struct CompileFor {
    template <class Primitive>
    static constexpr bool primitive = supports_any<Net, Primitive>();
    [[nodiscard]] static constexpr bool layer(std::size_t kind) { return layers[kind]; }

private:
    static constexpr auto layers = layers_of<Net>();
};

template <class Net>
struct ChooseKernels {
    using type = CompileAll;
};
#ifndef PRIMSEL_EXTERN_KERNELS
template <ListsLayers Net>
struct ChooseKernels<Net> {
    using type = CompileFor<Net>;
};
#endif

}  // namespace engine

/// The kernels that an engine compiles: those that its Network type can use; all of them for a Graph, and wherever
/// PRIMSEL_EXTERN_KERNELS takes them from elsewhere.
template <class Net>
using KernelsFor = typename engine::ChooseKernels<Net>::type;

}  // namespace primsel::inline PRIMSEL_ABI
