#pragma once

#include <primsel/core/fixed_string.hpp>
#include <primsel/layer/all.hpp>
#include <primsel/layer/compose.hpp>
#include <primsel/layer/composite.hpp>
#include <primsel/network/detail/sound.hpp>

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <string_view>
#include <type_traits>

namespace primsel::inline PRIMSEL_ABI {

namespace network::detail {

template <class L>
concept HasParams = requires { L::params; };
template <class L>
concept Leaf = HasParams<L> && is_kind_of_layer<std::remove_cvref_t<decltype(L::params)>>;
template <class L>
concept OwnLeaf = HasParams<L> && OwnLayer<std::remove_cvref_t<decltype(L::params)>>;
/// A layer whose parts depend on its input's shape: expansion<shape> is a layer, or several.
template <class L>
concept Expanding = requires { requires L::expands; };

/// One instruction of those that add a network's layers to a graph. A network type is recorded as data at compile time,
/// so that it costs its user no code.
struct TapeMark {
    enum class Kind {
        layer,          // reads the layer before it; without a name, it is named by its kind and count
        source,         // the same, but reads nothing
        enter,          // the names that follow begin with this one
        enter_counted,  // the same, with a count
        leave,
        whole,   // leaves, and reads the layer before it under the name that it leaves
        fork,    // the first branch begins after the layer before it
        branch,  // a branch ends; the next begins where the first did
        join,    // a layer that reads the ends of the branches
    };
    Kind kind = Kind::layer;
    std::string_view name{};
    const AnyLayer* layer = nullptr;
    /// The input's shape, for a layer that reads one other.
    Shape input{};
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
template <OwnLeaf L>
inline constexpr AnyLayer any_layer<L>{OwnLayerParams::of_constant(L::params)};

template <class L>
struct IsLayer {
    static_assert(HasParams<L>, "primsel: this type is not a layer: it has no params; see docs/layer/layers.md");
    static constexpr bool value = false;
};
template <HasParams L>
struct IsLayer<L> : CheckOwnLayer<std::remove_cvref_t<decltype(L::params)>> {};

/// Says why a layer of the user's own does not take its input.
template <FixedString reason>
struct RefusedInput {
    static_assert(sizeof(reason) == 0, "primsel: a layer of your own refuses its input; this RefusedInput says why");
    static constexpr bool value = false;
};
template <std::size_t size>
constexpr FixedString<size + 1> fixed(std::string_view text) {
    FixedString<size + 1> result;
    std::copy_n(text.data(), size, result.text);
    return result;
}

/// How a layer type changes a shape at compile time, and what it adds to a graph. Its name may be empty.
template <class L>
struct Describe {
    template <Shape in>
    static constexpr Shape out = IsLayer<L>::value ? in : Shape{};
    template <Shape in>
    static constexpr void record(Tape&, std::string_view = {}) {}
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
/// The same, with what the layers add to a graph.
template <Shape shape>
struct Recorder {
    Tape& tape;
};
template <Shape in, class L>
constexpr auto operator>>(Recorder<in> recorder, std::type_identity<L>) {
    Describe<L>::template record<in>(recorder.tape);
    return Recorder<Describe<L>::template out<in>>{recorder.tape};
}

template <Leaf L>
struct Describe<L> {
    /// A constant reads nothing.
    static constexpr bool is_source = std::same_as<std::remove_cvref_t<decltype(L::params)>, ConstantParams>;
    template <Shape in>
    static constexpr Shape out = [] {
        constexpr std::array<Shape, is_source ? 0 : 1> inputs = [] {
            std::array<Shape, is_source ? 0 : 1> result{};
            std::ranges::fill(result, in);
            return result;
        }();
        if constexpr (Sound<L, L::params.check(inputs), culprit(L::params)>::value)
            return L::params.output(inputs);
        else
            return in;
    }();
    template <Shape in>
    static constexpr void record(Tape& tape, std::string_view name = {}) {
        tape.add({is_source ? TapeMark::Kind::source : TapeMark::Kind::layer, name, &any_layer<L>, in});
    }
};

template <OwnLeaf L>
struct Describe<L> {
    template <Shape in>
    static constexpr Shape out = [] {
        constexpr std::array<Shape, 1> inputs{in};
        constexpr std::string_view reason = own_supports(L::params, inputs).reason();
        if constexpr (reason.empty())
            return L::params.output(inputs);
        else
            return RefusedInput<fixed<reason.size()>(reason)>::value ? in : in;
    }();
    template <Shape in>
    static constexpr void record(Tape& tape, std::string_view name = {}) {
        tape.add({TapeMark::Kind::layer, name, &any_layer<L>, in});
    }
};

template <Expanding L>
struct Describe<L> {
    template <Shape in>
    static constexpr Shape out = Describe<typename L::template expansion<in>>::template out<in>;
    template <Shape in>
    static constexpr void record(Tape& tape, std::string_view name = {}) {
        Describe<typename L::template expansion<in>>::template record<in>(tape, name);
    }
};

template <FixedString name, class L>
struct Describe<layer::Named<name, L>> {
    template <Shape in>
    static constexpr Shape out = Describe<L>::template out<in>;
    /// Named twice, the outer name is a prefix.
    template <Shape in>
    static constexpr void record(Tape& tape, std::string_view outer = {}) {
        if (!outer.empty()) tape.add({TapeMark::Kind::enter, outer});
        Describe<L>::template record<in>(tape, name.view());
        if (!outer.empty()) tape.add({TapeMark::Kind::leave});
    }
};

/// Without a name of its own, a Path shares the names around it.
template <class... Layers>
struct Describe<layer::Path<Layers...>> {
    template <Shape in>
    static constexpr Shape out = decltype((Through<in>{} >> ... >> std::type_identity<Layers>{}))::result;
    template <Shape in>
    static constexpr void record(Tape& tape, std::string_view name = {}) {
        if (!name.empty()) tape.add({TapeMark::Kind::enter, name});
        (void)(Recorder<in>{tape} >> ... >> std::type_identity<Layers>{});
        if (!name.empty()) tape.add({TapeMark::Kind::leave});
    }
};

template <FixedString kind, class Last, class... Before>
struct Describe<layer::Whole<kind, Last, Before...>> {
    static_assert(Leaf<Last>);
    template <Shape in>
    static constexpr Shape out = Describe<layer::Path<Before..., Last>>::template out<in>;
    template <Shape in>
    static constexpr void record(Tape& tape, std::string_view name = {}) {
        if (name.empty())
            tape.add({TapeMark::Kind::enter_counted, kind.view()});
        else
            tape.add({TapeMark::Kind::enter, name});
        Describe<layer::Path<Before...>>::template record<in>(tape);
        tape.add({TapeMark::Kind::whole, {}, &any_layer<Last>, Describe<layer::Path<Before...>>::template out<in>});
    }
};

struct Added {
    static constexpr AddParams params{};
    static constexpr std::string_view scope = "sum";
};
struct Joined {
    static constexpr ConcatParams params{};
    static constexpr std::string_view scope = "concat";
};
template <BinaryKind kind>
struct Combined {
    static constexpr BinaryParams params{kind};
    static constexpr std::string_view scope = kind == BinaryKind::multiply ? "product" : params.name();
};
template <class Whole, class Joint, class... Branches>
struct DescribeBranches {
    template <Shape in>
    static constexpr Shape out = [] {
        constexpr std::array<Shape, sizeof...(Branches)> shapes{Describe<Branches>::template out<in>...};
        if constexpr (Sound<Whole, Joint::params.check(shapes)>::value)
            return Joint::params.output(shapes);
        else
            return in;
    }();
    template <Shape in>
    static constexpr void record(Tape& tape) {
        tape.add({TapeMark::Kind::enter_counted, Joint::scope});
        branches<in>(tape, Joint::params.name());
        tape.add({TapeMark::Kind::leave});
    }
    template <Shape in>
    static constexpr void record(Tape& tape, std::string_view name) {
        if (name.empty()) return branches<in>(tape, {});
        tape.add({TapeMark::Kind::enter, name});
        branches<in>(tape, Joint::params.name());
        tape.add({TapeMark::Kind::leave});
    }

private:
    template <Shape in>
    static constexpr void branches(Tape& tape, std::string_view name) {
        tape.add({TapeMark::Kind::fork});
        ((Describe<Branches>::template record<in>(tape), tape.add({TapeMark::Kind::branch})), ...);
        tape.add({TapeMark::Kind::join, name, &any_layer<Joint>});
    }
};
template <class... Branches>
struct Describe<layer::Sum<Branches...>> : DescribeBranches<layer::Sum<Branches...>, Added, Branches...> {};
template <class... Branches>
struct Describe<layer::Concat<Branches...>> : DescribeBranches<layer::Concat<Branches...>, Joined, Branches...> {};
template <BinaryKind kind, class... Branches>
struct Describe<layer::Binary<kind, Branches...>>
    : DescribeBranches<layer::Binary<kind, Branches...>, Combined<kind>, Branches...> {};

}  // namespace network::detail

}  // namespace primsel::inline PRIMSEL_ABI
