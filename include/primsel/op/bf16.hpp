// Layers that run in hwc_bf16, so that tensors between convolutions in bfloat16 need not become floats.
#pragma once

#include <primsel/core/aligned_buffer.hpp>
#include <primsel/layer/activation.hpp>
#include <primsel/layer/combine.hpp>
#include <primsel/layer/pool.hpp>
#include <primsel/op/activation.hpp>
#include <primsel/op/detail/blocks.hpp>
#include <primsel/op/op.hpp>
#include <primsel/tensor/hwc_bf16.hpp>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <span>

namespace primsel::inline PRIMSEL_ABI {

namespace op::detail {

/// Images of an op in hwc_bf16.
struct Bf16Images {
    bfloat16* data;
    Shape shape;
    std::size_t pixel, image;

    Bf16Images(const float* src, Shape of)
        : data(reinterpret_cast<bfloat16*>(const_cast<float*>(src))),
          shape(of),
          pixel(hwc_bf16::pixel(of.c)),
          image(hwc_bf16::size(of)) {}
    [[nodiscard]] bfloat16* at(std::size_t i, std::ptrdiff_t h, std::ptrdiff_t w) const {
        return data + i * image + static_cast<std::size_t>(h * shape.w + w) * pixel;
    }
};

/// Stores n elements.
template <class Arch>
PRIMSEL_INLINE void store_some(bfloat16* dst, Floats<Arch> const& value, std::size_t n) {
    if (n >= lanes<Arch>) return store_narrow<Arch>(dst, value);
    bfloat16 all[lanes<Arch>];
    store_narrow<Arch>(all, value);
    std::copy_n(all, n, dst);
}
template <class Arch>
PRIMSEL_INLINE Floats<Arch> load_some(const bfloat16* src, std::size_t n) {
    if (n >= lanes<Arch>) return load_wide<Arch>(src);
    bfloat16 all[lanes<Arch>]{};
    std::copy_n(src, n, all);
    return load_wide<Arch>(all);
}

/// The taps of a window along one axis that lie in the image.
struct WindowTaps {
    std::ptrdiff_t begin, first, last, dilation;
    float counted;  ///< the taps that an average counts

    [[nodiscard]] std::ptrdiff_t operator[](std::ptrdiff_t tap) const { return begin + tap * dilation; }
};
[[nodiscard]] inline WindowTaps window_taps(std::ptrdiff_t out, std::ptrdiff_t in, std::ptrdiff_t size,
                                            std::ptrdiff_t step, std::ptrdiff_t dilation, std::ptrdiff_t before,
                                            std::ptrdiff_t after, bool count_pad) {
    const std::ptrdiff_t begin = out * step - before;
    // Returns the number of taps that lie before a place.
    const auto taps_before = [=](std::ptrdiff_t place) {
        return std::clamp((place - begin + dilation - 1) / dilation, std::ptrdiff_t{0}, size);
    };
    const std::ptrdiff_t first = begin < 0 ? taps_before(0) : 0, last = taps_before(in);
    return {begin, first, last, dilation, static_cast<float>(count_pad ? taps_before(in + after) : last - first)};
}

/// Reduces the pixels of a window to one.
template <class Arch>
void pool_bf16(PoolKind kind, Bf16Images const& src, std::size_t image, WindowTaps const& down,
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

/// Counts of an op that reads and writes bfloat16.
[[nodiscard]] inline OpCounts bf16_counts(double operations, std::span<const Shape> inputs, Shape output) {
    double bytes = 2.0 * static_cast<double>(hwc_bf16::size(output));
    for (Shape const& shape : inputs) bytes += 2.0 * static_cast<double>(hwc_bf16::size(shape));
    return {.operations = operations, .rows = static_cast<double>(output.pixels()), .bytes = bytes};
}

}  // namespace op::detail

template <>
struct OpIn<PoolParams, hwc_bf16> {
    template <class Arch>
    [[nodiscard]] static OpCounts work(PoolParams const& params, std::span<const Shape> inputs, Shape output) {
        return op::detail::bf16_counts(
            1.0 * params.window.h * params.window.w * static_cast<double>(hwc_bf16::size(output)), inputs, output);
    }
    template <class Arch>
    static void run(PoolParams const& params, OpArgs const& args) noexcept {
        const op::detail::Bf16Images src(args.src[0], args.src_shape[0]), dst(args.dst, args.dst_shape);
        const auto rows = static_cast<std::size_t>(dst.shape.h);
        const auto pool_row = [&](std::size_t image, std::ptrdiff_t h) {
            const auto down =
                op::detail::window_taps(h, src.shape.h, params.window.h, params.stride.h, params.dilation.h,
                                        params.padding.top, params.padding.bottom, params.count_include_pad);
            for (std::ptrdiff_t w = 0; w < dst.shape.w; ++w) {
                const auto across =
                    op::detail::window_taps(w, src.shape.w, params.window.w, params.stride.w, params.dilation.w,
                                            params.padding.left, params.padding.right, params.count_include_pad);
                op::detail::pool_bf16<Arch>(params.kind, src, image, down, across, dst.at(image, h, w));
            }
        };
        op::detail::for_ranges(args.executor, static_cast<std::size_t>(args.batch) * rows, dst.image / rows,
                               [&](std::size_t first, std::size_t last) {
                                   for (std::size_t row = first; row < last; ++row) {
                                       pool_row(row / rows, static_cast<std::ptrdiff_t>(row % rows));
                                   }
                               });
    }
};

template <>
struct OpIn<GlobalPoolParams, hwc_bf16> {
    template <class Arch>
    [[nodiscard]] static OpCounts work(GlobalPoolParams const&, std::span<const Shape> inputs, Shape output) {
        return op::detail::bf16_counts(static_cast<double>(hwc_bf16::size(inputs[0])), inputs, output);
    }
    template <class Arch>
    static void run(GlobalPoolParams const& params, OpArgs const& args) noexcept {
        const op::detail::Bf16Images src(args.src[0], args.src_shape[0]), dst(args.dst, args.dst_shape);
        const auto all = [](std::ptrdiff_t in) { return op::detail::window_taps(0, in, in, 1, 1, 0, 0, false); };
        args.executor.parallel_for(static_cast<std::size_t>(args.batch), [&](std::size_t image, std::size_t) {
            op::detail::pool_bf16<Arch>(params.kind, src, image, all(src.shape.h), all(src.shape.w),
                                        dst.at(image, 0, 0));
        });
    }
};

/// Adds the inputs in their order, in floats.
template <>
struct OpIn<AddParams, hwc_bf16> {
    static constexpr bool in_place = true;

    template <class Arch>
    [[nodiscard]] static OpCounts work(AddParams const&, std::span<const Shape> inputs, Shape output) {
        return op::detail::bf16_counts(static_cast<double>(inputs.size() * hwc_bf16::size(output)), inputs, output);
    }
    template <class Arch>
    static void run(AddParams const&, OpArgs const& args) noexcept {
        const op::detail::Bf16Images dst(args.dst, args.dst_shape);
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

template <>
struct OpIn<ConcatParams, hwc_bf16> {
    template <class Arch>
    [[nodiscard]] static OpCounts work(ConcatParams const&, std::span<const Shape> inputs, Shape output) {
        return op::detail::bf16_counts(0, inputs, output);
    }
    template <class Arch>
    static void run(ConcatParams const& params, OpArgs const& args) noexcept {
        const op::detail::Bf16Images dst(args.dst, args.dst_shape);
        // Runs of the result, to which each input gives a part.
        const std::size_t runs = params.axis == Axis::c   ? dst.shape.pixels()
                                 : params.axis == Axis::w ? static_cast<std::size_t>(dst.shape.h)
                                                          : 1,
                          length = dst.image / runs;
        op::detail::for_ranges(args.executor, static_cast<std::size_t>(args.batch) * runs, length,
                               [&](std::size_t first, std::size_t last) {
                                   for (std::size_t run = first; run < last; ++run) {
                                       bfloat16* to = dst.data + run * length;
                                       for (std::size_t i = 0; i < args.src.size(); ++i) {
                                           const op::detail::Bf16Images src(args.src[i], args.src_shape[i]);
                                           const std::size_t part = src.image / runs;
                                           const auto channels = static_cast<std::size_t>(src.shape.c);
                                           to = std::copy_n(src.data + run * part,
                                                            params.axis == Axis::c ? channels : part, to);
                                       }
                                       std::fill(to, dst.data + (run + 1) * length, bfloat16{});
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
        return op::detail::bf16_counts(of_floats.operations, inputs, output);
    }
    template <class Arch>
    static void run(ActivationParams const& params, OpArgs const& args) noexcept {
        const op::detail::Bf16Images src(args.src[0], args.src_shape[0]), dst(args.dst, args.dst_shape);
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
