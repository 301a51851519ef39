#pragma once

#include <primsel/core/fixed_string.hpp>
#include <primsel/layer/compose.hpp>
#include <primsel/layer/composite.hpp>
#include <primsel/network/graph.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

namespace detail {

/// Parameters by the names that they have in all kinds of layers.
enum class Parameter {
    none,
    shape,
    channels,
    kernel,
    stride,
    dilation,
    groups,
    padding,
    output_padding,
    size,
    epsilon,
    other
};

/// The parameter because of which check says that one is impossible.
template <class Params>
constexpr Parameter culprit(Params const& p) {
    [[maybe_unused]] constexpr auto small = [](Extent extent) { return extent.h < 1 || extent.w < 1; };
    if constexpr (requires { p.shape.c; }) {
        if (p.shape.c < 1 || p.shape.h < 1 || p.shape.w < 1) return Parameter::shape;
    }
    if constexpr (
        requires { p.k < 1; } && !requires { p.alpha; }) {
        if (p.k < 1) return Parameter::channels;
    }
    if constexpr (requires { small(p.kernel); }) {
        if (small(p.kernel)) return Parameter::kernel;
    }
    if constexpr (requires { small(p.window); }) {
        if (small(p.window)) return Parameter::kernel;
    }
    if constexpr (requires { small(p.stride); }) {
        if (small(p.stride)) return Parameter::stride;
    }
    if constexpr (requires { small(p.dilation); }) {
        if (small(p.dilation)) return Parameter::dilation;
    }
    if constexpr (requires { p.groups < 1; }) {
        if (p.groups < 1) return Parameter::groups;
    }
    if constexpr (requires { p.padding.negative(); }) {
        if (p.padding.negative()) return Parameter::padding;
    }
    if constexpr (requires { p.front < 0 || p.back < 0; }) {
        if (p.front < 0 || p.back < 0) return Parameter::padding;
    }
    if constexpr (requires { p.extra_h < 0 || p.extra_w < 0; }) {
        if (p.extra_h < 0 || p.extra_w < 0) return Parameter::output_padding;
    }
    if constexpr (requires { Extent(p.size); }) {
        if (small(Extent(p.size))) return Parameter::size;
    }
    if constexpr (requires { p.epsilon >= 0; }) {
        if (!(p.epsilon >= 0)) return Parameter::epsilon;
    }
    return Parameter::other;
}

template <class L>
inline constexpr bool is_binary = false;
template <BinaryKind kind, class... Branches>
inline constexpr bool is_binary<layer::Binary<kind, Branches...>> = true;

/// Says at compile time, at the network that has it, what is wrong with a layer.
template <class Layer, Fault fault, Parameter culprit = Parameter::other>
struct Sound {
    static constexpr Parameter wrong = fault == Fault::impossible_parameter ? culprit : Parameter::none;
    static_assert(fault != Fault::wrong_input_count, "primsel: this layer has the wrong number of inputs");
    static_assert(wrong != Parameter::shape, "primsel: a shape's channels, height or width are below 1");
    static_assert(wrong != Parameter::channels, "primsel: this layer's output channels are below 1");
    static_assert(wrong != Parameter::kernel, "primsel: this layer's kernel or window is below 1");
    static_assert(wrong != Parameter::stride, "primsel: this layer's stride is below 1");
    static_assert(wrong != Parameter::dilation, "primsel: this layer's dilation is below 1");
    static_assert(wrong != Parameter::groups, "primsel: this layer's groups are below 1");
    static_assert(wrong != Parameter::padding, "primsel: this layer's padding is negative");
    static_assert(wrong != Parameter::output_padding, "primsel: this layer's output padding is negative");
    static_assert(wrong != Parameter::size, "primsel: this layer's size is below 1");
    static_assert(wrong != Parameter::epsilon, "primsel: this layer's epsilon is negative");
    static_assert(wrong != Parameter::other, "primsel: this layer has an impossible parameter");
    static_assert(fault != Fault::kernel_exceeds_input, "primsel: this layer's kernel is larger than its padded input");
    static_assert(fault != Fault::groups_do_not_divide, "primsel: this layer's groups do not divide the channels");
    static_assert(fault != Fault::shapes_differ || is_binary<Layer>,
                  "primsel: the branches that are added here differ in shape");
    static_assert(fault != Fault::shapes_differ || !is_binary<Layer>,
                  "primsel: the branches that meet here differ where neither has a single element");
    static_assert(fault != Fault::sizes_differ, "primsel: the branches concatenated here differ in height or width");
    static_assert(fault != Fault::slice_outside, "primsel: this slice lies outside the input");
    static_assert(fault != Fault::padding_exceeds_kernel, "primsel: this padding is larger than the pooling window");
    static_assert(fault != Fault::padding_exceeds_input, "primsel: this padding mirrors more than the input has");
    static_assert(fault != Fault::too_large, "primsel: this layer's sizes are beyond the library's bounds");
    static constexpr bool value = fault == Fault::none;
};

template <class L>
concept Leaf = requires { L::params; };
/// What a layer is made of may depend on its input's shape: expansion<shape> is a layer, or several.
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

template <class L>
struct IsLayer {
    static_assert(Leaf<L>, "primsel: this type is not a layer");
    static constexpr bool value = Leaf<L>;
};

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
        tape.add({is_source ? TapeMark::Kind::source : TapeMark::Kind::layer, name, &any_layer<L>});
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
        tape.add({TapeMark::Kind::whole, {}, &any_layer<Last>});
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

/// A name where it counts only whether another is the same: FNV-1a, 64 bits.
struct NameHash {
    std::uint64_t value = 0xcbf29ce484222325ULL;
    constexpr NameHash& operator+=(std::string_view text) {
        for (const char c : text) value = (value ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
        return *this;
    }
};

/// Where layers are named: with a prefix, and with a count for each kind. Text is a std::string, or
/// what there is in its place at compile time.
template <class Text>
class Scope {
public:
    constexpr Scope() = default;
    constexpr explicit Scope(Text name) : own(name), prefix_(std::move(name)) { prefix_ += "."; }

    /// Of the scope itself.
    Text own;

    [[nodiscard]] constexpr Text named(std::string_view name) const {
        Text result = prefix_;
        result += name;
        return result;
    }
    [[nodiscard]] constexpr Text next(std::string_view kind) {
        Text result = named(kind);
        char digits[10];
        std::size_t first = 10;
        for (int rest = ++count(kind); rest > 0; rest /= 10) digits[--first] = static_cast<char>('0' + rest % 10);
        result += std::string_view(digits + first, 10 - first);
        return result;
    }

private:
    constexpr int& count(std::string_view kind) {
        for (auto& [counted, so_far] : counts_) {
            if (counted == kind) return so_far;
        }
        return counts_.emplace_back(kind, 0).second;
    }

    Text prefix_;
    std::vector<std::pair<std::string_view, int>> counts_;
};

/// Calls back with the name of each layer that the steps add, in order.
template <class Text, class Function>
constexpr void each_name(std::span<const TapeMark> steps, Function const& function) {
    std::vector<Scope<Text>> scopes(1);
    for (TapeMark const& step : steps) {
        switch (step.kind) {
            case TapeMark::Kind::layer:
            case TapeMark::Kind::source:
            case TapeMark::Kind::join:
                function(step.name.empty() ? scopes.back().next(kind(*step.layer)) : scopes.back().named(step.name));
                break;
            case TapeMark::Kind::enter:
                scopes.push_back(Scope<Text>(scopes.back().named(step.name)));
                break;
            case TapeMark::Kind::enter_counted:
                scopes.push_back(Scope<Text>(scopes.back().next(step.name)));
                break;
            case TapeMark::Kind::whole:
                function(scopes.back().own);
                scopes.pop_back();
                break;
            case TapeMark::Kind::leave:
                scopes.pop_back();
                break;
            case TapeMark::Kind::fork:
            case TapeMark::Kind::branch:
                break;
        }
    }
}

inline constexpr std::size_t no_name = static_cast<std::size_t>(-1);

/// The first among the layers that the steps add whose name one before it has, or the graph's input.
constexpr std::size_t first_name_taken(std::span<const TapeMark> steps) {
    // A hash table, twice as large as it need be: sorting takes a compiler several times as long.
    const std::size_t slots = std::bit_ceil(2 * (steps.size() + 1));
    std::vector<std::uint64_t> names(slots, 0);
    const auto add = [&](NameHash name) {
        std::size_t slot = name.value & (slots - 1);
        for (; names[slot] != 0; slot = (slot + 1) & (slots - 1)) {
            if (names[slot] == name.value) return false;
        }
        names[slot] = name.value;
        return true;
    };
    add(NameHash{} += "input");
    std::size_t at = 0, first = no_name;
    each_name<NameHash>(steps, [&](NameHash name) {
        if (!add(name) && first == no_name) first = at;
        ++at;
    });
    return first;
}
/// The beginning of a name, to print: g++ 12 has no std::string at compile time.
struct NameText {
    char text[256] = {};
    std::size_t size = 0;
    constexpr NameText& operator+=(std::string_view more) {
        const std::size_t room = std::min(more.size(), sizeof(text) - size);
        std::copy_n(more.begin(), room, text + size);
        size += room;
        return *this;
    }
};
constexpr NameText name_at(std::span<const TapeMark> steps, std::size_t position) {
    NameText result;
    std::size_t at = 0;
    each_name<NameText>(steps, [&](NameText const& name) {
        if (at++ == position) result = name;
    });
    return result;
}
template <std::size_t size>
constexpr FixedString<size + 1> fixed(NameText const& name) {
    FixedString<size + 1> result;
    std::copy_n(name.text, size, result.text);
    return result;
}
/// Says which name it is.
template <FixedString name>
struct NameTaken {
    static_assert(sizeof(name) == 0, "primsel: two layers of this network have the same name, that of this NameTaken");
    static constexpr bool value = false;
};

/// The parameters of an Input; of what is none, those of some image.
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
    static_assert(detail::Sound<In, detail::input_of<In>.check({}), detail::culprit(detail::input_of<In>)>::value);

    static constexpr Shape input_shape = detail::input_of<In>.shape;
    static constexpr Shape output_shape = detail::Describe<layer::Path<Layers...>>::template out<input_shape>;
    // Members of templates are worked out when they are used: use it here, so that a wrong layer is found here.
    static_assert(output_shape.size() > 0);

    /// The same as a value, for so many images at once.
    [[nodiscard]] static Graph graph(int batch = 1) {
        Graph graph(batch);
        graph.add("input", detail::input_of<In>, {});
        detail::add_steps(graph, steps);
        return graph;
    }

private:
    static constexpr auto steps = [] {
        constexpr auto size = [] {
            detail::Tape tape;
            detail::Describe<layer::Path<Layers...>>::template record<input_shape>(tape);
            return tape.size;
        }();
        std::array<detail::TapeMark, size> result;
        detail::Tape tape{result.data()};
        detail::Describe<layer::Path<Layers...>>::template record<input_shape>(tape);
        return result;
    }();
    static constexpr bool names_differ = [] {
        constexpr std::size_t taken = detail::first_name_taken(steps);
        if constexpr (taken == detail::no_name) {
            return true;
        } else {
            constexpr detail::NameText name = detail::name_at(steps, taken);
            return detail::NameTaken<detail::fixed<name.size>(name)>::value;
        }
    }();
    // The name is said by then.
    static_assert(names_differ || true);
};

/// A type that describes a network: whatever inherits from Network.
template <class N>
concept NetworkType = requires {
    { N::graph(1) } -> std::same_as<Graph>;
    { N::input_shape } -> std::convertible_to<Shape>;
    { N::output_shape } -> std::convertible_to<Shape>;
};

}  // namespace primsel::inline PRIMSEL_ABI
