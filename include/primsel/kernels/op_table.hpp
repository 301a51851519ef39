#pragma once

#include <primsel/core/aligned_buffer.hpp>
#include <primsel/kernels/compiled.hpp>
#include <primsel/kernels/kernels.hpp>
#include <primsel/layer/all.hpp>
#include <primsel/op/all.hpp>

#include <cstddef>
#include <span>
#include <utility>
#include <variant>

namespace primsel::inline PRIMSEL_ABI {

/// True if the layer has an op in layout L.
template <class Params, class Arch, class L>
inline constexpr bool runs_in =
    requires(Params const& params, OpArgs const& args) { Op<Params>::template run<Arch, L>(params, args); };

namespace kernels::detail {
/// The packed_for of the first of these kernels that has one; null if none has.
template <class Params, class Kernel, class... Others>
constexpr auto packed_for_of() -> decltype(OpEntry::packed_for) {
    if constexpr (requires(Params const& params, Shape input) { Kernel::packed_for(params, input); }) {
        return
            [](AnyLayer const& layer, Shape input) { return Kernel::packed_for(*std::get_if<Params>(&layer), input); };
    } else if constexpr (sizeof...(Others) > 0) {
        return packed_for_of<Params, Others...>();
    } else {
        return nullptr;
    }
}
/// The op of a layer in a layout that is not strided, if there is one.
template <class Params, class Arch, Layout L, bool compiled>
constexpr OpEntry make_op_entry_in() {
    OpEntry entry;
    if constexpr (compiled && requires(Params const& params, OpArgs const& args) {
                      OpIn<Params, L>::template run<Arch>(params, args);
                  }) {
        if constexpr (requires { OpIn<Params, L>::in_place; }) entry.in_place = OpIn<Params, L>::in_place;
        entry.work = [](AnyLayer const& layer, std::span<const Shape> inputs, Shape output) {
            return OpIn<Params, L>::template work<Arch>(*std::get_if<Params>(&layer), inputs, output);
        };
        entry.run = [](AnyLayer const& layer, OpArgs const& args) noexcept {
            OpIn<Params, L>::template run<Arch>(*std::get_if<Params>(&layer), args);
        };
        if constexpr (requires(Params const& params, std::span<const Shape> inputs) {
                          OpIn<Params, L>::template scratch_floats<Arch>(params, inputs, std::size_t{1});
                      }) {
            entry.scratch_bytes = [](AnyLayer const& layer, std::span<const Shape> inputs, std::size_t workers) {
                return bytes_of_floats(
                    OpIn<Params, L>::template scratch_floats<Arch>(*std::get_if<Params>(&layer), inputs, workers));
            };
        }
        if constexpr (requires { OpIn<Params, L>::error_bound; }) {
            using Narrow = OpIn<Params, L>;
            entry.precision = Narrow::precision;
            entry.error_bound = Narrow::error_bound;
            if constexpr (has_weights<Params>) {
                entry.packed_bytes = [](AnyLayer const& layer, Shape input) {
                    return Narrow::packed_bytes(*std::get_if<Params>(&layer), input);
                };
                entry.pack = [](AnyLayer const& layer, Shape input, OpWeights const& weights, float* dst) {
                    Params const& params = *std::get_if<Params>(&layer);
                    if constexpr (requires { typename Narrow::tensors; }) {
                        Narrow::template pack<typename Narrow::tensors>(params, input, weights, dst);
                    } else {
                        Narrow::template pack<L>(params, input, weights, dst);
                    }
                };
                entry.packed_for = packed_for_of<Params, Narrow, Op<Params>>();
                if constexpr (requires { Narrow::outputs_apart; }) entry.outputs_apart = Narrow::outputs_apart;
            }
        }
        if constexpr (requires { typename OpIn<Params, L>::tensors; }) {
            entry.id = OpIn<Params, L>::id;
            entry.tensors = OpIn<Params, L>::tensors::name;
        }
    }
    return entry;
}

template <class Params, class Arch, StridedLayout L, bool compiled>
constexpr OpEntry make_op_entry() {
    OpEntry entry;
    if constexpr (compiled && runs_in<Params, Arch, L>) {
        entry.in_place = Op<Params>::in_place;
        entry.work = [](AnyLayer const& layer, std::span<const Shape> inputs, Shape output) {
            return Op<Params>::template work<Arch, L>(*std::get_if<Params>(&layer), inputs, output);
        };
        entry.run = [](AnyLayer const& layer, OpArgs const& args) noexcept {
            Op<Params>::template run<Arch, L>(*std::get_if<Params>(&layer), args);
        };
        if constexpr (requires(Params const& params, std::span<const Shape> inputs) {
                          Op<Params>::template scratch_floats<Arch>(params, inputs, std::size_t{1});
                      }) {
            entry.scratch_bytes = [](AnyLayer const& layer, std::span<const Shape> inputs, std::size_t workers) {
                return bytes_of_floats(
                    Op<Params>::template scratch_floats<Arch>(*std::get_if<Params>(&layer), inputs, workers));
            };
        }
        if constexpr (has_weights<Params>) {
            entry.packed_bytes = [](AnyLayer const& layer, Shape input) {
                return bytes_of_floats(Op<Params>::packed_floats(*std::get_if<Params>(&layer), input));
            };
            entry.pack = [](AnyLayer const& layer, Shape input, OpWeights const& weights, float* dst) {
                Op<Params>::template pack<L>(*std::get_if<Params>(&layer), input, weights, dst);
            };
            entry.packed_for = packed_for_of<Params, Op<Params>>();
            if constexpr (requires { Op<Params>::outputs_apart; }) entry.outputs_apart = Op<Params>::outputs_apart;
        }
    }
    return entry;
}
}  // namespace kernels::detail

/// All compiled ops in layout L.
template <class Arch, Layout L, class Compiled = CompileAll>
inline constexpr OpTable op_table = []<std::size_t... i>(std::index_sequence<i...>) {
    if constexpr (StridedLayout<L>) {
        return OpTable{
            kernels::detail::make_op_entry<std::variant_alternative_t<i, AnyLayer>, Arch, L, Compiled::layer(i)>()...};
    } else {
        return OpTable{kernels::detail::make_op_entry_in<std::variant_alternative_t<i, AnyLayer>, Arch, L,
                                                         Compiled::layer(i)>()...};
    }
}(std::make_index_sequence<std::variant_size_v<AnyLayer>>{});

}  // namespace primsel::inline PRIMSEL_ABI
