#pragma once

#include <primsel/core/aligned_buffer.hpp>
#include <primsel/layer/dense.hpp>
#include <primsel/op/detail/dense_panels.hpp>
#include <primsel/op/op.hpp>

#include <concepts>
#include <cstddef>
#include <span>

namespace primsel::inline PRIMSEL_ABI {

template <>
struct Op<DenseParams> {
    static constexpr bool in_place = false;
    static constexpr std::size_t outputs_apart = op::detail::DensePanels<float>::panel;

    template <class Arch, StridedLayout L>
    [[nodiscard]] static OpCounts work(DenseParams const& params, std::span<const Shape> inputs, Shape output) {
        return Images::work<Arch>(params, inputs, output);
    }
    [[nodiscard]] static std::size_t packed_floats(DenseParams const& params, Shape input) {
        return floats_for_bytes(Images::packed_bytes(params, input));
    }
    template <StridedLayout L>
    static void pack(DenseParams const& params, Shape input, OpWeights const& weights, float* dst) {
        Images::pack<L>(params, input, weights, dst);
    }
    template <class Arch, StridedLayout L>
    static void run(DenseParams const& params, OpArgs const& args) noexcept {
        Images::run<Arch>(params, args);
    }

private:
    using Images = op::detail::DenseImages<float>;
};

template <>
struct Op<DenseRowsParams> {
    static constexpr bool in_place = false;

    template <class Arch, StridedLayout L>
    [[nodiscard]] static OpCounts work(DenseRowsParams const& params, std::span<const Shape> inputs, Shape output) {
        return Rows::work<Arch>(params, inputs, output);
    }
    [[nodiscard]] static std::size_t packed_floats(DenseRowsParams const& params, Shape input) {
        return floats_for_bytes(Rows::packed_bytes(params, input));
    }
    /// Every row meets the same weights.
    [[nodiscard]] static Shape packed_for(DenseRowsParams const&, Shape input) {
        return {.c = 1, .h = 1, .w = input.w};
    }
    template <StridedLayout L>
        requires std::same_as<L, chw>
    static void pack(DenseRowsParams const& params, Shape input, OpWeights const& weights, float* dst) {
        Rows::pack<L>(params, input, weights, dst);
    }
    template <class Arch, StridedLayout L>
        requires std::same_as<L, chw>
    static void run(DenseRowsParams const& params, OpArgs const& args) noexcept {
        Rows::run<Arch>(params, args);
    }

private:
    using Rows = op::detail::DenseRows<float>;
};

}  // namespace primsel::inline PRIMSEL_ABI
