#pragma once

#include <primsel/core/aligned_buffer.hpp>
#include <primsel/core/type_list.hpp>
#include <primsel/kernels/compiled.hpp>
#include <primsel/kernels/kernels.hpp>
#include <primsel/primitive/primitive.hpp>

#include <array>
#include <cstddef>
#include <string_view>

namespace primsel::inline PRIMSEL_ABI {

namespace kernels::detail {
/// The answer of a primitive that is not compiled.
template <class P>
Support supports_nothing(ConvShape const& shape) {
    const Support support = P::supports(shape);
    return support ? Support::no("is not compiled: no convolution of the network type needs it") : support;
}

template <class P, class Arch, class Layouts, bool compiled>
constexpr PrimitiveEntry make_entry() {
    static_assert(primitive::CheckPrimitive<P, Arch>::value);
    if constexpr (!Primitive<P>) {
        return PrimitiveEntry{};
    } else {
        static_assert(
            Layouts::template contains<typename P::in_layout> && Layouts::template contains<typename P::out_layout>,
            "primsel: a primitive's layout is missing from the policies' layouts");
        using Traits = PrimitiveTraits<P, Arch>;
        PrimitiveEntry entry{.id = P::id,
                             .family = P::family,
                             .in_layout = Layouts::template index_of<typename P::in_layout>,
                             .out_layout = Layouts::template index_of<typename P::out_layout>,
                             .pass = Traits::pass(),
                             .whole_batch = Traits::whole_batch(),
                             .fuses_epilogue = Traits::fuses_epilogue(),
                             .bounds_summand = Traits::bounds_summand(),
                             .strided_output = Traits::strided_output(),
                             .by_rows = Traits::by_rows(),
                             .packs_for_any_size = Traits::packs_for_any_size(),
                             .mixes_pixels = Traits::mixes_pixels(),
                             .precision = Traits::precision(),
                             .error_bound = Traits::error_bound(),
                             .supports = &supports_nothing<P>};
        if constexpr (compiled) {
            entry.supports = [](ConvShape const& shape) { return P::supports(shape); };
            entry.scratch_bytes = [](ConvShape const& shape, std::size_t workers, int images) {
                return bytes_of_floats(Traits::scratch_floats(shape, workers, images));
            };
            entry.packed_bytes = [](ConvShape const& shape) { return bytes_of_floats(Traits::packed_floats(shape)); };
            entry.pack = &Traits::pack;
            entry.repack = &Traits::repack;
            entry.run = &P::template run<Arch>;
            entry.work = &Traits::work;
        }
        return entry;
    }
}

/// Returns the id; empty if it is missing, which CheckPrimitive reports.
template <class P>
[[nodiscard]] consteval std::string_view id_of() {
    if constexpr (requires { std::string_view(P::id); }) return P::id;
    return {};
}

/// Returns whether all primitives of the list have different ids, by which plans, profiles and caches know them.
template <class... P>
[[nodiscard]] consteval bool unique_ids(TypeList<P...>) {
    const std::array<std::string_view, sizeof...(P)> ids{id_of<P>()...};
    for (std::size_t i = 0; i < ids.size(); ++i) {
        for (std::size_t j = 0; j < i; ++j) {
            if (ids[i] == ids[j] && !ids[i].empty()) return false;
        }
    }
    return true;
}
}  // namespace kernels::detail

/// One entry for each primitive of the list, in its order. A kernel is compiled once for each pair of primitive and
/// Arch, however many layers and networks use it.
template <class Primitives, class Arch = default_arch, class Layouts = AllLayouts, class Compiled = CompileAll>
inline constexpr auto primitive_table = []<class... P>(TypeList<P...>) {
    static_assert(kernels::detail::unique_ids(TypeList<P...>{}),
                  "primsel: two primitives of the list have the same id");
    return std::array<PrimitiveEntry, sizeof...(P)>{
        kernels::detail::make_entry<P, Arch, Layouts, Compiled::template primitive<P>>()...};
}(Primitives{});

}  // namespace primsel::inline PRIMSEL_ABI
