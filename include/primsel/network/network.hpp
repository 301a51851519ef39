#pragma once

#include <primsel/layer/compose.hpp>
#include <primsel/layer/composite.hpp>
#include <primsel/network/detail/sound.hpp>
#include <primsel/network/detail/tape.hpp>
#include <primsel/network/detail/tape_names.hpp>
#include <primsel/network/graph.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

namespace network::detail {

/// In::params, or a placeholder if In is not an Input.
template <class In>
inline constexpr InputParams input_of{};
template <class In>
    requires std::same_as<std::remove_cvref_t<decltype(In::params)>, InputParams>
inline constexpr InputParams input_of<In> = In::params;

/// Adds the layers of the steps to a graph, the first of which reads its last layer.
inline void add_steps(Graph& graph, std::span<const TapeMark> steps) {
    struct Fork {
        std::size_t begin;
        std::vector<std::size_t> ends;
    };
    std::vector<std::string> names;
    each_name<std::string>(steps, [&](std::string name) { names.push_back(std::move(name)); });
    std::size_t last = graph.output_node(), at = 0;
    std::vector<Fork> forks;
    const auto add = [&](TapeMark const& step, std::vector<std::size_t> inputs) {
        last = graph.add(std::move(names[at++]), *step.layer, std::move(inputs));
    };
    for (TapeMark const& step : steps) {
        switch (step.kind) {
            case TapeMark::Kind::layer:
            case TapeMark::Kind::whole:
                add(step, {last});
                break;
            case TapeMark::Kind::source:
                add(step, {});
                break;
            case TapeMark::Kind::enter:
            case TapeMark::Kind::enter_counted:
            case TapeMark::Kind::leave:
                break;
            case TapeMark::Kind::fork:
                forks.push_back({last, {}});
                break;
            case TapeMark::Kind::branch:
                forks.back().ends.push_back(std::exchange(last, forks.back().begin));
                break;
            case TapeMark::Kind::join:
                add(step, std::move(forks.back().ends));
                forks.pop_back();
                break;
        }
    }
}

}  // namespace network::detail

/// A network as a type: an Input and the layers that follow. Name it with a struct of your own, which keeps symbols and
/// error messages short:
///     struct Tiny : primsel::Network<Input<3, 32, 32>, Conv<64, 3>, Relu, GlobalAvgPool, Dense<10>> {};
/// A layer that does not fit is a compile-time error there.
template <class In, class... Layers>
struct Network {
    static_assert(
        requires { requires std::same_as<std::remove_cvref_t<decltype(In::params)>, InputParams>; },
        "primsel: a Network begins with an Input<channels, height, width>");
    static_assert(network::detail::Sound<In, network::detail::input_of<In>.check({}),
                                         network::detail::culprit(network::detail::input_of<In>)>::value);

    static constexpr Shape input_shape = network::detail::input_of<In>.shape;
    static constexpr Shape output_shape = network::detail::Describe<layer::Path<Layers...>>::template out<input_shape>;
    // Members of templates are worked out when they are used: use it here, so that a wrong layer is found here.
    static_assert(output_shape.size() > 0);

    /// Returns the network as a graph for a batch of images.
    [[nodiscard]] static Graph graph(int batch = 1) {
        Graph graph(batch);
        graph.add("input", network::detail::input_of<In>, {});
        network::detail::add_steps(graph, steps);
        return graph;
    }

    /// Calls function(layer, shape of its input) with each layer but the input, at compile time too. Where branches
    /// join, the shape is empty.
    template <class Function>
    static constexpr void each_layer(Function const& function) {
        for (network::detail::TapeMark const& step : steps) {
            if (step.layer != nullptr) function(*step.layer, step.input);
        }
    }

private:
    static constexpr auto steps = [] {
        constexpr auto size = [] {
            network::detail::Tape tape;
            network::detail::Describe<layer::Path<Layers...>>::template record<input_shape>(tape);
            return tape.size;
        }();
        std::array<network::detail::TapeMark, size> result;
        network::detail::Tape tape{result.data()};
        network::detail::Describe<layer::Path<Layers...>>::template record<input_shape>(tape);
        return result;
    }();
    static constexpr bool names_differ = [] {
        constexpr std::size_t taken = network::detail::first_name_taken(steps);
        if constexpr (taken == network::detail::no_name) {
            return true;
        } else {
            constexpr network::detail::NameText name = network::detail::name_at(steps, taken);
            return network::detail::NameTaken<network::detail::fixed<name.size>(name)>::value;
        }
    }();
    static_assert(names_differ);
};

/// A type that describes a network: whatever inherits from Network.
template <class N>
concept NetworkType = requires {
    { N::graph(1) } -> std::same_as<Graph>;
    { N::input_shape } -> std::convertible_to<Shape>;
    { N::output_shape } -> std::convertible_to<Shape>;
};

}  // namespace primsel::inline PRIMSEL_ABI
