// Layers that run in hwc_bf16, so that tensors between convolutions in bfloat16 need not become floats.
#pragma once

#include <primsel/core/aligned_buffer.hpp>
#include <primsel/core/short_floats.hpp>
#include <primsel/layer/activation.hpp>
#include <primsel/layer/combine.hpp>
#include <primsel/layer/pool.hpp>
#include <primsel/op/activation.hpp>
#include <primsel/op/dense_narrow.hpp>  // IWYU pragma: export
#include <primsel/op/detail/blocks.hpp>
#include <primsel/op/detail/narrow.hpp>
#include <primsel/op/detail/narrow_elements.hpp>
#include <primsel/op/op.hpp>
#include <primsel/tensor/hwc_short_floats.hpp>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <span>

namespace primsel::inline PRIMSEL_ABI {

namespace op::detail {

/// Reduces the pixels of a window to one.
template <class Arch>
void pool_bf16(PoolKind kind, NarrowImages<hwc_bf16> const& src, std::size_t image, WindowTaps const& down,
               WindowTaps const& across, bfloat16* dst) noexcept {
    const float share = 1.0F / (down.counted * across.counted);
    for (std::size_t c = 0; c < src.pixel; c += lanes<Arch>) {
        const std::size_t n = src.pixel - c;
        auto result = broadcast<Arch>(kind == PoolKind::max ? -std::numeric_limits<float>::infinity() : 0.0F);
        for (std::ptrdiff_t y = down.first; y < down.last; ++y) {
            for (std::ptrdiff_t x = across.first; x < across.last; ++x) {
                const auto value = load_some<Arch>(src.at(image, down[y], across[x]) + c, n);
                if (kind == PoolKind::max) {
                    // A NaN stays.
                    result = xsimd::select(value > result || xsimd::isnan(value), value, result);
                } else {
                    result += value;
                }
            }
        }
        if (kind != PoolKind::max) result *= broadcast<Arch>(share);
        store_some<Arch>(dst + c, result, n);
    }
}

}  // namespace op::detail

template <>
struct OpIn<PoolParams, hwc_bf16> {
    template <class Arch>
    [[nodiscard]] static OpCounts work(PoolParams const& params, std::span<const Shape> inputs, Shape output) {
        return op::detail::narrow_pixel_counts<Arch, hwc_bf16>(op::detail::pixels_of_windows(params, inputs[0], output),
                                                               inputs, output);
    }
    template <class Arch>
    static void run(PoolParams const& params, OpArgs const& args) noexcept {
        op::detail::for_windows<hwc_bf16>(
            params, args,
            [&params](auto const& src, std::size_t image, auto const& down, auto const& across, auto* dst) {
                op::detail::pool_bf16<Arch>(params.kind, src, image, down, across, dst);
            });
    }
};

template <>
struct OpIn<GlobalPoolParams, hwc_bf16> {
    template <class Arch>
    [[nodiscard]] static OpCounts work(GlobalPoolParams const&, std::span<const Shape> inputs, Shape output) {
        return op::detail::narrow_pixel_counts<Arch, hwc_bf16>(static_cast<double>(inputs[0].pixels()), inputs, output);
    }
    template <class Arch>
    static void run(GlobalPoolParams const& params, OpArgs const& args) noexcept {
        op::detail::for_images<hwc_bf16>(
            args, [&params](auto const& src, std::size_t image, auto const& down, auto const& across, auto* dst) {
                op::detail::pool_bf16<Arch>(params.kind, src, image, down, across, dst);
            });
    }
};

/// Adds the inputs in their order, in floats.
template <>
struct OpIn<AddParams, hwc_bf16> {
    static constexpr bool in_place = true;

    template <class Arch>
    [[nodiscard]] static OpCounts work(AddParams const&, std::span<const Shape> inputs, Shape output) {
        return op::detail::narrow_pixel_counts<Arch, hwc_bf16>(static_cast<double>(inputs.size() * output.pixels()),
                                                               inputs, output);
    }
    template <class Arch>
    static void run(AddParams const&, OpArgs const& args) noexcept {
        const op::detail::NarrowImages<hwc_bf16> dst(args.dst, args.dst_shape);
        const auto low = broadcast<Arch>(args.clamp.low), high = broadcast<Arch>(args.clamp.high);
        const auto channels = static_cast<std::size_t>(dst.shape.c);
        op::detail::for_ranges(
            args.executor, static_cast<std::size_t>(args.batch) * dst.shape.pixels(), dst.pixel,
            [&](std::size_t first, std::size_t last) {
                for (std::size_t at = first * dst.pixel; at < last * dst.pixel; at += dst.pixel) {
                    for (std::size_t c = 0; c < dst.pixel; c += lanes<Arch>) {
                        const std::size_t n = dst.pixel - c;
                        auto sum = broadcast<Arch>(0.0F);
                        for (const float* src : args.src) {
                            sum += op::detail::load_some<Arch>(reinterpret_cast<const bfloat16*>(src) + at + c, n);
                        }
                        op::detail::store_some<Arch>(dst.data + at + c, clamp<Arch>(sum, low, high), n);
                    }
                    std::fill_n(dst.data + at + channels, dst.pixel - channels, bfloat16{});
                }
            });
    }
};

/// As floats, a piece at a time.
template <>
struct OpIn<ActivationParams, hwc_bf16> {
    static constexpr bool in_place = true;

    template <class Arch>
    [[nodiscard]] static OpCounts work(ActivationParams const& params, std::span<const Shape> inputs, Shape output) {
        const OpCounts of_floats = Op<ActivationParams>::work<Arch, hwc>(params, inputs, output);
        OpCounts counts = op::detail::narrow_counts<hwc_bf16>(of_floats.operations, inputs, output);
        counts.scalars = of_floats.scalars, counts.form = of_floats.form;
        return counts;
    }
    template <class Arch>
    static void run(ActivationParams const& params, OpArgs const& args) noexcept {
        const op::detail::NarrowImages<hwc_bf16> src(args.src[0], args.src_shape[0]), dst(args.dst, args.dst_shape);
        const auto channels = static_cast<std::size_t>(src.shape.c);
        op::detail::for_ranges(
            args.executor, static_cast<std::size_t>(args.batch) * src.shape.pixels(), src.pixel,
            [&](std::size_t first, std::size_t last) {
                constexpr std::size_t most = 1024;
                alignas(alignment) float piece[most];
                Sequential here;
                for (std::size_t at = first * src.pixel, end = last * src.pixel; at < end; at += most) {
                    const std::size_t n = std::min(most, end - at);
                    widen(src.data + at, n, piece);
                    const float* const from = piece;
                    const Shape shape{.c = static_cast<int>(n), .h = 1, .w = 1};
                    Op<ActivationParams>::run<Arch, hwc>(params, {.src = {&from, 1},
                                                                  .src_shape = {&shape, 1},
                                                                  .dst = piece,
                                                                  .dst_shape = shape,
                                                                  .executor = here});
                    narrow(piece, n, dst.data + at);
                }
                for (std::size_t pixel = first; pixel < last && channels < dst.pixel; ++pixel) {
                    std::fill_n(dst.data + pixel * dst.pixel + channels, dst.pixel - channels, bfloat16{});
                }
            });
    }
};

}  // namespace primsel::inline PRIMSEL_ABI
