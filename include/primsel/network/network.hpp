#pragma once

#include <primsel/core/fixed_string.hpp>
#include <primsel/core/type_list.hpp>
#include <primsel/network/graph.hpp>

#include <array>
#include <concepts>
#include <map>
#include <string>

namespace primsel::inline PRIMSEL_ABI {

namespace layer {

/// Layers one after the other.
template <class... Layers>
struct Path {};
/// The sum of branches that all read the same input; each is a layer or a Path. An empty Path is the input itself.
template <class... Branches>
struct Sum {};
/// The channels of the branches, one after the other.
template <class... Branches>
struct Concat {};
/// The layers' result plus their input (He et al. 2016).
template <class... Layers>
using Residual = Sum<Path<Layers...>, Path<>>;
/// A name for a layer, or a prefix for the names of the layers in a Path, Sum or Concat: `stem`, `block.conv1`. Without
/// one, layers are named by their kind and count: `conv1`, `conv2`; so are sums: `sum1.conv1`.
template <FixedString name, class Layer>
struct Named {};

}  // namespace layer

namespace detail {

/// Says at compile time, at the network that has it, what is wrong with a layer.
template <class Layer, Fault fault>
struct Sound {
    static_assert(fault != Fault::wrong_input_count, "primsel: this layer has the wrong number of inputs");
    static_assert(fault != Fault::impossible_parameter, "primsel: this layer has an impossible parameter");
    static_assert(fault != Fault::kernel_exceeds_input, "primsel: this layer's kernel is larger than its padded input");
    static_assert(fault != Fault::groups_do_not_divide, "primsel: this layer's groups do not divide the channels");
    static_assert(fault != Fault::shapes_differ, "primsel: the branches that are added here differ in shape");
    static_assert(fault != Fault::sizes_differ, "primsel: the branches concatenated here differ in height or width");
    static_assert(fault != Fault::slice_outside, "primsel: this slice lies outside the channels");
    static_assert(fault != Fault::padding_exceeds_kernel, "primsel: this padding is larger than the pooling window");
    static_assert(fault != Fault::padding_exceeds_input, "primsel: this padding mirrors more than the input has");
    static constexpr bool value = fault == Fault::none;
};

template <class L>
concept Leaf = requires { L::params; };

/// The names used so far in each scope.
class Scope {
public:
    explicit Scope(std::string prefix = {}) : prefix_(std::move(prefix)) {}
    [[nodiscard]] std::string const& prefix() const { return prefix_; }
    [[nodiscard]] std::string next(std::string_view kind) {
        return prefix_ + std::string(kind) + std::to_string(++counts_[std::string(kind)]);
    }

private:
    std::string prefix_;
    std::map<std::string, int> counts_;
};

/// How a layer type changes a shape at compile time, and what it adds to a graph.
template <class L>
struct Describe {
    static_assert(Leaf<L>, "primsel: this type is not a layer");
};

template <Leaf L>
struct Describe<L> {
    template <Shape in>
    static constexpr Shape out = [] {
        constexpr std::array<Shape, 1> inputs{in};
        if constexpr (Sound<L, L::params.check(inputs)>::value)
            return L::params.output(inputs);
        else
            return in;
    }();
    static std::size_t add(Graph& graph, std::size_t input, Scope& scope, std::string name = {}) {
        if (name.empty()) name = scope.next(L::params.name());
        return graph.add(std::move(name), L::params, {input});
    }
};

template <FixedString name, class L>
struct Describe<layer::Named<name, L>> {
    template <Shape in>
    static constexpr Shape out = Describe<L>::template out<in>;
    static std::size_t add(Graph& graph, std::size_t input, Scope& scope) {
        return Describe<L>::add(graph, input, scope, scope.prefix() + std::string(name.view()));
    }
    /// Named twice, the outer name is a prefix.
    static std::size_t add(Graph& graph, std::size_t input, Scope&, std::string const& outer) {
        Scope inner(outer + ".");
        return add(graph, input, inner);
    }
};

template <>
struct Describe<layer::Path<>> {
    template <Shape in>
    static constexpr Shape out = in;
    static std::size_t add(Graph&, std::size_t input, Scope&, std::string const& = {}) { return input; }
};
/// Without a name of its own, a Path shares the names around it.
template <class First, class... Rest>
struct Describe<layer::Path<First, Rest...>> {
    template <Shape in>
    static constexpr Shape out = Describe<layer::Path<Rest...>>::template out<Describe<First>::template out<in>>;
    static std::size_t add(Graph& graph, std::size_t input, Scope& scope) {
        input = Describe<First>::add(graph, input, scope);
        ((input = Describe<Rest>::add(graph, input, scope)), ...);
        return input;
    }
    static std::size_t add(Graph& graph, std::size_t input, Scope&, std::string const& name) {
        Scope inner(name + ".");
        return add(graph, input, inner);
    }
};

template <class Whole, class Params, class... Branches>
struct DescribeBranches {
    template <Shape in>
    static constexpr Shape out = [] {
        constexpr std::array<Shape, sizeof...(Branches)> shapes{Describe<Branches>::template out<in>...};
        if constexpr (Sound<Whole, Params{}.check(shapes)>::value)
            return Params{}.output(shapes);
        else
            return in;
    }();
    static std::size_t add(Graph& graph, std::size_t input, Scope& scope, std::string const& name = {}) {
        const std::string own = name.empty() ? scope.next(std::same_as<Params, AddParams> ? "sum" : "concat") : name;
        Scope inner(own + ".");
        std::vector<std::size_t> branches;
        (branches.push_back(Describe<Branches>::add(graph, input, inner)), ...);
        return graph.add(inner.prefix() + std::string(Params::name()), Params{}, std::move(branches));
    }
};
template <class... Branches>
struct Describe<layer::Sum<Branches...>> : DescribeBranches<layer::Sum<Branches...>, AddParams, Branches...> {};
template <class... Branches>
struct Describe<layer::Concat<Branches...>> : DescribeBranches<layer::Concat<Branches...>, ConcatParams, Branches...> {
};

}  // namespace detail

/// A network as a type: an Input and the layers that follow. Name it with a struct of your own, which keeps symbols and
/// error messages short:
///     struct Tiny : primsel::Network<Input<3, 32, 32>, Conv<64, 3>, Relu, GlobalAvgPool, Dense<10>> {};
/// A layer that does not fit is a compile-time error there.
template <class In, class... Layers>
struct Network {
    static_assert(
        requires { requires std::same_as<std::remove_cvref_t<decltype(In::params)>, InputParams>; },
        "primsel: a Network begins with an Input<channels, height, width>");
    static_assert(detail::Sound<In, In::params.check({})>::value);

    static constexpr Shape input_shape = In::params.shape;
    static constexpr Shape output_shape = detail::Describe<layer::Path<Layers...>>::template out<input_shape>;
    // Members of templates are worked out when they are used: use it here, so that a wrong layer is found here.
    static_assert(output_shape.size() > 0);

    /// The same as a value, for so many images at once.
    [[nodiscard]] static Graph graph(int batch = 1) {
        Graph graph(batch);
        const std::size_t input = graph.add("input", In::params, {});
        detail::Scope scope;
        detail::Describe<layer::Path<Layers...>>::add(graph, input, scope);
        return graph;
    }
};

/// A type that describes a network: whatever inherits from Network.
template <class N>
concept NetworkType = requires {
    { N::graph(1) } -> std::same_as<Graph>;
    { N::input_shape } -> std::convertible_to<Shape>;
    { N::output_shape } -> std::convertible_to<Shape>;
};

}  // namespace primsel::inline PRIMSEL_ABI
