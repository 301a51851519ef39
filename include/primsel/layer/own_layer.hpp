// A layer of the user's own: a plain type with parameters, an output shape and a run function.
#pragma once

#include <primsel/core/error.hpp>
#include <primsel/core/support.hpp>
#include <primsel/layer/layer.hpp>

#include <concepts>
#include <cstddef>
#include <cstring>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

namespace primsel::inline PRIMSEL_ABI {

struct OpEntry;

/// The work of a layer for one image, by which cost models price it.
struct LayerWork {
    double operations = 0;  ///< floating-point operations, vectorised
    double bytes = 0;       ///< read and written; 0: each input and the output once
};

/// A layer of the user's own: its data members are its parameters, which are copied as bytes. It has
/// - name: a constexpr text, the kind of layer that plans and traces show;
/// - output(inputs): the output shape, constexpr if it stands in a Network;
/// - run<Arch, L>(args) const noexcept: computes the layer in the strided layout L, under the rules of Op in op/op.hpp;
/// - each_field(visit): visit(name, value) for each parameter; may be left out where there is none;
/// - operator==; may be left out where there are no parameters.
/// It may have
/// - supports(inputs): Support::no with a reason for inputs that do not fit; without it, any one input fits;
/// - using layouts: a TypeList of those in which it runs; without it, all of AllLayouts that run accepts;
/// - work(inputs): LayerWork; without it, one operation for each element of the output;
/// - in_place: a constexpr bool, whether dst may be src[0];
/// - scratch_floats(inputs, workers): the floats that args.scratch has room for;
/// - each_weight(input, visit) as in LayerParams: args.weights holds all values, in the order of the visits;
/// - channel_wise: a constexpr bool, whether channel i of the output depends on channel i of the inputs alone, and each
///   weight has a row a channel. Pruning and grouping need it to leave channels out.
template <class P>
concept OwnLayer = requires {
    { P::name } -> std::convertible_to<std::string_view>;
} && std::is_trivially_copyable_v<P> && requires(P const& params, std::span<const Shape> inputs) {
    { params.output(inputs) } -> std::same_as<Shape>;
} && (std::is_empty_v<P> || (std::equality_comparable<P> && requires(P const& params) {
                       params.each_field([](std::string_view, auto const&) {});
                   }));

/// Names the first member that a type lacks to be an OwnLayer.
template <class P>
struct CheckOwnLayer {
    static_assert(
        requires {
            { P::name } -> std::convertible_to<std::string_view>;
        }, "primsel: this type is not a layer: it has no constexpr text `name`; see docs/layer/own_layer.md");
    static_assert(std::is_trivially_copyable_v<P>,
                  "primsel: a layer of your own is not trivially copyable: it may have numbers, no containers; see "
                  "docs/layer/own_layer.md");
    static_assert(
        requires(P const& params, std::span<const Shape> inputs) {
            { params.output(inputs) } -> std::same_as<Shape>;
        },
        "primsel: a layer of your own has no output(inputs) const that returns a Shape; see docs/layer/own_layer.md");
    static_assert(std::is_empty_v<P> || std::equality_comparable<P>,
                  "primsel: a layer of your own has parameters and no operator==; see docs/layer/own_layer.md");
    static_assert(
        std::is_empty_v<P> || requires(P const& params) { params.each_field([](std::string_view, auto const&) {}); },
        "primsel: a layer of your own has parameters and no each_field(visit) const; see docs/layer/own_layer.md");
    static constexpr bool value = OwnLayer<P>;
};

/// Whether a layer of the user's own supports these inputs: asks its own supports() and checks its output's size.
template <OwnLayer P>
[[nodiscard]] constexpr Support own_supports(P const& params, std::span<const Shape> inputs) {
    if (inputs.empty()) return Support::no("it reads at least one input");
    if constexpr (requires {
                      { params.supports(inputs) } -> std::same_as<Support>;
                  }) {
        if (const Support support = params.supports(inputs); !support) return support;
    } else if (inputs.size() != 1) {
        return Support::no("it reads one input");
    }
    const Shape output = params.output(inputs);
    if (!layer::detail::is_size(output)) return Support::no("an extent of its output is not from 1 to 2^29");
    return within_bounds(output) ? Support::yes() : Support::no("its output is beyond the library's bounds");
}

/// A visitor of named values behind a function pointer.
template <class... Values>
struct VisitRef {
    void* visitor;
    void (*call)(void* visitor, std::string_view name, Values... values);

    void operator()(std::string_view name, Values... values) const { call(visitor, name, values...); }
};

/// The functions of one type of layer of the user's own, which take its parameters by address.
struct OwnLayerTable {
    std::string_view name;
    bool channel_wise;
    Support (*supports)(const void*, std::span<const Shape>);
    Shape (*output)(const void*, std::span<const Shape>);
    bool (*equal)(const void*, const void*);
    /// Values as text.
    void (*each_field)(const void*, VisitRef<std::string_view> const&);
    void (*each_weight)(const void*, Shape input, VisitRef<WeightDims, WeightValues> const&);
    /// Returns the op in the layout of that name; its run is null if the layer does not run in that layout.
    OpEntry const& (*op)(std::string_view layout);
};

/// The table of a type, `table`, which holds its compiled kernels: kernels/own_layer.hpp defines it.
template <OwnLayer P>
struct OwnLayerOps;

/// The parameters of a layer of the user's own, whatever its type: the bytes of the parameters, and a table of
/// functions.
class OwnLayerParams {
public:
    static constexpr std::size_t room = 64;

    /// Copies the parameters.
    template <OwnLayer P>
    // NOLINTNEXTLINE(google-explicit-constructor): graph.add("snake", Snake{}, {0}) as with any other layer
    OwnLayerParams(P const& params) : table_(table_of<P>()) {
        ::new (static_cast<void*>(bytes_)) P(params);
    }
    /// Refers to parameters that live as long as the program.
    template <OwnLayer P>
    [[nodiscard]] static constexpr OwnLayerParams of_constant(P const& params) {
        return {table_of<P>(), &params};
    }

    [[nodiscard]] constexpr std::string_view name() const { return table_->name; }
    [[nodiscard]] bool channel_wise() const { return table_->channel_wise; }
    [[nodiscard]] Support supports(std::span<const Shape> inputs) const { return table_->supports(data(), inputs); }
    [[nodiscard]] Fault check(std::span<const Shape> inputs) const {
        return supports(inputs) ? Fault::none : Fault::refused;
    }
    [[nodiscard]] Shape output(std::span<const Shape> inputs) const { return table_->output(data(), inputs); }
    void each_field(auto const& visit) const {
        const auto call = [](void* visitor, std::string_view name, std::string_view value) {
            (*static_cast<decltype(&visit)>(visitor))(name, value);
        };
        table_->each_field(data(), {address_of(visit), call});
    }
    void each_weight(Shape input, auto const& visit) const {
        const auto call = [](void* visitor, std::string_view name, WeightDims dims, WeightValues values) {
            (*static_cast<decltype(&visit)>(visitor))(name, dims, values);
        };
        table_->each_weight(data(), input, {address_of(visit), call});
    }
    [[nodiscard]] OpEntry const& op(std::string_view layout) const { return table_->op(layout); }

    /// Returns the parameters as a P, or null if they are of another type.
    template <OwnLayer P>
    [[nodiscard]] P const* as() const {
        return table_ == table_of<P>() ? static_cast<P const*>(data()) : nullptr;
    }
    friend bool operator==(OwnLayerParams const& a, OwnLayerParams const& b) {
        return a.table_ == b.table_ && a.table_->equal(a.data(), b.data());
    }

private:
    constexpr OwnLayerParams(OwnLayerTable const* table, const void* constant) : table_(table), constant_(constant) {}

    template <class P>
    [[nodiscard]] static constexpr OwnLayerTable const* table_of() {
        static_assert(
            sizeof(P) <= room && alignof(P) <= alignof(std::max_align_t),
            "primsel: the parameters of a layer of your own take more than 64 bytes; what is larger is static "
            "data that they point to");
        static_assert(
            requires { sizeof(OwnLayerOps<P>); },
            "primsel: a layer of your own needs the header primsel/kernels/own_layer.hpp, which primsel.hpp includes");
        return &OwnLayerOps<P>::table;
    }
    template <class Visit>
    [[nodiscard]] static void* address_of(Visit const& visit) {
        return const_cast<Visit*>(&visit);
    }
    [[nodiscard]] const void* data() const { return constant_ == nullptr ? bytes_ : constant_; }

    OwnLayerTable const* table_;
    const void* constant_ = nullptr;
    alignas(std::max_align_t) std::byte bytes_[room] = {};
};

namespace layer {
/// A layer of the user's own in a network: the type of its parameters, and their values in the order of its members.
template <class P, auto... values>
struct Own {
    static_assert(CheckOwnLayer<P>::value);
    static constexpr P params{values...};
};
}  // namespace layer

}  // namespace primsel::inline PRIMSEL_ABI
