// Layers of the user's own, compiled for default_arch.
#pragma once

#include <primsel/core/aligned_buffer.hpp>
#include <primsel/core/simd.hpp>
#include <primsel/core/type_list.hpp>
#include <primsel/kernels/kernels.hpp>
#include <primsel/layer/own_layer.hpp>
#include <primsel/tensor/layout.hpp>

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>

namespace primsel::inline PRIMSEL_ABI {

namespace kernels::detail {

[[nodiscard]] inline std::string field_text(Extent value) { return join(value.h, 'x', value.w); }
[[nodiscard]] inline std::string field_text(Padding value) {
    return join(value.top, ' ', value.bottom, ' ', value.left, ' ', value.right);
}
template <class T>
[[nodiscard]] std::string field_text(T const& value) {
    if constexpr (std::is_enum_v<T>) {
        return join(static_cast<std::int64_t>(value));
    } else {
        static_assert(
            requires { join(value); },
            "primsel: each_field of a layer of your own visits what is no number, text, enumeration, Extent, Padding, "
            "Shape, and has no to_string");
        return join(value);
    }
}

template <class P>
struct LayoutsOf {
    using type = AllLayouts;
    static constexpr bool are_named = false;
};
template <class P>
    requires requires { typename P::layouts; }
struct LayoutsOf<P> {
    using type = typename P::layouts;
    static constexpr bool are_named = true;
};

/// Whether a layer of the user's own runs in layout L.
template <class P, class L>
inline constexpr bool own_runs_in = requires(P const& params, OpArgs const& args) {
    { params.template run<default_arch, L>(args) } noexcept;
};

template <class P, class Layouts>
struct CheckOwnRun;
template <class P, class... L>
struct CheckOwnRun<P, TypeList<L...>> {
    static_assert((StridedLayout<L> && ...),
                  "primsel: one of the layouts of a layer of your own is not strided; see docs/layer/own_layer.md");
    static_assert(
        LayoutsOf<P>::are_named ? (own_runs_in<P, L> && ...) : (own_runs_in<P, L> || ...),
        "primsel: a layer of your own has no run<Arch, Layout>(args) const noexcept in one of its layouts; see "
        "docs/layer/own_layer.md");
    static constexpr bool value = true;
};

template <class P>
[[nodiscard]] P const& own(AnyLayer const& layer) {
    return *std::get_if<OwnLayerParams>(&layer)->as<P>();
}

template <class P>
inline constexpr bool has_own_weights = requires(P const& params, Shape input) {
    params.each_weight(input, [](std::string_view, WeightDims, WeightValues) {});
};

template <class P>
inline constexpr bool is_channel_wise = false;
template <class P>
    requires requires { P::channel_wise; }
inline constexpr bool is_channel_wise<P> = P::channel_wise;

/// All of an op but its run function.
template <class P>
constexpr OpEntry own_entry() {
    OpEntry entry;
    if constexpr (requires { P::in_place; }) entry.in_place = P::in_place;
    entry.work = [](AnyLayer const& layer, std::span<const Shape> inputs, Shape output) {
        if constexpr (requires { own<P>(layer).work(inputs); }) {
            const LayerWork work = own<P>(layer).work(inputs);
            return OpCounts{.operations = work.operations, .bytes = work.bytes};
        } else {
            return OpCounts{.operations = static_cast<double>(output.size())};
        }
    };
    if constexpr (requires(P const& params, std::span<const Shape> inputs) {
                      params.scratch_floats(inputs, std::size_t{1});
                  }) {
        entry.scratch_bytes = [](AnyLayer const& layer, std::span<const Shape> inputs, std::size_t workers) {
            return bytes_of_floats(own<P>(layer).scratch_floats(inputs, workers));
        };
    }
    if constexpr (has_own_weights<P>) {
        entry.packed_bytes = [](AnyLayer const& layer, Shape input) {
            std::size_t floats = 0;
            own<P>(layer).each_weight(input, [&](std::string_view, WeightDims dims, WeightValues) {
                std::size_t size = 1;
                for (const std::int64_t dim : dims) size *= static_cast<std::size_t>(dim);
                floats += size;
            });
            return bytes_of_floats(floats);
        };
    }
    return entry;
}
template <class P, class L>
constexpr OpEntry own_entry_in() {
    OpEntry entry = own_entry<P>();
    if constexpr (own_runs_in<P, L>) {
        entry.run = [](AnyLayer const& layer, OpArgs const& args) noexcept {
            own<P>(layer).template run<default_arch, L>(args);
        };
    }
    return entry;
}

/// The ops of the layouts, and behind them one without a run function.
template <class P, class Layouts>
inline constexpr auto own_entries = []<class... L>(TypeList<L...>) {
    OpEntry elsewhere = own_entry<P>();
    elsewhere.work = nullptr;
    return std::array<OpEntry, sizeof...(L) + 1>{own_entry_in<P, L>()..., elsewhere};
}(Layouts{});

template <class P, class... L>
OpEntry const& own_op(TypeList<L...> layouts, std::string_view wanted) {
    constexpr std::array<std::string_view, sizeof...(L)> names{L::name...};
    std::size_t at = 0;
    while (at < names.size() && names[at] != wanted) ++at;
    return own_entries<P, decltype(layouts)>[at];
}

}  // namespace kernels::detail

template <OwnLayer P>
struct OwnLayerOps {
private:
    using Layouts = typename kernels::detail::LayoutsOf<P>::type;

    [[nodiscard]] static P const& at(const void* params) { return *static_cast<P const*>(params); }
    static Support supports(const void* params, std::span<const Shape> inputs) {
        return own_supports(at(params), inputs);
    }
    static Shape output(const void* params, std::span<const Shape> inputs) { return at(params).output(inputs); }
    static bool equal([[maybe_unused]] const void* a, [[maybe_unused]] const void* b) {
        if constexpr (std::is_empty_v<P>)
            return true;
        else
            return at(a) == at(b);
    }
    static void each_field([[maybe_unused]] const void* params,
                           [[maybe_unused]] VisitRef<std::string_view> const& visit) {
        if constexpr (!std::is_empty_v<P>) {
            at(params).each_field(
                [&](std::string_view name, auto const& value) { visit(name, kernels::detail::field_text(value)); });
        }
    }
    static void each_weight([[maybe_unused]] const void* params, [[maybe_unused]] Shape input,
                            [[maybe_unused]] VisitRef<WeightDims, WeightValues> const& visit) {
        if constexpr (kernels::detail::has_own_weights<P>) at(params).each_weight(input, visit);
    }
    static OpEntry const& op(std::string_view layout) { return kernels::detail::own_op<P>(Layouts{}, layout); }

    static_assert(kernels::detail::CheckOwnRun<P, Layouts>::value);

public:
    static constexpr OwnLayerTable table{.name = P::name,
                                         .channel_wise = kernels::detail::is_channel_wise<P>,
                                         .supports = &supports,
                                         .output = &output,
                                         .equal = &equal,
                                         .each_field = &each_field,
                                         .each_weight = &each_weight,
                                         .op = &op};
};

}  // namespace primsel::inline PRIMSEL_ABI
