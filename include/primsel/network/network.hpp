#pragma once

#include <primsel/core/fixed_string.hpp>
#include <primsel/network/graph.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

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
/// one, layers are named by their kind and count: `conv1`, `conv2`; so are sums: `sum1.conv1`. An empty name is no
/// prefix: the layers inside are named as those around them.
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
    static_assert(fault != Fault::slice_outside, "primsel: this slice lies outside the input");
    static_assert(fault != Fault::padding_exceeds_kernel, "primsel: this padding is larger than the pooling window");
    static_assert(fault != Fault::padding_exceeds_input, "primsel: this padding mirrors more than the input has");
    static constexpr bool value = fault == Fault::none;
};

template <class L>
concept Leaf = requires { L::params; };

/// One instruction of those that add a network's layers to a graph. A network type is recorded as data at compile time,
/// so that it costs its user no code.
struct TapeMark {
    enum class Kind {
        layer,          // reads the layer before it; without a name, it is named by its kind and count
        enter,          // the names that follow begin with this one
        enter_counted,  // the same, with a count
        leave,
        fork,    // the first branch begins after the layer before it
        branch,  // a branch ends; the next begins where the first did
        join,    // a layer that reads the ends of the branches
    };
    Kind kind = Kind::layer;
    std::string_view name{};
    const AnyLayer* layer = nullptr;
};

/// Counts steps, and keeps them if there is room.
struct Tape {
    TapeMark* room = nullptr;
    std::size_t size = 0;

    constexpr void add(TapeMark const& step) {
        if (room != nullptr) room[size] = step;
        ++size;
    }
};

template <class L>
inline constexpr AnyLayer any_layer{L::params};

/// How a layer type changes a shape at compile time, and what it adds to a graph. Its name may be empty.
template <class L>
struct Describe {
    static_assert(Leaf<L>, "primsel: this type is not a layer");
};

/// A shape on its way through the layers of a Path: a fold, since a recursion would name each rest of a long Path.
template <Shape shape>
struct Through {
    static constexpr Shape result = shape;
};
template <Shape in, class L>
constexpr auto operator>>(Through<in>, std::type_identity<L>) {
    return Through<Describe<L>::template out<in>>{};
}

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
    static constexpr void record(Tape& tape, std::string_view name = {}) {
        tape.add({TapeMark::Kind::layer, name, &any_layer<L>});
    }
};

template <FixedString name, class L>
struct Describe<layer::Named<name, L>> {
    template <Shape in>
    static constexpr Shape out = Describe<L>::template out<in>;
    static constexpr void record(Tape& tape) { Describe<L>::record(tape, name.view()); }
    /// Named twice, the outer name is a prefix.
    static constexpr void record(Tape& tape, std::string_view outer) {
        if (!outer.empty()) tape.add({TapeMark::Kind::enter, outer});
        record(tape);
        if (!outer.empty()) tape.add({TapeMark::Kind::leave});
    }
};

/// Without a name of its own, a Path shares the names around it.
template <class... Layers>
struct Describe<layer::Path<Layers...>> {
    template <Shape in>
    static constexpr Shape out = decltype((Through<in>{} >> ... >> std::type_identity<Layers>{}))::result;
    static constexpr void record(Tape& tape, std::string_view name = {}) {
        if (!name.empty()) tape.add({TapeMark::Kind::enter, name});
        (Describe<Layers>::record(tape), ...);
        if (!name.empty()) tape.add({TapeMark::Kind::leave});
    }
};

template <class Params>
struct Joint {
    static constexpr Params params{};
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
    static constexpr void record(Tape& tape) {
        tape.add({TapeMark::Kind::enter_counted, std::same_as<Params, AddParams> ? "sum" : "concat"});
        branches(tape, Params::name());
        tape.add({TapeMark::Kind::leave});
    }
    static constexpr void record(Tape& tape, std::string_view name) {
        if (name.empty()) return branches(tape, {});
        tape.add({TapeMark::Kind::enter, name});
        branches(tape, Params::name());
        tape.add({TapeMark::Kind::leave});
    }

private:
    static constexpr void branches(Tape& tape, std::string_view name) {
        tape.add({TapeMark::Kind::fork});
        ((Describe<Branches>::record(tape), tape.add({TapeMark::Kind::branch})), ...);
        tape.add({TapeMark::Kind::join, name, &any_layer<Joint<Params>>});
    }
};
template <class... Branches>
struct Describe<layer::Sum<Branches...>> : DescribeBranches<layer::Sum<Branches...>, AddParams, Branches...> {};
template <class... Branches>
struct Describe<layer::Concat<Branches...>> : DescribeBranches<layer::Concat<Branches...>, ConcatParams, Branches...> {
};

/// The names used so far in each scope.
class Scope {
public:
    explicit Scope(std::string prefix = {}) : prefix_(std::move(prefix)) {}
    [[nodiscard]] std::string next(std::string_view kind) {
        return named(kind) + std::to_string(++counts_[std::string(kind)]);
    }
    [[nodiscard]] std::string named(std::string_view name) const { return prefix_ + std::string(name); }

private:
    std::string prefix_;
    std::map<std::string, int> counts_;
};

/// Adds the layers of the steps to a graph, the first of which reads its last layer.
inline void add_steps(Graph& graph, std::span<const TapeMark> steps) {
    struct Fork {
        std::size_t begin;
        std::vector<std::size_t> ends;
    };
    std::size_t last = graph.output_node();
    std::vector<Scope> scopes(1);
    std::vector<Fork> forks;
    const auto add = [&](TapeMark const& step, std::vector<std::size_t> inputs) {
        std::string name = step.name.empty() ? scopes.back().next(kind(*step.layer)) : scopes.back().named(step.name);
        last = graph.add(std::move(name), *step.layer, std::move(inputs));
    };
    for (TapeMark const& step : steps) {
        switch (step.kind) {
            case TapeMark::Kind::layer:
                add(step, {last});
                break;
            case TapeMark::Kind::enter:
                scopes.emplace_back(scopes.back().named(step.name) + '.');
                break;
            case TapeMark::Kind::enter_counted:
                scopes.emplace_back(scopes.back().next(step.name) + '.');
                break;
            case TapeMark::Kind::leave:
                scopes.pop_back();
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
        graph.add("input", In::params, {});
        detail::add_steps(graph, steps);
        return graph;
    }

private:
    static constexpr auto steps = [] {
        constexpr auto size = [] {
            detail::Tape tape;
            detail::Describe<layer::Path<Layers...>>::record(tape);
            return tape.size;
        }();
        std::array<detail::TapeMark, size> result;
        detail::Tape tape{result.data()};
        detail::Describe<layer::Path<Layers...>>::record(tape);
        return result;
    }();
};

/// A type that describes a network: whatever inherits from Network.
template <class N>
concept NetworkType = requires {
    { N::graph(1) } -> std::same_as<Graph>;
    { N::input_shape } -> std::convertible_to<Shape>;
    { N::output_shape } -> std::convertible_to<Shape>;
};

}  // namespace primsel::inline PRIMSEL_ABI
